/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the session that a start means, and whether a living owner holds it. */
#include "engine/journal/idempotency.h"
#include "engine/journal/stream-redaction.h"
#include "engine/transfer/copy.h"
#include "engine/keep/redact-session.h"
#include "engine/start/start.h"

static bool same_owner(const struct rp__start *st, const struct rp__run_row *run)
{
  if (st->o->owner == RP_OWNER_SELF) return run->owner == RP_RUN_LOCK && rp__slot_is_ours(st->e, run->slot);
  if (st->o->owner != RP_OWNER_PID || run->owner != RP_RUN_PID || st->owner_rc) return false;
  return run->proc.pid == st->owner.pid && run->proc.start == st->owner.start && run->proc.ns == st->owner.ns &&
         strcmp(run->proc.boot_id, st->owner.boot_id) == 0;
}

/* ---- the first read ---- */

/* A start without id or key by a process that has a run in the scope is that run. */
static void on_open_run(void *ctx, const struct rp__run_row *run)
{
  struct rp__start *st = ctx;
  bool wanted = st->o->owner == RP_OWNER_PID && !st->o->key && !st->o->id && st->o->mode == RP_MODE_AUTO;
  if (!wanted || st->owned.ref || !same_owner(st, run)) return;
  st->owned = *run->session;
  st->owned.meta = NULL;
}

int rp__start_look(struct rp__start *st, bool *ret_again, rp_error *err)
{
  const rp_start_options *o = st->o;
  char hashed[RP_IDEMPOTENCY_HASHED];
  struct rp__read reads[3];
  size_t n = 0;
  int rc = o->request ? rp__request_check_key(o->request->key ? o->request->key : "", err) : 0;
  if (rc) return rc;
  if (o->owner == RP_OWNER_SELF) st->owner = st->e->self;
  if (o->owner == RP_OWNER_PID) st->owner_rc = rp__proc_describe(o->owner_pid, &st->owner, &st->owner_err);
  st->open = (struct rp__open_runs){.e = st->e, .on_run = on_open_run, .ctx = st};
  reads[n++] = (struct rp__read){.type = RP_READ_SCOPE, .u.scope = {o->scope, &st->scope}};
  reads[n++] = rp__open_runs_reading(&st->open, o->scope);
  if (o->request)
    reads[n++] = (struct rp__read){.type = RP_READ_REQUEST,
                                   .u.request = {.scope = o->scope,
                                                 .key = rp__redaction_key(st->e, o->scope, o->request->key, hashed),
                                                 .ret = &st->request,
                                                 .ret_found = ret_again}};
  rc = rp__engine_read(st->e, reads, n, err);
  if (!rc) rc = rp__scope_key_of(st->e, o->scope, &st->scope, &st->key, err);
  if (rc || !o->request) return rc;
  return rp__request_match(st->e, o->scope, st->key, "start", "", 0, o->request, *ret_again, &st->request, err);
}

/* ---- the session ---- */

/* The session that id or key name, if it may be resumed; without both, `resume` means the scope's last. */
static int find_target(struct rp__start *st, rp_error *err)
{
  const rp_start_options *o = st->o;
  const struct rp__store_ops *ops = st->e->store->ops;
  int rc = RP_E_SESSION_NOT_FOUND;
  if (o->id)
    rc = ops->session_find(st->e->store, RP_FIND_ID, NULL, o->id, &st->row, err);
  else if (o->key)
    rc = ops->session_find(st->e->store, RP_FIND_KEY, o->scope, o->key, &st->row, err);
  else if (o->mode == RP_MODE_RESUME &&
           (rc = ops->session_find(st->e->store, RP_FIND_LAST, o->scope, NULL, &st->row, err)))
    return rc;
  if (rc == RP_E_SESSION_NOT_FOUND && o->id && (rc = rp__copy_clear(st->e, o->id, err)) == 0)
    rc = RP_E_SESSION_NOT_FOUND;
  if (rc && rc != RP_E_SESSION_NOT_FOUND) return rc;
  st->found = rc == 0;
  if (st->found && o->id && strcmp(st->row.scope, o->scope) != 0)
    return rp__fail_field(err, RP_E_EXISTS, "scope", "session %s belongs to scope '%s'", o->id, st->row.scope);
  if (st->found && st->row.trashed_at) {
    rp__fail(err, RP_E_EXISTS, "session %s is in the trash", st->row.id);
    rp__hint(err, "'reprise untrash %s' takes it out", st->row.id);
    return RP_E_EXISTS;
  }
  if (st->found && o->id && o->mode == RP_MODE_SUCCESSOR)
    return rp__fail_field(err, RP_E_EXISTS, "id", "session %s exists already", o->id);
  if (st->found && o->mode == RP_MODE_SUCCESSOR && !rp__status_ended(st->row.status)) {
    rp__fail_field(err, RP_E_EXISTS, "key", "session %s is open and has the key '%s'", st->row.id, o->key);
    rp__hint(err, "end it first, or start without --mode successor to resume it");
    return RP_E_EXISTS;
  }
  /* Ended ones come back by their own id only (L-05). */
  if (st->found && o->key && !o->id && rp__status_ended(st->row.status)) {
    rp__session_row_done(&st->row);
    st->row = (struct rp__session_row){0};
    st->found = false;
  }
  if (!st->found && o->mode == RP_MODE_RESUME && (o->id || o->key))
    return rp__fail(err, RP_E_SESSION_NOT_FOUND, "there is no %ssession with the %s '%s' to resume",
                    o->id ? "" : "open ", o->id ? "id" : "key",
                    rp__redaction_shown(st->e, o->scope, o->id ? o->id : o->key));
  if (!st->found && st->owned.ref) {
    st->row = st->owned;
    st->found = true;
  }
  return 0;
}

/* ---- its runs ---- */

struct runs {
  struct rp__run_row rows[RP_RUNS_LOOKED_AT];
  size_t n;
};

static int on_run(void *ctx, const struct rp__run_row *run)
{
  struct runs *l = ctx;
  l->rows[l->n++] = *run;
  return 0;
}

/* Whether the target is held, and by whom; and how the run before this start ended. */
static int read_runs(struct rp__start *st, rp_error *err)
{
  struct runs *l RP_AUTOFREE = calloc(1, sizeof *l);
  struct rp__run_filter f = {.session_ref = st->row.ref, .limit = RP_RUNS_LOOKED_AT};
  struct rp__restart_search before = {.e = st->e, .of_session = true, .last_activity = st->row.last_activity_at};
  struct rp__evidence v;
  struct rp__verdict verdict = {0};
  if (!l) return rp__fail_nomem(err);
  int rc = st->e->store->ops->run_list(st->e->store, &f, on_run, l, err);
  if (rc) return rc;
  for (size_t i = 0; i < l->n && !st->held; i++) {
    st->held = !l->rows[i].ended_at;
    if (st->held) st->current = l->rows[i];
  }
  if (st->held) rp__run_judge(st->e, &st->current, st->row.last_activity_at, &v, &verdict);
  st->repeated = verdict.alive && same_owner(st, &st->current);
  if (verdict.alive && !st->repeated && st->current.owner != RP_RUN_NONE && !st->o->force) {
    const struct rp__run_row *run = &st->current;
    char at[RP_TIME_TEXT];
    rp__fail(err, RP_E_HELD, "session %s is held by process %lld on %s (epoch %lld, last heartbeat %s)", st->row.id,
             (long long)run->proc.pid, run->host, (long long)run->epoch,
             rp__time_format(RP_MAX(run->heartbeat_at, run->started_at), at));
    rp__hint(err, "wait for it to end, or take over with --force, which fences it");
    return RP_E_HELD;
  }
  if (st->repeated) before.skip = st->current.ref;
  for (size_t i = 0; i < l->n; i++) rp__restart_on_run(&before, &l->rows[i]);
  rp__restart_classified(&before, st->o->scope, &st->facts);
  return 0;
}

/* ---- a new session ---- */

static void copy_name(char *out, const char *in)
{
  if (in) snprintf(out, RP_NAME, "%s", in);
}

static int make_row(struct rp__start *st, rp_error *err)
{
  const rp_start_options *o = st->o;
  struct rp__session_row *row = &st->row;
  const struct {
    const char *field, *name;
  } names[] = {{"scope", o->scope}, {"key", o->key}, {"id", o->id}, {"channel", o->channel}, {"provider", o->provider}};
  int rc = 0;
  *row = (struct rp__session_row){.status = RP_STATUS_CREATED, .created_at = st->now, .last_activity_at = st->now};
  /* Only what is new is refused: a session that was called so before is still found by that name. */
  for (size_t i = 0; i < RP_ARRAY_SIZE(names) && !rc; i++)
    rc = rp__redaction_check_name(st->e, o->scope, names[i].field, names[i].name, err);
  if (rc) return rc;
  if (o->id)
    copy_name(row->id, o->id);
  else
    rp__uuid7(row->id, st->now, &rp__system_random);
  copy_name(row->scope, o->scope);
  copy_name(row->key, o->key);
  copy_name(row->channel, o->channel ? o->channel : "cli");
  copy_name(row->provider, o->provider);
  memcpy(row->previous_id, st->previous.id, sizeof row->previous_id);
  if (!o->meta) return 0;
  /* What is stored is masked, here as everywhere. */
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * RP_META_MAX);
  struct rp__str meta;
  struct rp__json given = rp__json_trusted(o->meta, strlen(o->meta));
  rc = rp__engine_mask(st->e, o->scope, RP_KIND_SESSION, given, &masked, &meta);
  if (rc || !(row->meta = strndup(meta.p, meta.n))) return rp__fail_nomem(err);
  return 0;
}

int rp__start_find(struct rp__start *st, rp_error *err)
{
  if (st->owner_rc) {
    *err = st->owner_err;
    return rp__wrap(err, "owner %lld", (long long)st->o->owner_pid);
  }
  int rc = find_target(st, err);
  if (!rc && st->found) return read_runs(st, err);
  /* What a new session comes from: the session and the run before it, and the sessions that go on. */
  if (!rc) {
    const rp_start_options *o = st->o;
    const char *channel = rp__channel_of(st->e, o->scope, o->channel);
    struct rp__restart_search before = {.e = st->e};
    st->living = (struct rp__living){.channel = channel, .since_ms = rp__restoration_since(st->e, o->scope, st->now)};
    struct rp__read reads[] = {
        rp__restart_reading(&before, o->scope, o->channel),
        rp__living_reading(&st->living, o->scope),
        {.type = RP_READ_SESSION, .u.session = {RP_FIND_LAST, o->scope, channel, &st->previous}},
    };
    bool restores = rp__config_of(st->e->config, o->scope)->enabled;
    if (!restores) reads[1] = reads[2]; /* nobody asks who goes on */
    size_t n = RP_ARRAY_SIZE(reads) - !restores;
    rc = st->e->store->ops->read(st->e->store, reads, n, err);
    for (size_t i = 0; !rc && i < n; i++) {
      if (reads[i].rc == RP_E_SESSION_NOT_FOUND) continue; /* nothing was before it */
      rc = reads[i].rc;
      if (rc && err) *err = reads[i].err;
    }
    if (!rc) rp__restart_classified(&before, o->scope, &st->facts);
  }
  return rc ? rc : make_row(st, err);
}
