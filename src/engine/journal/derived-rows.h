/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that follow from events and are written in the transaction of the append: the newest status of a task in the
 * scope, the scope's memories, a session's name and meta. The journal is authoritative; these rows only
 * make queries about the scope cheap.
 */
#ifndef RP_ENGINE_DERIVE_H
#define RP_ENGINE_DERIVE_H

#include "engine/engine.h"

/* Whether an event of that kind has rows that follow from it. */
static inline bool rp__derives(enum rp__kind k)
{
  return k == RP_KIND_TASK || k == RP_KIND_LEARNING || k == RP_KIND_CONFIDENCE || k == RP_KIND_SESSION;
}

/* The bytes that one event's op points to, until the commit is over. */
struct rp__derived {
  struct rp__memory_row memory;
  struct rp__buf content, sealed;
  char categories[4096];
  struct rp__buf meta;       /* what a `session` event says of it, a JSON value … */
  const struct rp__key *key; /* … and the key of a sealed scope */
  bool unknown;              /* found by rp__derive_catch_up: the scope has no such memory */
};
void rp__derived_done(struct rp__derived *d);

/* Asks the store, for an event that needs it, which rows the scope has. */
RP_MUST_USE int rp__derive_catch_up(rp_session *s, const struct rp__event *ev, struct rp__derived *ret, rp_error *err);
/* `d` is zeroes, or what was found for the event. The op for an event, the `offset`th of the append at place
 * `append_op`. *ret_any false: none follows after all. */
RP_MUST_USE int rp__derive(rp_session *s, const struct rp__event *ev, size_t append_op, size_t offset,
                           struct rp__derived *d, struct rp__op *ret, bool *ret_any, rp_error *err);

/* The op that calls the session by `name`, a string or null; false: it is none that is taken, or the scope is sealed.
 */
bool rp__derive_name(rp_session *s, struct rp__json name, struct rp__buf *text, struct rp__op *ret);

/* The hash of a task's id, keyed in a sealed scope. */
uint64_t rp__task_hash(const struct rp__key *key, const char *task_id);
/* The place that a sealed memory's content is bound to. */
struct rp__str rp__memory_ad(const char *memory_id);

#endif
