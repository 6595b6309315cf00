/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of a journal in their order. The replay filter compares an agent's replay with them. */
#ifndef RP_BRIDGE_ACP_TRANSCRIPT_H
#define RP_BRIDGE_ACP_TRANSCRIPT_H

#include <reprise/reprise.h>

#include "json/json.h"

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
