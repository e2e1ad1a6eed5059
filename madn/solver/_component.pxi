# The extension type around the loops of `_sweep.pxi`: it owns the tables and runs strips in parallel.

STOP = 2 ** 31 - 1       # ends a list of ascending columns

cdef enum:
    RINGS = 400 << 10    # bytes of the rings of chunks that run side by side: they share a cache of 512 KiB
    SHARED = 1700        # chunks times columns from which a strip is worth more than one thread: about 0.15 ms


cdef class Component:
    """The two matrices of a pair of finish zones, and the passes over them.

    Built by `madn.solver.components`, which owns the arrays and says what each holds.
    """

    cdef Tables t
    cdef list kept               # keeps the arrays alive that the tables point into
    cdef bint wide
    cdef readonly object after_capture   # what captures lead to: all that a sweep keeps for the next
    cdef object L, R, scratch, aside, in_order
    cdef object by_strip         # [strip, group]: how much it moved in its last pass
    cdef object moved, pending   # [chunk, group]: the same by chunk; what its inputs moved since it was computed
    cdef object need             # [group]: groups that the strip before must be through before this one may begin
    cdef object counts           # [strip]: chunks
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
        chunks = np.concatenate([[0], np.cumsum(counts)])
        self.counts = counts
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
        t.row_turn = self.int8(rows.moves.turn)
        t.row_turns = self.turns(rows.moves.turns)
        t.row_pips = self.int32(rows.pips)
        t.row_facing = self.uint64(rows.facing)
        t.row_captured = self.int32(rows.boxed_index[rows.without].ravel())
        t.row_boxed = self.int32(rows.boxed_index)
        t.col_first = self.int32(columns.moves.first[::6])
        t.col_count = self.int8(np.diff(columns.moves.first))
        t.col_kind = self.int8(columns.moves.kind)
        t.col_offset = self.int32(column_offset)
        t.col_turn = self.int8(columns.moves.turn)
        t.col_turns = self.turns(columns.moves.turns)
        t.kinds_of_turns = len(columns.moves.turns)
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
        t.capture_class = self.int32(earliest)
        t.capture_start = self.int64(np.cumsum(lengths) - columns.size)
        self.after_capture = np.zeros(2 * int(lengths.sum()) + LANES, L.dtype)
        t.after_capture = self.address(self.after_capture)
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
        later = np.searchsorted(group_class, np.asarray(group_class)[1:] + t.squares + 1)
        self.need = np.minimum(later, t.groups).astype(np.int32)
        self.largest_strip = int(sizes.max())
        self.columns = columns.size
        self.in_order = np.arange(self.largest_strip, dtype=np.int32)

    cdef const TurnWeights* turns(self, kinds) except NULL:
        if len(kinds) > MAX_TURNS:
            raise ValueError(f"{len(kinds)} kinds of turns are more than {MAX_TURNS}")
        cdef const double[:, ::1] view = np.array(
            [(turn.unit, turn.wait, turn.total - turn.again, 6 / turn.total) for turn in kinds])
        self.kept.append(view)
        return <const TurnWeights*>&view[0, 0]

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

    def restore(self, int strip):
        """Do for a strip that was not computed here what is done besides: fill and copy captures."""
        if self.wide:
            restore_strip[double](self, strip, self.L, self.R)
        else:
            restore_strip[int32_t](self, strip, self.L, self.R)

    def run(self, int first, int end, int threads, bint examine, double skip_below=0.0, double rounding=0.0):
        """Pass over strips first..end-1 and return what was found, in stored units.

        A sweep returns (largest change of what captures lead to, positions computed). An examination, which changes
        nothing, returns three extremes (six times the residual, least value, largest value), each as (value, row,
        column, column moves).
        """
        dtype = np.float64 if self.wide else np.int32
        if self.scratch is None or len(self.scratch) < threads:
            self.scratch = np.zeros((threads, 2 * (TOGETHER * self.t.ring + self.t.widest) * LANES), dtype)
            self.aside = np.zeros((2, 2, self.most_chunks if self.t.mirrored else 1, self.largest_strip * LANES), dtype)
        if self.wide:
            return run_strips[double](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                      skip_below, rounding)
        return run_strips[int32_t](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                   skip_below, rounding)


cdef restore_strip(Component c, int strip, value_t[::1] L, value_t[::1] R):
    cdef Tables* t = &c.t
    cdef int g, first = t.row_class[strip], rows = t.row_class[strip + 1] - first
    with nogil:
        for g in range(t.groups):
            old_row_captures(t, first, rows, g, t.col_class[strip] if t.mirrored else 0, &L[0], &R[0])
        restore_after_capture(t, strip, &L[0], &R[0])


def with_room(array, dtype):
    """A copy with LANES more entries: vectors are read whole."""
    return np.concatenate([np.asarray(array).astype(dtype), np.zeros(LANES, dtype)])


def parts_in_order(counts, int workers, int together):
    """Where the parts of each strip begin among all parts, and which strip before each has any, or -1.

    `counts` are chunks, of which at most `together` run side by side. There are more parts than workers: one that is
    held up leaves the rest of the strip to the others. Larger parts come first (7 % faster than the other way round,
    three pieces, two threads): the next strip waits for the last ones.
    """
    wanted = workers if workers == 1 else 2 * workers
    parts = np.minimum(counts, wanted * -(-counts // (wanted * together)))
    strips = np.where(parts > 0, np.arange(len(parts)), -1)
    first = np.concatenate([[0], np.cumsum(parts)])
    return first.astype(np.int32), np.concatenate([[-1], np.maximum.accumulate(strips)[:-1]]).astype(np.int32)


cdef void prepare(Component c, int strip, value_t[:, :, ::1] aside, Job like, Job* jobs):
    """Write the jobs of a strip."""
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


cdef run_strips(Component c, value_t[::1] L, value_t[::1] R, value_t[:, ::1] scratch, value_t[:, :, :, ::1] aside,
                int first, int end, int threads, bint examining, double skip_below, double rounding):
    cdef Tables* t = &c.t
    cdef double[:, ::1] by_strip = c.by_strip
    cdef const int32_t[::1] in_order = c.in_order
    cdef const int32_t[::1] need = c.need
    cdef int chunks = t.first_chunk[end] - t.first_chunk[first], strips = end - first
    cdef int together = max(1, min(<int>TOGETHER, RINGS // (2 * t.ring * LANES * <int>sizeof(value_t))))
    cdef int strip, k, workers
    cdef Job like
    cdef Findings total
    cdef Wave wave
    total.updates = 0
    total.after_capture = 0
    total.residual.value = -1
    total.least.value = 2.0 ** 62
    total.most.value = -total.least.value
    like.examine = examining
    like.skip_below = skip_below
    like.rounding = rounding
    workers = threads if <int64_t>chunks * c.columns >= <int64_t>SHARED * strips else 1
    cdef const int32_t[::1] first_task
    cdef const int32_t[::1] before
    first_task, before = parts_in_order(c.counts[first:end], workers, together)
    cdef double[::1] own = np.zeros(strips)
    wave.first, wave.tasks = first, first_task[strips]
    wave.first_task = &first_task[0]
    wave.before = &before[0]
    wave.need = &need[0]
    wave.moved = &by_strip[0, 0]
    wave.own = &own[0]
    wave.in_order = &in_order[0]
    counter_set(&wave.next_task, 0)
    wave.jobs = <Job*>calloc(max(1, chunks), sizeof(Job))
    wave.found = <Findings*>calloc(max(1, chunks), sizeof(Findings))
    wave.ready = <counter_t*>calloc(strips * (2 + t.groups), sizeof(counter_t))
    wave.through = wave.ready + strips
    wave.parts = wave.through + strips
    try:
        if wave.jobs == NULL or wave.found == NULL or wave.ready == NULL:
            raise MemoryError
        for strip in range(first, end):
            prepare(c, strip, aside[strip % 2], like, wave.jobs + (t.first_chunk[strip] - t.first_chunk[first]))
        for k in range(chunks):
            wave.found[k] = total
        with nogil:
            if workers == 1:                     # no parallel region: its cost would show
                run_tasks(t, &wave, &L[0], &R[0], &scratch[0, 0])
            else:
                for k in prange(workers, num_threads=workers, schedule="static", chunksize=1):
                    run_tasks(t, &wave, &L[0], &R[0], &scratch[k, 0])
        for k in range(chunks):
            total.updates += wave.found[k].updates
            total.after_capture = max(total.after_capture, wave.found[k].after_capture)
            if wave.found[k].residual.value > total.residual.value:
                total.residual = wave.found[k].residual
            if wave.found[k].least.value < total.least.value:
                total.least = wave.found[k].least
            if wave.found[k].most.value > total.most.value:
                total.most = wave.found[k].most
    finally:
        free(wave.jobs)
        free(wave.found)
        free(wave.ready)
    if examining:
        return tuple([(e.value, e.row, e.column, e.column_moves)
                      for e in (total.residual, total.least, total.most)])
    return total.after_capture, total.updates
