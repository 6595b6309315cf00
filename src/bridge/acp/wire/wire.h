/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of the two peers: messages, requests without an answer, lines that wait, and the queue of lines to one side. */
#ifndef RP_BRIDGE_ACP_WIRE_H
#define RP_BRIDGE_ACP_WIRE_H

#include <reprise/reprise.h>
#include <sys/queue.h>

#include "bridge/rpc.h"
#include "json/json.h"

struct rp__acp;
struct rp__acp_session;

/* ---- a JSON-RPC line and its parts, and the few changes that the proxy makes to a line (message.c) ---- */

#define RP_ACP_SID 1024                 /* bytes of a session id on the wire */
#define RP_ACP_KEEP ((size_t)1 << 20)   /* bytes of a value that is remembered for later */
#define RP_ACP_LINE ((size_t)128 << 20) /* of a line we write */

#define RP_ACP_E_REQUEST (-32600)
#define RP_ACP_E_PARAMS (-32602)
#define RP_ACP_E_INTERNAL (-32603)
#define RP_ACP_E_AUTH (-32000)
#define RP_ACP_E_NOT_FOUND (-32002)
#define RP_ACP_E_CANCELLED (-32800)

/* A line and what it is. `text` is the line, or the same with each member once: what spans point into. */
struct rp__msg {
  struct rp__str line, text;
  struct rp__rpc r;
};

/* What was written; nothing where it could not be. */
static inline struct rp__str rp__acp_written(const struct rp__buf *b)
{
  return b->err ? (struct rp__str){0} : (struct rp__str){b->p, b->n};
}

/* Of members that stand twice the last counts, as editors and agents read them. `room` gets such a text. */
void rp__msg_single_members(struct rp__msg *m, struct rp__buf *room);

struct rp__edit {
  const char *at; /* in the line */
  size_t n;
  struct rp__str with;
};
void rp__edit_line(struct rp__buf *out, struct rp__str line, const struct rp__edit *e, size_t n);
/* The line with params.sessionId as the other side has it; the line itself where they are the same. */
struct rp__str rp__acp_map(const struct rp__msg *m, const char *from, const char *to, struct rp__buf *room);
struct rp__json rp__acp_raw(const char *json);         /* a text that is JSON; NULL: of type NONE */
void rp__acp_keep(char **slot, struct rp__json value); /* a copy of raw JSON; nothing when it is too long */

/* ---- requests of one side that have no answer yet, by id (pending-calls.c) ---- */

#define RP_ACP_CALLS 4096   /* requests of one side without an answer */
#define RP_ACP_BUCKETS 1024 /* of their table */

enum rp__call_kind {
  RP_CALL_PLAIN, /* forwarded; the answer goes back as it came */
  RP_CALL_INITIALIZE,
  RP_CALL_AUTHENTICATE,
  RP_CALL_NEW,
  RP_CALL_FORK,
  RP_CALL_ADOPT, /* load or resume of a session that only the agent knows */
  RP_CALL_PROMPT,
  RP_CALL_CONFIG,
  RP_CALL_CLOSE,
  RP_CALL_DELETE,
  RP_CALL_DRAFT, /* of version 2 */
  RP_CALL_HERE,  /* ours to answer; nothing of it is at the agent */
  RP_CALL_OWN,   /* we asked the agent */
  RP_CALL_DEAD,  /* of an agent that is gone, or answered in its place: an answer goes nowhere */
  RP_CALL_KINDS,
};

struct rp__call;
/* `m` NULL: there will be no answer (the agent died, or took too long). The call is freed afterwards. */
typedef void rp__call_fn(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);

struct rp__call {
  struct rp__call *hash_next, *prev, *next;
  struct rp__calls *table;
  size_t bucket;
  enum rp__call_kind kind;
  struct rp__acp_session *s; /* or NULL */
  struct rp__call *peer;     /* the editor's request that an own one serves, and back */
  rp__call_fn *done;         /* of an own one */
  int64_t deadline;          /* ms; 0: none */
  char *params;              /* of the request, where they are needed later */
  char *method;              /* of a request whose answer is written down */
  char *agent_id;            /* the agent's own id where the editor sees another one */
  bool ours;                 /* a session that is deleted was in the journal */
  bool history, brief;       /* a prompt that carries them */
  int64_t turn;              /* of a prompt */
  rp_session *from;          /* of a fork: the other one's journal, and … */
  int64_t seq;               /* … where it stood */
  struct rp__buf *text;      /* what was made so far of the answer */
  size_t id_n;
  char id[]; /* as it came, raw JSON */
};

struct rp__calls {
  struct rp__call *bucket[RP_ACP_BUCKETS];
  struct rp__call *head, *tail;
  size_t n;
};

struct rp__call *rp__calls_find(const struct rp__calls *t, struct rp__json id);
/* NULL: no memory. The caller has looked whether the id is free and there is room. */
struct rp__call *rp__calls_add(struct rp__calls *t, struct rp__json id, enum rp__call_kind kind);
/* Out of its table: whatever the answer leads to can't free it. */
void rp__call_take(struct rp__call *c);
void rp__call_free(struct rp__call *c);
void rp__calls_done(struct rp__calls *t);
/* The session goes: its calls stay without it. */
void rp__calls_forget(struct rp__calls *t, const struct rp__acp_session *s);
struct rp__json rp__call_id(const struct rp__call *c);
struct rp__json rp__call_params(const struct rp__call *c); /* of type NONE: they were not kept */

/*
 * ---- lines that wait, as copies in their order (waiting.c). Lines of the editor wait for an agent that is being
 * started or a session that is being restored. Lines of the agent wait for the answer that makes their session known
 * to the editor. ----
 */

#define RP_WAITING_MAX 4096                         /* lines of one list */
#define RP_WAITING_BYTES ((size_t)16 << 20)         /* … and their bytes, of the agent's */
#define RP_WAITING_REQUEST_BYTES ((size_t)96 << 20) /* … of the editor's: one of the longest must fit */
#define RP_WAITING_PROMPTS 16                       /* of one session */

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
void rp__waiting_request_fail(struct rp__acp *a, struct rp__acp_session *s, const char *why, const char *data);
/* The session's prompts end as cancelled: true when there was one. */
bool rp__waiting_request_cancel_prompts(struct rp__acp *a, struct rp__json sid);
bool rp__waiting_request_cancel_id(struct rp__acp *a, struct rp__json id);
bool rp__waiting_request_has(const struct rp__acp *a, struct rp__json id);

/*
 * ---- lines on their way to one side, in the order of their delivery (line-queue.c). A line whose events are not
 * stored yet waits, and all lines behind it wait too, so that every line that was delivered is in the journal. ----
 */

#define RP_LINE_QUEUE_LINES 65536
#define RP_LINE_QUEUE_BYTES ((size_t)96 * 1024 * 1024)

struct rp__queued_line;

struct rp__line_queue {
  STAILQ_HEAD(, rp__queued_line) lines;
  size_t count, bytes;
  void (*out)(void *ctx, const char *line, size_t n);
  void *ctx;
};

void rp__line_queue_init(struct rp__line_queue *q, void (*out)(void *ctx, const char *line, size_t n), void *ctx);
void rp__line_queue_done(struct rp__line_queue *q);
/* Adds a copy of a line that waits for `waits` calls of rp__line_queue_ready (0: for those before it alone). NULL: no
 * memory.
 */
struct rp__queued_line *rp__line_queue_add(struct rp__line_queue *q, const char *line, size_t n, unsigned waits);
/* One of the things it waited for has come; sends what may go now. The item may be gone afterwards. */
void rp__line_queue_ready(struct rp__line_queue *q, struct rp__queued_line *item);
/* Too much is on its way: reading from the other side should stop. */
bool rp__line_queue_full(const struct rp__line_queue *q);
bool rp__line_queue_empty(const struct rp__line_queue *q);

#endif
