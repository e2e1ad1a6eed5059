# The extension type around the loops of `_sweep.pxi`: it owns the tables and runs strips in parallel.

STOP = 2 ** 31 - 1       # ends a list of ascending columns

cdef enum:
    CACHE_LINE = 64
    RINGS = 400 << 10    # bytes of the rings of chunks that run side by side: they share a cache of 512 KiB
    SHARED = 1700        # chunks times columns from which a strip is worth more than one thread: about 0.15 ms


cdef class Component:
    """The two matrices of a pair of finish zones, and the passes over them.

    Built by `madn.solver.components`, which owns the arrays and says what each holds.
    """

    cdef Tables t
    cdef list kept               # keeps the arrays alive that the tables point into
    cdef bint wide
    cdef object L, R, homes, scratch, aside, in_order
    cdef object by_strip         # [strip, group]: how much it moved in its last pass
    cdef object moved, pending   # [chunk, group]: the same by chunk; what its inputs moved since it was computed
    cdef object inflow           # [group]
    cdef int largest_strip, most_chunks, columns

    def __init__(self, rows, columns, L, R, start, row_offset, column_offset, row_exits, column_exits, slot,
                 group_class, int ring, bint mirrored, bint refill=False):
        cdef Tables* t = &self.t
        self.kept = []
        self.L, self.R = L, R
        self.wide = L.dtype == np.float64
        t.mirrored = mirrored
        t.pieces = rows.rules.pieces
        t.squares = rows.rules.squares
        t.ring = ring
        t.strips = len(rows.class_start) - 1
        t.groups = len(group_class) - 1
        sizes = np.diff(rows.class_start)
        counts = (sizes + LANES - 1) // LANES
        shared = (counts * columns.size >= SHARED) & (counts < 16)
        counts += shared & (counts % 2 == 1)     # an even number of even chunks: two threads end together
        chunks = np.concatenate([[0], np.cumsum(counts)])
        self.most_chunks = int(counts.max())
        all_chunks = int(chunks.max())
        t.row_class = self.int32(rows.class_start)
        t.col_class = self.int32(columns.class_start)
        t.group_class = self.int32(group_class)
        t.first_chunk = self.int32(chunks)
        t.widest = int(np.diff(columns.class_start[group_class]).max()) + LANES
        t.start = self.int64(start)
        t.row_first = self.int32(rows.moves.first[::6])
        t.row_count = self.int8(np.diff(rows.moves.first))
        t.row_kind = self.int8(rows.moves.kind)
        t.row_offset = self.int64(row_offset)
        t.row_loss = self.int8(2 * rows.moves.lost + rows.moves.lost_six)
        t.row_pips = self.int32(rows.pips)
        t.row_turned = self.uint64(rows.turned)
        t.row_home = self.int32(rows.boxed_index[rows.without].ravel())
        t.row_boxed = self.int32(rows.boxed_index)
        t.col_first = self.int32(columns.moves.first[::6])
        t.col_count = self.int8(np.diff(columns.moves.first))
        t.col_kind = self.int8(columns.moves.kind)
        t.col_offset = self.int32(column_offset)
        t.col_loss = self.int8(2 * columns.moves.lost + columns.moves.lost_six)
        t.col_masks = self.uint64(columns.masks)
        t.slot = self.int32(slot)
        states = columns.holders
        starts = columns.class_start[group_class]
        ends = np.cumsum([0, *(len(of_square) + 1 for of_square in states)])     # each list ends with a stop
        t.hold_group = self.int32(np.concatenate([
            ends[q] + np.searchsorted(of_square, starts) for q, of_square in enumerate(states)]))
        t.hold_state = self.int32(np.concatenate([np.append(of_square, STOP) for of_square in states]))
        t.boxed_group = self.int32(np.searchsorted(columns.boxed, starts))
        t.boxed_state = self.int32(columns.boxed)
        t.boxed_with = self.int32(columns.boxed_with.ravel())
        earliest = np.maximum(rows.pips[rows.boxed] - t.squares, 0) if mirrored else np.zeros(len(rows.boxed), int)
        lengths = columns.size - columns.class_start[earliest].astype(np.int64)
        t.home_class = self.int32(earliest)
        t.home_start = self.int64(np.cumsum(lengths) - columns.size)
        self.homes = np.zeros(2 * int(lengths.sum()) + LANES, L.dtype)
        t.homes = self.address(self.homes)
        t.exit_row = 0
        t.refill = refill
        for kind in range(MAX_KINDS):
            t.row_exit_l[kind] = t.row_exit_r[kind] = t.col_exit_l[kind] = t.col_exit_r[kind] = NULL
        for kind, (left, right) in enumerate(row_exits, 1):
            t.row_exit_l[kind] = self.address(left)
            t.row_exit_r[kind] = self.address(right)
        for kind, (left, right) in enumerate(column_exits, 1):
            t.col_exit_l[kind] = self.address(left)
            t.col_exit_r[kind] = self.address(right)
        self.by_strip = np.zeros((t.strips, t.groups))
        self.moved = np.zeros((all_chunks, t.groups))
        self.pending = np.full((all_chunks, t.groups), np.inf)
        self.inflow = np.zeros(t.groups)
        self.largest_strip = int(sizes.max())
        self.columns = columns.size
        self.in_order = np.arange(self.largest_strip, dtype=np.int32)

    cdef const int32_t* int32(self, array) except NULL:
        cdef const int32_t[::1] view = with_room(array, np.int32)
        self.kept.append(view)
        return &view[0]

    cdef const int8_t* int8(self, array) except NULL:
        cdef const int8_t[::1] view = with_room(array, np.int8)
        self.kept.append(view)
        return &view[0]

    cdef const int64_t* int64(self, array) except NULL:
        cdef const int64_t[::1] view = with_room(array, np.int64)
        self.kept.append(view)
        return &view[0]

    cdef const uint64_t* uint64(self, array) except NULL:
        cdef const uint64_t[::1] view = with_room(array, np.uint64)
        self.kept.append(view)
        return &view[0]

    cdef void* address(self, array) except NULL:
        self.kept.append(array)
        return self.where(array)

    cdef void* where(self, array) except NULL:
        cdef const int32_t[::1] narrow
        cdef const double[::1] wide
        if self.wide:
            wide = array
            return <void*>&wide[0]
        narrow = array
        return <void*>&narrow[0]

    def set_column_exits(self, column_exits, int first_row):
        """Let the column player's moves to other finish zones lead to these vectors, which begin with `first_row`."""
        self.t.exit_row = first_row
        for kind, (left, right) in enumerate(column_exits, 1):
            self.t.col_exit_l[kind] = self.where(left)
            self.t.col_exit_r[kind] = self.where(right)

    def accounts(self, int strip):
        """Views of what a strip remembers between sweeps: by chunk and group, and by group."""
        return self.pending[self.t.first_chunk[strip]:self.t.first_chunk[strip + 1]], self.by_strip[strip]

    def restore(self, int strip):
        """Do for a strip that was not computed here what is done besides: fill and copy captures."""
        if self.wide:
            restore_strip[double](self, strip, self.L, self.R)
        else:
            restore_strip[int32_t](self, strip, self.L, self.R)

    def run(self, int first, int end, int threads, bint examine, double skip_below=0.0, double bias=0.0):
        """Pass over strips first..end-1 and return what was found, in stored units.

        A sweep returns (largest change, positions computed). An examination, which changes nothing, returns three
        extremes (six times the residual, least value, largest value), each as (value, row, column, column moves).
        """
        dtype = np.float64 if self.wide else np.int32
        if self.scratch is None or len(self.scratch) < threads:
            self.scratch = on_cache_lines(threads, 2 * (TOGETHER * self.t.ring + self.t.widest) * LANES, dtype)
            self.aside = np.zeros((2, 2, self.most_chunks if self.t.mirrored else 1, self.largest_strip * LANES), dtype)
        if self.wide:
            return run_strips[double](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                      skip_below, bias)
        return run_strips[int32_t](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                   skip_below, bias)


cdef restore_strip(Component c, int strip, value_t[::1] L, value_t[::1] R):
    cdef Tables* t = &c.t
    cdef int g, first = t.row_class[strip], rows = t.row_class[strip + 1] - first
    with nogil:
        for g in range(t.groups):
            old_row_captures(t, first, rows, g, t.col_class[strip] if t.mirrored else 0, &L[0], &R[0])
        restore_homes(t, strip, &L[0], &R[0])


def on_cache_lines(int64_t rows, int64_t length, dtype):
    """Zeros whose vectors of LANES values do not straddle cache lines: numpy's arrays begin 16 bytes after one."""
    spare = CACHE_LINE // np.dtype(dtype).itemsize
    room = np.zeros(rows * length + spare, dtype)
    skip = -room.ctypes.data % CACHE_LINE // room.itemsize
    return room[skip:skip + rows * length].reshape(rows, length)


def with_room(array, dtype):
    """A copy with LANES more entries: vectors are read whole."""
    return np.concatenate([np.asarray(array).astype(dtype), np.zeros(LANES, dtype)])


cdef void run_task(const Tables* t, const Job* jobs, int n, int parts, const Job* next_jobs, int k, value_t* L,
                   value_t* R, value_t* scratch, Findings* found, const int32_t* in_order) noexcept nogil:
    """Task k of a strip: its own chunks in parts, then what the next strip wants set aside before it begins."""
    cdef int first = k * n // parts
    if k < parts:
        run_chunks(t, &jobs[first], (k + 1) * n // parts - first, L, R, scratch, &found[first])
    else:
        set_aside(t, &next_jobs[k - parts], <value_t*>next_jobs[k - parts].aside_l,
                  <value_t*>next_jobs[k - parts].aside_r, in_order)


cdef int prepare(Component c, int strip, value_t[:, :, ::1] aside, Job like, Job* jobs):
    """Write the jobs of a strip; return how many there are."""
    cdef Tables* t = &c.t
    cdef double[:, ::1] moved = c.moved
    cdef double[:, ::1] pending = c.pending
    cdef int k, n = t.first_chunk[strip + 1] - t.first_chunk[strip]
    cdef int first = t.row_class[strip], rows = t.row_class[strip + 1] - first
    for k in range(n):
        jobs[k] = like
        jobs[k].strip = strip
        jobs[k].row = first + k * rows // n
        jobs[k].rows = first + (k + 1) * rows // n - jobs[k].row
        jobs[k].pending = &pending[t.first_chunk[strip] + k, 0]
        jobs[k].moved = &moved[t.first_chunk[strip] + k, 0]
        if t.mirrored:
            jobs[k].aside_l = &aside[0, k, 0]
            jobs[k].aside_r = &aside[1, k, 0]
    return n


cdef run_strips(Component c, value_t[::1] L, value_t[::1] R, value_t[:, ::1] scratch, value_t[:, :, :, ::1] aside,
                int first, int end, int threads, bint examining, double skip_below, double bias):
    cdef Tables* t = &c.t
    cdef double[:, ::1] by_strip = c.by_strip
    cdef double[::1] inflow = c.inflow
    cdef const int32_t[::1] in_order = c.in_order
    cdef int most_chunks = c.most_chunks
    cdef Findings* found = <Findings*>calloc(most_chunks, sizeof(Findings))
    cdef Job* jobs = <Job*>calloc(2 * most_chunks, sizeof(Job))
    cdef Job* now
    cdef Job* soon
    cdef Job like
    cdef Findings total
    cdef int strip, k, n, m, next_n, g, parts
    cdef int together = max(1, min(<int>TOGETHER, RINGS // (2 * t.ring * LANES * <int>sizeof(value_t))))
    cdef double change = 0
    total.updates = 0
    total.residual.value = -1
    total.least.value = 2.0 ** 62
    total.most.value = -total.least.value
    if found == NULL or jobs == NULL:
        free(found)
        free(jobs)
        raise MemoryError
    like.examine = examining
    like.skip_below = skip_below
    like.bias = bias
    like.inflow = &inflow[0]
    try:
        next_n = prepare(c, first, aside[first % 2], like, jobs + first % 2 * most_chunks)
        if t.mirrored:
            for k in range(next_n):
                now = jobs + first % 2 * most_chunks + k
                set_aside(t, now, <value_t*>now.aside_l, <value_t*>now.aside_r, &in_order[0])
        for strip in range(first, end):
            n = next_n
            now = jobs + strip % 2 * most_chunks
            soon = jobs + (strip + 1) % 2 * most_chunks
            next_n = prepare(c, strip + 1, aside[(strip + 1) % 2], like, soon) if strip + 1 < end else 0
            parts = min(n, threads * ((n + threads * together - 1) // (threads * together)))
            m = parts + (next_n if t.mirrored else 0)
            if not examining:
                gather_inflow(t, strip, &by_strip[0, 0], &inflow[0])
            for k in range(n):
                found[k] = total
                found[k].updates = 0
            with nogil:
                if threads == 1 or <int64_t>n * c.columns < SHARED:    # no parallel region: its cost would show
                    for k in range(m):
                        run_task(t, now, n, parts, soon, k, &L[0], &R[0], &scratch[0, 0], found, &in_order[0])
                else:
                    for k in prange(m, num_threads=threads, schedule="dynamic"):
                        run_task(t, now, n, parts, soon, k, &L[0], &R[0], &scratch[threadid(), 0], found,
                                 &in_order[0])
            for k in range(n):
                total.updates += found[k].updates
                if found[k].residual.value > total.residual.value:
                    total.residual = found[k].residual
                if found[k].least.value < total.least.value:
                    total.least = found[k].least
                if found[k].most.value > total.most.value:
                    total.most = found[k].most
            if not examining:
                for g in range(t.groups):
                    by_strip[strip, g] = 0
                    for k in range(n):
                        by_strip[strip, g] = max(by_strip[strip, g], now[k].moved[g])
                    change = max(change, by_strip[strip, g])
    finally:
        free(found)
        free(jobs)
    if examining:
        return tuple([(e.value, e.row, e.column, e.column_moves)
                      for e in (total.residual, total.least, total.most)])
    return change, total.updates
