/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass over a journal: finds the last value of each state update, the events that were undone, and the place
 * of each terminal's output.
 */
#ifndef RP_BRIDGE_ACP_SURVEY_H
#define RP_BRIDGE_ACP_SURVEY_H

#include "bridge/acp/replay/conversation.h"

#define RP_TERMINALS_MAX 4096  /* terminals whose output is found again; the oldest are forgotten */
#define RP_TERMINALS_ASKED 256 /* requests on their way */
#define RP_COMPACTIONS_MAX 256 /* told at their place; further ones are left out */
#define RP_BACKS_MAX 65536     /* times that a session was set back */

/* The updates of which only the last value counts; a title has a last value of its own. */
enum rp__state_update {
  RP_STATE_COMMANDS,
  RP_STATE_USAGE,
  RP_STATE_MODE,
  RP_STATE_CONFIG,
  RP_STATE_INFO,
  RP_STATE_TITLE,
  RP_STATES,
};

struct rp__stretch {
  int64_t after, upto; /* events that no longer count: after < seq <= upto */
};

struct rp__terminal {
  uint64_t id;
  int64_t created, output; /* numbers of the answers; output 0: nobody asked */
};

struct rp__compaction {
  uint64_t id;
  int64_t first, last;
};

struct rp__survey {
  struct rp__stretch *undone; /* in order */
  size_t n_undone, cap_undone;
  int64_t last[RP_STATES];
  int64_t last_run;
  struct rp__terminal *terminals; /* a ring */
  size_t n_terminals, cap_terminals;
  struct {
    uint64_t request, terminal;
  } asked[RP_TERMINALS_ASKED];
  size_t next_asked;
  struct rp__compaction compactions[RP_COMPACTIONS_MAX];
  size_t n_compactions;
};

/* Which of the state updates it is; -1: none of them. */
int rp__state_update(struct rp__json name);
bool rp__is_compaction(struct rp__json name);

/* Reads the conversation from its beginning, and rewinds it. */
RP_MUST_USE int rp__survey(struct rp__conversation *c, struct rp__survey *s, rp_error *err);
void rp__survey_done(struct rp__survey *s);
bool rp__survey_undone(const struct rp__survey *s, int64_t seq);
/*
 * The output of the terminal that had this id when event `seq` was written: a string in `room`, or NONE where nobody
 * asked for it.
 */
RP_MUST_USE int rp__survey_output(const struct rp__survey *s, struct rp__conversation *c, struct rp__json id,
                                  int64_t seq, struct rp__buf *room, struct rp__json *ret, rp_error *err);

#endif
