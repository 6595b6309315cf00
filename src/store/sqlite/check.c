/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what is wrong with pages, indexes, tables and full text, and builds anew what can be built from the rows.
 * Everything is found first and reported afterwards, so that the callback runs without a lock. Tables of other programs
 * are checked but never repaired.
 */
#include "store/sqlite/sqlite.h"

#include "base/clock.h"

#define FINDINGS "100"

static int lines_done(const struct rp__buf *out, rp_error *err)
{
  return out->err ? rp__fail(err, out->err, "the findings do not fit into memory") : 0;
}

/* A page that could not be read is told as a line too; where that was no damage, why not stands in it. */
static int line_unread(const char *line)
{
  static const char words[] = "unable to get the page. error code=";
  const char *at = strstr(line, words);
  int code = at ? (int)strtol(at + sizeof words - 1, NULL, 10) : SQLITE_OK;
  int primary = code & 0xff;
  return primary == SQLITE_NOMEM || primary == SQLITE_IOERR || primary == SQLITE_BUSY ? code : SQLITE_OK;
}

/* Lines, each one finding. A check that damage stops has found it; one that anything else stops has failed. */
static int integrity_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(c->db, "PRAGMA integrity_check(" FINDINGS ")", -1, &st, NULL);
  while (rc == SQLITE_OK || rc == SQLITE_ROW) {
    rc = sqlite3_step(st);
    if (rc != SQLITE_ROW) break;
    const char *line = (const char *)sqlite3_column_text(st, 0);
    int unread = line ? line_unread(line) : SQLITE_NOMEM;
    if (unread != SQLITE_OK)
      rc = unread;
    else if (strcmp(line, "ok") != 0)
      rp__buf_printf(out, "%s\n", line);
  }
  int code = rc == SQLITE_DONE ? 0 : rp__sq_fail(c, rc, "check", err);
  if (code == RP_E_CORRUPT) rp__buf_printf(out, "the check stopped: %s\n", sqlite3_errmsg(c->db));
  sqlite3_finalize(st);
  return code && code != RP_E_CORRUPT ? code : lines_done(out, err);
}

static int schema_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(c->db, "SELECT 1 FROM sqlite_schema WHERE name = ?1", -1, &st, NULL);
  for (const char *const *name = rp__sq_schema_names; rc == SQLITE_OK && *name; name++) {
    rc = sqlite3_bind_text(st, 1, *name, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_DONE) rp__buf_printf(out, "%s is missing\n", *name);
    if (rc == SQLITE_OK) rc = sqlite3_reset(st);
  }
  int code = rc == SQLITE_OK ? lines_done(out, err) : rp__sq_fail(c, rc, "check schema", err);
  sqlite3_finalize(st);
  return code;
}

/* Lines that a query makes. */
static int query_lines(struct rp__sq_conn *c, const char *sql, struct rp__buf *out, rp_error *err)
{
  sqlite3_stmt *st = NULL;
  int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
  while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    rp__buf_printf(out, "%s\n", (const char *)sqlite3_column_text(st, 0));
    rc = SQLITE_OK;
  }
  int code = rc == SQLITE_DONE ? lines_done(out, err) : rp__sq_fail(c, rc, "check rows", err);
  sqlite3_finalize(st);
  return code;
}

/* What an import or fork has made, but not shown yet, has the status it was made with, and runs that are over. */
#define HIDDEN_WRONGLY                                                                                                 \
  "s.hidden <> 0 AND (h.status <> 0 OR EXISTS (SELECT 1 FROM rp_runs r WHERE r.session = s.ref AND r.ended_at = 0))"

/* Rows that lost the other half of what they belong to, or that contradict it. */
static int orphan_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  static const char sql[] =
      "SELECT 'session ' || id || ' has lost its head' FROM (SELECT s.id FROM rp_sessions s WHERE NOT EXISTS"
      " (SELECT 1 FROM rp_heads h WHERE h.session = s.ref) LIMIT " FINDINGS ")"
      " UNION ALL SELECT 'a head belongs to no session' FROM rp_heads"
      " WHERE session NOT IN (SELECT ref FROM rp_sessions)"
      " UNION ALL SELECT 'events of session number ' || session || ' belong to no session' FROM"
      " (SELECT DISTINCT session FROM rp_events) WHERE session NOT IN (SELECT ref FROM rp_sessions)"
      " UNION ALL SELECT 'blobs of session number ' || session || ' belong to no session' FROM"
      " (SELECT DISTINCT session FROM rp_blobs) WHERE session NOT IN (SELECT ref FROM rp_sessions)"
      " UNION ALL SELECT 'session ' || id || ' is hidden, but it was used' FROM"
      " (SELECT s.id FROM rp_sessions s JOIN rp_heads h ON h.session = s.ref WHERE " HIDDEN_WRONGLY " LIMIT " FINDINGS
      ")"
      " UNION ALL SELECT 'the counter of sessions is behind them' FROM (SELECT max(ref) AS top FROM rp_sessions)"
      " WHERE top > coalesce((SELECT value FROM rp_meta WHERE name = 'last_session'), 0)";
  return query_lines(c, sql, out, err);
}

/* Records and words on tasks without their session, a chain and its head that do not agree. */
static int record_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  static const char sql[] =
      "SELECT 'the record of session ' || id || ' belongs to no session' FROM (SELECT r.id FROM rp_recall r"
      " WHERE NOT EXISTS (SELECT 1 FROM rp_sessions s WHERE s.ref = r.session AND s.id = r.id) LIMIT " FINDINGS ")"
      " UNION ALL SELECT 'the record of session ' || id || ' is incomplete' FROM (SELECT r.id FROM rp_recall r"
      " WHERE NOT EXISTS (SELECT 1 FROM rp_records d WHERE d.session = r.session) LIMIT " FINDINGS ")"
      " UNION ALL SELECT 'the body of a record belongs to no record' FROM rp_records"
      " WHERE session NOT IN (SELECT session FROM rp_recall)"
      " UNION ALL SELECT 'words on tasks belong to no session' FROM"
      " (SELECT 1 FROM rp_tasks WHERE session NOT IN (SELECT ref FROM rp_sessions) LIMIT 1)"
      " UNION ALL SELECT 'the record of session ' || id || ' counts ' || n_tasks || ' tasks and has ' || has FROM"
      " (SELECT r.id, r.n_tasks, json_array_length(x.pending_tasks) AS has FROM rp_recall r"
      "  JOIN rp_records d ON d.session = r.session JOIN session_states x ON x.id = r.id"
      "  WHERE r.flags & 10 = 0 AND d.sealed = 0 AND json_valid(x.pending_tasks)"
      "  AND json_array_length(x.pending_tasks) <> r.n_tasks LIMIT " FINDINGS ")"
      " UNION ALL SELECT 'the audit log of scope ' || h.scope || ' ends at ' || coalesce(a.n, 0) || ', not at ' || h.n"
      " FROM rp_audit_heads h LEFT JOIN (SELECT scope, max(n) AS n FROM rp_audit GROUP BY scope) a"
      " ON a.scope = h.scope WHERE coalesce(a.n, 0) <> h.n"
      " UNION ALL SELECT 'the audit log of scope ' || scope || ' has lost its head' FROM"
      " (SELECT DISTINCT scope FROM rp_audit) WHERE scope NOT IN (SELECT scope FROM rp_audit_heads)"
      " UNION ALL SELECT 'the audit log has lost ' || (value - have) || ' of ' || value || ' records' FROM rp_meta,"
      " (SELECT CAST(total(n) AS INTEGER) AS have FROM rp_audit_heads) WHERE name = 'audits' AND value > have"
      " UNION ALL SELECT 'the audit log of scope ' || h.scope || ' ends with another record than its head says' FROM"
      " rp_audit_heads h JOIN rp_audit a ON a.scope = h.scope AND a.n = h.n WHERE a.hash <> h.hash"
      " UNION ALL SELECT 'the recall row of session ' || id || ' does not say that it is out of sight, or that it is' "
      "FROM"
      " (SELECT r.id FROM rp_recall r JOIN rp_sessions s ON s.ref = r.session AND s.id = r.id"
      "  WHERE (r.flags & 4 <> 0) <> (s.hidden <> 0 OR s.trashed_at <> 0) LIMIT " FINDINGS ")";
  return query_lines(c, sql, out, err);
}

/* Whoever shares session_states with us may tidy it up. Such a record can be made again from the journal. */
static int lost_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  static const char sql[] =
      "SELECT 'session_states has lost the record of session ' || r.id FROM rp_recall r WHERE r.flags & 10 = 0"
      " AND NOT EXISTS (SELECT 1 FROM session_states x WHERE x.id = r.id) LIMIT " FINDINGS;
  return query_lines(c, sql, out, err);
}

/* Whether what session_states says of a record beside its parts is what our own rows say. */
static bool state_agrees(struct rp__sq_q *q)
{
  static const int texts[] = {3, 4, 5}; /* channel, previous and next session; ours stand six columns on */
  char start[RP_TIME_TEXT], end[RP_TIME_TEXT], theirs[RP_NAME], ours[RP_NAME];
  rp__sq_col_str(q, 1, theirs, sizeof theirs);
  if (strcmp(theirs, rp__time_format(rp__sq_col_int(q, 7), start)) != 0) return false;
  rp__sq_col_str(q, 2, theirs, sizeof theirs);
  if (strcmp(theirs, rp__time_format(rp__sq_col_int(q, 8), end)) != 0) return false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    rp__sq_col_str(q, texts[i], theirs, sizeof theirs);
    rp__sq_col_str(q, texts[i] + 6, ours, sizeof ours);
    if (i == 0 && !ours[0]) rp__name_set(ours, "unknown");
    if (strcmp(theirs, ours) != 0) return false;
  }
  return rp__sq_col_int(q, 6) == rp__sq_col_int(q, 12);
}

static int state_restore(struct rp__sq_conn *c, struct rp__sq_q *from, rp_error *err)
{
  static const char sql[] = "UPDATE session_states SET start_time = ?2, end_time = ?3, channel = ?4,"
                            " previous_session_id = ?5, continued_by = ?6, crash_recovered = ?7 WHERE id = ?1";
  char id[RP_NAME], start[RP_TIME_TEXT], end[RP_TIME_TEXT], text[3][RP_NAME];
  struct rp__sq_q q = {.c = c};
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  rp__sq_col_str(from, 0, id, sizeof id);
  for (int i = 0; i < 3; i++) rp__sq_col_str(from, 9 + i, text[i], sizeof text[i]);
  RP_SQ_BIND(&q, RP_SQ_T(id), RP_SQ_T(rp__time_format(rp__sq_col_int(from, 7), start)),
             RP_SQ_T(rp__time_format(rp__sq_col_int(from, 8), end)), RP_SQ_T(text[0][0] ? text[0] : "unknown"),
             RP_SQ_T(text[1]), RP_SQ_T(text[2]), RP_SQ_I(rp__sq_col_int(from, 12)));
  int rc = rp__sq_done(&q, "repair session_states", err);
  sqlite3_finalize(q.st);
  return rc;
}

static int state_lines(struct rp__sq_conn *c, bool restore, struct rp__buf *out, rp_error *err)
{
  static const char sql[] =
      "SELECT r.id, x.start_time, x.end_time, x.channel, x.previous_session_id, x.continued_by, x.crash_recovered,"
      " d.start_at, r.ended_at, r.channel, d.previous_id, d.continued_by, d.crash_recovered FROM rp_recall r"
      " JOIN rp_records d ON d.session = r.session JOIN session_states x ON x.id = r.id"
      " JOIN rp_sessions s ON s.ref = r.session AND s.id = r.id WHERE r.flags & 10 = 0";
  struct rp__sq_q q = {.c = c};
  int rc, n = 0;
  q.rc = sqlite3_prepare_v2(c->db, sql, -1, &q.st, NULL);
  while (n < RP_SQ_FINDINGS && (rc = rp__sq_next(&q, "read session_states", err)) > 0) {
    char id[RP_NAME];
    if (state_agrees(&q)) continue;
    n++;
    rp__sq_col_str(&q, 0, id, sizeof id);
    if (out) rp__buf_printf(out, "session_states says something else of session %s than its record\n", id);
    if (restore && (rc = state_restore(c, &q, err))) break;
  }
  sqlite3_finalize(q.st);
  return rc < 0 ? rc : 0;
}

/* What can't be put right again is taken away: without its recall row a session simply has no record. */
static int records_restore(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] =
      "DELETE FROM session_states WHERE id IN (SELECT r.id FROM rp_recall r WHERE r.flags & 10 = 0"
      " AND NOT EXISTS (SELECT 1 FROM rp_sessions s WHERE s.id = r.id));"
      "DELETE FROM rp_recall WHERE NOT EXISTS (SELECT 1 FROM rp_sessions s WHERE s.ref = rp_recall.session"
      " AND s.id = rp_recall.id) OR session NOT IN (SELECT session FROM rp_records);"
      "DELETE FROM rp_recall WHERE flags & 10 = 0 AND id NOT IN (SELECT id FROM session_states WHERE id IS NOT NULL);"
      "DELETE FROM rp_records WHERE session NOT IN (SELECT session FROM rp_recall);"
      "DELETE FROM rp_tasks WHERE session NOT IN (SELECT ref FROM rp_sessions);"
      "DELETE FROM rp_blobs WHERE session NOT IN (SELECT ref FROM rp_sessions);"
      "UPDATE rp_recall SET n_tasks = (SELECT json_array_length(x.pending_tasks) FROM session_states x"
      " WHERE x.id = rp_recall.id) WHERE flags & 10 = 0 AND EXISTS (SELECT 1 FROM session_states x"
      " JOIN rp_records d ON d.session = rp_recall.session WHERE x.id = rp_recall.id AND d.sealed = 0"
      " AND json_valid(x.pending_tasks));"
      "UPDATE rp_recall SET flags = CASE WHEN (SELECT s.hidden <> 0 OR s.trashed_at <> 0 FROM rp_sessions s"
      " WHERE s.ref = rp_recall.session) THEN flags | 4 ELSE flags & ~4 END";
  int rc = rp__sq_exec(c, sql, err);
  if (rc == 0) rc = rp__sq_record_lines(c, true, NULL, err);
  return rc ? rc : state_lines(c, true, NULL, err);
}

static int heads_restore(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] = "SELECT ref, id FROM rp_sessions WHERE ref NOT IN (SELECT session FROM rp_heads)";
  sqlite3_stmt *st = NULL;
  int code = 0, rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
  while (code == 0 && rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
    code = rp__sq_head_restore(c, sqlite3_column_int64(st, 0), (const char *)sqlite3_column_text(st, 1), err);
    rc = SQLITE_OK;
  }
  if (code == 0 && rc != SQLITE_DONE) code = rp__sq_fail(c, rc, "repair", err);
  sqlite3_finalize(st);
  return code ? code : rp__sq_exec(c, "DELETE FROM rp_heads WHERE session NOT IN (SELECT ref FROM rp_sessions)", err);
}

static int memory_fulltext(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_MEMORY_INDEX_CHECK);
  int rc = rp__sq_done(&q, "check full text", err);
  if (rc == RP_E_CORRUPT) rp__buf_str(out, "full text of memories is damaged\n");
  return rc && rc != RP_E_CORRUPT ? rc : lines_done(out, err);
}

static int fulltext_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  struct rp__buf *out = arg;
  int64_t at, max;
  int rc = rp__sq_index_at(c, &at, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &max, err);
  if (rc != 0) return rc;
  if (at < 0) return memory_fulltext(c, out, err);
  if (at > max) rp__buf_str(out, "full text is ahead of the journal\n");
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_INDEX_CHECK);
  rc = rp__sq_done(&q, "check full text", err);
  if (rc == RP_E_CORRUPT) rp__buf_str(out, "full text is damaged\n");
  return rc && rc != RP_E_CORRUPT ? rc : memory_fulltext(c, out, err);
}

struct repair {
  bool structure, fulltext, notes;
};

static int repair_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  static const char reindex[] = "REINDEX rp_scopes; REINDEX rp_sessions; REINDEX rp_heads; REINDEX rp_runs;"
                                "REINDEX rp_events; REINDEX rp_snapshots; REINDEX rp_idem; REINDEX rp_clients;"
                                "REINDEX rp_meta; REINDEX rp_recall; REINDEX rp_records; REINDEX rp_tasks;"
                                "REINDEX rp_memories; REINDEX rp_audit; REINDEX rp_audit_heads; REINDEX rp_tokens;"
                                "REINDEX rp_blobs; REINDEX rp_requests; REINDEX rp_names";
  const struct repair *r = arg;
  int rc = r->structure ? rp__sq_schema_restore(c, err) : 0;
  if (rc == 0 && r->structure) rc = rp__sq_exec(c, reindex, err);
  if (rc == 0 && r->structure) rc = heads_restore(c, err);
  if (rc == 0 && r->structure) {
    static const char sql[] =
        "UPDATE rp_sessions SET hidden = 0 WHERE ref IN"
        " (SELECT s.ref FROM rp_sessions s JOIN rp_heads h ON h.session = s.ref WHERE " HIDDEN_WRONGLY ");"
        "INSERT INTO rp_meta (name, value) SELECT 'last_session', coalesce(max(ref), 0) FROM rp_sessions WHERE true"
        " ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)";
    rc = rp__sq_exec(c, sql, err);
  }
  if (rc == 0 && (r->structure || r->notes)) rc = records_restore(c, err);
  /* Where tables were missing, the index of memories may have been among them. */
  if (rc == 0 && (r->structure || r->fulltext)) rc = rp__sq_memory_reindex(c, err);
  if (rc == 0 && r->fulltext) rc = rp__sq_index_forget(c, err);
  return rc;
}

/* What was found, each kind as lines. */
struct found {
  struct rp__buf log, structure, fulltext, notes;
};
#define FOUND ((struct found){RP_BUF(1 << 20), RP_BUF(1 << 20), RP_BUF(1 << 20), RP_BUF(1 << 20)})

static void found_done(struct found *f)
{
  rp__buf_done(&f->log);
  rp__buf_done(&f->structure);
  rp__buf_done(&f->fulltext);
  rp__buf_done(&f->notes);
}

/* Damage that will be loss when the log is opened anew, or copied into the file before that. */
static int log_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  uint32_t frame;
  int rc = rp__sq_log_check(c, &frame, err);
  if (rc == 0 && frame) rp__buf_printf(out, "frame %u of the write-ahead log is damaged\n", frame);
  return rc ? rc : lines_done(out, err);
}

static int look(struct rp__sq_store *s, struct found *f, rp_error *err)
{
  int rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->keeper, err);
  if (rc == 0) rc = log_lines(s->keeper, &f->log, err);
  if (rc == 0) rc = schema_lines(s->keeper, &f->structure, err);
  if (rc == 0) rc = integrity_lines(s->keeper, &f->structure, err);
  if (rc == 0 && f->structure.n == 0) {
    rc = orphan_lines(s->keeper, &f->structure, err);
    if (rc == 0) rc = record_lines(s->keeper, &f->structure, err);
    if (rc == 0) rc = lost_lines(s->keeper, &f->notes, err);
    if (rc == 0) rc = rp__sq_record_lines(s->keeper, false, &f->structure, err);
    if (rc == 0) rc = state_lines(s->keeper, false, &f->structure, err);
    if (rc == 0) rc = rp__sq_memory_lines(s->keeper, &f->structure, err);
  }
  if (rc != 0) return rc;
  if (!s->read_only) rc = rp__sq_keeper_txn(s, fulltext_work, &f->fulltext, err);
  /* In one transaction that only reads: writers go on meanwhile. */
  if (rc == 0 && f->fulltext.n == 0) {
    rc = rp__sq_exec(s->keeper, "BEGIN", err);
    if (rc == 0) rc = rp__sq_text_lines(s->keeper, &f->fulltext, err);
    rp__sq_rollback(s->keeper);
  }
  if (rc == 0) rc = lines_done(&f->structure, err);
  if (rc == 0) rc = lines_done(&f->fulltext, err);
  /* Where tables or pages are missing there is no asking further, and enough to tell. */
  return f->structure.n > 0 ? 0 : rc;
}

/* Tells each line; it is repaired when it is not among those still found. */
static int tell(const struct rp__buf *found, const struct rp__buf *left, bool repaired, bool note, rp_finding_fn *fn,
                void *ctx)
{
  char line[400];
  for (const char *p = found->p, *end; p && (end = strchr(p, '\n')); p = end + 1) {
    size_t n = RP_MIN((size_t)(end - p), sizeof line - 1);
    memcpy(line, p, n);
    line[n] = '\0';
    rp_finding f = {.what = line, .note = note, .repaired = repaired && !(left->p && strstr(left->p, line))};
    int rc = fn(ctx, &f);
    if (rc != 0) return rc;
  }
  return 0;
}

static int repair_all(struct rp__sq_store *s, struct repair what, struct found *left, rp_error *err)
{
  pthread_mutex_lock(&s->maintain_mu);
  int rc = rp__sq_keeper_txn(s, repair_work, &what, err);
  pthread_mutex_unlock(&s->maintain_mu);
  if (rc == 0 && what.fulltext) rc = rp__sq_index_catch_up(s, err);
  pthread_mutex_lock(&s->maintain_mu);
  if (rc == 0) rc = look(s, left, err);
  pthread_mutex_unlock(&s->maintain_mu);
  return rc;
}

int rp__sq_check(struct rp__store *base, bool repair, rp_finding_fn *fn, void *ctx, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  RP_CLEANUP(found_done) struct found found = FOUND;
  RP_CLEANUP(found_done) struct found left = FOUND;
  int rc = repair ? rp__sq_writable(s, err) : 0;
  if (rc != 0) return rc;
  pthread_mutex_lock(&s->maintain_mu);
  rc = look(s, &found, err);
  pthread_mutex_unlock(&s->maintain_mu);
  if (rc != 0) return rc;

  struct repair what = {found.structure.n > 0, found.fulltext.n > 0, found.notes.n > 0};
  bool repaired = false;
  if (repair && (what.structure || what.fulltext || what.notes)) {
    rp_error why = {0};
    repaired = repair_all(s, what, &left, &why) == 0;
    if (!repaired) rp__log(&s->log, RP_LOG_DEBUG, "repair failed: %s", why.message);
  }
  char lost[300];
  if (rp__sq_loss_tell(s, lost, sizeof lost)) rc = fn(ctx, &(rp_finding){.what = lost});
  if (rc == 0) rc = tell(&found.log, &left.log, false, false, fn, ctx);
  if (rc == 0) rc = tell(&found.structure, &left.structure, repaired, false, fn, ctx);
  if (rc == 0) rc = tell(&found.fulltext, &left.fulltext, repaired, false, fn, ctx);
  return rc ? rc : tell(&found.notes, &left.notes, repaired, true, fn, ctx);
}
