/* SPDX-License-Identifier: Apache-2.0 */
/* The scope's memories: learned by events, searched by words, ranked with their confidence. */
#include "engine/memory.h"

#include "base/text.h"
#include "engine/audit.h"
#include "engine/derive.h"

#define MEMORIES_LIMIT 50

static int check_confidence(double v, rp_error *err)
{
  if (v >= 0 && v <= 1) return 0;
  return rp__fail_field(err, RP_E_USAGE, "confidence", "a confidence is between 0 and 1");
}

static int write_categories(const char *categories, struct rp__jw *w)
{
  if (!categories || !*categories) return 0;
  rp__jw_key(w, "categories");
  rp__jw_array(w);
  for (const char *p = categories; *p;) {
    size_t n = strcspn(p, ",");
    if (n) rp__jw_strn(w, p, n);
    p += n + (p[n] == ',');
  }
  rp__jw_end_array(w);
  return 0;
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
  rp__jw_object(&w);
  rp__jw_kstr(&w, "memory_id", id);
  rp__jw_kstr(&w, "content", text);
  rp__jw_kdouble(&w, "confidence", confidence);
  write_categories(categories, &w);
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

struct reader {
  const struct rp__key *key;
  rp_memory_fn *fn;
  void *ctx;
  rp_error *err;
};

static int on_memory(void *ctx, const struct rp__memory_row *row)
{
  struct reader *x = ctx;
  char *content, *categories;
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
  rc = x->fn(x->ctx, &info);
  free(content);
  free(categories);
  return rc;
}

int rp_memories(rp_engine *e, const char *scope, const char *words, int limit, rp_memory_fn *fn, void *ctx,
                rp_error *err)
{
  struct reader x = {.fn = fn, .ctx = ctx, .err = err};
  struct rp__memory_filter f = {
      .scope = scope, .words = words && *words ? words : NULL, .limit = limit > 0 ? limit : MEMORIES_LIMIT};
  int rc = rp__engine_check(e, err);
  if (!rc && (!scope || !rp__name_ok(scope))) rc = rp__fail_field(err, RP_E_USAGE, "scope", "no scope was named");
  if (!rc) rc = rp__scope_key(e, scope, &x.key, err);
  if (!rc && x.key && f.words)
    rc = rp__fail(err, RP_E_REFUSED, "scope '%s' is sealed: its memories have no full text to search", scope);
  return rc ? rc : e->store->ops->memory_list(e->store, &f, on_memory, &x, err);
}

/* ---- changing ---- */

struct score {
  double confidence;
  bool hit;
};

static int on_score(void *ctx, const struct rp__memory_row *row)
{
  *(struct score *)ctx = (struct score){row->confidence, true};
  return 0;
}

int rp__memory_score(rp_engine *e, const char *scope, const char *id, double *ret, bool *ret_known, rp_error *err)
{
  struct score found = {0};
  struct rp__memory_filter f = {.scope = scope, .id = id, .limit = 1};
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
  rp__jw_object(&w);
  rp__jw_kstr(&w, "memory_id", memory_id);
  rp__jw_kdouble(&w, "old_score", old);
  rp__jw_kdouble(&w, "new_score", confidence);
  rp__jw_kstr(&w, "reason", reason ? reason : "set by hand");
  rp__jw_end_object(&w);
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
  rp__jw_kstr(&note.w, "memory_id", memory_id);
  rp__jw_kstr(&note.w, "reason", "forgotten by hand");
  rc = rp__audit_op(e, scope, "deletion", &note, &ops[1], err);
  if (!rc) rc = rp__engine_commit(e, ops, 2, RP_DISK, err);
  rp__audit_done(&note);
  return rc;
}
