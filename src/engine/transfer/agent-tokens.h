/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens with which agents open their sessions, for a store file that another program will use (C-11). */
#ifndef RP_ENGINE_TOKENS_H
#define RP_ENGINE_TOKENS_H

#include "base/credentials/fleet.h"
#include "engine/engine.h"

/* rp__birth_of a row. */
rp__birth rp__row_birth(const struct rp__session_row *row);

/* The secret of the server's own agents, if there is one by now. */
struct rp__own_secret {
  char *text; /* NULL: no server has run here yet, so no agent has a token of ours */
  struct rp__internal_secret secret;
};
RP_MUST_USE int rp__own_secret_load(rp_engine *e, struct rp__own_secret *ret, rp_error *err);
void rp__own_secret_done(struct rp__own_secret *s); /* wipes */

/* What opens one session: the token that came with it, else our own; empty: nobody holds one. */
struct rp__agent_token {
  struct rp__fleet_agent agent;
  char secret[RP_SECRET_MAX + 1]; /* that its agent knows */
};
void rp__agent_token_find(rp_engine *e, const struct rp__own_secret *own, const struct rp__session_row *row,
                          struct rp__agent_token *ret);

#endif
