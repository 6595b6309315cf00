/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The replay filter of a session. It drops an update that can only be the agent's replay of events in the journal. An
 * update in doubt is delivered: the editor rather gets an update twice than never.
 */
#ifndef RP_BRIDGE_ACP_REPLAY_FILTER_H
#define RP_BRIDGE_ACP_REPLAY_FILTER_H

#include "bridge/acp/wire/waiting.h"

struct rp__acp_session;
struct rp__acp_transcript;

/* What the agent does, as far as it may replay. */
enum rp__replay_phase {
  RP_REPLAY_NONE,     /* it was not asked for the session, or a turn has passed since */
  RP_REPLAY_LOADING,  /* it was told to load, and has not answered: all that it says is a replay */
  RP_REPLAY_RESUMING, /* it was told to resume, and should say nothing: what is known is a replay all the same */
  RP_REPLAY_ANSWERED, /* it has answered: what is known comes late */
  RP_REPLAY_TURN,     /* its first turn since: what is next in the journal's order may be late, or the answer */
};

struct rp__replay_filter {
  enum rp__replay_phase phase;
  struct rp__acp_transcript *transcript; /* NULL: not read, or it can't be */
  bool unread;                           /* it is read once there is something to compare */
  int64_t end;                           /* the journal's last event when the agent was asked */
  bool late;                             /* something of a replay came behind the agent's answer */
  bool goes_on;                          /* … and it goes on in the turn */
  bool user;                             /* words of the user's came in the turn */
  bool answered;                         /* a message of the turn's own came behind what is in doubt */
  struct rp__waiting_lines doubt;        /* a late replay's, or the turn's own */
};

void rp__replay_filter_init(struct rp__replay_filter *f);
void rp__replay_filter_begin(struct rp__acp_session *s);       /* the agent is told to load, or to resume */
void rp__replay_filter_answered(struct rp__acp_session *s);    /* … and has answered */
void rp__replay_filter_end(struct rp__acp_session *s);         /* there is no more of it */
bool rp__replay_filter_begun(const struct rp__acp_session *s); /* something was known to be a replay */
/* Whether an update of the agent's is only its own replay, or may be: then it is kept, or dropped. */
bool rp__replay_filter_takes(struct rp__acp_session *s, const struct rp__msg *m);
void rp__replay_filter_prompted(struct rp__acp_session *s);
void rp__replay_filter_asked(struct rp__acp_session *s,
                             struct rp__json params);        /* the agent asks the editor something */
void rp__replay_filter_turn_ends(struct rp__acp_session *s); /* what was in doubt is delivered before, or dropped */
/* What agents say of themselves at any time, and never as a part of the conversation. */
bool rp__replay_filter_is_state(struct rp__json update);

#endif
