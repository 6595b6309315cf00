/* SPDX-License-Identifier: Apache-2.0 */
/* One start, shared by its parts: finding the session (find.c), committing (commit-start.c), the document (start.c). */
#ifndef RP_ENGINE_START_H
#define RP_ENGINE_START_H

#include "engine/start/recover.h"
#include "engine/start/restoration.h"

#define RP_META_MAX (64 * 1024)

/*
 * One attempt. The scope, its key, the session and its runs are read once each, by the functions below in their order,
 * and handed on here. docs/architecture.md, "The path of one start", lists the reads.
 */
struct rp__start {
  rp_engine *e;
  const rp_start_options *o;
  int64_t now;

  /* rp__start_look */
  struct rp__scope_row scope;
  const struct rp__key *key;      /* of the scope, or NULL */
  struct rp__request_row request; /* of the options' request: what it is known by */
  struct rp__open_runs open;
  struct rp__proc owner;
  int owner_rc; /* why there is no such owner, */
  rp_error owner_err;
  struct rp__session_row owned; /* the session of the newest run that the same owner has in the scope; ref 0: none */

  struct rp__views seen; /* sessions whose state was read */
  rp_session *view;      /* of the session that is resumed; or NULL */

  /* rp__start_find */
  struct rp__session_row row; /* the target, when `found`; the new one otherwise */
  bool found;
  struct rp__run_row current; /* its open run, when `held` */
  bool held;
  bool repeated;
  struct rp__restart_facts facts;  /* about the run before */
  struct rp__session_row previous; /* of a new session: the one it follows; ref 0: none */
  struct rp__living living;        /* of a new session: those that go on beside it */

  bool leasing; /* all was found, and the lease is being committed */
  bool spoken;  /* the last words of the run before were told, in an attempt that may have failed */
  char *root;   /* the project's folder, or NULL; owned */
  struct rp__restoration restoration;
  struct rp__buf brief;

  int64_t slot;
  int64_t starts;
  struct rp__buf recovered; /* the JSON array of ids */
  struct rp__jw recovered_w;
  struct rp__buf warnings;
};

void rp__start_warn(struct rp__start *st, const char *what, const rp_error *why);

/* The scope and its key, the open runs, and, under a request's key, what was made before (*ret_again). */
RP_MUST_USE int rp__start_look(struct rp__start *st, bool *ret_again, rp_error *err);
/*
 * The session that id, key or owner name: st->found, and st->held with st->current when it has an open run. Otherwise
 * st->row is that of a new session, a successor of the last one of the scope or, with per_channel, of the channel.
 */
RP_MUST_USE int rp__start_find(struct rp__start *st, rp_error *err);
/* The start marker, durable: makes or leases the session and says in its journal what came back into it. */
RP_MUST_USE int rp__start_lease(struct rp__start *st, rp_error *err);

#endif
