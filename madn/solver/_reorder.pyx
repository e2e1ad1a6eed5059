"""From the solver's matrices to other orders: the other side as rows, and the thesis' numbering."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from madn._machine cimport MOST_THREADS

ctypedef fused value_t:
    int32_t
    double

ctypedef fused stored_t:
    int32_t
    double
    uint16_t

cdef enum:
    TILE = 32
    LARGEST = 1 << 30    # more than the states of any side


def transpose(const value_t[::1] matrix, int64_t rows, int64_t columns, value_t[::1] out, int64_t first=0,
              int64_t stride=0, int threads=1):
    """out[column][row] = -matrix[row][column]: the same values with the other side as rows.

    Row 0 of `out` begins at `first`, the next `stride` later (by default `rows`). Each thread writes rows of its own.
    """
    cdef int64_t block
    if stride == 0:
        stride = rows
    if not 1 <= threads <= MOST_THREADS or not 0 <= rows < LARGEST or not 0 <= columns < LARGEST \
            or rows * columns > matrix.shape[0]:
        raise ValueError(f"{rows} times {columns} values of {matrix.shape[0]}, on {threads} threads")
    if rows > 0 and columns > 0 and not (first >= 0 and rows <= stride < LARGEST and
                                         first + (columns - 1) * stride + rows <= out.shape[0]):
        raise ValueError(f"{columns} rows, {stride} apart from {first} on, do not fit into {out.shape[0]} values")
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
    cdef int64_t n = start.shape[0], a, b, size = min(L.shape[0], R.shape[0])
    if not 1 <= threads <= MOST_THREADS or first.shape[0] != n or n * n > min(full_l.shape[0], full_r.shape[0]):
        raise ValueError(f"{n} rows, {first.shape[0]} first columns, {full_l.shape[0]} values, {threads} threads")
    for a in range(n):
        if not 0 <= first[a] <= a or a > 0 and first[a] < first[a - 1] or start[a] + first[a] < 0 \
                or start[a] + n > size:
            raise ValueError(f"row {a} from column {first[a]} on is not inside the mirrored matrices")
    for a in prange(n, nogil=True, num_threads=threads, schedule="static"):
        for b in range(first[a]):
            full_l[a * n + b] = -R[start[b] + a]
            full_r[a * n + b] = -L[start[b] + a]
        for b in range(first[a], n):
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
    cdef int64_t n = 0, size = out.shape[0], i, j, left, at
    cdef int32_t a, b
    cdef uint64_t squares
    if width < 1 or skip < 0:
        raise ValueError(f"{width} positions a row, of which {skip} are left out")
    for j in range(columns.shape[0]):
        if not 0 <= columns[j] < column_masks.shape[0]:
            raise ValueError(f"there is no column {columns[j]}")
    with nogil:
        for i in range(skip // width, rows.shape[0]):
            if n == size:
                break
            left = skip - i * width if skip > i * width else 0
            a = rows[i]
            if not 0 <= a < min(from_column.shape[0], row_squares.shape[0]):
                n = -1
                break
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
                    at = start[a] + b if a < start.shape[0] else -1
                    if <uint64_t>at >= <uint64_t>here.shape[0]:
                        n = -1
                        break
                    out[n] = here[at] + <value_t>shift
                else:
                    at = transposed_start[b] + a if b < transposed_start.shape[0] else -1
                    if <uint64_t>at >= <uint64_t>there.shape[0]:
                        n = -1
                        break
                    out[n] = -there[at] + <value_t>shift
                n += 1
            if n < 0:
                break
    if n < 0:
        raise ValueError("a row or column leads out of the matrices")
    return n


def place_rows(const stored_t[::1] values, int64_t stride, const int32_t[::1] rows, const uint64_t[::1] squares,
               const int32_t[::1] columns, const uint64_t[::1] masks, const int32_t[::1] section,
               const int64_t[:, ::1] place, stored_t[::1] out, int threads):
    """Copy the pairs that are positions of some rows, each section of the columns to a place of its own.

    Row i is `values[rows[i] * stride + columns[j]]` where `squares[i] & masks[j]` is 0; section k are the columns
    section[k] to section[k + 1] - 1, in this order, and goes to `out[place[i, k]]` and on.
    """
    cdef int64_t i, j, widest = 0
    cdef int k
    if squares.shape[0] != rows.shape[0] or place.shape[0] != rows.shape[0] or masks.shape[0] != columns.shape[0]:
        raise ValueError("the tables of rows and columns do not fit")
    if section.shape[0] < 1 or place.shape[1] != section.shape[0] - 1 or section[0] != 0 \
            or section[section.shape[0] - 1] != columns.shape[0] or not 1 <= threads <= MOST_THREADS or stride < 0:
        raise ValueError("the sections do not fit the columns")
    for k in range(section.shape[0] - 1):
        if section[k] > section[k + 1]:
            raise ValueError("the sections do not ascend")
    for j in range(columns.shape[0]):
        widest = max(widest, columns[j])
        if columns[j] < 0:
            raise ValueError(f"there is no column {columns[j]}")
    for i in range(rows.shape[0]):
        if rows[i] < 0 or rows[i] * stride + widest >= values.shape[0]:
            raise ValueError(f"row {rows[i]} is outside of {values.shape[0]} values")
        for k in range(place.shape[1]):
            if place[i, k] < 0:
                raise ValueError(f"row {rows[i]} has the place {place[i, k]}")
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
