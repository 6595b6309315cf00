/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that may come twice. The store keeps a digest of the request beside its idempotency key, so that the same
 * key with another request is a conflict. The digest is made from masked bytes and is keyed in a sealed scope, so that
 * a reader of the database can't test guesses of a secret against it. Requests are compared byte by byte: one with
 * other white space is another request.
 */
#ifndef RP_ENGINE_REQUEST_H
#define RP_ENGINE_REQUEST_H

#include "engine/engine.h"

#define RP_IDEMPOTENCY_KEY_MAX 255

/* 1 to 255 bytes, or NULL. RP_E_INVALID */
RP_MUST_USE int rp__request_check_key(const char *key, rp_error *err);

/*
 * Of events that were checked: kinds and masked bodies; not times, which an outbox may have filled in. Of a chunk of a
 * stream only its length counts, for half a secret is not found in it alone.
 */
RP_MUST_USE int rp__request_of_events(rp_session *s, const rp_event *ev, size_t n, unsigned char ret[RP_REQUEST_DIGEST],
                                      rp_error *err);

/*
 * Finds the session that was made in the scope under the request's key. ret->digest gets the request's digest, also
 * when there is none. `what`, `on` and `number` say what kind of request it is and of what. RP_E_KEY_REUSED.
 */
RP_MUST_USE int rp__request_find(rp_engine *e, const char *scope, const char *what, const char *on, int64_t number,
                                 const rp_request *r, struct rp__request_row *ret, bool *ret_found, rp_error *err);
/* The two halves of that, for a caller that has read the scope's key and the row, under rp__redaction_key of the
 * request's: the digest, which is put into the row; and the session that was made. */
RP_MUST_USE int rp__request_match(rp_engine *e, const char *scope, const struct rp__key *key, const char *what,
                                  const char *on, int64_t number, const rp_request *r, bool found,
                                  struct rp__request_row *row, rp_error *err);
RP_MUST_USE int rp__request_session(rp_engine *e, const char *scope, const struct rp__request_row *made,
                                    struct rp__session_row *ret, rp_error *err);

#endif
