"""Whole games between two compiled players. Game g of a seed is always the same game, on any thread."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t, uint64_t

from madn._core cimport (
    DIE, MAX_CHOICES, GameTables, OwnMove, Turn, finished, is_position, left_after, madn_high_product, madn_lowest,
    madn_popcount, own_moves, rolls_again, turn_of,
)
from madn._machine cimport checked_threads
from madn._players cimport Chooser, CompiledPlayer, choices

cdef enum:
    BLOCK = 256          # games a thread takes at a time
    AT_ONCE = 1 << 20    # games of one call, which Ctrl-C does not interrupt
    LAST = 1 << 30       # the number of a game, at most

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15ull


cdef inline uint64_t mixed(uint64_t z) noexcept nogil:
    """The output function of splitmix64."""
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ull
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EBull
    return z ^ (z >> 31)


cdef inline int drawn(uint64_t* state, int count) noexcept nogil:
    """A number from 0 to count - 1."""
    state[0] += GOLDEN
    return <int>madn_high_product(mixed(state[0]), <uint64_t>count)


cdef struct Play:
    uint64_t sides[2]
    uint64_t random
    int turn
    int roll             # of the last ply
    OwnMove move         # and its move; the end is -1 for a lost turn
    bint over


cdef inline void begin_game(Play* play, uint64_t own, uint64_t other, uint64_t seed, int64_t number) noexcept nogil:
    play.sides[0], play.sides[1] = own, other
    play.random = mixed(seed + GOLDEN) ^ mixed(<uint64_t>number * GOLDEN + 1)
    play.turn = 0
    play.over = False


cdef inline int rolled(const GameTables* game, uint64_t own, Play* play) noexcept nogil:
    """The roll of a turn: `Rules.roll_weights` says how often each comes up."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef int options[DIE]
    cdef int roll, number
    cdef Turn turn
    if not game.three_rolls:
        return drawn(&play.random, DIE) + 1
    for roll in range(1, DIE + 1):
        options[roll - 1] = own_moves(game, own, roll, moves)
    turn = turn_of(game, options)
    number = drawn(&play.random, turn.total)
    if turn.total == DIE:
        return number + 1
    return number // (turn.wait // (DIE - 1)) + 1 if number < turn.wait else DIE


cdef inline void ply(Play* play, const Chooser** players) noexcept nogil:
    """Roll, choose, move."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef uint64_t own = play.sides[play.turn], other = play.sides[1 - play.turn]
    cdef int roll = rolled(players[0].game, own, play), n
    cdef uint32_t taken
    n = own_moves(players[0].game, own, roll, moves)
    play.roll = roll
    play.move.end = -1
    if n:
        taken = choices(players[play.turn], other, roll, moves, n)
        if taken & (taken - 1):
            for _ in range(drawn(&play.random, madn_popcount(taken))):
                taken &= taken - 1
        play.move = moves[madn_lowest(taken)]
        play.sides[play.turn] = play.move.after
        play.sides[1 - play.turn] = left_after(players[0].game, &play.move, other)
        play.over = finished(players[0].game, play.move.after)
    if not rolls_again(roll) and not play.over:
        play.turn = 1 - play.turn


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
