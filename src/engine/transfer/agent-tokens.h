/* SPDX-License-Identifier: Apache-2.0 */
/* The tokens with which agents open their sessions: for a store file that is written, and of one that is imported
 * (C-11). */
#ifndef RP_ENGINE_TOKENS_H
#define RP_ENGINE_TOKENS_H

#include "base/credentials/fleet.h"
#include "engine/engine.h"
#include "format/format.h"

/* rp__birth_of a row. */
rp__birth rp__row_birth(const struct rp__session_row *row);

/* ---- for a store file ---- */

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

/*
 * ---- of an imported document ----
 *
 * They are gathered while its sessions are imported, and written to a file beside the database
 * (base/credentials/fleet.h) after the last session. No credential passes through an event, a note or a log.
 */

struct rp__import_tokens {
  rp_engine *e;
  char secret[RP_SECRET_MAX + 1];
  const char *why_not;        /* the secret can't be taken, and so no token can; NULL: it can */
  struct rp__fleet_agent now; /* of the session that is next; empty: it has none */
  bool blocked;               /* the store can't keep any */
  bool withheld;              /* one was not taken for that */
  bool refused;               /* it has one that can't be taken */
  struct rp__fleet_agent *agents;
  size_t n, cap;
};

void rp__import_tokens_init(struct rp__import_tokens *t, rp_engine *e);
void rp__import_tokens_done(struct rp__import_tokens *t); /* wipes */

void rp__import_tokens_secret(struct rp__import_tokens *t, enum rp__foreign_secret which, const char *text, size_t n);
/* What is to be said of the token of the session that is next, and whether it can be taken; NULL: it has none. */
const char *rp__import_tokens_verdict(const struct rp__import_tokens *t, bool *ret_taken);
/* It belongs to the session of that row. RP_E_NOMEM. */
RP_MUST_USE int rp__import_tokens_keep(struct rp__import_tokens *t, const struct rp__session_row *row, rp_error *err);
/* Forgets what was said of the session before. */
void rp__import_tokens_next(struct rp__import_tokens *t);
RP_MUST_USE int rp__import_tokens_commit(struct rp__import_tokens *t, rp_error *err);

#endif
