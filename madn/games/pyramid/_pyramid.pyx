"""The pyramid game: the numbering of its states and the sweep over them.

A state is split into a *block*, its runs of three bars and more, and a *row* of the block, its runs of two; along a
row only the single bars vary. Blocks are ranked by their run lengths, the longest first, among all vectors that
fulfil two conditions every reachable state fulfils (see `Numbering` in `pyramid.py`). The rows of a block and how
long they are is its *shape*: there are few shapes, and each is kept once. A state is then block, row and single bars.

The value of a state is two bytes, Z and 255 - W. A turn takes the least of Z and the greatest of W over the states
that can follow: of the two bytes, simply the least of each. Sixteen bytes are compared at a time.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__GNUC__)
    #define madn_prefetch(address) __builtin_prefetch(address)
    #else
    #define madn_prefetch(address) ((void)(address))
    #endif
    #if defined(_MSC_VER) && !defined(__clang__)
    #define MADN_RESTRICT __restrict
    #else
    #define MADN_RESTRICT restrict
    #endif

    /* least[i] = min(least[i], values[i]) for the next 16 * chunks bytes; compilers make one instruction of sixteen */
    static inline void madn_least(uint8_t *MADN_RESTRICT least, const uint8_t *MADN_RESTRICT values, int chunks) {
        for (; chunks > 0; chunks--, least += 16, values += 16)
            for (int i = 0; i < 16; i++)
                least[i] = values[i] < least[i] ? values[i] : least[i];
    }

    /* most[i] = max(most[i], lengths[i] + more) for all rows that there are; a multiple of sixteen rows is looked at */
    static inline void madn_most(uint8_t *MADN_RESTRICT most, const uint8_t *MADN_RESTRICT lengths, uint8_t more) {
        for (; *lengths; most += 16, lengths += 16)
            for (int i = 0; i < 16; i++) {
                uint8_t length = lengths[i] ? (uint8_t)(lengths[i] + more) : 0;
                most[i] = length > most[i] ? length : most[i];
            }
    }
    """
    void madn_prefetch(const void* address) noexcept nogil
    void madn_least(uint8_t* least, const uint8_t* values, int chunks) noexcept nogil
    void madn_most(uint8_t* most, const uint8_t* lengths, uint8_t more) noexcept nogil

cdef enum:
    MOST_TIERS = 18
    ROWS = 64            # no state has as many runs of two bars
    SINGLES = 96         # no state has as many single bars
    OPTIONS = 768        # no state has as many actions
    SHAPES = 65536
    SLOTS = 4 * SHAPES
    PAD = 16             # bytes after the last value of a level that a row may be read into
    FEW = 2048           # blocks that are not worth waking other threads for
    NEUTRAL = 255        # in both bytes: never the least, so no action leads to the empty pyramid

MAX_TIERS, PADDING = MOST_TIERS, PAD

cdef struct Option:      # a block that an action leads to, and the runs of two and one that it adds
    uint32_t block
    uint8_t level
    uint8_t twos
    uint8_t ones

cdef struct Numbers:
    int tiers
    int plane, line
    const uint32_t* ways     # [k][c][u]: vectors of runs of at most k bars, after c longer ones that take room u
    const int16_t* most      # [k]: runs of k bars and more that fit
    const int16_t* room      # [k][c]: the room that c runs of k bars and more can take

cdef struct Path:        # before the runs of k bars: how many longer ones, the room they take, their part of the rank
    int c[MOST_TIERS + 1]
    int u[MOST_TIERS + 1]
    uint32_t rank[MOST_TIERS + 1]

cdef struct Shapes:
    uint8_t* length          # [shape][twos]: states of the row
    uint16_t* offset         # [shape][twos]: states of the block before the row


cdef inline uint32_t ways(const Numbers* g, int k, int c, int u) noexcept nogil:
    return g.ways[k * g.plane + c * g.line + u]


cdef inline uint32_t ranked(const Numbers* g, const uint8_t* x, int k, int c, int u, uint32_t rank) noexcept nogil:
    """Add to the rank what the runs of at most k bars contribute, after c longer ones that take room u."""
    while k > 2:
        if x[k]:
            rank += ways(g, k, c, u)
            c += x[k]
            u += x[k] * (k + 1)
            rank -= ways(g, k, c, u)
        k -= 1
    return rank


cdef inline void follow(const Numbers* g, const uint8_t* x, int top, Path* path) noexcept nogil:
    """Fill the path below run length `top`."""
    cdef int k
    for k in range(top, 2, -1):
        path.c[k - 1], path.u[k - 1], path.rank[k - 1] = path.c[k], path.u[k], path.rank[k]
        if x[k]:
            path.c[k - 1] += x[k]
            path.u[k - 1] += x[k] * (k + 1)
            path.rank[k - 1] += ways(g, k, path.c[k], path.u[k]) - ways(g, k, path.c[k - 1], path.u[k - 1])


cdef inline int64_t checked_rank(const Numbers* g, const uint8_t* x, int k, int c, int u, uint32_t rank) noexcept nogil:
    """As `ranked`; -1 if the block does not fulfil the two conditions and has no rank."""
    while k > 2:
        if x[k]:
            rank += ways(g, k, c, u)
            c += x[k]
            u += x[k] * (k + 1)
            if c > g.most[k] or u > g.room[k * g.line + c]:
                return -1
            rank -= ways(g, k, c, u)
        k -= 1
    return rank


cdef inline void unrank(const Numbers* g, uint32_t rank, uint8_t* x) noexcept nogil:
    """Fill x[3] to x[tiers] with the block of a rank."""
    cdef int k, c = 0, u = 0
    cdef uint32_t left = rank, here
    for k in range(g.tiers, 2, -1):
        x[k] = 0
        here = ways(g, k, c, u)
        while left >= here - ways(g, k, c + 1, u + k + 1):
            left -= here - ways(g, k, c + 1, u + k + 1)
            c += 1
            u += k + 1
            x[k] += 1
            here = ways(g, k, c, u)


cdef uint32_t collect(const Numbers* g, int k, int c, int u, uint32_t rank, uint32_t* order,
                      int64_t* cursor) noexcept nogil:
    """Put the blocks that begin so, in the order of their ranks, into the lists of their levels."""
    if k == 2:
        order[cursor[u - c]] = rank
        cursor[u - c] += 1
        return rank + 1
    while c <= g.most[k] and u <= g.room[k * g.line + c]:
        rank = collect(g, k - 1, c, u, rank, order, cursor)
        c += 1
        u += k + 1
    return rank


cdef void lengths_of(const Numbers* g, const Shapes* s, const uint64_t* places, uint32_t block,
                     uint8_t* length) noexcept nogil:
    """Find the rows of a block: the blocks it comes from by marking one bar are known.

    Marking one bar of a run of n leaves runs of a and b with a + b = n - 1. Every action is some such steps.
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
            rank = checked_rank(g, x, n, path.c[n], path.u[n], path.rank[n])
            if rank >= 0:  # a block that cannot be reached has the shape without rows
                madn_most(most + (a == 2) + (b == 2), s.length + (places[rank] & 0xFFFF) * ROWS, (a == 1) + (b == 1))
            x[n] -= 1
            if b > 2:
                x[b] += 1
        if a > 2:
            x[a] += 1
    for row in range(ROWS - 1, 0, -1):  # a run of two becomes a single bar
        if most[row]:
            most[row - 1] = max(most[row - 1], <uint8_t>(most[row] + 1))
    memcpy(length, most, ROWS)


cdef int options_of(const Numbers* g, uint8_t* x, int level, Option* out) noexcept nogil:
    """List where the actions on runs of three bars and more lead from a block: to runs b <= a with a + b < n."""
    cdef int n, a, b, size = 0
    cdef Path without, with_a
    for n in range(3, g.tiers + 1):
        if not x[n]:
            continue
        x[n] -= 1
        without.c[g.tiers] = without.u[g.tiers] = without.rank[g.tiers] = 0
        follow(g, x, g.tiers, &without)
        for a in range(n):
            if a > 2:
                x[a] += 1
                with_a.c[a], with_a.u[a], with_a.rank[a] = without.c[a], without.u[a], without.rank[a]
                follow(g, x, a, &with_a)
            for b in range(min(a, n - 1 - a) + 1):
                if b > 2:
                    x[b] += 1
                    out[size].block = ranked(g, x, b, with_a.c[b], with_a.u[b], with_a.rank[b])
                    x[b] -= 1
                else:
                    out[size].block = with_a.rank[2] if a > 2 else without.rank[2]
                out[size].level = <uint8_t>(level - n + (a if a > 2 else 0) + (b if b > 2 else 0))
                out[size].twos = (a == 2) + (b == 2)
                out[size].ones = (a == 1) + (b == 1)
                size += 1
            if a > 2:
                x[a] -= 1
        x[n] += 1
    return size


cdef void solve_block(const Numbers* g, const Shapes* s, const uint64_t* places, const uint8_t* const* levels,
                      int level, int limit, uint32_t block, uint8_t* out) noexcept nogil:
    """Compute the values of a block from those of lower levels; `out` are the values of its own level."""
    cdef uint8_t x[MOST_TIERS + 2]
    cdef Option options[OPTIONS]
    cdef const uint8_t* blocks[OPTIONS]
    cdef uint8_t least[ROWS * 2 * SINGLES]
    cdef int first[ROWS]     # of `least`, for each row
    cdef int chunks[ROWS]
    cdef int size, i, row, rows = 0, end = 0, one
    cdef uint64_t place = places[block]
    cdef const uint8_t* length = s.length + (place & 0xFFFF) * ROWS
    cdef const uint16_t* offset = s.offset + (place & 0xFFFF) * ROWS
    cdef const uint16_t* there
    cdef uint8_t* mine
    cdef const uint8_t* below = NULL
    cdef uint8_t z, w
    unrank(g, block, x)
    size = options_of(g, x, level, options)
    for i in range(size):
        madn_prefetch(&places[options[i].block])
    while length[rows]:
        first[rows] = end
        chunks[rows] = (2 * length[rows] + 15) // 16
        end += 16 * chunks[rows]
        rows += 1
    memset(least, NEUTRAL, end)
    for i in range(size):
        place = places[options[i].block]
        blocks[i] = levels[options[i].level] + 2 * (place >> 16)
        madn_prefetch(blocks[i])
        madn_prefetch(blocks[i] + 64)
    for i in range(size):
        there = s.offset + (places[options[i].block] & 0xFFFF) * ROWS + options[i].twos
        for row in range(rows):
            madn_least(least + first[row], blocks[i] + 2 * (there[row] + options[i].ones), chunks[row])
    out += 2 * (places[block] >> 16)
    for row in range(rows):
        mine = out + 2 * offset[row]
        if row:
            below = out + 2 * offset[row - 1]
        for one in range(length[row]):
            i = first[row] + 2 * one
            z, w = least[i], least[i + 1]
            if row:  # a run of two is marked, or one of its bars
                z = min(z, min(below[2 * one], below[2 * one + 2]))
                w = min(w, min(below[2 * one + 1], below[2 * one + 3]))
            if one:
                z = min(z, mine[2 * one - 2])
                w = min(w, mine[2 * one - 1])
            mine[2 * one] = <uint8_t>(255 - w)
            mine[2 * one + 1] = <uint8_t>(254 - z)
            if level == 0 and row == 0 and one < 2:  # nothing left, and the last bar
                mine[2 * one] = NEUTRAL if one == 0 else 0
                mine[2 * one + 1] = NEUTRAL if one == 0 else <uint8_t>(255 - limit)


cdef class Blocks:
    """The blocks of a game by level, their shapes, and where the values of each begin in its level.

    The level of a block is the number of bars in its runs of three and more: every action on such a run leads to a
    lower level. `counts` are the blocks that are numbered in each level.
    """

    cdef Numbers numbers
    cdef Shapes shapes
    cdef readonly int tiers
    cdef readonly int kinds              # shapes so far; 0 is the shape of a block that cannot be reached
    cdef readonly int64_t candidates
    cdef object tables                   # keeps the arrays of `numbers`
    cdef int64_t[::1] first              # of each level in `order`
    cdef int64_t[::1] reached            # blocks of each level that can be reached
    cdef uint32_t[::1] order             # blocks by level, those that can be reached first
    cdef uint64_t[::1] places            # of each block: 65536 * its first state in the level + its shape
    cdef uint8_t[:, ::1] length
    cdef uint16_t[:, ::1] offset
    cdef int64_t[::1] size               # states of each shape
    cdef uint32_t[::1] slots             # shapes by a hash of their lengths

    def __init__(self, int tiers, const uint32_t[:, :, ::1] ways, const int16_t[::1] most,
                 const int16_t[:, ::1] room, counts):
        if not 2 <= tiers <= MOST_TIERS:
            raise ValueError(f"tiers must be 2 to {MOST_TIERS}, not {tiers}")
        if not ways.shape[0] == room.shape[0] == most.shape[0] == tiers + 1 or room.shape[1] != ways.shape[2]:
            raise ValueError("the tables are not those of these tiers")
        self.tiers, self.tables, self.kinds = tiers, (ways, most, room), 1
        self.numbers.tiers = tiers
        self.numbers.plane, self.numbers.line = <int>(ways.shape[1] * ways.shape[2]), <int>ways.shape[2]
        self.numbers.ways, self.numbers.most, self.numbers.room = &ways[0, 0, 0], &most[0], &room[0, 0]
        self.first = np.append(0, np.cumsum(counts, dtype=np.int64))
        self.candidates = self.first[self.first.shape[0] - 1]
        self.reached = np.zeros(len(counts), np.int64)
        self.order = np.empty(self.candidates, np.uint32)
        self.places = np.zeros(self.candidates, np.uint64)
        self.length, self.offset = np.zeros((SHAPES, ROWS), np.uint8), np.zeros((SHAPES, ROWS), np.uint16)
        self.size, self.slots = np.zeros(SHAPES, np.int64), np.zeros(SLOTS, np.uint32)
        self.shapes.length, self.shapes.offset = &self.length[0, 0], &self.offset[0, 0]
        cdef int64_t[::1] cursor = np.array(self.first)
        cdef uint32_t found = collect(&self.numbers, tiers, 0, 0, 0, &self.order[0], &cursor[0])
        if found != self.candidates:
            raise ValueError(f"{found} blocks are numbered, not {self.candidates}")

    cdef int shape(self, const uint8_t* length) except -1:
        """The number of the shape with these rows; a new one if there is none yet."""
        cdef uint64_t mixed = 0
        cdef int row, slot
        for row in range(ROWS):
            mixed = (mixed ^ length[row]) * 0x9E3779B97F4A7C15ull
        slot = <int>(mixed >> 46)
        while self.slots[slot]:
            if memcmp(self.shapes.length + self.slots[slot] * ROWS, length, ROWS) == 0:
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
        """Find the shapes of a level, all higher ones being known, and give its blocks places; return its states."""
        cdef int64_t begin = self.first[level], count = self.first[level + 1] - begin, i, states = 0, kept = 0
        cdef uint8_t[:, ::1] lengths = np.zeros((count, ROWS), np.uint8)
        cdef const Numbers* numbers = &self.numbers
        cdef const Shapes* shapes = &self.shapes
        cdef int shape
        if count < FEW:
            threads = 1
        if level + 2 == self.first.shape[0]:  # the level of the start: one run of each length
            lengths[0, 0], lengths[0, 1] = 3, 2
        else:
            for i in prange(count, nogil=True, num_threads=threads, schedule="dynamic", chunksize=64):
                lengths_of(numbers, shapes, &self.places[0], self.order[begin + i], &lengths[i, 0])
        for i in range(count):
            if lengths[i, 0]:
                shape = self.shape(&lengths[i, 0])
                self.places[self.order[begin + i]] = <uint64_t>states << 16 | <uint64_t>shape
                states += self.size[shape]
                self.order[begin + kept] = self.order[begin + i]
                kept += 1
        self.reached[level] = kept
        return states

    def blocks(self, int level):
        """How many blocks of a level can be reached."""
        return self.reached[level]

    def solve(self, levels, int level, int64_t begin, int64_t end, int limit, int threads):
        """Compute the values of blocks `begin` to `end` of a level from lower levels.

        `levels` has for each level its values, two bytes a state and then PADDING bytes, or None where they are not
        needed any more: actions lead down by at most the number of tiers.
        """
        cdef const uint8_t* values[MOST_TIERS * MOST_TIERS]
        cdef const uint8_t* const* lower = values
        cdef uint8_t[::1] view
        cdef uint8_t* out
        cdef const Numbers* numbers = &self.numbers
        cdef const Shapes* shapes = &self.shapes
        cdef int64_t i
        cdef int j
        if not 0 <= begin <= end <= self.reached[level]:
            raise ValueError(f"level {level} has no blocks {begin} to {end}")
        for j in range(max(0, level - self.tiers), level + 1):
            view = levels[j]
            values[j] = &view[0]
        out = &view[0]
        if end - begin < FEW:
            threads = 1
        begin += self.first[level]
        end += self.first[level]
        for i in prange(begin, end, nogil=True, num_threads=threads, schedule="dynamic", chunksize=16):
            solve_block(numbers, shapes, &self.places[0], lower, level, limit, self.order[i], out)

    def block(self, int level, int64_t number):
        """Return the runs of three bars and more of a block, how many of each length, and the lengths of its rows."""
        cdef uint8_t x[MOST_TIERS + 2]
        if not 0 <= number < self.reached[level]:
            raise ValueError(f"level {level} has no block {number}")
        cdef uint32_t rank = self.order[self.first[level] + number]
        unrank(&self.numbers, rank, x)
        shape = self.places[rank] & 0xFFFF
        rows = [length for length in self.length[shape] if length]
        return tuple(x[k] for k in range(3, self.tiers + 1)), rows

    def find(self, state):
        """Return the level of a state and its number in the level, or None if it cannot be reached."""
        cdef uint8_t x[MOST_TIERS + 2]
        cdef int k, level = 0
        if len(state) != self.tiers or min(state) < 0 or max(state) >= SINGLES or state[1] >= ROWS:
            return None
        for k in range(3, self.tiers + 1):
            x[k] = state[k - 1]
            level += k * x[k]
        cdef int64_t rank = checked_rank(&self.numbers, x, self.tiers, 0, 0, 0)
        if rank < 0:
            return None
        cdef uint64_t place = self.places[rank]
        cdef int shape = place & 0xFFFF
        if shape == 0 or state[0] >= self.length[shape, state[1]]:
            return None
        return level, (place >> 16) + self.offset[shape, state[1]] + state[0]
