"""Players for the kernels: what `madn.players` chooses, without Python."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from madn._core cimport MAX_CHOICES, OwnMove, Ranking, own_moves

RULES = MOST_RULES
FEATURES = FEATURE_COUNT


cdef class Policy:
    """A player of a game with these pieces and squares: rules, or with `ranking` and `values` the best move.

    `rules` are pairs (number of a feature, 1 or -1). `values` are winning probabilities by ID, as doubles or as
    32-bit multiples of 2^-32.
    """

    def __cinit__(self, int pieces, int squares, rules=(), bint draws=False, Ranking ranking=None, values=None):
        cdef const double[::1] fine
        cdef const uint32_t[::1] coarse
        memset(&self.chooser, 0, sizeof(Chooser))
        if len(rules) > MOST_RULES:
            raise ValueError(f"more than {MOST_RULES} rules")
        self.pieces, self.squares = pieces, squares
        self.chooser.count = len(rules)
        self.chooser.draws = draws
        for i, (feature, sign) in enumerate(rules):
            if not 0 <= feature < FEATURE_COUNT or sign not in (-1, 1):
                raise ValueError(f"({feature}, {sign}) is not a rule")
            self.chooser.feature[i] = feature
            self.chooser.sign[i] = sign
        if ranking is None:
            return
        if ranking.tables.pieces != pieces or ranking.tables.squares != squares or \
                len(values) != ranking.tables.positions:
            raise ValueError("the ranking and the values must be those of the game")
        self.chooser.tables = &ranking.tables
        if values.dtype.itemsize == 8:
            fine = values
            self.chooser.values = &fine[0]
        else:
            coarse = values
            self.chooser.coarse = &coarse[0]
        self.kept = (ranking, values)

    def choices(self, uint64_t own, uint64_t other, int roll):
        """The moves taken on a board, as (start, end) with -1 for the box; none for a lost turn."""
        cdef OwnMove moves[MAX_CHOICES]
        cdef int n = own_moves(own, roll, self.squares, self.pieces, moves)
        if n == 0:
            return []
        cdef uint32_t taken = choices(&self.chooser, other, roll, self.squares, self.pieces, moves, n)
        return [(moves[k].start, moves[k].end) for k in range(n) if taken >> k & 1]
