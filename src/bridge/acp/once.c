/* SPDX-License-Identifier: Apache-2.0 */
/* Members that stand twice in an object: readers take the last one, and so must whatever is told later. */
#include "bridge/acp/impl.h"
#include "bridge/acp/note-impl.h"

#define MEMBERS_MAX ((size_t)1 << 20) /* of one message that are looked at */

struct member {
  uint64_t hash;
  struct rp__json key, value;
};

struct once {
  struct rp__buf *out;
  size_t left;
};

static void copy(struct once *o, struct rp__json v);

static int by_name(const void *x, const void *y)
{
  const struct member *a = x, *b = y;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return a->key.p < b->key.p ? -1 : 1;
}

static int by_place(const void *x, const void *y)
{
  const struct member *a = x, *b = y;
  return a->key.p < b->key.p ? -1 : 1;
}

static struct member *read_members(struct rp__json object, size_t n)
{
  struct rp__json_iter it = {0};
  struct member *m = calloc(n, sizeof *m);
  for (size_t i = 0; m && i < n && rp__json_next(object, &it, &m[i].key, &m[i].value); i++) {
    struct rp__json name = {m[i].key.p - 1, m[i].key.n + 2, RP_JSON_STRING};
    m[i].hash = rp__note_hash(name);
  }
  return m;
}

static void copy_object(struct once *o, struct rp__json object)
{
  size_t n = rp__json_count(object);
  bool first = true;
  struct member *m RP_AUTOFREE = n && n <= o->left ? read_members(object, n) : NULL;
  if (n && !m) {
    o->out->err = n > o->left ? RP_E_TOO_LARGE : RP_E_NOMEM;
    return;
  }
  o->left -= n;
  if (n) qsort(m, n, sizeof *m, by_name);
  for (size_t i = 0; i + 1 < n; i++)
    if (m[i].hash == m[i + 1].hash) m[i].value.type = RP_JSON_NONE;
  if (n) qsort(m, n, sizeof *m, by_place);
  rp__buf_char(o->out, '{');
  for (size_t i = 0; i < n; i++) {
    if (!m[i].value.type) continue;
    if (!first) rp__buf_char(o->out, ',');
    first = false;
    rp__buf_add(o->out, m[i].key.p - 1, m[i].key.n + 2);
    rp__buf_char(o->out, ':');
    copy(o, m[i].value);
  }
  rp__buf_char(o->out, '}');
}

static void copy_array(struct once *o, struct rp__json array)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  rp__buf_char(o->out, '[');
  for (bool first = true; !o->out->err && rp__json_next(array, &it, NULL, &v); first = false) {
    if (!first) rp__buf_char(o->out, ',');
    copy(o, v);
  }
  rp__buf_char(o->out, ']');
}

/* As deep as what was checked: RP_JSON_DEPTH_LIMIT. */
static void copy(struct once *o, struct rp__json v)
{
  if (o->out->err) return;
  if (v.type == RP_JSON_OBJECT)
    copy_object(o, v);
  else if (v.type == RP_JSON_ARRAY)
    copy_array(o, v);
  else
    rp__buf_add(o->out, v.p, v.n);
}

void rp__msg_once(struct rp__msg *m, struct rp__buf *room)
{
  struct rp__json_limits limits = {.max_depth = RP_JSON_DEPTH_LIMIT};
  struct once o = {room, MEMBERS_MAX};
  struct rp__json v;
  if (m->r.odd != RP_RPC_ODD || m->r.type == RP_RPC_BROKEN) return;
  if (rp__json_parse(m->line.p, m->line.n, &limits, &v, NULL) == 0) return; /* it is only deep */
  copy(&o, rp__json_trusted(m->line.p, m->line.n));
  if (room->err) return; /* the first ones count, and the bytes go as they came all the same */
  m->text = (struct rp__str){room->p, room->n};
  rp__rpc_route(m->text.p, m->text.n, &m->r);
}

size_t rp__msg_size(const struct rp__msg *m)
{
  return m->line.n + 1 + (m->text.p != m->line.p ? m->text.n + 1 : 0);
}

void rp__msg_copy(const struct rp__msg *m, char *room, struct rp__msg *ret)
{
  memcpy(room, m->line.p, m->line.n);
  room[m->line.n] = '\0';
  ret->line = ret->text = (struct rp__str){room, m->line.n};
  if (m->text.p != m->line.p) {
    room += m->line.n + 1;
    memcpy(room, m->text.p, m->text.n);
    room[m->text.n] = '\0';
    ret->text = (struct rp__str){room, m->text.n};
  }
  rp__rpc_route(ret->text.p, ret->text.n, &ret->r);
}
