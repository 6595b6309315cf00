/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP (B-04): one message per POST, one JSON answer. The protocol is bridge/mcp's; here is whose memory it is
 * about. A client of the legacy era gets a session of its own with `initialize` and names it in MCP-Session-Id; others
 * share one per scope and client's name, which each request finds again.
 */
#include "base/id.h"
#include "base/text.h"
#include "bridge/mcp/mcp.h"
#include "server/handle.h"
#include "server/mcp-seats.h"

#define CHANNEL "mcp"
#define SESSION_HEADER "MCP-Session-Id"
#define VERSION_HEADER "MCP-Protocol-Version"
#define CLIENT_INFO "io.modelcontextprotocol/clientInfo"

static void words(const rp_error *err, char ret[RP_MCP_WORDS])
{
  char text[RP_PROBLEM_TEXT];
  rp__problem_text(err, text);
  rp__text_copy(ret, RP_MCP_WORDS, text);
}

static bool is_modern(const struct rp__call *c)
{
  const char *version = rp__request_header(c->req, VERSION_HEADER);
  return version && strcmp(version, RP_MCP_MODERN) == 0;
}

/* ---- whose session ---- */

struct known {
  const char *scope;
  bool found, is_mcp, ended;
  int64_t seq;
  char id[RP_ID_MAX + 1];
};

static int on_known(void *ctx, const rp_session_info *info)
{
  struct known *k = ctx;
  k->found = !info->trashed_at && strcmp(info->scope, k->scope) == 0;
  k->ended = info->ended_at != 0;
  k->seq = info->seq;
  k->is_mcp = info->channel && strcmp(info->channel, CHANNEL) == 0;
  rp__text_copy(k->id, sizeof k->id, info->id);
  return 0;
}

static int on_last(void *ctx, const rp_event_info *ev)
{
  struct rp__json reason = rp__json_get(rp__json_trusted(ev->body, ev->body_len), "reason");
  *(bool *)ctx = rp__json_eq(reason, RP_MCP_END_AGAIN) || rp__json_eq(reason, RP_MCP_END_STOP);
  return 0;
}

/* Whether it was this server's doing that it ended: its client knows nothing of that, and goes on. */
static bool goes_on(const struct rp__call *c, const struct known *k)
{
  rp_session *s = NULL;
  bool ours = false;
  if (!k->ended || !k->is_mcp || rp_attach(c->srv->engine, k->id, &s, NULL)) return !k->ended;
  if (rp_events(s, k->seq - 1, 1, on_last, &ours, NULL)) ours = false;
  rp_session_detach(s);
  return ours;
}

/* By exact id. What is over, or of another scope, is not there: the client is to begin anew. */
static int find_named(const struct rp__call *c, const char *name, struct known *k, rp_error *err)
{
  int rc = rp__name_ok(name) ? rp_show(c->srv->engine, name, on_known, k, err) : 0;
  if (rc && rc != RP_E_SESSION_NOT_FOUND && rc != RP_E_AMBIGUOUS) return rc;
  k->found = !rc && k->found && strcmp(k->id, name) == 0 && goes_on(c, k);
  if (k->found) return 0;
  return rp__fail_field(err, RP_E_SESSION_NOT_FOUND, SESSION_HEADER, "there is no open session of that id");
}

/* What clients without a session of their own come back to. */
static void shared_key(const struct rp__rpc *r, char ret[RP_SCOPE_MAX + 1])
{
  struct rp__json info = rp__json_get(rp__json_get(r->params, "_meta"), CLIENT_INFO);
  char *name RP_AUTOFREE = rp__json_dup(rp__json_get(info, "name"));
  char text[RP_CALL_TEXT];
  snprintf(text, sizeof text, CHANNEL "%s%s", name ? ":" : "", name ? name : "");
  rp__place_id(CHANNEL, text, ret);
}

/* A key keeps a session open whose heartbeats stopped for a while, as when the server is restarted. */
static void own_key(const struct rp__call *c, char ret[RP_SCOPE_MAX + 1])
{
  char uuid[RP_UUID_TEXT];
  rp__uuid7(uuid, rp__server_now(c->srv), &rp__system_random);
  snprintf(ret, RP_SCOPE_MAX + 1, CHANNEL ":%s", uuid);
}

/* Whom reading is about is who lives in it; what writes begins or joins it anyway. */
static int join_living(struct rp__mcp *m, const struct rp__rpc *r, rp_error *err)
{
  char id[RP_ID_MAX + 1];
  bool alive = false;
  if (!rp__json_eq(r->method, "resources/read") && !rp__json_eq(r->method, "prompts/get")) return 0;
  int rc = rp__mind_resolve(&m->mind, m->mind.ref, id, err);
  if (!rc) rc = rp_alive(m->mind.e, id, &alive, err);
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  return rc || !alive ? rc : rp__mind_begin(&m->mind, err);
}

/* By what a client that comes again is known: its token's name, if it has one, and its own. */
static void name_client(const struct rp__call *c, const struct rp__rpc *r, char ret[RP_CALL_TEXT])
{
  bool sound = r->type == RP_RPC_REQUEST && rp__json_get(r->params, "protocolVersion").type == RP_JSON_STRING;
  char *name RP_AUTOFREE = rp__json_dup(rp__json_get(rp__json_get(r->params, "clientInfo"), "name"));
  ret[0] = '\0';
  if (!sound || !name || !rp__json_eq(r->method, "initialize")) return;
  char text[RP_CALL_TEXT];
  snprintf(text, sizeof text, "%s/%s", c->who.who == RP_WHO_TOKEN ? c->who.name : "", name);
  rp__place_id(CHANNEL, text, ret);
}

/* Nothing is begun here: what needs a session begins or joins the one that `ref` names. */
static int find_session(const struct rp__call *c, struct rp__mcp *m, char client[RP_CALL_TEXT], rp_error *err)
{
  const char *name = rp__request_header(c->req, SESSION_HEADER);
  bool modern = is_modern(c);
  struct known k = {.scope = m->mind.scope};
  struct rp__str body = rp__request_body(c->req);
  struct rp__rpc r;
  int rc = name && !modern ? find_named(c, name, &k, err) : 0;
  if (rc) return rc;
  rp__rpc_look(body.p ? body.p : "", body.n, &r);
  if (!m->mind.reads_only) name_client(c, &r, client);
  rp__mcp_seats_again(c->srv->mcp, m->mind.scope, client);
  if (k.found)
    memcpy(m->mind.ref, k.id, sizeof k.id);
  else if (m->mind.reads_only)
    return 0; /* the scope's last will do for looking */
  else if (rp__json_eq(r.method, "initialize"))
    own_key(c, m->mind.ref);
  else
    shared_key(&r, m->mind.ref);
  m->stateless = !k.found;
  return join_living(m, &r, err);
}

static int find_scope(struct rp__call *c, struct rp__mcp *m, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  int rc = rp__handle_scope(c, scope, err);
  if (rc) return rc;
  rp__text_copy(m->mind.scope, sizeof m->mind.scope, scope[0] ? scope : "default");
  if (c->who.who == RP_WHO_TOKEN) rp__text_copy(m->mind.by, sizeof m->mind.by, c->who.name);
  m->mind.reads_only = c->who.read_only;
  return 0;
}

/* ---- one message ---- */

static void finish(struct rp__call *c, struct rp__mcp *m, const struct rp__mcp_reply *reply, const char *client)
{
  const char *id = m->mind.s ? rp_session_id(m->mind.s) : NULL;
  c->status = rp__mcp_status(reply);
  if (reply->none) c->type = NULL;
  if (id && reply->initialize && !m->mind.reads_only) {
    rp__registry_forget(c->srv->registry, id);
    rp__text_copy(c->header_text, sizeof c->header_text, id);
    c->header = (struct rp__header){SESSION_HEADER, c->header_text};
  }
  if (!id && m->mind.ref[0] && !m->stateless) id = m->mind.ref; /* named by its client, and not needed this time */
  if (id && !m->mind.reads_only) rp__mcp_seats_use(c->srv->mcp, id, client[0] ? client : NULL);
}

/* Of those who come at once, one begins what is not there, and the others join it. */
static void handle(struct rp__call *c, struct rp__mcp *m, struct rp__mcp_reply *ret)
{
  struct rp__str body = rp__request_body(c->req);
  pthread_mutex_t *lock = NULL;
  char id[RP_ID_MAX + 1];
  bool alive = false;
  if (m->mind.ref[0] && !m->mind.reads_only && !m->mind.s) {
    lock = rp__mcp_seats_lock(c->srv->mcp, m->mind.scope, m->mind.ref);
    if (rp__mind_resolve(&m->mind, m->mind.ref, id, NULL) == 0) rp_alive(m->mind.e, id, &alive, NULL);
    if (alive) pthread_mutex_unlock(RP_TAKE(lock));
  }
  rp__mcp_handle(m, body.p ? body.p : "", body.n, &c->out, ret);
  if (lock) pthread_mutex_unlock(lock);
}

int rp__handle_mcp(struct rp__call *c, rp_error *err)
{
  struct rp__mcp_head head = {.version = rp__request_header(c->req, VERSION_HEADER),
                              .method = rp__request_header(c->req, "Mcp-Method"),
                              .name = rp__request_header(c->req, "Mcp-Name")};
  struct rp__mcp m = {.mind = {.e = c->srv->engine, .channel = CHANNEL, .owner = RP_OWNER_NONE, .remote = true},
                      .head = &head,
                      .words = words};
  struct rp__mcp_reply reply;
  char client[RP_CALL_TEXT] = "";
  int rc = find_scope(c, &m, err);
  if (!rc) rc = find_session(c, &m, client, err);
  if (rc) return rc;
  handle(c, &m, &reply);
  finish(c, &m, &reply, client);
  rp__mind_leave(&m.mind);
  return 0;
}

/* ---- the end of a session ---- */

static int end_session(const struct rp__call *c, const char *id, rp_error *err)
{
  rp_session *s;
  int rc = rp_attach(c->srv->engine, id, &s, err);
  if (rc) return rc;
  rc = rp__handle_wrote(c, rp_end(s, "client closed", err), err);
  rp_session_detach(s);
  return rc;
}

int rp__handle_mcp_end(struct rp__call *c, rp_error *err)
{
  const char *name = rp__request_header(c->req, SESSION_HEADER);
  struct rp__mcp m = {0};
  struct known k = {.scope = m.mind.scope};
  if (is_modern(c)) {
    c->header = (struct rp__header){"Allow", "POST"};
    return rp__fail(err, RP_E_METHOD, "this version of the protocol has no sessions to end");
  }
  if (!name) return rp__fail_field(err, RP_E_USAGE, SESSION_HEADER, "the header %s is missing", SESSION_HEADER);
  int rc = find_scope(c, &m, err);
  if (!rc) rc = find_named(c, name, &k, err);
  /* Sessions that began elsewhere may be worked in, but are others' to end. */
  if (!rc && !k.is_mcp)
    rc = rp__fail_field(err, RP_E_SESSION_NOT_FOUND, SESSION_HEADER, "there is no session of MCP of that id");
  if (!rc) rc = end_session(c, k.id, err);
  if (rc) return rc;
  rp__mcp_seats_leave(c->srv->mcp, k.id);
  rp__registry_forget(c->srv->registry, k.id);
  c->status = 204;
  c->type = NULL;
  return 0;
}
