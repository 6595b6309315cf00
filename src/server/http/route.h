/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one table of routes: the router, /openapi.json, docs/protocol.md and the
 * tests read it. A new route is a row and a handler.
 */
#ifndef RP_SERVER_ROUTE_H
#define RP_SERVER_ROUTE_H

#include "server/http/call.h"

#define RP_ROUTE_QUERY 8  /* query parameters of one route */
#define RP_ROUTE_ERRORS 8 /* error codes worth naming, beside those every route may give */

enum {
  RP_ROUTE_POOL = 1,     /* may take long: runs in the pool, not in the request's thread */
  RP_ROUTE_SESSION = 2,  /* its first parameter names a session, which must exist: `entry` is set */
  RP_ROUTE_JSON = 4,     /* wants a JSON body */
  RP_ROUTE_OPTIONAL = 8, /* … but may come without */
  RP_ROUTE_TAKES = 16,   /* the socket leaves HTTP */
  RP_ROUTE_LAX = 32,     /* unknown query parameters are ignored (the seeds' own routes, sockets) */
  RP_ROUTE_QUIET = 64,   /* logged at debug only: health, metrics */
  RP_ROUTE_TEXT = 128,   /* the answer is no JSON: `answer` is its media type */
  RP_ROUTE_KEY = 256,    /* takes the header Idempotency-Key */
  RP_ROUTE_RPC = 512,    /* JSON-RPC: reads its body itself, and says 400 and 404 in its own words too */
};

typedef RP_MUST_USE int rp__handler(struct rp__http_call *c, rp_error *err);

struct rp__query {
  const char *name;   /* NULL ends the list */
  const char *schema; /* JSON schema of the value, as text */
  const char *help;
};

struct rp__route {
  enum rp__method method;
  const char *path; /* "/v1/sessions/:id/events" */
  unsigned flags;
  enum rp__right right;
  rp__handler *run;
  const char *summary;
  struct rp__query query[RP_ROUTE_QUERY];
  const char *request; /* name of the schema of the body, or NULL */
  int status;          /* of success; also_status: another one, or 0 */
  int also_status;
  const char *answer; /* name of the schema of the answer (schema.c), or with RP_ROUTE_TEXT its media types, by '|' */
  int errors[RP_ROUTE_ERRORS]; /* enum rp_code; 0 ends the list */
};

extern const struct rp__route rp__routes[]; /* ends with a path of NULL */

/*
 * Finds the route of a method and a raw path and decodes the parameters. HEAD finds GET's. RP_E_ROUTE_NOT_FOUND;
 * RP_E_METHOD (then *ret_allow, a static or thread-local text, lists what the path takes); RP_E_USAGE for what can't be
 * an id.
 */
RP_MUST_USE int rp__route_find(enum rp__method method, struct rp__str path, const struct rp__route **ret,
                               char param[RP_CALL_PARAMS][RP_ID_MAX + 1], char ret_allow[64], rp_error *err);

/* Whether its path names a session: then the query may say in which scope (`scope`). */
bool rp__route_names_session(const struct rp__route *route);

/* The whole OpenAPI 3.1 document (openapi.c), made once. */
int rp__openapi_write(struct rp__buf *out);
/* The named JSON schemas of requests and answers (schema.c): text of "components/schemas". */
struct rp__schema {
  const char *name; /* NULL ends the list */
  const char *json;
};
extern const struct rp__schema rp__schemas[];

/* ---- handlers, by file ---- */

/* handle-service.c */
rp__handler rp__handle_index, rp__handle_healthz, rp__handle_readyz, rp__handle_metrics, rp__handle_openapi;
/* handle-start.c, handle-sessions.c */
rp__handler rp__handle_start, rp__handle_list, rp__handle_show, rp__handle_update, rp__handle_delete,
    rp__handle_heartbeat, rp__handle_checkpoint, rp__handle_close, rp__handle_fork, rp__handle_continue,
    rp__handle_restore;
/* handle-append.c, handle-events.c */
rp__handler rp__handle_append, rp__handle_events;
/* handle-reads.c */
rp__handler rp__handle_state, rp__handle_snapshots, rp__handle_snapshot, rp__handle_chain, rp__handle_brief,
    rp__handle_evidence, rp__handle_search, rp__handle_recap, rp__handle_scope_brief, rp__handle_audit;
/* handle-export.c */
rp__handler rp__handle_export, rp__handle_blob;
/* handle-reads.c, for clients of the original programs (N-18, L-04) */
rp__handler rp__handle_api_session, rp__handle_api_ping;
/* handle-mcp.c */
rp__handler rp__handle_mcp, rp__handle_mcp_end;
/* sse.c */
rp__handler rp__handle_event_stream, rp__handle_session_stream;
/* socket.c, agent.c */
rp__handler rp__handle_socket, rp__handle_agent;

#endif
