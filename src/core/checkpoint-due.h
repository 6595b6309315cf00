/* SPDX-License-Identifier: Apache-2.0 */
/* When a checkpoint is due (L-06, O-03): interval, count of notes, significant events, tail, exit. */
#ifndef RP_CORE_POLICY_H
#define RP_CORE_POLICY_H

#include "core/event.h"

struct rp__policy {
  int64_t interval_ms; /* checkpoint_s */
  int64_t notes;       /* checkpoint_notes */
  int64_t tail_events; /* RP_TAIL_EVENTS */
  int64_t tail_bytes;  /* RP_TAIL_BYTES */
};
#define RP_TAIL_EVENTS 1000
#define RP_TAIL_BYTES (1024 * 1024)

enum rp__due { RP_DUE_NOT, RP_DUE_INTERVAL, RP_DUE_COUNT, RP_DUE_EVENT, RP_DUE_TAIL };

/* Counts since the last snapshot. The engine's own events make nothing dirty. */
struct rp__dirty {
  int64_t since_ms; /* when the first dirty event came, on the boot clock; 0: clean */
  int64_t notes, events, bytes;
  bool significant;
};

void rp__dirty_note(struct rp__dirty *d, enum rp__kind kind, size_t bytes, int64_t now_ms);
void rp__dirty_clear(struct rp__dirty *d);
enum rp__due rp__policy_due(const struct rp__policy *p, const struct rp__dirty *d, int64_t now_ms);
const char *rp__due_reason(enum rp__due due); /* interval, count, event, tail */

#endif
