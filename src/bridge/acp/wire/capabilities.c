/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to `initialize`: what the agent supports, and what the editor is told that the proxy supports. */
#include "bridge/acp/session/session.h"

#define PROTOCOL 1
#define DRAFT 2

void rp__acp_on_initialize(struct rp__acp *a, const struct rp__msg *m)
{
  struct rp__json caps = rp__json_get(rp__json_get(m->r.params, "clientCapabilities"), "session");
  a->notices = rp__json_get(caps, "notices").type == RP_JSON_OBJECT;
  a->compaction = rp__json_get(caps, "compaction").type == RP_JSON_OBJECT;
  rp__acp_keep(&a->initialize, m->r.params);
  rp__acp_pass(a, m, RP_CALL_INITIALIZE, NULL);
}

static bool has(struct rp__json caps, const char *name)
{
  struct rp__json v = rp__json_get(caps, name);
  return v.type == RP_JSON_OBJECT || v.type == RP_JSON_TRUE;
}

static void read_text(struct rp__json v, char *out, size_t max)
{
  char *text RP_AUTOFREE = rp__json_dup(v);
  snprintf(out, max, "%s", text ? text : "");
}

void rp__acp_read_caps(struct rp__acp *a, struct rp__json result)
{
  struct rp__json caps = rp__json_get(result, "agentCapabilities"),
                  sessions = rp__json_get(caps, "sessionCapabilities");
  int64_t version = PROTOCOL;
  rp__json_i64(rp__json_get(result, "protocolVersion"), &version);
  a->transparent = version != PROTOCOL;
  a->draft = version == DRAFT;
  struct rp__json info = rp__json_get(result, a->draft ? "info" : "agentInfo");
  a->caps = (struct rp__agent_caps){
      .load = has(caps, "loadSession"),
      .resume = has(sessions, "resume"),
      .list = has(sessions, "list"),
      .close = has(sessions, "close"),
      .remove = has(sessions, "delete"),
      .fork = has(sessions, "fork"),
  };
  if (a->draft)
    a->caps = (struct rp__agent_caps){.resume = rp__json_get(rp__json_get(result, "capabilities"), "session").type ==
                                                RP_JSON_OBJECT};
  read_text(rp__json_get(info, "name"), a->caps.name, sizeof a->caps.name);
  read_text(rp__json_get(info, "version"), a->caps.version, sizeof a->caps.version);
  a->known = true;
}

/* The merge: nothing of the agent's is dropped, what we do ourselves is added. */
static void write_caps(struct rp__buf *out, struct rp__json caps)
{
  static const char *const ours[] = {"list", "resume", "close", "delete"};
  struct rp__json sessions = rp__json_get(caps, "sessionCapabilities"), key, value;
  struct rp__jw w = RP_JW(out);
  struct rp__json_iter it = {0}, in = {0}, at = {0};
  rp__jw_object(&w);
  while (rp__json_next(caps, &it, &key, &value)) {
    if (rp__json_eq(key, "loadSession") || rp__json_eq(key, "sessionCapabilities") || rp__json_eq(key, "_meta"))
      continue;
    rp__acp_copy_member(&w, key, value);
  }
  rp__jw_pack(&w, "loadSession:b sessionCapabilities:{", true);
  while (rp__json_next(sessions, &in, &key, &value)) {
    bool mine = false;
    for (size_t i = 0; i < RP_ARRAY_SIZE(ours); i++) mine |= rp__json_eq(key, ours[i]);
    if (!mine || value.type == RP_JSON_OBJECT) rp__acp_copy_member(&w, key, value);
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(ours); i++) {
    if (rp__json_get(sessions, ours[i]).type == RP_JSON_OBJECT) continue;
    rp__jw_key(&w, ours[i]);
    rp__jw_pack(&w, "{}");
  }
  rp__jw_pack(&w, "} _meta:{");
  while (rp__json_next(rp__json_get(caps, "_meta"), &at, &key, &value))
    if (!rp__json_eq(key, "reprise")) rp__acp_copy_member(&w, key, value);
  rp__jw_pack(&w, "reprise:{version:s}}}", rp_version());
}

void rp__acp_initialized(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m)
{
  struct rp__buf caps RP_AUTOBUF = RP_BUF(RP_ACP_LINE), out RP_AUTOBUF = RP_BUF(RP_ACP_LINE);
  bool good = m->r.type == RP_RPC_RESULT && m->r.result.type == RP_JSON_OBJECT;
  (void)c;
  if (good) rp__acp_read_caps(a, m->r.result);
  if (good && a->draft)
    rp__draft_warn(a);
  else if (good && a->transparent)
    rp__acp_warn(a, "the agent speaks a version of the protocol that is not known here: nothing is recorded");
  if (!good || a->transparent) {
    rp__acp_forward(a, RP_ACP_CLIENT, m->line);
    return;
  }
  /* The answer with the merged capabilities; all other bytes are the agent's. */
  struct rp__json was = rp__json_get(m->r.result, "agentCapabilities");
  struct rp__edit e = {.at = was.p, .n = was.n};
  if (!was.type) { /* a new last member */
    e = (struct rp__edit){.at = m->r.result.p + m->r.result.n - 1};
    rp__buf_str(&caps, rp__json_count(m->r.result) ? ",\"agentCapabilities\":" : "\"agentCapabilities\":");
  }
  write_caps(&caps, was);
  e.with = (struct rp__str){caps.p, caps.n};
  if (!caps.err) rp__edit_line(&out, m->text, &e, 1);
  if (caps.err) out.err = caps.err;
  rp__acp_send(a, RP_ACP_CLIENT, &out);
}

/* ---- the agent's name for people: of "@scope/name" and "name@version", as packages are called, the name ---- */

void rp__agent_name(const char *name, char ret[RP_ACP_NAME])
{
  const char *slash = name[0] == '@' ? strchr(name, '/') : NULL;
  if (slash && slash[1]) name = slash + 1;
  size_t n = name[0] ? 1 + strcspn(name + 1, "@") : 0;
  snprintf(ret, RP_ACP_NAME, "%.*s", (int)n, name);
}

void rp__agent_title(const struct rp__acp *a, char ret[RP_ACP_NAME + 16])
{
  char name[RP_ACP_NAME];
  rp__agent_name(a->caps.name, name);
  snprintf(ret, RP_ACP_NAME + 16, "%s%s", name[0] ? "agent " : "agent", name);
}
