"""Packing strips of a component for disk: tile by tile, positions only, no slots where both sides share a square.

A tile is a class of rows against a class of columns. It has two halves: the values of R, row after row, then those of
L. Each half is followed by PAD bytes of zeros, because the loops write a value before they know whether it was a
position. Floats and words of best moves are stored unchanged. Fixed-point numbers are rounded to multiples of 2^-24 and
take three bytes; `round_values` rounds values in memory in the same way, so that it makes no difference whether they
have been on disk.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from madn._machine cimport checked_threads

from madn.ranges import check_ascending

ctypedef fused value_t:
    int32_t
    double

ctypedef fused item_t:
    int32_t
    double
    uint16_t

cdef enum:
    PAD_BYTES = 8
    DROPPED = 5          # bits of a fixed-point number that are not stored
    LARGEST = (1 << 23) - 1

PAD = PAD_BYTES
STORED_BYTES = {np.dtype(np.int32): 3, np.dtype(np.float64): 8, np.dtype(np.uint16): 2}


cdef inline int32_t rounded(int32_t value) noexcept nogil:
    """Round a fixed-point number to the nearest multiple of 2^-24; a tie is rounded away from 0, for symmetry.

    A certain win, which no position of an unfinished game is, would be one step too large to be stored.
    """
    cdef int32_t steps = (value + (1 << (DROPPED - 1)) - (value <= 0)) >> DROPPED
    return max(-LARGEST, min(<int32_t>LARGEST, steps))


cdef inline int stored_bytes(item_t like) noexcept nogil:
    """How many bytes an item takes on disk."""
    return 3 if item_t is int32_t else <int>sizeof(item_t)


cdef inline void put(uint8_t* to, item_t item) noexcept nogil:
    """Store an item; the byte after it may be overwritten."""
    cdef int32_t steps
    if item_t is int32_t:
        steps = rounded(item)
        memcpy(to, &steps, 4)          # the fourth byte is the first of the next value
    else:
        memcpy(to, &item, sizeof(item_t))


cdef inline item_t get(const uint8_t* place, item_t like) noexcept nogil:
    """Load a stored item; for one of three bytes, four are read."""
    cdef int32_t steps
    cdef item_t item
    if item_t is int32_t:
        memcpy(&steps, place, 4)
        item = (<int32_t>(<uint32_t>steps << 8) >> 8) * (1 << DROPPED)
    else:
        memcpy(&item, place, sizeof(item_t))
    return item


def round_values(value_t[::1] values not None, int threads):
    """Round fixed-point numbers in place to what would be stored; floats stay as they are."""
    cdef int64_t i
    threads = checked_threads(threads)
    if value_t is int32_t:
        for i in prange(values.shape[0], nogil=True, num_threads=threads, schedule="static"):
            values[i] = rounded(values[i]) * (1 << DROPPED)


cdef int64_t checked_halves(const int64_t[::1] counts, int64_t packed, int64_t widths) except -1:
    """Return the number of halves of tiles; raise ValueError unless their values fit into that many bytes."""
    cdef int64_t i, values = 0
    for i in range(counts.shape[0]):
        if not 0 <= counts[i] <= widths - values:
            raise ValueError(f"half {i} has {counts[i]} values, but there are {widths} widths for all")
        values += counts[i]
    if 3 * values + PAD_BYTES * counts.shape[0] > packed:
        raise ValueError(f"{packed} bytes instead of {3 * values + PAD_BYTES * counts.shape[0]}")
    return counts.shape[0]


cdef inline int32_t steps_at(const uint8_t* place) noexcept nogil:
    """A packed fixed-point number, in steps of 2^-24; one byte beyond it is read too."""
    cdef uint32_t steps
    memcpy(&steps, place, 4)
    return <int32_t>(steps << 8) >> 8


def spread(const uint8_t[::1] low not None, const uint8_t[::1] high not None, const int64_t[::1] counts not None,
           uint8_t[::1] widths not None):
    """Fill `widths` with the differences of packed fixed-point numbers, in steps of 2^-24.

    `counts` says how many values each half of a tile has. Raises ValueError if a number in `high` is smaller than its
    counterpart in `low` or more than 255 steps larger, or if either is the extreme that can be stored: it may have been
    clamped.
    """
    cdef int64_t halves = checked_halves(counts, min(low.shape[0], high.shape[0]), widths.shape[0])
    cdef int64_t i, _, at = 0, to = 0
    cdef int32_t below, above
    cdef bint outside = False
    with nogil:
        for i in range(halves):
            for _ in range(counts[i]):
                below, above = steps_at(&low[at]), steps_at(&high[at])
                outside = outside or below <= -LARGEST or above >= LARGEST or not 0 <= above - below <= 255
                widths[to] = <uint8_t>(above - below)
                at += 3
                to += 1
            at += PAD_BYTES
    if outside:
        raise ValueError("bounds are in the wrong order, more than 255 steps apart, or too large to be stored")


def widen(uint8_t[::1] packed not None, const uint8_t[::1] widths not None, const int64_t[::1] counts not None,
          int divisor):
    """Add to each packed fixed-point number its width from `spread`, divided by `divisor` and rounded down."""
    cdef int64_t halves = checked_halves(counts, packed.shape[0], widths.shape[0])
    cdef int64_t i, _, at = 0, of = 0
    cdef int32_t steps
    if divisor < 1:
        raise ValueError(f"widths divided by {divisor}")
    with nogil:
        for i in range(halves):
            for _ in range(counts[i]):
                steps = min(<int32_t>LARGEST, steps_at(&packed[at]) + widths[of] // divisor)
                memcpy(&packed[at], &steps, 3)
                at += 3
                of += 1
            at += PAD_BYTES


cdef class Tiles:
    """The tiles of a pair of sides: `counts[i, j]` pairs of row class i and column class j are positions.

    Of a mirrored pair only the tiles with j >= i are kept.
    """

    cdef const uint64_t[::1] facing, masks
    cdef const int32_t[::1] row_class, col_class
    cdef const int64_t[:, ::1] positions
    cdef readonly object counts
    cdef bint mirrored

    def __init__(self, const uint64_t[::1] facing not None, const int32_t[::1] row_class not None,
                 const uint64_t[::1] masks not None, const int32_t[::1] col_class not None, bint mirrored, int threads):
        cdef int strips = <int>row_class.shape[0] - 1, i
        check_ascending("row_class", row_class, facing.shape[0])
        check_ascending("col_class", col_class, masks.shape[0])
        if mirrored and row_class.shape[0] != col_class.shape[0]:
            raise ValueError(f"{row_class.shape[0]} and {col_class.shape[0]} edges of the classes of a mirrored pair")
        threads = checked_threads(threads)
        self.facing, self.masks, self.row_class, self.col_class = facing, masks, row_class, col_class
        self.mirrored = mirrored
        self.counts = np.zeros((strips, col_class.shape[0] - 1), np.int64)
        cdef int64_t[:, ::1] counts = self.counts
        for i in prange(strips, nogil=True, num_threads=threads, schedule="dynamic"):
            count_strip(facing, row_class[i], row_class[i + 1], masks, col_class, i if mirrored else 0, counts[i])
        self.positions = self.counts
        self.counts.flags.writeable = False

    def pack(self, int strip, const item_t[::1] L not None, const item_t[::1] R not None,
             const int64_t[::1] start_l not None, const int64_t[::1] start_r not None, int first, int last,
             uint8_t[::1] out not None):
        """Write the tiles of a strip with the column classes first..last-1 to `out`; return how many bytes they take.

        `start_l[i]` is the place of column 0 of row i of the strip in L, `start_r[i]` in R.
        """
        cdef int64_t at
        cdef const uint64_t* facing = self.checked(strip, start_l, first, last, L.shape[0])
        self.checked(strip, start_r, first, last, R.shape[0])
        cdef int64_t length = self.length(strip, first, last, stored_bytes(<item_t>0))
        if length > out.shape[0]:
            raise ValueError(f"{out.shape[0]} bytes are no room for {length}")
        if length == 0:
            return 0
        with nogil:
            at = over_tiles(self, strip, first, last, start_l, start_r, facing, <item_t*>&L[0], <item_t*>&R[0],
                            &out[0], True)
        return at

    def unpack(self, int strip, const uint8_t[::1] packed not None, item_t[::1] L not None, item_t[::1] R not None,
               const int64_t[::1] start_l not None, const int64_t[::1] start_r not None, int first, int last):
        """The inverse of `pack`; slots that are not positions get arbitrary values."""
        cdef const uint64_t* facing = self.checked(strip, start_l, first, last, L.shape[0])
        self.checked(strip, start_r, first, last, R.shape[0])
        cdef int64_t length = self.length(strip, first, last, stored_bytes(<item_t>0)), at
        if length > packed.shape[0]:
            raise ValueError(f"{packed.shape[0]} bytes instead of {length}")
        if length == 0:
            return 0
        with nogil:
            at = over_tiles(self, strip, first, last, start_l, start_r, facing, &L[0], &R[0], <uint8_t*>&packed[0],
                            False)
        return at

    def unpack_half(self, int strip, const uint8_t[::1] packed not None, item_t[::1] matrix not None,
                    const int64_t[::1] start not None, int first, int last):
        """Like `unpack`, but `packed` has only the halves of one matrix, one after the other."""
        cdef const uint64_t* facing = self.checked(strip, start, first, last, matrix.shape[0])
        cdef int64_t length = self.length(strip, first, last, stored_bytes(<item_t>0)) // 2, at = 0
        cdef int j, rows = <int>start.shape[0]
        if length > packed.shape[0]:
            raise ValueError(f"{packed.shape[0]} bytes instead of {length}")
        with nogil:
            for j in range(first, last):
                over_tile(&matrix[0], <uint8_t*>&packed[at], start, facing, self.masks, rows, self.col_class[j],
                          self.col_class[j + 1], False)
                at += self.positions[strip, j] * stored_bytes(<item_t>0) + PAD_BYTES
        return at

    def pack_pairs(self, int strip, int column_class, const value_t[::1] pairs not None, uint8_t[::1] out not None,
                   bint round):
        """Write the pairs of values of a tile, row after row, as they are or rounded; return how many bytes they take.

        `out` needs room for one more pair after them.
        """
        cdef int64_t length = self.checked_pairs(strip, column_class, pairs.shape[0], out.shape[0], sizeof(value_t))
        if length:
            with nogil:
                over_pairs(self, strip, column_class, <value_t*>&pairs[0], &out[0], True, round)
        return length

    def unpack_pairs(self, int strip, int column_class, const uint8_t[::1] packed not None,
                     value_t[::1] pairs not None):
        """The inverse of `pack_pairs`; slots that are not positions get arbitrary values.

        `packed` needs one more pair, whatever it is, after those of the tile.
        """
        cdef int64_t length = self.checked_pairs(strip, column_class, pairs.shape[0], packed.shape[0], sizeof(value_t))
        if length:
            with nogil:
                over_pairs(self, strip, column_class, &pairs[0], <uint8_t*>&packed[0], False, False)
        return length

    cdef int64_t checked_pairs(self, int strip, int column_class, int64_t size, int64_t room, int64_t item) except -1:
        """Return how many bytes the pairs of a tile take; raise ValueError unless they and one more pair fit."""
        if not 0 <= strip < self.positions.shape[0] or not 0 <= column_class < self.positions.shape[1]:
            raise ValueError(f"there is no tile {column_class} of strip {strip}")
        cdef int64_t rows = self.row_class[strip + 1] - self.row_class[strip]
        cdef int64_t columns = self.col_class[column_class + 1] - self.col_class[column_class]
        cdef int64_t length = 2 * item * self.positions[strip, column_class]
        if size != 2 * rows * columns or room < length + 2 * item:
            raise ValueError(f"{size} values and {room} bytes for {rows} rows and {columns} columns")
        return length

    cdef int64_t length(self, int strip, int first, int last, int item):
        """How many bytes the tiles of these column classes take."""
        cdef int j
        cdef int64_t total = 0
        for j in range(first, last):
            total += 2 * (self.positions[strip, j] * item + PAD_BYTES)
        return total

    cdef const uint64_t* checked(self, int strip, const int64_t[::1] start, int first, int last,
                                 int64_t size) except? NULL:
        """Return the squares of a strip's rows; raise ValueError unless their columns lie in a matrix of this size."""
        cdef int64_t i
        if not 0 <= strip < self.positions.shape[0] or not 0 <= first <= last <= self.positions.shape[1]:
            raise ValueError(f"there is no strip {strip} with the column classes {first} to {last}")
        if self.mirrored and first < min(strip, last):
            raise ValueError(f"column class {first} of strip {strip} of a mirrored pair is not kept")
        if start.shape[0] != self.row_class[strip + 1] - self.row_class[strip]:
            raise ValueError(f"{start.shape[0]} rows, but strip {strip} has "
                             f"{self.row_class[strip + 1] - self.row_class[strip]}")
        for i in range(start.shape[0]):
            if start[i] < -<int64_t>self.col_class[first] or start[i] > size - self.col_class[last]:    # no overflow
                raise ValueError(f"row {i} of strip {strip} is outside a matrix of {size} values")
        if start.shape[0] == 0 or self.facing.shape[0] == 0:
            return NULL
        return &self.facing[self.row_class[strip]]


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


cdef int64_t over_tiles(Tiles self, int strip, int first, int last, const int64_t[::1] start_l,
                        const int64_t[::1] start_r, const uint64_t* facing, item_t* L, item_t* R, uint8_t* packed,
                        bint pack) noexcept nogil:
    """Copy the tiles of a strip to `packed`, or from there to the matrices; return how many bytes they take."""
    cdef int j, k, rows = self.row_class[strip + 1] - self.row_class[strip]
    cdef int64_t at = 0
    for j in range(first, last):
        for k in range(2):
            over_tile(L if k else R, packed + at, start_l if k else start_r, facing, self.masks, rows,
                      self.col_class[j], self.col_class[j + 1], pack)
            at += self.positions[strip, j] * stored_bytes(<item_t>0)
            if pack:
                memset(packed + at, 0, PAD_BYTES)
            at += PAD_BYTES
    return at


cdef void over_tile(item_t* matrix, uint8_t* packed, const int64_t[::1] start, const uint64_t* facing,
                    const uint64_t[::1] masks, int rows, int c0, int c1, bint pack) noexcept nogil:
    cdef int i, b, item = stored_bytes(<item_t>0)
    cdef int64_t at
    cdef uint64_t squares
    for i in range(rows):
        squares = facing[i]
        at = start[i]
        if pack:
            for b in range(c0, c1):
                put(packed, matrix[at + b])
                packed += item if (masks[b] & squares) == 0 else 0
        else:
            for b in range(c0, c1):
                matrix[at + b] = get(packed, matrix[at + b])
                packed += item if (masks[b] & squares) == 0 else 0


cdef void over_pairs(Tiles self, int strip, int column_class, value_t* pairs, uint8_t* packed, bint pack,
                     bint round) noexcept nogil:
    cdef int a, b
    cdef uint64_t squares
    cdef value_t pair[2]
    for a in range(self.row_class[strip], self.row_class[strip + 1]):
        squares = self.facing[a]
        for b in range(self.col_class[column_class], self.col_class[column_class + 1]):
            if pack:
                pair[0] = pairs[0]
                pair[1] = pairs[1]
                if value_t is int32_t:
                    if round:
                        pair[0] = rounded(pair[0]) * (1 << DROPPED)
                        pair[1] = rounded(pair[1]) * (1 << DROPPED)
                memcpy(packed, pair, sizeof(pair))
            else:
                memcpy(pairs, packed, sizeof(pair))
            packed += sizeof(pair) if (self.masks[b] & squares) == 0 else 0
            pairs += 2
