/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libreprise: durable sessions for AI agents.
 *
 * An engine opens a store of sessions. A session is a journal of events. A session handle is one of two kinds: the
 * holder's (from rp_start) has a run and an epoch, and is fenced when a newer start takes over; a guest's (from
 * rp_attach) writes under whatever epoch is current.
 *
 * Conventions:
 * - A function that can fail returns 0 or a negative enum rp_code, and fills `err` unless that is NULL.
 * - Outputs named ret_* are written only on success.
 * - Strings that the caller gives are copied. Strings handed out as char ** are freed with rp_free().
 * - In option structs zero is the default of every member, so `{0}` is a valid struct. `size` is 0, or sizeof the
 *   struct for callers that use members added after the first version.
 * - Callbacks return 0 to go on. Any other value ends the iteration and is returned to the caller.
 * - Structs handed to callbacks, and the strings in them, are valid until the callback returns.
 * - A handle may be used from several threads. One thread frees it, after all others are done with it.
 * - After fork() the child must not use an engine opened before: calls return RP_E_FORKED.
 *
 * The library never prints, never exits and installs no signal handlers.
 *
 * Other headers: continuity.h (briefs, memories, search), admin.h (export, verification, retention, tokens,
 * configuration), host.h (for servers and bridges that keep sessions for others).
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

#define RP_ID_MAX 128             /* bytes of an id, key, scope or channel */
#define RP_SEQ_MAX (1LL << 53)    /* highest event number, epoch and client number: exact in every JSON reader */
#define RP_SEQ_NONE (-1)          /* in options that name an event: before the first one */
#define RP_BODY_MAX (1024 * 1024) /* default bytes of one event's body */
#define RP_DEPTH_MAX 64           /* nesting of a body */
#define RP_BATCH_MAX 10000        /* events in one rp_append_many */
#define RP_BLOB_ID_MAX 64         /* bytes of a blob's id */

typedef struct rp_engine rp_engine;
typedef struct rp_session rp_session;

typedef enum rp_durability {
  RP_DEFAULT = 0, /* disk, unless the configuration says otherwise */
  RP_MEMORY,      /* accepted; lost with the process */
  RP_OS,          /* survives the death of the process */
  RP_DISK,        /* survives a power cut */
} rp_durability;

typedef enum rp_log_level { RP_LOG_ERROR, RP_LOG_WARN, RP_LOG_INFO, RP_LOG_DEBUG } rp_log_level;
typedef void rp_log_fn(void *ctx, rp_log_level level, const char *text);

/* A clock. `boot_ms` returns the time since boot, including time asleep, or 0 when that is unknown. */
typedef struct rp_clock {
  int64_t (*wall_ms)(void *ctx); /* since 1970, UTC */
  int64_t (*boot_ms)(void *ctx);
  void *ctx;
} rp_clock;

/* ---- engine ---------------------------------------------------------- */

typedef struct rp_options {
  size_t size;
  const char *db;        /* "sqlite:PATH", "memory:", or NULL for $REPRISE_DB or the default place */
  const char *config;    /* an INI file, or NULL for $REPRISE_CONFIG or the default place */
  const rp_clock *clock; /* copied; NULL for the system's */
  rp_log_fn *log;
  void *log_ctx;
  bool short_lived;  /* no background threads: work that is due happens in the call or in rp_close */
  bool read_only;    /* nothing is created or written */
  bool existing;     /* the store may be written and migrated, but is not created */
  bool ends_process; /* with short_lived: the process exits right after rp_close, which may then skip freeing memory */
} rp_options;

/*
 * Opens a store. Unless read_only or existing is set, a missing store is created; unless read_only is set, an older one
 * is migrated. With read_only or existing a file that is missing is RP_E_NO_STORE, a file that never was a store is
 * RP_E_UNREACHABLE, and nothing is left behind. NULL options mean all defaults.
 */
RP_API RP_MUST_USE int rp_open(const rp_options *options, rp_engine **ret, rp_error *err);

/* Finishes pending work and closes. All session handles must have been freed before. NULL is allowed. */
RP_API void rp_close(rp_engine *e);

/* The store's file, or NULL for a store in memory. Owned by the engine. */
RP_API const char *rp_store_path(const rp_engine *e);

/* Waits until everything accepted so far is as durable as was asked for. */
RP_API int rp_flush(rp_engine *e, rp_error *err);

RP_API void rp_free(void *p);
RP_API const char *rp_version(void);

/* ---- start and end ---------------------------------------------------- */

typedef enum rp_mode {
  RP_MODE_AUTO,      /* resume the open session that `id` or `key` names, else begin a successor */
  RP_MODE_RESUME,    /* resume it, or fail with RP_E_SESSION_NOT_FOUND */
  RP_MODE_SUCCESSOR, /* always begin a new session */
} rp_mode;

typedef enum rp_owner_kind {
  RP_OWNER_SELF, /* this process, for as long as it keeps the handle */
  RP_OWNER_PID,  /* the process `owner_pid` */
  RP_OWNER_NONE, /* no process: the run lives by its heartbeats */
} rp_owner_kind;

/*
 * Identifies a request that may arrive twice, as over a network. A repeat under the same key within 24 hours and with
 * the same bytes is not carried out again: its caller gets the result of the first. The same key with other bytes is
 * RP_E_KEY_REUSED. Keys belong to a scope.
 */
typedef struct rp_request {
  const char *key; /* 1 to 255 bytes */
  const void *bytes;
  size_t n;
} rp_request;

typedef struct rp_start_options {
  size_t size;
  const char *scope; /* required */
  const char *key, *id, *channel, *provider;
  const char *meta;   /* a JSON object */
  const char *topics; /* comma separated */
  rp_mode mode;
  rp_owner_kind owner;
  int64_t owner_pid;
  bool force;                /* take over from a living owner */
  const rp_request *request; /* or NULL. A repeat's start document says "repeated"; its epoch is that of the first */
  const char *prompt;        /* what the user asks first, or NULL: its words are topics too */
} rp_start_options;

/*
 * Begins or resumes a session: ends runs whose owner is gone, takes the lease, loads the newest good state. The mark
 * that the run has begun is durable when this returns. RP_E_HELD: another, living owner holds the session (see
 * `force`).
 */
RP_API RP_MUST_USE int rp_start(rp_engine *e, const rp_start_options *options, rp_session **ret, rp_error *err);

/*
 * The start document, as JSON: session_id, epoch, the kind of restart and its cause, the time since the last run, the
 * restored items, the brief for the model, warnings. docs/protocol.md lists its members. Owned by the handle; NULL for
 * a guest's handle.
 */
RP_API const char *rp_start_json(const rp_session *s);

/* A guest's handle. `ref` is an id, a unique prefix of an id, a key, or "last". */
RP_API RP_MUST_USE int rp_attach(rp_engine *e, const char *ref, rp_session **ret, rp_error *err);

/* The id that a reference names. `ret` holds RP_ID_MAX + 1 bytes. */
RP_API RP_MUST_USE int rp_resolve(rp_engine *e, const char *ref, char *ret, rp_error *err);

RP_API const char *rp_session_id(const rp_session *s);
RP_API int64_t rp_session_epoch(const rp_session *s); /* 0 for a guest */

/*
 * Frees a handle. When a holder frees its handle without rp_end, the next start reports a crash. After
 * rp_session_detach the run goes on instead, as long as its named owner lives or its heartbeats come.
 */
RP_API void rp_session_free(rp_session *s);
RP_API void rp_session_detach(rp_session *s);

/*
 * Ends the session: a final checkpoint, then `closed`. `reason` may be NULL; "upgrade" and "killed" (or
 * "killed:SIGNAL") become the cause that the next start reports.
 */
RP_API RP_MUST_USE int rp_end(rp_session *s, const char *reason, rp_error *err);

/* ---- writing ------------------------------------------------------------ */

typedef struct rp_event {
  const char *kind;
  const char *body;            /* a JSON object; secrets are masked, all other bytes are stored as given */
  size_t body_len;             /* 0: body is NUL-terminated */
  int64_t at_ms;               /* 0: now */
  const char *idempotency_key; /* or NULL; remembered for 24 hours */
  int64_t reserved[2];         /* 0 */
} rp_event;

typedef struct rp_append_options {
  size_t size;
  rp_durability durability;
  int64_t epoch;         /* 0: the handle's own, or, for a guest, the current one */
  int64_t expect_seq;    /* number that the last event must have; 0: any; RP_SEQ_NONE: the journal must be empty */
  const char *client_id; /* with client_seq: a client that numbers its events 1, 2, 3 and so on */
  int64_t client_seq;
  bool runtime;        /* the caller runs the session's agent, so `runtime` events are allowed */
  bool accepts_memory; /* of an asynchronous append: RP_MEMORY is enough while the store can't be written (host.h) */
} rp_append_options;

typedef struct rp_ack {
  int64_t first_seq, seq; /* 0 when the durability reached is RP_MEMORY */
  rp_durability durability;
  bool repeated;   /* the event was stored before, under the same idempotency key or client_seq */
  bool budget_low; /* the session has used its scope's budget_warn, or more, of a budget */
  double
      budget_share; /* the used share of that budget (1: all), as far as the handle knows; 0: unknown, or no budget */
  int64_t reserved[4];
} rp_ack;

/* Appends one event and waits for its durability. NULL options mean all defaults. */
RP_API RP_MUST_USE int rp_append(rp_session *s, const rp_event *ev, const rp_append_options *o, rp_ack *ret,
                                 rp_error *err);

/* Appends n events, all or none, with consecutive numbers. n <= RP_BATCH_MAX. */
RP_API RP_MUST_USE int rp_append_many(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                      rp_ack *ret, rp_error *err);

/*
 * Checks and queues one event, copying it, and returns. `done` is called once, from an engine thread, with the
 * acknowledgement or the error; it must not block and may not free the handle. The events of one session are stored and
 * acknowledged in the order in which they were queued. RP_E_LIMIT: the queue is full. host.h has a policy for a full
 * queue and for times when the store can't be written.
 */
typedef void rp_append_fn(void *ctx, const rp_ack *ack, const rp_error *err);
RP_API RP_MUST_USE int rp_append_async(rp_session *s, const rp_event *ev, const rp_append_options *o,
                                       rp_append_fn *done, void *ctx, rp_error *err);

/* The same for n events, all or none, with consecutive numbers and one acknowledgement. n <= RP_BATCH_MAX. */
RP_API RP_MUST_USE int rp_append_many_async(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                            rp_append_fn *done, void *ctx, rp_error *err);

/*
 * Records that the run is alive; on a guest's handle, that the session's current run is. The write happens in the
 * background and at most once per heartbeat_s, so this may be called at 50 Hz. The first call of a run writes at once.
 */
RP_API int rp_heartbeat(rp_session *s, rp_error *err);

/* Asks for a checkpoint in the background, at most once per save_s. */
RP_API int rp_save(rp_session *s, rp_error *err);

/* Makes a snapshot now. `ret_n` (may be NULL) gets its number. */
RP_API RP_MUST_USE int rp_checkpoint(rp_session *s, int64_t *ret_n, rp_error *err);

/*
 * Stores text that is larger than an event may be (a file that an agent read, a picture) with its session. A blob is
 * masked like events, sealed with its scope, deleted with the session and part of its export. It is durable when this
 * returns. Equal bytes become one blob. `ret_id` holds RP_BLOB_ID_MAX + 1 bytes. RP_E_TOO_LARGE over 64 MiB;
 * RP_E_FENCED and RP_E_ENDED as for an append.
 *
 * An event refers to a blob by a body member whose whole value is the blob's id, as in {"acp_blob":ID}. A blob that no
 * event refers to within an hour is deleted by a repair (rp_verify).
 */
RP_API RP_MUST_USE int rp_blob_put(rp_session *s, const void *bytes, size_t n, char *ret_id, rp_error *err);
/*
 * Hands a blob's bytes to `write`, in any number of calls. A blob that was lost reads as empty after a repair.
 * RP_E_BLOB_NOT_FOUND, RP_E_CORRUPT.
 */
typedef int rp_write_fn(void *ctx, const void *bytes, size_t n);
RP_API RP_MUST_USE int rp_blob_get(rp_session *s, const char *id, rp_write_fn *write, void *ctx, rp_error *err);

/* ---- reading ------------------------------------------------------------ */

typedef enum rp_session_status {
  RP_SESSION_ANY, /* in filters */
  RP_SESSION_CREATED,
  RP_SESSION_ACTIVE,
  RP_SESSION_IDLE,
  RP_SESSION_CHECKPOINTED,
  RP_SESSION_CLOSED,
  RP_SESSION_ABANDONED,
} rp_session_status;

/* "created", "active" and so on; NULL for RP_SESSION_ANY and numbers that are no status. */
RP_API const char *rp_session_status_name(rp_session_status status);
/* The status of that name; RP_SESSION_ANY when there is none. */
RP_API rp_session_status rp_session_status_parse(const char *name);

typedef struct rp_session_info {
  const char *id, *scope, *key, *channel, *provider, *name; /* NULL where there is none */
  rp_session_status status;
  const char *previous_id, *continued_by, *forked_from;
  const char *meta;                               /* a JSON object or NULL */
  int64_t created_at, last_activity_at, ended_at; /* ms; 0: not ended */
  int64_t seq, epoch, bytes, forked_at_seq;
  bool crash_recovered, sealed;
  bool run_dead; /* the run's process is gone and no start has ended the run yet; never with RP_SESSION_ACTIVE */
  int64_t trashed_at, held_at; /* ms; 0: not in the trash, not on hold */
  int64_t number;              /* unique in the store, higher for newer sessions; unlike an id it is never used again */
} rp_session_info;

typedef struct rp_filter {
  size_t size;
  const char *scope;
  rp_session_status status;
  int64_t since_ms;
  int limit;          /* 0: 50 */
  const char *cursor; /* id of the last session seen, or NULL */
  bool trashed;       /* only sessions in the trash; else only sessions that are not */
  bool by_activity;   /* last activity first; else the newest session first. When the session of `cursor` was active
                         since it was listed, its position has changed, and the list goes on from the new one */
} rp_filter;

typedef int rp_session_fn(void *ctx, const rp_session_info *info);
RP_API RP_MUST_USE int rp_list(rp_engine *e, const rp_filter *filter, rp_session_fn *fn, void *ctx, rp_error *err);
RP_API RP_MUST_USE int rp_show(rp_engine *e, const char *ref, rp_session_fn *fn, void *ctx, rp_error *err);

/* The JSON document of a session, which the command line prints too. Free with rp_free. */
RP_API RP_MUST_USE int rp_session_json(const rp_session_info *info, char **ret, rp_error *err);

typedef struct rp_event_info {
  int64_t seq, at_ms;
  const char *kind;
  const char *body;
  size_t body_len;
  bool lost; /* the event can't be read: `kind` is x-damaged and `body` says why ({"reason","original_kind"?}) */
} rp_event_info;
typedef int rp_event_fn(void *ctx, const rp_event_info *ev);

/*
 * Events with seq > after, in order, at most `limit` (0: all). No transaction stays open between pages. A damaged or
 * missing event does not end the reading: it is handed out in its place as `lost`, and logged.
 */
RP_API RP_MUST_USE int rp_events(rp_session *s, int64_t after, int64_t limit, rp_event_fn *fn, void *ctx,
                                 rp_error *err);

/* Blocks until the journal is beyond `after` or timeout_ms passed; also sees writes of other processes. */
RP_API RP_MUST_USE int rp_wait(rp_session *s, int64_t after, int timeout_ms, int64_t *ret_seq, rp_error *err);

/* The state document (JSON) at event `at_seq`, or now for at_seq < 0. Free with rp_free. */
RP_API RP_MUST_USE int rp_state_json(rp_session *s, int64_t at_seq, char **ret, rp_error *err);

/* ---- snapshots and time travel --------------------------------------------- */

typedef struct rp_snapshot_info {
  int64_t n, seq, at_ms, size, raw_size;
  const char *reason; /* interval, count, event, exit, manual, restore */
  bool sealed;
} rp_snapshot_info;
typedef int rp_snapshot_fn(void *ctx, const rp_snapshot_info *info);
/* The newest keep_snapshots snapshots, newest first. Older ones, kept only for reading the past, are left out. */
RP_API RP_MUST_USE int rp_snapshots(rp_session *s, rp_snapshot_fn *fn, void *ctx, rp_error *err);
RP_API RP_MUST_USE int rp_snapshot_delete(rp_session *s, int64_t n, rp_error *err);
/* The snapshot's state document. Free with rp_free. */
RP_API RP_MUST_USE int rp_snapshot_json(rp_session *s, int64_t n, char **ret, rp_error *err);

/*
 * Goes back to an earlier state by appending the event `restored {to_seq}`; no event is deleted. RP_E_ENDED: the
 * session has ended; the error's hint says what to do instead.
 */
RP_API RP_MUST_USE int rp_restore(rp_session *s, int64_t to_seq, rp_ack *ret, rp_error *err);
RP_API RP_MUST_USE int rp_restore_snapshot(rp_session *s, int64_t n, rp_ack *ret, rp_error *err);

typedef struct rp_fork_options {
  size_t size;
  int64_t at_seq;            /* the last event to copy; 0: all of the journal; RP_SEQ_NONE: no event */
  const char *id;            /* the new session's id, or NULL: a generated one. RP_E_EXISTS */
  const char *meta;          /* a JSON object, or NULL: the original's, with the new id as acp_session_id */
  const rp_request *request; /* or NULL */
} rp_fork_options;
/*
 * Makes a new session with a copy of the journal. It does not depend on the original, which may be deleted. `ret_id`
 * holds RP_ID_MAX + 1 bytes; `ret_repeated` (may be NULL) says that `request` was carried out before.
 */
RP_API RP_MUST_USE int rp_fork(rp_session *s, const rp_fork_options *o, char *ret_id, bool *ret_repeated,
                               rp_error *err);

#ifdef __cplusplus
}
#endif
#endif
