/* SPDX-License-Identifier: Apache-2.0 */
#include "core/lifecycle.h"

static const char *const status_names[RP_STATUS_MAX] = {
    [RP_STATUS_CREATED] = "created",           [RP_STATUS_ACTIVE] = "active", [RP_STATUS_IDLE] = "idle",
    [RP_STATUS_CHECKPOINTED] = "checkpointed", [RP_STATUS_CLOSED] = "closed", [RP_STATUS_ABANDONED] = "abandoned",
};

static const char *const move_names[RP_MOVE_MAX] = {
    [RP_MOVE_EVENT] = "take an event",        [RP_MOVE_QUIET] = "fall idle",
    [RP_MOVE_CHECKPOINT] = "be checkpointed", [RP_MOVE_RESUME_KEY] = "be resumed by key",
    [RP_MOVE_RESUME_ID] = "be resumed by id", [RP_MOVE_CLOSE] = "be closed",
    [RP_MOVE_ABANDON] = "be abandoned",
};

/* The way back from closed and abandoned is narrow on purpose: a key names whatever is open, an id names this session.
 */
#define NONE RP_STATUS_MAX
#define OPEN_ROW(after_quiet)                                                                                          \
  {                                                                                                                    \
    [RP_MOVE_EVENT] = RP_STATUS_ACTIVE, [RP_MOVE_QUIET] = (after_quiet),                                               \
    [RP_MOVE_CHECKPOINT] = RP_STATUS_CHECKPOINTED, [RP_MOVE_RESUME_KEY] = RP_STATUS_ACTIVE,                            \
    [RP_MOVE_RESUME_ID] = RP_STATUS_ACTIVE, [RP_MOVE_CLOSE] = RP_STATUS_CLOSED,                                        \
    [RP_MOVE_ABANDON] = RP_STATUS_ABANDONED,                                                                           \
  }
#define ENDED_ROW                                                                                                      \
  {                                                                                                                    \
    [RP_MOVE_EVENT] = NONE, [RP_MOVE_QUIET] = NONE, [RP_MOVE_CHECKPOINT] = NONE, [RP_MOVE_RESUME_KEY] = NONE,          \
    [RP_MOVE_RESUME_ID] = RP_STATUS_ACTIVE, [RP_MOVE_CLOSE] = NONE, [RP_MOVE_ABANDON] = NONE,                          \
  }

static const enum rp__status moves[RP_STATUS_MAX][RP_MOVE_MAX] = {
    [RP_STATUS_CREATED] = OPEN_ROW(RP_STATUS_IDLE),
    [RP_STATUS_ACTIVE] = OPEN_ROW(RP_STATUS_IDLE),
    [RP_STATUS_IDLE] = OPEN_ROW(RP_STATUS_IDLE),
    [RP_STATUS_CHECKPOINTED] = OPEN_ROW(RP_STATUS_IDLE),
    [RP_STATUS_CLOSED] = ENDED_ROW,
    [RP_STATUS_ABANDONED] = ENDED_ROW,
};

const char *rp__status_name(enum rp__status s)
{
  return (unsigned)s < RP_STATUS_MAX ? status_names[s] : "unknown";
}

enum rp__status rp__status_parse(const char *s, size_t n)
{
  for (unsigned i = 0; i < RP_STATUS_MAX; i++) {
    if (rp__str_eq((struct rp__str){s, n}, status_names[i])) return (enum rp__status)i;
  }
  return RP_STATUS_MAX;
}

bool rp__status_ended(enum rp__status s)
{
  return s == RP_STATUS_CLOSED || s == RP_STATUS_ABANDONED;
}

int rp__status_move(enum rp__status from, enum rp__move move, enum rp__status *ret, rp_error *err)
{
  if ((unsigned)from >= RP_STATUS_MAX || (unsigned)move >= RP_MOVE_MAX)
    return rp__fail(err, RP_E_TRANSITION, "no such status or move");
  enum rp__status to = moves[from][move];
  if (to != NONE) {
    *ret = to;
    return 0;
  }
  int code = rp__status_ended(from) ? RP_E_ENDED : RP_E_TRANSITION;
  rp__fail(err, code, "the session is %s and can't %s", status_names[from], move_names[move]);
  if (code == RP_E_ENDED) rp__hint(err, "resume it by its id");
  return code;
}
