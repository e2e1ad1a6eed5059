# What the sweep kernels work on: tables, chunks, jobs, findings. `_sweep.pyx`, `_sweep_avx2.pyx` and
# `_sweep_avx512.pyx` include this and the other sweep_*.pxi files, each for its instruction set.
#
# A component pairs a row side (states a) with a column side (states b). Two matrices have its values, both in the row
# player's view, as winning probability minus one half:
#     L[a][b]  a is to move        R[a][b]  b is to move
# Changing sides is changing sign. A strip is the set of rows with the same pips; rows of a strip never need each
# other, so its chunks of LANES rows run in parallel. A strip reads the strips before it as this sweep leaves them, in
# columns up to a lap further on, and later strips as the last sweep left them. So it may begin as soon as the strip
# before it is a lap of columns ahead. Which values are computed from which does not depend on the number of threads.
#
# Inside a chunk the columns are visited by ascending pips. Row moves read whole rows of earlier strips. Column moves
# read the ring: the last few column classes of these LANES rows, transposed, in the column player's view:
#     ring_r[b][lane] = -L[a][b]   ring_l[b][lane] = -R[a][b]
# The values that the column player's moves into other finish zones lead to pass through the ring too: they lie far
# apart in memory and are fetched once for each chunk. So both players do the same thing: add up, over the rolls, the
# largest of a few contiguous vectors.
#
# Where a and b share a square there is no position. In L and R such a slot holds the value after the row player's
# capture (b's piece is back in the box); in the ring it holds the value after the column player's capture. So the
# loops need no test for captures. A capture leads to a state with a piece in the box, and there are few of those (a
# tenth for four pieces). Their rows are kept a second time, with every column, as pairs in the column player's view, so
# that a capture by the column player is one load:
#     after_capture[h][b] = (-R[h][b], -L[h][b])
# A table says where each row has the columns of each group, since only part of a streamed component is in memory.

import numpy as np

from cython.parallel cimport prange
from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from madn._core cimport DIE, madn_lowest, madn_popcount
from madn._machine cimport checked_threads

cdef extern from "lanes.h":
    uint32_t overlaps(const uint64_t* squares, uint64_t mask) noexcept nogil
    void best_total_i(const int32_t** option, const int8_t* count, int64_t shift, int32_t* out) noexcept nogil
    void best_total_d(const double** option, const int8_t* count, int64_t shift, double* out) noexcept nogil
    void best_legal_i(const int32_t** option, const int8_t* count, const uint64_t* lands, const uint64_t* squares,
                      int64_t shift, int32_t* out) noexcept nogil
    void best_legal_d(const double** option, const int8_t* count, const uint64_t* lands, const uint64_t* squares,
                      int64_t shift, double* out) noexcept nogil
    void best_total_at_i(const int32_t* base, const int32_t* offset, const int8_t* count, int32_t* out) noexcept nogil
    void best_total_at_d(const double* base, const int32_t* offset, const int8_t* count, double* out) noexcept nogil
    void best_totals_i(const int32_t** option, const int8_t* count, int64_t shift, int32_t* out) noexcept nogil
    void best_totals_d(const double** option, const int8_t* count, int64_t shift, double* out) noexcept nogil
    void solve_pair_i(const int32_t* x, const int32_t* y, const double* f0, const double* f1, const double* f2,
                      const double* f3, bint waits, double rounding, uint32_t kept, int32_t* ring_r,
                      int32_t* ring_l) noexcept nogil
    void solve_pair_d(const double* x, const double* y, const double* f0, const double* f1, const double* f2,
                      const double* f3, bint waits, double rounding, uint32_t kept, double* ring_r,
                      double* ring_l) noexcept nogil
    enum: SIDE_BY_SIDE   # blocks of columns for which row moves are computed at a time
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

cdef enum:
    LINE = 64            # bytes of a cache line
    LANES = 16           # rows of a chunk, columns of a block: as in lanes.h
    MAX_KINDS = 16       # the side itself and the finish zones it can move to
    MAX_OPTIONS = 36     # of all six rolls together, with six pieces
    MAX_TURNS = 16       # kinds of turns that a side can have: see madn.rules.Turn
    TOGETHER = 4         # the most chunks that go through the columns side by side
    AHEAD = 8            # the values of an exit's state are prefetched this many states before they are copied

ctypedef fused value_t:
    int32_t
    double


cdef struct TurnWeights:  # rest * V = unit * (sum of the best options) + wait * V'; see madn.rules.Turn
    double unit
    double wait
    double rest          # total - again
    double scale         # 6 / total: scales the residuals of all kinds of turns to those of six rolls


cdef struct Tables:      # `madn.solver.tables.SweepTables`, which owns the arrays and says what is in them
    int strips, groups, classes, exits, pieces, squares, ring, widest, kinds_of_turns
    bint mirrored, refill, must_capture
    bint late            # the row player's captures lead to values of the last sweep, which `place_captures` brings in
    int first_group, end_group    # the groups that are computed here ...
    int first_column, end_column  # ... and their columns
    const int32_t* row_class
    const int32_t* col_class
    const int32_t* group_class
    const int32_t* first_chunk
    const int32_t* need
    const int64_t* start_l
    const int64_t* start_r
    const int32_t* row_first
    const int8_t* row_count
    const int8_t* row_kind
    const int64_t* row_offset
    const uint64_t* row_lands
    const int8_t* row_turn
    const TurnWeights* row_turns
    const int32_t* row_pips
    const uint64_t* row_facing
    const int32_t* row_captured
    const int32_t* row_boxed
    const int32_t* col_first
    const int8_t* col_count
    const int32_t* col_offset
    const uint64_t* col_lands
    const int8_t* col_turn
    const TurnWeights* col_turns
    const uint64_t* col_masks
    const int32_t* slot
    const int32_t* exit_class
    const int64_t* exit_start
    const int32_t* exit_slot
    const int32_t* hold_group
    const int32_t* hold_state
    const int32_t* boxed_group
    const int32_t* boxed_state
    const int32_t* boxed_with
    const int64_t* capture_start
    const int32_t* capture_class
    void* after_capture
    void* row_exit_l[MAX_KINDS]
    void* row_exit_r[MAX_KINDS]
    void* col_exit_l[MAX_KINDS]
    void* col_exit_r[MAX_KINDS]
    int exit_row                  # the row that the vectors of column exits begin with


cdef struct Chunk:       # what the loops need to know about its rows
    int strip
    int row              # the first row
    int rows             # how many there are, 1..LANES
    bint waits           # whether any of its rows passes the die on after a lost roll
    uint64_t facing[LANES]               # their squares in the column side's numbers; none in unused lanes
    double solve[4][MAX_TURNS][LANES]       # L = solve0 A - solve1 B, R = solve2 A - solve3 B


cdef struct Extreme:     # a value and where it was found
    double value
    int row, column
    bint column_moves


cdef struct Findings:    # what was found in a chunk
    double change        # by a sweep: the largest change of a position in the last group ...
    double after_capture         # ... and of the values that captures lead to, in all groups ...
    int64_t updates      # ... and how many positions were computed
    Extreme residual     # by an examination: largest |V - T(V)|, smallest and largest value for the side to move
    Extreme least
    Extreme most


cdef struct Job:         # one pass over one chunk
    int strip, row, rows
    bint examine         # read only: find the residual and extremes instead of new values
    double skip_below    # leave a group alone when its inputs have moved by less than this since it was computed
    double rounding          # added before rounding: 0 rounds to nearest, -0.5 down, 0.5 up (fixed32)
    double* pending      # by group: how much its inputs have moved since it was last computed
    double* moved        # by group, output: how much it moved in this pass
    void* edge_in        # the ring's content for the six classes before those computed here, or NULL
    void* edge_out       # room for the ring's content for the last six of those, or NULL
    void* aside_l        # captures within the rows' own class (mirrored components)
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
    chunk.waits = False
    for lane in range(LANES):
        a = row + (lane if lane < rows else 0)
        chunk.facing[lane] = t.row_facing[a] if lane < rows else 0
        p = t.row_turns + t.row_turn[a]
        chunk.waits |= p.wait != 0
        for kind in range(t.kinds_of_turns):
            q = t.col_turns + kind
            d = p.rest * q.rest - p.wait * q.wait     # 0 only if neither side could ever move: no such state exists
            chunk.solve[0][kind][lane] = p.unit * q.rest / d
            chunk.solve[1][kind][lane] = p.wait * q.unit / d
            chunk.solve[2][kind][lane] = p.unit * q.wait / d
            chunk.solve[3][kind][lane] = p.rest * q.unit / d
