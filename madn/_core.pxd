# The compiled game: states of a side as bit masks, their moves, what a turn is, and the ranking of positions. This is
# the inline code that all kernels share; it works from the tables of one `Game`, which is made from `madn.Rules`.
#
# A state is the set of squares that one side occupies: bit q for square q in that side's own numbers, 0..S-1 main
# field, S..S+P-1 finish zone. Pieces not in the set are in the box.

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static __inline int madn_lowest(uint64_t x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
    static __inline int madn_highest(uint64_t x) { unsigned long i; _BitScanReverse64(&i, x); return (int)i; }
    static __inline uint64_t madn_high_product(uint64_t a, uint64_t b) { return __umulh(a, b); }
    #else
    static inline int madn_lowest(uint64_t x) { return __builtin_ctzll(x); }
    static inline int madn_highest(uint64_t x) { return 63 - __builtin_clzll(x); }
    #ifdef __SIZEOF_INT128__
    static inline uint64_t madn_high_product(uint64_t a, uint64_t b) {
        return (uint64_t)(((unsigned __int128)a * b) >> 64);
    }
    #else
    static inline uint64_t madn_high_product(uint64_t a, uint64_t b) {
        uint64_t a1 = a >> 32, a0 = (uint32_t)a, b1 = b >> 32, b0 = (uint32_t)b;
        uint64_t middle = a1 * b0 + ((a0 * b0) >> 32);
        return a1 * b1 + (middle >> 32) + ((a0 * b1 + (uint32_t)middle) >> 32);
    }
    #endif
    #endif
    #if defined(__POPCNT__) || defined(__aarch64__)
    static inline int madn_popcount(uint64_t x) { return __builtin_popcountll(x); }
    #else  /* for any x86-64 processor: without the instruction, the builtin is a library call */
    static inline int madn_popcount(uint64_t x) {
        x -= (x >> 1) & 0x5555555555555555ull;
        x = (x & 0x3333333333333333ull) + ((x >> 2) & 0x3333333333333333ull);
        return (int)((((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull) >> 56);
    }
    #endif
    """
    int madn_popcount(uint64_t x) noexcept nogil
    int madn_lowest(uint64_t x) noexcept nogil      # undefined for 0
    int madn_highest(uint64_t x) noexcept nogil     # undefined for 0
    uint64_t madn_high_product(uint64_t a, uint64_t b) noexcept nogil     # (a * b) >> 64

cdef enum:
    DIE = 6
    MAX_PIECES = 6
    MAX_SQUARES = 40
    MAX_CHOICES = 8      # there are never more moves for one roll than pieces
    BOX = -1             # the start of a move out of the box

cdef struct OwnMove:
    uint64_t after       # the own state after the move
    int8_t start         # the square it leaves, or BOX
    int8_t end           # the square it lands on


# Position IDs (thesis, section 4.1.2). Combinations are ranked by positions in a bit string; square s of an
# n-square zone is position n-1-s. Masks are shifted so that the zone ends at bit 39: then position p is bit
# 39-p whatever n is, and one table serves every zone.

cdef enum:
    DIRECT = 3            # combinations of up to 3 squares are decoded by a single look-up
    SMALL = 10701         # how many of these there are: 1 + 40 + 780 + 9880
    BUCKETS = 4096        # equal stretches of IDs, for finding the profile of an ID
    GUESSES = 512         # equal stretches of combination ranks, for finding the highest position
    MAX_PROFILES = 784    # 28 pairs (p, f) with 0 <= f <= p <= 6, for both sides

cdef struct Profile:
    int64_t first         # its first ID: b(A) of the thesis
    int64_t af            # IDs for each arrangement of the own finish zone
    int64_t aff           # ... of both finish zones
    int64_t affm          # ... of both finish zones and the own main field
    uint64_t af_inverse   # floor((2^64 - 1) / af), for dividing by multiplication
    uint64_t aff_inverse
    uint64_t affm_inverse
    int8_t m1             # own pieces on the main field
    int8_t f1             # own pieces in the finish zone
    int8_t m2
    int8_t f2

cdef struct GameTables:
    int pieces
    int squares
    bint three_rolls                           # house rules, as in madn/rules.py
    bint no_jumping
    bint must_capture
    uint64_t main                              # the main-field squares
    uint64_t home                              # a finish zone with all pieces in it
    int64_t positions                          # from here on: for the numbering of positions
    int profile_count
    int bucket_shift
    Profile profiles[MAX_PROFILES]             # in the order of their IDs
    int64_t first[MAX_PROFILES + 1]            # first IDs again, close together, then the number of positions
    int16_t bucket[BUCKETS]                    # the profile of the first ID of each bucket
    int16_t index[7][7][7][7]                  # [m1][f1][m2][f2] -> profile; -1 where there is no position
    int32_t choose[7][64]                      # [k][n] -> C(n, k)
    int32_t summand[2 * MAX_PIECES + 1][64]    # [6 + k][bit] -> C(39 - bit, k), or 0: k <= 0, bit >= 40
    uint8_t finish_ones[64]                    # finish zone -> its pieces
    uint8_t finish_rank[64]                    # finish zone -> its rank among those with as many pieces
    uint8_t finish_zone[7][32]                 # the inverse
    uint64_t combination[SMALL]                # masks of 0, 1, 2, 3 bits by rank
    int combination_start[DIRECT + 1]
    uint8_t guess[MAX_PIECES + 1][GUESSES]     # [k][rank >> guess_shift[k]] -> highest position or less
    int guess_shift[MAX_PIECES + 1]


cdef inline uint64_t squares_between(int start, int end) noexcept nogil:
    return (<uint64_t>1 << end) - (<uint64_t>2 << start)


cdef inline int own_moves(const GameTables* game, uint64_t state, int roll, OwnMove* out) noexcept nogil:
    """List the moves of a side for a roll, by ascending start, and return how many; 0 is a lost roll.

    These are its options, without regard to the other side. With a duty to capture, not all of them need be legal: see
    `legal_options`.
    """
    cdef int n = 0, start, end, S = game.squares, P = game.pieces
    cdef bint boxed = madn_popcount(state) < P
    cdef uint64_t rest = state, zone = state & ~game.main if game.no_jumping else 0
    if boxed:
        if not state & 1:
            if roll == DIE:
                out[0].after = state | 1
                out[0].start = BOX
                out[0].end = 0
                return 1
        elif not (state >> roll) & 1:
            out[0].after = (state ^ 1) | (<uint64_t>1 << roll)
            out[0].start = 0
            out[0].end = <int8_t>roll
            return 1
    while rest:
        start = madn_lowest(rest)
        rest &= rest - 1
        end = start + roll
        if end < S + P and not (state >> end) & 1 and not zone & squares_between(start, end):
            out[n].after = (state ^ (<uint64_t>1 << start)) | (<uint64_t>1 << end)
            out[n].start = <int8_t>start
            out[n].end = <int8_t>end
            n += 1
    return n


cdef inline uint64_t facing(const GameTables* game, uint64_t state) noexcept nogil:
    """The main-field squares of a state, in the other side's numbers; finish squares are left out."""
    cdef int half = game.squares // 2
    cdef uint64_t main = state & game.main
    return ((main << half) | (main >> half)) & game.main


cdef inline bint finished(const GameTables* game, uint64_t state) noexcept nogil:
    """Whether all pieces of a side are in its finish zone."""
    return state >> game.squares == game.home


cdef inline uint64_t left_after(const GameTables* game, const OwnMove* move, uint64_t other) noexcept nogil:
    """The other side's state after a move, without the piece that the move captures."""
    return other & ~facing(game, <uint64_t>1 << move.end)


cdef inline uint32_t legal_options(const GameTables* game, const OwnMove* moves, int n, uint64_t other) noexcept nogil:
    """Which of the n moves of a side for a roll are legal against the other side: bit k for moves[k].

    All are legal, unless there is a duty to capture and at least one of them captures.
    """
    cdef uint32_t captures = 0
    cdef uint64_t foes
    cdef int k
    if game.must_capture and n > 1:
        foes = facing(game, other)
        for k in range(n):
            captures |= <uint32_t>(foes >> moves[k].end & 1) << k
    return captures if captures else (<uint32_t>1 << n) - 1


# What a turn is, the compiled twin of `Turn` in madn/rules.py: a die is rolled, and all rolls are equally likely. After
# a 6 the same side rolls again, after any other roll the other side. A roll without a legal move is lost: the board
# stays as it is, and who rolls next is the same as with a move.

cdef inline bint rolls_again(int roll) noexcept nogil:
    return roll == DIE


cdef struct Turn:     # total * V = unit * (sum over the rolls with a move of the best one) + wait * V' + again * V
    int total
    int unit          # how often each roll that has a move comes up
    int wait          # how often the turn passes to the other side without a move (V')
    int again         # how often the same side rolls again without a move


cdef inline Turn turn_of(const GameTables* game, const int* options) noexcept nogil:
    """The turn of a side that has `options[roll - 1]` moves for each roll."""
    cdef Turn turn
    cdef int roll
    turn.total, turn.unit, turn.wait, turn.again = DIE, 1, 0, 0
    for roll in range(1, DIE + 1):
        if options[roll - 1] == 0:
            if rolls_again(roll):
                turn.again += 1
            else:
                turn.wait += 1
    if game.three_rolls and turn.wait == DIE - 1 and turn.again == 0:    # only a 6 helps; there are three rolls for it
        turn.total, turn.unit, turn.wait = 216, 91, 125
    return turn


cdef inline int best_option(const double* wins, int count, double tie) noexcept nogil:
    """The rule for ties: of the moves within `tie` of the largest chance, the one that starts on the highest square.

    `wins` are the mover's chances of winning after each of `count` moves, by ascending start.
    """
    cdef int j
    cdef double most = -1.0    # less than any chance
    for j in range(count):
        most = max(most, wins[j])
    for j in range(count - 1, 0, -1):
        if most - wins[j] <= tie:
            return j
    return 0


cdef inline bint is_position(const GameTables* t, uint64_t own, uint64_t other) noexcept nogil:
    """Whether two masks, each in its side's own numbers, are a position."""
    cdef int S = t.squares, P = t.pieces
    if (own | other) >> (S + P) or facing(t, own) & other:
        return False
    cdef int f1 = t.finish_ones[own >> S], f2 = t.finish_ones[other >> S]
    if madn_popcount(own & t.main) + f1 > P or madn_popcount(other & t.main) + f2 > P:
        return False
    return f1 < P or f2 < P


cdef inline int64_t combination_rank(const GameTables* t, uint64_t mask, int k) noexcept nogil:
    """Formula (4.4): the rank of a mask with k bits, all of them below bit 40."""
    cdef const int32_t* row = t.summand[MAX_PIECES + k]
    cdef int64_t rank = 0
    cdef int _i
    mask |= <uint64_t>63 << MAX_SQUARES    # more bits, which add 0
    for _i in range(t.pieces):             # equally often for every k, so that there is no branch to mispredict
        rank += row[madn_lowest(mask)]
        mask &= mask - 1
        row -= 64
    return rank


cdef inline uint64_t combination_mask(const GameTables* t, int64_t rank, int k) noexcept nogil:
    """Algorithm 6: the mask with k bits that has this rank."""
    cdef uint64_t mask = 0
    cdef int n
    while k > DIRECT:
        n = t.guess[k][rank >> t.guess_shift[k]]
        while rank >= t.choose[k][n + 1]:
            n += 1
        mask |= <uint64_t>1 << (MAX_SQUARES - 1 - n)
        rank -= t.choose[k][n]
        k -= 1
    return mask | t.combination[t.combination_start[k] + rank]


cdef inline int64_t divide(int64_t* rest, int64_t by, uint64_t inverse) noexcept nogil:
    """Return `rest` // `by`, and leave the remainder in `rest`."""
    cdef int64_t quotient = <int64_t>madn_high_product(<uint64_t>rest[0], inverse)    # exact, or 1 too small
    rest[0] -= quotient * by
    cdef bint more = rest[0] >= by
    rest[0] -= by & -<int64_t>more
    return quotient + more


cdef inline int64_t encode(const GameTables* t, uint64_t own, uint64_t other) noexcept nogil:
    """The ID of a position. The masks must be a position: see is_position."""
    cdef int S = t.squares
    cdef uint64_t main1 = own & t.main, main2 = other & t.main
    cdef uint64_t zone1 = own >> S, zone2 = other >> S
    cdef uint64_t taken = facing(t, own), lowest
    cdef int m1 = madn_popcount(main1), m2 = madn_popcount(main2)
    cdef const Profile* profile = &t.profiles[t.index[m1][t.finish_ones[zone1]][m2][t.finish_ones[zone2]]]
    cdef int _i
    for _i in range(t.pieces):    # remove each square that an own piece occupies: all bits above it move down by one
        lowest = taken & (0 - taken)
        main2 -= (main2 & (0 - lowest)) >> 1
        taken = (taken ^ lowest) >> 1
    return (
        profile.first
        + profile.af * t.finish_rank[zone1]
        + profile.aff * t.finish_rank[zone2]
        + profile.affm * combination_rank(t, main1 << (MAX_SQUARES - S), m1)
        + combination_rank(t, main2 << (MAX_SQUARES - S + m1), m2)
    )


cdef inline int profile_at(const GameTables* t, int64_t position) noexcept nogil:
    """The number of the profile that an ID belongs to."""
    cdef int number = t.bucket[position >> t.bucket_shift]
    while position >= t.first[number + 1]:
        number += 1
    return number


cdef inline void decode(const GameTables* t, int64_t position, uint64_t* own, uint64_t* other) noexcept nogil:
    """Algorithm 4: the masks of an ID, 0 <= position < t.positions."""
    cdef int S = t.squares, _i
    cdef const Profile* profile = &t.profiles[profile_at(t, position)]
    cdef int64_t rest = position - profile.first
    cdef uint64_t zone1 = t.finish_zone[profile.f1][divide(&rest, profile.af, profile.af_inverse)]
    cdef uint64_t zone2 = t.finish_zone[profile.f2][divide(&rest, profile.aff, profile.aff_inverse)]
    cdef int64_t rank1 = divide(&rest, profile.affm, profile.affm_inverse)
    cdef uint64_t main1 = combination_mask(t, rank1, profile.m1) >> (MAX_SQUARES - S)
    cdef uint64_t main2 = combination_mask(t, rest, profile.m2) >> (MAX_SQUARES - S + profile.m1)
    cdef uint64_t taken = facing(t, main1), lowest
    for _i in range(t.pieces):    # insert each square that an own piece occupies: all bits above it move up by one
        lowest = taken & (0 - taken)
        main2 += main2 & (0 - lowest)
        taken ^= lowest
    own[0] = main1 | zone1 << S
    other[0] = main2 | zone2 << S


cdef class Game:
    cdef GameTables tables
    cdef readonly object rules
