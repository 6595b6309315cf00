/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Administration of a store: export and import, verification, redaction, audit, retention, tokens, metrics,
 * configuration.
 *
 * "Audited" means that the call adds a record to the audit log (rp_audit).
 */
#ifndef REPRISE_ADMIN_H
#define REPRISE_ADMIN_H

#include <reprise/reprise.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- moving, checking --------------------------------------------------------- */

typedef long rp_read_fn(void *ctx, void *bytes, size_t n); /* returns the bytes read, 0 at the end, < 0 on error */

/* Progress of a long call: `total` is 0 when unknown. A return value other than 0 cancels the call. May be NULL. */
typedef int rp_progress_fn(void *ctx, int64_t done, int64_t total);

/*
 * rp_export writes a session in Reprise's own format, which loses nothing, and rp_import reads one. `ret_id` holds
 * RP_ID_MAX + 1 bytes.
 */
RP_API RP_MUST_USE int rp_export(rp_session *s, rp_write_fn *write, void *ctx, rp_progress_fn *progress, void *pctx,
                                 rp_error *err);
RP_API RP_MUST_USE int rp_import(rp_engine *e, rp_read_fn *read, void *ctx, rp_progress_fn *progress, void *pctx,
                                 char *ret_id, rp_error *err);

typedef struct rp_finding {
  const char *session_id; /* NULL: the store as a whole */
  int64_t seq;            /* or 0 */
  const char *what;       /* one line */
  bool repaired;
  bool note; /* not damage: a part that could not be checked, or leftovers that a repair removes */
} rp_finding;
typedef int rp_finding_fn(void *ctx, const rp_finding *f);

/*
 * Reads a session, or with `ref` NULL the whole store, and reports each fault to `fn`. With `repair` the faults that
 * can be mended are mended. RP_E_CORRUPT: faults are left.
 */
RP_API RP_MUST_USE int rp_verify(rp_engine *e, const char *ref, bool repair, rp_finding_fn *fn, void *ctx,
                                 rp_progress_fn *progress, void *pctx, rp_error *err);
/*
 * Acknowledges a loss: commits that were acknowledged as RP_DISK are missing from the database's write-ahead log. Until
 * this call rp_open warns of the loss through the log callback, and rp_verify and rp_doctor_json report it. Audited.
 * Returns 0 also when there is no loss.
 */
RP_API RP_MUST_USE int rp_accept_loss(rp_engine *e, rp_error *err);

/* ---- other formats ------------------------------------------------------------------ */

/* Writes a session as a document of `format`: nova, cortex, clawd, orbitmesh, markdown, or reprise (rp_export). */
RP_API RP_MUST_USE int rp_export_as(rp_session *s, const char *format, rp_write_fn *write, void *ctx, rp_error *err);
/*
 * Checks that a path given by a user does not name a file of the store: the database, the files beside it, the secret
 * of the agents' socket, a scope's key. RP_E_REFUSED, with `field` in the error: the path names one, directly or
 * through a link. rp_export_file makes this check itself.
 */
RP_API RP_MUST_USE int rp_output_check(rp_engine *e, const char *field, const char *path, rp_error *err);
/*
 * Writes a session to `path`: a file, or a folder, which gets a file and an index. With the format cortex `path` may be
 * a brain.db database, whose other tables and rows stay as they are.
 */
RP_API RP_MUST_USE int rp_export_file(rp_session *s, const char *format, const char *path, rp_error *err);

/*
 * Writes sessions as one session-store.json of Clawd. The file has the tokens that the sessions' agents hold and the
 * internal secret that the agents know, so whoever has the file can act as any of these agents. A session whose token
 * is unknown gets a random token that opens nothing; with without_tokens every session does. RP_E_CONFIG: the internal
 * secret can't be read.
 */
typedef struct rp_store_options {
  size_t size;
  const char *session; /* a reference to one session; NULL: all sessions of `scope` */
  const char *scope;   /* NULL: all scopes */
  bool without_tokens;
} rp_store_options;
typedef struct rp_store_info {
  int64_t sessions, tokens; /* the numbers written; `tokens` counts only tokens that an agent may hold */
  int64_t strangers;        /* of `tokens`, those whose agent knows another secret than the one in the file */
} rp_store_info;
RP_API RP_MUST_USE int rp_export_store(rp_engine *e, const rp_store_options *o, rp_write_fn *write, void *ctx,
                                       rp_store_info *ret, rp_error *err);

typedef struct rp_import_options {
  size_t size;
  const char *format; /* NULL: detected from the content */
  const char *scope;  /* for the imported sessions; NULL: the scope that the file names, or "default" */
  bool dry_run;       /* reports what would be imported and stores nothing */
} rp_import_options;
typedef struct rp_import_item {
  const char *session_id, *name;
  int64_t events;
  bool skipped;    /* not imported: the store has the session already, or it can't be read */
  const char *why; /* a remark, or NULL; of a skipped session the reason */
  bool token;      /* the token that the session's agent holds was imported too (clawd) */
} rp_import_item;
typedef int rp_import_fn(void *ctx, const rp_import_item *item);
/*
 * Imports the sessions of a file of any format but markdown, and reports each to `fn`. A session that can't be read
 * does not stop the others; its error is returned at the end.
 */
RP_API RP_MUST_USE int rp_import_file(rp_engine *e, const char *path, const rp_import_options *o, rp_import_fn *fn,
                                      void *ctx, rp_progress_fn *progress, void *pctx, rp_error *err);

/* ---- redaction, audit, retention ------------------------------------------------- */

typedef struct rp_secret {
  size_t start, end; /* bytes of the text */
  const char *kind;  /* for people: "github token", "password" and so on */
} rp_secret;
typedef int rp_secret_fn(void *ctx, const rp_secret *secret);
/* Reports each secret in a text to `fn`. `ret` (may be NULL) gets the masked text. Reads and writes no session. */
RP_API RP_MUST_USE int rp_redact_check(rp_engine *e, const char *text, size_t n, rp_secret_fn *fn, void *ctx,
                                       char **ret, rp_error *err);
/*
 * Masks the stored events and blobs of a session with the current patterns, or, with `text`, that one secret wherever
 * it occurs. Everything made from them is masked too: snapshots, record, mirror, search index, memories, and the later
 * sessions of the scope, which may have inherited a secret. No byte of a masked secret stays in the store's files.
 * `ret` gets {"session_id","sessions","events","blobs","secrets","held","dry_run"}; "held" counts later sessions that
 * were left as they are because a living process holds them. RP_E_HELD: a living process holds the session itself.
 */
RP_API RP_MUST_USE int rp_redact_session(rp_engine *e, const char *ref, const char *text, bool dry_run,
                                         rp_progress_fn *progress, void *pctx, char **ret, rp_error *err);

typedef struct rp_audit_info {
  int64_t n, at_ms;
  const char *scope, *event;
  const char *fields;           /* a JSON object, or NULL when the fields were erased */
  const char *prev_hash, *hash; /* hex */
} rp_audit_info;
typedef int rp_audit_fn(void *ctx, const rp_audit_info *a);
/* The audit records of a scope (NULL: of all, scope by scope) with n > after, in order. */
RP_API RP_MUST_USE int rp_audit(rp_engine *e, const char *scope, int64_t after, int64_t limit, rp_audit_fn *fn,
                                void *ctx, rp_error *err);
/*
 * Checks the hashes of a scope's audit records (NULL: of all scopes). Each hash covers the record before.
 * RP_E_AUDIT_BROKEN names the first bad record. `expect` (or NULL) is a head, "N:HASH", from an earlier call. It must
 * be one of the records, so that a log that was cut or written anew is recognised. `ret` (may be NULL) gets
 * {"scopes":[{"scope","records","head"}]}.
 */
RP_API RP_MUST_USE int rp_audit_verify(rp_engine *e, const char *scope, const char *expect, char **ret, rp_error *err);

/*
 * rp_trash puts a session in the trash; rp_untrash takes it out again. RP_E_HELD: a living run holds the session.
 * RP_E_ON_HOLD: see rp_hold. `reason`, for the audit log, may be NULL. Audited.
 */
RP_API RP_MUST_USE int rp_trash(rp_engine *e, const char *ref, const char *reason, rp_error *err);
RP_API RP_MUST_USE int rp_untrash(rp_engine *e, const char *ref, rp_error *err);
/* Sets or removes a hold. A session on hold is neither trashed nor deleted, by any call or by retention. Audited. */
RP_API RP_MUST_USE int rp_hold(rp_engine *e, const char *ref, bool on, rp_error *err);
/* Deletes a session for good. Without `force` it must be in the trash. RP_E_HELD and RP_E_ON_HOLD as above. Audited. */
RP_API RP_MUST_USE int rp_purge(rp_engine *e, const char *ref, bool force, rp_error *err);

typedef struct rp_gc_options {
  size_t size;
  const char *scope; /* or NULL: all */
  bool dry_run;
  int64_t older_than_ms; /* sessions that ended longer ago than this go to the trash; 0: as configured */
  int64_t budget_bytes;  /* the largest size that the database may have; 0: as configured */
} rp_gc_options;
typedef enum rp_gc_action { RP_GC_ABANDON, RP_GC_ARCHIVE, RP_GC_TRASH, RP_GC_DELETE, RP_GC_KEEP } rp_gc_action;
/* "abandon", "archive" and so on; NULL for a number that is no action. */
RP_API const char *rp_gc_action_name(rp_gc_action action);

typedef struct rp_gc_item {
  rp_gc_action action;
  const char *session_id, *scope;
  const char *reason;
  int64_t bytes, ended_at;
} rp_gc_item;
typedef int rp_gc_fn(void *ctx, const rp_gc_item *item);
/*
 * Applies the retention rules, in this order:
 * - sessions without activity for abandon_s are marked as abandoned;
 * - records of sessions that ended longer than archive_days ago move to files outside the database;
 * - sessions that ended longer ago than the limit go to the trash;
 * - sessions that were in the trash for the grace period are deleted;
 * - while the database is over its budget, the sessions that ended first are deleted.
 * Sessions on hold stay as they are. `fn` is called for each session before its change; with dry_run nothing is
 * changed. RP_GC_KEEP is a session that was due and stays, with the reason. `ret` (may be NULL) gets
 * {"abandoned","archived","trashed","deleted","kept","bytes","dry_run"}; "bytes" is the size of the deleted ones.
 */
RP_API RP_MUST_USE int rp_gc(rp_engine *e, const rp_gc_options *o, rp_gc_fn *fn, void *ctx, rp_progress_fn *progress,
                             void *pctx, char **ret, rp_error *err);

/* ---- tokens ------------------------------------------------------------------------- */

/* A token gives a client access to the server. It is for one scope or for all, and may allow reading only. */
typedef struct rp_token_options {
  size_t size;
  const char *name;   /* shown by rp_token_list, or NULL; names need not be unique */
  const char *scope;  /* or NULL: all */
  bool read_only;     /* the token allows no changes */
  int64_t expires_ms; /* wall clock; 0: never */
} rp_token_options;

/*
 * Makes a token. NULL options mean all scopes, reading and writing, without expiry. `ret_text` gets the token's text,
 * which can't be read again, because the store keeps only a hash. Free with rp_free. Making and revoking a token are
 * audited, in the scope "-", which means the whole store.
 */
RP_API RP_MUST_USE int rp_token_create(rp_engine *e, const rp_token_options *o, char **ret_text, rp_error *err);

typedef struct rp_token_info {
  const char *id, *name, *scope; /* name, scope: NULL for none */
  bool read_only;
  int64_t created_at, expires_at, last_used_at; /* ms; 0: never. last_used_at may be a minute late */
} rp_token_info;
typedef int rp_token_fn(void *ctx, const rp_token_info *t);

/* All tokens in the order in which they were made, expired ones included. */
RP_API RP_MUST_USE int rp_token_list(rp_engine *e, rp_token_fn *fn, void *ctx, rp_error *err);

/*
 * Revokes a token, which gives no access any more. `id` is its id, its name or its whole text. RP_E_TOKEN_NOT_FOUND.
 * RP_E_AMBIGUOUS: several tokens have that name.
 */
RP_API RP_MUST_USE int rp_token_revoke(rp_engine *e, const char *id, rp_error *err);

/*
 * Checks the text of a token and calls `fn` (may be NULL) once with the token. The caller enforces its scope and
 * read_only. RP_E_UNAUTHORIZED: the token is unknown, revoked or expired; the message does not contain the text.
 */
RP_API RP_MUST_USE int rp_token_check(rp_engine *e, const char *text, rp_token_fn *fn, void *ctx, rp_error *err);

/* ---- metrics and configuration --------------------------------------------------------------------------- */

/* Counters and histograms in Prometheus' text format. Free with rp_free. */
RP_API RP_MUST_USE int rp_metrics_text(rp_engine *e, char **ret, rp_error *err);

/* The default table of emotions and the events that change them, as an INI text to be edited. Free with rp_free. */
RP_API RP_MUST_USE int rp_emotions_ini(char **ret, rp_error *err);

/* Every option, commented out, with its meaning and default, as an INI text to be edited. Free with rp_free. */
RP_API RP_MUST_USE int rp_config_ini(char **ret, rp_error *err);

/* Numbers and sizes of what the store holds, and counters of this engine, as JSON. Free with rp_free. */
RP_API RP_MUST_USE int rp_stats_json(rp_engine *e, char **ret, rp_error *err);
/* Checks of the store and its surroundings: {"version","checks":[{"check","status","detail"}]}. Free with rp_free. */
RP_API RP_MUST_USE int rp_doctor_json(rp_engine *e, char **ret, rp_error *err);
/* The value of an option in a scope (NULL: outside any) as text. Free with rp_free. RP_E_USAGE: no such option. */
RP_API RP_MUST_USE int rp_config_get(rp_engine *e, const char *scope, const char *name, char **ret, rp_error *err);
/* The value of an option that is a number, in seconds, days or bytes as its name says. RP_E_USAGE: no such option. */
RP_API RP_MUST_USE int rp_config_number(rp_engine *e, const char *scope, const char *name, double *ret, rp_error *err);
/* All options of a scope with their values, as JSON. Free with rp_free. */
RP_API RP_MUST_USE int rp_config_json(rp_engine *e, const char *scope, char **ret, rp_error *err);

#ifdef __cplusplus
}
#endif
#endif
