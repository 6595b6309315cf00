/* SPDX-License-Identifier: Apache-2.0 */
#include "server/lane.h"

#include "base/clock.h"
#include "base/id.h"
#include "json/json.h"

#define KEY_PREFIX "spill-"
#define KEY_TEXT (sizeof KEY_PREFIX - 1 + RP_UUID_TEXT)
#define MARKER_KIND "x-degraded"
#define MARKER_MAX 512

/* ---- one append ---- */

static const char *keep(char **at, const char *bytes, size_t n)
{
  if (!bytes) return NULL;
  char *start = *at;
  memcpy(start, bytes, n);
  start[n] = '\0';
  *at += n + 1;
  return start;
}

static const char *keep_text(char **at, const char *text)
{
  return keep(at, text, text ? strlen(text) : 0);
}

static size_t body_length(const rp_event *ev)
{
  return ev->body_len || !ev->body ? ev->body_len : strlen(ev->body);
}

static size_t text_length(const char *text)
{
  return text ? strlen(text) + 1 : 0;
}

static size_t weight(const struct rp__append *a)
{
  size_t n = sizeof(struct rp__kept) + a->n * sizeof(rp_event) + text_length(a->options.client_id) + KEY_TEXT;
  for (size_t i = 0; i < a->n; i++)
    n += text_length(a->events[i].kind) + body_length(&a->events[i]) + 1 + text_length(a->events[i].idempotency_key);
  return n;
}

/* An event happened when it was accepted, not when the store came back. */
static void keep_events(struct rp__kept *k, const rp_event *events, int64_t now_ms, char **at)
{
  for (size_t i = 0; i < k->n; i++) {
    rp_event *ev = &k->events[i];
    *ev = events[i];
    ev->kind = keep_text(at, events[i].kind);
    ev->body_len = body_length(&events[i]);
    ev->body = keep(at, events[i].body, ev->body_len);
    ev->idempotency_key = keep_text(at, events[i].idempotency_key);
    if (!ev->at_ms) ev->at_ms = now_ms;
  }
}

/* After an error of the disk nobody knows whether it was stored: what is sent again must be known again. */
static void give_key(struct rp__kept *k, int64_t now_ms, char **at)
{
  char uuid[RP_UUID_TEXT], key[KEY_TEXT];
  if (k->events[0].idempotency_key || k->options.client_id) return;
  rp__uuid7(uuid, now_ms, &rp__system_random);
  snprintf(key, sizeof key, KEY_PREFIX "%s", uuid);
  k->events[0].idempotency_key = keep_text(at, key);
}

struct rp__kept *rp__kept_new(const struct rp__append *a, bool memory, int64_t now_ms)
{
  size_t bytes = weight(a);
  struct rp__kept *k = malloc(bytes);
  if (!k) return NULL;
  *k = (struct rp__kept){.done = a->done, .ctx = a->ctx, .options = a->options, .n = a->n, .bytes = bytes};
  char *at = (char *)(k->events + k->n);
  k->memory = memory;
  k->options.client_id = keep_text(&at, a->options.client_id);
  keep_events(k, a->events, now_ms, &at);
  if (memory) give_key(k, now_ms, &at);
  return k;
}

bool rp__kept_same(const struct rp__kept *k, const struct rp__append *a)
{
  bool same = k->n == a->n;
  for (size_t i = 0; same && i < a->n; i++)
    same = strcmp(k->events[i].kind, a->events[i].kind) == 0 && k->events[i].body_len == body_length(&a->events[i]) &&
           memcmp(k->events[i].body, a->events[i].body, k->events[i].body_len) == 0;
  return same;
}

struct rp__kept *rp__kept_marker(const struct rp__window *win, int64_t until_ms)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(MARKER_MAX);
  struct rp__jw w = RP_JW(&body);
  rp__jw_object(&w);
  rp__jw_ktime(&w, "since", win->since_ms);
  rp__jw_ktime(&w, "until", until_ms);
  rp__jw_ki64(&w, "events", win->events);
  rp__jw_ki64(&w, "stored", win->stored);
  rp__jw_ki64(&w, "repeated", win->repeated);
  rp__jw_ki64(&w, "lost", win->lost);
  rp__jw_ki64(&w, "bytes", win->bytes);
  rp__jw_end_object(&w);
  if (body.err) return NULL;
  const rp_event ev = {.kind = MARKER_KIND, .body = body.p, .body_len = body.n};
  struct rp__kept *k =
      rp__kept_new(&(struct rp__append){.events = &ev, .n = 1, .options = RP_APPEND_DEFAULTS}, true, until_ms);
  if (k) k->told = k->marker = true;
  return k;
}

void rp__kept_free(struct rp__kept *k)
{
  free(k);
}

/* ---- those of a session ---- */

void rp__lane_add(struct rp__lane *l, struct rp__kept *k)
{
  k->next = NULL;
  k->lane = l;
  *(l->tail ? &l->tail->next : &l->head) = k;
  l->tail = k;
  l->events += k->n;
  l->bytes += k->bytes;
  l->idle = false;
}

static void forget(struct rp__lane *l, const struct rp__kept *k)
{
  l->events -= k->n;
  l->bytes -= k->bytes;
}

struct rp__kept *rp__lane_take(struct rp__lane *l, struct rp__kept *before)
{
  struct rp__kept **at = before ? &before->next : &l->head, *k = *at;
  *at = k->next;
  if (l->tail == k) l->tail = before;
  forget(l, k);
  l->landings++;
  return k;
}

struct rp__kept *rp__lane_pop(struct rp__lane *l)
{
  return rp__lane_take(l, NULL);
}

struct rp__kept *rp__lane_take_strict(struct rp__lane *l)
{
  struct rp__kept *taken = NULL, **end = &taken, **at = &l->head;
  l->tail = NULL;
  while (*at) {
    struct rp__kept *k = *at;
    if (k->memory) {
      l->tail = k;
      at = &k->next;
      continue;
    }
    *at = k->next;
    forget(l, k);
    k->next = NULL;
    *end = k;
    end = &k->next;
  }
  return taken;
}
