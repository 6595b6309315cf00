/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, because the WebSocket handshake requires it. It protects nothing. */
#ifndef RP_NET_SHA1_H
#define RP_NET_SHA1_H

#include "base/macros.h"

#define RP_SHA1_SIZE 20

void rp__sha1(const void *bytes, size_t n, uint8_t out[RP_SHA1_SIZE]);

#endif
