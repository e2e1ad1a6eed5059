"""The winning probabilities of two fixed players from every position of a pair of finish zones: one sweep, compiled.

Rows are the states of player A, columns those of player B, as in the solver (docs/method.md): fewest pips first, so
that a sweep in that order meets every successor that is not a capture before the position that needs it. L[a][b] is the
probability that A wins with A to move, R[a][b] with B to move. A player is given by a set of moves for every position
and roll, each taken with equal probability; without such sets it plays the best reply to the other.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint32_t, uint64_t

from madn._core cimport DIE, MAX_CHOICES, GameTables, OwnMove, facing, madn_popcount, own_moves, rolls_again
from madn._machine cimport checked_threads
from madn._players cimport Chooser, CompiledPlayer, Values, choices, load, values_of

from madn.ranges import check_range

cdef enum:
    MOST_EXITS = 32
    BITS = 4             # for the set of moves of one roll: up to four pieces

    TOTAL = 0            # the columns of a turn, as in madn.rules.Turn
    UNIT = 1
    WAIT = 2
    AGAIN = 3


cdef inline void store(const Values* values, int64_t at, double win) noexcept nogil:
    if values.fine != NULL:
        values.fine[at] = win
    else:
        win = win * 4294967296.0 + 0.5
        values.coarse[at] = <uint32_t>(win if win < 4294967295.0 else 4294967295.0)


cdef struct Table:       # one side
    int64_t size
    const uint64_t* masks
    const uint64_t* facing
    const int32_t* without       # [state][k], as madn.solver.sides.Side.without
    const int32_t* first         # as madn.solver.sides.Moves
    const int8_t* kind
    const int32_t* row
    const int8_t* end
    const int16_t* turn          # [state][4]: total, unit, wait and again of madn.rules.Turn
    Values to[2][MOST_EXITS]     # [1 for a 6][kind]: the values a move leads to; kind 0 stays in this component
    int64_t columns[MOST_EXITS]  # of those matrices
    const uint32_t* sets         # [a][b], six sets of BITS bits; NULL for a player that takes the best move
    bint must_capture            # if a capture is possible, the best move is the best capture


cdef class Evaluator:
    """One pair of finish zones; `a` and `b` are `SideTables` of madn/evaluate.py. All arguments are checked here."""
    cdef Table a, b
    cdef Values L, R
    cdef int pieces
    cdef readonly int64_t columns
    cdef list arrays             # keeps alive what the pointers point into
    cdef double[::1] change      # of each row in the last sweep

    def __cinit__(self, int pieces, bint must_capture, a, b, L, R, a_exits, b_exits, a_sets, b_sets):
        cdef int64_t rows = len(a.masks), columns = len(b.masks)
        if not 1 <= pieces <= BITS:
            raise ValueError(f"1 to {BITS} pieces, not {pieces}")
        if not len(L) == len(R) == rows * columns or L.dtype != R.dtype:
            raise ValueError(f"{len(L)} and {len(R)} values for {rows} times {columns} states")
        self.pieces, self.columns = pieces, columns
        self.a.must_capture = self.b.must_capture = must_capture
        self.arrays, self.change = [L, R], np.empty(rows)
        self.L, self.R = values_of(L), values_of(R)
        self._table(&self.a, a, [(R, L, columns), *a_exits], a_sets, columns, True)
        self._table(&self.b, b, [(L, R, columns), *b_exits], b_sets, rows, False)

    cdef int _table(self, Table* t, side, list exits, sets, int64_t others, bint rows_move) except -1:
        """Set the pointers of one side; `others` is the number of states of the other one."""
        cdef const uint64_t[::1] masks = side.masks, faced = side.facing
        cdef const int32_t[:, ::1] without = side.without
        cdef const int32_t[::1] first = side.first, row = side.row
        cdef const int8_t[::1] kind = side.kind, end = side.end
        cdef const int16_t[:, ::1] turn = side.turn
        cdef const uint32_t[::1] bits
        cdef int64_t n = len(side.masks), i
        for name, array in vars(side).items():
            if array is None:
                raise ValueError(f"{name} is missing")
        if n == 0 or len(faced) != n or without.shape[0] != n or without.shape[1] != self.pieces \
                or len(first) != DIE * n + 1 or turn.shape[0] != n or turn.shape[1] != 4:
            raise ValueError(f"the tables of a side of {n} states do not have its shape")
        if first[0] != 0 or not len(kind) == len(row) == len(end) == first[DIE * n]:
            raise ValueError(f"{len(kind)} kinds, {len(row)} rows and {len(end)} ends for {first[DIE * n]} moves")
        check_range("moves for a roll", np.diff(side.first), 0, self.pieces)
        for i in range(n):
            if madn_popcount(faced[i]) > self.pieces or turn[i, TOTAL] <= turn[i, AGAIN]:
                raise ValueError(f"state {i}: not a state with a turn of this game")
        check_range("without", side.without, 0, n - 1)
        check_range("kind", side.kind, 0, len(exits) - 1)
        check_range("end", side.end, 0, 63)
        if len(exits) > MOST_EXITS:
            raise ValueError(f"{len(exits)} finish zones after one, at most {MOST_EXITS} fit")
        t.masks, t.facing, t.without = &masks[0], &faced[0], &without[0, 0]
        t.first, t.kind, t.row, t.end = &first[0], &kind[0], &row[0], &end[0]
        t.turn, t.size = &turn[0, 0], n
        for k, (after, again, columns) in enumerate(exits):
            reached = side.row[side.kind == k]
            most = int(reached.max(initial=0))
            last = most * columns + others - 1 if rows_move else (others - 1) * columns + most
            if columns < 0 or reached.min(initial=0) < 0 or last >= min(len(after), len(again)):
                raise ValueError(f"exit {k}: row {most} with {columns} columns is outside of {len(after)} values")
            t.to[0][k], t.to[1][k], t.columns[k] = values_of(after), values_of(again), columns
        t.sets = NULL
        if sets is not None:
            bits = sets
            if len(bits) != n * others:
                raise ValueError(f"{len(bits)} sets of moves for {n} times {others} states")
            t.sets = &bits[0]
        self.arrays.append((side, exits, sets))
        return 0

    def sweep(self, int64_t begin, int64_t end, int threads, bint examine):
        """Compute rows begin..end-1, which must have equal pips; return the largest change.

        With `examine` nothing is written, and the change is that of one step: the residual.
        """
        cdef int64_t i
        cdef double most = 0
        if not 0 <= begin <= end <= self.a.size:
            raise ValueError(f"rows {begin} to {end} of {self.a.size}")
        threads = checked_threads(threads)
        for i in prange(begin, end, num_threads=threads, schedule="dynamic", chunksize=4, nogil=True):
            self.change[i] = pass_row(&self.a, &self.b, &self.L, &self.R, self.pieces, i, examine)
        for i in range(begin, end):
            most = max(most, self.change[i])
        return most


cdef double pass_row(const Table* A, const Table* B, const Values* L, const Values* R, int P, int64_t a,
                     bint examine) noexcept nogil:
    """Compute L and R of one row, in the order of the columns; return the largest change."""
    cdef int64_t b, n = B.size, at
    cdef double most = 0, own, other, det, left, right, x, y
    cdef const int16_t* p = A.turn + 4 * a
    cdef const int16_t* q
    for b in range(n):
        if A.facing[a] & B.masks[b]:
            continue
        at = a * n + b
        own = after_moves(A, B, P, a, b, at, True)
        other = after_moves(B, A, P, b, a, at, False)
        q = B.turn + 4 * b
        x, y = load(L, at), load(R, at)
        if examine:
            left = (p[UNIT] * own + p[WAIT] * y + p[AGAIN] * x) / p[TOTAL]
            right = (q[UNIT] * other + q[WAIT] * x + q[AGAIN] * y) / q[TOTAL]
        else:    # lost rolls lead from L to R and back: solve for both at once
            det = (p[TOTAL] - p[AGAIN]) * (q[TOTAL] - q[AGAIN]) - p[WAIT] * q[WAIT]
            left = (p[UNIT] * own * (q[TOTAL] - q[AGAIN]) + p[WAIT] * q[UNIT] * other) / det
            right = (q[UNIT] * other * (p[TOTAL] - p[AGAIN]) + q[WAIT] * p[UNIT] * own) / det
            store(L, at, left)
            store(R, at, right)
        most = max(most, max(fabs(left - x), fabs(right - y)))
    return most


cdef inline double after_moves(const Table* A, const Table* B, int P, int64_t a, int64_t b, int64_t at,
                               bint rows) noexcept nogil:
    """The row player's chance after the moves that the mover A takes on its state a, summed over the rolls with a move.

    With `rows` the mover is the row player, who maximises it, otherwise the column player, who minimises it. For each
    roll it is the mean over A's set of moves, or without sets the best move.
    """
    cdef double total = 0, value, of_roll
    cdef uint64_t foes = B.facing[b]
    cdef uint32_t sets = A.sets[at] if A.sets != NULL else 0, taken
    cdef int roll, k, count, number, end, kind
    cdef bint duty          # some option captures, so the others are not legal
    cdef int64_t o, other, cell
    for roll in range(1, DIE + 1):
        o = A.first[DIE * a + roll - 1]
        count = A.first[DIE * a + roll] - <int>o
        if count == 0:
            continue
        taken = (sets >> (BITS * (roll - 1))) & 15
        number, of_roll, duty = 0, 0, False
        if A.must_capture and A.sets == NULL:
            for k in range(count):
                duty |= foes >> A.end[o + k] & 1
        for k in range(count):
            if duty and not foes >> A.end[o + k] & 1:
                continue
            if A.sets != NULL and count > 1 and not (taken >> k) & 1:
                continue
            end, kind, other = A.end[o + k], A.kind[o + k], b
            if (foes >> end) & 1:
                other = B.without[b * P + madn_popcount(foes & ((<uint64_t>1 << end) - 1))]
            cell = A.row[o + k] * A.columns[kind] + other if rows else other * A.columns[kind] + A.row[o + k]
            value = load(&A.to[rolls_again(roll)][kind], cell)
            number += 1
            if number == 1:
                of_roll = value
            elif A.sets != NULL:
                of_roll += value
            else:
                of_roll = max(of_roll, value) if rows else min(of_roll, value)
        total += of_roll / number if A.sets != NULL and number > 1 else of_roll
    return total


cdef void fill_row(const Chooser* chooser, uint64_t own, const uint64_t[::1] others, uint32_t[:, :] out,
                   int64_t row) noexcept nogil:
    """The sets of moves of one state of the mover against every state of the other side."""
    cdef OwnMove moves[DIE][MAX_CHOICES]
    cdef int count[DIE]
    cdef int64_t j
    cdef uint32_t sets
    cdef int r
    for r in range(DIE):
        count[r] = own_moves(chooser.game, own, r + 1, moves[r])
    for j in range(others.shape[0]):
        sets = 0
        for r in range(DIE if not facing(chooser.game, own) & others[j] else 0):
            if count[r]:
                sets |= choices(chooser, others[j], r + 1, moves[r], count[r]) << (BITS * r)
        out[row, j] = sets


def fill(CompiledPlayer player not None, const uint64_t[::1] movers not None, const uint64_t[::1] others not None,
         uint32_t[:, :] out not None, int threads):
    """The sets of moves a player takes on each of its own states (whole masks) against each of the other side's."""
    cdef const GameTables* game = &player.game.tables
    cdef const uint64_t[::1] states
    cdef int64_t i, n = len(movers)
    if out.shape[0] != n or out.shape[1] != len(others) or game.pieces > BITS:
        raise ValueError(f"{out.shape[0]} x {out.shape[1]} sets for {n} x {len(others)} states")
    threads = checked_threads(threads)
    for states in (movers, others):
        for i in range(len(states)):
            if states[i] >> (game.squares + game.pieces) or madn_popcount(states[i]) > game.pieces:
                raise ValueError(f"states[{i}] = {states[i]:#x} is not a side of {game.pieces} pieces")
    for i in prange(n, num_threads=threads, schedule="dynamic", chunksize=4, nogil=True):
        fill_row(&player.chooser, movers[i], others, out, i)
