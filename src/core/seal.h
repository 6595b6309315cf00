/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sealing: XChaCha20-Poly1305 under a user's key. The sealed form starts with a
 * magic byte and the key's id, so a wrong key is told apart from damage.
 */
#ifndef RP_CORE_SEAL_H
#define RP_CORE_SEAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/id.h"

#define RP_KEY_BYTES 32
#define RP_KEY_ID 8
#define RP_SEAL_OVERHEAD (1 + RP_KEY_ID + 24 + 16)

struct rp__key {
  unsigned char bytes[RP_KEY_BYTES];
  unsigned char id[RP_KEY_ID]; /* a keyed hash of nothing: says which key without saying anything about it */
};

/* From the text of a key file or variable: 64 hex digits, or any passphrase-free secret of >= 32 bytes (hashed). */
RP_MUST_USE int rp__key_parse(const char *text, size_t n, struct rp__key *ret, rp_error *err);
/* A key of random bytes. The cryptographic library has been started. */
void rp__key_make(const struct rp__random *r, struct rp__key *ret);
void rp__key_wipe(struct rp__key *k);
/* `ad` binds the text to its place (session and purpose). */
int rp__seal(const struct rp__key *k, const struct rp__random *r, struct rp__str ad, const void *plain, size_t n,
             struct rp__buf *out);
/* RP_E_KEY_MISSING (k NULL), RP_E_KEY_WRONG (another key's id), RP_E_CORRUPT. */
RP_MUST_USE int rp__unseal(const struct rp__key *k, struct rp__str ad, const void *sealed, size_t n,
                           struct rp__buf *out, rp_error *err);

/* 64 bits over bytes, to notice damage (SipHash with a fixed key; no secret). */
uint64_t rp__checksum(const void *bytes, size_t n, uint64_t seed);

#endif
