/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON-RPC line and its parts, and the few changes that the proxy makes to a line. */
#ifndef RP_BRIDGE_ACP_MESSAGE_H
#define RP_BRIDGE_ACP_MESSAGE_H

#include "bridge/rpc.h"
#include "json/json.h"

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
size_t rp__msg_size(const struct rp__msg *m); /* bytes that a copy needs */
void rp__msg_copy(const struct rp__msg *m, char *room, struct rp__msg *ret);

struct rp__edit {
  const char *at; /* in the line */
  size_t n;
  struct rp__str with;
};
void rp__edit_line(struct rp__buf *out, struct rp__str line, const struct rp__edit *e, size_t n);
/* The line with params.sessionId as the other side has it; the line itself where they are the same. */
struct rp__str rp__acp_map(const struct rp__msg *m, const char *from, const char *to, struct rp__buf *room);
/* Escapes of half a surrogate pair become U+FFFD, in place. */
void rp__acp_mend_halves(struct rp__buf *line);
struct rp__json rp__acp_raw(const char *json);         /* a text that is JSON; NULL: of type NONE */
void rp__acp_keep(char **slot, struct rp__json value); /* a copy of raw JSON; nothing when it is too long */

#endif
