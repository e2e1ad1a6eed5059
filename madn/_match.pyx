"""Whole games between two compiled players. Game g of a seed is always the same game, on any thread."""

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from madn._choice cimport Chooser, Policy, choices
from madn._core cimport MAX_CHOICES, OwnMove, madn_high_product, madn_popcount, own_moves, turned

cdef enum:
    BLOCK = 256          # games a thread takes at a time

cdef uint64_t GOLDEN = 0x9E3779B97F4A7C15ull


cdef inline uint64_t mixed(uint64_t z) noexcept nogil:
    """The output function of splitmix64."""
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ull
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EBull
    return z ^ (z >> 31)


cdef inline uint64_t seeded(uint64_t seed, uint64_t game) noexcept nogil:
    return mixed(seed + GOLDEN) ^ mixed(game * GOLDEN + 1)


cdef inline int drawn(uint64_t* state, int count) noexcept nogil:
    """A number from 0 to count - 1."""
    state[0] += GOLDEN
    return <int>madn_high_product(mixed(state[0]), <uint64_t>count)


cdef struct Game:
    uint64_t sides[2]
    uint64_t random
    int turn
    int roll             # of the last ply
    OwnMove move         # and its move; the end is -1 for a lost turn
    bint over


cdef inline void ply(Game* game, const Chooser** players, int S, int P) noexcept nogil:
    """Roll, choose, move."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef uint64_t own = game.sides[game.turn], other = game.sides[1 - game.turn]
    cdef int roll = drawn(&game.random, 6) + 1, n, count, skip
    cdef uint32_t taken
    n = own_moves(own, roll, S, P, moves)
    game.roll = roll
    game.move.end = -1
    if n:
        taken = choices(players[game.turn], other, roll, S, P, moves, n)
        if taken & (taken - 1):
            count = madn_popcount(taken)
            for _ in range(drawn(&game.random, count)):
                taken &= taken - 1
        skip = 0
        while not (taken >> skip) & 1:
            skip += 1
        game.move = moves[skip]
        game.sides[game.turn] = game.move.after
        game.sides[1 - game.turn] = other & ~turned(<uint64_t>1 << game.move.end, S)
        game.over = game.move.after >> S == (<uint64_t>1 << P) - 1
    if roll != 6 and not game.over:
        game.turn = 1 - game.turn


cdef struct Count:
    int64_t wins
    int64_t plies


cdef void play_block(const Chooser** players, int S, int P, uint64_t own, uint64_t other, uint64_t seed,
                     int64_t begin, int64_t end, Count* count) noexcept nogil:
    cdef Game game
    cdef int64_t g
    for g in range(begin, end):
        game.sides[0] = own
        game.sides[1] = other
        game.random = seeded(seed, <uint64_t>g)
        game.turn = 0
        game.over = False
        while not game.over:
            ply(&game, players, S, P)
            count.plies += 1
        count.wins += game.turn == 0


def _check(Policy first, Policy second):
    if (first.pieces, first.squares) != (second.pieces, second.squares):
        raise ValueError("both players must be of the same game")


def play_many(Policy first, Policy second, uint64_t own, uint64_t other, uint64_t seed, int64_t begin, int64_t end,
              int threads):
    """Play the games begin..end-1 of a seed from an open board; return (games `first` won, plies)."""
    _check(first, second)
    cdef int64_t blocks = (end - begin + BLOCK - 1) // BLOCK, k
    cdef int S = first.squares, P = first.pieces
    cdef const Chooser* players[2]
    players[0], players[1] = &first.chooser, &second.chooser
    cdef const Chooser** pair = players
    cdef Count* counts = <Count*>calloc(max(blocks, 1), sizeof(Count))
    if counts == NULL:
        raise MemoryError
    cdef int64_t wins = 0, plies = 0
    try:
        with nogil:
            for k in prange(blocks, num_threads=threads, schedule="dynamic"):
                play_block(pair, S, P, own, other, seed, begin + k * BLOCK, min(end, begin + (k + 1) * BLOCK),
                           &counts[k])
        for k in range(blocks):
            wins += counts[k].wins
            plies += counts[k].plies
    finally:
        free(counts)
    return wins, plies


def play_one(Policy first, Policy second, uint64_t own, uint64_t other, uint64_t seed, int64_t number):
    """Game `number` of a seed, as a list of (roll, start, end): start -1 is the box, end -1 a lost turn."""
    _check(first, second)
    cdef const Chooser* players[2]
    cdef Game game
    players[0], players[1] = &first.chooser, &second.chooser
    game.sides[0] = own
    game.sides[1] = other
    game.random = seeded(seed, <uint64_t>number)
    game.turn = 0
    game.over = False
    plies = []
    while not game.over:
        ply(&game, players, first.squares, first.pieces)
        plies.append((game.roll, game.move.start if game.move.end >= 0 else -1, game.move.end))
    return plies
