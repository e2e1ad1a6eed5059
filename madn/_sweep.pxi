# The inner loops over a component; `_sweep.pyx` and `_sweep_avx2.pyx` compile this text for two instruction sets.
#
# A component pairs a row side (states a) with a column side (states b). Two matrices hold it, both in the row
# player's view, as winning probability minus one half:
#     L[a][b]  a is to move        R[a][b]  b is to move
# Changing sides is changing sign. A strip is the set of rows with the same pips; rows of a strip never need each
# other, so the chunks of WIDTH rows of a strip run in parallel and the bits do not depend on the number of threads.
#
# Inside a chunk the columns are visited by ascending pips. Row moves read whole rows of earlier strips. Column moves
# read the ring: the last few column classes of these WIDTH rows, transposed, in the column player's view:
#     ring_r[b][lane] = -L[a][b]   ring_l[b][lane] = -R[a][b]
# so both players do the same thing: add up, over the rolls, the largest of a few contiguous vectors.
#
# Where a and b stand on the same square there is no position. In L and R such a slot holds the value after the row
# player's capture (b's piece went home); in the ring it holds the value after the column player's capture. The loops
# then need no test.

import numpy as np

from cython.parallel cimport parallel, prange, threadid
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from madn._core cimport madn_lowest

cdef enum:
    WIDTH = 16           # rows in a chunk; measured against 8 and 32 in benchmarks/README.md
    MAX_KINDS = 16       # the side itself and the finish zones it can leave to
    MAX_S = 40
    KINDS_OF_LOSS = 12   # 2 * (lost rolls among 1-5) + (the 6 is lost)

cdef double ROUNDER = 6755399441055744.0     # 1.5 * 2**52: adding and taking it away rounds to the nearest integer

ctypedef fused value_t:
    int32_t
    double


cdef struct Chunk:
    int row              # its first row
    int rows             # how many rows it really has, 1..WIDTH
    uint64_t union_      # squares held by any of its rows, in the column side's numbers
    int count[MAX_S]     # how many rows hold the square ...
    int8_t lane[MAX_S][WIDTH]        # ... which they are ...
    int32_t home[MAX_S][WIDTH]       # ... and the row each becomes when its piece there is captured
    double solve[4][KINDS_OF_LOSS][WIDTH]   # L = solve0 A - solve1 B, R = solve2 A - solve3 B


cdef inline value_t larger(value_t x, value_t y) noexcept nogil:
    return x if x > y else y


cdef inline void add_best(value_t* total, const value_t** bases, const int8_t* kind,
                          const int64_t* offset, int first, int end, int64_t shift, int n) noexcept nogil:
    """Add to `total[0:n]` the largest of the option vectors `first:end` of one roll."""
    cdef const value_t* p0
    cdef const value_t* p1
    cdef const value_t* p2
    cdef const value_t* p3
    cdef int j, k = end - first
    if k == 0:
        return
    p0 = bases[kind[first]] + offset[first] + shift
    if k == 1:
        for j in range(n):
            total[j] = total[j] + p0[j]
        return
    p1 = bases[kind[first + 1]] + offset[first + 1] + shift
    if k == 2:
        for j in range(n):
            total[j] = total[j] + larger(p0[j], p1[j])
        return
    p2 = bases[kind[first + 2]] + offset[first + 2] + shift
    if k == 3:
        for j in range(n):
            total[j] = total[j] + larger(larger(p0[j], p1[j]), p2[j])
        return
    p3 = bases[kind[first + 3]] + offset[first + 3] + shift
    for j in range(n):
        total[j] = total[j] + larger(larger(p0[j], p1[j]), larger(p2[j], p3[j]))


cdef struct Tables:      # what a component is made of; the arrays belong to `Component.kept`
    int strips, groups, columns, pieces, squares, ring, widest
    bint mirrored        # both sides are the same: only columns of the row's class or later are kept
    const int32_t* row_class      # first row of strip i
    const int32_t* col_class      # first column of class j
    const int32_t* group_class    # first class of group g
    const int32_t* first_chunk    # first chunk of strip i
    const int64_t* start          # L[a][b] is at start[a] + b
    const int32_t* row_first
    const int8_t* row_kind
    const int64_t* row_offset
    const int8_t* row_loss
    const uint64_t* row_turned
    const int32_t* row_without
    const int32_t* col_first
    const int8_t* col_kind
    const int64_t* col_offset
    const int8_t* col_loss
    const uint64_t* col_masks
    const int32_t* slot           # place of column b in the ring
    const int32_t* hold_first     # columns that hold a square, and what they become without it
    const int32_t* hold_state
    const int32_t* hold_home
    void* row_exit_l[MAX_KINDS]
    void* row_exit_r[MAX_KINDS]
    void* col_exit_l[MAX_KINDS]
    void* col_exit_r[MAX_KINDS]


cdef struct Extreme:     # a value and where it was found
    double value
    int row, column
    int column_moves


cdef struct Findings:    # of a chunk
    double change        # largest change (sweep) ...
    int64_t updates      # ... and the number of positions computed
    Extreme residual     # residual pass: largest |V - T(V)|, smallest and largest value for the side to move
    Extreme least
    Extreme most


cdef void describe(const Tables* t, int row, int rows, Chunk* chunk) noexcept nogil:
    """Gather what the loops need to know about the rows of a chunk."""
    cdef int lane, k, square, c, a, loss, mine, theirs
    cdef uint64_t rest
    cdef double own, other, d
    chunk.row = row
    chunk.rows = rows
    chunk.union_ = 0
    memset(chunk.count, 0, sizeof(chunk.count))
    for lane in range(WIDTH):
        a = row + (lane if lane < rows else 0)
        if lane < rows:
            rest = t.row_turned[a]
            chunk.union_ |= rest
            k = 0
            while rest:
                square = madn_lowest(rest)
                rest &= rest - 1
                c = chunk.count[square]
                chunk.lane[square][c] = <int8_t>lane
                chunk.home[square][c] = t.row_without[a * t.pieces + k]
                chunk.count[square] = c + 1
                k += 1
        mine = t.row_loss[a] >> 1
        own = 6 - (t.row_loss[a] & 1)
        for loss in range(KINDS_OF_LOSS):
            theirs = loss >> 1
            other = 6 - (loss & 1)
            d = own * other - mine * theirs
            if d > 0:    # it is 0 only where neither side can ever move, which is no state of the game
                chunk.solve[0][loss][lane] = other / d
                chunk.solve[1][loss][lane] = mine / d
                chunk.solve[2][loss][lane] = theirs / d
                chunk.solve[3][loss][lane] = own / d


cdef void capture_slots(const Tables* t, const Chunk* chunk, int j, const value_t* L, const value_t* R,
                        value_t* ring_l, value_t* ring_r, bint aside) noexcept nogil:
    """Fill the ring's slots of class j where both stand on one square with the value after the column's capture.

    With `aside` the target is not the ring but an array with column `col_class[j]` first.
    """
    cdef int b, square, c, lane, home
    cdef int64_t at, ring
    cdef uint64_t rest
    cdef int later = t.col_class[j + 1]
    for b in range(t.col_class[j], later):
        rest = t.col_masks[b] & chunk.union_
        ring = <int64_t>(b - t.col_class[j] if aside else t.slot[b]) * WIDTH
        while rest:
            square = madn_lowest(rest)
            rest &= rest - 1
            for c in range(chunk.count[square]):
                lane = chunk.lane[square][c]
                home = chunk.home[square][c]
                if t.mirrored and home >= later:
                    at = t.start[b] + home
                    ring_l[ring + lane] = L[at]
                    ring_r[ring + lane] = R[at]
                else:
                    at = t.start[home] + b
                    ring_l[ring + lane] = -R[at]
                    ring_r[ring + lane] = -L[at]


cdef void copy_captured(const Tables* t, const Chunk* chunk, int j, const value_t* from_l, const value_t* from_r,
                        value_t* ring_l, value_t* ring_r) noexcept nogil:
    """As `capture_slots`, for the rows' own class, from what was set aside before the strip began."""
    cdef int b, square, c, lane
    cdef int64_t ring, aside
    cdef uint64_t rest
    for b in range(t.col_class[j], t.col_class[j + 1]):
        rest = t.col_masks[b] & chunk.union_
        ring = <int64_t>t.slot[b] * WIDTH
        aside = <int64_t>(b - t.col_class[j]) * WIDTH
        while rest:
            square = madn_lowest(rest)
            rest &= rest - 1
            for c in range(chunk.count[square]):
                lane = chunk.lane[square][c]
                ring_l[ring + lane] = from_l[aside + lane]
                ring_r[ring + lane] = from_r[aside + lane]


cdef void load_class(const Tables* t, const Chunk* chunk, int j, bint earlier, const value_t* L, const value_t* R,
                     value_t* ring_l, value_t* ring_r) noexcept nogil:
    """Bring the stored values of column class j into the ring, without the slots of captures.

    `earlier`: a mirrored component keeps this class only with rows and columns exchanged (its slots are right).
    """
    cdef int b, lane
    cdef int64_t ring, at
    for b in range(t.col_class[j], t.col_class[j + 1]):
        ring = <int64_t>t.slot[b] * WIDTH
        if earlier:
            at = t.start[b] + chunk.row
            for lane in range(WIDTH):
                ring_l[ring + lane] = L[at + lane]
                ring_r[ring + lane] = R[at + lane]
        else:
            for lane in range(WIDTH):
                at = t.start[chunk.row + (lane if lane < chunk.rows else 0)] + b
                ring_l[ring + lane] = -R[at]
                ring_r[ring + lane] = -L[at]


cdef void row_moves(const Tables* t, const Chunk* chunk, int c0, int n, const value_t** bases_l,
                    const value_t** bases_r, value_t* sums) noexcept nogil:
    """sums[lane][b - c0] = what the row player expects from the rolls it can use (six times the value)."""
    cdef int lane, roll, a
    cdef value_t* total
    cdef const int32_t* first
    for lane in range(chunk.rows):
        a = chunk.row + lane
        total = sums + <int64_t>lane * t.widest
        memset(total, 0, n * sizeof(value_t))
        first = t.row_first + 6 * a
        for roll in range(5):
            add_best(total, bases_r, t.row_kind, t.row_offset, first[roll], first[roll + 1], c0, n)
        add_best(total, bases_l, t.row_kind, t.row_offset, first[5], first[6], c0, n)


cdef inline void column_moves(const Tables* t, int b, const value_t** bases_l, const value_t** bases_r,
                              value_t* total) noexcept nogil:
    """total[lane] = what the column player expects from the rolls it can use, against each row of the chunk."""
    cdef int roll
    cdef const int32_t* first = t.col_first + 6 * b
    for roll in range(WIDTH):
        total[roll] = 0
    for roll in range(5):
        add_best(total, bases_r, t.col_kind, t.col_offset, first[roll], first[roll + 1], 0, WIDTH)
    add_best(total, bases_l, t.col_kind, t.col_offset, first[5], first[6], 0, WIDTH)


cdef void settle_class(const Tables* t, const Chunk* chunk, int j, int c0, const value_t** bases_l,
                       const value_t** bases_r, const value_t* sums, value_t* ring_l, value_t* ring_r,
                       double bias) noexcept nogil:
    """Compute the positions of column class j, both sides to move, and leave them in the ring."""
    cdef int b, lane
    cdef int64_t ring
    cdef value_t rows[WIDTH]
    cdef value_t cols[WIDTH]
    cdef double x, y
    cdef const double* s0
    cdef const double* s1
    cdef const double* s2
    cdef const double* s3
    for b in range(t.col_class[j], t.col_class[j + 1]):
        column_moves(t, b, bases_l, bases_r, cols)
        for lane in range(WIDTH):
            rows[lane] = sums[<int64_t>lane * t.widest + (b - c0)]
        s0 = chunk.solve[0][t.col_loss[b]]
        s1 = chunk.solve[1][t.col_loss[b]]
        s2 = chunk.solve[2][t.col_loss[b]]
        s3 = chunk.solve[3][t.col_loss[b]]
        ring = <int64_t>t.slot[b] * WIDTH
        for lane in range(WIDTH):
            x = s0[lane] * rows[lane] - s1[lane] * cols[lane] + bias
            y = s2[lane] * rows[lane] - s3[lane] * cols[lane] + bias
            if value_t is int32_t:
                ring_r[ring + lane] = -<int32_t>((x + ROUNDER) - ROUNDER)
                ring_l[ring + lane] = -<int32_t>((y + ROUNDER) - ROUNDER)
            else:
                ring_r[ring + lane] = -x
                ring_l[ring + lane] = -y


cdef void write_back(const Tables* t, const Chunk* chunk, int c0, int c1, value_t* L, value_t* R,
                     const value_t* ring_l, const value_t* ring_r, Findings* found) noexcept nogil:
    """Store what the ring holds for columns c0..c1-1 and note the largest change of a position."""
    cdef int lane, b
    cdef int64_t pairs = 0
    cdef int64_t at
    cdef uint64_t squares
    cdef value_t* to_l
    cdef value_t* to_r
    cdef value_t new_l, new_r, dl, dr, most
    for lane in range(chunk.rows):
        squares = t.row_turned[chunk.row + lane]
        to_l = L + t.start[chunk.row + lane]
        to_r = R + t.start[chunk.row + lane]
        most = 0
        for b in range(c0, c1):
            at = <int64_t>t.slot[b] * WIDTH + lane
            new_l = -ring_r[at]
            new_r = -ring_l[at]
            dl = new_l - to_l[b]
            dr = new_r - to_r[b]
            to_l[b] = new_l
            to_r[b] = new_r
            dl = larger(dl, -dl)
            dr = larger(dr, -dr)
            dl = larger(dl, dr)
            if squares & t.col_masks[b]:
                dl = 0
            else:
                pairs += 1
            most = larger(most, dl)
        if most > found.change:
            found.change = <double>most
    found.updates += 2 * pairs


cdef void row_capture_slots(const Tables* t, const Chunk* chunk, int c0, value_t* L, value_t* R) noexcept nogil:
    """Fill the slots of the chunk's rows where both stand on one square with the value after the row's capture."""
    cdef int lane, square, i, a, b, home
    cdef uint64_t rest
    cdef value_t* to_l
    cdef value_t* to_r
    for lane in range(chunk.rows):
        a = chunk.row + lane
        to_l = L + t.start[a]
        to_r = R + t.start[a]
        rest = t.row_turned[a]
        while rest:
            square = madn_lowest(rest)
            rest &= rest - 1
            for i in range(t.hold_first[square], t.hold_first[square + 1]):
                b = t.hold_state[i]
                if b >= c0:
                    home = t.hold_home[i]
                    to_l[b] = to_l[home]
                    to_r[b] = to_r[home]


cdef inline void note(Extreme* best, double value, int row, int column, int column_moves_) noexcept nogil:
    best.value = value
    best.row = row
    best.column = column
    best.column_moves = column_moves_


cdef void examine_class(const Tables* t, const Chunk* chunk, int j, int c0, const value_t** bases_l,
                        const value_t** bases_r, const value_t* sums, const value_t* ring_l, const value_t* ring_r,
                        Findings* found) noexcept nogil:
    """Compare the stored positions of class j (in the ring) with what their successors say; note the extremes."""
    cdef int b, lane, a
    cdef int64_t ring
    cdef value_t cols[WIDTH]
    cdef double l, r, d
    for b in range(t.col_class[j], t.col_class[j + 1]):
        column_moves(t, b, bases_l, bases_r, cols)
        ring = <int64_t>t.slot[b] * WIDTH
        for lane in range(chunk.rows):
            a = chunk.row + lane
            if t.row_turned[a] & t.col_masks[b]:
                continue
            l = -<double>ring_r[ring + lane]
            r = -<double>ring_l[ring + lane]
            d = fabs(<double>sums[<int64_t>lane * t.widest + (b - c0)]
                     - (6 - (t.row_loss[a] & 1)) * l + (t.row_loss[a] >> 1) * r)
            if d > found.residual.value:
                note(&found.residual, d, a, b, 0)
            d = fabs(<double>cols[lane] + (6 - (t.col_loss[b] & 1)) * r - (t.col_loss[b] >> 1) * l)
            if d > found.residual.value:
                note(&found.residual, d, a, b, 1)
            if l > found.most.value:
                note(&found.most, l, a, b, 0)
            if -r > found.most.value:
                note(&found.most, -r, a, b, 1)
            if l < found.least.value:
                note(&found.least, l, a, b, 0)
            if -r < found.least.value:
                note(&found.least, -r, a, b, 1)


cdef struct Job:         # one pass over one chunk
    int strip, row, rows
    bint examine         # read only: residual and extremes instead of new values
    double skip_below    # leave a group alone when its inputs have moved by less than this since it was computed
    double bias
    const double* inflow # by group: how much what the strip reads has moved
    double* pending      # by group: the same, added up since the group was last computed
    double* moved        # by group, out: how much it moved in this pass
    void* aside_l        # captures inside the rows' own class (mirrored components)
    void* aside_r


cdef void run_chunk(const Tables* t, const Job* job, value_t* L, value_t* R, value_t* scratch,
                    Findings* found) noexcept nogil:
    """One pass over the columns of a chunk: compute (or examine) it group by group."""
    cdef Chunk chunk
    cdef const value_t* rows_l[MAX_KINDS]
    cdef const value_t* rows_r[MAX_KINDS]
    cdef const value_t* cols_l[MAX_KINDS]
    cdef const value_t* cols_r[MAX_KINDS]
    cdef value_t* ring_l = scratch
    cdef value_t* ring_r = ring_l + <int64_t>t.ring * WIDTH
    cdef value_t* sums = ring_r + <int64_t>t.ring * WIDTH
    cdef int kind, g, j, c0, c1, lowest, loaded, before
    cdef double moved
    cdef bint touched = False
    describe(t, job.row, job.rows, &chunk)
    rows_l[0] = L
    rows_r[0] = R
    cols_l[0] = ring_l
    cols_r[0] = ring_r
    for kind in range(1, MAX_KINDS):
        rows_l[kind] = <const value_t*>t.row_exit_l[kind]
        rows_r[kind] = <const value_t*>t.row_exit_r[kind]
        cols_l[kind] = <const value_t*>t.col_exit_l[kind] + job.row
        cols_r[kind] = <const value_t*>t.col_exit_r[kind] + job.row
    lowest = job.strip if t.mirrored else 0
    loaded = -1                       # the ring holds the classes up to this one
    for g in range(t.groups):
        if t.group_class[g + 1] <= lowest:
            continue
        j = t.group_class[g] if t.group_class[g] > lowest else lowest
        c0 = t.col_class[j]
        c1 = t.col_class[t.group_class[g + 1]]
        if not job.examine:
            moved = job.inflow[g]
            before = g - 1
            while before >= 0 and t.group_class[before + 1] > j - 6:
                moved = max(moved, job.moved[before])
                before -= 1
            job.pending[g] += moved
            job.moved[g] = 0
            if job.pending[g] < job.skip_below:
                continue
            job.pending[g] = 0
            touched = True
        if loaded < j - 1:
            for before in range(max(0, j - 6, loaded + 1), j):
                load_class(t, &chunk, before, before < lowest, L, R, ring_l, ring_r)
                if before >= lowest:
                    if t.mirrored and before == job.strip:
                        copy_captured(t, &chunk, before, <value_t*>job.aside_l, <value_t*>job.aside_r, ring_l, ring_r)
                    else:
                        capture_slots(t, &chunk, before, L, R, ring_l, ring_r, False)
        row_moves(t, &chunk, c0, c1 - c0, rows_l, rows_r, sums)
        for j in range(j, t.group_class[g + 1]):
            if job.examine:
                load_class(t, &chunk, j, False, L, R, ring_l, ring_r)
                examine_class(t, &chunk, j, c0, cols_l, cols_r, sums, ring_l, ring_r, found)
            else:
                settle_class(t, &chunk, j, c0, cols_l, cols_r, sums, ring_l, ring_r, job.bias)
            if t.mirrored and j == job.strip:
                copy_captured(t, &chunk, j, <value_t*>job.aside_l, <value_t*>job.aside_r, ring_l, ring_r)
            else:
                capture_slots(t, &chunk, j, L, R, ring_l, ring_r, False)
        loaded = t.group_class[g + 1] - 1
        if not job.examine:
            found.change = 0
            write_back(t, &chunk, c0, c1, L, R, ring_l, ring_r, found)
            job.moved[g] = found.change
    if touched:
        row_capture_slots(t, &chunk, t.col_class[lowest], L, R)


cdef class Component:
    """The two matrices of a pair of finish zones, and the passes over them.

    Built by `madn.solver.components`, which owns the arrays and says what each holds.
    """

    cdef Tables t
    cdef list kept               # keeps the arrays alive that the tables point into
    cdef bint wide
    cdef object L, R, scratch, aside
    cdef readonly object moved_by_strip   # [strip, group]: how much the strip's group moved in its last pass
    cdef object moved, pending, inflow    # [chunk, group], [chunk, group], [group]
    cdef int largest_strip

    def __init__(self, rows, columns, L, R, start, row_offset, column_offset, row_exits, column_exits, slot,
                 group_class, int ring, bint mirrored):
        cdef Tables* t = &self.t
        self.kept = []
        self.L, self.R = L, R
        self.wide = L.dtype == np.float64
        t.mirrored = mirrored
        t.columns = columns.size
        t.pieces = rows.rules.pieces
        t.squares = rows.rules.squares
        t.ring = ring
        t.row_class = self.int32(rows.class_start)
        t.strips = len(rows.class_start) - 1
        t.col_class = self.int32(columns.class_start)
        t.group_class = self.int32(group_class)
        t.groups = len(group_class) - 1
        sizes = np.diff(rows.class_start)
        chunks = np.concatenate([[0], np.cumsum((sizes + WIDTH - 1) // WIDTH)]).astype(np.int32)
        t.first_chunk = self.int32(chunks)
        t.widest = int(np.diff(columns.class_start[group_class]).max())
        t.start = self.int64(start)
        t.row_first = self.int32(rows.moves.first)
        t.row_kind = self.int8(rows.moves.kind)
        t.row_offset = self.int64(row_offset)
        t.row_loss = self.int8(2 * rows.moves.lost + rows.moves.lost_six)
        t.row_turned = self.uint64(rows.turned)
        t.row_without = self.int32(rows.without.ravel())
        t.col_first = self.int32(columns.moves.first)
        t.col_kind = self.int8(columns.moves.kind)
        t.col_offset = self.int64(column_offset)
        t.col_loss = self.int8(2 * columns.moves.lost + columns.moves.lost_six)
        t.col_masks = self.uint64(columns.masks)
        t.slot = self.int32(slot)
        held, states, home = columns.holders
        t.hold_first = self.int32(held)
        t.hold_state = self.int32(states)
        t.hold_home = self.int32(home)
        for kind in range(MAX_KINDS):
            t.row_exit_l[kind] = t.row_exit_r[kind] = t.col_exit_l[kind] = t.col_exit_r[kind] = NULL
        for kind, (l, r) in enumerate(row_exits, 1):
            t.row_exit_l[kind] = self.address(l)
            t.row_exit_r[kind] = self.address(r)
        for kind, (l, r) in enumerate(column_exits, 1):
            t.col_exit_l[kind] = self.address(l)
            t.col_exit_r[kind] = self.address(r)
        self.moved_by_strip = np.zeros((t.strips, t.groups))
        self.moved = np.zeros((chunks[-1], t.groups))
        self.pending = np.full((chunks[-1], t.groups), np.inf)
        self.inflow = np.zeros(t.groups)
        self.largest_strip = int(sizes.max())

    cdef const int32_t* int32(self, array) except NULL:
        cdef const int32_t[::1] view = np.ascontiguousarray(array, np.int32)
        self.kept.append(view)
        return &view[0] if view.shape[0] else <const int32_t*>1

    cdef const int8_t* int8(self, array) except NULL:
        cdef const int8_t[::1] view = np.ascontiguousarray(array, np.int8)
        self.kept.append(view)
        return &view[0] if view.shape[0] else <const int8_t*>1

    cdef const int64_t* int64(self, array) except NULL:
        cdef const int64_t[::1] view = np.ascontiguousarray(array, np.int64)
        self.kept.append(view)
        return &view[0] if view.shape[0] else <const int64_t*>1

    cdef const uint64_t* uint64(self, array) except NULL:
        cdef const uint64_t[::1] view = np.ascontiguousarray(array, np.uint64)
        self.kept.append(view)
        return &view[0] if view.shape[0] else <const uint64_t*>1

    cdef void* address(self, array) except NULL:
        cdef const int32_t[::1] narrow
        cdef const double[::1] wide
        self.kept.append(array)
        if self.wide:
            wide = array
            return <void*>&wide[0]
        narrow = array
        return <void*>&narrow[0]

    def run(self, int first, int end, int threads, bint examine, double skip_below=0.0, double bias=0.0):
        """Pass over strips first..end-1, and return what was found.

        A sweep returns (largest change, positions computed, 0, 0); an examination returns the extremes
        (residual, least, most) as (value, row, column, column moves) each. Values are in stored units.
        """
        cdef int64_t ring = 2 * <int64_t>self.t.ring * WIDTH + <int64_t>self.t.widest * WIDTH
        dtype = np.float64 if self.wide else np.int32
        if self.scratch is None or self.scratch.shape[0] < threads:
            self.scratch = np.zeros((threads, ring), dtype)
            if self.t.mirrored:
                chunks = (self.largest_strip + WIDTH - 1) // WIDTH
                self.aside = np.zeros((2, chunks, self.largest_strip * WIDTH), dtype)
            else:
                self.aside = np.zeros((2, 1, 1), dtype)
        if self.wide:
            return run_strips[double](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                      skip_below, bias)
        return run_strips[int32_t](self, self.L, self.R, self.scratch, self.aside, first, end, threads, examine,
                                   skip_below, bias)


cdef run_strips(Component c, value_t[::1] L, value_t[::1] R, value_t[:, ::1] scratch, value_t[:, :, ::1] aside,
                int first, int end, int threads, bint examine, double skip_below, double bias):
    cdef Tables* t = &c.t
    cdef double[:, ::1] by_strip = c.moved_by_strip
    cdef double[:, ::1] moved = c.moved
    cdef double[:, ::1] pending = c.pending
    cdef double[::1] inflow = c.inflow
    cdef int most_chunks = 1 + (c.largest_strip + WIDTH - 1) // WIDTH
    cdef Findings* found = <Findings*>calloc(most_chunks, sizeof(Findings))
    cdef Job* jobs = <Job*>calloc(most_chunks, sizeof(Job))
    cdef Findings total
    cdef int strip, k, n, row, g, team
    cdef double change = 0
    total.updates = 0
    total.residual.value = 0
    total.least.value = 2.0 ** 62
    total.most.value = -total.least.value
    if found == NULL or jobs == NULL:
        free(found)
        free(jobs)
        raise MemoryError
    try:
        for strip in range(first, end):
            n = t.first_chunk[strip + 1] - t.first_chunk[strip]
            if n == 0:
                continue
            if not examine:
                gather_inflow(t, strip, &by_strip[0, 0], &inflow[0])
            for k in range(n):
                row = t.row_class[strip] + k * WIDTH
                jobs[k].strip = strip
                jobs[k].row = row
                jobs[k].rows = min(<int>WIDTH, t.row_class[strip + 1] - row)
                jobs[k].examine = examine
                jobs[k].skip_below = skip_below
                jobs[k].bias = bias
                jobs[k].inflow = &inflow[0]
                jobs[k].pending = &pending[t.first_chunk[strip] + k, 0]
                jobs[k].moved = &moved[t.first_chunk[strip] + k, 0]
                if t.mirrored:
                    jobs[k].aside_l = &aside[0, k, 0]
                    jobs[k].aside_r = &aside[1, k, 0]
                found[k] = total
                found[k].updates = 0
            team = threads
            with nogil:
                if t.mirrored:
                    for k in prange(n, num_threads=team, schedule="dynamic"):
                        set_aside(t, &jobs[k], &L[0], &R[0])
                for k in prange(n, num_threads=team, schedule="dynamic"):
                    run_chunk(t, &jobs[k], &L[0], &R[0], &scratch[threadid(), 0], &found[k])
            for k in range(n):
                total.updates += found[k].updates
                if found[k].residual.value > total.residual.value:
                    total.residual = found[k].residual
                if found[k].least.value < total.least.value:
                    total.least = found[k].least
                if found[k].most.value > total.most.value:
                    total.most = found[k].most
            if not examine:
                for g in range(t.groups):
                    by_strip[strip, g] = 0
                    for k in range(n):
                        by_strip[strip, g] = max(by_strip[strip, g], jobs[k].moved[g])
                    change = max(change, by_strip[strip, g])
    finally:
        free(found)
        free(jobs)
    if examine:
        return tuple([(e.value, e.row, e.column, bool(e.column_moves))
                      for e in (total.residual, total.least, total.most)])
    return change, total.updates


cdef void set_aside(const Tables* t, const Job* job, const value_t* L, const value_t* R) noexcept nogil:
    """Note the captures inside the rows' own class while the strip is still as the last sweep left it."""
    cdef Chunk chunk
    describe(t, job.row, job.rows, &chunk)
    capture_slots(t, &chunk, job.strip, L, R, <value_t*>job.aside_l, <value_t*>job.aside_r, True)


cdef void gather_inflow(const Tables* t, int strip, const double* moved, double* inflow) noexcept nogil:
    """inflow[g] = the largest recent change of any tile (strip, group) that group g of this strip reads.

    Row moves read the six strips before, with a capture up to a lap later in columns; column captures read rows up
    to a lap later, in the columns from six classes before. In a mirrored component those may be kept exchanged.
    """
    cdef int g, i, h, low, high, lap = t.squares + 1
    cdef double most
    for g in range(t.groups):
        low = t.group_class[g] - 6
        high = t.group_class[g + 1]
        most = 0
        for h in range(t.groups):
            if t.group_class[h + 1] > t.group_class[g] and t.group_class[h] < high + lap:
                for i in range(max(0, strip - 6), strip):
                    most = max(most, moved[i * t.groups + h])
            if t.group_class[h + 1] > low and t.group_class[h] < high:
                for i in range(strip + 1, min(t.strips, strip + lap + 1)):
                    most = max(most, moved[i * t.groups + h])
            if t.mirrored and t.group_class[h + 1] > strip and t.group_class[h] <= strip + lap:
                for i in range(max(0, low), high):
                    most = max(most, moved[i * t.groups + h])
        inflow[g] = most
