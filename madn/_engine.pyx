"""Answers about a position, compiled: its legal moves, what they are worth, and which is best.

`madn.Database` and the server both use this engine. It works on masks; `madn/database.py` turns its answers into boards
and moves, `madn/web/answers.py` into JSON. The rule for ties is `best_option` in `_core.pxd`, which the compiled player
`optimal` and the databases of best moves also use.
"""

import numpy as np

from libc.stdint cimport int8_t, int64_t, uint32_t, uint64_t

from madn._core cimport (
    BOX, DIE, MAX_CHOICES, Game, GameTables, OwnMove, best_option, decode, encode, finished, is_position, left_after,
    legal_options, own_moves, rolls_again,
)

from madn.store.policy import choice


cdef struct Option:      # a legal move, and the board as the next player to roll sees it
    int number           # of the option: its place among the moves of the own side
    int start            # BOX is the box
    int end              # -1 is a lost roll
    bint captures
    uint64_t own
    uint64_t other
    int64_t id


cdef int list_options(const GameTables* t, uint64_t own, uint64_t other, int roll, Option* out) noexcept nogil:
    """List the legal moves by ascending start, or the lost roll, and return how many; 0 in a finished game."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef uint64_t left
    cdef uint32_t legal
    cdef int j = 0, k, count
    if finished(t, own) or finished(t, other):
        return 0
    count = own_moves(t, own, roll, moves)
    legal = legal_options(t, moves, count, other)
    if count == 0:
        moves[0].start, moves[0].end, moves[0].after = BOX, -1, own
        count = legal = 1
    for k in range(count):
        if not legal >> k & 1:
            continue
        left = other if moves[k].end < 0 else left_after(t, &moves[k], other)
        out[j].number, out[j].start, out[j].end, out[j].captures = k, moves[k].start, moves[k].end, left != other
        out[j].own = moves[k].after if rolls_again(roll) else left
        out[j].other = left if rolls_again(roll) else moves[k].after
        out[j].id = encode(t, out[j].own, out[j].other)
        j += 1
    return j


cdef class Engine:
    """Answers from what a reader gives by ID: values (`win`), or best moves only (`policy` is true: `choices`).

    A `BlockReader` reads a database; the readers in `madn/advisor.py` and `madn/parts.py` have estimates, or a solution
    in memory. The `check_open` of a reader raises an error if it is closed.

    A position is two masks. A move is (start, end, captures, own, other, win): start -1 is the box, end -1 a lost roll,
    `own` and `other` are the board as the next player to roll sees it, and `win` is the mover's winning probability, or
    None if only best moves are stored. Moves within `tie` of the largest probability count as equal: the best of these
    is the one that starts on the highest square. It comes first; the others follow by descending probability and start.
    """

    cdef readonly Game game
    cdef readonly double tie
    cdef object reader
    cdef bint values             # whether the reader has values, not only best moves
    cdef bint closed
    cdef const double[::1] table  # all values by ID, if they are in memory

    def __cinit__(self, reader, double tie):
        self.reader, self.game, self.tie, self.values = reader, reader.game, tie, not reader.policy
        self.table = None

    def hold(self, const double[::1] values):
        """Answer from these values, which are of all positions by ID, instead of the reader's; None ends that."""
        if values is not None and values.shape[0] != self.game.tables.positions:
            raise ValueError(f"{values.shape[0]} values for a game of {self.game.tables.positions} positions")
        self.table = values

    def close(self):
        """Drop the values; from now on every query raises the error of the reader, which must be closed already."""
        self.table, self.closed = None, True

    cdef int check(self, uint64_t own, uint64_t other) except -1:
        if self.closed:
            self.reader.check_open()
        if not is_position(&self.game.tables, own, other):
            self.game.rank(own, other)    # raises, and says why
        return 0

    cdef int options(self, uint64_t own, uint64_t other, int roll, Option* out) except -1:
        """List the legal moves as `list_options` does, after checking the position and the roll."""
        self.check(own, other)
        if not 1 <= roll <= DIE:
            raise ValueError(f"a roll is 1 to {DIE}, not {roll}")
        return list_options(&self.game.tables, own, other, roll, out)

    cdef object value(self, int64_t id):
        return self.reader.win(id) if self.table is None else self.table[id]

    cdef int rank(self, uint64_t own, uint64_t other, int roll, const Option* options, int count,
                  double* wins) except -1:
        """Fill in the mover's chances, unless only best moves are stored; return the number of the best move."""
        cdef int j, best
        cdef int64_t id
        for j in range(count if self.values else 0):
            wins[j] = self.value(options[j].id)
            if not rolls_again(roll):
                wins[j] = 1.0 - wins[j]
        if count == 1:
            return 0
        if self.values:
            return best_option(wins, count, self.tie)
        id = encode(&self.game.tables, own, other)
        best = choice(self.reader.choices(id), roll)
        for j in range(count):
            if options[j].number == best:
                return j
        raise ValueError(f"position {id}, roll {roll}: stored move {best} is not legal")

    cpdef list moves(self, uint64_t own, uint64_t other, int roll):
        """Every legal move of one roll, best first; none in a finished game."""
        cdef Option options[MAX_CHOICES]
        cdef double wins[MAX_CHOICES]
        cdef int order[MAX_CHOICES]
        cdef int j, k, count = self.options(own, other, roll, options)
        if count == 0:
            return []
        order[0] = self.rank(own, other, roll, options, count, wins)
        k = 1
        for j in range(count - 1, -1, -1):
            if j != order[0]:
                order[k] = j
                k += 1
        for j in range(2, count if self.values else 0):    # by descending chance; equal ones stay by descending start
            k = j
            while k > 1 and wins[order[k - 1]] < wins[order[k]]:
                order[k - 1], order[k] = order[k], order[k - 1]
                k -= 1
        moves = []
        for j in range(count):
            k = order[j]
            moves.append((options[k].start, options[k].end, options[k].captures, options[k].own, options[k].other,
                          wins[k] if self.values else None))
        return moves

    def win(self, uint64_t own, uint64_t other):
        """The winning probability of the side to move, before it rolls."""
        self.check(own, other)
        return self.value(encode(&self.game.tables, own, other))

    def best_move(self, uint64_t own, uint64_t other, int roll):
        """(start, end, captures) of the best move; None in a finished game. A forced move needs no look-up."""
        cdef Option options[MAX_CHOICES]
        cdef double wins[MAX_CHOICES]
        cdef int best = 0, count = self.options(own, other, roll, options)
        if count == 0:
            return None
        if count > 1:
            best = self.rank(own, other, roll, options, count, wins)
        return options[best].start, options[best].end, options[best].captures

    def analyse(self, uint64_t own, uint64_t other):
        """The winning probability before the roll, and the moves of all rolls; no rolls in a finished game."""
        cdef int roll
        rolls = [self.moves(own, other, roll) for roll in range(1, DIE + 1)]
        win = self.value(encode(&self.game.tables, own, other)) if self.values else None
        return win, rolls if rolls[0] else []

    def best_moves(self, const int64_t[::1] ids not None, const int64_t[::1] rolls not None):
        """The best moves of many positions as three arrays: start, end, captures. End -2 is a finished game."""
        cdef const GameTables* t = &self.game.tables
        cdef Py_ssize_t n = ids.shape[0], i, bad = -1
        cdef int P = t.pieces, j, count, best
        cdef uint64_t own, other
        cdef Option options[MAX_CHOICES]
        cdef double chances[MAX_CHOICES]
        if self.closed:
            self.reader.check_open()
        if rolls.shape[0] != n:
            raise ValueError(f"{n} positions, but {rolls.shape[0]} rolls")
        boards = np.full((n, P), -1, np.int64)    # the IDs after each legal move, where there are several moves
        cdef int64_t[:, ::1] after = boards
        with nogil:
            for i in range(n):
                if not 0 <= ids[i] < t.positions or not 1 <= rolls[i] <= DIE:
                    bad = i
                    break
                decode(t, ids[i], &own, &other)
                count = list_options(t, own, other, <int>rolls[i], options)
                for j in range(count if count > 1 else 0):
                    after[i, j] = options[j].id
        if bad >= 0:
            raise ValueError(f"position {bad}: ID {ids[bad]} and roll {rolls[bad]} are not a position and a roll")
        known = np.zeros((n, P))
        numbers = np.zeros(n, np.int8)
        decided = boards[:, 0] >= 0
        if not self.values:
            numbers[decided] = choice(self.reader.words(np.asarray(ids)[decided]), np.asarray(rolls)[decided])
        elif self.table is None:
            known[boards >= 0] = self.reader.wins(boards[boards >= 0])
        else:
            known[boards >= 0] = np.asarray(self.table)[boards[boards >= 0]]
        found = np.empty((3, n), np.int8)
        cdef const double[:, ::1] wins = known
        cdef const int8_t[::1] stored = numbers
        cdef int8_t[:, ::1] moves = found
        cdef bint values = self.values
        cdef double tie = self.tie
        with nogil:
            for i in range(n):
                decode(t, ids[i], &own, &other)
                count = list_options(t, own, other, <int>rolls[i], options)
                best = 0
                if count == 0:
                    moves[0, i], moves[1, i], moves[2, i] = BOX, -2, 0
                    continue
                if count > 1 and values:
                    for j in range(count):
                        chances[j] = wins[i, j] if rolls_again(<int>rolls[i]) else 1.0 - wins[i, j]
                    best = best_option(chances, count, tie)
                elif count > 1:
                    while best < count and options[best].number != stored[i]:
                        best += 1
                    if best == count:
                        bad = i
                        break
                moves[0, i] = <int8_t>options[best].start
                moves[1, i] = <int8_t>options[best].end
                moves[2, i] = options[best].captures
        if bad >= 0:
            raise ValueError(f"position {ids[bad]}, roll {rolls[bad]}: the stored move is not legal")
        return found[0], found[1], found[2]
