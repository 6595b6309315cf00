/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libreprise: durable sessions for AI agents.
 *
 * A session is a journal of events. An engine opens a store of sessions; a
 * session handle is either the *holder's* (from rp_start: one run, one epoch,
 * fenced when somebody newer takes over) or a *guest's* (from rp_attach: writes
 * under whatever epoch is current).
 *
 * Every function that can fail returns 0 or a negative enum rp_code, and fills
 * `err` when that is not NULL. Outputs named ret_* are written only on success.
 * Strings given are copied; strings handed out as char ** are freed with
 * rp_free(). Handles may be used from several threads; a handle is freed by one
 * thread after all others are done with it. After fork() the child must not use
 * an engine opened before: calls return RP_E_FORKED.
 *
 * The library never prints, never exits and installs no signal handlers.
 */
#ifndef REPRISE_H
#define REPRISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reprise/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits. */
#define RP_ID_MAX 128             /* bytes of an id, key, scope or channel */
#define RP_SEQ_MAX (1LL << 53)    /* of event numbers, epochs, clients' numbers: exact in every JSON reader */
#define RP_BODY_MAX (1024 * 1024) /* default bytes of one event's body */
#define RP_DEPTH_MAX 64           /* nesting of a body */
#define RP_BATCH_MAX 10000        /* events in one rp_append_many */

typedef struct rp_engine rp_engine;
typedef struct rp_session rp_session;

typedef enum rp_durability {
  RP_DEFAULT = 0, /* disk, unless the configuration says otherwise */
  RP_MEMORY,      /* accepted; lost with the process */
  RP_OS,          /* survives the death of the process */
  RP_DISK,        /* survives the power plug */
} rp_durability;

typedef enum rp_log_level { RP_LOG_ERROR, RP_LOG_WARN, RP_LOG_INFO, RP_LOG_DEBUG } rp_log_level;
typedef void rp_log_fn(void *ctx, rp_log_level level, const char *text);

/* A clock. `boot_ms` counts since boot, sleeping included, or returns 0 when unknown. */
typedef struct rp_clock {
  int64_t (*wall_ms)(void *ctx); /* since 1970, UTC */
  int64_t (*boot_ms)(void *ctx);
  void *ctx;
} rp_clock;

/* ---- engine ---------------------------------------------------------- */

typedef struct rp_options {
  const char *db;        /* "sqlite:PATH", "memory:", or NULL for $REPRISE_DB or the default place */
  const char *config;    /* an INI file, or NULL for $REPRISE_CONFIG or the default place */
  const rp_clock *clock; /* copied; NULL for the system's */
  rp_log_fn *log;
  void *log_ctx;
  bool short_lived; /* no background threads: what is due happens in the call or in rp_close */
  bool read_only;   /* nothing is created or written */
  bool existing;    /* may be written and migrated, but is not created */
} rp_options;

/*
 * Opens (and, unless read_only, creates or migrates) a store. NULL options mean all defaults. With read_only or
 * existing a file that is not there is RP_E_NO_STORE, one that never was a store RP_E_UNREACHABLE, and nothing is left
 * behind.
 */
RP_API int rp_open(const rp_options *options, rp_engine **ret, rp_error *err);

/* Finishes what is pending and closes. Sessions must have been released before. NULL is fine. */
RP_API void rp_close(rp_engine *e);

/* rp_close for a process that ends now: what a short-lived engine holds in memory is left to the system. */
RP_API void rp_leave(rp_engine *e);

/* The store's file, or NULL for one in memory. Owned by the engine. */
RP_API const char *rp_store_path(const rp_engine *e);

/* Waits until everything accepted so far is as durable as was asked for. */
RP_API int rp_flush(rp_engine *e, rp_error *err);

RP_API void rp_free(void *p);
RP_API const char *rp_version(void);

/* ---- start and end ---------------------------------------------------- */

typedef enum rp_mode { RP_MODE_AUTO, RP_MODE_RESUME, RP_MODE_SUCCESSOR } rp_mode;
typedef enum rp_owner_kind {
  RP_OWNER_SELF, /* this process, for as long as it keeps the handle */
  RP_OWNER_PID,  /* the process `owner_pid` */
  RP_OWNER_NONE, /* nobody: the run lives by its heartbeats */
} rp_owner_kind;

/*
 * A request that may come twice, as over a network: under the same key, within 24 hours, and with the same bytes, it is
 * done once, and the repeat gets what the first one made. Other bytes are RP_E_KEY_REUSED. Keys are a scope's.
 */
typedef struct rp_request {
  const char *key; /* 1 to 255 bytes */
  const void *bytes;
  size_t n;
} rp_request;

typedef struct rp_start_options {
  const char *scope; /* required */
  const char *key, *id, *channel, *provider;
  const char *meta;   /* a JSON object */
  const char *topics; /* comma separated */
  rp_mode mode;
  rp_owner_kind owner;
  int64_t owner_pid;
  bool force;                /* take over from a living owner */
  const rp_request *request; /* or NULL. A repeat's document says "repeated", and its epoch is that of the first */
} rp_start_options;

/*
 * Begins or resumes a session: ends runs whose owner is gone, takes the lease,
 * loads the newest good state. The start marker is durable when this returns.
 * RP_E_HELD: a living other owner holds it (see `force`).
 */
RP_API int rp_start(rp_engine *e, const rp_start_options *options, rp_session **ret, rp_error *err);

/* The start document of CONTRACT (JSON). Owned by the handle. NULL for a guest. */
RP_API const char *rp_start_json(const rp_session *s);

/* A guest's handle. `ref`: an id, a unique prefix of one, a key, or "last". */
RP_API int rp_attach(rp_engine *e, const char *ref, rp_session **ret, rp_error *err);

/* The id a reference names. `ret` holds RP_ID_MAX + 1 bytes. */
RP_API int rp_resolve(rp_engine *e, const char *ref, char *ret, rp_error *err);
/*
 * The same as seen from a scope: an id, a key or a unique prefix of that scope, "last" of that scope; else the exact id
 * of another one. With `scope` NULL a key that open sessions of several scopes have is RP_E_AMBIGUOUS, where rp_resolve
 * takes the newest.
 */
RP_API int rp_resolve_in(rp_engine *e, const char *scope, const char *ref, char *ret, rp_error *err);

RP_API const char *rp_session_id(const rp_session *s);
RP_API int64_t rp_session_epoch(const rp_session *s);  /* 0 for a guest */
RP_API int64_t rp_session_number(const rp_session *s); /* what rp_changes calls it; never another session's */

/*
 * Frees a handle. For a holder that did not rp_end this is what a crash looks
 * like to the next start; with rp_session_detach the run is left to live by its
 * named owner or its heartbeats instead.
 */
RP_API void rp_session_free(rp_session *s);
RP_API void rp_session_detach(rp_session *s);

/*
 * Ends the session: a final checkpoint, then `closed`. `reason` may be NULL;
 * "upgrade" and "killed" (or "killed:SIGNAL") become the cause the next start reports.
 */
RP_API int rp_end(rp_session *s, const char *reason, rp_error *err);

/* ---- writing ------------------------------------------------------------ */

typedef struct rp_event {
  const char *kind;
  const char *body;            /* a JSON object; kept as the bytes given */
  size_t body_len;             /* 0: body is NUL-terminated */
  int64_t at_ms;               /* 0: now */
  const char *idempotency_key; /* or NULL; remembered for 24 hours */
} rp_event;

typedef struct rp_append_options {
  rp_durability durability;
  int64_t epoch;         /* 0: the handle's own, or, for a guest, the current one */
  int64_t expect;        /* the journal's last seq must be this; -1: whatever it is */
  const char *client_id; /* with client_seq: a client that numbers its events 1, 2, … (L-10) */
  int64_t client_seq;
  bool runtime; /* the caller runs the session's agent: `runtime` events may be among them */
} rp_append_options;

#define RP_APPEND_DEFAULTS ((rp_append_options){.expect = -1})

/*
 * Whether `runtime.status` may become `to` (L-05) when it is `from`; NULL: it has none. A `runtime` event with a status
 * that may not follow is stored and changes no status: who writes them looks here first.
 */
RP_API bool rp_runtime_may(const char *from, const char *to);

typedef struct rp_ack {
  int64_t first_seq, seq; /* 0 when the durability reached is RP_MEMORY */
  rp_durability durability;
  bool repeated;       /* stored before under the same idempotency key or client_seq */
  bool budget_low;     /* the session has used its scope's budget_warn, or more, of a budget … */
  double budget_share; /* … of which this is used (1: all), as far as the handle knows; 0: not known, or no budget */
} rp_ack;

/* Appends one event and waits for its durability. NULL options mean RP_APPEND_DEFAULTS. */
RP_API int rp_append(rp_session *s, const rp_event *ev, const rp_append_options *o, rp_ack *ret, rp_error *err);

/* Appends n events, all or none, with consecutive numbers. */
RP_API int rp_append_many(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_ack *ret,
                          rp_error *err);

/*
 * Checks and queues one event, copying it, and returns. `done` is called once,
 * from an engine thread, with the acknowledgement or the error; it must not
 * block and may not free the handle. What was queued with one handle is stored
 * and acknowledged in order. RP_E_LIMIT when too much is queued.
 */
typedef void rp_append_fn(void *ctx, const rp_ack *ack, const rp_error *err);
RP_API int rp_append_async(rp_session *s, const rp_event *ev, const rp_append_options *o, rp_append_fn *done, void *ctx,
                           rp_error *err);

/* The same for n events, all or none, with consecutive numbers and one acknowledgement. n <= RP_BATCH_MAX. */
RP_API int rp_append_many_async(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                rp_append_fn *done, void *ctx, rp_error *err);

/*
 * The checks of an append without the append: 0 when these events would be taken as things stand. For whoever must say
 * yes or no before it can store; a later append may still be refused.
 */
RP_API int rp_append_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o, rp_error *err);

/* ---- blobs: what is too large for an event --------------------------------- */

#define RP_BLOB_ID_MAX 64

/*
 * Keeps text that is over an event's limit (a file that an agent read, a picture) with its session: masked like
 * events, sealed with its scope, gone with the session, part of its export. Durable when this returns. The same bytes
 * twice are one blob. `ret_id` holds RP_BLOB_ID_MAX + 1 bytes. RP_E_TOO_LARGE over 64 MiB, and what an append returns
 * where the session takes none (RP_E_FENCED, RP_E_ENDED).
 *
 * An event names a blob by its id, which is the whole value of a member of its body, as in {"acp_blob":ID}. A blob that
 * no event names within an hour is taken away by a repair.
 */
RP_API int rp_blob_put(rp_session *s, const void *bytes, size_t n, char *ret_id, rp_error *err);
/*
 * Its bytes, in any number of calls of `write`; non-zero ends it and is returned. Nothing for one that was lost and
 * mended by a repair. RP_E_BLOB_NOT_FOUND, RP_E_CORRUPT.
 */
RP_API int rp_blob_get(rp_session *s, const char *id, int (*write)(void *ctx, const void *bytes, size_t n), void *ctx,
                       rp_error *err);

/*
 * Says that the run is alive; a guest says it of the session's current run. Throttled inside (heartbeat_s): may be
 * called at 50 Hz; the write happens in the background. The first call of a run writes at once.
 */
RP_API int rp_heartbeat(rp_session *s, rp_error *err);

/* Asks for a checkpoint, throttled inside (save_s), in the background. */
RP_API int rp_save(rp_session *s, rp_error *err);

/* Makes a snapshot now. `ret_n` (may be NULL) gets its number. */
RP_API int rp_checkpoint(rp_session *s, int64_t *ret_n, rp_error *err);

/* The last client_seq stored for a client (0: none), and the journal's last seq. */
RP_API int rp_sync(rp_session *s, const char *client_id, int64_t *ret_client_seq, int64_t *ret_seq, rp_error *err);

/* ---- reading ------------------------------------------------------------ */

typedef struct rp_session_info {
  const char *id, *scope, *key, *channel, *status, *provider, *name; /* NULL where there is none */
  const char *previous_id, *continued_by, *forked_from;
  const char *meta;                               /* a JSON object or NULL */
  int64_t created_at, last_activity_at, ended_at; /* ms; 0: not ended */
  int64_t seq, epoch, bytes, forked_at_seq;
  bool crash_recovered, sealed;
  bool run_dead; /* its run's process is gone, and no start has ended the run yet; `status` is never active then */
  int64_t trashed_at, held_at; /* ms; 0: not in the trash, not on hold */
  int64_t number; /* as rp_session_number; newer sessions have higher ones, so it also tells it from an earlier one of
                     its id */
} rp_session_info;

typedef struct rp_filter {
  const char *scope, *status;
  int64_t since_ms;
  int limit;          /* 0: 50 */
  const char *cursor; /* of the last session seen, or NULL */
  bool trashed;       /* only what is in the trash; else only what is not */
  bool by_activity;   /* in order of the last activity, the newest first; else the newest session first. The order is
                         that of the call: a cursor whose session has been active since begins anew there */
} rp_filter;

/* Callbacks return 0 to go on; any other value stops the iteration and is returned. */
typedef int rp_session_fn(void *ctx, const rp_session_info *info);
RP_API int rp_list(rp_engine *e, const rp_filter *filter, rp_session_fn *fn, void *ctx, rp_error *err);
RP_API int rp_show(rp_engine *e, const char *ref, rp_session_fn *fn, void *ctx, rp_error *err);

typedef struct rp_event_info {
  int64_t seq, at_ms;
  const char *kind;
  const char *body;
  size_t body_len;
  bool lost; /* it can't be read: `kind` is x-damaged and `body` says why ({"reason","original_kind"?}) */
} rp_event_info;
typedef int rp_event_fn(void *ctx, const rp_event_info *ev);

/*
 * Events with seq > after, in order, at most `limit` (0: all). No transaction stays open between pages. A damaged or
 * missing event does not end the reading: it is told in its place, as `lost`, and logged.
 */
RP_API int rp_events(rp_session *s, int64_t after, int64_t limit, rp_event_fn *fn, void *ctx, rp_error *err);

/* Blocks until the journal is beyond `after` or timeout_ms passed; also sees other processes' writes. */
RP_API int rp_wait(rp_session *s, int64_t after, int timeout_ms, int64_t *ret_seq, rp_error *err);

/*
 * What was stored since a moment, by this process or others: calls `fn` for each journal that grew after *cursor, once,
 * with its number (rp_session_number) and highest new seq, in no particular order, and moves *cursor on. *cursor < 0
 * becomes now, and nothing is told. At most `limit` events are looked at (0: 65536): when *cursor has moved, there may
 * be more. A cursor is good for the life of the database.
 */
typedef int rp_change_fn(void *ctx, int64_t session_number, int64_t seq);
RP_API int rp_changes(rp_engine *e, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx, rp_error *err);
/* The session of a number, as rp_show. RP_E_SESSION_NOT_FOUND: deleted, or not whole yet. */
RP_API int rp_show_number(rp_engine *e, int64_t session_number, rp_session_fn *fn, void *ctx, rp_error *err);

/*
 * Waits for changes: 1 when anything (an event, a status, a deletion) may have been stored since the last call, by this
 * process, which is told at once, or another, which is noticed within 20 ms; 0 after timeout_ms (< 0: never) or
 * rp_changes_wake, which makes the waiting call, or else the next one, return. One thread per engine may wait.
 */
RP_API int rp_changes_wait(rp_engine *e, int timeout_ms, rp_error *err);
RP_API void rp_changes_wake(rp_engine *e);

/* The state document (JSON) at `at_seq`, or now for at_seq < 0. Free with rp_free. */
RP_API int rp_state_json(rp_session *s, int64_t at_seq, char **ret, rp_error *err);

/* One event or the session as JSON, as the command line prints them. Free with rp_free. */
RP_API int rp_session_json(const rp_session_info *info, char **ret, rp_error *err);

/*
 * rp_show and rp_session_json in one. An exact id is answered from memory as long as nothing at all was stored since,
 * by anybody. `ret_len` may be NULL.
 */
RP_API int rp_session_get_json(rp_engine *e, const char *ref, char **ret, size_t *ret_len, rp_error *err);

/* Whether the session is open and its newest run lives, by the rules of a start. */
RP_API int rp_alive(rp_engine *e, const char *ref, bool *ret_alive, rp_error *err);

/*
 * How a session's newest run began and how it does: {"session_id","scope","restart_type","cause","elapsed",
 * "elapsed_since_last","uptime","total_sessions","start_number","session_start","started_at","alive","owned"}. `ref`
 * NULL: of the scope's latest start, or, with `scope` NULL too, of the latest of all (RP_E_SESSION_NOT_FOUND). Times
 * are seconds, started_at is ISO; what is not known is null. `owned` is false of a run that lives by its heartbeats.
 * Any process may ask. Free with rp_free.
 */
RP_API int rp_session_status_json(rp_engine *e, const char *ref, const char *scope, char **ret, rp_error *err);

/*
 * What the session has used: {"tokens_in","tokens_out","cost_usd","requests"}, and where there is a budget
 * "budget_usd", "budget_usd_share", "budget_tokens", "budget_tokens_share" (1.0: all of it is spent). Free with
 * rp_free.
 */
RP_API int rp_usage_json(rp_session *s, char **ret, rp_error *err);

typedef struct rp_hit {
  const char *session_id, *scope, *kind;
  int64_t seq, at_ms;
  const char *snippet; /* plain text with the words found between [ and ] */
  double rank;         /* smaller is better */
} rp_hit;
typedef int rp_hit_fn(void *ctx, const rp_hit *hit);
RP_API int rp_search(rp_engine *e, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx,
                     rp_error *err);

/* ---- snapshots, time travel ------------------------------------------------ */

typedef struct rp_snapshot_info {
  int64_t n, seq, at_ms, size, raw_size;
  const char *reason; /* interval, count, event, exit, manual, restore */
  bool sealed;
} rp_snapshot_info;
typedef int rp_snapshot_fn(void *ctx, const rp_snapshot_info *info);
/* The newest keep_snapshots of them, the newest first. Older ones that are kept for reading the past are not told. */
RP_API int rp_snapshots(rp_session *s, rp_snapshot_fn *fn, void *ctx, rp_error *err);
RP_API int rp_snapshot_delete(rp_session *s, int64_t n, rp_error *err);
/* The snapshot's state document. Free with rp_free. */
RP_API int rp_snapshot_json(rp_session *s, int64_t n, char **ret, rp_error *err);

/* Goes back: appends `restored {to_seq}` and deletes nothing. RP_E_ENDED: the hint says how it goes all the same. */
RP_API int rp_restore(rp_session *s, int64_t to_seq, rp_ack *ret, rp_error *err);
RP_API int rp_restore_snapshot(rp_session *s, int64_t n, rp_ack *ret, rp_error *err);

/* A new session with a copy of the journal up to at_seq (< 0: all). `ret_id` holds RP_ID_MAX + 1 bytes. */
RP_API int rp_fork(rp_session *s, int64_t at_seq, char *ret_id, rp_error *err);
/* The same, once for a request (or NULL). `ret_repeated` may be NULL. */
RP_API int rp_fork_once(rp_session *s, int64_t at_seq, const rp_request *request, char *ret_id, bool *ret_repeated,
                        rp_error *err);

typedef struct rp_fork_options {
  int64_t at_seq;            /* the journal up to here; < 0: all of it */
  const char *id;            /* its own, or NULL: a new one. RP_E_EXISTS */
  const char *meta;          /* a JSON object, or NULL: the original's, but with its own id for acp_session_id */
  const rp_request *request; /* or NULL */
} rp_fork_options;
/* The same, as the options say. */
RP_API int rp_fork_as(rp_session *s, const rp_fork_options *o, char *ret_id, bool *ret_repeated, rp_error *err);

/* ---- moving, checking --------------------------------------------------------- */

typedef int rp_write_fn(void *ctx, const void *bytes, size_t n); /* 0 or non-zero to stop */
typedef long rp_read_fn(void *ctx, void *bytes, size_t n);       /* bytes read, 0 at the end, < 0 on error */

/* Progress of long work: `total` is 0 when unknown. Non-zero cancels. */
typedef int rp_progress_fn(void *ctx, int64_t done, int64_t total);

RP_API int rp_export(rp_session *s, rp_write_fn *write, void *ctx, rp_progress_fn *progress, void *pctx, rp_error *err);
RP_API int rp_import(rp_engine *e, rp_read_fn *read, void *ctx, rp_progress_fn *progress, void *pctx, char *ret_id,
                     rp_error *err);

typedef struct rp_finding {
  const char *session_id; /* NULL: the store as a whole */
  int64_t seq;            /* or 0 */
  const char *what;       /* one line */
  bool repaired;
  bool note; /* no damage: what could not be checked, or litter that repair removes */
} rp_finding;
typedef int rp_finding_fn(void *ctx, const rp_finding *f);

/* Reads everything and reports what is wrong; RP_E_CORRUPT when anything is left that is. */
RP_API int rp_verify(rp_engine *e, const char *ref, bool repair, rp_finding_fn *fn, void *ctx, rp_progress_fn *progress,
                     void *pctx, rp_error *err);
/*
 * Ends the alarm of what was acknowledged as `disk` and is lost from the database's log: rp_open warns of it through
 * the log callback, rp_verify and rp_doctor_json tell of it until it is accepted. Audited. Nothing to accept is fine.
 */
RP_API int rp_accept_loss(rp_engine *e, rp_error *err);

/* ---- continuity ---------------------------------------------------------------- */

/*
 * The brief of a session as it stands (JSON: {"session_id","at","restart","brief"}; explained, all of CONTRACT's
 * explanation), made of its own state and what it inherited. What a start gave is in rp_start_json. Changes nothing.
 */
RP_API int rp_brief(rp_session *s, bool explain, char **ret, rp_error *err);

typedef struct rp_brief_options {
  const char *scope;   /* required */
  const char *topics;  /* comma separated, or NULL */
  const char *channel; /* with per_channel, or NULL */
  bool explain;
  const char *without; /* id of a session that gives nothing: what the others have for it; or NULL */
} rp_brief_options;
/* What a start in that scope would inject now: {"scope","at","brief"}, explained: CONTRACT's explanation. Where
 * brief_bytes has no room for what there is, "brief" is null and "warning" says so; so with rp_brief. */
RP_API int rp_brief_scope(rp_engine *e, const rp_brief_options *o, char **ret, rp_error *err);

/*
 * Inherits everything from the session `from` names (archived ones too) into `s`. `by` says who asked.
 * `ret` (may be NULL): {"from","into","by","pins","tasks","memories"}; a second time adds nothing.
 */
RP_API int rp_continue(rp_session *s, const char *from, const char *by, char **ret, rp_error *err);

/* The chain that ends at a session: at most `depth` (0: 20) sessions, oldest first, as a JSON array. */
RP_API int rp_chain_json(rp_engine *e, const char *ref, int depth, char **ret, rp_error *err);

/*
 * Notes, frames and transcript within window_ms of a moment: of the wall clock, or, with `video`, of the video's own
 * time (`timestamp` of the events, in seconds; at_ms is then the position in milliseconds).
 */
RP_API int rp_evidence_json(rp_session *s, int64_t at_ms, int64_t window_ms, bool video, char **ret, rp_error *err);

/* Remembers a fact for the scope: a `learning` event with an id of its own. ret_id: RP_ID_MAX + 1 bytes, or NULL. */
RP_API int rp_remember(rp_session *s, const char *text, double confidence, const char *categories, char *ret_id,
                       rp_error *err);

typedef struct rp_memory_info {
  const char *id, *scope, *session_id; /* session_id: where it was learned */
  const char *content, *categories;    /* categories: a JSON array or NULL */
  double confidence, rank;             /* rank: larger is better; 0 without words */
  int64_t created_at, updated_at;
} rp_memory_info;
typedef int rp_memory_fn(void *ctx, const rp_memory_info *m);
/* The scope's memories: by full text when `words` are given, ranked with their confidence; else the most confident. */
RP_API int rp_memories(rp_engine *e, const char *scope, const char *words, int limit, rp_memory_fn *fn, void *ctx,
                       rp_error *err);
/* A new confidence for a memory (a `confidence` event of the session), and forgetting one for good. */
RP_API int rp_memory_confidence(rp_session *s, const char *memory_id, double confidence, const char *reason,
                                rp_error *err);
RP_API int rp_memory_forget(rp_engine *e, const char *scope, const char *memory_id, rp_error *err);

/* ---- redaction, audit, retention ------------------------------------------------- */

typedef struct rp_secret {
  size_t start, end; /* bytes of the text */
  const char *kind;  /* what it looks like: "github token", "password", … */
} rp_secret;
typedef int rp_secret_fn(void *ctx, const rp_secret *secret);
/* What would be masked in a text. `ret` (may be NULL) gets the masked text. Needs no store beyond the patterns. */
RP_API int rp_redact_check(rp_engine *e, const char *text, size_t n, rp_secret_fn *fn, void *ctx, char **ret,
                           rp_error *err);
/* The text as the session would store it (a copy, even when nothing is masked). Text that is cut short on its way into
 * a session is masked first: what is left of a credential that was cut in two is no longer known for one. */
RP_API int rp_mask(rp_session *s, const char *text, size_t n, char **ret, rp_error *err);
/*
 * Masks a session's stored events and blobs again, with the patterns of today, and everything made of them: snapshots,
 * record, mirror, search, memories, and what later sessions of the scope inherited. `text` (or NULL) is a secret to be
 * masked wherever it stands. {"session_id","sessions","events","blobs","secrets","held","dry_run"}; held: later
 * sessions that are in use and were left. No byte of what was masked stays in the store's files.
 */
RP_API int rp_redact_session(rp_engine *e, const char *ref, const char *text, bool dry_run, rp_progress_fn *progress,
                             void *pctx, char **ret, rp_error *err);

typedef struct rp_audit_info {
  int64_t n, at_ms;
  const char *scope, *event;
  const char *fields;           /* a JSON object, or NULL when they were erased */
  const char *prev_hash, *hash; /* hex */
} rp_audit_info;
typedef int rp_audit_fn(void *ctx, const rp_audit_info *a);
/* Records of a scope (NULL: of all, scope by scope) with n > after, in order. */
RP_API int rp_audit(rp_engine *e, const char *scope, int64_t after, int64_t limit, rp_audit_fn *fn, void *ctx,
                    rp_error *err);
/*
 * Checks the chain of a scope (NULL: of all). RP_E_AUDIT_BROKEN names the first bad record. `expect`: a head ("N:HASH")
 * noted earlier that must be part of the chain. `ret` (may be NULL): {"scopes":[{"scope","records","head"}]}.
 */
RP_API int rp_audit_verify(rp_engine *e, const char *scope, const char *expect, char **ret, rp_error *err);

/* Puts a session in the trash (RP_E_HELD while somebody lives in it, RP_E_ON_HOLD), and takes it out again. */
RP_API int rp_trash(rp_engine *e, const char *ref, const char *reason, rp_error *err);
RP_API int rp_untrash(rp_engine *e, const char *ref, rp_error *err);
/* A hold: no retention, no rm, no trash until it is taken off. */
RP_API int rp_hold(rp_engine *e, const char *ref, bool on, rp_error *err);
/* Deletes for good what is in the trash, or, with `force`, what is not. Audited. */
RP_API int rp_purge(rp_engine *e, const char *ref, bool force, rp_error *err);

typedef struct rp_gc_options {
  const char *scope; /* or NULL: all */
  bool dry_run;
  int64_t older_than_ms; /* sessions that ended longer ago than this go to the trash; 0: as configured */
  int64_t budget_bytes;  /* the database may have this size; 0: as configured */
} rp_gc_options;
typedef struct rp_gc_item {
  const char *action; /* abandon, archive, trash, delete, keep */
  const char *session_id, *scope;
  const char *reason;
  int64_t bytes, ended_at;
} rp_gc_item;
typedef int rp_gc_fn(void *ctx, const rp_gc_item *item);
/*
 * Retention, in this order: abandoned sessions are marked, records older than archive_days move to cold files, what is
 * older than allowed goes to the trash, what was there long enough is deleted, and while the database is over its
 * budget the oldest ended sessions go for good. Sessions on hold are left alone. `fn` hears of each (before, with
 * dry_run: only). `ret` (may be NULL): {"abandoned","archived","trashed","deleted","bytes","dry_run"}.
 */
RP_API int rp_gc(rp_engine *e, const rp_gc_options *o, rp_gc_fn *fn, void *ctx, rp_progress_fn *progress, void *pctx,
                 char **ret, rp_error *err);

/* ---- tokens ------------------------------------------------------------------------- */

/* What lets a client off loopback in. A token opens one scope or all of them, and may be for reading only. */
typedef struct rp_token_options {
  const char *name;   /* a word for the list, or NULL; several tokens may have the same */
  const char *scope;  /* or NULL: all */
  bool read_only;     /* nothing may be changed with it */
  int64_t expires_ms; /* wall clock; 0: never */
} rp_token_options;

/*
 * Makes a token; NULL options: for everything, for ever. Its text is given this once: the store keeps a hash. Audited,
 * as is the end of one, in the scope "-", which is the store's own. Free with rp_free.
 */
RP_API int rp_token_create(rp_engine *e, const rp_token_options *o, char **ret_text, rp_error *err);

typedef struct rp_token_info {
  const char *id, *name, *scope; /* name, scope: NULL for none */
  bool read_only;
  int64_t created_at, expires_at, last_used_at; /* ms; 0: never. last_used_at may be a minute late */
} rp_token_info;
typedef int rp_token_fn(void *ctx, const rp_token_info *t);

/* All tokens in the order of making, those that have expired too. */
RP_API int rp_token_list(rp_engine *e, rp_token_fn *fn, void *ctx, rp_error *err);

/* Ends a token: from here on it opens nothing. `id`: its id, its name if no other has it, or its whole text.
 * RP_E_TOKEN_NOT_FOUND, RP_E_AMBIGUOUS. */
RP_API int rp_token_revoke(rp_engine *e, const char *id, rp_error *err);

/*
 * Tells `fn` (may be NULL) of the token with that text, once. RP_E_UNAUTHORIZED: it is none of ours, or has expired;
 * the message holds nothing of the text. What the token allows (scope, read_only) is the caller's to keep to.
 */
RP_API int rp_token_check(rp_engine *e, const char *text, rp_token_fn *fn, void *ctx, rp_error *err);

/* ---- names ---------------------------------------------------------------------------- */

/*
 * Another name of a session: what some other program calls it, as an agent its own id of one. Names are no references
 * (rp_attach does not take them), and no list, count or check of sessions knows of them. `name` is written like an id.
 * `session_id` is the exact id of a session, or NULL: that of one that is gone. A name given twice has its last
 * meaning. Durable when this returns. RP_E_INVALID, RP_E_SESSION_NOT_FOUND.
 *
 * A name lasts as long as its session, in the trash too. When that is deleted for good, the name is one of a session
 * that is gone, for another year. There are 4,096 at most: then the oldest makes room, first of those that are gone.
 */
RP_API int rp_name_put(rp_engine *e, const char *name, const char *session_id, rp_error *err);
/* `ret_id` (RP_ID_MAX + 1 bytes) gets the session's id; empty: it is gone. RP_E_SESSION_NOT_FOUND: nobody gave that
 * name. */
RP_API int rp_name_find(rp_engine *e, const char *name, char *ret_id, rp_error *err);

/* ---- other formats ------------------------------------------------------------------ */

/* nova, cortex, clawd, orbitmesh, markdown; "reprise" is rp_export. `dir` formats (cortex: a database) need a path. */
RP_API int rp_export_as(rp_session *s, const char *format, rp_write_fn *write, void *ctx, rp_error *err);
/*
 * Whether a file that somebody named may be written: RP_E_REFUSED, about `field`, when it is one of the store's own
 * (the database and what lies beside it, the secret of the agents' socket, a scope's key), by whatever name or link.
 * rp_export_file asks by itself.
 */
RP_API int rp_output_check(rp_engine *e, const char *field, const char *path, rp_error *err);
/* Into a file or, for cortex, an existing brain.db, whose own tables and rows stay as they are. */
RP_API int rp_export_file(rp_session *s, const char *format, const char *path, rp_error *err);

/*
 * Several sessions as one session-store.json of Clawd, with the tokens that their agents hold and the secret that these
 * know: whoever has it can act as any of them. Where no token is known, or without_tokens, a fresh one stands that
 * opens nothing. RP_E_CONFIG: the internal secret can't be read.
 */
typedef struct rp_store_options {
  const char *session; /* one, by any of its names; NULL: all of the scope */
  const char *scope;   /* NULL: all scopes */
  bool without_tokens;
} rp_store_options;
typedef struct rp_store_info {
  int64_t sessions, tokens; /* written; tokens: of agents that can go on with the file */
  int64_t strangers;        /* of these, agents that know another secret than the one the file has */
} rp_store_info;
RP_API int rp_export_store(rp_engine *e, const rp_store_options *o, rp_write_fn *write, void *ctx, rp_store_info *ret,
                           rp_error *err);

typedef struct rp_import_options {
  const char *format; /* NULL: told from the content */
  const char *scope;  /* of what is imported; NULL: the format's own word, or "default" */
  bool dry_run;
} rp_import_options;
typedef struct rp_import_item {
  const char *session_id, *name;
  int64_t events;
  bool skipped; /* is there already */
  const char *why;
  bool token; /* the token that its agent holds was taken (clawd) */
} rp_import_item;
typedef int rp_import_fn(void *ctx, const rp_import_item *item);
RP_API int rp_import_file(rp_engine *e, const char *path, const rp_import_options *o, rp_import_fn *fn, void *ctx,
                          rp_progress_fn *progress, void *pctx, rp_error *err);

/* ---- numbers --------------------------------------------------------------------------- */

/* Counters and histograms in Prometheus' text format. Free with rp_free. */
RP_API int rp_metrics_text(rp_engine *e, char **ret, rp_error *err);

/* The default table of emotions and their events as an INI text, ready to be edited. Free with rp_free. */
RP_API int rp_emotions_ini(char **ret, rp_error *err);

/* Every option, commented out, with its meaning and default, as an INI text to be edited. Free with rp_free. */
RP_API int rp_config_ini(char **ret, rp_error *err);

/* JSON documents. Free with rp_free. */
RP_API int rp_stats_json(rp_engine *e, char **ret, rp_error *err);
RP_API int rp_doctor_json(rp_engine *e, char **ret, rp_error *err);
/* One option's value in a scope (NULL: outside any) as text. RP_E_USAGE: there is no option of that name. */
RP_API int rp_config_get(rp_engine *e, const char *scope, const char *name, char **ret, rp_error *err);
RP_API int rp_config_json(rp_engine *e, const char *scope, char **ret, rp_error *err);

#ifdef __cplusplus
}
#endif
#endif
