/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of lines to one side, in order. */
#include "bridge/acp/wire/wire.h"

struct rp__queued_line {
  STAILQ_ENTRY(rp__queued_line) next;
  unsigned waits;
  size_t n;
  char line[];
};

void rp__line_queue_init(struct rp__line_queue *q, void (*out)(void *ctx, const char *line, size_t n), void *ctx)
{
  *q = (struct rp__line_queue){.out = out, .ctx = ctx};
  STAILQ_INIT(&q->lines);
}

static struct rp__queued_line *pop(struct rp__line_queue *q)
{
  struct rp__queued_line *item = STAILQ_FIRST(&q->lines);
  STAILQ_REMOVE_HEAD(&q->lines, next);
  q->count--;
  q->bytes -= item->n;
  return item;
}

void rp__line_queue_done(struct rp__line_queue *q)
{
  while (q->count) free(pop(q));
}

struct rp__queued_line *rp__line_queue_add(struct rp__line_queue *q, const char *line, size_t n, unsigned waits)
{
  /* Stands for a line that went at once, without a copy; nobody waits for it. */
  static const struct rp__queued_line went;
  if (!waits && !q->count) {
    q->out(q->ctx, line, n);
    return (struct rp__queued_line *)(uintptr_t)&went;
  }
  struct rp__queued_line *item = malloc(sizeof *item + n);
  if (!item) return NULL;
  *item = (struct rp__queued_line){.waits = waits, .n = n};
  if (n) memcpy(item->line, line, n);
  STAILQ_INSERT_TAIL(&q->lines, item, next);
  q->count++;
  q->bytes += n;
  return item;
}

void rp__line_queue_ready(struct rp__line_queue *q, struct rp__queued_line *item)
{
  if (item->waits) item->waits--;
  while (q->count && STAILQ_FIRST(&q->lines)->waits == 0) {
    struct rp__queued_line *first = pop(q);
    q->out(q->ctx, first->line, first->n);
    free(first);
  }
}

bool rp__line_queue_full(const struct rp__line_queue *q)
{
  return q->count >= RP_LINE_QUEUE_LINES || q->bytes >= RP_LINE_QUEUE_BYTES;
}

bool rp__line_queue_empty(const struct rp__line_queue *q)
{
  return !q->count;
}
