"""The best moves of many positions at once, from the values of the boards that they lead to.

A choice is the number of a move among the legal ones of a roll, by ascending start. A decision is a roll with
at least two legal moves; other rolls have no choice to make.
"""

import numpy as np

from libc.math cimport rint
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t

from madn._core cimport (
    DIE, MAX_CHOICES, Game, GameTables, OwnMove, best_option, decode, encode, finished, is_position, left_after,
    own_moves, rolls_again,
)

def options(Game game not None, uint64_t own, uint64_t other, int roll):
    """Return the moves of one position as (start, end, captures, own, other, ID), by ascending start.

    `own`, `other` and the ID are the board that the next player to roll sees; start -1 is the box. An empty list
    is a lost turn.
    """
    cdef const GameTables* t = &game.tables
    cdef OwnMove moves[MAX_CHOICES]
    cdef uint64_t left, mine
    cdef int j
    if not 1 <= roll <= DIE or not is_position(t, own, other):
        raise ValueError("not a position and a roll")
    found = []
    for j in range(own_moves(t, own, roll, moves)):
        mine = moves[j].after
        left = left_after(t, &moves[j], other)
        if rolls_again(roll):
            found.append((moves[j].start, moves[j].end, left != other, mine, left, encode(t, mine, left)))
        else:
            found.append((moves[j].start, moves[j].end, left != other, left, mine, encode(t, left, mine)))
    return found


def successors(Game game not None, int64_t first, int64_t[:, :, ::1] out):
    """Fill `out` with the IDs of the boards after every move of every decision; -1 where there is none.

    `out[i, r - 1, j]` is for the position `first + i`, roll r and legal move j.
    """
    cdef const GameTables* t = &game.tables
    if out.shape[1] != DIE or out.shape[2] != t.pieces or first < 0 or first + out.shape[0] > t.positions:
        raise ValueError("not an array for positions of this game")
    with nogil:
        list_successors(t, first, out)


cdef void list_successors(const GameTables* t, int64_t first, int64_t[:, :, ::1] out) noexcept nogil:
    cdef Py_ssize_t i
    cdef int roll, j, count
    cdef uint64_t own, other, left
    cdef OwnMove moves[MAX_CHOICES]
    for i in range(out.shape[0]):
        decode(t, first + i, &own, &other)
        for roll in range(1, DIE + 1):
            count = 0
            if not finished(t, own) and not finished(t, other):
                count = own_moves(t, own, roll, moves)
            if count < 2:
                count = 0
            for j in range(count):
                left = left_after(t, &moves[j], other)
                if rolls_again(roll):
                    out[i, roll - 1, j] = encode(t, moves[j].after, left)
                else:
                    out[i, roll - 1, j] = encode(t, left, moves[j].after)
            for j in range(count, t.pieces):
                out[i, roll - 1, j] = -1


cdef class Places:
    """Where the decoded blocks of a database lie in memory, to look up values by position ID."""

    cdef const int64_t[::1] first_ids
    cdef const int64_t[::1] counts
    cdef int32_t[::1] bucket           # the last block that begins at or before ID bucket << shift
    cdef int shift
    cdef int kind                      # the bytes of a raw value; 1, 2: unsigned, 4: signed or unsigned, 8: double
    cdef bint signed
    cdef double zero
    cdef double scale

    def __init__(self, first_ids, counts, dtype, double zero, double scale):
        self.first_ids, self.counts = first_ids, counts
        self.zero, self.scale = zero, scale
        self.kind, self.signed = np.dtype(dtype).itemsize, np.dtype(dtype).kind == "i"
        self.shift = 13
        ends = first_ids[-1] + counts[-1] if len(first_ids) else 0
        starts = np.arange((int(ends) >> self.shift) + 1, dtype=np.int64) << self.shift
        self.bucket = (np.searchsorted(first_ids, starts, "right") - 1).astype(np.int32)

    def needed(self, const int64_t[::1] ids):
        """Return the numbers of the blocks that hold these IDs, ascending, and the first ID that none holds or -1."""
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

    def look_up(self, const int64_t[::1] ids, const uintptr_t[::1] addresses, double[::1] out):
        """Fill in the values of those IDs whose blocks have an address; the others are left alone."""
        cdef Py_ssize_t i
        cdef int64_t block
        with nogil:
            for i in range(ids.shape[0]):
                if ids[i] >= 0:
                    block = self.find(ids[i])
                    if block >= 0 and addresses[block]:
                        out[i] = self.zero + self.raw(addresses[block], ids[i] - self.first_ids[block]) / self.scale

    cdef inline int64_t find(self, int64_t number) noexcept nogil:
        """The block that holds an ID, or -1."""
        cdef int64_t slot = number >> self.shift, block
        if slot >= self.bucket.shape[0]:
            return -1
        block = self.bucket[slot]
        while block + 1 < self.first_ids.shape[0] and number >= self.first_ids[block + 1]:
            block += 1
        return block if block >= 0 and number < self.first_ids[block] + self.counts[block] else -1

    cdef inline double raw(self, uintptr_t address, int64_t at) noexcept nogil:
        if self.kind == 4 and self.signed:
            return (<const int32_t*>address)[at]
        if self.kind == 4:
            return (<const uint32_t*>address)[at]
        if self.kind == 2:
            return (<const uint16_t*>address)[at]
        if self.kind == 8:
            return (<const double*>address)[at]
        return (<const uint8_t*>address)[at]


cdef inline double mover(double win, int roll) noexcept nogil:
    """The mover's winning probability from that of the side that rolls next."""
    return win if rolls_again(roll) else 1.0 - win


def choose(const int64_t[:, :, ::1] ids, const double[:, :, ::1] wins, double tie, uint8_t[:, ::1] out):
    """Fill `out` with the best choice of each position and roll, 0 where there is no decision.

    `ids` are those of `successors`, `wins` their values. Returns the number of decisions.
    """
    cdef Py_ssize_t i
    cdef int roll, count
    cdef int64_t decisions = 0
    cdef double found[MAX_CHOICES]
    with nogil:
        for i in range(ids.shape[0]):
            for roll in range(1, DIE + 1):
                count = moves_of(ids, wins, i, roll, found)
                out[i, roll - 1] = <uint8_t>best_option(found, count, tie) if count else 0
                decisions += count > 0
    return decisions


def losses(const int64_t[:, :, ::1] ids, const double[:, :, ::1] wins, double zero, double scale, double[::1] out):
    """Fill `out` with what each position loses when its moves are chosen from rounded values.

    That is the mean over the rolls of the value of the best move less that of the move chosen from values
    rounded to `zero + n / scale`, all in the values given.
    """
    cdef Py_ssize_t i
    cdef int roll, j, count
    cdef double most, lost
    cdef double found[MAX_CHOICES]
    cdef double rounded[MAX_CHOICES]
    with nogil:
        for i in range(ids.shape[0]):
            lost = 0.0
            for roll in range(1, DIE + 1):
                count = moves_of(ids, wins, i, roll, found)
                if count:
                    most = found[0]
                    for j in range(count):
                        rounded[j] = mover(zero + rint((wins[i, roll - 1, j] - zero) * scale) / scale, roll)
                        most = max(most, found[j])
                    lost = lost + (most - found[best_option(rounded, count, 0.0)])
            out[i] = lost / DIE


cdef inline int moves_of(const int64_t[:, :, ::1] ids, const double[:, :, ::1] wins, Py_ssize_t i, int roll,
                         double* found) noexcept nogil:
    """The mover's winning probabilities of a decision; returns how many there are."""
    cdef int j = 0
    while j < ids.shape[2] and ids[i, roll - 1, j] >= 0:
        found[j] = mover(wins[i, roll - 1, j], roll)
        j += 1
    return j
