"""Games of a player against the best moves, many at once, and what each decision of the player costs.

Every game goes on until one side has a decision to make. Then the values of all boards that the legal moves lead to
are looked up, for all games together, and every game makes its move. Game g of a seed is always the same game, and
losses are counted in whole units, so neither the order of games nor how many are played at once affects the result.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from madn._core cimport (
    MAX_CHOICES, Game, GameTables, OwnMove, best_option, encode, finished, is_position, left_after, legal_options,
    madn_popcount, rolls_again,
)
from madn._machine cimport check_number, checked_threads
from madn._match cimport Play, begin_game, make_move, one_of, roll_die
from madn._players cimport Chooser, CompiledPlayer, decided

cdef enum:
    AT_ONCE = 1 << 20    # games of one object, at most
    LAST = 1 << 30       # the number of a game, at most
    SHARE = 64           # games a thread takes at a time

cdef double UNIT = 2.0 ** 40     # units of loss in a probability of 1: sums over a million games fit into 63 bits
UNITS = 1 << 40


cdef struct Walk:        # a game that is at a decision, or over
    Play play
    OwnMove moves[MAX_CHOICES]
    int options
    int count            # legal options; 0 if the game is over
    uint32_t legal
    uint32_t taken       # by the player, if the decision is its own; 0 until it has been asked
    int rule             # that decided
    int side             # of the player: 0 if it moves first
    int64_t plies


cdef void walk_on(Walk* walk, const GameTables* game, const Chooser* player) noexcept nogil:
    """Play on to the next decision, or to the end."""
    cdef Play* play = &walk.play
    cdef uint64_t other
    walk.count = 0
    walk.taken = 0
    while not play.over:
        walk.plies += 1
        walk.options = roll_die(play, game, walk.moves)
        other = play.sides[1 - play.turn]
        walk.legal = legal_options(game, walk.moves, walk.options, other)
        walk.count = madn_popcount(walk.legal)
        if walk.count > 1:
            if play.turn == walk.side and player != NULL:
                walk.taken = decided(player, other, play.roll, walk.moves, walk.options, &walk.rule)
            return
        make_move(play, game, &walk.moves[one_of(play, walk.legal)] if walk.count else NULL)
        walk.count = 0


cdef void list_ids(const Walk* walk, const GameTables* game, int64_t* ids) noexcept nogil:
    """The IDs of the boards that the legal moves lead to, as the side that rolls next sees them."""
    cdef int k, j = 0
    cdef uint64_t left
    for k in range(walk.options):
        if walk.legal >> k & 1:
            left = left_after(game, &walk.moves[k], walk.play.sides[1 - walk.play.turn])
            ids[j] = encode(game, walk.moves[k].after, left) if rolls_again(walk.play.roll) \
                else encode(game, left, walk.moves[k].after)
            j += 1


cdef double list_chances(const Walk* walk, const double* wins, double* chances) noexcept nogil:
    """List the mover's chances after each option, -1 if not legal, from the values of the IDs; return the largest."""
    cdef double most = -1.0
    cdef int k, j = 0
    for k in range(walk.options):
        chances[k] = -1.0
        if walk.legal >> k & 1:
            chances[k] = wins[j] if rolls_again(walk.play.roll) else 1.0 - wins[j]
            most = max(most, chances[k])
            j += 1
    return most


cdef void decide(Walk* walk, const GameTables* game, const double* wins, double tie, int64_t* losses,
                 int32_t* decisions) noexcept nogil:
    """Make the move of a decision and add what the player loses by it to its row: in total, by phase and by rule.

    If the player draws from several moves, it loses their mean. Moves within `tie` of the best lose nothing.
    """
    cdef Play* play = &walk.play
    cdef double chances[MAX_CHOICES]
    cdef double most = list_chances(walk, wins, chances), less, loss = 0.0
    cdef int columns[3]
    cdef int k, phase
    cdef int64_t units
    if play.turn != walk.side:
        make_move(play, game, &walk.moves[best_option(chances, walk.options, tie)])
        return
    for k in range(walk.options):
        if walk.taken >> k & 1:
            less = most - chances[k]
            loss += less if less > tie else 0.0
    units = <int64_t>(loss / madn_popcount(walk.taken) * UNIT + 0.5)
    phase = madn_popcount(play.sides[0] >> game.squares) + madn_popcount(play.sides[1] >> game.squares)
    columns[0], columns[1], columns[2] = 0, 1 + phase, 2 * game.pieces + walk.rule
    for k in range(3):
        losses[columns[k]] += units
        decisions[columns[k]] += 1
    make_move(play, game, &walk.moves[one_of(play, walk.taken)])


cdef class Games:
    """The games begin..end-1 of a seed from an open board; `player` moves first in those with an even number.

    Call `advance`, look up the values of the IDs that it returns, give them to `decide`, and repeat until there are
    none left. A player given as None is asked in between: `asked` lists its decisions and `choose` takes its answers,
    or `choose_best` takes the values of the IDs as the player sees them.
    `losses` and `decisions` have a row for each game; the columns are the total, each phase (0 to 2 * pieces - 2 pieces
    home, of both sides), each rule, and decisions that no rule made. Losses are in units of 1 / UNITS.
    """

    cdef Game game
    cdef CompiledPlayer player
    cdef Walk* walks
    cdef object memory                 # that holds the walks
    cdef int64_t begin
    cdef readonly Py_ssize_t open      # games that wait for a decision, or have not begun
    cdef int64_t[::1] order            # the places of those games, ascending
    cdef int64_t[::1] first            # where the IDs of each begin, and at the end how many IDs there are
    cdef double tie
    cdef bint waiting                  # for values
    cdef readonly object losses
    cdef readonly object decisions

    def __cinit__(self, Game game not None, CompiledPlayer player, uint64_t own, uint64_t other, uint64_t seed,
                  int64_t begin, int64_t end, double tie):
        if player is not None and player.game.rules != game.rules:
            raise ValueError(f"the player is for {player.game.rules}, not for {game.rules}")
        if not is_position(&game.tables, own, other) or finished(&game.tables, own) or finished(&game.tables, other):
            raise ValueError(f"{own:#x}, {other:#x}: not a position of an open game")
        if not 0 <= begin <= end <= LAST or end - begin > AT_ONCE:
            raise ValueError(f"games {begin} to {end} in one object")
        if not 0 <= tie < 1:
            raise ValueError(f"tie must be 0 or more and less than 1, not {tie}")
        cdef Py_ssize_t size = end - begin, i
        cdef int rules = 0 if player is None else player.chooser.count
        self.game, self.player, self.begin, self.tie, self.open = game, player, begin, tie, size
        memory = np.zeros(size * sizeof(Walk) + 1, np.uint8)
        cdef unsigned char[::1] bytes_of = memory
        self.memory, self.walks = memory, <Walk*>&bytes_of[0]
        self.order, self.first = np.arange(size, dtype=np.int64), np.zeros(size + 1, np.int64)
        self.losses = np.zeros((size, 2 * game.tables.pieces + rules + 1), np.int64)
        self.decisions = np.zeros((size, 2 * game.tables.pieces + rules + 1), np.int32)
        for i in range(size):
            begin_game(&self.walks[i].play, own, other, seed, begin + i)
            self.walks[i].side = (begin + i) & 1

    @property
    def plies(self):
        """How many plies were played, in all games together."""
        cdef Py_ssize_t i
        cdef int64_t total = 0
        for i in range(self.losses.shape[0]):
            total += self.walks[i].plies
        return total

    def advance(self, int threads):
        """Play on to the next decisions; return the IDs of all boards that the legal moves lead to, none at the end."""
        threads = checked_threads(threads)
        if self.waiting:
            raise ValueError("the values that were asked for have not been given")
        cdef Py_ssize_t i, count = 0
        cdef int64_t total = 0
        cdef const GameTables* game = &self.game.tables
        cdef const Chooser* player = NULL if self.player is None else &self.player.chooser
        cdef int64_t[::1] order = self.order, first = self.first
        cdef Walk* walk
        for i in prange(self.open, num_threads=threads, schedule="dynamic", chunksize=SHARE, nogil=True):
            walk_on(&self.walks[order[i]], game, player)
        for i in range(self.open):
            walk = &self.walks[order[i]]
            if walk.count:
                order[count], first[count] = order[i], total
                count += 1
                total += walk.count
        first[count] = total
        ids = np.empty(total, np.int64)
        cdef int64_t[::1] out = ids
        for i in prange(count, num_threads=threads, schedule="static", nogil=True):
            list_ids(&self.walks[order[i]], game, &out[first[i]])
        self.open, self.waiting = count, count > 0
        return ids

    def asked(self):
        """The decisions that the player must be asked about: a list of (place, own, other, roll)."""
        cdef Py_ssize_t i
        cdef Walk* walk
        found = []
        for i in range(self.open if self.waiting else 0):
            walk = &self.walks[self.order[i]]
            if walk.play.turn == walk.side and not walk.taken:
                found.append((i, walk.play.sides[walk.side], walk.play.sides[1 - walk.side], walk.play.roll))
        return found

    def where(self, Py_ssize_t place):
        """The number of the game at a place, and of its ply, counted from 1."""
        check_number("place", place, 0, self.open - 1)
        return self.begin + self.order[place], self.walks[self.order[place]].plies

    def choose(self, Py_ssize_t place, starts):
        """Set what the player takes at a place: the squares that its moves start from, -1 for the box."""
        check_number("place", place, 0, self.open - 1)
        cdef Walk* walk = &self.walks[self.order[place]]
        cdef uint32_t taken = 0
        cdef int k
        if not self.waiting or walk.play.turn != walk.side or self.player is not None:
            raise ValueError(f"place {place} has no decision to ask about")
        wanted = set(starts)
        for k in range(walk.options):
            if walk.legal >> k & 1 and walk.moves[k].start in wanted:
                taken |= <uint32_t>1 << k
        if not taken or madn_popcount(taken) != len(wanted):
            raise ValueError(f"starts {sorted(wanted)}: not all of them are legal")
        walk.taken, walk.rule = taken, 0

    def choose_best(self, const double[::1] wins not None, double tie):
        """Have a player given as None take the best move by its own values of the IDs."""
        cdef double chances[MAX_CHOICES]
        cdef Py_ssize_t i
        cdef Walk* walk
        self.check_values(wins)
        if self.player is not None:
            raise ValueError("the player has chosen already")
        for i in range(self.open):
            walk = &self.walks[self.order[i]]
            if walk.play.turn == walk.side:
                list_chances(walk, &wins[self.first[i]], chances)
                walk.taken, walk.rule = <uint32_t>1 << best_option(chances, walk.options, tie), 0

    cdef int check_values(self, const double[::1] wins) except -1:
        """Raise ValueError unless these are probabilities, one for each ID that `advance` returned."""
        cdef Py_ssize_t i
        if not self.waiting or wins.shape[0] != self.first[self.open]:
            raise ValueError(f"{wins.shape[0]} values, expected {self.first[self.open] if self.waiting else 0}")
        for i in range(wins.shape[0]):
            if not 0 <= wins[i] <= 1:
                raise ValueError(f"wins[{i}] = {wins[i]} is not a probability")
        return 0

    def decide(self, const double[::1] wins not None, int threads):
        """Make the moves, given the values of the IDs: the probability that the side to roll wins."""
        threads = checked_threads(threads)
        cdef Py_ssize_t i
        cdef const GameTables* game = &self.game.tables
        cdef int64_t[::1] order = self.order, first = self.first
        cdef int64_t[:, ::1] losses = self.losses
        cdef int32_t[:, ::1] decisions = self.decisions
        cdef double tie = self.tie
        cdef Walk* walk
        self.check_values(wins)
        for i in range(self.open):
            walk = &self.walks[order[i]]
            if walk.play.turn == walk.side and not walk.taken:
                raise ValueError(f"game {self.begin + order[i]}: the player has not been asked")
        for i in prange(self.open, num_threads=threads, schedule="static", nogil=True):
            decide(&self.walks[order[i]], game, &wins[first[i]], tie, &losses[order[i], 0], &decisions[order[i], 0])
        self.waiting = False
