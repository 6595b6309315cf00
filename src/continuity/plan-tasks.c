/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pending tasks of the restored sessions. The scope's newest event about a task says whether it is pending. A
 * task that only messages tell of never stands against an event, and is soon forgotten when only one message did.
 */
#include "continuity/plan-impl.h"

#include "base/clock.h"
#include "base/text.h"
#include "continuity/record.h"
#include "facets/tasks.h"

static struct rp__json tasks_of(const struct rp__candidate *c)
{
  return rp__json_get(c->record, rp__record_names[RP_PART_TASKS]);
}

static void task_done(struct rp__task_choice *t)
{
  free(t->task_id);
  free(t->title);
  free(t->stage);
  *t = (struct rp__task_choice){0};
}

/* A copy, or of what is no text an empty one. */
static char *text_or_empty(struct rp__json v)
{
  return v.type == RP_JSON_STRING ? rp__json_dup(v) : strdup("");
}

static bool only_heard(const struct rp__task_choice *t)
{
  return strcmp(t->source, "message") == 0;
}

static int gather(struct rp__plan *p)
{
  size_t total = 0;
  for (size_t i = 0; i < p->n_restored; i++) total += rp__json_count(tasks_of(p->restored[i]));
  if (total == 0) return 0;
  p->tasks = calloc(total, sizeof *p->tasks);
  if (!p->tasks) return RP_E_NOMEM;
  for (size_t i = 0; i < p->n_restored; i++) {
    const struct rp__candidate *from = p->restored[i];
    struct rp__json_iter it = {0};
    struct rp__json task;
    while (rp__json_next(tasks_of(from), &it, NULL, &task)) {
      struct rp__task_choice *t = &p->tasks[p->n_tasks++];
      struct rp__json at = rp__json_get(task, "at"), source = rp__json_get(task, "source");
      *t = (struct rp__task_choice){.from = from, .source = "pipeline_state"};
      if (rp__json_eq(source, "working_memory_scan")) t->source = "working_memory_scan";
      if (rp__json_eq(source, "message")) t->source = "message";
      t->flagged_incomplete = rp__json_get(task, "flagged_incomplete").type == RP_JSON_TRUE;
      t->confirmed = !only_heard(t) || rp__json_get(task, "confirmed").type == RP_JSON_TRUE;
      bool timed = at.type == RP_JSON_STRING && at.n >= 2 && rp__time_parse(at.p + 1, at.n - 2, &t->at_ms) == 0;
      if (!timed) t->at_ms = from->ended_at;
      t->task_id = rp__json_dup(rp__json_get(task, "task_id"));
      t->title = text_or_empty(rp__json_get(task, "title"));
      t->stage = text_or_empty(rp__json_get(task, "stage"));
      if (!t->task_id || !t->title || !t->stage) return RP_E_NOMEM;
    }
  }
  return 0;
}

/* Of several records the newest word counts, what is only heard last; then the session that ended last. */
static int by_id(const void *x, const void *y)
{
  const struct rp__task_choice *a = x, *b = y;
  int ids = strcmp(a->task_id, b->task_id);
  if (ids) return ids;
  if (only_heard(a) != only_heard(b)) return only_heard(b) ? -1 : 1;
  if (a->at_ms != b->at_ms) return a->at_ms > b->at_ms ? -1 : 1;
  if (a->from->ended_at != b->from->ended_at) return a->from->ended_at > b->from->ended_at ? -1 : 1;
  return strcmp(a->from->session_id, b->from->session_id);
}

static int by_age(const void *x, const void *y)
{
  const struct rp__task_choice *a = x, *b = y;
  if (a->taken != b->taken) return a->taken ? -1 : 1;
  if (a->at_ms != b->at_ms) return a->at_ms > b->at_ms ? -1 : 1;
  return strcmp(a->task_id, b->task_id);
}

static void replace(char **text, char **by)
{
  if (!*by) return;
  free(*text);
  *text = RP_TAKE(*by);
}

static int ask(const struct rp__plan *p, const struct rp__plan_sources *s, bool all, struct rp__task_choice *t)
{
  struct rp__task_word word = {0};
  bool present = s->has_task && s->has_task(s->ctx, t->task_id);
  int rc = !present && s->task_word ? s->task_word(s->ctx, t->task_id, &word) : 0;
  bool newer = rc == 0 && word.known && (only_heard(t) || word.at_ms >= t->at_ms);
  if (newer) {
    t->at_ms = word.at_ms;
    replace(&t->title, &word.title);
    replace(&t->stage, &word.stage);
  }
  free(word.title);
  free(word.stage);
  if (rc) return rc;
  t->days = rp__days_since(p->now_ms, t->at_ms);
  bool closed = newer && !word.open;
  bool faded = !all && !newer && !t->confirmed && p->now_ms - t->at_ms > RP_TASK_HEARD_MS;
  t->taken = !present && !closed && !faded;
  t->verdict = present ? "present" : closed ? "closed" : faded ? "heard_once" : "surfaced";
  if (present)
    snprintf(t->reason, sizeof t->reason, "the session has it already");
  else if (closed)
    snprintf(t->reason, sizeof t->reason, "completed or deleted since");
  else if (faded)
    snprintf(t->reason, sizeof t->reason, "one message mentioned it, %lld d ago, and nobody since", (long long)t->days);
  else
    snprintf(t->reason, sizeof t->reason, "pending at the end of %.64s; last word %lld d ago", t->from->session_id,
             (long long)t->days);
  return 0;
}

int rp__plan_choose_tasks(struct rp__plan *p, const struct rp__plan_sources *s, bool all)
{
  int rc = gather(p);
  if (rc || p->n_tasks == 0) return rc;
  qsort(p->tasks, p->n_tasks, sizeof *p->tasks, by_id);
  size_t kept = 0;
  for (size_t i = 0; i < p->n_tasks; i++) {
    struct rp__task_choice *t = &p->tasks[i], *last = kept ? &p->tasks[kept - 1] : NULL;
    if (!last || strcmp(last->task_id, t->task_id) != 0) {
      p->tasks[kept++] = *t;
      continue;
    }
    /* Mentions at different times are different ones; an heir has the time of the session that it inherited from. */
    last->confirmed = last->confirmed || t->confirmed || last->at_ms != t->at_ms;
    task_done(t);
  }
  p->n_tasks = kept;
  for (size_t i = 0; rc == 0 && i < p->n_tasks; i++) rc = ask(p, s, all, &p->tasks[i]);
  if (rc == 0) qsort(p->tasks, p->n_tasks, sizeof *p->tasks, by_age);
  return rc;
}

const struct rp__task_choice *rp__plan_tasks(const struct rp__plan *p, size_t *ret_n)
{
  *ret_n = p->n_tasks;
  return p->tasks;
}

void rp__plan_drop_choices(struct rp__plan *p)
{
  for (size_t i = 0; i < p->n_pins; i++) free(p->pins[i].label);
  for (size_t i = 0; i < p->n_tasks; i++) task_done(&p->tasks[i]);
  for (size_t i = 0; i < p->n_memories; i++) {
    free(p->memories[i].memory_id);
    free(p->memories[i].content);
  }
  free(p->pins);
  free(p->tasks);
  free(p->memories);
  p->pins = NULL;
  p->tasks = NULL;
  p->memories = NULL;
  p->n_pins = p->n_tasks = p->n_memories = 0;
}
