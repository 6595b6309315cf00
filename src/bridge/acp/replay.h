/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's history as an editor wants it: updates in their order, chunks joined to messages, state updates only
 * with their last value, tool calls that nobody ended closed as failed. Made in steps, so that memory does not grow
 * with the session. And the same as one text for an agent that can't load anything.
 */
#ifndef RP_BRIDGE_ACP_REPLAY_H
#define RP_BRIDGE_ACP_REPLAY_H

#include <reprise/reprise.h>

#include "json/json.h"

#define RP_REPLAY_STEP 256                  /* events read in one step */
#define RP_HISTORY_MAX ((size_t)128 * 1024) /* bytes of the text for an agent */
#define RP_HISTORY_TOOL ((size_t)4 * 1024)  /* … of what a tool was given, and of what it gave */
#define RP_HISTORY_NEWEST 2                 /* … of the newest: the text's size divided by this */

struct rp__replay;

struct rp__replay_options {
  bool compaction; /* the client understands compaction_update */
};

/* `update`: a JSON object, the value of params.update. Non-zero stops and is returned. */
typedef int rp__update_fn(void *ctx, const char *update, size_t n);

/* Looks over the journal once (what is last, what is open); `s` must live longer. */
int rp__replay_new(rp_session *s, const struct rp__replay_options *o, struct rp__replay **ret, rp_error *err);
void rp__replay_free(struct rp__replay *r);
/* Emits the next updates; *ret_more: there are others. */
int rp__replay_step(struct rp__replay *r, rp__update_fn *emit, void *ctx, bool *ret_more, rp_error *err);

/* The mode and the options that the journal tells of last: raw JSON of their values. Nothing is added where none. */
int rp__replay_settings(rp_session *s, struct rp__buf *mode, struct rp__buf *options, rp_error *err);

/*
 * The history for a model: newest kept, at most `max` bytes (RP_E_LIMIT below 8 KiB), with what tools were given and
 * gave, each within its bound and the newest whole, tools with unknown outcome named. Where room is short, what older
 * tools gave goes first. Nothing is added when there is none.
 */
#define RP_HISTORY_HEAD "[The conversation so far, as Reprise recorded it."
int rp__history_text(rp_session *s, size_t max, struct rp__buf *out, rp_error *err);

/*
 * The texts of the journal's newest messages, for knowing them again when an agent replays late. `end`: the last event
 * that counts; < 0: as far as the journal goes now.
 */
struct rp__echo;
int rp__echo_new(rp_session *s, int64_t end, struct rp__echo **ret, rp_error *err);
void rp__echo_free(struct rp__echo *e);
/*
 * Whether an update says only what the journal has: then it is no news. Each place of the journal is known again once,
 * so ask for every update in the order in which they come. State updates are always news.
 */
bool rp__echo_known(struct rp__echo *e, struct rp__json update);
/* The same during a turn: only what comes next in the journal is known, and no short beginnings. */
bool rp__echo_next(struct rp__echo *e, struct rp__json update);
/* It was news: a call with an old one's id is not the old one. */
void rp__echo_news(struct rp__echo *e, struct rp__json update);
bool rp__echo_ahead(const struct rp__echo *e); /* a message of the user's stands behind the place they have come to */
/* The agent's message that is next has the same id. */
bool rp__echo_next_id(const struct rp__echo *e, struct rp__json update);
/* Whether the last prompt behind the event `from` has the words of the last one before it, or nobody knows. */
bool rp__echo_asked_again(const struct rp__echo *e, rp_session *s, int64_t from);
bool rp__echo_cut(const struct rp__echo *e);     /* the journal has more than is remembered */
bool rp__echo_begun(const struct rp__echo *e);   /* something was known again */
bool rp__echo_halfway(const struct rp__echo *e); /* … and the last of it was a part of a message */
bool rp__echo_over(const struct rp__echo *e);    /* … and so were all messages that can be */

#endif
