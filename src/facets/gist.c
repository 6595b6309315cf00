/* SPDX-License-Identifier: Apache-2.0 */
#include "facets/gist.h"

#include "facets/merge.h"
#include "json/text.h"

#define TOPICS_MAX 32
#define TOPICS_READ 128 /* of one event */
#define TOPIC_RAW_MAX 256
#define TOPICS_BYTES ((size_t)TOPICS_MAX * (TOPIC_RAW_MAX + 1) + 2)
#define INTENT_RAW_MAX ((size_t)2048)
#define CONTEXT_MAX ((size_t)8 * 1024)
_Static_assert(TOPICS_BYTES + INTENT_RAW_MAX + CONTEXT_MAX + 64 <= RP_GIST_BYTES, "the bounds add up");

struct topics {
  struct rp__json v[TOPICS_MAX];
  size_t n;
};

void rp__gist_done(struct rp__gist *g)
{
  rp__buf_done(&g->topics);
  rp__buf_done(&g->intent);
  rp__buf_done(&g->context);
}

bool rp__gist_empty(const struct rp__gist *g)
{
  return g->topics.n == 0 && g->intent.n == 0 && g->context.n == 0;
}

/* A copy, made before the old one goes. */
static int set_value(struct rp__buf *b, struct rp__json v)
{
  struct rp__buf copy = RP_BUF(v.n);
  rp__buf_add(&copy, v.p, v.n);
  if (copy.err) return copy.err;
  rp__buf_done(b);
  *b = copy;
  return 0;
}

static bool topic_ok(struct rp__json v)
{
  return v.type == RP_JSON_STRING && v.n > 2 && v.n <= TOPIC_RAW_MAX;
}

static void drop_topic(struct topics *t, size_t i)
{
  t->n--;
  memmove(&t->v[i], &t->v[i + 1], (t->n - i) * sizeof t->v[0]);
}

static void add_topic(struct topics *t, struct rp__json v)
{
  for (size_t i = 0; i < t->n; i++) {
    struct rp__str a = {t->v[i].p, t->v[i].n}, b = {v.p, v.n};
    if (rp__json_text_cmp(a, b) != 0) continue;
    drop_topic(t, i);
    break;
  }
  if (t->n == TOPICS_MAX) drop_topic(t, 0);
  t->v[t->n++] = v;
}

static void add_topics(struct topics *t, struct rp__json from)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (from.type != RP_JSON_ARRAY) return;
  for (size_t i = 0; i < TOPICS_READ && rp__json_next(from, &it, NULL, &item); i++) {
    if (topic_ok(item)) add_topic(t, item);
  }
}

static int merge_topics(struct rp__gist *g, struct rp__json told)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(TOPICS_BYTES);
  struct topics t = {.n = 0};
  add_topics(&t, rp__json_trusted(g->topics.p, g->topics.n));
  add_topics(&t, told);
  if (t.n == 0) return 0;
  struct rp__jw w = RP_JW(&out);
  rp__jw_array(&w);
  for (size_t i = 0; i < t.n; i++) rp__jw_value(&w, t.v[i]);
  rp__jw_end_array(&w);
  return out.err ? out.err : set_value(&g->topics, rp__json_trusted(out.p, out.n));
}

static int merge_context(struct rp__gist *g, struct rp__json told)
{
  struct rp__json have = rp__json_trusted(g->context.p, g->context.n);
  bool ok;
  if (told.type == RP_JSON_NONE || told.type == RP_JSON_NULL) return 0;
  if (have.type != RP_JSON_OBJECT || told.type != RP_JSON_OBJECT)
    return told.n <= CONTEXT_MAX ? set_value(&g->context, told) : 0;
  struct rp__object both = {0};
  int rc = rp__object_load(&both, have, CONTEXT_MAX, &ok);
  if (rc == 0) rc = rp__object_merge(&both, told, NULL, CONTEXT_MAX);
  if (rc == 0) rc = set_value(&g->context, rp__object_json(&both));
  rp__object_done(&both);
  return rc;
}

int rp__gist_merge(struct rp__gist *g, struct rp__json body)
{
  struct rp__json intent = rp__json_get(body, "intent");
  int rc = merge_topics(g, rp__json_get(body, "topics"));
  if (rc == 0 && intent.type == RP_JSON_STRING && intent.n <= INTENT_RAW_MAX) rc = set_value(&g->intent, intent);
  return rc ? rc : merge_context(g, rp__json_get(body, "context"));
}

static void write_member(struct rp__jw *w, const char *name, const struct rp__buf *b, const char *otherwise)
{
  rp__jw_key(w, name);
  rp__jw_raw(w, b->n ? b->p : otherwise, b->n ? b->n : strlen(otherwise));
}

void rp__gist_write(const struct rp__gist *g, struct rp__jw *w)
{
  rp__jw_object(w);
  write_member(w, "topics", &g->topics, "[]");
  write_member(w, "intent", &g->intent, "null");
  write_member(w, "context", &g->context, "null");
  rp__jw_end_object(w);
}

static bool topics_ok(struct rp__json v)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  size_t n = 0;
  while (rp__json_next(v, &it, NULL, &item)) {
    if (!topic_ok(item) || ++n > TOPICS_MAX) return false;
  }
  return v.type == RP_JSON_ARRAY && v.n <= TOPICS_BYTES;
}

int rp__gist_load(struct rp__gist *g, struct rp__json v, bool *ret_ok)
{
  struct rp__json topics = rp__json_get(v, "topics"), intent = rp__json_get(v, "intent");
  struct rp__json context = rp__json_get(v, "context");
  bool intent_ok = intent.type == RP_JSON_NULL || (intent.type == RP_JSON_STRING && intent.n <= INTENT_RAW_MAX);
  *ret_ok = topics_ok(topics) && intent_ok && context.type != RP_JSON_NONE && context.n <= CONTEXT_MAX;
  if (!*ret_ok) return 0;
  int rc = rp__json_count(topics) ? set_value(&g->topics, topics) : 0;
  if (rc == 0 && intent.type != RP_JSON_NULL) rc = set_value(&g->intent, intent);
  if (rc == 0 && context.type != RP_JSON_NULL) rc = set_value(&g->context, context);
  return rc;
}
