/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Anything given to the importers of other programs' formats: the first byte says which (or that the content tells),
 * the rest is the document. It is refused with a code of the table, or every event that comes out passes the check
 * that events from outside pass, under an id we may use; the session folds, goes out again in every format, and what
 * was written is accepted by the importer of that format.
 */
#include <stdint.h>
#include <stdlib.h>

#include "core/fold.h"
#include "facets/table.h"
#include "format/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS_MAX 4096
#define SESSIONS_MAX 8

struct kept {
  int64_t at;
  char kind[64];
  char *body;
  size_t n;
};

struct fuzz {
  struct rp__foreign f;
  struct kept *events;
  size_t n, sessions;
  bool open, exporting;
};

static int take_bytes(struct fuzz *x, const char *format, const void *bytes, size_t n, rp_error *err);

static void drop_events(struct fuzz *x)
{
  for (size_t i = 0; i < x->n; i++) free(x->events[i].body);
  x->n = 0;
}

static int on_begin(void *ctx, const struct rp__foreign *f, rp_error *err)
{
  struct fuzz *x = ctx;
  if (!rp__name_ok(f->id)) abort();
  if (x->open) abort();
  drop_events(x);
  x->f = *f;
  if (x->sessions++ >= SESSIONS_MAX) return rp__fail(err, RP_E_LIMIT, "enough");
  x->open = true;
  return 0;
}

static int on_event(void *ctx, const struct rp__event *ev, rp_error *err)
{
  struct fuzz *x = ctx;
  struct rp__event checked;
  if (!x->open || ev->seq != (int64_t)x->n + 1) abort();
  if (ev->kind == RP_KIND_RESTORED || ev->kind == RP_KIND_RUNTIME) {
    struct rp__json v;
    if (rp__json_parse(ev->body.p, ev->body.n, NULL, &v, NULL) || v.type != RP_JSON_OBJECT) abort();
  } else if (rp__event_check(ev->kind_name, ev->body.p, ev->body.n, RP_BODY_MAX, false, &checked, NULL)) {
    abort();
  }
  if (x->n == EVENTS_MAX) return rp__fail(err, RP_E_LIMIT, "enough");
  struct kept *k = &x->events[x->n];
  k->body = malloc(ev->body.n);
  if (!k->body) return rp__fail_nomem(err);
  memcpy(k->body, ev->body.p, ev->body.n);
  k->n = ev->body.n;
  k->at = ev->at_ms;
  snprintf(k->kind, sizeof k->kind, "%s", ev->kind_name);
  x->n++;
  return 0;
}

static struct rp__event event_of(const struct kept *k, size_t i)
{
  return (struct rp__event){.seq = (int64_t)i + 1,
                            .at_ms = k->at,
                            .kind = rp__kind_parse(k->kind),
                            .kind_name = k->kind,
                            .body = rp__json_trusted(k->body, k->n)};
}

static int give_events(void *ctx, rp__given_fn *fn, void *fn_ctx, rp_error *err)
{
  struct fuzz *x = ctx;
  int rc = 0;
  (void)err;
  for (size_t i = 0; !rc && i < x->n; i++) {
    struct rp__event ev = event_of(&x->events[i], i);
    rc = fn(fn_ctx, &ev);
  }
  return rc;
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return ((struct rp__buf *)ctx)->err;
}

static void fill(void *ctx, void *bytes, size_t n)
{
  (void)ctx;
  memset(bytes, 7, n);
}

static struct rp__fold *fold_of(struct fuzz *x)
{
  struct rp__fold *f = NULL;
  int64_t to;
  if (rp__fold_new(&rp__facets, &f)) return NULL;
  for (size_t i = 0; i < x->n; i++) {
    struct rp__event ev = event_of(&x->events[i], i);
    if (rp__fold_apply(f, &ev, &to)) abort(); /* no document turns back time */
  }
  return f;
}

static void give_all(struct fuzz *x)
{
  static const struct rp__random random = {fill, NULL};
  struct rp__fold *fold RP_AUTOFOLD = fold_of(x);
  if (!fold) return;
  for (const struct rp__format *const *f = rp__formats; *f; f++) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
    struct rp__giver g = {.state = fold,
                          .session = {.id = x->f.id,
                                      .scope = "fuzz",
                                      .channel = "",
                                      .previous_id = "",
                                      .continued_by = "",
                                      .created_at = x->f.created_at,
                                      .last_activity_at = x->f.last_activity_at,
                                      .ended_at = x->f.ended_at},
                          .now_ms = 1800000000000,
                          .random = &random,
                          .events = give_events,
                          .ctx = x,
                          .write = to_buf,
                          .write_ctx = &out};
    rp_error err = {0};
    if ((*f)->export(&g, &err) || !(*f)->import) continue;
    struct fuzz again = {.events = calloc(EVENTS_MAX, sizeof *again.events), .exporting = true};
    if (!again.events) return;
    int rc = take_bytes(&again, (*f)->name, out.p ? out.p : "", out.n, &err);
    if (rc && rc != RP_E_LIMIT && rc != RP_E_TOO_LARGE) abort();
    drop_events(&again);
    free(again.events);
  }
}

static int on_end(void *ctx, rp_error *err)
{
  struct fuzz *x = ctx;
  (void)err;
  if (!x->open) abort();
  x->open = false;
  if (!x->exporting) give_all(x);
  return 0;
}

static void on_note(void *ctx, const char *text)
{
  (void)ctx;
  if (!text[0]) abort();
}

static int on_secret(void *ctx, enum rp__foreign_secret which, const char *text, size_t n, rp_error *err)
{
  (void)ctx, (void)err;
  if (which > RP_SECRET_MANAGER || strlen(text) > n) abort();
  return 0;
}

static int on_failed(void *ctx, const char *name, const char *why)
{
  (void)ctx;
  if (!name || !why) abort();
  return 0;
}

static int take_bytes(struct fuzz *x, const char *format, const void *bytes, size_t n, rp_error *err)
{
  struct rp__doc doc;
  struct rp__taker t = {RP_BODY_MAX, on_begin, on_event, on_end, on_note, on_secret, on_failed, x};
  int rc = rp__doc_open(bytes, n, &doc, err);
  if (rc) return rc;
  const struct rp__format *f = format ? rp__format_find(format) : rp__format_detect(&doc);
  rc = f ? f->import(&doc, &t, err) : rp__format_refuse(NULL, err);
  rp__doc_done(&doc);
  return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const char *const names[] = {NULL, "nova", "cortex", "clawd", "orbitmesh"};
  rp_error err = {0};
  if (size < 1) return 0;
  struct fuzz x = {.events = calloc(EVENTS_MAX, sizeof *x.events)};
  if (!x.events) return 0;
  int rc = take_bytes(&x, names[data[0] % RP_ARRAY_SIZE(names)], data + 1, size - 1, &err);
  if (rc && (rp_error_lookup(rc)->code != rc || err.code != rc || !err.message[0])) abort();
  drop_events(&x);
  free(x.events);
  return 0;
}
