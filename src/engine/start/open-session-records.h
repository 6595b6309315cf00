/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that a start needs although no table has them. Sessions that go on have no record yet; their records are made
 * so that the next session of the scope knows what they know. A brief also needs the records that the next start would
 * write first: those of sessions whose run is dead or that were abandoned (L-09). All of these records are made
 * in memory; nothing is changed.
 */
#ifndef RP_ENGINE_ENDING_H
#define RP_ENGINE_ENDING_H

#include "engine/session-view.h"

struct rp__ending {
  int64_t session_ref, end_ms;
  char session_id[RP_NAME];
  bool lives;  /* end_ms is when something was said last */
  bool closes; /* not one that lives, nor one with a key, which stays open for whoever asks for it */
  int64_t n_tasks;
  bool has_critical;
  uint64_t topics[RP_TOPICS_MAX]; /* as in the recall table */
  size_t n_topics;
  struct rp__buf record; /* as rp__record_read would give it */
};

/* A session that goes on and has said nothing yet: whether it counts is decided by the sources of what it inherited. */
#define RP_ENDINGS_MAX 16 /* that would end */
#define RP_LIVING_MAX 8   /* sessions that go on and are judged: where something was said last */
#define RP_SOURCES_MAX 16 /* of what a session inherited, that are looked for */
struct rp__silent {
  rp_session *s;
  char sources[RP_SOURCES_MAX][RP_NAME];
  size_t read[RP_SOURCES_MAX], n_sources; /* place of each one's read */
};

struct rp__endings {
  struct rp__ending *p;
  size_t n;
  struct rp__silent silent[RP_LIVING_MAX];
  size_t n_silent;
  struct rp__session_row *source_rows; /* room for what their sources' reads return */
  rp_session *previous;                /* a view of the session before, when that was asked for */
};
void rp__endings_done(struct rp__endings *l);

/* The scope's sessions that go on, those where something was said last: read by whoever reads more at once. */
struct rp__living {
  const char *channel, *without;
  int64_t since_ms;
  const struct rp__endings *found; /* what is among these is left out; or NULL */
  rp_engine *judge;                /* runs that died are left out; NULL: they were ended before */
  struct rp__session_row rows[RP_LIVING_MAX + 1];
  size_t n;
};
struct rp__read rp__living_reading(struct rp__living *l, const char *scope);
void rp__living_done(struct rp__living *l);

struct rp__endings_options {
  const char *scope, *channel;            /* channel NULL: of all */
  const struct rp__key *key;              /* the scope's */
  const struct rp__living *living;        /* NULL: they are read */
  const struct rp__session_row *previous; /* of the session before, whose view is wanted; or NULL */
  struct rp__views *seen;                 /* by this start, or NULL */
  const char *without;                    /* id of one that is left out, or NULL */
  int64_t since_ms;                       /* what lives, has said nothing and began before is left out */
  bool dead; /* also what the next start would end; one that has recovered the scope found it */
};
/*
 * At most 16 that would end, the newest runs first, and 8 that live, those where something was said last; one that
 * has said nothing counts when a source of what it inherited is gone. Their number,
 * not that of the scope's open sessions, bounds what is read. One that can't be read has no record, as at a start.
 */
RP_MUST_USE int rp__endings_find(rp_engine *e, const struct rp__endings_options *o, struct rp__endings *ret,
                                 rp_error *err);
/*
 * Reads that tell which of the silent ones are the last to have what they inherited, room for
 * RP_LIVING_MAX * RP_SOURCES_MAX; and what follows from them.
 */
size_t rp__endings_sources(struct rp__endings *l, struct rp__read *reads);
RP_MUST_USE int rp__endings_heirs(rp_engine *e, struct rp__endings *l, const struct rp__read *reads, size_t n,
                                  rp_error *err);
bool rp__ending_undecided(const struct rp__endings *l, const char *session_id);
/* The one of that session, or NULL. */
const struct rp__ending *rp__ending_of(const struct rp__endings *l, const char *session_id);

/* The record that a session would leave, and the same as JSON; nothing is stored. `ret` is done by the caller. */
RP_MUST_USE int rp__record_made(rp_engine *e, const struct rp__session_row *session, const struct rp__key *key,
                                int64_t end_ms, bool crash_recovered, struct rp__capture *ret, struct rp__buf *out,
                                rp_error *err);

#endif
