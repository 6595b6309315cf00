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
  char *tail; /* owned; NULL: none */
  size_t tail_len;
};

struct rp__mem_snapshot {
  struct rp__snapshot_row row;
  void *data; /* owned */
};

struct rp__mem_blob {
  struct rp__blob_row row; /* its data is … */
  char *data;              /* … this, owned */
};

struct rp__mem_idem {
  char *key; /* owned */
  int64_t seq, n, at_ms;
  unsigned char digest[RP_REQUEST_DIGEST];
  bool has_digest;
};

struct rp__mem_request {
  struct rp__request_row row; /* its scope and key are … */
  char *scope, *key;          /* … these, owned */
  int64_t at_ms;
};

struct rp__mem_client {
  char *id; /* owned */
  int64_t mark, seq;
};

struct rp__mem_task {
  char scope[RP_NAME];
  struct rp__task_row row; /* without the session's id */
};

struct rp__mem_memory {
  struct rp__memory_row row;  /* content and categories are … */
  char *content, *categories; /* … these, owned */
};

struct rp__mem_audit {
  struct rp__audit_row row; /* its fields are … */
  char *fields;             /* … these, owned */
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
  int64_t moved;                 /* the store's `moves` when its journal last grew */
  int64_t snap_n;                /* number of the last snapshot */
  struct rp__record_row *record; /* owned; NULL: none */
  RP_MEM_ARRAY(struct rp__mem_event) events;
  RP_MEM_ARRAY(struct rp__mem_snapshot) snapshots;
  RP_MEM_ARRAY(struct rp__mem_blob) blobs; /* by id */
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
  const struct rp__txn *txn; /* whose op is running */
  int64_t last_ref, last_run, last_started;
  int64_t moves, version; /* appends, commits */
  int64_t tail_key;       /* number of the key that tails are sealed with; 0: none yet */
  RP_MEM_ARRAY(struct rp__mem_session *) sessions;
  RP_MEM_ARRAY(struct rp__run_row) runs;
  RP_MEM_ARRAY(struct rp__mem_scope) scopes;
  RP_MEM_ARRAY(struct rp__mem_task) tasks;
  RP_MEM_ARRAY(struct rp__mem_memory) memories;
  RP_MEM_ARRAY(struct rp__mem_audit) audits;
  RP_MEM_ARRAY(struct rp__token_row) tokens; /* in the order of making */
  RP_MEM_ARRAY(struct rp__mem_request) requests;
  RP_MEM_ARRAY(struct rp__name_row) names;
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
void rp__mem_record_free(struct rp__record_row *r);
void rp__mem_memory_done(struct rp__mem_memory *m);
/* What one op changed. What was taken out is freed once its txn stands. */
struct rp__mem_undo {
  struct rp__mem_session *s;  /* whose row and arrays follow; NULL: none */
  struct rp__session_row row; /* before; owns its meta */
  int64_t started, snap_n, moved;
  size_t n_events, n_snapshots, n_idem, n_clients;
  int64_t tail_key;
  struct rp__mem_client client; /* before; at client_at */
  size_t client_at;
  struct rp__mem_snapshot snapshot; /* taken out of snapshot_at */
  size_t snapshot_at;
  enum { RP_MEM_BLOB_SAME = 0, RP_MEM_BLOB_ADDED, RP_MEM_BLOB_REPLACED, RP_MEM_BLOB_TAKEN } blob_did;
  struct rp__mem_blob blob; /* before; at blob_at */
  size_t blob_at;
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
  bool added;                    /* a session was added at the end */
  struct rp__record_row *record; /* of s, before */
  bool record_set;
  char record_continued[RP_NAME]; /* of s's record, before */
  bool record_continued_set;
  struct rp__mem_task task; /* before; at task_at; scope empty: none */
  size_t task_at, n_tasks;
  struct rp__mem_task *tasks;   /* all of them, when some were removed */
  struct rp__mem_memory memory; /* before; at memory_at; no content: none */
  bool memory_removed;
  double memory_confidence; /* before, when only that and the time changed */
  int64_t memory_updated;
  bool memory_set;
  size_t memory_at, n_memories, n_audits;
  struct rp__token_row token; /* before; at token_at; id empty: none */
  bool token_removed;
  size_t token_at, n_tokens, n_requests;
  struct rp__name_row *names; /* all of them before, when a session's changed */
  size_t n_names;
  struct rp__name_row name, name_out; /* before, at name_at; taken out, from name_out_at; name empty: none */
  size_t name_at, name_out_at;
  bool name_added; /* at the end */
};

void rp__mem_undo_apply(struct rp__mem_store *m, struct rp__mem_undo *u);
void rp__mem_undo_drop(struct rp__mem_undo *u);

struct rp__run_row *rp__mem_run(struct rp__mem_store *m, int64_t ref);
int rp__mem_row_copy(struct rp__session_row *to, const struct rp__session_row *from, rp_error *err);

/* The session an op names, noted in the undo. */
int rp__mem_touch(struct rp__mem_store *m, const struct rp__op *op, struct rp__mem_undo *u,
                  struct rp__mem_session **ret, rp_error *err);
/* How often the terms are there; 0 unless every one is. */
struct rp__terms;
double rp__mem_places(const struct rp__terms *t, struct rp__str text);

typedef int rp__mem_op(struct rp__mem_store *m, struct rp__op *op, struct rp__mem_undo *u, rp_error *err);
rp__mem_op rp__mem_record_put, rp__mem_record_archive, rp__mem_task_put, rp__mem_memory_put, rp__mem_memory_set,
    rp__mem_memory_delete, rp__mem_audit_put, rp__mem_audit_erase, rp__mem_token_put, rp__mem_token_used,
    rp__mem_token_delete, rp__mem_blob_put, rp__mem_blob_set, rp__mem_blob_delete, rp__mem_tail_key,
    rp__mem_tails_forget, rp__mem_request_put, rp__mem_name_put;
void rp__mem_blob_undo(struct rp__mem_session *s, struct rp__mem_undo *u);
/* The record after fields of its session changed. */
void rp__mem_record_follow(struct rp__mem_session *s, unsigned fields, struct rp__mem_undo *u);
/* Takes the words of a session out. */
int rp__mem_tasks_remove(struct rp__mem_store *m, int64_t session_ref, struct rp__mem_undo *u, rp_error *err);

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
int rp__mem_recall_list(struct rp__store *s, const struct rp__recall_filter *f, rp__recall_fn *fn, void *ctx,
                        rp_error *err);
int rp__mem_record_get(struct rp__store *s, int64_t session_ref, struct rp__record_row *ret, rp_error *err);
int rp__mem_task_get(struct rp__store *s, const char *scope, uint64_t hash, struct rp__task_row *ret, bool *ret_found,
                     rp_error *err);
int rp__mem_memory_list(struct rp__store *s, const struct rp__memory_filter *f, rp__memory_fn *fn, void *ctx,
                        rp_error *err);
int rp__mem_audit_list(struct rp__store *s, const struct rp__audit_filter *f, rp__audit_fn *fn, void *ctx,
                       rp_error *err);
int rp__mem_audit_head(struct rp__store *s, const char *scope, struct rp__audit_row *ret, rp_error *err);
int rp__mem_token_list(struct rp__store *s, const char *id, rp__token_fn *fn, void *ctx, rp_error *err);
int rp__mem_request_get(struct rp__store *s, const char *scope, const char *key, struct rp__request_row *ret,
                        bool *ret_found, rp_error *err);
int rp__mem_name_get(struct rp__store *s, const char *name, struct rp__name_row *ret, bool *ret_found, rp_error *err);
/* The session goes: its names stay, and say so. */
int rp__mem_names_bereave(struct rp__mem_store *m, const char *session_id, int64_t now_ms, struct rp__mem_undo *u,
                          rp_error *err);
void rp__mem_names_prune(struct rp__mem_store *m, int64_t before);
/* Takes out what is older, or (from `from` on) all. */
void rp__mem_requests_drop(struct rp__mem_store *m, size_t from, int64_t before);
int rp__mem_blob_list(struct rp__store *s, int64_t session_ref, const char *id, rp__blob_fn *fn, void *ctx,
                      rp_error *err);
int rp__mem_tail_list(struct rp__store *s, int64_t session_ref, const struct rp__tails *which, rp__tail_fn *fn,
                      void *ctx, rp_error *err);
int rp__mem_scope_list(struct rp__store *s, rp__scope_fn *fn, void *ctx, rp_error *err);
int rp__mem_changes(struct rp__store *s, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx, rp_error *err);
int rp__mem_version(struct rp__store *s, int64_t *ret, rp_error *err);

#endif
