"""The C program of the Wubbel article, as printed: value iteration for one pair of scores after the other.

It is the baseline that `madn.games.pig` is measured against, and a second opinion on Wubbel. P(e, g, u) is the
probability of winning with e safe points against g, and u unsafe points in hand; the program goes on to the next pair
when no value changes by more than `eps`.

It has two tables and swaps them, so the last values of a finished pair are in one and those before them in the other.
Pairs that depend on them read the two in turn, and with a small `eps` may keep changing by more than that for ever.
"""

import numpy as np

from libc.math cimport fabs, fmax
from libc.string cimport memcpy

cdef enum:
    MOST_GOAL = 1000
    MOST_SWEEPS = 10000  # of a pair; a few dozen are usual


cdef inline double prob(const double* p, int goal, int ep, int gp, int u) noexcept nogil:
    cdef int side = goal + 1, k
    cdef double save, throw = 0
    if ep == goal:
        return 1
    if gp == goal:
        return 0
    save = 1 - p[(gp * side + min(ep + u, goal)) * side]
    for k in range(1, 6):
        throw += p[(ep * side + gp) * side + min(u + k, goal)]
    throw += 1 - p[(gp * side + ep) * side]
    return fmax(save, 1.0 / 6 * throw)


def article_table(double[:, :, ::1] table not None, double eps):
    """Fill table[e, g, u], of side goal + 1, and return how often a value was computed."""
    cdef int side = <int>min(table.shape[0], MOST_GOAL + 2), goal = side - 1, total, ep, gp, u, sweeps, most = 0
    cdef long long updates = 0
    cdef Py_ssize_t here, there
    cdef double delta
    if not 1 <= goal <= MOST_GOAL or table.shape[1] != side or table.shape[2] != side:
        found = (table.shape[0], table.shape[1], table.shape[2])
        raise ValueError(f"table: expected a cube with sides of 2 to {MOST_GOAL + 1}, found {found}")
    if not eps > 0:
        raise ValueError(f"eps must be more than 0, not {eps}")
    cdef double[:, ::1] tables = np.ones((2, side ** 3))
    cdef double* current = &tables[0, 0]
    cdef double* later = &tables[1, 0]
    with nogil:
        for total in range(2 * goal, -1, -1):
            for ep in range(goal + 1):
                gp = total - ep
                if gp < 0 or gp > goal or gp > ep:
                    continue
                delta = 1
                sweeps = 0
                while delta > eps and most < MOST_SWEEPS:
                    sweeps += 1
                    most = max(most, sweeps)
                    delta = 0
                    for u in range(goal + 1):
                        here = (ep * side + gp) * side + u
                        there = (gp * side + ep) * side + u
                        later[here] = prob(current, goal, ep, gp, u)
                        later[there] = prob(current, goal, gp, ep, u)
                        delta = fmax(delta, fabs(current[here] - later[here]))
                        delta = fmax(delta, fabs(current[there] - later[there]))
                    updates += 2 * side
                    current, later = later, current
        memcpy(&table[0, 0, 0], current, tables.shape[1] * sizeof(double))
    if most == MOST_SWEEPS:
        raise ArithmeticError(f"the values of a pair still change by more than {eps:g} after {MOST_SWEEPS} sweeps")
    return updates
