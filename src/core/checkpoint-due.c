/* SPDX-License-Identifier: Apache-2.0 */
/* When a checkpoint is due. */
#include "core/checkpoint-due.h"

void rp__dirty_note(struct rp__dirty *d, enum rp__kind kind, size_t bytes, int64_t now_ms)
{
  if (rp__kind_is_engine(kind)) return;
  /* 0 means clean, so a clock that shows 0 counts as 1. */
  if (d->since_ms == 0) d->since_ms = now_ms ? now_ms : 1;
  d->events++;
  d->bytes += (int64_t)bytes;
  if (kind == RP_KIND_NOTE) d->notes++;
  if (rp__kind_is_significant(kind)) d->significant = true;
}

void rp__dirty_clear(struct rp__dirty *d)
{
  *d = (struct rp__dirty){0};
}

static bool reached(int64_t value, int64_t limit)
{
  return limit > 0 && value >= limit;
}

enum rp__due rp__policy_due(const struct rp__policy *p, const struct rp__dirty *d, int64_t now_ms)
{
  if (d->since_ms == 0) return RP_DUE_NOT;
  if (d->significant) return RP_DUE_EVENT;
  if (reached(d->notes, p->notes)) return RP_DUE_COUNT;
  if (reached(d->events, p->tail_events) || reached(d->bytes, p->tail_bytes)) return RP_DUE_TAIL;
  if (reached(now_ms - d->since_ms, p->interval_ms)) return RP_DUE_INTERVAL;
  return RP_DUE_NOT;
}

const char *rp__due_reason(enum rp__due due)
{
  static const char *const names[] = {
      [RP_DUE_NOT] = NULL,      [RP_DUE_INTERVAL] = "interval", [RP_DUE_COUNT] = "count",
      [RP_DUE_EVENT] = "event", [RP_DUE_TAIL] = "tail",
  };
  return (unsigned)due < RP_ARRAY_SIZE(names) ? names[due] : NULL;
}
