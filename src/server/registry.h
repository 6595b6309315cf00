/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles of the sessions in use: one guest's handle per session, shared by all users
 * of the session and kept for a while after the last of them. A session gets its
 * checkpoints (L-06) and its idle status (L-05) through a handle that stays open.
 */
#ifndef RP_SERVER_REGISTRY_H
#define RP_SERVER_REGISTRY_H

#include <stdbool.h>
#include <sys/queue.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "server/http/auth.h"

#define RP_REGISTRY_IDLE 4096     /* unused handles kept; the longest unused goes first */
#define RP_REGISTRY_FRESH_MS 1000 /* after this a cached handle's session is looked up again before use */

/* A copy of what rp_show tells. */
struct rp__shown {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], key[RP_ID_MAX + 1], channel[RP_ID_MAX + 1]; /* "": none */
  char status[16];
  int64_t seq, epoch, created_at, last_activity_at;
  int64_t trashed_at, ended_at; /* 0: not */
  bool ended;                   /* closed or abandoned */
  rp__birth birth;
};
RP_MUST_USE int rp__show(rp_engine *e, const char *ref, struct rp__shown *ret, rp_error *err);

struct rp__registry;

/* One session's place; counted. */
struct rp__entry {
  rp_session *s;
  rp__birth birth;
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], channel[RP_ID_MAX + 1]; /* channel: "" when it has none */
  /* the registry's own */
  LIST_ENTRY(rp__entry) in_bucket;
  TAILQ_ENTRY(rp__entry) unused; /* while there are no references, the longest unused first */
  int refs;
  bool forgotten; /* out of the table; freed with its last reference */
  int64_t looked_ms;
};

RP_MUST_USE int rp__registry_new(rp_engine *e, struct rp__registry **ret, rp_error *err);
void rp__registry_free(struct rp__registry *r); /* all entries must have been put back */

/* By exact id, key or unique prefix, as rp_attach. Any thread; blocks for a read of the store at most. */
RP_MUST_USE int rp__registry_get(struct rp__registry *r, const char *ref, struct rp__entry **ret, rp_error *err);
/* As rp_resolve_in: as seen from a scope (NULL: from none). */
RP_MUST_USE int rp__registry_get_in(struct rp__registry *r, const char *scope, const char *ref, struct rp__entry **ret,
                                    rp_error *err);
struct rp__entry *rp__entry_ref(struct rp__registry *r, struct rp__entry *e); /* one more of what the caller has */
void rp__registry_put(struct rp__registry *r, struct rp__entry *e);
/* The session was trashed, deleted or made anew: whoever asks next gets a new handle. */
void rp__registry_forget(struct rp__registry *r, const char *id);
/* Lets go of at most `most` unused handles beyond `keep`, with the checkpoints that are due: may block. Are there more?
 */
bool rp__registry_trim(struct rp__registry *r, size_t keep, size_t most);
size_t rp__registry_count(struct rp__registry *r);

#endif
