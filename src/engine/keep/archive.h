/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cold files (X-15, O-04): the record of a session that ended long ago, as `archive/YYYY-MM/<id>.json.gz` beside the
 * database, or in a sealed scope `<id>.json.sealed` (the same bytes, sealed). The month is the one in which the session
 * was created; it never changes, so a session has only one possible place. The journal stays in the store.
 */
#ifndef RP_ENGINE_ARCHIVE_H
#define RP_ENGINE_ARCHIVE_H

#include "engine/engine.h"

#define RP_ARCHIVE_MAX (2 * 1024 * 1024) /* bytes of a record, unpacked */

/* Whether this store can have cold files: one without a file has no place for them. */
bool rp__archive_possible(const rp_engine *e);

/* Writes or replaces the cold file, durably. Says nothing to the store. */
RP_MUST_USE int rp__archive_write(rp_engine *e, const struct rp__session_row *row, const char *json, size_t n,
                                  rp_error *err);
/* Appends the record. RP_E_RECORD_NOT_FOUND, RP_E_CORRUPT, RP_E_KEY_MISSING, RP_E_KEY_WRONG. */
RP_MUST_USE int rp__archive_read(rp_engine *e, const struct rp__session_row *row, struct rp__buf *out, rp_error *err);
/* Removes the cold file, durably; none is fine. */
RP_MUST_USE int rp__archive_remove(rp_engine *e, const struct rp__session_row *row, rp_error *err);

/*
 * Moves the record out of the store: the file is on disk before the store forgets, and the mirror goes last. `json` is
 * the record as rp__record_read gave it. RP_E_FENCED: somebody took the session up meanwhile.
 */
RP_MUST_USE int rp__archive_move(rp_engine *e, const struct rp__session_row *row, const char *json, size_t n,
                                 rp_error *err);

#endif
