/* SPDX-License-Identifier: Apache-2.0 */
/* Clients' sockets: Phoenix channels v2 (L-03). A socket has many channels; a channel has joined one topic. */
#ifndef RP_SERVER_SOCKET_H
#define RP_SERVER_SOCKET_H

#include "base/buf.h"
#include "server/server.h"

struct rp__channels;

RP_MUST_USE int rp__channels_new(struct rp__server *srv, struct rp__channels **ret, rp_error *err);
void rp__channels_free(struct rp__channels *c);
/* In the loop: tells every socket to come back (close 1012) or that it is over (1001). */
void rp__channels_close(struct rp__channels *c, int code);
size_t rp__channels_sockets(const struct rp__channels *c); /* any thread */
/* L-12: tells the channels of a session, once, that its budget comes close; an acknowledgement says so. Any thread. */
void rp__channels_budget(struct rp__server *srv, const char *session_id, const rp_ack *ack);
/* Job of background-work.c: sessions whose last member left leave_ms ago are closed (L-02, L-08). */
RP_MUST_USE int rp__channels_leave(struct rp__server *srv, rp_error *err);
/*
 * At the end of the server, before the pool's: closes what was left, within `ms`; with `early` also what has some of
 * its grace to go. Returns how many sessions are left open by that.
 */
size_t rp__channels_leave_now(struct rp__server *srv, bool early, int64_t ms);
void rp__channels_metrics(const struct rp__channels *c, struct rp__buf *out);

#endif
