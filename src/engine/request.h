/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that may come twice. A digest of what was asked for stands beside an idempotency key, so that the key with
 * another request is a conflict. It is taken of masked bytes and, in a sealed scope, keyed: whoever reads the database
 * can't try secrets on it. The bytes decide: other white space is another request.
 */
#ifndef RP_ENGINE_REQUEST_H
#define RP_ENGINE_REQUEST_H

#include "engine/engine.h"

#define RP_IDEMPOTENCY_KEY_MAX 255

/* 1 to 255 bytes, or NULL. RP_E_INVALID */
int rp__request_check_key(const char *key, rp_error *err);

/*
 * Of events that were checked: kinds and masked bodies; not times, which an outbox may have filled in. Of a chunk of a
 * stream only its length counts, for half a secret is not found in it alone.
 */
int rp__request_of_events(rp_session *s, const rp_event *ev, size_t n, unsigned char ret[RP_REQUEST_DIGEST],
                          rp_error *err);

/*
 * What was made in the scope under the request's key, and (in ret->digest, also when there is nothing) what the request
 * is known by. `what`, `on` and `number` say what kind of request it is and of what. RP_E_KEY_REUSED.
 */
int rp__request_find(rp_engine *e, const char *scope, const char *what, const char *on, int64_t number,
                     const rp_request *r, struct rp__request_row *ret, bool *ret_found, rp_error *err);

#endif
