/* SPDX-License-Identifier: Apache-2.0 */
/* The clock is passed as an argument (rp_clock). The text form of a time on the wire is 2026-11-16T00:49:08.123Z. */
#ifndef RP_BASE_CLOCK_H
#define RP_BASE_CLOCK_H

#include <reprise/reprise.h>

#include "base/macros.h"

extern const rp_clock rp__system_clock; /* CLOCK_REALTIME and CLOCK_BOOTTIME, both without a syscall */

/* A clock that shows wall time `start_ms` now and runs on from there; boot_ms is 0 (unknown). */
struct rp__shifted_clock {
  int64_t offset_ms;
};
rp_clock rp__clock_shifted(struct rp__shifted_clock *state, int64_t start_ms);

static inline int64_t rp__wall(const rp_clock *c)
{
  return c->wall_ms(c->ctx);
}
static inline int64_t rp__boot(const rp_clock *c)
{
  return c->boot_ms(c->ctx);
}

#define RP_TIME_TEXT 32
/* Writes ISO 8601 UTC with milliseconds; returns `out`. Years 0000–9999; others are clamped. */
const char *rp__time_format(int64_t ms, char out[RP_TIME_TEXT]);
/* Reads ISO 8601: date, optional time, optional fraction, Z or ±hh:mm (none: UTC). 0 or RP_E_USAGE. */
int rp__time_parse(const char *s, size_t n, int64_t *ret_ms);
/* Reads "30s", "15m", "2h", "7d", "500ms", or a bare number of seconds. */
int rp__duration_parse(const char *s, int64_t *ret_ms);

#endif
