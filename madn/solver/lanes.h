/* Sixteen values at a time: the vector arithmetic of the sweep kernels.
 *
 * Every routine exists for int32 (suffix _i) and double (suffix _d), and gives the same bits in every build. The lanes
 * are those of a few vectors as wide as the instructions of the build: gcc 12 turns plain arrays into scalar code
 * (measured on the three-piece game: 16.5 ns a position update with arrays, 10 ns with vectors). AVX2 has code of its
 * own only where gcc 12 does not find the instructions by itself.
 */
#ifndef MADN_LANES_H
#define MADN_LANES_H

#include "../_machine.h"

#define LANES 16
#define EACH_LANE for (int k = 0; k < LANES; k++)
#define ROUNDER 6755399441055744.0 /* 1.5 * 2^52: adding and subtracting it rounds to the nearest integer, ties to even */
#define BITS {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}

#if defined(__AVX512F__)
#include <immintrin.h>
#define MAX_i(x, y) (part_i)_mm512_max_epi32((__m512i)(x), (__m512i)(y))
#define MAX_d(x, y) (part_d)_mm512_max_pd((__m512d)(x), (__m512d)(y))
#define SIDE_BY_SIDE 4 /* how many blocks of LANES columns fit into the registers */
#elif defined(__AVX2__)
#include <immintrin.h>
#define MAX_i(x, y) (part_i)_mm256_max_epi32((__m256i)(x), (__m256i)(y))
#define MAX_d(x, y) _mm256_max_pd(x, y)
#define SIDE_BY_SIDE 2
#else
#define MAX_i(x, y) BLEND((x) > (y), x, y)
#define MAX_d MAX_i
#define SIDE_BY_SIDE 1
#endif

/* U is an integer as wide as T. */
#define LANES_OF(T, U, S)                                                                                            \
    enum { IN_PART_##S = sizeof(VECTOR(T)) / sizeof(T), PARTS_##S = LANES / IN_PART_##S };                           \
    typedef VECTOR(T) part_##S;                                                                                      \
    typedef VECTOR(U) mask_##S;                                                                                      \
    typedef struct { part_##S part[PARTS_##S]; } lanes_##S;                                                          \
    static const U BIT_##S[LANES] = BITS;                                                                            \
    INLINE lanes_##S load_##S(const T *p) { return *(const lanes_##S *)p; }                                          \
    INLINE void store_##S(T *p, lanes_##S x) { *(lanes_##S *)p = x; }                                                \
    INLINE lanes_##S plus_##S(lanes_##S x, lanes_##S y) {                                                            \
        for (int i = 0; i < PARTS_##S; i++) x.part[i] += y.part[i];                                                  \
        return x;                                                                                                    \
    }                                                                                                                \
    INLINE lanes_##S minus_##S(lanes_##S x) {                                                                        \
        for (int i = 0; i < PARTS_##S; i++) x.part[i] = -x.part[i];                                                  \
        return x;                                                                                                    \
    }                                                                                                                \
    INLINE lanes_##S max_##S(lanes_##S x, lanes_##S y) {                                                             \
        for (int i = 0; i < PARTS_##S; i++) x.part[i] = MAX_##S(x.part[i], y.part[i]);                               \
        return x;                                                                                                    \
    }                                                                                                                \
    /* x in the lanes whose bit of `mask` is set, y in the others */                                                 \
    INLINE lanes_##S either_##S(lanes_##S x, lanes_##S y, uint32_t mask) {                                           \
        CHOOSE_##S                                                                                                   \
        return x;                                                                                                    \
    }
#if defined(__AVX512F__)
#define CHOOSE_i x.part[0] = (part_i)_mm512_mask_mov_epi32((__m512i)y.part[0], (__mmask16)mask, (__m512i)x.part[0]);
#define CHOOSE_d                                                                                                     \
    for (int i = 0; i < 2; i++)                                                                                      \
        x.part[i] = (part_d)_mm512_mask_mov_pd((__m512d)y.part[i], (__mmask8)(mask >> 8 * i), (__m512d)x.part[i]);
#else
#define CHOOSE_i                                                                                                     \
    const mask_i *bits = (const mask_i *)BIT_i;                                                                      \
    for (int i = 0; i < PARTS_i; i++) x.part[i] = BLEND((bits[i] & (int32_t)mask) != 0, x.part[i], y.part[i]);
#define CHOOSE_d                                                                                                     \
    const mask_d *bits = (const mask_d *)BIT_d;                                                                      \
    for (int i = 0; i < PARTS_d; i++) x.part[i] = BLEND((bits[i] & (int64_t)mask) != 0, x.part[i], y.part[i]);
#endif
LANES_OF(int32_t, int32_t, i)
LANES_OF(double, int64_t, d)

/* Converts values to doubles, and doubles to values: for int32, rounded to the nearest integer, ties to even. */
INLINE lanes_d widened_d(const double *x) { return load_d(x); }
INLINE lanes_d narrowed_d(lanes_d x) { return x; }
#if defined(__AVX512F__)
INLINE lanes_d widened_i(const int32_t *x) {
    lanes_d out;
    for (int i = 0; i < 2; i++)
        out.part[i] = (part_d)_mm512_cvtepi32_pd(_mm256_loadu_si256((const __m256i *)(x + 8 * i)));
    return out;
}
INLINE lanes_i narrowed_i(lanes_d x) {
    const __m256i low = _mm512_cvtpd_epi32((__m512d)x.part[0]), high = _mm512_cvtpd_epi32((__m512d)x.part[1]);
    return (lanes_i){{(part_i)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1)}};
}

/* bit k is set where (squares[k] & mask) is not empty */
INLINE uint32_t overlaps(const uint64_t *squares, uint64_t mask) {
    const __m512i m = _mm512_set1_epi64((long long)mask);
    return (uint32_t)_mm512_test_epi64_mask(_mm512_loadu_si512(squares), m) |
           (uint32_t)_mm512_test_epi64_mask(_mm512_loadu_si512(squares + 8), m) << 8;
}
#elif defined(__AVX2__)
INLINE lanes_d widened_i(const int32_t *x) {
    lanes_d out;
    for (int i = 0; i < 4; i++) out.part[i] = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(x + 4 * i)));
    return out;
}
INLINE lanes_i narrowed_i(lanes_d x) {
    lanes_i out;
    for (int i = 0; i < 2; i++)
        out.part[i] = (part_i)_mm256_set_m128i(_mm256_cvtpd_epi32(x.part[2 * i + 1]), _mm256_cvtpd_epi32(x.part[2 * i]));
    return out;
}

INLINE uint32_t overlaps(const uint64_t *squares, uint64_t mask) {
    const __m256i m = _mm256_set1_epi64x((long long)mask), zero = _mm256_setzero_si256();
    uint32_t free = 0;
    for (int i = 0; i < LANES; i += 4) {
        const __m256i x = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(squares + i)), m);
        free |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, zero))) << i;
    }
    return free ^ 0xffffu;
}
#else /* the same in plain C */
INLINE lanes_d widened_i(const int32_t *x) {
    double out[LANES];
    EACH_LANE out[k] = x[k];
    return load_d(out);
}
INLINE lanes_i narrowed_i(lanes_d x) {
    int32_t out[LANES];
    const double *in = (const double *)&x;
    EACH_LANE out[k] = (int32_t)(in[k] + ROUNDER - ROUNDER);
    return load_i(out);
}

INLINE uint32_t overlaps(const uint64_t *squares, uint64_t mask) {
    uint32_t out = 0;
    EACH_LANE out |= squares[k] & mask ? (uint32_t)BIT_i[k] : 0;
    return out;
}
#endif

/* f x - g y + rounding */
INLINE lanes_d combined(lanes_d x, lanes_d y, const double *f, const double *g, double rounding) {
    const lanes_d fs = load_d(f), gs = load_d(g);
    for (int i = 0; i < PARTS_d; i++) x.part[i] = fs.part[i] * x.part[i] - gs.part[i] * y.part[i] + rounding;
    return x;
}
INLINE lanes_d scaled(lanes_d x, const double *f, double sign, double rounding) {
    const lanes_d fs = load_d(f);
    for (int i = 0; i < PARTS_d; i++) x.part[i] = fs.part[i] * x.part[i] * sign + rounding;
    return x;
}

/* What the kernels call, for either type. */
#define KERNEL_LANES(T, S)                                                                                           \
    /* The sum over the six rolls of the largest option; `count` says how many options each roll has. */             \
    INLINE void best_total_##S(const T *const *option, const int8_t *count, int64_t shift, T *out) {                 \
        lanes_##S total = {0};                                                                                       \
        for (int roll = 0; roll < 6; roll++) {                                                                       \
            int k = count[roll];                                                                                     \
            if (k == 0) continue;                                                                                    \
            lanes_##S best = load_##S(*option++ + shift);                                                            \
            for (; k > 1; k--) best = max_##S(best, load_##S(*option++ + shift));                                    \
            total = plus_##S(total, best);                                                                           \
        }                                                                                                            \
        store_##S(out, total);                                                                                       \
    }                                                                                                                \
    /* The same for options in one array: `offset` says where. */                                                    \
    INLINE void best_total_at_##S(const T *base, const int32_t *offset, const int8_t *count, T *out) {               \
        lanes_##S total = {0};                                                                                       \
        for (int roll = 0; roll < 6; roll++) {                                                                       \
            int k = count[roll];                                                                                     \
            if (k == 0) continue;                                                                                    \
            lanes_##S best = load_##S(base + *offset++);                                                             \
            for (; k > 1; k--) best = max_##S(best, load_##S(base + *offset++));                                     \
            total = plus_##S(total, best);                                                                           \
        }                                                                                                            \
        store_##S(out, total);                                                                                       \
    }                                                                                                                \
    /* `best_total` for several blocks of columns; results are LANES * LANES apart. */                               \
    INLINE void best_totals_##S(const T *const *option, const int8_t *count, int64_t shift, T *out) {                \
        lanes_##S total[SIDE_BY_SIDE] = {0}, best[SIDE_BY_SIDE];                                                     \
        for (int roll = 0; roll < 6; roll++) {                                                                       \
            int k = count[roll];                                                                                     \
            if (k == 0) continue;                                                                                    \
            const T *p = *option++ + shift;                                                                          \
            for (int i = 0; i < SIDE_BY_SIDE; i++) best[i] = load_##S(p + i * LANES);                                \
            for (; k > 1; k--) {                                                                                     \
                p = *option++ + shift;                                                                               \
                for (int i = 0; i < SIDE_BY_SIDE; i++) best[i] = max_##S(best[i], load_##S(p + i * LANES));          \
            }                                                                                                        \
            for (int i = 0; i < SIDE_BY_SIDE; i++) total[i] = plus_##S(total[i], best[i]);                           \
        }                                                                                                            \
        for (int i = 0; i < SIDE_BY_SIDE; i++) store_##S(out + i * LANES * LANES, total[i]);                         \
    }                                                                                                                \
    /* `best_total` with a duty to capture: if any option of a roll captures, only those that capture count. An      \
     * option captures in the lanes whose squares include its bit in `lands`; 0 is a move that never captures. */    \
    INLINE void best_legal_##S(const T *const *option, const int8_t *count, const uint64_t *lands,                   \
                               const uint64_t *squares, int64_t shift, T *out) {                                     \
        lanes_##S total = {0};                                                                                       \
        for (int roll = 0; roll < 6; roll++) {                                                                       \
            const int k = count[roll];                                                                               \
            if (k == 0) continue;                                                                                    \
            lanes_##S best = load_##S(option[0] + shift), capture = best;                                            \
            uint32_t captures = k > 1 && lands[0] ? overlaps(squares, lands[0]) : 0;                                 \
            for (int i = 1; i < k; i++) {                                                                            \
                const lanes_##S next = load_##S(option[i] + shift);                                                  \
                const uint32_t there = lands[i] ? overlaps(squares, lands[i]) : 0;                                   \
                capture = either_##S(either_##S(max_##S(capture, next), next, captures), capture, there);            \
                captures |= there;                                                                                   \
                best = max_##S(best, next);                                                                          \
            }                                                                                                        \
            total = plus_##S(total, either_##S(capture, best, captures));                                            \
            option += k;                                                                                             \
            lands += k;                                                                                              \
        }                                                                                                            \
        store_##S(out, total);                                                                                       \
    }                                                                                                                \
    /* Solves lost rolls away: ring_r = -(f0 x - f1 y + rounding), ring_l = -(f2 x - f3 y + rounding), except in the \
     * lanes of `kept`. Where nobody `waits`, f1 and f2 are 0. */                                                    \
    INLINE void solve_pair_##S(const T *x, const T *y, const double *f0, const double *f1, const double *f2,         \
                               const double *f3, int waits, double rounding, uint32_t kept, T *ring_r, T *ring_l) {  \
        const lanes_d a = widened_##S(x), b = widened_##S(y);                                                        \
        const lanes_d r = waits ? combined(a, b, f0, f1, rounding) : scaled(a, f0, 1, rounding);                     \
        const lanes_d l = waits ? combined(a, b, f2, f3, rounding) : scaled(b, f3, -1, rounding);                    \
        store_##S(ring_r, either_##S(load_##S(ring_r), minus_##S(narrowed_##S(r)), kept));                           \
        store_##S(ring_l, either_##S(load_##S(ring_l), minus_##S(narrowed_##S(l)), kept));                           \
    }                                                                                                                \
    /* Replaces `to` by -fresh, except in the lanes of `kept`; `most` collects the largest change. */                \
    INLINE void replace_##S(T *to, const T *fresh, uint32_t kept, T *most) {                                         \
        const lanes_##S old = load_##S(to), now = either_##S(old, minus_##S(load_##S(fresh)), kept);                 \
        const lanes_##S up = plus_##S(now, minus_##S(old));                                                          \
        store_##S(most, max_##S(load_##S(most), max_##S(up, minus_##S(up))));                                        \
        store_##S(to, now);                                                                                          \
    }
KERNEL_LANES(int32_t, i)
KERNEL_LANES(double, d)
#ifndef __has_builtin
#define __has_builtin(name) 0
#endif
#if __has_builtin(__builtin_shufflevector)
#define PICK __builtin_shufflevector
/* Four by four values at a time, each step one instruction: first from two rows, N columns apart, then from four. */
#define TRANSPOSE(T, S, N)                                                                                           \
    typedef T four_##S __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));                   \
    INLINE four_##S *four_at_##S(const T *p) { return (four_##S *)p; }                                               \
    INLINE void transpose_##S(const T *const *in, T *out) {                                                          \
        for (int i = 0; i < LANES; i += 4, out += 4) {                                                               \
            for (int j = 0; j < LANES; j += 4) {                                                                     \
                const four_##S a = *four_at_##S(in[i] + j), b = *four_at_##S(in[i + 1] + j);                         \
                const four_##S c = *four_at_##S(in[i + 2] + j), d = *four_at_##S(in[i + 3] + j);                     \
                const four_##S ab = PICK(a, b, 0, 4, N, N + 4), cd = PICK(c, d, 0, 4, N, N + 4);                     \
                const four_##S ef = PICK(a, b, 3 - N, 7 - N, 3, 7), gh = PICK(c, d, 3 - N, 7 - N, 3, 7);             \
                *four_at_##S(out + j * LANES) = PICK(ab, cd, 0, 1, 4, 5);                                            \
                *four_at_##S(out + (j + N) * LANES) = PICK(ab, cd, 2, 3, 6, 7);                                      \
                *four_at_##S(out + (j + 3 - N) * LANES) = PICK(ef, gh, 0, 1, 4, 5);                                  \
                *four_at_##S(out + (j + 3) * LANES) = PICK(ef, gh, 2, 3, 6, 7);                                      \
            }                                                                                                        \
        }                                                                                                            \
    }
#else
#define TRANSPOSE(T, S, N)                                                                                           \
    INLINE void transpose_##S(const T *const *in, T *out) {                                                          \
        for (int i = 0; i < LANES; i++) EACH_LANE out[k * LANES + i] = in[i][k];                                     \
    }
#endif
TRANSPOSE(int32_t, i, 1)
TRANSPOSE(double, d, 2)

#endif
