# A pass over some strips: jobs for their chunks, threads that work through them, and what was found.

cdef enum:
    RINGS = 400 << 10    # bytes for the rings of chunks that run side by side: they share a cache of 512 KiB
    SHARED = 1700        # chunks times columns from which a strip is worth more than one thread: about 0.15 ms


cdef restore_strip(Sweeper c, int strip, value_t[::1] L, value_t[::1] R):
    cdef Tables* t = &c.t
    cdef int g, first = t.row_class[strip], rows = t.row_class[strip + 1] - first
    with nogil:
        for g in range(t.groups):
            old_row_captures(t, first, rows, g, t.col_class[strip] if t.mirrored else 0, &L[0], &R[0])
        restore_after_capture(t, strip, &L[0], &R[0])


cdef place_strip(Sweeper c, int strip, int first, int end, const value_t[::1] left, const value_t[::1] right,
                 value_t[::1] L, value_t[::1] R, int threads, bint slots, bint pairs):
    cdef Tables* t = &c.t
    cdef int a, row = t.row_class[strip]
    cdef int64_t at, width = end - first
    for a in prange(row, t.row_class[strip + 1], nogil=True, num_threads=threads, schedule="static"):
        at = (a - row) * width
        if slots:
            place_slots(t, strip, a, first, end, &left[at], &right[at], &L[0], &R[0])
        if pairs:
            place_pairs(t, strip, a, first, end, &left[at], &right[at])


def parts_in_order(counts, int workers, int together):
    """Where the parts of each strip begin among all parts, and for each strip the last one before it with parts, or -1.

    `counts` are the chunks of each strip, of which at most `together` run side by side. There are more parts than
    workers, so that a worker that is held up leaves the rest of the strip to the others. Larger parts come first (7 %
    faster than the other way round with three pieces and two threads), since the next strip waits for the last ones.
    """
    wanted = workers if workers == 1 else 2 * workers
    parts = np.minimum(counts, wanted * -(-counts // (wanted * together)))
    strips = np.where(parts > 0, np.arange(len(parts)), -1)
    first = np.concatenate([[0], np.cumsum(parts)])
    before = np.concatenate([[-1], np.maximum.accumulate(strips)])[:len(strips)]
    return first.astype(np.int32), before.astype(np.int32)


cdef void prepare(Sweeper c, int strip, value_t[:, :, ::1] aside, Job like, Job* jobs):
    """Fill in the jobs of a strip."""
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


cdef give_edges(Sweeper c, int first, int end, Job* jobs, value_t[::1] edge_in, value_t[::1] edge_out):
    """Tell the jobs of strips first..end-1 where their edges are."""
    cdef Tables* t = &c.t
    cdef int before = t.group_class[t.first_group], last = t.group_class[t.end_group], k
    cdef int reach = max(first, min(end, before)) if t.mirrored else end
    cdef int64_t width = 2 * LANES * <int64_t>(t.col_class[before] - t.col_class[max(0, before - DIE)])
    if edge_in is not None and width > 0:
        for k in range(t.first_chunk[reach] - t.first_chunk[first]):
            jobs[k].edge_in = &edge_in[k * width]
    width = 2 * LANES * <int64_t>(t.col_class[last] - t.col_class[max(0, last - DIE)])
    if edge_out is not None and width > 0:
        for k in range(t.first_chunk[end] - t.first_chunk[first]):
            jobs[k].edge_out = &edge_out[k * width]


cdef run_strips(Sweeper c, value_t[::1] L, value_t[::1] R, value_t[:, ::1] scratch, value_t[:, :, :, ::1] aside,
                int first, int end, int threads, bint examining, double skip_below, double rounding, edge_in,
                edge_out):
    cdef Tables* t = &c.t
    cdef double[:, ::1] by_strip = c.by_strip
    cdef const int32_t[::1] in_order = c.in_order
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
    memset(&like, 0, sizeof(Job))
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
    wave.need = t.need
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
        give_edges[value_t](c, first, end, wave.jobs, edge_in, edge_out)
        with nogil:
            if workers == 1:                     # no parallel region, whose cost would be noticeable
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
