/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full text: an FTS5 table without content, whose rowids are the events' ids, and a mark in rp_meta up to which events
 * are in it. An append's commit does not write it (docs/decisions.md). The index is reset to nothing when it is
 * doubtful: it is missing, was made by another version of these rules, its mark is beyond the events, or a text in it
 * can't be known any more. The next step then builds it anew.
 */
#include "store/sqlite/sqlite.h"

#include "core/event.h"

#define INDEX_VERSION 1 /* of what text is taken from an event */
#define STEP_EVENTS 256
#define STEP_BYTES (512L << 10)
#define TEXT_MAX (256UL << 20)

int rp__sq_index_at(struct rp__sq_conn *c, int64_t *ret, rp_error *err)
{
  int64_t exists, version, at;
  int rc = rp__sq_number(c, RP_SQ_INDEX_EXISTS, NULL, 0, &exists, err);
  if (rc == 0) rc = rp__sq_meta_get(c, "index_version", 0, &version, err);
  if (rc == 0) rc = rp__sq_meta_get(c, RP_SQ_INDEXED, -1, &at, err);
  if (rc == 0) *ret = exists && version == INDEX_VERSION ? at : -1;
  return rc;
}

int rp__sq_index_forget(struct rp__sq_conn *c, rp_error *err)
{
  return rp__sq_meta_set(c, RP_SQ_INDEXED, -1, err);
}

static int index_write(struct rp__sq_conn *c, enum rp__sq_id id, const struct rp__sq_event *ev, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
  rp__event_search_text(rp__json_trusted(ev->body.p, ev->body.n), &text);
  if (text.err) return rp__fail(err, text.err, "event %lld can't be indexed", (long long)ev->seq);
  RP_SQ_AUTO q = rp__sq_query(c, id);
  RP_SQ_BIND(&q, RP_SQ_I(ev->id), RP_SQ_TN(text.p, text.n));
  return rp__sq_done(&q, "index event", err);
}

int rp__sq_index_remove(struct rp__sq_conn *c, const struct rp__sq_event *ev, rp_error *err)
{
  if (ev->sealed) return 0;
  /* What the index holds of a damaged event is not what is read now. */
  return ev->damaged ? rp__sq_index_forget(c, err) : index_write(c, RP_SQ_INDEX_REMOVE, ev, err);
}

int rp__sq_index_put(struct rp__sq_conn *c, const struct rp__sq_event *ev, rp_error *err)
{
  return ev->sealed || ev->damaged ? 0 : index_write(c, RP_SQ_INDEX_PUT, ev, err);
}

static int index_rebuild(struct rp__sq_conn *c, rp_error *err)
{
  static const char sql[] = "DROP TABLE IF EXISTS rp_fts;"
                            "CREATE VIRTUAL TABLE rp_fts USING fts5 (text, content = '',"
                            " tokenize = 'unicode61 remove_diacritics 2')";
  int rc = rp__sq_exec(c, sql, err);
  if (rc == 0) rc = rp__sq_meta_set(c, "index_version", INDEX_VERSION, err);
  return rc ? rc : rp__sq_meta_set(c, RP_SQ_INDEXED, 0, err);
}

struct step {
  int64_t at, max;
};

static int step_events(struct rp__sq_conn *c, struct step *s, rp_error *err)
{
  size_t bytes = 0;
  int rc;
  RP_SQ_AUTO q = rp__sq_query(c, RP_SQ_EVENT_UNINDEXED);
  RP_SQ_BIND(&q, RP_SQ_I(s->at), RP_SQ_I(STEP_EVENTS));
  while (bytes < STEP_BYTES && (rc = rp__sq_next(&q, "read events", err)) != 0) {
    if (rc < 0) return rc;
    struct rp__sq_event ev = {.id = rp__sq_col_int(&q, 0)};
    rp__sq_event_read(&q, 1, &ev);
    rc = rp__sq_index_put(c, &ev, err);
    if (rc != 0) return rc;
    bytes += ev.body.n;
    s->at = ev.id;
  }
  return rp__sq_meta_set(c, RP_SQ_INDEXED, s->at, err);
}

static int step_work(struct rp__sq_conn *c, void *arg, rp_error *err)
{
  struct step *s = arg;
  int rc = rp__sq_index_at(c, &s->at, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &s->max, err);
  if (rc == 0 && (s->at < 0 || s->at > s->max)) {
    rc = index_rebuild(c, err);
    s->at = 0;
  }
  return rc || s->at == s->max ? rc : step_events(c, s, err);
}

/* Whether a step has anything to do; asked without taking a turn. */
static int index_due(struct rp__sq_store *s, struct step *ret, rp_error *err)
{
  RP_AUTOREADER struct rp__sq_conn *c = NULL;
  int rc = rp__sq_reader_take(s, &c, err);
  if (rc == 0) rc = rp__sq_index_at(c, &ret->at, err);
  if (rc == 0) rc = rp__sq_number(c, RP_SQ_EVENT_MAX, NULL, 0, &ret->max, err);
  return rc;
}

int rp__sq_index_step(struct rp__sq_store *s, int64_t *ret_at, int64_t *ret_left, rp_error *err)
{
  struct step step = {0};
  int rc = index_due(s, &step, err);
  if (rc == 0 && step.at != step.max) rc = rp__sq_keeper_txn(s, step_work, &step, err);
  if (rc != 0) return rc;
  *ret_at = step.at;
  *ret_left = step.max - step.at;
  return 0;
}

int rp__sq_index_catch_up(struct rp__sq_store *s, rp_error *err)
{
  struct step now = {0};
  int64_t left = 0;
  int rc = index_due(s, &now, err);
  bool behind = now.at != now.max;
  /* Writers go on meanwhile; what was there at first is the goal. */
  while (rc == 0 && behind) {
    pthread_mutex_lock(&s->maintain_mu);
    rc = rp__sq_index_step(s, &now.at, &left, err);
    pthread_mutex_unlock(&s->maintain_mu);
    behind = left > 0 && now.at < now.max;
  }
  return rc;
}
