# What a network sees of a position: the rows of its first layer that are added up. This is inline code for the kernel
# that estimates values and for the one that fits networks.
#
# | rows | there is a row for each | and a position adds those of |
# |---|---|---|
# | S, S | main-field square | the mover's pieces; the other side's pieces |
# | 2 * 2^P, twice | finish zone, with jumping allowed or not | the mover; the other side |
# | 2 * (P + 1), twice | number of boxed pieces, with one roll for a 6 or with three | the mover; the other side |
# | P, P | number of boxed pieces | the other side if it enters on a piece of the mover; the reverse |
# | D * B, D * B | distance up to D, and part of the board | pieces the mover can capture from behind; the reverse |
# | D, D | distance up to D, with a duty to capture | likewise |
# | 8 | combination of house rules | the game |

from libc.stdint cimport int16_t, uint64_t

from madn._core cimport madn_lowest, madn_popcount

cdef enum:
    MOST_ACTIVE = 128      # rows of a position: with six pieces at most 6 + 6 + 2 + 2 + 2 + 36 + 36 + 1
    LEAST_SQUARES = 8
    SECOND = 32            # units of the second layer

cdef struct Inputs:
    int pieces
    int squares
    int distances          # D
    int stretch            # squares in each of the B parts of the board
    int three_rolls
    int no_jumping
    int must_capture
    int parts              # B
    int own_zone           # the first row of each kind
    int other_zone
    int own_box
    int other_box
    int own_entered
    int other_entered
    int own_attacks
    int other_attacks
    int own_duties
    int other_duties
    int rules
    int rows               # of all kinds together


cdef inline Inputs inputs_of(int pieces, int squares, int distances, int stretch, int flags) noexcept nogil:
    """The rows for a game; bits 0 to 2 of `flags` are the house rules three rolls, no jumping, duty to capture."""
    cdef Inputs g
    cdef int zones = 2 << pieces, boxes = 2 * (pieces + 1)
    g.pieces, g.squares, g.distances, g.stretch = pieces, squares, distances, stretch
    g.three_rolls, g.no_jumping, g.must_capture = flags & 1, flags >> 1 & 1, flags >> 2 & 1
    g.parts = (squares + stretch - 1) // stretch
    g.own_zone = 2 * squares
    g.other_zone = g.own_zone + zones
    g.own_box = g.other_zone + zones
    g.other_box = g.own_box + boxes
    g.own_entered = g.other_box + boxes
    g.other_entered = g.own_entered + pieces
    g.own_attacks = g.other_entered + pieces
    g.other_attacks = g.own_attacks + distances * g.parts
    g.own_duties = g.other_attacks + distances * g.parts
    g.other_duties = g.own_duties + distances
    g.rules = g.other_duties + distances
    g.rows = g.rules + 8
    return g


cdef inline int active_rows(const Inputs* g, uint64_t own, uint64_t other, int16_t* out) noexcept nogil:
    """List the rows of a position; return how many there are."""
    cdef int S = g.squares, half = S // 2, n = 0, a, b, distance
    cdef int own_boxed = g.pieces - madn_popcount(own), other_boxed = g.pieces - madn_popcount(other)
    cdef uint64_t main = (<uint64_t>1 << S) - 1, mine, theirs, foes = other & main
    out[n] = <int16_t>(g.own_zone + (g.no_jumping << g.pieces) + <int>(own >> S))
    out[n + 1] = <int16_t>(g.other_zone + (g.no_jumping << g.pieces) + <int>(other >> S))
    out[n + 2] = <int16_t>(g.own_box + g.three_rolls * (g.pieces + 1) + own_boxed)
    out[n + 3] = <int16_t>(g.other_box + g.three_rolls * (g.pieces + 1) + other_boxed)
    out[n + 4] = <int16_t>(g.rules + g.three_rolls + 2 * g.no_jumping + 4 * g.must_capture)
    n = 5
    if other_boxed and own >> half & 1:
        out[n] = <int16_t>(g.own_entered + other_boxed - 1)
        n += 1
    if own_boxed and other >> half & 1:
        out[n] = <int16_t>(g.other_entered + own_boxed - 1)
        n += 1
    theirs = foes
    while theirs:
        out[n] = <int16_t>(S + madn_lowest(theirs))
        theirs &= theirs - 1
        n += 1
    mine = own & main
    while mine:
        a = madn_lowest(mine)
        mine &= mine - 1
        out[n] = <int16_t>a
        n += 1
        theirs = foes
        while theirs:
            b = madn_lowest(theirs)
            theirs &= theirs - 1
            distance = (b + half if b < half else b - half) - a
            if 0 < distance <= g.distances:
                out[n] = <int16_t>(g.own_attacks + (distance - 1) * g.parts + b // g.stretch)
                n += 1
                if g.must_capture:
                    out[n] = <int16_t>(g.own_duties + distance - 1)
                    n += 1
            distance = (a + half if a < half else a - half) - b
            if 0 < distance <= g.distances:
                out[n] = <int16_t>(g.other_attacks + (distance - 1) * g.parts + a // g.stretch)
                n += 1
                if g.must_capture:
                    out[n] = <int16_t>(g.other_duties + distance - 1)
                    n += 1
    return n


cdef inline int bucket_of(const Inputs* g, uint64_t own, uint64_t other) noexcept nogil:
    """Which second layer a position has: by the pieces that each side has home."""
    return madn_popcount(own >> g.squares) * g.pieces + madn_popcount(other >> g.squares)
