/* SPDX-License-Identifier: Apache-2.0 */
/* Memories in the plan, and how far the confidence in each has faded. The stored confidence never changes. */
#include "continuity/plan-impl.h"

#define HOUR_MS 3600000.0
#define WEEK_HOURS 168.0

double rp__decay_factor(double hours, double rate, double floor)
{
  double h = hours > 0 ? hours : 0, r = rate > 0 ? rate : 0;
  double factor = RP_MAX(1 - h / WEEK_HOURS * r, floor);
  return factor > 1 ? 1 : factor > 0 ? factor : 0; /* what is no number counts as 0 */
}

static int by_confidence(const void *x, const void *y)
{
  const struct rp__memory_choice *a = x, *b = y;
  if (a->taken != b->taken) return a->taken ? -1 : 1;
  if (a->inherited != b->inherited) return a->inherited > b->inherited ? -1 : 1;
  if (a->learned_at != b->learned_at) return a->learned_at > b->learned_at ? -1 : 1;
  return strcmp(a->memory_id, b->memory_id);
}

int rp__plan_choose_memories(struct rp__plan *p, const struct rp__plan_sources *s, bool all)
{
  if (s->n_memories == 0) return 0;
  p->memories = calloc(s->n_memories, sizeof *p->memories);
  if (!p->memories) return RP_E_NOMEM;
  for (size_t i = 0; i < s->n_memories; i++) {
    const struct rp__memory_fact *f = &s->memories[i];
    struct rp__memory_choice *m = &p->memories[p->n_memories++];
    const struct rp__rules *r = &p->rules;
    bool restored = f->restored || (f->session_id && rp__plan_is_restored(p, f->session_id));
    bool wanted = restored || (r->all_memories && !all);
    *m = (struct rp__memory_choice){.original = f->confidence, .learned_at = f->learned_at};
    m->hours = f->learned_at < p->now_ms ? ((double)p->now_ms - (double)f->learned_at) / HOUR_MS : 0;
    m->factor = rp__decay_factor(m->hours, r->decay_rate, r->decay_floor);
    m->inherited = m->original * m->factor;
    bool faded = !all && m->inherited < r->decay_floor - RP_NEAR;
    m->verdict = !wanted ? "not_restored" : faded ? "below_floor" : "inherited";
    m->taken = wanted && !faded; /* nothing but their number may keep it out */
    m->memory_id = strdup(f->memory_id);
    m->content = m->taken && f->content ? strdup(f->content) : NULL;
    if (!m->memory_id || (m->taken && f->content && !m->content)) return RP_E_NOMEM;
  }
  qsort(p->memories, p->n_memories, sizeof *p->memories, by_confidence);
  if (!all) {
    for (size_t i = RP_BRIEF_MEMORIES; i < p->n_memories && p->memories[i].taken; i++) {
      p->memories[i].taken = false;
      p->memories[i].verdict = "beyond_limit";
      free(RP_TAKE(p->memories[i].content));
    }
  }
  return 0;
}

const struct rp__memory_choice *rp__plan_memories(const struct rp__plan *p, size_t *ret_n)
{
  *ret_n = p->n_memories;
  return p->memories;
}
