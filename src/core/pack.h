/* SPDX-License-Identifier: Apache-2.0 */
/* A blob as bytes: its text in a container. */
#ifndef RP_CORE_PACK_H
#define RP_CORE_PACK_H

#include "core/container.h"

#define RP_BLOB_MAX ((size_t)64 * 1024 * 1024)       /* bytes of a blob */
#define RP_PACK_MAX (RP_BLOB_MAX + RP_BLOB_MAX / 64) /* bytes of a packed one at most */

/* `key` NULL: not sealed. RP_E_NOMEM, RP_E_TOO_LARGE. */
int rp__pack(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r, struct rp__str ad,
             struct rp__buf *out, rp_error *err);

/* In pieces, all of the sum checked before any is given. RP_E_CORRUPT, RP_E_VERSION, RP_E_KEY_*, RP_E_NOMEM. */
int rp__unpack(const void *packed, size_t n, const struct rp__key *key, struct rp__str ad, rp__container_fn *fn,
               void *ctx, rp_error *err);

#endif
