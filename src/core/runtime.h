/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The statuses of the runtime, which runs a session's agent, and the changes allowed between them, as one table (L-05).
 */
#ifndef RP_CORE_RUNTIME_H
#define RP_CORE_RUNTIME_H

#include <stdbool.h>

#include "base/macros.h"

enum rp__runtime {
  RP_RUNTIME_STARTING,
  RP_RUNTIME_IDLE,
  RP_RUNTIME_RUNNING,
  RP_RUNTIME_AWAITING_APPROVAL,
  RP_RUNTIME_AWAITING_ANSWER,
  RP_RUNTIME_RECONNECTING,
  RP_RUNTIME_ERROR,
  RP_RUNTIME_TERMINATED,
  RP_RUNTIME_NONE, /* there is no agent */
};

const char *rp__runtime_name(enum rp__runtime r); /* NULL for none */
/* RP_RUNTIME_NONE when there is no such status. */
enum rp__runtime rp__runtime_parse(const char *s, size_t n);
/* Whether `to` may follow `from`; a status may follow itself. */
bool rp__runtime_may(enum rp__runtime from, enum rp__runtime to);

#endif
