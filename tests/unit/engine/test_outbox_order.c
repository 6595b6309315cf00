/* SPDX-License-Identifier: Apache-2.0 */
/* B-01, L-10, X-06, L-12: appends that nobody waits for keep their order and all the rules of those that are waited
 * for. */
#include "unit/engine/long.h"

#define ACKS 64

struct acks {
  pthread_mutex_t lock;
  int n, order[ACKS]; /* in the order in which they came */
  rp_ack ack[ACKS];   /* by number */
  int code[ACKS];
};

struct one {
  struct acks *all;
  int i;
};

static struct acks acks = {.lock = PTHREAD_MUTEX_INITIALIZER};
static struct one ones[ACKS];

static int acks_setup(void **state)
{
  acks = (struct acks){.lock = PTHREAD_MUTEX_INITIALIZER};
  for (int i = 0; i < ACKS; i++) ones[i] = (struct one){&acks, i};
  return longer_setup(state);
}

static void on_ack(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct one *o = ctx;
  pthread_mutex_lock(&o->all->lock);
  o->all->order[o->all->n++] = o->i;
  if (ack) o->all->ack[o->i] = *ack;
  o->all->code[o->i] = err ? err->code : 0;
  pthread_mutex_unlock(&o->all->lock);
}

static rp_event pin_of(const char *label, char body[128])
{
  snprintf(body, 128, "{\"label\":\"%s\",\"content\":\"x\"}", label);
  return (rp_event){.kind = "pin", .body = body};
}

static void pin_async(rp_session *s, int i, const char *label)
{
  char body[128];
  rp_error err = {0};
  rp_event ev = pin_of(label, body);
  OK(rp_append_async(s, &ev, NULL, on_ack, &ones[i], &err), err);
}

static void flush(struct longer *l)
{
  rp_error err = {0};
  OK(rp_flush(l->e, &err), err);
}

static int64_t seq_now(rp_session *s)
{
  rp_error err = {0};
  int64_t mark, seq;
  OK(rp_sync(s, "nobody", &mark, &seq, &err), err);
  return seq;
}

static void a_batch_is_one(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *s = longer_guest(l, "k");
  rp_event ev[3] = {{.kind = "x-a", .body = "{\"n\":1}", .idempotency_key = "once"},
                    {.kind = "note", .body = "{\"id\":\"n1\",\"text\":\"y\"}"},
                    {.kind = "x-a", .body = "{\"n\":3}"}};
  int64_t before = seq_now(s);
  ev[1] = (rp_event){.kind = "x-b", .body = "{\"n\":2} trailing", .body_len = 7};
  OK(rp_append_many_async(s, ev, 3, NULL, on_ack, &ones[0], &err), err);
  OK(rp_append_many_async(s, ev, 3, NULL, on_ack, &ones[1], &err), err);
  flush(l);
  assert_int_equal(acks.n, 2);
  assert_int_equal(acks.ack[0].first_seq, before + 1);
  assert_int_equal(acks.ack[0].seq, before + 3);
  assert_int_equal(acks.ack[0].durability, RP_DISK);
  assert_false(acks.ack[0].repeated);
  assert_true(acks.ack[1].repeated && acks.ack[1].seq == before + 3);
  assert_int_equal(seq_now(s), before + 3);
  rp_session_free(s);
}

static void what_is_wrong_is_said_at_once(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *s = longer_guest(l, "k");
  int64_t before = seq_now(s);
  rp_event ev[2] = {{.kind = "x-a", .body = "{}"}, {.kind = "message", .body = "{\"role\":\"user\"}"}};
  assert_int_equal(rp_append_many_async(s, ev, 0, NULL, on_ack, &ones[0], &err), RP_E_INVALID);
  assert_int_equal(rp_append_many_async(s, ev, RP_BATCH_MAX + 1, NULL, on_ack, &ones[0], &err), RP_E_TOO_LARGE);
  assert_int_equal(rp_append_many_async(s, ev, 2, NULL, on_ack, &ones[0], &err), RP_E_INVALID);
  assert_string_equal(err.field, "body.content");
  assert_non_null(strstr(err.message, "event 2 of 2"));
  ev[1] = (rp_event){.kind = "x-a", .body = "{}", .body_len = RP_BODY_MAX + 1};
  assert_int_equal(rp_append_many_async(s, ev, 2, NULL, on_ack, &ones[0], &err), RP_E_TOO_LARGE);
  assert_non_null(strstr(err.message, "event 2 of 2"));
  flush(l);
  assert_int_equal(acks.n, 0);
  assert_int_equal(seq_now(s), before);
  rp_session_free(s);
}

/* A batch is accepted as `memory` as a single event is. */
static void memory_takes_batches(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *s = longer_guest(l, "k");
  int64_t before = seq_now(s);
  rp_event ev[2] = {{.kind = "x-a", .body = "{}"}, {.kind = "x-a", .body = "{}"}};
  rp_append_options o = {0};
  rp_ack ack = {.seq = 7};
  o.durability = RP_MEMORY;
  OK(rp_append_many(s, ev, 2, &o, &ack, &err), err);
  assert_int_equal(ack.durability, RP_MEMORY);
  assert_int_equal(ack.seq, 0);
  flush(l);
  assert_int_equal(seq_now(s), before + 2);
  rp_session_free(s);
}

/*
 * two handles pin at the same time; one of them was judged by pins that are not the newest any more when it is
 * stored, and is judged again. What follows it on its handle waits: L-10's numbers would have a gap otherwise.
 */
static void judged_again_in_order(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *one = longer_guest(l, "k"), *two;
  OK(rp_attach(l->e, "k", &two, &err), err);
  sqlite3 *writer = longer_block(l);
  pin_async(one, 0, "first");
  for (int i = 1; i <= 8; i++) { /* numbered; the first and the fifth are pins */
    char body[128];
    rp_append_options o = {.client_id = "tab", .client_seq = i};
    rp_event ev = i % 4 == 1 ? pin_of(i == 1 ? "second" : "third", body) : (rp_event){.kind = "x-a", .body = "{}"};
    OK(rp_append_async(two, &ev, &o, on_ack, &ones[i], &err), err);
  }
  assert_int_equal(acks.n, 0);
  longer_unblock(writer);
  flush(l);
  assert_int_equal(acks.n, 9);
  for (int i = 0, last = 0; i < 9; i++) {
    assert_int_equal(acks.code[i], 0);
    if (acks.order[i] == 0) continue;
    assert_int_equal(acks.order[i], last + 1); /* told in order … */
    last = acks.order[i];
    if (last > 1) assert_true(acks.ack[last].seq == acks.ack[last - 1].seq + 1); /* … and stored so */
  }
  char *doc = rig_state(one, -1);
  assert_non_null(strstr(doc, "\"first\""));
  assert_non_null(strstr(doc, "\"second\""));
  assert_non_null(strstr(doc, "\"third\""));
  rp_free(doc);
  rp_session_free(two);
  rp_session_free(one);
}

/* the tenth place is given once, whoever asks when. */
static void the_last_place_is_given_once(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *one = longer_guest(l, "k"), *two;
  OK(rp_attach(l->e, "k", &two, &err), err);
  for (int i = 0; i < 9; i++) {
    char label[16];
    snprintf(label, sizeof label, "p%d", i);
    pin_async(one, i, label);
  }
  flush(l);
  for (int i = 0; i < 9; i++) assert_int_equal(acks.code[i], 0);
  sqlite3 *writer = longer_block(l);
  pin_async(one, 10, "mine");
  pin_async(two, 11, "yours");
  rp_event after = {.kind = "x-a", .body = "{}"};
  OK(rp_append_async(two, &after, NULL, on_ack, &ones[12], &err), err);
  longer_unblock(writer);
  flush(l);
  assert_int_equal(acks.n, 12);
  assert_int_equal(acks.code[10], 0);
  assert_int_equal(acks.code[11], RP_E_PINS_FULL);
  assert_int_equal(acks.code[12], 0); /* what waited behind it goes on */
  assert_int_equal(acks.order[10], 11);
  assert_int_equal(acks.order[11], 12);
  rp_session_free(two);
  rp_session_free(one);
}

/* Who expects a seq is told that it is another; nobody judges for him again. */
static void an_expectation_is_not_judged_again(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  char body[128];
  rp_session *one = longer_guest(l, "k"), *two;
  OK(rp_attach(l->e, "k", &two, &err), err);
  rp_append_options o = {.expect_seq = seq_now(one) ? seq_now(one) : RP_SEQ_NONE};
  rp_event ev = pin_of("second", body);
  sqlite3 *writer = longer_block(l);
  pin_async(one, 0, "first");
  OK(rp_append_async(two, &ev, &o, on_ack, &ones[1], &err), err);
  longer_unblock(writer);
  flush(l);
  assert_int_equal(acks.code[0], 0);
  assert_int_equal(acks.code[1], RP_E_SEQ_CONFLICT);
  rp_session_free(two);
  rp_session_free(one);
}

/* Handles are gone before their appends are through, and the engine closes meanwhile: each is answered all the same. */
static void everybody_is_answered_before_the_end(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_session *one = longer_guest(l, "k"), *two;
  OK(rp_attach(l->e, "k", &two, &err), err);
  sqlite3 *writer = longer_block(l);
  for (int i = 0; i < 20; i++) {
    char label[16];
    snprintf(label, sizeof label, "p%d", i % 5);
    pin_async(i % 2 ? one : two, i, label);
  }
  longer_unblock(writer);
  rp_session_free(two);
  rp_session_free(one);
  rp_close(l->e);
  assert_int_equal(acks.n, 20);
  for (int i = 0; i < 20; i++) assert_int_equal(acks.code[i], 0);
  l->e = longer_engine(l);
}

struct pinner {
  rp_session *s;
  int first;
};

static void *pin_on(void *arg)
{
  struct pinner *p = arg;
  for (int i = 0; i < 12; i++) pin_async(p->s, p->first + i, i % 2 ? "odd" : "even");
  return NULL;
}

static void many_pin_at_once(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  struct pinner p[4];
  pthread_t thread[4];
  rp_session_free(longer_guest(l, "k"));
  for (int i = 0; i < 4; i++) {
    p[i].first = 12 * i;
    OK(rp_attach(l->e, "k", &p[i].s, &err), err);
  }
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&thread[i], NULL, pin_on, &p[i]), 0);
  for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
  flush(l);
  assert_int_equal(acks.n, 48);
  for (int i = 0; i < 48; i++) {
    assert_int_equal(acks.code[i], 0);
    if (i % 12) assert_true(acks.ack[i].seq > acks.ack[i - 1].seq);
  }
  for (int i = 0; i < 4; i++) rp_session_free(p[i].s);
}

/* L-12: a budget that comes close is told of, once, as after an append that is waited for. */
static void what_is_spent_is_looked_at(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_event small = {.kind = "usage", .body = "{\"cost_usd\":0.1}"},
           big = {.kind = "usage", .body = "{\"cost_usd\":0.9}"};
  rp_close(l->e);
  setenv("REPRISE_BUDGET_USD", "1", 1);
  l->e = longer_engine(l);
  unsetenv("REPRISE_BUDGET_USD");
  rp_session *s = longer_guest(l, "k");
  OK(rp_append_async(s, &small, NULL, on_ack, &ones[0], &err), err);
  flush(l);
  assert_int_equal(atomic_load(&l->warnings), 0);
  for (int i = 1; i < 4; i++) OK(rp_append_async(s, &big, NULL, on_ack, &ones[i], &err), err);
  flush(l);
  assert_int_equal(acks.n, 4);
  assert_int_equal(atomic_load(&l->warnings), 1);
  rp_session_free(s);
}

#define T(fn) cmocka_unit_test_setup_teardown(fn, acks_setup, longer_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {
      T(a_batch_is_one),
      T(what_is_wrong_is_said_at_once),
      T(memory_takes_batches),
      T(judged_again_in_order),
      T(the_last_place_is_given_once),
      T(an_expectation_is_not_judged_again),
      T(everybody_is_answered_before_the_end),
      T(many_pin_at_once),
      T(what_is_spent_is_looked_at),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
