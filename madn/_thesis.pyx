"""Algorithm 3 of the thesis as printed: position after position by ID, decoded, moved, encoded, in place.

It is the baseline the tiles are measured against, and a second opinion on every number. With more than one thread
positions are read while others write them, as in the thesis: each run ends within the tolerance, not with the same
bits.
"""

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

from madn._core cimport MAX_CHOICES, OwnMove, Ranking, RankTables, decode, encode, own_moves, turned

cdef enum:
    BLOCK = 4096         # IDs a thread takes at a time


cdef inline bint finished(const RankTables* t, uint64_t state) noexcept nogil:
    return t.finish_ones[state >> t.squares] == t.pieces


cdef double expected(const RankTables* t, const double* x, double here, uint64_t own, uint64_t other) noexcept nogil:
    """The mean over the rolls of the best successor's value; `here` is the position's own value (a lost 6)."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef uint64_t rest
    cdef int roll, k, n
    cdef double total = 0, best, value
    for roll in range(1, 7):
        n = own_moves(own, roll, t.squares, t.pieces, moves)
        if n == 0:
            total += here if roll == 6 else 1 - x[encode(t, other, own)]
            continue
        best = -1
        for k in range(n):
            rest = other
            if moves[k].end < t.squares:
                rest &= ~turned(<uint64_t>1 << moves[k].end, t.squares)
            if roll == 6:
                value = x[encode(t, moves[k].after, rest)]
            else:
                value = 1 - x[encode(t, rest, moves[k].after)]
            best = max(best, value)
        total += best
    return total / 6


cdef struct Found:       # in one block of IDs
    double most          # the largest |T(x) - x|
    int64_t where        # and its ID
    int64_t open         # positions that are not finished


cdef void pass_over(const RankTables* t, double* x, int64_t first, int64_t end, bint write,
                    Found* found) noexcept nogil:
    cdef int64_t id
    cdef uint64_t own, other
    cdef double value, change
    found.most = -1
    found.open = 0
    for id in range(first, end):
        decode(t, id, &own, &other)
        if finished(t, own) or finished(t, other):
            continue
        found.open += 1
        value = expected(t, x, x[id], own, other)
        change = fabs(value - x[id])
        if change > found.most:
            found.most = change
            found.where = id
        if write:
            x[id] = value


def run(Ranking ranking, double[::1] x, int64_t first, int64_t end, int threads, bint write):
    """Pass over the IDs first..end-1; return (largest |T(x) - x|, its ID, open positions).

    With `write` the values are replaced as they are computed; without, this is the residual.
    """
    if not 0 <= first <= end <= x.shape[0] or x.shape[0] != ranking.tables.positions:
        raise ValueError("the values and the range must be those of the game")
    cdef int64_t blocks = (end - first + BLOCK - 1) // BLOCK, k
    cdef Found* found = <Found*>calloc(max(blocks, 1), sizeof(Found))
    cdef Found best
    if found == NULL:
        raise MemoryError
    best.most, best.where, best.open = -1, first, 0
    try:
        with nogil:
            for k in prange(blocks, num_threads=threads, schedule="dynamic"):
                pass_over(&ranking.tables, &x[0], first + k * BLOCK, min(end, first + (k + 1) * BLOCK), write,
                          &found[k])
        for k in range(blocks):
            best.open += found[k].open
            if found[k].most > best.most:
                best.most = found[k].most
                best.where = found[k].where
    finally:
        free(found)
    return best.most, best.where, best.open


def start_values(Ranking ranking, double[::1] x, double value):
    """Set every open position to `value`, and the finished ones to 1 (the side to move has won) or 0."""
    cdef int64_t id
    cdef uint64_t own, other
    if x.shape[0] != ranking.tables.positions:
        raise ValueError("the values must be those of the game")
    with nogil:
        for id in range(x.shape[0]):
            decode(&ranking.tables, id, &own, &other)
            x[id] = 1 if finished(&ranking.tables, own) else 0 if finished(&ranking.tables, other) else value
