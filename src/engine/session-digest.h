/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest of a session (B-13), wherever it is kept: an ended session has it in its record, an open one in its state.
 * One read of the record, or of the newest snapshot and the events behind it; a journal is never folded from its
 * beginning for it when there is a snapshot.
 */
#ifndef RP_ENGINE_SESSION_DIGEST_H
#define RP_ENGINE_SESSION_DIGEST_H

#include "engine/engine.h"
#include "facets/digest/digest.h"

struct rp__session_digest {
  const struct rp__digest *digest; /* NULL: the session has none, or it could not be read */
  struct rp__digest own;           /* of a record */
  bool loaded;
  rp_session *s; /* of an open session, with … */
  struct rp__state_loan loan;
};
void rp__session_digest_done(struct rp__session_digest *d);
/* `ret` is zeroed. A session without a digest is no failure. */
RP_MUST_USE int rp__session_digest_open(rp_engine *e, const struct rp__session_row *row, struct rp__session_digest *ret,
                                        rp_error *err);
/* Members of an object: last_request, last_request_at, last_request_end and files_changed; nothing without a request.
 */
void rp__session_digest_write(const struct rp__digest *d, struct rp__jw *w);

#endif
