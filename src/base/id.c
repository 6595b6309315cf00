/* SPDX-License-Identifier: Apache-2.0 */
/* UUIDv7 ids, the check of names that callers give, and random bytes. */
#include "base/id.h"

#include <sodium.h>

#include "base/text.h"

#define NAME_MAX_BYTES 128

static void system_fill(void *ctx, void *bytes, size_t n)
{
  (void)ctx;
  /* Idempotent and safe from several threads; should it fail, the generator still asks the kernel. */
  if (sodium_init() < 0) randombytes_stir();
  randombytes_buf(bytes, n);
}

const struct rp__random rp__system_random = {system_fill, NULL};

void rp__uuid7(char out[RP_UUID_TEXT], int64_t wall_ms, const struct rp__random *r)
{
  static const char hex[] = "0123456789abcdef";
  unsigned char id[16];
  uint64_t ms = wall_ms < 0 ? 0 : (uint64_t)wall_ms;
  r->fill(r->ctx, id + 6, sizeof id - 6);
  for (int i = 0; i < 6; i++) id[i] = (unsigned char)(ms >> (40 - 8 * i));
  id[6] = (unsigned char)(0x70 | (id[6] & 0x0f));
  id[8] = (unsigned char)(0x80 | (id[8] & 0x3f));
  char *p = out;
  for (size_t i = 0; i < sizeof id; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *p++ = '-';
    *p++ = hex[id[i] >> 4];
    *p++ = hex[id[i] & 15];
  }
  *p = '\0';
}

bool rp__name_ok(const char *s)
{
  if (!s || !rp__is_alnum(*s)) return false;
  size_t n = 1;
  for (; s[n]; n++) {
    if (n == NAME_MAX_BYTES) return false;
    if (!rp__is_alnum(s[n]) && !strchr("._:-", s[n])) return false;
    if (s[n] == '.' && s[n - 1] == '.') return false;
  }
  return true;
}
