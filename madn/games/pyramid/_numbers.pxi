# Pyramid: the ranks of blocks; `_pyramid.pyx` includes this and explains what a block is.

def bounds(int tiers):
    """Two arrays that say which runs fit into the tiers: most[k], and room[k][c] for c up to most[k].

    A run of n bars takes room n + 1, which is just what a tier of n bars has. So for every k there are at most
    `most[k]` runs of k bars or more, and c of them take at most `room[k][c]`, the room of the c largest tiers (of those
    that are long enough). Vectors of runs that satisfy this are numbered: most of them can be reached, and no others.
    """
    check_number("tiers", tiers, 2, MOST_TIERS)
    sizes = np.arange(tiers + 1, 1, -1)
    most = [0, *(int((sizes // (k + 1)).sum()) for k in range(1, tiers + 1))]
    largest = np.append(0, np.cumsum(sizes))
    room = np.full((tiers + 1, most[1] + 2), -1, np.int16)
    for k in range(1, tiers + 1):
        room[k, :most[k] + 1] = largest[np.minimum(np.arange(most[k] + 1), tiers - k + 1)]
    return np.array(most, np.int16), room


cdef object ways_of(int tiers, most, room):
    """[k][c][u]: how many vectors of runs of 3 to k bars can follow c longer runs that take room u."""
    runs, width = most[min(3, tiers)] + 2, (tiers + 1) * (tiers + 2) // 2 + tiers + 2
    ways = np.ones((tiers + 1, runs, width), np.uint32)
    for k in range(3, tiers + 1):
        ways[k] = np.where(np.arange(width) <= np.asarray(room)[k, :runs, None], ways[k - 1], 0)
        for c in range(runs - 2, -1, -1):
            ways[k, c, :width - k - 1] += ways[k, c + 1, k + 1:]
    return ways


cdef struct Numbers:
    int tiers
    int plane, line, runs    # lengths of the axes below
    const uint32_t* ways
    const int16_t* most
    const int16_t* room
    const uint8_t* length    # [shape][twos]: states of the row
    const uint16_t* offset   # [shape][twos]: states of the block before the row
    const uint64_t* places   # of each block: 65536 * its first state in the level + its shape

cdef struct Path:        # for each k: how many runs are longer than k, the room they take, their part of the rank
    int c[MOST_TIERS + 1]
    int u[MOST_TIERS + 1]
    uint32_t rank[MOST_TIERS + 1]


cdef inline uint32_t ways(const Numbers* g, int k, int c, int u) noexcept nogil:
    return g.ways[k * g.plane + c * g.line + u]


cdef inline void follow(const Numbers* g, const uint8_t* x, int top, Path* path) noexcept nogil:
    """Fill the path below run length `top`."""
    cdef int k
    for k in range(top, 2, -1):
        path.c[k - 1], path.u[k - 1], path.rank[k - 1] = path.c[k], path.u[k], path.rank[k]
        if x[k]:
            path.c[k - 1] += x[k]
            path.u[k - 1] += x[k] * (k + 1)
            path.rank[k - 1] += ways(g, k, path.c[k], path.u[k]) - ways(g, k, path.c[k - 1], path.u[k - 1])


cdef inline int64_t ranked(const Numbers* g, const uint8_t* x, int k, int c, int u, uint32_t rank) noexcept nogil:
    """Add to the rank what the runs of at most k bars contribute, after c longer ones that take room u.

    Returns -1 if the block does not satisfy the two conditions and so has no rank.
    """
    while k > 2:
        if x[k]:
            rank += ways(g, k, c, u)
            c += x[k]
            u += x[k] * (k + 1)
            if c > g.most[k] or u > g.room[k * g.runs + c]:
                return -1
            rank -= ways(g, k, c, u)
        k -= 1
    return rank


cdef inline void unrank(const Numbers* g, uint32_t rank, uint8_t* x) noexcept nogil:
    """Fill x[3] to x[tiers] with the block of a rank."""
    cdef int k, c = 0, u = 0
    cdef uint32_t left = rank, here
    for k in range(g.tiers, 2, -1):
        x[k] = 0
        here = ways(g, k, c, u)
        while left >= here - ways(g, k, c + 1, u + k + 1):
            left -= here - ways(g, k, c + 1, u + k + 1)
            c += 1
            u += k + 1
            x[k] += 1
            here = ways(g, k, c, u)


cdef uint32_t find_levels(const Numbers* g, int k, int c, int u, uint32_t rank, uint8_t* level) noexcept nogil:
    """Write the levels of the blocks with these longer runs, in the order of their ranks; return the next rank."""
    if k == 2:
        level[rank] = <uint8_t>(u - c)
        return rank + 1
    while c <= g.most[k] and u <= g.room[k * g.runs + c]:
        rank = find_levels(g, k - 1, c, u, rank, level)
        c += 1
        u += k + 1
    return rank
