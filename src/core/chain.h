/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit chain. The hash of a record covers the hash of the record before, its number, time and
 * event, and a salted digest of its fields, so that fields can be erased later without breaking the chain. The hash is
 * BLAKE2b-256. In a scope with a key it is keyed, so that nobody without the key can make a chain that verifies.
 */
#ifndef RP_CORE_CHAIN_H
#define RP_CORE_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#define RP_CHAIN_HASH 32
#define RP_CHAIN_SALT 16

/* digest = H(salt ‖ fields) */
void rp__chain_digest(const unsigned char salt[RP_CHAIN_SALT], const void *fields, size_t n,
                      unsigned char ret[RP_CHAIN_HASH]);
/* hash = H_key(prev ‖ n ‖ at_ms ‖ length of event ‖ event ‖ digest); numbers as 8 bytes, little-endian. */
void rp__chain_hash(const unsigned char *key, const unsigned char prev[RP_CHAIN_HASH], int64_t n, int64_t at_ms,
                    const char *event, const unsigned char digest[RP_CHAIN_HASH], unsigned char ret[RP_CHAIN_HASH]);
/* The hash before the first record of a scope: H("reprise audit" ‖ scope). */
void rp__chain_genesis(const char *scope, unsigned char ret[RP_CHAIN_HASH]);

#endif
