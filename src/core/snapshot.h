/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot as bytes: the fold's JSON in a container (core/container.h), with the
 * version of that document. Which ones to keep is decided here too.
 */
#ifndef RP_CORE_SNAPSHOT_H
#define RP_CORE_SNAPSHOT_H

#include "core/fold.h"
#include "core/seal.h"

#define RP_SNAPSHOT_VERSION 1
#define RP_SNAPSHOT_MAX (16 * 1024 * 1024) /* bytes of the uncompressed document; hostile headers stop here */

/* A step of the migration chain: the document of `from` becomes one of from + 1. */
struct rp__migration {
  int from;
  int (*run)(struct rp__json doc, struct rp__buf *out, rp_error *err);
};
extern const struct rp__migration rp__snapshot_migrations[]; /* ends with from = 0 */

/* `key` NULL: not sealed. ret_raw gets the size before compression. */
RP_MUST_USE int rp__snapshot_encode(const struct rp__fold *f, const struct rp__key *key, const struct rp__random *r,
                                    struct rp__str ad, struct rp__buf *out, size_t *ret_raw, rp_error *err);
/*
 * Opens the container: the fold's JSON text, migrated to this version by `chain`
 * (NULL: the product's) that leads up to `current` (0: RP_SNAPSHOT_VERSION).
 * RP_E_SNAPSHOT_CORRUPT, RP_E_SNAPSHOT_VERSION (newer), RP_E_KEY_WRONG, RP_E_KEY_MISSING, RP_E_NOMEM.
 */
RP_MUST_USE int rp__snapshot_open(const void *bytes, size_t n, const struct rp__key *key, struct rp__str ad,
                                  const struct rp__migration *chain, int current, struct rp__buf *out, rp_error *err);
/* The same and loaded into a fresh fold. */
RP_MUST_USE int rp__snapshot_decode(const void *bytes, size_t n, const struct rp__key *key, struct rp__str ad,
                                    const struct rp__facet_table *t, struct rp__fold **ret, rp_error *err);

/*
 * Which snapshots may go: given (n, seq) newest first, marks drop[i]. The newest
 * `keep` stay, and of the older ones the newest of every RP_SNAPSHOT_SPARSE events,
 * so that any --at replays a bounded tail. While the journal's beginning is as near as
 * that to the newest `keep`, none of the older ones is needed. `keep` is at least 1.
 */
#define RP_SNAPSHOT_SPARSE 10000
void rp__snapshot_prune(const int64_t *seqs, size_t count, size_t keep, bool *drop);

#endif
