/* SPDX-License-Identifier: Apache-2.0 */
/* Tool calls of a session that have no end yet. When the agent dies, the proxy ends them for the editor. */
#include "bridge/acp/session/session.h"

void rp__tools_learn(struct rp__acp_session *s, struct rp__json update, bool begins)
{
  struct rp__json id = rp__json_get(update, "toolCallId"), status = rp__json_get(update, "status");
  const struct rp__known_call *c = rp__known_call(&s->known, rp__acp_event_hash(id));
  size_t i = 0;
  if (id.type != RP_JSON_STRING) return;
  while (i < s->n_tools && (strlen(s->tools[i]) != id.n || memcmp(s->tools[i], id.p, id.n) != 0)) i++;
  bool open = i < s->n_tools;
  /* An update may still tell something of a call that is over. */
  bool over = c && c->status && strcmp(c->status, "intended") != 0 && strcmp(c->status, "running") != 0;
  if (rp__json_eq(status, "completed") || rp__json_eq(status, "failed")) {
    if (!open) return;
    free(s->tools[i]);
    s->tools[i] = s->tools[--s->n_tools];
  } else if (begins || rp__json_eq(status, "pending") || rp__json_eq(status, "in_progress") || !over) {
    if (open || s->n_tools == RP_ACP_TOOLS || id.n > RP_ACP_SID) return;
    s->tools[s->n_tools] = strndup(id.p, id.n);
    if (s->tools[s->n_tools]) s->n_tools++;
  }
}

void rp__tools_write_failed(const struct rp__acp_session *s, size_t i, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_pack(&w, "{sessionUpdate:s toolCallId:r status:s}", "tool_call_update", s->tools[i], "failed");
}

void rp__tools_leave(struct rp__acp_session *s)
{
  if (!s->h || s->state == RP_ACP_TAKEN) return;
  for (size_t i = 0; i < s->n_tools; i++) {
    struct rp__buf update RP_AUTOBUF = RP_BUF(16 * RP_ACP_SID);
    struct rp__acp_events events RP_CLEANUP(rp__acp_events_done);
    rp__acp_events_init(&events);
    rp__tools_write_failed(s, i, &update);
    if (update.err || rp__acp_event_cut_off(&s->known, rp__json_trusted(update.p, update.n), &events, NULL)) continue;
    rp__acp_journal_put(s, &events, &s->a->to_client, (struct rp__str){0});
  }
  rp__tools_done(s);
}

void rp__tools_done(struct rp__acp_session *s)
{
  for (size_t i = 0; i < s->n_tools; i++) free(s->tools[i]);
  s->n_tools = 0;
}
