# The inner loops over a component; `_sweep.pyx` and `_sweep_avx2.pyx` compile this text for two instruction sets.
#
# A component pairs a row side (states a) with a column side (states b). Two matrices hold it, both in the row
# player's view, as winning probability minus one half:
#     L[a][b]  a is to move        R[a][b]  b is to move
# Changing sides is changing sign. A strip is the set of rows with the same pips; rows of a strip never need each
# other, so its chunks of LANES rows run in parallel. A strip reads the strips before it as this sweep leaves them, up
# to a lap further on in columns, and later strips as the last sweep left them: so it may begin as soon as the strip
# before is a lap of columns ahead. What is computed from what does not depend on the number of threads.
#
# Inside a chunk the columns are visited by ascending pips. Row moves read whole rows of earlier strips. Column moves
# read the ring: the last few column classes of these LANES rows, transposed, in the column player's view:
#     ring_r[b][lane] = -L[a][b]   ring_l[b][lane] = -R[a][b]
# so both players do the same thing: add up, over the rolls, the largest of a few contiguous vectors.
#
# Where a and b stand on the same square there is no position. In L and R such a slot holds the value after the row
# player's capture (b's piece went home); in the ring it holds the value after the column player's capture. The loops
# then need no test. A captured piece leads to a state with a piece in the box, and those are few (a tenth for four
# pieces): their rows are kept a second time, whole, as pairs in the column player's view, so that a capture by the
# column player is one load:
#     after_capture[h][b] = (-R[h][b], -L[h][b])

import numpy as np

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free

from madn._core cimport madn_lowest, madn_popcount

cdef extern from "lanes.h":
    uint32_t overlaps(const uint64_t* squares, uint64_t mask) noexcept nogil
    void best_total_i(const int32_t** option, const int8_t* count, int64_t shift, int32_t* out) noexcept nogil
    void best_total_d(const double** option, const int8_t* count, int64_t shift, double* out) noexcept nogil
    void solve_pair_i(const int32_t* x, const int32_t* y, const double* f, const double* g, double rounding, uint32_t kept,
                  int32_t* ring) noexcept nogil
    void solve_pair_d(const double* x, const double* y, const double* f, const double* g, double rounding, uint32_t kept,
                  double* ring) noexcept nogil
    void replace_i(int32_t* to, const int32_t* fresh, uint32_t kept, int32_t* most) noexcept nogil
    void replace_d(double* to, const double* fresh, uint32_t kept, double* most) noexcept nogil
    void prefetch(const void* address) noexcept nogil
    void transpose_i(const int32_t** rows, int32_t* out) noexcept nogil
    void transpose_d(const double** rows, double* out) noexcept nogil

cdef extern from "atomic.h":
    ctypedef int counter_t
    int counter_next(counter_t* counter) noexcept nogil
    void counter_set(counter_t* counter, int value) noexcept nogil
    void wait_for(counter_t* counter, int value) noexcept nogil

WIDTH = 16               # how many rows a chunk has, and how far past the end of an array it may read

cdef enum:
    LANES = 16           # rows of a chunk, columns of a block: as in lanes.h
    MAX_KINDS = 16       # the side itself and the finish zones it can leave to
    MAX_OPTIONS = 24     # of all six rolls together, four pieces
    MAX_TURNS = 16       # kinds of turns that a side can have: see madn.rules.Turn
    TOGETHER = 4         # the most chunks that go through the columns side by side
    AHEAD = 4            # columns between asking for the exits of one and computing it

ctypedef fused value_t:
    int32_t
    double

ctypedef fused offset_t:
    int32_t
    int64_t


cdef struct TurnWeights: # rest * V = unit * (sum of the best options) + wait * V'; see madn.rules.Turn
    double unit
    double wait
    double rest          # total - again
    double scale         # 6 / total: residuals of all turns are compared as sixfold ones


cdef struct Tables:      # what a component is made of; the arrays belong to `Component.kept`
    int strips, groups, pieces, squares, ring, widest, kinds_of_turns     # the last of columns
    bint mirrored        # both sides are the same: only columns of the row's class or later are kept
    const int32_t* row_class      # first row of strip i
    const int32_t* col_class      # first column of class j
    const int32_t* group_class    # first class of group g
    const int32_t* first_chunk    # first chunk of strip i
    const int64_t* start          # L[a][b] is at start[a] + b
    const int32_t* row_first      # first move option of state a, roll after roll ...
    const int8_t* row_count       # ... how many each roll has: [6 a + r] ...
    const int8_t* row_kind        # ... in which array each option's vector is ...
    const int64_t* row_offset     # ... and where
    const int8_t* row_turn        # the kind of turn ...
    const TurnWeights* row_turns  # ... and what each kind is
    const int32_t* row_pips
    const uint64_t* row_facing
    const int32_t* row_captured       # [a, k]: the row of `after_capture` for a without its piece on the k-th square of `facing`
    const int32_t* row_boxed      # the row of `after_capture` for a itself, or -1
    const int32_t* col_first
    const int8_t* col_count
    const int8_t* col_kind
    const int32_t* col_offset     # 32 bits: this table is read for every chunk and competes for the cache
    const int8_t* col_turn
    const TurnWeights* col_turns
    const uint64_t* col_masks
    const int32_t* slot           # place of column b in the ring
    const int32_t* hold_group     # [square, g]: where group g begins among the columns that hold the square
    const int32_t* hold_state     # those columns, ascending
    const int32_t* boxed_group    # [g]: where group g begins among the columns with a piece in the box
    const int32_t* boxed_state    # those columns, ascending ...
    const int32_t* boxed_with     # ... and [square]: what each becomes with a boxed piece on the square
    const int64_t* capture_start     # after_capture[h][b] is the pair at capture_start[h] + b ...
    const int32_t* capture_class     # ... from this class on: captures come from at most a lap before
    void* after_capture
    void* row_exit_l[MAX_KINDS]
    void* row_exit_r[MAX_KINDS]
    void* col_exit_l[MAX_KINDS]
    void* col_exit_r[MAX_KINDS]
    int exit_row                  # the row that the vectors of column exits begin with
    bint refill                   # before an examination the matrices come without the slots of captures: fill them


cdef struct Chunk:       # what the loops need to know about its rows
    int strip
    int row              # the first row
    int rows             # how many there are, 1..LANES
    uint64_t facing[LANES]               # their squares in the column side's numbers; none in unused lanes
    double solve[4][MAX_TURNS][LANES]       # L = solve0 A - solve1 B, R = solve2 A - solve3 B


cdef struct Extreme:     # a value and where it was found
    double value
    int row, column
    bint column_moves


cdef struct Findings:    # of a chunk
    double change        # sweep: largest change of a position in the last group ...
    double after_capture         # ... of what captures lead to, in all groups ...
    int64_t updates      # ... and how many positions were computed
    Extreme residual     # examination: largest |V - T(V)|, smallest and largest value for the side to move
    Extreme least
    Extreme most


cdef struct Job:         # one pass over one chunk
    int strip, row, rows
    bint examine         # read only: residual and extremes instead of new values
    double skip_below    # leave a group alone when its inputs have moved by less than this since it was computed
    double rounding          # added before rounding: 0 rounds to nearest, -0.5 down, 0.5 up (fixed32)
    double* pending      # by group: how much what it reads has moved since it was last computed
    double* moved        # by group, out: how much it moved in this pass
    void* aside_l        # captures inside the rows' own class (mirrored components)
    void* aside_r


cdef void describe(const Tables* t, int strip, int row, int rows, Chunk* chunk) noexcept nogil:
    """Gather what the loops need to know about the rows of a chunk."""
    cdef int lane, kind, a
    cdef const TurnWeights* p
    cdef const TurnWeights* q
    cdef double d
    chunk.strip = strip
    chunk.row = row
    chunk.rows = rows
    for lane in range(LANES):
        a = row + (lane if lane < rows else 0)
        chunk.facing[lane] = t.row_facing[a] if lane < rows else 0
        p = t.row_turns + t.row_turn[a]
        for kind in range(t.kinds_of_turns):
            q = t.col_turns + kind
            d = p.rest * q.rest - p.wait * q.wait     # 0 only where neither side can ever move: no state of the game
            chunk.solve[0][kind][lane] = p.unit * q.rest / d
            chunk.solve[1][kind][lane] = p.wait * q.unit / d
            chunk.solve[2][kind][lane] = p.unit * q.wait / d
            chunk.solve[3][kind][lane] = p.rest * q.unit / d


cdef void column_captures(const Tables* t, const Chunk* chunk, int g, int c0, int c1, value_t* to_l, value_t* to_r,
                          const int32_t* slot) noexcept nogil:
    """Fill the slots of columns c0..c1-1 where both stand on one square with the value after the column's capture.

    c0 lies in group g.
    """
    cdef int lane, k, square, i, b
    cdef uint64_t rest
    cdef const value_t* pairs
    for lane in range(chunk.rows):
        rest = chunk.facing[lane]
        k = 0
        while rest:
            square = madn_lowest(rest)
            rest &= rest - 1
            pairs = <const value_t*>t.after_capture + 2 * t.capture_start[t.row_captured[(chunk.row + lane) * t.pieces + k]]
            k += 1
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
    """`column_captures` into the ring; the rows' own class comes from what was set aside before the strip began."""
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
        if value_t is int32_t:
            transpose_i(rows_l, block_l)
            transpose_i(rows_r, block_r)
        else:
            transpose_d(rows_l, block_l)
            transpose_d(rows_r, block_r)
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
    cdef int o, begin = first[0], end = first[1], six = end - count[5]
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
        options(t.row_first + a, t.row_count + 6 * a, t.row_kind, t.row_offset, bases_l, bases_r, option)
        if lane + 1 < chunk.rows:
            options(t.row_first + a + 1, t.row_count + 6 * a + 6, t.row_kind, t.row_offset, bases_l, bases_r, soon)
            for b in range(t.row_first[a + 2] - t.row_first[a + 1]):
                prefetch(soon[b] + c0)
                prefetch(soon[b] + c0 + 16)
                prefetch(soon[b] + c0 + 32)
                prefetch(soon[b] + c0 + 48)
        for b in range(c0, c1, 16):
            if value_t is int32_t:
                best_total_i(option, t.row_count + 6 * a, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
            else:
                best_total_d(option, t.row_count + 6 * a, b, untransposed + <int64_t>(b - c0 + lane) * LANES)
    for b in range(0, c1 - c0, 16):
        for lane in range(LANES):
            rows[lane] = untransposed + <int64_t>(b + lane) * LANES
        if value_t is int32_t:
            transpose_i(rows, sums + <int64_t>b * LANES)
        else:
            transpose_d(rows, sums + <int64_t>b * LANES)


cdef inline void fetch_exits(const Tables* t, int b, const value_t** bases_l, const value_t** bases_r) noexcept nogil:
    """Ask for what moves of column b into another finish zone lead to: far apart in memory, and a wait for each."""
    cdef int o, end = t.col_first[b + 1], six = end - t.col_count[6 * b + 5]
    cdef const value_t* place
    for o in range(t.col_first[b], end):
        if t.col_kind[o]:
            place = (bases_r[t.col_kind[o]] if o < six else bases_l[t.col_kind[o]]) + t.col_offset[o]
            prefetch(place)
            prefetch(place + LANES - 1)


cdef void solve_pair(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t** bases_l,
                 const value_t** bases_r, const value_t* sums, value_t* ring_l, value_t* ring_r,
                 double rounding) noexcept nogil:
    """Compute columns c0..c1-1, either side to move, into the ring, solving the lost turns away."""
    cdef int b, kind
    cdef int64_t ring
    cdef uint32_t both
    cdef const value_t* option[MAX_OPTIONS]
    cdef value_t cols[LANES]
    cdef const value_t* rows
    for b in range(c0, c1):
        if b + AHEAD < c1:
            fetch_exits(t, b + AHEAD, bases_l, bases_r)
        options(t.col_first + b, t.col_count + 6 * b, t.col_kind, t.col_offset, bases_l, bases_r, option)
        both = overlaps(chunk.facing, t.col_masks[b])
        rows = sums + <int64_t>(b - c0) * LANES
        ring = <int64_t>t.slot[b] * LANES
        kind = t.col_turn[b]
        if value_t is int32_t:
            best_total_i(option, t.col_count + 6 * b, 0, cols)
            solve_pair_i(rows, cols, chunk.solve[0][kind], chunk.solve[1][kind], rounding, both, ring_r + ring)
            solve_pair_i(rows, cols, chunk.solve[2][kind], chunk.solve[3][kind], rounding, both, ring_l + ring)
        else:
            best_total_d(option, t.col_count + 6 * b, 0, cols)
            solve_pair_d(rows, cols, chunk.solve[0][kind], chunk.solve[1][kind], rounding, both, ring_r + ring)
            solve_pair_d(rows, cols, chunk.solve[2][kind], chunk.solve[3][kind], rounding, both, ring_l + ring)


cdef void write_back(const Tables* t, const Chunk* chunk, int c0, int c1, value_t* L, value_t* R,
                     const value_t* ring_l, const value_t* ring_r, Findings* found) noexcept nogil:
    """Store what the ring holds for columns c0..c1-1; note the largest change of a position and how many there are."""
    cdef int b, k, lane, n, count = 0
    cdef int own_end = t.col_class[chunk.strip + 1] if t.mirrored else 0    # before it each position comes twice
    cdef const value_t* rows[LANES]
    cdef value_t fresh_l[LANES * LANES]
    cdef value_t fresh_r[LANES * LANES]
    cdef value_t most[LANES]
    cdef value_t edge[LANES]
    cdef value_t* to
    cdef uint32_t both
    for k in range(LANES):
        most[k] = 0
    for b in range(c0, c1, 16):
        n = min(<int>LANES, c1 - b)
        for k in range(LANES):
            rows[k] = ring_r + <int64_t>t.slot[b + (k if k < n else 0)] * LANES
        if value_t is int32_t:
            transpose_i(rows, fresh_l)
        else:
            transpose_d(rows, fresh_l)
        for k in range(LANES):
            rows[k] = ring_l + <int64_t>t.slot[b + (k if k < n else 0)] * LANES
        if value_t is int32_t:
            transpose_i(rows, fresh_r)
        else:
            transpose_d(rows, fresh_r)
        for lane in range(chunk.rows):
            both = overlaps(t.col_masks + b, chunk.facing[lane]) | (<uint32_t>0xffff << n & 0xffff)
            count += 2 * (LANES - madn_popcount(both))
            if b < own_end:
                count -= LANES - madn_popcount(both | (0xffff << min(own_end - b, <int>LANES) & 0xffff))
            to = L + t.start[chunk.row + lane] + b
            prefetch(to + 32)
            prefetch(R + t.start[chunk.row + lane] + b + 32)
            if n == LANES:
                exchange(to, fresh_l + lane * LANES, both, most)
                exchange(R + t.start[chunk.row + lane] + b, fresh_r + lane * LANES, both, most)
            else:
                for k in range(n):
                    edge[k] = to[k]
                exchange(edge, fresh_l + lane * LANES, both, most)
                for k in range(n):
                    to[k] = edge[k]
                to = R + t.start[chunk.row + lane] + b
                for k in range(n):
                    edge[k] = to[k]
                exchange(edge, fresh_r + lane * LANES, both, most)
                for k in range(n):
                    to[k] = edge[k]
    found.change = 0
    for k in range(LANES):
        found.change = max(found.change, <double>most[k])
    found.updates += count


cdef inline void exchange(value_t* to, const value_t* fresh, uint32_t ignored, value_t* most) noexcept nogil:
    if value_t is int32_t:
        replace_i(to, fresh, ignored, most)
    else:
        replace_d(to, fresh, ignored, most)


cdef void row_captures(const Tables* t, const Chunk* chunk, int g, int c0, value_t* L, value_t* R,
                       const value_t* ring_l, const value_t* ring_r) noexcept nogil:
    """Group g, from column c0 on, is new: fill the slots of these rows whose captures lead there."""
    cdef int lane, square, i, b, h
    cdef int lowest = t.col_class[chunk.strip] if t.mirrored else 0
    cdef int64_t at, ring
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
                    at = t.start[chunk.row + lane] + b
                    L[at] = -ring_r[ring + lane]
                    R[at] = -ring_l[ring + lane]


cdef void old_row_captures(const Tables* t, int row, int rows, int g, int c0, value_t* L, value_t* R) noexcept nogil:
    """As `row_captures`, for columns that were not computed but are there: from the matrices."""
    cdef int a, square, i, b, h
    cdef int64_t at
    cdef uint64_t rest
    for i in range(t.boxed_group[g], t.boxed_group[g + 1]):
        h = t.boxed_state[i]
        if h < c0:
            continue
        for a in range(row, row + rows):
            at = t.start[a]
            rest = t.row_facing[a] & ~t.col_masks[h]
            while rest:
                square = madn_lowest(rest)
                rest &= rest - 1
                b = t.boxed_with[i * t.squares + square]
                if b >= 0 and (not t.mirrored or b >= t.col_class[t.row_pips[a]]):
                    L[at + b] = L[at + h]
                    R[at + b] = R[at + h]


cdef inline value_t put(value_t* to, value_t fresh, uint64_t both, value_t most) noexcept nogil:
    """Store a value; return `most`, or by how much it changed if that is more and it is a position."""
    cdef value_t change = fresh - to[0]
    to[0] = fresh
    change = change if change > 0 else -change
    return change if change > most and both == 0 else most


cdef void keep_after_capture(const Tables* t, const Chunk* chunk, int g, int c0, int c1, const value_t* L, const value_t* R,
                     const value_t* ring_l, const value_t* ring_r, Findings* found) noexcept nogil:
    """Copy what captures lead to: rows with a boxed piece; in a mirrored component such columns too, exchanged."""
    cdef int lane, i, b, h
    cdef uint64_t both
    cdef value_t most = 0
    cdef const value_t* left
    cdef const value_t* right
    cdef value_t* pairs
    cdef int64_t ring
    for lane in range(chunk.rows):
        h = t.row_boxed[chunk.row + lane]
        if h >= 0:
            left = L + t.start[chunk.row + lane]
            right = R + t.start[chunk.row + lane]
            pairs = <value_t*>t.after_capture + 2 * t.capture_start[h]
            for b in range(c0, c1):
                both = chunk.facing[lane] & t.col_masks[b]
                most = put(pairs + 2 * b, -right[b], both, most)
                most = put(pairs + 2 * b + 1, -left[b], both, most)
    if t.mirrored:                    # the rows' own class has just been copied, by this chunk or another
        for i in range(t.boxed_group[g], t.boxed_group[g + 1]):
            h = t.boxed_state[i]
            if h < t.col_class[chunk.strip + 1] or chunk.strip < t.capture_class[i]:
                continue
            ring = <int64_t>t.slot[h] * LANES
            pairs = <value_t*>t.after_capture + 2 * (t.capture_start[i] + chunk.row)
            for lane in range(chunk.rows):
                both = chunk.facing[lane] & t.col_masks[h]
                most = put(pairs + 2 * lane, -ring_r[ring + lane], both, most)
                most = put(pairs + 2 * lane + 1, -ring_l[ring + lane], both, most)
    found.after_capture = max(found.after_capture, <double>most)


cdef void restore_after_capture(const Tables* t, int strip, const value_t* L, const value_t* R) noexcept nogil:
    """As `keep_after_capture`, for a whole strip and from the matrices."""
    cdef int a, b, i, h, first = t.col_class[strip] if t.mirrored else 0, end = t.col_class[t.group_class[t.groups]]
    cdef const value_t* left
    cdef const value_t* right
    cdef value_t* after_capture = <value_t*>t.after_capture
    for a in range(t.row_class[strip], t.row_class[strip + 1]):
        left = L + t.start[a]
        right = R + t.start[a]
        h = t.row_boxed[a]
        if h >= 0:
            for b in range(first, end):
                after_capture[2 * (t.capture_start[h] + b)] = -right[b]
                after_capture[2 * (t.capture_start[h] + b) + 1] = -left[b]
        if t.mirrored:
            for i in range(t.boxed_group[t.groups]):
                b = t.boxed_state[i]
                if b >= t.col_class[strip + 1] and strip >= t.capture_class[i]:
                    after_capture[2 * (t.capture_start[i] + a)] = left[b]
                    after_capture[2 * (t.capture_start[i] + a) + 1] = right[b]


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
        options(t.col_first + b, t.col_count + 6 * b, t.col_kind, t.col_offset, bases_l, bases_r, option)
        if value_t is int32_t:
            best_total_i(option, t.col_count + 6 * b, 0, cols)
        else:
            best_total_d(option, t.col_count + 6 * b, 0, cols)
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


cdef bint unchanged(const Tables* t, const Job* job, int g, int j, double moved) noexcept nogil:
    """Whether group g, computed from class j on, may be left alone; keeps its account of what `moved` around it."""
    cdef int before = g - 1
    while before >= 0 and t.group_class[before + 1] > j - 6:
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
    int have             # the ring holds the columns before this one that are in reach


cdef void step(const Tables* t, Walk* walk, int g, double inflow, value_t* L, value_t* R,
               value_t* sums) noexcept nogil:
    """Compute (or examine) one group of columns of a chunk; what it reads of other strips has moved by `inflow`."""
    cdef const Job* job = walk.job
    cdef const Chunk* chunk = &walk.chunk
    cdef const value_t* rows_l[MAX_KINDS]
    cdef const value_t* rows_r[MAX_KINDS]
    cdef const value_t* cols_l[MAX_KINDS]
    cdef const value_t* cols_r[MAX_KINDS]
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
    cols_l[0] = ring_l
    cols_r[0] = ring_r
    for kind in range(1, MAX_KINDS):
        rows_l[kind] = <const value_t*>t.row_exit_l[kind]
        rows_r[kind] = <const value_t*>t.row_exit_r[kind]
        cols_l[kind] = <const value_t*>t.col_exit_l[kind] + job.row - t.exit_row
        cols_r[kind] = <const value_t*>t.col_exit_r[kind] + job.row - t.exit_row
    earliest = max(walk.have, t.col_class[max(0, j - 6)])
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
        examine(t, chunk, c0, c1, cols_l, cols_r, sums, ring_l, ring_r, walk.found)
    else:
        solve_pair(t, chunk, c0, c1, cols_l, cols_r, sums, ring_l, ring_r, job.rounding)
        write_back(t, chunk, c0, c1, L, R, ring_l, ring_r, walk.found)
        row_captures(t, chunk, g, c0, L, R, ring_l, ring_r)
        keep_after_capture(t, chunk, g, c0, c1, L, R, ring_l, ring_r, walk.found)
        job.moved[g] = walk.found.change
    walk.have = c1


cdef inline int group_of(const Tables* t, int column, int g) noexcept nogil:
    """The group of a column that lies in or before group g."""
    while t.col_class[t.group_class[g]] > column:
        g -= 1
    return g


cdef void set_aside(const Tables* t, const Job* job, value_t* aside_l, value_t* aside_r,
                    const int32_t* in_order) noexcept nogil:
    """Note the captures inside the rows' own class while the strip is still as the last sweep left it."""
    cdef Chunk chunk
    cdef int c0 = t.col_class[job.strip], c1 = t.col_class[job.strip + 1]
    describe(t, job.strip, job.row, job.rows, &chunk)
    column_captures(t, &chunk, group_of(t, c0, t.groups - 1), c0, c1, aside_l, aside_r, in_order - c0)


cdef double inflow_of(const Tables* t, int strip, int g, const double* moved, double own) noexcept nogil:
    """The largest recent change of any tile (strip, group) that group g of this strip reads.

    Row moves read the six strips before, with a capture up to a lap later in columns; column captures read rows up
    to a lap later, in the columns from six classes before. In a mirrored component those may be kept exchanged; of
    the strip itself they are as the last sweep left them: `own`.
    """
    cdef int i, h, lap = t.squares + 1, low = t.group_class[g] - 6, high = t.group_class[g + 1]
    cdef double most = own if t.mirrored and low <= strip < high else 0
    for h in range(t.groups):
        if t.group_class[h + 1] > t.group_class[g] and t.group_class[h] < high + lap:
            for i in range(max(0, strip - 6), strip):
                most = max(most, moved[i * t.groups + h])
        if t.group_class[h + 1] > low and t.group_class[h] < high:
            for i in range(strip + 1, min(t.strips, strip + lap + 1)):
                most = max(most, moved[i * t.groups + h])
        if t.mirrored and t.group_class[h + 1] > strip and t.group_class[h] <= strip + lap:
            for i in range(max(0, low), high):
                if i != strip:
                    most = max(most, moved[i * t.groups + h])
    return most


cdef struct Wave:        # a pass over some strips: threads take their parts in order and go through the columns
    int first            # the first strip
    int tasks            # parts of all strips
    const int32_t* first_task     # [strip - first]
    const int32_t* before         # [strip - first]: the strip before it that has rows, counted likewise, or -1
    const int32_t* need           # [g]: groups that the strip before must be through before group g may begin
    Job* jobs            # of all chunks of these strips
    Findings* found
    double* moved        # [strip, group]: how much it moved in its last pass
    double* own          # [strip - first]: how much its own class and a lap more moved in the last sweep
    counter_t next_task
    counter_t* ready     # [strip - first]: what `set_aside` notes is there
    counter_t* through   # [strip - first]: groups that all parts are through with
    counter_t* parts     # [strip - first, g]: parts that are through with the group
    const int32_t* in_order


cdef double moved_near(const Tables* t, const Wave* wave, int strip) noexcept nogil:
    """How much a strip of a mirrored component moved in the last sweep, in its own class and a lap more."""
    cdef int g
    cdef double most = 0
    for g in range(t.groups):
        if t.group_class[g + 1] > strip and t.group_class[g] <= strip + t.squares + 1:
            most = max(most, wave.moved[strip * t.groups + g])
    return most


cdef void run_part(const Tables* t, Wave* wave, int strip, int part, value_t* L, value_t* R,
                   value_t* scratch) noexcept nogil:
    """One pass over the columns of a few chunks of a strip, side by side.

    They read the same rows of the strips before: going through the columns together, a group of those rows is read
    from memory once and stays in the cache. The strip before may still be under way, a lap of columns ahead.
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
        walks[k].have = 0
    while t.group_class[start + 1] <= lowest:
        start += 1
    if t.mirrored and part == 0:
        if before >= 0:
            wait_for(&wave.through[before], wave.need[start])
        wave.own[here] = moved_near(t, wave, strip)
        for k in range(chunks):
            set_aside(t, &jobs[k], <value_t*>jobs[k].aside_l, <value_t*>jobs[k].aside_r, wave.in_order)
        counter_set(&wave.ready[here], 1)
    elif t.mirrored:
        wait_for(&wave.ready[here], 1)
    for g in range(start, t.groups):
        if before >= 0:
            wait_for(&wave.through[before], wave.need[g])
        if sweeping and jobs[0].skip_below > 0:      # else nothing is left alone
            inflow = inflow_of(t, strip, g, wave.moved, wave.own[here])
        for k in range(count):
            step(t, &walks[k], g, inflow, L, R, sums)
        if counter_next(&wave.parts[here * t.groups + g]) == parts - 1:     # the last one to be through with it
            if sweeping:
                most = 0
                for i in range(chunks):
                    most = max(most, jobs[i].moved[g])
                wave.moved[strip * t.groups + g] = most
            counter_set(&wave.through[here], g + 1)


cdef void run_tasks(const Tables* t, Wave* wave, value_t* L, value_t* R, value_t* scratch) noexcept nogil:
    """Take part after part until there are none; a part only waits for parts that were taken before it."""
    cdef int strip = wave.first, task = counter_next(&wave.next_task)
    while task < wave.tasks:
        while wave.first_task[strip - wave.first + 1] <= task:
            strip += 1
        run_part(t, wave, strip, task - wave.first_task[strip - wave.first], L, R, scratch)
        task = counter_next(&wave.next_task)
