/* SPDX-License-Identifier: Apache-2.0 */
/* The plan with its reasons: as members of the document that `explain` asks for, and as lines for a log. */
#include "continuity/plan-impl.h"

#include "base/text.h"

#define LINE_MAX_BYTES 1024

/* ---- JSON ------------------------------------------------------------------------ */

void rp__plan_explain(const struct rp__plan *p, struct rp__jw *w)
{
  rp__jw_kobject(w, "counts");
  for (unsigned f = 0; f < RP_VERDICT_MAX; f++)
    rp__jw_ki64(w, rp__plan_verdict_name((enum rp__plan_verdict)f), p->counts[f]);
  rp__jw_pack(w, "} candidates:[");
  for (size_t i = 0; i < p->told.n; i++) {
    const struct rp__candidate *c = &p->told.v[i]->c;
    rp__jw_pack(w, "{session_id:s hours:d recency:d overlap:d tasks:d score:d verdict:s reason:s}", c->session_id,
                c->hours, c->recency, c->overlap, c->tasks, c->score, rp__plan_verdict_name(c->verdict), c->reason);
  }
  rp__jw_pack(w, "] pins:[");
  for (size_t i = 0; i < p->n_pins; i++) {
    rp__jw_pack(w, "{label:s", p->pins[i].label);
    if (p->pins[i].taken) {
      rp__jw_kvalue(w, "content", rp__json_get(p->pins[i].pin, "content"));
    }
    rp__jw_pack(w, "session_id:s verdict:s reason:s}", p->pins[i].from->session_id, p->pins[i].verdict,
                p->pins[i].reason);
  }
  rp__jw_pack(w, "] memories:[");
  for (size_t i = 0; i < p->n_memories; i++) {
    const struct rp__memory_choice *m = &p->memories[i];
    rp__jw_pack(w, "{memory_id:s original:d factor:d inherited:d hours:d relevance:d uses:i rank:d verdict:s reason:s}",
                m->memory_id, m->original, m->factor, m->inherited, m->hours, m->relevance, m->uses, m->rank,
                m->verdict, m->reason);
  }
  rp__jw_pack(w, "] tasks:[");
  for (size_t i = 0; i < p->n_tasks; i++) {
    rp__jw_pack(w, "{task_id:s", p->tasks[i].task_id);
    if (p->tasks[i].taken) {
      rp__jw_pack(w, "title:s stage:s session_id:s", p->tasks[i].title, p->tasks[i].stage,
                  p->tasks[i].from->session_id);
    }
    rp__jw_pack(w, "verdict:s reason:s}", p->tasks[i].verdict, p->tasks[i].reason);
  }
  rp__jw_end_array(w);
}

/* ---- lines ------------------------------------------------------------------------- */

struct teller {
  rp__plan_line_fn *fn;
  void *ctx;
};

static void say(const struct teller *t, const char *fmt, ...) RP_PRINTF(2, 3);
static void say(const struct teller *t, const char *fmt, ...)
{
  char line[LINE_MAX_BYTES];
  va_list args;
  va_start(args, fmt);
  rp__text_vformat(line, sizeof line, fmt, args);
  va_end(args);
  t->fn(t->ctx, line);
}

void rp__plan_tell(const struct rp__plan *p, rp__plan_line_fn *fn, void *ctx)
{
  const struct teller t = {fn, ctx};
  for (size_t i = 0; i < p->told.n; i++) {
    const struct rp__candidate *c = &p->told.v[i]->c;
    say(&t, "session %s: %s; %.1f h, score %.4f = .4*%.4f recency + .35*%.4f overlap + .25*%.4f tasks; %s",
        c->session_id, rp__plan_verdict_name(c->verdict), c->hours, c->score, c->recency, c->overlap, c->tasks,
        c->reason);
  }
  for (size_t i = 0; i < p->n_pins; i++) {
    const struct rp__pin_choice *c = &p->pins[i];
    say(&t, "pin \"%s\" of %s: %s; %s", c->label, c->from->session_id, c->verdict, c->reason);
  }
  for (size_t i = 0; i < p->n_tasks; i++) {
    const struct rp__task_choice *c = &p->tasks[i];
    say(&t, "task %s: %s; %s", c->task_id, c->verdict, c->reason);
  }
  for (size_t i = 0; i < p->n_memories; i++) {
    const struct rp__memory_choice *m = &p->memories[i];
    say(&t, "memory %s: %s; %.4f * %.6f after %.1f h = %.6f; %s", m->memory_id, m->verdict, m->original, m->factor,
        m->hours, m->inherited, m->reason);
  }
}
