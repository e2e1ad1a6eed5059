# The moves a player takes, compiled: by rules over the features of `madn/features.py`, or by a table of values.

from libc.stdint cimport int8_t, int64_t, uint32_t, uint64_t

from madn._core cimport (
    DIE, MAX_CHOICES, Game, GameTables, OwnMove, best_option, encode, facing, left_after, legal_options, madn_highest,
    madn_lowest, madn_popcount, rolls_again,
)

cdef enum:
    MOST_RULES = 32
    MOST_POINTS = 99

cdef enum:            # in the order of madn.features.FEATURES
    CAPTURE = 0
    LOOT
    PASSING
    FRONT
    HOME
    INSIDE
    DANGER
    RESCUE
    EXPOSED
    CHASE
    SPREAD
    SEEMING_CAPTURE
    SEEMING_PASSING
    SPOILS
    SAFETY
    PURSUERS
    TARGETS
    QUARRY
    BETWEEN
    STAY
    SQUARE
    FEATURE_COUNT

cdef struct Values:      # winning probabilities as doubles or as 32-bit multiples of 2^-32; none if both are NULL
    double* fine
    uint32_t* coarse


cdef inline double load(const Values* values, int64_t at) noexcept nogil:
    return values.fine[at] if values.fine != NULL else values.coarse[at] * 2.0 ** -32


cdef Values values_of(array)


cdef struct Chooser:
    int count                      # rules
    int8_t feature[MOST_RULES]
    int8_t points[MOST_RULES]      # for a unit of the feature: 1 prefers, -1 avoids
    bint joined[MOST_RULES]        # the points of the next rule are added before moves are compared
    bint draws                     # takes every move that is left, instead of only the one furthest along
    const GameTables* game
    Values values                  # by ID: if there are any, it takes the best move and needs no rules
    double tie                     # values that differ by no more than this are equal


cdef inline int opposite(int square, int S) noexcept nogil:
    return square + S // 2 if square < S // 2 else square - S // 2


cdef inline int threats(const GameTables* game, int square, uint64_t other) noexcept nogil:
    """How many pieces of the other side could capture on this square with one roll."""
    cdef int theirs
    cdef uint64_t behind
    if square >= game.squares:
        return 0
    theirs = opposite(square, game.squares)
    if theirs == 0:
        return madn_popcount(other) < game.pieces
    behind = (<uint64_t>63 << (theirs - DIE)) if theirs >= DIE else (<uint64_t>1 << theirs) - 1
    return madn_popcount(other & behind)


cdef inline int quarter(int square, int S) noexcept nogil:
    return 4 * square // S + 1


cdef inline int stretch(int square, int S) noexcept nogil:
    """1 to 3: how far a piece on this main-field square has come, in parts of 15, 15 and 10 squares out of 40."""
    return 1 + (8 * square >= 3 * S) + (4 * square >= 3 * S)


cdef inline int risk(const GameTables* game, int square, uint64_t other) noexcept nogil:
    """How many pieces could legally capture on a square with one roll, times the stretch that a piece there is on."""
    cdef int theirs, reach
    cdef uint64_t behind
    cdef bint boxed = madn_popcount(other) < game.pieces
    if not 0 <= square < game.squares:
        return 0
    theirs = opposite(square, game.squares)
    if theirs == 0:
        return stretch(square, game.squares) if boxed and not other & 1 else 0
    reach = DIE - 1 if boxed else DIE    # a 6 must bring a piece out of the box
    behind = (<uint64_t>1 << theirs) - 1
    if theirs > reach:
        behind &= ~((<uint64_t>1 << (theirs - reach)) - 1)
    return stretch(square, game.squares) * madn_popcount(other & behind)


cdef inline uint64_t ahead(uint64_t foes, int square, int S) noexcept nogil:
    """The foes in front of a square and before their own A-square."""
    return foes & ((<uint64_t>1 << (S // 2)) - 1) & ~((<uint64_t>2 << square) - 1) if square < S // 2 else 0


cdef inline uint64_t started(uint64_t foes, int square, int S) noexcept nogil:
    """The foes on or past their own A-square and behind a main-field square."""
    return foes & ((<uint64_t>1 << square) - 1) & ~((<uint64_t>1 << (S // 2)) - 1) if S // 2 <= square < S else 0


cdef inline int feature_of(const GameTables* game, int feature, const OwnMove* move, uint64_t other,
                           uint64_t foes) noexcept nogil:
    """The same number as in `madn/features.py`; `foes` are the main-field pieces of `other` in the mover's numbers."""
    cdef int start = move.start, end = move.end, S = game.squares, total, theirs
    cdef uint64_t landing = <uint64_t>1 << end, rest
    cdef bint boxed = madn_popcount(move.after) < game.pieces + (start < 0)    # the mover had pieces in the box
    cdef uint64_t left = left_after(game, move, other)
    if feature == CAPTURE:
        return (foes & landing) != 0
    elif feature == LOOT:
        return opposite(end, S) + 1 if foes & landing else 0
    elif feature == PASSING:
        return 0 if start < 0 else madn_popcount(foes & (landing - 1) & ~((<uint64_t>2 << start) - 1))
    elif feature == FRONT:
        return start
    elif feature == HOME:
        return start < S <= end
    elif feature == INSIDE:
        return start >= S
    elif feature == DANGER:
        return threats(game, end, left)
    elif feature == RESCUE:
        return 0 if start < 0 else threats(game, start, other)
    elif feature == EXPOSED:
        rest = move.after & game.main
        total = 0
        while rest:
            total += threats(game, madn_lowest(rest), left) > 0
            rest &= rest - 1
        return total
    elif feature == CHASE:
        return madn_popcount(foes & (<uint64_t>126 << end))
    elif feature == SPREAD:
        rest = move.after & game.main
        return madn_highest(rest) - madn_lowest(rest) if rest else 0
    elif feature == SEEMING_CAPTURE:
        rest = (other >> S) << (S // 2)
        rest |= foes | rest >> S
        if madn_popcount(other) < game.pieces:
            rest |= <uint64_t>1 << (S // 2 - 1)
        return end < S and (rest & landing) != 0
    elif feature == SEEMING_PASSING:
        if start < 0:
            return 0
        rest = (<uint64_t>2 << ((end + S // 2) % S)) - 1
        return (other & rest & ~((<uint64_t>2 << ((start + S // 2) % S)) - 1)) != 0
    elif feature == SPOILS:
        return 1 + quarter(opposite(end, S), S) if foes & landing else 0
    elif feature == SAFETY:
        total = risk(game, start, other) - risk(game, end, left)
        return total * (1 if start < 0 or end - start == DIE else 2) * (3 if boxed else 1)
    elif feature == PURSUERS:
        if end >= S:
            return 0
        theirs = opposite(end, S)
        rest = (<uint64_t>1 << max(theirs - DIE, 0)) - 1    # 7 squares behind, and more
        if theirs > 2 * DIE:
            rest &= ~((<uint64_t>1 << (theirs - 2 * DIE)) - 1)
        return 3 * threats(game, end, left) + madn_popcount(left & rest)
    elif feature == TARGETS:
        total = madn_popcount(foes & (<uint64_t>126 << end))
        return 3 * total if start < 0 or end - start == DIE else total
    elif feature == QUARRY:
        return madn_popcount(ahead(foes, end, S))
    elif feature == BETWEEN:
        return 2 * madn_popcount(ahead(foes, end, S)) + (2 if boxed else 1) * madn_popcount(started(foes, end, S))
    elif feature == STAY:
        if start >= S:
            return boxed
        if madn_popcount(other >> S) < game.pieces - 1:
            return 0
        return (0 < start < S // 2 and foes & ((<uint64_t>1 << start) - 1) != 0) or started(foes, end, S) != 0
    else:    # SQUARE
        total = 4 * (S - 2 <= start < S) - 4 * (S - 2 <= end < S) - 6 * (start == 0)
        if madn_popcount(other) < game.pieces:
            total += (S // 2 - DIE <= end < S // 2) + 7 * (start == S // 2)
            total -= 7 * (S // 2 <= end <= S // 2 + DIE and end < S)
        return total


cdef inline double value_after(const Chooser* c, const OwnMove* move, uint64_t other, int roll) noexcept nogil:
    """The mover's winning probability after a move, from the table of values."""
    cdef uint64_t left = left_after(c.game, move, other)
    cdef int64_t id = encode(c.game, move.after, left) if rolls_again(roll) else encode(c.game, left, move.after)
    cdef double win = load(&c.values, id)
    return win if rolls_again(roll) else 1 - win


cdef inline uint32_t choices(const Chooser* c, uint64_t other, int roll, const OwnMove* moves, int n) noexcept nogil:
    """Which of the n > 0 options of a roll the player takes, each equally likely: bit k for moves[k]."""
    cdef int rule
    return decided(c, other, roll, moves, n, &rule)


cdef inline uint32_t decided(const Chooser* c, uint64_t other, int roll, const OwnMove* moves, int n,
                             int* rule) noexcept nogil:
    """As `choices`; `rule` is set to the number of the rule that left a single move, or to how many rules there are."""
    cdef uint32_t alive = legal_options(c.game, moves, n, other), better
    cdef uint64_t foes
    cdef int i, k, most = 0
    cdef int value[MAX_CHOICES]
    cdef double wins[MAX_CHOICES]
    rule[0] = c.count
    if not alive & (alive - 1):
        return alive
    if c.values.fine != NULL or c.values.coarse != NULL:
        for k in range(n):
            wins[k] = value_after(c, &moves[k], other, roll) if alive >> k & 1 else -1.0
        return <uint32_t>1 << best_option(wins, n, c.tie)
    foes = facing(c.game, other)
    for i in range(c.count):
        better = 0
        for k in range(n):
            if not (alive >> k) & 1:
                continue
            if i == 0 or not c.joined[i - 1]:
                value[k] = 0
            value[k] += c.points[i] * feature_of(c.game, c.feature[i], &moves[k], other, foes)
            if better == 0 or value[k] > most:
                most = value[k]
                better = <uint32_t>1 << k
            elif value[k] == most:
                better |= <uint32_t>1 << k
        if c.joined[i]:
            continue
        alive = better
        if not alive & (alive - 1):
            rule[0] = i
            return alive
    return alive if c.draws else <uint32_t>1 << madn_highest(alive)


cdef class CompiledPlayer:
    cdef Chooser chooser
    cdef readonly Game game
    cdef object values        # keeps alive what the pointers of the chooser point into
