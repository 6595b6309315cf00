/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract of a store: rows and transactions, no policy. Decisions that must
 * be taken inside a transaction (order of checks, what one append changes) are in
 * rules.h and shared by all backends.
 *
 * Threads: one thread at a time calls commit, and one calls maintain; the two may
 * overlap. Everything else may be called from any thread at any time. Readers never
 * wait for the writer. No read transaction outlives one call, and lists deliver in
 * pages, so that no read transaction is long.
 *
 * Errors: RP_E_UNREACHABLE, _FULL, _BUSY, _READONLY, _IO, _CORRUPT, _NOMEM from any
 * call; the comment of a slot names its further errors. A callback's non-zero value
 * ends a list and is returned.
 */
#ifndef RP_STORE_H
#define RP_STORE_H

#include <reprise/host.h>
#include <reprise/continuity.h>
#include <reprise/admin.h>
#include <reprise/reprise.h>

#include "base/log.h"
#include "base/process/proc.h"
#include "continuity/plan.h"
#include "continuity/record.h"
#include "core/chain.h"
#include "core/event.h"
#include "core/liveness.h"
#include "core/lifecycle.h"
#include "core/tails.h"

#define RP_NAME (RP_ID_MAX + 1)
#define RP_TITLE 257 /* bytes of a session's name in its row, NUL included */

/* ---- rows ------------------------------------------------------------- */

struct rp__session_row {
  int64_t ref; /* the backend's handle; 0: not stored yet */
  char id[RP_NAME], scope[RP_NAME], key[RP_NAME], channel[RP_NAME], provider[RP_NAME]; /* empty: none */
  enum rp__status status;
  int64_t epoch; /* of the current or last run; 0: none yet */
  int64_t last_seq;
  int64_t snap_seq;                               /* of the newest snapshot; 0: none */
  int64_t tail_bytes;                             /* bytes of bodies after snap_seq */
  int64_t bytes;                                  /* of all bodies */
  int64_t created_at, last_activity_at, ended_at; /* ms */
  char previous_id[RP_NAME], continued_by[RP_NAME], forked_from[RP_NAME];
  char name[RP_TITLE]; /* what `session` events call it, cut; empty: none, or the scope is sealed */
  int64_t forked_at_seq;
  struct rp__tails tails; /* streams that are not over */
  bool crash_recovered;
  bool sealed;
  bool damaged;       /* reading: what is stored is no status; `status` is one that its times allow */
  bool hidden;        /* being imported or forked: nobody but the copier finds it, until shown */
  int64_t trashed_at; /* 0, or in the trash since: found by its exact id or in the list of trash only */
  int64_t held_at;    /* 0, or on hold since: no retention touches it */
  char *meta;         /* a JSON object or NULL; owned */
};
void rp__session_row_done(struct rp__session_row *r);                                               /* frees meta */
RP_MUST_USE int rp__session_row_copy(const struct rp__session_row *r, struct rp__session_row *ret); /* RP_E_NOMEM */

struct rp__run_row {
  int64_t ref;
  int64_t session_ref;
  char session_id[RP_NAME];
  int64_t epoch;
  enum rp__owner owner;
  int64_t slot; /* byte in <db>.runs, or 0 */
  struct rp__proc proc;
  char host[RP_HOST];
  char version[32];
  int64_t started_at, heartbeat_at, heartbeat_boot; /* ms; boot clock, 0: unknown */
  int64_t ended_at;                                 /* 0: open */
  enum rp__cause cause;                             /* of an ended one */
  char evidence[160], reason[160];
  /* How it began (N-18). Leases that count a start number it; others keep the number given. */
  enum rp__restart restart;
  enum rp__cause previous_cause;         /* why the run before it was over */
  double elapsed;                        /* seconds away before it */
  int64_t start_number;                  /* which of the scope's starts it was; 0: not known */
  const struct rp__session_row *session; /* its session, borrowed for the callback; NULL unless the filter asked */
};

struct rp__event_row {
  int64_t seq, at_ms;
  char kind[RP_NAME];
  const char *body; /* borrowed for the callback; sealed bytes when `sealed` */
  size_t body_len;
  bool sealed;
  bool damaged; /* the checksum does not fit (only when asked for, see event_list) */
};

struct rp__snapshot_row {
  int64_t n, seq, at_ms, raw_size, size;
  char reason[16];
  bool sealed;
  const void *data; /* borrowed; NULL unless one snapshot was asked for */
};

/* The newest event of a stream that is not over. */
struct rp__tail_row {
  int64_t session_ref, seq;
  char session_id[RP_NAME], scope[RP_NAME];
  uint64_t voice;
  struct rp__event_row event;
  const void *tail; /* sealed, borrowed for the callback; NULL: nothing is undecided */
  size_t tail_len;
};

/* What is too large for an event. The hash finds the same bytes again; a store looks into neither. */
#define RP_BLOB_HASH 16
struct rp__blob_row {
  char id[RP_BLOB_ID_MAX + 1];
  int64_t at_ms, raw_size, size;
  bool sealed;
  unsigned char hash[RP_BLOB_HASH];
  const void *data; /* borrowed; NULL unless one blob was asked for */
};

struct rp__scope_row {
  int64_t starts;
  bool sealed;
  bool robot; /* a robot's past was taken in */
  unsigned char key_id[8];
};

/*
 * The record of an ended session: a row of session_states and one of the recall table. In a sealed
 * scope the parts are '[]' and `sealed_body` holds them. Columns of session_states that are times are ISO text.
 */
struct rp__record_row {
  int64_t session_ref;
  char session_id[RP_NAME], scope[RP_NAME], channel[RP_NAME], previous_id[RP_NAME], continued_by[RP_NAME];
  int64_t start_ms, end_ms, created_ms, updated_ms;
  bool crash_recovered;
  bool archived; /* session_states has it no more; the cold file does */
  int64_t n_tasks;
  bool has_critical, asked;       /* as in rp__record_parts */
  uint64_t topics[RP_TOPICS_MAX]; /* sorted, of 32 bits each: rp__topic_set */
  size_t n_topics;
  char *part[RP_PARTS_MAX]; /* owned; as rp__record_names */
  char *dropped;            /* owned; RP_RECORD_DROPPED, a JSON array or NULL; NULL too when sealed */
  char *digest;             /* owned; RP_RECORD_DIGEST, a JSON object or NULL; NULL too when sealed */
  char *sealed_body;        /* owned; NULL in an open scope */
  size_t sealed_len;
};
void rp__record_row_done(struct rp__record_row *r);

/* The scope's newest word on a task: where it was said. The hash is keyed in a sealed scope. */
struct rp__task_row {
  uint64_t hash;
  int64_t session_ref, seq, at_ms;
  char session_id[RP_NAME];
  bool open; /* neither done nor deleted */
};

struct rp__memory_row {
  char id[RP_EVENT_ID_MAX + 1], scope[RP_NAME], session_id[RP_NAME];
  double confidence;
  int64_t created_at, updated_at;
  int64_t learned_at; /* reading: the end of its session, or created_at while that is open or gone */
  int64_t uses;       /* reading: how often it was recalled, or its confidence confirmed */
  int64_t used_at;    /* USED, reading: when it was recalled last; 0: never */
  bool sealed;
  const char *content; /* borrowed; sealed bytes when `sealed` */
  size_t content_len;
  const char *categories; /* a JSON array or NULL; borrowed; sealed with the content when `sealed` */
  double rank;            /* reading with words: larger is better */
  bool damaged;           /* reading: the checksum does not fit; nothing in the row can be believed */
};

struct rp__audit_row {
  char scope[RP_NAME], event[64];
  int64_t n, at_ms;
  struct rp__str fields; /* a JSON object, or sealed bytes; empty p: erased */
  bool sealed;
  unsigned char salt[16], digest[32], prev[32], hash[32];
};

/* What a start or a fork made under an idempotency key. The digest tells a repeat from another request
 * (engine/journal/idempotency.h). */
#define RP_REQUEST_DIGEST 16
struct rp__request_row {
  const char *scope, *key; /* borrowed; not read back */
  char hashed[72];         /* room for what is stored instead of a key that is a credential */
  unsigned char digest[RP_REQUEST_DIGEST];
  char session_id[RP_NAME];
  int64_t epoch; /* of the lease, for a start */
  int64_t born;  /* when the session was made: another one may have its id by now */
};

/*
 * A name that another program has for a session, or had: of the session that is gone it says so. They are kept while
 * their session is, then for RP_NAMES_MS, and RP_NAMES_MAX at most: a new one takes the place of the oldest, those of
 * no session first.
 */
#define RP_NAMES_MAX 4096
#define RP_NAMES_MS (365LL * 24 * 3600 * 1000)
struct rp__name_row {
  char name[RP_NAME], session_id[RP_NAME]; /* session_id empty: that of a session that is gone */
  int64_t at_ms;                           /* when it was given; without a session: since when that is so */
};

/* A bearer token: its hash alone, for the secret is given away once and kept nowhere. */
struct rp__token_row {
  char id[RP_NAME], name[RP_NAME], scope[RP_NAME]; /* name, scope: empty for none */
  bool read_only;
  int64_t created_at, expires_at, last_used_at; /* ms; 0: never */
  unsigned char hash[32];
};

/* ---- writing ------------------------------------------------------------ */

enum rp__op_type {
  RP_OP_SESSION_PUT,     /* a new session. RP_E_EXISTS: that id, or an open session with that scope and key */
  RP_OP_LEASE,           /* a new run; the session's epoch must still be expect_epoch. RP_E_FENCED */
  RP_OP_RUN_END,         /* ends a run that is open; ending an ended one changes nothing */
  RP_OP_SESSION_SET,     /* changes of a session's row. RP_E_SESSION_NOT_FOUND, _FENCED */
  RP_OP_APPEND,          /* events. RP_E_SESSION_NOT_FOUND, _KEY_REUSED, _FENCED, _ENDED, _SEQ_CONFLICT, _CLIENT_GAP */
  RP_OP_HEARTBEAT,       /* of the run with that epoch (0: the current). RP_E_FENCED, _ENDED */
  RP_OP_SNAPSHOT_PUT,    /* numbers it, moves the session's snap_seq and tail_bytes forward if it is the newest.
                            RP_E_FENCED */
  RP_OP_SNAPSHOT_DELETE, /* RP_E_SNAPSHOT_NOT_FOUND, _FENCED; snap_seq goes back to the newest left */
  RP_OP_EVENT_REPLACE,   /* repair: other kind and body at a seq */
  RP_OP_SCOPE_SET,       /* sealed and key id of a scope. RP_E_KEY_WRONG: it is sealed with another key */
  RP_OP_SCOPE_RAISE,     /* the starts of a scope are at least so many, and once it is a robot's it stays so */
  RP_OP_SESSION_DELETE,  /* the session and all that hangs on it; memories stay, they are the scope's; its names say
                            from now on that it is gone */
  RP_OP_RECORD_PUT,      /* the session's record, replacing its last one. A row of session_states with that id that is
                            not ours stays as it is */
  RP_OP_RECORD_ARCHIVE,  /* takes the record out of session_states; the recall row says archived */
  RP_OP_TASK_PUT,        /* a word on a task, kept unless a newer one (by at_ms) is there */
  RP_OP_MEMORY_PUT,      /* a memory of the scope, by its id; an older one of that id is replaced */
  RP_OP_MEMORY_SET,      /* its confidence. RP_E_MEMORY_NOT_FOUND, RP_E_CORRUPT */
  RP_OP_MEMORY_DELETE,   /* RP_E_MEMORY_NOT_FOUND */
  RP_OP_MEMORY_USED,  /* one more use of it, unless the last is less than RP_MEMORY_USE_MS ago; one that is gone is no
                         error */
  RP_OP_AUDIT_ERASE,  /* takes the fields of a record away; its digest keeps the chain whole. Alone in its txn */
  RP_OP_AUDIT,        /* the next record of the scope's chain: n, prev and hash are found inside the transaction */
  RP_OP_TOKEN_PUT,    /* a new token. RP_E_EXISTS: that id */
  RP_OP_TOKEN_USED,   /* its last_used_at; one that is gone is no error */
  RP_OP_TOKEN_DELETE, /* RP_E_TOKEN_NOT_FOUND */
  RP_OP_BLOB_PUT,     /* a new blob; one of the session's with that hash is taken for it: a repeat. RP_E_EXISTS:
                         that id. RP_E_SESSION_NOT_FOUND, _FENCED, _ENDED */
  RP_OP_BLOB_SET,     /* copies, redaction, repair: the bytes under an id, which may be new, whatever the status */
  RP_OP_BLOB_DELETE,  /* RP_E_BLOB_NOT_FOUND */
  RP_OP_TAIL_KEY,     /* which key tails are sealed with from now on, unless a scope has its own */
  RP_OP_TAILS_FORGET, /* redaction: no event of the session holds a sealed tail any more, no stream is open */
  RP_OP_REQUEST_PUT,  /* RP_E_FENCED: scope and key have a row already, which somebody else was faster to make */
  RP_OP_NAME_PUT,     /* a name, new or with another meaning. RP_E_SESSION_NOT_FOUND: of none of our sessions */
};

struct rp__new_event {
  const char *kind;
  const char *body;
  size_t body_len;
  int64_t at_ms;
  bool sealed, engine; /* the engine's own event: no activity, allowed on an ended session */
  uint64_t voice;      /* not 0: somebody speaks … */
  bool open;           /* … in a stream that may go on, else its stream is over */
  const void *tail;    /* the sealed end of it, or NULL */
  size_t tail_len;
};

/* Which fields of a RP_OP_SESSION_SET count. */
enum {
  RP_SET_MOVE = 1,         /* status by `move` (RP_E_TRANSITION, _ENDED), and with it ended_at */
  RP_SET_CRASH = 2,        /* crash_recovered := crash_recovered */
  RP_SET_CONTINUED_BY = 4, /* only when it is empty */
  RP_SET_SHOWN = 8,        /* what was hidden is no more; the other way there is none */
  RP_SET_META = 16,        /* meta := meta, or what `edit_meta` makes of it */
  RP_SET_COUNTERS = 32,    /* repair: last_seq, bytes, tail_bytes, snap_seq, a damaged status, from the rows */
  RP_SET_TRASH = 128,      /* trashed_at := trashed_at; 0 takes it out. RP_E_EXISTS: its key is another's by now */
  RP_SET_HOLD = 256,       /* held_at := held_at */
  RP_SET_NAME = 512,       /* name := name; NULL takes it away */
  RP_SET_TIMES = 64,       /* import: created_at, last_activity_at, ended_at, status, crash_recovered as in `row` */
};

struct rp__op {
  enum rp__op_type type;
  int64_t session_ref;    /* when known, else 0: a session deleted and made again under its id is another one … */
  const char *session_id; /* … and always the id */
  int64_t now_ms;
  int64_t epoch;       /* APPEND, HEARTBEAT, SESSION_SET, BLOB_PUT, SNAPSHOT_…: 0 = a guest's */
  bool copying;        /* by the one who makes the hidden session: for all others there is none of that id */
  size_t derived_from; /* 1 + the place of an append in the same transaction: when that was a repeat, so is this and
                          nothing is done; 0: stands alone */
  union {
    struct {
      const struct rp__session_row *row;
      bool count_start; /* the scope's starts + 1 */
    } session_put;
    struct {
      int64_t expect_epoch;
      const struct rp__run_row *run; /* epoch and session are filled in by the store */
      enum rp__move move;            /* RP_MOVE_MAX: the status stays */
      bool count_start;
    } lease;
    struct {
      int64_t run_ref; /* 0: the session's current run */
      int64_t ended_at;
      enum rp__cause cause;
      const char *evidence, *reason; /* or NULL */
      int64_t still_at;              /* not 0: RP_E_FENCED unless the run is open and its heartbeat_at is this */
    } run_end;
    struct {
      unsigned fields;
      enum rp__move move;
      int64_t ended_at;
      bool crash_recovered;
      const char *continued_by, *meta, *name;
      /* Changes row->meta, knowing what others have made of it; called inside the transaction: reads nothing, waits for
       * nothing. NULL: `meta` as it is. */
      int (*edit_meta)(void *ctx, struct rp__session_row *row, rp_error *err);
      void *edit_ctx;
      int64_t trashed_at, held_at;
      int64_t quiet_since; /* not 0: RP_E_FENCED unless last_activity_at is this */
      const struct rp__session_row *row;
    } session_set;
    struct {
      const struct rp__new_event *events;
      size_t n;
      int64_t expect;              /* -1: any */
      const char *idempotency_key; /* for the events as a whole, or NULL */
      const unsigned char *digest; /* of what is asked for under the key, or NULL: RP_E_KEY_REUSED when it differs */
      const char *client_id;       /* or NULL */
      int64_t client_seq;
      /* Of the events, those that came from the caller: the others publish what earlier streams held. 0: all did. */
      size_t given;
      size_t first_given; /* the place of the first of them */
      bool heard;         /* it was prepared on the streams numbered so: RP_E_SEQ_CONFLICT, ret.unheard */
      int64_t heard_number;
      int64_t streams_number;        /* the number of the streams after it; 0: it leaves them as they are */
      const unsigned char *tail_key; /* RP_KEY_ID bytes: what the tails are sealed with. RP_E_SEQ_CONFLICT when the
                                        store knows another one; one that knows none takes it. NULL: a scope's own */
      int64_t judged; /* 0, or 1 + the seq of the pins it was judged by: RP_E_SEQ_CONFLICT when others came since */
    } append;
    struct {
      int64_t boot_ms;
    } heartbeat;
    struct {
      const struct rp__snapshot_row *row; /* n is given by the store */
    } snapshot_put;
    struct {
      int64_t n;
      bool if_there; /* one that is gone already is no error */
    } snapshot_delete;
    struct {
      int64_t seq;
      const struct rp__new_event *event;
    } event_replace;
    struct {
      const char *scope;
      const struct rp__scope_row *row;
    } scope_set; /* SCOPE_RAISE too */
    struct {
      const struct rp__record_row *row; /* RECORD_PUT; session_ref 0: the session of this transaction, by its id */
    } record;
    struct {
      const char *scope;
      uint64_t hash;
      int64_t at_ms;
      size_t append_op; /* the word is an event of the append at this place of the same transaction … */
      size_t offset;    /* … at this place among its events; */
      int64_t seq;      /* or, when this is not 0, an event stored before */
      bool open;
    } task_put;
    struct {
      const struct rp__memory_row *row; /* PUT: all; SET: id, scope, confidence; DELETE: id, scope; USED: and used_at */
    } memory;
    struct {
      const struct rp__token_row *row; /* PUT: all; USED: id, last_used_at; DELETE: id */
    } token;
    struct {
      const struct rp__blob_row *row; /* PUT, SET: all; DELETE: id */
      char *ret_id;                   /* PUT: RP_BLOB_ID_MAX + 1 bytes for the id it has, or NULL */
    } blob;
    struct {
      const unsigned char *id; /* RP_KEY_ID bytes */
    } tail_key;
    struct {
      int64_t number; /* of the streams after it */
    } tails_forget;
    struct {
      const struct rp__request_row *row;
    } request;
    struct {
      const struct rp__name_row *row; /* at_ms is the op's now_ms */
    } name;
    struct {
      const char *scope;
      int64_t n;
    } audit_erase;
    struct {
      const char *scope, *event;
      int64_t at_ms;
      struct rp__str fields; /* as stored */
      bool sealed;
      unsigned char salt[16], digest[32]; /* digest: see core/chain.h */
      const unsigned char *key;           /* 32 bytes, or NULL */
    } audit;
  } u;

  /* Results. */
  struct {
    int64_t ref;                     /* of the session or run made */
    int64_t epoch;                   /* LEASE: the new one; APPEND: the current one */
    enum rp__status status;          /* LEASE: after it */
    int64_t first_seq, seq;          /* APPEND: of the first and the last event that the caller gave */
    bool repeated;                   /* APPEND, BLOB_PUT */
    bool unheard, other_key;         /* APPEND: refused because somebody else spoke; changed the key of tails */
    int64_t tail_events, tail_bytes; /* APPEND: since the newest snapshot */
    int64_t snapshot_n;
    int64_t starts;                    /* SESSION_PUT, LEASE with count_start: the scope's starts, this one included */
    unsigned char hash[RP_CHAIN_HASH]; /* AUDIT: of the record made, whose n is in `seq` */
  } ret;
};

/* Ops that happen all or none. The group given to commit is one database transaction of many of these. */
struct rp__txn {
  struct rp__op *ops;
  size_t n;
  rp_durability durability; /* RP_OS or RP_DISK */
  int rc;                   /* result: 0 or why this one (alone) was refused */
  rp_error err;
};

/* ---- reading ------------------------------------------------------------- */

enum rp__find {
  RP_FIND_ID,
  RP_FIND_COPY, /* an id, of a hidden session alone */
  RP_FIND_NAME, /* an id, or else a key in any scope */
  RP_FIND_PREFIX,
  RP_FIND_KEY,           /* in that scope */
  RP_FIND_KEY_ELSEWHERE, /* in any scope but that one */
  RP_FIND_NUMBER,        /* its `ref`, in digits */
  RP_FIND_LAST,
  RP_FIND_HIDDEN,
};

typedef int rp__session_row_fn(void *ctx, const struct rp__session_row *row);
typedef int rp__run_row_fn(void *ctx, const struct rp__run_row *row);
typedef int rp__event_row_fn(void *ctx, const struct rp__event_row *row);
typedef int rp__snapshot_row_fn(void *ctx, const struct rp__snapshot_row *row);
typedef int rp__recall_fn(void *ctx, const struct rp__recall *row); /* continuity/plan.h */
typedef int rp__memory_fn(void *ctx, const struct rp__memory_row *row);
typedef int rp__audit_fn(void *ctx, const struct rp__audit_row *row);
typedef int rp__scope_fn(void *ctx, const char *scope);
typedef int rp__token_fn(void *ctx, const struct rp__token_row *row);
typedef int rp__blob_fn(void *ctx, const struct rp__blob_row *row);
typedef int rp__tail_fn(void *ctx, const struct rp__tail_row *row);

/* Signs of life on the clock of one boot: after < heartbeat_boot <= upto. */
struct rp__beats {
  const char *boot_id;
  int64_t after, upto;
};

struct rp__run_filter {
  const char *scope;   /* or NULL */
  const char *channel; /* of the scope's runs those of one channel's sessions; NULL: any */
  int64_t session_ref; /* or 0 */
  bool open_only;
  /* With scope and open_only, or NULL: runs without an owner that beat in there are left out and cost nothing. */
  const struct rp__beats *leave_out;
  int limit;         /* newest first; 0: no limit */
  bool with_session; /* each row comes with its session's */
};

/* Rows of the recall table of one scope, newest end first. */
struct rp__recall_filter {
  const char *scope, *channel; /* channel NULL: any */
  int64_t since_ms;            /* ended_at >= this */
  int limit;                   /* 0: no limit */
  bool asked;                  /* only sessions with a request */
};
/*
 * Memories of one scope. With `words`, a search of the open ones, by relevance × confidence; without, by confidence,
 * newest first. A start asks with `fresh`: the order is then that of the last time each was learned, confirmed,
 * corrected or recalled, `words` are found by any of them, newest first, and at most RP_MEMORIES_LOOKED are looked at.
 */
struct rp__memory_filter {
  const char *scope;
  const char *id; /* exactly this one, or NULL */
  const char *words;
  bool fresh;
  const char *channel; /* with `fresh`: learned in a session of this channel that is still there; NULL: any */
  int limit;           /* 0: no limit */
};
#define RP_MEMORIES_LOOKED 4096
#define RP_MEMORY_USE_MS (3600 * 1000)
struct rp__audit_filter {
  const char *scope; /* required */
  int64_t after;     /* n > after */
  int64_t limit;     /* 0: no limit */
};

struct rp__event_range {
  int64_t session_ref;
  const char *session_id; /* for messages */
  int64_t after, limit;   /* seq > after; limit 0: no limit */
  size_t max_bytes;       /* stop after the event that passes this; 0: no bound */
  bool tolerant;          /* deliver damaged rows, marked, instead of failing */
};

enum rp__maintain {
  RP_MAINTAIN_WAL,    /* checkpoint the write-ahead log, off the commit path */
  RP_MAINTAIN_INDEX,  /* bring full text up to date, a bounded step; *ret_left says how much is left */
  RP_MAINTAIN_PRUNE,  /* idempotency keys and requests older than 24 h, old names of no session */
  RP_MAINTAIN_SCRUB,  /* after a redaction: no byte of what was replaced or deleted is left in file, log or index */
  RP_MAINTAIN_SHRINK, /* gives free pages back to the file system */
};

struct rp__store_stats {
  int64_t sessions[RP_STATUS_MAX]; /* without the trashed ones */
  int64_t events, event_bytes, snapshots, snapshot_bytes, runs_open;
  int64_t file_bytes, wal_bytes, index_left, free_bytes, trashed, records, memories;
  int64_t audits;            /* records of the audit log that were ever written, counted apart from them */
  int64_t blobs, blob_bytes; /* bytes as stored */
  int schema_version;
  bool sync_failed; /* a sync failed and has not been made good */
  char loss[300];   /* what was synced and is lost, for people; empty: nothing */
};

/* Which sessions a list is of. */
struct rp__session_filter {
  const char *scope;
  const char *status; /* names, separated by '|' */
  int64_t since_ms;
  int limit;          /* 0: 50 */
  const char *cursor; /* id of the last session seen */
  bool trashed;       /* only those in the trash; else only those that are not */
  bool by_activity;   /* last activity first; else newest first */
};

/*
 * One of several reads that are made in one call (`read`): the arguments of the slot that reads the same, and its
 * result. Filters and ranges are copies, what they point to is borrowed until the call returns.
 */
enum rp__read_type {
  RP_READ_SESSION,
  RP_READ_SESSIONS,
  RP_READ_RUNS,
  RP_READ_EVENTS,
  RP_READ_SNAPSHOTS,
  RP_READ_TAILS,
  RP_READ_SCOPE,
  RP_READ_RECALL,
  RP_READ_RECORD,
  RP_READ_TASK,
  RP_READ_MEMORIES,
  RP_READ_REQUEST,
};

struct rp__read {
  enum rp__read_type type;
  union {
    struct {
      enum rp__find how;
      const char *scope, *what;
      struct rp__session_row *ret;
    } session;
    struct {
      struct rp__session_filter filter;
      rp__session_row_fn *fn;
    } sessions;
    struct {
      struct rp__run_filter filter;
      rp__run_row_fn *fn;
    } runs;
    struct {
      struct rp__event_range range;
      rp__event_row_fn *fn;
    } events;
    struct {
      int64_t session_ref, n;
      rp__snapshot_row_fn *fn;
    } snapshots;
    struct {
      int64_t session_ref;
      const struct rp__tails *which;
      rp__tail_fn *fn;
    } tails;
    struct {
      const char *scope;
      struct rp__scope_row *ret;
    } scope;
    struct {
      struct rp__recall_filter filter;
      rp__recall_fn *fn;
    } recall;
    struct {
      int64_t session_ref;
      struct rp__record_row *ret;
    } record;
    struct {
      const char *scope;
      uint64_t hash;
      struct rp__task_row *ret;
      bool *ret_found;
    } task;
    struct {
      struct rp__memory_filter filter;
      rp__memory_fn *fn;
    } memories;
    struct {
      const char *scope, *key;
      struct rp__request_row *ret;
      bool *ret_found;
    } request;
  } u;
  void *ctx; /* of the callback */
  int rc;    /* result: what the slot returns */
  rp_error err;
};

struct rp__store;

struct rp__store_ops {
  void (*close)(struct rp__store *s);
  /* Whether close would only free memory; may be NULL. */
  bool (*at_rest)(struct rp__store *s);

  /*
   * Commits a group in one database transaction at the strongest durability asked
   * for. Returns 0 when the transaction was committed, whatever each txn's own rc
   * says; txns with rc 0 are then durable. Any other result: nothing of the group
   * is stored as far as anyone will see (after RP_E_IO in the commit itself the
   * outcome is unknown; re-sending with idempotency keys is safe).
   */
  int (*commit)(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err);

  /*
   * ID, PREFIX, KEY (`scope` may be NULL; open sessions first, then the newest), or
   * the LAST started of the scope (NULL: of all) and, when `what` is one, of that
   * channel, or the first HIDDEN one made after the session `what` (NULL: of all).
   * What is in the trash is found by ID alone, what is hidden by COPY and HIDDEN alone. RP_E_SESSION_NOT_FOUND,
   * RP_E_AMBIGUOUS (PREFIX). The row is done by the caller.
   */
  int (*session_find)(struct rp__store *s, enum rp__find how, const char *scope, const char *what,
                      struct rp__session_row *ret, rp_error *err);
  /* Newest first, or by last activity, hidden ones left out, after `cursor` (a session id: RP_E_SESSION_NOT_FOUND);
   * NULL: the first 50. The filter's status may be several: "active|idle". */
  int (*session_list)(struct rp__store *s, const struct rp__session_filter *f, rp__session_row_fn *fn, void *ctx,
                      rp_error *err);
  int (*run_list)(struct rp__store *s, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx, rp_error *err);
  /* In order. RP_E_CORRUPT names session and seq, also for a hole; tolerant lists go on after a hole. */
  int (*event_list)(struct rp__store *s, const struct rp__event_range *r, rp__event_row_fn *fn, void *ctx,
                    rp_error *err);
  /* n = 0: all, newest first, without data. Else that one with data (n < 0: the newest): RP_E_SNAPSHOT_NOT_FOUND. */
  int (*snapshot_list)(struct rp__store *s, int64_t session_ref, int64_t n, rp__snapshot_row_fn *fn, void *ctx,
                       rp_error *err);
  /* A scope never seen reads as zeroes. */
  int (*scope_get)(struct rp__store *s, const char *scope, struct rp__scope_row *ret, rp_error *err);
  /* The high-water mark of a client; 0 when it never wrote. */
  int (*client_get)(struct rp__store *s, int64_t session_ref, const char *client_id, int64_t *ret, rp_error *err);
  /* Full text over unsealed events of sessions not in the trash, best first. Answers from an index that is up to date
   * with the journal. */
  int (*search)(struct rp__store *s, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx,
                rp_error *err);
  /* In pages; the rows' topics are borrowed. Hidden and trashed sessions are left out. */
  int (*recall_list)(struct rp__store *s, const struct rp__recall_filter *f, rp__recall_fn *fn, void *ctx,
                     rp_error *err);
  /* RP_E_RECORD_NOT_FOUND; an archived one has no parts. RP_E_CORRUPT: the checksum does not fit, or (the error's field
     is session_states) somebody took it out of there. Done by the caller. */
  int (*record_get)(struct rp__store *s, int64_t session_ref, struct rp__record_row *ret, rp_error *err);
  /* False in *ret_found when there is no word. */
  int (*task_get)(struct rp__store *s, const char *scope, uint64_t hash, struct rp__task_row *ret, bool *ret_found,
                  rp_error *err);
  /* Damaged ones come too, marked. */
  int (*memory_list)(struct rp__store *s, const struct rp__memory_filter *f, rp__memory_fn *fn, void *ctx,
                     rp_error *err);
  /* In order of n. */
  int (*audit_list)(struct rp__store *s, const struct rp__audit_filter *f, rp__audit_fn *fn, void *ctx, rp_error *err);
  /* The head of a scope's chain as the store keeps it, scope, n and hash: n = 0 when there is none. */
  int (*audit_head)(struct rp__store *s, const char *scope, struct rp__audit_row *ret, rp_error *err);
  /* Every scope ever started or audited, by name. */
  int (*scope_list)(struct rp__store *s, rp__scope_fn *fn, void *ctx, rp_error *err);
  /* The token with that id, or (NULL) all, in the order of making. One that is not there is no error. */
  int (*token_list)(struct rp__store *s, const char *id, rp__token_fn *fn, void *ctx, rp_error *err);
  /* False in *ret_found when nothing was made under that key. */
  int (*request_get)(struct rp__store *s, const char *scope, const char *key, struct rp__request_row *ret,
                     bool *ret_found, rp_error *err);
  /* False in *ret_found when nobody gave that name. */
  int (*name_get)(struct rp__store *s, const char *name, struct rp__name_row *ret, bool *ret_found, rp_error *err);
  /* NULL: all of the session, by id, without data. Else that one with data: RP_E_BLOB_NOT_FOUND. */
  int (*blob_list)(struct rp__store *s, int64_t session_ref, const char *id, rp__blob_fn *fn, void *ctx, rp_error *err);
  /* The streams of one session that are not over (`which`: these instead), or, with 0, of all sessions those with an
   * undecided tail. */
  int (*tail_list)(struct rp__store *s, int64_t session_ref, const struct rp__tails *which, rp__tail_fn *fn, void *ctx,
                   rp_error *err);
  /*
   * Journals that grew since *cursor, each once, with its highest new seq, in any order; at most `limit` events are
   * looked at. *cursor < 0 becomes now, and nothing is told. It moves on success only, and stays good when what it
   * stands at is deleted.
   */
  int (*changes)(struct rp__store *s, int64_t *cursor, int64_t limit, rp_change_fn *fn, void *ctx, rp_error *err);
  /*
   * Several reads in one call, in their order: one round trip where the store is on another machine. Each read has its
   * own result, and one that fails does not keep the others from being made. Another result than 0: none was made.
   */
  int (*read)(struct rp__store *s, struct rp__read *reads, size_t n, rp_error *err);
  /* A number that is another one after any commit, by whomever. Cheap enough to be asked before every read. */
  int (*version)(struct rp__store *s, int64_t *ret, rp_error *err);
  int (*maintain)(struct rp__store *s, enum rp__maintain what, int64_t *ret_left, rp_error *err);
  /*
   * The backend's own structures (pages, indexes), rows that must agree, checksums of records and memories, and whether
   * full text is that of the journal; not the sessions' events. 0 whatever was found: findings say what is wrong and
   * whether it was repaired.
   */
  int (*check)(struct rp__store *s, bool repair, rp_finding_fn *fn, void *ctx, rp_error *err);
  int (*stats)(struct rp__store *s, struct rp__store_stats *ret, rp_error *err);
  /* A loss that check tells of is told no more; `ret` gets it, or an empty text. NULL: nothing is ever lost. */
  int (*accept)(struct rp__store *s, char *ret, size_t size, rp_error *err);
};

/* Backends embed this first. */
struct rp__store {
  const struct rp__store_ops *ops;
};

struct rp__store_options {
  const char *path; /* of the file, without "sqlite:" */
  bool read_only;
  bool existing;    /* a file that holds no store is refused (RP_E_UNREACHABLE) and left as it is */
  bool short_lived; /* for commands: one connection will do, and close does not checkpoint unless the log has grown */
  const rp_clock *clock;
  const struct rp__proc *self; /* this process, for others to see who has the turn to write; NULL: found out */
  struct rp__log log;
  void (*wal_grown)(void *ctx); /* called inside commit when RP_MAINTAIN_WAL is due; may be NULL */
  void *ctx;
};

/* How much of options.path is the file's name: tests may add ?vfs=NAME or ?busy_ms=N. */
size_t rp__store_path_length(const char *path);
/* RP_E_VERSION: made by a newer version. RP_E_UNREACHABLE, _CORRUPT … */
RP_MUST_USE int rp__store_sqlite_open(const struct rp__store_options *o, struct rp__store **ret, rp_error *err);
/* A store of SQLite's without a file, gone when it is closed: `path`, `read_only` and `existing` mean nothing. */
RP_MUST_USE int rp__store_memory_open(const struct rp__store_options *o, struct rp__store **ret, rp_error *err);

/* `read` of a store for which a call costs nothing: one slot after the other. */
RP_MUST_USE int rp__store_read_each(struct rp__store *s, struct rp__read *reads, size_t n, rp_error *err);

/*
 * Fails the nth call (counted from 1 over all slots but close) with `code`: before
 * doing it, or, with `after`, having done it. 0: never. Owns `inner`.
 */
struct rp__fault {
  int64_t nth, calls;
  int code;
  bool after, persistent; /* persistent: all calls from the nth on */
  /* Told of each call before it is made, with the reads it consists of (none: it is no read); or NULL. */
  void (*on_call)(void *ctx, const struct rp__read *reads, size_t n);
  void *ctx;
};
int rp__store_fault_wrap(struct rp__store *inner, struct rp__fault *plan, struct rp__store **ret);

#endif
