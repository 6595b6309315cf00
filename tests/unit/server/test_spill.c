/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spill over a real engine whose store fails when told to: what is answered as
 * memory comes into the journal in order and once, and what can't is counted and told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/clock.h"
#include "server/server.h"
#include "store/store.h"

/* engine/engine.h and net/loop.h each have an rp__job, and no program needs both but this one. */
int rp__engine_open_with(const rp_options *options, struct rp__store *store, rp_engine **ret, rp_error *err);

#define DEADLINE_MS 20000
#define SPILL_BYTES (256 * 1024)
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
  struct rp__server srv;
  struct rp__entry *entry;
  int log; /* where the server's log can be read */
};

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
  int fds[2];
  assert_int_equal(pipe(fds), 0);
  assert_int_equal(rp__store_memory_open(&so, &store, NULL), 0);
  inner = store->ops;
  ops = *inner;
  ops.commit = commit;
  store->ops = &ops;
  atomic_store(&failing, 0);
  atomic_store(&after, false);
  assert_int_equal(rp__engine_open_with(&o, store, &x->srv.engine, NULL), 0);
  rp__slog_init(&x->srv.log);
  x->srv.log.fd = fds[1];
  x->log = fds[0];
  x->srv.clock = rp__system_clock;
  x->srv.set.spill_bytes = SPILL_BYTES;
  assert_int_equal(rp__registry_new(x->srv.engine, &x->srv.registry, NULL), 0);
  assert_int_equal(rp__spill_new(&x->srv, &x->srv.spill, NULL), 0);
  start(x->srv.engine, "one");
  assert_int_equal(rp__registry_get(x->srv.registry, "one", &x->entry, NULL), 0);
  *state = x;
  return 0;
}

static int teardown(void **state)
{
  struct rig *x = *state;
  atomic_store(&failing, 0);
  rp__spill_free(x->srv.spill);
  rp__registry_put(x->srv.registry, x->entry);
  rp__registry_free(x->srv.registry);
  rp_close(x->srv.engine);
  close(x->log);
  close(x->srv.log.fd);
  rp__slog_done(&x->srv.log);
  free(x);
  return 0;
}

/* ---- asking and hearing ---- */

struct told {
  atomic_int calls;
  rp_ack ack;
  int rc;
};

static void on_done(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct told *t = ctx;
  if (ack) t->ack = *ack;
  t->rc = ack ? 0 : err->code;
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
  struct rp__append a = {.entry = x->entry, .events = &ev, .n = 1, .options = o, .done = on_done, .ctx = t};
  if (how == MEMORY) a.options.durability = RP_MEMORY;
  a.accepts_memory = how == FALLBACK;
  *t = (struct told){0};
  return rp__spill_append(x->srv.spill, &a, err);
}

static struct told ask(struct rig *x, int i, enum how how)
{
  struct told t;
  rp_error err = {0};
  int rc = send_as(x, i, how, RP_APPEND_DEFAULTS, &t, &err);
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

static struct rp__spill_counts counts(struct rig *x)
{
  struct rp__spill_counts c;
  rp__spill_counts(x->srv.spill, &c);
  return c;
}

/* What was answered as memory may still be on its way: at the end of the server it is waited for. */
static struct journal read_journal(struct rig *x)
{
  struct journal j = {0};
  bool waits = counts(x).waiting_events > 0;
  atomic_store(&x->srv.draining, !waits);
  if (!waits) rp__spill_drain(x->srv.spill);
  atomic_store(&x->srv.draining, false);
  assert_int_equal(rp_flush(x->srv.engine, NULL), 0);
  assert_int_equal(rp_events(rp__entry_session(x->entry), 0, 0, on_event, &j, NULL), 0);
  return j;
}

static const char *read_log(struct rig *x)
{
  static char text[65536];
  assert_true(write(x->srv.log.fd, "\n", 1) == 1); /* so that there is something */
  ssize_t n = read(x->log, text, sizeof text - 1);
  text[n > 0 ? n : 0] = '\0';
  return text;
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
  struct rp__spill_counts c = counts(x);
  assert_false(c.away);
  assert_int_equal(c.accepted + c.waiting_events + c.lost + c.windows, 0);
  assert_int_equal(j.markers, 0);
}

static void the_store_goes_and_comes_back(void **state)
{
  struct rig *x = *state;
  int64_t before = rp__server_now(&x->srv);
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
  struct rp__spill_counts c = counts(x);
  assert_true(c.away && c.code == RP_E_FULL && c.away_since_ms >= before);
  assert_string_equal(c.why, "the store is away");
  assert_int_equal(c.waiting_events, 5);
  assert_int_equal(c.accepted, 5);
  assert_int_equal(c.refused, 1);
  assert_true(c.waiting_bytes > 5 * 32);
  assert_false(rp__spill_drain(x->srv.spill)); /* still away */
  assert_int_equal(counts(x).waiting_events, 5);

  atomic_store(&failing, 0);
  assert_true(rp__spill_drain(x->srv.spill));
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
  rp__spill_note(x->srv.spill, RP_E_IO, &err);
  assert_true(counts(x).away);
  rp__spill_note(x->srv.spill, RP_E_SESSION_NOT_FOUND, &err); /* says nothing about the store */
  assert_true(rp__spill_drain(x->srv.spill));
  assert_true(counts(x).away); /* nothing has worked yet */
  assert_int_equal(ask(x, 1, STRICT).rc, 0);
  for (int i = 0; counts(x).away; i++) {
    assert_true(i < DEADLINE_MS);
    rp__spill_drain(x->srv.spill);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
  const char *log = read_log(x);
  assert_non_null(strstr(log, "level=error event=store_away code=store.io why=no"));
  assert_non_null(strstr(log, "level=info event=store_back"));
}

/* Two who write to one session may find it busy; a store that is locked is busy for all. */
static void busy_once_is_not_away(void **state)
{
  struct rig *x = *state;
  rp_error err = {0};
  rp__fail(&err, RP_E_BUSY, "locked");
  for (int i = 0; i < 3; i++) {
    rp__spill_note(x->srv.spill, RP_E_BUSY, &err);
    assert_false(counts(x).away);
    rp__spill_note(x->srv.spill, 0, NULL);
  }
  rp__spill_note(x->srv.spill, RP_E_BUSY, &err);
  rp__spill_note(x->srv.spill, RP_E_BUSY, &err);
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
  for (int i = 0; i < 3; i++) assert_false(rp__spill_drain(x->srv.spill));
  assert_true(atomic_load(&commits_bad) >= 3);
  atomic_store(&failing, 0);
  assert_true(rp__spill_drain(x->srv.spill));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(j.message[i], i + 1);
}

/* L-10: a client that numbers its events sends them again after the window; its own numbers are enough. */
static void a_clients_numbers_hold(void **state)
{
  struct rig *x = *state;
  rp_append_options o = RP_APPEND_DEFAULTS;
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
  assert_true(rp__spill_drain(x->srv.spill));
  struct journal j = read_journal(x);
  assert_int_equal(j.n, 3);
  for (int i = 0; i < 3; i++) assert_int_equal(j.message[i], i + 1);
}

static struct told ask_with(struct rig *x, int i, enum how how, rp_append_options o, rp_error *err)
{
  struct told t;
  int rc = send_as(x, i, how, o, &t, err);
  if (rc)
    t.rc = rc;
  else
    wait_told(&t);
  return t;
}

/* What the store would refuse once it is back is refused while it is away. */
static void what_is_known_to_fail_is_not_kept(void **state)
{
  struct rig *x = *state;
  rp_append_options numbered = RP_APPEND_DEFAULTS, fenced = RP_APPEND_DEFAULTS;
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
  assert_true(rp__spill_drain(x->srv.spill));
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
  rp_append_options o = RP_APPEND_DEFAULTS;
  atomic_store(&failing, RP_E_BUSY);
  o.epoch = 99;
  assert_int_equal(ask_with(x, 1, FALLBACK, o, NULL).rc, RP_E_FENCED);
  o = RP_APPEND_DEFAULTS;
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
  assert_int_equal(rp_end(rp__entry_session(x->entry), NULL, NULL), 0);
  atomic_store(&failing, RP_E_BUSY);
  assert_int_equal(ask_with(x, 1, FALLBACK, (rp_append_options)RP_APPEND_DEFAULTS, &err).rc, RP_E_ENDED);
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
  struct rp__spill_counts c = counts(x);
  assert_true(c.waiting_bytes <= SPILL_BYTES && c.waiting_bytes > SPILL_BYTES - 1024);
  assert_int_equal(c.waiting_events, kept);
  atomic_store(&failing, 0);
  assert_true(rp__spill_drain(x->srv.spill));
  assert_int_equal(read_journal(x).n, kept);
}

static void without_room_memory_is_nothing_special(void **state)
{
  struct rig *x = *state;
  x->srv.set.spill_bytes = 0;
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
  rp_append_options o = RP_APPEND_DEFAULTS;
  struct told t;
  o.expect = 7777;
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
  struct rp__append a = {
      .entry = x->entry, .events = &bad, .n = 1, .options = RP_APPEND_DEFAULTS, .accepts_memory = true};
  a.done = on_done;
  a.ctx = &t;
  atomic_store(&failing, RP_E_FULL);
  assert_int_equal(ask(x, 1, FALLBACK).rc, 0);
  assert_int_equal(rp__spill_append(x->srv.spill, &a, &err), RP_E_INVALID);
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
  assert_int_equal(rp_end(rp__entry_session(x->entry), NULL, NULL), 0);
  assert_true(rp__spill_drain(x->srv.spill));
  assert_int_equal(counts(x).lost, 3);
  assert_int_equal(counts(x).stored, 0);
  const char *log = read_log(x);
  assert_non_null(strstr(log, "event=events_lost session=one events=1 code=session.ended"));
  assert_null(strstr(log, "content"));
}

static void what_is_left_at_the_end_is_told(void **state)
{
  struct rig *x = *state;
  atomic_store(&failing, RP_E_FULL);
  for (int i = 0; i < 3; i++) assert_int_equal(ask(x, i, MEMORY).rc, 0);
  atomic_store(&x->srv.draining, true);
  assert_false(rp__spill_drain(x->srv.spill));
  assert_int_equal(counts(x).waiting_events, 3);
  rp__spill_free(x->srv.spill);
  const char *log = read_log(x);
  assert_non_null(strstr(log, "event=events_lost session=one events=3 code=cancelled"));
  assert_null(strstr(log, "content"));
  assert_int_equal(rp__spill_new(&x->srv, &x->srv.spill, NULL), 0); /* for the teardown */
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
    int rc = send_as(s->x, s->base + i, i % 3 ? FALLBACK : MEMORY, RP_APPEND_DEFAULTS, &t, &err);
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
  x->srv.set.spill_bytes = 16 * 1024 * 1024;
  pthread_create(&trouble, NULL, flicker, &stop);
  for (int i = 0; i < SENDERS; i++) {
    senders[i] = (struct sender){.x = x, .base = i * 1000};
    pthread_create(&threads[i], NULL, send_many, &senders[i]);
  }
  for (int i = 0; i < 50; i++) rp__spill_drain(x->srv.spill);
  for (int i = 0; i < SENDERS; i++) {
    pthread_join(threads[i], NULL);
    assert_false(senders[i].failed);
  }
  atomic_store(&stop, true);
  pthread_join(trouble, NULL);
  assert_true(rp__spill_drain(x->srv.spill));
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
      cmocka_unit_test_setup_teardown(many_senders_and_a_store_that_flickers, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
