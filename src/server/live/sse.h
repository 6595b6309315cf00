/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Server-sent events: the events of one session, or the list of sessions, as they come.
 * A stream is a socket that left HTTP; it lives in the loop and ends with the
 * connection. A slow reader is fed from the journal as fast as it reads, and cut off
 * when it takes nothing.
 */
#ifndef RP_SERVER_SSE_H
#define RP_SERVER_SSE_H

#include <stddef.h>

#include "base/error.h"

#define RP_SSE_PING_MS 15000          /* of silence, then a comment; sooner where stall_s is shorter */
#define RP_SSE_TOKEN_MS (3600 * 1000) /* a stream opened with a token ends then: the token is checked anew */

struct rp__sse;
struct rp__server;
struct rp__live_event;
struct rp__net_msg;

RP_MUST_USE int rp__sse_new(struct rp__server *srv, struct rp__sse **ret, rp_error *err);
void rp__sse_free(struct rp__sse *s); /* the loop has ended; NULL is fine */
/* In the loop: every stream is told to come back, and ends. Those that come later, too. */
void rp__sse_close(struct rp__sse *s);
size_t rp__sse_streams(const struct rp__sse *s); /* any thread */

/* The event's RP_FORM_SSE, made when it is first asked for. NULL without memory. Borrowed. */
struct rp__net_msg *rp__sse_form(struct rp__live_event *ev);

#endif
