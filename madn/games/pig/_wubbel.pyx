"""The C program of the Wubbel article, as printed: value iteration for one pair of scores after the other.

It is the baseline `madn.games.pig` is measured against, and a second opinion on Wubbel. P(e, g, u) is the probability
to win with e safe points against g and u unsafe ones; the program stops when no value of a pair changes by more than
`eps`.

It has two tables and swaps them, so the last values of a finished pair are in one and those before them in the other.
Pairs that need them read both in turn, and with a small `eps` may change by more than that for ever.
"""

from libc.math cimport fabs, fmax
from libc.stdlib cimport free, malloc

cdef enum:
    MOST_SWEEPS = 10000  # of a pair; some dozens are usual


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


def article_table(double[:, :, ::1] table, double eps):
    """Fill table[e, g, u], of side goal + 1, and return how often a value was computed."""
    cdef int goal = <int>table.shape[0] - 1, side = goal + 1, total, ep, gp, u, sweeps, most = 0
    cdef long long updates = 0
    cdef Py_ssize_t size = <Py_ssize_t>side * side * side, i, here, there
    cdef double delta
    if goal < 1 or table.shape[1] != side or table.shape[2] != side:
        raise ValueError("the table must be a cube")
    cdef double* first = <double*>malloc(size * sizeof(double))
    cdef double* second = <double*>malloc(size * sizeof(double))
    if first == NULL or second == NULL:
        free(first)
        free(second)
        raise MemoryError
    cdef double* current = first
    cdef double* later = second
    for i in range(size):
        current[i] = later[i] = 1
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
        for i in range(size):
            (&table[0, 0, 0])[i] = current[i]
    free(first)
    free(second)
    if most == MOST_SWEEPS:
        raise ArithmeticError(f"the values of a pair still change by more than {eps:g} after {MOST_SWEEPS} sweeps")
    return updates
