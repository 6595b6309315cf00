/* SPDX-License-Identifier: Apache-2.0 */
/* A sink that writes down everything an importer hands on. */
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
  rp__fold_free(b->fold);
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

int book_giver(struct book *b, size_t session, struct rp__giver *ret, rp_error *err)
{
  static struct given given;
  const struct rp__foreign *of = &b->session[session];
  struct rp__fold *f RP_AUTOFOLD = NULL;
  int64_t to;
  if (rp__fold_new(&rp__facets, &f)) return rp__fail_nomem(err);
  for (size_t i = b->first[session]; i < b->first[session + 1]; i++) {
    struct rp__event ev = event_of(b, session, i);
    if (rp__fold_apply(f, &ev, &to)) return rp__fail_nomem(err);
  }
  given = (struct given){b, session};
  *ret = (struct rp__giver){.state = f,
                            .session = {.id = of->id,
                                        .scope = "test",
                                        .channel = of->channel,
                                        .previous_id = of->previous_id,
                                        .continued_by = of->continued_by,
                                        .created_at = of->created_at,
                                        .last_activity_at = of->last_activity_at,
                                        .ended_at = of->ended_at,
                                        .crash_recovered = of->crashed},
                            .now_ms = rp__fold_at_ms(f),
                            .started_at = of->created_at,
                            .total_sessions = 42,
                            .clean = of->ended_at && !of->crashed,
                            .random = &rp__system_random,
                            .events = give_events,
                            .ctx = &given};
  rp__fold_free(b->fold);
  b->fold = RP_TAKE(f);
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
  struct rp__giver g;
  int rc = book_giver(b, session, &g, err);
  if (rc) return rc;
  g.write = to_buf;
  g.write_ctx = out;
  rc = rp__format_find(format)->export(&g, err);
  return out->err == RP_E_NOMEM ? rp__fail_nomem(err) : rc;
}
