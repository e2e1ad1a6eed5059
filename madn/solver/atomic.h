/* Counters that threads share. Whatever a thread wrote before it changed a counter is visible to every thread that sees
 * the counter changed.
 */
#ifndef MADN_ATOMIC_H
#define MADN_ATOMIC_H

#if defined(_MSC_VER) && !defined(__clang__)
#include <windows.h>
typedef volatile long counter_t;
static __forceinline int counter_value(counter_t *c) { return (int)_InterlockedOr(c, 0); }
static __forceinline void counter_set(counter_t *c, int value) { _InterlockedExchange(c, value); }
static __forceinline int counter_next(counter_t *c) { return (int)_InterlockedExchangeAdd(c, 1); }
static __forceinline void give_way(void) { SwitchToThread(); }
static __forceinline void pause_shortly(void) { YieldProcessor(); }
#else
#include <sched.h>
typedef int counter_t;
static inline int counter_value(counter_t *c) { return __atomic_load_n(c, __ATOMIC_ACQUIRE); }
static inline void counter_set(counter_t *c, int value) { __atomic_store_n(c, value, __ATOMIC_RELEASE); }
static inline int counter_next(counter_t *c) { return __atomic_fetch_add(c, 1, __ATOMIC_ACQ_REL); }
static inline void give_way(void) { sched_yield(); }
#if defined(__x86_64__) || defined(__i386__)
static inline void pause_shortly(void) { __builtin_ia32_pause(); }
#else
static inline void pause_shortly(void) { __asm__ volatile("" ::: "memory"); }
#endif
#endif

/* Wait until a counter has reached a value: spin for a moment, then let other threads run. */
static void wait_for(counter_t *c, int value) {
    for (int turns = 0; counter_value(c) < value; turns++) {
        if (turns < 1000) pause_shortly();
        else give_way();
    }
}

#endif
