/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP (B-04): one message per POST, one JSON answer. bridge/mcp has the protocol; this file decides which
 * session a request belongs to. A client of the legacy era gets a session of its own with `initialize`, and names it in
 * MCP-Session-Id. Clients of the other era share one session per scope and client's name, which each request finds
 * again.
 */
#include "base/id.h"
#include "base/text.h"
#include "bridge/mcp/mcp.h"
#include "server/http/handle.h"
#include "server/http/mcp-clients.h"

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

static bool is_modern(const struct rp__http_call *c)
{
  const char *version = rp__request_header(c->req, VERSION_HEADER);
  return version && strcmp(version, RP_MCP_MODERN) == 0;
}

/* ---- whose session ---- */

static int on_last(void *ctx, const rp_event_info *ev)
{
  struct rp__json reason = rp__json_get(rp__json_trusted(ev->body, ev->body_len), "reason");
  *(bool *)ctx = rp__json_eq(reason, RP_MCP_END_AGAIN) || rp__json_eq(reason, RP_MCP_END_STOP);
  return 0;
}

/* Whether it was this server's doing that it ended: its client knows nothing of that, and goes on. */
static bool goes_on(const struct rp__http_call *c, const struct rp__shown *k)
{
  rp_session *s = NULL;
  bool ours = false;
  if (!k->ended_at || strcmp(k->channel, CHANNEL) != 0 || rp_attach(c->srv->engine, k->id, &s, NULL))
    return !k->ended_at;
  if (rp_events(s, k->seq - 1, 1, on_last, &ours, NULL)) ours = false;
  rp_session_detach(s);
  return ours;
}

/* By exact id. What is over, or of another scope, is not there: the client is to begin anew. */
static int find_named(const struct rp__http_call *c, const char *name, const char *scope, struct rp__shown *k,
                      rp_error *err)
{
  int rc = rp__name_ok(name) ? rp__show(c->srv->engine, name, k, err) : 0;
  if (rc && rc != RP_E_SESSION_NOT_FOUND && rc != RP_E_AMBIGUOUS) return rc;
  bool found = !rc && k->id[0] && !k->trashed_at && strcmp(k->scope, scope) == 0;
  if (found && strcmp(k->id, name) == 0 && goes_on(c, k)) return 0;
  return rp__fail_field(err, RP_E_SESSION_NOT_FOUND, SESSION_HEADER, "there is no open session of that id");
}

/* What clients without a session of their own come back to. */
static void shared_key(const struct rp__rpc *r, char ret[RP_SCOPE_MAX + 1])
{
  struct rp__json info = rp__json_get(rp__json_get(r->params, "_meta"), CLIENT_INFO);
  char *name RP_AUTOFREE = rp__json_dup(rp__json_get(info, "name"));
  char text[RP_CALL_TEXT];
  snprintf(text, sizeof text, CHANNEL "%s%s", name ? ":" : "", name ? name : "");
  rp__workspace_id(CHANNEL, text, ret);
}

/* By what a client that comes again is known: its token's name, if it has one, and its own. */
static void name_client(const struct rp__http_call *c, const struct rp__rpc *r, char ret[RP_CALL_TEXT])
{
  bool sound = r->type == RP_RPC_REQUEST && rp__json_get(r->params, "protocolVersion").type == RP_JSON_STRING;
  char *name RP_AUTOFREE = rp__json_dup(rp__json_get(rp__json_get(r->params, "clientInfo"), "name"));
  ret[0] = '\0';
  if (!sound || !name || !rp__json_eq(r->method, "initialize")) return;
  char text[RP_CALL_TEXT];
  snprintf(text, sizeof text, "%s/%s", c->who.who == RP_WHO_TOKEN ? c->who.name : "", name);
  rp__workspace_id(CHANNEL, text, ret);
}

/* Nothing is begun here: what needs a session begins or joins the one that `ref` names. */
static int find_session(const struct rp__http_call *c, struct rp__mcp *m, char client[RP_CALL_TEXT], rp_error *err)
{
  const char *name = rp__request_header(c->req, SESSION_HEADER);
  bool modern = is_modern(c);
  struct rp__shown k = {0};
  struct rp__str body = rp__request_body(c->req);
  struct rp__rpc r;
  bool named = name && !modern;
  int rc = named ? find_named(c, name, m->session.scope, &k, err) : 0;
  if (rc) return rc;
  rp__rpc_look(body.p ? body.p : "", body.n, &r);
  if (!m->session.reads_only) name_client(c, &r, client);
  rp__mcp_clients_again(c->srv->mcp, m->session.scope, client);
  if (named)
    memcpy(m->session.ref, k.id, sizeof k.id);
  else if (m->session.reads_only)
    return 0; /* the scope's last will do for looking */
  /* A key keeps a session open whose heartbeats stopped for a while, as when the server is restarted. */
  if (!named && rp__json_eq(r.method, "initialize")) {
    char uuid[RP_UUID_TEXT];
    rp__uuid7(uuid, rp__server_now(c->srv), &rp__system_random);
    snprintf(m->session.ref, sizeof m->session.ref, CHANNEL ":%s", uuid);
  } else if (!named) {
    shared_key(&r, m->session.ref);
  }
  m->stateless = !named;
  /* Whom reading is about is who lives in it; what writes begins or joins it anyway. */
  char id[RP_ID_MAX + 1];
  bool alive = false;
  if (!rp__json_eq(r.method, "resources/read") && !rp__json_eq(r.method, "prompts/get")) return 0;
  rc = rp__tool_session_resolve(&m->session, m->session.ref, id, err);
  if (!rc) rc = rp_alive(m->session.e, id, &alive, err);
  if (rc == RP_E_SESSION_NOT_FOUND) return 0;
  return rc || !alive ? rc : rp__tool_session_begin(&m->session, err);
}

static int find_scope(struct rp__http_call *c, struct rp__mcp *m, rp_error *err)
{
  char scope[RP_ID_MAX + 1];
  int rc = rp__handle_scope(c, scope, err);
  if (rc) return rc;
  rp__text_copy(m->session.scope, sizeof m->session.scope, scope[0] ? scope : "default");
  if (c->who.who == RP_WHO_TOKEN) rp__text_copy(m->session.by, sizeof m->session.by, c->who.name);
  m->session.reads_only = c->who.read_only;
  return 0;
}

/* ---- one message ---- */

int rp__handle_mcp(struct rp__http_call *c, rp_error *err)
{
  struct rp__mcp_head head = {.version = rp__request_header(c->req, VERSION_HEADER),
                              .method = rp__request_header(c->req, "Mcp-Method"),
                              .name = rp__request_header(c->req, "Mcp-Name")};
  struct rp__mcp m = {.session = {.e = c->srv->engine, .channel = CHANNEL, .owner = RP_OWNER_NONE, .remote = true},
                      .head = &head,
                      .words = words};
  struct rp__mcp_reply reply;
  char client[RP_CALL_TEXT] = "";
  int rc = find_scope(c, &m, err);
  if (!rc) rc = find_session(c, &m, client, err);
  if (rc) return rc;
  struct rp__str body = rp__request_body(c->req);
  pthread_mutex_t *lock = NULL;
  /* Of those who come at once, one begins what is not there, and the others join it. */
  if (m.session.ref[0] && !m.session.reads_only && !m.session.s) {
    char known[RP_ID_MAX + 1];
    bool alive = false;
    lock = rp__mcp_clients_lock(c->srv->mcp, m.session.scope, m.session.ref);
    if (rp__tool_session_resolve(&m.session, m.session.ref, known, NULL) != 0 ||
        rp_alive(m.session.e, known, &alive, NULL) != 0)
      alive = false;
    if (alive) pthread_mutex_unlock(RP_TAKE(lock));
  }
  rp__mcp_handle(&m, body.p ? body.p : "", body.n, &c->out, &reply);
  if (lock) pthread_mutex_unlock(lock);
  const char *id = m.session.s ? rp_session_id(m.session.s) : NULL;
  c->status = rp__mcp_status(&reply);
  if (reply.none) c->type = NULL;
  if (id && reply.initialize && !m.session.reads_only) {
    rp__registry_forget(c->srv->registry, id);
    rp__text_copy(c->header_text, sizeof c->header_text, id);
    c->header = (struct rp__header){SESSION_HEADER, c->header_text};
  }
  if (!id && m.session.ref[0] && !m.stateless) id = m.session.ref; /* named by its client, and not needed this time */
  if (id && !m.session.reads_only) rp__mcp_clients_use(c->srv->mcp, id, client[0] ? client : NULL);
  rp__tool_session_leave(&m.session);
  return 0;
}

/* ---- the end of a session ---- */

int rp__handle_mcp_end(struct rp__http_call *c, rp_error *err)
{
  const char *name = rp__request_header(c->req, SESSION_HEADER);
  struct rp__mcp m = {0};
  struct rp__shown k = {0};
  if (is_modern(c)) {
    c->header = (struct rp__header){"Allow", "POST"};
    return rp__fail(err, RP_E_METHOD, "this version of the protocol has no sessions to end");
  }
  if (!name) return rp__fail_field(err, RP_E_USAGE, SESSION_HEADER, "the header %s is missing", SESSION_HEADER);
  int rc = find_scope(c, &m, err);
  if (!rc) rc = find_named(c, name, m.session.scope, &k, err);
  /* Sessions that began elsewhere may be worked in, but are others' to end. */
  if (!rc && strcmp(k.channel, CHANNEL) != 0)
    rc = rp__fail_field(err, RP_E_SESSION_NOT_FOUND, SESSION_HEADER, "there is no session of MCP of that id");
  if (rc) return rc;
  rp_session *s;
  rc = rp_attach(c->srv->engine, k.id, &s, err);
  if (rc) return rc;
  rc = rp_end(s, "client closed", err);
  rp_session_detach(s);
  if (rc) return rc;
  rp__mcp_clients_leave(c->srv->mcp, k.id);
  rp__registry_forget(c->srv->registry, k.id);
  c->status = 204;
  c->type = NULL;
  return 0;
}
