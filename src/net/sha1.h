/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, for the WebSocket handshake, which asks for it; it protects nothing. */
#ifndef RP_NET_SHA1_H
#define RP_NET_SHA1_H

#include "base/macros.h"

#define RP_SHA1_SIZE 20

void rp__sha1(const void *bytes, size_t n, uint8_t out[RP_SHA1_SIZE]);

#endif
