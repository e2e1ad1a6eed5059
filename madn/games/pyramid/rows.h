/* Pyramid: rows of bytes, sixteen at a time. */
#ifndef MADN_PYRAMID_ROWS_H
#define MADN_PYRAMID_ROWS_H

#include <stdint.h>
#if defined(__GNUC__)
#define ask_for(address) __builtin_prefetch(address)
#else
#define ask_for(address) ((void)(address))
#endif
#if defined(_MSC_VER) && !defined(__clang__)
#define MADN_RESTRICT __restrict
#else
#define MADN_RESTRICT restrict
#endif

/* least[i] = min(least[i], values[i]) for the next 16 * chunks bytes; compilers make one instruction of sixteen */
static inline void least_of(uint8_t *MADN_RESTRICT least, const uint8_t *MADN_RESTRICT values, int chunks) {
    for (; chunks > 0; chunks--, least += 16, values += 16)
        for (int i = 0; i < 16; i++)
            least[i] = values[i] < least[i] ? values[i] : least[i];
}

/* most[i] = max(most[i], lengths[i] + more) for the rows that have a length: at most `rows`, a multiple of sixteen */
static inline void most_of(uint8_t *MADN_RESTRICT most, const uint8_t *MADN_RESTRICT lengths, int rows, uint8_t more) {
    for (; rows > 0 && *lengths; rows -= 16, most += 16, lengths += 16)
        for (int i = 0; i < 16; i++) {
            uint8_t length = lengths[i] ? (uint8_t)(lengths[i] + more) : 0;
            most[i] = length > most[i] ? length : most[i];
        }
}

#endif
