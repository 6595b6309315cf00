/* SPDX-License-Identifier: Apache-2.0 */
/* Ops on a session's own rows: make, change, delete. The head of a session is the part that appends write. */
#include "store/sqlite/sqlite.h"

#include "base/clock.h"

int rp__sq_session_read(struct rp__sq_q *q, struct rp__session_row *ret, rp_error *err)
{
  memset(ret, 0, sizeof *ret);
  rp__sq_head_read(q, ret);
  rp__sq_col_str(q, 11, ret->id, sizeof ret->id);
  rp__sq_col_str(q, 12, ret->scope, sizeof ret->scope);
  rp__sq_col_str(q, 13, ret->key, sizeof ret->key);
  rp__sq_col_str(q, 14, ret->channel, sizeof ret->channel);
  rp__sq_col_str(q, 15, ret->provider, sizeof ret->provider);
  ret->created_at = rp__sq_col_time(q, 16);
  rp__sq_col_str(q, 17, ret->previous_id, sizeof ret->previous_id);
  rp__sq_col_str(q, 18, ret->continued_by, sizeof ret->continued_by);
  rp__sq_col_str(q, 19, ret->forked_from, sizeof ret->forked_from);
  ret->forked_at_seq = rp__sq_col_count(q, 20);
  ret->crash_recovered = rp__sq_col_int(q, 21) != 0;
  ret->sealed = rp__sq_col_int(q, 22) != 0;
  ret->hidden = rp__sq_col_int(q, 23) != 0;
  rp__rule_status_read(ret);
  ret->trashed_at = rp__sq_col_time(q, 24);
  ret->held_at = rp__sq_col_time(q, 25);
  rp__sq_col_str(q, 27, ret->name, sizeof ret->name);
  struct rp__str meta = rp__sq_col_bytes(q, 26);
  if (meta.n > 0 && !(ret->meta = strndup(meta.p, meta.n))) return rp__fail_nomem(err);
  return 0;
}

int rp__sq_head_write(struct rp__sq_conn *c, const struct rp__session_row *row, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_SET);
  RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_I(row->status), RP_SQ_I(row->epoch), RP_SQ_I(row->last_seq),
             RP_SQ_I(row->snap_seq), RP_SQ_I(row->tail_bytes), RP_SQ_I(row->bytes), RP_SQ_I(row->last_activity_at),
             RP_SQ_I(row->ended_at));
  unsigned char tails[RP_TAILS_BYTES];
  rp__sq_bytes(&q, 10, tails, rp__tails_write(&row->tails, tails));
  return rp__sq_done(&q, "write session", err);
}

static int session_exists(struct rp__sq_conn *c, const char *id, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_BY_ID);
  rp__sq_text(&q, 1, id);
  int rc = rp__sq_next(&q, "read session", err);
  return rc > 0 ? rp__fail(err, RP_E_EXISTS, "there is a session %s already", id) : rc;
}

/* An open session with the same key: two starts raced, and the other was first. */
static int key_is_free(struct rp__sq_conn *c, const struct rp__session_row *row, rp_error *err)
{
  if (!row->key[0] || rp__row_is_out(row)) return 0;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_BY_KEY_IN);
  RP_SQ_BIND(&q, RP_SQ_T(row->key), RP_SQ_T(row->scope));
  int rc = rp__sq_next(&q, "read session", err);
  if (rc <= 0) return rc;
  struct rp__session_row head;
  rp__sq_head_read(&q, &head); /* open ones come first */
  return rp__status_ended(head.status) ? 0 : rp__refuse_key(row, err);
}

/* The next value of a counter in rp_meta or of a scope's starts. */
static int counted(struct rp__sq_conn *c, enum rp__sq_id id, const char *name, int64_t *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, id);
  rp__sq_text(&q, 1, name);
  int rc = rp__sq_next(&q, "count", err);
  if (rc < 0) return rc;
  *ret = rp__sq_col_int(&q, 0);
  return rp__sq_done(&q, "count", err);
}

static int head_put(struct rp__sq_conn *c, int64_t ref, const struct rp__session_row *row, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_HEAD_PUT);
  RP_SQ_BIND(&q, RP_SQ_I(ref), RP_SQ_I(row->status), RP_SQ_I(row->epoch), RP_SQ_I(row->last_activity_at),
             RP_SQ_I(row->ended_at), RP_SQ_I(rp__sq_tag(row->id)));
  return rp__sq_done(&q, "write session", err);
}

int rp__sq_session_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__session_row *row = op->u.session_put.row;
  int64_t ref = 0;
  int rc = session_exists(c, row->id, err);
  if (rc == 0) rc = key_is_free(c, row, err);
  /* Numbers are never given twice, so that a stale reference can't name another session. */
  if (rc == 0) rc = counted(c, RP_SQ_SESSION_COUNT, "last_session", &ref, err);
  if (rc == 0) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_PUT);
    RP_SQ_BIND(&q, RP_SQ_I(ref), RP_SQ_T(row->id), RP_SQ_T(row->scope), RP_SQ_T(row->key), RP_SQ_T(row->channel),
               RP_SQ_T(row->provider), RP_SQ_I(row->created_at), RP_SQ_T(row->previous_id), RP_SQ_T(row->continued_by),
               RP_SQ_T(row->forked_from), RP_SQ_I(row->forked_at_seq), RP_SQ_I(row->crash_recovered),
               RP_SQ_I(row->sealed), RP_SQ_I(row->hidden), RP_SQ_T(row->meta), RP_SQ_I(row->trashed_at),
               RP_SQ_I(row->held_at), RP_SQ_T(row->name));
    rc = rp__sq_done(&q, "write session", err);
  }
  if (rc == 0) rc = head_put(c, ref, row, err);
  if (rc == 0 && op->u.session_put.count_start) rc = counted(c, RP_SQ_SCOPE_START, row->scope, &op->ret.starts, err);
  if (rc == 0) op->ret.ref = ref;
  return rc;
}

int rp__sq_session_get(struct rp__sq_conn *c, int64_t ref, struct rp__session_row *ret, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_BY_REF);
  rp__sq_int(&q, 1, ref);
  int rc = rp__sq_next(&q, "read session", err);
  if (rc == 0) return rp__refuse_not_found("", err);
  return rc < 0 ? rc : rp__sq_session_read(&q, ret, err);
}

/* The epoch is not counted, unless it is none: the next one must be higher than any that was given. */
static int counters_compute(struct rp__sq_conn *c, struct rp__session_row *row, rp_error *err)
{
  int rc = rp__sq_number(c, RP_SQ_SNAPSHOT_NEWEST, &row->ref, 0, &row->snap_seq, err);
  if (rc == 0 && row->epoch >= RP_SEQ_MAX) rc = rp__sq_number(c, RP_SQ_RUN_EPOCH, &row->ref, 0, &row->epoch, err);
  for (int tail = 0; rc == 0 && tail < 2; tail++) {
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_BYTES);
    RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_I(tail ? row->snap_seq : 0));
    rc = rp__sq_next(&q, "count events", err);
    if (rc < 0) return rc;
    if (!tail) row->last_seq = rp__sq_col_count(&q, 0);
    *(tail ? &row->tail_bytes : &row->bytes) = rp__sq_col_count(&q, 1);
    rc = 0;
  }
  return rc;
}

int rp__sq_head_restore(struct rp__sq_conn *c, int64_t ref, const char *id, rp_error *err)
{
  struct rp__session_row row = {.ref = ref, .status = RP_STATUS_ACTIVE, .last_activity_at = rp__wall(&c->store->clock)};
  rp__name_set(row.id, id);
  int rc = rp__sq_number(c, RP_SQ_RUN_EPOCH, &ref, 0, &row.epoch, err);
  if (rc == 0) rc = head_put(c, ref, &row, err);
  if (rc == 0) rc = counters_compute(c, &row, err);
  return rc ? rc : rp__sq_head_write(c, &row, err);
}

static int session_update(struct rp__sq_conn *c, const struct rp__session_row *row, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_SET);
  RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_I(row->created_at), RP_SQ_T(row->continued_by), RP_SQ_I(row->crash_recovered),
             RP_SQ_I(row->hidden), RP_SQ_T(row->meta), RP_SQ_I(row->trashed_at), RP_SQ_I(row->held_at),
             RP_SQ_T(row->name));
  int rc = rp__sq_done(&q, "write session", err);
  return rc ? rc : rp__sq_head_write(c, row, err);
}

int rp__sq_session_set(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  RP_CLEANUP(rp__session_row_done) struct rp__session_row row = {0};
  unsigned fields = op->u.session_set.fields;
  int rc = rp__sq_head(c, op, &row, err);
  enum rp__status stored = row.status;
  if (rc == 0) rc = rp__sq_session_get(c, row.ref, &row, err);
  bool trashed = row.trashed_at != 0;
  if (rc == 0) rc = rp__rule_session_set(op, &row, err);
  if (rc == 0 && trashed && !rp__status_ended(row.status)) rc = key_is_free(c, &row, err);
  if (rc == 0 && (fields & RP_SET_COUNTERS)) rc = counters_compute(c, &row, err);
  if (row.damaged && !(fields & RP_SET_COUNTERS)) row.status = stored; /* it is damaged until it is repaired */
  if (rc == 0) rc = session_update(c, &row, err);
  if (rc == 0) rc = rp__sq_record_follow(c, &row, fields, err);
  if (rc == 0) op->ret.epoch = row.epoch;
  return rc;
}

int rp__sq_scope_set(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__scope_row *row = op->u.scope_set.row;
  struct rp__scope_row now;
  int rc = rp__sq_scope_read(c, op->u.scope_set.scope, &now, err);
  if (rc == 0) rc = rp__rule_scope_set(op, &now, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SCOPE_SET);
  RP_SQ_BIND(&q, RP_SQ_T(op->u.scope_set.scope), RP_SQ_I(row->sealed), RP_SQ_B(row->key_id, sizeof row->key_id));
  return rp__sq_done(&q, "write scope", err);
}

int rp__sq_scope_raise(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  const struct rp__scope_row *row = op->u.scope_set.row;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SCOPE_RAISE);
  RP_SQ_BIND(&q, RP_SQ_T(op->u.scope_set.scope), RP_SQ_I(row->starts), RP_SQ_I(row->robot));
  return rp__sq_done(&q, "write scope", err);
}

int rp__sq_run_by_ref(struct rp__sq_conn *c, const enum rp__sq_id *ids, size_t n, int64_t ref, const char *doing,
                      rp_error *err)
{
  int rc = 0;
  for (size_t i = 0; rc == 0 && i < n; i++) {
    RP_SQ_AUTO q = rp__sq_query(c, ids[i]);
    rp__sq_int(&q, 1, ref);
    rc = rp__sq_done(&q, doing, err);
  }
  return rc;
}

/* Takes the session's events out of the index, as far as that has come. */
static int session_unindex(struct rp__sq_conn *c, int64_t ref, rp_error *err)
{
  int64_t at;
  int rc = rp__sq_index_at(c, &at, err);
  if (rc != 0 || at < 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_INDEXED);
  RP_SQ_BIND(&q, RP_SQ_I(ref), RP_SQ_I(at));
  while ((rc = rp__sq_next(&q, "read events", err)) > 0) {
    struct rp__sq_event ev = {.id = rp__sq_col_int(&q, 0)};
    rp__sq_event_read(&q, 1, &ev);
    rc = rp__sq_index_remove(c, &ev, err);
    if (rc != 0) return rc;
  }
  return rc;
}

/*
 * SQLite would give the ids of events deleted from the end again, and who watches for what is new would miss those that
 * get them: the floor keeps that from happening. `top`: the highest id before the deletion.
 */
static int event_floor_raise(struct rp__sq_conn *c, int64_t top, rp_error *err)
{
  int64_t max;
  int rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &max, err);
  /* A mark beyond the events would make the index doubtful. */
  if (rc == 0) {
    int64_t at;
    rc = rp__sq_index_at(c, &at, err);
    if (rc == 0 && at > max) rc = rp__sq_meta_set(c, RP_SQ_INDEXED, max, err);
  }
  if (rc != 0 || max >= top || c->event_floor >= top) return rc;
  c->event_floor = top; /* also when this is undone: a floor too high does no harm */
  return rp__sq_meta_set(c, RP_SQ_EVENT_FLOOR, top, err);
}

/* One that was put on hold after somebody chose to delete it stays. */
static int check_hold(struct rp__sq_conn *c, int64_t ref, rp_error *err)
{
  struct rp__session_row row = {0};
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SESSION_BY_REF);
  rp__sq_int(&q, 1, ref);
  int rc = rp__sq_next(&q, "read session", err);
  if (rc <= 0) return rc;
  rc = rp__sq_session_read(&q, &row, err);
  if (rc == 0) rc = rp__rule_held(&row, err);
  rp__session_row_done(&row);
  return rc;
}

int rp__sq_session_delete(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  static const enum rp__sq_id deletes[] = {RP_SQ_EVENT_DELETE,    RP_SQ_SNAPSHOT_DELETE_ALL, RP_SQ_RUN_DELETE,
                                           RP_SQ_IDEM_DELETE,     RP_SQ_CLIENT_DELETE,       RP_SQ_STATE_DELETE,
                                           RP_SQ_RECALL_DELETE,   RP_SQ_RECORD_DELETE,       RP_SQ_TASK_DELETE,
                                           RP_SQ_BLOB_DELETE_ALL, RP_SQ_HEAD_DELETE,         RP_SQ_SESSION_DELETE};
  struct rp__session_row row;
  int64_t top = 0;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &top, err);
  if (rc == 0) rc = check_hold(c, row.ref, err);
  if (rc == 0) rc = session_unindex(c, row.ref, err);
  if (rc == 0) rc = rp__sq_names_bereave(c, row.ref, op->now_ms, err);
  if (rc == 0) rc = rp__sq_run_by_ref(c, deletes, RP_ARRAY_SIZE(deletes), row.ref, "delete session", err);
  if (rc == 0) rc = event_floor_raise(c, top, err);
  return rc;
}
