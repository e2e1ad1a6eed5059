/* One step of fitting: the values that a network gives to some positions, and the gradient of their squared errors.
 *
 * The units of the first layer are sums of the rows that a position selects, clamped to 0 to 1. From these the
 * SECOND_UNITS units of the second layer are computed and clamped in the same way; the output is their weighted sum, in
 * log odds. The second layer is one of several, chosen by the pieces at home. It is stored with the units of the first
 * layer as rows, so that a unit that is 0 costs nothing. */
#include <math.h>
#include <string.h>
#include "_machine.h"

#define SECOND_UNITS 32
#define MOST_FIRST 2048

typedef VECTOR(float) floats;
#define FLOATS ((int)(sizeof(floats) / sizeof(float)))
#define WIDE_SECOND (SECOND_UNITS / FLOATS)

typedef struct {
    int first;            /* units of the first layer */
    float *rows;          /* [rows][first] */
    float *first_bias;    /* [first] */
    float *second;        /* [buckets][first][SECOND_UNITS] */
    float *second_bias;   /* [buckets][SECOND_UNITS] */
    float *last;          /* [buckets][SECOND_UNITS] */
    float *last_bias;     /* [buckets] */
} Weights;

/* Return the value of a position; if a gradient is given, add what the error of this value contributes to it. */
static float fit_position(const Weights *w, Weights *g, const int16_t *rows, int count, int bucket, float target,
                          float weight) {
    float unit[MOST_FIRST], unit_gradient[MOST_FIRST], raw[SECOND_UNITS], act[SECOND_UNITS], back[SECOND_UNITS];
    int16_t active[MOST_FIRST];
    const int H = w->first, V = H / FLOATS;
    const float *second = w->second + (size_t)bucket * H * SECOND_UNITS;
    floats *u = (floats *)unit;
    int actives = 0;
    memcpy(unit, w->first_bias, sizeof(float) * H);
    for (int i = 0; i < count; i++) {
        const floats *row = (const floats *)(w->rows + (size_t)rows[i] * H);
        for (int v = 0; v < V; v++) u[v] += row[v];
    }
    for (int h = 0; h < H; h++) {
        active[actives] = (int16_t)h;
        actives += unit[h] > 0.0f;
    }
    floats sum[WIDE_SECOND];
    memcpy(sum, w->second_bias + bucket * SECOND_UNITS, sizeof sum);
    for (int i = 0; i < actives; i++) {
        const float x = unit[active[i]] < 1.0f ? unit[active[i]] : 1.0f;
        const floats *row = (const floats *)(second + (size_t)active[i] * SECOND_UNITS);
        for (int v = 0; v < WIDE_SECOND; v++) sum[v] += x * row[v];
    }
    memcpy(raw, sum, sizeof raw);
    const float *last = w->last + bucket * SECOND_UNITS;
    float odds = w->last_bias[bucket];
    for (int j = 0; j < SECOND_UNITS; j++) {
        act[j] = raw[j] < 0.0f ? 0.0f : raw[j] > 1.0f ? 1.0f : raw[j];
        odds += act[j] * last[j];
    }
    const float win = 1.0f / (1.0f + expf(-odds));
    if (!g) return win;
    const float slope = 2.0f * weight * (win - target) * win * (1.0f - win);
    g->last_bias[bucket] += slope;
    for (int j = 0; j < SECOND_UNITS; j++) {
        g->last[bucket * SECOND_UNITS + j] += slope * act[j];
        back[j] = raw[j] > 0.0f && raw[j] < 1.0f ? slope * last[j] : 0.0f;
        g->second_bias[bucket * SECOND_UNITS + j] += back[j];
    }
    floats b[WIDE_SECOND];
    memcpy(b, back, sizeof b);
    memset(unit_gradient, 0, sizeof(float) * H);
    float *second_gradient = g->second + (size_t)bucket * H * SECOND_UNITS;
    for (int i = 0; i < actives; i++) {
        const int h = active[i];
        const float x = unit[h] < 1.0f ? unit[h] : 1.0f;
        const floats *row = (const floats *)(second + (size_t)h * SECOND_UNITS);
        floats *out = (floats *)(second_gradient + (size_t)h * SECOND_UNITS);
        for (int v = 0; v < WIDE_SECOND; v++) out[v] += x * b[v];
        if (unit[h] < 1.0f) {
            floats total = row[0] * b[0];
            for (int v = 1; v < WIDE_SECOND; v++) total += row[v] * b[v];
            float parts[sizeof(floats) / sizeof(float)], back_h = 0.0f;
            memcpy(parts, &total, sizeof total);
            for (int k = 0; k < FLOATS; k++) back_h += parts[k];
            unit_gradient[h] = back_h;
        }
    }
    const floats *d = (const floats *)unit_gradient;
    floats *bias = (floats *)g->first_bias;
    for (int v = 0; v < V; v++) bias[v] += d[v];
    for (int i = 0; i < count; i++) {
        floats *row = (floats *)(g->rows + (size_t)rows[i] * H);
        for (int v = 0; v < V; v++) row[v] += d[v];
    }
    return win;
}

/* A step of Adam for weights begin to end - 1. `gradients` is [shards][count], and is set to zero here. */
static void fit_step(float *weights, float *gradients, float *mean, float *square, int64_t begin, int64_t end,
                     int64_t count, int shards, float rate, float mean_left, float square_left, float scale) {
    for (int64_t i = begin; i < end; i++) {
        float g = 0.0f;
        for (int s = 0; s < shards; s++) {
            g += gradients[s * count + i];
            gradients[s * count + i] = 0.0f;
        }
        g *= scale;
        mean[i] = 0.9f * mean[i] + 0.1f * g;
        square[i] = 0.999f * square[i] + 0.001f * g * g;
        weights[i] -= rate * (mean[i] / mean_left) / (sqrtf(square[i] / square_left) + 1e-8f);
    }
}
