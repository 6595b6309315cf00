/* SPDX-License-Identifier: Apache-2.0 */
/* Which session a start means, and whether somebody holds it. */
#include "engine/copy.h"
#include "engine/redaction.h"
#include "engine/start.h"

static int not_found(rp_engine *e, const rp_start_options *o, rp_error *err)
{
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "there is no %ssession with the %s '%s' to resume", o->id ? "" : "open ",
                  o->id ? "id" : "key", rp__redaction_shown(e, o->scope, o->id ? o->id : o->key));
}

/* The session that id or key name, if it may be resumed. */
static int find_target(struct rp__start *st, rp_error *err)
{
  const rp_start_options *o = st->o;
  const struct rp__store_ops *ops = st->e->store->ops;
  int rc = RP_E_SESSION_NOT_FOUND;
  if (o->id)
    rc = ops->session_find(st->e->store, RP_FIND_ID, NULL, o->id, &st->row, err);
  else if (o->key)
    rc = ops->session_find(st->e->store, RP_FIND_KEY, o->scope, o->key, &st->row, err);
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
  if (st->found && !o->id && rp__status_ended(st->row.status)) {
    rp__session_row_done(&st->row);
    st->row = (struct rp__session_row){0};
    st->found = false;
  }
  if (!st->found && o->mode == RP_MODE_RESUME && (o->id || o->key)) return not_found(st->e, o, err);
  return 0;
}

/* `resume` without id or key: the scope's last session. */
static int find_last(struct rp__start *st, rp_error *err)
{
  if (st->found || st->o->mode != RP_MODE_RESUME || st->o->id || st->o->key) return 0;
  int rc = st->e->store->ops->session_find(st->e->store, RP_FIND_LAST, st->o->scope, NULL, &st->row, err);
  st->found = rc == 0;
  return rc;
}

static bool same_owner(struct rp__start *st, const struct rp__run_row *run)
{
  if (st->o->owner == RP_OWNER_SELF) return run->owner == RP_RUN_LOCK && rp__slot_is_ours(st->e, run->slot);
  if (st->o->owner != RP_OWNER_PID || run->owner != RP_RUN_PID) return false;
  return run->proc.pid == st->owner.pid && run->proc.start == st->owner.start && run->proc.ns == st->owner.ns &&
         strcmp(run->proc.boot_id, st->owner.boot_id) == 0;
}

/* Looking for the same named owner's run in the scope: a start without id or key by the same process is that run. */
struct owner_search {
  struct rp__start *st;
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

static int find_repeated(struct rp__start *st, rp_error *err)
{
  if (st->found || st->o->owner != RP_OWNER_PID || st->o->key || st->o->id || st->o->mode != RP_MODE_AUTO) return 0;
  struct owner_search x = {.st = st};
  struct rp__beats all = {.boot_id = st->e->self.boot_id, .after = -1, .upto = INT64_MAX}; /* those without an owner */
  struct rp__run_filter f = {.scope = st->o->scope, .open_only = true, .leave_out = &all};
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

static int held_error(struct rp__start *st, rp_error *err)
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
static int check_holder(struct rp__start *st, rp_error *err)
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
static int describe_owner(struct rp__start *st, rp_error *err)
{
  if (st->o->owner == RP_OWNER_SELF) st->owner = st->e->self;
  if (st->o->owner != RP_OWNER_PID) return 0;
  int rc = rp__proc_describe(st->o->owner_pid, &st->owner, err);
  return rc ? rp__wrap(err, "owner %lld", (long long)st->o->owner_pid) : 0;
}

int rp__start_find(struct rp__start *st, rp_error *err)
{
  int rc = describe_owner(st, err);
  if (!rc) rc = find_target(st, err);
  if (!rc) rc = find_last(st, err);
  if (!rc) rc = find_repeated(st, err);
  return !rc && st->found ? check_holder(st, err) : rc;
}
