# Captures: filling the slots where both sides share a square, and keeping the values that captures lead to.


cdef inline int64_t pairs_of(const Tables* t, int h, int g) noexcept nogil:
    """Where `after_capture` has the pairs of its row h with the columns of group g, counted from column 0."""
    return 2 * t.capture_start[<int64_t>h * t.groups + g]


cdef inline int64_t captured(const Tables* t, int a, int k, int g) noexcept nogil:
    """Like `pairs_of`, for the state that a capture of row a's piece on its k-th `facing` square leads to."""
    return pairs_of(t, t.row_captured[a * t.pieces + k], g)


cdef void column_captures(const Tables* t, const Chunk* chunk, int g, int c0, int c1, value_t* to_l, value_t* to_r,
                          const int32_t* slot) noexcept nogil:
    """Fill the slots of columns c0..c1-1 where both share a square with the value after the column player's capture.

    c0 lies in group g.
    """
    cdef int end
    while c0 < c1:
        end = min(c1, t.col_class[t.group_class[g + 1]])
        captures_of_group(t, chunk, g, c0, end, to_l, to_r, slot)
        c0 = end
        g += 1


cdef void captures_of_group(const Tables* t, const Chunk* chunk, int g, int c0, int c1, value_t* to_l, value_t* to_r,
                            const int32_t* slot) noexcept nogil:
    """Like `column_captures`, for columns that all lie in group g."""
    cdef int lane, k, square, i, b
    cdef uint64_t rest
    cdef const value_t* pairs
    cdef const value_t* soon
    cdef const value_t* after_capture = <const value_t*>t.after_capture
    for lane in range(chunk.rows):
        rest = chunk.facing[lane]
        k = 0
        while rest:
            square = madn_lowest(rest)
            rest &= rest - 1
            pairs = after_capture + captured(t, chunk.row + lane, k, g)
            k += 1
            if rest or lane + 1 < chunk.rows:         # prefetch the pairs of the next square
                soon = after_capture + captured(t, chunk.row + (lane if rest else lane + 1), k if rest else 0, g)
                b = c0
                while b < c1:
                    prefetch(soon + 2 * <int64_t>b)
                    b += LINE // (2 * <int>sizeof(value_t))
            i = t.hold_group[square * (t.groups + 1) + g]
            while t.hold_state[i] < c0:
                i += 1
            b = t.hold_state[i]
            while b < c1:
                to_l[<int64_t>slot[b] * LANES + lane] = pairs[2 * <int64_t>b]
                to_r[<int64_t>slot[b] * LANES + lane] = pairs[2 * <int64_t>b + 1]
                i += 1
                b = t.hold_state[i]


cdef void fill_captures(const Tables* t, const Chunk* chunk, const Job* job, int g, int c0, int c1, value_t* ring_l,
                        value_t* ring_r) noexcept nogil:
    """Do `column_captures` into the ring; the rows' own class comes from what was set aside before the strip began."""
    cdef int b, end, lane
    cdef uint32_t both
    cdef const value_t* aside_l = <const value_t*>job.aside_l
    cdef const value_t* aside_r = <const value_t*>job.aside_r
    cdef int64_t at, ring
    if t.mirrored and c0 < t.col_class[chunk.strip + 1]:
        end = t.col_class[chunk.strip + 1]
        for b in range(c0, end):
            both = overlaps(chunk.facing, t.col_masks[b])
            at = <int64_t>(b - t.col_class[chunk.strip]) * LANES
            ring = <int64_t>t.slot[b] * LANES
            while both:
                lane = madn_lowest(both)
                both &= both - 1
                ring_l[ring + lane] = aside_l[at + lane]
                ring_r[ring + lane] = aside_r[at + lane]
        c0 = end
    column_captures(t, chunk, g, c0, c1, ring_l, ring_r, t.slot)


cdef void row_captures(const Tables* t, const Chunk* chunk, int g, int c0, value_t* L, value_t* R,
                       const value_t* ring_l, const value_t* ring_r) noexcept nogil:
    """Fill the slots of these rows whose captures lead to group g, from column c0 on, which has just been computed."""
    cdef int lane, square, i, b, h
    cdef int lowest = t.col_class[chunk.strip] if t.mirrored else 0
    cdef int64_t ring
    cdef uint64_t rest
    for i in range(t.boxed_group[g], t.boxed_group[g + 1]):
        h = t.boxed_state[i]
        if h < c0:
            continue
        ring = <int64_t>t.slot[h] * LANES
        for lane in range(chunk.rows):
            rest = chunk.facing[lane] & ~t.col_masks[h]
            while rest:
                square = madn_lowest(rest)
                rest &= rest - 1
                b = t.boxed_with[i * t.squares + square]
                if b >= lowest:
                    L[t.start_l[chunk.row + lane] + b] = -ring_r[ring + lane]
                    R[t.start_r[chunk.row + lane] + b] = -ring_l[ring + lane]


cdef void old_row_captures(const Tables* t, int row, int rows, int g, int c0, value_t* L, value_t* R) noexcept nogil:
    """Like `row_captures`, but from the matrices, for columns that this pass has not computed."""
    cdef int a, square, i, b, h
    cdef value_t* left
    cdef value_t* right
    cdef uint64_t rest
    for i in range(t.boxed_group[g], t.boxed_group[g + 1]):
        h = t.boxed_state[i]
        if h < c0:
            continue
        for a in range(row, row + rows):
            left = L + t.start_l[a]
            right = R + t.start_r[a]
            rest = t.row_facing[a] & ~t.col_masks[h]
            while rest:
                square = madn_lowest(rest)
                rest &= rest - 1
                b = t.boxed_with[i * t.squares + square]
                if b >= 0 and (not t.mirrored or b >= t.col_class[t.row_pips[a]]):
                    left[b] = left[h]
                    right[b] = right[h]


cdef inline value_t put(value_t* to, value_t fresh, uint64_t both, value_t most) noexcept nogil:
    """Store a value; return `most`, or its change if that is larger and it is a position."""
    cdef value_t change = fresh - to[0]
    to[0] = fresh
    change = change if change > 0 else -change
    return change if change > most and both == 0 else most


cdef void keep_after_capture(const Tables* t, const Chunk* chunk, int g, int c0, int c1, const value_t* L,
                             const value_t* R, const value_t* ring_l, const value_t* ring_r,
                             Findings* found) noexcept nogil:
    """Copy what captures lead to: rows with a boxed piece and, in a mirrored component, such columns exchanged."""
    cdef int lane, i, b, h, own = group_of(t, chunk.row, g) if t.mirrored else 0
    cdef uint64_t both
    cdef value_t most = 0
    cdef const value_t* left
    cdef const value_t* right
    cdef value_t* pairs
    cdef int64_t ring
    for lane in range(chunk.rows):
        h = t.row_boxed[chunk.row + lane]
        if h >= 0:
            left = L + t.start_l[chunk.row + lane]
            right = R + t.start_r[chunk.row + lane]
            pairs = <value_t*>t.after_capture + pairs_of(t, h, g)
            for b in range(c0, c1):
                both = chunk.facing[lane] & t.col_masks[b]
                most = put(pairs + 2 * b, -right[b], both, most)
                most = put(pairs + 2 * b + 1, -left[b], both, most)
    if t.mirrored and not t.late:     # the rows' own class has just been copied, by this chunk or another
        for i in range(t.boxed_group[g], t.boxed_group[g + 1]):
            h = t.boxed_state[i]
            if h < t.col_class[chunk.strip + 1] or chunk.strip < t.capture_class[i]:
                continue
            ring = <int64_t>t.slot[h] * LANES
            pairs = <value_t*>t.after_capture + pairs_of(t, i, own) + 2 * <int64_t>chunk.row
            for lane in range(chunk.rows):
                both = chunk.facing[lane] & t.col_masks[h]
                most = put(pairs + 2 * lane, -ring_r[ring + lane], both, most)
                most = put(pairs + 2 * lane + 1, -ring_l[ring + lane], both, most)
    found.after_capture = max(found.after_capture, <double>most)


cdef void restore_after_capture(const Tables* t, int strip, const value_t* L, const value_t* R) noexcept nogil:
    """Like `keep_after_capture`, for a whole strip and from the matrices."""
    cdef int a, b, i, h, g, first = t.col_class[strip] if t.mirrored else 0
    cdef int own = group_of(t, t.col_class[strip], t.groups - 1) if t.mirrored else 0
    cdef const value_t* left
    cdef const value_t* right
    cdef value_t* pairs
    for a in range(t.row_class[strip], t.row_class[strip + 1]):
        left = L + t.start_l[a]
        right = R + t.start_r[a]
        h = t.row_boxed[a]
        if h >= 0:
            for g in range(t.groups):
                pairs = <value_t*>t.after_capture + pairs_of(t, h, g)
                for b in range(max(first, t.col_class[t.group_class[g]]), t.col_class[t.group_class[g + 1]]):
                    pairs[2 * b] = -right[b]
                    pairs[2 * b + 1] = -left[b]
        if t.mirrored:
            for i in range(t.boxed_group[t.groups]):
                b = t.boxed_state[i]
                if b >= t.col_class[strip + 1] and strip >= t.capture_class[i]:
                    pairs = <value_t*>t.after_capture + pairs_of(t, i, own) + 2 * <int64_t>a
                    pairs[0] = left[b]
                    pairs[1] = right[b]


cdef void note_boxed(const Tables* t, const Chunk* chunk, int g, int c0, const value_t* L, const value_t* R,
                     const value_t* ring_l, const value_t* ring_r, Findings* found) noexcept nogil:
    """Note how much the columns of group g with a boxed piece, from c0 on, have changed: the next sweep reads them."""
    cdef int lane, i, h
    cdef uint32_t both
    cdef value_t change, most = 0
    cdef int64_t ring
    for i in range(t.boxed_group[g], t.boxed_group[g + 1]):
        h = t.boxed_state[i]
        if h < c0:
            continue
        both = overlaps(chunk.facing, t.col_masks[h])
        ring = <int64_t>t.slot[h] * LANES
        for lane in range(chunk.rows):
            if both >> lane & 1:
                continue
            change = -ring_r[ring + lane] - L[t.start_l[chunk.row + lane] + h]
            most = max(most, change if change > 0 else -change)
            change = -ring_l[ring + lane] - R[t.start_r[chunk.row + lane] + h]
            most = max(most, change if change > 0 else -change)
    found.after_capture = max(found.after_capture, <double>most)


cdef void place_slots(const Tables* t, int strip, int a, int first, int end, const value_t* left, const value_t* right,
                      value_t* L, value_t* R) noexcept nogil:
    """Fill the slots of row a whose captures lead to the columns boxed_state[first..end-1], which have these values.

    Those of these columns that are kept here get the values too: a strip that was not in memory has lost them.
    """
    cdef int i, h, b, square, lowest = t.first_column
    cdef uint64_t rest
    if t.mirrored:
        lowest = max(lowest, t.col_class[strip])
    for i in range(first, end):
        h = t.boxed_state[i]
        if lowest <= h < t.end_column and not t.row_facing[a] & t.col_masks[h]:
            L[t.start_l[a] + h] = left[i - first]
            R[t.start_r[a] + h] = right[i - first]
        rest = t.row_facing[a] & ~t.col_masks[h]
        while rest:
            square = madn_lowest(rest)
            rest &= rest - 1
            b = t.boxed_with[i * t.squares + square]
            if lowest <= b < t.end_column:
                L[t.start_l[a] + b] = left[i - first]
                R[t.start_r[a] + b] = right[i - first]


cdef void place_pairs(const Tables* t, int strip, int a, int first, int end, const value_t* left,
                      const value_t* right) noexcept nogil:
    """In a mirrored component, let the column player's captures lead to the same values, exchanged."""
    cdef int i, own
    cdef value_t* pair
    if not (t.mirrored and t.first_column <= a < t.end_column):
        return
    own = group_of(t, a, t.groups - 1)
    for i in range(first, end):
        if t.boxed_state[i] >= t.col_class[strip + 1] and strip >= t.capture_class[i]:
            pair = <value_t*>t.after_capture + pairs_of(t, i, own) + 2 * <int64_t>a
            pair[0] = left[i - first]
            pair[1] = right[i - first]
