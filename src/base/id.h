/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDv7 ids, caller-given names, random bytes. */
#ifndef RP_BASE_ID_H
#define RP_BASE_ID_H

#include <stdbool.h>

#include "base/macros.h"

#define RP_UUID_TEXT 37

/* Randomness as an argument: fills n bytes. */
struct rp__random {
  void (*fill)(void *ctx, void *bytes, size_t n);
  void *ctx;
};
extern const struct rp__random rp__system_random; /* libsodium's */

/* A UUIDv7 of that time, lower case. */
void rp__uuid7(char out[RP_UUID_TEXT], int64_t wall_ms, const struct rp__random *r);
/* ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$ and no "..": what a caller may use as id, key, scope or channel. */
bool rp__name_ok(const char *s);

#endif
