/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memories in the plan: how far the confidence in each has faded, and which of the scope's come first. The
 * stored confidence never changes.
 */
#include "continuity/plan-impl.h"

#include <math.h>

#include "facets/words.h"

#define HOUR_MS 3600000.0
#define WEEK_HOURS 168.0
#define TERMS_MAX 64 /* words of the current topics that are looked for; each is a bit */

double rp__decay_factor(double hours, double rate, double floor)
{
  double h = hours > 0 ? hours : 0, r = rate > 0 ? rate : 0;
  double factor = RP_MAX(1 - h / WEEK_HOURS * r, floor);
  return factor > 1 ? 1 : factor > 0 ? factor : 0; /* what is no number counts as 0 */
}

/* ---- relevance ------------------------------------------------------------------- */

/* Words of the current topics, and how many of the memories have each. */
struct terms {
  struct rp__word word[TERMS_MAX];
  size_t having[TERMS_MAX], n;
};

static size_t term_find(const struct terms *t, const struct rp__word *w)
{
  size_t i = 0;
  while (i < t->n && (t->word[i].n != w->n || memcmp(t->word[i].text, w->text, w->n) != 0)) i++;
  return i;
}

static void terms_add(struct terms *t, const char *text)
{
  struct rp__words words = rp__words(rp__str(text));
  struct rp__word w;
  while (t->n < TERMS_MAX && rp__words_next(&words, &w))
    if (term_find(t, &w) == t->n) t->word[t->n++] = w;
}

/* current topics are those given and the labels of current pins, which are those present and those inherited. */
static void terms_make(const struct rp__plan *p, const struct rp__plan_sources *s, struct terms *ret)
{
  ret->n = 0;
  if (s->topics) terms_add(ret, s->topics);
  for (size_t i = 0; i < s->n_labels; i++) terms_add(ret, s->labels[i]);
  for (size_t i = 0; i < p->n_pins && p->pins[i].taken; i++) terms_add(ret, p->pins[i].label);
  memset(ret->having, 0, sizeof ret->having);
}

/* Which of the terms the text has. */
static uint64_t terms_in(const struct terms *t, const char *text)
{
  struct rp__words words = rp__words((struct rp__str){text, strnlen(text, RP_TEXT_HEAD)});
  struct rp__word w;
  uint64_t found = 0;
  while (rp__words_next(&words, &w)) {
    size_t i = term_find(t, &w);
    if (i < t->n) found |= (uint64_t)1 << i;
  }
  return found;
}

/*
 * A term counts by how rare it is among the memories, as topics do at capture; the memory that matches best has
 * relevance 1.
 */
static int weigh_relevance(struct rp__plan *p, const struct rp__plan_sources *s)
{
  struct terms *t RP_AUTOFREE = malloc(sizeof *t);
  uint64_t *found RP_AUTOFREE = calloc(s->n_memories, sizeof *found);
  double best = 0;
  if (!t || !found) return RP_E_NOMEM;
  terms_make(p, s, t);
  for (size_t i = 0; t->n && i < s->n_memories; i++) {
    const struct rp__memory_fact *f = &s->memories[i];
    if (f->content) found[i] = terms_in(t, f->content);
    if (f->categories) found[i] |= terms_in(t, f->categories);
    for (size_t k = 0; k < t->n; k++) t->having[k] += found[i] >> k & 1;
  }
  for (size_t i = 0; i < s->n_memories; i++) {
    double *sum = &p->memories[i].relevance;
    for (size_t k = 0; found[i] >> k && k < t->n; k++)
      if (found[i] >> k & 1) *sum += log(1 + (double)s->n_memories / (1 + (double)t->having[k]));
    best = RP_MAX(best, *sum);
  }
  for (size_t i = 0; best > 0 && i < s->n_memories; i++) p->memories[i].relevance /= best;
  return 0;
}

/* ---- choosing -------------------------------------------------------------------- */

static int by_rank(const void *x, const void *y)
{
  const struct rp__memory_choice *a = x, *b = y;
  if (a->taken != b->taken) return a->taken ? -1 : 1;
  if (a->rank != b->rank) return a->rank > b->rank ? -1 : 1;
  if (a->fresh_at != b->fresh_at) return a->fresh_at > b->fresh_at ? -1 : 1;
  return strcmp(a->memory_id, b->memory_id);
}

/*
 * A memory comes back when it is fresh enough for the lookback, when a session that learned it does, or when it is
 * about the current topics. `all`: of the session that is continued by name, and of no other.
 */
static void decide(const struct rp__plan *p, const struct rp__memory_fact *f, bool all, struct rp__memory_choice *m)
{
  const struct rp__rules *r = &p->rules;
  bool restored = f->restored || (f->session_id && rp__plan_is_restored(p, f->session_id));
  m->original = f->confidence;
  m->fresh_at = f->fresh_at;
  m->uses = f->uses;
  m->hours = f->fresh_at < p->now_ms ? ((double)p->now_ms - (double)f->fresh_at) / HOUR_MS : 0;
  m->factor = rp__decay_factor(m->hours, r->unfading ? 0 : r->decay_rate, r->decay_floor);
  m->inherited = m->original * m->factor;
  m->rank = rp__memory_rank(m->relevance, m->inherited, m->uses);
  bool near = r->unfading || m->hours <= r->lookback_hours || m->relevance > 0;
  if (all && !restored) {
    m->verdict = "not_restored";
    snprintf(m->reason, sizeof m->reason, "it was not learned in the session that is continued");
  } else if (!all && m->inherited < r->decay_floor - RP_NEAR) {
    m->verdict = "below_floor";
    snprintf(m->reason, sizeof m->reason, "%.2f has faded to %.4f in %.1f h, below %.2f", m->original, m->inherited,
             m->hours, r->decay_floor);
  } else if (!restored && !near) {
    m->verdict = "outside_lookback";
    snprintf(m->reason, sizeof m->reason, "neither about the current topics nor used in the lookback: %.1f h ago",
             m->hours);
  } else {
    m->verdict = "inherited";
    m->taken = true; /* nothing but their number may keep it out */
    snprintf(m->reason, sizeof m->reason,
             "rank %.4f: relevance %.2f, confidence %.2f, used %lld times, fresh %.1f h ago", m->rank, m->relevance,
             m->inherited, (long long)m->uses, m->hours);
  }
}

int rp__plan_choose_memories(struct rp__plan *p, const struct rp__plan_sources *s, bool all)
{
  if (s->n_memories == 0) return 0;
  p->memories = calloc(s->n_memories, sizeof *p->memories);
  if (!p->memories || weigh_relevance(p, s)) return RP_E_NOMEM;
  for (size_t i = 0; i < s->n_memories; i++) {
    const struct rp__memory_fact *f = &s->memories[i];
    struct rp__memory_choice *m = &p->memories[p->n_memories++];
    decide(p, f, all, m);
    m->memory_id = strdup(f->memory_id);
    m->content = m->taken && f->content ? strdup(f->content) : NULL;
    if (!m->memory_id || (m->taken && f->content && !m->content)) return RP_E_NOMEM;
  }
  qsort(p->memories, p->n_memories, sizeof *p->memories, by_rank);
  for (size_t i = RP_BRIEF_MEMORIES; !all && i < p->n_memories && p->memories[i].taken; i++) {
    struct rp__memory_choice *m = &p->memories[i];
    m->taken = false;
    m->verdict = "beyond_limit";
    snprintf(m->reason, sizeof m->reason, "at most %d come back, and others have a better rank than %.4f",
             RP_BRIEF_MEMORIES, m->rank);
    free(RP_TAKE(m->content));
  }
  return 0;
}

const struct rp__memory_choice *rp__plan_memories(const struct rp__plan *p, size_t *ret_n)
{
  *ret_n = p->n_memories;
  return p->memories;
}
