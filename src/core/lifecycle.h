/* SPDX-License-Identifier: Apache-2.0 */
/* L-05: the statuses of a session and which may follow which, as one table. */
#ifndef RP_CORE_LIFECYCLE_H
#define RP_CORE_LIFECYCLE_H

#include <stdbool.h>

#include "base/error.h"

enum rp__status {
  RP_STATUS_CREATED,
  RP_STATUS_ACTIVE,
  RP_STATUS_IDLE,
  RP_STATUS_CHECKPOINTED,
  RP_STATUS_CLOSED,
  RP_STATUS_ABANDONED,
  RP_STATUS_MAX,
};

/* What moves a session along. */
enum rp__move {
  RP_MOVE_EVENT,      /* an event that counts as activity */
  RP_MOVE_QUIET,      /* nothing for idle_s */
  RP_MOVE_CHECKPOINT, /* an explicit checkpoint of a resting session */
  RP_MOVE_RESUME_KEY, /* started again by key */
  RP_MOVE_RESUME_ID,  /* started again by its own id: the only way back from closed and abandoned */
  RP_MOVE_CLOSE,
  RP_MOVE_ABANDON,
  RP_MOVE_MAX,
};

const char *rp__status_name(enum rp__status s);
/* RP_STATUS_MAX when there is no such status. */
enum rp__status rp__status_parse(const char *s, size_t n);
bool rp__status_ended(enum rp__status s);
/* The status after the move, or RP_E_ENDED (any move but RESUME_ID on an ended one) or RP_E_TRANSITION. */
int rp__status_move(enum rp__status from, enum rp__move move, enum rp__status *ret, rp_error *err);

#endif
