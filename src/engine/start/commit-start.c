/* SPDX-License-Identifier: Apache-2.0 */
/* The ops that one start commits: the end of the previous run, the session, the lease, the event `restored`. */
#include "engine/capture/mirror.h"
#include "engine/capture/user-tables.h"
#include "engine/files.h"
#include "engine/start/start.h"
#include "engine/journal/open-streams.h"

#define RESTORED_MAX (4 * 1024 * 1024)

#define START_OPS 9
#define START_EVENTS 2

/* The ops of a start: end the run before, seal the scope, make or lease the session, age it, tell the audit log. */
struct start_ops {
  struct rp__op *ops;
  size_t n, put, lease; /* put: the session's own, when it is new */
  struct rp__run_row run;
  struct rp__scope_row scope;
  struct rp__last_words words; /* of the run before */
  size_t told;                 /* the place of their append */
  struct rp__new_event events[START_EVENTS];
  size_t n_events;
  struct rp__buf plain[START_EVENTS], sealed[START_EVENTS];
  struct rp__audit_note *notes;
  size_t n_notes;
};

static void start_ops_done(struct start_ops *b)
{
  for (size_t i = 0; i < START_EVENTS; i++) {
    rp__buf_done(&b->plain[i]);
    rp__buf_done(&b->sealed[i]);
  }
  for (size_t i = 0; i < b->n_notes; i++) rp__audit_done(&b->notes[i]);
  rp__last_words_done(&b->words);
  free(b->notes);
  free(b->ops);
}

static struct rp__op *add_op(struct rp__start *st, struct start_ops *b, enum rp__op_type type)
{
  struct rp__op *op = &b->ops[b->n++];
  *op = (struct rp__op){.type = type, .session_ref = st->row.ref, .session_id = st->row.id, .now_ms = st->now};
  return op;
}

static void add_end_of_previous(struct rp__start *st, struct start_ops *b)
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

/* The run that is taken over leaves its streams as they are: nobody else will say how they go on. */
static int add_last_words(struct rp__start *st, struct start_ops *b, rp_error *err)
{
  rp_session *s = NULL;
  int rc = 0;
  if (!st->found || !st->row.tails.n) return 0;
  if (st->view && st->view->view->told_number == st->row.tails.number) return 0; /* by its recovery */
  if (st->view && st->view->view->streams)
    rc = rp__last_words_make(st->view, &b->words, err);
  else if (!(rc = st->spoken ? rp__session_open_with(st->e, &st->row, st->key, 0, &s, err)
                             : rp__view_open(st->e, &st->row, st->key, &s, err))) {
    rc = rp__last_words_make(s, &b->words, err);
    rp__session_unref(s);
  }
  st->spoken = true; /* another attempt reads the streams as they are then */
  if (rc || !b->words.n) return rc;
  b->told = b->n;
  rp__last_words_append(&b->words, 0, add_op(st, b, RP_OP_APPEND));
  return 0;
}

/* An event of the engine's own, its body in the next of b->plain. */
static int add_event(struct rp__start *st, struct start_ops *b, const char *kind, rp_error *err)
{
  const struct rp__key *key = st->key;
  struct rp__buf *text = &b->plain[b->n_events];
  if (!text->n) return 0;
  if (key) {
    text = &b->sealed[b->n_events];
    *text = RP_BUF(RESTORED_MAX + RP_SEAL_OVERHEAD);
    if (rp__seal(key, &rp__system_random, rp__str(st->row.id), b->plain[b->n_events].p, b->plain[b->n_events].n, text))
      return rp__fail_nomem(err);
  }
  b->events[b->n_events++] = (struct rp__new_event){
      .kind = kind, .body = text->p, .body_len = text->n, .at_ms = st->now, .sealed = key != NULL, .engine = true};
  return 0;
}

static void warn_of_table(void *ctx, const char *option, const rp_error *why)
{
  rp__start_warn(ctx, option, why);
}

/* What the journal says about this start: nothing when there is nothing to say (a user's first event is seq 1). */
static int add_events(struct rp__start *st, struct start_ops *b, rp_error *err)
{
  bool goes_on = st->found && st->row.last_seq && st->facts.any_previous;
  b->plain[0] = RP_BUF(RESTORED_MAX);
  int rc = rp__user_tables_event(st->e, st->view, st->o->scope, warn_of_table, st, &b->plain[0], err);
  if (rc == 0) rc = add_event(st, b, "session", err);
  if (rc) return rc;
  struct rp__buf *out = &b->plain[b->n_events];
  *out = RP_BUF(RESTORED_MAX);
  if (goes_on || rp__restoration_any(&st->restoration)) {
    struct rp__jw w = RP_JW(out);
    rp__jw_pack(&w, "{type:s cause:s elapsed_seconds:d epoch:i", rp__restart_name(st->facts.restart),
                rp__cause_name(st->facts.cause), st->facts.elapsed, st->row.epoch + 1);
    if (!st->found) rp__restoration_write(&st->restoration, &w);
    rp__jw_end_object(&w);
    if (out->err) return rp__fail_nomem(err);
  }
  rc = add_event(st, b, "restored", err);
  if (rc || !b->n_events) return rc;
  struct rp__op *op = add_op(st, b, RP_OP_APPEND);
  op->u.append.events = b->events;
  op->u.append.n = b->n_events;
  op->u.append.expect = -1;
  return 0;
}

static int build_ops(struct rp__start *st, struct start_ops *b, rp_error *err)
{
  const struct rp__key *key = st->key;
  size_t audits = rp__restoration_audits(&st->restoration);
  b->ops = calloc(START_OPS + audits + 1, sizeof *b->ops);
  b->notes = calloc(audits + 1, sizeof *b->notes);
  if (!b->ops || !b->notes) return rp__fail_nomem(err);
  add_end_of_previous(st, b);
  if (key) {
    b->scope.sealed = true;
    memcpy(b->scope.key_id, key->id, sizeof b->scope.key_id);
    struct rp__op *seal = add_op(st, b, RP_OP_SCOPE_SET);
    seal->u.scope_set.scope = st->o->scope;
    seal->u.scope_set.row = &b->scope;
  }
  if (!st->found) {
    st->row.sealed = key != NULL;
    if (key && st->row.meta) {
      char *sealed = rp__meta_seal(key, st->row.id, st->row.meta);
      if (!sealed) return rp__fail_nomem(err);
      free(st->row.meta);
      st->row.meta = sealed;
    }
    b->put = b->n;
    add_op(st, b, RP_OP_SESSION_PUT)->u.session_put.row = &st->row;
  }
  static const enum rp__owner owners[] = {
      [RP_OWNER_SELF] = RP_RUN_LOCK, [RP_OWNER_PID] = RP_RUN_PID, [RP_OWNER_NONE] = RP_RUN_NONE};
  b->run = (struct rp__run_row){
      .owner = owners[st->o->owner],
      .slot = st->slot,
      .proc = st->owner,
      .started_at = st->now,
      .heartbeat_at = st->now,
      .heartbeat_boot = rp__boot(&st->e->clock),
      .restart = st->facts.restart,
      .previous_cause = st->facts.any_previous ? st->facts.cause : RP_CAUSE_NONE,
      .elapsed = st->facts.elapsed,
  };
  if (st->o->owner == RP_OWNER_NONE) memcpy(b->run.proc.boot_id, st->e->self.boot_id, sizeof b->run.proc.boot_id);
  memcpy(b->run.host, st->e->host, sizeof b->run.host);
  snprintf(b->run.version, sizeof b->run.version, "%s", RP_VERSION);
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
  if (st->o->request) {
    memcpy(st->request.session_id, st->row.id, sizeof st->request.session_id);
    st->request.epoch = st->row.epoch + 1;
    st->request.born = st->row.created_at;
    add_op(st, b, RP_OP_REQUEST_PUT)->u.request.row = &st->request;
  }
  int rc = add_last_words(st, b, err);
  if (!rc) rc = add_events(st, b, err);
  for (size_t i = 0; !rc && i < audits; i++)
    rc = rp__restoration_audit(&st->restoration, st->row.id, st->row.id, i, &b->notes[b->n_notes++], &b->ops[b->n++],
                               err);
  if (!rc && st->found)
    rc = rp__resume_audit(st->e, st->o->scope, key, st->row.id, st->facts.elapsed, &b->notes[b->n_notes++],
                          &b->ops[b->n++], err);
  return rc;
}

/* the file of the session before says who follows it, as its row does. Never the truth, so a failure is logged.
 */
static void mirror_previous(struct rp__start *st)
{
  struct rp__record_row own RP_CLEANUP(rp__record_row_done) = {0};
  RP_AUTOFREE char *folder = NULL;
  rp_error why = {0};
  if (st->found || !st->previous.ref || st->key || st->previous.continued_by[0]) return; /* another was first */
  int rc = rp__files_mirror(st->e, st->o->scope, &folder, &why);
  if (!rc && !folder) return;
  struct rp__record_row *record = rp__restoration_record(&st->restoration, st->previous.ref);
  if (!rc && !record) rc = st->e->store->ops->record_get(st->e->store, st->previous.ref, record = &own, &why);
  if (!rc && !record->archived) {
    memcpy(record->continued_by, st->row.id, sizeof record->continued_by);
    rc = rp__mirror_record(st->e, record, &why);
  }
  if (rc && rc != RP_E_RECORD_NOT_FOUND)
    rp__log(&st->e->log, RP_LOG_WARN, "mirror of session %s: %s", st->row.previous_id, why.message);
}

int rp__start_lease(struct rp__start *st, rp_error *err)
{
  bool again = true;
  int rc = 0;
  st->leasing = true;
  if (st->o->owner == RP_OWNER_SELF) rc = rp__slot_take(st->e, &st->slot, err);
  if (rc) return rc;
  for (int i = 0; again && i < RP_LAST_WORDS_TRIES; i++) {
    struct start_ops b RP_CLEANUP(start_ops_done) = {0};
    rc = build_ops(st, &b, err);
    if (!rc) rc = rp__engine_commit(st->e, b.ops, b.n, RP_DISK, err);
    again = rc == RP_E_SEQ_CONFLICT && b.words.n && b.ops[b.told].ret.unheard; /* the run before has spoken meanwhile */
    if (rc) continue;
    /* The row as this lease left it. Read again it may be another's already, who must not share its epoch with us. */
    if (!st->found) st->row.ref = b.ops[b.put].ret.ref;
    st->row.epoch = b.ops[b.lease].ret.epoch;
    st->row.status = b.ops[b.lease].ret.status;
    st->starts = b.ops[b.lease].ret.starts;
  }
  if (!rc)
    mirror_previous(st);
  else if (st->slot)
    rp__slot_drop(st->e, st->slot);
  return rc;
}
