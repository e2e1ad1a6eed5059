"""The winning probabilities of two fixed players from every position of a pair of finish zones: one sweep, compiled.

Rows are the states of player A, columns those of player B, as in the solver (docs/method.md): fewest pips first, so
that a sweep in that order meets every successor that is not a capture before the position that needs it. L[a][b] is the
probability that A wins with A to move, R[a][b] with B to move. A player is a set of moves for every position and roll,
taken with equal probability; without such sets it takes the best move against the other.
"""

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from madn._choice cimport Chooser, Policy, choices
from madn._core cimport MAX_CHOICES, OwnMove, madn_popcount, own_moves, turned

cdef enum:
    MOST_EXITS = 32
    BITS = 4             # for the set of moves of one roll: up to four pieces

cdef double UNIT = 2.0 ** -32


cdef struct Values:      # a matrix of doubles, or of 32-bit multiples of 2^-32
    double* fine
    uint32_t* coarse


cdef inline double load(const Values* values, int64_t at) noexcept nogil:
    return values.fine[at] if values.fine != NULL else values.coarse[at] * UNIT


cdef inline void store(const Values* values, int64_t at, double win) noexcept nogil:
    if values.fine != NULL:
        values.fine[at] = win
    else:
        win = win * 4294967296.0 + 0.5
        values.coarse[at] = <uint32_t>(win if win < 4294967295.0 else 4294967295.0)


cdef Values values_of(array):
    """The values in a numpy array."""
    cdef Values found
    cdef double[::1] fine
    cdef uint32_t[::1] coarse
    found.fine, found.coarse = NULL, NULL
    if array.dtype.itemsize == 8:
        fine = array
        found.fine = &fine[0]
    else:
        coarse = array
        found.coarse = &coarse[0]
    return found


cdef struct Table:       # one side
    int64_t size
    const uint64_t* masks
    const uint64_t* turned
    const int32_t* without       # [state][k], as madn.solver.sides.Side.without
    const int32_t* first         # as madn.solver.sides.Moves
    const int8_t* kind
    const int32_t* row
    const int8_t* end
    const int8_t* lost
    const int8_t* lost_six
    Values to[2][MOST_EXITS]     # [1 for a 6][kind]: where a move leads; kind 0 stays in this component
    int64_t columns[MOST_EXITS]  # columns of those matrices
    const uint32_t* policy       # [a][b], six sets of BITS bits; NULL: the best move


cdef class Component:
    """One pair of finish zones."""
    cdef Table a, b
    cdef Values L, R
    cdef int pieces
    cdef readonly int64_t columns
    cdef object kept             # what the pointers point into

    def __cinit__(self, int pieces, a, b, L, R, a_exits, b_exits, a_policy, b_policy):
        self.pieces, self.columns = pieces, b["size"]
        self.kept = [L, R]
        self.L, self.R = values_of(L), values_of(R)
        self._table(&self.a, a, [(R, L, b["size"]), *a_exits], a_policy)
        self._table(&self.b, b, [(L, R, b["size"]), *b_exits], b_policy)

    cdef int _table(self, Table* t, side, exits, policy) except -1:
        cdef const uint64_t[::1] masks = side["masks"], facing = side["turned"]
        cdef const int32_t[:, ::1] without = side["without"]
        cdef const int32_t[::1] first = side["first"], row = side["row"]
        cdef const int8_t[::1] kind = side["kind"], end = side["end"], lost = side["lost"], six = side["lost_six"]
        cdef const uint32_t[::1] sets
        if len(exits) > MOST_EXITS or self.pieces > BITS:
            raise ValueError("the game is too large")
        t.size = len(masks)
        t.masks, t.turned, t.without = &masks[0], &facing[0], &without[0, 0]
        t.first, t.kind, t.row, t.end = &first[0], &kind[0], &row[0], &end[0]
        t.lost, t.lost_six = &lost[0], &six[0]
        for k, (after, again, columns) in enumerate(exits):
            t.to[0][k], t.to[1][k], t.columns[k] = values_of(after), values_of(again), columns
        t.policy = NULL
        if policy is not None:
            sets = policy
            t.policy = &sets[0]
        self.kept.append((side, exits, policy))
        return 0

    def sweep(self, int64_t begin, int64_t end, int threads, bint examine):
        """Compute rows begin..end-1, which must have equal pips; return the largest change.

        With `examine` nothing is written, and the change is that of one step: the residual.
        """
        cdef int64_t i
        cdef double most = 0
        cdef double* change = <double*>calloc(max(end - begin, 1), sizeof(double))
        if change == NULL:
            raise MemoryError
        with nogil:
            for i in prange(begin, end, num_threads=threads, schedule="dynamic", chunksize=4):
                change[i - begin] = pass_row(&self.a, &self.b, &self.L, &self.R, self.pieces, i, examine)
        for i in range(end - begin):
            most = max(most, change[i])
        free(change)
        return most


cdef double pass_row(const Table* A, const Table* B, const Values* L, const Values* R, int P, int64_t a,
                     bint examine) noexcept nogil:
    """Compute L and R of one row, columns in order; return the largest change."""
    cdef int64_t b, n = B.size, at
    cdef double most = 0, own, other, det, left, right, x, y
    cdef int la = A.lost[a], ka = A.lost_six[a], lb, kb
    for b in range(n):
        if A.turned[a] & B.masks[b]:
            continue
        at = a * n + b
        own = row_moves(A, B, P, a, b, at)
        other = column_moves(A, B, P, a, b, at)
        lb, kb = B.lost[b], B.lost_six[b]
        x, y = load(L, at), load(R, at)
        if examine:
            left = (own + la * y + ka * x) / 6
            right = (other + lb * x + kb * y) / 6
        else:    # lost turns lead from one of the two to the other: solve for both
            det = (6 - ka) * (6 - kb) - la * lb
            left = (own * (6 - kb) + la * other) / det
            right = (other * (6 - ka) + lb * own) / det
            store(L, at, left)
            store(R, at, right)
        most = max(most, max(fabs(left - x), fabs(right - y)))
    return most


cdef inline double chosen(const double* values, int count, uint32_t taken, bint best, bint largest) noexcept nogil:
    """The mean of the values that are taken, or the largest or smallest of all."""
    cdef double total = 0
    cdef int k, number = 0
    if count == 1:
        return values[0]
    if best:
        total = values[0]
        for k in range(1, count):
            total = max(total, values[k]) if largest else min(total, values[k])
        return total
    for k in range(count):
        if (taken >> k) & 1:
            total += values[k]
            number += 1
    return total / number


cdef double row_moves(const Table* A, const Table* B, int P, int64_t a, int64_t b, int64_t at) noexcept nogil:
    """The sum over the rolls with a move of what A makes of them."""
    cdef double values[MAX_CHOICES]
    cdef double total = 0
    cdef uint64_t foes = B.turned[b]
    cdef uint32_t sets = A.policy[at] if A.policy != NULL else 0, taken
    cdef int roll, k, count, end, kind
    cdef int64_t o, column
    for roll in range(6):
        o = A.first[6 * a + roll]
        count = A.first[6 * a + roll + 1] - <int>o
        if count == 0:
            continue
        taken = (sets >> (BITS * roll)) & 15
        for k in range(count):
            if A.policy != NULL and count > 1 and not (taken >> k) & 1:
                continue
            end, kind, column = A.end[o + k], A.kind[o + k], b
            if (foes >> end) & 1:
                column = B.without[b * P + madn_popcount(foes & ((<uint64_t>1 << end) - 1))]
            values[k] = load(&A.to[roll == 5][kind], A.row[o + k] * A.columns[kind] + column)
        total += chosen(values, count, taken, A.policy == NULL, True)
    return total


cdef double column_moves(const Table* A, const Table* B, int P, int64_t a, int64_t b, int64_t at) noexcept nogil:
    """The sum over the rolls with a move of what B leaves to A."""
    cdef double values[MAX_CHOICES]
    cdef double total = 0
    cdef uint64_t foes = A.turned[a]
    cdef uint32_t sets = B.policy[at] if B.policy != NULL else 0, taken
    cdef int roll, k, count, end, kind
    cdef int64_t o, row
    for roll in range(6):
        o = B.first[6 * b + roll]
        count = B.first[6 * b + roll + 1] - <int>o
        if count == 0:
            continue
        taken = (sets >> (BITS * roll)) & 15
        for k in range(count):
            if B.policy != NULL and count > 1 and not (taken >> k) & 1:
                continue
            end, kind, row = B.end[o + k], B.kind[o + k], a
            if (foes >> end) & 1:
                row = A.without[a * P + madn_popcount(foes & ((<uint64_t>1 << end) - 1))]
            values[k] = load(&B.to[roll == 5][kind], row * B.columns[kind] + B.row[o + k])
        total += chosen(values, count, taken, B.policy == NULL, False)
    return total


cdef void fill_row(const Chooser* chooser, int S, int P, const uint64_t* movers, const uint64_t* others, int64_t a,
                   int64_t n, bint column_moves, uint32_t* out) noexcept nogil:
    """The sets of moves of one row of pairs of states."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef int64_t b
    cdef uint64_t own, other
    cdef uint32_t sets
    cdef int roll, count
    for b in range(n):
        own, other = movers[b if column_moves else a], others[a if column_moves else b]
        sets = 0
        if not turned(own, S) & other:
            for roll in range(1, 7):
                count = own_moves(own, roll, S, P, moves)
                if count:
                    sets |= choices(chooser, other, roll, S, P, moves, count) << (BITS * (roll - 1))
        out[a * n + b] = sets


def fill(Policy policy, const uint64_t[::1] a_states, const uint64_t[::1] b_states, bint column_moves,
         uint32_t[::1] out, int threads):
    """The sets of moves a player takes on every pair of states (whole masks), as the row or the column player."""
    cdef int64_t a, rows = len(a_states), n = len(b_states)
    cdef const uint64_t* movers = &b_states[0] if column_moves else &a_states[0]
    cdef const uint64_t* others = &a_states[0] if column_moves else &b_states[0]
    cdef const Chooser* chooser = &policy.chooser
    cdef int S = policy.squares, P = policy.pieces
    if len(out) != rows * n:
        raise ValueError("one set for each pair of states")
    with nogil:
        for a in prange(rows, num_threads=threads, schedule="dynamic", chunksize=4):
            fill_row(chooser, S, P, movers, others, a, n, column_moves, &out[0])
