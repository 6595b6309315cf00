/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines on their way to one side, in the order in which they shall arrive. A line whose events are not stored yet
 * waits, and those behind it wait with it: what was delivered is in the journal.
 */
#ifndef RP_BRIDGE_ACP_FLOW_H
#define RP_BRIDGE_ACP_FLOW_H

#include <stdbool.h>

#include "base/error.h"
#include "base/macros.h"

#define RP_FLOW_LINES 65536
#define RP_FLOW_BYTES ((size_t)96 * 1024 * 1024)

struct rp__flow_item;

struct rp__flow {
  struct rp__flow_item *head, *tail;
  size_t count, bytes;
  void (*out)(void *ctx, const char *line, size_t n);
  void *ctx;
};

void rp__flow_init(struct rp__flow *f, void (*out)(void *ctx, const char *line, size_t n), void *ctx);
void rp__flow_done(struct rp__flow *f);
/* Adds a copy of a line that waits for `waits` calls of rp__flow_ready (0: for those before it alone). NULL: no memory.
 */
struct rp__flow_item *rp__flow_add(struct rp__flow *f, const char *line, size_t n, unsigned waits);
/* One of the things it waited for has come; sends what may go now. The item may be gone afterwards. */
void rp__flow_ready(struct rp__flow *f, struct rp__flow_item *item);
/* Too much is on its way: reading from the other side should stop. */
bool rp__flow_full(const struct rp__flow *f);
bool rp__flow_empty(const struct rp__flow *f);

#endif
