/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of one side that have no answer yet, by id. */
#ifndef RP_BRIDGE_ACP_PENDING_CALLS_H
#define RP_BRIDGE_ACP_PENDING_CALLS_H

#include "bridge/acp/wire/message.h"
#include <reprise/reprise.h>

struct rp__acp;
struct rp__acp_session;

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

#endif
