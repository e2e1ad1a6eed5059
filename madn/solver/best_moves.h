/* The best moves of one row against a block of columns: loops over contiguous values.
 *
 * Every routine exists for int32 (suffix _i) and double (suffix _d). The loops are plain C that a compiler turns into
 * vector instructions; the work arrays never overlap with anything, and ONLY says so. Slots that are no position may
 * hold anything: what is computed from them wraps around (unsigned) and is left out at the end.
 */
#ifndef MADN_BEST_MOVES_H
#define MADN_BEST_MOVES_H

#include <string.h>

#include "../_machine.h"

#define BLOCK 512     /* columns that are looked at together */
#define ROLLS 6
#define ALONE 4096    /* in a word: once for each roll whose best move has no equal; below it 2 bits for each roll */

#define HIGHER(x, y) ((x) > (y) ? (x) : (y))
#define LOWER(x, y) ((x) < (y) ? (x) : (y))
#define KEPT_I(x, open) ((x) & (uint32_t)-(open))
#define KEPT_D(x, open) ((open) ? (x) : 0)

typedef struct {      /* a row against all columns so far; margin: best less second-best of a decision */
    int64_t decisions, unique, whole_margins;
    double margins;   /* the sum of margins of doubles; that of int32 is `whole_margins` */
    double margin;    /* the largest, and where; -1 if there is none */
    int64_t margin_column;
    int margin_roll;
} found_t;

/* How many of n columns make a position with a row that stands on `squares`; `open` says which (1 or 0). */
INLINE int open_columns(const uint64_t *masks, uint64_t squares, int n, int32_t *ONLY open) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t both = masks[i] & squares;
        open[i] = (uint32_t)(both | both >> 32) == 0; /* any processor compares 32 bits */
        count += open[i];
    }
    return count;
}

/* T is the type of values, U that of sums, SUM that of all margins of a row and MARGINS where they go. */
#define CHOOSE(T, U, SUM, MARGINS, KEPT, S)                                                                                \
    typedef struct {                                                                                                 \
        U margins[BLOCK]; /* the margins so far, added up */                                                         \
        T margin[BLOCK];  /* the largest */                                                                          \
        T word[BLOCK];    /* the choices, and ALONE for each that has no equal */                                    \
    } work_##S;                                                                                                      \
    /* A decision of k options. `unit` is 4^(roll - 1). */                                                           \
    INLINE void compare_##S(const T *const *option, const int k, int n, T tie, T unit, work_##S *ONLY w) {    \
        const T *const v0 = option[0], *const v1 = option[1];                                                        \
        const T *const v2 = option[k > 2 ? 2 : 0], *const v3 = option[k > 3 ? 3 : 0];                                \
        for (int i = 0; i < n; i++) {                                                                                \
            const T x = v0[i], y = v1[i], z = v2[i], u = v3[i];                                                      \
            T best = HIGHER(x, y), second = LOWER(x, y);                                                             \
            if (k > 2) {                                                                                             \
                const T low = LOWER(best, z);                                                                        \
                second = HIGHER(second, low);                                                                        \
                best = HIGHER(best, z);                                                                              \
            }                                                                                                        \
            if (k > 3) {                                                                                             \
                const T low = LOWER(best, u);                                                                        \
                second = HIGHER(second, low);                                                                        \
                best = HIGHER(best, u);                                                                              \
            }                                                                                                        \
            const T margin = (T)((U)best - (U)second);                                                               \
            T word = (T)((U)best - (U)y) <= tie ? unit : 0; /* the last within the tie */                            \
            if (k > 2) word = (T)((U)best - (U)z) <= tie ? 2 * unit : word;                                          \
            if (k > 3) word = (T)((U)best - (U)u) <= tie ? 3 * unit : word;                                          \
            w->word[i] += word + (margin > tie ? ALONE : 0);                                                         \
            w->margins[i] += (U)margin;                                                                              \
            w->margin[i] = HIGHER(w->margin[i], margin);                                                             \
        }                                                                                                            \
    }                                                                                                                \
    /* The same margin of one column; -1 if there is no decision. */                                                 \
    INLINE T margin_at_##S(const T *const *option, int k, int i) {                                            \
        if (k < 2) return -1;                                                                                        \
        T best = HIGHER(option[0][i], option[1][i]), second = LOWER(option[0][i], option[1][i]);                     \
        for (int j = 2; j < k; j++) {                                                                                \
            second = HIGHER(second, LOWER(best, option[j][i]));                                                      \
            best = HIGHER(best, option[j][i]);                                                                       \
        }                                                                                                            \
        return (T)((U)best - (U)second);                                                                             \
    }                                                                                                                \
    /* Row against the n columns from `first` on: all pointers are to the first column. `option` are those of the    \
     * six rolls, one after the other, `count` says how many each has. `words` may be NULL. */                       \
    INLINE void choose_##S(const T *const *option, const int *count, const uint64_t *masks, uint64_t squares, \
                                  int64_t first, int n, T tie, uint16_t *ONLY words, found_t *found) {               \
        work_##S w;                                                                                                  \
        int32_t open[BLOCK];                                                                                         \
        const int positions = open_columns(masks, squares, n, open);                                                 \
        const T *const *next = option;                                                                               \
        int decisions = 0, unique = 0, wider = found->margin < 0;                                                    \
        T margin = wider ? 0 : (T)found->margin;                                                                     \
        SUM margins = 0;                                                                                             \
        memset(&w, 0, sizeof w);                                                                                     \
        for (int roll = 1; roll <= ROLLS; roll++) {                                                                  \
            const int k = count[roll - 1];                                                                           \
            const T unit = (T)(1 << 2 * (roll - 1));                                                                 \
            if (k == 2) compare_##S(next, 2, n, tie, unit, &w);                                                      \
            else if (k == 3) compare_##S(next, 3, n, tie, unit, &w);                                                 \
            else if (k > 3) compare_##S(next, 4, n, tie, unit, &w);                                                  \
            decisions += k > 1;                                                                                      \
            next += k;                                                                                               \
        }                                                                                                            \
        for (int i = 0; i < n; i++) wider += (w.margin[i] > margin) & open[i];                                       \
        for (int i = 0; i < n; i++) unique += (int32_t)w.word[i] / ALONE & -open[i];                                 \
        for (int i = 0; i < n; i++) margins += KEPT(w.margins[i], open[i]);                                          \
        if (words)                                                                                                   \
            for (int i = 0; i < n; i++) words[i] = (uint16_t)((int32_t)w.word[i] % ALONE & -open[i]);                \
        found->decisions += (int64_t)positions * decisions;                                                          \
        found->unique += unique;                                                                                     \
        found->MARGINS += margins;                                                                                   \
        for (int i = 0; i < n && wider && positions && decisions; i++) {                                             \
            if (open[i] && (double)w.margin[i] > found->margin) {                                                    \
                found->margin = (double)w.margin[i];                                                                 \
                found->margin_column = first + i;                                                                    \
                found->margin_roll = 1;                                                                              \
                for (next = option; found->margin_roll < ROLLS; next += count[found->margin_roll++ - 1])             \
                    if (margin_at_##S(next, count[found->margin_roll - 1], i) == w.margin[i]) break;                 \
            }                                                                                                        \
        }                                                                                                            \
    }
CHOOSE(int32_t, uint32_t, uint64_t, whole_margins, KEPT_I, i)
CHOOSE(double, double, double, margins, KEPT_D, d)

#endif
