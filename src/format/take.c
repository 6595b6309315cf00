/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the importers share: times, texts, ids, and handing on events. */
#include "format/take.h"

#include <math.h>
#include <sodium.h>

#include "base/clock.h"
#include "base/text.h"
#include "core/seal.h"

#define LAST_SECOND 253402300799.0 /* of the year 9999 */
#define MS_FROM 1e11               /* a number this large is in milliseconds: as seconds it is after the year 5100 */

/* ---- values ---- */

int64_t rp__when_text(const char *s, size_t n)
{
  char iso[64];
  int64_t ms;
  if (n == 0 || n >= sizeof iso) return 0;
  memcpy(iso, s, n);
  iso[n] = '\0';
  if (n > 10 && iso[10] == ' ') iso[10] = 'T'; /* as SQL writes it */
  return rp__time_parse(iso, n, &ms) == 0 && ms > 0 ? ms : 0;
}

int64_t rp__when(struct rp__json v)
{
  double d;
  char text[64];
  if (v.type == RP_JSON_STRING) {
    rp__text_of(v, text, sizeof text);
    return rp__when_text(text, strlen(text));
  }
  if (!rp__json_double(v, &d) || !(d > 0)) return 0;
  if (d >= MS_FROM) d /= 1000.0;
  return d <= LAST_SECOND ? (int64_t)llround(d * 1000.0) : 0;
}

struct rp__json rp__any(struct rp__json object, const char *const *names)
{
  for (; *names; names++) {
    struct rp__json v = rp__json_get(object, *names);
    if (v.type != RP_JSON_NONE && v.type != RP_JSON_NULL) return v;
  }
  return (struct rp__json){0};
}

/* How much of a raw string to decode so that the text has at most `max` bytes. */
static size_t raw_prefix(const char *p, size_t n, size_t max)
{
  size_t at = 0, used = 0;
  while (at < n) {
    bool escape = p[at] == '\\', unit = escape && at + 1 < n && p[at + 1] == 'u';
    used += unit ? 3 : 1;
    if (used > max) break;
    at += RP_MIN(unit ? (size_t)6 : escape ? (size_t)2 : (size_t)1, n - at);
  }
  return at;
}

/* Needs no memory, so that an id never depends on how much there is. */
void rp__text_of(struct rp__json v, char *out, size_t size)
{
  struct rp__buf text = {.p = out, .cap = size, .max = size - 1};
  out[0] = '\0';
  if (v.type != RP_JSON_STRING || v.n == 0) return;
  bool quoted = v.n >= 2 && v.p[0] == '"';
  struct rp__json raw = {v.p + quoted, v.n - 2 * quoted, RP_JSON_STRING};
  raw.n = raw_prefix(raw.p, raw.n, size - 1);
  rp__json_text(raw, &text);
  out[text.err ? 0 : rp__text_clip(out, text.n)] = '\0';
}

void rp__title_of(struct rp__json v, char *out, size_t size)
{
  struct rp__json raw = {v.p, v.n, v.type};
  rp__text_of(v, out, size);
  size_t n = strlen(out);
  if (raw.n > n + 2 && !rp__json_eq(v, out)) out[rp__text_clip_word(out, n + 1, n)] = '\0';
}

bool rp__name_of(struct rp__json v, char out[RP_ID_MAX + 1])
{
  char name[RP_ID_MAX + 2];
  rp__text_of(v, name, sizeof name);
  if (strlen(name) > RP_ID_MAX || !rp__name_ok(name) || !rp__json_eq(v, name)) return false;
  memcpy(out, name, strlen(name) + 1);
  return true;
}

void rp__id_of(struct rp__json v, const char *prefix, char out[RP_ID_MAX + 1])
{
  if (rp__name_of(v, out)) return;
  snprintf(out, RP_ID_MAX + 1, "%s-%016llx", prefix, (unsigned long long)rp__checksum(v.n ? v.p : "", v.n, 0x6964));
}

void rp__copy_member(struct rp__jw *w, const char *name, struct rp__json v)
{
  if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) return;
  rp__jw_key(w, name);
  rp__jw_value(w, v);
}

void rp__put_share(struct rp__jw *w, const char *name, double v)
{
  rp__jw_kdouble(w, name, v > 0 ? RP_MIN(v, 1) : 0);
}

/* ---- handing on ---- */

void rp__take_init(struct rp__take *t, const struct rp__taker *to, rp_error *err)
{
  *t = (struct rp__take){.to = to, .err = err, .body = RP_BUF(2 * to->max_body + RP_BODY_MAX)};
}

void rp__take_done(struct rp__take *t)
{
  rp__buf_done(&t->body);
}

int rp__take_begin(struct rp__take *t, const struct rp__foreign *f)
{
  t->events = t->left_out = 0;
  t->at[0] = '\0';
  t->last_at = f->created_at;
  return t->to->begin(t->to->ctx, f, t->err);
}

struct rp__jw *rp__take_body(struct rp__take *t)
{
  rp__buf_reset(&t->body);
  t->w = RP_JW(&t->body);
  rp__jw_object(&t->w);
  return &t->w;
}

void rp__take_at(struct rp__take *t, const char *name, int64_t n)
{
  if (n < 0)
    snprintf(t->at, sizeof t->at, "%s", name);
  else
    snprintf(t->at, sizeof t->at, "%s[%lld]", name, (long long)n);
}

/* What is wrong with the body that was made of a part is wrong with that part. */
int rp__take_left(struct rp__take *t, const char *why)
{
  static const char body[] = "body";
  bool member = strncmp(why, body, sizeof body - 1) == 0 && why[sizeof body - 1] == '.';
  if (t->left_out++) return 0;
  if (t->at[0])
    snprintf(t->why, sizeof t->why, "%s%s%.150s", t->at, member ? "" : ": ", why + (member ? sizeof body - 1 : 0));
  else
    rp__text_copy(t->why, sizeof t->why, why);
  return 0;
}

static int hand_on(struct rp__take *t, int64_t at_ms, struct rp__event *ev)
{
  if (t->events >= RP_FOREIGN_EVENTS)
    return rp__fail(t->err, RP_E_TOO_LARGE, "the session has more than %d events", RP_FOREIGN_EVENTS);
  if (at_ms) t->last_at = at_ms;
  ev->at_ms = t->last_at;
  ev->seq = ++t->events;
  return t->to->event(t->to->ctx, ev, t->err);
}

int rp__take_value(struct rp__take *t, int64_t at_ms, const char *kind, struct rp__json body)
{
  struct rp__event ev;
  rp_error why = {0};
  int rc = rp__event_check(kind, body.p, body.n, t->to->max_body, false, &ev, &why);
  if (rc == RP_E_NOMEM) return rp__fail_nomem(t->err);
  return rc ? rp__take_left(t, why.message) : hand_on(t, at_ms, &ev);
}

/* The written body, or why there is none. */
static int finish_body(struct rp__take *t, struct rp__json *ret)
{
  rp__jw_end_object(&t->w);
  if (t->body.err == RP_E_TOO_LARGE) return RP_E_TOO_LARGE;
  if (t->body.err) return rp__fail_nomem(t->err);
  *ret = (struct rp__json){t->body.p, t->body.n, RP_JSON_OBJECT};
  return 0;
}

int rp__take_event(struct rp__take *t, int64_t at_ms, const char *kind)
{
  struct rp__json body;
  int rc = finish_body(t, &body);
  if (rc == RP_E_TOO_LARGE) return rp__take_left(t, "it is too large");
  return rc ? rc : rp__take_value(t, at_ms, kind, body);
}

int rp__take_own(struct rp__take *t, int64_t at_ms, enum rp__kind kind)
{
  struct rp__event ev = {.kind = kind, .kind_name = rp__kind_name(kind)};
  int rc = finish_body(t, &ev.body);
  if (rc == RP_E_TOO_LARGE || (!rc && ev.body.n > t->to->max_body)) return rp__take_left(t, "it is too large");
  return rc ? rc : hand_on(t, at_ms, &ev);
}

int rp__take_secret(struct rp__take *t, enum rp__foreign_secret which, struct rp__json v)
{
  if (v.type != RP_JSON_STRING || v.n <= 2 || !t->to->secret) return 0;
  char *text RP_AUTOFREE = rp__json_dup(v);
  if (!text) return rp__fail_nomem(t->err);
  size_t n = strlen(text);
  int rc = t->to->secret(t->to->ctx, which, text, n, t->err);
  sodium_memzero(text, n);
  return rc;
}

int rp__take_end(struct rp__take *t)
{
  if (t->left_out) rp__take_note(t, "%lld of its parts were left out (the first: %s)", (long long)t->left_out, t->why);
  return t->to->end(t->to->ctx, t->err);
}

void rp__take_note(struct rp__take *t, const char *fmt, ...)
{
  va_list ap;
  char text[400];
  va_start(ap, fmt);
  rp__text_vformat(text, sizeof text, fmt, ap);
  va_end(ap);
  if (t->to->note) t->to->note(t->to->ctx, text);
}
