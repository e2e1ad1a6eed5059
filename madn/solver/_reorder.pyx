"""From the solver's matrices to other orders: the other side as rows, and the thesis' numbering."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

ctypedef fused value_t:
    int32_t
    double

ctypedef fused stored_t:
    int32_t
    double
    uint16_t

cdef enum:
    TILE = 32


def transpose(const value_t[::1] matrix, int64_t rows, int64_t columns, value_t[::1] out, int64_t first=0,
         int64_t stride=0, int threads=1):
    """out[column][row] = -matrix[row][column]: the same values with the other side as rows.

    Row 0 of `out` begins at `first`, the next `stride` later (by default `rows`). Each thread writes rows of its own.
    """
    cdef int64_t block
    if stride == 0:
        stride = rows
    if rows * columns > matrix.shape[0] or first < 0 or stride < rows:
        raise ValueError("the matrix is smaller than rows times columns")
    if rows > 0 and columns > 0 and first + (columns - 1) * stride + rows > out.shape[0]:
        raise ValueError("the transposed matrix does not fit")
    for block in prange((columns + TILE - 1) // TILE, nogil=True, num_threads=threads, schedule="static"):
        transpose_block(matrix, rows, columns, out, first, stride, TILE * block, min(columns, TILE * (block + 1)))


cdef void transpose_block(const value_t[::1] matrix, int64_t rows, int64_t columns, value_t[::1] out, int64_t first,
                     int64_t stride, int64_t begin, int64_t end) noexcept nogil:
    """Columns begin..end-1."""
    cdef int64_t r, a, b
    for r in range(0, rows, 32):
        for b in range(begin, end):
            for a in range(r, min(rows, r + TILE)):
                out[first + b * stride + a] = -matrix[a * columns + b]


def unfold(const value_t[::1] L, const value_t[::1] R, const int64_t[::1] start, const int32_t[::1] first,
           value_t[::1] full_l, value_t[::1] full_r, int threads=1):
    """Make full square matrices of mirrored ones, which keep row a only from column first[a] on."""
    cdef int64_t n = start.shape[0], a
    if n * n > min(full_l.shape[0], full_r.shape[0]):
        raise ValueError("the full matrices are too small")
    for a in prange(n, nogil=True, num_threads=threads, schedule="static"):
        unfold_row(L, R, start, first[a], full_l, full_r, a, n)


cdef void unfold_row(const value_t[::1] L, const value_t[::1] R, const int64_t[::1] start, int64_t first,
                     value_t[::1] full_l, value_t[::1] full_r, int64_t a, int64_t n) noexcept nogil:
    cdef int64_t b
    for b in range(first):
        full_l[a * n + b] = -R[start[b] + a]
        full_r[a * n + b] = -L[start[b] + a]
    for b in range(first, n):
        full_l[a * n + b] = L[start[a] + b]
        full_r[a * n + b] = R[start[a] + b]


def copy_rows(const value_t[::1] here, const int64_t[::1] start, const int32_t[::1] from_column,
              const value_t[::1] there, const int64_t[::1] transposed_start, const uint64_t[::1] row_squares,
              const int32_t[::1] rows, const uint64_t[::1] column_masks, const int32_t[::1] columns, int64_t width,
              int64_t skip, value_t[::1] out, double shift):
    """Fill `out` with the values of the pairs (row, column) that are positions, row after row, `width` a row.

    Rows and columns are taken in the order given, after leaving out the first `skip` pairs. The pair is
    `here[start[a] + b]` from column from_column[a] on, and before it `-there[transposed_start[b] + a]`.
    """
    cdef int64_t n = 0, size = out.shape[0], i, j, left
    cdef int32_t a, b
    cdef uint64_t squares
    with nogil:
        for i in range(skip // width, rows.shape[0]):
            if n == size:
                break
            left = skip - i * width if skip > i * width else 0
            a = rows[i]
            squares = row_squares[a]
            for j in range(columns.shape[0]):
                b = columns[j]
                if squares & column_masks[b]:
                    continue
                if left:
                    left -= 1
                    continue
                if n == size:
                    break
                if b >= from_column[a]:
                    out[n] = here[start[a] + b] + <value_t>shift
                else:
                    out[n] = -there[transposed_start[b] + a] + <value_t>shift
                n += 1
    return n


def place_rows(const stored_t[::1] values, int64_t stride, const int32_t[::1] rows, const uint64_t[::1] squares,
               const int32_t[::1] columns, const uint64_t[::1] masks, const int32_t[::1] section,
               const int64_t[:, ::1] place, stored_t[::1] out, int threads):
    """Copy the pairs that are positions of some rows, each section of the columns to a place of its own.

    Row i is `values[rows[i] * stride + columns[j]]` where `squares[i] & masks[j]` is 0; section k are the columns
    section[k] to section[k + 1] - 1, in this order, and goes to `out[place[i, k]]` and on.
    """
    cdef int64_t i
    cdef int k
    if squares.shape[0] != rows.shape[0] or place.shape[0] != rows.shape[0] or masks.shape[0] != columns.shape[0]:
        raise ValueError("the tables of rows and columns do not fit")
    if place.shape[1] != section.shape[0] - 1 or section[section.shape[0] - 1] != columns.shape[0]:
        raise ValueError("the sections do not fit the columns")
    for i in prange(rows.shape[0], nogil=True, num_threads=threads, schedule="dynamic"):
        for k in range(section.shape[0] - 1):
            place_section(&values[rows[i] * stride], squares[i], columns, masks, section[k], section[k + 1], out,
                          place[i, k])


cdef void place_section(const stored_t* row, uint64_t squares, const int32_t[::1] columns,
                        const uint64_t[::1] masks, int begin, int end, stored_t[::1] out,
                        int64_t at) noexcept nogil:
    cdef int j
    for j in range(begin, end):
        if squares & masks[j] == 0:
            if at >= out.shape[0]:
                return
            out[at] = row[columns[j]]
            at += 1


def count_values(const value_t[::1] values, int64_t[::1] counts):
    """Add to counts[k] how many values lie in [k, k + 1) of as many equal parts of 0 to 1; 1 belongs to the last.

    int32 are fixed-point numbers as the solver has them, minus one half.
    """
    cdef int64_t i, k, parts = counts.shape[0]
    if parts < 1:
        raise ValueError("there must be at least one part")
    with nogil:
        for i in range(values.shape[0]):
            if value_t is int32_t:
                k = ((<int64_t>values[i] + (1 << 28)) * parts) >> 29
            else:
                k = <int64_t>(values[i] * parts)
            counts[min(max(k, 0), parts - 1)] += 1
