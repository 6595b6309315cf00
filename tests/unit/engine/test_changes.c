/* SPDX-License-Identifier: Apache-2.0 */
/* L-03, L-05, X-13: seeing what everybody stored, without asking for each session. */
#include "unit/engine/long.h"

struct told {
  int n;
  int64_t number, seq; /* of the last one */
};

static int on_change(void *ctx, int64_t number, int64_t seq)
{
  struct told *t = ctx;
  t->n++;
  t->number = number;
  t->seq = seq;
  return 0;
}

static struct told changes(rp_engine *e, int64_t *cursor)
{
  struct told t = {0};
  rp_error err = {0};
  OK(rp_changes(e, cursor, 0, on_change, &t, &err), err);
  return t;
}

static int wait_for(rp_engine *e, int timeout_ms)
{
  rp_error err = {0};
  int rc = rp_changes_wait(e, timeout_ms, &err);
  if (rc < 0) fail_msg("%s", err.message);
  return rc;
}

/* Until nothing is left to be told: opening and the first look of the keeper are commits, too. */
static void settle(rp_engine *e)
{
  rp_error err = {0};
  OK(rp_flush(e, &err), err);
  while (wait_for(e, 50)) continue;
}

static void own_and_others_writes_are_told(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  int64_t cursor = -1;
  rp_engine *other = longer_engine(l); /* as another process would */
  rp_session *s = longer_guest(l, "k"), *theirs;
  OK(rp_attach(other, "k", &theirs, &err), err);
  assert_true(rp_session_number(s) > 0);
  assert_int_equal(rp_session_number(theirs), rp_session_number(s));
  assert_int_equal(changes(l->e, &cursor).n, 0);
  rp_ack ack = rig_say(s, "mine");
  struct told t = changes(l->e, &cursor);
  assert_int_equal(t.n, 1);
  assert_int_equal(t.number, rp_session_number(s));
  assert_int_equal(t.seq, ack.seq);
  for (int i = 0; i < 3; i++) ack = rig_say(theirs, "theirs");
  t = changes(l->e, &cursor);
  assert_int_equal(t.n, 1);
  assert_int_equal(t.seq, ack.seq);
  assert_int_equal(changes(l->e, &cursor).n, 0);
  assert_int_equal(rp_changes(l->e, NULL, 0, on_change, &t, &err), RP_E_USAGE);
  rp_session_free(theirs);
  rp_session_free(s);
  rp_close(other);
}

/* Every commit makes the wait return: events, and what changes without one (idle, closed, trashed, deleted). */
static void any_commit_is_worth_a_look(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_engine *other = longer_engine(l);
  rp_session *s = longer_guest(l, "k");
  settle(other);
  settle(l->e);
  for (int i = 0; i < 2; i++) {
    rp_engine *e = i ? other : l->e; /* the one that waits */
    rig_say(s, "x");
    assert_int_equal(wait_for(e, WAIT_MS), 1);
    settle(e);
    rp_error none = {0};
    int64_t number;
    OK(rp_checkpoint(s, &number, &none), none);
    assert_int_equal(wait_for(e, WAIT_MS), 1);
    settle(e);
  }
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  assert_int_equal(wait_for(other, WAIT_MS), 1);
  settle(other);
  OK(rp_trash(l->e, "k", NULL, &err), err);
  assert_int_equal(wait_for(other, WAIT_MS), 1);
  rp_close(other);
}

/* Who waits with nothing to see waits; who is woken comes back, also when he was woken before he slept. */
static void a_wait_ends(void **state)
{
  struct longer *l = *state;
  settle(l->e);
  assert_int_equal(wait_for(l->e, 30), 0);
  rp_changes_wake(l->e);
  assert_int_equal(wait_for(l->e, WAIT_MS), 0);
  rp_changes_wake(NULL);
}

struct publisher {
  struct longer *l;
  atomic_bool ready, stop;
  atomic_llong seen; /* the highest seq told of */
  int failed;
};

static void *publish(void *arg)
{
  struct publisher *p = arg;
  rp_error err = {0};
  int64_t cursor = -1;
  struct told t = {0};
  if (rp_changes(p->l->e, &cursor, 0, on_change, &t, &err)) p->failed = 1;
  atomic_store(&p->ready, true);
  while (!atomic_load(&p->stop)) {
    int rc = rp_changes_wait(p->l->e, -1, &err);
    if (rc < 0) p->failed = 1;
    int64_t before;
    do {
      before = cursor;
      if (rp_changes(p->l->e, &cursor, 100, on_change, &t, &err)) p->failed = 1;
      if (t.seq > atomic_load(&p->seen)) atomic_store(&p->seen, t.seq);
    } while (cursor != before);
  }
  return NULL;
}

static bool is_ready(void *ctx)
{
  return atomic_load(&((struct publisher *)ctx)->ready);
}

struct goal {
  struct publisher *p;
  int64_t seq;
};

static bool is_seen(void *ctx)
{
  struct goal *g = ctx;
  return atomic_load(&g->p->seen) >= g->seq;
}

/* One publisher, two engines that write, one by one and in batches: it sees the last of all without being asked. */
static void a_publisher_sees_all(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  struct publisher p = {.l = l};
  struct goal goal = {.p = &p};
  pthread_t thread;
  rp_engine *other = longer_engine(l);
  rp_session *s = longer_guest(l, "k"), *theirs;
  OK(rp_attach(other, "k", &theirs, &err), err);
  assert_int_equal(pthread_create(&thread, NULL, publish, &p), 0);
  assert_true(longer_until(is_ready, &p));
  rp_event batch[50];
  for (int i = 0; i < 50; i++) batch[i] = (rp_event){.kind = "x-a", .body = "{}"};
  for (int round = 0; round < 10; round++) {
    rp_ack ack = rig_say(round % 2 ? theirs : s, "x");
    goal.seq = ack.seq;
    assert_true(longer_until(is_seen, &goal));
    OK(rp_append_many(round % 2 ? s : theirs, batch, 50, NULL, &ack, &err), err);
    goal.seq = ack.seq;
    assert_true(longer_until(is_seen, &goal));
  }
  atomic_store(&p.stop, true);
  rp_changes_wake(l->e);
  pthread_join(thread, NULL);
  assert_int_equal(p.failed, 0);
  rp_session_free(theirs);
  rp_session_free(s);
  rp_close(other);
}

/* ---- documents ---- */

static char *document(rp_engine *e, const char *ref)
{
  rp_error err = {0};
  size_t n = 0;
  char *doc;
  OK(rp_session_get_json(e, ref, &doc, &n, &err), err);
  assert_int_equal(strlen(doc), n);
  return doc;
}

static void assert_seq(rp_engine *e, const char *id, int64_t seq)
{
  char text[32], *doc = document(e, id);
  snprintf(text, sizeof text, "%lld", (long long)seq);
  assert_string_equal(rig_get(doc, "seq"), text);
  rp_free(doc);
}

static int on_info(void *ctx, const rp_session_info *info)
{
  rp_error err = {0};
  return rp_session_json(info, ctx, &err);
}

/* what anybody stored is in the next answer, however often the same was asked for before. */
static void a_document_is_never_old(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  rp_engine *other = longer_engine(l);
  rp_session *s = longer_guest(l, "k"), *theirs;
  const char *id = rp_session_id(s);
  OK(rp_attach(other, id, &theirs, &err), err);
  for (int i = 0; i < 20; i++) {
    rp_ack ack = rig_say(i % 2 ? theirs : s, "x");
    for (int again = 0; again < 3; again++) assert_seq(l->e, id, ack.seq);
    assert_seq(other, id, ack.seq);
  }
  char *doc = document(l->e, id), *by_key = document(l->e, "k"), *shown = NULL;
  OK(rp_show(l->e, id, on_info, &shown, &err), err);
  assert_string_equal(doc, shown);
  assert_string_equal(by_key, shown);
  rp_free(doc);
  rp_free(by_key);
  rp_free(shown);
  OK(rp_end(theirs, NULL, &err), err);
  doc = document(l->e, id);
  assert_string_equal(rig_get(doc, "status"), "\"closed\"");
  rp_free(doc);
  doc = NULL;
  char kept[RP_ID_MAX + 1];
  snprintf(kept, sizeof kept, "%s", id);
  rp_session_free(theirs);
  rp_session_free(s);
  OK(rp_purge(other, kept, true, &err), err);
  assert_int_equal(rp_session_get_json(l->e, kept, &doc, NULL, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_session_get_json(l->e, NULL, &doc, NULL, &err), RP_E_USAGE);
  assert_null(doc);
  rp_close(other);
}

struct reader {
  rp_engine *e;
  const char *id;
  atomic_llong *stored;
  atomic_bool *stop;
  long wrong;
};

static void *read_on(void *arg)
{
  struct reader *r = arg;
  while (!atomic_load(r->stop)) {
    rp_error err = {0};
    long long before = atomic_load(r->stored);
    char *doc;
    if (rp_session_get_json(r->e, r->id, &doc, NULL, &err)) {
      r->wrong++;
      continue;
    }
    const char *at = strstr(doc, "\"seq\":");
    r->wrong += !at || strtoll(at + 6, NULL, 10) < before;
    rp_free(doc);
  }
  return NULL;
}

/* While others read and write: no answer is older than what was acknowledged before the question. */
static void readers_beside_writers(void **state)
{
  struct longer *l = *state;
  atomic_llong stored = 0;
  atomic_bool stop = false;
  rp_session *s = longer_guest(l, "k");
  struct reader r[3];
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) {
    r[i] = (struct reader){l->e, rp_session_id(s), &stored, &stop, 0};
    assert_int_equal(pthread_create(&thread[i], NULL, read_on, &r[i]), 0);
  }
  for (int i = 0; i < 300; i++) atomic_store(&stored, rig_say(s, "x").seq);
  atomic_store(&stop, true);
  for (int i = 0; i < 3; i++) {
    pthread_join(thread[i], NULL);
    assert_int_equal(r[i].wrong, 0);
  }
  rp_session_free(s);
}

/* ---- alive ---- */

static bool alive(rp_engine *e, const char *ref)
{
  rp_error err = {0};
  bool yes = false;
  OK(rp_alive(e, ref, &yes, &err), err);
  return yes;
}

/* L-01, N-18 */
static void a_session_lives_as_its_newest_run(void **state)
{
  struct longer *l = *state;
  rp_error err = {0};
  bool yes = true;
  rp_session *s = longer_guest(l, "k");
  assert_true(alive(l->e, "k"));
  longer_pass(l, 20000);
  OK(rp_heartbeat(s, &err), err);
  OK(rp_flush(l->e, &err), err);
  longer_pass(l, 25000);
  assert_true(alive(l->e, "k"));
  longer_pass(l, 10000);
  assert_false(alive(l->e, "k"));
  rig_say(s, "an event is a sign of life, too");
  assert_true(alive(l->e, "k"));
  OK(rp_end(s, NULL, &err), err);
  assert_false(alive(l->e, rp_session_id(s)));
  rp_session_free(s);
  rp_session *held = longer_start(l, "h", RP_OWNER_SELF);
  longer_pass(l, 1000000);
  assert_true(alive(l->e, "h"));
  rp_session_free(held);
  assert_false(alive(l->e, "h"));
  assert_int_equal(rp_alive(l->e, "nobody", &yes, &err), RP_E_SESSION_NOT_FOUND);
  assert_true(yes);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      LONG_TEST(own_and_others_writes_are_told),
      LONG_TEST(any_commit_is_worth_a_look),
      LONG_TEST(a_wait_ends),
      LONG_TEST(a_publisher_sees_all),
      LONG_TEST(a_document_is_never_old),
      LONG_TEST(readers_beside_writers),
      LONG_TEST(a_session_lives_as_its_newest_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
