/* SPDX-License-Identifier: Apache-2.0 */
/* A run's signs of life: heartbeat, save, and going idle. The first two may be called at 50 Hz (N-01, N-19). */
#include "engine/capture/mirror.h"

/* Claims the turn when one is due: no syscall, no lock, one winner among threads. */
static bool claim(atomic_llong *next, const rp_session *s, int64_t interval_ms)
{
  long long due = atomic_load_explicit(next, memory_order_relaxed);
  int64_t now = rp__engine_ticks(s->e);
  if (due > now && due - now <= interval_ms) return false; /* further off than that: the clock was set back */
  return atomic_compare_exchange_strong(next, &due, now + interval_ms);
}

struct beat {
  struct rp__commit commit; /* first: the queue hands this back */
  struct rp__op op;
  rp_session *s;
};

static void beat_settle(rp_session *s, int rc, const rp_error *err)
{
  struct rp__counters *k = &s->e->counters;
  atomic_fetch_add(rc ? &k->heartbeats_failed : &k->heartbeats_ok, 1);
  if (rc == RP_E_FENCED) atomic_store(&s->fenced, true);
  if (!rc && s->live_mirror) atomic_store(&s->mirror_due, true); /* the keeper's work, not the queue's */
  if (rc) rp__log(&s->e->log, RP_LOG_DEBUG, "heartbeat of session %s: %s", s->id, err->message);
}

static void beat_done(struct rp__commit *c)
{
  struct beat *b = (struct beat *)c;
  beat_settle(b->s, c->txn.rc, &c->txn.err);
  rp__session_unref(b->s);
  free(b);
}

static struct rp__op beat_op(const rp_session *s)
{
  return (struct rp__op){
      .type = RP_OP_HEARTBEAT, RP__OP_OF(s->e, s), .epoch = s->epoch, .u.heartbeat.boot_ms = rp__boot(&s->e->clock)};
}

static void beat_post(rp_session *s)
{
  struct beat *b = calloc(1, sizeof *b);
  rp_error full = {.code = RP_E_LIMIT, .message = "not queued"};
  if (!b) {
    beat_settle(s, RP_E_NOMEM, &full);
    return;
  }
  b->op = beat_op(s);
  b->s = s;
  b->commit.txn = (struct rp__txn){.ops = &b->op, .n = 1, .durability = RP_OS};
  b->commit.bytes = sizeof *b;
  b->commit.done = beat_done;
  rp__session_ref(s);
  int rc = rp__commit_post(&s->e->queue, &b->commit);
  if (!rc) return;
  beat_settle(s, rc, &full);
  rp__session_unref(s);
  free(b);
}

static int fenced(const rp_session *s, rp_error *err)
{
  return rp__fail(err, RP_E_FENCED, "a newer run holds session %s", s->id);
}

int rp_heartbeat(rp_session *s, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (atomic_load_explicit(&s->fenced, memory_order_relaxed)) return fenced(s, err);
  if (!claim(&s->next_heartbeat, s, s->config->heartbeat_ms)) return 0;
  if (!s->e->short_lived) {
    beat_post(s);
    return 0;
  }
  rp_error why = {0};
  struct rp__op op = beat_op(s);
  rc = rp__engine_commit(s->e, &op, 1, RP_OS, &why);
  beat_settle(s, rc, &why);
  /* A command has nobody who saves for it: each heartbeat that is written writes the mirror anew (N-01). */
  if (!rc && atomic_exchange(&s->mirror_due, false)) rp__session_mirror(s, false);
  if (rc && err) *err = why;
  return rc;
}

int rp_save(rp_session *s, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (atomic_load_explicit(&s->fenced, memory_order_relaxed)) return fenced(s, err);
  if (!claim(&s->next_save, s, s->config->save_ms)) return 0;
  if (s->e->short_lived) {
    rp__checkpoint_run(s, RP_DUE_INTERVAL);
  } else if (!atomic_exchange(&s->checkpoint_due, RP_DUE_INTERVAL)) {
    rp__keeper_due(s);
  }
  return 0;
}

int rp__session_rest(rp_session *s, int64_t ticks, rp_error *err)
{
  struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
  long long at = atomic_load(&s->quiet_at), next = 0;
  struct rp__run_row run = {0};
  struct rp__evidence evidence;
  struct rp__verdict holder = {0};
  if (!at || ticks < at || atomic_load(&s->ended) || atomic_load(&s->fenced)) return 0;
  int rc = rp__session_row(s, &row, err);
  if (rc) return rc == RP_E_SESSION_NOT_FOUND ? 0 : rc;
  int64_t left = row.last_activity_at + s->config->idle_ms - rp__engine_now(s->e); /* others may have written */
  bool rests = row.status == RP_STATUS_IDLE || row.status == RP_STATUS_CHECKPOINTED || rp__status_ended(row.status);
  if (!rests && left > 0) next = ticks + left;
  /* A process that lives and holds the session marks it itself. */
  if (!rests && !next && !s->epoch) rc = rp__run_newest(s->e, s->ref, false, &run, err);
  if (!rc && run.ref && !run.ended_at && run.owner == RP_RUN_LOCK)
    rp__run_judge(s->e, &run, row.last_activity_at, &evidence, &holder);
  if (holder.alive) next = ticks + s->config->idle_ms;
  bool marks = !rc && !rests && !next;
  struct rp__op op = {
      .type = RP_OP_SESSION_SET,
      RP__OP_OF(s->e, s),
      .epoch = row.epoch,
      .u.session_set = {.fields = RP_SET_MOVE, .move = RP_MOVE_QUIET, .quiet_since = row.last_activity_at}};
  if (marks) rc = rp__engine_commit(s->e, &op, 1, RP_OS, err);
  if (rc == RP_E_FENCED || rc == RP_E_TRANSITION || rc == RP_E_ENDED) return 0; /* somebody came: see the next time */
  if (!rc) atomic_compare_exchange_strong(&s->quiet_at, &at, next);
  return rc ? rc : marks;
}

void rp__session_mirror(rp_session *s, bool clean)
{
  if (s->live_mirror) rp__mirror_live_log(s, clean);
}

bool rp__session_mirror_beat(rp_session *s)
{
  bool due = atomic_exchange(&s->mirror_due, false) && !atomic_load(&s->ended);
  if (due) rp__mirror_heartbeat(s);
  return due;
}
