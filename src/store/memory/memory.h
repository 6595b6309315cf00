/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory backend from the inside: plain arrays under one mutex. Sessions and
 * runs keep their order of making, so newest first is from the end.
 */
#ifndef RP_STORE_MEMORY_H
#define RP_STORE_MEMORY_H

#include <pthread.h>

#include "store/rules.h"

struct rp__mem_event {
  int64_t at_ms;
  char *kind, *body; /* owned */
  size_t body_len;
  bool sealed;
};

struct rp__mem_snapshot {
  struct rp__snapshot_row row;
  void *data; /* owned */
};

struct rp__mem_idem {
  char *key; /* owned */
  int64_t seq, n, at_ms;
};

struct rp__mem_client {
  char *id; /* owned */
  int64_t mark, seq;
};

/* A growing array of T. */
#define RP_MEM_ARRAY(T)                                                                                                \
  struct {                                                                                                             \
    T *p;                                                                                                              \
    size_t n, cap;                                                                                                     \
  }

struct rp__mem_session {
  struct rp__session_row row;
  int64_t started;
  int64_t snap_n; /* number of the last snapshot */
  RP_MEM_ARRAY(struct rp__mem_event) events;
  RP_MEM_ARRAY(struct rp__mem_snapshot) snapshots;
  RP_MEM_ARRAY(struct rp__mem_idem) idem;
  RP_MEM_ARRAY(struct rp__mem_client) clients;
};

struct rp__mem_scope {
  char name[RP_NAME];
  struct rp__scope_row row;
};

struct rp__mem_store {
  struct rp__store base;
  rp_clock clock;
  pthread_mutex_t mu;
  int64_t last_ref, last_run, last_started;
  RP_MEM_ARRAY(struct rp__mem_session *) sessions;
  RP_MEM_ARRAY(struct rp__run_row) runs;
  RP_MEM_ARRAY(struct rp__mem_scope) scopes;
};

static inline struct rp__mem_store *rp__mem(struct rp__store *s)
{
  return (struct rp__mem_store *)s;
}

/* Makes room for `more` elements in an array at `a`. False without memory; nothing changed then. */
bool rp__mem_room(void *a, size_t size, size_t more);
#define RP_MEM_ROOM(array, more) rp__mem_room(&(array), sizeof *(array).p, (more))

struct rp__mem_session *rp__mem_by_id(struct rp__mem_store *m, const char *id);
struct rp__mem_session *rp__mem_by_ref(struct rp__mem_store *m, int64_t ref);
struct rp__mem_scope *rp__mem_scope(struct rp__mem_store *m, const char *name);
void rp__mem_session_free(struct rp__mem_session *s);
void rp__mem_event_done(struct rp__mem_event *e);
/* What one op changed. What was taken out is freed once its txn stands. */
struct rp__mem_undo {
  struct rp__mem_session *s;  /* whose row and arrays follow; NULL: none */
  struct rp__session_row row; /* before; owns its meta */
  int64_t started, snap_n;
  size_t n_events, n_snapshots, n_idem, n_clients;
  struct rp__mem_client client; /* before; at client_at */
  size_t client_at;
  struct rp__mem_snapshot snapshot; /* taken out of snapshot_at */
  size_t snapshot_at;
  struct rp__mem_event event; /* replaced at event_at */
  size_t event_at;
  size_t n_runs;
  struct rp__run_row run;     /* before; ref 0: none */
  struct rp__mem_scope scope; /* before; name empty: none */
  size_t n_scopes;
  struct rp__mem_session *removed; /* from removed_at, with its runs */
  size_t removed_at;
  struct rp__run_row *runs;
  size_t n_removed_runs;
  bool added; /* a session was added at the end */
};

void rp__mem_undo_apply(struct rp__mem_store *m, struct rp__mem_undo *u);
void rp__mem_undo_drop(struct rp__mem_undo *u);

struct rp__run_row *rp__mem_run(struct rp__mem_store *m, int64_t ref);
int rp__mem_row_copy(struct rp__session_row *to, const struct rp__session_row *from, rp_error *err);

int rp__mem_commit(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err);
int rp__mem_session_find(struct rp__store *s, enum rp__find how, const char *scope, const char *what,
                         struct rp__session_row *ret, rp_error *err);
int rp__mem_session_list(struct rp__store *s, const rp_filter *f, rp__session_row_fn *fn, void *ctx, rp_error *err);
int rp__mem_run_list(struct rp__store *s, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx, rp_error *err);
int rp__mem_event_list(struct rp__store *s, const struct rp__event_range *r, rp__event_row_fn *fn, void *ctx,
                       rp_error *err);
int rp__mem_snapshot_list(struct rp__store *s, int64_t session_ref, int64_t n, rp__snapshot_row_fn *fn, void *ctx,
                          rp_error *err);
int rp__mem_search(struct rp__store *s, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx,
                   rp_error *err);

#endif
