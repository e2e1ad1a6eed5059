"""Whether a game ends with probability 1 whatever is played, found by marking positions."""

import itertools

import numpy as np

include "_checker_game.pxi"


def ends(int pieces, int squares, bint three_rolls, bint no_jumping, bint must_capture, int64_t most_passes=1000):
    """From how many positions the game need not end, as far as this can tell, and how many passes it took.

    A position is marked if the game is over, or if for some roll every move leads to a marked position. From a marked
    position certain rolls, no more than there are positions, end the game whatever is played. So if all are marked, it
    ends with probability 1: again and again there is at least the same chance that it ends within that many rolls.
    """
    cdef Game g
    cdef int64_t positions = make(&g, pieces, squares, three_rolls, no_jumping, must_capture)
    cdef uint8_t[::1] marked = np.zeros(positions // 8 + 1, np.uint8)
    cdef int64_t left = positions, before = left + 1, id, passes = 0
    cdef int number
    with nogil:
        while 0 < left < before and passes < most_passes:
            before = left
            passes += 1
            for number in range(g.profiles - 1, -1, -1):      # the furthest along first
                for id in range(g.begin[number], g.begin[number + 1]):
                    if not marked[id >> 3] >> (id & 7) & 1 and leads_to_marked(&g, id, &marked[0]):
                        marked[id >> 3] |= 1 << (id & 7)
                        left -= 1
    return left, passes


cdef bint leads_to_marked(const Game* g, int64_t id, const uint8_t* marked) noexcept nogil:
    """Whether a game is over, or there is a roll after which every move leads to a marked position."""
    cdef Side own, other
    cdef Side mine[PIECES]
    cdef Side theirs[PIECES]
    cdef int roll, n, k, good
    cdef int64_t after
    unrank(g, id, &own, &other)
    if finished(g, &own) or finished(g, &other):
        return True
    for roll in range(1, 7):
        n = moves(g, &own, &other, roll, mine, theirs)
        if n == 0:                     # a lost roll leaves the board as it is
            mine[0], theirs[0] = own, other
        good = 0
        for k in range(max(n, 1)):
            after = successor(g, &mine[k], &theirs[k], roll)
            if marked[after >> 3] >> (after & 7) & 1:
                good += 1
        if good == max(n, 1):
            return True
    return False
