# A game in progress, inline for the kernels that play: its random numbers, rolls and moves.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from madn._core cimport (
    DIE, MAX_CHOICES, GameTables, OwnMove, Turn, finished, left_after, madn_high_product, madn_lowest, madn_popcount,
    own_moves, rolls_again, turn_of,
)


cdef inline uint64_t golden() noexcept nogil:
    """What each step adds to the state of splitmix64."""
    return <uint64_t>0x9E3779B97F4A7C15ull


cdef inline uint64_t mixed(uint64_t z) noexcept nogil:
    """The output function of splitmix64."""
    z = (z ^ (z >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ull
    z = (z ^ (z >> 27)) * <uint64_t>0x94D049BB133111EBull
    return z ^ (z >> 31)


cdef inline int drawn(uint64_t* state, int count) noexcept nogil:
    """A number from 0 to count - 1."""
    state[0] += golden()
    return <int>madn_high_product(mixed(state[0]), <uint64_t>count)


cdef struct Play:
    uint64_t sides[2]
    uint64_t random
    int turn
    int roll             # of the last ply
    OwnMove move         # and its move; the end is -1 for a lost roll
    bint over


cdef inline void begin_game(Play* play, uint64_t own, uint64_t other, uint64_t seed, int64_t number) noexcept nogil:
    play.sides[0], play.sides[1] = own, other
    play.random = mixed(seed + golden()) ^ mixed(<uint64_t>number * golden() + 1)
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


cdef inline int roll_die(Play* play, const GameTables* game, OwnMove* moves) noexcept nogil:
    """Roll, list the options of the side that rolls, and return how many there are."""
    cdef uint64_t own = play.sides[play.turn]
    play.roll = rolled(game, own, play)
    return own_moves(game, own, play.roll, moves)


cdef inline int one_of(Play* play, uint32_t taken) noexcept nogil:
    """The number of one of the options taken, drawn by lot if there are several."""
    if taken & (taken - 1):
        for _ in range(drawn(&play.random, madn_popcount(taken))):
            taken &= taken - 1
    return madn_lowest(taken)


cdef inline void make_move(Play* play, const GameTables* game, const OwnMove* move) noexcept nogil:
    """Make a move, NULL for a lost roll, and pass the die to the side that rolls next."""
    cdef uint64_t other = play.sides[1 - play.turn]
    play.move.end = -1
    if move != NULL:
        play.move = move[0]
        play.sides[play.turn] = move.after
        play.sides[1 - play.turn] = left_after(game, move, other)
        play.over = finished(game, move.after)
    if not rolls_again(play.roll) and not play.over:
        play.turn = 1 - play.turn
