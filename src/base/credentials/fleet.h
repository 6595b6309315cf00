/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of agents whose sessions were imported from another program's store (C-11): the token of each agent, and
 * the secret that all of them know. Imported agents connect with these as before, and an export can write them again.
 * The credentials are in a file of their own beside the database, 0600, because the database holds no credential;
 * tokens that Reprise makes itself are computed and not stored (session-token.h).
 *
 *   secret TEXT                      the agents in the lines below know this secret
 *   agent ID BIRTH TOKEN [MANAGER]   MANAGER: a second token, kept only for an export
 */
#ifndef RP_BASE_FLEET_H
#define RP_BASE_FLEET_H

#include "base/buf.h"
#include "base/credentials/session-token.h"

#define RP_FLEET_SUFFIX ".fleet"
#define RP_FLEET_TOKEN_MIN 16 /* bytes: a shorter one can be guessed */
#define RP_FLEET_TOKEN_MAX 256
#define RP_FLEET_BYTES ((size_t)16 * 1024 * 1024) /* of the file */

struct rp__fleet;

struct rp__fleet_agent {
  char id[RP_ID_MAX + 1];
  rp__birth birth;
  char token[RP_FLEET_TOKEN_MAX + 1], manager[RP_FLEET_TOKEN_MAX + 1]; /* manager may be empty */
};

/* Whether a text can be kept as a token or secret: printable, RP_FLEET_TOKEN_MIN to `max` bytes; a secret with spaces.
 */
bool rp__fleet_takes(struct rp__str text, size_t max, bool spaces);

/* `db_path` NULL: a store without a file has none, and keeps none. The file is read when it is asked for. */
RP_MUST_USE int rp__fleet_new(const char *db_path, struct rp__fleet **ret, rp_error *err);
void rp__fleet_free(struct rp__fleet *f); /* NULL is fine */

/* RP_E_REFUSED: there is a file, but it counts as none, since it is a link or others may read or change it. */
RP_MUST_USE int rp__fleet_check(struct rp__fleet *f, rp_error *err);
/* Any thread; comparisons take constant time; a file that others may read or change counts as none. */
bool rp__fleet_knows(struct rp__fleet *f, struct rp__str secret);
bool rp__fleet_opens(struct rp__fleet *f, const char *session_id, rp__birth birth, struct rp__str token);
/* The agent of that session and the secret it knows; false: none came with it. */
bool rp__fleet_find(struct rp__fleet *f, const char *session_id, rp__birth birth, struct rp__fleet_agent *ret,
                    char secret[RP_SECRET_MAX + 1]);

/* Adds agents that know `secret`, each in place of one with its id, durably. RP_E_TOO_LARGE, RP_E_USAGE (no file). */
RP_MUST_USE int rp__fleet_add(struct rp__fleet *f, const char *secret, const struct rp__fleet_agent *agents, size_t n,
                              rp_error *err);
/* Takes away the agent of that id; none is fine. */
RP_MUST_USE int rp__fleet_forget(struct rp__fleet *f, const char *session_id, rp_error *err);

#endif
