/* SPDX-License-Identifier: Apache-2.0 */
/* The scope's memories: learned by events, searched by words, ranked with their confidence. */
#include "engine/keep/memory.h"

#include "base/text.h"
#include "engine/keep/audit.h"
#include "engine/journal/derived-rows.h"

#define MEMORIES_LIMIT 50
#define RECALLS_MAX 32 /* memories of one search that count as recalled: the best of them */

static int check_confidence(double v, rp_error *err)
{
  if (v >= 0 && v <= 1) return 0;
  return rp__fail_field(err, RP_E_USAGE, "confidence", "a confidence is between 0 and 1");
}

int rp_remember(rp_session *s, const char *text, double confidence, const char *categories, char *ret_id, rp_error *err)
{
  char id[RP_UUID_TEXT];
  struct rp__buf body RP_AUTOBUF = RP_BUF(2 * RP_BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  int rc = rp__session_check(s, err);
  if (!rc && (!text || !*text)) rc = rp__fail_field(err, RP_E_USAGE, "text", "there is nothing to remember");
  if (!rc) rc = check_confidence(confidence, err);
  if (rc) return rc;
  rp__uuid7(id, rp__engine_now(s->e), &rp__system_random);
  rp__jw_pack(&w, "{memory_id:s content:s confidence:d", id, text, confidence);
  if (categories && *categories) {
    rp__jw_karray(&w, "categories");
    for (const char *p = categories; *p;) {
      size_t n = strcspn(p, ",");
      if (n) rp__jw_strn(&w, p, n);
      p += n + (p[n] == ',');
    }
    rp__jw_end_array(&w);
  }
  rp__jw_end_object(&w);
  if (body.err) return rp__fail(err, body.err, "the memory is too long");
  rp_event ev = {.kind = "learning", .body = body.p, .body_len = body.n};
  rc = rp_append(s, &ev, NULL, NULL, err);
  if (!rc && ret_id) memcpy(ret_id, id, sizeof id);
  return rc;
}

/* ---- finding ---- */

int rp__memory_open(const struct rp__key *key, const struct rp__memory_row *row, char **ret_content,
                    char **ret_categories, rp_error *err)
{
  char *content = NULL, *categories = NULL;
  if (!row->sealed) {
    content = strndup(row->content, row->content_len);
    if (row->categories) categories = strdup(row->categories);
  } else {
    struct rp__buf plain RP_AUTOBUF = RP_BUF(4 * RP_BODY_MAX);
    int rc = rp__unseal(key, rp__memory_ad(row->id), row->content, row->content_len, &plain, err);
    if (rc) return rc;
    struct rp__json doc = rp__json_trusted(plain.p, plain.n), list = rp__json_get(doc, "categories");
    content = rp__json_dup(rp__json_get(doc, "content"));
    if (list.type == RP_JSON_ARRAY) categories = strndup(list.p, list.n);
  }
  if (!content) {
    free(categories);
    return rp__fail_nomem(err);
  }
  *ret_content = content;
  *ret_categories = categories;
  return 0;
}

/* The memories that a search found, and the transaction that counts them. */
struct recall {
  struct rp__commit commit; /* the first member: the queue gives this back */
  rp_engine *e;
  struct rp__op ops[RECALLS_MAX];
  struct rp__memory_row rows[RECALLS_MAX];
  size_t n;
};

static void recall_note(struct recall *r, const struct rp__memory_row *row)
{
  int64_t now = rp__engine_now(r->e), ago = now - row->used_at;
  if (r->n == RECALLS_MAX || (ago >= 0 && ago < RP_MEMORY_USE_MS)) return;
  struct rp__memory_row *used = &r->rows[r->n];
  memcpy(used->id, row->id, sizeof used->id);
  memcpy(used->scope, row->scope, sizeof used->scope);
  used->used_at = now;
  r->ops[r->n++] = (struct rp__op){.type = RP_OP_MEMORY_USED, .now_ms = now, .u.memory.row = used};
}

static void recall_settle(struct recall *r, int rc, const rp_error *err)
{
  if (rc) rp__log(&r->e->log, RP_LOG_DEBUG, "%zu recalled memories are not counted: %s", r->n, err->message);
  free(r);
}

static void recall_done(struct rp__commit *c)
{
  recall_settle((struct recall *)c, c->txn.rc, &c->txn.err);
}

/* Takes `r`. The caller of the search waits for nothing, and no failure is his. */
static void recall_commit(struct recall *r)
{
  rp_error err = {.message = "not queued"};
  int rc = 0;
  r->commit = (struct rp__commit){
      .txn = {.ops = r->ops, .n = r->n, .durability = RP_OS}, .bytes = sizeof *r, .done = recall_done};
  if (r->n && r->e->short_lived)
    rc = rp__engine_commit(r->e, r->ops, r->n, RP_OS, &err);
  else if (r->n && !(rc = rp__commit_post(&r->e->queue, &r->commit)))
    return;
  recall_settle(r, rc, &err);
}

struct reader {
  const struct rp__key *key;
  struct recall *recall; /* NULL: it does not count */
  rp_memory_fn *fn;
  void *ctx;
  rp_error *err;
  struct rp__log *log;
};

static int on_memory(void *ctx, const struct rp__memory_row *row)
{
  struct reader *x = ctx;
  char *content, *categories;
  if (row->damaged) {
    rp__log(x->log, RP_LOG_WARN, "memory %s of scope %s is damaged and left out ('reprise verify' tells more)", row->id,
            row->scope);
    return 0;
  }
  int rc = rp__memory_open(x->key, row, &content, &categories, x->err);
  if (rc) return rc;
  rp_memory_info info = {.id = row->id,
                         .scope = row->scope,
                         .session_id = row->session_id[0] ? row->session_id : NULL,
                         .content = content,
                         .categories = categories,
                         .confidence = row->confidence,
                         .rank = row->rank,
                         .created_at = row->created_at,
                         .updated_at = row->updated_at};
  if (x->recall) recall_note(x->recall, row);
  rc = x->fn(x->ctx, &info);
  free(content);
  free(categories);
  return rc;
}

int rp_memories(rp_engine *e, const char *scope, const char *words, int limit, rp_memory_fn *fn, void *ctx,
                rp_error *err)
{
  struct reader x = {.fn = fn, .ctx = ctx, .err = err, .log = &e->log};
  struct rp__memory_filter f = {
      .scope = scope, .words = words && *words ? words : NULL, .limit = limit > 0 ? limit : MEMORIES_LIMIT};
  int rc = rp__engine_check(e, err);
  if (!rc && (!scope || !rp__name_ok(scope))) rc = rp__fail_field(err, RP_E_USAGE, "scope", "no scope was named");
  if (!rc) rc = rp__scope_key(e, scope, &x.key, err);
  if (!rc && x.key && f.words)
    rc = rp__fail(err, RP_E_REFUSED, "scope '%s' is sealed: its memories have no full text to search", scope);
  if (rc) return rc;
  /* Only a search recalls: a list of all is no sign that somebody wanted this one. */
  if (f.words && !e->read_only && (x.recall = calloc(1, sizeof *x.recall))) x.recall->e = e;
  rc = e->store->ops->memory_list(e->store, &f, on_memory, &x, err);
  if (x.recall) recall_commit(x.recall);
  return rc;
}

/* ---- changing ---- */

struct score {
  double confidence;
  bool hit;
};

static int on_score(void *ctx, const struct rp__memory_row *row)
{
  if (!row->damaged) *(struct score *)ctx = (struct score){row->confidence, true};
  return 0;
}

int rp__memory_score(rp_engine *e, const char *scope, const char *id, double *ret, bool *ret_known, rp_error *err)
{
  struct score found = {0};
  struct rp__memory_filter f = {.scope = scope, .id = id, .limit = 1};
  RP_MAY_ASK_STORE();
  int rc = e->store->ops->memory_list(e->store, &f, on_score, &found, err);
  if (rc) return rc;
  *ret = found.confidence;
  *ret_known = found.hit;
  return 0;
}

static int not_found(const char *id, rp_error *err)
{
  return rp__fail(err, RP_E_MEMORY_NOT_FOUND, "no memory has the id '%s'", rp__text_shown(id));
}

int rp_memory_confidence(rp_session *s, const char *memory_id, double confidence, const char *reason, rp_error *err)
{
  double old = 0;
  bool known = false;
  struct rp__buf body RP_AUTOBUF = RP_BUF(65536);
  struct rp__jw w = RP_JW(&body);
  int rc = rp__session_check(s, err);
  if (!rc && !memory_id) rc = rp__fail_field(err, RP_E_USAGE, "memory_id", "no memory was named");
  if (!rc) rc = check_confidence(confidence, err);
  if (rc) return rc;
  rc = rp__memory_score(s->e, s->scope, memory_id, &old, &known, err);
  if (!rc && !known) rc = not_found(memory_id, err);
  if (rc) return rc;
  rp__jw_pack(&w, "{memory_id:s old_score:d new_score:d reason:s}", memory_id, old, confidence,
              reason ? reason : "set by hand");
  if (body.err) return rp__fail(err, body.err, "the reason is too long");
  rp_event ev = {.kind = "confidence", .body = body.p, .body_len = body.n};
  return rp_append(s, &ev, NULL, NULL, err);
}

int rp_memory_forget(rp_engine *e, const char *scope, const char *memory_id, rp_error *err)
{
  struct rp__memory_row row = {0};
  struct rp__audit_note note;
  struct rp__op ops[2] = {{.type = RP_OP_MEMORY_DELETE, .u.memory.row = &row}};
  int rc = rp__engine_check(e, err);
  if (!rc && (!scope || !rp__name_ok(scope))) rc = rp__fail_field(err, RP_E_USAGE, "scope", "no scope was named");
  if (!rc && (!memory_id || strlen(memory_id) >= sizeof row.id)) rc = not_found(memory_id ? memory_id : "", err);
  if (rc) return rc;
  snprintf(row.id, sizeof row.id, "%s", memory_id);
  snprintf(row.scope, sizeof row.scope, "%s", scope);
  ops[0].now_ms = rp__engine_now(e);
  rp__audit_begin(&note);
  rp__jw_pack(&note.w, "memory_id:s reason:s", memory_id, "forgotten by hand");
  rc = rp__audit_op(e, scope, "deletion", &note, &ops[1], err);
  if (!rc) rc = rp__engine_commit(e, ops, 2, RP_DISK, err);
  rp__audit_done(&note);
  return rc;
}

/* ---- repair ---- */

#define RENEWED_MAX 256 /* in one go; a further check finds the rest */

struct damaged {
  struct rp__memory_row rows[RENEWED_MAX];
  size_t n;
};

static int on_damaged(void *ctx, const struct rp__memory_row *row)
{
  struct damaged *d = ctx;
  if (row->damaged && d->n < RENEWED_MAX) d->rows[d->n++] = *row;
  return 0;
}

/* What the session said of one memory. */
struct saying {
  rp_session *s;
  const char *id;
  struct rp__derived derived;
  struct rp__op op;
  bool any;
  rp_error *err;
};

static int on_saying(void *ctx, const struct rp__event *ev)
{
  struct saying *x = ctx;
  bool learning = ev->kind == RP_KIND_LEARNING;
  if (ev->lost || (!learning && ev->kind != RP_KIND_CONFIDENCE)) return 0;
  if (!rp__json_eq(rp__json_get(ev->body, "memory_id"), x->id)) return 0;
  if (!learning) {
    double score;
    if (!x->any || !rp__json_double(rp__json_get(ev->body, "new_score"), &score)) return 0;
    x->derived.memory.confidence = score < 0 ? 0 : score > 1 ? 1 : score;
    x->derived.memory.updated_at = ev->at_ms;
    return 0;
  }
  rp__derived_done(&x->derived);
  int rc = rp__derive(x->s, ev, 0, 0, &x->derived, &x->op, &x->any, x->err);
  x->op.derived_from = 0;
  return rc;
}

static int renew_one(rp_engine *e, const struct rp__memory_row *row, bool *ret_done, rp_error *err)
{
  struct rp__session_row session = {0};
  struct rp__lost lost;
  rp_error why = {0};
  *ret_done = false;
  if (!row->session_id[0]) return 0;
  int rc = e->store->ops->session_find(e->store, RP_FIND_ID, NULL, row->session_id, &session, &why);
  if (rc == RP_E_SESSION_NOT_FOUND || (!rc && strcmp(session.scope, row->scope) != 0)) {
    rp__session_row_done(&session);
    return 0;
  }
  struct saying x = {.id = row->id, .err = err};
  if (!rc) rc = rp__session_open(e, &session, 0, &x.s, &why);
  rp__session_row_done(&session);
  if (rc && err) *err = why;
  if (rc) return rc;
  rc = rp__journal_read_past(x.s, 0, 0, on_saying, &x, &lost, err);
  if (!rc && x.any) rc = rp__engine_commit(e, &x.op, 1, RP_DISK, err);
  *ret_done = !rc && x.any;
  rp__derived_done(&x.derived);
  atomic_store(&x.s->ended, true); /* nothing of ours is due */
  rp_session_free(x.s);
  return rc;
}

int rp__memories_renew(rp_engine *e, const char *scope, rp__memory_renewed_fn *fn, void *ctx, rp_error *err)
{
  struct damaged *d RP_AUTOFREE = calloc(1, sizeof *d);
  struct rp__memory_filter f = {.scope = scope};
  if (!d) return rp__fail_nomem(err);
  int rc = e->store->ops->memory_list(e->store, &f, on_damaged, d, err);
  for (size_t i = 0; !rc && i < d->n; i++) {
    bool done;
    rc = renew_one(e, &d->rows[i], &done, err);
    if (!rc && done) rc = fn(ctx, scope, d->rows[i].id);
  }
  return rc;
}
