"""Rearranging the solver's matrices: with the other side as rows, and in the thesis' numbering."""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t

from madn._machine cimport checked_threads

from madn.ranges import check_ascending, check_range

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


def transpose(const stored_t[::1] matrix, int64_t rows, int64_t columns, stored_t[::1] out, int64_t first=0,
              int64_t stride=0, int threads=1):
    """Set out[column][row] = -matrix[row][column]: the same values with the other side as rows. Words keep their sign.

    Row 0 of `out` begins at `first`, each following row `stride` later (by default `rows`). Each thread writes rows of
    its own.
    """
    cdef int64_t block
    if stride == 0:
        stride = rows
    threads = checked_threads(threads)
    if not 0 <= rows < LARGEST or not 0 <= columns < LARGEST or rows * columns > matrix.shape[0]:
        raise ValueError(f"{rows} times {columns} values of {matrix.shape[0]}")
    if rows > 0 and columns > 0 and not (first >= 0 and rows <= stride < LARGEST and
                                         first + (columns - 1) * stride + rows <= out.shape[0]):
        raise ValueError(f"{columns} rows, {stride} apart, from {first} on do not fit into {out.shape[0]} values")
    for block in prange((columns + TILE - 1) // TILE, nogil=True, num_threads=threads, schedule="static"):
        transpose_block(matrix, rows, columns, out, first, stride, TILE * block, min(columns, TILE * (block + 1)))


cdef void transpose_block(const stored_t[::1] matrix, int64_t rows, int64_t columns, stored_t[::1] out, int64_t first,
                          int64_t stride, int64_t begin, int64_t end) noexcept nogil:
    """Transpose columns begin..end-1."""
    cdef int64_t r, a, b
    for r in range(0, rows, 32):
        for b in range(begin, end):
            for a in range(r, min(rows, r + TILE)):
                if stored_t is uint16_t:
                    out[first + b * stride + a] = matrix[a * columns + b]
                else:
                    out[first + b * stride + a] = -matrix[a * columns + b]


def unfold(const value_t[::1] L, const value_t[::1] R, const int64_t[::1] start, const int32_t[::1] first,
           value_t[::1] full_l, value_t[::1] full_r, int threads=1):
    """Make full square matrices from mirrored ones, which keep row a only from column first[a] on."""
    cdef int64_t n = start.shape[0], a, b, size = min(L.shape[0], R.shape[0])
    threads = checked_threads(threads)
    if first.shape[0] != n or n * n > min(full_l.shape[0], full_r.shape[0]):
        raise ValueError(f"{n} rows, {first.shape[0]} first columns, {full_l.shape[0]} values")
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

    Rows and columns are taken in the given order; the first `skip` positions are left out. The value of (a, b) is
    `here[start[a] + b]` from column from_column[a] on and `-there[transposed_start[b] + a]` before that; `shift` is
    added to it. Returns how many values were filled in.
    """
    cdef int64_t n = 0, size = out.shape[0], i, j, left, at
    cdef int32_t a, b
    cdef uint64_t squares
    if width < 1 or skip < 0:
        raise ValueError(f"{width} positions a row, of which {skip} are left out")
    check_range("columns", columns, 0, column_masks.shape[0] - 1)
    check_range("rows", rows, 0, min(from_column.shape[0], row_squares.shape[0]) - 1)
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
    """Copy the values of some rows, positions only, each section of the columns to a place of its own.

    Row i has the values `values[rows[i] * stride + columns[j]]` for all j where `squares[i] & masks[j]` is 0. Section k
    consists of `columns[section[k]]` to `columns[section[k + 1] - 1]`, in this order; it is copied to `out` from
    `place[i, k]` on.
    """
    cdef int64_t i, j, widest = 0
    cdef int k
    if squares.shape[0] != rows.shape[0] or place.shape[0] != rows.shape[0] or masks.shape[0] != columns.shape[0]:
        raise ValueError("the tables of rows and columns do not match")
    if place.shape[1] != section.shape[0] - 1 or stride < 0:
        raise ValueError(f"{place.shape[1]} places of a row for {section.shape[0]} edges of sections, {stride} a row")
    check_ascending("section", section, columns.shape[0])
    check_range("place", place, 0, out.shape[0])
    threads = checked_threads(threads)
    for j in range(columns.shape[0]):
        widest = max(widest, columns[j])
        if columns[j] < 0:
            raise ValueError(f"there is no column {columns[j]}")
    for i in range(rows.shape[0]):
        if rows[i] < 0 or rows[i] * stride + widest >= values.shape[0]:
            raise ValueError(f"row {rows[i]} is outside the {values.shape[0]} values")
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
    """Count the values in each of len(counts) equal parts of 0 to 1, adding to `counts`; 1 belongs to the last part.

    int32 values are the solver's fixed-point numbers, minus one half.
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
