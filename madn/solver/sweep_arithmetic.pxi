# The arithmetic of a group of columns: sums over the rolls, solving the pair of lost rolls, writing back, examining.


cdef inline void transpose(const value_t** rows, value_t* out) noexcept nogil:
    if value_t is int32_t:
        transpose_i(rows, out)
    else:
        transpose_d(rows, out)


cdef void load(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* L, const value_t* R,
               value_t* ring_l, value_t* ring_r) noexcept nogil:
    """Bring the stored values of columns c0..c1-1 into the ring, without the slots of captures."""
    cdef int b, k, lane, n
    cdef const value_t* rows_l[LANES]
    cdef const value_t* rows_r[LANES]
    cdef value_t block_l[LANES * LANES]
    cdef value_t block_r[LANES * LANES]
    cdef int64_t ring
    for b in range(c0, c1, 16):
        n = min(<int>LANES, c1 - b)
        for lane in range(LANES):
            rows_l[lane] = L + t.start[chunk.row + (lane if lane < chunk.rows else 0)] + b
            rows_r[lane] = R + t.start[chunk.row + (lane if lane < chunk.rows else 0)] + b
        transpose(rows_l, block_l)
        transpose(rows_r, block_r)
        for k in range(n):
            ring = <int64_t>t.slot[b + k] * LANES
            for lane in range(LANES):
                ring_l[ring + lane] = -block_r[k * LANES + lane]
                ring_r[ring + lane] = -block_l[k * LANES + lane]


cdef void load_earlier(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* L, const value_t* R,
                       value_t* ring_l, value_t* ring_r) noexcept nogil:
    """As `load`, for classes before the rows' own in a mirrored component: kept exchanged, captures included."""
    cdef int b, lane
    cdef int64_t ring, at
    for b in range(c0, c1):
        ring = <int64_t>t.slot[b] * LANES
        at = t.start[b] + chunk.row
        for lane in range(LANES):
            ring_l[ring + lane] = L[at + lane]
            ring_r[ring + lane] = R[at + lane]


cdef inline void options(const int32_t* first, const int8_t* count, const int8_t* kind, const offset_t* offset,
                         const value_t** bases_l, const value_t** bases_r, const value_t** out) noexcept nogil:
    """The option vectors of one state, roll after roll: after a 6 the same side moves again."""
    cdef int o, begin = first[0], end = first[1], six = end - count[DIE - 1]
    for o in range(begin, six):
        out[o - begin] = bases_r[kind[o]] + offset[o]
    for o in range(six, end):
        out[o - begin] = bases_l[kind[o]] + offset[o]


cdef void row_moves(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t** bases_l,
                    const value_t** bases_r, value_t* sums, value_t* untransposed) noexcept nogil:
    """sums[b - c0][lane] = what the row player expects from the rolls it can use (six times the value)."""
    cdef int lane, a, b
    cdef const value_t* option[MAX_OPTIONS]
    cdef const value_t* soon[MAX_OPTIONS]
    cdef const value_t* rows[LANES]
    for lane in range(chunk.rows):
        a = chunk.row + lane
        options(t.row_first + a, t.row_count + DIE * a, t.row_kind, t.row_offset, bases_l, bases_r, option)
        if lane + 1 < chunk.rows:
            options(t.row_first + a + 1, t.row_count + DIE * (a + 1), t.row_kind, t.row_offset, bases_l, bases_r, soon)
            for b in range(t.row_first[a + 2] - t.row_first[a + 1]):
                prefetch(soon[b] + c0)
                prefetch(soon[b] + c0 + 16)
                prefetch(soon[b] + c0 + 32)
                prefetch(soon[b] + c0 + 48)
        for b in range(c0, c1, 16):
            if value_t is int32_t:
                best_total_i(option, t.row_count + DIE * a, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
            else:
                best_total_d(option, t.row_count + DIE * a, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
    for b in range(0, c1 - c0, 16):
        for lane in range(LANES):
            rows[lane] = untransposed + <int64_t>(b + lane) * LANES
        transpose(rows, sums + <int64_t>b * LANES)


cdef inline void fetch_exits(const Tables* t, int b, const value_t** bases_l, const value_t** bases_r) noexcept nogil:
    """Ask for what moves of column b into another finish zone lead to: far apart in memory, and a wait for each."""
    cdef int o, end = t.col_first[b + 1], six = end - t.col_count[DIE * b + DIE - 1]
    cdef const value_t* place
    for o in range(t.col_first[b], end):
        if t.col_kind[o]:
            place = (bases_r[t.col_kind[o]] if o < six else bases_l[t.col_kind[o]]) + t.col_offset[o]
            prefetch(place)
            prefetch(place + LANES - 1)


cdef void solve_pair(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t** bases_l,
                     const value_t** bases_r, const value_t* sums, value_t* ring_l, value_t* ring_r,
                     double rounding) noexcept nogil:
    """Compute columns c0..c1-1, either side to move, into the ring, solving lost rolls away."""
    cdef int b, kind
    cdef int64_t ring
    cdef uint32_t both
    cdef const value_t* option[MAX_OPTIONS]
    cdef value_t cols[LANES]
    cdef const value_t* rows
    for b in range(c0, c1):
        if b + AHEAD < c1:
            fetch_exits(t, b + AHEAD, bases_l, bases_r)
        options(t.col_first + b, t.col_count + DIE * b, t.col_kind, t.col_offset, bases_l, bases_r, option)
        both = overlaps(chunk.facing, t.col_masks[b])
        rows = sums + <int64_t>(b - c0) * LANES
        ring = <int64_t>t.slot[b] * LANES
        kind = t.col_turn[b]
        if value_t is int32_t:
            best_total_i(option, t.col_count + DIE * b, 0, cols)
            solve_pair_i(rows, cols, chunk.solve[0][kind], chunk.solve[1][kind], rounding, both, ring_r + ring)
            solve_pair_i(rows, cols, chunk.solve[2][kind], chunk.solve[3][kind], rounding, both, ring_l + ring)
        else:
            best_total_d(option, t.col_count + DIE * b, 0, cols)
            solve_pair_d(rows, cols, chunk.solve[0][kind], chunk.solve[1][kind], rounding, both, ring_r + ring)
            solve_pair_d(rows, cols, chunk.solve[2][kind], chunk.solve[3][kind], rounding, both, ring_l + ring)


cdef inline void exchange(value_t* to, const value_t* fresh, uint32_t ignored, value_t* most) noexcept nogil:
    if value_t is int32_t:
        replace_i(to, fresh, ignored, most)
    else:
        replace_d(to, fresh, ignored, most)


cdef inline void exchange_some(value_t* to, int n, const value_t* fresh, uint32_t ignored,
                               value_t* most) noexcept nogil:
    """As `exchange`, for the first n values: what is behind them belongs to somebody else."""
    cdef value_t edge[LANES]
    cdef int k
    for k in range(n):
        edge[k] = to[k]
    exchange(edge, fresh, ignored, most)
    for k in range(n):
        to[k] = edge[k]


cdef void write_back(const Tables* t, const Chunk* chunk, int c0, int c1, value_t* L, value_t* R,
                     const value_t* ring_l, const value_t* ring_r, Findings* found) noexcept nogil:
    """Store what the ring holds for columns c0..c1-1; note the largest change of a position and how many there are."""
    cdef int b, k, lane, n, count = 0
    cdef int own_end = t.col_class[chunk.strip + 1] if t.mirrored else 0    # before it each position comes twice
    cdef const value_t* rows[LANES]
    cdef value_t fresh_l[LANES * LANES]
    cdef value_t fresh_r[LANES * LANES]
    cdef value_t most[LANES]
    cdef value_t* left
    cdef value_t* right
    cdef uint32_t both
    for k in range(LANES):
        most[k] = 0
    for b in range(c0, c1, 16):
        n = min(<int>LANES, c1 - b)
        for k in range(LANES):
            rows[k] = ring_r + <int64_t>t.slot[b + (k if k < n else 0)] * LANES
        transpose(rows, fresh_l)
        for k in range(LANES):
            rows[k] = ring_l + <int64_t>t.slot[b + (k if k < n else 0)] * LANES
        transpose(rows, fresh_r)
        for lane in range(chunk.rows):
            both = overlaps(t.col_masks + b, chunk.facing[lane]) | (<uint32_t>0xffff << n & 0xffff)
            count += 2 * (LANES - madn_popcount(both))
            if b < own_end:
                count -= LANES - madn_popcount(both | (0xffff << min(own_end - b, <int>LANES) & 0xffff))
            left = L + t.start[chunk.row + lane] + b
            right = R + t.start[chunk.row + lane] + b
            prefetch(left + 32)
            prefetch(right + 32)
            if n == LANES:
                exchange(left, fresh_l + lane * LANES, both, most)
                exchange(right, fresh_r + lane * LANES, both, most)
            else:
                exchange_some(left, n, fresh_l + lane * LANES, both, most)
                exchange_some(right, n, fresh_r + lane * LANES, both, most)
    found.change = 0
    for k in range(LANES):
        found.change = max(found.change, <double>most[k])
    found.updates += count


cdef inline void note(Extreme* best, double value, int row, int column, bint column_moves) noexcept nogil:
    best.value = value
    best.row = row
    best.column = column
    best.column_moves = column_moves


cdef void examine(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t** bases_l,
                  const value_t** bases_r, const value_t* sums, const value_t* ring_l, const value_t* ring_r,
                  Findings* found) noexcept nogil:
    """Compare the stored columns c0..c1-1 (in the ring) with what their successors say; note the extremes."""
    cdef int b, lane, a
    cdef int64_t ring
    cdef uint32_t both
    cdef const value_t* option[MAX_OPTIONS]
    cdef value_t cols[LANES]
    cdef const TurnWeights* p
    cdef const TurnWeights* q
    cdef double left, right, d
    for b in range(c0, c1):
        q = t.col_turns + t.col_turn[b]
        options(t.col_first + b, t.col_count + DIE * b, t.col_kind, t.col_offset, bases_l, bases_r, option)
        if value_t is int32_t:
            best_total_i(option, t.col_count + DIE * b, 0, cols)
        else:
            best_total_d(option, t.col_count + DIE * b, 0, cols)
        both = overlaps(chunk.facing, t.col_masks[b])
        ring = <int64_t>t.slot[b] * LANES
        for lane in range(chunk.rows):
            if both >> lane & 1:
                continue
            a = chunk.row + lane
            left = -<double>ring_r[ring + lane]
            right = -<double>ring_l[ring + lane]
            p = t.row_turns + t.row_turn[a]
            d = p.scale * fabs(p.unit * sums[<int64_t>(b - c0) * LANES + lane] - p.rest * left + p.wait * right)
            if d > found.residual.value:
                note(&found.residual, d, a, b, False)
            d = q.scale * fabs(q.unit * cols[lane] + q.rest * right - q.wait * left)
            if d > found.residual.value:
                note(&found.residual, d, a, b, True)
            if left > found.most.value:
                note(&found.most, left, a, b, False)
            if -right > found.most.value:
                note(&found.most, -right, a, b, True)
            if left < found.least.value:
                note(&found.least, left, a, b, False)
            if -right < found.least.value:
                note(&found.least, -right, a, b, True)
