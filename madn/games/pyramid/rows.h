/* Pyramid: rows of bytes, sixteen at a time. */
#ifndef MADN_PYRAMID_ROWS_H
#define MADN_PYRAMID_ROWS_H

#include "../../_machine.h"

/* least[i] = min(least[i], values[i]) for the next 16 * chunks bytes; compilers turn sixteen into one instruction */
INLINE void least_of(uint8_t *ONLY least, const uint8_t *ONLY values, int chunks) {
    for (; chunks > 0; chunks--, least += 16, values += 16)
        for (int i = 0; i < 16; i++)
            least[i] = values[i] < least[i] ? values[i] : least[i];
}

/* most[i] = max(most[i], lengths[i] + more) for the rows that have a length: at most `rows`, a multiple of sixteen */
INLINE void most_of(uint8_t *ONLY most, const uint8_t *ONLY lengths, int rows, uint8_t more) {
    for (; rows > 0 && *lengths; rows -= 16, most += 16, lengths += 16)
        for (int i = 0; i < 16; i++) {
            uint8_t length = lengths[i] ? (uint8_t)(lengths[i] + more) : 0;
            most[i] = length > most[i] ? length : most[i];
        }
}

#endif
