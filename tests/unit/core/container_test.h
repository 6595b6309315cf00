/* SPDX-License-Identifier: Apache-2.0 */
/* Containers made as the format says, byte by byte, and keys to seal them with. */
#ifndef CONTAINER_TEST_H
#define CONTAINER_TEST_H

#include "core_test.h"

#include <sodium.h>

#define HEADER_BYTES 32

static inline struct rp__key key_of(char fill)
{
  struct rp__key k;
  char text[65] = {0};
  memset(text, fill, 64);
  assert_int_equal(rp__key_parse(text, 64, &k, NULL), 0);
  return k;
}

static inline void wrap(struct rp__buf *out, const char *magic, uint32_t version, uint32_t raw, const void *payload,
                        size_t n)
{
  unsigned char head[HEADER_BYTES] = {0};
  crypto_generichash_state st;
  memcpy(head, magic, 4);
  for (unsigned i = 0; i < 4; i++) {
    head[4 + i] = (unsigned char)(version >> 8 * i);
    head[8 + i] = (unsigned char)(raw >> 8 * i);
    head[12 + i] = (unsigned char)(n >> 8 * i);
  }
  crypto_generichash_init(&st, NULL, 0, 16);
  crypto_generichash_update(&st, head, 16);
  crypto_generichash_update(&st, payload, n);
  crypto_generichash_final(&st, head + 16, 16);
  rp__buf_reset(out);
  rp__buf_add(out, head, sizeof head);
  rp__buf_add(out, payload, n);
}

/* Around the same payload, the format says the same bytes. zstd's own bytes differ from version to version. */
static inline void assert_layout(const struct rp__buf *b, const char *magic, uint32_t version, size_t raw)
{
  RP_AUTOBUF struct rp__buf want = RP_BUF(b->n);
  assert_true(b->n > HEADER_BYTES);
  wrap(&want, magic, version, (uint32_t)raw, b->p + HEADER_BYTES, b->n - HEADER_BYTES);
  assert_int_equal(want.n, b->n);
  assert_memory_equal(want.p, b->p, b->n);
}

static inline void from_hex(const char *hex, struct rp__buf *out)
{
  size_t n = strlen(hex) / 2, got = 0;
  unsigned char *at = (unsigned char *)rp__buf_room(out, n);
  assert_non_null(at);
  assert_int_equal(sodium_hex2bin(at, n, hex, 2 * n, NULL, &got, NULL), 0);
  assert_int_equal(got, n);
  out->n += n;
}

#endif
