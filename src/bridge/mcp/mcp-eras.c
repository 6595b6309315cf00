/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two eras of the protocol: how a conversation begins in each (the server's name and capabilities, and the one text
 * about earlier sessions, N-05), which members each request must have, and the HTTP headers that repeat them.
 */
#include <sodium.h>

#include "base/text.h"
#include "bridge/injected-text.h"
#include "bridge/mcp/mcp-impl.h"

#define INSTRUCTIONS_MAX ((size_t)1024 * 1024)
#define VALUE_MAX ((size_t)16 * 1024) /* bytes of a header's value: all headers together have no more */
#define ENCODED "=?base64?"
#define ENCODED_END "?="
#define VERSION RP_MCP_META("protocolVersion")
#define CAPABILITIES RP_MCP_META("clientCapabilities")

/* Versions of the legacy era that are spoken here. The first is the newest. */
static const char *const versions[] = {RP_MCP_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05", NULL};

/* Claude Code shows a model the first 2,048 characters: so the brief stands before what the tools say of themselves. */
static const char purpose[] =
    "Reprise keeps this agent's sessions: what was said and done survives restarts, crashes and weeks away.";
static const char ahead[] = " What earlier sessions left behind follows; should it break off, the resource "
                            "reprise://brief has the whole.";
static const char offer[] =
    "Pin what must stay in mind with working_memory and see it with working_memory_view, keep track of work with task, "
    "store facts with remember and find "
    "them with recall, look up what was said with session_search, and take over an earlier session with "
    "session_continue.";

void rp__mcp_server_info(struct rp__jw *w)
{
  rp__jw_pack(w, "{name:s title:s version:s}", "reprise", "Reprise", rp_version());
}

/* Of what was there when the session began, or, where clients come back to it, of what is there now. */
static int tell(struct rp__mcp *m, struct rp__buf *out, rp_error *err)
{
  struct rp__buf now RP_AUTOBUF = RP_BUF(INSTRUCTIONS_MAX);
  /* To guests nothing is told, and whose guests we are may not show yet. */
  if (rp__tool_session_waits(&m->session)) return rp__tool_session_open(&m->session, err);
  bool due = m->stateless || m->session.reads_only;
  int rc = 0;
  if (m->session.lazy && !m->session.reads_only)
    rc = rp__tool_session_greet(&m->session, &due, err);
  else if (!m->session.reads_only)
    rc = rp__tool_session_begin(&m->session, err);
  /* Who initializes twice was told at the first time. */
  bool again = m->initialized && m->session.told;
  const char *brief = rc || again ? NULL : rp__tool_session_brief(&m->session);
  if (!rc && !brief && due) {
    rc = rp__tool_session_brief_now(&m->session, &now, err);
    if (!rc && now.n) brief = now.p;
  }
  if (brief) {
    rp__buf_str(out, ahead);
    rp__buf_str(out, "\n\n");
    rp__mark(out, brief, strlen(brief));
  }
  m->session.told = m->session.told || brief;
  return rc;
}

/* Begins the session, and writes "capabilities" and "instructions": what there is, and the brief. */
static void introduce(struct rp__mcp *m, struct rp__jw *w)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(INSTRUCTIONS_MAX);
  char words[RP_MCP_WORDS];
  rp_error err = {0};
  rp__jw_pack(w, "capabilities:{tools:{} resources:{} prompts:{}}");
  rp__buf_str(&text, purpose);
  /* A store that is away is no reason to be without tools: each of them says what is wrong, until it is not. */
  if (tell(m, &text, &err) && err.code != RP_E_SESSION_NOT_FOUND) {
    rp__mcp_words(m, &err, words);
    rp__buf_printf(&text, "\n\nThe store can't be reached just now: %s", words);
  }
  rp__buf_str(&text, "\n\n");
  rp__buf_str(&text, offer);
  rp__jw_kstr(w, "instructions", text.err ? offer : text.p);
}

/* Who asks, for the audit: the name in a clientInfo, if there is one. */
static void note_client(struct rp__mcp *m, struct rp__json client_info)
{
  if (m->session.by[0]) return; /* the transport knows better */
  char *name RP_AUTOFREE = rp__json_dup(rp__json_get(client_info, "name"));
  if (name) rp__text_copy(m->session.by, sizeof m->session.by, name);
}

/* ---- headers: whoever stands between can route by them, so that none may say something else than the message ---- */

static struct rp__str trim(const char *s)
{
  while (*s == ' ' || *s == '\t') s++;
  size_t n = strlen(s);
  while (n && (s[n - 1] == ' ' || s[n - 1] == '\t')) n--;
  return (struct rp__str){s, n};
}

/* Values that a header can't carry come as "=?base64?…?="; what is not of that alphabet says nothing. */
static bool says(const char *header, struct rp__json want)
{
  struct rp__buf have RP_AUTOBUF = RP_BUF(VALUE_MAX), text RP_AUTOBUF = RP_BUF(RP_MCP_LINE_MAX);
  size_t head = sizeof ENCODED - 1, tail = sizeof ENCODED_END - 1, n;
  if (!header || want.type != RP_JSON_STRING || rp__json_text(want, &text)) return false;
  struct rp__str value = trim(header);
  bool coded = value.n >= head + tail && memcmp(value.p, ENCODED, head) == 0 &&
               memcmp(value.p + value.n - tail, ENCODED_END, tail) == 0;
  if (coded) {
    size_t len = value.n - head - tail;
    char *room = rp__buf_room(&have, len + 1);
    if (!room || sodium_base642bin((unsigned char *)room, len, value.p + head, len, NULL, &n, NULL,
                                   sodium_base64_VARIANT_ORIGINAL))
      return false;
    have.n += n;
  } else {
    rp__buf_add(&have, value.p, value.n);
  }
  return !have.err && have.n == text.n && (!text.n || memcmp(have.p, text.p, text.n) == 0);
}

static bool mismatch(struct rp__mcp_ask *a, const char *header, const char *part)
{
  rp__mcp_error(a, RP_MCP_HEADERS, NULL, "the header %s must be there and say what %s says", header, part);
  return false;
}

static bool check_headers(struct rp__mcp_ask *a, struct rp__json version)
{
  const struct rp__mcp_head *h = a->m->head;
  struct rp__json method = a->rpc.method;
  bool named = rp__json_eq(method, "tools/call") || rp__json_eq(method, "prompts/get");
  const char *part = named ? "name" : rp__json_eq(method, "resources/read") ? "uri" : NULL;
  if (!h) return true;
  if (!says(h->version, version)) return mismatch(a, "MCP-Protocol-Version", "params._meta");
  if (!says(h->method, a->rpc.method)) return mismatch(a, "Mcp-Method", "method");
  struct rp__json name = part ? rp__json_get(a->rpc.params, part) : (struct rp__json){0};
  /* What is missing in the message too is the method's to complain about. */
  if (name.type == RP_JSON_STRING && !says(h->name, name))
    return mismatch(a, "Mcp-Name", strcmp(part, "uri") == 0 ? "params.uri" : "params.name");
  return true;
}

/* ---- the era of `initialize`: the client names a version, and gets it or our newest ---- */

bool rp__mcp_check_legacy(struct rp__mcp_ask *a)
{
  const struct rp__mcp_head *h = a->m->head;
  /* Without one it is a client of before there was such a header; `initialize` is where versions are spoken about. */
  if (!h || !h->version || rp__json_eq(a->rpc.method, "initialize")) return true;
  struct rp__str version = trim(h->version);
  for (size_t i = 0; versions[i]; i++)
    if (rp__str_eq(version, versions[i])) return true;
  rp__mcp_error(a, RP_RPC_INVALID, NULL, "MCP-Protocol-Version: no version of the protocol that is spoken here");
  return false;
}

void rp__mcp_initialize(struct rp__mcp_ask *a)
{
  struct rp__json wanted = rp__json_get(a->rpc.params, "protocolVersion");
  if (wanted.type != RP_JSON_STRING) {
    rp__mcp_error(a, RP_RPC_PARAMS, NULL, "protocolVersion: must be a string");
    return;
  }
  const char *agreed = versions[0];
  for (size_t i = 0; versions[i]; i++)
    if (rp__json_eq(wanted, versions[i])) agreed = versions[i];
  note_client(a->m, rp__json_get(a->rpc.params, "clientInfo"));
  rp__text_copy(a->m->version, sizeof a->m->version, agreed);
  struct rp__jw w = rp__mcp_begin(a);
  rp__jw_kstr(&w, "protocolVersion", a->m->version);
  rp__jw_key(&w, "serverInfo");
  rp__mcp_server_info(&w);
  introduce(a->m, &w);
  rp__mcp_end(a, &w);
  a->m->initialized = a->reply->initialize = true;
}

void rp__mcp_ping(struct rp__mcp_ask *a)
{
  struct rp__jw w = rp__mcp_begin(a);
  rp__mcp_end(a, &w);
}

/* ---- the era without a handshake: each request says in its `_meta` who asks and in which version ---- */

bool rp__mcp_is_modern(const struct rp__mcp *m, const struct rp__rpc *r)
{
  struct rp__json meta = rp__json_get(r->params, "_meta");
  if (rp__json_get(meta, VERSION).type || rp__json_get(meta, CAPABILITIES).type) return true;
  if (rp__json_eq(r->method, "server/discover")) return true;
  return m->head && m->head->version && strcmp(m->head->version, RP_MCP_MODERN) == 0;
}

static bool lacks(struct rp__mcp_ask *a, const char *name, const char *want)
{
  rp__mcp_error(a, RP_RPC_PARAMS, NULL, "params._meta%s%s%s: must be %s", name ? "[\"" : "", name ? name : "",
                name ? "\"]" : "", want);
  return false;
}

bool rp__mcp_check_modern(struct rp__mcp_ask *a)
{
  struct rp__json meta = rp__json_get(a->rpc.params, "_meta"), version = rp__json_get(meta, VERSION);
  if (meta.type != RP_JSON_OBJECT) return lacks(a, NULL, "an object");
  if (version.type != RP_JSON_STRING) return lacks(a, VERSION, "a string");
  if (rp__json_get(meta, CAPABILITIES).type != RP_JSON_OBJECT) return lacks(a, CAPABILITIES, "an object");
  if (!check_headers(a, version)) return false;
  if (!rp__json_eq(version, RP_MCP_MODERN)) {
    struct rp__buf data RP_AUTOBUF = RP_BUF(RP_MCP_LINE_MAX);
    struct rp__jw w = RP_JW(&data);
    rp__jw_pack(&w, "{supported:[s] requested:v}", RP_MCP_MODERN, version);
    rp__mcp_error(a, RP_MCP_VERSION, data.err ? NULL : data.p, "this version of the protocol is not spoken here");
    return false;
  }
  note_client(a->m, rp__json_get(meta, RP_MCP_META("clientInfo")));
  return true;
}

void rp__mcp_discover(struct rp__mcp_ask *a)
{
  struct rp__jw w = rp__mcp_begin(a);
  rp__jw_pack(&w, "supportedVersions:[s]", RP_MCP_MODERN);
  introduce(a->m, &w);
  rp__mcp_end(a, &w);
}

int rp__mcp_status(const struct rp__mcp_reply *r)
{
  if (r->none) return 202;
  if (r->refused) return 400;
  return r->modern && r->code == RP_RPC_NO_METHOD ? 404 : 200;
}
