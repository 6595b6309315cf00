/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the cortex format: a record of session_states as one JSON object. */
#ifndef RP_FORMAT_CORTEX_H
#define RP_FORMAT_CORTEX_H

#include "continuity/record.h"
#include "format/take.h"

#define RP_CORTEX_VERSION 1

/* Finds the memory of that id and writes it as the members of a `learning` event. 1, 0: there is none, or an error. */
typedef int rp__cortex_memory_fn(void *ctx, struct rp__json id, struct rp__jw *w, int64_t *ret_at);
struct rp__cortex_memories {
  rp__cortex_memory_fn *find;
  void *ctx;
};

/* One record ("session_id", "start_time" … as the mirror file has them) as a session. `memories` may be NULL. */
int rp__cortex_take(struct rp__take *t, struct rp__json record, const struct rp__cortex_memories *memories);
/* The record of a session as the mirror file has it. */
RP_MUST_USE int rp__cortex_record(const struct rp__giver *g, struct rp__buf *out, rp_error *err);

RP_MUST_USE int rp__cortex_db_import(const struct rp__doc *d, const struct rp__taker *to, rp_error *err);
/* Into an existing database (or a new one): one row of session_states, nothing else. RP_E_EXISTS. */
RP_MUST_USE int rp__cortex_db_put(const struct rp__giver *g, const char *path, rp_error *err);

#endif
