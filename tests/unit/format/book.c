/* SPDX-License-Identifier: Apache-2.0 */
#include "format_test.h"

static int on_begin(void *ctx, const struct rp__foreign *f, rp_error *err)
{
  struct book *b = ctx;
  if (b->skip) return RP__TAKE_SKIP;
  if (b->n_sessions == BOOK_SESSIONS) return rp__fail(err, RP_E_LIMIT, "too many sessions for a test");
  b->session[b->n_sessions] = *f;
  b->first[b->n_sessions++] = b->n;
  b->first[b->n_sessions] = b->n;
  return 0;
}

static int on_event(void *ctx, const struct rp__event *ev, rp_error *err)
{
  struct book *b = ctx;
  if (b->n == BOOK_EVENTS) return rp__fail(err, RP_E_LIMIT, "too many events for a test");
  struct page *p = &b->event[b->n];
  p->body = strndup(ev->body.p, ev->body.n);
  if (!p->body) return rp__fail_nomem(err);
  p->at = ev->at_ms;
  snprintf(p->kind, sizeof p->kind, "%s", ev->kind_name);
  b->first[b->n_sessions] = ++b->n;
  return 0;
}

static int on_end(void *ctx, rp_error *err)
{
  (void)err;
  ((struct book *)ctx)->ended++;
  return 0;
}

static void on_note(void *ctx, const char *text)
{
  struct book *b = ctx;
  size_t n = strlen(b->notes);
  snprintf(b->notes + n, sizeof b->notes - n, "%s\n", text);
}

static int on_secret(void *ctx, enum rp__foreign_secret which, const char *text, size_t n, rp_error *err)
{
  static const char *const words[] = {"store", "session", "manager"};
  struct book *b = ctx;
  size_t at = strlen(b->secrets);
  (void)err;
  assert_int_equal(strlen(text), n);
  snprintf(b->secrets + at, sizeof b->secrets - at, "%s %s\n", words[which], text);
  return 0;
}

static int on_failed(void *ctx, const char *name, const char *why)
{
  struct book *b = ctx;
  snprintf(b->failed, sizeof b->failed, "%s: %s", name, why);
  return 0;
}

struct rp__taker book_taker(struct book *b)
{
  return (struct rp__taker){.max_body = RP_BODY_MAX,
                            .begin = on_begin,
                            .event = on_event,
                            .end = on_end,
                            .note = on_note,
                            .secret = on_secret,
                            .failed = on_failed,
                            .ctx = b};
}

void book_clear(struct book *b)
{
  for (size_t i = 0; i < b->n; i++) free(b->event[i].body);
  memset(b, 0, sizeof *b);
}

int book_import(struct book *b, const char *format, const void *bytes, size_t n, rp_error *err)
{
  struct rp__doc doc;
  struct rp__taker t = book_taker(b);
  int rc = rp__doc_open(bytes, n, &doc, err);
  if (rc) return rc;
  const struct rp__format *f = format ? rp__format_find(format) : rp__format_detect(&doc);
  rc = f ? f->import(&doc, &t, err) : rp__format_refuse(NULL, err);
  rp__doc_done(&doc);
  return rc;
}

const char *book_find(const struct book *b, size_t session, const char *kind, size_t nth)
{
  for (size_t i = b->first[session]; session < b->n_sessions && i < b->first[session + 1]; i++)
    if (strcmp(b->event[i].kind, kind) == 0 && nth-- == 0) return b->event[i].body;
  return "";
}

size_t book_count(const struct book *b, size_t session, const char *kind)
{
  size_t n = 0;
  for (size_t i = b->first[session]; session < b->n_sessions && i < b->first[session + 1]; i++)
    n += strcmp(b->event[i].kind, kind) == 0;
  return n;
}

/* ---- giving ---- */

static struct rp__event event_of(const struct book *b, size_t session, size_t i)
{
  const struct page *p = &b->event[i];
  return (struct rp__event){.seq = (int64_t)(i - b->first[session]) + 1,
                            .at_ms = p->at,
                            .kind = rp__kind_parse(p->kind),
                            .kind_name = p->kind,
                            .body = rp__json_trusted(p->body, strlen(p->body))};
}

struct given {
  struct book *b;
  size_t session;
};

static int give_events(void *ctx, rp__given_fn *fn, void *fn_ctx, rp_error *err)
{
  struct given *g = ctx;
  int rc = 0;
  (void)err;
  for (size_t i = g->b->first[g->session]; !rc && i < g->b->first[g->session + 1]; i++) {
    struct rp__event ev = event_of(g->b, g->session, i);
    rc = fn(fn_ctx, &ev);
  }
  return rc;
}

static void write_session(struct rp__jw *w, const struct rp__foreign *f)
{
  rp__jw_key(w, "session");
  rp__jw_object(w);
  rp__jw_kstr(w, "session_id", f->id);
  rp__jw_kstr(w, "scope", "test");
  rp__jw_kstr(w, "channel", f->channel[0] ? f->channel : NULL);
  rp__jw_ktime(w, "created_at", f->created_at);
  rp__jw_ktime(w, "last_activity_at", f->last_activity_at);
  rp__jw_ktime(w, "ended_at", f->ended_at);
  rp__jw_kstr(w, "previous_session_id", f->previous_id[0] ? f->previous_id : NULL);
  rp__jw_kstr(w, "continued_by", f->continued_by[0] ? f->continued_by : NULL);
  rp__jw_kbool(w, "crash_recovered", f->crashed);
  rp__jw_end_object(w);
}

int book_giver(struct book *b, size_t session, struct rp__buf *state, struct rp__giver *ret, rp_error *err)
{
  static struct given given;
  struct rp__fold *f RP_AUTOFOLD = NULL;
  struct rp__jw w = RP_JW(state);
  int64_t to;
  if (rp__fold_new(&rp__facets, &f)) return rp__fail_nomem(err);
  for (size_t i = b->first[session]; i < b->first[session + 1]; i++) {
    struct rp__event ev = event_of(b, session, i);
    if (rp__fold_apply(f, &ev, &to)) return rp__fail_nomem(err);
  }
  rp__jw_object(&w);
  write_session(&w, &b->session[session]);
  rp__fold_show(f, rp__fold_at_ms(f), &w);
  rp__jw_end_object(&w);
  if (state->err) return rp__fail_nomem(err);
  given = (struct given){b, session};
  *ret = (struct rp__giver){.state = rp__json_trusted(state->p, state->n),
                            .now_ms = rp__fold_at_ms(f),
                            .started_at = b->session[session].created_at,
                            .total_sessions = 42,
                            .clean = b->session[session].ended_at && !b->session[session].crashed,
                            .random = &rp__system_random,
                            .events = give_events,
                            .ctx = &given};
  return 0;
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  struct rp__buf *out = ctx;
  rp__buf_add(out, bytes, n);
  return out->err;
}

int book_export(struct book *b, size_t session, const char *format, struct rp__buf *out, rp_error *err)
{
  struct rp__buf state RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  struct rp__giver g;
  int rc = book_giver(b, session, &state, &g, err);
  if (rc) return rc;
  g.write = to_buf;
  g.write_ctx = out;
  rc = rp__format_find(format)->export(&g, err);
  return out->err == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}
