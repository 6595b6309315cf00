/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decisions that every backend makes alike inside its transaction. Given the current
 * row of the session, the functions say whether the op is allowed and what the row
 * becomes.
 */
#ifndef RP_STORE_RULES_H
#define RP_STORE_RULES_H

#include "store/store.h"

/* What the store remembers of earlier appends that may be the same one. Zeroes: nothing. */
struct rp__append_facts {
  int64_t idem_seq, idem_n;                /* first seq and number of events stored under the idempotency key */
  unsigned char digest[RP_REQUEST_DIGEST]; /* … and of the request they came with, if has_digest */
  bool has_digest;
  int64_t client_mark, client_seq; /* the client's highest number, and the journal's seq of that event */
};

/*
 * An append (idempotency → epoch → expected seq; then ended, client gap).
 * `client_seq` of an op numbers its first event, the following ones count on. On
 * success `row` is changed to what is to be written (last_seq, bytes, tail_bytes,
 * status, activity) unless op->ret.repeated, and op->ret is filled. A repeat of a
 * client's event that is not its latest has seq 0: stored, its number not known any more.
 */
RP_MUST_USE int rp__rule_append(struct rp__op *op, struct rp__session_row *row, const struct rp__append_facts *facts,
                                rp_error *err);
/* Of the events of an append those that its caller gave, and the number of the first one stored. */
static inline int64_t rp__append_given(const struct rp__op *op)
{
  return (int64_t)(op->u.append.given ? op->u.append.given : op->u.append.n);
}
static inline int64_t rp__append_first(const struct rp__op *op)
{
  return op->ret.seq - (int64_t)op->u.append.n + 1;
}
/* Tails are sealed with the key the store knows, or with the first one it hears of (known: false). */
RP_MUST_USE int rp__rule_tail_key(struct rp__op *op, bool known, int64_t id, rp_error *err);
/* The id of a key as a number. */
int64_t rp__tail_key_number(const unsigned char *id);
/* A row's status must be one there is: RP_E_CORRUPT. */
RP_MUST_USE int rp__rule_status(const struct rp__session_row *row, rp_error *err);
/* The same for who only reads: the row is marked, and its status is closed when it has an end, else idle. */
void rp__rule_status_read(struct rp__session_row *row);
/* An epoch that is over never writes again: whatever names one must name the current one. */
RP_MUST_USE int rp__rule_epoch(const struct rp__op *op, const struct rp__session_row *row, rp_error *err);
/* A lease: the CAS on the epoch, the move, the new epoch into row and op->ret. */
RP_MUST_USE int rp__rule_lease(struct rp__op *op, struct rp__session_row *row, rp_error *err);
/* Everything but RP_SET_COUNTERS, which needs the rows. */
RP_MUST_USE int rp__rule_session_set(struct rp__op *op, struct rp__session_row *row, rp_error *err);
/* `run`: the one of the session's current epoch, or NULL. */
RP_MUST_USE int rp__rule_heartbeat(struct rp__op *op, const struct rp__session_row *row, const struct rp__run_row *run,
                                   rp_error *err);
/* A snapshot's epoch must be the current one, its seq one the journal has reached. */
RP_MUST_USE int rp__rule_snapshot(const struct rp__op *op, const struct rp__session_row *row, rp_error *err);

/* A new blob: whoever may append may put one. */
RP_MUST_USE int rp__rule_blob(const struct rp__op *op, const struct rp__session_row *row, rp_error *err);

/* What the stored checksum of an event is taken over. */
uint64_t rp__event_sum(int64_t seq, int64_t at_ms, const char *kind, const void *body, size_t n);
/* The same of a memory; rank, learned_at, uses and used_at are no part of it. */
uint64_t rp__memory_sum(const struct rp__memory_row *row);
/*
 * The same of a record as record_get gives it, all of it but continued_by, which is the session's, and n_tasks and
 * archived, which say what can be counted or seen.
 */
uint64_t rp__record_sum(const struct rp__record_row *row);

/* A scope that is sealed stays sealed with its key. */
/* Statuses of a filter, "active|idle", as bits; 0: any. RP_E_USAGE. */
RP_MUST_USE int rp__rule_statuses(const char *words, unsigned *ret, rp_error *err);
RP_MUST_USE int rp__rule_scope_set(const struct rp__op *op, const struct rp__scope_row *row, rp_error *err);

/* A word on a task: the append it was said in, or NULL when that was a repeat. RP_E_USAGE: there is no such op. */
RP_MUST_USE int rp__rule_task(const struct rp__op *op, const struct rp__txn *t, const struct rp__op **ret,
                              int64_t *ret_seq, rp_error *err);
/* Kinds of events that change a session's pins, ended by NULL. RP_E_SEQ_CONFLICT: one came since it was judged. */
extern const char *const rp__pin_kinds[];
RP_MUST_USE int rp__refuse_judged(const struct rp__op *op, rp_error *err);
/* Whether the op follows from an append that was a repeat, so that nothing is to be done. */
bool rp__rule_void(const struct rp__op *op, const struct rp__txn *t);
/*
 * A session that is being imported or forked: every op on a session begins with this, and nobody but the copier may
 * touch it. RP_E_SESSION_NOT_FOUND, as for a session that is not there. The copier's ops leave the status as it is,
 * mean the session with that number alone, where they have one, and delete nothing that was shown.
 */
RP_MUST_USE int rp__rule_hidden(const struct rp__op *op, const struct rp__session_row *row, rp_error *err);
/* RP_E_ON_HOLD */
RP_MUST_USE int rp__rule_held(const struct rp__session_row *row, rp_error *err);
/* The next record of a chain. `row` is its head (n and hash; n 0: none yet) and becomes the record, fields borrowed. */
void rp__rule_audit(struct rp__op *op, struct rp__audit_row *row);
/* Whether a session is left out of lists and recall. */
static inline bool rp__row_is_out(const struct rp__session_row *row)
{
  return row->hidden || row->trashed_at != 0;
}

/* Refusals that are worded alike everywhere. */
RP_MUST_USE int rp__refuse_run(const char *id, rp_error *err);
RP_MUST_USE int rp__refuse_not_found(const char *id, rp_error *err);
/* RP_E_EXISTS: an open session has that scope and key. */
RP_MUST_USE int rp__refuse_key(const struct rp__session_row *row, rp_error *err);
RP_MUST_USE int rp__refuse_record(const char *id, rp_error *err);
RP_MUST_USE int rp__refuse_memory(const struct rp__memory_row *row, rp_error *err);
/* RP_E_CORRUPT */
RP_MUST_USE int rp__refuse_memory_damage(const struct rp__memory_row *row, rp_error *err);
/* RP_E_EXISTS and RP_E_TOKEN_NOT_FOUND */
RP_MUST_USE int rp__refuse_token_id(const struct rp__token_row *row, rp_error *err);
RP_MUST_USE int rp__refuse_token(const struct rp__token_row *row, rp_error *err);
RP_MUST_USE int rp__refuse_request(const struct rp__request_row *row, rp_error *err); /* RP_E_FENCED */
/* RP_E_EXISTS and RP_E_BLOB_NOT_FOUND */
RP_MUST_USE int rp__refuse_blob_id(const char *id, rp_error *err);
RP_MUST_USE int rp__refuse_blob(const char *id, rp_error *err);
RP_MUST_USE int rp__refuse_hole(const char *id, int64_t seq, rp_error *err);
RP_MUST_USE int rp__refuse_damage(const char *id, int64_t seq, rp_error *err);

/* Copies a name into a row's field, cutting what can't be a name. NULL: empty. */
void rp__name_set(char out[RP_NAME], const char *s);

#endif
