# Pyramid: the values of a block from those of lower levels; `_pyramid.pyx` includes this.

cdef struct Option:      # a block that an action leads to, and the runs of two and one that it adds
    uint32_t block
    uint8_t level
    uint8_t twos
    uint8_t ones


cdef int options_of(const Numbers* g, uint8_t* x, int level, Option* out) noexcept nogil:
    """List where the actions on runs of n >= 3 bars lead from a block: they leave runs b <= a with a + b < n."""
    cdef int n, a, b, size = 0
    cdef Path without, with_a
    for n in range(3, g.tiers + 1):
        if not x[n]:
            continue
        x[n] -= 1
        without.c[g.tiers] = without.u[g.tiers] = without.rank[g.tiers] = 0
        follow(g, x, g.tiers, &without)
        for a in range(n):
            if a > 2:
                x[a] += 1
                with_a.c[a], with_a.u[a], with_a.rank[a] = without.c[a], without.u[a], without.rank[a]
                follow(g, x, a, &with_a)
            for b in range(min(a, n - 1 - a) + 1):
                if b > 2:
                    x[b] += 1
                    out[size].block = <uint32_t>ranked(g, x, b, with_a.c[b], with_a.u[b], with_a.rank[b])
                    x[b] -= 1
                else:
                    out[size].block = with_a.rank[2] if a > 2 else without.rank[2]
                out[size].level = <uint8_t>(level - n + (a if a > 2 else 0) + (b if b > 2 else 0))
                out[size].twos = (a == 2) + (b == 2)
                out[size].ones = (a == 1) + (b == 1)
                size += 1
            if a > 2:
                x[a] -= 1
        x[n] += 1
    return size


cdef void solve_block(const Numbers* g, const uint8_t* const* levels, int level, int limit, uint32_t block,
                      uint8_t* out) noexcept nogil:
    """Compute the values of a block from those of lower levels; `out` are the values of its own level."""
    cdef uint8_t x[MOST_TIERS + 2]
    cdef Option options[OPTIONS]
    cdef const uint8_t* blocks[OPTIONS]
    cdef uint8_t least[ROWS * 2 * SINGLES]
    cdef int first[ROWS]     # where each row begins in `least`
    cdef int chunks[ROWS]
    cdef int size, i, row, rows = 0, end = 0, one
    cdef uint64_t place = g.places[block]
    cdef const uint8_t* length = g.length + (place & 0xFFFF) * ROWS
    cdef const uint16_t* offset = g.offset + (place & 0xFFFF) * ROWS
    cdef const uint16_t* there
    cdef uint8_t* mine
    cdef const uint8_t* below = NULL
    cdef uint8_t z, w
    unrank(g, block, x)
    size = options_of(g, x, level, options)
    for i in range(size):
        prefetch(&g.places[options[i].block])
    while length[rows]:
        first[rows] = end
        chunks[rows] = (2 * length[rows] + 15) // 16
        end += 16 * chunks[rows]
        rows += 1
    memset(least, NEUTRAL, end)
    for i in range(size):
        place = g.places[options[i].block]
        blocks[i] = levels[options[i].level] + 2 * (place >> 16)
        prefetch(blocks[i])
        prefetch(blocks[i] + 64)
    for i in range(size):
        there = g.offset + (g.places[options[i].block] & 0xFFFF) * ROWS + options[i].twos
        for row in range(rows):
            least_of(least + first[row], blocks[i] + 2 * (there[row] + options[i].ones), chunks[row])
    out += 2 * (g.places[block] >> 16)
    for row in range(rows):
        mine = out + 2 * offset[row]
        if row:
            below = out + 2 * offset[row - 1]
        for one in range(length[row]):
            i = first[row] + 2 * one
            z, w = least[i], least[i + 1]
            if row:  # a run of two is marked, or one of its bars
                z = min(z, min(below[2 * one], below[2 * one + 2]))
                w = min(w, min(below[2 * one + 1], below[2 * one + 3]))
            if one:
                z = min(z, mine[2 * one - 2])
                w = min(w, mine[2 * one - 1])
            mine[2 * one] = <uint8_t>(255 - w)
            mine[2 * one + 1] = <uint8_t>(254 - z)
            if level == 0 and row == 0 and one < 2:  # no bar left, and one bar left
                mine[2 * one] = NEUTRAL if one == 0 else 0
                mine[2 * one + 1] = NEUTRAL if one == 0 else <uint8_t>(255 - limit)
