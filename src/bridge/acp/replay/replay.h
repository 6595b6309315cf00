/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's history as an editor expects it: updates in their order, chunks joined to messages, only the last value
 * of each state update, and tool calls without an end closed as failed. The history is made in steps, so that memory
 * does not grow with the session.
 */
#ifndef RP_BRIDGE_ACP_REPLAY_H
#define RP_BRIDGE_ACP_REPLAY_H

#include <reprise/reprise.h>

#include "json/json.h"

#define RP_REPLAY_STEP 256 /* events read in one step */

struct rp__replay;

/* `update`: a JSON object, the value of params.update. Non-zero stops and is returned. */
typedef int rp__update_fn(void *ctx, const char *update, size_t n);

/* Looks over the journal once (what is last, what is open); `s` must live longer. `compaction`: the client understands
 * compaction_update. */
RP_MUST_USE int rp__replay_new(rp_session *s, bool compaction, struct rp__replay **ret, rp_error *err);
void rp__replay_free(struct rp__replay *r);
/* Emits the next updates; *ret_more: there are others. */
RP_MUST_USE int rp__replay_step(struct rp__replay *r, rp__update_fn *emit, void *ctx, bool *ret_more, rp_error *err);

/* The mode and the options that the journal tells of last: raw JSON of their values. Nothing is added where none. */
RP_MUST_USE int rp__replay_settings(rp_session *s, struct rp__buf *mode, struct rp__buf *options, rp_error *err);

/* ---- the texts of a journal in their order, with which an agent's replay is compared (transcript.c) ---- */

/*
 * The texts of the journal's newest messages, for knowing them again when an agent replays late. `end`: the last event
 * that counts; < 0: as far as the journal goes now.
 */
struct rp__acp_transcript;
RP_MUST_USE int rp__acp_transcript_new(rp_session *s, int64_t end, struct rp__acp_transcript **ret, rp_error *err);
void rp__acp_transcript_free(struct rp__acp_transcript *e);
/*
 * Whether an update says only what the journal has: then it is no news. Each place of the journal is known again once,
 * so ask for every update in the order in which they come. State updates are always news.
 */
bool rp__acp_transcript_known(struct rp__acp_transcript *e, struct rp__json update);
/* The same during a turn: only what comes next in the journal is known, and no short beginnings. */
bool rp__acp_transcript_next(struct rp__acp_transcript *e, struct rp__json update);
/* It was news: a call with an old one's id is not the old one. */
void rp__acp_transcript_news(struct rp__acp_transcript *e, struct rp__json update);
bool rp__acp_transcript_ahead(
    const struct rp__acp_transcript *e); /* a message of the user's stands behind the place they have come to */
/* The agent's message that is next has the same id. */
bool rp__acp_transcript_next_id(const struct rp__acp_transcript *e, struct rp__json update);
/* Whether the last prompt behind the event `from` has the words of the last one before it, or nobody knows. */
bool rp__acp_transcript_asked_again(const struct rp__acp_transcript *e, rp_session *s, int64_t from);
bool rp__acp_transcript_cut(const struct rp__acp_transcript *e);     /* the journal has more than is remembered */
bool rp__acp_transcript_begun(const struct rp__acp_transcript *e);   /* something was known again */
bool rp__acp_transcript_halfway(const struct rp__acp_transcript *e); /* … and the last of it was a part of a message */
bool rp__acp_transcript_over(const struct rp__acp_transcript *e);    /* … and so were all messages that can be */

#endif
