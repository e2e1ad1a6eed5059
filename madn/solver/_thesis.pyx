"""Algorithm 3 of the thesis as printed: positions in the order of their IDs, decoded, moved, encoded, in place.

It is the baseline that method `tiles` is measured against, and a second opinion on every number. With more than one
thread, positions are read while other threads write them, as in the thesis: every solve ends within the tolerance, but
not with the same bits.
"""

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from madn._core cimport (
    DIE, MAX_CHOICES, Game, GameTables, OwnMove, Turn, decode, encode, finished, left_after, legal_options, own_moves,
    rolls_again, turn_of,
)
from madn._machine cimport checked_threads

cdef enum:
    BLOCK = 4096         # IDs a thread takes at a time


cdef double expected(const GameTables* t, const double* x, double here, uint64_t own, uint64_t other) noexcept nogil:
    """The value of a position from those of its successors; `here` is its own value, needed for a lost 6."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef int count[DIE]
    cdef Turn turn
    cdef uint64_t rest
    cdef uint32_t legal
    cdef int roll, k
    cdef double total = 0, best, value
    for roll in range(1, DIE + 1):
        count[roll - 1] = own_moves(t, own, roll, moves)
        if count[roll - 1] == 0:
            continue
        best = -1
        legal = legal_options(t, moves, count[roll - 1], other)
        for k in range(count[roll - 1]):
            if not legal >> k & 1:
                continue
            rest = left_after(t, &moves[k], other)
            if rolls_again(roll):
                value = x[encode(t, moves[k].after, rest)]
            else:
                value = 1 - x[encode(t, rest, moves[k].after)]
            best = max(best, value)
        total += best
    turn = turn_of(t, count)
    total = turn.unit * total + turn.again * here
    if turn.wait:
        total += turn.wait * (1 - x[encode(t, other, own)])
    return total / turn.total


cdef struct Found:       # what was found in one block of IDs
    double most          # the largest |T(x) - x|
    int64_t where        # and its ID
    int64_t open         # positions in which the game is not over


cdef void pass_over(const GameTables* t, double* x, int64_t first, int64_t end, bint write,
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


def run(Game game not None, double[::1] x, int64_t first, int64_t end, int threads, bint write):
    """Pass over the IDs first..end-1; return (largest |T(x) - x|, its ID, open positions).

    With `write` the values are replaced as they are computed; without it, the largest difference is the residual.
    """
    if not 0 <= first <= end <= x.shape[0] or x.shape[0] != game.tables.positions:
        raise ValueError("the values and the range must be those of the game")
    checked_threads(threads)
    cdef int64_t blocks = (end - first + BLOCK - 1) // BLOCK, k
    cdef Found* found = <Found*>calloc(max(blocks, 1), sizeof(Found))
    cdef Found best
    if found == NULL:
        raise MemoryError
    best.most, best.where, best.open = -1, first, 0
    try:
        with nogil:
            for k in prange(blocks, num_threads=threads, schedule="dynamic"):
                pass_over(&game.tables, &x[0], first + k * BLOCK, min(end, first + (k + 1) * BLOCK), write,
                          &found[k])
        for k in range(blocks):
            best.open += found[k].open
            if found[k].most > best.most:
                best.most = found[k].most
                best.where = found[k].where
    finally:
        free(found)
    return best.most, best.where, best.open


def start_values(Game game not None, double[::1] x, double value):
    """Set every open position to `value`, and the finished ones to 1 (the side to move has won) or 0."""
    cdef int64_t id
    cdef uint64_t own, other
    if x.shape[0] != game.tables.positions:
        raise ValueError("the values must be those of the game")
    with nogil:
        for id in range(x.shape[0]):
            decode(&game.tables, id, &own, &other)
            x[id] = 1 if finished(&game.tables, own) else 0 if finished(&game.tables, other) else value
