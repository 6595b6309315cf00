/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses of a runtime and their transitions. */
#include "core/runtime.h"

static const char *const names[RP_RUNTIME_NONE] = {
    [RP_RUNTIME_STARTING] = "starting",
    [RP_RUNTIME_IDLE] = "idle",
    [RP_RUNTIME_RUNNING] = "running",
    [RP_RUNTIME_AWAITING_APPROVAL] = "awaiting_approval",
    [RP_RUNTIME_AWAITING_ANSWER] = "awaiting_answer",
    [RP_RUNTIME_RECONNECTING] = "reconnecting",
    [RP_RUNTIME_ERROR] = "error",
    [RP_RUNTIME_TERMINATED] = "terminated",
};

#define BIT(s) (1U << RP_RUNTIME_##s)
#define AT_WORK (BIT(IDLE) | BIT(RUNNING) | BIT(AWAITING_APPROVAL) | BIT(AWAITING_ANSWER))
#define GONE (BIT(RECONNECTING) | BIT(ERROR) | BIT(TERMINATED))

/*
 * An agent that failed may say that it works again, or be started anew; one that was terminated can only be started
 * anew (C-01). An agent at work does not go back to starting.
 */
static const unsigned follows[RP_RUNTIME_NONE + 1] = {
    [RP_RUNTIME_STARTING] = AT_WORK | GONE,
    [RP_RUNTIME_IDLE] = AT_WORK | GONE,
    [RP_RUNTIME_RUNNING] = AT_WORK | GONE,
    [RP_RUNTIME_AWAITING_APPROVAL] = AT_WORK | GONE,
    [RP_RUNTIME_AWAITING_ANSWER] = AT_WORK | GONE,
    [RP_RUNTIME_RECONNECTING] = BIT(STARTING) | AT_WORK | GONE,
    [RP_RUNTIME_ERROR] = BIT(STARTING) | BIT(IDLE) | BIT(RUNNING) | BIT(TERMINATED),
    [RP_RUNTIME_TERMINATED] = BIT(STARTING),
    [RP_RUNTIME_NONE] = BIT(STARTING) | AT_WORK | GONE,
};

const char *rp__runtime_name(enum rp__runtime r)
{
  return (unsigned)r < RP_RUNTIME_NONE ? names[r] : NULL;
}

enum rp__runtime rp__runtime_parse(const char *s, size_t n)
{
  unsigned i = 0;
  while (i < RP_RUNTIME_NONE && !rp__str_eq((struct rp__str){s, n}, names[i])) i++;
  return (enum rp__runtime)i;
}

bool rp__runtime_may(enum rp__runtime from, enum rp__runtime to)
{
  if ((unsigned)from > RP_RUNTIME_NONE || (unsigned)to >= RP_RUNTIME_NONE) return false;
  return from == to || (follows[from] & 1U << to) != 0;
}
