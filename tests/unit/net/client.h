/* SPDX-License-Identifier: Apache-2.0 */
/* A WebSocket client's frames, by hand, so that they can be wrong. */
#ifndef TEST_NET_CLIENT_H
#define TEST_NET_CLIENT_H

#include <stdbool.h>

#include "base/buf.h"

#define CLIENT_MAX ((size_t)8 << 20)

/* Appends a masked frame; `first` is its first byte (FIN 0x80, reserved bits, opcode). */
static inline void client_frame(struct rp__buf *out, int first, const void *payload, size_t n)
{
  static const uint8_t mask[4] = {0x37, 0xfa, 0x21, 0x3d};
  const uint8_t *p = payload;
  int more = n > 0xffff ? 8 : n > 125 ? 2 : 0;
  rp__buf_char(out, (char)first);
  rp__buf_char(out, (char)(0x80 | (more == 8 ? 127 : more == 2 ? 126 : (int)n)));
  for (int i = more - 1; i >= 0; i--) rp__buf_char(out, (char)((uint64_t)n >> 8 * i));
  rp__buf_add(out, mask, 4);
  for (size_t i = 0; i < n; i++) rp__buf_char(out, (char)(p[i] ^ mask[i % 4]));
}

static inline void client_close(struct rp__buf *out, int code, const char *reason)
{
  char payload[200] = {(char)(code >> 8), (char)code};
  size_t n = strlen(reason);
  memcpy(payload + 2, reason, n);
  client_frame(out, 0x88, payload, 2 + n);
}

#endif
