/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/acp/flow.h"

struct rp__flow_item {
  struct rp__flow_item *next;
  unsigned waits;
  size_t n;
  char line[];
};

void rp__flow_init(struct rp__flow *f, void (*out)(void *ctx, const char *line, size_t n), void *ctx)
{
  *f = (struct rp__flow){.out = out, .ctx = ctx};
}

static struct rp__flow_item *pop(struct rp__flow *f)
{
  struct rp__flow_item *item = f->head;
  f->head = item->next;
  if (!f->head) f->tail = NULL;
  f->count--;
  f->bytes -= item->n;
  return item;
}

void rp__flow_done(struct rp__flow *f)
{
  while (f->head) free(pop(f));
}

static void drain(struct rp__flow *f)
{
  while (f->head && f->head->waits == 0) {
    struct rp__flow_item *item = pop(f);
    f->out(f->ctx, item->line, item->n);
    free(item);
  }
}

struct rp__flow_item *rp__flow_add(struct rp__flow *f, const char *line, size_t n, unsigned waits)
{
  /* Stands for a line that went at once, without a copy; nobody waits for it. */
  static const struct rp__flow_item went;
  if (!waits && !f->head) {
    f->out(f->ctx, line, n);
    return (struct rp__flow_item *)(uintptr_t)&went;
  }
  struct rp__flow_item *item = malloc(sizeof *item + n);
  if (!item) return NULL;
  *item = (struct rp__flow_item){.waits = waits, .n = n};
  if (n) memcpy(item->line, line, n);
  if (f->tail)
    f->tail->next = item;
  else
    f->head = item;
  f->tail = item;
  f->count++;
  f->bytes += n;
  return item;
}

void rp__flow_ready(struct rp__flow *f, struct rp__flow_item *item)
{
  if (item->waits) item->waits--;
  drain(f);
}

bool rp__flow_full(const struct rp__flow *f)
{
  return f->count >= RP_FLOW_LINES || f->bytes >= RP_FLOW_BYTES;
}

bool rp__flow_empty(const struct rp__flow *f)
{
  return !f->head;
}
