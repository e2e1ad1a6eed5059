"""The pyramid game: the numbering of its states and the sweep over them.

A state is split into a *block*, its runs of three bars or more, and a *row* of the block, its runs of two; along a
row only the single bars vary. Blocks are ranked by their run lengths, the longest first, among all vectors that
satisfy two conditions that every reachable state satisfies (see `bounds`). The lengths of the rows of a block are its
*shape*: there are few shapes, and each is kept once. A state is then given by block, row and single bars.

The value of a state is two bytes, Z and 255 - W. A turn takes the least Z and the greatest W of the states that can
follow, which is simply the least of each of the two bytes. Sixteen bytes are compared at a time.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from madn._machine cimport check_number, check_shape, checked_threads

cdef extern from "rows.h":
    void prefetch(const void* address) noexcept nogil
    void least_of(uint8_t* least, const uint8_t* values, int chunks) noexcept nogil
    void most_of(uint8_t* most, const uint8_t* lengths, int rows, uint8_t more) noexcept nogil

cdef enum:
    MOST_TIERS = 18
    ROWS = 64            # no state has as many runs of two bars
    SINGLES = 96         # no state has as many single bars
    OPTIONS = 768        # no state has as many actions
    SHAPES = 65536
    SLOTS = 4 * SHAPES
    PAD = 16             # bytes after the last value of a level: reading a row may run into them
    FEW = 2048           # with fewer blocks than this, waking other threads does not pay
    NEUTRAL = 255        # in both bytes: never the least, so no action leads to the empty pyramid

MAX_TIERS, PADDING = MOST_TIERS, PAD

include "_numbers.pxi"


cdef void lengths_of(const Numbers* g, uint32_t block, uint8_t* length) noexcept nogil:
    """Find the rows of a block from those of the blocks that lead to it by marking one bar, which are known.

    Marking one bar of a run of n leaves runs of a and b with a + b = n - 1. Every action is a sequence of such steps.
    """
    cdef int a, b, n, row
    cdef int64_t rank
    cdef uint8_t x[MOST_TIERS + 2]
    cdef uint8_t most[ROWS + 16]
    cdef Path path
    memset(most, 0, ROWS + 16)
    unrank(g, block, x)
    path.c[g.tiers] = path.u[g.tiers] = path.rank[g.tiers] = 0
    follow(g, x, g.tiers, &path)
    for a in range(g.tiers):
        if a > 2:
            if not x[a]:
                continue
            x[a] -= 1
        for b in range(min(a, g.tiers - 1 - a) + 1):
            n = a + b + 1
            if n < 3 or (b > 2 and not x[b]):
                continue
            if b > 2:
                x[b] -= 1
            x[n] += 1
            rank = ranked(g, x, n, path.c[n], path.u[n], path.rank[n])
            if rank >= 0:  # a block that cannot be reached has the shape with no rows
                most_of(most + (a == 2) + (b == 2), g.length + (g.places[rank] & 0xFFFF) * ROWS, ROWS,
                        (a == 1) + (b == 1))
            x[n] -= 1
            if b > 2:
                x[b] += 1
        if a > 2:
            x[a] += 1
    for row in range(ROWS - 1, 0, -1):  # a run of two becomes a single bar
        if most[row]:
            most[row - 1] = max(most[row - 1], <uint8_t>(most[row] + 1))
    memcpy(length, most, ROWS)


include "_sweep.pxi"


cdef class Blocks:
    """The blocks of a game by level, their shapes, and where the values of each begin in its level.

    The level of a block is the number of bars in its runs of three or more: every action on such a run leads to a lower
    level. Levels are laid out from the top down, then solved from 0 up.
    """

    cdef Numbers numbers
    cdef readonly int tiers
    cdef int kinds                       # shapes so far; 0 is the shape of a block that cannot be reached
    cdef readonly int64_t candidates
    cdef int levels, next                # how many there are, and which one is laid out next
    cdef object tables                   # keeps alive the arrays of `numbers`
    cdef int64_t[::1] first              # where each level begins in `order`
    cdef int64_t[::1] reached            # blocks of each level that can be reached
    cdef int64_t[::1] states             # of each level
    cdef uint32_t[::1] order             # blocks by level, those that can be reached first
    cdef uint64_t[::1] places
    cdef uint8_t[:, ::1] length
    cdef uint16_t[:, ::1] offset
    cdef int64_t[::1] size               # states of each shape
    cdef uint32_t[::1] slots             # shapes by a hash of their lengths

    def __cinit__(self, int tiers):
        cdef const int16_t[::1] most
        cdef const int16_t[:, ::1] room
        cdef const uint32_t[:, :, ::1] ways
        cdef uint8_t[::1] level
        most, room = bounds(tiers)
        ways = ways_of(tiers, most, room)
        self.tiers, self.tables, self.kinds = tiers, (ways, most, room), 1
        self.numbers.tiers = tiers
        self.numbers.plane, self.numbers.line = <int>(ways.shape[1] * ways.shape[2]), <int>ways.shape[2]
        self.numbers.runs = <int>room.shape[1]
        self.numbers.ways, self.numbers.most, self.numbers.room = &ways[0, 0, 0], &most[0], &room[0, 0]
        self.candidates, self.levels = ways[tiers, 0, 0], sum(range(3, tiers + 1)) + 1
        self.next = self.levels - 1
        level = np.empty(self.candidates, np.uint8)
        find_levels(&self.numbers, tiers, 0, 0, 0, &level[0])
        self.first = np.append(0, np.cumsum(np.bincount(level, minlength=self.levels)))
        self.order = np.argsort(level, kind="stable").astype(np.uint32)
        self.reached, self.states = np.zeros(self.levels, np.int64), np.zeros(self.levels, np.int64)
        self.places = np.zeros(self.candidates, np.uint64)
        self.length, self.offset = np.zeros((SHAPES, ROWS), np.uint8), np.zeros((SHAPES, ROWS), np.uint16)
        self.size, self.slots = np.zeros(SHAPES, np.int64), np.zeros(SLOTS, np.uint32)
        self.numbers.length, self.numbers.offset = &self.length[0, 0], &self.offset[0, 0]
        self.numbers.places = &self.places[0]

    cdef int shape(self, const uint8_t* length) except -1:
        """The number of the shape with these rows, a new number if the shape is new."""
        cdef uint64_t mixed = 0
        cdef int row, slot
        for row in range(ROWS):
            mixed = (mixed ^ length[row]) * 0x9E3779B97F4A7C15ull
        slot = <int>(mixed >> 46)
        while self.slots[slot]:
            if memcmp(&self.length[self.slots[slot], 0], length, ROWS) == 0:
                return self.slots[slot]
            slot = (slot + 1) % SLOTS
        if self.kinds == SHAPES:
            raise OverflowError(f"there are more than {SHAPES} shapes")
        self.slots[slot] = self.kinds
        for row in range(ROWS):
            self.length[self.kinds, row] = length[row]
            self.offset[self.kinds, row] = <uint16_t>self.size[self.kinds]
            self.size[self.kinds] += length[row]
        self.kinds += 1
        return self.kinds - 1

    def lay_out(self, int level, int threads):
        """Find the shapes of a level (those above are known) and place its blocks; return how many states it has."""
        if level != self.next:
            raise ValueError(f"levels are laid out from the top down: expected {self.next}, found {level}")
        threads = checked_threads(threads)
        cdef int64_t begin = self.first[level], count = self.first[level + 1] - begin, i, states = 0, kept = 0
        cdef uint8_t[:, ::1] lengths = np.zeros((count, ROWS), np.uint8)
        cdef int shape
        if count < FEW:
            threads = 1
        if level == self.levels - 1:  # the level of the start: one run of each length
            lengths[0, 0], lengths[0, 1] = 3, 2
        else:
            for i in prange(count, nogil=True, num_threads=threads, schedule="dynamic", chunksize=64):
                lengths_of(&self.numbers, self.order[begin + i], &lengths[i, 0])
        for i in range(count):
            if lengths[i, 0]:
                shape = self.shape(&lengths[i, 0])
                self.places[self.order[begin + i]] = <uint64_t>states << 16 | <uint64_t>shape
                states += self.size[shape]
                self.order[begin + kept] = self.order[begin + i]
                kept += 1
        self.reached[level], self.states[level], self.next = kept, states, level - 1
        return states

    def blocks(self, int level):
        """How many blocks of a level can be reached."""
        check_number("level", level, 0, self.levels - 1)
        return self.reached[level]

    def solve(self, levels, int level, int64_t begin, int64_t end, int limit, int threads):
        """Compute the values of blocks `begin` to `end` of a level from lower levels.

        `levels` has for each level its values, two bytes per state followed by PADDING bytes, or None if they are no
        longer needed: actions lead down by at most the number of tiers.
        """
        cdef const uint8_t* values[MOST_TIERS * MOST_TIERS]
        cdef const uint8_t* const* lower = values
        cdef uint8_t[::1] view
        cdef uint8_t* out
        cdef int64_t i
        cdef int j
        check_number("level", level, 0, self.levels - 1)
        check_number("end of the blocks", end, 0, self.reached[level])
        check_number("begin of the blocks", begin, 0, end)
        check_number("limit", limit, 0, 254)
        check_number("number of levels", len(levels), self.levels, self.levels)
        threads = checked_threads(threads)
        if self.next >= 0:
            raise ValueError(f"level {self.next} has not been laid out")
        for j in range(max(0, level - self.tiers), level + 1):
            if levels[j] is None:
                raise ValueError(f"level {j}: its values are needed for level {level} and were not kept")
            view = levels[j]
            check_shape(f"values of level {j}", view, (2 * self.states[j] + PAD,))
            values[j] = &view[0]
        out = &view[0]
        if end - begin < FEW:
            threads = 1
        begin += self.first[level]
        end += self.first[level]
        for i in prange(begin, end, nogil=True, num_threads=threads, schedule="dynamic", chunksize=16):
            solve_block(&self.numbers, lower, level, limit, self.order[i], out)

    def block(self, int level, int64_t number):
        """Return how many runs of each length, from three bars on, a block has, and the lengths of its rows."""
        cdef uint8_t x[MOST_TIERS + 2]
        check_number("level", level, 0, self.levels - 1)
        check_number("block", number, 0, self.reached[level] - 1)
        cdef uint32_t rank = self.order[self.first[level] + number]
        unrank(&self.numbers, rank, x)
        shape = self.places[rank] & 0xFFFF
        rows = [length for length in self.length[shape] if length]
        return tuple(x[k] for k in range(3, self.tiers + 1)), rows

    def find(self, state):
        """Return the level of a state and its number in the level, or None if it cannot be reached."""
        cdef uint8_t x[MOST_TIERS + 2]
        cdef int k, level = 0, ones, twos
        if len(state) != self.tiers or min(state) < 0 or max(state) >= SINGLES or state[1] >= ROWS:
            return None
        ones, twos = state[0], state[1]
        for k in range(3, self.tiers + 1):
            x[k] = state[k - 1]
            level += k * x[k]
        cdef int64_t rank = ranked(&self.numbers, x, self.tiers, 0, 0, 0)
        if rank < 0:
            return None
        cdef uint64_t place = self.places[rank]
        cdef int shape = place & 0xFFFF
        if shape == 0 or ones >= self.length[shape, twos]:
            return None
        return level, (place >> 16) + self.offset[shape, twos] + ones
