"""What the compiled rooms share, for Python: own-side moves, position IDs, and what this build can do.

The code itself is inline in `_core.pxd`, so that the kernels can use it without a call.
"""

from operator import index as whole_number

import numpy as np

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    static int madn_openmp(void) { return 1; }
    static int madn_max_threads(void) { return omp_get_max_threads(); }
    #else
    static int madn_openmp(void) { return 0; }
    static int madn_max_threads(void) { return 1; }
    #endif

    #define MADN_TEXT(x) #x
    #define MADN_NUMBER(x) MADN_TEXT(x)
    #if defined(_MSC_VER) && !defined(__clang__)
    #define MADN_COMPILER "MSVC " MADN_NUMBER(_MSC_FULL_VER)
    #elif defined(__clang__)
    #define MADN_COMPILER __VERSION__
    #else
    #define MADN_COMPILER "GCC " __VERSION__
    #endif

    /* AVX2 with BMI2 and POPCNT: what the wide kernels are built for. */
    #if defined(_MSC_VER) && !defined(__clang__) && defined(_M_X64)
    #include <immintrin.h>
    static int madn_has_avx2(void) {
        int info[4];
        __cpuid(info, 0);
        if (info[0] < 7) return 0;
        __cpuidex(info, 1, 0);
        if (!(info[2] & (1 << 27)) || !(info[2] & (1 << 23)) || (_xgetbv(0) & 6) != 6) return 0;
        __cpuidex(info, 7, 0);
        return (info[1] & (1 << 5)) && (info[1] & (1 << 8));
    }
    #elif defined(__x86_64__)
    static int madn_has_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")
            && __builtin_cpu_supports("popcnt");
    }
    #else
    static int madn_has_avx2(void) { return 0; }
    #endif
    """
    const char* MADN_COMPILER
    bint madn_openmp() noexcept nogil
    int madn_max_threads() noexcept nogil
    bint madn_has_avx2() noexcept nogil


def openmp():
    """Whether this build runs loops in parallel."""
    return madn_openmp()


def max_threads():
    """How many threads a parallel loop uses unless told otherwise; 1 without OpenMP."""
    return madn_max_threads()


def has_avx2():
    """Whether this processor can run the wide kernels: AVX2, BMI2 and POPCNT."""
    return madn_has_avx2()


def compiler():
    """The compiler this package was built with."""
    return MADN_COMPILER.decode("ascii", "replace")


cdef tuple checked_rules(pieces, squares):
    """Return both as plain integers, or raise ValueError."""
    pieces, squares = whole_number(pieces), whole_number(squares)
    if not 1 <= pieces <= MAX_PIECES:
        raise ValueError(f"pieces must be 1 to {MAX_PIECES}, not {pieces}")
    if not 8 <= squares <= MAX_SQUARES or squares % 2:
        raise ValueError(f"squares must be an even number from 8 to {MAX_SQUARES}, not {squares}")
    return pieces, squares


def _own_moves(state, roll, pieces, squares):
    """Return the moves of one side for a roll as (after, start, end), by ascending start; -1 is the box.

    `state` is the mask of the squares the side holds, in its own numbers. An empty list is a lost turn.
    """
    cdef OwnMove moves[MAX_CHOICES]
    cdef int i, count
    pieces, squares = checked_rules(pieces, squares)
    state, roll = whole_number(state), whole_number(roll)
    if not 1 <= roll <= 6:
        raise ValueError(f"a roll is 1 to 6, not {roll}")
    if state < 0 or state.bit_length() > squares + pieces:
        raise ValueError(f"state {state:#x} has squares outside 0 to {squares + pieces - 1}")
    if state.bit_count() > pieces:
        raise ValueError(f"state {state:#x} has {state.bit_count()} pieces, the game has {pieces}")
    count = own_moves(state, roll, squares, pieces, moves)
    return [(moves[i].after, moves[i].start, moves[i].end) for i in range(count)]


# The C function of the .pxd has the same name, so `def own_moves` is not possible here.
_own_moves.__name__ = _own_moves.__qualname__ = "own_moves"
globals()["own_moves"] = _own_moves


cdef void fill_combinations(RankTables* t) noexcept:
    """Fill the tables that rank and unrank combinations of up to 6 of 40 squares."""
    cdef int n, k, i, start = 0
    cdef int64_t rank
    cdef uint64_t top = <uint64_t>1 << (MAX_SQUARES - 1)
    for n in range(64):
        t.choose[0][n] = 1
        for k in range(1, MAX_PIECES + 1):
            t.choose[k][n] = 0 if n == 0 else t.choose[k][n - 1] + t.choose[k - 1][n - 1]
    for k in range(1, MAX_PIECES + 1):
        for n in range(MAX_SQUARES):
            t.summand[MAX_PIECES + k][MAX_SQUARES - 1 - n] = t.choose[k][n]
    for k in range(DIRECT + 1):
        t.combination_start[k] = start
        start += t.choose[k][MAX_SQUARES]
    t.combination[0] = 0
    for k in range(1, DIRECT + 1):    # by their highest position n, then by the rest of them
        i = t.combination_start[k]
        for n in range(MAX_SQUARES):
            for rank in range(t.choose[k - 1][n]):
                t.combination[i] = top >> n | t.combination[t.combination_start[k - 1] + rank]
                i += 1
    for k in range(DIRECT + 1, MAX_PIECES + 1):
        while t.choose[k][MAX_SQUARES] >> t.guess_shift[k] >= GUESSES:
            t.guess_shift[k] += 1
        n = k - 1
        for i in range(GUESSES):
            rank = <int64_t>i << t.guess_shift[k]
            while n < MAX_SQUARES - 1 and rank >= t.choose[k][n + 1]:
                n += 1
            t.guess[k][i] = <uint8_t>n


cdef void fill_finish_zones(RankTables* t) noexcept:
    """Fill the tables of finish-zone arrangements: square j of P is string position P-1-j."""
    cdef int P = t.pieces, zone, j, ones, rank
    for zone in range(1 << P):
        ones = rank = 0
        for j in range(P - 1, -1, -1):
            if zone >> j & 1:
                ones += 1
                rank += t.choose[ones][P - 1 - j]
        t.finish_ones[zone] = <uint8_t>ones
        t.finish_rank[zone] = <uint8_t>rank
        t.finish_zone[ones][rank] = <uint8_t>zone


cdef void fill_profiles(RankTables* t) noexcept:
    """Fill the tables of abstract profiles: first IDs and group sizes."""
    cdef int P = t.pieces, S = t.squares, p1, f1, p2, f2, number = 0, bucket
    cdef int64_t total = 0
    cdef Profile* profile
    for p1 in range(7):
        for f1 in range(7):
            for p2 in range(7):
                for f2 in range(7):
                    t.index[p1][f1][p2][f2] = -1
    for p1 in range(P + 1):
        for f1 in range(p1 + 1):
            for p2 in range(P + 1):
                for f2 in range(p2 + 1):
                    if f1 == P and f2 == P or p1 - f1 + p2 - f2 > S:
                        continue
                    profile = &t.profiles[number]
                    profile.m1, profile.f1 = <int8_t>(p1 - f1), <int8_t>f1
                    profile.m2, profile.f2 = <int8_t>(p2 - f2), <int8_t>f2
                    profile.first = t.first[number] = total
                    profile.affm = t.choose[profile.m2][S - profile.m1]
                    profile.aff = profile.affm * t.choose[profile.m1][S]
                    profile.af = profile.aff * t.choose[f2][P]
                    profile.af_inverse = <uint64_t>-1 // <uint64_t>profile.af
                    profile.aff_inverse = <uint64_t>-1 // <uint64_t>profile.aff
                    profile.affm_inverse = <uint64_t>-1 // <uint64_t>profile.affm
                    t.index[profile.m1][f1][profile.m2][f2] = <int16_t>number
                    total += profile.af * t.choose[f1][P]
                    number += 1
    t.profile_count = number
    t.first[number] = t.positions = total
    while total >> t.bucket_shift >= BUCKETS:
        t.bucket_shift += 1
    number = 0
    for bucket in range(BUCKETS):
        while number < t.profile_count - 1 and <int64_t>bucket << t.bucket_shift >= t.first[number + 1]:
            number += 1
        t.bucket[bucket] = <int16_t>number


cdef int64_t rank_all(
    const RankTables* t, const uint64_t[::1] own, const uint64_t[::1] other, int64_t[::1] ids
) noexcept nogil:
    """Rank all positions (IN own, other; OUT ids); return the index of the first that is none, or -1."""
    cdef Py_ssize_t i
    for i in range(ids.shape[0]):
        if not is_position(t, own[i], other[i]):
            return i
        ids[i] = encode(t, own[i], other[i])
    return -1


cdef int64_t unrank_all(
    const RankTables* t, const int64_t[::1] ids, uint64_t[::1] own, uint64_t[::1] other
) noexcept nogil:
    """Unrank all IDs (IN ids; OUT own, other); return the index of the first out of range, or -1."""
    cdef Py_ssize_t i
    for i in range(ids.shape[0]):
        if <uint64_t>ids[i] >= <uint64_t>t.positions:
            return i
        decode(t, ids[i], &own[i], &other[i])
    return -1


cdef str fault(const RankTables* t, own, other):
    """Say why two masks are not a position."""
    cdef int P = t.pieces, S = t.squares
    for side, mask in (("own", own), ("other", other)):
        if mask < 0 or mask.bit_length() > S + P:
            return f"{side} {mask:#x} has squares outside 0 to {S + P - 1}"
        if mask.bit_count() > P:
            return f"{side} {mask:#x} has {mask.bit_count()} pieces, the game has {P}"
    shared = turned(own, S) & other
    if shared:
        return f"both sides stand on one square, the other's {madn_lowest(shared)}"
    return "both sides have finished"


cdef int64_t checked_id(const RankTables* t, id) except -1:
    """Return an ID as a number, or raise ValueError."""
    id = whole_number(id)
    if not 0 <= id < t.positions:
        raise ValueError(f"ID {id} is outside 0 to {t.positions - 1}")
    return id


cdef tuple profile_tuple(const RankTables* t, int number):
    cdef const Profile* profile = &t.profiles[number]
    return profile.m1 + profile.f1, profile.f1, profile.m2 + profile.f2, profile.f2


cdef object checked_array(str name, array, dtype):
    """Return a contiguous array of this type, or raise ValueError."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
        found = f"{array.ndim}-d {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} must be a 1-d {np.dtype(dtype).name} array, not {found}")
    return np.ascontiguousarray(array)


def move_table(const uint64_t[::1] states, int pieces, int squares):
    """Return (first, after), the moves of many states of one side.

    For `states[i]` and roll r the states after a move are `after[first[6 * i + r - 1]:first[6 * i + r]]`, by
    ascending start square; none is a lost turn.
    """
    cdef Py_ssize_t n = states.shape[0], i
    cdef int32_t end = 0
    cdef int roll, k, j
    cdef OwnMove moves[MAX_CHOICES]
    first = np.zeros(6 * n + 1, np.int32)
    after = np.empty(6 * n * pieces, np.uint64)
    cdef int32_t[::1] first_view = first
    cdef uint64_t[::1] after_view = after
    with nogil:
        for i in range(n):
            for roll in range(1, 7):
                k = own_moves(states[i], roll, squares, pieces, moves)
                for j in range(k):
                    after_view[end] = moves[j].after
                    end += 1
                first_view[6 * i + roll] = end
    return first, after[:end].copy()


cdef class Ranking:
    """The thesis' numbering of the positions of a game: a bijection with 0 to `positions - 1`.

    A position is two masks, of the side to move and of the other side; bit q is square q in the numbers of
    the side itself.
    """

    def __cinit__(self, pieces, squares):
        self.tables.pieces, self.tables.squares = checked_rules(pieces, squares)
        self.tables.main = (<uint64_t>1 << self.tables.squares) - 1
        fill_combinations(&self.tables)
        fill_finish_zones(&self.tables)
        fill_profiles(&self.tables)

    def __repr__(self):
        return f"Ranking(pieces={self.tables.pieces}, squares={self.tables.squares})"

    def __reduce__(self):
        return Ranking, (self.tables.pieces, self.tables.squares)

    @property
    def pieces(self):
        """Pieces a side."""
        return self.tables.pieces

    @property
    def squares(self):
        """Squares of the main field."""
        return self.tables.squares

    @property
    def positions(self):
        """How many positions the game has, finished ones included."""
        return self.tables.positions

    def rank(self, own, other):
        """Return the ID of a position."""
        own, other = whole_number(own), whole_number(other)
        fits = own >= 0 and other >= 0 and (own | other).bit_length() <= 64
        if not fits or not is_position(&self.tables, own, other):
            raise ValueError(fault(&self.tables, own, other))
        return encode(&self.tables, own, other)

    def unrank(self, id):
        """Return the masks (own, other) of an ID."""
        cdef uint64_t own, other
        decode(&self.tables, checked_id(&self.tables, id), &own, &other)
        return own, other

    def rank_many(self, own, other):
        """Return the IDs of many positions, as an int64 array; two uint64 arrays of the same length go in."""
        own, other = checked_array("own", own, np.uint64), checked_array("other", other, np.uint64)
        if len(own) != len(other):
            raise ValueError(f"own has {len(own)} masks, other has {len(other)}")
        ids = np.empty(len(own), np.int64)
        cdef const uint64_t[::1] own_view = own, other_view = other
        cdef int64_t[::1] id_view = ids
        cdef int64_t bad
        with nogil:
            bad = rank_all(&self.tables, own_view, other_view, id_view)
        if bad >= 0:
            raise ValueError(f"position {bad}: {fault(&self.tables, int(own[bad]), int(other[bad]))}")
        return ids

    def unrank_many(self, ids):
        """Return the masks of many IDs, as two uint64 arrays (own, other); an int64 array goes in."""
        ids = checked_array("ids", ids, np.int64)
        own, other = np.empty(len(ids), np.uint64), np.empty(len(ids), np.uint64)
        cdef const int64_t[::1] id_view = ids
        cdef uint64_t[::1] own_view = own, other_view = other
        cdef int64_t bad
        with nogil:
            bad = unrank_all(&self.tables, id_view, own_view, other_view)
        if bad >= 0:
            raise ValueError(f"ids[{bad}] = {ids[bad]} is outside 0 to {self.tables.positions - 1}")
        return own, other

    def profile(self, id):
        """Return the abstract profile (p1, f1, p2, f2) of an ID: of each side, pieces out and pieces home."""
        return profile_tuple(&self.tables, profile_at(&self.tables, checked_id(&self.tables, id)))

    def profiles(self):
        """Return all abstract profiles that have positions, in the order of their IDs."""
        return [profile_tuple(&self.tables, number) for number in range(self.tables.profile_count)]

    def first(self, p1, f1, p2, f2):
        """Return the first ID of an abstract profile."""
        cdef int P = self.tables.pieces, number = -1
        if 0 <= f1 <= p1 <= P and 0 <= f2 <= p2 <= P:
            number = self.tables.index[p1 - f1][f1][p2 - f2][f2]
        if number < 0:
            raise ValueError(f"no position has the profile ({p1}, {f1}, {p2}, {f2})")
        return self.tables.first[number]
