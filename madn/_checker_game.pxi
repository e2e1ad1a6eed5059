# The game as the checker reads it: the rules from docs/rules.md, the numbers of positions from docs/format.md. Nothing
# here comes from the solver or from the compiled game. `_checker.pyx` and `_ending.pyx` include it.

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    PIECES = 6           # the most that a side can have
    SQUARES = 40
    PROFILES = 784       # at most

cdef struct Side:        # the squares of the pieces that are out of the box, ascending, in the side's own numbers
    int n
    int square[PIECES]

cdef struct Game:
    int P, S, profiles
    bint three_rolls, no_jumping, must_capture
    int64_t choose[SQUARES + 1][PIECES + 1]
    int64_t first[PIECES + 1][PIECES + 1][PIECES + 1][PIECES + 1]    # the first ID of a profile
    int profile[PROFILES][4]
    int64_t begin[PROFILES + 1]


cdef int64_t make(Game* g, int P, int S, bint three_rolls, bint no_jumping, bint must_capture) except -1:
    """Prepare a game; returns how many positions it has."""
    cdef int n, k, p1, f1, p2, f2
    cdef int64_t positions = 0
    if not 1 <= P <= PIECES or not 8 <= S <= SQUARES or S % 2:
        raise ValueError(f"{P} pieces on {S} squares are no game")
    g.P, g.S, g.three_rolls, g.no_jumping, g.must_capture = P, S, three_rolls, no_jumping, must_capture
    for n in range(SQUARES + 1):
        for k in range(PIECES + 1):
            g.choose[n][k] = 1 if k == 0 else 0 if n == 0 else g.choose[n - 1][k - 1] + g.choose[n - 1][k]
    g.profiles = 0
    for p1, f1, p2, f2 in itertools.product(range(P + 1), repeat=4):
        if f1 <= p1 and f2 <= p2 and not f1 == f2 == P and p1 - f1 + p2 - f2 <= S:
            g.first[p1][f1][p2][f2] = g.begin[g.profiles] = positions
            g.profile[g.profiles] = [p1, f1, p2, f2]
            g.profiles += 1
            positions += g.choose[P][f1] * g.choose[P][f2] * g.choose[S][p1 - f1] * g.choose[S - p1 + f1][p2 - f2]
    g.begin[g.profiles] = positions
    return positions


cdef inline bint finished(const Game* g, const Side* side) noexcept nogil:
    return side.n == g.P and side.square[0] >= g.S


cdef inline bint holds(const Side* side, int square) noexcept nogil:
    cdef int k
    for k in range(side.n):
        if side.square[k] == square:
            return True
    return False


cdef inline int facing(const Game* g, int square) noexcept nogil:
    """A main-field square in the other side's numbers."""
    return square + g.S // 2 if square < g.S // 2 else square - g.S // 2


cdef inline Side moved(Side side, int start, int end) noexcept nogil:
    """A side without its piece on one square, if there is one, and with a piece on another unless that is negative."""
    cdef int k, n = 0
    for k in range(side.n):
        if side.square[k] != start:
            side.square[n] = side.square[k]
            n += 1
    side.n = n
    if end >= 0:
        while n > 0 and side.square[n - 1] > end:
            side.square[n] = side.square[n - 1]
            n -= 1
        side.square[n] = end
        side.n += 1
    return side


cdef int moves(const Game* g, const Side* own, const Side* other, int roll, Side* mine, Side* theirs) noexcept nogil:
    """The legal moves for a roll, as the squares that both sides hold afterwards; none if the roll is lost."""
    cdef int starts[PIECES]
    cdef int n = 0, j, k, end, captures = 0
    cdef bint boxed = own.n < g.P, passes
    if boxed and roll == 6 and not holds(own, 0):
        mine[0] = moved(own[0], -1, 0)
        theirs[0] = moved(other[0], facing(g, 0), -1)
        return 1
    for k in range(own.n):
        end = own.square[k] + roll
        passes = False
        for j in range(k + 1, own.n):
            passes |= g.S <= own.square[j] < end
        if end < g.S + g.P and not holds(own, end) and not (g.no_jumping and passes):
            starts[n] = own.square[k]
            n += 1
            if boxed and own.square[k] == 0:      # the A-square must be cleared
                break
    if g.must_capture:                            # if any moves capture, only those are legal
        for k in range(n):
            end = starts[k] + roll
            if end < g.S and holds(other, facing(g, end)):
                starts[captures] = starts[k]
                captures += 1
        n = captures if captures else n
    for k in range(n):
        end = starts[k] + roll
        mine[k] = moved(own[0], starts[k], end)
        theirs[k] = moved(other[0], facing(g, end), -1) if end < g.S else other[0]
    return n


cdef int64_t rank(const Game* g, const Side* own, const Side* other) noexcept nogil:
    """The ID of a position. Square s of a zone of n is place n - 1 - s of its string."""
    cdef int k, j, q, f1 = 0, f2 = 0, m1 = 0, m2 = 0
    cdef int64_t home1 = 0, home2 = 0, main1 = 0, main2 = 0
    for k in range(own.n - 1, -1, -1):
        q = own.square[k]
        if q >= g.S:
            f1 += 1
            home1 += g.choose[g.S + g.P - 1 - q][f1]
        else:
            m1 += 1
            main1 += g.choose[g.S - 1 - q][m1]
    for k in range(other.n - 1, -1, -1):
        q = other.square[k]
        if q >= g.S:
            f2 += 1
            home2 += g.choose[g.S + g.P - 1 - q][f2]
        else:                          # only squares that own pieces leave free are counted
            for j in range(m1):
                if facing(g, own.square[j]) < other.square[k]:
                    q -= 1
            m2 += 1
            main2 += g.choose[g.S - m1 - 1 - q][m2]
    return g.first[own.n][f1][other.n][f2] + main2 + g.choose[g.S - m1][m2] * (
        main1 + g.choose[g.S][m1] * (home2 + g.choose[g.P][f2] * home1))


cdef void unrank(const Game* g, int64_t id, Side* own, Side* other) noexcept nogil:
    """The inverse of `rank`."""
    cdef int number = 0, m1, m2, f1, f2, k, q
    cdef Side free
    while g.begin[number + 1] <= id:
        number += 1
    f1, f2 = g.profile[number][1], g.profile[number][3]
    m1, m2 = g.profile[number][0] - f1, g.profile[number][2] - f2
    id -= g.begin[number]
    own.n = other.n = free.n = 0
    chosen(g, id % g.choose[g.S - m1][m2], g.S - m1, m2, 0, &free)
    id //= g.choose[g.S - m1][m2]
    chosen(g, id % g.choose[g.S][m1], g.S, m1, 0, own)
    id //= g.choose[g.S][m1]
    for k in range(free.n):            # find the free square with this number: skip those that own pieces hold
        q = -1
        while free.square[k] >= 0:
            q += 1
            if not holds(own, facing(g, q)):
                free.square[k] -= 1
        other[0] = moved(other[0], -1, q)
    chosen(g, id // g.choose[g.P][f2], g.P, f1, g.S, own)
    chosen(g, id % g.choose[g.P][f2], g.P, f2, g.S, other)


cdef void chosen(const Game* g, int64_t number, int zone, int k, int first, Side* side) noexcept nogil:
    """Add the k squares of a zone, which begins with `first`, whose combination has this number."""
    cdef int n = zone
    while k > 0:
        n -= 1
        if g.choose[n][k] <= number:
            number -= g.choose[n][k]
            side[0] = moved(side[0], -1, first + zone - 1 - n)
            k -= 1


cdef inline int64_t successor(const Game* g, const Side* mine, const Side* theirs, int roll) noexcept nogil:
    """The ID of the position after a move: after a 6 the same side rolls again."""
    return rank(g, mine, theirs) if roll == 6 else rank(g, theirs, mine)
