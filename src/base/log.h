/* SPDX-License-Identifier: Apache-2.0 */
/* Logging by callback. The library's own messages have the level debug; programs decide what to print. */
#ifndef RP_BASE_LOG_H
#define RP_BASE_LOG_H

#include <reprise/reprise.h>

#include "base/macros.h"

struct rp__log {
  rp_log_fn *fn;
  void *ctx;
};
void rp__log(const struct rp__log *l, rp_log_level level, const char *fmt, ...) RP_PRINTF(3, 4);

#endif
