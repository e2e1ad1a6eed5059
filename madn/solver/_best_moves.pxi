# Finds the best move for every position and roll, and how much it matters, from the rows of a pair of finish zones.
# `_best_moves.pyx` and `_best_moves_avx2.pyx` compile this source for two instruction sets.
#
# Both matrices are in the row player's view, minus one half, in stored units (as in `sweep_structs.pxi`), and every row
# has all columns: `L[start[a] + b]` if a is to move, `R[start[a] + b]` if b is. The rows may be in a window: only the
# rows that are asked for and those that their moves lead to are accessed.

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int32_t, int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free

from madn._core cimport DIE, madn_lowest
from madn._machine cimport checked_threads

from madn.ranges import check_ascending, check_range

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
    MOST = 4             # options for a roll: a choice has 2 bits of a word
    MAX_KINDS = 16       # the side itself and the finish zones it can move to

ctypedef fused value_t:
    int32_t
    double


cdef struct Tables:      # what the loops read; the caller owns the arrays
    const int64_t* start
    const uint64_t* facing
    const int32_t* first
    const int8_t* kind
    const int64_t* offset
    const uint64_t* lands                 # NULL without a duty to capture
    const uint64_t* masks
    const void* matrix[MAX_KINDS][2]      # L and R by kind
    int64_t columns
    double tie


def fill_captures(value_t[::1] L, value_t[::1] R, const int64_t[::1] start, const uint64_t[::1] facing,
                  const int32_t[::1] square_first, const int32_t[::1] holder, const int32_t[::1] captured,
                  int64_t columns, int64_t first_row, int64_t end_row, int threads):
    """Fill the slots of rows first_row..end_row-1 where both sides share a square with the value after the capture.

    That is the row's value against the column state without its piece on that square, or without all such pieces if
    they share several squares. `holder[square_first[q]:square_first[q + 1]]` are the columns that hold square q;
    `captured` says which state each becomes without that piece.
    """
    cdef int64_t a, squares = square_first.shape[0] - 1, held = min(holder.shape[0], captured.shape[0])
    check_ascending("square_first", square_first, held)
    check_range("holder", holder, 0, columns - 1)
    check_range("captured", captured, 0, columns - 1)
    check_rows(start, facing, columns, first_row, end_row, min(L.shape[0], R.shape[0]), threads)
    for a in range(first_row, end_row):
        if facing[a] >> squares:
            raise ValueError("a row stands on a square that has no list of columns")
    if held == 0 or L.shape[0] == 0:
        return
    for a in prange(first_row, end_row, nogil=True, num_threads=threads, schedule="dynamic", chunksize=4):
        fill_row(&L[0] + start[a], &R[0] + start[a], facing[a], &square_first[0], &holder[0], &captured[0])


cdef void fill_row(value_t* left, value_t* right, uint64_t squares, const int32_t* square_first,
                   const int32_t* holder, const int32_t* captured) noexcept nogil:
    """Fill a row square by square, ascending: the slot of a state that shares two is right only after the second."""
    cdef int square, i
    while squares:
        square = madn_lowest(squares)
        squares &= squares - 1
        for i in range(square_first[square], square_first[square + 1]):
            left[holder[i]] = left[captured[i]]
            right[holder[i]] = right[captured[i]]


def choose(list bases, const int64_t[::1] start, const uint64_t[::1] facing, const int32_t[::1] first,
           const int8_t[::1] kind, const int64_t[::1] offset, const uint64_t[::1] lands, const uint64_t[::1] masks,
           int64_t first_row, int64_t end_row, double tie, int threads, uint16_t[::1] words=None):
    """Find the best option of every roll for rows first_row..end_row-1 against all columns.

    `bases` are the matrices (L, R) by kind, the component itself first. For roll r, row a has the options
    first[6a + r - 1] to first[6a + r] - 1. Option o leads to the vector that begins at offset[o] in the R of its kind,
    or after a 6 in the L. `lands` is None, or gives the square that each option lands on, as a bit numbered as in the
    columns' `masks`: then there is a duty to capture. The last legal option within `tie` of the best is chosen:
    words[(a - first_row) * columns + b] has 2 bits for each roll, those of roll 1 lowest. They are 0 where there is at
    most one option or no position.

    Returns, in stored units and for positions only: the number of decisions, the number of those in which no other
    option is within the tie of the best, the sum of all margins (best minus second-best), and the largest margin as
    (value, row, column, roll). Among equal margins it is the first by row, then column, then roll; -1 means none.
    """
    cdef Tables t
    cdef int64_t i, columns = masks.shape[0], rows = end_row - first_row
    cdef bint wide
    if not 0 < len(bases) <= MAX_KINDS:
        raise ValueError("no matrices, or more kinds than a side can move to")
    sizes = np.array([[len(left), len(right)] for left, right in bases], np.int64)    # raises if one is not a pair
    values, _ = bases[0]
    wide = values.dtype == np.float64
    if not 0 <= tie < 1 << 30 or not (wide or tie == <int32_t>tie):
        raise ValueError("the tie is not a number of stored units")
    check_rows(start, facing, columns, first_row, end_row, sizes[0].min(), threads)
    check_options(first, kind, offset, columns, first_row, end_row, sizes)
    if lands is not None and lands.shape[0] != offset.shape[0]:
        raise ValueError(f"{lands.shape[0]} squares for {offset.shape[0]} options")
    if words is not None and words.shape[0] < rows * columns:
        raise ValueError("no room for the words")
    if rows == 0 or columns == 0:
        return 0, 0, 0.0 if wide else 0, (-1.0, -1, -1, -1)
    t.start, t.facing, t.first, t.masks = &start[0], &facing[0], &first[0], &masks[0]
    t.kind = &kind[0] if kind.shape[0] else NULL
    t.offset = &offset[0] if offset.shape[0] else NULL
    t.lands = &lands[0] if lands is not None and lands.shape[0] else NULL
    t.columns, t.tie = columns, tie
    for i, (left, right) in enumerate(bases):
        t.matrix[i][0], t.matrix[i][1] = address(left, wide), address(right, wide)
    cdef found_t* found = <found_t*>calloc(rows, sizeof(found_t))
    if found == NULL:
        raise MemoryError
    cdef uint16_t* out = &words[0] if words is not None else NULL
    try:
        with nogil:
            for i in range(rows):
                found[i].margin = -1
            if wide:
                choose_rows[double](&t, first_row, rows, threads, out, 0.0, found)
            else:
                choose_rows[int32_t](&t, first_row, rows, threads, out, 0, found)
        return added_up(found, first_row, rows, wide)
    finally:
        free(found)


cdef void choose_rows(const Tables* t, int64_t first_row, int64_t rows, int threads, uint16_t* words, value_t typed,
                      found_t* found) noexcept nogil:
    """Go through the columns block by block, each for all rows, so that what they lead to is read from memory once."""
    cdef int64_t b = 0, i
    while b < t.columns:
        for i in prange(rows, num_threads=threads, schedule="dynamic", chunksize=8):
            choose_block(t, first_row + i, b, words + i * t.columns + b if words != NULL else NULL, typed, &found[i])
        b += BLOCK


cdef void choose_block(const Tables* t, int64_t a, int64_t b, uint16_t* words, value_t typed,
                       found_t* found) noexcept nogil:
    """Choose for row a against the block of columns from b on. `typed` only conveys the type of the values."""
    cdef const value_t* option[DIE * MOST]
    cdef int count[DIE]
    cdef int o, begin = t.first[DIE * a], six = t.first[DIE * a + DIE - 1], end = t.first[DIE * a + DIE]
    cdef int i, n = <int>min(<int64_t>BLOCK, t.columns - b)
    for o in range(begin, end):
        option[o - begin] = <const value_t*>t.matrix[t.kind[o]][o < six] + t.offset[o] + b
    for i in range(DIE):
        count[i] = t.first[DIE * a + i + 1] - t.first[DIE * a + i]
    cdef const uint64_t* lands = t.lands + begin if t.lands != NULL else NULL
    if value_t is int32_t:
        choose_i(option, count, lands, t.masks + b, t.facing[a], b, n, <int32_t>t.tie, words, found)
    else:
        choose_d(option, count, lands, t.masks + b, t.facing[a], b, n, t.tie, words, found)


cdef added_up(const found_t* found, int64_t first_row, int64_t rows, bint wide):
    """Combine what was found in all rows, row after row: the bits do not depend on the number of threads."""
    cdef int64_t i, widest = 0, decisions = 0, unique = 0, whole = 0
    cdef double margins = 0
    for i in range(rows):
        decisions += found[i].decisions
        unique += found[i].unique
        whole += found[i].whole_margins
        margins += found[i].margins
        if found[i].margin > found[widest].margin:
            widest = i
    margin = (-1.0, -1, -1, -1)
    if found[widest].margin >= 0:
        margin = (found[widest].margin, first_row + widest, found[widest].margin_column, found[widest].margin_roll)
    return decisions, unique, margins if wide else whole, margin


cdef int check_rows(const int64_t[::1] start, const uint64_t[::1] facing, int64_t columns, int64_t first_row,
                    int64_t end_row, int64_t size, int threads) except -1:
    """Raise ValueError unless all these rows are inside matrices of this size."""
    cdef int64_t a
    checked_threads(threads)
    if not 0 <= first_row <= end_row <= min(start.shape[0], facing.shape[0]) or columns < 0:
        raise ValueError("not a range of rows")
    for a in range(first_row, end_row):
        if not 0 <= start[a] <= size - columns:
            raise ValueError("a row is outside of its matrix")
    return 0


cdef int check_options(const int32_t[::1] first, const int8_t[::1] kind, const int64_t[::1] offset, int64_t columns,
                       int64_t first_row, int64_t end_row, const int64_t[:, ::1] sizes) except -1:
    """Raise ValueError unless all options of these rows are inside the matrices and no roll has too many."""
    cdef int64_t i, o, known = min(kind.shape[0], offset.shape[0])
    if first.shape[0] <= DIE * end_row:
        raise ValueError("a row has no list of options")
    for i in range(DIE * first_row, DIE * end_row):
        if not 0 <= first[i] <= first[i + 1] <= min(known, <int64_t>first[i] + MOST):
            raise ValueError("not the options of a roll, or more than four")
        for o in range(first[i], first[i + 1]):
            if not 0 <= kind[o] < sizes.shape[0] \
                    or not 0 <= offset[o] <= sizes[kind[o], i % DIE < DIE - 1] - columns:
                raise ValueError("an option leads out of its matrix")
    return 0


cdef const void* address(array, bint wide) except? NULL:
    """Return a pointer to the values; the caller keeps the array alive."""
    cdef const int32_t[::1] narrow
    cdef const double[::1] double_width
    if wide:
        double_width = array
        return &double_width[0]
    narrow = array
    return &narrow[0]
