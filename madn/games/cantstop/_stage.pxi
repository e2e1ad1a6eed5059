# Can't Stop: Newton's method for all components of a level; `_stage.pyx` and `_stage_avx2.pyx` compile this text
# for two instruction sets.
#
# A half is a component with a player to move: he has the squares x, the waiting player has y. Its partner is the same
# component with the other player to move. The turn of a half depends on x alone (a structure of `Turns`), but for what
# stopping is worth and where it is forbidden, so halves with the same x and different y are the lanes of one pass.
# If a turn is lost the player's chance is `fail`, one minus the value of the partner. The pass gives the value of the
# half and its slope, that is, the piece of its piecewise linear function of `fail` that is active. The two pieces of
# a component are two linear equations for its two anchors. Functions are convex and slopes positive, so a piece that
# changes changes the slope: when both slopes are what they were, the pieces are, and the work on the component ends.
# Where two pieces meet in the solution itself, rounding may choose one and the other in turn: then the slope is that of
# the iteration before last, and the value is the estimate it was computed from but for rounding. Either piece will do.
#
# Halves are listed by (role, split, structure), the lanes by y. No half reads what another one of the same step writes,
# and lanes never mix: the bits depend neither on the number of threads nor on the number of lanes.

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange, threadid
from libc.math cimport fabs
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from madn.games.cantstop._turns cimport Turns

cdef extern from "lanes.h":
    const uint64_t NIBBLES
    void stops_8(int64_t states, const int64_t* first, const uint16_t* kind, const uint8_t* spot, const uint8_t* taken,
                 const int32_t* column, const int64_t* shift, const int16_t* score, int threshold,
                 const double* values, double* stop) noexcept nogil
    void stops_1(int64_t states, const int64_t* first, const uint16_t* kind, const uint8_t* spot, const uint8_t* taken,
                 const int32_t* column, const int64_t* shift, const int16_t* score, int threshold,
                 const double* values, double* stop) noexcept nogil
    void turn_8(const uint16_t* program, int64_t states, const double* stop, const double* fail, bint obey,
                double scale, double* value, double* slope) noexcept nogil
    void turn_1(const uint16_t* program, int64_t states, const double* stop, const double* fail, bint obey,
                double scale, double* value, double* slope) noexcept nogil

cdef enum:
    LANES = 8
    TAKEN = 11 * 16
    SHARED = 1 << 18                     # roll positions that are worth several threads
    PIECE = 1 << 25                      # roll positions between two looks for signals: a fraction of a second

cdef double TIE = 1e-14      # what rounding can do to a value; pieces that meet differ by no more


cdef inline uint64_t not_zero(uint64_t squares) noexcept nogil:
    """The lowest bit of every nibble that is not zero."""
    return (squares | squares >> 1 | squares >> 2 | squares >> 3) & NIBBLES


cdef class Stage:
    """All components with the same open columns, ready to be solved level by level, the most advanced first."""
    cdef Turns turns
    cdef const uint64_t[::1] packed      # squares of a placement, four bits a column
    cdef const int32_t[::1] mirror       # the mirrored placement; empty if the open columns are not symmetric
    cdef const int64_t[::1] total        # placements with this many steps begin here
    cdef const int32_t[::1] placement    # of a structure
    cdef const int32_t[:, ::1] column    # [kind][placement]: which column of a supporting component
    cdef const int64_t[:, ::1] shift     # [split][kind]
    cdef const int32_t[::1] row          # of a placement its structure, which is also its row; -1: see its mirror image
    cdef double[:, ::1] values           # [role][place]
    cdef int64_t place, cells            # where this stage begins in a role, and how much a split has
    cdef int roles, splits, threshold
    cdef double scale
    # one level
    cdef int64_t[::1] start
    cdef int32_t[::1] waiting, partner
    cdef double[::1] fail, slope, before, intercept, value
    cdef uint8_t[::1] active, same, iterations
    cdef double[:, ::1] scratch

    def __init__(self, turns, packed, mirror, total, placement, column, shift, row, values, place, cells,
                 threshold, scale, int threads):
        self.turns, self.packed, self.mirror, self.total = turns, packed, mirror, total
        self.placement, self.column, self.shift, self.row = placement, column, shift, row
        self.values, self.place, self.cells, self.scale = values, place, cells, scale
        self.roles, self.splits = self.values.shape[0], self.shift.shape[0]
        self.scratch = np.empty((threads, 3 * LANES * self.turns.largest + LANES * self.column.shape[0]))
        self.threshold = threshold       # of the player in role 0, if there are two roles

    cdef inline int64_t canonical(self, int64_t* x, int64_t y) noexcept nogil:
        """The mirror image with the smaller x (y among equals): x and y are replaced, y is returned."""
        cdef int64_t other
        if self.mirror.shape[0] == 0:
            return y
        other = self.mirror[x[0]]
        if other < x[0]:
            x[0] = other
            return self.mirror[y]
        return min(y, <int64_t>self.mirror[y]) if other == x[0] else y

    cdef int64_t list_row(self, int64_t r, int level, int32_t* out) noexcept nogil:
        """Write (or count) the squares y of the waiting player that go with the x of a row at this level."""
        cdef int64_t x = self.placement[r % self.placement.shape[0]], y, count = 0, steps = 0
        cdef uint64_t squares = self.packed[x], held = not_zero(squares)
        cdef bint symmetric = self.mirror.shape[0] > 0 and self.mirror[x] == x
        while self.total[steps + 1] <= x:
            steps += 1
        steps = level - steps
        if steps < 0 or steps + 1 >= self.total.shape[0]:
            return 0
        for y in range(self.total[steps], self.total[steps + 1]):
            if held & ~not_zero(squares ^ self.packed[y]) or (symmetric and self.mirror[y] < y):
                continue
            if out != NULL:
                out[count] = <int32_t>y
            count += 1
        return count

    cdef int32_t find(self, int64_t role, int64_t split, int64_t x, int64_t y) noexcept nogil:
        """The number of a half."""
        cdef int64_t low, high, middle
        y = self.canonical(&x, y)
        low = (role * self.splits + split) * self.placement.shape[0] + self.row[x]
        high = self.start[low + 1]
        low = self.start[low]
        while low < high:
            middle = (low + high) >> 1
            if self.waiting[middle] < y:
                low = middle + 1
            else:
                high = middle
        return <int32_t>low

    cdef void find_partners(self, int64_t r) noexcept nogil:
        cdef int64_t k = r // self.placement.shape[0], x = self.placement[r % self.placement.shape[0]], h
        cdef int64_t role = k // self.splits, split = k % self.splits
        for h in range(self.start[r], self.start[r + 1]):
            self.partner[h] = self.find(self.roles - 1 - role, self.splits - 1 - split, self.waiting[h], x)

    cdef int64_t open_level(self, int level, int threads) except -1:
        """List the halves of a level; return how many they are."""
        cdef int64_t rows = self.roles * self.splits * self.placement.shape[0], r
        counts = np.zeros(rows + 1, np.int64)
        threads = threads if rows * self.packed.shape[0] > 64 * SHARED else 1
        cdef int64_t[::1] count = counts
        with nogil:
            for r in prange(rows, num_threads=threads, schedule="dynamic", chunksize=64):
                count[r + 1] = self.list_row(r, level, NULL)
        self.start = np.cumsum(counts)
        size = int(self.start[rows])
        self.waiting, self.partner = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
        with nogil:
            for r in prange(rows, num_threads=threads, schedule="dynamic", chunksize=64):
                self.list_row(r, level, &self.waiting[self.start[r]])
            for r in prange(rows, num_threads=threads, schedule="dynamic", chunksize=64):
                self.find_partners(r)
        self.fail, self.slope, self.before = np.full(size, 0.5), np.full(size, -1.0), np.full(size, -1.0)
        self.intercept, self.value = np.empty(size), np.full(size, 0.5)
        self.active, self.same, self.iterations = (np.full(size, start, np.uint8) for start in (1, 0, 0))
        return size

    cdef void run_lanes(self, int64_t r, const int64_t* half, int lanes, int width, double tolerance,
                        double* scratch) noexcept nogil:
        """One pass over the turn of a row for up to `width` (8 or 1) halves."""
        cdef int64_t structures = self.placement.shape[0], kinds = self.column.shape[0], k = r % structures, h
        cdef int64_t role = r // structures // self.splits, split = r // structures % self.splits
        cdef int64_t first = self.turns.begin[k], states = self.turns.begin[k + 1] - first, last = width * (states - 1)
        cdef double* value = scratch
        cdef double* slope = value + states * width
        cdef double* stop = slope + states * width
        cdef int32_t* column = <int32_t*>(stop + states * width)
        cdef double fail[LANES]
        cdef uint8_t taken[TAKEN]
        cdef uint64_t squares
        cdef bint ruled = self.roles == 2 and role == 0
        cdef const int16_t* score = &self.turns.score[first] if ruled else NULL
        cdef const double* values = &self.values[self.roles - 1 - role, 0]
        cdef int i, c
        cdef int64_t t
        memset(taken, 0, TAKEN)
        for i in range(width):
            h = half[min(i, lanes - 1)]
            fail[i] = self.fail[h]
            squares = self.packed[self.waiting[h]]
            c = 0
            while squares:
                if squares & 15:
                    taken[16 * c + <int>(squares & 15)] |= 1 << i
                squares >>= 4
                c += 1
            for t in range(kinds):
                column[t * width + i] = self.column[t, self.waiting[h]]
        if width == LANES:
            stops_8(states - 1, &self.turns.first[first], &self.turns.kind[first], &self.turns.spot[first, 0], taken,
                    column, &self.shift[split, 0], score, self.threshold, values, stop)
            turn_8(self.turns.programs[k], states, stop, fail, ruled, self.scale, value, slope)
        else:
            stops_1(states - 1, &self.turns.first[first], &self.turns.kind[first], &self.turns.spot[first, 0], taken,
                    column, &self.shift[split, 0], score, self.threshold, values, stop)
            turn_1(self.turns.programs[k], states, stop, fail, ruled, self.scale, value, slope)
        for i in range(lanes):
            h = half[i]
            if tolerance < 0:
                self.same[h] = slope[last + i] == self.slope[h] or (
                    slope[last + i] == self.before[h] and fabs(value[last + i] - self.value[h]) <= TIE)
                self.before[h] = self.slope[h]
            else:
                self.same[h] = fabs(value[last + i] - self.value[h]) <= tolerance
                self.value[h] = value[last + i]
            self.slope[h] = slope[last + i]
            self.intercept[h] = value[last + i] - slope[last + i] * fail[i]

    cdef int64_t run_row(self, int64_t r, int width, double tolerance, double* scratch) noexcept nogil:
        """One pass for the halves of a row that are active; return the number of them."""
        cdef int64_t half[LANES]
        cdef int64_t h, done = 0
        cdef int lanes = 0
        for h in range(self.start[r], self.start[r + 1]):
            if self.active[h]:
                half[lanes] = h
                lanes += 1
                done += 1
            if lanes == width or (lanes and h + 1 == self.start[r + 1]):
                self.run_lanes(r, half, lanes, width, tolerance, scratch)
                lanes = 0
        return done

    cdef void update(self, int64_t h, bint newton) noexcept nogil:
        """The next estimate of the two anchors of a component, as far as it concerns this half."""
        cdef int64_t p = self.partner[h]
        cdef double a = self.slope[h], b = self.intercept[h], c = self.slope[p], d = self.intercept[p], whole
        if newton:                       # value = a (1 - partner) + b, partner = c (1 - value) + d
            whole = 1 - a * c
            self.value[h] = (b + a * (1 - c - d)) / whole
            self.fail[h] = 1 - (d + c * (1 - a - b)) / whole
        else:
            self.fail[h] = 1 - self.value[p]
        self.iterations[h] += 1
        self.active[h] = not (self.same[h] and self.same[p])

    cdef void keep(self, int64_t r) noexcept nogil:
        """Put the values of a row where other components find them."""
        cdef int64_t structures = self.placement.shape[0], columns = self.packed.shape[0]
        cdef int64_t x = self.placement[r % structures], k = r // structures, h, y, place
        cdef double* values = &self.values[k // self.splits, 0]
        place = self.place + (self.splits - 1 - k % self.splits) * self.cells
        for h in range(self.start[r], self.start[r + 1]):
            y = self.waiting[h]
            if self.row[y] >= 0:
                values[place + self.row[y] * columns + x] = self.value[h]
            if self.mirror.shape[0] and self.row[self.mirror[y]] >= 0:
                values[place + self.row[self.mirror[y]] * columns + self.mirror[x]] = self.value[h]

    cdef int64_t update_row(self, int64_t r, bint newton) noexcept nogil:
        """Update the active halves of a row; return how many stay active."""
        cdef int64_t h, left = 0
        for h in range(self.start[r], self.start[r + 1]):
            if self.active[h]:
                self.update(h, newton)
                left += self.active[h]
        return left

    cdef object pieces(self):
        """The roll positions of the level, and where pieces end: rows with about PIECE of them (or a single row)."""
        work = np.cumsum(np.diff(self.start) * np.tile(np.diff(self.turns.begin), self.roles * self.splits))
        whole = int(work[len(work) - 1])
        cuts = np.searchsorted(work, np.arange(PIECE, whole + PIECE, PIECE)) + 1
        return whole, np.unique(np.minimum(cuts, len(work)))

    cdef int64_t run_piece(self, int64_t low, int64_t high, int threads, int width, double tolerance) noexcept nogil:
        """One pass for the active halves of some rows; return the roll positions of it."""
        cdef int64_t structures = self.placement.shape[0], passes = 0, r, states
        for r in prange(low, high, num_threads=threads, schedule="dynamic"):
            states = self.turns.begin[r % structures + 1] - self.turns.begin[r % structures]
            passes += states * self.run_row(r, width, tolerance, &self.scratch[threadid(), 0])
        return passes

    def solve_level(self, int level, int threads, int lanes, double tolerance, int limit):
        """Solve the components of a level; return what there is to know about each half.

        `lanes` is 8 or 1. A negative tolerance asks for Newton's method, any other for plain iteration until no value
        changes by more. The answer: values, partners, iterations of the halves; passes over roll positions.
        """
        cdef int64_t size = self.open_level(level, threads), rows = self.start.shape[0] - 1
        cdef int64_t r, low, passes = 0, left = 1
        cdef int round = 0
        work, pieces = self.pieces()
        if work < SHARED:
            threads = 1                  # several threads would cost more than they save
        while left:
            round += 1
            if round > limit:
                raise ArithmeticError(f"level {level}: {limit} iterations were not enough")
            low = left = 0
            for high in pieces:
                passes += self.run_piece(low, high, threads, lanes, tolerance)
                low = high
                PyErr_CheckSignals()
            with nogil:
                for r in prange(rows, num_threads=threads, schedule="static"):
                    left += self.update_row(r, tolerance < 0)
        with nogil:
            for r in range(rows):
                self.keep(r)
        return np.asarray(self.value), np.asarray(self.partner)[:size], np.asarray(self.iterations), passes
