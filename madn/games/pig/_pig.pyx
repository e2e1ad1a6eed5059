"""The loops of `madn.games.pig`: one turn backwards, then the two unknowns of a pair of scores.

A turn that starts at own score `a` passes through turn scores 0, 1, 2, ... What holding is worth is known from larger
scores. What losing the turn is worth, `s`, is not: it depends on the other player's turn at the same scores, which in
turn depends on this one. With its decisions fixed, the value of a turn is a line in `s` whose slope `q` is the
probability that the turn is lost. Two turns give two lines, which cross at the value of the pair for these decisions;
the decisions are improved until none changes.

Layout: `values[a][b]` is for the player who rolls and has `a` against `b`. `after[b][a]` is for the player who has just
passed the die on and has `a`, while the one who rolls has `b`: going up in `a` is going up in the array.

Both turns of a pair are computed as values of the player who is behind: small values are computed from small numbers,
never as 1 minus something near 1, so they are accurate to as many digits as large ones.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from madn._machine cimport check_number, check_shape, checked_threads

include "_turn.pxi"

cdef enum:
    TILE = 20            # scores along each side of a tile, the work that a thread takes at a time

LIMITS = (MOST_TARGET, MOST_FACES)
NOT_FOUND = f"the best decisions of a pair of scores were not found in {MOST_ROUNDS} rounds"


cdef int solve_pair(const Table* g, double* values, double* after, int a, int b) noexcept nogil:
    """Both players' values at the scores a <= b when both play their best; returns nonzero if no end was found.

    The second player's decisions are fixed, the first player plays the best reply, the second improves on that, and so
    on: each round is better for the second player than the last (Hoffman and Karp).
    """
    cdef int n = g.target, changed, step
    cdef Turn mine, theirs
    cdef double x, y, d
    cdef double loss = g.total - gain(g, a)
    if g.dead[a] or g.dead[b]:   # a player whose score is not dead gets there in the end; if both are, nobody wins
        values[a * n + b] = after[b * n + a] = not g.dead[a]
        values[b * n + a] = after[a * n + b] = not g.dead[b]
        return 0
    x = values[a * n + b + 1] if b + 1 < n else 0
    memset(mine.hold, 0, sizeof(mine.hold))
    memset(theirs.hold, 0, sizeof(theirs.hold))
    for step in range(MOST_ROUNDS):
        changed = play(g, n - b, loss, x, &values[a * n + b], -1, 0 if step == 0 else SLACK, &theirs)
        y, d = theirs.v[0], theirs.q[0]
        if changed == 0 and step > 0:
            break
        x = reply(g, n - a, gain(g, b), &after[b * n + a], y - d * x, d, x, step == 0, &mine)
        if x == INFINITY:
            return 1
    else:
        return 1
    if a == b:   # use one number for both players, whose games are the same
        y = g.total - x
    values[a * n + b] = x
    after[b * n + a] = y
    values[b * n + a] = g.total - y
    after[a * n + b] = g.total - x
    return 0


cdef int solve_tile(const Table* g, double* values, double* after, int i, int j) noexcept nogil:
    """Solve all pairs a <= b with a in tile i and b in tile j, each after the pairs that it needs."""
    cdef int a, b, failed = 0
    for a in range(min(g.target, (i + 1) * TILE) - 1, i * TILE - 1, -1):
        for b in range(min(g.target, (j + 1) * TILE) - 1, max(a, j * TILE) - 1, -1):
            failed += solve_pair(g, values, after, a, b)
    return failed


cdef void unpack(const uint8_t* bits, uint8_t* hold, int n) noexcept nogil:
    cdef int t
    for t in range(n):
        hold[t] = bits[t >> 3] >> (t & 7) & 1


cdef int meet_pair(const Table* g, double* rolls, double* waits, const uint8_t* mine_bits, const uint8_t* their_bits,
                   double win, double loss, double never, int a, int b) noexcept nogil:
    """The first player's value at the scores a and b, when the first rolls and when the second does.

    Both keep to their decisions; without decisions of its own (NULL) the first player plays the best reply.
    """
    cdef int n = g.target
    cdef Turn mine, theirs
    cdef double x, d
    if g.paid:
        win, loss = n - b, a - n
    if g.dead[a] and g.dead[b]:
        rolls[a * n + b] = waits[b * n + a] = never
        return 0
    unpack(their_bits, theirs.hold, n)
    play(g, n - b, loss, 0, &rolls[a * n + b], -1, INFINITY, &theirs)
    d = theirs.q[0]
    if mine_bits != NULL:
        unpack(mine_bits, mine.hold, n)
        play(g, n - a, win, theirs.v[0], &waits[b * n + a], 1, INFINITY, &mine)
        x = mine.v[0] / (1 - d * mine.q[0])
    else:
        memset(mine.hold, 0, sizeof(mine.hold))
        x = reply(g, n - a, win, &waits[b * n + a], theirs.v[0], d, 0, True, &mine)
        if x == INFINITY:
            return 1
    rolls[a * n + b] = x
    waits[b * n + a] = theirs.v[0] + d * x
    return 0


cdef int meet_tile(const Table* g, double* rolls, double* waits, const uint8_t* mine_bits, const uint8_t* their_bits,
                   double win, double loss, double never, int i, int j) noexcept nogil:
    cdef int n = g.target, width = (n + 7) // 8, a, b, failed = 0
    cdef const uint8_t* mine = NULL
    for a in range(min(n, (i + 1) * TILE) - 1, i * TILE - 1, -1):
        for b in range(min(n, (j + 1) * TILE) - 1, j * TILE - 1, -1):
            if mine_bits != NULL:
                mine = mine_bits + (a * n + b) * width
            failed += meet_pair(g, rolls, waits, mine, their_bits + (b * n + a) * width, win, loss, never, a, b)
    return failed


cdef struct Found:       # in one row of the residual pass
    double residual
    double gap           # the smallest that is not a tie
    int other            # the other score and the turn score where that is
    int turn
    int64_t ties


cdef void check_row(const Table* g, const double* values, const double* after, int a, double tie,
                    Found* found) noexcept nogil:
    cdef int n = g.target, b, t, sign
    cdef double gap, stored
    cdef const double* h
    cdef Turn turn
    found.residual, found.gap, found.other, found.turn, found.ties = 0, INFINITY, 0, 0, 0
    for b in range(n):
        sign = best_turn(g, values, after, a, b, 0, &turn)
        h = &after[b * n + a] if sign > 0 else &values[b * n + a]
        stored = values[a * n + b] if sign > 0 else after[a * n + b]
        found.residual = max(found.residual, fabs(turn.v[0] - stored))
        for t in range(1, n - a):
            gap = fabs(h[t] - turn.roll[t])
            if gap <= tie * scale(g, turn.roll[t]):
                found.ties += 1
            elif gap < found.gap:
                found.gap, found.other, found.turn = gap, b, t


cdef void decide_pair(const Table* g, const double* values, const double* after, double tie, uint8_t* bits, int a,
                      int b) noexcept nogil:
    cdef int t
    cdef Turn turn
    memset(bits, 0, (g.target + 7) // 8)
    best_turn(g, values, after, a, b, tie, &turn)
    for t in range(1, g.target - a):
        bits[t >> 3] |= turn.hold[t] << (t & 7)


cdef class Kernel:
    """The rules of a game as the loops need them; arrays are target x target, as described at the top."""

    cdef Table table

    def __cinit__(self, int target, int faces, int losing, bint exact, bint paid, bint mercy, dead):
        check_number("target", target, 2, MOST_TARGET)
        check_number("faces", faces, 2, MOST_FACES)
        check_number("losing face", losing, 1, faces)
        if len(dead) != target:
            raise ValueError(f"dead: expected a flag for each of {target} scores, found {len(dead)}")
        self.table.target, self.table.faces, self.table.losing = target, faces, losing
        self.table.exact, self.table.paid, self.table.mercy = exact, paid, mercy
        self.table.total = 0 if paid else 1
        for score in range(target):
            self.table.dead[score] = bool(dead[score])

    cdef int check_values(self, values, after) except -1:
        check_shape("values", values, (self.table.target, self.table.target))
        check_shape("after", after, (self.table.target, self.table.target))
        return 0

    cdef int check_bits(self, bits) except -1:
        check_shape("decisions", bits, (self.table.target, self.table.target, (self.table.target + 7) // 8))
        return 0

    cdef int first_tile(self, int wave) except -1:
        """The first of the tiles i, wave - i."""
        check_number("wave", wave, 0, self.waves - 1)
        return max(0, wave - self.waves // 2)

    @property
    def waves(self):
        """The number of steps of `solve` and `meet`, which go from waves - 1 down to 0; each needs those above it."""
        return 2 * ((self.table.target + TILE - 1) // TILE) - 1

    def solve(self, double[:, ::1] values not None, double[:, ::1] after not None, int wave, int threads):
        """Write both arrays for the pairs of scores in the tiles i, wave - i."""
        cdef int first = self.first_tile(wave), i, failed = 0
        self.check_values(values, after)
        threads = checked_threads(threads)
        for i in prange(first, wave // 2 + 1, num_threads=threads, schedule="dynamic", nogil=True):
            failed += solve_tile(&self.table, &values[0, 0], &after[0, 0], i, wave - i)
        if failed:
            raise ArithmeticError(NOT_FOUND)

    def meet(self, double[:, ::1] rolls not None, double[:, ::1] waits not None, const uint8_t[:, :, ::1] mine,
             const uint8_t[:, :, ::1] theirs not None, double win, double loss, double never, int wave, int threads):
        """As `solve`, for the first player's values against fixed decisions; `mine` None is the best reply.

        rolls[a][b]: the first player has a and rolls; waits[b][a]: the second has b and rolls. Decisions are
        bits[own][other], bit t says to hold with t points. Payoffs are those of the first player.
        """
        cdef int first = self.first_tile(wave), i, failed = 0
        cdef const uint8_t* mine_bits = NULL
        self.check_values(rolls, waits)
        self.check_bits(theirs)
        threads = checked_threads(threads)
        if mine is not None:
            self.check_bits(mine)
            mine_bits = &mine[0, 0, 0]
        for i in prange(first, wave - first + 1, num_threads=threads, schedule="dynamic", nogil=True):
            failed += meet_tile(&self.table, &rolls[0, 0], &waits[0, 0], mine_bits, &theirs[0, 0, 0], win, loss, never,
                                i, wave - i)
        if failed:
            raise ArithmeticError(NOT_FOUND)

    def check_rows(self, const double[:, ::1] values not None, const double[:, ::1] after not None, double tie,
                   int first, int end, int threads):
        """Recompute the values of own scores first..end-1 from `after`, writing nothing.

        Returns (largest difference, smallest gap between rolling and holding above `tie`, its own score, other
        score and turn score, number of ties).
        """
        cdef int a
        cdef Found found[MOST_TARGET]
        self.check_values(values, after)
        check_number("end", end, 1, self.table.target)
        check_number("first score", first, 0, end - 1)
        threads = checked_threads(threads)
        for a in prange(first, end, num_threads=threads, schedule="dynamic", nogil=True):
            check_row(&self.table, &values[0, 0], &after[0, 0], a, tie, &found[a])
        residual, gap, where, ties = 0.0, INFINITY, (0, 0, 0), 0
        for a in range(first, end):
            residual = max(residual, found[a].residual)
            ties += found[a].ties
            if found[a].gap < gap:
                gap, where = found[a].gap, (a, found[a].other, found[a].turn)
        return residual, gap, *where, ties

    def turn(self, const double[:, ::1] values not None, const double[:, ::1] after not None, double tie, int a, int b):
        """One turn at the scores a (own) and b: for each turn score its value, that of rolling, and the decision."""
        cdef int t
        cdef double sign, zero
        cdef Turn turn
        self.check_values(values, after)
        check_number("own score", a, 0, self.table.target - 1)
        check_number("other score", b, 0, self.table.target - 1)
        sign = best_turn(&self.table, &values[0, 0], &after[0, 0], a, b, tie, &turn)
        zero = 0 if sign > 0 else self.table.total
        both, holds = np.empty((2, self.table.target - a)), np.empty(self.table.target - a, bool)
        cdef double[:, ::1] value = both
        cdef uint8_t[::1] hold = holds.view(np.uint8)
        for t in range(self.table.target - a):
            value[0, t] = zero + sign * turn.v[t]
            value[1, t] = zero + sign * turn.roll[t]
            hold[t] = turn.hold[t]
        return both[0], both[1], holds

    def decide(self, const double[:, ::1] values, const double[:, ::1] after not None, double tie,
               uint8_t[:, :, ::1] bits not None, int a, int threads):
        """Write the best decisions of own score a; a tie is a roll. Without `values` only `after` is used."""
        cdef int n = self.table.target, b
        cdef const double* precise = NULL
        self.check_values(after if values is None else values, after)
        self.check_bits(bits)
        check_number("own score", a, 0, n - 1)
        threads = checked_threads(threads)
        if values is not None:
            precise = &values[0, 0]
        for b in prange(n, num_threads=threads, schedule="static", nogil=True):
            decide_pair(&self.table, precise, &after[0, 0], tie, &bits[a, b, 0], a, b)

    def fewest_turns(self):
        """The fewest turns expected from each own score, and the decisions [own][turn] that achieve them."""
        cdef int n = self.table.target, a, t
        cdef Turn turn
        cdef double[::1] h = np.full(n, -INFINITY)   # minus the turns that are left
        cdef uint8_t[:, ::1] holds = np.zeros((n, n), np.uint8)
        for a in range(n - 1, -1, -1):
            if not self.table.dead[a]:
                memset(turn.hold, 0, sizeof(turn.hold))
                h[a] = reply(&self.table, n - a, 0, &h[a], -1, 1, -1, True, &turn) - 1
                for t in range(1, n - a):
                    holds[a, t] = turn.hold[t]
        return -np.asarray(h), np.asarray(holds)
