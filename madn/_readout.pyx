"""From the solver's matrices to other orders: the other side as rows, and the thesis' numbering."""

from libc.stdint cimport int32_t, int64_t, uint64_t

ctypedef fused value_t:
    int32_t
    double

cdef enum:
    TILE = 32


def turn(const value_t[::1] matrix, int64_t rows, int64_t columns, value_t[::1] out):
    """out[column][row] = -matrix[row][column]: the same values with the other side as rows.

    One thread: two took twice as long, writing to the same pages.
    """
    cdef int64_t r, c, a, b
    if rows * columns > min(matrix.shape[0], out.shape[0]):
        raise ValueError("the matrices are smaller than rows times columns")
    with nogil:
        for r in range(0, rows, 32):
            for c in range(0, columns, 32):
                for b in range(c, min(columns, c + TILE)):
                    for a in range(r, min(rows, r + TILE)):
                        out[b * rows + a] = -matrix[a * columns + b]


def unfold(const value_t[::1] L, const value_t[::1] R, const int64_t[::1] start, const int32_t[::1] first,
           value_t[::1] full_l, value_t[::1] full_r):
    """Make full square matrices of mirrored ones, which keep row a only from column first[a] on."""
    cdef int64_t n = start.shape[0], a, b
    if n * n > min(full_l.shape[0], full_r.shape[0]):
        raise ValueError("the full matrices are too small")
    with nogil:
        for a in range(n):
            for b in range(first[a], n):
                full_l[a * n + b] = L[start[a] + b]
                full_r[a * n + b] = R[start[a] + b]
            for b in range(first[a]):
                full_l[a * n + b] = -R[start[b] + a]
                full_r[a * n + b] = -L[start[b] + a]


def copy_rows(const value_t[::1] here, const int64_t[::1] start, const int32_t[::1] from_column,
              const value_t[::1] there, const int64_t[::1] turned_start, const uint64_t[::1] row_squares,
              const int32_t[::1] rows, const uint64_t[::1] column_masks, const int32_t[::1] columns, int64_t width,
              int64_t skip, value_t[::1] out, double shift):
    """Fill `out` with the values of the pairs (row, column) that are positions, row after row, `width` a row.

    Rows and columns are taken in the order given, after leaving out the first `skip` pairs. The pair is
    `here[start[a] + b]` from column from_column[a] on, and before it `-there[turned_start[b] + a]`.
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
                    out[n] = -there[turned_start[b] + a] + <value_t>shift
                n += 1
    return n
