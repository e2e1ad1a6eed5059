# Own-side states as bit masks, their moves, and combination ranking: the inline code every kernel shares.
#
# A state is the set of squares one side occupies: bit q for square q in that side's own numbers, 0..S-1 main
# field, S..S+P-1 finish zone. Pieces not in the set are in the box.

from libc.stdint cimport int8_t, int64_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static __inline int madn_popcount(uint64_t x) { return (int)__popcnt64(x); }
    static __inline int madn_lowest(uint64_t x) { unsigned long i; _BitScanForward64(&i, x); return (int)i; }
    static __inline int madn_highest(uint64_t x) { unsigned long i; _BitScanReverse64(&i, x); return (int)i; }
    #else
    static inline int madn_popcount(uint64_t x) { return __builtin_popcountll(x); }
    static inline int madn_lowest(uint64_t x) { return __builtin_ctzll(x); }
    static inline int madn_highest(uint64_t x) { return 63 - __builtin_clzll(x); }
    #endif
    """
    int madn_popcount(uint64_t x) noexcept nogil
    int madn_lowest(uint64_t x) noexcept nogil      # undefined for 0
    int madn_highest(uint64_t x) noexcept nogil     # undefined for 0

cdef enum:
    MAX_PIECES = 6
    MAX_SQUARES = 40
    MAX_CHOICES = 8      # moves for one roll never exceed the pieces
    BOX = -1             # the start of a move out of the box

cdef struct OwnMove:
    uint64_t after       # the own state after the move
    int8_t start         # the square it leaves, or BOX
    int8_t end           # the square it lands on


cdef inline int own_moves(uint64_t state, int roll, int S, int P, OwnMove* out) noexcept nogil:
    """List the moves of a side for a roll, by ascending start; 0 is a lost turn. The opponent does not matter."""
    cdef int n = 0, start, end
    cdef bint boxed = madn_popcount(state) < P
    cdef uint64_t rest = state
    if boxed:
        if not state & 1:
            if roll == 6:
                out[0].after = state | 1
                out[0].start = BOX
                out[0].end = 0
                return 1
        elif not (state >> roll) & 1:
            out[0].after = (state ^ 1) | (<uint64_t>1 << roll)
            out[0].start = 0
            out[0].end = <int8_t>roll
            return 1
    while rest:
        start = madn_lowest(rest)
        rest &= rest - 1
        end = start + roll
        if end < S + P and not (state >> end) & 1:
            out[n].after = (state ^ (<uint64_t>1 << start)) | (<uint64_t>1 << end)
            out[n].start = <int8_t>start
            out[n].end = <int8_t>end
            n += 1
    return n


cdef inline uint64_t turned(uint64_t state, int S) noexcept nogil:
    """The main-field squares of a state in the other side's numbers; the finish zone is dropped."""
    cdef uint64_t main = state & ((<uint64_t>1 << S) - 1)
    return ((main << (S // 2)) | (main >> (S // 2))) & ((<uint64_t>1 << S) - 1)
