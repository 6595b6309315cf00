/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The token that opens one session (C-06): "rps_" and a hash of the session's id and birth, keyed with the internal
 * secret. A token is computed, not stored. Whether a token is one of Reprise's own for an id can be checked without
 * reading the session.
 */
#ifndef RP_BASE_SESSION_TOKEN_H
#define RP_BASE_SESSION_TOKEN_H

#include <stdbool.h>

#include <reprise/reprise.h>

#include "base/credentials/secret.h"

#define RP_SESSION_TOKEN_PREFIX "rps_"
#define RP_SESSION_TOKEN_TEXT 48 /* the prefix, 43 characters and a NUL */

/*
 * Which of the sessions that ever had its id a session is: made of its scope, its row and when it was made. A token
 * that was given out for one does not open the next.
 */
typedef uint64_t rp__birth;
#define RP_BIRTH_ANY ((rp__birth)0) /* of a session that was not looked at yet: its name alone is checked */
rp__birth rp__birth_of(const rp_session_info *info); /* of its number, created_at and scope */

void rp__session_token(const struct rp__internal_secret *s, const char *session_id, rp__birth birth,
                       char out[RP_SESSION_TOKEN_TEXT]);
bool rp__session_token_is(const struct rp__internal_secret *s, const char *session_id, rp__birth birth,
                          struct rp__str token);

#endif
