"""Whole games between two compiled players. Game g of a seed is always the same game, on any thread."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t, uint64_t

from madn._core cimport MAX_CHOICES, GameTables, OwnMove, finished, is_position
from madn._machine cimport checked_threads
from madn._players cimport Chooser, CompiledPlayer, choices

cdef enum:
    BLOCK = 256          # games a thread takes at a time
    AT_ONCE = 1 << 20    # games of one call, which Ctrl-C does not interrupt
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
        raise ValueError("both players must be of the same game")
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
    """Game `number` of a seed, as a list of (roll, start, end): start -1 is the box, end -1 a lost turn."""
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
