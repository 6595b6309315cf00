/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the projects that an event is about. */
#ifndef RP_FACETS_PROJECTS_H
#define RP_FACETS_PROJECTS_H

#include "core/event.h"

typedef int rp__project_fn(void *ctx, struct rp__str name);

/*
 * Calls fn for each project the event names: a `project` event's name, /Projects/<name> in the folder or the text of
 * an activity and in the input of a tool, else the name of the activity's folder. Stops at the first failure.
 */
int rp__project_each(const struct rp__event *ev, rp__project_fn *fn, void *ctx);

#endif
