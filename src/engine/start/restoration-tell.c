/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a restoration decided into the journal's event, the start document, the brief and the audit log. */
#include "engine/start/restoration.h"

#define TASKS_AUDITED 64
#define MEMORIES_AUDITED 64

/* ---- looking at the plan; one that was never made has nothing ---- */

static const struct rp__candidate *const *restored(const struct rp__restoration *r, size_t *n)
{
  *n = 0;
  return r->plan ? rp__plan_restored(r->plan, n) : NULL;
}

static const struct rp__pin_choice *pins(const struct rp__restoration *r, size_t *n)
{
  *n = 0;
  return r->plan ? rp__plan_pins(r->plan, n) : NULL;
}

static const struct rp__task_choice *tasks(const struct rp__restoration *r, size_t *n)
{
  *n = 0;
  return r->plan ? rp__plan_tasks(r->plan, n) : NULL;
}

static const struct rp__memory_choice *memories(const struct rp__restoration *r, size_t *n)
{
  *n = 0;
  return r->plan ? rp__plan_memories(r->plan, n) : NULL;
}

struct rp__inherited rp__restoration_counts(const struct rp__restoration *r)
{
  struct rp__inherited c = {0};
  size_t n_pins, n_tasks, n_memories, n;
  const struct rp__pin_choice *p = pins(r, &n_pins);
  const struct rp__task_choice *t = tasks(r, &n_tasks);
  const struct rp__memory_choice *m = memories(r, &n_memories);
  restored(r, &n);
  c.sessions = (int64_t)n;
  for (size_t i = 0; i < n_pins; i++) c.pins += p[i].taken;
  for (size_t i = 0; i < n_tasks; i++) c.tasks += t[i].taken;
  for (size_t i = 0; i < n_memories; i++) c.memories += m[i].taken;
  return c;
}

bool rp__restoration_any(const struct rp__restoration *r)
{
  struct rp__inherited c = rp__restoration_counts(r);
  return c.pins || c.tasks || c.memories || r->carried.n;
}

/* ---- the restored event ---- */

/* The session that learned it; one that is gone leaves the scope itself. */
static const char *learned_in(const struct rp__restoration *r, const char *memory_id)
{
  for (size_t i = 0; i < r->n_memories; i++)
    if (strcmp(r->memories[i].memory_id, memory_id) == 0 && r->memories[i].session_id[0])
      return r->memories[i].session_id;
  return r->scope;
}

void rp__restoration_write(const struct rp__restoration *r, struct rp__jw *w)
{
  size_t n;
  const struct rp__candidate *const *c = restored(r, &n);
  rp__jw_karray(w, "from");
  for (size_t i = 0; i < n; i++) rp__jw_str(w, c[i]->session_id);
  rp__jw_end_array(w);
  const struct rp__pin_choice *p = pins(r, &n);
  rp__jw_karray(w, "pins");
  for (size_t i = 0; i < n; i++) {
    if (!p[i].taken) continue;
    rp__jw_pack(w, "{label:v content:v", rp__json_get(p[i].pin, "label"), rp__json_get(p[i].pin, "content"));
    rp__jw_key(w, "importance");
    if (p[i].critical) /* what says so may have been trimmed off its content */
      rp__jw_str(w, "critical");
    else
      rp__jw_value(w, rp__json_get(p[i].pin, "importance"));
    rp__jw_pack(w, "pinned_at:v inherited_from:s inherited_end:s}", rp__json_get(p[i].pin, "pinned_at"), p[i].source_id,
                p[i].source_end);
  }
  rp__jw_end_array(w);
  const struct rp__task_choice *t = tasks(r, &n);
  rp__jw_karray(w, "tasks");
  for (size_t i = 0; i < n; i++) {
    if (!t[i].taken) continue;
    rp__jw_pack(w, "{task_id:s title:s stage:s flagged_incomplete:b at:t source:s inherited_from:s", t[i].task_id,
                t[i].title, t[i].stage, t[i].flagged_incomplete, t[i].at_ms, t[i].source,
                t[i].from ? t[i].from->session_id : NULL);
    if (t[i].confirmed) rp__jw_kbool(w, "confirmed", true);
    rp__jw_end_object(w);
  }
  rp__jw_end_array(w);
  const struct rp__memory_choice *m = memories(r, &n);
  rp__jw_karray(w, "memories");
  for (size_t i = 0; i < n; i++) {
    if (!m[i].taken) continue;
    rp__jw_pack(w, "{memory_id:s content:s original:d confidence:d inherited_from:s}", m[i].memory_id, m[i].content,
                m[i].original, m[i].inherited, learned_in(r, m[i].memory_id));
  }
  rp__jw_end_array(w);
  if (!r->carried.n) return;
  rp__jw_key(w, "carried");
  rp__jw_raw(w, r->carried.p, r->carried.n);
}

void rp__restoration_inherited(const struct rp__restoration *r, struct rp__jw *w)
{
  struct rp__inherited c = rp__restoration_counts(r);
  size_t n;
  const struct rp__candidate *const *from = restored(r, &n);
  rp__jw_pack(w, "{sessions:[");
  for (size_t i = 0; i < n; i++) rp__jw_pack(w, "{session_id:s score:d}", from[i]->session_id, from[i]->score);
  rp__jw_pack(w, "] pins:i tasks:i memories:i}", c.pins, c.tasks, c.memories);
}

/* ---- the brief ---- */

int rp__restoration_brief(const struct rp__restoration *r, const struct rp__restart_facts *facts, bool resumed,
                          int64_t total_sessions, struct rp__buf *out, struct rp__jw *why)
{
  size_t bytes = r->robot && !r->config->brief_bytes_given ? RP_ROBOT_BRIEF_BYTES : r->config->brief_bytes;
  struct rp__brief_input in = {
      .form = r->robot ? RP_TEMPLATE_ROBOT : RP_TEMPLATE_CODER,
      .restart = facts->restart,
      .cause = facts->cause,
      .evidence = facts->evidence[0] ? facts->evidence : NULL,
      .elapsed_seconds = facts->elapsed,
      .now_ms = rp__engine_now(r->e),
      .total_sessions = total_sessions,
      .plan = r->plan,
      .state = r->state,
      .sessions = r->speakers,
      .n_sessions = r->n_speakers,
      .root = r->root,
      .redactor = r->config->redact ? r->e->redactor : NULL,
      .resumed = resumed,
      .max_bytes = bytes > RP_BRIEF_MARKS ? bytes - RP_BRIEF_MARKS : 0,
  };
  if (!r->config->enabled) return 0;
  return rp__brief_write(&in, out, why);
}

/* ---- the audit log ---- */

/* Records in this order: the restoration, a decay for each memory that was weighed, a word for each task taken. */
static const struct rp__memory_choice *weighed(const struct rp__restoration *r, size_t place, size_t *ret_n)
{
  size_t n, told = 0;
  const struct rp__memory_choice *m = memories(r, &n), *hit = NULL;
  for (size_t i = 0; i < n && told < MEMORIES_AUDITED; i++) {
    if (!m[i].taken && strcmp(m[i].verdict, "below_floor") != 0) continue;
    if (told++ == place) hit = &m[i];
  }
  *ret_n = told;
  return hit;
}

static const struct rp__task_choice *taken(const struct rp__restoration *r, size_t place, size_t *ret_n)
{
  size_t n, told = 0;
  const struct rp__task_choice *t = tasks(r, &n), *hit = NULL;
  for (size_t i = 0; i < n && told < TASKS_AUDITED; i++) {
    if (!t[i].taken) continue;
    if (told++ == place) hit = &t[i];
  }
  *ret_n = told;
  return hit;
}

int rp__resume_audit(rp_engine *e, const char *scope, const struct rp__key *key, const char *session_id, double seconds,
                     struct rp__audit_note *note, struct rp__op *op, rp_error *err)
{
  rp__audit_begin(note);
  rp__jw_pack(&note->w, "session_id:s new_session_id:s age_hours:d age:d resumed:b cold_start:b", session_id,
              session_id, seconds / 3600, seconds, true, false);
  return rp__audit_op_with(e, scope, key, "session_restored", note, op, err);
}

size_t rp__restoration_audits(const struct rp__restoration *r)
{
  size_t n_sessions, n_memories, n_tasks;
  restored(r, &n_sessions);
  weighed(r, 0, &n_memories);
  taken(r, 0, &n_tasks);
  return n_sessions ? 1 + n_memories + n_tasks : 0; /* nothing on a cold start */
}

int rp__restoration_audit(const struct rp__restoration *r, const char *session_id, const char *new_id, size_t i,
                          struct rp__audit_note *note, struct rp__op *op, rp_error *err)
{
  size_t n_memories, n_tasks, n;
  const struct rp__memory_choice *m = weighed(r, i - 1, &n_memories);
  struct rp__jw *w = &note->w;
  rp__audit_begin(note);
  if (i == 0) {
    struct rp__inherited c = rp__restoration_counts(r);
    const struct rp__candidate *const *from = restored(r, &n);
    rp__jw_pack(w, "session_id:s new_session_id:s age_hours:d age:d from_session_ids:[", session_id, new_id,
                n ? from[0]->hours : 0, n ? from[0]->hours * 3600 : 0);
    for (size_t k = 0; k < n; k++) rp__jw_str(w, from[k]->session_id);
    rp__jw_pack(w, "] pins_inherited:i relevance_scores:[", c.pins);
    for (size_t k = 0; k < n; k++) rp__jw_double(w, from[k]->score);
    rp__jw_pack(w, "] pending_task_count:i cold_start:b", c.tasks, false);
    return rp__audit_op_with(r->e, r->scope, r->key, "session_restored", note, op, err);
  }
  if (i <= n_memories) {
    rp__jw_pack(
        w,
        "memory_id:s original_confidence:d decayed_confidence:d original_score:d decayed_score:d hours_elapsed:d "
        "excluded:b",
        m->memory_id, m->original, m->inherited, m->original, m->inherited, m->hours, !m->taken);
    return rp__audit_op_with(r->e, r->scope, r->key, "confidence_decay_applied", note, op, err);
  }
  const struct rp__task_choice *t = taken(r, i - 1 - n_memories, &n_tasks);
  if (t)
    rp__jw_pack(w, "task_id:s title:s stage:s days_pending:i source:s", t->task_id, t->title, t->stage, t->days,
                t->source);
  return rp__audit_op_with(r->e, r->scope, r->key, "pending_task_surfaced", note, op, err);
}
