/* SPDX-License-Identifier: Apache-2.0 */
/* The frame that snapshots and blobs have in common, made around any payload, so that a fuzzer gets past its checksum.
 */
#ifndef TEST_FUZZ_CONTAINER_H
#define TEST_FUZZ_CONTAINER_H

#include <sodium.h>

#include "base/macros.h"

/*
 * Magic, eight bytes of header (the first of `data`), the payload's length, a hash, the payload (the rest). Free with
 * free; NULL: too short, or no memory.
 */
static inline unsigned char *container_make(const char magic[4], const uint8_t *data, size_t n, size_t *ret_n)
{
  if (n < 8) return NULL;
  size_t payload = n - 8;
  unsigned char *bytes = malloc(32 + payload);
  crypto_generichash_state st;
  if (!bytes) return NULL;
  memcpy(bytes, magic, 4);
  memcpy(bytes + 4, data, 8);
  for (unsigned i = 0; i < 4; i++) bytes[12 + i] = (unsigned char)(payload >> (8 * i));
  memcpy(bytes + 32, data + 8, payload);
  crypto_generichash_init(&st, NULL, 0, 16);
  crypto_generichash_update(&st, bytes, 16);
  crypto_generichash_update(&st, bytes + 32, payload);
  crypto_generichash_final(&st, bytes + 16, 16);
  *ret_n = 32 + payload;
  return bytes;
}

#endif
