/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pack.h"

#include <reprise/reprise.h>

#define VERSION 0

static const struct rp__container kind = {
    .magic = "RPB1",
    .noun = "blob",
    .max = RP_BLOB_MAX,
    .sealed = 1,
    .corrupt = RP_E_CORRUPT,
    .newer = RP_E_VERSION,
};

int rp__pack(const void *bytes, size_t n, const struct rp__key *key, const struct rp__random *r, struct rp__str ad,
             struct rp__buf *out, rp_error *err)
{
  return rp__container_write(&kind, VERSION, (struct rp__str){bytes, n}, key, r, ad, out, err);
}

int rp__unpack(const void *packed, size_t n, const struct rp__key *key, struct rp__str ad, rp__container_fn *fn,
               void *ctx, rp_error *err)
{
  uint32_t version;
  return rp__container_read(&kind, VERSION, (struct rp__stored){packed, n, key, ad}, fn, ctx, &version, err);
}
