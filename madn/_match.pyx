"""Whole games of two players, compiled or asked for their moves; game g of a seed is the same game on any thread."""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int64_t, uint32_t, uint64_t

from madn._core cimport MAX_CHOICES, Game, GameTables, OwnMove, encode, finished, is_position, legal_options
from madn._machine cimport checked_threads
from madn._players cimport Chooser, CompiledPlayer, choices

cdef enum:
    BLOCK = 256          # games a thread takes at a time
    AT_ONCE = 1 << 20    # games of one call, at most: Ctrl-C does not interrupt it
    LAST = 1 << 30       # the number of a game, at most


cdef inline void ply(Play* play, const Chooser** players) noexcept nogil:
    """Roll, choose, move."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef const GameTables* game = players[0].game
    cdef int n = roll_die(play, game, moves)
    cdef uint32_t taken
    if n == 0:
        make_move(play, game, NULL)
        return
    taken = choices(players[play.turn], play.sides[1 - play.turn], play.roll, moves, n)
    make_move(play, game, &moves[one_of(play, taken)])


cdef struct Count:
    int64_t wins
    int64_t plies


cdef Count play_block(const Chooser** players, uint64_t own, uint64_t other, uint64_t seed,
                      int64_t begin, int64_t end) noexcept nogil:
    cdef Play play
    cdef Count count
    cdef int64_t g
    count.wins, count.plies = 0, 0
    for g in range(begin, end):
        begin_game(&play, own, other, seed, g)
        while not play.over:
            ply(&play, players)
            count.plies += 1
        count.wins += play.turn == 0
    return count


def _check(CompiledPlayer first, CompiledPlayer second, uint64_t own, uint64_t other):
    if first.game.rules != second.game.rules:
        raise ValueError("both players must be for the same game")
    if not is_position(&first.game.tables, own, other) or finished(&first.game.tables, own) \
            or finished(&first.game.tables, other):
        raise ValueError(f"{own:#x}, {other:#x}: not a position of an open game")


def play_many(CompiledPlayer first not None, CompiledPlayer second not None, uint64_t own, uint64_t other,
              uint64_t seed, int64_t begin, int64_t end, int threads):
    """Play the games begin..end-1 of a seed from an open board; return (games `first` won, plies)."""
    _check(first, second, own, other)
    if not 0 <= begin <= end <= LAST or end - begin > AT_ONCE:
        raise ValueError(f"games {begin} to {end} in one call")
    threads = checked_threads(threads)
    cdef int64_t blocks = (end - begin + BLOCK - 1) // BLOCK, k, wins = 0, plies = 0
    cdef const Chooser* players[2]
    players[0], players[1] = &first.chooser, &second.chooser
    cdef const Chooser** pair = players
    cdef Count count
    for k in prange(blocks, num_threads=threads, schedule="dynamic", nogil=True):
        count = play_block(pair, own, other, seed, begin + k * BLOCK, min(end, begin + (k + 1) * BLOCK))
        wins += count.wins
        plies += count.plies
    return wins, plies


def play_one(CompiledPlayer first not None, CompiledPlayer second not None, uint64_t own, uint64_t other,
             uint64_t seed, int64_t number):
    """Game `number` of a seed as a list of (roll, start, end): start -1 is the box, end -1 a lost roll."""
    _check(first, second, own, other)
    cdef const Chooser* players[2]
    cdef Play play
    players[0], players[1] = &first.chooser, &second.chooser
    begin_game(&play, own, other, seed, number)
    plies = []
    while not play.over:
        ply(&play, players)
        plies.append((play.roll, play.move.start if play.move.end >= 0 else -1, play.move.end))
    return plies


cdef struct Walk:        # a game that is over, or at a decision of a player that is asked
    Play play
    OwnMove moves[MAX_CHOICES]
    int options
    uint32_t legal
    int64_t plies


cdef void walk_on(Walk* walk, const GameTables* game, const Chooser** players) noexcept nogil:
    """Play on to the next decision of a player that is NULL, or to the end."""
    cdef Play* play = &walk.play
    cdef uint64_t other
    while not play.over:
        walk.plies += 1
        walk.options = roll_die(play, game, walk.moves)
        other = play.sides[1 - play.turn]
        walk.legal = legal_options(game, walk.moves, walk.options, other)
        if players[play.turn] == NULL and walk.legal & (walk.legal - 1):
            return
        if walk.legal == 0:
            make_move(play, game, NULL)
        elif players[play.turn] == NULL:
            make_move(play, game, &walk.moves[one_of(play, walk.legal)])
        else:
            make_move(play, game, &walk.moves[one_of(play, choices(players[play.turn], other, play.roll, walk.moves,
                                                                   walk.options))])


cdef class Games:
    """The games begin..end-1 of a seed from an open board, all at once; a player given as None is asked for its moves.

    Call `advance`, find the moves for the decisions that it returns, give them to `choose`, and repeat until there are
    no decisions left. The games are those of `play_many`.
    """

    cdef Game game
    cdef CompiledPlayer first, second
    cdef Walk* walks
    cdef object memory               # that holds the walks
    cdef Py_ssize_t size
    cdef readonly Py_ssize_t open    # games that wait for a decision, or have not begun
    cdef int64_t[::1] order          # the places of those games, ascending
    cdef bint waiting                # for moves

    def __cinit__(self, Game game not None, CompiledPlayer first, CompiledPlayer second, uint64_t own, uint64_t other,
                  uint64_t seed, int64_t begin, int64_t end):
        for player in (first, second):
            if player is not None and player.game.rules != game.rules:
                raise ValueError(f"a player is for {player.game.rules}, not for {game.rules}")
        if not is_position(&game.tables, own, other) or finished(&game.tables, own) or finished(&game.tables, other):
            raise ValueError(f"{own:#x}, {other:#x}: not a position of an open game")
        if not 0 <= begin <= end <= LAST or end - begin > AT_ONCE:
            raise ValueError(f"games {begin} to {end} in one object")
        self.game, self.first, self.second = game, first, second
        self.size = self.open = end - begin
        memory = np.zeros(self.size * sizeof(Walk) + 1, np.uint8)
        cdef unsigned char[::1] bytes_of = memory
        self.memory, self.walks = memory, <Walk*>&bytes_of[0]
        self.order = np.arange(self.size, dtype=np.int64)
        cdef Py_ssize_t i
        for i in range(self.size):
            begin_game(&self.walks[i].play, own, other, seed, begin + i)

    def advance(self, int threads):
        """Play on to the next decisions; return position IDs, rolls and which players are asked (0 or 1), if any."""
        threads = checked_threads(threads)
        if self.waiting:
            raise ValueError("the moves that were asked for have not been given")
        cdef const GameTables* game = &self.game.tables
        cdef const Chooser* players[2]
        players[0] = NULL if self.first is None else &self.first.chooser
        players[1] = NULL if self.second is None else &self.second.chooser
        cdef const Chooser** pair = players
        cdef int64_t[::1] order = self.order
        cdef Py_ssize_t i, count = 0
        for i in prange(self.open, num_threads=threads, schedule="dynamic", chunksize=BLOCK, nogil=True):
            walk_on(&self.walks[order[i]], game, pair)
        for i in range(self.open):
            if not self.walks[order[i]].play.over:
                order[count] = order[i]
                count += 1
        ids, rolls, sides = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int8)
        cdef int64_t[::1] out_ids = ids, out_rolls = rolls
        cdef int8_t[::1] out_sides = sides
        cdef Play* play
        for i in range(count):
            play = &self.walks[order[i]].play
            out_ids[i] = encode(game, play.sides[play.turn], play.sides[1 - play.turn])
            out_rolls[i], out_sides[i] = play.roll, <int8_t>play.turn
        self.open, self.waiting = count, count > 0
        return ids, rolls, sides

    def choose(self, const int8_t[::1] starts not None):
        """Make the moves that start from these squares, -1 for the box; ValueError if one is not legal."""
        cdef const GameTables* game = &self.game.tables
        cdef Py_ssize_t i
        cdef int k
        cdef Walk* walk
        if not self.waiting or starts.shape[0] != self.open:
            raise ValueError(f"{starts.shape[0]} moves, expected {self.open if self.waiting else 0}")
        for i in range(self.open):
            walk = &self.walks[self.order[i]]
            for k in range(walk.options):
                if walk.legal >> k & 1 and walk.moves[k].start == starts[i]:
                    break
            else:
                raise ValueError(f"decision {i}: no legal move starts from {starts[i]}")
        for i in range(self.open):
            walk = &self.walks[self.order[i]]
            k = 0
            while not walk.legal >> k & 1 or walk.moves[k].start != starts[i]:
                k += 1
            make_move(&walk.play, game, &walk.moves[k])
        self.waiting = False

    @property
    def counted(self):
        """How many games the first player won and how many plies were played, once all games are over."""
        cdef Py_ssize_t i
        cdef int64_t wins = 0, plies = 0
        if self.waiting or self.open:
            raise ValueError(f"{self.open} games are not over")
        for i in range(self.size):
            wins += self.walks[i].play.turn == 0
            plies += self.walks[i].plies
        return wins, plies
