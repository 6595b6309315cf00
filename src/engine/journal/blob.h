/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs of a session, for the rest of the engine. An event names a blob in a member of its body. */
#ifndef RP_ENGINE_BLOB_H
#define RP_ENGINE_BLOB_H

#include "core/container.h"
#include "engine/engine.h"

/* A blob on its way into the store: bytes that are masked already, and the id they are to have ("": a new one). */
struct rp__blob_new {
  char id[RP_BLOB_ID_MAX + 1];
  int64_t at_ms;
  const void *bytes;
  size_t n;
};
/* `type`: RP_OP_BLOB_PUT or, with an id, _SET. `ret_id`: of PUT, or NULL. */
RP_MUST_USE int rp__blob_write(rp_session *s, enum rp__op_type type, const struct rp__blob_new *b, rp_durability d,
                               char *ret_id, rp_error *err);
/* All of it. RP_E_BLOB_NOT_FOUND, RP_E_CORRUPT. */
RP_MUST_USE int rp__blob_read(rp_session *s, const char *id, rp__container_fn *fn, void *ctx, rp_error *err);
RP_MUST_USE int rp__blob_read_all(rp_session *s, const char *id, struct rp__buf *out, int64_t *ret_at, rp_error *err);

/* Whether that can be the id of a blob. */
bool rp__blob_id_ok(const char *id);

/* A growing list of ids, each once, in order. */
struct rp__blob_ids {
  char (*v)[RP_BLOB_ID_MAX + 1];
  size_t n, cap;
};
void rp__blob_ids_done(struct rp__blob_ids *ids);
bool rp__blob_ids_have(const struct rp__blob_ids *ids, const char *id);
/* Adds what the body names. */
int rp__blob_ids_note(struct rp__blob_ids *ids, struct rp__json body);

/* ---- all of a session's ---- */

RP_MUST_USE int rp__blobs_list(rp_session *s, struct rp__blob_ids *ret, rp_error *err);
/* Masks them again with `r`. Adds to *blobs how many had something to mask, to *secrets how much. */
RP_MUST_USE int rp__blobs_mask(rp_session *s, const struct rp__redactor *r, bool dry_run, int64_t *blobs,
                               int64_t *secrets, rp_error *err);
/*
 * Tells what is wrong: damage, blobs that events name and that are not there (repair leaves an empty one in the place
 * of each), and, as a note, blobs that no event names, which repair takes away.
 */
typedef int rp__blob_finding_fn(void *ctx, const char *what, bool note);
RP_MUST_USE int rp__blobs_check(rp_session *s, const struct rp__blob_ids *named, bool repair, rp__blob_finding_fn *fn,
                                void *ctx, rp_error *err);

#endif
