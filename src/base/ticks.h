/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's monotonic clock, for intervals and deadlines inside one process. Times that are stored, and decisions
 * based on stored times, use an rp_clock (clock.h) instead, which a caller may set.
 */
#ifndef RP_BASE_TICKS_H
#define RP_BASE_TICKS_H

#include <stdint.h>
#include <time.h>

int64_t rp__ticks_ns(void);
int64_t rp__ticks_us(void);
int64_t rp__ticks_ms(void);
int64_t rp__ticks_coarse_ms(void); /* some milliseconds behind, for whoever asks at every event */
/* The moment that far from now, for pthread_cond_timedwait and the like on CLOCK_MONOTONIC. */
struct timespec rp__ticks_after_us(int64_t us);

#endif
