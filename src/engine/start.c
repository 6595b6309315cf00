/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beginning or resuming a session, in the order of DESIGN's "path of one start":
 * recover, find, lease, load, tell. Decisions are taken on rows read outside any
 * transaction and committed under a compare-and-swap on the session's epoch; who
 * loses that race reads again.
 */
#include "engine/recover.h"

#define START_TRIES 16
#define META_MAX (64 * 1024)
#define RECOVERED_TEXT (64 * 1024)

/* One attempt. */
struct start {
  rp_engine *e;
  const rp_start_options *o;
  int64_t now;

  struct rp__session_row row; /* the target, when `found`; the new one otherwise */
  bool found;
  struct rp__run_row current; /* its open run, when `held` */
  bool held;
  bool repeated;

  bool any_previous; /* a run to compare with */
  struct rp__evidence evidence;
  enum rp__cause cause;
  bool clean;
  enum rp__restart restart;
  double elapsed;

  struct rp__proc owner;
  int64_t slot;
  int64_t starts;
  struct rp__buf recovered; /* the JSON array of ids */
  struct rp__jw recovered_w;
  struct rp__buf warnings;
};

static void start_done(struct start *st)
{
  rp__session_row_done(&st->row);
  rp__buf_done(&st->recovered);
  rp__buf_done(&st->warnings);
}

/* ---- checks ---- */

static int check_name(const char *field, const char *value, bool required, rp_error *err)
{
  if (!value && !required) return 0;
  if (!value || !*value) return rp__fail_field(err, RP_E_USAGE, field, "%s is missing", field);
  if (rp__name_ok(value)) return 0;
  return rp__fail_field(err, RP_E_USAGE, field,
                        "%s '%.60s' is not allowed: it starts with a letter or digit, goes on with letters, digits "
                        "and . _ : -, and has at most %d characters",
                        field, value, RP_ID_MAX);
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
  struct rp__json_limits limits = {.max_bytes = META_MAX};
  rc = rp__json_parse(o->meta, strlen(o->meta), &limits, &v, err);
  if (rc) return rp__wrap(err, "meta");
  if (v.type != RP_JSON_OBJECT) return rp__fail_field(err, RP_E_INVALID, "meta", "meta must be a JSON object");
  return 0;
}

/* ---- finding ---- */

static void on_recovered(void *ctx, const struct rp__run_row *run, const struct rp__verdict *verdict)
{
  struct start *st = ctx;
  rp__jw_str(&st->recovered_w, run->session_id);
  rp__log(&st->e->log, RP_LOG_DEBUG, "session %s: run %lld ended: %s (%s)", run->session_id, (long long)run->epoch,
          rp__cause_name(verdict->cause), verdict->evidence);
}

static int not_found(const rp_start_options *o, rp_error *err)
{
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "there is no %ssession with the %s '%s' to resume", o->id ? "" : "open ",
                  o->id ? "id" : "key", o->id ? o->id : o->key);
}

/* The session that id or key name, if it may be resumed. */
static int find_target(struct start *st, rp_error *err)
{
  const rp_start_options *o = st->o;
  const struct rp__store_ops *ops = st->e->store->ops;
  int rc = RP_E_SESSION_NOT_FOUND;
  if (o->id)
    rc = ops->session_find(st->e->store, RP_FIND_ID, NULL, o->id, &st->row, err);
  else if (o->key)
    rc = ops->session_find(st->e->store, RP_FIND_KEY, o->scope, o->key, &st->row, err);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  st->found = rc == 0;
  if (st->found && o->id && strcmp(st->row.scope, o->scope) != 0)
    return rp__fail_field(err, RP_E_EXISTS, "scope", "session %s belongs to scope '%s'", o->id, st->row.scope);
  if (st->found && st->row.hidden) return rp__fail(err, RP_E_EXISTS, "session %s is being imported", st->row.id);
  if (st->found && o->id && o->mode == RP_MODE_SUCCESSOR)
    return rp__fail_field(err, RP_E_EXISTS, "id", "session %s exists already", o->id);
  if (st->found && o->mode == RP_MODE_SUCCESSOR && !rp__status_ended(st->row.status)) {
    rp__fail_field(err, RP_E_EXISTS, "key", "session %s is open and has the key '%s'", st->row.id, o->key);
    rp__hint(err, "end it first, or start without --mode successor to resume it");
    return RP_E_EXISTS;
  }
  /* Ended ones come back by their own id only (L-05). */
  if (st->found && !o->id && rp__status_ended(st->row.status)) {
    rp__session_row_done(&st->row);
    st->row = (struct rp__session_row){0};
    st->found = false;
  }
  if (!st->found && o->mode == RP_MODE_RESUME && (o->id || o->key)) return not_found(o, err);
  return 0;
}

/* `resume` without id or key: the scope's last session. */
static int find_last(struct start *st, rp_error *err)
{
  if (st->found || st->o->mode != RP_MODE_RESUME || st->o->id || st->o->key) return 0;
  int rc = st->e->store->ops->session_find(st->e->store, RP_FIND_LAST, st->o->scope, NULL, &st->row, err);
  st->found = rc == 0;
  return rc;
}

static bool same_owner(struct start *st, const struct rp__run_row *run)
{
  if (st->o->owner == RP_OWNER_SELF) return run->owner == RP_RUN_LOCK && rp__slot_is_ours(st->e, run->slot);
  if (st->o->owner != RP_OWNER_PID || run->owner != RP_RUN_PID) return false;
  return run->proc.pid == st->owner.pid && run->proc.start == st->owner.start && run->proc.ns == st->owner.ns &&
         strcmp(run->proc.boot_id, st->owner.boot_id) == 0;
}

/* Looking for the same named owner's run in the scope: a start without id or key by the same process is that run. */
struct owner_search {
  struct start *st;
  struct rp__run_row run;
  bool hit;
};

static int on_owner_run(void *ctx, const struct rp__run_row *run)
{
  struct owner_search *x = ctx;
  if (x->hit || !same_owner(x->st, run)) return 0;
  x->run = *run;
  x->hit = true;
  return 0;
}

static int find_repeated(struct start *st, rp_error *err)
{
  if (st->found || st->o->owner != RP_OWNER_PID || st->o->key || st->o->id || st->o->mode != RP_MODE_AUTO) return 0;
  struct owner_search x = {.st = st};
  struct rp__run_filter f = {.scope = st->o->scope, .open_only = true};
  int rc = st->e->store->ops->run_list(st->e->store, &f, on_owner_run, &x, err);
  if (rc || !x.hit) return rc;
  rc = st->e->store->ops->session_find(st->e->store, RP_FIND_ID, NULL, x.run.session_id, &st->row, err);
  st->found = rc == 0;
  return rc;
}

/* ---- the run before ---- */

static int on_first_run(void *ctx, const struct rp__run_row *run)
{
  *(struct rp__run_row *)ctx = *run;
  return 0;
}

static int held_error(struct start *st, rp_error *err)
{
  const struct rp__run_row *run = &st->current;
  char at[RP_TIME_TEXT];
  rp__fail(err, RP_E_HELD, "session %s is held by process %lld on %s (epoch %lld, last heartbeat %s)", st->row.id,
           (long long)run->proc.pid, run->host, (long long)run->epoch,
           rp__time_format(RP_MAX(run->heartbeat_at, run->started_at), at));
  rp__hint(err, "wait for it to end, or take over with --force, which fences it");
  return RP_E_HELD;
}

/* Whether the target is held, and by whom. */
static int check_holder(struct start *st, rp_error *err)
{
  struct rp__evidence v;
  struct rp__verdict verdict;
  struct rp__run_filter f = {.session_ref = st->row.ref, .open_only = true, .limit = 1};
  int rc = st->e->store->ops->run_list(st->e->store, &f, on_first_run, &st->current, err);
  st->held = !rc && st->current.ref;
  if (rc || !st->held) return rc;
  rp__run_judge(st->e, &st->current, st->row.last_activity_at, &v, &verdict);
  st->repeated = verdict.alive && same_owner(st, &st->current);
  if (st->repeated || !verdict.alive || st->current.owner == RP_RUN_NONE || st->o->force) return 0;
  return held_error(st, err);
}

struct previous_search {
  struct start *st;
  struct rp__run_row run;
  bool hit;
};

/* The newest run that is not provably somebody's who works beside us. */
static int on_previous(void *ctx, const struct rp__run_row *run)
{
  struct previous_search *x = ctx;
  struct rp__evidence v;
  struct rp__verdict verdict = {0};
  if (x->hit || (x->st->repeated && run->ref == x->st->current.ref)) return 0;
  if (!run->ended_at) rp__run_judge(x->st->e, run, 0, &v, &verdict);
  if (!x->st->found && verdict.alive && verdict.provable) return 0;
  x->run = *run;
  x->hit = true;
  return 0;
}

/* N-03: what kind of restart this is, from the session's last run, or for a new one from the scope's. */
static int classify(struct start *st, rp_error *err)
{
  struct previous_search x = {.st = st};
  struct rp__run_filter f = {.limit = 32};
  if (st->found)
    f.session_ref = st->row.ref;
  else
    f.scope = st->o->scope;
  int rc = st->e->store->ops->run_list(st->e->store, &f, on_previous, &x, err);
  if (rc) return rc;
  st->any_previous = x.hit;
  if (x.hit) {
    struct rp__session_row row = {0};
    struct rp__verdict verdict;
    int64_t last = 0;
    rc = st->e->store->ops->session_find(st->e->store, RP_FIND_ID, NULL, x.run.session_id, &row, err);
    if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
    if (!rc) last = row.last_activity_at;
    rp__session_row_done(&row);
    st->clean = x.run.ended_at && (x.run.cause == RP_CAUSE_CLEAN || x.run.cause == RP_CAUSE_UPGRADE);
    if (st->clean) last = RP_MAX(last, x.run.ended_at);
    rp__run_judge(st->e, &x.run, last, &st->evidence, &verdict);
    st->cause = x.run.ended_at ? x.run.cause : verdict.alive ? RP_CAUSE_CRASH : verdict.cause;
    st->elapsed = rp__elapsed_seconds(&st->evidence);
  }
  st->restart =
      rp__restart_classify(x.hit, st->clean, st->elapsed, rp__config_num(st->e->config, st->o->scope, RP_OPT_CRASH_S),
                           rp__config_num(st->e->config, st->o->scope, RP_OPT_SHORT_BREAK_S));
  return 0;
}

/* ---- the lease ---- */

static int describe_owner(struct start *st, rp_error *err)
{
  if (st->o->owner == RP_OWNER_SELF) st->owner = st->e->self;
  if (st->o->owner != RP_OWNER_PID) return 0;
  int rc = rp__proc_describe(st->o->owner_pid, &st->owner, err);
  return rc ? rp__wrap(err, "owner %lld", (long long)st->o->owner_pid) : 0;
}

static void fill_run(struct start *st, struct rp__run_row *run)
{
  static const enum rp__owner owners[] = {
      [RP_OWNER_SELF] = RP_RUN_LOCK, [RP_OWNER_PID] = RP_RUN_PID, [RP_OWNER_NONE] = RP_RUN_NONE};
  *run = (struct rp__run_row){
      .owner = owners[st->o->owner],
      .slot = st->slot,
      .proc = st->owner,
      .started_at = st->now,
      .heartbeat_at = st->now,
      .heartbeat_boot = rp__boot(&st->e->clock),
  };
  if (st->o->owner == RP_OWNER_NONE) memcpy(run->proc.boot_id, st->e->self.boot_id, sizeof run->proc.boot_id);
  memcpy(run->host, st->e->host, sizeof run->host);
  snprintf(run->version, sizeof run->version, "%s", RP_VERSION);
}

static void copy_name(char *out, const char *in)
{
  if (in) snprintf(out, RP_NAME, "%s", in);
}

/* The row of a new session, a successor of the scope's last one. */
static int fill_new(struct start *st, rp_error *err)
{
  struct rp__session_row last = {0};
  struct rp__session_row *row = &st->row;
  int rc = st->e->store->ops->session_find(st->e->store, RP_FIND_LAST, st->o->scope, NULL, &last, err);
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  *row = (struct rp__session_row){.status = RP_STATUS_CREATED, .created_at = st->now, .last_activity_at = st->now};
  if (!rc) memcpy(row->previous_id, last.id, sizeof row->previous_id);
  rp__session_row_done(&last);
  if (st->o->id)
    copy_name(row->id, st->o->id);
  else
    rp__uuid7(row->id, st->now, &rp__system_random);
  copy_name(row->scope, st->o->scope);
  copy_name(row->key, st->o->key);
  copy_name(row->channel, st->o->channel ? st->o->channel : "cli");
  copy_name(row->provider, st->o->provider);
  if (st->o->meta && !(row->meta = strdup(st->o->meta))) return rp__fail_nomem(err);
  return 0;
}

static int restored_body(struct start *st, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", rp__restart_name(st->restart));
  rp__jw_kstr(&w, "cause", rp__cause_name(st->cause));
  rp__jw_kdouble(&w, "elapsed_seconds", st->elapsed);
  rp__jw_ki64(&w, "epoch", st->row.epoch + 1);
  rp__jw_end_object(&w);
  return out->err;
}

/* The ops of a start: end the run before, seal the scope, make or lease the session, age it. */
struct start_ops {
  struct rp__op ops[6];
  size_t n, lease;
  struct rp__run_row run;
  struct rp__scope_row scope;
  struct rp__new_event event;
  struct rp__buf plain, sealed;
};

static struct rp__op *add_op(struct start *st, struct start_ops *b, enum rp__op_type type)
{
  struct rp__op *op = &b->ops[b->n++];
  *op = (struct rp__op){.type = type, .session_ref = st->row.ref, .session_id = st->row.id, .now_ms = st->now};
  return op;
}

static void add_end_of_previous(struct start *st, struct start_ops *b)
{
  if (!st->held) return;
  struct rp__op *op = add_op(st, b, RP_OP_RUN_END);
  op->u.run_end.run_ref = st->current.ref;
  op->u.run_end.ended_at = RP_MIN(st->now, RP_MAX(st->current.heartbeat_at, st->row.last_activity_at));
  op->u.run_end.cause = RP_CAUSE_CRASH;
  op->u.run_end.evidence = st->o->force ? "taken over by force" : "the same key was started again";
  if (st->o->force) return;
  op = add_op(st, b, RP_OP_SESSION_SET);
  op->u.session_set.fields = RP_SET_CRASH;
  op->u.session_set.crash_recovered = true;
  rp__jw_str(&st->recovered_w, st->row.id);
}

static int add_seal(struct start *st, struct start_ops *b, const struct rp__key **ret_key, rp_error *err)
{
  int rc = rp__scope_key(st->e, st->o->scope, ret_key, err);
  if (rc || !*ret_key) return rc;
  b->scope.sealed = true;
  memcpy(b->scope.key_id, (*ret_key)->id, sizeof b->scope.key_id);
  struct rp__op *op = add_op(st, b, RP_OP_SCOPE_SET);
  op->u.scope_set.scope = st->o->scope;
  op->u.scope_set.row = &b->scope;
  return 0;
}

static int add_restored(struct start *st, struct start_ops *b, const struct rp__key *key, rp_error *err)
{
  if (!st->found || !st->row.last_seq || !st->any_previous) return 0;
  if (restored_body(st, &b->plain)) return rp__fail_nomem(err);
  struct rp__buf *text = &b->plain;
  if (key && rp__seal(key, &rp__system_random, rp__str(st->row.id), b->plain.p, b->plain.n, &b->sealed))
    return rp__fail_nomem(err);
  if (key) text = &b->sealed;
  b->event = (struct rp__new_event){.kind = "restored",
                                    .body = text->p,
                                    .body_len = text->n,
                                    .at_ms = st->now,
                                    .sealed = key != NULL,
                                    .engine = true};
  struct rp__op *op = add_op(st, b, RP_OP_APPEND);
  op->u.append.events = &b->event;
  op->u.append.n = 1;
  op->u.append.expect = -1;
  return 0;
}

static int build_ops(struct start *st, struct start_ops *b, rp_error *err)
{
  const struct rp__key *key;
  int rc = st->found ? 0 : fill_new(st, err);
  if (rc) return rc;
  add_end_of_previous(st, b);
  rc = add_seal(st, b, &key, err);
  if (rc) return rc;
  if (!st->found) {
    st->row.sealed = key != NULL;
    if (key && st->row.meta) {
      char *sealed = rp__meta_seal(key, st->row.id, st->row.meta);
      if (!sealed) return rp__fail_nomem(err);
      free(st->row.meta);
      st->row.meta = sealed;
    }
    add_op(st, b, RP_OP_SESSION_PUT)->u.session_put.row = &st->row;
  }
  fill_run(st, &b->run);
  b->lease = b->n;
  struct rp__op *op = add_op(st, b, RP_OP_LEASE);
  op->u.lease.expect_epoch = st->row.epoch;
  op->u.lease.run = &b->run;
  op->u.lease.move = !st->found ? RP_MOVE_MAX : st->o->key && !st->o->id ? RP_MOVE_RESUME_KEY : RP_MOVE_RESUME_ID;
  op->u.lease.count_start = true;
  if (!st->found && st->row.previous_id[0]) {
    op = add_op(st, b, RP_OP_SESSION_SET);
    op->session_ref = 0;
    op->session_id = st->row.previous_id;
    op->u.session_set.fields = RP_SET_CONTINUED_BY;
    op->u.session_set.continued_by = st->row.id;
  }
  return add_restored(st, b, key, err);
}

static int take_lease(struct start *st, rp_error *err)
{
  struct start_ops b = {.plain = RP_BUF(1024), .sealed = RP_BUF(2048)};
  int rc = 0;
  if (st->o->owner == RP_OWNER_SELF) rc = rp__slot_take(st->e, &st->slot, err);
  if (!rc) rc = build_ops(st, &b, err);
  if (!rc) rc = rp__engine_commit(st->e, b.ops, b.n, RP_DISK, err);
  if (!rc) {
    st->row.epoch = b.ops[b.lease].ret.epoch;
    st->starts = b.ops[b.lease].ret.starts;
  } else if (st->slot) {
    rp__slot_drop(st->e, st->slot);
  }
  rp__buf_done(&b.plain);
  rp__buf_done(&b.sealed);
  return rc;
}

/* ---- telling ---- */

static void write_warnings(const struct start *st, struct rp__jw *w)
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

static void write_restart(const struct start *st, struct rp__jw *w)
{
  rp__jw_key(w, "restart");
  rp__jw_object(w);
  rp__jw_kstr(w, "type", rp__restart_name(st->restart));
  rp__jw_kstr(w, "cause", st->any_previous ? rp__cause_name(st->cause) : NULL);
  rp__jw_kdouble(w, "elapsed_seconds", st->elapsed);
  rp__jw_end_object(w);
  rp__jw_key(w, "inherited");
  rp__jw_object(w);
  rp__jw_key(w, "sessions");
  rp__jw_array(w);
  rp__jw_end_array(w);
  rp__jw_ki64(w, "pins", 0);
  rp__jw_ki64(w, "tasks", 0);
  rp__jw_ki64(w, "memories", 0);
  rp__jw_end_object(w);
}

static char *start_document(struct start *st)
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
  write_restart(st, &w);
  rp__jw_key(&w, "brief");
  rp__jw_null(&w);
  rp__jw_end_object(&w);
  return rp__buf_take(&out);
}

/* Loads the state now, so that damage shows at the start. Restoration that fails still starts. */
static void load_state(struct start *st, rp_session *s)
{
  rp_error err = {0};
  struct rp__fold *f = NULL;
  pthread_mutex_lock(&s->lock);
  int rc = rp__state_use(s, &f, &st->warnings, &err);
  if (f) rp__state_release(s, f);
  pthread_mutex_unlock(&s->lock);
  atomic_fetch_add(rc ? &st->e->counters.restores_failed : &st->e->counters.restores_ok, 1);
  if (!rc) return;
  if (st->warnings.n) rp__buf_char(&st->warnings, '\n');
  rp__buf_printf(&st->warnings, "the state was not restored: %s", err.message);
}

/* The handle on what was leased, or on the run that the same owner has already. */
static int make_handle(struct start *st, rp_session **ret, rp_error *err)
{
  struct rp__session_row now = {0};
  struct rp__scope_row scope = {0};
  rp_session *s = NULL;
  int rc = st->e->store->ops->session_find(st->e->store, RP_FIND_ID, NULL, st->row.id, &now, err);
  if (rc) return rc;
  rp__session_row_done(&st->row);
  st->row = now; /* takes over meta */
  if (st->repeated) {
    rc = st->e->store->ops->scope_get(st->e->store, st->o->scope, &scope, err);
    st->starts = scope.starts;
    st->slot = st->current.owner == RP_RUN_LOCK ? st->current.slot : 0;
  }
  if (!rc) rc = rp__session_open(st->e, &st->row, st->row.epoch, &s, err);
  if (rc && st->slot && !st->repeated) rp__slot_drop(st->e, st->slot);
  if (rc) return rc;
  s->slot = st->slot;
  if (st->repeated && s->slot) rp__slot_share(st->e, s->slot);
  if (st->found && !st->repeated) load_state(st, s);
  s->start_json = start_document(st);
  if (!s->start_json) {
    rp_session_free(s);
    return rp__fail_nomem(err);
  }
  *ret = s;
  return 0;
}

static int try_start(struct start *st, rp_session **ret, rp_error *err)
{
  int rc = describe_owner(st, err);
  if (!rc) rc = rp__recover(st->e, st->o->scope, on_recovered, st, err);
  if (!rc) rc = find_target(st, err);
  if (!rc) rc = find_last(st, err);
  if (!rc) rc = find_repeated(st, err);
  if (!rc && st->found) rc = check_holder(st, err);
  if (!rc) rc = classify(st, err);
  if (!rc && !st->repeated) rc = take_lease(st, err);
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
    struct start st = {
        .e = e, .o = options, .now = rp__engine_now(e), .recovered = RP_BUF(RECOVERED_TEXT), .warnings = RP_BUF(65536)};
    st.recovered_w = RP_JW(&st.recovered);
    rp__jw_array(&st.recovered_w);
    rc = try_start(&st, ret, err);
    bool raced = !st.found && rc == RP_E_EXISTS && !options->id && options->mode != RP_MODE_SUCCESSOR;
    raced = raced || rc == RP_E_FENCED;
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
