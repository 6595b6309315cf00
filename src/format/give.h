/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that exporters share: the conversation as turns, contents as plain text. */
#ifndef RP_FORMAT_GIVE_H
#define RP_FORMAT_GIVE_H

#include "facets/message.h"
#include "format/format.h"

/* The text of a content: the string, or its text blocks, each on its own line; other blocks as "[image]". */
void rp__content_text(struct rp__json content, struct rp__buf *out);

/* One turn: a message, or the consecutive parts of one message_id joined. */
struct rp__talk_turn {
  char role[16];
  int64_t at_ms;
  struct rp__buf text;
};
#define RP_TURN ((struct rp__talk_turn){.text = RP_BUF(RP_FOREIGN_MAX)})
/* Walks the conversation of the state; *at is 0 at first, `turn` a live one (RP_TURN). False at the end. */
bool rp__talk_next(const struct rp__fold *state, size_t *at, struct rp__talk_turn *turn);
/* Whether the message behind the `at`th of the conversation belongs to the one at `first`. */
bool rp__talk_goes_on(const struct rp__fold *state, size_t first, size_t at);
static inline void rp__turn_done(struct rp__talk_turn *t)
{
  rp__buf_done(&t->text);
}

/*
 * The journal in order, without thoughts and without what a whole message of the same role and message_id stands for
 * later. Reads it twice.
 */
RP_MUST_USE int rp__give_events(const struct rp__giver *g, rp__given_fn *fn, void *ctx, rp_error *err);

/* Whether `b`, the message after `a`, belongs to it: the same role and message_id, or, without one, `a` is partial. */
bool rp__same_message(struct rp__json a, struct rp__json b);

/* Writes a document that was written compactly, laid out, to the giver. */
RP_MUST_USE int rp__give_pretty(const struct rp__giver *g, const struct rp__buf *compact, bool ascii, rp_error *err);

#endif
