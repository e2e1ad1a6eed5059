/* Sixteen values at a time: the vector arithmetic of the sweep kernels.
 *
 * Every routine exists for int32 (suffix _i) and double (suffix _d). The plain C at the end says what each one
 * means; the AVX2 versions compute the same bits. They are written out because gcc 12 turns the plain loops over
 * sixteen sums into scalar code (measured on the three-piece game: 16.5 ns a position update then, 10 ns now).
 */
#ifndef MADN_LANES_H
#define MADN_LANES_H

#include <stdint.h>

#define LANES 16
#define ROUNDER 6755399441055744.0 /* 1.5 * 2^52: adding and subtracting it rounds to the nearest integer, ties to even */

#if defined(_MSC_VER) && !defined(__clang__)
#define LANES_INLINE static __forceinline
#else
#define LANES_INLINE static inline __attribute__((always_inline, unused))
#endif

#if defined(__GNUC__)
#define prefetch(address) __builtin_prefetch(address)
#else
#define prefetch(address) ((void)(address))
#endif

#if defined(__AVX2__)
#include <immintrin.h>

typedef struct { __m256i v[2]; } lanes_i;
typedef struct { __m256d v[4]; } lanes_d;

LANES_INLINE lanes_i zero_i(void) { lanes_i x; x.v[0] = x.v[1] = _mm256_setzero_si256(); return x; }
LANES_INLINE lanes_i load_i(const int32_t *p) {
    lanes_i x;
    x.v[0] = _mm256_loadu_si256((const __m256i *)p);
    x.v[1] = _mm256_loadu_si256((const __m256i *)(p + 8));
    return x;
}
LANES_INLINE void store_i(int32_t *p, lanes_i x) {
    _mm256_storeu_si256((__m256i *)p, x.v[0]);
    _mm256_storeu_si256((__m256i *)(p + 8), x.v[1]);
}
LANES_INLINE lanes_i add_i(lanes_i x, lanes_i y) {
    x.v[0] = _mm256_add_epi32(x.v[0], y.v[0]);
    x.v[1] = _mm256_add_epi32(x.v[1], y.v[1]);
    return x;
}
LANES_INLINE lanes_i max_i(lanes_i x, lanes_i y) {
    x.v[0] = _mm256_max_epi32(x.v[0], y.v[0]);
    x.v[1] = _mm256_max_epi32(x.v[1], y.v[1]);
    return x;
}
LANES_INLINE lanes_i negative_i(lanes_i x) {
    x.v[0] = _mm256_sub_epi32(_mm256_setzero_si256(), x.v[0]);
    x.v[1] = _mm256_sub_epi32(_mm256_setzero_si256(), x.v[1]);
    return x;
}
/* x in the lanes whose bit of `mask` is set, y in the others */
LANES_INLINE lanes_i either_i(lanes_i x, lanes_i y, uint32_t mask) {
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i low = _mm256_set1_epi32((int)(mask & 255)), high = _mm256_set1_epi32((int)(mask >> 8));
    x.v[0] = _mm256_blendv_epi8(y.v[0], x.v[0], _mm256_cmpeq_epi32(_mm256_and_si256(low, bits), bits));
    x.v[1] = _mm256_blendv_epi8(y.v[1], x.v[1], _mm256_cmpeq_epi32(_mm256_and_si256(high, bits), bits));
    return x;
}

LANES_INLINE lanes_d zero_d(void) {
    lanes_d x;
    x.v[0] = x.v[1] = x.v[2] = x.v[3] = _mm256_setzero_pd();
    return x;
}
LANES_INLINE lanes_d load_d(const double *p) {
    lanes_d x;
    for (int i = 0; i < 4; i++) x.v[i] = _mm256_loadu_pd(p + 4 * i);
    return x;
}
LANES_INLINE void store_d(double *p, lanes_d x) { for (int i = 0; i < 4; i++) _mm256_storeu_pd(p + 4 * i, x.v[i]); }
LANES_INLINE lanes_d add_d(lanes_d x, lanes_d y) {
    for (int i = 0; i < 4; i++) x.v[i] = _mm256_add_pd(x.v[i], y.v[i]);
    return x;
}
LANES_INLINE lanes_d max_d(lanes_d x, lanes_d y) {
    for (int i = 0; i < 4; i++) x.v[i] = _mm256_max_pd(x.v[i], y.v[i]);
    return x;
}
LANES_INLINE lanes_d negative_d(lanes_d x) {
    for (int i = 0; i < 4; i++) x.v[i] = _mm256_xor_pd(x.v[i], _mm256_set1_pd(-0.0));
    return x;
}
LANES_INLINE lanes_d either_d(lanes_d x, lanes_d y, uint32_t mask) {
    const __m256i bits = _mm256_setr_epi64x(1, 2, 4, 8);
    for (int i = 0; i < 4; i++) {
        const __m256i four = _mm256_set1_epi64x((long long)(mask >> (4 * i) & 15));
        const __m256i keep = _mm256_cmpeq_epi64(_mm256_and_si256(four, bits), bits);
        x.v[i] = _mm256_blendv_pd(y.v[i], x.v[i], _mm256_castsi256_pd(keep));
    }
    return x;
}

/* bit k is set where (squares[k] & mask) is not empty */
LANES_INLINE uint32_t overlaps(const uint64_t *squares, uint64_t mask) {
    const __m256i m = _mm256_set1_epi64x((long long)mask), zero = _mm256_setzero_si256();
    uint32_t free = 0;
    for (int i = 0; i < 4; i++) {
        const __m256i x = _mm256_and_si256(_mm256_loadu_si256((const __m256i *)(squares + 4 * i)), m);
        free |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(x, zero))) << (4 * i);
    }
    return free ^ 0xffffu;
}

LANES_INLINE lanes_i combine_i(const int32_t *x, const int32_t *y, const double *f, const double *g, double rounding) {
    lanes_i out;
    const __m256d b = _mm256_set1_pd(rounding);
    for (int i = 0; i < 2; i++) {
        __m128i part[2];
        for (int h = 0; h < 2; h++) {
            const int k = 8 * i + 4 * h;
            const __m256d p = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(x + k)));
            const __m256d q = _mm256_cvtepi32_pd(_mm_loadu_si128((const __m128i *)(y + k)));
            const __m256d fp = _mm256_mul_pd(_mm256_loadu_pd(f + k), p);
            const __m256d gq = _mm256_mul_pd(_mm256_loadu_pd(g + k), q);
            part[h] = _mm256_cvtpd_epi32(_mm256_add_pd(_mm256_sub_pd(fp, gq), b));
        }
        out.v[i] = _mm256_set_m128i(part[1], part[0]);
    }
    return out;
}
LANES_INLINE lanes_d combine_d(const double *x, const double *y, const double *f, const double *g, double rounding) {
    lanes_d out;
    for (int i = 0; i < 4; i++) {
        const __m256d fp = _mm256_mul_pd(_mm256_loadu_pd(f + 4 * i), _mm256_loadu_pd(x + 4 * i));
        const __m256d gq = _mm256_mul_pd(_mm256_loadu_pd(g + 4 * i), _mm256_loadu_pd(y + 4 * i));
        out.v[i] = _mm256_add_pd(_mm256_sub_pd(fp, gq), _mm256_set1_pd(rounding));
    }
    return out;
}

LANES_INLINE void transpose8(const int32_t *const *in, int32_t *out) {
    __m256i r[8], t[8];
    for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_si256((const __m256i *)in[i]);
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        r[4 * i] = _mm256_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 1] = _mm256_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
        r[4 * i + 2] = _mm256_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
        r[4 * i + 3] = _mm256_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm256_storeu_si256((__m256i *)(out + i * LANES), _mm256_permute2x128_si256(r[i], r[i + 4], 0x20));
        _mm256_storeu_si256((__m256i *)(out + (i + 4) * LANES), _mm256_permute2x128_si256(r[i], r[i + 4], 0x31));
    }
}
LANES_INLINE void transpose_i(const int32_t *const *in, int32_t *out) {
    for (int half = 0; half < 2; half++) {
        const int32_t *rows[8];
        for (int i = 0; i < 8; i++) rows[i] = in[8 * half + i];
        transpose8(rows, out + 8 * half);
        for (int i = 0; i < 8; i++) rows[i] += 8;
        transpose8(rows, out + 8 * LANES + 8 * half);
    }
}
LANES_INLINE void transpose_d(const double *const *in, double *out) {
    for (int i = 0; i < LANES; i += 4) {
        for (int j = 0; j < LANES; j += 4) {
            const __m256d a = _mm256_loadu_pd(in[i] + j), b = _mm256_loadu_pd(in[i + 1] + j);
            const __m256d c = _mm256_loadu_pd(in[i + 2] + j), d = _mm256_loadu_pd(in[i + 3] + j);
            const __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
            const __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
            _mm256_storeu_pd(out + j * LANES + i, _mm256_permute2f128_pd(ab0, cd0, 0x20));
            _mm256_storeu_pd(out + (j + 1) * LANES + i, _mm256_permute2f128_pd(ab1, cd1, 0x20));
            _mm256_storeu_pd(out + (j + 2) * LANES + i, _mm256_permute2f128_pd(ab0, cd0, 0x31));
            _mm256_storeu_pd(out + (j + 3) * LANES + i, _mm256_permute2f128_pd(ab1, cd1, 0x31));
        }
    }
}

#else /* plain C: what the routines above mean */

LANES_INLINE uint32_t overlaps(const uint64_t *squares, uint64_t mask) {
    uint32_t out = 0;
    for (int k = 0; k < LANES; k++) out |= (uint32_t)((squares[k] & mask) != 0) << k;
    return out;
}

#define PLAIN_LANES(T, S, ROUND)                                                                                     \
    typedef struct { T v[LANES]; } lanes_##S;                                                                        \
    LANES_INLINE lanes_##S zero_##S(void) { lanes_##S x; for (int k = 0; k < LANES; k++) x.v[k] = 0; return x; }      \
    LANES_INLINE lanes_##S load_##S(const T *p) {                                                                    \
        lanes_##S x;                                                                                                 \
        for (int k = 0; k < LANES; k++) x.v[k] = p[k];                                                               \
        return x;                                                                                                    \
    }                                                                                                                \
    LANES_INLINE void store_##S(T *p, lanes_##S x) { for (int k = 0; k < LANES; k++) p[k] = x.v[k]; }                 \
    LANES_INLINE lanes_##S add_##S(lanes_##S x, lanes_##S y) {                                                       \
        for (int k = 0; k < LANES; k++) x.v[k] += y.v[k];                                                            \
        return x;                                                                                                    \
    }                                                                                                                \
    LANES_INLINE lanes_##S max_##S(lanes_##S x, lanes_##S y) {                                                       \
        for (int k = 0; k < LANES; k++) x.v[k] = x.v[k] > y.v[k] ? x.v[k] : y.v[k];                                  \
        return x;                                                                                                    \
    }                                                                                                                \
    LANES_INLINE lanes_##S negative_##S(lanes_##S x) {                                                               \
        for (int k = 0; k < LANES; k++) x.v[k] = -x.v[k];                                                            \
        return x;                                                                                                    \
    }                                                                                                                \
    LANES_INLINE lanes_##S either_##S(lanes_##S x, lanes_##S y, uint32_t mask) {                                     \
        for (int k = 0; k < LANES; k++) x.v[k] = mask >> k & 1 ? x.v[k] : y.v[k];                                    \
        return x;                                                                                                    \
    }                                                                                                                \
    LANES_INLINE lanes_##S combine_##S(const T *x, const T *y, const double *f, const double *g, double rounding) {      \
        lanes_##S out;                                                                                               \
        for (int k = 0; k < LANES; k++) out.v[k] = (T)ROUND(f[k] * x[k] - g[k] * y[k] + rounding);                       \
        return out;                                                                                                  \
    }                                                                                                                \
    LANES_INLINE void transpose_##S(const T *const *in, T *out) {                                                    \
        for (int i = 0; i < LANES; i++)                                                                              \
            for (int j = 0; j < LANES; j++) out[j * LANES + i] = in[i][j];                                           \
    }
#define NEAREST(x) (((x) + ROUNDER) - ROUNDER)
#define AS_IT_IS(x) (x)
PLAIN_LANES(int32_t, i, NEAREST)
PLAIN_LANES(double, d, AS_IT_IS)
#endif

/* What the kernels call, for either type. */
#define KERNEL_LANES(T, S)                                                                                           \
    /* Sum over the six rolls of the largest of their options; `count` tells how many each roll has. */             \
    LANES_INLINE void best_total_##S(const T *const *option, const int8_t *count, int64_t shift, T *out) {           \
        lanes_##S total = zero_##S();                                                                                \
        for (int roll = 0; roll < 6; roll++) {                                                                       \
            int k = count[roll];                                                                                     \
            if (k == 0) continue;                                                                                    \
            lanes_##S best = load_##S(*option++ + shift);                                                            \
            for (; k > 1; k--) best = max_##S(best, load_##S(*option++ + shift));                                    \
            total = add_##S(total, best);                                                                            \
        }                                                                                                            \
        store_##S(out, total);                                                                                       \
    }                                                                                                                \
    /* The same under a duty to capture: where an option of a roll captures, only those that do count. An option captures\
     * in the lanes whose squares hold its bit of `lands`; 0 is a move that never does. */                           \
    LANES_INLINE void best_legal_##S(const T *const *option, const int8_t *count, const uint64_t *lands,             \
                                     const uint64_t *squares, int64_t shift, T *out) {                               \
        lanes_##S total = zero_##S();                                                                                \
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
            total = add_##S(total, either_##S(capture, best, captures));                                             \
            option += k;                                                                                             \
            lands += k;                                                                                              \
        }                                                                                                            \
        store_##S(out, total);                                                                                       \
    }                                                                                                                \
    /* ring = -(f x - g y + rounding), except in the lanes of `kept`. */                                                \
    LANES_INLINE void solve_pair_##S(const T *x, const T *y, const double *f, const double *g, double rounding,              \
                                 uint32_t kept, T *ring) {                                                           \
        store_##S(ring, either_##S(load_##S(ring), negative_##S(combine_##S(x, y, f, g, rounding)), kept));              \
    }                                                                                                                \
    /* Put -fresh where `to` is, except in the lanes of `kept`; `most` collects the largest change. */              \
    LANES_INLINE void replace_##S(T *to, const T *fresh, uint32_t kept, T *most) {                                   \
        const lanes_##S old = load_##S(to), now = either_##S(old, negative_##S(load_##S(fresh)), kept);              \
        const lanes_##S up = add_##S(now, negative_##S(old));                                                        \
        const lanes_##S change = max_##S(up, negative_##S(up));                                                      \
        store_##S(most, max_##S(load_##S(most), change));                                                            \
        store_##S(to, now);                                                                                          \
    }
KERNEL_LANES(int32_t, i)
KERNEL_LANES(double, d)

#endif
