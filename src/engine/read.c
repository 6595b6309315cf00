/* SPDX-License-Identifier: Apache-2.0 */
/* Reading for users: events, waiting for more, search, what a client has stored. */
#include <time.h>

#include "engine/engine.h"
#include "base/text.h"

#define WAIT_STEP_MS 20 /* how often another process's writes are looked for */

struct events_ctx {
  rp_event_fn *fn;
  void *ctx;
};

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct events_ctx *x = ctx;
  rp_event_info info = {.seq = ev->seq,
                        .at_ms = ev->at_ms,
                        .kind = ev->kind_name,
                        .body = ev->body.p,
                        .body_len = ev->body.n,
                        .lost = ev->lost};
  return x->fn(x->ctx, &info);
}

int rp_events(rp_session *s, int64_t after, int64_t limit, rp_event_fn *fn, void *ctx, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct events_ctx x = {fn, ctx};
  if (after < 0) after = 0;
  return rp__journal_read_past(s, after, limit > 0 ? after + limit : 0, on_event, &x, NULL, err);
}

static int last_seq(rp_session *s, int64_t *ret, rp_error *err)
{
  struct rp__session_row row = {0};
  int rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  *ret = row.last_seq;
  rp__session_row_done(&row);
  return 0;
}

int rp_wait(rp_session *s, int64_t after, int timeout_ms, int64_t *ret_seq, rp_error *err)
{
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  struct rp__store *st = s->e->store;
  int64_t seq = 0, seen = 0, version = 1;
  for (int waited = 0;; waited += WAIT_STEP_MS) {
    rc = st->ops->version(st, &version, err); /* first: what comes after it makes it another */
    if (!rc && (!waited || version != seen)) rc = last_seq(s, &seq, err);
    if (rc) return rc;
    seen = version;
    if (seq > after || waited >= timeout_ms) {
      *ret_seq = seq;
      return 0;
    }
    nanosleep(&(struct timespec){.tv_nsec = WAIT_STEP_MS * 1000000L}, NULL);
  }
}

int rp_sync(rp_session *s, const char *client_id, int64_t *ret_client_seq, int64_t *ret_seq, rp_error *err)
{
  int64_t mark, seq;
  int rc = rp__session_check(s, err);
  if (rc) return rc;
  if (!client_id || !rp__name_ok(client_id))
    return rp__fail_field(err, RP_E_INVALID, "client_id", "'%s' can't be a client's id",
                          client_id ? rp__text_shown(client_id) : "");
  rc = s->e->store->ops->client_get(s->e->store, s->ref, client_id, &mark, err);
  if (!rc) rc = last_seq(s, &seq, err);
  if (rc) return rc;
  *ret_client_seq = mark;
  *ret_seq = seq;
  return 0;
}

int rp_search(rp_engine *e, const char *words, const char *scope, int limit, rp_hit_fn *fn, void *ctx, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  if (!words || !words[strspn(words, " \t\r\n")])
    return rp__fail_field(err, RP_E_USAGE, "words", "there are no words to search for");
  return e->store->ops->search(e->store, words, scope, limit > 0 ? limit : 20, fn, ctx, err);
}
