/* The best moves of one row against a block of columns: loops over contiguous values.
 *
 * Every routine exists for int32 (suffix _i) and double (suffix _d). The loops are plain C that the compiler turns into
 * vector instructions; ONLY tells it that the work arrays overlap with nothing. Slots that are not positions may
 * contain anything: what is computed from them wraps around (unsigned) and is discarded at the end.
 */
#ifndef MADN_BEST_MOVES_H
#define MADN_BEST_MOVES_H

#include <string.h>

#include "../_machine.h"

#define BLOCK 512     /* columns that are processed together */
#define ROLLS 6
#define ALONE 4096    /* added to a word for each roll whose best move has no equal; below it are 2 bits a roll */

#define HIGHER(x, y) ((x) > (y) ? (x) : (y))
#define LOWER(x, y) ((x) < (y) ? (x) : (y))
#define KEPT_I(x, open) ((x) & (uint32_t)-(open))
#define KEPT_D(x, open) ((open) ? (x) : 0)

typedef struct {      /* a row against all columns so far; margin: best minus second-best option of a decision */
    int64_t decisions, unique, whole_margins;
    double margins;   /* the sum of the margins of doubles; for int32 it is in `whole_margins` */
    double margin;    /* the largest margin and where it is; -1 if there is none */
    int64_t margin_column;
    int margin_roll;
} found_t;

/* Counts how many of n columns form a position with a row that stands on `squares`; `open` says which (1 or 0). */
INLINE int open_columns(const uint64_t *masks, uint64_t squares, int n, int32_t *ONLY open) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        const uint64_t both = masks[i] & squares;
        open[i] = (uint32_t)(both | both >> 32) == 0; /* every processor can compare 32 bits */
        count += open[i];
    }
    return count;
}

/* T is the type of values, U of differences, SUM of the sum of a row's margins; MARGINS is the field it is added to. */
#define CHOOSE(T, U, SUM, MARGINS, KEPT, S)                                                                          \
    typedef struct {                                                                                                 \
        U margins[BLOCK]; /* the sum of the margins so far */                                                        \
        T margin[BLOCK];  /* the largest margin */                                                                   \
        T word[BLOCK];    /* the choices, plus ALONE for each that has no equal */                                   \
    } work_##S;                                                                                                      \
    /* Compares the k options of a roll in n columns. `unit` is 4^(roll - 1). */                                     \
    INLINE void compare_##S(const T *const *option, const int k, int n, T tie, T unit, work_##S *ONLY w) {           \
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
    /* Returns the margin in one column, or -1 if there is no decision, and in `choice` the last legal option within \
     * the tie. `lands` means a duty to capture: an option captures where the column's squares include its bit. */   \
    INLINE T pick_##S(const T *const *option, int k, const uint64_t *lands, uint64_t mask, int i, T tie,             \
                            int *choice) {                                                                           \
        T best = 0, second = 0;                                                                                      \
        int legal = 0, captures = 0;                                                                                 \
        for (int j = 0; lands && j < k; j++) captures |= (mask & lands[j]) != 0;                                     \
        for (int j = 0; j < k; j++) {                                                                                \
            if (captures && !(mask & lands[j])) continue;                                                            \
            const T value = option[j][i];                                                                            \
            if (legal == 0 || value > best) {                                                                        \
                second = best;                                                                                       \
                best = value;                                                                                        \
            } else if (legal == 1 || value > second) {                                                               \
                second = value;                                                                                      \
            }                                                                                                        \
            legal++;                                                                                                 \
        }                                                                                                            \
        for (int j = 0; j < k; j++)                                                                                  \
            if (!(captures && !(mask & lands[j])) && (T)((U)best - (U)option[j][i]) <= tie) *choice = j;             \
        return legal > 1 ? (T)((U)best - (U)second) : -1;                                                            \
    }                                                                                                                \
    /* Like `compare`, but with a duty to capture; returns the number of decisions. */                               \
    INLINE int compare_legal_##S(const T *const *option, int k, const uint64_t *lands, const uint64_t *masks,        \
                                       const int32_t *open, int n, T tie, T unit, work_##S *ONLY w) {                \
        int decisions = 0;                                                                                           \
        for (int i = 0; i < n; i++) {                                                                                \
            int choice = 0;                                                                                          \
            if (!open[i]) continue;                                                                                  \
            const T margin = pick_##S(option, k, lands, masks[i], i, tie, &choice);                                  \
            w->word[i] += (T)choice * unit + (margin > tie ? ALONE : 0);                                             \
            if (margin < 0) continue;                                                                                \
            decisions++;                                                                                             \
            w->margins[i] += (U)margin;                                                                              \
            w->margin[i] = HIGHER(w->margin[i], margin);                                                             \
        }                                                                                                            \
        return decisions;                                                                                            \
    }                                                                                                                \
    /* A row against the n columns from `first` on; all pointers are to the first column. `option` has the options   \
     * of the six rolls one after the other, `count` how many each roll has, `lands` the squares they land on, or    \
     * NULL without a duty to capture. `words` may be NULL. */                                                       \
    INLINE void choose_##S(const T *const *option, const int *count, const uint64_t *lands,                          \
                                 const uint64_t *masks, uint64_t squares, int64_t first, int n, T tie,               \
                                 uint16_t *ONLY words, found_t *found) {                                             \
        work_##S w;                                                                                                  \
        int32_t open[BLOCK];                                                                                         \
        const int positions = open_columns(masks, squares, n, open);                                                 \
        const T *const *next = option;                                                                               \
        int64_t decisions = 0;                                                                                       \
        int unique = 0, wider = found->margin < 0, at = 0;                                                           \
        T margin = wider ? 0 : (T)found->margin;                                                                     \
        SUM margins = 0;                                                                                             \
        memset(w.margins, 0, (size_t)n * sizeof *w.margins);                                                         \
        memset(w.margin, 0, (size_t)n * sizeof *w.margin);                                                           \
        memset(w.word, 0, (size_t)n * sizeof *w.word);                                                               \
        for (int roll = 1; roll <= ROLLS; roll++) {                                                                  \
            const int k = count[roll - 1];                                                                           \
            const T unit = (T)(1 << 2 * (roll - 1));                                                                 \
            if (lands && k > 1) {                                                                                    \
                decisions += compare_legal_##S(next, k, lands + at, masks, open, n, tie, unit, &w);                  \
            } else if (k == 2) compare_##S(next, 2, n, tie, unit, &w);                                               \
            else if (k == 3) compare_##S(next, 3, n, tie, unit, &w);                                                 \
            else if (k > 3) compare_##S(next, 4, n, tie, unit, &w);                                                  \
            if (!lands && k > 1) decisions += positions;                                                             \
            next += k;                                                                                               \
            at += k;                                                                                                 \
        }                                                                                                            \
        for (int i = 0; i < n; i++) wider += (w.margin[i] > margin) & open[i];                                       \
        for (int i = 0; i < n; i++) unique += (int32_t)w.word[i] / ALONE & -open[i];                                 \
        for (int i = 0; i < n; i++) margins += KEPT(w.margins[i], open[i]);                                          \
        if (words)                                                                                                   \
            for (int i = 0; i < n; i++) words[i] = (uint16_t)((int32_t)w.word[i] % ALONE & -open[i]);                \
        found->decisions += decisions;                                                                               \
        found->unique += unique;                                                                                     \
        found->MARGINS += margins;                                                                                   \
        for (int i = 0; i < n && wider && positions && decisions; i++) {                                             \
            if (open[i] && (double)w.margin[i] > found->margin) {                                                    \
                found->margin = (double)w.margin[i];                                                                 \
                found->margin_column = first + i;                                                                    \
                found->margin_roll = 1;                                                                              \
                for (next = option, at = 0; found->margin_roll < ROLLS; found->margin_roll++) {                      \
                    const int k = count[found->margin_roll - 1];                                                     \
                    int choice = 0;                                                                                  \
                    if (k > 1 && pick_##S(next, k, lands ? lands + at : 0, masks[i], i, tie, &choice) == w.margin[i])\
                        break;                                                                                       \
                    next += k;                                                                                       \
                    at += k;                                                                                         \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }
CHOOSE(int32_t, uint32_t, uint64_t, whole_margins, KEPT_I, i)
CHOOSE(double, double, double, margins, KEPT_D, d)

#endif
