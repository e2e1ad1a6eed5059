"""Strips of a component on disk: only positions, tile after tile, without the slots where both stand on one square.

A tile is a class of rows against a class of columns: the values of L, row after row, then those of R, then one value
that means nothing (the loops write a value first and then see whether it was a position).
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint64_t

ctypedef fused value_t:
    int32_t
    double


def count(const uint64_t[::1] facing, const int32_t[::1] row_class, const uint64_t[::1] masks,
          const int32_t[::1] col_class, bint mirrored, int threads):
    """[i, j]: how many pairs of row class i and column class j are positions; mirrored: only j >= i."""
    cdef int strips = row_class.shape[0] - 1, classes = col_class.shape[0] - 1, i
    out = np.zeros((strips, classes), np.int64)
    cdef int64_t[:, ::1] counts = out
    for i in prange(strips, nogil=True, num_threads=threads, schedule="dynamic"):
        count_strip(facing, row_class[i], row_class[i + 1], masks, col_class, i if mirrored else 0, counts[i])
    return out


cdef void count_strip(const uint64_t[::1] facing, int row, int end, const uint64_t[::1] masks,
                      const int32_t[::1] col_class, int first, int64_t[::1] counts) noexcept nogil:
    cdef int a, b, j
    cdef int64_t n
    for a in range(row, end):
        for j in range(first, col_class.shape[0] - 1):
            n = 0
            for b in range(col_class[j], col_class[j + 1]):
                n += (masks[b] & facing[a]) == 0
            counts[j] += n


def pack(const value_t[::1] L, const value_t[::1] R, const int64_t[::1] start, const uint64_t[::1] facing,
         const uint64_t[::1] masks, int row, int end, const int32_t[::1] col_class, int first,
         const int64_t[::1] counts, value_t[::1] out):
    """Write the tiles of rows row..end-1 and the column classes from `first` on to `out`; return their length."""
    cdef int j
    cdef int64_t at = 0
    with nogil:
        for j in range(first, col_class.shape[0] - 1):
            pack_tile(L, start, facing, masks, row, end, col_class[j], col_class[j + 1], &out[at])
            pack_tile(R, start, facing, masks, row, end, col_class[j], col_class[j + 1], &out[at + counts[j]])
            out[at + 2 * counts[j]] = 0
            at += 2 * counts[j] + 1
    return at


cdef void pack_tile(const value_t[::1] matrix, const int64_t[::1] start, const uint64_t[::1] facing,
                    const uint64_t[::1] masks, int row, int end, int c0, int c1, value_t* out) noexcept nogil:
    cdef int a, b
    cdef int64_t k = 0, at
    cdef uint64_t squares
    for a in range(row, end):
        squares = facing[a]
        at = start[a]
        for b in range(c0, c1):
            out[k] = matrix[at + b]
            k += (masks[b] & squares) == 0


def unpack(const value_t[::1] packed, value_t[::1] L, value_t[::1] R, const int64_t[::1] start,
           const uint64_t[::1] facing, const uint64_t[::1] masks, int row, int end, const int32_t[::1] col_class,
           int first, int last, const int64_t[::1] counts):
    """The inverse of `pack` for the column classes first..last-1; slots that are no position get any value.

    L or R may be None: the other is all that is wanted.
    """
    cdef int j
    cdef int64_t at = 0
    cdef bint left = L is not None, right = R is not None
    with nogil:
        for j in range(first, last):
            if left:
                unpack_tile(&packed[at], L, start, facing, masks, row, end, col_class[j], col_class[j + 1])
            if right:
                unpack_tile(&packed[at + counts[j]], R, start, facing, masks, row, end, col_class[j],
                            col_class[j + 1])
            at += 2 * counts[j] + 1
    return at


cdef void unpack_tile(const value_t* packed, value_t[::1] matrix, const int64_t[::1] start,
                      const uint64_t[::1] facing, const uint64_t[::1] masks, int row, int end, int c0,
                      int c1) noexcept nogil:
    cdef int a, b
    cdef int64_t k = 0, at
    cdef uint64_t squares
    for a in range(row, end):
        squares = facing[a]
        at = start[a]
        for b in range(c0, c1):
            matrix[at + b] = packed[k]
            k += (masks[b] & squares) == 0
