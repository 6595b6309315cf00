/* SPDX-License-Identifier: Apache-2.0 */
/* rp_brief_scope and rp_brief: the brief that a start in a scope would give now, and the brief of a session. */
#include "base/options.h"
#include "engine/start/restoration.h"

#define DOC_MAX (16 * 1024 * 1024)

/* Members shared by both documents; explained, with the decisions and the reason of each line. */
static int write_document(const struct rp__restoration *r, const struct rp__restart_facts *facts, bool resumed,
                          int64_t starts, bool explain, struct rp__jw *w)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(DOC_MAX), lines RP_AUTOBUF = RP_BUF(DOC_MAX);
  struct rp__jw why = RP_JW(&lines);
  int rc = rp__restoration_brief(r, facts, resumed, starts, &text, explain ? &why : NULL);
  bool no_room = rc == RP_E_TOO_LARGE;
  if (rc && !no_room) return rc;
  rp__jw_key(w, "restart");
  rp__restart_write(facts, w);
  if (explain && r->plan) rp__plan_explain(r->plan, w);
  if (explain && lines.n) {
    rp__jw_key(w, "lines");
    rp__jw_raw(w, lines.p, lines.n);
  }
  rp__jw_key(w, "brief");
  if (text.n)
    rp__jw_strn(w, text.p, text.n);
  else
    rp__jw_null(w);
  if (no_room) rp__jw_kstr(w, "warning", RP_BRIEF_NO_ROOM);
  return text.err ? text.err : lines.err;
}

static int take_document(struct rp__buf *out, int rc, char **ret, rp_error *err)
{
  if (!rc) rc = out->err;
  if (rc) return rp__fail(err, rc, "the brief can't be written");
  return rp__text_give(out, ret, err);
}

int rp_brief_scope(rp_engine *e, const rp_brief_options *given, char **ret, rp_error *err)
{
  rp_brief_options own, *o = &own;
  struct rp__restart_facts facts;
  struct rp__scope_row scope = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  struct rp__session_row previous RP_CLEANUP(rp__session_row_done) = {0};
  const struct rp__key *key = NULL;
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(o, given, without, err);
  if (!rc && (!o->scope || !rp__name_ok(o->scope)))
    rc = rp__fail_field(err, RP_E_USAGE, "scope", "no scope, or one that can't be a scope's name");
  if (!rc) rc = rp__restart_find(e, o->scope, o->channel, NULL, 0, &facts, err);
  if (!rc) rc = rp__previous_find(e, o->scope, o->channel, &previous, err);
  if (!rc) rc = e->store->ops->scope_get(e->store, o->scope, &scope, err);
  if (!rc && rp__config_of(e->config, o->scope)->enabled) rc = rp__scope_key_of(e, o->scope, &scope, &key, err);
  if (rc) return rc;
  struct rp__restoration r RP_CLEANUP(rp__restoration_done) = {0};
  struct rp__restoration_options plan = {.scope = o->scope,
                                         .channel = o->channel,
                                         .topics = o->topics,
                                         .previous = &previous,
                                         .scope_row = &scope,
                                         .key = key,
                                         .now = rp__engine_now(e),
                                         .preview = true,
                                         .explain = o->explain,
                                         .without = o->without};
  rc = rp__restoration_plan(e, &plan, &r, err);
  if (rc) return rc;
  rp__jw_pack(&w, "{scope:s at:t", o->scope, plan.now);
  rc = write_document(&r, &facts, false, scope.starts + 1, o->explain, &w);
  rp__jw_end_object(&w);
  return take_document(&out, rc, ret, err);
}

int rp_brief(rp_session *s, bool explain, char **ret, rp_error *err)
{
  struct rp__run_row current;
  struct rp__restart_facts facts;
  struct rp__scope_row scope = {0};
  struct rp__session_row row = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  struct rp__restoration r RP_CLEANUP(rp__restoration_done) = {0};
  int rc = rp__session_check(s, err);
  if (!rc) rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  /* The run that is under way is no run before. */
  rc = rp__run_newest(s->e, s->ref, true, &current, err);
  if (!rc) rc = rp__restart_find(s->e, s->scope, NULL, &row, current.ref, &facts, err);
  rp__session_row_done(&row);
  if (!rc) rc = s->e->store->ops->scope_get(s->e->store, s->scope, &scope, err);
  if (rc) return rc;
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__fold *f = NULL;
  pthread_mutex_lock(&s->lock);
  rc = rp__state_use(s, &f, &warnings, err);
  if (!rc) rc = rp__restoration_own(s, &scope, f, &r, err);
  bool found = !rc;
  if (found) {
    rp__jw_pack(&w, "{session_id:s at:t", s->id, rp__engine_now(s->e));
    rc = write_document(&r, &facts, true, scope.starts, explain, &w);
    rp__jw_end_object(&w);
  }
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  return found ? take_document(&out, rc, ret, err) : rc;
}
