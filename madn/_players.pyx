"""Players for the kernels: they choose what those of `madn.players` choose, without Python."""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from madn._core cimport DIE, MAX_CHOICES, Game, OwnMove, finished, is_position, own_moves

RULES = MOST_RULES
FEATURES = FEATURE_COUNT


cdef Values values_of(array):
    """Pointers to the values in a numpy array; the caller must keep the array alive."""
    cdef Values values
    cdef double[::1] fine
    cdef uint32_t[::1] coarse
    values.fine, values.coarse = NULL, NULL
    if array.dtype.itemsize == 8:
        fine = array
        values.fine = &fine[0]
    else:
        coarse = array
        values.coarse = &coarse[0]
    return values


cdef class CompiledPlayer:
    """A player of a game: it follows rules, or with `values` takes the best move.

    `rules` are (number of a feature, points, whether the next rule adds to it). `values` are winning probabilities by
    ID, as doubles or as 32-bit multiples of 2^-32; those that differ by no more than `tie` count as equal.
    """

    def __cinit__(self, Game game not None, rules=(), bint draws=False, values=None, double tie=0.0):
        memset(&self.chooser, 0, sizeof(Chooser))
        if len(rules) > MOST_RULES:
            raise ValueError(f"{len(rules)} rules are more than {MOST_RULES}")
        self.game = game
        self.chooser.game = &game.tables
        self.chooser.count = len(rules)
        self.chooser.draws = draws
        for i, (feature, points, joined) in enumerate(rules):
            if not 0 <= feature < FEATURE_COUNT or not -MOST_POINTS <= points <= MOST_POINTS:
                raise ValueError(f"({feature}, {points}) is not a rule")
            if joined and i == len(rules) - 1:
                raise ValueError(f"no rule adds to the last one, {i}")
            self.chooser.feature[i] = feature
            self.chooser.points[i] = points
            self.chooser.joined[i] = joined
        if values is None:
            return
        if not isinstance(values, np.ndarray) or values.shape != (game.tables.positions,):
            shape = getattr(values, "shape", type(values).__name__)
            raise ValueError(f"values: {shape}, expected an array of {game.tables.positions}, one for each position")
        self.chooser.tie = tie
        self.chooser.values, self.values = values_of(values), values

    def choices(self, uint64_t own, uint64_t other, int roll):
        """The moves taken on a board, as (start, end) with -1 for the box; none for a lost roll or a finished game."""
        cdef OwnMove moves[MAX_CHOICES]
        cdef int n, k
        cdef uint32_t taken
        if not 1 <= roll <= DIE or not is_position(&self.game.tables, own, other):
            raise ValueError(f"{own:#x}, {other:#x}, {roll}: not a position and a roll")
        n = own_moves(&self.game.tables, own, roll, moves)
        if n == 0 or finished(&self.game.tables, other):
            return []
        taken = choices(&self.chooser, other, roll, moves, n)
        return [(moves[k].start, moves[k].end) for k in range(n) if taken >> k & 1]
