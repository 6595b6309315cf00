/* SPDX-License-Identifier: Apache-2.0 */
/* The ladder: the steps by which an agent gets a session that it does not have. */
#ifndef RP_BRIDGE_ACP_LADDER_H
#define RP_BRIDGE_ACP_LADDER_H

#include "bridge/acp/session/machine.h"
#include "bridge/acp/wire/wire.h"

struct rp__acp;
struct rp__acp_session;

#define RP_ACP_RESTORE_MS 60000 /* for an agent to answer when we ask */
#define RP_LADDER_WHY 400       /* bytes of the reason why an agent can't load a session */
#define RP_ACP_QUIET_MS 100     /* without an update: a late replay is over */

enum rp__rung { RP_RUNG_RESUME, RP_RUNG_LOAD, RP_RUNG_NEW, RP_RUNG_LIVE, RP_RUNGS };

/* How far a restoration is. */
enum rp__ladder_phase {
  RP_LADDER_IDLE,    /* none is under way, or its next step is taken at once */
  RP_LADDER_ASKING,  /* the agent was asked for the rung, and has not answered */
  RP_LADDER_QUIET,   /* it has; the rest of its replay may come late */
  RP_LADDER_MODE,    /* it was asked to set the mode again */
  RP_LADDER_OPTIONS, /* … or an option */
  RP_LADDER_PHASES,
};

enum rp__ladder_on {
  RP_LADDER_ON_ASK,        /* the agent is asked for a rung */
  RP_LADDER_ON_ANSWER,     /* it has the session, and has said nothing that it replays */
  RP_LADDER_ON_REPLAY,     /* it has the session, and may go on with its replay */
  RP_LADDER_ON_REFUSAL,    /* it can't: the next rung is tried */
  RP_LADDER_ON_SET_MODE,   /* it is asked for a mode */
  RP_LADDER_ON_SET_OPTION, /* … for an option */
  RP_LADDER_ON_SETTLED,    /* nothing is left to be done */
  RP_LADDER_ON_STOP,       /* the agent is gone, or the restoration has failed */
  RP_LADDER_ONS,
};

/* The next phase; RP_LADDER_PHASES: the event has no place in this one. docs/architecture.md shows the table. */
enum rp__ladder_phase rp__ladder_next(enum rp__ladder_phase phase, enum rp__ladder_on on);

struct rp__ladder {
  enum rp__ladder_phase phase; /* changed by rp__ladder_move alone */
  enum rp__rung rung;          /* of the restoration that is under way, or was the last */
  enum rp__rung least;         /* agents died of those before it; until a turn goes well */
  unsigned tries;
  bool other_agent;            /* it was begun with another one: the agent's ids mean nothing here */
  char cannot[RP_LADDER_WHY];  /* why the agent could not load it; empty: it could, or was not asked to */
  int64_t quiet_at, quiet_max; /* in RP_LADDER_QUIET: when it is over, with no further update and in any case */
  char *answer;                /* the agent's result; raw */
};

void rp__ladder_move(struct rp__ladder *l, enum rp__ladder_on on);
extern const char *const rp__rung_names[RP_RUNGS];
void rp__restore_begin(struct rp__acp_session *s);
void rp__restore_settled(struct rp__acp_session *s); /* the agent has all of it */
/* The agent is gone: what was under way begins again with the next one. RP_DO_CLOSE: the session's close goes on. */
enum rp__acp_do rp__restore_broken(struct rp__acp_session *s);
/* The agent can't get it: by its answer `m`, or NULL. `data`: of the error, or NULL. */
void rp__restore_fail(struct rp__acp_session *s, const struct rp__msg *m, const char *why, const char *data);
/* The agent died: true when a restoration may be why, and goes on otherwise with the next one. */
bool rp__restore_blame(struct rp__acp *a);
void rp__restore_tell(struct rp__acp_session *s); /* that the agent could not load it, should that be so */
void rp__restore_wanted(struct rp__acp *a);       /* begins all that is to be restored, or the next of it */

#endif
