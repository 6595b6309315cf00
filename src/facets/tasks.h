/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a session. */
#ifndef RP_FACETS_TASKS_H
#define RP_FACETS_TASKS_H

#include "facets/rows.h"
#include "facets/table.h"

/* Columns and flags of rp__facet_tasks; the last word on a task stands at the end. */
enum { RP_TASK_ID, RP_TASK_TITLE, RP_TASK_STAGE, RP_TASK_STATUS, RP_TASK_SOURCE, RP_TASK_INHERITED_FROM };
enum { RP_TASK_FLAGGED = 1 << 0 }; /* something says that it is incomplete */

/* Whether the task of a row is pending. */
bool rp__task_row_open(const struct rp__row *row);
/* Whether a `task` event says that the task goes on: neither its status nor its stage says that it is over. */
bool rp__task_is_open(struct rp__json body);

#endif
