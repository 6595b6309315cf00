/* SPDX-License-Identifier: Apache-2.0 */
/* Is it UTF-8? Asked piece by piece, so that a character may lie across two of them. */
#ifndef RP_NET_UTF8_H
#define RP_NET_UTF8_H

#include <stdbool.h>

#include "base/macros.h"

struct rp__utf8 {
  uint8_t need;      /* bytes that the character begun still wants; 0: whole */
  uint8_t low, high; /* bounds of the next one */
};

/* False as soon as no continuation could make it valid. Start with zeros. */
bool rp__utf8_feed(struct rp__utf8 *u, const char *bytes, size_t n);

#endif
