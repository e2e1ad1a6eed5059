/* Names for what differs between compilers, and vectors as wide as the instructions of a build. */
#ifndef MADN_MACHINE_H
#define MADN_MACHINE_H

#include <stdint.h>

#if defined(__AVX512F__)
#define WIDTH 64 /* bytes */
#elif defined(__AVX2__)
#define WIDTH 32
#else
#define WIDTH 16
#endif

/* Arithmetic on vectors works lane by lane. A comparison gives a mask, and BLEND(mask, x, y) takes x in the lanes of
 * the mask and y in the others. For a compiler without vectors, a vector is a single lane. ONLY says that nothing else
 * points to the same memory. */
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline, unused))
#define ONLY __restrict__
#define VECTOR(T) T __attribute__((vector_size(WIDTH), aligned(sizeof(T)), may_alias))
#define BLEND(mask, x, y) (__typeof__(x))(((__typeof__(mask))(x) & (mask)) | ((__typeof__(mask))(y) & ~(mask)))
#define prefetch(address) __builtin_prefetch(address)
#else
#define INLINE static __forceinline
#define ONLY __restrict
#define VECTOR(T) T
#define BLEND(mask, x, y) ((mask) ? (x) : (y))
#define prefetch(address) ((void)(address))
#endif

#endif
