/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning or resuming a session, in the order of DESIGN's "path of one start":
 * recover, find, lease, load, tell. Decisions are taken on rows read outside any
 * transaction and committed under a compare-and-swap on the session's epoch; who
 * loses that race reads again.
 */
#include "engine/start.h"

#include "base/text.h"
#include "engine/abandon.h"
#include "engine/guard.h"
#include "engine/request.h"

#define START_TRIES 16
#define RECOVERED_TEXT (64 * 1024)

static void left_drop(struct rp__start *st)
{
  rp__state_give_up(st->e, RP_TAKE(st->left));
}

static void start_done(struct rp__start *st)
{
  left_drop(st);
  rp__session_row_done(&st->row);
  rp__buf_done(&st->recovered);
  rp__buf_done(&st->warnings);
  rp__buf_done(&st->brief);
  rp__restoration_done(&st->restoration);
}

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

/* Fails open: a start without its past is still a start (decision 14). */
static void plan(struct rp__start *st)
{
  rp_error why = {0};
  struct rp__restoration_options o = {.scope = st->o->scope,
                                      .channel = st->row.channel,
                                      .topics = st->o->topics,
                                      .previous_id = st->row.previous_id,
                                      .now = st->now};
  if (st->found || st->repeated) return;
  int rc = rp__restoration_plan(st->e, &o, &st->restoration, &why);
  if (rc) rp__start_warn(st, "nothing was restored", &why);
  if (!rc && st->restoration.missing.code) rp__start_warn(st, "not all was restored", &st->restoration.missing);
}

/* one brief per run. */
static void write_brief(struct rp__start *st, rp_session *s)
{
  rp_error why = {0};
  int rc = 0;
  if (st->repeated || (st->found && !st->facts.any_previous)) return;
  if (st->found) rc = rp__restoration_own(s, &st->restoration, &why);
  st->brief = RP_BUF(4 * 1024 * 1024);
  if (!rc && st->restoration.e)
    rc = rp__restoration_brief(&st->restoration, &st->facts, st->found, st->starts, &st->brief, NULL);
  if (!rc) return;
  if (!why.message[0]) rp__fail(&why, rc, "%s", rc == RP_E_TOO_LARGE ? RP_BRIEF_NO_ROOM : "out of memory");
  rp__start_warn(st, "there is no brief", &why);
  rp__buf_reset(&st->brief);
}

/* ---- telling ---- */

static void write_warnings(const struct rp__start *st, struct rp__jw *w)
{
  rp__jw_key(w, "warnings");
  rp__jw_array(w);
  const char *p = st->warnings.p;
  for (size_t n; p && *p; p += n + (p[n] == '\n')) {
    n = strcspn(p, "\n");
    rp__jw_strn(w, p, n);
  }
  rp__jw_end_array(w);
}

static char *start_document(struct rp__start *st)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(1024 * 1024);
  struct rp__jw w = RP_JW(&out);
  const struct rp__session_row *row = &st->row;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", row->id);
  rp__jw_kstr(&w, "scope", row->scope);
  rp__jw_kstr(&w, "key", row->key[0] ? row->key : NULL);
  rp__jw_kstr(&w, "channel", row->channel[0] ? row->channel : NULL);
  rp__jw_kstr(&w, "status", rp__status_name(row->status));
  rp__jw_ki64(&w, "epoch", row->epoch);
  rp__jw_kbool(&w, "resumed", st->found);
  if (st->repeated) rp__jw_kbool(&w, "repeated", true);
  write_warnings(st, &w);
  rp__jw_kstr(&w, "previous_session_id", row->previous_id[0] ? row->previous_id : NULL);
  rp__jw_ki64(&w, "total_sessions", st->starts);
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
  return rp__buf_take(&out);
}

/* L-12: who resumes a session learns at once that it may begin no more work, not when it tries to. */
static void tell_budget(struct rp__start *st, rp_session *s, const struct rp__fold *f)
{
  rp_error why = {0};
  if (rp__guard_budget(s, f, &why) != RP_E_BUDGET) return;
  if (st->warnings.n) rp__buf_char(&st->warnings, '\n');
  rp__buf_str(&st->warnings, why.message);
}

/* Loads the state now, so that damage shows at the start. Restoration that fails still starts. */
static void load_state(struct rp__start *st, rp_session *s)
{
  rp_error err = {0};
  struct rp__fold *f = NULL;
  int64_t began = rp__engine_micros(s->e);
  pthread_mutex_lock(&s->lock);
  if (st->left && st->left_ref == s->ref) s->fold = RP_TAKE(st->left);
  int rc = rp__state_use(s, &f, &st->warnings, &err);
  if (!rc) tell_budget(st, s, f);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  rp__metric_observe(&st->e->metrics.restore_seconds, (double)(rp__engine_micros(s->e) - began) / 1e6);
  atomic_fetch_add(rc ? &st->e->counters.restores_failed : &st->e->counters.restores_ok, 1);
  if (rc) rp__start_warn(st, "the state was not restored", &err);
}

/*
 * The run that the same owner has already, as it was read: its epoch, not the row's, which may be of a later run by
 * now. RP_E_FENCED: its last handle let go meanwhile.
 */
static int use_current(struct rp__start *st, rp_error *err)
{
  struct rp__scope_row scope = {0};
  st->row.epoch = st->current.epoch;
  st->starts = st->current.start_number;
  if (!st->starts) { /* made by a version that did not number them */
    int rc = st->e->store->ops->scope_get(st->e->store, st->o->scope, &scope, err);
    if (rc) return rc;
    st->starts = scope.starts;
  }
  if (st->current.owner != RP_RUN_LOCK) return 0;
  if (!rp__slot_share(st->e, st->current.slot))
    return rp__fail(err, RP_E_FENCED, "session %s: its run was let go meanwhile", st->row.id);
  st->slot = st->current.slot;
  return 0;
}

/* The handle on what was leased, or on the run that the same owner has already. */
static int make_handle(struct rp__start *st, rp_session **ret, rp_error *err)
{
  rp_session *s = NULL;
  int rc = st->repeated ? use_current(st, err) : 0;
  if (!rc) rc = rp__session_open(st->e, &st->row, st->row.epoch, &s, err);
  if (rc && st->slot) rp__slot_drop(st->e, st->slot);
  if (rc) return rc;
  s->slot = st->slot;
  if (st->found && !st->repeated) load_state(st, s);
  write_brief(st, s);
  if (!st->repeated) rp__session_mirror(s, false);
  s->start_json = start_document(st);
  if (!s->start_json) {
    rp_session_free(s);
    return rp__fail_nomem(err);
  }
  *ret = s;
  return 0;
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
  struct rp__scope_row scope = {0};
  struct rp__run_row run = {0};
  struct run_search x = {st->request.epoch, &run};
  rp_session *s = NULL;
  int rc = ops->session_find(st->e->store, RP_FIND_ID, NULL, st->request.session_id, &st->row, err);
  if (!rc && st->row.trashed_at) rc = rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is in the trash", st->row.id);
  struct rp__run_filter of = {.session_ref = st->row.ref};
  if (!rc) rc = ops->run_list(st->e->store, &of, on_run, &x, err);
  if (rc >= 0) rc = ops->scope_get(st->e->store, st->o->scope, &scope, err);
  if (rc) return rc;
  st->row.epoch = st->request.epoch;
  st->found = st->request.epoch > 1;
  st->repeated = true;
  st->starts = run.start_number ? run.start_number : scope.starts;
  st->facts = (struct rp__restart_facts){.any_previous = run.previous_cause != RP_CAUSE_NONE,
                                         .cause = run.previous_cause,
                                         .restart = run.restart,
                                         .elapsed = run.elapsed};
  rc = rp__session_open(st->e, &st->row, st->request.epoch, &s, err);
  if (rc) return rc;
  rp__jw_end_array(&st->recovered_w);
  s->start_json = start_document(st);
  if (!s->start_json) {
    rp_session_free(s);
    return rp__fail_nomem(err);
  }
  *ret = s;
  return 0;
}

static void on_recovered(void *ctx, const struct rp__run_row *run, const struct rp__verdict *verdict, rp_session *s)
{
  struct rp__start *st = ctx;
  if (s && s->fold) {
    left_drop(st);
    st->left = RP_TAKE(s->fold);
    st->left_ref = s->ref;
  }
  rp__jw_str(&st->recovered_w, run->session_id);
  rp__log(&st->e->log, RP_LOG_DEBUG, "session %s: run %lld ended: %s (%s)", run->session_id, (long long)run->epoch,
          rp__cause_name(verdict->cause), verdict->evidence);
}

static int try_start(struct rp__start *st, rp_session **ret, rp_error *err)
{
  bool again = false;
  int rc = st->o->request
               ? rp__request_find(st->e, st->o->scope, "start", "", 0, st->o->request, &st->request, &again, err)
               : 0;
  if (rc) return rc;
  if (again) return tell_again(st, ret, err);
  rc = rp__recover(st->e, st->o->scope, on_recovered, st, err);
  if (!rc) rp__abandon_scope(st->e, st->o->scope);
  if (!rc) rc = rp__start_find(st, err);
  if (!rc)
    rc = rp__restart_find(st->e, st->o->scope, st->o->channel, st->found ? &st->row : NULL,
                          st->repeated ? st->current.ref : 0, &st->facts, err);
  if (!rc && !st->found) rc = rp__start_new(st, err);
  if (!rc) plan(st);
  if (!rc && !st->repeated) rc = rp__start_lease(st, err);
  if (rc) return rc;
  rp__jw_end_array(&st->recovered_w);
  return make_handle(st, ret, err);
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
    start_done(&st);
    if (!raced) return rc;
  }
  return rp__fail(err, RP_E_BUSY, "others keep starting the same session");
}

int rp_start(rp_engine *e, const rp_start_options *options, rp_session **ret, rp_error *err)
{
  rp_error why = {0}; /* steps on the way may fail and be mended; the caller's is written only when the start fails */
  int rc = start_checked(e, options, ret, &why);
  if (rc && err) *err = why;
  return rc;
}
