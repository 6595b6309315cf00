/* SPDX-License-Identifier: Apache-2.0 */
/* Tool calls of a session that have no end yet: when the agent dies, the editor must see one. */
#include "bridge/acp/impl.h"
#include "bridge/acp/note-impl.h"

static void open_tool(struct rp__acp_session *s, struct rp__json id)
{
  if (s->n_tools == RP_ACP_TOOLS || id.n > RP_ACP_SID) return;
  for (size_t i = 0; i < s->n_tools; i++)
    if (strlen(s->tools[i]) == id.n && memcmp(s->tools[i], id.p, id.n) == 0) return;
  s->tools[s->n_tools] = strndup(id.p, id.n);
  if (s->tools[s->n_tools]) s->n_tools++;
}

static void close_tool(struct rp__acp_session *s, struct rp__json id)
{
  for (size_t i = 0; i < s->n_tools; i++) {
    if (strlen(s->tools[i]) != id.n || memcmp(s->tools[i], id.p, id.n) != 0) continue;
    free(s->tools[i]);
    s->tools[i] = s->tools[--s->n_tools];
    return;
  }
}

/* An update may still tell something of a call that is over. */
static bool is_over(struct rp__acp_session *s, struct rp__json id)
{
  const struct rp__book_call *c = rp__book_call(&s->book, rp__note_hash(id));
  return c && c->status && strcmp(c->status, "intended") != 0 && strcmp(c->status, "running") != 0;
}

void rp__tools_learn(struct rp__acp_session *s, struct rp__json update, bool begins)
{
  struct rp__json id = rp__json_get(update, "toolCallId"), status = rp__json_get(update, "status");
  if (id.type != RP_JSON_STRING) return;
  if (rp__json_eq(status, "completed") || rp__json_eq(status, "failed"))
    close_tool(s, id);
  else if (begins || rp__json_eq(status, "pending") || rp__json_eq(status, "in_progress") || !is_over(s, id))
    open_tool(s, id);
}

void rp__tools_write_failed(const struct rp__acp_session *s, size_t i, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", "tool_call_update");
  rp__jw_key(&w, "toolCallId");
  rp__jw_raw(&w, s->tools[i], strlen(s->tools[i]));
  rp__jw_kstr(&w, "status", "failed");
  rp__jw_end_object(&w);
}

void rp__tools_leave(struct rp__acp_session *s)
{
  if (!s->h || s->state == RP_ACP_TAKEN) return;
  for (size_t i = 0; i < s->n_tools; i++) {
    struct rp__buf update RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
    struct rp__notes notes RP_CLEANUP(rp__notes_done);
    rp__notes_init(&notes);
    rp__tools_write_failed(s, i, &update);
    if (update.err || rp__note_cut_off(&s->book, rp__json_trusted(update.p, update.n), &notes, NULL)) continue;
    rp__store_put(s, &notes, &s->a->to_client, (struct rp__str){0});
  }
  rp__tools_done(s);
}

void rp__tools_done(struct rp__acp_session *s)
{
  for (size_t i = 0; i < s->n_tools; i++) free(s->tools[i]);
  s->n_tools = 0;
}
