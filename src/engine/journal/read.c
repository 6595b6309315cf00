/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the journal: events in their order, unsealed, with a replacement for each event that can't be read. Also the
 * public functions that read events, wait for more, search, and give the last number of a client.
 */
#include <time.h>

#include "base/text.h"
#include "engine/engine.h"

#define WAIT_STEP_MS 20 /* how often another process's writes are looked for */
#define LOST_MAX 65536  /* events missing side by side that are believed; beyond, a counter is what is wrong */
#define READ_END 1      /* from on_row: nothing that follows is wanted */

struct read_ctx {
  rp_session *s;
  rp__event_fn *fn;
  void *ctx;
  rp_error *err;
  struct rp__buf plain;
  bool past;    /* lost events are told instead of ending the reading */
  bool stopped; /* by the callback, whose value is the result */
  int64_t next, upto, at_ms;
  struct rp__lost lost;
};

static int hand_out(struct read_ctx *x, const struct rp__event *ev)
{
  int rc = x->fn(x->ctx, ev);
  x->stopped = rc != 0;
  x->next = ev->seq + 1;
  x->at_ms = ev->at_ms;
  return rc;
}

/* Tells of an event that can't be read by the event that a repair would store in its place. */
static int tell_lost(struct read_ctx *x, int64_t seq, int64_t at_ms, const char *why, const char *kind)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&body);
  rp__jw_pack(&w, "{reason:s", why);
  if (kind && rp__name_ok(kind)) rp__jw_kstr(&w, "original_kind", kind);
  rp__jw_end_object(&w);
  if (body.err) return rp__fail_nomem(x->err);
  if (!x->lost.n++) {
    x->lost.first = seq;
    snprintf(x->lost.why, sizeof x->lost.why, "%s", why);
  }
  struct rp__event ev = {.seq = seq,
                         .at_ms = at_ms,
                         .kind = RP_KIND_OTHER,
                         .kind_name = RP_KIND_DAMAGED,
                         .body = rp__json_trusted(body.p, body.n),
                         .lost = true};
  return hand_out(x, &ev);
}

/* Events up to `last` are missing; those that were asked for are told. */
static int tell_missing(struct read_ctx *x, int64_t last)
{
  if (last - x->next >= LOST_MAX)
    return rp__fail(x->err, RP_E_CORRUPT, "session %s: events %lld to %lld are missing", x->s->id, (long long)x->next,
                    (long long)last);
  int rc = 0;
  if (x->upto) last = RP_MIN(last, x->upto);
  while (!rc && x->next <= last) rc = tell_lost(x, x->next, x->at_ms, "it is missing", NULL);
  return rc;
}

static int on_row(void *ctx, const struct rp__event_row *row)
{
  struct read_ctx *x = ctx;
  struct rp__str body = {row->body, row->body_len};
  int rc = 0;
  if (row->seq < x->next) return 0; /* an index that gives an event twice */
  if (x->past && row->seq > x->next) rc = tell_missing(x, row->seq - 1);
  if (!rc && x->upto && row->seq > x->upto) return READ_END;
  if (!rc && row->damaged) return tell_lost(x, row->seq, row->at_ms, "its checksum does not fit", row->kind);
  if (!rc && row->sealed) {
    rp__buf_reset(&x->plain);
    rc = rp__unseal(x->s->key, rp__session_ad(x->s), row->body, row->body_len, &x->plain, x->err);
    if (rc == RP_E_CORRUPT && x->past) return tell_lost(x, row->seq, row->at_ms, "it can't be unsealed", row->kind);
    if (rc) rp__wrap(x->err, "session %s, event %lld", x->s->id, (long long)row->seq);
    body = (struct rp__str){x->plain.p, x->plain.n};
  }
  if (rc) return rc;
  struct rp__event ev = {
      .seq = row->seq,
      .at_ms = row->at_ms,
      .kind = rp__kind_parse(row->kind),
      .kind_name = row->kind,
      .body = rp__json_trusted(body.p, body.n),
  };
  return hand_out(x, &ev);
}

static int read_from(struct read_ctx *x, rp_error *err)
{
  struct rp__store *st = x->s->e->store;
  int64_t after = x->next - 1;
  struct rp__event_range r = {.session_ref = x->s->ref, .session_id = x->s->id, .after = after, .tolerant = x->past};
  if (!x->past && x->upto) r.limit = x->upto - after;
  RP_MAY_ASK_STORE();
  int rc = st->ops->event_list(st, &r, on_row, x, err);
  return rc == READ_END && !x->stopped ? 0 : rc;
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

static int journal_read(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, struct rp__lost *lost,
                        rp_error *err)
{
  rp_error own = {0};
  if (!err) err = &own;
  if (upto && upto <= after) return 0;
  struct read_ctx x = {.s = s,
                       .fn = fn,
                       .ctx = ctx,
                       .err = err,
                       .plain = RP_BUF(s->config->body_bytes + RP_BODY_MAX),
                       .next = after + 1,
                       .upto = upto};
  int rc = read_from(&x, err);
  if (rc == RP_E_CORRUPT && lost && !x.stopped) {
    /* The rest of a damaged journal. Its end is asked for first: what comes meanwhile is not missing. */
    int64_t last;
    x.past = true;
    rc = last_seq(s, &last, err);
    if (!rc) rc = read_from(&x, err);
    if (!rc && !x.stopped && !(upto && x.next > upto)) rc = tell_missing(&x, last);
  }
  if (rc == RP_E_CORRUPT && !x.stopped) rp__hint(err, "'reprise verify --repair' mends what can be mended");
  rp__buf_done(&x.plain);
  if (lost) *lost = x.lost;
  return rc;
}

int rp__journal_read(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, rp_error *err)
{
  return journal_read(s, after, upto, fn, ctx, NULL, err);
}

int rp__journal_read_past(rp_session *s, int64_t after, int64_t upto, rp__event_fn *fn, void *ctx, struct rp__lost *ret,
                          rp_error *err)
{
  struct rp__lost lost = {0};
  int rc = journal_read(s, after, upto, fn, ctx, &lost, err);
  if (ret)
    *ret = lost;
  else if (lost.n)
    rp__log(&s->e->log, RP_LOG_WARN,
            "session %s: %lld event%s can't be read, the first is %lld (%s); 'reprise verify --repair' mends what can "
            "be mended",
            s->id, (long long)lost.n, lost.n == 1 ? "" : "s", (long long)lost.first, lost.why);
  return rc;
}

/* ---- for users ---- */

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
