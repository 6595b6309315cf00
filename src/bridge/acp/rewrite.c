/* SPDX-License-Identifier: Apache-2.0 */
/* The few places where a peer's bytes change: a session id that the other side knows by another name. */
#include "bridge/acp/impl.h"
#include "json/text.h"

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
  if (name.err || room->err) return (struct rp__str){0};
  return (struct rp__str){room->p, room->n};
}

void rp__acp_copy_member(struct rp__jw *w, struct rp__json key, struct rp__json value)
{
  if (!key.type) return;               /* a peer sent an array where an object belongs */
  rp__jw_raw(w, key.p - 1, key.n + 2); /* with its quotes: a name is not written anew either */
  rp__buf_char(w->out, ':');
  w->after_key = true;
  rp__jw_value(w, value);
}

/* A request's params for another request: all of their members, with another session's id or none. */
void rp__acp_write_params(struct rp__jw *w, struct rp__json params, const char *sid, bool servers)
{
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__jw_object(w);
  if (sid) rp__jw_kstr(w, "sessionId", sid);
  while (rp__json_next(params, &it, &key, &value)) {
    if (rp__json_eq(key, "sessionId") || rp__json_eq(key, "replayFrom")) continue; /* a replay was the editor's wish */
    if (rp__json_eq(key, "mcpServers")) servers = false;
    rp__acp_copy_member(w, key, value);
  }
  if (servers) {
    rp__jw_key(w, "mcpServers");
    rp__jw_array(w);
    rp__jw_end_array(w);
  }
  rp__jw_end_object(w);
}

static int surrogate(const char *at, const char *end)
{
  int u = end - at >= 6 && at[0] == '\\' && at[1] == 'u' ? rp__json_hex4(at + 2) : -1;
  return u >= 0 && (u & 0xf800) == 0xd800 ? u : -1;
}

/* They passed as they came; but many readers refuse them, and what is told again must be taken by all. */
void rp__acp_mend_halves(struct rp__buf *line)
{
  char *end = line->p + line->n;
  for (char *p = line->n ? memchr(line->p, '\\', line->n) : NULL; p; p = memchr(p, '\\', (size_t)(end - p))) {
    int u = surrogate(p, end), next = u >= 0 && u < 0xdc00 ? surrogate(p + 6, end) : -1;
    bool pair = next >= 0xdc00;
    if (u >= 0 && !pair) memcpy(p + 2, "fffd", 4);
    p += RP_MIN(pair ? 12 : u >= 0 ? 6 : 2, end - p);
  }
}
