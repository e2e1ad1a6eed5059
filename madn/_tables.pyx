# cython: embedsignature=True
"""Move tables of own-side states (see `_core.pxd` for the bit masks)."""

import numpy as np

from libc.stdint cimport int32_t, uint64_t

from madn._core cimport MAX_CHOICES, OwnMove, own_moves


def move_table(const uint64_t[::1] states, int pieces, int squares):
    """Return (first, after): the states after the moves of `states[i]` for roll r are
    `after[first[6 * i + r - 1]:first[6 * i + r]]`, by ascending start square; none is a lost turn."""
    cdef Py_ssize_t n = states.shape[0], i
    cdef int roll, k, j
    cdef OwnMove moves[MAX_CHOICES]
    first = np.zeros(6 * n + 1, np.int32)
    after = np.empty(6 * n * pieces, np.uint64)
    cdef int32_t[::1] first_view = first
    cdef uint64_t[::1] after_view = after
    cdef int32_t m = 0
    with nogil:
        for i in range(n):
            for roll in range(1, 7):
                k = own_moves(states[i], roll, squares, pieces, moves)
                for j in range(k):
                    after_view[m] = moves[j].after
                    m += 1
                first_view[6 * i + roll] = m
    return first, after[:m].copy()
