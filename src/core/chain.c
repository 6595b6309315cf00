/* SPDX-License-Identifier: Apache-2.0 */
/* The hashes of the audit chain. */
#include "core/chain.h"

#include <sodium.h>
#include <string.h>

static void put_u64(crypto_generichash_state *st, uint64_t v)
{
  unsigned char b[8];
  for (int i = 0; i < 8; i++) b[i] = (unsigned char)(v >> (8 * i));
  crypto_generichash_update(st, b, sizeof b);
}

void rp__chain_digest(const unsigned char salt[RP_CHAIN_SALT], const void *fields, size_t n,
                      unsigned char ret[RP_CHAIN_HASH])
{
  crypto_generichash_state st;
  crypto_generichash_init(&st, NULL, 0, RP_CHAIN_HASH);
  crypto_generichash_update(&st, salt, RP_CHAIN_SALT);
  if (n) crypto_generichash_update(&st, fields, n);
  crypto_generichash_final(&st, ret, RP_CHAIN_HASH);
}

void rp__chain_hash(const unsigned char *key, const unsigned char prev[RP_CHAIN_HASH], int64_t n, int64_t at_ms,
                    const char *event, const unsigned char digest[RP_CHAIN_HASH], unsigned char ret[RP_CHAIN_HASH])
{
  crypto_generichash_state st;
  crypto_generichash_init(&st, key, key ? crypto_generichash_KEYBYTES : 0, RP_CHAIN_HASH);
  crypto_generichash_update(&st, prev, RP_CHAIN_HASH);
  put_u64(&st, (uint64_t)n);
  put_u64(&st, (uint64_t)at_ms);
  put_u64(&st, strlen(event));
  crypto_generichash_update(&st, (const unsigned char *)event, strlen(event));
  crypto_generichash_update(&st, digest, RP_CHAIN_HASH);
  crypto_generichash_final(&st, ret, RP_CHAIN_HASH);
}

void rp__chain_genesis(const char *scope, unsigned char ret[RP_CHAIN_HASH])
{
  static const char title[] = "reprise audit";
  crypto_generichash_state st;
  crypto_generichash_init(&st, NULL, 0, RP_CHAIN_HASH);
  crypto_generichash_update(&st, (const unsigned char *)title, sizeof title - 1);
  crypto_generichash_update(&st, (const unsigned char *)scope, strlen(scope));
  crypto_generichash_final(&st, ret, RP_CHAIN_HASH);
}
