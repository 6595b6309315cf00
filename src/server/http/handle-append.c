/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Appends events. An append is queued, and the request waits without occupying a thread; the engine's acknowledgement
 * answers it. Bodies are passed on unchanged, so the store gets the bytes that the client wrote.
 */
#include "base/given-values.h"
#include "base/clock.h"
#include "server/http/handle.h"
#include "server/channel/socket.h"
#include "base/enum-words.h"

#define KIND_TEXT 80 /* bytes of a kind and its NUL; the engine's own bound is smaller and speaks of it */
#define KEY_TEXT 258 /* of an idempotency key, likewise */

/* ---- reading the request ---- */

struct words {
  char kind[KIND_TEXT], key[KEY_TEXT];
};

struct batch {
  rp_event *ev;
  struct words *words;
  size_t n;
  bool many; /* an array came, be it of one */
};

static void batch_done(struct batch *b)
{
  free(b->ev);
  free(b->words);
}

/* The place in an array, in front of the field at fault. */
static void place(rp_error *err, unsigned i)
{
  char field[sizeof err->field];
  snprintf(field, sizeof field, "events[%u]%s%.48s", i, err->field[0] ? "." : "", err->field);
  memcpy(err->field, field, sizeof field);
}

/* Text longer than `out` is cut there: it is over the engine's bound anyway, whose error names that. */
static int copy_text(struct rp__json v, const char *name, char *out, size_t size, rp_error *err)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_BODY_MAX);
  struct rp__str s = {v.p + 1, v.n - 2};
  if (v.type != RP_JSON_STRING) return rp__fail_field(err, RP_E_INVALID, name, "%s must be a string", name);
  if (memchr(v.p, '\\', v.n)) {
    if (rp__json_text(v, &text)) return rp__fail_field(err, RP_E_INVALID, name, "%s is too long", name);
    s = (struct rp__str){text.p ? text.p : "", text.n};
  }
  if (s.n && memchr(s.p, 0, s.n)) return rp__fail_field(err, RP_E_INVALID, name, "%s holds a NUL character", name);
  size_t n = RP_MIN(s.n, size - 1);
  memcpy(out, s.p, n);
  out[n] = 0;
  return 0;
}

static int read_member(struct rp__json event, struct rp__json key, struct rp__json v, rp_event *ret,
                       struct words *words, rp_error *err)
{
  static const char *const members[] = {"kind", "body", "at", "idempotency_key", "seq", NULL};
  if (rp__json_eq(key, "kind")) {
    ret->kind = words->kind;
    return copy_text(v, "kind", words->kind, sizeof words->kind, err);
  }
  if (rp__json_eq(key, "body")) {
    ret->body = v.p;
    ret->body_len = v.n;
    return 0;
  }
  if (rp__json_eq(key, "at")) {
    if (v.type == RP_JSON_NULL) return 0;
    if (v.type == RP_JSON_STRING && rp__time_parse(v.p + 1, v.n - 2, &ret->at_ms) == 0) return 0;
    return rp__fail_field(err, RP_E_INVALID, "at", "at must be a time like 2026-11-16T09:30:00Z");
  }
  if (rp__json_eq(key, "idempotency_key")) {
    if (v.type == RP_JSON_NULL) return 0;
    ret->idempotency_key = words->key;
    return copy_text(v, "idempotency_key", words->key, sizeof words->key, err);
  }
  if (rp__json_eq(key, "seq")) return 0; /* the number it had elsewhere */
  return rp__body_known(event, members, err);
}

/* One pass: a body may be long. */
static int read_event(struct rp__json event, rp_event *ret, struct words *words, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json key, v;
  int rc = 0;
  if (event.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "", "an event must be an object with kind and body");
  while (!rc && rp__json_next(event, &it, &key, &v)) rc = read_member(event, key, v, ret, words, err);
  if (rc) return rc;
  if (!ret->kind) return rp__fail_field(err, RP_E_INVALID, "kind", "kind is missing");
  return ret->body ? 0 : rp__fail_field(err, RP_E_INVALID, "body", "body is missing");
}

static int batch_read(struct rp__json body, struct batch *b, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json v = body;
  b->many = body.type == RP_JSON_ARRAY;
  if (!b->many && body.type != RP_JSON_OBJECT)
    return rp__fail_field(err, RP_E_INVALID, "events", "the body must be an event, or an array of events");
  b->n = b->many ? rp__json_count(body) : 1;
  if (b->n == 0) return rp__fail_field(err, RP_E_INVALID, "events", "there is no event to append");
  if (b->n > RP_BATCH_MAX) return rp__fail(err, RP_E_TOO_LARGE, "a batch has at most %d events", RP_BATCH_MAX);
  b->ev = calloc(b->n, sizeof *b->ev);
  b->words = calloc(b->n, sizeof *b->words);
  int rc = b->ev && b->words ? 0 : rp__fail_nomem(err);
  for (size_t i = 0; !rc && i < b->n; i++) {
    if (b->many) rp__json_next(body, &it, NULL, &v);
    rc = read_event(v, &b->ev[i], &b->words[i], err);
    if (!rc && i && b->ev[i].idempotency_key)
      rc = rp__fail_field(err, RP_E_INVALID, "idempotency_key", "the key of an array belongs to its first event");
    if (rc && b->many && rc != RP_E_NOMEM) place(err, (unsigned)i);
  }
  return rc;
}

/* The header's key is for the request as a whole, which the engine knows by its first event's. */
static int read_key(const struct rp__http_call *c, struct batch *b, rp_error *err)
{
  const char *key;
  int rc = rp__handle_key(c, &key, err);
  if (rc || !key) return rc;
  if (b->ev[0].idempotency_key && strcmp(b->ev[0].idempotency_key, key) != 0)
    return rp__fail_field(err, RP_E_INVALID, "idempotency_key", "the event and the header have different keys");
  b->ev[0].idempotency_key = key;
  return 0;
}

static int read_options(struct rp__http_call *c, rp_append_options *o, char client[RP_ID_MAX + 1], rp_error *err)
{
  char text[16] = "", fallback[16] = "";
  int64_t expect = -1;
  *o = (rp_append_options){0};
  int rc = rp__call_text(c, "durability", text, sizeof text, err);
  if (!rc) rc = rp__call_text(c, "fallback", fallback, sizeof fallback, err);
  if (rc) return rc;
  if (text[0]) o->durability = rp__durability_parse(text);
  if (text[0] && !o->durability)
    return rp__fail_field(err, RP_E_USAGE, "durability", "the query's 'durability' must be memory, os or disk");
  if (fallback[0] && strcmp(fallback, "memory") != 0)
    return rp__fail_field(err, RP_E_USAGE, "fallback", "the query's 'fallback' can only be memory");
  o->accepts_memory = fallback[0];
  rc = rp__call_i64(c, "epoch", 1, INT64_MAX, &o->epoch, err);
  if (!rc) rc = rp__call_i64(c, "expect", 0, INT64_MAX, &expect, err);
  if (!rc) rc = rp__call_text(c, "client_id", client, RP_ID_MAX + 1, err);
  if (!rc) rc = rp__call_i64(c, "client_seq", 1, RP_SEQ_MAX, &o->client_seq, err);
  if (rc) return rc;
  o->expect_seq = rp__given_seq(expect);
  o->client_id = client[0] ? client : NULL;
  if (!o->client_id != !o->client_seq)
    return rp__fail_field(err, RP_E_USAGE, o->client_id ? "client_seq" : "client_id",
                          "client_id and client_seq belong together");
  return 0;
}

/* ---- appending ---- */

static void finish(struct rp__http_call *c, const rp_ack *ack, const rp_error *err, bool many)
{
  if (ack) {
    rp__channels_budget(c->srv, c->entry->id, ack);
    rp__handle_ack(&c->w, ack, many);
  } else if (err->code == RP_E_FENCED) {
    /* The handle that was told so would believe it of every later writer, who may know better. */
    rp__registry_forget(c->srv->registry, c->entry->id);
  }
  rp__call_finish(c, ack ? 0 : err->code, err);
}

static void stored_one(void *ctx, const rp_ack *ack, const rp_error *err)
{
  finish(ctx, ack, err, false);
}

static void stored_many(void *ctx, const rp_ack *ack, const rp_error *err)
{
  finish(ctx, ack, err, true);
}

/* The request is deferred first: its answer may come before this returns. After success `c` may be gone. */
static int append(struct rp__http_call *c, const rp_append_options *o, const struct batch *b, rp_error *err)
{
  if (!(c->route->flags & RP_ROUTE_POOL)) rp__request_defer(c->req);
  int rc = rp_append_many_async(c->entry->s, b->ev, b->n, o, b->many ? stored_many : stored_one, c, err);
  if (!rc) return RP_CALL_LATER;
  /* The engine says "event 4 of 9: …" of the event at fault. */
  bool told = strncmp(err->message, "event ", 6) == 0;
  unsigned long long at = b->n == 1 ? 1 : told ? strtoull(err->message + 6, NULL, 10) : 0;
  if (b->many && at && at <= RP_BATCH_MAX) place(err, (unsigned)at - 1);
  return rc;
}

int rp__handle_append(struct rp__http_call *c, rp_error *err)
{
  struct batch b RP_CLEANUP(batch_done) = {0};
  rp_append_options o;
  char client[RP_ID_MAX + 1] = "";
  int rc = read_options(c, &o, client, err);
  if (!rc) rc = batch_read(c->body, &b, err);
  if (!rc) rc = read_key(c, &b, err);
  return rc ? rc : append(c, &o, &b, err);
}

int rp__handle_append_body(struct rp__http_call *c, const char *kind, rp_error *err)
{
  rp_event ev = {.kind = kind, .body = c->body.p, .body_len = c->body.n};
  struct batch b = {.ev = &ev, .n = 1};
  int rc = read_key(c, &b, err);
  return rc ? rc : append(c, NULL, &b, err);
}
