/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses of a session and the changes allowed between them, as one table (L-05). */
#ifndef RP_CORE_LIFECYCLE_H
#define RP_CORE_LIFECYCLE_H

#include "base/enum-words.h"
#include "base/error.h"

/* Moves from one status to another. */
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

/* The status after the move, or RP_E_ENDED (any move but RESUME_ID on an ended one) or RP_E_TRANSITION. */
RP_MUST_USE int rp__status_move(enum rp__status from, enum rp__move move, enum rp__status *ret, rp_error *err);

#endif
