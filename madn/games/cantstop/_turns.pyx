"""Can't Stop: the states of a turn and where each roll leads, for every placement of one player's squares.

A structure is the steps left to the top of each column (0 if it is closed). Its states are the placements of at most
three markers: the columns, and the steps still left above each marker. Placements of three markers come first, then
two, one and the anchor; those in the same columns are ordered by the steps left. So every move leads to a smaller
number.
"""

import numpy as np

from cython.parallel cimport prange, threadid
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from madn._machine cimport check_number, check_shape, checked_threads

from madn.ranges import check_range

include "_moves.pxi"


cdef bint describe(const BoardTable* b, const int8_t* left, const int8_t* steps, int mask, int bonus, int64_t* first,
                   uint16_t* kind, uint8_t* spot, int16_t* score) noexcept nogil:
    """Where stopping in a state leads, which squares its markers stand on, and its points in the rule of 28.

    Returns false if there is no such row.
    """
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
        rank += b.row_first[closes]
        if not 0 <= rank < b.row_count:
            return False
        row = b.rows[rank]
        first[0] += (row >> 1) * b.block[3 * closes + 1]
        kind[0] += row & 1
    return True


cdef int64_t build(const BoardTable* b, const int8_t* left, int64_t* first, uint16_t* kind, uint8_t* spot,
                   int16_t* score, int64_t states, uint16_t* scratch, RollGroup* group, int64_t* base,
                   uint16_t** program) noexcept nogil:
    """Build one structure; return the length of its program, NO_MEMORY, or WRONG if the tables do not fit."""
    cdef int s, c, mask, used
    cdef int8_t steps[COLUMNS]
    cdef int64_t state = 0, size, k, at = 0, rest, length
    for s in range(b.sets):
        mask, size = b.mask[s], 1
        base[mask] = state
        for c in range(b.columns):
            if mask >> c & 1:
                size *= left[c]
        state += size
    if state != states:
        return WRONG
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
            length = write_program(b, left, base, steps, mask, used, state, group, scratch + at)
            if length < 0 or not describe(b, left, steps, mask, b.bonus[s], first + state, kind + state,
                                          spot + 3 * state, score + state):
                return WRONG
            at += length
            state += 1
    program[0] = <uint16_t*>malloc(at * sizeof(uint16_t))
    if program[0] == NULL:
        return NO_MEMORY
    memcpy(program[0], scratch, at * sizeof(uint16_t))
    return at


cdef int fill(BoardTable* b, list rolls, sets, lengths, places, bonus) except -1:
    """Copy the rules into a board."""
    check_number("number of columns", len(lengths), 1, COLUMNS)
    check_number("number of rolls", len(rolls), 1, ROLLS)
    check_number("number of sets", len(sets), 1, SETS)
    check_number("number of places", len(places), len(lengths), len(lengths))
    check_number("number of bonuses", len(bonus), len(sets), len(sets))
    check_range("lengths", lengths, 1, LONGEST)
    check_range("columns of a set", [(<object>mask).bit_count() for mask in sets], 0, MARKERS)
    check_range("sets", sets, 0, (1 << len(lengths)) - 1)
    check_range("places", places, 0, 99)
    check_range("bonus", bonus, -99, 99)
    check_range("weights", [weight for weight, _ in rolls], 0, 0xffff)
    check_number("sum of the weights", sum(weight for weight, _ in rolls), 0, 0xffff)
    b.columns, b.rolls, b.sets = len(lengths), len(rolls), len(sets)
    for roll, (weight, pairs) in enumerate(rolls):
        check_number(f"number of pairs of roll {roll}", len(pairs), 0, 3)
        check_range(f"columns of roll {roll}", pairs, 0, b.columns - 1)
        b.weight[<int>roll], b.pairs[<int>roll] = weight, len(pairs)
        for p, (one, two) in enumerate(pairs):
            b.pair[<int>roll][<int>p][0], b.pair[<int>roll][<int>p][1] = one, two
    for p in range(b.sets):
        b.mask[<int>p], b.bonus[<int>p] = sets[p], bonus[p]
    for p in range(b.columns):
        b.length[<int>p], b.place[<int>p] = lengths[p], places[p]
    return 0


cdef class Turns:
    """The turns of one player on one set of open columns, for each structure: states and their programs."""

    def __cinit__(self, const int8_t[:, ::1] left not None, const int64_t[::1] begin not None, list rolls not None,
                  sets, lengths, places, bonus, int64_t[:, ::1] radix not None, int64_t[::1] row_first not None,
                  int64_t[:, ::1] block not None, const int32_t[::1] rows not None, int threads):
        cdef BoardTable b
        cdef int64_t k, count = left.shape[0]
        threads = checked_threads(threads)
        fill(&b, rolls, sets, lengths, places, bonus)
        check_number("number of structures", count, 1, 1 << 31)
        check_shape("left", left, (count, COLUMNS))
        check_shape("begin", begin, (count + 1,))
        check_shape("radix", radix, (MASKS, COLUMNS))
        check_shape("row_first", row_first, (MASKS,))
        check_shape("block", block, (MASKS, 3))
        check_number("number of rows", rows.shape[0], 1, 1 << 62)
        check_range("left", left, 0, LONGEST)
        check_range("left", np.asarray(left) - [*lengths, *[0] * (COLUMNS - b.columns)], -LONGEST, 0)
        check_number("first state", begin[0], 0, 0)
        check_range("states of a turn", np.diff(begin), 1, 0xffff)  # they are numbered with 16 bits
        self.begin, self.largest = np.array(begin), int(np.diff(begin).max())
        states = int(begin[count])
        self.first, self.kind = np.empty(states, np.int64), np.empty(states, np.uint16)
        self.spot, self.score = np.empty((states, 3), np.uint8), np.empty(states, np.int16)
        b.radix, b.row_first, b.block, b.rows = &radix[0, 0], &row_first[0], &block[0, 0], &rows[0]
        b.row_count = rows.shape[0]
        cdef uint16_t[:, ::1] scratch = np.empty((threads, self.largest * PROGRAM), np.uint16)
        cdef uint8_t[:, ::1] groups = np.empty((threads, ROLLS * sizeof(RollGroup)), np.uint8)
        cdef int64_t[:, ::1] bases = np.zeros((threads, MASKS), np.int64)
        self.length = np.empty(count, np.int64)
        self.programs = <uint16_t**>calloc(count, sizeof(uint16_t*))
        if self.programs == NULL:
            raise MemoryError
        self.count = count
        with nogil:
            for k in prange(self.count, num_threads=threads, schedule="dynamic"):
                self.length[k] = build(&b, &left[k, 0], &self.first[self.begin[k]], &self.kind[self.begin[k]],
                                       &self.spot[self.begin[k], 0], &self.score[self.begin[k]],
                                       self.begin[k + 1] - self.begin[k], &scratch[threadid(), 0],
                                       <RollGroup*>&groups[threadid(), 0], &bases[threadid(), 0], &self.programs[k])
        if NO_MEMORY in self.length:
            raise MemoryError
        if WRONG in self.length:
            raise ValueError(f"structure {list(self.length).index(WRONG)}: its states or moves do not fit the tables")

    cdef object reach(self, int64_t kinds):
        """The smallest and the largest `first` of each kind; smallest > largest for a kind that no state has."""
        check_range("kinds", self.kind, 0, kinds - 1)
        low, high = np.full(kinds, np.iinfo(np.int64).max), np.full(kinds, np.iinfo(np.int64).min)
        np.minimum.at(low, self.kind, self.first)
        np.maximum.at(high, self.kind, self.first)
        return low, high

    def program(self, int64_t structure):
        """The program of a structure as lanes.h describes it, for tests and the curious."""
        check_number("structure", structure, 0, self.count - 1)
        return np.array(<uint16_t[:self.length[structure]]>self.programs[structure])

    def __dealloc__(self):
        cdef int64_t k
        if self.programs != NULL:
            for k in range(self.count):
                free(self.programs[k])
            free(self.programs)
