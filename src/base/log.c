/* SPDX-License-Identifier: Apache-2.0 */
/* Formatting a log line and handing it to the callback. */
#include "base/log.h"

#include "base/text.h"

#define LOG_MAX 1024

void rp__log(const struct rp__log *l, rp_log_level level, const char *fmt, ...)
{
  if (!l || !l->fn) return;
  char text[LOG_MAX];
  va_list args;
  va_start(args, fmt);
  rp__text_vformat(text, sizeof text, fmt, args);
  va_end(args);
  l->fn(l->ctx, level, text);
}
