/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages: members that occur twice in an object (readers take the last one, and so does the journal), copies, and the
 * few places where the proxy changes a peer's bytes, such as a session id that the other side knows by another name.
 */
#include "bridge/acp/wire/wire.h"

#include "bridge/acp/session/event.h"

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

static void copy_object(struct once *o, struct rp__json object)
{
  size_t n = rp__json_count(object);
  bool first = true;
  struct rp__json_iter it = {0};
  struct member *m RP_AUTOFREE = n && n <= o->left ? calloc(n, sizeof *m) : NULL;
  if (n && !m) {
    o->out->err = n > o->left ? RP_E_TOO_LARGE : RP_E_NOMEM;
    return;
  }
  o->left -= n;
  for (size_t i = 0; i < n && rp__json_next(object, &it, &m[i].key, &m[i].value); i++)
    m[i].hash = rp__acp_event_hash((struct rp__json){m[i].key.p - 1, m[i].key.n + 2, RP_JSON_STRING});
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

/* As deep as what was checked: RP_JSON_DEPTH_LIMIT. */
static void copy(struct once *o, struct rp__json v)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (o->out->err) return;
  if (v.type == RP_JSON_OBJECT) {
    copy_object(o, v);
  } else if (v.type == RP_JSON_ARRAY) {
    rp__buf_char(o->out, '[');
    for (bool first = true; !o->out->err && rp__json_next(v, &it, NULL, &item); first = false) {
      if (!first) rp__buf_char(o->out, ',');
      copy(o, item);
    }
    rp__buf_char(o->out, ']');
  } else {
    rp__buf_add(o->out, v.p, v.n);
  }
}

void rp__msg_single_members(struct rp__msg *m, struct rp__buf *room)
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

/* ---- what changes ---- */

void rp__edit_line(struct rp__buf *out, struct rp__str line, const struct rp__edit *e, size_t n)
{
  const char *from = line.p, *end = line.p + line.n;
  for (size_t i = 0; i < n; i++) {
    rp__buf_add(out, from, (size_t)(e[i].at - from));
    rp__buf_add(out, e[i].with.p, e[i].with.n);
    from = e[i].at + e[i].n;
  }
  rp__buf_add(out, from, (size_t)(end - from));
}

struct rp__str rp__acp_map(const struct rp__msg *m, const char *from, const char *to, struct rp__buf *room)
{
  struct rp__json sid = rp__json_get(m->r.params, "sessionId");
  struct rp__buf name RP_AUTOBUF = RP_BUF(8 * RP_ACP_SID);
  if (!from || !to || strcmp(from, to) == 0 || !rp__json_eq(sid, from)) return m->line;
  struct rp__jw w = RP_JW(&name);
  rp__jw_str(&w, to);
  rp__rpc_splice(room, m->text, sid, (struct rp__str){name.p, name.n});
  return name.err ? (struct rp__str){0} : rp__acp_written(room);
}

struct rp__json rp__acp_raw(const char *json)
{
  return json ? rp__json_trusted(json, strlen(json)) : (struct rp__json){0};
}

void rp__acp_keep(char **slot, struct rp__json value)
{
  char *copy = value.type && value.n <= RP_ACP_KEEP ? strndup(value.p, value.n) : NULL;
  if (!copy) return;
  free(*slot);
  *slot = copy;
}
