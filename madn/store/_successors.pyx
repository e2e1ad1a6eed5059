"""The best moves of many positions at once, from the values of the boards that they lead to.

A choice is the number of a move among the legal ones of a roll, by ascending start. A decision is a roll with
at least two legal moves; other rolls have no choice to make.
"""

import numpy as np

from libc.math cimport rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t

from madn._core cimport (
    DIE, MAX_CHOICES, Game, GameTables, OwnMove, best_option, decode, encode, finished, left_after, legal_options,
    own_moves, rolls_again,
)

cdef enum:
    SHIFT = 13               # log2 of the IDs that share a bucket of the index

cdef int64_t MOST_IDS = <int64_t>1 << 48     # more than any game has


def successors(Game game not None, int64_t first, int64_t[:, :, ::1] out not None):
    """Fill `out` with the IDs of the boards after every legal move, for rolls with at least two options; -1 elsewhere.

    `out[i, r - 1, j]` is for the position `first + i`, roll r and option j.
    """
    cdef const GameTables* t = &game.tables
    if out.shape[1] != DIE or out.shape[2] != t.pieces:
        raise ValueError(f"out must be (positions, {DIE}, {t.pieces}), not {tuple(out.shape)[:3]}")
    if first < 0 or first > t.positions - out.shape[0]:
        raise ValueError(f"{out.shape[0]} positions from ID {first} on are not all in 0 to {t.positions - 1}")
    with nogil:
        list_successors(t, first, out)


cdef void list_successors(const GameTables* t, int64_t first, int64_t[:, :, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    cdef int roll, j, count
    cdef uint64_t own, other, left
    cdef uint32_t legal
    cdef OwnMove moves[MAX_CHOICES]
    for i in range(out.shape[0]):
        decode(t, first + i, &own, &other)
        for roll in range(1, DIE + 1):
            count = 0
            if not finished(t, own) and not finished(t, other):
                count = own_moves(t, own, roll, moves)
            legal = legal_options(t, moves, count, other) if count > 1 else 0
            for j in range(t.pieces):
                if not legal >> j & 1:
                    out[i, roll - 1, j] = -1
                    continue
                left = left_after(t, &moves[j], other)
                if rolls_again(roll):
                    out[i, roll - 1, j] = encode(t, moves[j].after, left)
                else:
                    out[i, roll - 1, j] = encode(t, left, moves[j].after)


cdef class BlockIndex:
    """Which block has a position ID, and how to read its raw values: `zero + raw / scale`.

    Blocks are given by their first IDs, ascending, and their counts.
    """

    cdef const int64_t[::1] first_ids
    cdef const int64_t[::1] counts
    cdef int32_t[::1] bucket           # the last block that begins at or before ID bucket << SHIFT
    cdef object dtype
    cdef int size                      # bytes of a raw value; 1 and 2: unsigned, 4: signed or unsigned, 8: double
    cdef bint signed
    cdef double zero
    cdef double scale

    def __cinit__(self, first_ids, counts, dtype, double zero, double scale):
        self.first_ids, self.counts = np.array(first_ids, np.int64), np.array(counts, np.int64)
        self.zero, self.scale, self.dtype = zero, scale, np.dtype(dtype)
        cdef Py_ssize_t n = self.first_ids.shape[0], i
        if self.counts.shape[0] != n:
            raise ValueError(f"{n} first IDs, but {self.counts.shape[0]} counts")
        if self.dtype.str not in ("|u1", "<u2", "<u4", "<i4", "<f8"):
            raise TypeError(f"raw values must be u1, u2, u4, i4 or f8, not {self.dtype}")
        for i in range(n):
            if self.counts[i] < 1 or self.first_ids[i] < 0 or self.first_ids[i] > MOST_IDS - self.counts[i] \
                    or (i and self.first_ids[i] < self.first_ids[i - 1] + self.counts[i - 1]):
                raise ValueError(f"block {i}: {self.counts[i]} positions from ID {self.first_ids[i]} on are misplaced")
        self.size, self.signed = self.dtype.itemsize, self.dtype.kind == "i"
        end = self.first_ids[n - 1] + self.counts[n - 1] if n else 0
        starts = np.arange((end >> SHIFT) + 1, dtype=np.int64) << SHIFT
        self.bucket = (np.searchsorted(self.first_ids, starts, "right") - 1).astype(np.int32)

    def needed(self, const int64_t[::1] ids not None):
        """Return the numbers of the blocks with these IDs, ascending, and the first ID that is in no block, or -1."""
        marks = np.zeros(self.first_ids.shape[0], np.uint8)
        cdef uint8_t[::1] view = marks
        cdef Py_ssize_t i
        cdef int64_t block, missing = -1
        with nogil:
            for i in range(ids.shape[0]):
                if ids[i] >= 0:
                    block = self.find(ids[i])
                    if block >= 0:
                        view[block] = 1
                    elif missing < 0:
                        missing = ids[i]
        return np.flatnonzero(marks), missing

    cdef inline int64_t find(self, int64_t number) noexcept nogil:
        """The number of the block with an ID, or -1."""
        cdef int64_t slot = number >> SHIFT, block
        if slot >= self.bucket.shape[0]:
            return -1
        block = self.bucket[slot]
        while block + 1 < self.first_ids.shape[0] and number >= self.first_ids[block + 1]:
            block += 1
        return block if block >= 0 and number < self.first_ids[block] + self.counts[block] else -1

    cdef inline double raw(self, uintptr_t address, int64_t at) noexcept nogil:
        if self.size == 4 and self.signed:
            return (<const int32_t*>address)[at]
        if self.size == 4:
            return (<const uint32_t*>address)[at]
        if self.size == 2:
            return (<const uint16_t*>address)[at]
        if self.size == 8:
            return (<const double*>address)[at]
        return (<const uint8_t*>address)[at]


cdef class DecodedBlocks:
    """The decoded blocks of an index that are in memory, for looking up values by position ID."""

    cdef BlockIndex index
    cdef list arrays                   # the arrays at these addresses
    cdef uintptr_t[::1] addresses      # 0 for a block that is not in memory
    cdef readonly int64_t nbytes

    def __cinit__(self, BlockIndex index not None):
        self.index, self.arrays, self.nbytes = index, [], 0
        self.addresses = np.zeros(index.first_ids.shape[0], np.uintp)

    def absent(self, const int64_t[::1] blocks not None):
        """Return those of these blocks that are not in memory."""
        return np.array([at for at in blocks if not self.addresses[self.checked(at)]], np.int64)

    def add(self, at, array):
        """Keep the raw values of a block."""
        cdef int64_t number = self.checked(at)
        if not isinstance(array, np.ndarray) or array.dtype != self.index.dtype or not array.flags.c_contiguous \
                or array.shape != (self.index.counts[number],):
            raise ValueError(f"block {at} must be a contiguous {self.index.dtype} array of {self.index.counts[number]}")
        self.arrays.append(array)
        self.addresses[number] = array.__array_interface__["data"][0]
        self.nbytes += array.nbytes

    def look_up(self, const int64_t[::1] ids not None, double[::1] out not None):
        """Fill in the values of those IDs whose blocks are in memory; the others are left alone."""
        cdef Py_ssize_t i
        cdef int64_t block
        cdef BlockIndex index = self.index
        if ids.shape[0] != out.shape[0]:
            raise ValueError(f"{ids.shape[0]} IDs, but room for {out.shape[0]} values")
        with nogil:
            for i in range(ids.shape[0]):
                if ids[i] >= 0:
                    block = index.find(ids[i])
                    if block >= 0 and self.addresses[block]:
                        out[i] = index.zero + index.raw(self.addresses[block], ids[i] - index.first_ids[block]) \
                            / index.scale

    cdef int64_t checked(self, at) except -1:
        if not 0 <= at < self.addresses.shape[0]:
            raise ValueError(f"block {at} is out of range 0 to {self.addresses.shape[0] - 1}")
        return at


cdef int check_moves(const int64_t[:, :, ::1] ids, const double[:, :, ::1] wins, Py_ssize_t room) except -1:
    """Raise ValueError unless both arrays are (positions, rolls, moves), with room for the results of all positions."""
    if ids.shape[0] != wins.shape[0] or ids.shape[1] != wins.shape[1] or ids.shape[2] != wins.shape[2] \
            or ids.shape[1] != DIE or ids.shape[2] > MAX_CHOICES:
        raise ValueError(f"IDs and values must both be (positions, {DIE}, at most {MAX_CHOICES})")
    if ids.shape[0] != room:
        raise ValueError(f"{ids.shape[0]} positions, but room for {room}")
    return 0


cdef inline double mover(double win, int roll) noexcept nogil:
    """The mover's winning probability from that of the side that rolls next."""
    return win if rolls_again(roll) else 1.0 - win


def choose(const int64_t[:, :, ::1] ids not None, const double[:, :, ::1] wins not None, double tie,
           uint8_t[:, ::1] out not None):
    """Fill `out` with the best option for each position and roll, 0 where there is nothing to choose from.

    `ids` come from `successors`, `wins` are their values. Returns the number of decisions.
    """
    cdef Py_ssize_t i
    cdef int roll, legal
    cdef int64_t decisions = 0
    cdef double chances[MAX_CHOICES]
    check_moves(ids, wins, out.shape[0])
    if out.shape[1] != DIE:
        raise ValueError(f"out must have {DIE} columns, not {out.shape[1]}")
    with nogil:
        for i in range(ids.shape[0]):
            for roll in range(1, DIE + 1):
                legal = moves_of(ids, wins, i, roll, chances)
                out[i, roll - 1] = <uint8_t>best_option(chances, <int>ids.shape[2], tie) if legal else 0
                decisions += legal > 1
    return decisions


def losses(const int64_t[:, :, ::1] ids not None, const double[:, :, ::1] wins not None,
           const double[:, ::1] weights not None, double zero, double scale, double[::1] out not None):
    """Fill `out` with what each position loses when its moves are chosen from rounded values.

    That is the mean over the rolls of the value of the best move less that of the move chosen from values rounded to
    `zero + n / scale`, both measured in the values given. `weights[i, r - 1]` is how likely the roll r is.
    """
    cdef Py_ssize_t i
    cdef int roll, j, count = <int>ids.shape[2]
    cdef double most, lost
    cdef double chances[MAX_CHOICES]
    cdef double rounded[MAX_CHOICES]
    check_moves(ids, wins, out.shape[0])
    if weights.shape[0] != ids.shape[0] or weights.shape[1] != DIE:
        raise ValueError(f"weights must be ({ids.shape[0]}, {DIE}), not {tuple(weights.shape)[:2]}")
    with nogil:
        for i in range(ids.shape[0]):
            lost = 0.0
            for roll in range(1, DIE + 1):
                if moves_of(ids, wins, i, roll, chances) > 1:
                    most = -1.0
                    for j in range(count):
                        rounded[j] = -1.0
                        if ids[i, roll - 1, j] >= 0:
                            rounded[j] = mover(zero + rint((wins[i, roll - 1, j] - zero) * scale) / scale, roll)
                        most = max(most, chances[j])
                    lost = lost + weights[i, roll - 1] * (most - chances[best_option(rounded, count, 0.0)])
            out[i] = lost


cdef inline int moves_of(const int64_t[:, :, ::1] ids, const double[:, :, ::1] wins, Py_ssize_t i, int roll,
                         double* chances) noexcept nogil:
    """Fill in the mover's winning probability for each option of a roll, -1 if it is not legal; return how many are."""
    cdef int j, legal = 0
    for j in range(<int>ids.shape[2]):
        chances[j] = -1.0
        if ids[i, roll - 1, j] >= 0:
            chances[j] = mover(wins[i, roll - 1, j], roll)
            legal += 1
    return legal
