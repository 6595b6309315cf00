/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of MCP clients that come over HTTP. Nobody is connected between two requests, so the server says for them
 * that they live, until they have been silent for `abandon_s`: then they end, in good order.
 */
#ifndef RP_SERVER_MCP_SEATS_H
#define RP_SERVER_MCP_SEATS_H

#include "server/registry.h"

#define RP_MCP_SEATS_MAX 4096 /* past it, the one that was silent the longest is let go: its heartbeats stop */

struct rp__mcp_seats;
struct rp__server;

int rp__mcp_seats_new(struct rp__server *srv, struct rp__mcp_seats **ret, rp_error *err);
/* The same with another bound. */
int rp__mcp_seats_new_of(struct rp__server *srv, size_t max, struct rp__mcp_seats **ret, rp_error *err);
void rp__mcp_seats_free(struct rp__mcp_seats *s); /* the sessions go on; NULL is fine */
/* The session was used just now. Any thread. */
void rp__mcp_seats_use(struct rp__mcp_seats *s, const char *id);
/* It is over. Any thread. */
void rp__mcp_seats_leave(struct rp__mcp_seats *s, const char *id);
/* A job of the background work: signs of life, and the end of who is silent. */
int rp__mcp_seats_tend(struct rp__server *srv, rp_error *err);

#endif
