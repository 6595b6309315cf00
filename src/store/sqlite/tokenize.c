/* SPDX-License-Identifier: Apache-2.0 */
/* Splits text into words as the full-text indexes do: with FTS5's own tokenizer and the options of both indexes. */
#include "store/sqlite/sqlite.h"

#define TERM_MAX 32768 /* bytes of a word that FTS5 keeps */

void rp__sq_tokenizer_done(struct rp__sq_tokenizer *t)
{
  if (t->it) t->calls.xDelete(t->it);
}

int rp__sq_tokenizer_open(struct rp__sq_conn *c, struct rp__sq_tokenizer *ret, rp_error *err)
{
  const char *args[] = {"remove_diacritics", "2"};
  fts5_api *api = NULL;
  sqlite3_stmt *st = NULL;
  void *user = NULL;
  int rc = sqlite3_prepare_v2(c->db, "SELECT fts5(?1)", -1, &st, NULL);
  if (rc == SQLITE_OK) rc = sqlite3_bind_pointer(st, 1, (void *)&api, "fts5_api_ptr", NULL);
  if (rc == SQLITE_OK) rc = sqlite3_step(st);
  sqlite3_finalize(st);
  if (rc == SQLITE_ROW || rc == SQLITE_DONE) rc = api ? SQLITE_OK : SQLITE_ERROR;
  if (rc == SQLITE_OK) rc = api->xFindTokenizer(api, "unicode61", &user, &ret->calls);
  if (rc == SQLITE_OK) rc = ret->calls.xCreate(user, args, 2, &ret->it);
  return rc == SQLITE_OK ? 0 : rp__sq_fail(c, rc, "read words", err);
}

struct walk {
  rp__sq_token_fn *fn;
  void *ctx;
  int64_t place;
};

static int on_token(void *ctx, int flags, const char *term, int n, int start, int end)
{
  struct walk *x = ctx;
  (void)start, (void)end;
  if (!(flags & FTS5_TOKEN_COLOCATED)) x->place++;
  x->fn(x->ctx, x->place, term, RP_MIN((size_t)n, (size_t)TERM_MAX));
  return SQLITE_OK;
}

int rp__sq_tokenize(struct rp__sq_conn *c, struct rp__sq_tokenizer *t, struct rp__str text, rp__sq_token_fn *fn,
                    void *ctx, rp_error *err)
{
  struct walk x = {fn, ctx, -1};
  int rc = t->calls.xTokenize(t->it, &x, FTS5_TOKENIZE_DOCUMENT, text.p ? text.p : "", (int)text.n, on_token);
  return rc == SQLITE_OK ? 0 : rp__sq_fail(c, rc, "read words", err);
}
