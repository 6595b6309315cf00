/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines that wait, as copies in their order. Lines of the editor wait for an agent that is being started or a session
 * that is being restored. Lines of the agent wait for the answer that makes their session known to the editor.
 */
#ifndef RP_BRIDGE_ACP_WAITING_H
#define RP_BRIDGE_ACP_WAITING_H

#include <sys/queue.h>

#include "bridge/acp/wire/message.h"

#define RP_WAITING_MAX 4096                         /* lines of one list */
#define RP_WAITING_BYTES ((size_t)16 << 20)         /* … and their bytes, of the agent's */
#define RP_WAITING_REQUEST_BYTES ((size_t)96 << 20) /* … of the editor's: one of the longest must fit */
#define RP_WAITING_PROMPTS 16                       /* of one session */

struct rp__acp;
struct rp__acp_session;

struct rp__waiting_line {
  TAILQ_ENTRY(rp__waiting_line) link;
  struct rp__acp_session *s; /* whose restoration a line of the editor's waits for; NULL: for the agent */
  bool prompt;
  struct rp__msg m; /* spans into `line` */
  char line[];
};

TAILQ_HEAD(rp__waiting_head, rp__waiting_line);

struct rp__waiting_lines {
  struct rp__waiting_head list;
  size_t n, bytes;
};

void rp__waiting_lines_init(struct rp__waiting_lines *l);
void rp__waiting_lines_done(struct rp__waiting_lines *l); /* drops all; the list can be used again */
/* A copy of the line; false: there is no room. */
bool rp__waiting_lines_add(struct rp__waiting_lines *l, struct rp__acp_session *s, const struct rp__msg *m, size_t max);
/* All of them are updates of that session: each is written down and sent. */
void rp__waiting_lines_deliver(struct rp__waiting_lines *l, struct rp__acp_session *s);

/* Keeps a line of the editor's until rp__waiting_request_release; a request that can't be kept is answered. */
void rp__waiting_request_add(struct rp__acp *a, struct rp__acp_session *s, const struct rp__msg *m);
/* Handles again, in their order, the lines that waited for that (s NULL: for the agent). */
void rp__waiting_request_release(struct rp__acp *a, struct rp__acp_session *s);
/* Answers the requests with an error and drops the rest. `data`: JSON, or NULL. */
void rp__waiting_request_fail(struct rp__acp *a, struct rp__acp_session *s, int code, const char *why,
                              const char *data);
/* The session's prompts end as cancelled: true when there was one. */
bool rp__waiting_request_cancel_prompts(struct rp__acp *a, struct rp__json sid);
bool rp__waiting_request_cancel_id(struct rp__acp *a, struct rp__json id);
bool rp__waiting_request_has(const struct rp__acp *a, struct rp__json id);

#endif
