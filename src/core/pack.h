/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A blob as bytes: a header (magic, flags, sizes, BLAKE2b of what follows), then its text, compressed with zstd, then
 * sealed when the scope has a key.
 */
#ifndef RP_CORE_PACK_H
#define RP_CORE_PACK_H

#include <stdbool.h>

#include "core/seal.h"

#define RP_BLOB_MAX ((size_t)64 * 1024 * 1024)       /* bytes of a blob; hostile headers stop here */
#define RP_PACK_MAX (RP_BLOB_MAX + RP_BLOB_MAX / 64) /* bytes of a packed one at most */

/* `key` NULL: not sealed. RP_E_NOMEM, RP_E_TOO_LARGE. */
int rp__pack(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r, struct rp__str ad,
             struct rp__buf *out, rp_error *err);

/* Gets the bytes in pieces; what it returns ends the unpacking when it is not 0, and is returned. */
typedef int rp__pack_fn(void *ctx, const void *bytes, size_t n);

/* All of the sum is checked before anything is given. RP_E_CORRUPT, RP_E_VERSION, RP_E_KEY_*, RP_E_NOMEM. */
int rp__unpack(const void *packed, size_t n, const struct rp__key *key, struct rp__str ad, rp__pack_fn *fn, void *ctx,
               rp_error *err);

#endif
