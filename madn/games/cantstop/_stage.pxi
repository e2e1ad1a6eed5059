# Can't Stop: Newton's method for all components of a level; `_stage.pyx` and `_stage_avx2.pyx` compile this text
# for two instruction sets.
#
# The turn of a half (see `_halves.pxi`) depends only on the mover's squares x (a structure of `Turns`), except for what
# stopping is worth and where it is forbidden, so halves with the same x and different y are the lanes of one pass.
# If a turn is lost, the player's chance is `fail`, one minus the value of the partner. The pass gives the value of the
# half and its slope, that is, the active piece of its piecewise linear function of `fail`. The two pieces of a
# component are two linear equations for its two anchors. The functions are convex with positive slopes, so a different
# piece has a different slope: when both slopes are unchanged, so are the pieces, and the component is done.
# If two pieces meet at the solution itself, rounding may choose them alternately. Then the slope is that of the
# iteration before last, and the value equals, up to rounding, the estimate it was computed from. Either piece will do.
#
# No half reads what another half writes in the same step, and lanes never mix, so the bits depend neither on the number
# of threads nor on the number of lanes.

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange, threadid
from libc.math cimport fabs
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memset

from madn._machine cimport check_number, check_shape, checked_threads
from madn.games.cantstop._turns cimport COLUMNS, Turns

cdef extern from "lanes.h":
    const uint64_t NIBBLES
    void run_turn(int width, const uint16_t* program, int64_t states, const int64_t* first, const uint16_t* kind,
                  const uint8_t* spot, const uint8_t* taken, const int32_t* column, const int64_t* shift,
                  const int16_t* score, int threshold, const double* values, const double* fail, double scale,
                  double* stop, double* value, double* slope) noexcept nogil

include "_halves.pxi"

cdef enum:
    LANES = 8
    TAKEN = COLUMNS * 16
    SHARED = 1 << 18                     # roll positions that make several threads worthwhile
    PIECE = 1 << 25                      # roll positions between two checks for signals: a fraction of a second

cdef double TIE = 1e-14      # the most that rounding changes a value; pieces that meet differ by no more than this


cdef class Stage(Halves):
    """All components with the same open columns, ready to be solved level by level, the most advanced first."""
    cdef double[::1] fail, slope, before, intercept, value
    cdef uint8_t[::1] active, same, iterations
    cdef double[:, ::1] scratch

    def __cinit__(self, *tables):
        self.scratch = np.empty((self.threads, 3 * LANES * self.turns.largest + LANES * self.column.shape[0]))

    cdef int64_t open_level(self, int level) except -1:
        """List the halves of a level, starting with even chances; return how many there are."""
        cdef int64_t size = self.list_level(level)
        self.fail, self.slope, self.before = np.full(size, 0.5), np.full(size, -1.0), np.full(size, -1.0)
        self.intercept, self.value = np.empty(size), np.full(size, 0.5)
        self.active, self.same, self.iterations = (np.full(size, start, np.uint8) for start in (1, 0, 0))
        return size

    cdef void run_lanes(self, int64_t r, const int64_t* half, int lanes, int width, double tolerance,
                        double* scratch) noexcept nogil:
        """Make one pass over the turn of a row for up to `width` (8 or 1) halves."""
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
        cdef const int16_t* score = &self.turns.score[first] if self.roles == 2 and role == 0 else NULL
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
        run_turn(width, self.turns.programs[k], states, &self.turns.first[first], &self.turns.kind[first],
                 &self.turns.spot[first, 0], taken, column, &self.shift[split, 0], score, self.threshold, values,
                 fail, self.scale, stop, value, slope)
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
        """Make one pass for the active halves of a row; return how many there are."""
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
        """Compute the next estimate of the two anchors of a component, as far as it concerns this half."""
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
        """Store the values of a row where other components look them up."""
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
        """The roll positions of the level, and where pieces end: rows with about PIECE of these (or a single row)."""
        work = np.cumsum(np.diff(self.start) * np.tile(np.diff(self.turns.begin), self.roles * self.splits))
        whole = int(work[len(work) - 1])
        cuts = np.searchsorted(work, np.arange(PIECE, whole + PIECE, PIECE)) + 1
        return whole, np.unique(np.minimum(cuts, len(work)))

    cdef int64_t run_piece(self, int64_t low, int64_t high, int threads, int width, double tolerance) noexcept nogil:
        """Make one pass for the active halves of some rows; return how many roll positions it took."""
        cdef int64_t structures = self.placement.shape[0], passes = 0, r, states
        for r in prange(low, high, num_threads=threads, schedule="dynamic"):
            states = self.turns.begin[r % structures + 1] - self.turns.begin[r % structures]
            passes += states * self.run_row(r, width, tolerance, &self.scratch[threadid(), 0])
        return passes

    def solve_level(self, int level, int lanes, double tolerance, int limit):
        """Solve the components of a level; return the results for each half.

        `lanes` is 8 or 1. A negative tolerance asks for Newton's method, any other for plain iteration until no value
        changes by more than that. Returns the values, partners and iterations of the halves, and the passes over roll
        positions.
        """
        if lanes not in (1, LANES):
            raise ValueError(f"lanes must be 1 or {LANES}, not {lanes}")
        check_number("limit", limit, 1, 255)  # `iterations` has one byte
        cdef int64_t size = self.open_level(level), rows = self.start.shape[0] - 1
        cdef int64_t r, low, passes = 0, left = 1
        cdef int round = 0, threads = self.threads
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
