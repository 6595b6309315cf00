/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines on their way to one side, in the order of their delivery. A line whose events are not stored yet waits, and all
 * lines behind it wait too, so that every line that was delivered is in the journal.
 */
#ifndef RP_BRIDGE_ACP_FLOW_H
#define RP_BRIDGE_ACP_FLOW_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/error.h"
#include "base/macros.h"

#define RP_LINE_QUEUE_LINES 65536
#define RP_LINE_QUEUE_BYTES ((size_t)96 * 1024 * 1024)

struct rp__queued_line;

struct rp__line_queue {
  STAILQ_HEAD(, rp__queued_line) lines;
  size_t count, bytes;
  void (*out)(void *ctx, const char *line, size_t n);
  void *ctx;
};

void rp__line_queue_init(struct rp__line_queue *q, void (*out)(void *ctx, const char *line, size_t n), void *ctx);
void rp__line_queue_done(struct rp__line_queue *q);
/* Adds a copy of a line that waits for `waits` calls of rp__line_queue_ready (0: for those before it alone). NULL: no
 * memory.
 */
struct rp__queued_line *rp__line_queue_add(struct rp__line_queue *q, const char *line, size_t n, unsigned waits);
/* One of the things it waited for has come; sends what may go now. The item may be gone afterwards. */
void rp__line_queue_ready(struct rp__line_queue *q, struct rp__queued_line *item);
/* Too much is on its way: reading from the other side should stop. */
bool rp__line_queue_full(const struct rp__line_queue *q);
bool rp__line_queue_empty(const struct rp__line_queue *q);

#endif
