/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the exporters share: turns, texts, indented JSON. */
#include "format/give.h"

#include "format/take.h"

static void block_text(struct rp__json block, struct rp__buf *out)
{
  struct rp__json text = rp__json_get(block, "text"), type = rp__json_get(block, "type");
  char name[32];
  if (out->n) rp__buf_char(out, '\n');
  if (text.type == RP_JSON_STRING) {
    rp__json_text(text, out);
    return;
  }
  rp__text_of(type, name, sizeof name);
  rp__buf_printf(out, "[%s]", name[0] ? name : "content");
}

void rp__content_text(struct rp__json content, struct rp__buf *out)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (content.type == RP_JSON_STRING) rp__json_text(content, out);
  if (content.type != RP_JSON_ARRAY) return;
  struct rp__buf blocks RP_AUTOBUF = RP_BUF(out->max);
  while (rp__json_next(content, &it, NULL, &item)) block_text(item, &blocks);
  if (blocks.err && !out->err) out->err = blocks.err;
  if (blocks.n) rp__buf_add(out, blocks.p, blocks.n);
}

bool rp__same_message(struct rp__json a, struct rp__json b)
{
  char role[16];
  struct rp__json id = rp__json_get(a, "message_id"), other = rp__json_get(b, "message_id");
  bool named = id.type == RP_JSON_STRING;
  if (named != (other.type == RP_JSON_STRING)) return false;
  if (named && (id.n != other.n || memcmp(id.p, other.p, id.n) != 0)) return false;
  if (rp__json_get(b, "whole").type == RP_JSON_TRUE) return false;
  if (!named && rp__json_get(a, "partial").type != RP_JSON_TRUE) return false;
  rp__text_of(rp__json_get(a, "role"), role, sizeof role);
  return rp__json_eq(rp__json_get(b, "role"), role);
}

bool rp__talk_goes_on(const struct rp__fold *state, size_t first, size_t at)
{
  if (at + 1 >= rp__conversation_count(state)) return false;
  const struct rp__message *a = rp__conversation_at(state, first), *b = rp__conversation_at(state, at + 1);
  struct rp__json id = rp__message_part(a, RP_MSG_ID), other = rp__message_part(b, RP_MSG_ID);
  struct rp__json role = rp__message_part(a, RP_MSG_ROLE), by = rp__message_part(b, RP_MSG_ROLE);
  if (id.n != other.n || (id.n && memcmp(id.p, other.p, id.n) != 0)) return false;
  if (!id.n && !a->open) return false;
  return role.n == by.n && memcmp(role.p, by.p, role.n) == 0;
}

bool rp__talk_next(const struct rp__fold *state, size_t *at, struct rp__talk_turn *turn)
{
  size_t first = *at;
  rp__buf_reset(&turn->text);
  if (first >= rp__conversation_count(state)) return false;
  const struct rp__message *m = rp__conversation_at(state, first);
  rp__text_of(rp__message_part(m, RP_MSG_ROLE), turn->role, sizeof turn->role);
  turn->at_ms = m->at_ms;
  bool more;
  do {
    rp__content_text(rp__message_part(rp__conversation_at(state, *at), RP_MSG_CONTENT), &turn->text);
    more = rp__talk_goes_on(state, first, *at);
    ++*at;
  } while (more);
  return true;
}

/* ---- events ---- */

struct whole {
  int64_t seq;
  char name[]; /* the role, a line feed and the message_id as it came */
};

struct wholes {
  struct whole **v;
  size_t n, cap;
  rp__given_fn *fn;
  void *ctx;
};

static void wholes_done(struct wholes *w)
{
  for (size_t i = 0; i < w->n; i++) free(w->v[i]);
  free(w->v);
}

/* NULL: it has no name, or there is no memory. */
static struct whole *name_message(const struct rp__event *ev)
{
  char role[16];
  struct rp__json id = rp__json_get(ev->body, "message_id");
  if (ev->kind != RP_KIND_MESSAGE || id.type != RP_JSON_STRING) return NULL;
  rp__text_of(rp__json_get(ev->body, "role"), role, sizeof role);
  struct whole *w = malloc(sizeof *w + sizeof role + id.n + 2);
  if (!w) return NULL;
  w->seq = ev->seq;
  snprintf(w->name, sizeof role + id.n + 2, "%s\n%.*s", role, (int)id.n, id.p);
  return w;
}

static int collect_whole(void *ctx, const struct rp__event *ev)
{
  struct wholes *w = ctx;
  if (ev->kind != RP_KIND_MESSAGE || rp__json_get(ev->body, "whole").type != RP_JSON_TRUE) return 0;
  struct whole *one = name_message(ev);
  if (!one) return 0; /* then it is told in pieces too */
  if (w->n == w->cap) {
    size_t cap = w->cap ? 2 * w->cap : 16;
    struct whole **v = realloc(w->v, cap * sizeof(struct whole *));
    if (!v) {
      free(one);
      return 0;
    }
    w->v = v;
    w->cap = cap;
  }
  w->v[w->n++] = one;
  return 0;
}

/* By name, the newest of a name last. */
static int compare_wholes(const void *a, const void *b)
{
  const struct whole *x = *(struct whole *const *)a, *y = *(struct whole *const *)b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->seq > y->seq) - (x->seq < y->seq);
}

static bool is_replaced(const struct wholes *w, const struct rp__event *ev)
{
  struct whole *one RP_AUTOFREE = w->n ? name_message(ev) : NULL;
  if (!one) return false;
  size_t low = 0, high = w->n;
  while (low < high) { /* the first that is newer, of that name or behind it */
    size_t mid = low + (high - low) / 2;
    if (compare_wholes(&w->v[mid], &one) <= 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low < w->n && strcmp(w->v[low]->name, one->name) == 0;
}

static int give_event(void *ctx, const struct rp__event *ev)
{
  const struct wholes *w = ctx;
  bool left_out = ev->kind == RP_KIND_MESSAGE && (rp__is_thought(ev) || is_replaced(w, ev));
  return left_out ? 0 : w->fn(w->ctx, ev);
}

int rp__give_events(const struct rp__giver *g, rp__given_fn *fn, void *ctx, rp_error *err)
{
  struct wholes w RP_CLEANUP(wholes_done) = {.fn = fn, .ctx = ctx};
  int rc = g->events(g->ctx, collect_whole, &w, err);
  if (rc) return rc;
  if (w.n) qsort(w.v, w.n, sizeof(struct whole *), compare_wholes);
  return g->events(g->ctx, give_event, &w, err);
}

int rp__give_pretty(const struct rp__giver *g, const struct rp__buf *compact, bool ascii, rp_error *err)
{
  struct rp__buf out RP_AUTOBUF = RP_BUF(2 * RP_FOREIGN_MAX);
  if (compact->err == RP_E_TOO_LARGE)
    return rp__fail(err, RP_E_TOO_LARGE, "the export is over %zu bytes", compact->max);
  if (compact->err) return rp__fail_nomem(err);
  rp__json_pretty(rp__json_trusted(compact->p, compact->n), ascii, &out);
  rp__buf_char(&out, '\n');
  return rp__give(g, &out, err);
}
