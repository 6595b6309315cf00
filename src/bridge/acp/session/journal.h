/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of the proxy's sessions. A line is sent on when its events are stored. */
#ifndef RP_BRIDGE_ACP_JOURNAL_H
#define RP_BRIDGE_ACP_JOURNAL_H

#include "bridge/acp/session/event.h"
#include "bridge/acp/wire/line-queue.h"

struct rp__acp;
struct rp__acp_session;

struct rp__inbox;
RP_MUST_USE int rp__inbox_new(struct rp__acp *a, rp_error *err);
void rp__inbox_close(struct rp__acp *a);
/* Handles what the engine has acknowledged. */
void rp__inbox_take(struct rp__acp *a);
/* The session, or the line's flow, goes: what is on its way stays without it. */
void rp__acp_journal_forget(struct rp__acp *a, const struct rp__acp_session *s);
void rp__acp_journal_forget_lines(struct rp__acp *a, const struct rp__line_queue *f);
/* Stores, then sends. Without events, or when they can't be stored, it is sent all the same. */
void rp__acp_journal_put(struct rp__acp_session *s, struct rp__acp_events *n, struct rp__line_queue *to,
                         struct rp__str line);
/* The same for events that were written with `rc`: where they could not be, the line goes on by itself. */
void rp__acp_journal_line(struct rp__acp_session *s, int rc, struct rp__acp_events *n, struct rp__line_queue *to,
                          struct rp__str line);
/* An event of ours; `json` a whole object. */
void rp__acp_journal_event(struct rp__acp_session *s, const char *kind, struct rp__buf *json, rp_durability d);
/* A message was delivered that can't be written down: it counts as lost. */
void rp__acp_journal_lost(struct rp__acp_session *s, const rp_error *why);
/* Whether another process ended it, deleted it or took it over: an error's code, or 0. */
int rp__acp_journal_outcome(struct rp__acp_session *s);
/* The engine refused a session's append, or its heartbeat. */
void rp__acp_journal_refused(struct rp__acp_session *s, const rp_error *why);
/* Waits until everything is stored and acknowledged. */
void rp__acp_journal_settle(struct rp__acp *a);

#endif
