"""The inner loops that read a block of best moves as version 0.1 wrote it; docs/format.md explains every step.

Every decision is one or more yes-or-no events. Three tables predict each event from neighbouring positions and from
what the moves do on the board; a small mixer weighs their predictions; an arithmetic coder spends few bits on events
that were expected. Everything is integer arithmetic, the same on every computer.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from madn._core cimport (
    DIE, MAX_CHOICES, MAX_PIECES, Game, GameTables, OwnMove, Profile, decode, facing, finished, legal_options,
    madn_highest, madn_popcount, own_moves, profile_at,
)

cdef enum:
    TABLES = 3
    SLOTS = 1 << 16
    NONE = 7                # in place of a move or a piece
    LIMIT = 127             # events after which a probability adapts no more slowly
    STEP = 16               # how fast the weights of the mixer learn
    WEIGHT = 32768          # what they begin with; 65536 is 1
    NEIGHBOURS = 3          # how many pieces of the other side are moved, one at a time, to find neighbours

cdef struct Model:
    uint32_t probability[TABLES][SLOTS]     # 256 times the probability of a yes, of 65536, plus the events so far
    int32_t weight[64][TABLES]

cdef struct Coder:
    uint32_t low
    uint32_t high
    uint32_t code
    const uint8_t* data
    int64_t size
    int64_t at

# What is the same for a whole row: the own side and its moves.
cdef struct Mover:
    uint64_t own
    int count[DIE + 1]                      # moves of a roll, 0 where there is no decision
    OwnMove moves[DIE + 1][MAX_CHOICES]
    uint8_t piece[DIE + 1][MAX_CHOICES]     # the piece that a move moves, counted by ascending square
    uint8_t move[DIE + 1][MAX_CHOICES]      # the inverse; NONE for a piece that cannot move

cdef int SQUASH[33]
SQUASH[:] = [
    1, 2, 3, 6, 10, 16, 27, 45, 73, 120, 194, 310, 488, 747, 1101, 1546, 2047, 2549, 2994, 3348, 3607, 3785, 3901,
    3975, 4022, 4050, 4068, 4079, 4085, 4089, 4092, 4093, 4094,
]
cdef int STRETCH[4096]
cdef int RATE[LIMIT + 1]


cdef inline int squash(int odds) noexcept nogil:
    """The probability, of 4096, for log odds of odds / 256."""
    cdef int place, rest
    odds = min(max(odds, -2047), 2047) + 2048
    place, rest = odds >> 7, odds & 127
    return (SQUASH[place] * (128 - rest) + SQUASH[place + 1] * rest + 64) >> 7


cdef void fill_tables() noexcept:
    cdef int odds, p = 0, i
    for odds in range(-2047, 2048):
        i = squash(odds)
        while p <= i:
            STRETCH[p] = odds
            p += 1
    while p < 4096:
        STRETCH[p] = 2047
        p += 1
    for i in range(LIMIT + 1):
        RATE[i] = 131072 // (2 * i + 3)


fill_tables()


cdef inline bint decoded(Coder* c, int p) noexcept nogil:
    """Read one event that is true with the probability p of 4096."""
    cdef uint32_t middle = c.low + (c.high - c.low >> 12) * <uint32_t>p
    cdef bint bit = c.code <= middle
    if bit:
        c.high = middle
    else:
        c.low = middle + 1
    while (c.low ^ c.high) >> 24 == 0:
        c.code = c.code << 8 | (c.data[c.at] if c.at < c.size else 0)
        c.at += 1
        c.low = c.low << 8
        c.high = c.high << 8 | 255
    return bit


cdef inline bint event(Model* model, Coder* coder, uint64_t about, const uint64_t* context) noexcept nogil:
    """Read one event and learn from it; `about` is the kind of event, `context` what each table predicts it from."""
    cdef uint32_t* slot[TABLES]
    cdef int odds[TABLES]
    cdef int64_t total = 0
    cdef int32_t* weight = &model.weight[about][0]
    cdef int k, p
    cdef bint bit
    cdef int64_t error, state
    for k in range(TABLES):
        slot[k] = &model.probability[k][(context[k] | about) * <uint64_t>0x9E3779B97F4A7C15u >> 48]
        odds[k] = STRETCH[slot[k][0] >> 12]
        total += <int64_t>weight[k] * odds[k]
    total >>= 16
    p = squash(<int>min(max(total, -2047), 2047))
    bit = decoded(coder, p)
    error = ((<int>bit << 12) - p) * STEP
    for k in range(TABLES):
        weight[k] += <int32_t>((odds[k] * error + 32768) >> 16)
        state = slot[k][0] >> 8
        state += (((<int64_t>bit << 16) - <int64_t>bit - state) * RATE[slot[k][0] & 255]) >> 16
        slot[k][0] = <uint32_t>(state << 8) | min((slot[k][0] & 255) + 1, <uint32_t>LIMIT)
    return bit


cdef void set_side(Mover* side, uint64_t own, const GameTables* t) noexcept nogil:
    cdef int roll, j, piece
    side.own = own
    for roll in range(1, DIE + 1):
        side.count[roll] = own_moves(t, own, roll, side.moves[roll])
        if side.count[roll] < 2:
            side.count[roll] = 0
        for j in range(MAX_CHOICES):
            side.move[roll][j] = NONE
        for j in range(side.count[roll]):
            piece = madn_popcount(own & ((<uint64_t>1 << side.moves[roll][j].start) - 1))
            side.piece[roll][j] = <uint8_t>piece
            side.move[roll][piece] = <uint8_t>j


cdef void set_places(const GameTables* t, const Profile* profile, int64_t rank, int* places) noexcept nogil:
    """The places of the other side's main pieces, lowest first, from their rank."""
    cdef int k, place = t.squares - profile.m1
    for k in range(profile.m2, 0, -1):
        place -= 1
        while t.choose[k][place] > rank:
            place -= 1
        rank -= t.choose[k][place]
        places[k - 1] = place


cdef inline void next_places(int pieces, int* places) noexcept nogil:
    """Go on to the next rank: the lowest piece that can moves up, those below go back to their first places."""
    cdef int k = 0
    while k + 1 < pieces and places[k] + 1 == places[k + 1]:
        places[k] = k
        k += 1
    places[k] += 1


cdef inline void find_lags(const GameTables* t, int pieces, const int* places, int64_t* lags) noexcept nogil:
    """For each of the other side's first pieces: how many positions back it alone is one place lower, or 0."""
    cdef int k, below = -1
    for k in range(NEIGHBOURS):
        lags[k] = 0
        if k < pieces:
            if places[k] - 1 > below:
                lags[k] = t.choose[k][places[k] - 1]
            below = places[k]


cdef inline uint64_t one_to_six(uint64_t squares) noexcept nogil:
    """The squares 1 to 6 above these."""
    squares = squares << 1 | squares << 2
    squares |= squares << 2
    return squares | squares << 2


cdef int64_t run(const GameTables* t, int64_t first, int64_t count, Coder* coder, uint8_t* choices) noexcept nogil:
    """Read all decisions of a block into `choices`; return how many there are, or -1 if memory runs out."""
    cdef Model* model = <Model*>malloc(sizeof(Model))
    cdef uint8_t* pieces = <uint8_t*>malloc(count * DIE)      # the piece that each decision moves
    if not model or not pieces:
        free(model)
        free(pieces)
        return -1
    cdef const Profile* profile = &t.profiles[profile_at(t, first)]
    cdef int64_t i, row = profile.affm, decisions = 0, rank = (first - profile.first) % row - 1
    cdef int64_t lags[NEIGHBOURS]
    cdef int places[MAX_PIECES]
    cdef uint64_t own, other, main2, hit, reach, ahead
    cdef Mover side
    cdef uint32_t legal
    cdef int k, roll, last
    for k in range(TABLES):
        for i in range(SLOTS):
            model.probability[k][i] = 32768 << 8
    for i in range(64):
        for k in range(TABLES):
            model.weight[i][k] = WEIGHT
    memset(pieces, NONE, count * DIE)
    side.own = ~<uint64_t>0
    for i in range(count):
        rank += 1
        if rank == row:
            rank = 0
        if i == 0 or rank == 0:
            set_places(t, profile, rank, places)
        else:
            next_places(profile.m2, places)
        decode(t, first + i, &own, &other)
        if finished(t, own) or finished(t, other):
            continue
        if own != side.own:
            set_side(&side, own, t)
        find_lags(t, profile.m2, places, lags)
        main2 = other & t.main
        hit = facing(t, main2)
        reach = facing(t, one_to_six(main2))
        ahead = hit >> 1 | hit >> 2 | hit >> 3 | hit >> 4 | hit >> 5 | hit >> 6
        if madn_popcount(other) < t.pieces:
            reach |= <uint64_t>1 << (t.squares // 2)
        last = NONE
        for roll in range(1, DIE + 1):
            if side.count[roll]:
                legal = legal_options(t, side.moves[roll], side.count[roll], other)
                last = decide(model, coder, &side, roll, legal, i, row, lags, last, hit, reach, ahead, pieces, choices)
                decisions += (legal & (legal - 1)) != 0
    free(model)
    free(pieces)
    return decisions


cdef inline uint64_t neighbour(const Mover* side, int roll, int64_t at, const uint8_t* pieces) noexcept nogil:
    """The number, in this decision, of the move of the piece that was moved at another index; or NONE."""
    return side.move[roll][pieces[at * DIE + roll - 1]] if at >= 0 else NONE


cdef inline int decide(Model* model, Coder* coder, const Mover* side, int roll, uint32_t legal, int64_t i,
                       int64_t row, const int64_t* lags, int last, uint64_t hit, uint64_t reach, uint64_t ahead,
                       uint8_t* pieces, uint8_t* choices) noexcept nogil:
    """Read the choice of one roll among the legal options; return the piece that it moves."""
    cdef uint64_t context[TABLES]
    cdef uint64_t near = 0, far = 0, end = 0, start = 0, behind, diagonal = NONE, hits = 0, risk = 0, now = 0
    cdef int k, count = side.count[roll]
    for k in range(NEIGHBOURS):
        near |= (neighbour(side, roll, i - lags[k], pieces) if lags[k] else NONE) << 3 * k
        far |= (neighbour(side, roll, i - row - lags[k], pieces) if lags[k] else NONE) << 3 * k
    behind = neighbour(side, roll, i - row, pieces)
    if lags[0] and lags[1]:
        diagonal = neighbour(side, roll, i - lags[0] - lags[1], pieces)
    for k in range(count):
        hits |= (hit >> side.moves[roll][k].end & 1) << k
        risk |= (reach >> side.moves[roll][k].end & 1) << k
        now |= (reach >> side.moves[roll][k].start & 1) << k
        end |= (ahead >> side.moves[roll][k].end & 1) << k
        start |= (ahead >> side.moves[roll][k].start & 1) << k
    context[0] = (near | behind << 9 | hits << 12 | risk << 18 | now << 24) << 6
    context[1] = (behind | <uint64_t>side.move[roll][last] << 3 | hits << 6 | risk << 12 | now << 18 | end << 24
                  | start << 30) << 6
    context[2] = (near | behind << 9 | far << 12 | diagonal << 21) << 6
    k = madn_highest(legal)
    while legal & (legal - 1) and not event(model, coder, count * 8 + k, context):
        legal ^= <uint32_t>1 << k
        k = madn_highest(legal)
    choices[i * DIE + roll - 1] = <uint8_t>k
    pieces[i * DIE + roll - 1] = side.piece[roll][k]
    return side.piece[roll][k]


def decode_into(Game game not None, int64_t first, const uint8_t[::1] data not None, uint8_t[:, ::1] out not None):
    """Fill `out` with the choices of the positions from `first` on; return how many decisions there are.

    Returns -1 if the bytes do not end with the last of them; whatever they are, the choices are legal moves.
    """
    cdef int64_t count = out.shape[0], decisions
    cdef int k
    check(game, first, count, out.shape[1])
    if data.shape[0] < 4:
        return -1
    cdef Coder coder
    memset(&coder, 0, sizeof(coder))
    coder.high, coder.data, coder.size, coder.at = 0xFFFFFFFF, &data[0], data.shape[0], 4
    for k in range(4):
        coder.code = coder.code << 8 | data[k]
    with nogil:
        memset(&out[0, 0], 0, count * DIE)
        decisions = run(&game.tables, first, count, &coder, &out[0, 0])
    if decisions < 0:
        raise MemoryError
    return decisions if coder.at == coder.size else -1


cdef int check(Game game, int64_t first, int64_t count, int64_t rolls) except -1:
    cdef const GameTables* t = &game.tables
    if rolls != DIE:
        raise ValueError(f"choices must have {DIE} columns, not {rolls}")
    if count < 1 or first < 0 or first > t.positions - count \
            or profile_at(t, first) != profile_at(t, first + count - 1):
        raise ValueError(f"{count} positions from ID {first} on are not in one profile of {game.rules}")
    return 0
