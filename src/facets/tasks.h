/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a session. */
#ifndef RP_FACETS_TASKS_H
#define RP_FACETS_TASKS_H

#include "facets/rows.h"
#include "facets/table.h"

/* Columns and flags of rp__facet_tasks; the last word on a task stands at the end. */
enum { RP_TASK_ID, RP_TASK_TITLE, RP_TASK_STAGE, RP_TASK_STATUS, RP_TASK_SOURCE, RP_TASK_INHERITED_FROM };
enum {
  RP_TASK_FLAGGED = 1 << 0,   /* something says that it is incomplete */
  RP_TASK_CONFIRMED = 1 << 2, /* a second message mentions it, or a pin names it */
};

/*
 * How long a task is pending that one message mentioned, and nobody since: people talk of other people's tasks, and a
 * pasted line may name any. A task of the session's own is spoken of again, pinned, or told by a `task` event.
 */
#define RP_TASK_HEARD_MS (INT64_C(3) * 24 * 60 * 60 * 1000)

/* Whether the task of a row is pending at that time. */
bool rp__task_row_pending(const struct rp__row *row, int64_t now_ms);
/* Whether a `task` event says that the task goes on: neither its status nor its stage says that it is over. */
bool rp__task_is_open(struct rp__json body);

#endif
