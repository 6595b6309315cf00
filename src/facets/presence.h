/* SPDX-License-Identifier: Apache-2.0 */
/* The person who was seen last, and when; whether the agent is awake (N-14). */
#ifndef RP_FACETS_PRESENCE_H
#define RP_FACETS_PRESENCE_H

#include "core/fold.h"

/* The person that was recognised last, a JSON string that lasts until the fold changes; false: nobody was. */
bool rp__presence_person(const struct rp__fold *f, struct rp__json *ret_name, int64_t *ret_ms);
/* awake, falling_asleep, sleeping or waking_up; awake when nothing was said. */
const char *rp__presence_sleep(const struct rp__fold *f);

#endif
