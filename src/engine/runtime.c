/* SPDX-License-Identifier: Apache-2.0 */
/* rp_runtime_may: whether one status of a runtime may follow another. */
#include "core/runtime.h"

#include <reprise/host.h>

bool rp_runtime_may(const char *from, const char *to)
{
  enum rp__runtime was = from ? rp__runtime_parse(from, strlen(from)) : RP_RUNTIME_NONE;
  if (!to || (from && was == RP_RUNTIME_NONE)) return false;
  return rp__runtime_may(was, rp__runtime_parse(to, strlen(to)));
}
