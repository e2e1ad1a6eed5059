# Finds the best move for every position of a strip and every roll, either side to move, and how much it matters. The
# options are the vectors of which a sweep takes the largest (`sweep_arithmetic.pxi`): the row player's are in rows of
# earlier strips, the column player's in the ring.

from libc.stdint cimport uint16_t

cdef extern from "best_moves.h":
    enum:
        BLOCK

    ctypedef struct found_t:
        int64_t decisions, unique, whole_margins
        double margins, margin
        int64_t margin_column
        int margin_roll

    void choose_i(const int32_t** option, const int* count, const uint64_t* lands, const uint64_t* masks,
                  uint64_t squares, int64_t first, int n, int32_t tie, uint16_t* words, found_t* found) noexcept nogil
    void choose_d(const double** option, const int* count, const uint64_t* lands, const uint64_t* masks,
                  uint64_t squares, int64_t first, int n, double tie, uint16_t* words, found_t* found) noexcept nogil

cdef enum:
    MOST_OF_A_ROLL = 4   # options: a choice has 2 bits of a word


cdef struct Chosen:      # the choices in some rows and columns of a strip
    uint16_t* words_l    # row after row: the row player's choices, 2 bits a roll ...
    uint16_t* words_r    # ... and the column player's
    int row, column      # the first ones
    int64_t width        # how many columns
    double tie
    found_t row_moves
    found_t column_moves
    int64_t widest_row, widest_column     # where the largest margins are, together with either's `margin_column`


cdef inline void choose(const value_t** option, const int8_t* counts, const uint64_t* lands, const uint64_t* masks,
                        uint64_t squares, int64_t first, int n, double tie, uint16_t* words,
                        found_t* found) noexcept nogil:
    cdef int roll
    cdef int count[DIE]
    for roll in range(DIE):
        count[roll] = counts[roll]
    if value_t is int32_t:
        choose_i(option, count, lands, masks, squares, first, n, <int32_t>tie, words, found)
    else:
        choose_d(option, count, lands, masks, squares, first, n, tie, words, found)


cdef void choose_for_rows(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t** bases_l,
                          const value_t** bases_r, Chosen* chosen) noexcept nogil:
    """Find the row player's choices in columns c0..c1-1."""
    cdef int lane, a, b, o, count
    cdef double widest
    cdef const value_t* option[MAX_OPTIONS]
    cdef const value_t* shifted[MAX_OPTIONS]
    for lane in range(chunk.rows):
        a = chunk.row + lane
        count = t.row_first[a + 1] - t.row_first[a]
        options(t.row_first + a, t.row_count + DIE * a, t.row_kind, t.row_offset, bases_l, bases_r, option)
        widest = chosen.row_moves.margin
        b = c0
        while b < c1:
            for o in range(count):
                shifted[o] = option[o] + b
            choose(shifted, t.row_count + DIE * a, t.row_lands + t.row_first[a] if t.must_capture else NULL,
                   t.col_masks + b, t.row_facing[a], b, min(<int>BLOCK, c1 - b), chosen.tie,
                   chosen.words_l + (a - chosen.row) * chosen.width + b - chosen.column, &chosen.row_moves)
            b += BLOCK
        if chosen.row_moves.margin > widest:
            chosen.widest_row = a


cdef void choose_for_columns(const Tables* t, const Chunk* chunk, int c0, int c1, const value_t* ring,
                             Chosen* chosen) noexcept nogil:
    """Find the column player's choices in columns c0..c1-1."""
    cdef int lane, b, o
    cdef double widest
    cdef uint16_t words[LANES]
    cdef const value_t* option[MAX_OPTIONS]
    cdef const int32_t* offset
    for b in range(c0, c1):
        offset = t.col_offset + t.col_first[b]
        for o in range(t.col_first[b + 1] - t.col_first[b]):
            option[o] = ring + offset[o]
        widest = chosen.column_moves.margin
        choose(option, t.col_count + DIE * b, t.col_lands + t.col_first[b] if t.must_capture else NULL,
               chunk.facing, t.col_masks[b], chunk.row, chunk.rows, chosen.tie, words, &chosen.column_moves)
        if chosen.column_moves.margin > widest:
            chosen.widest_column = b
        for lane in range(chunk.rows):
            chosen.words_r[(chunk.row + lane - chosen.row) * chosen.width + b - chosen.column] = words[lane]


cdef void choose_chunk(const Tables* t, const Chunk* chunk, int g0, int g1, const value_t* L, const value_t* R,
                       value_t* ring_l, value_t* ring_r, Chosen* chosen) noexcept nogil:
    """Choose for a chunk in the groups g0..g1-1. In a mirrored component the column player's choices in the rows' own
    class are not written: they are the row player's choices in another row."""
    cdef const value_t* rows_l[MAX_KINDS]
    cdef const value_t* rows_r[MAX_KINDS]
    cdef int kind, g, j, c0, c1, own_end, earliest, have = 0, exits = 0
    cdef int lowest = chunk.strip if t.mirrored else 0
    own_end = t.col_class[chunk.strip + 1] if t.mirrored else 0
    rows_l[0] = L
    rows_r[0] = R
    for kind in range(1, MAX_KINDS):
        rows_l[kind] = <const value_t*>t.row_exit_l[kind]
        rows_r[kind] = <const value_t*>t.row_exit_r[kind]
    for g in range(g0, g1):
        j = max(t.group_class[g], lowest)
        if j >= t.group_class[g + 1]:
            continue
        c0 = t.col_class[j]
        c1 = t.col_class[t.group_class[g + 1]]
        load_exits(t, chunk, max(exits, j - DIE), t.group_class[g + 1], ring_l, ring_r)
        exits = t.group_class[g + 1]
        earliest = max(have, t.col_class[max(0, j - DIE)])
        if earliest < t.col_class[lowest]:
            load_earlier(t, chunk, earliest, t.col_class[lowest], L, R, ring_l, ring_r)
            earliest = t.col_class[lowest]
        load(t, chunk, earliest, c1, L, R, ring_l, ring_r)
        column_captures(t, chunk, group_of(t, earliest, g), earliest, c1, ring_l, ring_r, t.slot)
        have = c1
        choose_for_rows(t, chunk, c0, c1, rows_l, rows_r, chosen)
        choose_for_columns(t, chunk, max(c0, own_end), c1, ring_l, chosen)


cdef choose_strip(const Tables* t, int strip, int g0, int g1, const value_t[::1] L, const value_t[::1] R,
                  value_t[::1] rings, Chosen* chosen):
    """Fill the words of `chosen`; return what was found for either side to move."""
    cdef int k, row, first = t.row_class[strip], rows = t.row_class[strip + 1] - first
    cdef int chunks = t.first_chunk[strip + 1] - t.first_chunk[strip]
    cdef Chunk chunk
    with nogil:
        for k in range(chunks):
            row = first + k * rows // chunks
            describe(t, strip, row, first + (k + 1) * rows // chunks - row, &chunk)
            choose_chunk(t, &chunk, g0, g1, &L[0], &R[0], &rings[0], &rings[0] + <int64_t>t.ring * LANES, chosen)
    cdef found_t* by_row = &chosen.row_moves
    cdef found_t* by_column = &chosen.column_moves
    wide = value_t is double
    return (
        (by_row.decisions, by_row.unique, by_row.margins if wide else by_row.whole_margins,
         (by_row.margin, chosen.widest_row, by_row.margin_column, by_row.margin_roll)),
        (by_column.decisions, by_column.unique, by_column.margins if wide else by_column.whole_margins,
         (by_column.margin, by_column.margin_column, chosen.widest_column, by_column.margin_roll)),
    )
