/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of routes, and the search for the one of a method and a path. The first row that matches counts, so fixed
 * segments are before variables of the same place ("stream" before ":id"). `errors` lists the errors of the route
 * itself; the errors that its flags imply (openapi.c) are not repeated.
 */
#include "base/id.h"
#include "base/text.h"
#include "server/http/route.h"

/* clang-format off */
#define SCHEMA(...) #__VA_ARGS__
#define COUNT(max) "{\"type\":\"integer\",\"minimum\":1,\"maximum\":" max "}"
#define SEQ SCHEMA({"type":"integer","minimum":0})
#define NUMBER SCHEMA({"type":"integer","minimum":1})
#define TEXT SCHEMA({"type":"string"})
#define FLAG SCHEMA({"type":"string","enum":["1","0","true","false",""]})
#define LEVEL SCHEMA({"type":"string","enum":["memory","os","disk"]})
#define MEMORY SCHEMA({"type":"string","enum":["memory"]})
#define ORDER SCHEMA({"type":"string","enum":["asc","desc"]})
#define STATUS SCHEMA({"type":"string","enum":["created","active","idle","checkpointed","closed","abandoned"]})
#define FORMAT SCHEMA({"type":"string","enum":["reprise","nova","clawd","orbitmesh","markdown"]})
#define SECONDS SCHEMA({"type":"number","minimum":0})
#define NAME SCHEMA({"type":"string","pattern":"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"})

enum {
  POOL = RP_ROUTE_POOL,
  OF_SESSION = RP_ROUTE_SESSION,
  JSON = RP_ROUTE_JSON,
  MAYBE = RP_ROUTE_OPTIONAL,
  KEY = RP_ROUTE_KEY,
};

const struct rp__route rp__routes[] = {
  {RP_GET, "/", RP_ROUTE_TEXT | RP_ROUTE_LAX, RP_RIGHT_NONE, rp__handle_index, "A page that says what runs here",
   .status = 200, .answer = "text/html; charset=utf-8"},
  {RP_GET, "/healthz", RP_ROUTE_QUIET, RP_RIGHT_NONE, rp__handle_healthz, "Whether the process lives",
   .status = 200, .answer = "Health"},
  {RP_GET, "/readyz", RP_ROUTE_QUIET, RP_RIGHT_NONE, rp__handle_readyz, "Whether it serves: 503 while it starts, drains, or the store can't be written",
   .status = 200, .also_status = 503, .answer = "Health"},
  {RP_GET, "/metrics", POOL | RP_ROUTE_TEXT | RP_ROUTE_QUIET, RP_RIGHT_ADMIN, rp__handle_metrics, "Counters and histograms for Prometheus",
   .status = 200, .answer = "text/plain; version=0.0.4; charset=utf-8"},
  {RP_GET, "/openapi.json", 0, RP_RIGHT_NONE, rp__handle_openapi, "This description of the routes (OpenAPI 3.1)",
   .status = 200, .answer = "OpenAPI"},

  {RP_POST, "/v1/sessions", POOL | JSON | KEY, RP_RIGHT_WRITE, rp__handle_start, "Begins or resumes a session: 201 for a new one, 200 for one that goes on",
   .request = "Start", .status = 201, .also_status = 200, .answer = "Started",
   .errors = {RP_E_SESSION_NOT_FOUND, RP_E_HELD, RP_E_EXISTS}},
  {RP_GET, "/v1/sessions", POOL, RP_RIGHT_READ, rp__handle_list, "Sessions, the newest first",
   .query = {{"scope", NAME, "of this scope only"}, {"status", STATUS, "in this status only"},
             {"since", TEXT, "active since this time, or in this time (2h)"}, {"limit", COUNT("1000"), "at most so many (50)"},
             {"cursor", TEXT, "next_cursor of the page before"}, {"trashed", FLAG, "what is in the trash, instead"}},
   .status = 200, .answer = "SessionList"},
  {RP_GET, "/v1/sessions/stream", RP_ROUTE_TAKES | RP_ROUTE_TEXT, RP_RIGHT_READ, rp__handle_session_stream, "Sessions as they come, change and go (server-sent events)",
   .query = {{"scope", NAME, "of this scope only"}}, .status = 200, .answer = "text/event-stream"},
  {RP_GET, "/v1/sessions/:id", 0, RP_RIGHT_READ, rp__handle_show, "A session",
   .status = 200, .answer = "Session", .errors = {RP_E_SESSION_NOT_FOUND, RP_E_AMBIGUOUS}},
  {RP_PATCH, "/v1/sessions/:id", OF_SESSION | JSON | KEY, RP_RIGHT_WRITE, rp__handle_update, "Changes its name, settings and metadata (merged)",
   .request = "Update", .status = 200, .answer = "Ack", .errors = {RP_E_ENDED}},
  {RP_DELETE, "/v1/sessions/:id", OF_SESSION | POOL, RP_RIGHT_SCOPE, rp__handle_delete, "Puts it in the trash; one that only heartbeats keep alive is ended first",
   .query = {{"reason", TEXT, "for the audit log"}},
   .status = 200, .answer = "Trashed", .errors = {RP_E_HELD, RP_E_ON_HOLD}},

  {RP_POST, "/v1/sessions/:id/events", OF_SESSION | JSON | KEY, RP_RIGHT_WRITE, rp__handle_append,
   "Appends one event, or an array of them, all or none; answers when they are as durable as was asked for",
   .query = {{"durability", LEVEL, "when to answer (disk)"}, {"fallback", MEMORY, "memory: accept that while the store is away"},
             {"epoch", NUMBER, "only while the session is at this epoch"}, {"expect", SEQ, "only when the journal's last number is this"},
             {"client_id", NAME, "who numbers its events itself …"}, {"client_seq", NUMBER, "… and the number of the first one here"}},
   .request = "Append", .status = 200, .answer = "Ack",
   .errors = {RP_E_ENDED, RP_E_FENCED, RP_E_SEQ_CONFLICT, RP_E_CLIENT_GAP, RP_E_PINS_FULL, RP_E_BUDGET}},
  {RP_GET, "/v1/sessions/:id/events", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_events, "Events in order, or from the newest back",
   .query = {{"after", SEQ, "with a higher number (0)"}, {"limit", COUNT("10000"), "at most so many (100)"}, {"kind", TEXT, "of these kinds only, separated by commas"},
             {"order", ORDER, "asc, or desc: the newest first"}, {"before", NUMBER, "with order=desc: with a lower number"}},
   .status = 200, .answer = "EventList"},
  {RP_GET, "/v1/sessions/:id/events/stream", OF_SESSION | RP_ROUTE_TAKES | RP_ROUTE_TEXT, RP_RIGHT_READ, rp__handle_event_stream,
   "Events as they are stored (server-sent events); Last-Event-ID, the number of the last one seen, goes on after it",
   .query = {{"after", SEQ, "with a higher number; without it and without Last-Event-ID, from the first"}, {"kind", TEXT, "of these kinds only, separated by commas"},
             {"last_event_id", TEXT, "as the header, for clients that can't set one"}},
   .status = 200, .answer = "text/event-stream"},

  {RP_POST, "/v1/sessions/:id/heartbeat", OF_SESSION | POOL, RP_RIGHT_WRITE, rp__handle_heartbeat, "Says that its run is alive",
   .status = 200, .answer = "Beat", .errors = {RP_E_ENDED}},
  {RP_POST, "/v1/sessions/:id/checkpoint", OF_SESSION | POOL, RP_RIGHT_WRITE, rp__handle_checkpoint, "Makes a snapshot now",
   .status = 200, .answer = "Checkpoint"},
  {RP_POST, "/v1/sessions/:id/close", OF_SESSION | POOL | JSON | MAYBE, RP_RIGHT_WRITE, rp__handle_close, "Ends it, with a final checkpoint",
   .request = "Close", .status = 200, .answer = "Session", .errors = {RP_E_ENDED}},
  {RP_POST, "/v1/sessions/:id/fork", OF_SESSION | POOL | JSON | MAYBE | KEY, RP_RIGHT_SCOPE, rp__handle_fork, "A new session with a copy of its journal",
   .query = {{"at", SEQ, "branch off after this event; as in the body"}},
   .request = "Fork", .status = 201, .answer = "Forked", .errors = {RP_E_SEQ_NOT_FOUND}},
  {RP_POST, "/v1/sessions/:id/continue", OF_SESSION | POOL | JSON, RP_RIGHT_SCOPE, rp__handle_continue, "Inherits everything from the session `from`",
   .request = "Continue", .status = 200, .answer = "Continued", .errors = {RP_E_ENDED}},
  {RP_POST, "/v1/sessions/:id/restore", OF_SESSION | POOL | JSON | MAYBE, RP_RIGHT_WRITE, rp__handle_restore, "Goes back to an event or a snapshot (the newest); deletes nothing",
   .query = {{"at", SEQ, "to the state after this event; as in the body"}},
   .request = "Restore", .status = 200, .answer = "Ack", .errors = {RP_E_SNAPSHOT_NOT_FOUND, RP_E_SEQ_NOT_FOUND, RP_E_ENDED}},

  {RP_GET, "/v1/sessions/:id/state", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_state, "What an agent would remember, now or at an event",
   .query = {{"at", SEQ, "as of the event with this number"}}, .status = 200, .answer = "State",
   .errors = {RP_E_SEQ_NOT_FOUND}},
  {RP_GET, "/v1/sessions/:id/snapshots", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_snapshots, "Its snapshots",
   .status = 200, .answer = "SnapshotList"},
  {RP_GET, "/v1/sessions/:id/snapshots/:n", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_snapshot, "The state document of a snapshot",
   .status = 200, .answer = "State", .errors = {RP_E_SNAPSHOT_NOT_FOUND, RP_E_SNAPSHOT_CORRUPT}},
  {RP_GET, "/v1/sessions/:id/chain", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_chain, "The sessions that led to it, the oldest first",
   .query = {{"depth", COUNT("1000"), "at most so many (20)"}}, .status = 200, .answer = "Chain"},
  {RP_GET, "/v1/sessions/:id/brief", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_brief, "The one text for the model, as the session stands",
   .query = {{"explain", FLAG, "with the reason of every line"}}, .status = 200, .answer = "Brief"},
  {RP_GET, "/v1/sessions/:id/evidence", OF_SESSION | POOL, RP_RIGHT_READ, rp__handle_evidence, "Notes, frames and transcript around a moment",
   .query = {{"at", TEXT, "the moment: a time, or how long ago (5m)"}, {"window", TEXT, "seconds to either side, or a span like 1m (30)"},
             {"video_at", SECONDS, "the moment in the video's own time, instead of `at`"}},
   .status = 200, .answer = "Evidence"},

  {RP_GET, "/v1/sessions/:id/export", OF_SESSION | POOL | RP_ROUTE_TEXT, RP_RIGHT_READ, rp__handle_export, "The session as a file; `reprise` loses nothing",
   .query = {{"format", FORMAT, "which (reprise)"}},
   .status = 200, .answer = "application/x-ndjson|application/json|application/gzip|text/markdown; charset=utf-8"},
  {RP_GET, "/v1/sessions/:id/blobs/:blob", OF_SESSION | POOL | RP_ROUTE_TEXT, RP_RIGHT_READ, rp__handle_blob, "What was too large for an event, as its bytes",
   .status = 200, .answer = "application/octet-stream", .errors = {RP_E_BLOB_NOT_FOUND}},

  {RP_GET, "/v1/search", POOL, RP_RIGHT_READ, rp__handle_search, "Full text over everything ever said",
   .query = {{"q", TEXT, "the words"}, {"scope", NAME, "of this scope only"}, {"limit", COUNT("1000"), "at most so many (20)"}},
   .status = 200, .answer = "Hits"},
  {RP_GET, "/v1/recap", POOL, RP_RIGHT_READ, rp__handle_recap, "What sessions were about: those with a request in that time, the one that was active last first",
   .query = {{"scope", NAME, "of this scope only"}, {"since", TEXT, "from this time on, or in this time (2h)"}, {"until", TEXT, "until this time"},
             {"limit", COUNT("500"), "at most so many are read (100)"}},
   .status = 200, .answer = "Recap"},
  {RP_GET, "/v1/scopes/:scope/brief", POOL, RP_RIGHT_READ, rp__handle_scope_brief, "What a start in that scope would inject now",
   .query = {{"topics", TEXT, "separated by commas"}, {"explain", FLAG, "with the reason of every decision"}, {"channel", NAME, "where continuity is per channel"}},
   .status = 200, .answer = "Brief"},
  {RP_GET, "/v1/audit", POOL, RP_RIGHT_READ, rp__handle_audit, "The audit log of a scope, or of all",
   .query = {{"scope", NAME, "whose log"}, {"after", SEQ, "records of that scope with a higher number"}, {"limit", COUNT("10000"), "at most so many (100)"}},
   .status = 200, .answer = "AuditList"},

  {RP_GET, "/api/session", POOL | RP_ROUTE_LAX, RP_RIGHT_READ, rp__handle_api_session, "How the latest start of a scope (or of all) began and how it does (N-18)",
   .query = {{"scope", NAME, "of this scope"}}, .status = 200, .answer = "ApiSession", .errors = {RP_E_SESSION_NOT_FOUND}},
  {RP_GET, "/api/sessions/:id/ping", RP_ROUTE_LAX, RP_RIGHT_READ, rp__handle_api_ping, "200 while the session is open, 404 when it is not (L-04)",
   .status = 200, .answer = "Ping", .errors = {RP_E_SESSION_NOT_FOUND, RP_E_AMBIGUOUS}},

  {RP_POST, "/mcp", POOL | RP_ROUTE_RPC, RP_RIGHT_READ, rp__handle_mcp, "One message of the Model Context Protocol, of either era; 202 for one that has no answer",
   .query = {{"scope", NAME, "whose memory it is (the token's, or default)"}},
   .request = "Rpc", .status = 200, .also_status = 202, .answer = "RpcAnswer", .errors = {RP_E_SESSION_NOT_FOUND}},
  {RP_DELETE, "/mcp", POOL, RP_RIGHT_WRITE, rp__handle_mcp_end, "Ends the session that MCP-Session-Id names",
   .query = {{"scope", NAME, "whose memory it is"}}, .status = 204, .errors = {RP_E_SESSION_NOT_FOUND, RP_E_METHOD}},

  {RP_GET, "/socket/websocket", RP_ROUTE_TAKES | RP_ROUTE_LAX | RP_ROUTE_TEXT, RP_RIGHT_NONE, rp__handle_socket, "Phoenix channels v2 (WebSocket)",
   .query = {{"vsn", TEXT, "2.0.0"}, {"token", TEXT, "a bearer token, where a header can't be set"}}, .status = 101, .answer = "websocket"},
  {RP_GET, "/internal/session", RP_ROUTE_TAKES | RP_ROUTE_LAX | RP_ROUTE_TEXT, RP_RIGHT_NONE, rp__handle_agent, "Agents' socket (WebSocket, C-06): needs the internal secret",
   .query = {{"secret", TEXT, "deprecated: the header x-internal-secret"}}, .status = 101, .answer = "websocket", .errors = {RP_E_FORBIDDEN}},
  {.path = NULL},
};
/* clang-format on */

/* ---- finding one ---- */

/* Whether a raw path fits the pattern; raw values of its variables in `raw`. */
static bool fits(const char *pattern, struct rp__str path, struct rp__str raw[RP_CALL_PARAMS])
{
  struct rp__str want, have, whole = rp__str(pattern);
  size_t at = 0, want_at = 0, n = 0;
  for (;;) {
    bool more = rp__uri_segment(path, &at, &have), wanted = rp__uri_segment(whole, &want_at, &want);
    if (!more || !wanted) return more == wanted;
    if (want.n && want.p[0] == ':')
      raw[n++] = have;
    else if (want.n != have.n || memcmp(want.p, have.p, want.n) != 0)
      return false;
  }
}

static int decode_params(const struct rp__str raw[RP_CALL_PARAMS], char param[RP_CALL_PARAMS][RP_ID_MAX + 1],
                         rp_error *err)
{
  for (size_t i = 0; i < RP_CALL_PARAMS; i++) {
    param[i][0] = 0;
    if (!raw[i].p) continue;
    int rc = rp__uri_decode(raw[i], false, param[i], RP_ID_MAX + 1);
    if (rc || !rp__name_ok(param[i]))
      return rp__fail_field(err, RP_E_USAGE, "path",
                            "'%s' can't be an id: letters, digits and . _ : - only, at most %d",
                            rc ? "(what was given)" : rp__text_shown(param[i]), RP_ID_MAX);
  }
  return 0;
}

static void allow(char ret_allow[64], enum rp__method m)
{
  size_t n = strlen(ret_allow);
  if (strstr(ret_allow, rp__method_name(m))) return; /* two rows may fit: "stream" could be an id */
  snprintf(ret_allow + n, 64 - n, "%s%s", n ? ", " : "", rp__method_name(m));
  if (m == RP_GET) allow(ret_allow, RP_HEAD);
}

bool rp__route_names_session(const struct rp__route *route)
{
  return strstr(route->path, "/:id") != NULL;
}

/* What an error tells of a path: the first segments that are words as routes have them. Others may be a credential. */
static struct rp__str shown(struct rp__str path)
{
  struct rp__str segment, ret = {path.p, 0};
  for (size_t at = 0; rp__uri_segment(path, &at, &segment);) {
    bool word = segment.n < 24;
    for (size_t i = 0; i < segment.n; i++)
      word = word && ((segment.p[i] >= 'a' && segment.p[i] <= 'z') || strchr("_.-", segment.p[i]));
    if (!word && !rp__str_eq(segment, "v1")) return ret;
    ret.n = (size_t)(segment.p + segment.n - path.p);
  }
  return ret;
}

int rp__route_find(enum rp__method method, struct rp__str path, const struct rp__route **ret,
                   char param[RP_CALL_PARAMS][RP_ID_MAX + 1], char ret_allow[64], rp_error *err)
{
  enum rp__method wanted = method == RP_HEAD ? RP_GET : method;
  ret_allow[0] = 0;
  for (const struct rp__route *route = rp__routes; route->path; route++) {
    struct rp__str raw[RP_CALL_PARAMS] = {0};
    if (!fits(route->path, path, raw)) continue;
    if (route->method != wanted) {
      allow(ret_allow, route->method);
      continue;
    }
    *ret = route;
    return decode_params(raw, param, err);
  }
  struct rp__str told = shown(path);
  const char *cut = told.n < path.n ? "/…" : "";
  if (ret_allow[0])
    return rp__fail(err, RP_E_METHOD, "%.*s%s takes %s", (int)RP_MIN(told.n, 100), told.p, cut, ret_allow);
  rp__fail(err, RP_E_ROUTE_NOT_FOUND, "there is nothing at %.*s%s", (int)RP_MIN(told.n, 200), told.p, cut);
  rp__hint(err, "/openapi.json lists the routes there are");
  return RP_E_ROUTE_NOT_FOUND;
}
