/* SPDX-License-Identifier: Apache-2.0 */
/* The statuses of a session and their transitions. */
#include "core/lifecycle.h"

static const char *const move_names[RP_MOVE_MAX] = {
    [RP_MOVE_EVENT] = "take an event",        [RP_MOVE_QUIET] = "fall idle",
    [RP_MOVE_CHECKPOINT] = "be checkpointed", [RP_MOVE_RESUME_KEY] = "be resumed by key",
    [RP_MOVE_RESUME_ID] = "be resumed by id", [RP_MOVE_CLOSE] = "be closed",
    [RP_MOVE_ABANDON] = "be abandoned",
};

/*
 * The status after each move of an open session. An ended one can only be resumed by its id: a key names whatever is
 * open, an id names this session.
 */
static const enum rp__status after[RP_MOVE_MAX] = {
    [RP_MOVE_EVENT] = RP_STATUS_ACTIVE,
    [RP_MOVE_QUIET] = RP_STATUS_IDLE,
    [RP_MOVE_CHECKPOINT] = RP_STATUS_CHECKPOINTED,
    [RP_MOVE_RESUME_KEY] = RP_STATUS_ACTIVE,
    [RP_MOVE_RESUME_ID] = RP_STATUS_ACTIVE,
    [RP_MOVE_CLOSE] = RP_STATUS_CLOSED,
    [RP_MOVE_ABANDON] = RP_STATUS_ABANDONED,
};

int rp__status_move(enum rp__status from, enum rp__move move, enum rp__status *ret, rp_error *err)
{
  if ((unsigned)from >= RP_STATUS_MAX || (unsigned)move >= RP_MOVE_MAX)
    return rp__fail(err, RP_E_TRANSITION, "no such status or move");
  if (rp__status_ended(from) && move != RP_MOVE_RESUME_ID) {
    rp__fail(err, RP_E_ENDED, "the session is %s and can't %s", rp__status_words[from], move_names[move]);
    rp__hint(err, "resume it by its id");
    return RP_E_ENDED;
  }
  *ret = after[move];
  return 0;
}
