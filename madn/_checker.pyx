"""One step of the game in whole numbers: do the proved bounds of a position follow from those of its successors?"""

import itertools

import numpy as np

from cython.parallel cimport prange

from madn._machine cimport checked_threads

include "_checker_game.pxi"

cdef enum:
    BLOCK = 1 << 13      # positions that a thread takes at a time
    HALF = 25            # bits of the lower half of a bound, where products are added up in two halves

ctypedef fused bound_t:
    int32_t
    int64_t

cdef struct Turn:        # of `rest` turns, `unit` have each roll with a move, and `wait` pass the die on without one
    int rest, unit, wait
    int64_t low, high    # what the rolls with a move are worth to the mover, added up
    int decisions, proved            # rolls with a choice, and those of them with a move that is proved best

cdef struct Tally:
    int64_t failures, decisions, proved, width, widest


cdef class Checker:
    """Positions of the game with these rules, and whether their bounds follow from those of their successors."""

    cdef Game g
    cdef readonly int64_t positions

    def __init__(self, int pieces, int squares, bint three_rolls, bint no_jumping, bint must_capture):
        self.positions = make(&self.g, pieces, squares, three_rolls, no_jumping, must_capture)

    def needed(self, const int64_t[::1] ids):
        """The IDs, ascending, of all positions whose bounds are needed to check these, themselves included."""
        cdef Side sides[2]
        cdef Side mine[PIECES]
        cdef Side theirs[PIECES]
        cdef int roll, n, k, mover
        found = set()
        for id in ids:
            if not 0 <= id < self.positions:
                raise ValueError(f"there is no position {id}, only 0 to {self.positions - 1}")
            unrank(&self.g, id, &sides[0], &sides[1])
            for mover in range(2):
                found.add(rank(&self.g, &sides[mover], &sides[1 - mover]))
                for roll in range(1, 7):
                    n = moves(&self.g, &sides[mover], &sides[1 - mover], roll, mine, theirs)
                    for k in range(n):
                        if not finished(&self.g, &mine[k]):
                            found.add(successor(&self.g, &mine[k], &theirs[k], roll))
        return np.array(sorted(found), np.int64)

    def check(self, const int64_t[::1] ids, const bound_t[::1] low, const bound_t[::1] high, int64_t one,
              const int64_t[::1] known, int threads=1):
        """Check the positions with these IDs against bounds of all positions, or of the IDs `known` if any are given.

        Bounds are from 0 to `one`. Returns the number of failures, of decisions, of decisions whose best move is
        proved, the largest width and the ID that has it, and the IDs that failed.
        """
        cdef int64_t count = ids.shape[0], blocks = (count + BLOCK - 1) // BLOCK, b, size = low.shape[0]
        cdef const int64_t* where = &known[0] if known.shape[0] else NULL
        if high.shape[0] != size or size != (known.shape[0] or self.positions) or not 0 < one < <int64_t>1 << 51:
            raise ValueError(f"{size} lower and {high.shape[0]} upper bounds, in steps of 1 / {one}")
        for b in range(count):
            if not 0 <= ids[b] < self.positions or place(ids[b], where, size) < 0:
                raise ValueError(f"there are no bounds of position {ids[b]}")
        threads = checked_threads(threads)
        cdef int64_t[:, ::1] found = np.zeros((blocks + 1, sizeof(Tally) // sizeof(int64_t)), np.int64)
        cdef uint8_t[::1] wrong = np.zeros(count + 1, np.uint8)
        if count:
            for b in prange(blocks, nogil=True, num_threads=threads, schedule="dynamic"):
                check_block(&self.g, &ids[0], b * BLOCK, min(count, (b + 1) * BLOCK), &low[0], &high[0], where, size,
                            one, <Tally*>&found[b, 0], &wrong[0])
        tallies = np.asarray(found)
        widest = tallies[int(tallies[:, 3].argmax())]
        failed = np.asarray(ids)[np.flatnonzero(np.asarray(wrong)[:count])]
        return *[int(n) for n in tallies[:, :3].sum(axis=0)], int(widest[3]), int(widest[4]), failed


cdef inline int64_t place(int64_t id, const int64_t* known, int64_t size) noexcept nogil:
    """Where the bounds of an ID are; -1 if there are none."""
    cdef int64_t low = 0, high = size, middle
    if known == NULL:
        return id
    while high - low > 1:
        middle = (low + high) // 2
        if known[middle] <= id:
            low = middle
        else:
            high = middle
    return low if known[low] == id else -1


cdef Turn turn_of(const Game* g, const Side* own, const Side* other, const bound_t* low, const bound_t* high,
                  const int64_t* known, int64_t size, int64_t one) noexcept nogil:
    """What the rolls of the side to move are worth to it: at the least (`low`) and at the most (`high`)."""
    cdef Side mine[PIECES]
    cdef Side theirs[PIECES]
    cdef int64_t least[PIECES]
    cdef int64_t most[PIECES]
    cdef int64_t at, best_high
    cdef int roll, n, k, best, others
    cdef Turn turn
    turn.rest, turn.unit, turn.wait, turn.decisions, turn.proved = 6, 1, 0, 0, 0
    turn.low = turn.high = 0
    for roll in range(1, 7):
        n = moves(g, own, other, roll, mine, theirs)
        if n == 0:
            turn.rest -= roll == 6          # as if it had not been rolled
            turn.wait += roll != 6
            continue
        best, best_high = 0, 0
        for k in range(n):
            least[k] = most[k] = one                       # a win
            if not finished(g, &mine[k]):
                at = place(successor(g, &mine[k], &theirs[k], roll), known, size)
                if at < 0 or not 0 <= low[at] <= high[at] <= one:
                    least[k] = 0                           # nothing is known about it
                elif roll == 6:
                    least[k], most[k] = low[at], high[at]
                else:                                      # what the other side does not win
                    least[k], most[k] = one - high[at], one - low[at]
            best = k if least[k] > least[best] else best
            best_high = max(best_high, most[k])
        turn.low += least[best]
        turn.high += best_high
        others = 0
        for k in range(n):
            others += k != best and most[k] <= least[best]
        turn.decisions += n > 1
        turn.proved += n > 1 and others == n - 1
    if g.three_rolls and turn.wait == 5 and turn.rest == 6:      # 91 of 216 triples of rolls have a 6
        turn.rest, turn.unit, turn.wait = 216, 91, 125
    return turn


cdef inline bint not_negative(int64_t f0, int64_t x0, int64_t f1, int64_t x1, int64_t f2, int64_t x2, int64_t f3,
                              int64_t x3) noexcept nogil:
    """Whether f0 x0 + f1 x1 + f2 x2 + f3 x3 >= 0; factors are below 2**17 and x from 0 to below 2**54."""
    cdef int64_t mask = (<int64_t>1 << HALF) - 1
    cdef int64_t upper = f0 * (x0 >> HALF) + f1 * (x1 >> HALF) + f2 * (x2 >> HALF) + f3 * (x3 >> HALF)
    cdef int64_t lower = f0 * (x0 & mask) + f1 * (x1 & mask) + f2 * (x2 & mask) + f3 * (x3 & mask)
    cdef int64_t carry = lower // (mask + 1)                # towards zero
    return upper + (carry - 1 if carry * (mask + 1) > lower else carry) >= 0


cdef bint proved(const Game* game, const Side* own, const Side* other, int64_t least, int64_t most, const bound_t* low,
                 const bound_t* high, const int64_t* known, int64_t size, int64_t one, Tally* tally) noexcept nogil:
    """Whether the bounds of a position follow from those of its successors.

    With x the chance of the side to move and y that of the other side if it were to move on the same board,
        rest * x = unit * (sum over the rolls) + wait * (one - y),   and the same for y:
    lost rolls are solved away. The lower bound of x takes lower values of the mover's rolls, upper ones of the other's.
    """
    cdef Turn p, q
    cdef int64_t d, f, g, h
    if not 0 <= least <= most <= one:
        return False
    if finished(game, own):
        return most == one
    if finished(game, other):
        return least == 0
    p = turn_of(game, own, other, low, high, known, size, one)
    tally.decisions += p.decisions
    tally.proved += p.proved
    q = turn_of(game, other, own, low, high, known, size, one) if p.wait else p
    d = p.rest * q.rest - p.wait * q.wait
    f, g, h = p.unit * q.rest, p.wait * (q.rest - q.wait), p.wait * q.unit
    return (d > 0 and not_negative(f, p.low, g, one, -h, q.high, -d, least)
            and not_negative(d, most, -f, p.high, -g, one, h, q.low))


cdef void check_block(const Game* g, const int64_t* ids, int64_t begin, int64_t end, const bound_t* low,
                      const bound_t* high, const int64_t* known, int64_t size, int64_t one, Tally* tally,
                      uint8_t* wrong) noexcept nogil:
    """Check ids[begin] to ids[end - 1]."""
    cdef Side own, other
    cdef int64_t i, at
    tally.width = -1
    for i in range(begin, end):
        unrank(g, ids[i], &own, &other)
        at = place(ids[i], known, size)
        if not proved(g, &own, &other, low[at], high[at], low, high, known, size, one, tally):
            tally.failures += 1
            wrong[i] = 1
        if <int64_t>high[at] - low[at] > tally.width:
            tally.width, tally.widest = <int64_t>high[at] - low[at], ids[i]
