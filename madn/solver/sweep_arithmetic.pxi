# The arithmetic of a group of columns: sums over the rolls, solving lost rolls away, writing back, examining.


cdef inline void transpose(const value_t** rows, value_t* out) noexcept nogil:
    if value_t is int32_t:
        transpose_i(rows, out)
    else:
        transpose_d(rows, out)


cdef void load(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* L, const value_t* R,
               value_t* ring_l, value_t* ring_r) noexcept nogil:
    """Load the stored values of columns c0..c1-1 into the ring; the slots of captures are not yet right."""
    cdef int b, k, lane, n
    cdef const value_t* rows_l[LANES]
    cdef const value_t* rows_r[LANES]
    cdef value_t block_l[LANES * LANES]
    cdef value_t block_r[LANES * LANES]
    cdef int64_t ring
    for b in range(c0, c1, 16):
        n = min(<int>LANES, c1 - b)
        for lane in range(LANES):
            rows_l[lane] = L + t.start_l[chunk.row + (lane if lane < chunk.rows else 0)] + b
            rows_r[lane] = R + t.start_r[chunk.row + (lane if lane < chunk.rows else 0)] + b
        transpose(rows_l, block_l)
        transpose(rows_r, block_r)
        for k in range(n):
            ring = <int64_t>t.slot[b + k] * LANES
            for lane in range(LANES):
                ring_l[ring + lane] = -block_r[k * LANES + lane]
                ring_r[ring + lane] = -block_l[k * LANES + lane]


cdef void load_earlier(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* L, const value_t* R,
                       value_t* ring_l, value_t* ring_r) noexcept nogil:
    """Like `load`, for classes before the rows' own in a mirrored component: kept exchanged, captures included.

    Only a 6 leads to the sixth class before; R of that class is not needed, and may not be in memory.
    """
    cdef int b, first_r = t.col_class[max(0, chunk.strip - DIE + 1)]
    cdef int64_t ring
    for b in range(c0, c1):
        ring = <int64_t>t.slot[b] * LANES
        memcpy(ring_l + ring, L + t.start_l[b] + chunk.row, LANES * sizeof(value_t))
        if b >= first_r:
            memcpy(ring_r + ring, R + t.start_r[b] + chunk.row, LANES * sizeof(value_t))


cdef void edge(const Tables* t, int c0, int c1, value_t* ring_l, value_t* ring_r, value_t* values,
               bint into_ring) noexcept nogil:
    """Copy columns c0..c1-1 into the ring, as another process sent them, or from the ring, to be sent to another."""
    cdef int b
    cdef int64_t ring
    for b in range(c0, c1):
        ring = <int64_t>t.slot[b] * LANES
        if into_ring:
            memcpy(ring_l + ring, values, LANES * sizeof(value_t))
            memcpy(ring_r + ring, values + LANES, LANES * sizeof(value_t))
        else:
            memcpy(values, ring_l + ring, LANES * sizeof(value_t))
            memcpy(values + LANES, ring_r + ring, LANES * sizeof(value_t))
        values += 2 * LANES


cdef void load_exits(const Tables* t, const Chunk* chunk, int j0, int j1, value_t* ring_l,
                     value_t* ring_r) noexcept nogil:
    """Load what the column player's moves into other finish zones lead to into the ring, for classes j0..j1-1."""
    cdef int exit, i, end
    cdef const value_t* left
    cdef const value_t* right
    cdef int64_t ring
    for exit in range(t.exits):
        left = <const value_t*>t.col_exit_l[exit] + chunk.row - t.exit_row
        right = <const value_t*>t.col_exit_r[exit] + chunk.row - t.exit_row
        end = t.exit_class[exit * (t.classes + 1) + j1]
        for i in range(t.exit_class[exit * (t.classes + 1) + j0], end):
            if i + AHEAD < end:
                prefetch(left + t.exit_start[i + AHEAD])
                prefetch(left + t.exit_start[i + AHEAD] + LANES - 1)
                prefetch(right + t.exit_start[i + AHEAD])
                prefetch(right + t.exit_start[i + AHEAD] + LANES - 1)
            ring = <int64_t>t.exit_slot[i] * LANES
            memcpy(ring_l + ring, left + t.exit_start[i], LANES * sizeof(value_t))
            memcpy(ring_r + ring, right + t.exit_start[i], LANES * sizeof(value_t))


cdef inline void options(const int32_t* first, const int8_t* count, const int8_t* kind, const int64_t* offset,
                         const value_t** bases_l, const value_t** bases_r, const value_t** out) noexcept nogil:
    """Collect the option vectors of one state, roll after roll: in R, or after a 6, when it moves again, in L."""
    cdef int o, begin = first[0], end = first[1], six = end - count[DIE - 1]
    for o in range(begin, six):
        out[o - begin] = bases_r[kind[o]] + offset[o]
    for o in range(six, end):
        out[o - begin] = bases_l[kind[o]] + offset[o]


cdef inline void expected(const value_t** option, const int8_t* count, const uint64_t* lands, const uint64_t* squares,
                          int64_t shift, value_t* out) noexcept nogil:
    """The sum over the rolls of a side's best options, in every lane; `lands` is NULL without a duty to capture."""
    if lands == NULL:
        if value_t is int32_t:
            best_total_i(option, count, shift, out)
        else:
            best_total_d(option, count, shift, out)
    elif value_t is int32_t:
        best_legal_i(option, count, lands, squares, shift, out)
    else:
        best_legal_d(option, count, lands, squares, shift, out)


cdef void row_moves(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t** bases_l,
                    const value_t** bases_r, value_t* sums, value_t* untransposed) noexcept nogil:
    """Set sums[b - c0][lane] to the sum over the rolls of the row player's best options; lost rolls add nothing."""
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
        b = c0
        while not t.must_capture and b + SIDE_BY_SIDE * LANES <= c1:
            if value_t is int32_t:
                best_totals_i(option, t.row_count + DIE * a, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
            else:
                best_totals_d(option, t.row_count + DIE * a, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
            b += SIDE_BY_SIDE * LANES
        while b < c1:
            expected(option, t.row_count + DIE * a, t.row_lands + t.row_first[a] if t.must_capture else NULL,
                     t.col_masks + b, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
            b += LANES
    for b in range(0, c1 - c0, 16):
        for lane in range(LANES):
            rows[lane] = untransposed + <int64_t>(b + lane) * LANES
        transpose(rows, sums + <int64_t>b * LANES)


cdef inline void column_moves(const Tables* t, const Chunk* chunk, int b, const value_t* ring,
                              value_t* out) noexcept nogil:
    """The sum over the rolls of the column player's best options in column b, against every row of a chunk."""
    cdef const value_t* option[MAX_OPTIONS]
    cdef const int32_t* offset = t.col_offset + t.col_first[b]
    cdef int o
    if t.must_capture:
        for o in range(t.col_first[b + 1] - t.col_first[b]):
            option[o] = ring + offset[o]
        expected(option, t.col_count + DIE * b, t.col_lands + t.col_first[b], chunk.facing, 0, out)
    elif value_t is int32_t:
        best_total_at_i(ring, offset, t.col_count + DIE * b, out)
    else:
        best_total_at_d(ring, offset, t.col_count + DIE * b, out)


cdef inline double quotient(int64_t dividend, int64_t divisor, bint up) noexcept nogil:
    """Divide whole numbers in integers, rounding down or up; the divisor is positive."""
    cdef int64_t whole = dividend // divisor         # cdivision: towards zero
    cdef int64_t rest = dividend - whole * divisor
    if up:
        return <double>(whole + (1 if rest > 0 else 0))
    return <double>(whole - (1 if rest < 0 else 0))


cdef void solve_pair_exactly(const Tables* t, const Chunk* chunk, const TurnWeights* q, const double* x,
                             const double* y, bint up, uint32_t both, double* ring_r, double* ring_l) noexcept nogil:
    """Like `solve_pair` for doubles that are whole numbers, rounding down or up as exact arithmetic would.

    Values are at most a little above 2**47, sums six times that. A turn that waits for a 6 in three rolls has one roll
    with a move and weights up to 216; all others have six rolls and weights up to 6. So no product exceeds 2**62.
    """
    cdef int lane
    cdef int64_t unit, wait, rest, unit_q = <int64_t>q.unit, wait_q = <int64_t>q.wait, rest_q = <int64_t>q.rest, d, a, b
    cdef const TurnWeights* p
    for lane in range(chunk.rows):
        if both >> lane & 1:
            continue
        p = t.row_turns + t.row_turn[chunk.row + lane]
        unit, wait, rest = <int64_t>p.unit, <int64_t>p.wait, <int64_t>p.rest
        d = rest * rest_q - wait * wait_q
        if d <= 0:       # no such state exists
            continue
        a, b = <int64_t>x[lane], <int64_t>y[lane]
        ring_r[lane] = -quotient(unit * rest_q * a - wait * unit_q * b, d, up)
        ring_l[lane] = -quotient(unit * wait_q * a - rest * unit_q * b, d, up)


cdef void solve_pair(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* sums, value_t* ring_l,
                     value_t* ring_r, double rounding) noexcept nogil:
    """Compute columns c0..c1-1 into the ring, either side to move: solve the two equations of each pair of states.

    Lost rolls make the two values of a pair refer to each other.
    """
    cdef int b, kind
    cdef int64_t ring
    cdef uint32_t both
    cdef bint waits
    cdef value_t cols[LANES]
    cdef const value_t* rows
    for b in range(c0, c1):
        column_moves(t, chunk, b, ring_l, cols)
        both = overlaps(chunk.facing, t.col_masks[b])
        rows = sums + <int64_t>(b - c0) * LANES
        ring = <int64_t>t.slot[b] * LANES
        kind = t.col_turn[b]
        waits = chunk.waits or t.col_turns[kind].wait != 0
        if value_t is int32_t:
            solve_pair_i(rows, cols, chunk.solve[0][kind], chunk.solve[1][kind], chunk.solve[2][kind],
                         chunk.solve[3][kind], waits, rounding, both, ring_r + ring, ring_l + ring)
        else:
            if rounding != 0:
                solve_pair_exactly(t, chunk, t.col_turns + kind, rows, cols, rounding > 0, both, ring_r + ring,
                                   ring_l + ring)
                continue
            solve_pair_d(rows, cols, chunk.solve[0][kind], chunk.solve[1][kind], chunk.solve[2][kind],
                         chunk.solve[3][kind], waits, 0.0, both, ring_r + ring, ring_l + ring)


cdef inline void exchange(value_t* to, const value_t* fresh, uint32_t ignored, value_t* most) noexcept nogil:
    if value_t is int32_t:
        replace_i(to, fresh, ignored, most)
    else:
        replace_d(to, fresh, ignored, most)


cdef inline void exchange_some(value_t* to, int n, const value_t* fresh, uint32_t ignored,
                               value_t* most) noexcept nogil:
    """Like `exchange`, but only for the first n values: those after them are not ours to write."""
    cdef value_t edge[LANES]
    cdef int k
    for k in range(n):
        edge[k] = to[k]
    exchange(edge, fresh, ignored, most)
    for k in range(n):
        to[k] = edge[k]


cdef void write_back(const Tables* t, const Chunk* chunk, int c0, int c1, value_t* L, value_t* R,
                     const value_t* ring_l, const value_t* ring_r, Findings* found) noexcept nogil:
    """Store columns c0..c1-1 from the ring; note the largest change of a position and count the positions."""
    cdef int b, k, lane, n, count = 0
    cdef int own_end = t.col_class[chunk.strip + 1] if t.mirrored else 0    # before it each position occurs twice
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
            left = L + t.start_l[chunk.row + lane] + b
            right = R + t.start_r[chunk.row + lane] + b
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


cdef void examine(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* sums, const value_t* ring_l,
                  const value_t* ring_r, Findings* found) noexcept nogil:
    """Compare the stored columns c0..c1-1 (in the ring) with what their successors say; note the extremes."""
    cdef int b, lane, a
    cdef int64_t ring
    cdef uint32_t both
    cdef value_t cols[LANES]
    cdef const TurnWeights* p
    cdef const TurnWeights* q
    cdef double left, right, d
    for b in range(c0, c1):
        q = t.col_turns + t.col_turn[b]
        column_moves(t, chunk, b, ring_l, cols)
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
