"""Can't Stop: the states of a turn and where each roll leads, for every placement of one player's squares.

A structure is what is left to the top of each column (0: closed). Its states are the placements of at most three
markers: columns, and the steps that are still left above each marker. Placements of three markers come first, then two,
one and the anchor; among the same columns by the steps left. So every move leads to a smaller number.
"""

import numpy as np

from cython.parallel cimport prange, threadid
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

cdef enum:
    COLUMNS = 11
    MARKERS = 3
    SETS = 1 + 11 + 55 + 165     # of at most three columns
    MASKS = 1 << 11
    ROLLS = 128
    OPTIONS = 6                  # of a roll: three pairs, two choices each
    PROGRAM = 4 + ROLLS * (2 + OPTIONS)


cdef struct Board:               # the same for all structures
    int columns, rolls, sets
    int weight[ROLLS]            # of the rolls that are alike
    int pairs[ROLLS]
    int pair[ROLLS][3][2]
    int mask[SETS]               # the sets of columns, larger ones first
    int length[COLUMNS]
    int place[COLUMNS]           # value of a step in the rule of 28
    int bonus[SETS]
    int64_t* radix               # [mask of columns that get closed][column]
    int64_t* row_first           # [mask]: where its part of `rows` begins
    int64_t* block               # [mask]: (where the row 0 of split 0 lies, cells of a row, kind)
    const int32_t* rows          # 2 * row + (1 if mirrored)


cdef struct Group:               # rolls that leave the same moves
    uint64_t low, high           # the states they lead to, ascending, 16 bits each
    int rolls, count
    uint16_t option[OPTIONS]


cdef int64_t number_of(const int8_t* left, const int64_t* base, const int8_t* steps, int mask) noexcept nogil:
    """The number of a state: markers in the columns of `mask`, with steps[c] left in column c."""
    cdef int64_t number = 0
    cdef int c = 0
    while mask >> c:
        if mask >> c & 1:
            number = number * left[c] + steps[c]
        c += 1
    return base[0] + number


cdef inline void play(const int8_t* left, int8_t* steps, int* mask, int column, int by) noexcept nogil:
    if not mask[0] >> column & 1:
        mask[0] |= 1 << column
        steps[column] = left[column]
    steps[column] -= min(by, steps[column])


cdef inline bint playable(const int8_t* left, const int8_t* steps, int mask, int used, int column) noexcept nogil:
    if mask >> column & 1:
        return steps[column] > 0
    return left[column] > 0 and used < MARKERS


cdef int moves(const Board* b, const int8_t* left, const int64_t* base, const int8_t* steps, int mask, int used,
               int roll, uint16_t* option) noexcept nogil:
    """The different states a roll can lead to, ascending; 0 if the turn is lost."""
    cdef int p, k, count = 0, one, two, choices, after, at, later
    cdef int8_t now[COLUMNS]
    cdef uint16_t found
    cdef bint first, second, either
    for p in range(b.pairs[roll]):
        one, two = b.pair[roll][p][0], b.pair[roll][p][1]
        first = playable(left, steps, mask, used, one)
        second = playable(left, steps, mask, used, two)
        if not first and not second:
            continue
        either = (first and second and one != two and used == MARKERS - 1
                  and not mask >> one & 1 and not mask >> two & 1)
        choices = 2 if either else 1
        for k in range(choices):
            memcpy(now, steps, sizeof(now))
            after = mask
            if one == two:
                play(left, now, &after, one, 2)
            else:
                if first and not (either and k == 1):
                    play(left, now, &after, one, 1)
                if second and not (either and k == 0):
                    play(left, now, &after, two, 1)
            found = <uint16_t>number_of(left, &base[after], now, after)
            at = 0
            while at < count and option[at] < found:
                at += 1
            if at < count and option[at] == found:
                continue
            for later in range(count, at, -1):
                option[later] = option[later - 1]
            option[at] = found
            count += 1
    return count


cdef int64_t write_program(const Board* b, const int8_t* left, const int64_t* base, const int8_t* steps, int mask,
                           int used, Group* group, uint16_t* out) noexcept nogil:
    """Write the program of a state, return its length. Rolls that leave the same moves are counted together."""
    cdef int roll, count, k, size, groups = 0, lost = 0
    cdef int64_t at, begin
    cdef uint64_t low, high
    cdef uint16_t option[OPTIONS]
    for roll in range(b.rolls):
        count = moves(b, left, base, steps, mask, used, roll, option)
        if count == 0:
            lost += b.weight[roll]
            continue
        low = high = 0
        for k in range(count):
            if k < 4:
                low = low << 16 | option[k]
            else:
                high = high << 16 | option[k]
        k = 0
        while k < groups and (group[k].low != low or group[k].high != high or group[k].count != count):
            k += 1
        if k == groups:
            group[k].low, group[k].high, group[k].count, group[k].rolls = low, high, count, 0
            memcpy(group[k].option, option, sizeof(option))
            groups += 1
        group[k].rolls += b.weight[roll]
    out[0], at = <uint16_t>lost, 1
    for size in range(1, 4):             # one move, two, more
        count, at = 0, at + 1
        begin = at - 1
        for k in range(groups):
            if min(group[k].count, 3) == size:
                count += 1
                out[at] = <uint16_t>group[k].rolls
                if size == 3:
                    at += 1
                    out[at] = <uint16_t>group[k].count
                memcpy(&out[at + 1], group[k].option, group[k].count * sizeof(uint16_t))
                at += 1 + group[k].count
        out[begin] = <uint16_t>count
    return at


cdef void describe(const Board* b, const int8_t* left, const int8_t* steps, int mask, int bonus, int64_t* first,
                   uint16_t* kind, uint8_t* spot, int16_t* score) noexcept nogil:
    """Where stopping in a state leads, which squares its markers stand on, and its points in the rule of 28."""
    cdef int c, k = 0, closes = 0, total = bonus
    cdef int64_t rank = 0
    cdef int32_t row
    spot[0] = spot[1] = spot[2] = 0          # column 0, square 0: never taken
    for c in range(b.columns):
        if mask >> c & 1:
            closes |= (steps[c] == 0) << c
            spot[k] = <uint8_t>(16 * c + b.length[c] - steps[c])
            total += b.place[c] * (left[c] - steps[c] + 1)
            k += 1
    for c in range(b.columns):
        rank += b.radix[closes * COLUMNS + c] * (b.length[c] - (steps[c] if mask >> c & 1 else left[c]))
    score[0] = <int16_t>total
    kind[0] = <uint16_t>(b.block[3 * closes + 2])
    first[0] = b.block[3 * closes]
    if b.row_first[closes] >= 0:
        row = b.rows[b.row_first[closes] + rank]
        first[0] += (row >> 1) * b.block[3 * closes + 1]
        kind[0] += row & 1


cdef int build(const Board* b, const int8_t* left, int64_t* first, uint16_t* kind, uint8_t* spot, int16_t* score,
               int64_t states, uint16_t* scratch, int64_t room, Group* group, int64_t* base,
               uint16_t** program) noexcept nogil:
    """Build one structure; return 0, or -1 if there is no memory."""
    cdef int s, c, mask, used
    cdef int8_t steps[COLUMNS]
    cdef int64_t state = 0, size, k, at = 0, rest
    for s in range(b.sets):
        mask, size = b.mask[s], 1
        base[mask] = state
        for c in range(b.columns):
            if mask >> c & 1:
                size *= left[c]
        state += size
    state = 0
    for s in range(b.sets):
        mask, size, used = b.mask[s], 1, 0
        for c in range(b.columns):
            if mask >> c & 1:
                size *= left[c]
                used += 1
        for k in range(size):
            rest = k
            memcpy(steps, left, sizeof(steps))
            for c in range(b.columns - 1, -1, -1):
                if mask >> c & 1:
                    steps[c] = <int8_t>(rest % left[c])
                    rest //= left[c]
            if at + PROGRAM > room:
                return -1
            at += write_program(b, left, base, steps, mask, used, group, scratch + at)
            describe(b, left, steps, mask, b.bonus[s], first + state, kind + state, spot + 3 * state, score + state)
            state += 1
    program[0] = <uint16_t*>malloc(at * sizeof(uint16_t))
    if program[0] == NULL or state != states:
        return -1
    memcpy(program[0], scratch, at * sizeof(uint16_t))
    return <int>at


cdef class Turns:
    """The turns of one player on one set of open columns, for each of his squares: states and their programs."""

    def __cinit__(self, const int8_t[:, ::1] left, const int64_t[::1] begin, list rolls, sets, lengths, places, bonus,
                  int64_t[:, ::1] radix, int64_t[::1] row_first, int64_t[:, ::1] block, const int32_t[::1] rows,
                  int threads):
        cdef Board b
        cdef int64_t k, room
        cdef int roll, p
        self.count = left.shape[0]
        self.programs = <uint16_t**>calloc(max(self.count, 1), sizeof(uint16_t*))
        self.begin = np.array(begin)
        states = int(begin[self.count])
        self.largest = int(np.diff(begin).max())
        if self.largest > 0xffff:
            raise OverflowError("a turn has more states than 16 bits can number")
        self.first, self.kind = np.empty(states, np.int64), np.empty(states, np.uint16)
        self.spot, self.score = np.empty((states, 3), np.uint8), np.empty(states, np.int16)
        b.columns, b.rolls, b.sets = len(lengths), len(rolls), len(sets)
        for roll, (weight, pairs) in enumerate(rolls):
            b.weight[roll], b.pairs[roll] = weight, len(pairs)
            for p, (one, two) in enumerate(pairs):
                b.pair[roll][p][0], b.pair[roll][p][1] = one, two
        for p in range(b.sets):
            b.mask[p], b.bonus[p] = sets[p], bonus[p]
        for p in range(b.columns):
            b.length[p], b.place[p] = lengths[p], places[p]
        b.radix, b.row_first, b.block, b.rows = &radix[0, 0], &row_first[0], &block[0, 0], &rows[0]
        room = self.largest * PROGRAM
        cdef uint16_t[:, ::1] scratch = np.empty((threads, room), np.uint16)
        cdef uint8_t[:, ::1] groups = np.empty((threads, ROLLS * sizeof(Group)), np.uint8)
        cdef int64_t[:, ::1] bases = np.zeros((threads, MASKS), np.int64)
        cdef int64_t[::1] made = np.zeros(self.count, np.int64)
        if self.programs == NULL:
            raise MemoryError
        with nogil:
            for k in prange(self.count, num_threads=threads, schedule="dynamic"):
                made[k] = build(&b, &left[k, 0], &self.first[self.begin[k]], &self.kind[self.begin[k]],
                                &self.spot[self.begin[k], 0], &self.score[self.begin[k]],
                                self.begin[k + 1] - self.begin[k], &scratch[threadid(), 0], room,
                                <Group*>&groups[threadid(), 0], &bases[threadid(), 0], &self.programs[k])
        if min(made) < 0:
            raise MemoryError
        self.bytes = 2 * int(np.sum(made))

    def program(self, int64_t structure):
        """The program of a structure as it is, for tests and the curious: ends where its states end."""
        cdef uint16_t* code = self.programs[structure]
        cdef int64_t at = 0, _
        cdef int size, count
        found = []
        for _ in range(self.begin[structure + 1] - self.begin[structure]):
            lost, listed = code[at], []
            at += 1
            for size in range(1, 4):
                at += 1
                for _ in range(code[at - 1]):
                    count = code[at + 1] if size == 3 else size
                    rolls, at = code[at], at + (2 if size == 3 else 1)
                    listed.append((rolls, tuple([code[at + p] for p in range(count)])))
                    at += count
            found.append((lost, listed))
        return found

    def __dealloc__(self):
        cdef int64_t k
        if self.programs != NULL:
            for k in range(self.count):
                free(self.programs[k])
            free(self.programs)
