/* Sixteen values at a time: the vector arithmetic of the sweep kernels.
 *
 * Every routine exists for int32 (suffix _i) and double (suffix _d), and gives the same bits in every build. The lanes
 * are those of a few vectors as wide as the instructions of the build: of arrays gcc 12 makes scalar code (measured on
 * the three-piece game: 16.5 ns a position update then, 10 ns now). AVX2 has its own text only where gcc 12 does not
 * find the instructions by itself.
 */
#ifndef MADN_LANES_H
#define MADN_LANES_H

#include "../_machine.h"

#define LANES 16
#define EACH_LANE for (int k = 0; k < LANES; k++)
#define ROUNDER 6755399441055744.0 /* 1.5 * 2^52: adding and subtracting it rounds to the nearest integer, ties to even */
#define BITS {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}

#if defined(__AVX2__)
#include <immintrin.h>
#define MAX_i(x, y) (part_i)_mm256_max_epi32((__m256i)(x), (__m256i)(y))
#define MAX_d(x, y) _mm256_max_pd(x, y)
#else
#define MAX_i(x, y) BLEND((x) > (y), x, y)
#define MAX_d MAX_i
#endif

/* U is an integer as long as T. */
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
        for (int i = 0; i < PARTS_##S; i++) x.part[i] = MAX_##S(x.part[i], y.part[i]);                            \
        return x;                                                                                                    \
    }                                                                                                                \
    /* x in the lanes whose bit of `mask` is set, y in the others */                                                 \
    INLINE lanes_##S either_##S(lanes_##S x, lanes_##S y, uint32_t mask) {                                           \
        const mask_##S *bits = (const mask_##S *)BIT_##S;                                                            \
        for (int i = 0; i < PARTS_##S; i++) x.part[i] = BLEND((bits[i] & (U)mask) != 0, x.part[i], y.part[i]);      \
        return x;                                                                                                    \
    }
LANES_OF(int32_t, int32_t, i)
LANES_OF(double, int64_t, d)

/* f x - g y + rounding, rounded to the nearest integer for int32 */
INLINE lanes_d combine_d(const double *x, const double *y, const double *f, const double *g, double rounding) {
    const part_d *p = (const part_d *)x, *q = (const part_d *)y, *fs = (const part_d *)f, *gs = (const part_d *)g;
    lanes_d out;
    for (int i = 0; i < PARTS_d; i++) out.part[i] = fs[i] * p[i] - gs[i] * q[i] + rounding;
    return out;
}

#if defined(__AVX2__)
INLINE __m128i four_combined(const int32_t *x, const int32_t *y, const double *f, const double *g, double rounding) {
    const __m256d p = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)x));
    const __m256d q = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)y));
    return _mm256_cvtpd_epi32(_mm256_loadu_pd(f) * p - _mm256_loadu_pd(g) * q + rounding);
}
INLINE lanes_i combine_i(const int32_t *x, const int32_t *y, const double *f, const double *g, double rounding) {
    lanes_i out;
    for (int i = 0, k = 0; i < 2; i++, k += 8)
        out.part[i] = (part_i)_mm256_set_m128i(four_combined(x + k + 4, y + k + 4, f + k + 4, g + k + 4, rounding),
                                               four_combined(x + k, y + k, f + k, g + k, rounding));
    return out;
}

/* bit k is set where (squares[k] & mask) is not empty */
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
INLINE lanes_i combine_i(const int32_t *x, const int32_t *y, const double *f, const double *g, double rounding) {
    int32_t out[LANES];
    EACH_LANE out[k] = (int32_t)(f[k] * x[k] - g[k] * y[k] + rounding + ROUNDER - ROUNDER);
    return load_i(out);
}

INLINE uint32_t overlaps(const uint64_t *squares, uint64_t mask) {
    uint32_t out = 0;
    EACH_LANE out |= squares[k] & mask ? (uint32_t)BIT_i[k] : 0;
    return out;
}
#endif

/* What the kernels call, for either type. */
#define KERNEL_LANES(T, S)                                                                                           \
    /* Sum over the six rolls of the largest of their options; `count` tells how many each roll has. */             \
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
    /* ring = -(f x - g y + rounding), except in the lanes of `kept`. */                                             \
    INLINE void solve_pair_##S(const T *x, const T *y, const double *f, const double *g, double rounding,            \
                               uint32_t kept, T *ring) {                                                             \
        store_##S(ring, either_##S(load_##S(ring), minus_##S(combine_##S(x, y, f, g, rounding)), kept));             \
    }                                                                                                                \
    /* Put -fresh where `to` is, except in the lanes of `kept`; `most` collects the largest change. */              \
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
/* Four times four values at a time, each step one instruction: first from two rows, N columns apart, then from four. */
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
