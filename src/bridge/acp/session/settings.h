/* SPDX-License-Identifier: Apache-2.0 */
/* Modes and options of a session. */
#ifndef RP_BRIDGE_ACP_SETTINGS_H
#define RP_BRIDGE_ACP_SETTINGS_H

#include "bridge/acp/wire/message.h"

struct rp__acp_session;

/* What of the choices an agent died of, as bits. */
enum rp__choice { RP_CHOICE_MODE = 1, RP_CHOICE_OPTIONS = 2 };

struct rp__settings {
  char *modes, *config, *mode;   /* what the agent said last of them; raw JSON */
  char *config_began;            /* … and what it said first */
  bool in_journal;               /* the journal may have choices that hold, and was not read for them yet */
  char *want_mode, *want_config; /* what the editor had when an agent was lost; NULL: nothing */
  size_t want_at;                /* how many of its options were looked at */
  unsigned left_out;             /* an agent died of them: bits of rp__choice */
};

void rp__settings_done(struct rp__settings *t);

/* What answers tell of them. */
void rp__acp_learn(struct rp__acp_session *s, struct rp__json result);
/* … an answer with which a session begins at the agent. */
void rp__settings_begin(struct rp__acp_session *s, struct rp__json result);
/* The agent has done what the editor asked for: written down, then the editor has its answer. */
void rp__settings_chosen(struct rp__acp_session *s, struct rp__json params, const struct rp__msg *m);
/* The editor's choice, as far as it knows, is to hold for the next agent too. */
void rp__settings_keep(struct rp__acp_session *s);
void rp__settings_drop(struct rp__acp_session *s);
/* Whether an update is about them and comes while they are being set again: the editor is told what comes of it. */
bool rp__settings_hear(struct rp__acp_session *s, struct rp__json update);
/* Asks the agent for what differs, tells the editor what differs still, then rp__restore_settled. */
void rp__settings_again(struct rp__acp_session *s);

#endif
