# The coder of `_policy.pyx`: one choice of a decision to bits and back, by what similar decisions chose before.
#
# What is known about a decision leads to a slot. The slot names the choice that is expected, and how likely it is.

cdef enum:
    SLOTS = 1 << 16
    NONE = 7                    # in place of a choice
    LIKELY = 45875              # of 65536: the probability of a choice that is expected for the first time
    EVEN = 32768
    LIMIT = 30                  # decisions after which a slot adapts no more slowly
    RARE = 5                    # how fast the probabilities of other choices adapt: by 1 / 32
    LEAST = 1 << 24             # the range of the coder stays above it

cdef struct Slot:
    uint16_t probability        # of 65536, that the choice is the expected one
    uint8_t count               # decisions so far, up to LIMIT; 0: nothing is expected
    uint8_t choice

cdef struct Model:
    Slot slot[SLOTS]
    uint16_t other[64][8]       # [n, expected choice][another choice]: the probability of the latter, of 65536

cdef struct Coder:
    uint64_t low
    uint32_t range
    uint32_t code               # when decoding: what was read, minus `low`
    bint encoding
    uint8_t* data
    int64_t size                # bytes of data, or room for them
    int64_t at

cdef uint32_t RATE[LIMIT + 1]
for _i in range(LIMIT + 1):
    RATE[_i] = 131072 // (2 * _i + 3)


cdef inline bint coded(Coder* c, uint32_t p, bint bit) noexcept nogil:
    """Code one event that is true with the probability p of 65536; return it, as given or as read from the code."""
    p >>= 4
    cdef uint32_t bound = (c.range >> 12) * (p + (p == 0))
    if not c.encoding:
        bit = c.code < bound
    if bit:
        c.range = bound
    else:
        c.range -= bound
        c.code -= bound
        c.low += bound
    while c.range < LEAST:
        c.range <<= 8
        if c.encoding:
            put(c)
        else:
            c.code = c.code << 8 | (c.data[c.at] if c.at < c.size else 0)
            c.at += 1
    return bit


cdef inline void put(Coder* c) noexcept nogil:
    """Write the highest byte of `low`; a carry out of it is added to the bytes before."""
    cdef int64_t k = c.at
    if c.at < c.size:
        if c.low >> 32:
            k -= 1
            while c.data[k] == 255:
                c.data[k] = 0
                k -= 1
            c.data[k] += 1
        c.data[c.at] = <uint8_t>(c.low >> 24)
    c.low = (c.low & (LEAST - 1)) << 8
    c.at += 1


cdef inline int other_choice(uint16_t* table, Coder* coder, uint32_t rest, int choice) noexcept nogil:
    """Code a choice that was not expected: one event for each of the rest, from the highest down, until it is found."""
    cdef int k = madn_highest(rest)
    cdef bint bit
    while rest & (rest - 1):
        bit = coded(coder, table[k], choice == k)
        if bit:
            table[k] += (65535 - table[k]) >> RARE
            break
        table[k] -= table[k] >> RARE
        rest ^= <uint32_t>1 << k
        k = madn_highest(rest)
    return k


cdef inline int decide(Model* model, Coder* coder, uint64_t context, int n, uint32_t legal,
                       int choice) noexcept nogil:
    """Code one choice among the legal ones of n, and learn from it."""
    cdef Slot* slot = &model.slot[context * <uint64_t>0x9E3779B97F4A7C15u >> 48]
    cdef uint32_t p = slot.probability, count = slot.count
    cdef int expected = slot.choice
    if count == 0 or not legal >> expected & 1:
        expected = context & NONE       # the choice of the position before
        if not legal >> expected & 1:
            expected = madn_highest(legal)
        p, count = LIKELY, 0
    if coded(coder, p, choice == expected):
        p += ((65535 - p) * RATE[count]) >> 16
        choice = expected
    else:
        p -= (p * RATE[count]) >> 16
        choice = other_choice(model.other[n * 8 + expected], coder, legal ^ <uint32_t>1 << expected, choice)
        if p < EVEN:
            p, expected = EVEN, choice
    slot.probability = <uint16_t>p
    slot.count = <uint8_t>(count + (count < LIMIT))
    slot.choice = <uint8_t>expected
    return choice
