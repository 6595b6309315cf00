/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of this layer share: the engine, the session handle, and the
 * steps from which the public functions are made.
 *
 * Locks, in the order they are taken: session->lock, session->dirty_lock, the
 * outbox's, engine->lock, the commit queue's. Nothing is called back with engine->lock held.
 */
#ifndef RP_ENGINE_H
#define RP_ENGINE_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/credentials/fleet.h"
#include "base/process/lockfile.h"
#include "core/checkpoint-due.h"
#include "core/snapshot.h"
#include "engine/journal/commit-queue.h"
#include "engine/journal/outbox.h"
#include "engine/config.h"
#include "engine/capture/document-cache.h"
#include "engine/keep/background-jobs.h"
#include "engine/keep/metrics.h"
#include "engine/journal/tail-key.h"
#include "facets/table.h"
#include "redact/redact.h"
#include "store/store.h"

#define RP_FOLDS_KEPT 64                /* folded states kept in memory between uses */
#define RP_STATE_MAX (24 * 1024 * 1024) /* bytes of a state document */
#define RP_PAGE_EVENTS 256
#define RP_TOKENS_SEEN 64  /* places in which uses of tokens are noted */
#define RP_SCOPE_STORE "-" /* whose audit log tells of the store as a whole; no name of a user's */
#define RP_PAGE_BYTES (1024 * 1024)

struct rp__counters {
  atomic_llong appends, repeats, refused, snapshots_ok, snapshots_failed, restores_ok, restores_failed, fallbacks;
  atomic_llong redactions, audits;
  atomic_llong heartbeats_ok, heartbeats_failed, checkpoints_ok, checkpoints_failed;
};

/* The key of a scope, loaded once. */
struct rp__scope_key {
  struct rp__scope_key *next;
  char scope[RP_NAME];
  bool present;
  struct rp__key key;
};

/* The live session store (capture/mirror.c): what was written, and until when nothing is. */
struct rp__store_mirror {
  bool known;
  int64_t version, rest_until;
};

struct rp_engine {
  struct rp__store *store;
  rp_clock clock;
  struct rp__log log;
  struct rp__config *config;
  struct rp__redactor *redactor;
  bool debug; /* REPRISE_DEBUG or CORTEX_SESSION_DEBUG: every decision of a restoration is logged */
  struct rp__commitq queue;
  struct rp__outbox outbox;
  struct rp__changes changes;
  struct rp__documents documents;
  struct rp__keeper keeper;
  struct rp__store_mirror store_mirror; /* the keeper's; at the end, of whoever closes */
  struct rp__fleet *fleet;              /* agents that came with an imported store */
  struct rp__lockfile locks;            /* fd < 0: a store without a file */
  struct rp__forkguard guard;
  struct rp__proc self;
  char host[RP_HOST];
  char *path; /* of the database file, or NULL */
  bool short_lived, read_only, existing, ends_process;

  pthread_mutex_t lock; /* of the lists */
  rp_session *sessions;
  rp_session *due; /* whose checkpoint is due, each with a reference */
  struct rp__scope_key *keys;
  struct rp__tail_keys tail_keys; /* its own lock */
  int folds;                      /* kept by sessions */
  struct rp__slot *slots;         /* bytes of <db>.runs that this engine holds */
  int64_t last_slot;              /* of a store without a lock file */
  struct rp__presence *presence;  /* its own lock */

  atomic_ullong tokens_seen[RP_TOKENS_SEEN]; /* see token.c */

  struct rp__counters counters;
  struct rp__metrics metrics;
};

struct rp_session {
  rp_engine *e;
  rp_session *prev, *next;
  rp_session *due_next; /* under e->lock */
  bool due_listed;
  int refs; /* the user's and the keeper's; under e->lock */

  char id[RP_NAME], scope[RP_NAME];
  int64_t ref;
  int64_t opened_seq; /* the journal's end when the handle was opened */
  int64_t epoch;      /* 0: a guest */
  int64_t run_ref, slot;
  const struct rp__key *key; /* seals the scope, or NULL */
  struct rp__view *view;     /* of a handle for one look, see session-view.h; NULL: it reads what it is asked for */
  char *start_json;

  const struct rp__scope_config *config; /* of its scope; the engine's */
  struct rp__policy policy;

  pthread_mutex_t lock; /* of the fold; held while it is brought up to date and encoded */
  struct rp__fold *fold;
  unsigned fold_drops;        /* how often it was forgotten: a loan of before is not taken back */
  pthread_mutex_t dirty_lock; /* short, so that no append waits for a checkpoint */
  struct rp__dirty dirty;
  struct rp__outbox_queue *outbox; /* shared by all handles of the session */

  pthread_mutex_t redaction_lock; /* taken before the store is asked, never inside s->lock */
  struct rp__stream_redaction *redaction;
  bool streams_known; /* when the handle was opened: none was open, and they had this number */
  int64_t streams_number;
  atomic_int streams_changing; /* appends on their way that change the streams */

  atomic_llong next_heartbeat, next_save; /* on the engine's throttling clock */
  atomic_int checkpoint_due;              /* enum rp__due */
  atomic_llong retry_at;                  /* a checkpoint failed: when to try again; 0: none did */
  atomic_llong quiet_at;                  /* when to see whether it has gone quiet; 0: it is known to be */
  atomic_bool fenced, ended, budget_told, mirror_due;
  _Atomic double budget_share; /* what is used of the budget, when that was last looked at; 0: not yet, or none */
  atomic_bool touched;         /* written to since the last checkpoint, as far as the keeper knows */
  bool trashed;                /* when the handle was opened */
  bool copying;                /* of whoever makes a hidden session (copy.c) */
  bool live_mirror;            /* the scope has a session_file, and this is no guest of a sealed one */
};

/* RP_E_FORKED after a fork, RP_E_USAGE for NULL. Every public function begins with this. */
RP_MUST_USE int rp__engine_check(const rp_engine *e, rp_error *err);
RP_MUST_USE int rp__session_check(const rp_session *s, rp_error *err);

/*
 * Preparing an append asks the store nothing (journal/append.c). The steps through which it could are guarded: none may
 * begin on a thread that prepares.
 */
#ifndef NDEBUG
extern _Thread_local bool rp__preparing;
#endif
#define RP_MAY_ASK_STORE() assert(!rp__preparing)

/* The table of who is in which session (presence.c); its functions are in reprise/host.h. */
RP_MUST_USE int rp__presence_new(struct rp__presence **ret, rp_error *err);
void rp__presence_free(struct rp__presence *t); /* NULL is fine */

/* Opens on a store made by somebody else (tests); takes it over also on failure. */
RP_MUST_USE int rp__engine_open_with(const rp_options *options, struct rp__store *store, rp_engine **ret,
                                     rp_error *err);

static inline int64_t rp__engine_now(const rp_engine *e)
{
  return rp__wall(&e->clock);
}
/* The clock of throttles and intervals: since boot, or, where that is unknown, the wall's. */
int64_t rp__engine_ticks(const rp_engine *e);

/* For measuring how long work takes: microseconds of the system's monotonic clock. */
int64_t rp__engine_micros(const rp_engine *e);

/* Several reads in one call, all of which must succeed: the first failure. */
RP_MUST_USE int rp__engine_read(rp_engine *e, struct rp__read *reads, size_t n, rp_error *err);

/* The members of an op on a session, given by its handle or its row, as of now. */
#define RP__OP_OF(e, session) .session_ref = (session)->ref, .session_id = (session)->id, .now_ms = rp__engine_now(e)
/* Commits ops as one transaction and waits. */
RP_MUST_USE int rp__engine_commit(rp_engine *e, struct rp__op *ops, size_t n, rp_durability d, rp_error *err);

/* Room for one more in a list that grows: `cap` entries, of which `n` are used. False without memory. */
#define RP__ROOM(list, n, cap) rp__list_room(&(list), n, &(cap), sizeof *(list))
bool rp__list_room(void *list, size_t n, size_t *cap, size_t size);
/* The text that was written, to whoever asked for it. */
RP_MUST_USE int rp__text_give(struct rp__buf *text, char **ret, rp_error *err);

/* ---- session handles (session.c) ---- */

/* A handle on a row, linked into the engine. `epoch` 0: a guest's. */
RP_MUST_USE int rp__session_open(rp_engine *e, const struct rp__session_row *row, int64_t epoch, rp_session **ret,
                                 rp_error *err);
/* The same for whoever has the scope's key already: nothing is read. */
RP_MUST_USE int rp__session_open_with(rp_engine *e, const struct rp__session_row *row, const struct rp__key *key,
                                      int64_t epoch, rp_session **ret, rp_error *err);
rp_session *rp__session_ref(rp_session *s); /* takes e->lock */
void rp__session_unref(rp_session *s);
RP_MUST_USE int rp__session_row(rp_session *s, struct rp__session_row *ret, rp_error *err);
RP_MUST_USE int rp__session_lookup(rp_engine *e, const char *ref, struct rp__session_row *ret, rp_error *err);
/*
 * The row as it is now. Its status is that of the last write; where no run lives any more nobody is active, and it is
 * idle. Nothing is written: that is the next start's.
 */
struct rp__session_facts {
  bool dead;    /* a run is open, and its process is gone */
  bool by_beat; /* it lives by its heartbeats, which are in the store */
  bool by_proc; /* it lives by a process, which may end any time */
};
RP_MUST_USE int rp__session_look(rp_engine *e, struct rp__session_row *row, struct rp__session_facts *ret,
                                 rp_error *err);
struct rp__digest;
/* The "session" part of documents; `look` NULL: nobody has looked. With a digest, what was asked last. */
void rp__session_write(const struct rp__session_row *row, const struct rp__session_facts *look,
                       const struct rp__digest *digest, struct rp__jw *w);

/* The key of a scope, or NULL in *ret when it is not sealed. RP_E_KEY_MISSING, RP_E_KEY_WRONG. */
RP_MUST_USE int rp__scope_key(rp_engine *e, const char *scope, const struct rp__key **ret, rp_error *err);
/* The same, for whoever has read the scope's row. */
RP_MUST_USE int rp__scope_key_of(rp_engine *e, const char *scope, const struct rp__scope_row *row,
                                 const struct rp__key **ret, rp_error *err);

/* A sealed session's metadata as its row keeps it (NULL without memory), and back, where the key is here. */
char *rp__meta_seal(const struct rp__key *key, const char *id, const char *meta);
void rp__meta_open(rp_engine *e, struct rp__session_row *row);
/* The folder that the metadata names, where paths are told relative to; NULL: none. Freed with free. */
char *rp__meta_root(const char *meta);
bool rp__meta_unseal(const struct rp__key *key, struct rp__session_row *row); /* false: it can't be opened */

/* What binds a sealed text to its place. */
struct rp__str rp__session_ad(const rp_session *s);

/* ---- the journal (journal/append.c, journal/read.c) ---- */

/* The one funnel for events. `trusted`: made by the engine, so kind and body need no check. */
RP_MUST_USE int rp__journal_append(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                   bool trusted, rp_ack *ret, rp_error *err);
/* Events with seq > after and <= upto (0: no end), in order, unsealed. */
typedef int rp__event_fn(void *ctx, const struct rp__event *ev);
RP_MUST_USE int rp__journal_read(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx,
                                 rp_error *err);
/*
 * The same for readers that go on past what can't be read: a damaged or missing event is handed out in its place, as
 * `lost`. *ret says what was lost; without one it is logged. RP_E_CORRUPT is left where not even a place can be named.
 */
struct rp__lost {
  int64_t n, first; /* events, and the first one's seq */
  char why[64];     /* of the first */
};
RP_MUST_USE int rp__journal_read_past(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx,
                                      struct rp__lost *ret, rp_error *err);
/* A body as it is stored: `plain` itself, or sealed into `out`. */
int rp__journal_seal(rp_session *s, const char *plain, size_t n, struct rp__buf *out, struct rp__str *ret);

/* ---- state (state.c) ---- */

/* The fold at `upto` (< 0: at the end), from the newest good snapshot before it. Damage found goes into `warnings`. */
RP_MUST_USE int rp__state_at(rp_session *s, int64_t upto, struct rp__fold **ret, struct rp__buf *warnings,
                             rp_error *err);
/*
 * The fold at the end of the journal, for as long as s->lock is held: the one kept
 * in memory brought up to date, or a fresh one. Give it back with release.
 */
RP_MUST_USE int rp__state_use(rp_session *s, struct rp__fold **ret, struct rp__buf *warnings, rp_error *err);
void rp__state_release(rp_session *s, struct rp__fold *f);
/*
 * The same fold on loan, to be read without the lock, which is not held here. put gives it back to the session, which
 * lives until then and uses another fold if it has to.
 */
struct rp__state_loan {
  rp_session *s;
  struct rp__fold *fold;
  unsigned drops;
};
RP_MUST_USE int rp__state_take(rp_session *s, struct rp__state_loan *ret, struct rp__buf *warnings, rp_error *err);
void rp__state_put(struct rp__state_loan *loan); /* of zeroes: nothing */

/* The same of a session: at an event, or, with at_seq < 0, now. */
RP_MUST_USE int rp__state_write(rp_session *s, const struct rp__fold *f, int64_t at_seq, char **ret, rp_error *err);
void rp__state_drop(rp_session *s); /* forgets the one kept in memory */

/* ---- checkpoints (checkpoint.c) ---- */

RP_MUST_USE int rp__checkpoint(rp_session *s, const char *reason, int64_t *ret_n, rp_error *err);
/* Due now, as far as the session knows. */
enum rp__due rp__checkpoint_due(rp_session *s, int64_t ticks);
/* Makes the checkpoint that is due, and counts and logs a failure, which it returns. */
int rp__checkpoint_run(rp_session *s, enum rp__due due);

/* N-06: the live mirror of a scope that has one. Failures are logged. */
void rp__session_mirror(rp_session *s, bool clean);
bool rp__session_mirror_beat(rp_session *s); /* the heartbeat alone; false when none is due */

/*
 * L-05: marks a session idle that nobody has written to for idle_s; a guest's, unless somebody who holds it will. 1
 * when it was marked, 0 when there was nothing to do or somebody came, or an error.
 */
RP_MUST_USE int rp__session_rest(rp_session *s, int64_t ticks, rp_error *err);

/* ---- runs (recover.c) ---- */

/* Judges a run: gathers the evidence and asks the rules. `last_ms`: last activity of its session. */
void rp__run_judge(rp_engine *e, const struct rp__run_row *run, int64_t last_ms, struct rp__evidence *ret_evidence,
                   struct rp__verdict *ret);
/* The newest run of a session, or the newest open one; ref 0: none. */
RP_MUST_USE int rp__run_newest(rp_engine *e, int64_t session_ref, bool open_only, struct rp__run_row *ret,
                               rp_error *err);
int rp__run_copy(void *ctx, const struct rp__run_row *run); /* for lists: into the row that ctx is */

#endif
