/* SPDX-License-Identifier: Apache-2.0 */
/* The trash and the deletion of sessions (B-09): every step is one transaction with its audit record. */
#ifndef RP_ENGINE_TRASH_H
#define RP_ENGINE_TRASH_H

#include "engine/engine.h"

/* RP_E_ON_HOLD, or RP_E_HELD naming who lives in it, or 0: retention and rm may touch it. */
RP_MUST_USE int rp__session_free_to_go(rp_engine *e, const struct rp__session_row *row, rp_error *err);
/* What deleting it gives back, roughly: bodies, snapshots and what surrounds them. */
RP_MUST_USE int rp__session_weight(rp_engine *e, const struct rp__session_row *row, int64_t *ret, rp_error *err);
/* What the store takes: its file without free pages, or, while much of it is only in the log, what is known to be in
 * it. */
int64_t rp__store_weight(const struct rp__store_stats *st);

/* RP_E_FENCED: somebody took the session up after the row was read. */
RP_MUST_USE int rp__trash_put(rp_engine *e, const struct rp__session_row *row, const char *reason, rp_error *err);
/*
 * For good: cold file and mirror first, so that no copy outlives a deletion that the audit log tells of; then the
 * session. `bytes` goes into the audit record.
 */
RP_MUST_USE int rp__session_delete(rp_engine *e, const struct rp__session_row *row, int64_t bytes, const char *reason,
                                   rp_error *err);
/* Gives the space of what was deleted back to the file system, which costs as much as writing the rest anew. A failure
 * is logged. */
void rp__store_shrink(rp_engine *e);

#endif
