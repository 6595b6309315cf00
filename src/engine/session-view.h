/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: handles for reading several sessions of a scope at one moment. Their states and open streams are read in one
 * call of the store, and nothing is read again while the views are used. A start makes records of dead and living
 * sessions from them.
 *
 * A journal that can't be read this way (a damaged snapshot or event, a turning point in the tail) gives a handle
 * without a state. A function that needs this state reads it in the usual way, which handles the damage and warns of
 * it.
 */
#ifndef RP_ENGINE_SESSION_VIEW_H
#define RP_ENGINE_SESSION_VIEW_H

#include "engine/capture/capture.h"

struct rp__view {
  struct rp__session_row row;     /* as it was found, without meta */
  char *root;                     /* the folder that its meta names, for records; or NULL */
  bool loaded;                    /* the handle's fold is the state at the end of the journal */
  struct rp__streams *streams;    /* of a session that has some; whoever asks for them first takes them */
  int64_t told_number;            /* streams with this number hold nothing any more; 0: not known */
  const struct rp__tally *topics; /* how common topics are in the scope, for records; or NULL */
  rp__event_fn *on_event;         /* told of the events behind the snapshot; or NULL */
  void *ctx;

  struct rp__fold *fold; /* while it is being read */
  struct rp__buf plain;
  bool failed;
};
void rp__view_free(struct rp__view *v); /* NULL is fine */

/* A guest's handle with a view that has not been read yet. */
RP_MUST_USE int rp__view_open(rp_engine *e, const struct rp__session_row *row, const struct rp__key *key,
                              rp_session **ret, rp_error *err);

/* What one start has seen of a scope's sessions, so that it reads nothing twice. */
struct rp__views {
  struct rp__tally *topics; /* NULL: nobody has asked for them */
  rp_session **p;           /* views whose state somebody may ask for again */
  size_t n, cap;
  int64_t bytes; /* of their states, at most */
};
void rp__views_done(struct rp__views *l);
/*
 * Reads the states of views of one scope. With `seen` they get the scope's topics, which are read in the same call
 * unless they are there already. RP_E_NOMEM, _BUSY, _UNREACHABLE; whatever else is wrong leaves views without a state.
 */
RP_MUST_USE int rp__views_read(rp_engine *e, const char *scope, rp_session *const *views, size_t n,
                               struct rp__views *seen, rp_error *err);
/* Keeps a reference to a view. Whoever stored more clears `loaded`: the next use then reads that alone. */
void rp__views_keep(struct rp__views *l, rp_session *s);
rp_session *rp__views_find(const struct rp__views *l, int64_t session_ref); /* borrowed; NULL: there is none */

#endif
