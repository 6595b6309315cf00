/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outbox of an engine whose store fails when told to: what is answered as memory comes into the journal in order
 * and once, and what can't is counted and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "engine/engine.h"

#define DEADLINE_MS 20000
#define MEMORY_BYTES (256 * 1024)
#define TOLD_MAX 4096

/* ---- a store that can be away ---- */

static const struct rp__store_ops *inner;
static struct rp__store_ops ops;
static atomic_int failing;     /* enum rp_code, 0: it works */
static atomic_bool after;      /* it is stored, and then fails */
static atomic_int commits_bad; /* how often it failed */

static int commit(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err)
{
  int code = atomic_load(&failing);
  if (code && !atomic_load(&after)) {
    atomic_fetch_add(&commits_bad, 1);
    return rp__fail(err, code, "the store is away");
  }
  int rc = inner->commit(s, group, n, err);
  if (!rc && code) {
    atomic_fetch_add(&commits_bad, 1);
    rc = rp__fail(err, code, "it may be stored or not");
  }
  return rc;
}

/* ---- the rig ---- */

struct rig {
  rp_engine *e;
  rp_session *s;
  pthread_mutex_t lock;
  char log[65536]; /* what the outbox told, a line each */
  int64_t gaps;    /* appends that a journal was told to be lost */
};

static void on_notice(void *ctx, const rp_outbox_notice *n)
{
  static const char *const words[] = {[RP_OUTBOX_STORE_AWAY] = "store_away",
                                      [RP_OUTBOX_STORE_BACK] = "store_back",
                                      [RP_OUTBOX_EVENTS_LOST] = "events_lost",
                                      [RP_OUTBOX_GAP_TOLD] = "gap_told"};
  struct rig *x = ctx;
  pthread_mutex_lock(&x->lock);
  size_t at = strlen(x->log);
  snprintf(x->log + at, sizeof x->log - at, "event=%s session=%s events=%lld code=%s why=%s\n", words[n->what],
           n->session ? n->session : "", (long long)n->events, n->error ? rp_error_lookup(n->error->code)->name : "",
           n->error ? n->error->message : "");
  if (n->what == RP_OUTBOX_GAP_TOLD) x->gaps += n->events;
  pthread_mutex_unlock(&x->lock);
}

static void configure(struct rig *x, size_t memory_bytes)
{
  rp_outbox_policy p = {.memory_bytes = memory_bytes, .notice = on_notice, .ctx = x};
  assert_int_equal(rp_outbox_configure(x->e, &p, NULL), 0);
}

static void start(rp_engine *e, const char *id)
{
  rp_session *s;
  rp_start_options o = {.scope = "test", .id = id, .key = id, .channel = "channel", .owner = RP_OWNER_NONE};
  assert_int_equal(rp_start(e, &o, &s, NULL), 0);
  rp_session_detach(s);
}

static int setup(void **state)
{
  struct rig *x = calloc(1, sizeof *x);
  struct rp__store_options so = {.clock = &rp__system_clock};
  struct rp__store *store;
  rp_options o = {.db = "memory:"};
  assert_int_equal(rp__store_memory_open(&so, &store, NULL), 0);
  inner = store->ops;
  ops = *inner;
  ops.commit = commit;
  store->ops = &ops;
  atomic_store(&failing, 0);
  atomic_store(&after, false);
  pthread_mutex_init(&x->lock, NULL);
  assert_int_equal(rp__engine_open_with(&o, store, &x->e, NULL), 0);
  configure(x, MEMORY_BYTES);
  start(x->e, "one");
  assert_int_equal(rp_attach(x->e, "one", &x->s, NULL), 0);
  *state = x;
  return 0;
}

static int teardown(void **state)
{
  struct rig *x = *state;
  atomic_store(&failing, 0);
  rp_session_detach(x->s);
  rp_close(x->e);
  pthread_mutex_destroy(&x->lock);
  free(x);
  return 0;
}

/* ---- asking and hearing ---- */

struct told {
  atomic_int calls;
  rp_ack ack;
  int rc;
  rp_error err;
};

static void on_done(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct told *t = ctx;
  if (ack) t->ack = *ack;
  t->rc = ack ? 0 : err->code;
  if (err) t->err = *err;
  atomic_fetch_add(&t->calls, 1);
}

static void wait_told(struct told *t)
{
  for (int i = 0; !atomic_load(&t->calls); i++) {
    assert_true(i < DEADLINE_MS);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

enum how { STRICT, FALLBACK, MEMORY };

static int send_as(struct rig *x, int i, enum how how, rp_append_options o, struct told *t, rp_error *err)
{
  char body[64];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"m%d\"}", i);
  const rp_event ev = {.kind = "message", .body = body};
  if (how == MEMORY) o.durability = RP_MEMORY;
  o.accepts_memory = how == FALLBACK;
  *t = (struct told){0};
  return rp_append_async(x->s, &ev, &o, on_done, t, err);
}

static struct told ask(struct rig *x, int i, enum how how)
{
  struct told t;
  rp_error err = {0};
  int rc = send_as(x, i, how, (rp_append_options){0}, &t, &err);
  if (!rc) {
    wait_told(&t);
  } else {
    assert_int_equal(atomic_load(&t.calls), 0); /* one or the other */
    t.rc = rc;
  }
  return t;
}

struct journal {
  int n, message[TOLD_MAX], markers;
  char marker[512];
  int64_t first_at;
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct journal *j = ctx;
  const char *m = strstr(ev->body, "\"content\":\"m");
  if (strcmp(ev->kind, "x-degraded") == 0) {
    j->markers++;
    snprintf(j->marker, sizeof j->marker, "%.*s", (int)ev->body_len, ev->body);
  }
  if (strcmp(ev->kind, "message") != 0 || !m || j->n == TOLD_MAX) return 0;
  if (!j->n) j->first_at = ev->at_ms;
  j->message[j->n++] = (int)strtol(m + strlen("\"content\":\"m"), NULL, 10);
  return 0;
}

static rp_outbox_counts counts(struct rig *x)
{
  rp_outbox_counts c;
  rp_outbox_counts_get(x->e, &c);
  return c;
}

static struct journal read_journal(struct rig *x)
{
  struct journal j = {0};
  assert_int_equal(rp_flush(x->e, NULL), 0);
  assert_int_equal(rp_events(x->s, 0, 0, on_event, &j, NULL), 0);
  return j;
}

static bool drain(struct rig *x)
{
  return rp_outbox_drain(x->e, DEADLINE_MS);
}

/* ---- tests ---- */

static void all_is_well(void **state)
{
  struct rig *x = *state;
  struct told t = ask(x, 1, STRICT);
  assert_int_equal(t.rc, 0);
  assert_true(t.ack.seq > 0 && t.ack.durability == RP_DISK);
  t = ask(x, 2, FALLBACK);
  assert_true(t.ack.seq > 0 && t.ack.durability == RP_DISK); /* what it asked for was to be had */
  t = ask(x, 3, MEMORY);
  assert_true(t.ack.seq == 0 && t.ack.durability == RP_MEMORY);
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(j.message[i], i + 1);
  rp_outbox_counts c = counts(x);
  assert_false(c.away);
  assert_int_equal(c.accepted + c.waiting_events + c.lost + c.windows, 0);
  assert_int_equal(j.markers, 0);
}

static void the_store_goes_and_comes_back(void **state)
{
  struct rig *x = *state;
  int64_t before = rp__engine_now(x->e);
  atomic_store(&failing, RP_E_FULL);
  struct told t = ask(x, 0, STRICT);
  assert_int_equal(t.rc, RP_E_FULL);
  for (int i = 1; i <= 5; i++) {
    t = ask(x, i, i % 2 ? FALLBACK : MEMORY);
    assert_int_equal(t.rc, 0);
    assert_true(t.ack.durability == RP_MEMORY && t.ack.seq == 0);
  }
  t = ask(x, 99, STRICT); /* may not overtake those that wait */
  assert_int_equal(t.rc, RP_E_FULL);
  assert_int_equal(read_journal(x).n, 0);
  rp_outbox_counts c = counts(x);
  assert_true(c.away && c.code == RP_E_FULL && c.away_since_ms >= before);
  assert_string_equal(c.why, "the store is away");
  assert_int_equal(c.waiting_events, 5);
  assert_int_equal(c.accepted, 5);
  assert_int_equal(c.refused, 1);
  assert_true(c.waiting_bytes > 5 * 32);
  assert_false(drain(x)); /* still away */
  assert_int_equal(counts(x).waiting_events, 5);

  atomic_store(&failing, 0);
  assert_true(drain(x));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 5);
  for (int i = 0; i < 5; i++) assert_int_equal(j.message[i], i + 1);
  assert_true(j.first_at >= before && j.first_at <= c.away_since_ms + 60000);
  assert_int_equal(j.markers, 1);
  assert_non_null(strstr(j.marker, "\"events\":5,\"stored\":5,\"repeated\":0,\"lost\":0,"));
  assert_non_null(strstr(j.marker, "\"since\":\""));
  assert_non_null(strstr(j.marker, "\"until\":\""));
  c = counts(x);
  assert_int_equal(c.waiting_events, 0);
  assert_int_equal(c.stored, 5);
  assert_int_equal(c.lost, 0);
  assert_int_equal(c.windows, 1);
  t = ask(x, 6, STRICT);
  assert_int_equal(t.rc, 0);
}

static void it_is_back_when_writes_work(void **state)
{
  struct rig *x = *state;
  rp_error err = {0};
  rp__fail(&err, RP_E_IO, "no");
  rp__outbox_note(&x->e->outbox, RP_E_IO, &err);
  assert_true(counts(x).away);
  rp__outbox_note(&x->e->outbox, RP_E_SESSION_NOT_FOUND, &err); /* says nothing about the store */
  assert_true(drain(x));
  assert_true(counts(x).away); /* nothing has worked yet */
  assert_int_equal(ask(x, 1, STRICT).rc, 0);
  for (int i = 0; counts(x).away; i++) {
    assert_true(i < DEADLINE_MS);
    drain(x);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  assert_non_null(strstr(x->log, "event=store_away session= events=0 code=store.io why=no"));
  assert_non_null(strstr(x->log, "event=store_back"));
}

/* Two who write to one session may find it busy; a store that is locked is busy for all. */
static void busy_once_is_not_away(void **state)
{
  struct rig *x = *state;
  rp_error err = {0};
  rp__fail(&err, RP_E_BUSY, "locked");
  for (int i = 0; i < 3; i++) {
    rp__outbox_note(&x->e->outbox, RP_E_BUSY, &err);
    assert_false(counts(x).away);
    rp__outbox_note(&x->e->outbox, 0, NULL);
  }
  rp__outbox_note(&x->e->outbox, RP_E_BUSY, &err);
  rp__outbox_note(&x->e->outbox, RP_E_BUSY, &err);
  assert_true(counts(x).away);
  assert_int_equal(counts(x).code, RP_E_BUSY);
}

/* After RP_E_IO nobody knows: what is sent again is not stored again. */
static void an_unknown_outcome_doubles_nothing(void **state)
{
  struct rig *x = *state;
  atomic_store(&after, true);
  atomic_store(&failing, RP_E_IO);
  for (int i = 1; i <= 3; i++) assert_int_equal(ask(x, i, i == 2 ? MEMORY : FALLBACK).rc, 0);
  for (int i = 0; i < 3; i++) assert_false(drain(x));
  assert_true(atomic_load(&commits_bad) >= 3);
  atomic_store(&failing, 0);
  assert_true(drain(x));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(j.message[i], i + 1);
}

/* L-10: a client that numbers its events sends them again after the window; its own numbers are enough. */
static void a_clients_numbers_hold(void **state)
{
  struct rig *x = *state;
  rp_append_options o = {0};
  struct told t;
  o.client_id = "robot";
  atomic_store(&failing, RP_E_FULL);
  for (int i = 1; i <= 3; i++) {
    o.client_seq = i;
    assert_int_equal(send_as(x, i, FALLBACK, o, &t, NULL), 0);
    wait_told(&t);
    assert_int_equal(t.ack.durability, RP_MEMORY);
  }
  o.client_seq = 2;
  assert_int_equal(send_as(x, 2, FALLBACK, o, &t, NULL), 0);
  wait_told(&t);
  atomic_store(&failing, 0);
  assert_true(drain(x));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(j.message[i], i + 1);
}

static struct told ask_with(struct rig *x, int i, enum how how, rp_append_options o, rp_error *err)
{
  struct told t;
  int rc = send_as(x, i, how, o, &t, err);
  if (rc) {
    t.rc = rc;
    return t;
  }
  wait_told(&t);
  if (t.rc && err) *err = t.err;
  return t;
}

/* What the store would refuse once it is back is refused while it is away. */
static void what_is_known_to_fail_is_not_kept(void **state)
{
  struct rig *x = *state;
  rp_append_options numbered = {0}, fenced = {0};
  rp_error err = {0};
  numbered.client_id = "robot";
  numbered.client_seq = 1;
  fenced.epoch = 99;
  assert_int_equal(ask_with(x, 1, STRICT, numbered, NULL).rc, 0);
  atomic_store(&failing, RP_E_FULL);
  numbered.client_seq = 2;
  assert_int_equal(ask_with(x, 2, FALLBACK, numbered, NULL).rc, 0);
  for (enum how how = FALLBACK; how <= MEMORY; how++) {
    assert_int_equal(ask_with(x, 90, how, fenced, &err).rc, RP_E_FENCED);
    assert_non_null(strstr(err.message, "there is no epoch 99 yet"));
    numbered.client_seq = 4;
    assert_int_equal(ask_with(x, 91, how, numbered, &err).rc, RP_E_CLIENT_GAP);
    assert_non_null(strstr(err.message, "expected client_seq 3, got 4"));
    for (numbered.client_seq = 1; numbered.client_seq <= 2; numbered.client_seq++) {
      struct told t = ask_with(x, 92, how, numbered, NULL);
      assert_true(t.rc == 0 && t.ack.repeated);
      assert_int_equal(t.ack.durability, numbered.client_seq == 1 ? RP_OS : RP_MEMORY);
    }
  }
  assert_int_equal(counts(x).waiting_events, 1);
  assert_int_equal(counts(x).refused, 4);
  numbered.client_seq = 3;
  assert_int_equal(ask_with(x, 3, FALLBACK, numbered, NULL).rc, 0);
  atomic_store(&failing, 0);
  assert_true(drain(x));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(j.message[i], i + 1);
  assert_non_null(strstr(j.marker, "\"events\":2,\"stored\":2,\"repeated\":0,\"lost\":0,"));
  assert_int_equal(counts(x).lost, 0);
}

/* The store is so far away that it does not look at the first one either. */
static void the_first_one_is_looked_at_too(void **state)
{
  struct rig *x = *state;
  rp_append_options o = {0};
  atomic_store(&failing, RP_E_BUSY);
  o.epoch = 99;
  assert_int_equal(ask_with(x, 1, FALLBACK, o, NULL).rc, RP_E_FENCED);
  o = (rp_append_options){0};
  o.client_id = "robot";
  o.client_seq = 7;
  assert_int_equal(ask_with(x, 2, FALLBACK, o, NULL).rc, RP_E_CLIENT_GAP);
  assert_int_equal(counts(x).waiting_events, 0);
  atomic_store(&failing, 0);
  assert_int_equal(ask(x, 3, STRICT).rc, 0); /* nothing is left that would stand in its way */
  struct journal j = read_journal(x);
  assert_true(j.n == 1 && j.message[0] == 3 && j.markers == 0);
}

static void an_ended_session_keeps_nothing(void **state)
{
  struct rig *x = *state;
  rp_error err = {0};
  assert_int_equal(rp_end(x->s, NULL, NULL), 0);
  atomic_store(&failing, RP_E_BUSY);
  assert_int_equal(ask_with(x, 1, FALLBACK, (rp_append_options){0}, &err).rc, RP_E_ENDED);
  assert_int_equal(counts(x).waiting_events, 0);
}

static void memory_has_a_bound(void **state)
{
  struct rig *x = *state;
  int kept = 0;
  atomic_store(&failing, RP_E_FULL);
  struct told t = ask(x, 0, FALLBACK);
  while (!t.rc && kept < TOLD_MAX) {
    kept++;
    t = ask(x, kept, kept % 2 ? FALLBACK : MEMORY);
  }
  assert_int_equal(t.rc, RP_E_FULL); /* 503, come back later */
  assert_in_range(kept, 10, TOLD_MAX - 1);
  rp_outbox_counts c = counts(x);
  assert_true(c.waiting_bytes <= MEMORY_BYTES && c.waiting_bytes > MEMORY_BYTES - 1024);
  assert_int_equal(c.waiting_events, kept);
  atomic_store(&failing, 0);
  assert_true(drain(x));
  assert_int_equal(read_journal(x).n, kept);
}

static void without_room_memory_is_nothing_special(void **state)
{
  struct rig *x = *state;
  configure(x, 0);
  struct told t = ask(x, 1, MEMORY);
  assert_int_equal(t.rc, 0);
  assert_true(t.ack.seq > 0 && t.ack.durability == RP_OS); /* answered when it was stored */
  atomic_store(&failing, RP_E_FULL);
  assert_int_equal(ask(x, 2, MEMORY).rc, RP_E_FULL);
  assert_int_equal(ask(x, 3, FALLBACK).rc, RP_E_FULL);
}

/* What must find the journal at a number can't be promised before the store is asked. */
static void expectations_are_no_memory(void **state)
{
  struct rig *x = *state;
  rp_append_options o = {0};
  struct told t;
  o.expect_seq = 7777;
  assert_int_equal(send_as(x, 1, MEMORY, o, &t, NULL), 0);
  wait_told(&t);
  assert_int_equal(t.rc, RP_E_SEQ_CONFLICT);
  atomic_store(&failing, RP_E_FULL);
  assert_int_equal(send_as(x, 1, FALLBACK, o, &t, NULL), 0);
  wait_told(&t);
  assert_int_equal(t.rc, RP_E_FULL);
}

static void bad_events_are_refused_while_others_wait(void **state)
{
  struct rig *x = *state;
  const rp_event bad = {.kind = "message", .body = "{\"role\":\"nobody\",\"content\":\"x\"}"};
  struct told t = {0};
  rp_error err = {0};
  rp_append_options o = {.accepts_memory = true};
  atomic_store(&failing, RP_E_FULL);
  assert_int_equal(ask(x, 1, FALLBACK).rc, 0);
  assert_int_equal(rp_append_async(x->s, &bad, &o, on_done, &t, &err), RP_E_INVALID);
  assert_string_equal(err.field, "body.role");
  assert_int_equal(atomic_load(&t.calls), 0);
  assert_int_equal(counts(x).waiting_events, 1);
}

/* The session ends before its events get in: that is a loss, and it is told. */
static void a_loss_is_counted_and_told(void **state)
{
  struct rig *x = *state;
  atomic_store(&failing, RP_E_FULL);
  for (int i = 0; i < 3; i++) assert_int_equal(ask(x, i, FALLBACK).rc, 0);
  atomic_store(&failing, 0);
  assert_int_equal(rp_end(x->s, NULL, NULL), 0);
  assert_true(drain(x));
  assert_int_equal(counts(x).lost, 3);
  assert_int_equal(counts(x).stored, 0);
  assert_non_null(strstr(x->log, "event=events_lost session=one events=1 code=session.ended"));
  assert_null(strstr(x->log, "content"));
}

static void what_is_left_at_the_end_is_told(void **state)
{
  struct rig *x = *state;
  atomic_store(&failing, RP_E_FULL);
  for (int i = 0; i < 3; i++) assert_int_equal(ask(x, i, MEMORY).rc, 0);
  assert_int_equal(rp_flush(x->e, NULL), 0);
  assert_false(drain(x));
  assert_int_equal(counts(x).waiting_events, 3);
  rp_session_detach(x->s);
  rp_close(x->e);
  assert_non_null(strstr(x->log, "event=events_lost session=one events=3 code=cancelled"));
  assert_null(strstr(x->log, "content"));
  rp_options o = {.db = "memory:"}; /* for the teardown */
  assert_int_equal(rp_open(&o, &x->e, NULL), 0);
  start(x->e, "one");
  assert_int_equal(rp_attach(x->e, "one", &x->s, NULL), 0);
}

/* ---- a gap that is told ---- */

struct gap_reader {
  char order[256];
};

static int on_gap_event(void *ctx, const rp_event_info *ev)
{
  struct gap_reader *r = ctx;
  size_t at = strlen(r->order);
  const char *m = strstr(ev->body, "\"content\":\"m"), *lost = strstr(ev->body, "\"lost\":");
  if (strcmp(ev->kind, "x-gap") == 0) {
    assert_non_null(lost);
    assert_non_null(strstr(ev->body, "\"from\":\""));
    assert_non_null(strstr(ev->body, "\"to\":\""));
    snprintf(r->order + at, sizeof r->order - at, "gap%ld ", strtol(lost + strlen("\"lost\":"), NULL, 10));
  } else if (m) {
    snprintf(r->order + at, sizeof r->order - at, "%ld ", strtol(m + strlen("\"content\":\"m"), NULL, 10));
  }
  return 0;
}

/* Nothing that comes later is stored before the word of what is missing. */
static void a_gap_is_told_first(void **state)
{
  struct rig *x = *state;
  struct gap_reader r = {0};
  struct told t[8];
  rp_append_options o = {0};
  rp_outbox_policy p = {.gap_kind = "pin", .wait_when_full = true, .notice = on_notice, .ctx = x};
  assert_int_equal(rp_outbox_configure(x->e, &p, NULL), RP_E_USAGE);
  p.gap_kind = "x-gap";
  assert_int_equal(rp_outbox_configure(x->e, &p, NULL), 0);
  assert_int_equal(ask(x, 1, STRICT).rc, 0);
  atomic_store(&failing, RP_E_FULL);
  for (int i = 2; i <= 4; i++) assert_int_equal(ask(x, i, STRICT).rc, RP_E_FULL);
  rp_outbox_lost(x->s, 2, 0);
  atomic_store(&failing, 0);
  for (int i = 0; i < 3; i++) assert_int_equal(send_as(x, 5 + i, STRICT, o, &t[i], NULL), 0);
  assert_int_equal(rp_flush(x->e, NULL), 0);
  for (int i = 0; i < 3; i++) assert_true(atomic_load(&t[i].calls) == 1 && t[i].rc == 0);
  assert_int_equal(x->gaps, 5);
  const rp_event bad = {.kind = "message", .body = "{}"};
  assert_int_equal(rp_append_async(x->s, &bad, NULL, on_done, &t[3], NULL), RP_E_INVALID); /* is missing as well */
  assert_int_equal(ask(x, 8, STRICT).rc, 0);
  assert_int_equal(rp_events(x->s, 0, 0, on_gap_event, &r, NULL), 0);
  assert_string_equal(r.order, "1 gap5 5 6 7 gap1 8 ");
  assert_int_equal(x->gaps, 6);
}

/* ---- threads ---- */

#define SENDERS 4
#define EACH 300

struct sender {
  struct rig *x;
  int base;
  bool failed;
};

static void *send_many(void *arg)
{
  struct sender *s = arg;
  for (int i = 0; i < EACH && !s->failed; i++) {
    struct told t;
    rp_error err = {0};
    int rc = send_as(s->x, s->base + i, i % 3 ? FALLBACK : MEMORY, (rp_append_options){0}, &t, &err);
    if (!rc) {
      wait_told(&t);
      rc = t.rc;
    }
    s->failed = rc != 0;
  }
  return NULL;
}

static void *flicker(void *arg)
{
  const atomic_bool *stop = arg;
  for (int i = 0; !atomic_load(stop); i++) {
    atomic_store(&failing, i % 2 ? RP_E_FULL : 0);
    nanosleep(&(struct timespec){0, 500000}, NULL);
  }
  atomic_store(&failing, 0);
  return NULL;
}

static void many_senders_and_a_store_that_flickers(void **state)
{
  struct rig *x = *state;
  pthread_t threads[SENDERS], trouble;
  struct sender senders[SENDERS] = {0};
  atomic_bool stop = false;
  int next[SENDERS] = {0};
  configure(x, 16 * 1024 * 1024);
  pthread_create(&trouble, NULL, flicker, &stop);
  for (int i = 0; i < SENDERS; i++) {
    senders[i] = (struct sender){.x = x, .base = i * 1000};
    pthread_create(&threads[i], NULL, send_many, &senders[i]);
  }
  for (int i = 0; i < 50; i++) drain(x);
  for (int i = 0; i < SENDERS; i++) {
    pthread_join(threads[i], NULL);
    assert_false(senders[i].failed);
  }
  atomic_store(&stop, true);
  pthread_join(trouble, NULL);
  assert_true(drain(x));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, SENDERS * EACH);
  for (int i = 0; i < j.n; i++) { /* of each sender in order, each once */
    int who = j.message[i] / 1000;
    assert_int_equal(j.message[i] % 1000, next[who]++);
  }
  assert_int_equal(counts(x).lost, 0);
  assert_int_equal(counts(x).accepted, counts(x).stored);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(all_is_well, setup, teardown),
      cmocka_unit_test_setup_teardown(the_store_goes_and_comes_back, setup, teardown),
      cmocka_unit_test_setup_teardown(it_is_back_when_writes_work, setup, teardown),
      cmocka_unit_test_setup_teardown(busy_once_is_not_away, setup, teardown),
      cmocka_unit_test_setup_teardown(an_unknown_outcome_doubles_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(a_clients_numbers_hold, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_known_to_fail_is_not_kept, setup, teardown),
      cmocka_unit_test_setup_teardown(the_first_one_is_looked_at_too, setup, teardown),
      cmocka_unit_test_setup_teardown(an_ended_session_keeps_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(memory_has_a_bound, setup, teardown),
      cmocka_unit_test_setup_teardown(without_room_memory_is_nothing_special, setup, teardown),
      cmocka_unit_test_setup_teardown(expectations_are_no_memory, setup, teardown),
      cmocka_unit_test_setup_teardown(bad_events_are_refused_while_others_wait, setup, teardown),
      cmocka_unit_test_setup_teardown(a_loss_is_counted_and_told, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_left_at_the_end_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(a_gap_is_told_first, setup, teardown),
      cmocka_unit_test_setup_teardown(many_senders_and_a_store_that_flickers, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
