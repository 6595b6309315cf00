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

struct rp__replay_options {
  bool compaction; /* the client understands compaction_update */
};

/* `update`: a JSON object, the value of params.update. Non-zero stops and is returned. */
typedef int rp__update_fn(void *ctx, const char *update, size_t n);

/* Looks over the journal once (what is last, what is open); `s` must live longer. */
RP_MUST_USE int rp__replay_new(rp_session *s, const struct rp__replay_options *o, struct rp__replay **ret,
                               rp_error *err);
void rp__replay_free(struct rp__replay *r);
/* Emits the next updates; *ret_more: there are others. */
RP_MUST_USE int rp__replay_step(struct rp__replay *r, rp__update_fn *emit, void *ctx, bool *ret_more, rp_error *err);

/* The mode and the options that the journal tells of last: raw JSON of their values. Nothing is added where none. */
RP_MUST_USE int rp__replay_settings(rp_session *s, struct rp__buf *mode, struct rp__buf *options, rp_error *err);

#endif
