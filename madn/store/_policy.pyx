"""The inner loops for a block of best moves: from choices to bytes and back. docs/format.md explains every step.

What is known about a decision, the choices of neighbouring positions and what the moves do on the board, selects a slot
of a table. The slot says which choice is expected and how likely that is; an arithmetic coder spends few bits when it
is right. Everything is integer arithmetic, the same on every computer.

Within a row, the own side does not change; within a stretch of a row, only the first piece of the other side does. So
what the moves do on the board is looked up: a table that is made for the row gives it for each place of a piece of the
other side, and its union over all pieces except the first is made for the stretch. A position then costs only a few
instructions for each decision.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from madn._core cimport (
    DIE, MAX_CHOICES, MAX_PIECES, MAX_SQUARES, Game, GameTables, OwnMove, Profile, decode, facing, madn_highest,
    madn_lowest, own_moves, profile_at,
)

include "policy_coder.pxi"

cdef enum:
    LANES = 8                   # a power of two, at least DIE, so that the rolls make a simple vector
    E_BITS = 6                  # what is known about the moves of a roll: first H (captures), from this bit on E,
    B_BITS = 12                 # and from this bit on B
    BITS = 63                   # the bits of one of these
    BOXED = MAX_SQUARES         # the row of `known` for pieces in the box
    NOWHERE = MAX_SQUARES + 1   # the row for squares where the other side cannot have a piece

cdef uint64_t ALL_NONE = 0x070707070707

# What is the same for a whole row: the own side, its moves, and what they do to a piece of the other side.
cdef struct Row:
    int rolls                                   # how many rolls have more than one option
    int roll[DIE]                               # these rolls, counted from 0
    int count[DIE]                              # the number of options of each roll
    uint64_t other_counts                       # as choices: NONE for a roll with another count in the row before
    uint32_t known[MAX_SQUARES + 2][LANES]      # [place of a piece of the other side][roll]


cdef void set_row(Row* row, const int* counts, uint64_t own, const Profile* profile,
                  const GameTables* t) noexcept nogil:
    """Fill in everything about a row; `counts` are those of the row before it."""
    cdef OwnMove moves[MAX_CHOICES]
    cdef int place_of[DIE + MAX_SQUARES]    # place_of[DIE + q]: the place of a piece of the other side on its square q
    cdef int roll, j, n, square, place = t.squares - profile.m1
    cdef uint64_t taken = facing(t, own)
    for square in range(-DIE, t.squares):
        place_of[DIE + square] = NOWHERE
        if profile.m2 and square >= 0 and not taken >> square & 1:
            place -= 1
            place_of[DIE + square] = place
    memset(row.known, 0, sizeof(row.known))
    row.rolls, row.other_counts = 0, 0
    for roll in range(DIE):
        n = own_moves(t, own, roll + 1, moves)
        if n != counts[roll]:
            row.other_counts |= <uint64_t>NONE << 8 * roll
        row.count[roll] = n
        if n > 1:
            row.roll[row.rolls] = roll
            row.rolls += 1
        for j in range(n if n > 1 else 0):
            square = facing_square(t, moves[j].end)
            if square >= 0:
                row.known[place_of[DIE + square]][roll] |= <uint32_t>1 << j
                set_reach(row, roll, place_of, square, profile.m2 + profile.f2 < t.pieces, E_BITS + j)
            square = facing_square(t, moves[j].start)
            if square >= 0:
                set_reach(row, roll, place_of, square, profile.m2 + profile.f2 < t.pieces, B_BITS + j)


cdef inline int facing_square(const GameTables* t, int square) noexcept nogil:
    """A main-field square in the other side's numbers; -1 for a finish square."""
    return (square + t.squares // 2) % t.squares if square < t.squares else -1


cdef inline void set_reach(Row* row, int roll, const int* place_of, int square, bint boxed, int bit) noexcept nogil:
    """Set a bit for a roll, at all places from which a piece of the other side can reach a square with one roll."""
    cdef int k
    for k in range(1, DIE + 1):
        row.known[place_of[DIE + square - k]][roll] |= <uint32_t>1 << bit
    if boxed and square == 0:
        row.known[BOXED][roll] |= <uint32_t>1 << bit


cdef void set_places(const GameTables* t, const Profile* profile, int64_t rank, int* places) noexcept nogil:
    """The places of the other side's main pieces, lowest first, from their rank; then the first place past the end.

    Without such pieces there is one position, as if there were one piece with a single place.
    """
    cdef int k, place = t.squares - profile.m1
    places[0], places[1] = 0, 1
    places[max(profile.m2, 1)] = place if profile.m2 else 1
    for k in range(profile.m2, 0, -1):
        place -= 1
        while t.choose[k][place] > rank:
            place -= 1
        rank -= t.choose[k][place]
        places[k - 1] = place


cdef inline void next_stretch(int pieces, int* places) noexcept nogil:
    """Go on to the next places of all pieces except the first: the lowest that can moves up, those below go back."""
    cdef int k = 1
    while k + 1 < pieces and places[k] + 1 == places[k + 1]:
        places[k] = k
        k += 1
    places[k] += 1
    places[0] = 0


cdef inline void union_of(const Row* row, const int* places, int pieces, uint32_t* known) noexcept nogil:
    """What is known from the pieces of the other side on some places and in its box."""
    cdef int k, j
    for j in range(LANES):
        known[j] = row.known[BOXED][j]
    for k in range(pieces):
        for j in range(LANES):
            known[j] |= row.known[places[k]][j]


cdef inline uint64_t choices_at(const uint64_t* choices, int64_t i) noexcept nogil:
    return choices[i] if i >= 0 else ALL_NONE


cdef int64_t run(const GameTables* t, int64_t first, int64_t count, Coder* given, uint64_t* choices) noexcept nogil:
    """Code all decisions of a block: `choices` has, or receives, those of each position, a byte for each roll.

    Returns the number of decisions, -1 if memory runs out, -2 if a choice is not legal.
    """
    cdef const Profile* profile = &t.profiles[profile_at(t, first)]
    cdef int64_t i = 0, end_of_row, end, lag2, lag3, lag4, decisions = 0
    cdef int64_t length = profile.affm, rank = (first - profile.first) % length
    cdef int places[MAX_PIECES + 1]
    cdef int counts[DIE]
    cdef int pieces = profile.m2, k, roll, n, place, choice
    cdef uint64_t own, other, near, far, further, found, context
    cdef uint32_t legal, known
    cdef uint32_t rest[LANES]               # known from all pieces of the other side except the first
    cdef uint32_t here[LANES]               # H, and E without B
    cdef Row row
    cdef Coder coder = given[0]
    if profile.f1 == t.pieces or profile.f2 == t.pieces:      # the game is over
        for i in range(count):
            if not coder.encoding:
                choices[i] = 0
            elif choices[i]:
                return -2
        return 0
    cdef Model* model = <Model*>calloc(1, sizeof(Model))
    if not model:
        return -1
    for k in range(512):
        model.other[k >> 3][k & 7] = EVEN
    memset(&row, 0, sizeof(row))
    while i < count:
        decode(t, first + i, &own, &other)
        for k in range(DIE):
            counts[k] = row.count[k]
        set_row(&row, counts, own, profile, t)
        end_of_row = min(count, i + length - rank)
        set_places(t, profile, rank, places)
        rank = 0
        while i < end_of_row:
            # In this stretch all pieces of the other side except the first stay where they are.
            end = min(end_of_row, i + places[1] - places[0])
            lag2 = places[1] - 1 if pieces > 1 else 0
            lag3 = t.choose[2][places[2] - 1] if pieces > 2 and places[2] - 1 > places[1] else count
            lag4 = t.choose[3][places[3] - 1] if pieces > 3 and places[3] - 1 > places[2] else count
            union_of(&row, places + 1, pieces - 1, rest)
            for place in range(places[0], places[0] + <int>(end - i)):
                near = choices[i - 1] if place and i else ALL_NONE
                near |= (choices_at(choices, i - lag2) if place < lag2 else ALL_NONE) << 3
                far = choices_at(choices, i - lag3)
                far |= (choices_at(choices, i - length) | row.other_counts) << 3
                further = choices_at(choices, i - lag4)
                for k in range(LANES):
                    known = rest[k] | row.known[place][k]
                    here[k] = known & ((1 << B_BITS) - 1) & ~(known >> E_BITS & BITS << E_BITS)
                found = 0
                for k in range(row.rolls):
                    roll = row.roll[k]
                    n = row.count[roll]
                    context = (near >> 8 * roll & 63) | (far >> 8 * roll & 63) << 6 | <uint64_t>here[roll] << 12
                    context |= (further >> 8 * roll & NONE) << 24 | <uint64_t>n << 27
                    legal = (<uint32_t>1 << n) - 1
                    if t.must_capture and here[roll] & legal:
                        legal &= here[roll]
                    if legal & (legal - 1):
                        choice = decide(model, &coder, context, n, legal, <int>(choices[i] >> 8 * roll & 255))
                        decisions += 1
                    else:
                        choice = madn_lowest(legal)
                    found |= <uint64_t>choice << 8 * roll
                if not coder.encoding:
                    choices[i] = found
                elif found != choices[i]:
                    free(model)
                    return -2
                i += 1
            next_stretch(pieces, places)
    free(model)
    given[0] = coder
    return decisions


def encode(Game game not None, int64_t first, const uint64_t[::1] choices not None):
    """Return the code for the choices of the positions from `first` on, as bytes, and how many decisions it contains.

    The choices of a position are one number with a byte for each roll, that of roll 1 lowest.
    """
    cdef int64_t count = choices.shape[0], decisions
    cdef int _k
    check(game, first, count)
    data = np.empty(64 + count * DIE * (game.tables.pieces - 1) * 3 // 2, np.uint8)      # 12 bits an event
    cdef uint8_t[::1] out = data
    cdef Coder coder
    memset(&coder, 0, sizeof(coder))
    coder.range, coder.encoding, coder.data, coder.size = 0xFFFFFFFF, True, &out[0], out.shape[0]
    with nogil:
        decisions = run(&game.tables, first, count, &coder, <uint64_t*>&choices[0])      # only reads them
        if decisions >= 0:
            for _k in range(4):
                put(&coder)
    if decisions == -1:
        raise MemoryError
    if decisions < 0:
        raise ValueError("a choice is not the number of a legal move")
    assert coder.at <= coder.size
    return data[:coder.at].tobytes(), decisions


def decode_into(Game game not None, int64_t first, const uint8_t[::1] data not None, uint64_t[::1] out not None):
    """Fill `out` with the choices that `encode` was given; return how many decisions those are.

    Returns -1 if the bytes do not come from `encode`; whatever they are, the choices are legal moves.
    """
    cdef int64_t count = out.shape[0], decisions
    cdef int k
    check(game, first, count)
    if data.shape[0] < 4:
        return -1
    cdef Coder coder
    memset(&coder, 0, sizeof(coder))
    coder.range, coder.data, coder.size, coder.at = 0xFFFFFFFF, <uint8_t*>&data[0], data.shape[0], 4
    for k in range(4):
        coder.code = coder.code << 8 | data[k]
    with nogil:
        decisions = run(&game.tables, first, count, &coder, &out[0])
    if decisions == -1:
        raise MemoryError
    return decisions if coder.at == coder.size and coder.code == 0 else -1


def spread(const uint16_t[::1] pairs not None):
    """Convert choices with 2 bits for each roll to choices with a byte for each."""
    cdef int64_t i, count = pairs.shape[0]
    cdef uint64_t x
    choices = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = choices
    with nogil:
        for i in range(count):
            x = pairs[i]
            out[i] = (x & 3) | (x & 12) << 6 | (x & 48) << 12 | (x & 192) << 18 | (x & 768) << 24 | (x & 3072) << 30
    return choices


def pack(const uint64_t[::1] choices not None):
    """Convert choices with a byte for each roll to words with 3 bits for each."""
    cdef int64_t i, count = choices.shape[0]
    cdef uint64_t x
    words = np.empty(count, np.uint32)
    cdef uint32_t[::1] out = words
    with nogil:
        for i in range(count):
            x = choices[i]
            out[i] = <uint32_t>((x & 7) | (x >> 5 & 7 << 3) | (x >> 10 & 7 << 6) | (x >> 15 & 7 << 9)
                                | (x >> 20 & 7 << 12) | (x >> 25 & 7 << 15))
    return words


cdef int check(Game game, int64_t first, int64_t count) except -1:
    cdef const GameTables* t = &game.tables
    if count < 1 or first < 0 or first > t.positions - count \
            or profile_at(t, first) != profile_at(t, first + count - 1):
        raise ValueError(f"{count} positions from ID {first} on are not in one profile of {game.rules}")
    return 0
