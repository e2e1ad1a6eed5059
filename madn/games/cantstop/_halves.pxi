# Can't Stop: the halves of a level and the partner of each; `_stage.pxi` includes this.
#
# A half is a component with a given player to move, who has the squares x; the waiting player has y. Its partner is the
# same component with the other player to move. Halves are listed by (role, split, structure), called a row, then by y.

from madn.ranges import check_ascending, check_range

cdef enum:
    LISTED = 1 << 24         # pairs of placements that make several threads worthwhile
    MOST_HALVES = 0x7ffffffe

cdef object PACKED, FAR
PACKED = int("f" * COLUMNS, 16)  # the largest number with four bits per column
FAR = 2 ** 60                    # places below this do not overflow when they are added


cdef inline uint64_t not_zero(uint64_t squares) noexcept nogil:
    """The lowest bit of every nibble that is not zero."""
    return (squares | squares >> 1 | squares >> 2 | squares >> 3) & NIBBLES


cdef class Halves:
    """The tables of all components with the same open columns, and the halves of one level of them."""
    cdef Turns turns
    cdef const uint64_t[::1] packed      # squares of a placement, four bits per column
    cdef const int32_t[::1] mirror       # the mirrored placement; empty if the open columns are not symmetric
    cdef const int64_t[::1] total        # where the placements with this many steps begin
    cdef const int32_t[::1] placement    # of a structure
    cdef const int32_t[:, ::1] column    # [kind][placement]: which column of a supporting component
    cdef const int64_t[:, ::1] shift     # [split][kind]
    cdef const int32_t[::1] row          # a placement's structure, which is also its row; -1: see its mirror image
    cdef double[:, ::1] values           # [role][place]
    cdef int64_t place, cells            # where this stage begins in a role, and how many values each split has
    cdef int roles, splits, threshold, threads
    cdef double scale
    # of one level
    cdef int64_t[::1] start              # where each row begins
    cdef int32_t[::1] waiting, partner

    def __cinit__(self, Turns turns not None, const uint64_t[::1] packed not None, const int32_t[::1] mirror not None,
                  const int64_t[::1] total not None, const int32_t[::1] placement not None,
                  const int32_t[:, ::1] column not None, const int64_t[:, ::1] shift not None,
                  const int32_t[::1] row not None, double[:, ::1] values not None, int64_t place, int64_t cells,
                  int threshold, double scale, int threads):
        self.turns, self.packed, self.mirror, self.total = turns, packed, mirror, total
        self.placement, self.column, self.shift, self.row = placement, column, shift, row
        self.values, self.place, self.cells, self.scale = values, place, cells, scale
        self.threshold = threshold       # of the player in role 0, if there are two roles
        self.threads = checked_threads(threads)
        self.check_tables()
        self.roles, self.splits = <int>values.shape[0], <int>shift.shape[0]

    cdef int check_tables(self) except -1:
        """Raise ValueError if a number in one table would lead outside another table."""
        cdef int64_t placements = self.packed.shape[0], kinds = self.column.shape[0], size = self.values.shape[1]
        cdef int64_t structures = self.turns.count
        check_shape("placement", self.placement, (structures,))
        check_shape("column", self.column, (kinds, placements))
        check_shape("row", self.row, (placements,))
        check_shape("shift", self.shift, (self.shift.shape[0], kinds))
        check_number("roles", self.values.shape[0], 1, 2)
        check_number("splits", self.shift.shape[0], 1, COLUMNS)
        check_range("packed", self.packed, 0, PACKED)
        check_range("placement", self.placement, 0, placements - 1)
        check_range("row", self.row, -1, structures - 1)
        kept = np.arange(placements)
        if self.mirror.shape[0]:
            check_shape("mirror", self.mirror, (placements,))
            check_range("mirror", self.mirror, 0, placements - 1)
            kept = np.minimum(kept, self.mirror)
        check_range("row of a placement that is kept", np.asarray(self.row)[kept], 0, structures - 1)
        check_number("number of placements", placements, 1, MOST_HALVES)
        check_ascending("total", self.total, placements)
        check_number("cells", self.cells, structures * placements, size)
        check_number("place", self.place, 0, size - self.shift.shape[0] * self.cells)
        low, high = self.turns.reach(kinds)
        column, shift = np.asarray(self.column), np.asarray(self.shift)
        used = (shift >= 0) & (low <= high)
        check_range("shift", shift[used], 0, size)
        check_range("first", [low[low <= high], high[low <= high]], -FAR, FAR)
        check_range("place of a component", (low + shift + column.min(1))[used], 0, size - 1)
        check_range("place of a component", (high + shift + column.max(1))[used], 0, size - 1)
        return 0

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
        """The number of a half, -1 if there is none."""
        cdef int64_t low, high, end, middle
        if self.mirror.shape[0] and self.mirror[x] <= x:     # of two mirror images, that with the smaller x, then y
            y = self.mirror[y] if self.mirror[x] < x else min(y, <int64_t>self.mirror[y])
            x = self.mirror[x]
        low = (role * self.splits + split) * self.placement.shape[0] + self.row[x]
        high = end = self.start[low + 1]
        low = self.start[low]
        while low < high:
            middle = (low + high) >> 1
            if self.waiting[middle] < y:
                low = middle + 1
            else:
                high = middle
        return <int32_t>low if low < end and self.waiting[low] == y else -1

    cdef int64_t find_partners(self, int64_t r) noexcept nogil:
        """Find the partners of a row; return how many do not exist."""
        cdef int64_t k = r // self.placement.shape[0], x = self.placement[r % self.placement.shape[0]], h, missing = 0
        cdef int64_t role = k // self.splits, split = k % self.splits
        for h in range(self.start[r], self.start[r + 1]):
            self.partner[h] = self.find(self.roles - 1 - role, self.splits - 1 - split, self.waiting[h], x)
            missing += self.partner[h] < 0
        return missing

    cdef int64_t list_level(self, int level) except -1:
        """List the halves of a level; return how many there are."""
        cdef int64_t rows = self.roles * self.splits * self.placement.shape[0], r, missing = 0
        cdef int64_t[::1] count = np.zeros(rows + 1, np.int64)
        cdef int threads = self.threads if rows * self.packed.shape[0] > LISTED else 1
        for r in prange(rows, num_threads=threads, schedule="dynamic", chunksize=64, nogil=True):
            count[r + 1] = self.list_row(r, level, NULL)
        self.start = np.cumsum(count)
        if self.start[rows] > MOST_HALVES:
            raise OverflowError(f"level {level} has {self.start[rows]} halves, more than 32 bits can number")
        self.waiting, self.partner = np.empty(self.start[rows] + 1, np.int32), np.empty(self.start[rows] + 1, np.int32)
        with nogil:
            for r in prange(rows, num_threads=threads, schedule="dynamic", chunksize=64):
                self.list_row(r, level, &self.waiting[self.start[r]])
            for r in prange(rows, num_threads=threads, schedule="dynamic", chunksize=64):
                missing += self.find_partners(r)
        if missing:
            raise ValueError(f"level {level}: {missing} halves have no partner; the tables contradict each other")
        return self.start[rows]
