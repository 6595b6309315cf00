/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a session and the events that change them, as one table, which docs/architecture.md shows. Pure: the
 * table names an action, and the caller carries it out.
 */
#ifndef RP_BRIDGE_ACP_MACHINE_H
#define RP_BRIDGE_ACP_MACHINE_H

#include <stdbool.h>

enum rp__acp_state {
  RP_ACP_COLD,      /* the agent does not have it, and nobody asked for it */
  RP_ACP_QUEUED,    /* the agent does not have it; it is restored as soon as its turn comes */
  RP_ACP_RESTORING, /* the agent is being given it (restore/ladder.h) */
  RP_ACP_RELOADING, /* the agent has it, and is asked for it again because the editor loads it */
  RP_ACP_FORKED,    /* the agent has copied it from another; the editor does not have its id yet */
  RP_ACP_LIVE,      /* the agent has it */
  RP_ACP_ENDING,    /* it is closed or deleted once its turn is over */
  RP_ACP_TAKEN,     /* another process ended it, deleted it or has it: nothing is written any more */
  RP_ACP_STATES,
};

enum rp__acp_on {
  RP_ON_NAMED,      /* the agent has a session of this name */
  RP_ON_COPIED,     /* … and its journal begins with a copy of another's */
  RP_ON_ANSWERED,   /* the editor gets the id of a new session */
  RP_ON_LINE,       /* the editor says something in it */
  RP_ON_RESTORE,    /* the agent shall get it now */
  RP_ON_WAIT,       /* the agent shall get it, after others */
  RP_ON_RESTORED,   /* the agent has it, with its settings */
  RP_ON_FAILED,     /* the agent can't get it */
  RP_ON_AGENT_GONE, /* the agent's process ended */
  RP_ON_TURN_OVER,  /* no prompt is at the agent any more */
  RP_ON_END,        /* the editor closes or deletes it */
  RP_ON_TAKEN,      /* the store refuses its events: the session is another process's */
  RP_ON_REOPENED,   /* its journal was opened again here */
  RP_ONS,
};

enum rp__acp_do {
  RP_DO_NOTHING,
  RP_DO_REFUSE,  /* the event has no place in this state */
  RP_DO_PASS,    /* the line goes to the agent */
  RP_DO_WAIT,    /* the line waits until the session is live */
  RP_DO_RESTORE, /* … and the restoration begins */
  RP_DO_CLIMB,   /* the ladder begins */
  RP_DO_RELEASE, /* lines that waited go on */
  RP_DO_CLOSE,   /* the close goes on */
  RP_DO_TELL,    /* the editor is told that nothing is recorded any more */
  RP_DOS,
};

struct rp__acp_step {
  enum rp__acp_state to;
  enum rp__acp_do action;
};

/* A row of the table. An event for which a state has no row leaves the state as it is, and is refused. */
struct rp__acp_row {
  enum rp__acp_on on;
  unsigned in;           /* states, as bits */
  enum rp__acp_state to; /* RP_ACP_STATES: as it was */
  enum rp__acp_do action;
};

struct rp__acp_step rp__acp_machine(enum rp__acp_state state, enum rp__acp_on on);

extern const struct rp__acp_row rp__acp_rows[];
extern const unsigned rp__acp_n_rows;

#endif
