/* SPDX-License-Identifier: Apache-2.0 */
/* Phoenix messages, version 2: reading and writing JSON and binary frames. */
#include "server/channel/phoenix.h"

enum frame { PUSH = 0, REPLY = 1, BROADCAST = 2 };

/* ---- reading ---- */

/* Where the next name goes; the fields are read in order. */
struct names {
  struct rp__phx *m;
  size_t used;
};

static int refuse_name(const char *what, const char *why, rp_error *err)
{
  return rp__fail_field(err, RP_E_INVALID, what, "the message's %s %s", what, why);
}

static int keep_name(struct names *x, const char *what, const char *p, size_t n, struct rp__str *ret, rp_error *err)
{
  if (n > RP_PHX_NAME_MAX) return refuse_name(what, "has more than 255 bytes", err);
  if (n && memchr(p, 0, n)) return refuse_name(what, "has a NUL character", err);
  char *at = x->m->text + x->used;
  if (n) memcpy(at, p, n);
  at[n] = '\0';
  x->used += n + 1;
  *ret = (struct rp__str){at, n};
  return 0;
}

/* `may_be_null`: refs may. */
static int read_name(struct names *x, struct rp__json v, const char *what, bool may_be_null, struct rp__str *ret,
                     rp_error *err)
{
  if (v.type == RP_JSON_NULL && may_be_null) return 0;
  if (v.type != RP_JSON_STRING)
    return refuse_name(what, may_be_null ? "must be a string or null" : "must be a string", err);
  struct rp__buf text RP_AUTOBUF = RP_BUF(6 * (RP_PHX_NAME_MAX + 1));
  int rc = rp__json_text(v, &text);
  if (rc == RP_E_TOO_LARGE) return refuse_name(what, "has more than 255 bytes", err);
  if (rc) return rp__fail_nomem(err);
  return keep_name(x, what, text.p, text.n, ret, err);
}

static int read_text(const char *bytes, size_t n, struct rp__phx *m, rp_error *err)
{
  struct rp__json_limits limits = {.max_depth = RP_JSON_DEPTH_LIMIT, .allow_duplicates = true};
  struct rp__json all, v[5];
  struct rp__json_iter it = {0};
  struct names x = {.m = m};
  int rc = rp__json_parse(bytes, n, &limits, &all, err);
  if (rc) return rc;
  if (all.type != RP_JSON_ARRAY || rp__json_count(all) != 5)
    return rp__fail(err, RP_E_INVALID, "a message is an array of five: join_ref, ref, topic, event, payload");
  for (size_t i = 0; i < 5; i++) rp__json_next(all, &it, NULL, &v[i]);
  rc = read_name(&x, v[0], "join_ref", true, &m->join_ref, err);
  if (!rc) rc = read_name(&x, v[1], "ref", true, &m->ref, err);
  if (!rc) rc = read_name(&x, v[2], "topic", false, &m->topic, err);
  if (!rc) rc = read_name(&x, v[3], "event", false, &m->event, err);
  m->payload = v[4];
  return rc;
}

static int read_binary(const char *bytes, size_t n, struct rp__phx *m, rp_error *err)
{
  static const char *const what[] = {"join_ref", "ref", "topic", "event"};
  struct rp__str *const field[] = {&m->join_ref, &m->ref, &m->topic, &m->event};
  struct names x = {.m = m};
  size_t at = 5;
  if (n < 5 || bytes[0] != PUSH) return rp__fail(err, RP_E_INVALID, "a binary message is a push: 0, then four lengths");
  for (size_t i = 0; i < 4; i++) {
    size_t len = (uint8_t)bytes[1 + i];
    if (len > n - at) return refuse_name(what[i], "is cut off", err);
    int rc = len || i >= 2 ? keep_name(&x, what[i], bytes + at, len, field[i], err) : 0;
    if (rc) return rc;
    at += len;
  }
  m->binary = true;
  m->data = (struct rp__str){bytes + at, n - at};
  return 0;
}

int rp__phx_read(bool binary, const char *bytes, size_t n, struct rp__phx *ret, rp_error *err)
{
  ret->join_ref = ret->ref = ret->topic = ret->event = ret->data = (struct rp__str){0};
  ret->payload = (struct rp__json){0};
  ret->binary = false;
  int rc = binary ? read_binary(bytes, n, ret, err) : read_text(bytes, n, ret, err);
  if (!rc && !ret->topic.n) rc = refuse_name("topic", "is empty", err);
  if (!rc && !ret->event.n) rc = refuse_name("event", "is empty", err);
  return rc;
}

/* ---- writing ---- */

static void open_text(struct rp__jw *w, const char *join_ref, const char *ref, const char *topic, const char *event)
{
  rp__jw_array(w);
  rp__jw_str(w, join_ref);
  rp__jw_str(w, ref);
  rp__jw_str(w, topic);
  rp__jw_str(w, event);
}

void rp__phx_push(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic, const char *event,
                  struct rp__str json)
{
  struct rp__jw w = RP_JW(out);
  open_text(&w, join_ref, ref, topic, event);
  rp__jw_raw(&w, json.p, json.n);
  rp__jw_end_array(&w);
}

void rp__phx_reply(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic, bool ok,
                   struct rp__str json)
{
  struct rp__jw w = RP_JW(out);
  open_text(&w, join_ref, ref, topic, "phx_reply");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "status", ok ? "ok" : "error");
  rp__jw_key(&w, "response");
  rp__jw_raw(&w, json.p, json.n);
  rp__jw_end_object(&w);
  rp__jw_end_array(&w);
}

static void write_binary(struct rp__buf *out, enum frame kind, const struct rp__str *name, size_t n,
                         struct rp__str data)
{
  rp__buf_char(out, (char)kind);
  for (size_t i = 0; i < n; i++) {
    if (name[i].n > RP_PHX_NAME_MAX && !out->err) out->err = RP_E_TOO_LARGE;
    rp__buf_char(out, (char)name[i].n);
  }
  for (size_t i = 0; i < n; i++) rp__buf_add(out, name[i].p, name[i].n);
  rp__buf_add(out, data.p, data.n);
}

void rp__phx_reply_binary(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic, bool ok,
                          struct rp__str data)
{
  const struct rp__str name[] = {rp__str(join_ref), rp__str(ref), rp__str(topic), rp__str(ok ? "ok" : "error")};
  write_binary(out, REPLY, name, RP_ARRAY_SIZE(name), data);
}

void rp__phx_broadcast_binary(struct rp__buf *out, const char *topic, const char *event, struct rp__str data)
{
  const struct rp__str name[] = {rp__str(topic), rp__str(event)};
  write_binary(out, BROADCAST, name, RP_ARRAY_SIZE(name), data);
}

void rp__phx_push_binary(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic,
                         const char *event, struct rp__str data)
{
  const struct rp__str name[] = {rp__str(join_ref), rp__str(ref), rp__str(topic), rp__str(event)};
  write_binary(out, PUSH, name, RP_ARRAY_SIZE(name), data);
}
