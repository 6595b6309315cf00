/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is wrong with pages, indexes, tables and full text, and what can be built
 * anew from the rows. Everything is found first and told afterwards, so that the
 * callback runs with nothing locked. Foreign tables are looked at, never repaired.
 */
#include "store/sqlite/sqlite.h"

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

/* Rows that lost the other half of what they belong to. */
static int orphan_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err)
{
  static const char sql[] =
      "SELECT 'session ' || id || ' has lost its head' FROM (SELECT s.id FROM rp_sessions s WHERE NOT EXISTS"
      " (SELECT 1 FROM rp_heads h WHERE h.session = s.ref) LIMIT " FINDINGS ")"
      " UNION ALL SELECT 'a head belongs to no session' FROM rp_heads"
      " WHERE session NOT IN (SELECT ref FROM rp_sessions)"
      " UNION ALL SELECT 'events of session number ' || session || ' belong to no session' FROM"
      " (SELECT DISTINCT session FROM rp_events) WHERE session NOT IN (SELECT ref FROM rp_sessions)";
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

static int fulltext_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  struct rp__buf *out = arg;
  int64_t at, max;
  int rc = rp__sq_index_at(c, &at, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &max, err);
  if (rc != 0 || at < 0) return rc;
  if (at > max) rp__buf_str(out, "full text is ahead of the journal\n");
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_INDEX_CHECK);
  rc = rp__sq_done(&q, "check full text", err);
  if (rc == RP_E_CORRUPT) rp__buf_str(out, "full text is damaged\n");
  return rc && rc != RP_E_CORRUPT ? rc : lines_done(out, err);
}

struct repair {
  bool structure, fulltext;
};

static int repair_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  static const char reindex[] = "REINDEX rp_scopes; REINDEX rp_sessions; REINDEX rp_heads; REINDEX rp_runs;"
                                "REINDEX rp_events; REINDEX rp_snapshots; REINDEX rp_idem; REINDEX rp_clients;"
                                "REINDEX rp_meta";
  const struct repair *r = arg;
  int rc = r->structure ? rp__sq_schema_restore(c, err) : 0;
  if (rc == 0 && r->structure) rc = rp__sq_exec(c, reindex, err);
  if (rc == 0 && r->structure) rc = heads_restore(c, err);
  if (rc == 0 && r->fulltext) rc = rp__sq_index_forget(c, err);
  return rc;
}

static int look(struct rp__sq_store *s, struct rp__buf *structure, struct rp__buf *fulltext, rp_error *err)
{
  int rc = rp__sq_conn_ensure(s, RP_SQ_KEEPER, &s->keeper, err);
  if (rc == 0) rc = schema_lines(s->keeper, structure, err);
  if (rc == 0) rc = integrity_lines(s->keeper, structure, err);
  if (rc == 0 && structure->n == 0) rc = orphan_lines(s->keeper, structure, err);
  if (rc != 0 || s->read_only) return rc;
  rc = rp__sq_keeper_txn(s, fulltext_work, fulltext, err);
  /* Where tables or pages are missing there is no asking further, and enough to tell. */
  return structure->n > 0 ? 0 : rc;
}

/* Tells each line; it is repaired when it is not among those still found. */
static int tell(const struct rp__buf *found, const struct rp__buf *left, bool repaired, rp_finding_fn *fn, void *ctx)
{
  char line[400];
  for (const char *p = found->p, *end; p && (end = strchr(p, '\n')); p = end + 1) {
    size_t n = RP_MIN((size_t)(end - p), sizeof line - 1);
    memcpy(line, p, n);
    line[n] = '\0';
    rp_finding f = {.what = line, .repaired = repaired && !(left->p && strstr(left->p, line))};
    int rc = fn(ctx, &f);
    if (rc != 0) return rc;
  }
  return 0;
}

static int repair_all(struct rp__sq_store *s, struct repair what, struct rp__buf *structure, struct rp__buf *fulltext,
                      rp_error *err)
{
  pthread_mutex_lock(&s->maintain_mu);
  int rc = rp__sq_keeper_txn(s, repair_work, &what, err);
  pthread_mutex_unlock(&s->maintain_mu);
  if (rc == 0 && what.fulltext) rc = rp__sq_index_catch_up(s, err);
  pthread_mutex_lock(&s->maintain_mu);
  if (rc == 0) rc = look(s, structure, fulltext, err);
  pthread_mutex_unlock(&s->maintain_mu);
  return rc;
}

int rp__sq_check(struct rp__store *base, bool repair, rp_finding_fn *fn, void *ctx, rp_error *err)
{
  struct rp__sq_store *s = rp__sq(base);
  RP_AUTOBUF struct rp__buf found = RP_BUF(1 << 20);
  RP_AUTOBUF struct rp__buf found_ft = RP_BUF(1 << 20);
  RP_AUTOBUF struct rp__buf left = RP_BUF(1 << 20);
  RP_AUTOBUF struct rp__buf left_ft = RP_BUF(1 << 20);
  if (repair && s->read_only) return rp__fail(err, RP_E_READONLY, "%s was opened to be read only", s->path);
  pthread_mutex_lock(&s->maintain_mu);
  int rc = look(s, &found, &found_ft, err);
  pthread_mutex_unlock(&s->maintain_mu);
  if (rc != 0) return rc;

  struct repair what = {.structure = found.n > 0, .fulltext = found_ft.n > 0};
  bool repaired = false;
  if (repair && (what.structure || what.fulltext)) {
    rp_error why = {0};
    repaired = repair_all(s, what, &left, &left_ft, &why) == 0;
    if (!repaired) rp__log(&s->log, RP_LOG_DEBUG, "repair failed: %s", why.message);
  }
  rc = tell(&found, &left, repaired, fn, ctx);
  return rc ? rc : tell(&found_ft, &left_ft, repaired, fn, ctx);
}
