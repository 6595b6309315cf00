/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the rows that follow from events, as ops of the events' transaction. */
#include "engine/journal/derived-rows.h"

#include "engine/capture/capture.h"
#include "engine/journal/stream-redaction.h"
#include "engine/keep/memory.h"
#include "engine/start/start.h"
#include "facets/merge.h"
#include "facets/settings.h"
#include "facets/tasks.h"

#define CONFIDENCE_DEFAULT 1.0

void rp__derived_done(struct rp__derived *d)
{
  rp__buf_done(&d->content);
  rp__buf_done(&d->sealed);
  rp__buf_done(&d->meta);
}

uint64_t rp__task_hash(const struct rp__key *key, const char *task_id)
{
  unsigned char derived[32];
  if (key) rp__topic_key(key, derived);
  return rp__topic_hash(task_id, strlen(task_id), key ? derived : NULL);
}

struct rp__str rp__memory_ad(const char *memory_id)
{
  return rp__str(memory_id);
}

static double clamp01(double v)
{
  return v < 0 ? 0 : v > 1 ? 1 : v;
}

static int memory_id(const struct rp__event *ev, struct rp__memory_row *row)
{
  struct rp__buf id RP_AUTOBUF = RP_BUF(sizeof row->id - 1);
  rp__json_text(rp__json_get(ev->body, "memory_id"), &id);
  if (id.err || !id.p || memchr(id.p, 0, id.n)) return RP_E_TOO_LARGE; /* not one that can be asked for */
  memcpy(row->id, id.p, id.n + 1);
  return 0;
}

static int derive_learning(rp_session *s, const struct rp__event *ev, struct rp__derived *d, struct rp__op *op,
                           bool *any, rp_error *err)
{
  struct rp__memory_row *m = &d->memory;
  struct rp__json categories = rp__json_get(ev->body, "categories");
  if (memory_id(ev, m)) return *any = false, 0;
  rp__json_text(rp__json_get(ev->body, "content"), &d->content);
  if (d->content.err) return rp__fail_nomem(err);
  m->confidence = CONFIDENCE_DEFAULT;
  rp__json_double(rp__json_get(ev->body, "confidence"), &m->confidence);
  m->confidence = clamp01(m->confidence);
  snprintf(m->scope, sizeof m->scope, "%s", s->scope);
  snprintf(m->session_id, sizeof m->session_id, "%s", s->id);
  m->created_at = m->updated_at = ev->at_ms;
  m->content = d->content.p ? d->content.p : "";
  m->content_len = d->content.n;
  if (categories.type == RP_JSON_ARRAY && categories.n < sizeof d->categories) {
    memcpy(d->categories, categories.p, categories.n);
    d->categories[categories.n] = 0;
    m->categories = d->categories;
  }
  op->type = RP_OP_MEMORY_PUT;
  op->u.memory.row = m;
  if (!s->key) return 0;
  /* In a sealed scope content and categories are sealed together. */
  struct rp__buf both RP_AUTOBUF = RP_BUF(2 * s->config->body_bytes + 8192);
  struct rp__jw w = RP_JW(&both);
  rp__jw_pack(&w, "{content:n categories:?r}", m->content, m->content_len, m->categories);
  if (both.err || rp__seal(s->key, &rp__system_random, rp__memory_ad(m->id), both.p, both.n, &d->sealed))
    return rp__fail_nomem(err);
  m->sealed = true;
  m->content = d->sealed.p;
  m->content_len = d->sealed.n;
  m->categories = NULL;
  return 0;
}

/* A new score of a memory that the scope does not know is the session's own business. */
int rp__derive_catch_up(rp_session *s, const struct rp__event *ev, struct rp__derived *ret, rp_error *err)
{
  struct rp__buf masked RP_AUTOBUF = RP_BUF(2 * s->config->body_bytes + 65536);
  struct rp__event stored = *ev;
  struct rp__str body;
  double score;
  bool known = false;
  if (ev->kind != RP_KIND_CONFIDENCE) return 0;
  int rc = rp__engine_mask(s->e, s->scope, ev->kind, ev->body, &masked, &body);
  if (rc) return rp__fail(err, rc, "the event can't be masked");
  stored.body = rp__json_trusted(body.p, body.n);
  if (!memory_id(&stored, &ret->memory)) rc = rp__memory_score(s->e, s->scope, ret->memory.id, &score, &known, err);
  ret->unknown = !known;
  return rc;
}

bool rp__derive_name(rp_session *s, struct rp__json name, struct rp__buf *text, struct rp__op *ret)
{
  bool taken = name.type == RP_JSON_STRING && name.n <= RP_SESSION_NAME_MAX;
  if (s->key || (!taken && name.type != RP_JSON_NULL)) return false;
  if (taken) (void)rp__json_text(name, text);
  ret->type = RP_OP_SESSION_SET;
  ret->u.session_set.fields = RP_SET_NAME;
  ret->u.session_set.name = text->n ? text->p : NULL;
  return true;
}

/* The row's meta by the rule of the facet, so that both are the same: members stand in place of earlier ones. */
static int edit_meta(void *ctx, struct rp__session_row *row, rp_error *err)
{
  struct rp__derived *d = ctx;
  struct rp__object o = {0};
  char *meta = NULL;
  if (d->key && row->meta && !rp__meta_unseal(d->key, row)) return 0; /* damaged: verify tells of it */
  struct rp__json patch = rp__json_trusted(d->meta.p, d->meta.n);
  int rc = 0;
  if (row->meta && patch.type != RP_JSON_NULL)
    rc = rp__object_merge(&o, rp__json_trusted(row->meta, strlen(row->meta)), NULL, RP_META_MAX);
  if (!rc) rc = rp__object_merge(&o, patch, NULL, RP_META_MAX);
  if (!rc && !rp__object_empty(&o) && !(meta = strndup(o.p, o.n))) rc = RP_E_NOMEM;
  rp__object_done(&o);
  if (!rc && meta && d->key) {
    char *sealed = rp__meta_seal(d->key, row->id, meta);
    free(meta);
    meta = sealed;
    if (!sealed) rc = RP_E_NOMEM;
  }
  if (rc) return rp__fail_nomem(err);
  free(row->meta);
  row->meta = meta;
  return 0;
}

int rp__derive(rp_session *s, const struct rp__event *ev, size_t append_op, size_t offset, struct rp__derived *d,
               struct rp__op *ret, bool *ret_any, rp_error *err)
{
  bool unknown = d->unknown;
  *d = (struct rp__derived){.content = RP_BUF(s->config->body_bytes + 1),
                            .sealed = RP_BUF(2 * s->config->body_bytes + 16384),
                            .meta = RP_BUF(s->config->body_bytes + 1)};
  *ret = (struct rp__op){RP__OP_OF(s->e, s), .copying = s->copying, .derived_from = append_op + 1};
  *ret_any = true;
  if (ev->kind == RP_KIND_LEARNING) return derive_learning(s, ev, d, ret, ret_any, err);
  if (ev->kind == RP_KIND_CONFIDENCE) {
    struct rp__memory_row *m = &d->memory;
    bool scored = rp__json_double(rp__json_get(ev->body, "new_score"), &m->confidence);
    *ret_any = !unknown && !memory_id(ev, m) && scored;
    m->confidence = clamp01(m->confidence);
    m->updated_at = ev->at_ms;
    snprintf(m->scope, sizeof m->scope, "%s", s->scope);
    ret->type = RP_OP_MEMORY_SET;
    ret->u.memory.row = m;
    return 0;
  }
  if (ev->kind == RP_KIND_SESSION) {
    struct rp__json meta = rp__json_get(ev->body, "meta");
    *ret_any = rp__derive_name(s, rp__json_get(ev->body, "name"), &d->content, ret);
    if (meta.type == RP_JSON_OBJECT || meta.type == RP_JSON_NULL) {
      rp__buf_add(&d->meta, meta.p, meta.n);
      d->key = s->key;
      ret->type = RP_OP_SESSION_SET;
      ret->u.session_set.fields |= RP_SET_META;
      ret->u.session_set.edit_meta = edit_meta;
      ret->u.session_set.edit_ctx = d;
      *ret_any = true;
    }
    return d->content.err || d->meta.err ? rp__fail_nomem(err) : 0;
  }
  char *id RP_AUTOFREE = rp__json_dup(rp__json_get(ev->body, "task_id"));
  if (!id) return rp__fail_nomem(err);
  ret->type = RP_OP_TASK_PUT;
  ret->u.task_put.append_op = append_op;
  ret->u.task_put.offset = offset;
  ret->u.task_put.scope = s->scope;
  ret->u.task_put.hash = rp__task_hash(s->key, id);
  ret->u.task_put.at_ms = ev->at_ms;
  ret->u.task_put.open = rp__task_is_open(ev->body);
  return 0;
}

int rp_task_open(rp_session *s, const char *task_id, bool *ret, rp_error *err)
{
  const struct rp__key *key = NULL;
  struct rp__task_row row;
  bool known = false;
  int rc = rp__session_check(s, err);
  if (!rc && !task_id) rc = rp__fail_field(err, RP_E_USAGE, "task_id", "no task is named");
  if (!rc) rc = rp__scope_key(s->e, s->scope, &key, err);
  if (!rc) rc = s->e->store->ops->task_get(s->e->store, s->scope, rp__task_hash(key, task_id), &row, &known, err);
  if (!rc && known) *ret = row.open;
  return rc;
}
