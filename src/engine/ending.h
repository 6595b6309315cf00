/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the next start of a scope would write before it looks for a past: the records of sessions whose run is dead
 * or that were abandoned (L-09). Made in memory, so that a brief can tell what a start would inject and change
 * nothing.
 */
#ifndef RP_ENGINE_ENDING_H
#define RP_ENGINE_ENDING_H

#include "engine/capture.h"

struct rp__ending {
  int64_t session_ref, end_ms;
  char session_id[RP_NAME];
  bool closes; /* one with a key stays open, for whoever asks for it */
  int64_t n_tasks;
  bool has_critical;
  uint64_t topics[RP_TOPICS_MAX]; /* as in the recall table */
  size_t n_topics;
  struct rp__buf record; /* as rp__record_read would give it */
};

struct rp__endings {
  struct rp__ending *p;
  size_t n;
};
void rp__endings_done(struct rp__endings *l);

/* `channel` NULL: of all. At most 16, the newest runs first. One that can't be read has no record, as at a start. */
int rp__endings_find(rp_engine *e, const char *scope, const char *channel, struct rp__endings *ret, rp_error *err);
/* The one of that session, or NULL. */
const struct rp__ending *rp__ending_of(const struct rp__endings *l, const char *session_id);

/* The record that a session would leave, and the same as JSON; nothing is stored. `ret` is done by the caller. */
int rp__record_made(rp_engine *e, const struct rp__session_row *session, int64_t end_ms, bool crash_recovered,
                    struct rp__capture *ret, struct rp__buf *out, rp_error *err);

#endif
