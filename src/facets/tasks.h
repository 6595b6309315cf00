/* SPDX-License-Identifier: Apache-2.0 */
/* What a `task` event says, for whoever keeps the scope's word on a task. */
#ifndef RP_FACETS_TASKS_H
#define RP_FACETS_TASKS_H

#include "json/json.h"

/* Whether the task goes on: neither its status nor its stage says that it is over. */
bool rp__task_is_open(struct rp__json body);

#endif
