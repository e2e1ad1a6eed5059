"""Strips of a component on disk: only positions, tile after tile, without the slots where both stand on one square.

A tile is a class of rows against a class of columns: the values of L, row after row, then those of R, then one value
that means nothing (the loops write a value first and then see whether it was a position).
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t

from madn._machine cimport MOST_THREADS

ctypedef fused value_t:
    int32_t
    double


cdef class Tiles:
    """The tiles of a pair of sides: `counts[i, j]` pairs of row class i and column class j are positions.

    Of a mirrored pair only the classes j >= i are kept.
    """

    cdef const uint64_t[::1] facing, masks
    cdef const int32_t[::1] row_class, col_class
    cdef const int64_t[:, ::1] positions
    cdef readonly object counts

    def __init__(self, const uint64_t[::1] facing not None, const int32_t[::1] row_class not None,
                 const uint64_t[::1] masks not None, const int32_t[::1] col_class not None, bint mirrored, int threads):
        cdef int strips = <int>row_class.shape[0] - 1, i
        if not ascends(row_class, facing.shape[0]) or not ascends(col_class, masks.shape[0]):
            raise ValueError("the classes of rows or columns do not ascend from 0 to their number")
        if not 1 <= threads <= MOST_THREADS or mirrored and row_class.shape[0] != col_class.shape[0]:
            raise ValueError(f"{threads} threads, {row_class.shape[0]} and {col_class.shape[0]} edges of classes")
        self.facing, self.masks, self.row_class, self.col_class = facing, masks, row_class, col_class
        self.counts = np.zeros((strips, col_class.shape[0] - 1), np.int64)
        cdef int64_t[:, ::1] counts = self.counts
        for i in prange(strips, nogil=True, num_threads=threads, schedule="dynamic"):
            count_strip(facing, row_class[i], row_class[i + 1], masks, col_class, i if mirrored else 0, counts[i])
        self.positions = self.counts
        self.counts.flags.writeable = False

    def pack(self, int strip, const value_t[::1] L not None, const value_t[::1] R not None,
             const int64_t[::1] start not None, int first, value_t[::1] out not None):
        """Write the tiles of a strip from column class `first` on to `out`; return their length.

        `start[i]` is the place of column 0 of row i of the strip in L and R.
        """
        cdef int last = <int>self.col_class.shape[0] - 1
        cdef int64_t at
        cdef const uint64_t* facing = self.checked(strip, start, first, last, min(L.shape[0], R.shape[0]))
        if self.length(strip, first, last) > out.shape[0]:
            raise ValueError(f"{out.shape[0]} values are no room for {self.length(strip, first, last)}")
        with nogil:
            at = over_tiles(self, strip, first, last, start, facing, <value_t*>&L[0], <value_t*>&R[0], &out[0], True)
        return at

    def unpack(self, int strip, const value_t[::1] packed not None, value_t[::1] L, value_t[::1] R,
               const int64_t[::1] start not None, int first, int last):
        """The inverse of `pack` for the column classes first..last-1; slots that are no position get any value.

        L or R may be None: the other is all that is wanted.
        """
        cdef value_t* left = &L[0] if L is not None else NULL
        cdef value_t* right = &R[0] if R is not None else NULL
        cdef int64_t size = min(L.shape[0] if left else INT64_MAX, R.shape[0] if right else INT64_MAX), at
        if left == NULL and right == NULL:
            raise ValueError("there is no matrix to unpack to")
        cdef const uint64_t* facing = self.checked(strip, start, first, last, size)
        if self.length(strip, first, last) > packed.shape[0]:
            raise ValueError(f"{packed.shape[0]} values instead of {self.length(strip, first, last)}")
        with nogil:
            at = over_tiles(self, strip, first, last, start, facing, left, right, <value_t*>&packed[0], False)
        return at

    cdef int64_t length(self, int strip, int first, int last):
        """How many values the tiles of these column classes take."""
        cdef int j
        cdef int64_t total = 0
        for j in range(first, last):
            total += 2 * self.positions[strip, j] + 1
        return total

    cdef const uint64_t* checked(self, int strip, const int64_t[::1] start, int first, int last,
                                 int64_t size) except? NULL:
        """The squares of the rows of a strip, if all their columns lie in matrices of this size."""
        cdef int64_t i
        if not 0 <= strip < self.positions.shape[0] or not 0 <= first <= last <= self.positions.shape[1]:
            raise ValueError(f"there is no strip {strip} with the column classes {first} to {last}")
        if start.shape[0] != self.row_class[strip + 1] - self.row_class[strip]:
            raise ValueError(f"{start.shape[0]} rows, but strip {strip} has "
                             f"{self.row_class[strip + 1] - self.row_class[strip]}")
        for i in range(start.shape[0]):
            if start[i] + self.col_class[first] < 0 or start[i] + self.col_class[last] > size:
                raise ValueError(f"row {i} of strip {strip} is outside of a matrix of {size} values")
        if start.shape[0] == 0 or self.facing.shape[0] == 0:
            return NULL
        return &self.facing[self.row_class[strip]]


cdef bint ascends(const int32_t[::1] edges, int64_t last) noexcept:
    """Whether numbers ascend from 0 to the last."""
    cdef Py_ssize_t i
    if edges.shape[0] < 1 or edges[0] != 0 or edges[edges.shape[0] - 1] != last:
        return False
    for i in range(edges.shape[0] - 1):
        if edges[i] > edges[i + 1]:
            return False
    return True


cdef void count_strip(const uint64_t[::1] facing, int row, int end, const uint64_t[::1] masks,
                      const int32_t[::1] col_class, int first, int64_t[::1] counts) noexcept nogil:
    cdef int a, b, j
    cdef int64_t n
    for a in range(row, end):
        for j in range(first, <int>col_class.shape[0] - 1):
            n = 0
            for b in range(col_class[j], col_class[j + 1]):
                n += (masks[b] & facing[a]) == 0
            counts[j] += n


cdef int64_t over_tiles(Tiles self, int strip, int first, int last, const int64_t[::1] start, const uint64_t* facing,
                        value_t* L, value_t* R, value_t* packed, bint pack) noexcept nogil:
    """Copy the tiles of a strip to `packed`, or from there to the matrices that are not NULL; return their length."""
    cdef value_t* matrices[2]
    cdef int j, k, rows = self.row_class[strip + 1] - self.row_class[strip]
    cdef int64_t at = 0
    matrices[0], matrices[1] = L, R
    for j in range(first, last):
        for k in range(2):
            if matrices[k] != NULL:
                over_tile(matrices[k], packed + at, start, facing, self.masks, rows, self.col_class[j],
                          self.col_class[j + 1], pack)
            at += self.positions[strip, j]
        if pack:
            packed[at] = 0
        at += 1
    return at


cdef void over_tile(value_t* matrix, value_t* packed, const int64_t[::1] start, const uint64_t* facing,
                    const uint64_t[::1] masks, int rows, int c0, int c1, bint pack) noexcept nogil:
    cdef int i, b
    cdef int64_t k = 0, at
    cdef uint64_t squares
    for i in range(rows):
        squares = facing[i]
        at = start[i]
        if pack:
            for b in range(c0, c1):
                packed[k] = matrix[at + b]
                k += (masks[b] & squares) == 0
        else:
            for b in range(c0, c1):
                matrix[at + b] = packed[k]
                k += (masks[b] & squares) == 0
