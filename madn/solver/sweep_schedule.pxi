# Which thread computes what, and when: steps of a chunk through the groups of columns, parts of a strip, and waves of
# strips.


cdef bint unchanged(const Tables* t, const Job* job, int g, int j, double moved) noexcept nogil:
    """Whether group g, computed from class j on, may be left alone; keeps account of how much its inputs `moved`."""
    cdef int before = g - 1
    while before >= 0 and t.group_class[before + 1] > j - DIE:
        moved = max(moved, job.moved[before])
        before -= 1
    job.pending[g] += moved
    job.moved[g] = 0
    if job.pending[g] < job.skip_below:
        return True
    job.pending[g] = 0
    return False


cdef struct Walk:        # a chunk on its way through the columns
    Chunk chunk
    const Job* job
    Findings* found
    void* ring_l
    void* ring_r
    int have             # the ring holds the columns before this one that are in reach ...
    int exits            # ... and the states of exits before this class


cdef inline int group_of(const Tables* t, int column, int g) noexcept nogil:
    """The group of a column that lies in or before group g."""
    while t.col_class[t.group_class[g]] > column:
        g -= 1
    return g


cdef void step(const Tables* t, Walk* walk, int g, double inflow, value_t* L, value_t* R,
               value_t* sums) noexcept nogil:
    """Compute (or examine) one group of columns of a chunk; what it reads of other strips has moved by `inflow`."""
    cdef const Job* job = walk.job
    cdef const Chunk* chunk = &walk.chunk
    cdef const value_t* rows_l[MAX_KINDS]
    cdef const value_t* rows_r[MAX_KINDS]
    cdef value_t* ring_l = <value_t*>walk.ring_l
    cdef value_t* ring_r = <value_t*>walk.ring_r
    cdef int lowest = job.strip if t.mirrored else 0
    cdef int j = max(t.group_class[g], lowest)
    cdef int c0 = t.col_class[j], c1 = t.col_class[t.group_class[g + 1]]
    cdef int earliest, kind
    if not job.examine and unchanged(t, job, g, j, inflow):
        return
    rows_l[0] = L
    rows_r[0] = R
    for kind in range(1, MAX_KINDS):
        rows_l[kind] = <const value_t*>t.row_exit_l[kind]
        rows_r[kind] = <const value_t*>t.row_exit_r[kind]
    load_exits(t, chunk, max(walk.exits, j - DIE), t.group_class[g + 1], ring_l, ring_r)
    walk.exits = t.group_class[g + 1]
    earliest = max(walk.have, t.col_class[max(0, j - DIE)])
    if job.edge_in != NULL and earliest < t.first_column:
        edge(t, earliest, t.first_column, ring_l, ring_r, <value_t*>job.edge_in, True)
        earliest = t.first_column
    if earliest < t.col_class[lowest]:
        load_earlier(t, chunk, earliest, t.col_class[lowest], L, R, ring_l, ring_r)
        earliest = t.col_class[lowest]
    if earliest < c0:
        load(t, chunk, earliest, c0, L, R, ring_l, ring_r)
        fill_captures(t, chunk, job, group_of(t, earliest, g), earliest, c0, ring_l, ring_r)
    if job.examine:
        load(t, chunk, c0, c1, L, R, ring_l, ring_r)
    fill_captures(t, chunk, job, g, c0, c1, ring_l, ring_r)
    row_moves(t, chunk, c0, c1, rows_l, rows_r, sums, sums + <int64_t>t.widest * LANES)
    if job.examine:
        if t.refill:
            old_row_captures(t, job.row, job.rows, g, c0, L, R)
        examine(t, chunk, c0, c1, sums, ring_l, ring_r, walk.found)
    else:
        solve_pair(t, chunk, c0, c1, sums, ring_l, ring_r, job.rounding)
        if t.late:
            note_boxed(t, chunk, g, c0, L, R, ring_l, ring_r, walk.found)
        write_back(t, chunk, c0, c1, L, R, ring_l, ring_r, walk.found)
        if not t.late:
            row_captures(t, chunk, g, c0, L, R, ring_l, ring_r)
        keep_after_capture(t, chunk, g, c0, c1, L, R, ring_l, ring_r, walk.found)
        job.moved[g] = walk.found.change
    walk.have = c1
    if job.edge_out != NULL and g == t.end_group - 1:
        edge(t, t.col_class[t.group_class[g + 1] - DIE], c1, ring_l, ring_r, <value_t*>job.edge_out, False)


cdef void set_aside(const Tables* t, const Job* job, value_t* aside_l, value_t* aside_r,
                    const int32_t* in_order) noexcept nogil:
    """Save the captures within the rows' own class while the strip is still as the last sweep left it."""
    cdef Chunk chunk
    cdef int c0 = t.col_class[job.strip], c1 = t.col_class[job.strip + 1]
    if c0 < t.first_column or c1 > t.end_column:      # another process computes it
        return
    describe(t, job.strip, job.row, job.rows, &chunk)
    column_captures(t, &chunk, group_of(t, c0, t.groups - 1), c0, c1, aside_l, aside_r, in_order - c0)


cdef double inflow_of(const Tables* t, int strip, int g, const double* moved, double own) noexcept nogil:
    """The largest recent change of any strip and group of columns that group g of this strip reads.

    Row moves read the six strips before, and with a capture in columns up to a lap later. Captures by the column player
    read rows up to a lap later, in columns from six classes before on. In a mirrored component those rows may be kept
    exchanged; those of the strip itself are read as the last sweep left them: `own`.
    """
    cdef int i, h, lap = t.squares + 1, low = t.group_class[g] - DIE, high = t.group_class[g + 1]
    cdef double most = own if t.mirrored and low <= strip < high else 0
    for h in range(t.groups):
        if t.group_class[h + 1] > t.group_class[g] and t.group_class[h] < high + lap:
            for i in range(max(0, strip - DIE), strip):
                most = max(most, moved[i * t.groups + h])
        if t.group_class[h + 1] > low and t.group_class[h] < high:
            for i in range(strip + 1, min(t.strips, strip + lap + 1)):
                most = max(most, moved[i * t.groups + h])
        if t.mirrored and t.group_class[h + 1] > strip and t.group_class[h] <= strip + lap:
            for i in range(max(0, low), high):
                if i != strip:
                    most = max(most, moved[i * t.groups + h])
    return most


cdef struct Wave:        # a pass over some strips: threads take parts of them in order and go through the columns
    int first            # the first strip
    int tasks            # parts of all strips
    const int32_t* first_task     # [strip - first]
    const int32_t* before         # [strip - first]: the strip before it that has rows, counted likewise, or -1
    const int32_t* need           # [g]: how many groups the strip before must have finished before group g may begin
    Job* jobs            # of all chunks of these strips
    Findings* found
    double* moved        # [strip, group]: how much it moved in its last pass
    double* own          # [strip - first]: how much its own class and the lap after it moved in the last sweep
    counter_t next_task
    counter_t* ready     # [strip - first]: 1 when `set_aside` is done
    counter_t* through   # [strip - first]: how many groups all parts have finished
    counter_t* parts     # [strip - first, g]: how many parts have finished the group
    const int32_t* in_order


cdef double moved_near(const Tables* t, const Wave* wave, int strip) noexcept nogil:
    """How much a strip of a mirrored component moved in the last sweep, in its own class and the lap after it."""
    cdef int g
    cdef double most = 0
    for g in range(t.groups):
        if t.group_class[g + 1] > strip and t.group_class[g] <= strip + t.squares + 1:
            most = max(most, wave.moved[strip * t.groups + g])
    return most


cdef void run_part(const Tables* t, Wave* wave, int strip, int part, value_t* L, value_t* R,
                   value_t* scratch) noexcept nogil:
    """Pass over the columns of a few chunks of a strip, side by side.

    They read the same rows of the strips before. Since they go through the columns together, each group of those rows
    is read from memory once and stays in the cache. The strip before may still be in progress, a lap of columns ahead.
    """
    cdef Walk walks[TOGETHER]
    cdef value_t* sums = scratch + <int64_t>(2 * TOGETHER * t.ring) * LANES
    cdef int here = strip - wave.first, parts = wave.first_task[here + 1] - wave.first_task[here]
    cdef int chunks = t.first_chunk[strip + 1] - t.first_chunk[strip]
    cdef int least = chunks // parts, more = chunks % parts      # the first parts have one more
    cdef int begin = part * least + min(part, more), count = least + (1 if part < more else 0)
    cdef Job* jobs = wave.jobs + (t.first_chunk[strip] - t.first_chunk[wave.first])
    cdef int g, i, k, start = 0, lowest = strip if t.mirrored else 0, before = wave.before[here]
    cdef bint sweeping = not jobs[0].examine
    cdef double inflow = 0, most
    for k in range(count):
        describe(t, strip, jobs[begin + k].row, jobs[begin + k].rows, &walks[k].chunk)
        walks[k].job = &jobs[begin + k]
        walks[k].found = &wave.found[jobs - wave.jobs + begin + k]
        walks[k].ring_l = scratch + <int64_t>(2 * k * t.ring) * LANES
        walks[k].ring_r = scratch + <int64_t>((2 * k + 1) * t.ring) * LANES
        walks[k].have = walks[k].exits = 0
    while t.group_class[start + 1] <= lowest:
        start += 1
    start = max(start, t.first_group)
    if t.mirrored and part == 0:
        if before >= 0:
            wait_for(&wave.through[before], wave.need[start])
        wave.own[here] = moved_near(t, wave, strip)
        for k in range(chunks):
            set_aside(t, &jobs[k], <value_t*>jobs[k].aside_l, <value_t*>jobs[k].aside_r, wave.in_order)
        counter_set(&wave.ready[here], 1)
    elif t.mirrored:
        wait_for(&wave.ready[here], 1)
    for g in range(start, t.end_group):
        if before >= 0:
            wait_for(&wave.through[before], wave.need[g])
        if sweeping and jobs[0].skip_below > 0:      # otherwise nothing is left alone
            inflow = inflow_of(t, strip, g, wave.moved, wave.own[here])
        for k in range(count):
            step(t, &walks[k], g, inflow, L, R, sums)
        if counter_next(&wave.parts[here * t.groups + g]) == parts - 1:     # this is the last part to finish it
            if sweeping:
                most = 0
                for i in range(chunks):
                    most = max(most, jobs[i].moved[g])
                wave.moved[strip * t.groups + g] = most
            counter_set(&wave.through[here], g + 1)


cdef void run_tasks(const Tables* t, Wave* wave, value_t* L, value_t* R, value_t* scratch) noexcept nogil:
    """Take part after part until none is left; a part waits only for parts that were taken before it."""
    cdef int strip = wave.first, task = counter_next(&wave.next_task)
    while task < wave.tasks:
        while wave.first_task[strip - wave.first + 1] <= task:
            strip += 1
        run_part(t, wave, strip, task - wave.first_task[strip - wave.first], L, R, scratch)
        task = counter_next(&wave.next_task)
