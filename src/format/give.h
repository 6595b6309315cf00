/* SPDX-License-Identifier: Apache-2.0 */
/* What exporters share: the conversation as turns, contents as plain text. */
#ifndef RP_FORMAT_GIVE_H
#define RP_FORMAT_GIVE_H

#include "format/format.h"

/* The text of a content: the string, or its text blocks, each on its own line; other blocks as "[image]". */
void rp__content_text(struct rp__json content, struct rp__buf *out);

/* One turn: a message, or the consecutive chunks of one message_id joined. */
struct rp__turn {
  char role[16];
  struct rp__json message_id, source;
  int64_t at_ms;
  struct rp__buf text;
};
/* Walks state.conversation.messages; begin with {0} and a live `turn` (RP_TURN). False at the end. */
struct rp__talk {
  struct rp__json_iter it;
  struct rp__json next;
};
#define RP_TURN ((struct rp__turn){.text = RP_BUF(RP_FOREIGN_MAX)})
bool rp__talk_next(struct rp__json messages, struct rp__talk *k, struct rp__turn *turn);
static inline void rp__turn_done(struct rp__turn *t)
{
  rp__buf_done(&t->text);
}

/* A message that was thought, not said: no turn of the conversation. */
static inline bool rp__is_thought(const struct rp__event *ev)
{
  return rp__json_get(ev->body, "thought").type == RP_JSON_TRUE;
}

/*
 * The journal in order, without thoughts and without what a whole message of the same role and message_id stands for
 * later. Reads it twice.
 */
int rp__give_events(const struct rp__giver *g, rp__given_fn *fn, void *ctx, rp_error *err);

/* Whether `b`, the message after `a`, belongs to it: the same role and message_id, or, without one, `a` is partial. */
bool rp__same_message(struct rp__json a, struct rp__json b);

/* Writes a document that was written compactly, laid out, to the giver. */
int rp__give_pretty(const struct rp__giver *g, const struct rp__buf *compact, bool ascii, rp_error *err);

#endif
