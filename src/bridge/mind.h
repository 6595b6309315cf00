/* SPDX-License-Identifier: Apache-2.0 */
/* The session that tools act on, and the tools themselves: the same for MCP, for hooks and for plugins. */
#ifndef RP_BRIDGE_MIND_H
#define RP_BRIDGE_MIND_H

#include <stdbool.h>

#include <reprise/reprise.h>

#include "bridge/place.h"
#include "json/json.h"

struct rp__mind {
  rp_engine *e;
  char scope[RP_SCOPE_MAX + 1];
  rp_session *s; /* NULL until a tool needs one */
  bool guest;    /* of a bridge around us: no start, no end, no brief */
  rp_owner_kind owner;
  char channel[32];           /* of the session begun here */
  char ref[RP_SCOPE_MAX + 1]; /* a session to act on, or its key to be; empty: a new one */
};

/* Begins or joins the session, once. A guest's is attached to. */
int rp__mind_begin(struct rp__mind *m, rp_error *err);
/* The text for the model: what the start gave, NULL when there is nothing to tell or we are guests. Owned by the mind.
 */
const char *rp__mind_brief(struct rp__mind *m);
/* Ends what was begun here (a guest only lets go). NULL reason is fine. */
void rp__mind_end(struct rp__mind *m, const char *reason);
/* Lets go without ending. */
void rp__mind_leave(struct rp__mind *m);

struct rp__tool {
  const char *name, *title, *description;
  const char *schema;            /* JSON Schema of the arguments: strict, plain 2020-12, additionalProperties false */
  bool reads, destroys, repeats; /* MCP's annotations readOnlyHint, destructiveHint, idempotentHint */
  /* Writes the result's document (one JSON object). Errors are told to the model as they are. */
  int (*run)(struct rp__mind *m, struct rp__json args, struct rp__buf *out, rp_error *err);
};

extern const struct rp__tool rp__tools[]; /* ends with a NULL name; their order is fixed */
const struct rp__tool *rp__tool_find(struct rp__json name);
/*
 * Checks the arguments against what the tool takes (unknown, missing, wrong type: RP_E_INVALID naming the field) and
 * runs it. NONE as arguments is an empty object.
 */
int rp__tool_call(struct rp__mind *m, const struct rp__tool *t, struct rp__json args, struct rp__buf *out,
                  rp_error *err);

#endif
