/* Can't Stop, several components side by side: one pass over the marker placements of a turn.
 *
 * The placements (states) of a turn are numbered so that every move leads to a smaller number; the last is the anchor,
 * without markers. Each state has two numbers per lane: `value`, the probability that the player to move wins once a
 * move has led there (and the better of stopping and rolling follows), and `slope`, its derivative with respect to the
 * value of losing the turn. The program of a state is a list of uint16: the rolls that lose the turn; how many groups
 * of rolls allow one move, and (rolls, state) for each; how many allow two, and (rolls, state, state) for each; how
 * many allow more, and (rolls, count, states) for each.
 *
 * Every routine exists for 8 lanes (suffix _8) and for one (suffix _1). A lane has the same bits in all builds.
 */
#ifndef MADN_CANTSTOP_LANES_H
#define MADN_CANTSTOP_LANES_H

#include <stddef.h>

#include "../../_machine.h"

#define NIBBLES UINT64_C(0x1111111111111111) /* the lowest bit of every four */
#define AHEAD 6 /* states between prefetching a row and reading it: rows are scattered over all of the values */

typedef VECTOR(double) part;
enum { PARTS = 8 * sizeof(double) / sizeof(part) };
typedef struct { part v[PARTS]; } lanes_8;
#define EACH_PART for (int i = 0; i < PARTS; i++)
INLINE lanes_8 load_8(const double *p) { return *(const lanes_8 *)p; }
INLINE void store_8(double *p, lanes_8 x) { *(lanes_8 *)p = x; }
INLINE lanes_8 scaled_8(lanes_8 x, double y) { EACH_PART x.v[i] *= y; return x; }
INLINE lanes_8 plus_8(lanes_8 x, lanes_8 y) { EACH_PART x.v[i] += y.v[i]; return x; }
INLINE lanes_8 same_8(double y) { lanes_8 x = {0}; EACH_PART x.v[i] += y; return x; }
/* a in the lanes where x is at least y, b in the others */
INLINE lanes_8 at_least_8(lanes_8 x, lanes_8 y, lanes_8 a, lanes_8 b) {
    EACH_PART a.v[i] = BLEND(x.v[i] >= y.v[i], a.v[i], b.v[i]);
    return a;
}

typedef double lanes_1;
INLINE lanes_1 load_1(const double *p) { return *p; }
INLINE void store_1(double *p, lanes_1 x) { *p = x; }
INLINE lanes_1 same_1(double y) { return y; }
INLINE lanes_1 scaled_1(lanes_1 x, double y) { return x * y; }
INLINE lanes_1 plus_1(lanes_1 x, lanes_1 y) { return x + y; }
INLINE lanes_1 at_least_1(lanes_1 x, lanes_1 y, lanes_1 a, lanes_1 b) { return x >= y ? a : b; }

/* What stopping in each state is worth: one minus the value of the opponent's anchor in the component it leads to.
 *   first[state], kind[state]   where the row of that component is stored, and which of its columns the lanes need
 *   column[kind * W + lane]     those columns
 *   shift[kind]                 added to `first`; negative if stopping wins the game
 *   spot[3 * state]             squares the markers stand on; taken[spot] has the bits of lanes with the opponent there
 *   score[state] < threshold    a player by the rule of 28 does not stop (unless that wins); score may be NULL */
INLINE void stops(const int W, int64_t states, const int64_t *first, const uint16_t *kind, const uint8_t *spot,
                     const uint8_t *taken, const int32_t *column, const int64_t *shift, const int16_t *score,
                     int threshold, const double *values, double *stop) {
    for (int64_t state = 0; state < states; state++, spot += 3, stop += W) {
        const int k = kind[state];
        const unsigned bits = taken[spot[0]] | taken[spot[1]] | taken[spot[2]];
        const int32_t *c = column + k * W;
        if (state + AHEAD < states && shift[kind[state + AHEAD]] >= 0) {
            const int64_t row = first[state + AHEAD] + shift[kind[state + AHEAD]];
            const int32_t *n = column + kind[state + AHEAD] * W;
            for (int i = 0; i < W; i += 2) prefetch(values + row + n[i]);
            prefetch(values + row + n[W - 1]);
        }
        if (shift[k] < 0) {
            for (int i = 0; i < W; i++) stop[i] = 1.0;
        } else if (score && score[state] < threshold) {
            for (int i = 0; i < W; i++) stop[i] = -1.0;
            continue;
        } else {
            const double *row = values + first[state] + shift[k];
            for (int i = 0; i < W; i++) stop[i] = 1.0 - row[c[i]];
        }
        if (bits)
            for (int i = 0; i < W; i++)
                if (bits >> i & 1) stop[i] = -1.0;
    }
}

/* Compute the states in order; the anchor comes last. With `obey` the player stops wherever that is allowed. */
#define CS_TURN(W)                                                                                                    \
    INLINE void turn_##W(const uint16_t *program, int64_t states, const double *stop, const double *fail, int obey,\
                            double scale, double *value, double *slope) {                                             \
        const lanes_##W failed = load_##W(fail);                                                                      \
        for (int64_t state = 0; state < states; state++) {                                                            \
            lanes_##W v = scaled_##W(failed, program[0]), a = same_##W(program[0]);                                   \
            int groups = program[1];                                                                                  \
            for (program += 2; groups > 0; groups--, program += 2) {                                                  \
                const int64_t at = (int64_t)program[1] * W;                                                           \
                v = plus_##W(v, scaled_##W(load_##W(value + at), program[0]));                                        \
                a = plus_##W(a, scaled_##W(load_##W(slope + at), program[0]));                                        \
            }                                                                                                         \
            groups = *program++;                                                                                      \
            for (; groups > 0; groups--, program += 3) {                                                              \
                const int64_t at = (int64_t)program[1] * W, alt = (int64_t)program[2] * W;                            \
                const lanes_##W x = load_##W(value + at), y = load_##W(value + alt);                                  \
                const lanes_##W c = at_least_##W(x, y, load_##W(slope + at), load_##W(slope + alt));                  \
                v = plus_##W(v, scaled_##W(at_least_##W(x, y, x, y), program[0]));                                    \
                a = plus_##W(a, scaled_##W(c, program[0]));                                                           \
            }                                                                                                         \
            for (groups = *program++; groups > 0; groups--) {                                                         \
                const double rolls = program[0];                                                                      \
                const uint16_t *end = program + 2 + program[1];                                                       \
                int64_t at = (int64_t)program[2] * W;                                                                 \
                lanes_##W best = load_##W(value + at), companion = load_##W(slope + at);                              \
                for (program += 3; program < end; program++) {                                                        \
                    at = (int64_t)program[0] * W;                                                                     \
                    const lanes_##W x = load_##W(value + at);                                                         \
                    companion = at_least_##W(best, x, companion, load_##W(slope + at));                               \
                    best = at_least_##W(best, x, best, x);                                                            \
                }                                                                                                     \
                v = plus_##W(v, scaled_##W(best, rolls));                                                             \
                a = plus_##W(a, scaled_##W(companion, rolls));                                                        \
            }                                                                                                         \
            v = scaled_##W(v, scale);                                                                                 \
            a = scaled_##W(a, scale);                                                                                 \
            if (state + 1 < states) {                                                                                 \
                const lanes_##W x = load_##W(stop + state * W), limit = obey ? same_##W(0.0) : v;                     \
                a = at_least_##W(x, limit, same_##W(0.0), a);                                                         \
                v = at_least_##W(x, limit, x, v);                                                                     \
            }                                                                                                         \
            store_##W(value + state * W, v);                                                                          \
            store_##W(slope + state * W, a);                                                                          \
        }                                                                                                             \
    }
CS_TURN(8)
CS_TURN(1)

/* Make one pass over a turn for `width` (8 or 1) lanes: fill `stop`, `value` and `slope`. */
static inline void run_turn(int width, const uint16_t *program, int64_t states, const int64_t *first,
                            const uint16_t *kind, const uint8_t *spot, const uint8_t *taken, const int32_t *column,
                            const int64_t *shift, const int16_t *score, int threshold, const double *values,
                            const double *fail, double scale, double *stop, double *value, double *slope) {
    if (width == 8) {
        stops(8, states - 1, first, kind, spot, taken, column, shift, score, threshold, values, stop);
        turn_8(program, states, stop, fail, score != NULL, scale, value, slope);
    } else {
        stops(1, states - 1, first, kind, spot, taken, column, shift, score, threshold, values, stop);
        turn_1(program, states, stop, fail, score != NULL, scale, value, slope);
    }
}

#endif
