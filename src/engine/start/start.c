/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Begins or resumes a session, in the order that docs/architecture.md gives in "The path of one start". Decisions are
 * made on rows that were read outside any transaction, and committed under a compare-and-swap on the session's epoch. A
 * start that loses this race reads the rows again.
 */
#include "base/options.h"
#include "engine/start/start.h"

#include "base/text.h"
#include "engine/keep/abandon.h"
#include "engine/journal/limits.h"
#include "engine/journal/idempotency.h"

#define START_TRIES 16
#define RECOVERED_TEXT (64 * 1024)

void rp__start_warn(struct rp__start *st, const char *what, const rp_error *why)
{
  if (st->warnings.n) rp__buf_char(&st->warnings, '\n');
  rp__buf_printf(&st->warnings, "%s: %s", what, why->message);
}

/* ---- checks ---- */

static int check_name(const char *field, const char *value, bool required, rp_error *err)
{
  if (!value && !required) return 0;
  if (!value || !*value) return rp__fail_field(err, RP_E_USAGE, field, "%s is missing", field);
  if (rp__name_ok(value)) return 0;
  return rp__fail_field(err, RP_E_USAGE, field,
                        "%s '%s' is not allowed: it starts with a letter or digit, goes on with letters, digits "
                        "and . _ : -, and has at most %d characters",
                        field, rp__text_shown(value), RP_ID_MAX);
}

static int check_options(const rp_start_options *o, rp_error *err)
{
  int rc = check_name("scope", o->scope, true, err);
  if (!rc) rc = check_name("key", o->key, false, err);
  if (!rc) rc = check_name("id", o->id, false, err);
  if (!rc) rc = check_name("channel", o->channel, false, err);
  if (!rc) rc = check_name("provider", o->provider, false, err);
  if (rc || !o->meta) return rc;
  struct rp__json v;
  struct rp__json_limits limits = {.max_bytes = RP_META_MAX};
  rc = rp__json_parse(o->meta, strlen(o->meta), &limits, &v, err);
  if (rc) return rp__wrap(err, "meta");
  if (v.type != RP_JSON_OBJECT) return rp__fail_field(err, RP_E_INVALID, "meta", "meta must be a JSON object");
  return 0;
}

/* ---- what comes back ---- */

/* Fails open: a start without its past is still a start. */
static void plan(struct rp__start *st)
{
  rp_error why = {0};
  struct rp__restoration_options o = {.scope = st->o->scope,
                                      .scope_row = &st->scope,
                                      .key = st->key,
                                      .channel = st->row.channel,
                                      .topics = st->o->topics,
                                      .prompt = st->o->prompt,
                                      .previous = &st->previous,
                                      .living = &st->living,
                                      .seen = &st->seen,
                                      .now = st->now};
  if (st->found || st->repeated) return;
  free(st->root);
  o.root = st->root = rp__meta_root(st->o->meta);
  int rc = rp__restoration_plan(st->e, &o, &st->restoration, &why);
  if (rc) rp__start_warn(st, "nothing was restored", &why);
  if (!rc && st->restoration.missing.code) rp__start_warn(st, "not all was restored", &st->restoration.missing);
}

/* one brief per run. `rc` and `why`: what kept the state of a session that goes on from being read. */
static void write_brief(struct rp__start *st, int rc, rp_error *why)
{
  if (st->repeated || (st->found && !st->facts.any_previous)) return;
  st->brief = RP_BUF(4 * 1024 * 1024);
  if (!rc && st->restoration.e)
    rc = rp__restoration_brief(&st->restoration, &st->facts, st->found, st->starts, &st->brief, NULL);
  st->restoration.state = NULL;
  if (!rc) return;
  if (!why->message[0]) rp__fail(why, rc, "%s", rc == RP_E_TOO_LARGE ? RP_BRIEF_NO_ROOM : "out of memory");
  rp__start_warn(st, "there is no brief", why);
  rp__buf_reset(&st->brief);
}

/* ---- telling ---- */

/* Gives the handle its document, and hands it out; without memory it is freed. */
static int tell(struct rp__start *st, rp_session *s, rp_session **ret, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024 * 1024);
  struct rp__jw w = RP_JW(&out);
  const struct rp__session_row *row = &st->row;
  rp__jw_pack(&w, "{session_id:s scope:s key:s channel:s status:s epoch:i resumed:b", row->id, row->scope,
              row->key[0] ? row->key : NULL, row->channel[0] ? row->channel : NULL, rp__status_name(row->status),
              row->epoch, st->found);
  if (st->repeated) rp__jw_kbool(&w, "repeated", true);
  rp__jw_karray(&w, "warnings");
  const char *p = st->warnings.p;
  for (size_t n; p && *p; p += n + (p[n] == '\n')) {
    n = strcspn(p, "\n");
    rp__jw_strn(&w, p, n);
  }
  rp__jw_pack(&w, "] previous_session_id:s total_sessions:i", row->previous_id[0] ? row->previous_id : NULL,
              st->starts);
  rp__jw_key(&w, "crash_recovered");
  rp__jw_raw(&w, st->recovered.p, st->recovered.n);
  rp__jw_key(&w, "restart");
  rp__restart_write(&st->facts, &w);
  rp__jw_key(&w, "inherited");
  rp__restoration_inherited(&st->restoration, &w);
  rp__jw_key(&w, "brief");
  if (st->brief.n)
    rp__jw_strn(&w, st->brief.p, st->brief.n);
  else
    rp__jw_null(&w);
  rp__jw_end_object(&w);
  s->start_json = rp__buf_take(&out);
  if (!s->start_json) {
    rp_session_free(s);
    return rp__fail_nomem(err);
  }
  *ret = s;
  return 0;
}

/*
 * Loads the state now, so that damage shows at the start, and what the brief tells of it. Restoration that fails still
 * starts. Of the view only what was stored since is read.
 */
static void load_state(struct rp__start *st, rp_session *s)
{
  rp_error err = {0}, why = {0};
  struct rp__fold *f = NULL;
  int64_t began = rp__engine_micros(s->e);
  pthread_mutex_lock(&s->lock);
  if (st->view) s->fold = RP_TAKE(st->view->fold);
  int rc = rp__state_use(s, &f, &st->warnings, &err), told = rc;
  /* L-12: who resumes a session learns at once that it may begin no more work, not when it tries to. */
  rp_error budget = {0};
  if (!rc && rp__limits_budget(s, f, &budget) == RP_E_BUDGET) {
    if (st->warnings.n) rp__buf_char(&st->warnings, '\n');
    rp__buf_str(&st->warnings, budget.message);
  }
  if (!rc && st->facts.any_previous) told = rp__restoration_own(s, &st->scope, f, &st->restoration, &why);
  if (rc) rp__start_warn(st, "the state was not restored", &err);
  write_brief(st, told, rc ? &err : &why); /* with the lock: it reads the state */
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  rp__metric_observe(&st->e->metrics.restore_seconds, (double)(rp__engine_micros(s->e) - began) / 1e6);
  atomic_fetch_add(rc ? &st->e->counters.restores_failed : &st->e->counters.restores_ok, 1);
}

struct run_search {
  int64_t epoch;
  struct rp__run_row *run;
};

static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct run_search *x = ctx;
  if (run->epoch == x->epoch) *x->run = *run;
  return run->epoch == x->epoch;
}

/*
 * The document of a start that was made under the same key before, without its brief. The epoch is that start's own,
 * whoever has taken the session over since.
 */
static int tell_again(struct rp__start *st, rp_session **ret, rp_error *err)
{
  const struct rp__store_ops *ops = st->e->store->ops;
  struct rp__run_row run = {0};
  struct run_search x = {st->request.epoch, &run};
  rp_session *s = NULL;
  int rc = rp__request_session(st->e, st->o->scope, &st->request, &st->row, err);
  if (!rc && st->row.trashed_at) rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is in the trash", st->row.id);
  struct rp__run_filter of = {.session_ref = st->row.ref};
  if (!rc) rc = ops->run_list(st->e->store, &of, on_run, &x, err);
  if (rc < 0) return rc;
  st->row.epoch = st->request.epoch;
  st->found = st->request.epoch > 1;
  st->repeated = true;
  st->starts = run.start_number ? run.start_number : st->scope.starts;
  st->facts = (struct rp__restart_facts){.any_previous = run.previous_cause != RP_CAUSE_NONE,
                                         .cause = run.previous_cause,
                                         .restart = run.restart,
                                         .elapsed = run.elapsed};
  rc = rp__session_open_with(st->e, &st->row, st->key, st->request.epoch, &s, err);
  if (rc) return rc;
  rp__jw_end_array(&st->recovered_w);
  return tell(st, s, ret, err);
}

static void on_recovered(void *ctx, const struct rp__run_row *run, const struct rp__verdict *verdict)
{
  struct rp__start *st = ctx;
  rp__jw_str(&st->recovered_w, run->session_id);
  rp__log(&st->e->log, RP_LOG_DEBUG, "session %s: run %lld ended: %s (%s)", run->session_id, (long long)run->epoch,
          rp__cause_name(verdict->cause), verdict->evidence);
}

static int try_start(struct rp__start *st, rp_session **ret, rp_error *err)
{
  bool again = false;
  int rc = rp__start_look(st, &again, err);
  if (rc) return rc;
  if (again) return tell_again(st, ret, err);
  rc = rp__recover(st->e, st->o->scope, st->key, &st->open, &st->seen, on_recovered, st, err);
  if (!rc) rp__abandon_scope(st->e, st->o->scope, st->key, &st->seen);
  if (!rc) rc = rp__start_find(st, err);
  if (!rc) plan(st);
  if (!rc && st->found && !st->repeated) { /* a view of the session that is resumed; that of the recovery will do */
    rp_session *seen = rp__views_find(&st->seen, st->row.ref);
    if (seen)
      st->view = rp__session_ref(seen);
    else if (!(rc = rp__view_open(st->e, &st->row, st->key, &st->view, err)))
      rc = rp__views_read(st->e, st->o->scope, &st->view, 1, NULL, err);
  }
  if (!rc && !st->repeated) rc = rp__start_lease(st, err);
  if (rc) return rc;
  rp__jw_end_array(&st->recovered_w);
  /* The handle on what was leased, or on the run that the same owner has already. */
  rp_session *s = NULL;
  if (st->repeated) { /* its epoch, not the row's, which may be of a later run by now */
    st->row.epoch = st->current.epoch;
    st->starts = st->current.start_number;
    if (!st->starts) st->starts = st->scope.starts; /* made by a version that did not number them */
    if (st->current.owner == RP_RUN_LOCK && !rp__slot_share(st->e, st->current.slot))
      rc = rp__fail(err, RP_E_FENCED, "session %s: its run was let go meanwhile", st->row.id);
    else if (st->current.owner == RP_RUN_LOCK)
      st->slot = st->current.slot;
  }
  if (!rc) rc = rp__session_open_with(st->e, &st->row, st->key, st->row.epoch, &s, err);
  if (rc && st->slot) rp__slot_drop(st->e, st->slot);
  if (rc) return rc;
  s->slot = st->slot;
  rp_error none = {0};
  if (st->found && !st->repeated)
    load_state(st, s);
  else
    write_brief(st, 0, &none);
  if (!st->repeated) rp__session_mirror(s, false);
  return tell(st, s, ret, err);
}

static int start_checked(rp_engine *e, const rp_start_options *options, rp_session **ret, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (!rc && !options) rc = rp__fail(err, RP_E_USAGE, "no options were given");
  if (!rc && e->read_only) rc = rp__fail(err, RP_E_READONLY, "the store was opened for reading");
  if (!rc) rc = check_options(options, err);
  if (rc) return rc;
  for (int i = 0; i < START_TRIES; i++) {
    struct rp__start st = {
        .e = e, .o = options, .now = rp__engine_now(e), .recovered = RP_BUF(RECOVERED_TEXT), .warnings = RP_BUF(65536)};
    st.recovered_w = RP_JW(&st.recovered);
    rp__jw_array(&st.recovered_w);
    rc = try_start(&st, ret, err);
    bool raced = !st.found && rc == RP_E_EXISTS && !options->id && options->mode != RP_MODE_SUCCESSOR;
    /* Not found: the session, or the one before it, was deleted since it was found. */
    raced = raced || rc == RP_E_FENCED || (st.leasing && rc == RP_E_SESSION_NOT_FOUND);
    if (st.view) rp__session_unref(st.view);
    rp__open_runs_done(&st.open);
    rp__living_done(&st.living);
    rp__session_row_done(&st.row);
    rp__session_row_done(&st.previous);
    rp__views_done(&st.seen);
    rp__buf_done(&st.recovered);
    rp__buf_done(&st.warnings);
    rp__buf_done(&st.brief);
    rp__restoration_done(&st.restoration);
    free(st.root);
    if (!raced) return rc;
  }
  return rp__fail(err, RP_E_BUSY, "others keep starting the same session");
}

int rp_start(rp_engine *e, const rp_start_options *options, rp_session **ret, rp_error *err)
{
  rp_error why = {0}; /* steps on the way may fail and be mended; the caller's is written only when the start fails */
  rp_start_options own;
  int rc = RP__OPTIONS(&own, options, prompt, &why);
  if (!rc) rc = start_checked(e, options ? &own : NULL, ret, &why);
  if (rc && err) *err = why;
  return rc;
}
