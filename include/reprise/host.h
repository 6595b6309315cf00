/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For programs that keep sessions for others, as servers and bridges do: changes made by any process, clients that
 * number their events, other names of sessions, appends while the store can't be written, presence.
 */
#ifndef REPRISE_HOST_H
#define REPRISE_HOST_H

#include <reprise/reprise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The session's number, as in rp_session_info and rp_changes. A number is never used for another session. */
RP_API int64_t rp_session_number(const rp_session *s);

/*
 * The id that a reference names in a scope. `ref` is an id, a key or a unique prefix of an id in that scope, "last" for
 * the scope's last session, or the exact id of a session in another scope. With `scope` NULL this is rp_resolve, with
 * one difference: a key of open sessions in several scopes is RP_E_AMBIGUOUS, where rp_resolve takes the newest. `ret`
 * holds RP_ID_MAX + 1 bytes.
 */
RP_API RP_MUST_USE int rp_resolve_in(rp_engine *e, const char *scope, const char *ref, char *ret, rp_error *err);

/*
 * The id of the session that a start in the scope would take as the previous one. In a scope with per_channel only
 * sessions of `channel` (NULL: "cli") count. `ret` holds RP_ID_MAX + 1 bytes.
 */
RP_API RP_MUST_USE int rp_last_in(rp_engine *e, const char *scope, const char *channel, char *ret, rp_error *err);

/*
 * Whether the state's `runtime.status` may change from `from` (NULL: none yet) to `to`. A `runtime` event with a status
 * that may not follow is stored but does not change the status, so writers of such events check with this first.
 */
RP_API bool rp_runtime_may(const char *from, const char *to);

/*
 * Makes the checks of an append and stores nothing: 0 when the events are valid. For programs that must accept or
 * refuse events before they can store them. The append itself may still be refused later.
 */
RP_API RP_MUST_USE int rp_append_check(rp_session *s, const rp_event *ev, size_t n, const rp_append_options *o,
                                       rp_error *err);

/* The last client_seq stored for a client (0: none), and the number of the journal's last event. */
RP_API RP_MUST_USE int rp_sync(rp_session *s, const char *client_id, int64_t *ret_client_seq, int64_t *ret_seq,
                               rp_error *err);

/*
 * Reports the journals that grew since *cursor, whichever process wrote to them. `fn` is called once for each, in no
 * particular order, with the session's number (rp_session_number) and its highest new event number. Then *cursor is
 * advanced. A *cursor < 0 is set to the present, and nothing is reported. One call examines `limit` events at most (0:
 * 65536), so when *cursor has changed, there may be more. A cursor stays valid as long as the database exists.
 */
typedef int rp_change_fn(void *ctx, int64_t session_number, int64_t seq);
RP_API RP_MUST_USE int rp_changes(rp_engine *e, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx,
                                  rp_error *err);
/* As rp_show, by the session's number. RP_E_SESSION_NOT_FOUND: deleted, or a fork or import that is not finished. */
RP_API RP_MUST_USE int rp_show_number(rp_engine *e, int64_t session_number, rp_session_fn *fn, void *ctx,
                                      rp_error *err);

/*
 * Waits for changes. Returns 1 when something (an event, a status, a deletion) may have been stored since the last
 * call. Writes of this process end the waiting immediately, writes of other processes within 20 ms. Returns 0 after
 * timeout_ms (negative: no timeout) or rp_changes_wake. One thread per engine may wait.
 */
RP_API RP_MUST_USE int rp_changes_wait(rp_engine *e, int timeout_ms, rp_error *err);
/* Makes the call of rp_changes_wait that is waiting, or else the next one, return 0. */
RP_API void rp_changes_wake(rp_engine *e);

/*
 * rp_show and rp_session_json in one call. For an exact id the document comes from memory, as long as no process has
 * stored anything since the document was made. `ret_len` may be NULL. Free with rp_free.
 */
RP_API RP_MUST_USE int rp_session_get_json(rp_engine *e, const char *ref, char **ret, size_t *ret_len, rp_error *err);

/*
 * A copy of the text with its secrets masked as the session would store it. Programs that shorten a text before they
 * store it mask it first, because a secret that was cut in two is not recognised. Free with rp_free.
 */
RP_API RP_MUST_USE int rp_mask(rp_session *s, const char *text, size_t n, char **ret, rp_error *err);

/* ---- names ---------------------------------------------------------------------------- */

/*
 * Gives a session another name, such as the id that an agent uses for it. A name is not a reference: rp_attach does not
 * take it, and lists, counts and checks of sessions do not show it. `name` has the characters of an id. `session_id` is
 * the exact id of a session, or NULL for a session that was deleted. A name that exists gets the new meaning. Durable
 * when this returns. RP_E_INVALID, RP_E_SESSION_NOT_FOUND.
 *
 * A name stays as long as its session, also in the trash. When the session is deleted for good, the name stays for
 * another year without one. The store keeps 4,096 names at most; a new one then replaces the oldest name of a deleted
 * session, or, when there is none, the oldest of all.
 */
RP_API RP_MUST_USE int rp_name_put(rp_engine *e, const char *name, const char *session_id, rp_error *err);
/*
 * The id of the session with that name. `ret_id` (RP_ID_MAX + 1 bytes) is empty when the session was deleted.
 * RP_E_SESSION_NOT_FOUND: there is no such name.
 */
RP_API RP_MUST_USE int rp_name_find(rp_engine *e, const char *name, char *ret_id, rp_error *err);

/* ---- the outbox: appends on their way into the store --------------------------------- */

/*
 * rp_append_async and rp_append_many_async put events into the engine's outbox. The outbox stores the events of one
 * session in the order in which they were given, through whichever handle, and acknowledges them in that order.
 *
 * The policy says what happens when an append can't be stored immediately. Without a policy the append fails: with the
 * store's error, or with RP_E_LIMIT when the outbox is full.
 *
 * memory_bytes: appends may wait in memory while the store can't be written (the disk is full, another program locks
 * the file, the file can't be reached).
 * - Appends with the durability RP_MEMORY, or with the option accepts_memory, are acknowledged as RP_MEMORY and wait,
 *   in the order of their session, until rp_outbox_drain finds that the store works again.
 * - Other appends of a session that has waiting ones fail with the store's error.
 * - An append with expect_seq never waits in memory.
 * - An append that the store would refuse anyway (a wrong epoch, a gap in a client's numbers, an ended session) fails
 *   immediately.
 * - When the last waiting append of a session is stored, its journal gets an event of the kind `x-degraded` with
 *   {"since","until","events","stored","repeated","lost","bytes"}.
 * While the store works, RP_MEMORY is acknowledged before the append is stored.
 *
 * gap_kind: the journal gets an event where appends are missing. The outbox counts the session's failed appends and the
 * losses that the host reports with rp_outbox_lost. Before the session's next append the outbox stores an event of this
 * kind with {"lost","from","to"}, and then calls `notice` with RP_OUTBOX_GAP_TOLD.
 */
typedef enum rp_outbox_what {
  RP_OUTBOX_STORE_AWAY = 1, /* the store can't be written; `error` says why */
  RP_OUTBOX_STORE_BACK,     /* the store can be written again, after `ms` */
  RP_OUTBOX_EVENTS_LOST,    /* `events` of `session`, acknowledged as RP_MEMORY, are lost; `error` says why */
  RP_OUTBOX_GAP_TOLD,       /* the journal of `session` has an event that counts `events` lost appends */
} rp_outbox_what;

typedef struct rp_outbox_notice {
  rp_outbox_what what;
  const char *session; /* a session's id, or NULL */
  int64_t events, ms;
  const rp_error *error; /* or NULL */
} rp_outbox_notice;

typedef struct rp_outbox_policy {
  size_t memory_bytes;  /* bound on the bytes that wait in memory, all sessions together; 0: none wait */
  bool wait_when_full;  /* when the outbox is full, an append blocks its caller until there is room */
  const char *gap_kind; /* a kind such as "x-gap", copied, at most RP_ID_MAX bytes; NULL: no gap events */
  /* Called from any thread, also from rp_close. It must not block and may not call the engine. May be NULL. */
  void (*notice)(void *ctx, const rp_outbox_notice *n);
  void *ctx;
} rp_outbox_policy;

/* Sets the policy. Call this before the first append. RP_E_USAGE: gap_kind does not begin with "x-" or is too long. */
RP_API RP_MUST_USE int rp_outbox_configure(rp_engine *e, const rp_outbox_policy *policy, rp_error *err);

/*
 * Tries to store the appends that wait in memory, for at most `ms` milliseconds (0: begins and returns). Returns true
 * when none is left. A host that sets memory_bytes calls this regularly, and before rp_close. One thread at a time may
 * call it.
 */
RP_API bool rp_outbox_drain(rp_engine *e, int64_t ms);

/* Counts `n` events that were lost at `at_ms` (0: now) before they could be appended: see gap_kind. */
RP_API void rp_outbox_lost(rp_session *s, int64_t n, int64_t at_ms);

typedef struct rp_outbox_counts {
  bool away;             /* the store can't be written, judged by the engine's last commits */
  int code;              /* the error of the last commit that failed, enum rp_code */
  char why[200];         /* its message */
  int64_t away_since_ms; /* wall clock */
  int64_t windows;       /* how often the store could not be written */
  int64_t waiting_events, waiting_bytes;
  int64_t accepted, stored, repeated, refused, lost; /* events, since the engine was opened */
} rp_outbox_counts;
RP_API void rp_outbox_counts_get(rp_engine *e, rp_outbox_counts *ret);

/* ---- presence: clients in sessions -------------------------------------------------------- */

/*
 * Each engine has one table of presence. An entry stands for the clients of one kind in a session. It says whether
 * heartbeats are sent for them, how long the host waits after the last client has left or fallen silent, and what the
 * host does then. An entry consists of a plain row, which can be stored and read back, and of the host's pointers.
 * Times come from a clock of the host, the same clock for all entries of a kind. Any thread may call these functions; a
 * host's `release` is called without a lock held.
 */
typedef enum rp_presence_kind {
  RP_PRESENCE_ANY = 0,
  RP_PRESENCE_CHANNEL,      /* members of a channel */
  RP_PRESENCE_AGENT,        /* an agent with a socket, connected or awaited */
  RP_PRESENCE_FAILED_AGENT, /* an agent that failed and may be started again */
  RP_PRESENCE_MCP,          /* a client of MCP over HTTP */
  RP_PRESENCE_HOOK,         /* hooks that come as a stream */
  RP_PRESENCE_TOOL,         /* a server of MCP on pipes */
  RP_PRESENCE_PROXY,        /* a session behind the ACP proxy */
  RP_PRESENCE_KINDS,
} rp_presence_kind;

/* What the host does when an entry's deadline has passed. */
typedef enum rp_presence_end {
  RP_PRESENCE_NOTHING = 0,
  RP_PRESENCE_CLOSE, /* close the session */
  RP_PRESENCE_FAIL,  /* the agent has failed */
  RP_PRESENCE_TRASH, /* put the session in the trash */
} rp_presence_end;

typedef struct rp_presence_row {
  int64_t number;              /* of the session: see rp_session_number */
  char session[RP_ID_MAX + 1]; /* its id */
  char scope[RP_ID_MAX + 1];
  char name[RP_ID_MAX + 1]; /* the client's name, or the key by which the entry is found; may be empty */
  int32_t kind;             /* enum rp_presence_kind */
  int32_t end;              /* enum rp_presence_end */
  int32_t present;          /* the number of clients that are there */
  int32_t writers;          /* of `present`, those that may write: heartbeats are sent while it is not 0 */
  int32_t always;           /* not 0: heartbeats are sent as long as the entry exists */
  int32_t ended;            /* not 0: the session was ended. No heartbeats are sent, the last leave removes the entry */
  int64_t heartbeat_ms;     /* between two heartbeats; 0: none are sent */
  int64_t heartbeat_at;     /* when the next one is due; 0: spread by the session's number */
  int64_t grace_ms;         /* from the last leave or touch to the deadline; < 0: given to rp_presence_leave */
  int64_t deadline;         /* 0: none */
  int64_t touched_at;
} rp_presence_row;

typedef struct rp_presence rp_presence; /* an entry */

/* The host's part of an entry: the handle for heartbeats (NULL: none are sent), and a pointer of the host's own. */
typedef struct rp_presence_host {
  rp_session *session; /* open for as long as the entry is there */
  void *host;
  void (*release)(void *ctx, void *host); /* called when the entry is gone, or NULL */
  void *ctx;
} rp_presence_host;

/* Selects entries. */
typedef struct rp_presence_query {
  rp_presence_kind kind;
  const char *session;      /* or NULL */
  const char *scope, *name; /* or both NULL; entries whose session was ended are not found by their names */
  int64_t due_by;           /* only entries whose deadline is not after this, the earliest first; 0: in order of use */
} rp_presence_query;

/* Adds an entry, exactly as the row says. */
RP_API RP_MUST_USE int rp_presence_put(rp_engine *e, const rp_presence_row *row, const rp_presence_host *host,
                                       int64_t now_ms, rp_presence **ret, rp_error *err);
/*
 * Adds a client to the session's entry of that kind, which then has no deadline, or makes an entry from the row. An
 * existing entry keeps its host, and takes the row's name if it has none. *ret_host is the entry's host. The call waits
 * while the entry is taken (rp_presence_take).
 */
RP_API RP_MUST_USE int rp_presence_join(rp_engine *e, const rp_presence_row *row, const rp_presence_host *host,
                                        bool writer, int64_t now_ms, rp_presence **ret, void **ret_host, rp_error *err);
/* Notes a sign of life: the grace begins anew. `name`, unless NULL, becomes the entry's name. False: no such entry. */
RP_API bool rp_presence_touch(rp_engine *e, const rp_presence_query *q, const char *name, int64_t now_ms);
/*
 * Removes a client. With the last client the entry gets its deadline, by its own grace or else `grace_ms`; when
 * `grace_ms` is negative or the session was ended, the entry is removed instead. The caller must not use the entry
 * after this call.
 */
RP_API void rp_presence_leave(rp_engine *e, rp_presence *p, bool writer, int64_t grace_ms, int64_t now_ms);
/* Raises the entry's own grace to at least grace_ms. */
RP_API void rp_presence_keep(rp_engine *e, rp_presence *p, int64_t grace_ms);
/* Notes that the session was ended, or is open again. */
RP_API void rp_presence_set_ended(rp_engine *e, rp_presence *p, bool ended);

/*
 * Takes one entry in order to end it. Until rp_presence_settle, joins and touches of the entry wait, and no heartbeats
 * are sent for it. Returns NULL when no entry matches. `ret` may be NULL.
 */
RP_API rp_presence *rp_presence_take(rp_engine *e, const rp_presence_query *q, rp_presence_row *ret, void **ret_host);
/* Gives a taken entry back with a new deadline, or, with -1, removes it. */
RP_API void rp_presence_settle(rp_engine *e, rp_presence *p, int64_t deadline);
/* Removes all entries of a kind. */
RP_API void rp_presence_clear(rp_engine *e, rp_presence_kind kind);

/* Copies the first entry that matches. The host's pointer is valid as long as the host keeps the entry. */
RP_API bool rp_presence_find(rp_engine *e, const rp_presence_query *q, rp_presence_row *ret, void **ret_host);
/* The number of clients in a session; with RP_PRESENCE_ANY those of all kinds. */
RP_API size_t rp_presence_present(rp_engine *e, rp_presence_kind kind, const char *session);
typedef struct rp_presence_counts {
  size_t entries;
  size_t ending; /* entries that have a deadline or are taken */
  bool due;      /* the deadline of an entry has passed */
} rp_presence_counts;
RP_API rp_presence_counts rp_presence_count(rp_engine *e, rp_presence_kind kind, int64_t now_ms);
/* Calls `fn` with a copy of each row of a kind, in order of use, until it returns a value other than 0. */
typedef int rp_presence_fn(void *ctx, const rp_presence_row *row);
RP_API RP_MUST_USE int rp_presence_list(rp_engine *e, rp_presence_kind kind, rp_presence_fn *fn, void *ctx,
                                        rp_error *err);

/*
 * Sends a batch of the heartbeats that are due, in the order of the sessions' numbers. Returns the number of heartbeats
 * in the batch: 0 when none is left. *cursor is 0 in the first call of a round. `fn` (may be NULL) is called for each
 * heartbeat with its result. RP_E_ENDED and RP_E_SESSION_NOT_FOUND are given to `fn` only; `err` gets the first other
 * error.
 */
typedef void rp_heartbeat_fn(void *ctx, rp_presence_kind kind, void *host, int rc);
RP_API size_t rp_presence_heartbeats(rp_engine *e, int64_t now_ms, size_t *cursor, rp_heartbeat_fn *fn, void *ctx,
                                     rp_error *err);

#ifdef __cplusplus
}
#endif
#endif
