/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication: the identity of a caller, and its rights. A local caller (a loopback
 * peer that uses a loopback name and came through no proxy) may do everything without a
 * token; if it gives a token, the token counts. Every other caller needs a token.
 * Comparisons take constant time.
 */
#ifndef RP_SERVER_AUTH_H
#define RP_SERVER_AUTH_H

#include <stdbool.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "base/credentials/session-token.h"
#include "net/http.h"

/* rp__birth_of the session with that id. */
RP_MUST_USE int rp__birth_find(rp_engine *e, const char *session_id, rp__birth *ret, rp_error *err);

struct rp__auth;
struct rp__scope_config;

enum rp__who { RP_WHO_NOBODY, RP_WHO_LOCAL, RP_WHO_TOKEN, RP_WHO_SESSION };

/*
 * A session's token does not tell which session it opens: it is shown, and each session that it is tried on says
 * whether it fits (rp__auth_allows). `session` is filled when the request's path names the one.
 */
struct rp__identity {
  enum rp__who who;
  bool read_only;
  char scope[RP_ID_MAX + 1];         /* of a token that is bound to one; else empty */
  char session[RP_ID_MAX + 1];       /* of a session's token, where it is known; else empty */
  char name[RP_ID_MAX + 1];          /* for the log: a token's id, "local", "session", an address */
  char shown[RP_SESSION_TOKEN_TEXT]; /* a session's token, as it came; never logged */
  const struct rp__auth *auth;       /* who can tell whether that one is right */
  char place[RP_HTTP_ADDRESS_TEXT];  /* whom wrong ones count for; empty: nobody, on this machine */
};

/* What a route asks of who calls it. */
enum rp__right {
  RP_RIGHT_NONE,  /* anybody: health */
  RP_RIGHT_READ,  /* a token, also a read-only one; with :id also that session's */
  RP_RIGHT_WRITE, /* the same, but no read-only one */
  RP_RIGHT_ADMIN, /* over all scopes: audit, metrics */
  RP_RIGHT_SCOPE, /* to write, beyond what is said in one session (copies, deletion): no session's own token */
};

/* Reads or makes the internal secret (C-02: $INTERNAL_SECRET, else a 0600 file). `db_path`: of the database, or NULL.
 */
RP_MUST_USE int rp__auth_new(rp_engine *e, const struct rp__scope_config *set, const char *db_path,
                             struct rp__auth **ret, rp_error *err);
void rp__auth_free(struct rp__auth *a);

/* Host and Origin (DNS rebinding, foreign pages): RP_E_HOST, RP_E_ORIGIN. Allowed origins get their CORS headers. */
RP_MUST_USE int rp__auth_place(struct rp__auth *a, const struct rp__request *r, rp_error *err);
/* The allowed Origin of the request, to be named in Access-Control-Allow-Origin, or NULL. */
const char *rp__auth_origin(struct rp__auth *a, const struct rp__request *r);
/*
 * Bearer token of `Authorization`, of a WebSocket's subprotocol ("base64url.bearer.phx.…"), or of the query's `token`,
 * the first of these that is there. Without one, somebody who is not local is RP_WHO_NOBODY. RP_E_UNAUTHORIZED: a wrong
 * one. RP_E_LIMIT: too many requests, or too many wrong tokens, of this client (429).
 */
RP_MUST_USE int rp__auth_identify(struct rp__auth *a, const struct rp__request *r, struct rp__identity *ret,
                                  rp_error *err);
/*
 * Whether `who` may do that to a session (id and scope; NULL where there is none). With RP_BIRTH_ANY a session's token
 * is only known to be one of that id: whoever then finds the session asks again. RP_E_FORBIDDEN, _UNAUTHORIZED. Also
 * for messages on sockets.
 */
RP_MUST_USE int rp__auth_allows(const struct rp__identity *who, enum rp__right right, const char *session_id,
                                const char *scope, rp__birth birth, rp_error *err);
/*
 * The same at a door: a session's token that does not open this one counts as a wrong token of its address. RP_E_LIMIT
 * when there were too many. Any thread.
 */
RP_MUST_USE int rp__auth_admit(const struct rp__identity *who, enum rp__right right, const char *session_id,
                               const char *scope, rp__birth birth, rp_error *err);

/*
 * C-06: the token that opens one session, stable across restarts: derived from the internal secret. It holds the
 * session's birth, so that by the id alone it can be told whether it is one of ours.
 */
void rp__auth_session_token(const struct rp__auth *a, const char *session_id, rp__birth birth,
                            char out[RP_SESSION_TOKEN_TEXT]);
bool rp__auth_is_session_token(const struct rp__auth *a, const char *session_id, rp__birth birth, struct rp__str token);
/* The same at the agents' socket, where also the token opens that came with the session from another program (C-11);
 * *ret_moved: it was that one. */
bool rp__auth_is_agent_token(const struct rp__auth *a, const char *session_id, rp__birth birth, struct rp__str token,
                             bool *ret_moved);
/* C-02: the internal secret, by header or `?secret=`, or one that came with such sessions. */
bool rp__auth_is_internal(const struct rp__auth *a, const struct rp__request *r);

#endif
