/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the SQLite backend. One connection writes, one checkpoints the
 * write-ahead log, one maintains, a few read; each is used by one thread at a time. A
 * writer first waits for its turn in the queue of writers (queue.c).
 */
#ifndef RP_STORE_SQLITE_H
#define RP_STORE_SQLITE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/process/lockfile.h"
#include "store/rules.h"
#include "store/sqlite/statements.h"

#define RP_SQ_SCHEMA 8            /* the version this program writes */
#define RP_SQ_READERS 8           /* connections that read at the same time; more wait */
#define RP_SQ_BUSY_MS 10000       /* how long a writer waits for his turn */
#define RP_SQ_WAL_PAGES 4000      /* a checkpoint is due */
#define RP_SQ_WAL_LEFT 48         /* pages that a short-lived process leaves in the log: the next one reads them all */
#define RP_SQ_WAL_MAX (64L << 20) /* bytes of log that are checkpointed while writers wait */
#define RP_SQ_PAGE_ROWS 256       /* of a list */
#define RP_SQ_PAGE_BYTES (1L << 20)

struct rp__sq_store;

struct rp__sq_conn {
  sqlite3 *db;
  struct rp__sq_store *store;
  const struct rp__txn *txn; /* whose op is running */
  sqlite3_stmt *stmt[RP_SQ_ID_MAX];
  int synchronous; /* 1 NORMAL, 2 FULL: what the pragma was last set to */
  bool broken;     /* to be closed and opened anew */
  int64_t
      event_floor;   /* in a commit: events get ids above it, for those up to it were given before; 0: they do anyway */
  bool fatal;        /* what failed last spoils the whole transaction, not one txn of it */
  bool in_turn;      /* it writes in the writers' turn: a sync is of a commit, not of a checkpoint */
  uint32_t failures; /* syncs that had failed when it was opened */
  uint32_t committed;                 /* in a commit: the last frame of the log that it wrote; 0: none */
  int64_t row, row_new;               /* in a commit: the newest event's of the txns so far, and of the one that runs */
  const volatile uint32_t *wal_index; /* as in the store, of this connection; NULL until it is looked for */
};

/* ---- the queue of writers, of this process and others --------------------- */

struct rp__sq_queue;
/* `path`: where processes wait for each other; NULL: this process alone writes. `self`: as whom turns are signed for.
 */
RP_MUST_USE int rp__sq_queue_new(const char *path, const struct rp__proc *self, struct rp__sq_queue **ret,
                                 rp_error *err);
void rp__sq_queue_free(struct rp__sq_queue *q);
/* Waits at most timeout_ms for the turn: RP_E_BUSY names who has it. */
RP_MUST_USE int rp__sq_queue_enter(struct rp__sq_queue *q, int timeout_ms, rp_error *err);
void rp__sq_queue_leave(struct rp__sq_queue *q);
/* The header of the file it waits at, which all processes share; NULL while that can't be had. */
struct rp__runs_header *rp__sq_queue_header(struct rp__sq_queue *q);

struct rp__sq_pool {
  pthread_mutex_t mu;
  pthread_cond_t free;
  struct rp__sq_conn *idle[RP_SQ_READERS];
  int n_idle, n_open;       /* writers that became readers may be open beyond those that may be idle */
  struct rp__sq_conn *lent; /* the writer, reading: a command need not read the schema twice */
  bool writing;             /* it is not to be lent */
};

struct rp__sq_store {
  struct rp__store base;
  char *path, *vfs, *wal_path, *runs_path;
  char memory[40]; /* SQLite's name of a database in memory, which has no files; empty: the file at `path` */
  bool read_only, existing, short_lived;
  int busy_ms;
  rp_clock clock;
  struct rp__log log;
  void (*wal_grown)(void *ctx);
  void *ctx;
  struct rp__sq_queue *queue; /* NULL when read_only */
  struct rp__sq_conn *writer; /* commit's alone */
  pthread_mutex_t wal_mu;
  struct rp__sq_conn *checkpointer; /* under wal_mu; opened when first needed, as is the keeper */
  pthread_mutex_t maintain_mu;
  struct rp__sq_conn *keeper; /* under maintain_mu */
  struct rp__sq_pool pool;
  pthread_mutex_t watch_mu;
  struct rp__sq_conn *watcher; /* under watch_mu; opened when first needed and kept to the end */
  const volatile uint32_t
      *_Atomic wal_index; /* of the watcher: the header of the log's index, shared by all processes */
  int64_t wal_alarm;      /* commit's alone: pages of log at which it does not go on before a checkpoint */
  int page_size;
  struct rp__lockfile look;   /* of <db>.runs, when read_only; fd -1: none */
  struct rp__runs_sync *sync; /* in <db>.runs; own_sync while that can't be shared */
  struct rp__runs_sync own_sync;
  struct rp__runs_loss loss; /* found at the opening, when read_only; sum 0: none */
  uint64_t inode;            /* of the file */
  atomic_bool hopeless;      /* a sync failed and can't be made good: nothing is written until it is opened anew */
  atomic_int wal_done;       /* pages of it that the last checkpoint of ours took back */
  atomic_int wal_pages;      /* in the log after the last commit of ours */
};

static inline struct rp__sq_store *rp__sq(struct rp__store *s)
{
  return (struct rp__sq_store *)s;
}

/* ---- connections --------------------------------------------------------- */

/* The name of the file layer that all connections use unless a test names another. */
const char *rp__sq_vfs(void);
/* After sqlite3_open: syncs of the connection's files that fail are noted for its store. */
void rp__sq_vfs_watch(struct rp__sq_conn *c);

enum rp__sq_use { RP_SQ_WRITER, RP_SQ_KEEPER, RP_SQ_READER }; /* the checkpointer is opened as a keeper */
RP_MUST_USE int rp__sq_conn_open(struct rp__sq_store *s, enum rp__sq_use use, struct rp__sq_conn **ret, rp_error *err);
void rp__sq_conn_close(struct rp__sq_conn *c); /* NULL is fine */
/* Runs SQL that is no statement of the table. */
RP_MUST_USE int rp__sq_exec(struct rp__sq_conn *c, const char *sql, rp_error *err);
/* Ends a transaction that failed; the connection can be used again or is marked broken. */
void rp__sq_rollback(struct rp__sq_conn *c);
/* Opens *slot unless it is open and sound. */
RP_MUST_USE int rp__sq_conn_ensure(struct rp__sq_store *s, enum rp__sq_use use, struct rp__sq_conn **slot,
                                   rp_error *err);

int rp__sq_pool_init(struct rp__sq_pool *p);
void rp__sq_pool_done(struct rp__sq_pool *p);
/* Waits while all readers are in use. */
RP_MUST_USE int rp__sq_reader_take(struct rp__sq_store *s, struct rp__sq_conn **ret, rp_error *err);
void rp__sq_reader_give(struct rp__sq_conn *c);
/* The writer for a commit, opened if need be; it may be lent to readers again once it is given back. */
RP_MUST_USE int rp__sq_writer_take(struct rp__sq_store *s, struct rp__sq_conn **ret, rp_error *err);
void rp__sq_writer_give(struct rp__sq_store *s);
static inline void rp__sq_reader_givep(struct rp__sq_conn **c)
{
  if (*c) rp__sq_reader_give(*c);
}
#define RP_AUTOREADER RP_CLEANUP(rp__sq_reader_givep)

/* The only place where SQLite's codes become ours; names the file and what was being done. */
RP_MUST_USE int rp__sq_fail(struct rp__sq_conn *c, int rc, const char *doing, rp_error *err);

/* ---- syncs (sync.c) --------------------------------------------------------- */

/* RP_E_READONLY: opened so, or a failed sync could not be made good. */
RP_MUST_USE int rp__sq_writable(struct rp__sq_store *s, rp_error *err);
/* For the file layer, around each sync of the database and its log; a failed one is noted for all processes. */
void rp__sq_sync_begin(struct rp__sq_conn *c);
void rp__sq_sync_end(struct rp__sq_conn *c, bool ok);
void rp__sq_sync_failed(struct rp__sq_store *s);
/* A sync of a checkpoint or of a name in which a process died counts as failed from now on. */
void rp__sq_sync_inherit(struct rp__sq_conn *c);
/* Syncs the folder of a file that was just made. */
RP_MUST_USE int rp__sq_sync_name(struct rp__sq_store *s, const char *path, rp_error *err);
/* A sync failed, of whichever process, and has not been made good: nothing may be acknowledged as `disk`. */
bool rp__sq_sync_is_failed(const struct rp__sq_store *s);
/* In the writers' turn: makes failed syncs good. RP_E_BUSY … may be tried again; RP_E_IO: nothing is written any more.
 */
RP_MUST_USE int rp__sq_sync_recover(struct rp__sq_store *s, rp_error *err);
/* In the writers' turn, before a commit that is to be on the disk. */
RP_MUST_USE int rp__sq_sync_ready(struct rp__sq_store *s, rp_error *err);
/* After it: a sync that failed meanwhile, or a log whose name was not on the disk yet, may be what it needs. */
RP_MUST_USE int rp__sq_sync_done(struct rp__sq_store *s, rp_error *err);
/* Whether <db>.runs could be had, in which all processes see failed syncs. */
bool rp__sq_sync_share(struct rp__sq_store *s);
/* The connection's descriptors are older than a failed sync, of which the kernel will tell each of them. */
bool rp__sq_conn_is_stale(const struct rp__sq_conn *c);

/* ---- the log and what is known of it (frames.c, loss.c) ---------------------- */

struct rp__sq_frames {
  bool there, sound; /* a header; whose checksum fits */
  uint32_t salt[2], page;
  uint32_t chained, committed; /* frames from the first on whose checksums fit; of those, up to the last commit */
};
/* At most `upto` frames; rewrite: each is written again to where it was. 0 or a negative errno. */
int rp__sq_frames_walk(int fd, uint32_t upto, bool rewrite, struct rp__sq_frames *ret);
/* Whether a frame behind the good ones, up to that one, bears those salts. */
int rp__sq_frames_salted(int fd, const struct rp__sq_frames *f, const uint32_t salt[2], uint32_t upto, bool *ret);

/* What SQLite knows of the log, in memory that all processes share. */
struct rp__sq_index {
  uint32_t frames, salt[2], backfilled;
};
/* False: it can't be had, or somebody is writing it. */
bool rp__sq_index_read(struct rp__sq_conn *c, struct rp__sq_index *ret);
/* The header of the log's index where the connection has it mapped; NULL where there is no such thing. */
const volatile uint32_t *rp__sq_wal_index(struct rp__sq_conn *c);

/* In the writers' turn, after a commit that was synced: notes what is durable now. */
void rp__sq_synced(struct rp__sq_conn *c);
/* After a checkpoint: notes how it left the database file. */
void rp__sq_db_seen(struct rp__sq_store *s);
/* In the writers' turn, after our tables were made: how the file is now, and that no note is about it yet. */
void rp__sq_db_made(struct rp__sq_store *s);
/* At opening, after the first read and before anything is written: which file it is, and whether the note fits what
 * there is. Names of ours are tables by then. bare: none of them was found. */
void rp__sq_loss_look(struct rp__sq_store *s, struct rp__sq_conn *c, bool bare);
/* The first frame of the log, as far as SQLite uses it, whose checksum does not fit; 0: none, or it is being begun
 * anew. SQLite itself looks at no checksum once it has the log open. */
RP_MUST_USE int rp__sq_log_check(struct rp__sq_conn *c, uint32_t *ret_frame, rp_error *err);
/* Says what was lost and is not accepted yet; false: nothing. */
bool rp__sq_loss_tell(const struct rp__sq_store *s, char *out, size_t size);
/* The highest id given to an event so far. */
RP_MUST_USE int rp__sq_last_id(struct rp__sq_conn *c, int64_t *ret, rp_error *err);

/* ---- queries --------------------------------------------------------------- */

/* A prepared statement in use. Remembers its first error, so binding needs no checks; reset when it leaves its scope.
 */
struct rp__sq_q {
  struct rp__sq_conn *c;
  sqlite3_stmt *st;
  int rc;
};
struct rp__sq_q rp__sq_query(struct rp__sq_conn *c, enum rp__sq_id id);
void rp__sq_reset(struct rp__sq_q *q);
#define RP_SQ_AUTO RP_CLEANUP(rp__sq_reset) struct rp__sq_q

void rp__sq_int(struct rp__sq_q *q, int i, int64_t v);
/* The bytes must stay until the statement is reset. */
void rp__sq_text(struct rp__sq_q *q, int i, const char *s); /* NULL and empty bind NULL */
void rp__sq_textn(struct rp__sq_q *q, int i, const char *s, size_t n);
void rp__sq_blob(struct rp__sq_q *q, int i, const void *p, size_t n);
void rp__sq_bytes(struct rp__sq_q *q, int i, const void *p, size_t n); /* NULL when there are none */
void rp__sq_real(struct rp__sq_q *q, int i, double v);
void rp__sq_null(struct rp__sq_q *q, int i);
/* Values for the parameters from the first on, each bound as the function of its kind above does it. */
enum rp__sq_kind { RP_SQ_INT, RP_SQ_TEXT, RP_SQ_TEXTN, RP_SQ_BLOB, RP_SQ_BYTES, RP_SQ_REAL };
struct rp__sq_value {
  enum rp__sq_kind kind;
  int64_t i;
  double d;
  const void *p;
  size_t n;
};
#define RP_SQ_I(v) ((struct rp__sq_value){.kind = RP_SQ_INT, .i = (v)})
#define RP_SQ_R(v) ((struct rp__sq_value){.kind = RP_SQ_REAL, .d = (v)})
#define RP_SQ_T(s) ((struct rp__sq_value){.kind = RP_SQ_TEXT, .p = (s)})
#define RP_SQ_TN(s, n_) ((struct rp__sq_value){.kind = RP_SQ_TEXTN, .p = (s), .n = (n_)})
#define RP_SQ_B(bytes, n_) ((struct rp__sq_value){.kind = RP_SQ_BLOB, .p = (bytes), .n = (n_)})
#define RP_SQ_BN(bytes, n_) ((struct rp__sq_value){.kind = RP_SQ_BYTES, .p = (bytes), .n = (n_)})
#define RP_SQ_VALUES(...) ((const struct rp__sq_value[]){__VA_ARGS__})
#define RP_SQ_BIND(q, ...) rp__sq_bind((q), RP_SQ_VALUES(__VA_ARGS__), RP_ARRAY_SIZE(RP_SQ_VALUES(__VA_ARGS__)))
void rp__sq_bind(struct rp__sq_q *q, const struct rp__sq_value *values, size_t n);
/* 1: a row, 0: no more, negative: failed. */
RP_MUST_USE int rp__sq_next(struct rp__sq_q *q, const char *doing, rp_error *err);
/* Runs it to its end. */
RP_MUST_USE int rp__sq_done(struct rp__sq_q *q, const char *doing, rp_error *err);
int64_t rp__sq_col_int(struct rp__sq_q *q, int col);
/*
 * A count or a number: RP_SEQ_MAX for what can't be one, as a damaged or forged row has it. So sums and differences of
 * what was read never overflow, and the rules refuse to count on from there.
 */
int64_t rp__sq_col_count(struct rp__sq_q *q, int col);
/* A time in milliseconds, within ±RP_SEQ_MAX for the same reason. */
int64_t rp__sq_col_time(struct rp__sq_q *q, int col);
double rp__sq_col_real(struct rp__sq_q *q, int col);
/* Fills exactly `size` bytes; what the column lacks is zero. */
void rp__sq_col_fixed(struct rp__sq_q *q, int col, void *out, size_t size);
void rp__sq_col_str(struct rp__sq_q *q, int col, char *out, size_t size);
struct rp__str rp__sq_col_bytes(struct rp__sq_q *q, int col);

/* One whole number from a statement without parameters or with one; `otherwise` when there is no row. */
RP_MUST_USE int rp__sq_number(struct rp__sq_conn *c, enum rp__sq_id id, int64_t *arg, int64_t otherwise, int64_t *ret,
                              rp_error *err);
RP_MUST_USE int rp__sq_meta_get(struct rp__sq_conn *c, const char *name, int64_t otherwise, int64_t *ret,
                                rp_error *err);
RP_MUST_USE int rp__sq_meta_set(struct rp__sq_conn *c, const char *name, int64_t value, rp_error *err);

/* ---- rows ------------------------------------------------------------------ */

int64_t rp__sq_tag(const char *id); /* a short hash, kept with the head */
void rp__sq_head_read(struct rp__sq_q *q, struct rp__session_row *ret);
RP_MUST_USE int rp__sq_session_read(struct rp__sq_q *q, struct rp__session_row *ret, rp_error *err);
/* The head of the session an op names, by its ref or else its id. Only what a head has is set. */
RP_MUST_USE int rp__sq_head(struct rp__sq_conn *c, const struct rp__op *op, struct rp__session_row *ret, rp_error *err);
/* Repair: a head made anew from the events and runs there are; the session is taken to be active. */
RP_MUST_USE int rp__sq_head_restore(struct rp__sq_conn *c, int64_t ref, const char *id, rp_error *err);
RP_MUST_USE int rp__sq_head_write(struct rp__sq_conn *c, const struct rp__session_row *row, rp_error *err);

/* A scope never seen reads as zeroes. */
RP_MUST_USE int rp__sq_scope_read(struct rp__sq_conn *c, const char *scope, struct rp__scope_row *ret, rp_error *err);

/* An event as stored, its body borrowed from the statement. */
struct rp__sq_event {
  int64_t id, seq, at;
  char kind[RP_NAME];
  bool sealed, damaged;
  struct rp__str body;
};
/* `first`: the column of `seq`, which at, kind, flags, sum and body follow. */
void rp__sq_event_read(struct rp__sq_q *q, int first, struct rp__sq_event *ret);
#define RP_SQ_TAIL_KEY "tail_key"       /* in rp_meta: the key that tails are sealed with, by its number */
#define RP_SQ_EVENT_FLOOR "event_floor" /* in rp_meta while events with ids up to this were deleted from the end */
RP_MUST_USE int rp__sq_event_write(struct rp__sq_conn *c, int64_t session, int64_t seq, const struct rp__new_event *ev,
                                   rp_error *err);

/* ---- ops, inside the transaction -------------------------------------------- */

typedef int rp__sq_op(struct rp__sq_conn *c, struct rp__op *op, rp_error *err);
rp__sq_op rp__sq_append, rp__sq_heartbeat, rp__sq_session_put, rp__sq_session_set, rp__sq_session_delete, rp__sq_lease,
    rp__sq_run_end, rp__sq_snapshot_put, rp__sq_snapshot_delete, rp__sq_event_replace, rp__sq_scope_set,
    rp__sq_scope_raise, rp__sq_record_put, rp__sq_record_archive, rp__sq_task_put, rp__sq_memory_put, rp__sq_memory_set,
    rp__sq_memory_delete, rp__sq_memory_used, rp__sq_audit_put, rp__sq_audit_erase, rp__sq_token_put, rp__sq_token_used,
    rp__sq_token_delete, rp__sq_blob_put, rp__sq_blob_set, rp__sq_blob_delete, rp__sq_tail_key, rp__sq_tails_forget,
    rp__sq_request_put, rp__sq_name_put;

/* The session goes: its names stay, and say so. */
RP_MUST_USE int rp__sq_names_bereave(struct rp__sq_conn *c, int64_t session, int64_t now_ms, rp_error *err);
/* Migration: what older versions kept as sessions of a scope of its own becomes rows of the table. */
RP_MUST_USE int rp__sq_names_move(struct rp__sq_conn *c, rp_error *err);

/* Runs statements that take nothing but a session's number. */
RP_MUST_USE int rp__sq_run_by_ref(struct rp__sq_conn *c, const enum rp__sq_id *ids, size_t n, int64_t ref,
                                  const char *doing, rp_error *err);
/* The whole row of a session. */
RP_MUST_USE int rp__sq_session_get(struct rp__sq_conn *c, int64_t ref, struct rp__session_row *ret, rp_error *err);

/* What rp_recall.flags says; statements.c knows the numbers. */
enum {
  RP_RECALL_CRITICAL = 1,
  RP_RECALL_ARCHIVED = 2,
  RP_RECALL_OUT = 4,     /* the session is hidden or in the trash */
  RP_RECALL_FOREIGN = 8, /* somebody else's row of session_states has the session's id: ours is in rp_records */
  RP_RECALL_ASKED = 16   /* the user asked for something in it */
};
/* The record after fields of its session changed. */
RP_MUST_USE int rp__sq_record_follow(struct rp__sq_conn *c, const struct rp__session_row *row, unsigned fields,
                                     rp_error *err);
RP_MUST_USE int rp__sq_recall_write(struct rp__sq_conn *c, const struct rp__session_row *session,
                                    const struct rp__record_row *row, unsigned flags, rp_error *err);
/* Numbers of a record's topics, which are stored as 8 bytes each, little-endian. Returns how many. */
size_t rp__sq_topics_read(struct rp__str bytes, uint64_t out[RP_TOPICS_MAX]);

/* ---- schema and full text ---------------------------------------------------- */

/* Creates or migrates our tables; RP_E_VERSION when a newer version made them. */
RP_MUST_USE int rp__sq_schema_ensure(struct rp__sq_store *s, struct rp__sq_conn *c, rp_error *err);
/* 0 when the file has no tables of ours. */
RP_MUST_USE int rp__sq_schema_version(struct rp__sq_conn *c, int64_t *ret, rp_error *err);
/* Of such a file: RP_E_UNREACHABLE, or, where it was a store before, RP_E_CORRUPT. */
RP_MUST_USE int rp__sq_refuse_bare(const struct rp__sq_store *s, rp_error *err);
/* Inside a transaction: the version is still ours. */
RP_MUST_USE int rp__sq_schema_check(struct rp__sq_conn *c, rp_error *err);
/* Names of our tables and indexes, ended by NULL; and a statement-wise replay that makes the missing ones. */
extern const char *const rp__sq_schema_names[];
RP_MUST_USE int rp__sq_schema_restore(struct rp__sq_conn *c, rp_error *err);

/*
 * session_states and agent_session_states (states.c). RP_E_VERSION: the file has a table of that name that is not the
 * seed's. Made are only the ones that are not there.
 */
RP_MUST_USE int rp__sq_states_check(struct rp__sq_conn *c, int64_t version,
                                    rp_error *err); /* version 0: no tables of ours yet */
RP_MUST_USE int rp__sq_states_make(struct rp__sq_conn *c, rp_error *err);
/* Takes the view of an earlier version away, so that it is made anew. */
RP_MUST_USE int rp__sq_view_renew(struct rp__sq_conn *c, rp_error *err);
/* Whether everything in the file is ours, so that pages may be moved. */
RP_MUST_USE int rp__sq_file_is_ours(struct rp__sq_conn *c, bool *ret, rp_error *err);

/* Full text over memories; written with them, for they are few. */
#define RP_SQ_MEMORY_INDEX                                                                                             \
  "CREATE VIRTUAL TABLE rp_memory_fts USING fts5 (text, content = '', tokenize = 'unicode61 remove_diacritics 2')"
RP_MUST_USE int rp__sq_memory_reindex(struct rp__sq_conn *c, rp_error *err);

#define RP_SQ_LOST "session_states" /* the error's field where a record's row is gone from there */
#define RP_SQ_FINDINGS 100          /* of one kind that a check tells */
/* Lines, one for each memory or record whose checksum does not fit. */
RP_MUST_USE int rp__sq_memory_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err);
RP_MUST_USE int rp__sq_record_lines(struct rp__sq_conn *c, bool remove, struct rp__buf *out, rp_error *err);
/* Lines that say where full text is not that of the journal and the memories. Inside a transaction. */
RP_MUST_USE int rp__sq_text_lines(struct rp__sq_conn *c, struct rp__buf *out, rp_error *err);

/* Words of a text, in order, as the indexes have them (tokenize.c). */
struct rp__sq_tokenizer {
  fts5_tokenizer calls;
  Fts5Tokenizer *it;
};
RP_MUST_USE int rp__sq_tokenizer_open(struct rp__sq_conn *c, struct rp__sq_tokenizer *ret, rp_error *err);
void rp__sq_tokenizer_done(struct rp__sq_tokenizer *t);
typedef void rp__sq_token_fn(void *ctx, int64_t place, const char *term, size_t n);
RP_MUST_USE int rp__sq_tokenize(struct rp__sq_conn *c, struct rp__sq_tokenizer *t, struct rp__str text,
                                rp__sq_token_fn *fn, void *ctx, rp_error *err);

#define RP_SQ_INDEXED "index_at" /* in rp_meta: all events up to this id are in the index */
/* Inside a transaction: takes an event that may be indexed out of the index, or puts its new text in. */
RP_MUST_USE int rp__sq_index_remove(struct rp__sq_conn *c, const struct rp__sq_event *ev, rp_error *err);
RP_MUST_USE int rp__sq_index_put(struct rp__sq_conn *c, const struct rp__sq_event *ev, rp_error *err);
/* How far the index is: all events with ids up to *ret. -1: there is none, or it can't be trusted. */
RP_MUST_USE int rp__sq_index_at(struct rp__sq_conn *c, int64_t *ret, rp_error *err);
/* Makes the next step build the index anew. */
RP_MUST_USE int rp__sq_index_forget(struct rp__sq_conn *c, rp_error *err);
/* Indexes some more events; *ret_at is how far it has come, *ret_left at most how many are left. maintain_mu is held.
 */
RP_MUST_USE int rp__sq_index_step(struct rp__sq_store *s, int64_t *ret_at, int64_t *ret_left, rp_error *err);
/* Steps until everything stored by now is indexed. Takes maintain_mu. */
RP_MUST_USE int rp__sq_index_catch_up(struct rp__sq_store *s, rp_error *err);

/* Runs fn in a transaction of the keeper, in its turn. maintain_mu is held. */
typedef int rp__sq_work(struct rp__sq_conn *c, void *arg, rp_error *err);
RP_MUST_USE int rp__sq_keeper_txn(struct rp__sq_store *s, rp__sq_work *fn, void *arg, rp_error *err);

/* ---- slots of the contract ------------------------------------------------------ */

RP_MUST_USE int rp__sq_commit(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err);
RP_MUST_USE int rp__sq_session_find(struct rp__store *s, enum rp__find how, const char *scope, const char *what,
                                    struct rp__session_row *ret, rp_error *err);
RP_MUST_USE int rp__sq_session_list(struct rp__store *s, const struct rp__session_filter *f, rp__session_row_fn *fn,
                                    void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_run_list(struct rp__store *s, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx,
                                rp_error *err);
RP_MUST_USE int rp__sq_event_list(struct rp__store *s, const struct rp__event_range *r, rp__event_row_fn *fn, void *ctx,
                                  rp_error *err);
RP_MUST_USE int rp__sq_snapshot_list(struct rp__store *s, int64_t session_ref, int64_t n, rp__snapshot_row_fn *fn,
                                     void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_scope_get(struct rp__store *s, const char *scope, struct rp__scope_row *ret, rp_error *err);
RP_MUST_USE int rp__sq_client_get(struct rp__store *s, int64_t session_ref, const char *client_id, int64_t *ret,
                                  rp_error *err);
RP_MUST_USE int rp__sq_search(struct rp__store *s, const char *words, const char *scope, int limit, rp_hit_fn *fn,
                              void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_recall_list(struct rp__store *s, const struct rp__recall_filter *f, rp__recall_fn *fn, void *ctx,
                                   rp_error *err);
RP_MUST_USE int rp__sq_record_get(struct rp__store *s, int64_t session_ref, struct rp__record_row *ret, rp_error *err);
RP_MUST_USE int rp__sq_task_get(struct rp__store *s, const char *scope, uint64_t hash, struct rp__task_row *ret,
                                bool *ret_found, rp_error *err);
RP_MUST_USE int rp__sq_memory_list(struct rp__store *s, const struct rp__memory_filter *f, rp__memory_fn *fn, void *ctx,
                                   rp_error *err);
RP_MUST_USE int rp__sq_audit_list(struct rp__store *s, const struct rp__audit_filter *f, rp__audit_fn *fn, void *ctx,
                                  rp_error *err);
RP_MUST_USE int rp__sq_audit_head(struct rp__store *s, const char *scope, struct rp__audit_row *ret, rp_error *err);
RP_MUST_USE int rp__sq_scope_list(struct rp__store *s, rp__scope_fn *fn, void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_token_list(struct rp__store *s, const char *id, rp__token_fn *fn, void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_request_get(struct rp__store *s, const char *scope, const char *key, struct rp__request_row *ret,
                                   bool *ret_found, rp_error *err);
RP_MUST_USE int rp__sq_name_get(struct rp__store *s, const char *name, struct rp__name_row *ret, bool *ret_found,
                                rp_error *err);
RP_MUST_USE int rp__sq_blob_list(struct rp__store *s, int64_t session_ref, const char *id, rp__blob_fn *fn, void *ctx,
                                 rp_error *err);
RP_MUST_USE int rp__sq_tail_list(struct rp__store *s, int64_t session_ref, const struct rp__tails *which,
                                 rp__tail_fn *fn, void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_changes(struct rp__store *s, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx,
                               rp_error *err);
RP_MUST_USE int rp__sq_version(struct rp__store *s, int64_t *ret, rp_error *err);
RP_MUST_USE int rp__sq_maintain(struct rp__store *s, enum rp__maintain what, int64_t *ret_left, rp_error *err);
RP_MUST_USE int rp__sq_check(struct rp__store *s, bool repair, rp_finding_fn *fn, void *ctx, rp_error *err);
RP_MUST_USE int rp__sq_stats(struct rp__store *s, struct rp__store_stats *ret, rp_error *err);
RP_MUST_USE int rp__sq_accept(struct rp__store *s, char *ret, size_t size, rp_error *err);

/* Whether RP_MAINTAIN_WAL has something to do. */
bool rp__sq_wal_grown(struct rp__sq_store *s);
RP_MUST_USE int rp__sq_wal_maintain(struct rp__sq_store *s, int64_t *ret_left, rp_error *err);
/* Takes all of it back and leaves an empty file: RP_E_BUSY while somebody reads on. */
RP_MUST_USE int rp__sq_wal_truncate(struct rp__sq_store *s, rp_error *err);
/* RP_MAINTAIN_SCRUB and _SHRINK. */
RP_MUST_USE int rp__sq_scrub(struct rp__sq_store *s, rp_error *err);
RP_MUST_USE int rp__sq_shrink(struct rp__sq_store *s, rp_error *err);
/* The terms of a search as FTS5 wants them: each a quoted string, so that nothing a user types is syntax. */
struct rp__terms;
void rp__sq_match_write(const struct rp__terms *t, bool any, struct rp__buf *out);
/* For commit, after it: beyond RP_SQ_WAL_MAX it waits for the checkpoint that is going on, or makes one. */
void rp__sq_wal_relieve(struct rp__sq_store *s);
/* Bytes of a file, 0 when there is none. */
int64_t rp__sq_file_bytes(const char *path);
/* For tests: what PRAGMA synchronous says on the writing connection. */
int rp__sq_synchronous(struct rp__store *s);

#endif
