/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a session: made from its state, stored with its end, and read again. */
#include "engine/capture/capture.h"

#include <sodium.h>

#include "engine/keep/archive.h"
#include "engine/capture/mirror.h"
#include "core/mask.h"
#include "engine/session-view.h"

#define RECENT_SESSIONS 200 /* of the scope, whose topics say how common a topic is */
#define RECORD_TEXT_MAX (2 * 1024 * 1024)

/* ---- how common topics are ---- */

struct rp__tally {
  uint64_t hash[RECENT_SESSIONS * RP_TOPICS_MAX]; /* with repeats */
  size_t n;
  int64_t sessions;
};

static int on_recent(void *ctx, const struct rp__recall *row)
{
  struct rp__tally *t = ctx;
  size_t room = RP_ARRAY_SIZE(t->hash) - t->n, n = RP_MIN(row->n_topics, room);
  if (n) memcpy(t->hash + t->n, row->topics, n * sizeof *row->topics);
  t->n += n;
  t->sessions++;
  return 0;
}

struct rp__tally *rp__tally_new(void)
{
  return calloc(1, sizeof(struct rp__tally));
}

struct rp__read rp__tally_reading(struct rp__tally *t, const char *scope)
{
  return (struct rp__read){.type = RP_READ_RECALL,
                           .ctx = t,
                           .u.recall = {.filter = {.scope = scope, .limit = RECENT_SESSIONS}, .fn = on_recent}};
}

static int64_t count_topic(void *ctx, uint64_t hash)
{
  const struct rp__tally *t = ctx;
  int64_t found = 0;
  for (size_t i = 0; i < t->n; i++) found += t->hash[i] == hash;
  return found;
}

void rp__topic_key(const struct rp__key *key, unsigned char ret[32])
{
  static const char purpose[] = "topics";
  crypto_generichash(ret, 32, (const unsigned char *)purpose, sizeof purpose - 1, key->bytes, RP_KEY_BYTES);
}

/* ---- making ---- */

/* Without the marks of Markdown a credential may show itself that nobody knew in the journal ("**Password:** …"). */
static int mask_digest(const rp_session *s, struct rp__record_parts *parts, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RECORD_TEXT_MAX);
  struct rp__str masked;
  size_t hits = 0;
  if (!parts->digest || !s->config->redact) return 0;
  if (rp__mask_bytes(s->e->redactor, parts->digest, strlen(parts->digest), &out, &masked, &hits))
    return rp__fail_nomem(err);
  if (hits == 0) return 0;
  char *copy = strndup(masked.p, masked.n);
  if (!copy) return rp__fail_nomem(err);
  free(parts->digest);
  parts->digest = copy;
  return 0;
}

/* The parts of a record, made of the state. */
static int build_parts(rp_session *s, int64_t end_ms, const char *root, const struct rp__last_words *words,
                       struct rp__record_parts *ret, rp_error *err)
{
  unsigned char topic_key[32];
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__fold *kept = NULL, *own RP_AUTOFOLD = NULL;
  struct rp__tally *made RP_AUTOFREE = NULL;
  const struct rp__tally *tally = s->view ? s->view->topics : NULL;
  int rc = 0;
  if (!tally) {
    if (!(tally = made = rp__tally_new())) return rp__fail_nomem(err);
    struct rp__recall_filter f = {.scope = s->scope, .limit = RECENT_SESSIONS};
    rc = s->e->store->ops->recall_list(s->e->store, &f, on_recent, made, err);
    if (rc) return rc;
  }
  struct rp__record_options o = {.count = count_topic,
                                 .ctx = (void *)(uintptr_t)tally,
                                 .sessions = tally->sessions,
                                 .root = root,
                                 .at_ms = end_ms};
  if (s->key) {
    rp__topic_key(s->key, topic_key);
    o.topic_key = topic_key;
  }
  pthread_mutex_lock(&s->lock);
  rc = rp__last_words_state(s, words, &kept, &own, &warnings, err);
  if (!rc && rp__record_build(own ? own : kept, &o, ret)) rc = rp__fail_nomem(err);
  if (kept) rp__state_release(s, kept);
  if (warnings.n) rp__state_drop(s); /* whoever loads it next tells of the damage */
  pthread_mutex_unlock(&s->lock);
  return rc ? rc : mask_digest(s, ret, err);
}

/* In a sealed scope only ids, times and counts stay readable. */
static int seal_parts(rp_session *s, struct rp__record_row *row, rp_error *err)
{
  struct rp__buf plain RP_AUTOBUF = RP_BUF(RECORD_TEXT_MAX), sealed RP_AUTOBUF = RP_BUF(RECORD_TEXT_MAX + 64);
  if (!s->key) return 0;
  if (rp__record_write(row, &plain) ||
      rp__seal(s->key, &rp__system_random, rp__session_ad(s), plain.p, plain.n, &sealed))
    return rp__fail_nomem(err);
  row->sealed_len = sealed.n;
  row->sealed_body = rp__buf_take(&sealed);
  free(RP_TAKE(row->dropped));
  free(RP_TAKE(row->digest));
  for (int i = 0; i < RP_PARTS_MAX; i++) {
    free(row->part[i]);
    row->part[i] = strdup("[]");
    if (!row->part[i]) return rp__fail_nomem(err);
  }
  return row->sealed_body ? 0 : rp__fail_nomem(err);
}

int rp__capture_make(rp_session *s, int64_t end_ms, bool crash_recovered, const struct rp__last_words *words,
                     struct rp__capture *ret, rp_error *err)
{
  struct rp__record_parts parts RP_CLEANUP(rp__record_done) = {0};
  struct rp__session_row session = {0};
  *ret = (struct rp__capture){0};
  int rc = rp__session_row(s, &session, err);
  if (rc) return rc;
  ret->row.session_ref = session.ref;
  memcpy(ret->row.session_id, session.id, RP_NAME);
  memcpy(ret->row.scope, session.scope, RP_NAME);
  memcpy(ret->row.channel, session.channel, RP_NAME);
  memcpy(ret->row.previous_id, session.previous_id, RP_NAME);
  memcpy(ret->row.continued_by, session.continued_by, RP_NAME);
  ret->row.start_ms = session.created_at;
  ret->row.end_ms = end_ms;
  ret->row.created_ms = ret->row.updated_ms = rp__engine_now(s->e);
  ret->row.crash_recovered = crash_recovered;
  RP_AUTOFREE char *root = rp__meta_root(session.meta);
  rp__session_row_done(&session);
  rc = build_parts(s, end_ms, s->view ? s->view->root : root, words, &parts, err);
  if (!rc) {
    for (int i = 0; i < RP_PARTS_MAX; i++) ret->row.part[i] = RP_TAKE(parts.json[i]);
    ret->row.dropped = RP_TAKE(parts.dropped);
    ret->row.digest = RP_TAKE(parts.digest);
    ret->row.asked = parts.asked;
    ret->row.n_tasks = parts.n_tasks;
    ret->row.has_critical = parts.has_critical;
    ret->row.n_topics = parts.n_hashes;
    memcpy(ret->row.topics, parts.topics, parts.n_hashes * sizeof parts.topics[0]);
  }
  if (!rc) rc = seal_parts(s, &ret->row, err);
  if (!rc) {
    const struct rp__record_row *r = &ret->row;
    rp__audit_begin(&ret->note);
    rp__jw_pack(&ret->note.w,
                "session_id:s channel:s duration_minutes:d pin_count:i learning_count:i task_count:i hot_topic_count:i "
                "crash_recovered:b",
                r->session_id, r->channel, (double)RP_MAX(0, r->end_ms - r->start_ms) / 60000.0, (int64_t)parts.n_pins,
                (int64_t)parts.n_learnings, (int64_t)parts.n_tasks, (int64_t)parts.n_topics, r->crash_recovered);
    rc = rp__audit_op_with(s->e, r->scope, s->key, "session_captured", &ret->note, &ret->ops[1], err);
  }
  if (rc) {
    rp__capture_done(ret);
    return rc;
  }
  ret->ops[0] = (struct rp__op){.type = RP_OP_RECORD_PUT, RP__OP_OF(s->e, s), .copying = s->copying};
  ret->n = RP_CAPTURE_OPS;
  return 0;
}

size_t rp__capture_ops(const struct rp__capture *c, struct rp__op *ops)
{
  memcpy(ops, c->ops, c->n * sizeof *ops);
  if (c->n) ops[0].u.record.row = &c->row;
  return c->n;
}

void rp__capture_mirror(rp_session *s, struct rp__capture *c)
{
  rp_error err = {0};
  if (!c->n || s->key) return;
  if (rp__mirror_record(s->e, &c->row, &err))
    rp__log(&s->e->log, RP_LOG_WARN, "mirror of session %s: %s", s->id, err.message);
}

void rp__capture_done(struct rp__capture *c)
{
  rp__record_row_done(&c->row);
  rp__audit_done(&c->note);
  c->n = 0;
}

/* ---- reading back ---- */

int rp__record_write(const struct rp__record_row *row, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_pack(&w, "{session_id:s start_time:t end_time:t channel:s", row->session_id, row->start_ms, row->end_ms,
              row->channel[0] ? row->channel : "unknown");
  for (int i = 0; i < RP_PARTS_MAX; i++) {
    rp__jw_key(&w, rp__record_names[i]);
    rp__jw_raw(&w, row->part[i] ? row->part[i] : "[]", row->part[i] ? strlen(row->part[i]) : 2);
  }
  if (row->dropped) {
    rp__jw_key(&w, RP_RECORD_DROPPED);
    rp__jw_raw(&w, row->dropped, strlen(row->dropped));
  }
  if (row->digest) {
    rp__jw_key(&w, RP_RECORD_DIGEST);
    rp__jw_raw(&w, row->digest, strlen(row->digest));
  }
  rp__jw_pack(&w, "previous_session_id:s continued_by:s crash_recovered:b schema_version:i}",
              row->previous_id[0] ? row->previous_id : NULL, row->continued_by[0] ? row->continued_by : NULL,
              row->crash_recovered, INT64_C(1));
  return out->err;
}

int rp__record_text(const struct rp__record_row *row, const struct rp__key *key, struct rp__buf *out, rp_error *err)
{
  if (!row->sealed_body) return rp__record_write(row, out) ? rp__fail_nomem(err) : 0;
  return rp__unseal(key, rp__str(row->session_id), row->sealed_body, row->sealed_len, out, err);
}

int rp__record_read(rp_engine *e, const struct rp__session_row *session, struct rp__buf *out, rp_error *err)
{
  struct rp__record_row row RP_CLEANUP(rp__record_row_done) = {0};
  const struct rp__key *key = NULL;
  int rc = e->store->ops->record_get(e->store, session->ref, &row, err);
  if (rc) return rc;
  if (row.archived) return rp__archive_read(e, session, out, err);
  if (row.sealed_body) rc = rp__scope_key(e, session->scope, &key, err);
  return rc ? rc : rp__record_text(&row, key, out, err);
}
