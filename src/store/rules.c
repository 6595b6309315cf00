/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a transaction as pure functions of rows. */
#include "store/rules.h"

#include <inttypes.h>

#include "base/text.h"
#include "core/seal.h"

void rp__session_row_done(struct rp__session_row *r)
{
  free(r->meta);
  r->meta = NULL;
}

int rp__session_row_copy(const struct rp__session_row *r, struct rp__session_row *ret)
{
  char *meta = r->meta ? strdup(r->meta) : NULL;
  if (r->meta && !meta) return RP_E_NOMEM;
  *ret = *r;
  ret->meta = meta;
  return 0;
}

void rp__record_row_done(struct rp__record_row *r)
{
  for (size_t i = 0; i < RP_PARTS_MAX; i++) free(RP_TAKE(r->part[i]));
  free(RP_TAKE(r->dropped));
  free(RP_TAKE(r->digest));
  free(RP_TAKE(r->sealed_body));
}

void rp__name_set(char out[RP_NAME], const char *s)
{
  size_t n = s ? strnlen(s, RP_NAME - 1) : 0;
  memcpy(out, s ? s : "", n);
  out[n] = '\0';
}

int rp__refuse_not_found(const char *id, rp_error *err)
{
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "no session %s", id ? id : "");
}

int rp__refuse_key(const struct rp__session_row *row, rp_error *err)
{
  return rp__fail(err, RP_E_EXISTS, "an open session of scope '%s' has the key '%s'", row->scope, row->key);
}

int rp__refuse_record(const char *id, rp_error *err)
{
  return rp__fail(err, RP_E_RECORD_NOT_FOUND, "session %s has no record", id ? id : "");
}

int rp__refuse_memory(const struct rp__memory_row *row, rp_error *err)
{
  return rp__fail(err, RP_E_MEMORY_NOT_FOUND, "scope '%s' has no memory %s", row->scope, row->id);
}

int rp__refuse_memory_damage(const struct rp__memory_row *row, rp_error *err)
{
  return rp__fail(err, RP_E_CORRUPT, "scope '%s': memory %s is damaged (its checksum does not fit)", row->scope,
                  row->id);
}

int rp__refuse_token_id(const struct rp__token_row *row, rp_error *err)
{
  return rp__fail(err, RP_E_EXISTS, "a token has the id %s", row->id);
}

int rp__refuse_token(const struct rp__token_row *row, rp_error *err)
{
  return rp__fail(err, RP_E_TOKEN_NOT_FOUND, "no token has the id %s", row->id);
}

int rp__refuse_request(const struct rp__request_row *row, rp_error *err)
{
  return rp__fail(err, RP_E_FENCED, "scope %s: another request with the same idempotency key was faster", row->scope);
}

int rp__refuse_blob_id(const char *id, rp_error *err)
{
  return rp__fail(err, RP_E_EXISTS, "the session has a blob %s already", id);
}

int rp__refuse_blob(const char *id, rp_error *err)
{
  return rp__fail(err, RP_E_BLOB_NOT_FOUND, "the session has no blob %s", id);
}

int rp__refuse_run(const char *id, rp_error *err)
{
  return rp__fail(err, RP_E_FENCED, "session %s: the run has ended or shown a sign of life meanwhile", id);
}

int rp__rule_statuses(const char *words, unsigned *ret, rp_error *err)
{
  unsigned bits = 0;
  for (size_t n; words && *words; words += n + (words[n] == '|')) {
    n = strcspn(words, "|");
    enum rp__status status = rp__status_parse(words, n);
    if (status == RP_STATUS_MAX)
      return rp__fail_field(err, RP_E_USAGE, "status", "no status is called %.*s", (int)n, words);
    bits |= 1u << status;
  }
  *ret = bits;
  return 0;
}

int rp__rule_scope_set(const struct rp__op *op, const struct rp__scope_row *row, rp_error *err)
{
  if (!row->sealed || memcmp(row->key_id, op->u.scope_set.row->key_id, sizeof row->key_id) == 0) return 0;
  return rp__fail(err, RP_E_KEY_WRONG, "scope '%s' was sealed with another key", op->u.scope_set.scope);
}

size_t rp__store_path_length(const char *path)
{
  const char *query = strrchr(path, '?');
  bool ours = query && (strncmp(query, "?vfs=", 5) == 0 || strncmp(query, "?busy_ms=", 9) == 0);
  return ours ? (size_t)(query - path) : strlen(path);
}

int rp__refuse_hole(const char *id, int64_t seq, rp_error *err)
{
  return rp__fail(err, RP_E_CORRUPT, "session %s: event %" PRId64 " is missing", id ? id : "?", seq);
}

int rp__refuse_damage(const char *id, int64_t seq, rp_error *err)
{
  return rp__fail(err, RP_E_CORRUPT, "session %s: event %" PRId64 " is damaged (its checksum does not fit)",
                  id ? id : "?", seq);
}

static int refuse_epoch(const struct rp__op *op, const struct rp__session_row *row, int64_t epoch, rp_error *err)
{
  const char *id = op->session_id ? op->session_id : "?";
  if (epoch > row->epoch)
    return rp__fail(err, RP_E_FENCED, "session %s: there is no epoch %" PRId64 " yet, the current one is %" PRId64, id,
                    epoch, row->epoch);
  return rp__fail(err, RP_E_FENCED, "session %s: epoch %" PRId64 " is over, the current one is %" PRId64, id, epoch,
                  row->epoch);
}

int rp__rule_epoch(const struct rp__op *op, const struct rp__session_row *row, rp_error *err)
{
  return op->epoch && op->epoch != row->epoch ? refuse_epoch(op, row, op->epoch, err) : 0;
}

int rp__rule_status(const struct rp__session_row *row, rp_error *err)
{
  if ((unsigned)row->status < RP_STATUS_MAX) return 0;
  rp__fail(err, RP_E_CORRUPT, "session %s has the unknown status %d", row->id, (int)row->status);
  rp__hint(err, "reprise verify --repair");
  return RP_E_CORRUPT;
}

void rp__rule_status_read(struct rp__session_row *row)
{
  row->damaged = (unsigned)row->status >= RP_STATUS_MAX;
  if (row->damaged) row->status = row->ended_at ? RP_STATUS_CLOSED : RP_STATUS_IDLE;
}

/* Nothing is counted on from a number that can't be one: it would be given away and acknowledged. */
static int refuse_counters(const struct rp__op *op, rp_error *err)
{
  rp__fail(err, RP_E_CORRUPT, "session %s: its counters are damaged", op->session_id ? op->session_id : "?");
  rp__hint(err, "'reprise verify --repair' counts them anew");
  return RP_E_CORRUPT;
}

static int refuse_ended(const struct rp__op *op, enum rp__status status, rp_error *err)
{
  return rp__fail(err, RP_E_ENDED, "session %s is %s", op->session_id ? op->session_id : "?", rp__status_name(status));
}

/* Whether the events were stored before; fills op->ret then. */
static bool append_repeated(struct rp__op *op, const struct rp__append_facts *facts)
{
  if (facts->idem_seq > 0) {
    op->ret.first_seq = facts->idem_seq;
    op->ret.seq = facts->idem_seq + facts->idem_n - 1;
    return true;
  }
  if (!op->u.append.client_id) return false;
  int64_t n = rp__append_given(op), last = op->u.append.client_seq + n - 1;
  if (last > facts->client_mark) return false;
  bool latest = last == facts->client_mark && facts->client_seq >= n;
  op->ret.seq = latest ? facts->client_seq : 0;
  op->ret.first_seq = latest ? facts->client_seq - n + 1 : 0;
  return true;
}

static int append_check(struct rp__op *op, const struct rp__session_row *row, bool activity,
                        const struct rp__append_facts *facts, rp_error *err)
{
  int64_t expect = op->u.append.expect, wanted = facts->client_mark + 1;
  int rc = rp__rule_epoch(op, row, err);
  if (rc != 0) return rc;
  if (expect >= 0 && expect != row->last_seq)
    return rp__fail(err, RP_E_SEQ_CONFLICT, "session %s is at seq %" PRId64 ", not %" PRId64,
                    op->session_id ? op->session_id : "?", row->last_seq, expect);
  if (activity && rp__status_ended(row->status)) return refuse_ended(op, row->status, err);
  if (op->u.append.heard && op->u.append.heard_number != row->tails.number) {
    op->ret.unheard = true;
    return rp__fail(err, RP_E_SEQ_CONFLICT, "session %s: somebody else has spoken meanwhile",
                    op->session_id ? op->session_id : "?");
  }
  if (op->u.append.client_id && op->u.append.client_seq != wanted)
    return rp__fail(err, RP_E_CLIENT_GAP, "client %s: expected client_seq %" PRId64 ", got %" PRId64,
                    op->u.append.client_id, wanted, op->u.append.client_seq);
  return 0;
}

int64_t rp__tail_key_number(const unsigned char *id)
{
  uint64_t v = 0;
  for (int i = 0; i < RP_KEY_ID; i++) v |= (uint64_t)id[i] << (8 * i);
  return (int64_t)(v & INT64_MAX);
}

int rp__rule_tail_key(struct rp__op *op, bool known, int64_t id, rp_error *err)
{
  if (!known || id == rp__tail_key_number(op->u.append.tail_key)) return 0;
  op->ret.other_key = true;
  return rp__fail(err, RP_E_SEQ_CONFLICT, "session %s: its tails are sealed with another key by now",
                  op->session_id ? op->session_id : "?");
}

int rp__rule_append(struct rp__op *op, struct rp__session_row *row, const struct rp__append_facts *facts, rp_error *err)
{
  size_t n = op->u.append.n, bytes = 0;
  bool activity = false;
  if (n == 0) return rp__fail(err, RP_E_USAGE, "an append of no events");
  for (size_t i = 0; i < n; i++) {
    bytes += op->u.append.events[i].body_len;
    activity |= !op->u.append.events[i].engine && !op->copying;
  }

  if (facts->idem_seq > 0 && facts->has_digest && op->u.append.digest &&
      memcmp(facts->digest, op->u.append.digest, RP_REQUEST_DIGEST) != 0)
    return rp__fail_field(err, RP_E_KEY_REUSED, "idempotency_key",
                          "session %s: the key was given to other events before, which are stored from seq %" PRId64
                          " on",
                          op->session_id ? op->session_id : "?", facts->idem_seq);
  op->ret.repeated = append_repeated(op, facts);
  if (!op->ret.repeated) {
    int rc = append_check(op, row, activity, facts, err);
    if (rc == 0 && (row->last_seq > RP_SEQ_MAX - (int64_t)n || row->bytes > RP_SEQ_MAX - (int64_t)bytes ||
                    row->tail_bytes > RP_SEQ_MAX - (int64_t)bytes))
      rc = refuse_counters(op, err);
    if (rc == 0 && activity) rc = rp__status_move(row->status, RP_MOVE_EVENT, &row->status, err);
    if (rc != 0) return rc;
    if (activity) row->last_activity_at = op->now_ms;
    op->ret.first_seq = row->last_seq + 1 + (int64_t)op->u.append.first_given;
    row->last_seq += (int64_t)n;
    op->ret.seq = row->last_seq;
    /* The streams after the events of an append. */
    for (size_t i = 0; i < op->u.append.n; i++) {
      const struct rp__new_event *ev = &op->u.append.events[i];
      if (ev->voice) rp__tails_note(&row->tails, ev->voice, ev->open ? rp__append_first(op) + (int64_t)i : 0);
    }
    if (op->u.append.streams_number) row->tails.number = op->u.append.streams_number;
    row->bytes += (int64_t)bytes;
    row->tail_bytes += (int64_t)bytes;
  }
  op->ret.epoch = row->epoch;
  op->ret.tail_events = row->last_seq - row->snap_seq;
  op->ret.tail_bytes = row->tail_bytes;
  return 0;
}

/* The status after a move; ended_at goes with it. */
static int row_move(struct rp__session_row *row, enum rp__move move, int64_t ended_at, rp_error *err)
{
  int rc = rp__status_move(row->status, move, &row->status, err);
  if (rc != 0) return rc;
  row->ended_at = rp__status_ended(row->status) ? ended_at : 0;
  return 0;
}

int rp__rule_lease(struct rp__op *op, struct rp__session_row *row, rp_error *err)
{
  if (op->u.lease.expect_epoch != row->epoch) return refuse_epoch(op, row, op->u.lease.expect_epoch, err);
  if (row->epoch >= RP_SEQ_MAX) return refuse_counters(op, err);
  if (op->u.lease.move != RP_MOVE_MAX && !op->copying) {
    int rc = row_move(row, op->u.lease.move, op->now_ms, err);
    if (rc != 0) return rc;
  }
  row->epoch++;
  op->ret.epoch = row->epoch;
  op->ret.status = row->status;
  return 0;
}

static int row_meta(struct rp__session_row *row, const char *meta, rp_error *err)
{
  char *copy = NULL;
  if (meta && !(copy = strdup(meta))) return rp__fail_nomem(err);
  free(row->meta);
  row->meta = copy;
  return 0;
}

int rp__rule_session_set(struct rp__op *op, struct rp__session_row *row, rp_error *err)
{
  unsigned fields = op->u.session_set.fields;
  int rc = rp__rule_epoch(op, row, err);
  if (rc != 0) return rc;
  if (op->u.session_set.quiet_since && op->u.session_set.quiet_since != row->last_activity_at)
    return rp__fail(err, RP_E_FENCED, "session %s: somebody has written to it meanwhile", row->id);
  if (fields & RP_SET_MOVE) {
    int64_t ended_at = op->u.session_set.ended_at ? op->u.session_set.ended_at : op->now_ms;
    rc = row_move(row, op->u.session_set.move, ended_at, err);
    if (rc != 0) return rc;
  }
  if (fields & RP_SET_META) {
    rc = op->u.session_set.edit_meta ? op->u.session_set.edit_meta(op->u.session_set.edit_ctx, row, err)
                                     : row_meta(row, op->u.session_set.meta, err);
    if (rc != 0) return rc;
  }
  if (fields & RP_SET_NAME)
    rp__text_copy(row->name, sizeof row->name, op->u.session_set.name ? op->u.session_set.name : "");
  if (fields & RP_SET_CRASH) row->crash_recovered = op->u.session_set.crash_recovered;
  if (fields & RP_SET_SHOWN) row->hidden = false;
  if ((fields & RP_SET_TRASH) && op->u.session_set.trashed_at && (rc = rp__rule_held(row, err))) return rc;
  if (fields & RP_SET_TRASH) row->trashed_at = op->u.session_set.trashed_at;
  if (fields & RP_SET_HOLD) row->held_at = op->u.session_set.held_at;
  if ((fields & RP_SET_CONTINUED_BY) && !row->continued_by[0])
    rp__name_set(row->continued_by, op->u.session_set.continued_by);
  if (fields & RP_SET_TIMES) {
    const struct rp__session_row *from = op->u.session_set.row;
    row->created_at = from->created_at;
    row->last_activity_at = from->last_activity_at;
    row->ended_at = from->ended_at;
    row->status = from->status;
    row->crash_recovered = from->crash_recovered;
  }
  return 0;
}

int rp__rule_heartbeat(struct rp__op *op, const struct rp__session_row *row, const struct rp__run_row *run,
                       rp_error *err)
{
  int rc = rp__rule_epoch(op, row, err);
  if (rc != 0) return rc;
  if (rp__status_ended(row->status)) return refuse_ended(op, row->status, err);
  if (!run || run->ended_at != 0)
    return rp__fail(err, RP_E_ENDED, "session %s has no open run", op->session_id ? op->session_id : "?");
  op->ret.epoch = row->epoch;
  return 0;
}

int rp__rule_snapshot(const struct rp__op *op, const struct rp__session_row *row, rp_error *err)
{
  int64_t seq = op->u.snapshot_put.row->seq;
  int rc = rp__rule_epoch(op, row, err);
  if (rc != 0) return rc;
  if (seq >= 0 && seq <= row->last_seq) return 0;
  return rp__fail(err, RP_E_SEQ_NOT_FOUND, "session %s: a snapshot of seq %" PRId64 ", the journal ends at %" PRId64,
                  op->session_id ? op->session_id : "?", seq, row->last_seq);
}

int rp__rule_blob(const struct rp__op *op, const struct rp__session_row *row, rp_error *err)
{
  int rc = rp__rule_epoch(op, row, err);
  if (rc != 0) return rc;
  return rp__status_ended(row->status) ? refuse_ended(op, row->status, err) : 0;
}

int rp__rule_task(const struct rp__op *op, const struct rp__txn *t, const struct rp__op **ret, int64_t *ret_seq,
                  rp_error *err)
{
  size_t at = op->u.task_put.append_op;
  if (op->u.task_put.seq) {
    *ret = op;
    *ret_seq = op->u.task_put.seq;
    return 0;
  }
  if (at >= (size_t)(op - t->ops) || t->ops[at].type != RP_OP_APPEND || op->u.task_put.offset >= t->ops[at].u.append.n)
    return rp__fail(err, RP_E_USAGE, "a word on a task without the event that said it");
  *ret = t->ops[at].ret.repeated ? NULL : &t->ops[at];
  *ret_seq = rp__append_first(&t->ops[at]) + (int64_t)op->u.task_put.offset;
  return 0;
}

const char *const rp__pin_kinds[] = {"pin", "unpin", "restored", NULL};

int rp__refuse_judged(const struct rp__op *op, rp_error *err)
{
  return rp__fail(err, RP_E_SEQ_CONFLICT, "session %s: its pins have changed meanwhile",
                  op->session_id ? op->session_id : "?");
}

bool rp__rule_void(const struct rp__op *op, const struct rp__txn *t)
{
  size_t at = op->derived_from;
  return at && at <= (size_t)(op - t->ops) && t->ops[at - 1].ret.repeated;
}

int rp__rule_hidden(const struct rp__op *op, const struct rp__session_row *row, rp_error *err)
{
  bool other = op->copying && op->session_ref && op->session_ref != row->ref;
  bool shown = op->copying && op->type == RP_OP_SESSION_DELETE && !row->hidden;
  if (other || shown) return rp__refuse_not_found(op->session_id, err);
  if (!row->hidden || op->copying) return 0;
  return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is being imported", op->session_id ? op->session_id : "?");
}

int rp__rule_held(const struct rp__session_row *row, rp_error *err)
{
  if (!row->held_at) return 0;
  rp__fail(err, RP_E_ON_HOLD, "session %s is on hold", row->id);
  rp__hint(err, "'reprise hold %s --off' takes the hold off", row->id);
  return RP_E_ON_HOLD;
}

void rp__rule_audit(struct rp__op *op, struct rp__audit_row *row)
{
  rp__name_set(row->scope, op->u.audit.scope);
  rp__text_copy(row->event, sizeof row->event, op->u.audit.event);
  if (row->n > 0)
    memcpy(row->prev, row->hash, sizeof row->prev);
  else
    rp__chain_genesis(row->scope, row->prev);
  row->n++;
  row->at_ms = op->u.audit.at_ms;
  row->fields = op->u.audit.fields;
  row->sealed = op->u.audit.sealed;
  memcpy(row->salt, op->u.audit.salt, sizeof row->salt);
  memcpy(row->digest, op->u.audit.digest, sizeof row->digest);
  rp__chain_hash(op->u.audit.key, row->prev, row->n, row->at_ms, row->event, row->digest, row->hash);
  op->ret.seq = row->n;
  memcpy(op->ret.hash, row->hash, sizeof op->ret.hash);
}

uint64_t rp__event_sum(int64_t seq, int64_t at_ms, const char *kind, const void *body, size_t n)
{
  unsigned char head[16 + RP_NAME];
  size_t k = strnlen(kind, RP_NAME);
  for (int i = 0; i < 8; i++) {
    head[i] = (unsigned char)((uint64_t)seq >> (8 * i));
    head[8 + i] = (unsigned char)((uint64_t)at_ms >> (8 * i));
  }
  memcpy(head + 16, kind, k);
  return rp__checksum(body, n, rp__checksum(head, 16 + k, 0));
}

/* A field and where it ends: bytes that move from one field to the next make another sum. */
static uint64_t sum_bytes(uint64_t sum, const void *p, size_t n)
{
  unsigned char size[8];
  for (int i = 0; i < 8; i++) size[i] = (unsigned char)((uint64_t)n >> (8 * i));
  return rp__checksum(p ? p : "", p ? n : 0, rp__checksum(size, sizeof size, sum));
}

static uint64_t sum_text(uint64_t sum, const char *s)
{
  return sum_bytes(sum, s, s ? strlen(s) : 0);
}

static uint64_t sum_number(uint64_t sum, int64_t v)
{
  unsigned char bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)v >> (8 * i));
  return sum_bytes(sum, bytes, sizeof bytes);
}

uint64_t rp__memory_sum(const struct rp__memory_row *row)
{
  int64_t confidence;
  _Static_assert(sizeof confidence == sizeof row->confidence, "the bits of a double");
  memcpy(&confidence, &row->confidence, sizeof confidence);
  uint64_t sum = sum_text(0, row->scope);
  sum = sum_text(sum, row->id);
  sum = sum_text(sum, row->session_id);
  sum = sum_number(sum, confidence);
  sum = sum_number(sum, row->created_at);
  sum = sum_number(sum, row->updated_at);
  sum = sum_number(sum, row->sealed);
  sum = sum_bytes(sum, row->content, row->content_len);
  return sum_text(sum, row->sealed ? NULL : row->categories);
}

uint64_t rp__record_sum(const struct rp__record_row *row)
{
  uint64_t sum = sum_text(0, row->session_id);
  sum = sum_text(sum, row->scope);
  sum = sum_text(sum, row->channel);
  sum = sum_text(sum, row->previous_id);
  sum = sum_number(sum, row->start_ms);
  sum = sum_number(sum, row->end_ms);
  sum = sum_number(sum, row->created_ms);
  sum = sum_number(sum, row->updated_ms);
  sum = sum_number(sum, row->crash_recovered);
  sum = sum_number(sum, row->has_critical);
  for (size_t i = 0; i < row->n_topics; i++) sum = sum_number(sum, (int64_t)row->topics[i]);
  for (size_t i = 0; i < RP_PARTS_MAX; i++) sum = sum_text(sum, row->part[i] && row->part[i][0] ? row->part[i] : "[]");
  sum = sum_text(sum, row->dropped);
  if (row->digest) sum = sum_text(sum, row->digest);
  return sum_bytes(sum, row->sealed_body, row->sealed_len);
}
