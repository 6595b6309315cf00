/* SPDX-License-Identifier: Apache-2.0 */
/* The server's heartbeats, sent for every client that is present, however it is connected. */
#ifndef RP_SERVER_HEARTBEATS_H
#define RP_SERVER_HEARTBEATS_H

#include <reprise/host.h>

struct rp__server;

/* Sends those that are due at that time of the monotonic clock. RP_WORK_AGAIN: there are more. */
RP_MUST_USE int rp__heartbeats_send(struct rp__server *srv, int64_t now_ms, rp_error *err);

#endif
