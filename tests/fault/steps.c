/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of the two cycles. Each can be run again after it failed: what it writes carries a key. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cycle.h"
#include "lib/rig.h"

static int step_open(struct cycle *c, rp_error *err)
{
  if (c->engine) return 0;
  return c->open ? c->open(c, err) : rig_open(c->url, c->threads, &c->engine, err);
}

static int step_start(struct cycle *c, rp_error *err)
{
  rp_start_options o = {
      .scope = "fault", .key = "cycle", .channel = "test", .owner = RP_OWNER_SELF, .meta = "{\"a\":[1,2,3]}"};
  return rp_start(c->engine, &o, &c->session, err);
}

static int append_keyed(struct cycle *c, rp_session *s, int n, rp_error *err)
{
  rp_ack ack;
  int rc = rig_append(s, "key", n, NULL, &ack, err);
  if (rc == 0) c->acked |= 1u << n;
  return rc;
}

static int step_append(struct cycle *c, rp_error *err)
{
  return append_keyed(c, c->session, 1, err);
}

static int step_append_client(struct cycle *c, rp_error *err)
{
  rp_append_options o = {0};
  rp_ack ack;
  o.client_id = "client";
  o.client_seq = 1;
  o.durability = RP_OS;
  int rc = rig_append(c->session, NULL, 2, &o, &ack, err);
  if (rc == 0) c->acked |= 1u << 2;
  return rc;
}

static int step_append_many(struct cycle *c, rp_error *err)
{
  rp_event ev[] = {
      {.kind = "x-n", .body = "{\"n\":3}", .idempotency_key = "many"},
      {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"hello there\"}"},
      {.kind = "tool", .body = "{\"call_id\":\"t1\",\"name\":\"grep\",\"status\":\"intended\"}"},
      {.kind = "usage", .body = "{\"tokens_in\":10,\"tokens_out\":3}"},
      {.kind = "session", .body = "{\"meta\":{\"b\":2},\"name\":\"cycle\"}"},
  };
  rp_ack ack;
  int rc = rp_append_many(c->session, ev, sizeof(ev) / sizeof(ev[0]), NULL, &ack, err);
  if (rc == 0) c->acked |= 1u << 3;
  return rc;
}

struct answer {
  atomic_int called;
  int code;
  rp_error err;
};

static void answered(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct answer *a = ctx;
  (void)ack;
  a->code = err ? err->code : 0;
  if (err) a->err = *err;
  atomic_fetch_add(&a->called, 1);
}

/* Accepted means answered, once, by the time the flush is over or has failed. */
static int step_append_async(struct cycle *c, rp_error *err)
{
  struct answer a = {0};
  rp_event ev = {.kind = "x-n", .body = "{\"n\":4}", .idempotency_key = "async"};
  int rc = rp_append_async(c->session, &ev, NULL, answered, &a, err);
  if (rc != 0) return rc;
  rp_error flush_err = {0};
  int flushed = rp_flush(c->engine, &flush_err);
  if (a.called != 1) {
    snprintf(err->message, sizeof(err->message), "accepted, flushed with %d and answered %d times", flushed, a.called);
    return err->code = 1;
  }
  if (a.code == 0) c->acked |= 1u << 4;
  if (a.code != 0) *err = a.err;
  return a.code;
}

static int step_guest(struct cycle *c, rp_error *err)
{
  rp_session *guest;
  int rc = rp_attach(c->engine, "cycle", &guest, err);
  if (rc != 0) return rc;
  rc = append_keyed(c, guest, 5, err);
  rp_session_free(guest);
  return rc;
}

/* B-14: a secret in two chunks, the second by somebody else, and an end that is never said. */
static int chunk_keyed(struct cycle *c, rp_session *s, int n, const char *body, rp_error *err)
{
  rp_event ev = {.kind = "message", .body = body, .idempotency_key = n == 7 ? "chunk 7" : "chunk 8"};
  int rc = rp_append(s, &ev, NULL, NULL, err);
  if (rc == 0) c->acked |= 1u << n;
  return rc;
}

static int step_chunk(struct cycle *c, rp_error *err)
{
  return chunk_keyed(c, c->session, 7,
                     "{\"role\":\"assistant\",\"message_id\":\"st\",\"content\":\"say password=hun\",\"partial\":true}",
                     err);
}

static int step_chunk_guest(struct cycle *c, rp_error *err)
{
  rp_session *guest;
  int rc = rp_attach(c->engine, "cycle", &guest, err);
  if (rc != 0) return rc;
  rc = chunk_keyed(c, guest, 8,
                   "{\"role\":\"assistant\",\"message_id\":\"st\",\"content\":\"ter2xy and ghp_\",\"partial\":true}",
                   err);
  rp_session_free(guest);
  return rc;
}

static int step_heartbeat(struct cycle *c, rp_error *err)
{
  int rc = rp_heartbeat(c->session, err);
  return rc ? rc : rp_save(c->session, err);
}

static int step_checkpoint(struct cycle *c, rp_error *err)
{
  int64_t n;
  return rp_checkpoint(c->session, &n, err);
}

static int step_state(struct cycle *c, rp_error *err)
{
  char *json;
  int rc = rp_state_json(c->session, -1, &json, err);
  if (rc == 0) rp_free(json);
  return rc;
}

static int step_append_last(struct cycle *c, rp_error *err)
{
  return append_keyed(c, c->session, 6, err);
}

static int step_end(struct cycle *c, rp_error *err)
{
  return rp_end(c->session, "done", err);
}

const struct cycle_step cycle_core[] = {
    {"open", step_open, 0},
    {"start", step_start, 0},
    {"append", step_append, 0},
    {"append of a client", step_append_client, 0},
    {"append many", step_append_many, 0},
    {"append async", step_append_async, 0},
    {"guest", step_guest, 0},
    {"chunk", step_chunk, 0},
    {"heartbeat", step_heartbeat, 0},
    {"checkpoint", step_checkpoint, 0},
    {"chunk of a guest", step_chunk_guest, 0},
    {"append more", step_append_last, 0},
    {"state", step_state, 0},
    {"end", step_end, RP_E_ENDED},
    {NULL, NULL, 0},
};

const struct cycle_step cycle_create[] = {
    {"open", step_open, 0},
    {"start", step_start, 0},
    {"append", step_append, 0},
    {NULL, NULL, 0},
};

/* ---- the other cycle ---- */

static int same_text(void *ctx, const void *bytes, size_t n)
{
  const char **want = ctx;
  if (strlen(*want) < n || memcmp(*want, bytes, n) != 0) return RP_E_CORRUPT;
  *want += n;
  return 0;
}

/* A blob that was acknowledged is there, whatever fails behind it (O-05). */
static int step_blob(struct cycle *c, rp_error *err)
{
  const char *text = "what is too large for an event, and a password=hunter2 in it";
  const char *want = "what is too large for an event, and a password=[REDACTED] in it";
  char id[RP_BLOB_ID_MAX + 1], body[RP_BLOB_ID_MAX + 32];
  int rc = rp_blob_put(c->session, text, strlen(text), id, err);
  if (rc != 0) return rc;
  snprintf(body, sizeof body, "{\"blob\":\"%s\"}", id);
  rp_event ev = {.kind = "x-blob", .body = body, .idempotency_key = "blob"};
  rc = rp_append(c->session, &ev, NULL, NULL, err);
  if (rc == 0) rc = rp_blob_get(c->session, id, same_text, &want, err);
  if (rc == 0 && *want) rc = RP_E_CORRUPT;
  return rc == RP_E_CORRUPT || rc == RP_E_BLOB_NOT_FOUND ? err->code = 1 : rc;
}

static int step_fork(struct cycle *c, rp_error *err)
{
  char id[RP_ID_MAX + 1];
  return rp_fork(c->session, NULL, id, NULL, err);
}

/* A name that was acknowledged is found, whatever fails behind it. */
static int step_name(struct cycle *c, rp_error *err)
{
  char id[RP_ID_MAX + 1] = "";
  int rc = rp_name_put(c->engine, "a-name", rp_session_id(c->session), err);
  if (rc == 0) rc = rp_name_find(c->engine, "a-name", id, err);
  if (rc == 0 && strcmp(id, rp_session_id(c->session)) != 0) rc = RP_E_SESSION_NOT_FOUND;
  return rc == RP_E_SESSION_NOT_FOUND ? err->code = 1 : rc;
}

static int step_restore(struct cycle *c, rp_error *err)
{
  rp_ack ack;
  return rp_restore(c->session, 3, &ack, err);
}

static int step_state_at(struct cycle *c, rp_error *err)
{
  char *json;
  int rc = rp_state_json(c->session, 3, &json, err);
  if (rc == 0) rp_free(json);
  return rc;
}

struct copy {
  char bytes[65536];
  size_t n, at;
};

static int copy_out(void *ctx, const void *bytes, size_t n)
{
  struct copy *copy = ctx;
  if (n > sizeof(copy->bytes) - copy->n) return RP_E_TOO_LARGE;
  memcpy(copy->bytes + copy->n, bytes, n);
  copy->n += n;
  return 0;
}

static long copy_in(void *ctx, void *bytes, size_t n)
{
  struct copy *copy = ctx;
  size_t left = copy->n - copy->at;
  if (n > left) n = left;
  memcpy(bytes, copy->bytes + copy->at, n);
  copy->at += n;
  return (long)n;
}

static int step_move(struct cycle *c, rp_error *err)
{
  struct copy copy = {.n = 0};
  rp_engine *other = NULL;
  rp_options o = {.db = "memory:", .short_lived = true};
  char id[RP_ID_MAX + 1];
  int rc = rp_export(c->session, copy_out, &copy, NULL, NULL, err);
  if (rc == 0) rc = rp_open(&o, &other, err);
  if (rc == 0) rc = rp_import(other, copy_in, &copy, NULL, NULL, id, err);
  rp_close(other);
  return rc;
}

static int see_hit(void *ctx, const rp_hit *hit)
{
  (void)hit;
  ++*(int *)ctx;
  return 0;
}

static int step_search(struct cycle *c, rp_error *err)
{
  int hits = 0;
  return rp_search(c->engine, "hello", "fault", 5, see_hit, &hits, err);
}

static int see_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int step_list(struct cycle *c, rp_error *err)
{
  int n = 0;
  rp_filter filter = {.scope = "fault"};
  return rp_list(c->engine, &filter, see_session, &n, err);
}

static int step_verify(struct cycle *c, rp_error *err)
{
  return rig_verify(c->engine, err);
}

static int step_stats(struct cycle *c, rp_error *err)
{
  char *json;
  int rc = rp_stats_json(c->engine, &json, err);
  if (rc == 0) rp_free(json);
  return rc;
}

const struct cycle_step cycle_travel[] = {
    {"open", step_open, 0},
    {"start", step_start, 0},
    {"append many", step_append_many, 0},
    {"checkpoint", step_checkpoint, 0},
    {"append more", step_append_last, 0},
    {"blob", step_blob, 0},
    {"fork", step_fork, 0},
    {"name", step_name, 0},
    {"restore", step_restore, 0},
    {"state at", step_state_at, 0},
    {"export and import", step_move, 0},
    {"search", step_search, 0},
    {"list", step_list, 0},
    {"verify", step_verify, 0},
    {"stats", step_stats, 0},
    {"end", step_end, RP_E_ENDED},
    {NULL, NULL, 0},
};
