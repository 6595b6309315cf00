/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of an ended session. Its parts are a row of session_states, where other programs look for them. rp_records
 * has the rest: members that the archived record may be too old to have, the sealed body, the pins that were removed,
 * and the parts of a record whose id is taken by another program's row. A row of session_states is ours when
 * rp_recall has the session and its flags do not say otherwise.
 */
#include "store/sqlite/sqlite.h"

#include "base/clock.h"

_Static_assert(RP_PART_WORKING_MEMORY == 0 && RP_PART_HOT_TOPICS == 1 && RP_PART_PROJECTS == 2 && RP_PART_TASKS == 3 &&
                   RP_PART_LEARNINGS == 4 && RP_PART_CONFIDENCE == 5 && RP_PART_SOPS == 6 && RP_PARTS_MAX == 7,
               "the order of columns in statements.c");
#define RECORD_MAX (64UL << 20)

/* ---- writing ---- */

static int recall_flags(struct rp__sq_conn *c, int64_t ref, int64_t *ret, rp_error *err)
{
  return rp__sq_number(c, RP_SQ_RECALL_FLAGS, &ref, -1, ret, err);
}

/* Whether the row of session_states with the session's id is somebody else's. */
static int state_is_foreign(struct rp__sq_conn *c, const struct rp__session_row *session, bool *ret, rp_error *err)
{
  int64_t flags;
  int rc = recall_flags(c, session->ref, &flags, err);
  if (rc != 0) return rc;
  *ret = false;
  if (flags >= 0 && !(flags & (RP_RECALL_ARCHIVED | RP_RECALL_FOREIGN))) return 0;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_STATE_EXISTS);
  rp__sq_text(&q, 1, session->id);
  rc = rp__sq_next(&q, "read session_states", err);
  *ret = rc > 0;
  return RP_MIN(rc, 0);
}

static const char *part_text(const struct rp__record_row *row, int i)
{
  return row->part[i] && row->part[i][0] ? row->part[i] : "[]";
}

static int state_run(struct rp__sq_conn *c, enum rp__sq_id id, const char *session_id, const struct rp__record_row *row,
                     const char *continued_by, rp_error *err)
{
  char start[RP_TIME_TEXT], end[RP_TIME_TEXT], created[RP_TIME_TEXT], updated[RP_TIME_TEXT];
  RP_SQ_AUTO q = rp__sq_query(c, id);
  RP_SQ_BIND(&q, RP_SQ_T(session_id), RP_SQ_T(rp__time_format(row->start_ms, start)),
             RP_SQ_T(rp__time_format(row->end_ms, end)), RP_SQ_T(row->channel[0] ? row->channel : "unknown"));
  for (int i = 0; i < RP_PARTS_MAX; i++) rp__sq_text(&q, 5 + i, part_text(row, i));
  rp__sq_text(&q, 12, row->previous_id);
  rp__sq_text(&q, 13, continued_by);
  rp__sq_int(&q, 14, row->crash_recovered);
  rp__sq_text(&q, 15, rp__time_format(row->created_ms, created));
  rp__sq_text(&q, 16, rp__time_format(row->updated_ms, updated));
  return rp__sq_done(&q, "write session_states", err);
}

static int state_write(struct rp__sq_conn *c, const char *id, const struct rp__record_row *row,
                       const char *continued_by, rp_error *err)
{
  /* No upsert: a table that was there before need not have a unique id. */
  int rc = state_run(c, RP_SQ_STATE_REPLACE, id, row, continued_by, err);
  if (rc != 0 || sqlite3_changes(c->db) > 0) return rc;
  return state_run(c, RP_SQ_STATE_PUT, id, row, continued_by, err);
}

static int record_session(struct rp__sq_conn *c, const struct rp__op *op, struct rp__session_row *ret, rp_error *err)
{
  const struct rp__record_row *row = op->type == RP_OP_RECORD_PUT ? op->u.record.row : NULL;
  struct rp__op who = {.session_ref = op->session_ref, .session_id = op->session_id, .copying = op->copying};
  if (row && !who.session_ref) who.session_ref = row->session_ref;
  if (row && !who.session_id) who.session_id = row->session_id;
  int rc = rp__sq_head(c, &who, ret, err);
  return rc ? rc : rp__sq_session_get(c, ret->ref, ret, err);
}

int rp__sq_record_put(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  RP_CLEANUP(rp__session_row_done) struct rp__session_row session = {0};
  RP_AUTOBUF struct rp__buf packed = RP_BUF(RECORD_MAX);
  const struct rp__record_row *row = op->u.record.row;
  bool foreign = false;
  int rc = record_session(c, op, &session, err);
  if (rc == 0) rc = state_is_foreign(c, &session, &foreign, err);
  /* What session_states has no place for: parts one after the other, each ended by NUL, then the pins that went, and
   * behind a NUL the digest. */
  if (rc == 0 && !row->sealed_body) {
    for (int i = 0; foreign && i < RP_PARTS_MAX; i++) {
      rp__buf_str(&packed, part_text(row, i));
      rp__buf_char(&packed, '\0');
    }
    if (row->dropped) rp__buf_str(&packed, row->dropped);
    if (row->digest) rp__buf_char(&packed, '\0');
    if (row->digest) rp__buf_str(&packed, row->digest);
    rc = packed.err ? rp__fail(err, packed.err, "the record of session %s is too large", row->session_id) : 0;
  }
  if (rc != 0) return rc;
  const char *continued_by = session.continued_by[0] ? session.continued_by : row->continued_by;
  struct rp__str body = {packed.p, packed.n};
  if (row->sealed_body) body = (struct rp__str){row->sealed_body, row->sealed_len};
  unsigned flags = (row->has_critical ? RP_RECALL_CRITICAL : 0) | (foreign ? RP_RECALL_FOREIGN : 0) |
                   (rp__row_is_out(&session) ? RP_RECALL_OUT : 0) | (row->asked ? RP_RECALL_ASKED : 0);
  rc = rp__sq_recall_write(c, &session, row, flags, err);
  if (rc == 0) {
    /* Of what a reader is given: the session's own names, and topics as far as they are kept. */
    struct rp__record_row as_read = *row;
    memcpy(as_read.session_id, session.id, sizeof as_read.session_id);
    memcpy(as_read.scope, session.scope, sizeof as_read.scope);
    as_read.n_topics = RP_MIN(row->n_topics, RP_TOPICS_MAX);
    for (size_t i = 0; i < as_read.n_topics; i++) as_read.topics[i] = (uint32_t)row->topics[i];
    if (row->dropped && !row->dropped[0]) as_read.dropped = NULL;
    if (row->sealed_body) as_read.dropped = as_read.digest = NULL;
    uint64_t sum = rp__record_sum(&as_read);
    RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECORD_PUT);
    RP_SQ_BIND(&q, RP_SQ_I(session.ref), RP_SQ_I(row->start_ms), RP_SQ_I(row->created_ms), RP_SQ_I(row->updated_ms),
               RP_SQ_I(row->crash_recovered), RP_SQ_T(row->previous_id), RP_SQ_T(continued_by),
               RP_SQ_I(row->sealed_body != NULL));
    if (body.p)
      rp__sq_blob(&q, 9, body.p, body.n);
    else
      rp__sq_null(&q, 9);
    rp__sq_int(&q, 10, (int64_t)sum);
    rc = rp__sq_done(&q, "write record", err);
  }
  if (rc == 0 && !foreign) rc = state_write(c, session.id, row, continued_by, err);
  if (rc == 0) op->ret.ref = session.ref;
  return rc;
}

int rp__sq_record_archive(struct rp__sq_conn *c, struct rp__op *op, rp_error *err)
{
  static const enum rp__sq_id ids[] = {RP_SQ_STATE_DELETE, RP_SQ_RECORD_ERASE, RP_SQ_RECALL_ARCHIVE};
  struct rp__session_row row;
  int64_t flags;
  int rc = rp__sq_head(c, op, &row, err);
  if (rc == 0) rc = recall_flags(c, row.ref, &flags, err);
  if (rc != 0) return rc;
  if (flags < 0) return rp__refuse_record(row.id, err);
  return rp__sq_run_by_ref(c, ids, RP_ARRAY_SIZE(ids), row.ref, "archive record", err);
}

static int continued_write(struct rp__sq_conn *c, enum rp__sq_id id, const struct rp__session_row *row, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, id);
  RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_T(row->continued_by));
  return rp__sq_done(&q, "write record", err);
}

int rp__sq_record_follow(struct rp__sq_conn *c, const struct rp__session_row *row, unsigned fields, rp_error *err)
{
  int rc = 0;
  if (fields & RP_SET_CONTINUED_BY) {
    rc = continued_write(c, RP_SQ_RECORD_CONTINUED, row, err);
    if (rc == 0) rc = continued_write(c, RP_SQ_STATE_CONTINUED, row, err);
  }
  if (rc != 0 || !(fields & (RP_SET_TRASH | RP_SET_SHOWN))) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECALL_SET_OUT);
  RP_SQ_BIND(&q, RP_SQ_I(row->ref), RP_SQ_I(rp__row_is_out(row)));
  return rp__sq_done(&q, "write recall", err);
}

/* ---- reading ---- */

static int part_set(struct rp__record_row *row, int i, struct rp__str text)
{
  row->part[i] = text.n > 0 ? strndup(text.p, text.n) : strdup("[]");
  return row->part[i] ? 0 : RP_E_NOMEM;
}

static int parts_unpack(struct rp__str *body, struct rp__record_row *row)
{
  int rc = 0;
  for (int i = 0; rc == 0 && i < RP_PARTS_MAX; i++) {
    size_t n = strnlen(body->p, body->n);
    rc = part_set(row, i, (struct rp__str){body->p, n});
    n = RP_MIN(n + 1, body->n);
    body->p += n;
    body->n -= n;
  }
  return rc;
}

/* The pins that went, and behind a NUL the digest. */
static int rest_read(struct rp__str body, struct rp__record_row *row)
{
  size_t n = strnlen(body.p, body.n);
  if (n && !(row->dropped = strndup(body.p, n))) return RP_E_NOMEM;
  if (n + 1 < body.n && !(row->digest = strndup(body.p + n + 1, body.n - n - 1))) return RP_E_NOMEM;
  return 0;
}

static int parts_read(struct rp__sq_conn *c, struct rp__record_row *row, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_STATE_PARTS);
  rp__sq_text(&q, 1, row->session_id);
  int rc = rp__sq_next(&q, "read session_states", err);
  if (rc == 0)
    return rp__fail_field(err, RP_E_CORRUPT, RP_SQ_LOST, "session_states has lost the record of session %s",
                          row->session_id);
  if (rc < 0) return rc;
  rc = 0;
  for (int i = 0; rc == 0 && i < RP_PARTS_MAX; i++) rc = part_set(row, i, rp__sq_col_bytes(&q, i));
  return rc ? rp__fail_nomem(err) : 0;
}

static int body_read(struct rp__sq_conn *c, struct rp__sq_q *q, struct rp__record_row *row, rp_error *err)
{
  struct rp__str body = rp__sq_col_bytes(q, 14);
  bool sealed = rp__sq_col_int(q, 13) != 0, foreign = rp__sq_col_int(q, 5) & RP_RECALL_FOREIGN;
  if (row->archived) return 0;
  if (sealed) {
    row->sealed_body = malloc(body.n + 1);
    if (!row->sealed_body) return rp__fail_nomem(err);
    memcpy(row->sealed_body, body.p, body.n);
    row->sealed_body[body.n] = '\0';
    row->sealed_len = body.n;
    body = RP_STR("");
  }
  if (foreign && parts_unpack(&body, row)) return rp__fail_nomem(err);
  if (body.n && rest_read(body, row)) return rp__fail_nomem(err);
  return foreign ? 0 : parts_read(c, row, err);
}

static int record_load(struct rp__sq_conn *c, int64_t session_ref, struct rp__record_row *row, rp_error *err)
{
  /* Its statement stays open, and with it the transaction, until the parts are read. */
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_RECORD_GET);
  rp__sq_int(&q, 1, session_ref);
  int rc = rp__sq_next(&q, "read record", err);
  if (rc == 0) return rp__fail(err, RP_E_RECORD_NOT_FOUND, "the session has no record");
  if (rc < 0) return rc;
  /* What rp_recall and rp_records have. */
  int64_t flags = rp__sq_col_int(&q, 5);
  rp__sq_col_str(&q, 0, row->session_id, sizeof row->session_id);
  rp__sq_col_str(&q, 1, row->scope, sizeof row->scope);
  row->end_ms = rp__sq_col_time(&q, 2);
  rp__sq_col_str(&q, 3, row->channel, sizeof row->channel);
  row->n_tasks = rp__sq_col_count(&q, 4);
  row->has_critical = flags & RP_RECALL_CRITICAL;
  row->archived = flags & RP_RECALL_ARCHIVED;
  row->asked = flags & RP_RECALL_ASKED;
  row->n_topics = rp__sq_topics_read(rp__sq_col_bytes(&q, 6), row->topics);
  row->start_ms = rp__sq_col_time(&q, 7);
  row->created_ms = rp__sq_col_time(&q, 8);
  row->updated_ms = rp__sq_col_time(&q, 9);
  row->crash_recovered = rp__sq_col_int(&q, 10) != 0;
  rp__sq_col_str(&q, 11, row->previous_id, sizeof row->previous_id);
  rp__sq_col_str(&q, 12, row->continued_by, sizeof row->continued_by);
  rc = body_read(c, &q, row, err);
  if (rc != 0 || row->archived || sqlite3_column_type(q.st, 15) == SQLITE_NULL) return rc;
  if ((uint64_t)rp__sq_col_int(&q, 15) == rp__record_sum(row)) return 0;
  return rp__fail(err, RP_E_CORRUPT, "the record of session %s is damaged (its checksum does not fit)",
                  row->session_id);
}

int rp__sq_record_get(struct rp__store *base, int64_t session_ref, struct rp__record_row *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  RP_CLEANUP(rp__record_row_done) struct rp__record_row row = {.session_ref = session_ref};
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc == 0) rc = record_load(c, session_ref, &row, err);
  if (rc != 0) return rc;
  *ret = row;
  memset(&row, 0, sizeof row);
  return 0;
}

int rp__sq_record_lines(struct rp__sq_conn *c, bool remove, struct rp__buf *out, rp_error *err)
{
  static const enum rp__sq_id ids[] = {RP_SQ_STATE_DELETE, RP_SQ_RECALL_DELETE, RP_SQ_RECORD_DELETE};
  int64_t ref = 0, next;
  int rc, n = 0;
  while ((rc = rp__sq_number(c, RP_SQ_RECALL_NEXT, &ref, 0, &next, err)) == 0 && next > ref && n < RP_SQ_FINDINGS) {
    RP_CLEANUP(rp__record_row_done) struct rp__record_row row = {0};
    rp_error why = {0};
    ref = next;
    rc = record_load(c, ref, &row, &why);
    if (rc == 0 || rc == RP_E_RECORD_NOT_FOUND || strcmp(why.field, RP_SQ_LOST) == 0) continue; /* told elsewhere */
    if (rc != RP_E_CORRUPT) {
      if (err) *err = why;
      return rc;
    }
    n++;
    if (out) rp__buf_printf(out, "%s\n", why.message);
    if (remove && (rc = rp__sq_run_by_ref(c, ids, RP_ARRAY_SIZE(ids), ref, "remove record", err))) return rc;
  }
  return rc;
}
