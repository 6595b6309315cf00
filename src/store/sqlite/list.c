/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and lists sessions, and reads scopes and clients. */
#include "store/sqlite/sqlite.h"

#include <stdio.h>

#define LAST_CODE_POINT "\xf4\x8f\xbf\xbf"

static int find_start(enum rp__find how, bool scoped, enum rp__sq_id *ret)
{
  switch (how) {
  case RP_FIND_ID: *ret = RP_SQ_SESSION_BY_ID; return 0;
  case RP_FIND_COPY: *ret = RP_SQ_SESSION_COPY; return 0;
  case RP_FIND_PREFIX: *ret = RP_SQ_SESSION_BY_PREFIX; return 0;
  case RP_FIND_NAME: *ret = RP_SQ_SESSION_BY_NAME; return 0;
  case RP_FIND_KEY: *ret = RP_SQ_SESSION_BY_KEY_IN; return 0;
  case RP_FIND_KEY_ELSEWHERE: *ret = RP_SQ_SESSION_BY_KEY_BUT; return 0;
  case RP_FIND_NUMBER: *ret = RP_SQ_SESSION_BY_REF; return 0;
  case RP_FIND_LAST: *ret = scoped ? RP_SQ_SESSION_LAST_IN : RP_SQ_SESSION_LAST; return 0;
  case RP_FIND_HIDDEN: *ret = RP_SQ_SESSION_HIDDEN; return 0;
  }
  return RP_E_USAGE;
}

/* A prefix that is a whole id names that session, however many ids it begins. */
static int prefix_unique(struct rp__sq_q *q, const char *what, struct rp__session_row *row, rp_error *err)
{
  if (strcmp(row->id, what) == 0) return 0;
  int rc = rp__sq_next(q, "find session", err);
  if (rc == 0) return 0;
  rp__session_row_done(row);
  return rc < 0 ? rc : rp__fail(err, RP_E_AMBIGUOUS, "%s begins the ids of several sessions", what);
}

int rp__sq_session_find(struct rp__store *base, enum rp__find how, const char *scope, const char *what,
                        struct rp__session_row *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  struct rp__session_row row = {0};
  char end[RP_NAME + 8];
  enum rp__sq_id id;
  if (find_start(how, scope && scope[0], &id) != 0 || (how < RP_FIND_LAST && (!what || !what[0])))
    return rp__fail(err, RP_E_USAGE, "nothing to look for");
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc != 0) return rc;

  RP_SQ_AUTO q = rp__sq_query(c, id);
  bool by_scope_only = id == RP_SQ_SESSION_LAST_IN;
  if (how < RP_FIND_LAST) rp__sq_text(&q, 1, what);
  if (how == RP_FIND_HIDDEN) rp__sq_textn(&q, 1, what ? what : "", what ? strlen(what) : 0);
  if (by_scope_only) rp__sq_text(&q, 1, scope);
  if (how == RP_FIND_LAST) rp__sq_text(&q, 2, what);
  if (id == RP_SQ_SESSION_BY_KEY_IN || id == RP_SQ_SESSION_BY_KEY_BUT) rp__sq_text(&q, 2, scope);
  if (how == RP_FIND_PREFIX) {
    snprintf(end, sizeof end, "%.*s%s", RP_ID_MAX, what, LAST_CODE_POINT);
    rp__sq_text(&q, 2, end);
    rp__sq_text(&q, 3, scope);
  }
  rc = rp__sq_next(&q, "find session", err);
  if (rc == 0) {
    if (how == RP_FIND_LAST)
      return rp__fail(err, RP_E_SESSION_NOT_FOUND, scope ? "no session in scope %s yet" : "no session yet",
                      scope ? scope : "");
    if (how == RP_FIND_KEY || how == RP_FIND_KEY_ELSEWHERE)
      return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session with the key %s", what);
    return rp__refuse_not_found(how == RP_FIND_HIDDEN ? "hidden" : what, err);
  }
  if (rc > 0) rc = rp__sq_session_read(&q, &row, err);
  if (rc == 0 && how == RP_FIND_PREFIX) rc = prefix_unique(&q, what, &row, err);
  if (rc != 0) {
    rp__session_row_done(&row);
    return rc;
  }
  *ret = row;
  return 0;
}

/* ---- list ---- */

#define SESSION_PAGE 64

struct rows {
  struct rp__session_row row[SESSION_PAGE];
  int n;
};

static void rows_clear(struct rows *r)
{
  for (int i = 0; i < r->n; i++) rp__session_row_done(&r->row[i]);
  r->n = 0;
}

static void rows_freep(struct rows **r)
{
  if (*r) rows_clear(*r);
  free(*r);
}

static int session_page(struct rp__sq_store *s, const struct rp__session_filter *f, int64_t statuses, int64_t before,
                        int max, struct rows *rows, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  bool scoped = f->scope && f->scope[0];
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, f->trashed ? RP_SQ_SESSION_PAGE_TRASH
                                 : scoped   ? RP_SQ_SESSION_PAGE_IN
                                            : RP_SQ_SESSION_PAGE);
  RP_SQ_BIND(&q, RP_SQ_I(before), RP_SQ_I(statuses), RP_SQ_I(f->since_ms), RP_SQ_I(max));
  if (f->trashed || scoped) rp__sq_text(&q, 5, f->scope);
  while (rows->n < max && (rc = rp__sq_next(&q, "list sessions", err)) > 0) {
    rc = rp__sq_session_read(&q, &rows->row[rows->n++], err);
    if (rc != 0) return rc;
  }
  return rc < 0 ? rc : 0;
}

/* Behind what the listing goes on. */
struct place {
  int64_t ref, active_at;
};

/* ---- by activity ---- */

struct refs {
  int64_t *p;
  size_t n, cap;
};

static void refs_done(struct refs *r)
{
  free(r->p);
}

static int active_refs(struct rp__sq_store *s, const struct rp__session_filter *f, int64_t statuses,
                       struct place behind, int max, struct refs *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  bool scoped = f->scope && f->scope[0];
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, scoped ? RP_SQ_SESSION_ACTIVE_IN : RP_SQ_SESSION_ACTIVE);
  RP_SQ_BIND(&q, RP_SQ_I(behind.ref), RP_SQ_I(statuses), RP_SQ_I(f->since_ms), RP_SQ_I(max));
  if (scoped) rp__sq_text(&q, 5, f->scope);
  rp__sq_int(&q, 6, behind.active_at);
  rp__sq_int(&q, 7, f->trashed);
  while ((rc = rp__sq_next(&q, "list sessions", err)) > 0) {
    if (ret->n == ret->cap) {
      size_t cap = ret->cap ? ret->cap * 2 : SESSION_PAGE;
      int64_t *p = reallocarray(ret->p, cap, sizeof *p);
      if (!p) return rp__fail_nomem(err);
      ret->p = p;
      ret->cap = cap;
    }
    ret->p[ret->n++] = rp__sq_col_int(&q, 0);
  }
  return rc;
}

/* One that was deleted or put in the trash meanwhile is left out. */
static int active_row(struct rp__store *base, const struct rp__session_filter *f, int64_t ref, rp__session_row_fn *fn,
                      void *ctx, rp_error *err)
{
  RP_CLEANUP(rp__session_row_done) struct rp__session_row row = {0};
  rp_error gone = {0};
  char number[24];
  snprintf(number, sizeof number, "%lld", (long long)ref);
  int rc = rp__sq_session_find(base, RP_FIND_NUMBER, NULL, number, &row, &gone);
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  if (rc != 0) {
    if (err) *err = gone;
    return rc;
  }
  return row.hidden || f->trashed != (row.trashed_at != 0) ? 0 : fn(ctx, &row);
}

/* No transaction outlives the reading of the order, which is numbers alone: an open reader keeps the log from reuse. */
static int list_by_activity(struct rp__store *base, const struct rp__session_filter *f, int64_t statuses,
                            struct place behind, int max, rp__session_row_fn *fn, void *ctx, rp_error *err)
{
  RP_CLEANUP(refs_done) struct refs refs = {0};
  int rc = active_refs(rp__sq(base), f, statuses, behind, max, &refs, err);
  for (size_t i = 0; rc == 0 && i < refs.n; i++) rc = active_row(base, f, refs.p[i], fn, ctx, err);
  return rc;
}

int rp__sq_session_list(struct rp__store *base, const struct rp__session_filter *f, rp__session_row_fn *fn, void *ctx,
                        rp_error *err)
{
  static const struct rp__session_filter none = {0};
  if (!f) f = &none;
  struct place behind = {INT64_MAX, INT64_MAX};
  unsigned statuses;
  int left = f->limit > 0 ? f->limit : 50, rc = rp__rule_statuses(f->status, &statuses, err);
  if (rc == 0 && f->cursor && f->cursor[0]) {
    RP_CLEANUP(rp__session_row_done) struct rp__session_row row = {0};
    rc = rp__sq_session_find(base, RP_FIND_ID, NULL, f->cursor, &row, err);
    if (rc == 0) behind = (struct place){row.ref, row.last_activity_at};
  }
  if (rc != 0) return rc;
  if (f->by_activity) return list_by_activity(base, f, statuses, behind, left, fn, ctx, err);

  RP_CLEANUP(rows_freep) struct rows *rows = calloc(1, sizeof *rows);
  if (!rows) return rp__fail_nomem(err);
  for (int max = SESSION_PAGE, n = max; n == max && left > 0; left -= n) {
    rows_clear(rows);
    max = RP_MIN(left, SESSION_PAGE);
    rc = session_page(rp__sq(base), f, statuses, behind.ref, max, rows, err);
    n = rows->n;
    for (int i = 0; rc == 0 && i < n; i++) rc = fn(ctx, &rows->row[i]);
    if (rc != 0) return rc;
    if (n > 0) behind.ref = rows->row[n - 1].ref;
  }
  return 0;
}

/* ---- scopes, clients ---- */

int rp__sq_scope_read(struct rp__sq_conn *c, const char *scope, struct rp__scope_row *ret, rp_error *err)
{
  struct rp__scope_row row = {0};
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SCOPE_GET);
  rp__sq_text(&q, 1, scope);
  int rc = rp__sq_next(&q, "read scope", err);
  if (rc < 0) return rc;
  if (rc > 0) {
    struct rp__str key_id = rp__sq_col_bytes(&q, 2);
    row.starts = rp__sq_col_count(&q, 0);
    row.sealed = rp__sq_col_int(&q, 1) != 0;
    row.robot = rp__sq_col_int(&q, 3) != 0;
    memcpy(row.key_id, key_id.p, RP_MIN(key_id.n, sizeof row.key_id));
  }
  *ret = row;
  return 0;
}

int rp__sq_scope_get(struct rp__store *base, const char *scope, struct rp__scope_row *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  return rc ? rc : rp__sq_scope_read(c, scope, ret, err);
}

#define SCOPE_PAGE 128

static int scope_page(struct rp__sq_store *s, const char *after, char (*names)[RP_NAME], rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int n = 0, rc = rp__sq_reader_take(s, &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_SCOPE_PAGE);
  RP_SQ_BIND(&q, RP_SQ_TN(after, strlen(after)), RP_SQ_I(SCOPE_PAGE));
  while (n < SCOPE_PAGE && (rc = rp__sq_next(&q, "list scopes", err)) > 0)
    rp__sq_col_str(&q, 0, names[n++], sizeof names[0]);
  return rc < 0 ? rc : n;
}

int rp__sq_scope_list(struct rp__store *base, rp__scope_fn *fn, void *ctx, rp_error *err)
{
  RP_AUTOFREE char(*names)[RP_NAME] = calloc(SCOPE_PAGE, sizeof *names);
  char after[RP_NAME] = "";
  if (!names) return rp__fail_nomem(err);
  for (int n = SCOPE_PAGE; n == SCOPE_PAGE;) {
    n = scope_page(rp__sq(base), after, names, err);
    if (n < 0) return n;
    for (int i = 0; i < n; i++) {
      int rc = fn(ctx, names[i]);
      if (rc != 0) return rc;
    }
    if (n > 0) rp__name_set(after, names[n - 1]);
  }
  return 0;
}

int rp__sq_client_get(struct rp__store *base, int64_t session_ref, const char *client_id, int64_t *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(rp__sq(base), &c, err);
  if (rc != 0) return rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_CLIENT_GET);
  RP_SQ_BIND(&q, RP_SQ_I(session_ref), RP_SQ_T(client_id));
  rc = rp__sq_next(&q, "read client", err);
  if (rc < 0) return rc;
  *ret = rc > 0 ? rp__sq_col_count(&q, 0) : 0;
  return 0;
}
