/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores sessions and selects the best. All memory is allocated when the plan is made. Three bounded sets share
 * a pool of slots, so a row costs its score and, mostly, three comparisons. Each set has a total order, so the order of
 * the rows does not matter.
 */
#include "continuity/plan-impl.h"

#include "base/text.h"

#define HOUR_MS 3600000.0
#define TASKS_ENOUGH .25 /* of the tasks term: pending tasks come back whatever the score */

const char *rp__plan_verdict_name(enum rp__plan_verdict f)
{
  static const char *const names[RP_VERDICT_MAX] = {"restored", "below_threshold", "outside_lookback", "beyond_limit",
                                                    "damaged"};
  return (unsigned)f < RP_VERDICT_MAX ? names[f] : NULL;
}

/* ---- orders ----------------------------------------------------------------------- */

static int by_end(const struct rp__slot *a, const struct rp__slot *b)
{
  if (a->c.ended_at != b->c.ended_at) return a->c.ended_at > b->c.ended_at ? -1 : 1;
  return strcmp(a->c.session_id, b->c.session_id);
}

static int by_score(const struct rp__slot *a, const struct rp__slot *b)
{
  if (a->c.score != b->c.score) return a->c.score > b->c.score ? -1 : 1;
  return by_end(a, b);
}

/* What may be restored is explained before what may not, and that before what is too old. */
static int by_interest(const struct rp__slot *a, const struct rp__slot *b)
{
  int class_a = a->qualified ? 0 : a->inside ? 1 : 2, class_b = b->qualified ? 0 : b->inside ? 1 : 2;
  return class_a != class_b ? class_a - class_b : by_score(a, b);
}

/* ---- the best N of many ------------------------------------------------------------- */

/* Whether `s` would be kept. */
static bool best_wants(const struct rp__best *b, const struct rp__slot *s)
{
  return b->n < b->max || (b->max > 0 && b->cmp(s, b->v[0]) < 0);
}

static void sink(struct rp__best *b, size_t i)
{
  struct rp__slot *s = b->v[i];
  for (;;) {
    size_t child = 2 * i + 1;
    if (child >= b->n) break;
    if (child + 1 < b->n && b->cmp(b->v[child + 1], b->v[child]) > 0) child++;
    if (b->cmp(s, b->v[child]) >= 0) break;
    b->v[i] = b->v[child];
    i = child;
  }
  b->v[i] = s;
}

/* Keeps `s`, which is wanted, in place of the last when the heap is full. */
static void hold(struct rp__plan *p, struct rp__best *b, struct rp__slot *s)
{
  struct rp__slot *out = NULL;
  s->refs++;
  if (b->n < b->max) {
    size_t i = b->n++;
    for (; i > 0 && b->cmp(b->v[(i - 1) / 2], s) < 0; i = (i - 1) / 2) b->v[i] = b->v[(i - 1) / 2];
    b->v[i] = s;
  } else {
    out = b->v[0];
    b->v[0] = s;
    sink(b, 0);
  }
  if (out && --out->refs == 0) p->spare[p->n_spare++] = out;
}

/* The first comes first; nothing may be added afterwards. */
static void best_sort(struct rp__best *b)
{
  size_t n = b->n;
  while (b->n > 1) {
    struct rp__slot *last = b->v[0];
    b->n--;
    b->v[0] = b->v[b->n];
    b->v[b->n] = last;
    sink(b, 0);
  }
  b->n = n;
}

/* ---- making ------------------------------------------------------------------------ */

static int best_init(struct rp__best *b, size_t max, rp__slot_cmp *cmp)
{
  *b = (struct rp__best){.v = calloc(max, sizeof *b->v), .max = max, .cmp = cmp};
  return b->v ? 0 : RP_E_NOMEM;
}

static void plan_freep(struct rp__plan **p)
{
  rp__plan_free(*p);
}

int rp__plan_new(const struct rp__rules *rules, int64_t now_ms, const uint64_t *topics, size_t n, struct rp__plan **ret)
{
  RP_CLEANUP(plan_freep) struct rp__plan *p = calloc(1, sizeof *p);
  if (!p) return RP_E_NOMEM;
  p->rules = *rules;
  p->rules.max_sessions = RP_MAX(0, RP_MIN(rules->max_sessions, RP_SESSIONS_MAX));
  p->now_ms = now_ms;
  size_t sessions = (size_t)p->rules.max_sessions;
  p->n_slots = sessions + RP_RESERVE + RP_EXPLAIN_MAX + RP_CRITICAL_MAX + 1;
  p->slots = calloc(p->n_slots, sizeof *p->slots);
  p->spare = calloc(p->n_slots, sizeof *p->spare);
  p->topics = calloc(n + 1, sizeof *p->topics);
  if (!p->slots || !p->spare || !p->topics) return RP_E_NOMEM;
  if (n) memcpy(p->topics, topics, n * sizeof *topics);
  p->n_topics = n;
  for (size_t i = 0; i < p->n_slots; i++) p->spare[p->n_spare++] = &p->slots[i];
  if (best_init(&p->best, sessions ? sessions + RP_RESERVE : 1, by_score)) return RP_E_NOMEM;
  if (best_init(&p->told, RP_EXPLAIN_MAX, by_interest)) return RP_E_NOMEM;
  if (best_init(&p->critical, RP_CRITICAL_MAX, by_end)) return RP_E_NOMEM;
  *ret = RP_TAKE(p);
  return 0;
}

void rp__plan_free(struct rp__plan *p)
{
  if (!p) return;
  rp__plan_drop_choices(p);
  free(p->slots);
  free(p->spare);
  free(p->topics);
  free(p->best.v);
  free(p->told.v);
  free(p->critical.v);
  free(p);
}

void rp__plan_any_age(struct rp__plan *p)
{
  p->forced = true;
  p->rules.max_sessions = RP_MAX(p->rules.max_sessions, 1);
}

/* ---- offering ------------------------------------------------------------------------ */

static void score(const struct rp__plan *p, const struct rp__recall *row, struct rp__slot *s)
{
  struct rp__candidate *c = &s->c;
  double silent = row->ended_at < p->now_ms ? ((double)p->now_ms - (double)row->ended_at) / HOUR_MS : 0;
  s->inside = silent <= p->rules.lookback_hours;
  c->hours = row->living && s->inside ? 0 : silent;
  c->recency = rp__recency(c->hours, p->rules.lookback_hours);
  c->overlap = rp__overlap(p->topics, p->n_topics, row->topics, row->n_topics);
  c->tasks = rp__tasks_term(row->n_tasks);
  c->score = rp__relevance(c->recency, c->overlap, c->tasks);
  s->qualified = s->inside && (c->score >= p->rules.threshold - RP_NEAR || c->tasks >= TASKS_ENOUGH - RP_NEAR);
  if (p->forced) s->inside = s->qualified = true;
  c->verdict = !s->inside ? RP_VERDICT_OUTSIDE : !s->qualified ? RP_VERDICT_BELOW : RP_VERDICT_BEYOND;
}

int rp__plan_offer(struct rp__plan *p, const struct rp__recall *row)
{
  if (p->sorted) return RP_E_USAGE;
  struct rp__slot *s = p->spare[p->n_spare - 1];
  score(p, row, s);
  struct rp__candidate *c = &s->c;
  c->session_ref = row->session_ref;
  c->ended_at = row->ended_at;
  c->n_tasks = row->n_tasks;
  c->has_critical = row->has_critical;
  c->archived = row->archived;
  rp__text_copy(c->session_id, sizeof c->session_id, row->session_id);
  p->counts[s->c.verdict]++;
  bool best = s->qualified && p->rules.max_sessions > 0 && best_wants(&p->best, s);
  bool critical = row->has_critical && s->c.hours <= p->rules.critical_hours && best_wants(&p->critical, s);
  bool told = best_wants(&p->told, s);
  if (!best && !critical && !told) return 0;
  p->n_spare--;
  s->c.opened = false;
  s->c.record = (struct rp__json){0};
  s->c.reason[0] = '\0';
  if (best) hold(p, &p->best, s);
  if (critical) hold(p, &p->critical, s);
  if (told) hold(p, &p->told, s);
  return 0;
}

/* ---- opening --------------------------------------------------------------------------- */

static void explain(const struct rp__plan *p, struct rp__slot *s)
{
  struct rp__candidate *c = &s->c;
  const struct rp__rules *r = &p->rules;
  switch (c->verdict) {
  case RP_VERDICT_OUTSIDE:
    snprintf(c->reason, sizeof c->reason, "ended %.1f h ago, before the lookback of %.0f h", c->hours,
             r->lookback_hours);
    break;
  case RP_VERDICT_BELOW:
    snprintf(c->reason, sizeof c->reason, "score %.4f is below the threshold %.2f and no task is pending", c->score,
             r->threshold);
    break;
  case RP_VERDICT_BEYOND:
    snprintf(c->reason, sizeof c->reason, "score %.4f qualifies, but at most %d contribute and others are better",
             c->score, r->max_sessions);
    break;
  case RP_VERDICT_RESTORED:
    if (p->forced)
      snprintf(c->reason, sizeof c->reason, "continued by name, whatever its age and score");
    else if (c->score >= r->threshold - RP_NEAR)
      snprintf(c->reason, sizeof c->reason, "score %.4f reaches the threshold %.2f", c->score, r->threshold);
    else
      snprintf(c->reason, sizeof c->reason, "score %.4f is below %.2f, but the tasks term %.2f reaches %.2f", c->score,
               r->threshold, c->tasks, TASKS_ENOUGH);
    break;
  default: break;
  }
}

static void decide(struct rp__plan *p, struct rp__slot *s, enum rp__plan_verdict verdict)
{
  p->counts[s->c.verdict]--;
  p->counts[verdict]++;
  s->c.verdict = verdict;
  explain(p, s);
}

static void plan_sort(struct rp__plan *p)
{
  if (p->sorted) return;
  p->sorted = true;
  best_sort(&p->best);
  best_sort(&p->told);
  best_sort(&p->critical);
  for (size_t i = 0; i < p->n_slots; i++)
    if (p->slots[i].refs) explain(p, &p->slots[i]);
}

static struct rp__slot *next_of(struct rp__best *b)
{
  for (size_t i = 0; i < b->n; i++)
    if (!b->v[i]->c.opened && b->v[i]->c.verdict != RP_VERDICT_DAMAGED) return b->v[i];
  return NULL;
}

struct rp__candidate *rp__plan_want(struct rp__plan *p)
{
  struct rp__slot *s = NULL;
  plan_sort(p);
  if (p->n_restored < (size_t)p->rules.max_sessions) s = next_of(&p->best);
  if (!s && !p->forced) s = next_of(&p->critical);
  return s ? &s->c : NULL;
}

static size_t list_wanted(const struct rp__best *b, size_t room, struct rp__candidate **ret, size_t n)
{
  for (size_t i = 0; room && i < b->n; i++) {
    struct rp__candidate *c = &b->v[i]->c;
    size_t known = 0;
    while (known < n && ret[known] != c) known++;
    if (c->opened || c->verdict == RP_VERDICT_DAMAGED || known < n) continue;
    ret[n++] = c;
    room--;
  }
  return n;
}

size_t rp__plan_wanted(struct rp__plan *p, struct rp__candidate **ret, size_t max)
{
  size_t left = (size_t)p->rules.max_sessions - RP_MIN(p->n_restored, (size_t)p->rules.max_sessions);
  plan_sort(p);
  size_t n = list_wanted(&p->best, RP_MIN(left, max), ret, 0);
  return p->forced ? n : list_wanted(&p->critical, max - n, ret, n);
}

static struct rp__slot *slot_of(struct rp__candidate *c)
{
  return (struct rp__slot *)((char *)c - offsetof(struct rp__slot, c));
}

void rp__plan_opened(struct rp__plan *p, struct rp__candidate *c, struct rp__json record)
{
  struct rp__slot *s = slot_of(c);
  if (c->opened || c->verdict == RP_VERDICT_DAMAGED) return;
  const char *wrong = rp__plan_check(record);
  if (wrong) {
    rp__plan_damaged(p, c, wrong);
    return;
  }
  c->opened = true;
  c->record = record;
  if (!s->qualified || p->n_restored >= (size_t)p->rules.max_sessions) return;
  decide(p, s, RP_VERDICT_RESTORED);
  p->restored[p->n_restored++] = c;
}

void rp__plan_damaged(struct rp__plan *p, struct rp__candidate *c, const char *why)
{
  if (c->opened || c->verdict == RP_VERDICT_DAMAGED) return;
  decide(p, slot_of(c), RP_VERDICT_DAMAGED);
  snprintf(c->reason, sizeof c->reason, "its record is damaged: ");
  size_t n = strlen(c->reason);
  rp__text_copy(c->reason + n, sizeof c->reason - n, why ? why : "it can't be read");
}

/* ---- deciding ---------------------------------------------------------------------------- */

static int choose(struct rp__plan *p, const struct rp__plan_sources *s, bool all)
{
  plan_sort(p);
  rp__plan_drop_choices(p);
  int rc = rp__plan_choose_pins(p, s, all);
  if (rc == 0) rc = rp__plan_choose_tasks(p, s, all);
  return rc ? rc : rp__plan_choose_memories(p, s, all);
}

int rp__plan_finish(struct rp__plan *p, const struct rp__plan_sources *s)
{
  return choose(p, s, false);
}

int rp__plan_continue(struct rp__plan *p, const struct rp__plan_sources *s)
{
  return choose(p, s, true);
}

const struct rp__candidate *const *rp__plan_restored(const struct rp__plan *p, size_t *ret_n)
{
  *ret_n = p->n_restored;
  return p->restored;
}

bool rp__plan_is_restored(const struct rp__plan *p, const char *session_id)
{
  for (size_t i = 0; i < p->n_restored; i++)
    if (strcmp(p->restored[i]->session_id, session_id) == 0) return true;
  return false;
}
