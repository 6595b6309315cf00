/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of MCP clients over HTTP. A client has no connection between two requests, so the server sends the
 * heartbeats for it. After `abandon_s` without a request the server ends the client's session in good order.
 */
#ifndef RP_SERVER_MCP_CLIENTS_H
#define RP_SERVER_MCP_CLIENTS_H

#include <pthread.h>

#include "server/registry.h"

/* Why this server ends a session that its client may still believe in: named again, it goes on. */
#define RP_MCP_END_AGAIN "client came again"
#define RP_MCP_END_STOP "server stopped"

#define RP_MCP_CLIENTS_MAX 4096 /* past it, the one that was silent the longest is let go: its heartbeats stop */

struct rp__mcp_clients;
struct rp__server;

/* `max`: RP_MCP_CLIENTS_MAX, but for tests. */
RP_MUST_USE int rp__mcp_clients_new(struct rp__server *srv, size_t max, struct rp__mcp_clients **ret, rp_error *err);
void rp__mcp_clients_free(struct rp__mcp_clients *c); /* the sessions go on; NULL is fine */
/* The session was used just now; by whom is told when it begins (NULL: as before). Any thread. */
void rp__mcp_clients_use(struct rp__mcp_clients *c, const char *id, const char *client);
/*
 * A client begins anew: ends what it has in the scope, so that the new session inherits from it. Most clients leave
 * without a word; where it was another one of the same name, that one goes on with its next request. Any thread.
 */
void rp__mcp_clients_again(struct rp__mcp_clients *c, const char *scope, const char *client);
/*
 * Only one at a time begins what a key of a scope names; the others find it begun. Returns what is to be unlocked. Any
 * thread.
 */
pthread_mutex_t *rp__mcp_clients_lock(struct rp__mcp_clients *c, const char *scope, const char *key);
/* The server stops: ends those that it can within so many ms, in good order. No request is served any more. */
void rp__mcp_clients_stop(struct rp__mcp_clients *c, int64_t ms);
/* It is over. Any thread. */
void rp__mcp_clients_leave(struct rp__mcp_clients *c, const char *id);
/* Job of background-work.c: the end of who has been silent for too long. */
RP_MUST_USE int rp__mcp_clients_end_silent(struct rp__server *srv, rp_error *err);

#endif
