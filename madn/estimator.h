/* The two large sums of an estimator, for the instructions of a build. They are integers: all builds give the same. */
#include <stdint.h>
#include <string.h>
#include "_machine.h"

#define SECOND_UNITS 32
#define UNITS_AT_ONCE 32 /* of the first layer: as many as stay in registers */

#if defined(__AVX2__)
#include <immintrin.h>
typedef __m256i Numbers; /* of 32 bits */
#define NUMBERS 8
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(p))
#define STORE(p, x) _mm256_storeu_si256((__m256i *)(p), x)
#define ADD _mm256_add_epi32
#define WIDEN(p) _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(p)))
#define PAIRS(x, y) _mm256_madd_epi16(x, y)
#define ALL(x) _mm256_set1_epi32(x)
#elif defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
typedef __m128i Numbers;
#define NUMBERS 4
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))
#define STORE(p, x) _mm_storeu_si128((__m128i *)(p), x)
#define ADD _mm_add_epi32
#define WIDEN(p) widened(_mm_loadl_epi64((const __m128i *)(p)))
#define PAIRS(x, y) _mm_madd_epi16(x, y)
#define ALL(x) _mm_set1_epi32(x)
INLINE __m128i widened(__m128i x) { return _mm_srai_epi32(_mm_unpacklo_epi16(x, x), 16); }
#endif

/* units[h] = bias[h] + the sum of rows[active[i]][h], clamped to 0 to `one`; `first` is a multiple of UNITS_AT_ONCE. */
static void add_rows(const int16_t *rows, const int32_t *bias, const int16_t *active, int count, int first, int32_t one,
                     int16_t *units) {
    for (int begin = 0; begin < first; begin += UNITS_AT_ONCE) {
        int32_t sums[UNITS_AT_ONCE];
#ifdef NUMBERS
        Numbers s[UNITS_AT_ONCE / NUMBERS];
        for (int v = 0; v < UNITS_AT_ONCE / NUMBERS; v++) s[v] = LOAD(bias + begin + v * NUMBERS);
        for (int i = 0; i < count; i++) {
            const int16_t *row = rows + (int64_t)active[i] * first + begin;
            for (int v = 0; v < UNITS_AT_ONCE / NUMBERS; v++) s[v] = ADD(s[v], WIDEN(row + v * NUMBERS));
        }
        for (int v = 0; v < UNITS_AT_ONCE / NUMBERS; v++) STORE(sums + v * NUMBERS, s[v]);
#else
        memcpy(sums, bias + begin, sizeof sums);
        for (int i = 0; i < count; i++) {
            const int16_t *row = rows + (int64_t)active[i] * first + begin;
            for (int h = 0; h < UNITS_AT_ONCE; h++) sums[h] += row[h];
        }
#endif
        for (int h = 0; h < UNITS_AT_ONCE; h++) {
            const int32_t x = sums[h] > 0 ? sums[h] : 0;
            units[begin + h] = (int16_t)(x < one ? x : one);
        }
    }
}

/* sums[j] = bias[j] + the sum over h of units[h] * second[h][j]; `second` is stored as [first / 2][SECOND_UNITS][2]. */
static void add_units(const int16_t *second, const int32_t *bias, const int16_t *units, int first, int32_t *sums) {
#ifdef NUMBERS
    Numbers s[SECOND_UNITS / NUMBERS];
    for (int v = 0; v < SECOND_UNITS / NUMBERS; v++) s[v] = LOAD(bias + v * NUMBERS);
    for (int h = 0; h < first; h += 2, second += 2 * SECOND_UNITS) {
        int32_t both;
        memcpy(&both, units + h, sizeof both);
        if (!both) continue;
        for (int v = 0; v < SECOND_UNITS / NUMBERS; v++) s[v] = ADD(s[v], PAIRS(LOAD(second + v * 2 * NUMBERS), ALL(both)));
    }
    for (int v = 0; v < SECOND_UNITS / NUMBERS; v++) STORE(sums + v * NUMBERS, s[v]);
#else
    memcpy(sums, bias, sizeof(int32_t) * SECOND_UNITS);
    for (int h = 0; h < first; h += 2, second += 2 * SECOND_UNITS)
        for (int j = 0; j < SECOND_UNITS; j++)
            sums[j] += units[h] * second[2 * j] + units[h + 1] * second[2 * j + 1];
#endif
}
