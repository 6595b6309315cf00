/* SPDX-License-Identifier: Apache-2.0 */
/* Reading option structs of callers that were built against another version of the public headers. */
#include "base/options.h"

int rp__options_read(void *ret, size_t known, size_t first, const void *given, rp_error *err)
{
  size_t size = first;
  memset(ret, 0, known);
  if (!given) return 0;
  if (*(const size_t *)given) size = *(const size_t *)given;
  if (size < sizeof(size_t)) return rp__fail_field(err, RP_E_USAGE, "size", "an option struct of %zu bytes", size);
  for (size_t i = known; i < size; i++) {
    if (((const char *)given)[i])
      return rp__fail_field(err, RP_E_USAGE, "size",
                            "an option was set that this version of the library does not have");
  }
  memcpy(ret, given, RP_MIN(size, known));
  return 0;
}
