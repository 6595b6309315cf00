/* SPDX-License-Identifier: Apache-2.0 */
/* B-07, B-10, O-03: snapshots, state at any event, going back, forks. */
#include "unit/engine/rig.h"

static int64_t snapshot_seqs[256];
static int count_snapshot(void *ctx, const rp_snapshot_info *i)
{
  int *n = ctx;
  snapshot_seqs[(*n)++] = i->seq;
  return 0;
}

static int snapshots(rp_session *s)
{
  int n = 0;
  rp_error err = {0};
  OK(rp_snapshots(s, count_snapshot, &n, &err), err);
  return n;
}

/* The state without its first part, which tells the session's own numbers. */
static const char *facets(const char *doc)
{
  const char *p = strstr(doc, "},\"");
  return p ? p : doc;
}

static void test_state_at_every_event(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  char *want[41] = {0}, text[16];
  for (int i = 1; i <= 40; i++) {
    snprintf(text, sizeof text, "m%d", i);
    rig_say(s, text);
    if (i % 7 == 0) OK(rp_checkpoint(s, NULL, &err), err);
    want[i] = rig_state(s, i);
  }
  for (int i = 1; i <= 40; i++) {
    char *now = rig_state(s, i);
    assert_string_equal(facets(now), facets(want[i]));
    free(now);
  }
  assert_int_equal(snapshots(s), 5);
  while (snapshots(s)) OK(rp_snapshot_delete(s, snapshots(s), &err), err);
  for (int i = 1; i <= 40; i++) { /* the law: snapshots change nothing but the time it takes */
    char *now = rig_state(s, i);
    assert_string_equal(facets(now), facets(want[i]));
    free(now);
    free(want[i]);
  }
  char *doc;
  assert_int_equal(rp_state_json(s, 41, &doc, &err), RP_E_SEQ_NOT_FOUND);
  rp_session_free(s);
}

static void test_restore_and_replay(void **state)
{
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_ack ack;
  rig_say(s, "one");
  rig_say(s, "two");
  rig_say(s, "three");
  OK(rp_restore(s, 1, &ack, &err), err);
  assert_int_equal(ack.seq, 4);
  rig_say(s, "two again");
  OK(rp_restore(s, 3, &ack, &err), err); /* back to before the going back */
  OK(rp_restore(s, 5, &ack, &err), err);
  char *with = rig_state(s, -1);
  assert_string_equal(rig_get(with, "conversation.total"), "2");
  assert_non_null(strstr(with, "two again"));
  assert_null(strstr(with, "three"));
  while (snapshots(s)) OK(rp_snapshot_delete(s, snapshots(s), &err), err);
  rp_session *fresh;
  OK(rp_attach(((struct rig *)*state)->e, rp_session_id(s), &fresh, &err), err);
  char *without = rig_state(fresh, -1);
  assert_string_equal(facets(with), facets(without));
  assert_int_equal(rp_restore(s, 99, &ack, &err), RP_E_SEQ_NOT_FOUND);
  free(with);
  free(without);
  rp_session_free(fresh);
  rp_session_free(s);
}

static void spend(rp_session *s, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = "usage", .body = body};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
}

static void expect_spent(rp_session *s, int64_t at, const char *usd)
{
  char *doc = rig_state(s, at);
  assert_string_equal(rig_get(doc, "usage.cost_usd"), usd);
  free(doc);
}

/* A restore takes back what was said, not what it cost: from snapshots and without, at any event, in forks. */
static void test_what_was_spent_stays_spent(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF), *fresh;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  rig_say(s, "one");                     /* 1 */
  spend(s, "{\"cost_usd\":8}");          /* 2 */
  rig_say(s, "two");                     /* 3 */
  spend(s, "{\"cost_usd\":12}");         /* 4 */
  OK(rp_restore(s, 3, NULL, &err), err); /* 5 */
  expect_spent(s, -1, "20.0");
  spend(s, "{\"cost_usd\":1}");          /* 6 */
  OK(rp_restore(s, 1, NULL, &err), err); /* 7 */
  OK(rp_restore(s, 4, NULL, &err), err); /* 8 */
  rig_say(s, "three");                   /* 9 */
  OK(rp_fork(s, &(rp_fork_options){.at_seq = 7}, id, NULL, &err), err);
  for (int with = 1; with >= 0; with--) {
    static const char *const spent[] = {NULL, NULL, "8.0", "8.0", "20.0", "20.0", "21.0", "21.0", "21.0", "21.0"};
    if (!with)
      while (snapshots(s)) OK(rp_snapshot_delete(s, snapshots(s), &err), err);
    for (int64_t at = 2; at <= 9; at++) expect_spent(s, at, spent[at]);
    OK(rp_attach(r->e, rp_session_id(s), &fresh, &err), err);
    expect_spent(fresh, -1, "21.0");
    OK(rp_checkpoint(fresh, NULL, &err), err);
    expect_spent(fresh, -1, "21.0");
    rp_session_free(fresh);
  }
  OK(rp_attach(r->e, id, &fresh, &err), err);
  expect_spent(fresh, -1, "21.0");
  rp_session_free(fresh);
  rp_session_free(s);
}

/* A budget that was spent is spent, whatever is taken back. */
static void test_a_restore_gives_no_budget_back(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  char *usage;
  rp_event limit = {.kind = "session", .body = "{\"settings\":{\"budget_usd\":10}}"};
  OK(rp_append(s, &limit, NULL, NULL, &err), err);
  spend(s, "{\"cost_usd\":12}");
  OK(rp_restore(s, 1, NULL, &err), err);
  OK(rp_usage_json(s, &usage, &err), err);
  assert_string_equal(rig_get(usage, "cost_usd"), "12.0");
  assert_string_equal(rig_get(usage, "budget_usd_share"), "1.2");
  rp_free(usage);
  rp_session_free(s);
}

/* Going back again and again, to the going back before: as fast from nothing as from a snapshot. */
static void test_restore_of_restores(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF), *f;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  rig_say(s, "only");
  for (int64_t i = 1; i <= 200; i++) OK(rp_restore(s, i, NULL, &err), err);
  rig_say(s, "end");
  OK(rp_fork(s, NULL, id, NULL, &err), err); /* the copy has no snapshot to begin with */
  OK(rp_attach(r->e, id, &f, &err), err);
  for (int64_t at = 1; at <= 202; at += 67) {
    char *mine = rig_state(s, at), *its = rig_state(f, at);
    assert_string_equal(facets(mine), facets(its));
    assert_string_equal(rig_get(its, "conversation.total"), at == 202 ? "2" : "1");
    free(mine);
    free(its);
  }
  rp_session_free(f);
  rp_session_free(s);
}

static void test_fork(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF), *f;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], text[16];
  for (int i = 1; i <= 600; i++) {
    snprintf(text, sizeof text, "m%d", i);
    rig_say(s, text);
  }
  OK(rp_fork(s, &(rp_fork_options){.at_seq = 300}, id, NULL, &err), err);
  OK(rp_attach(r->e, id, &f, &err), err);
  char *mine = rig_state(s, 300), *its = rig_state(f, -1);
  assert_string_equal(facets(mine), facets(its));
  assert_string_equal(rig_get(its, "session.forked_at_seq"), "300");
  assert_string_equal(rig_get(its, "session.key"), "null");
  assert_int_equal(rig_say(f, "another way").seq, 301);
  assert_int_equal(rp_fork(s, &(rp_fork_options){.at_seq = 601}, id, NULL, &err), RP_E_SEQ_NOT_FOUND);
  free(mine);
  free(its);
  rp_session_free(f);
  rp_session_free(s);
}

/* O-03: the last ten stay; a long tail makes its own checkpoint when
 * the handle goes. */
static void test_checkpoint_policy(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  for (int i = 0; i < 15; i++) {
    rig_say(s, "x");
    OK(rp_checkpoint(s, NULL, &err), err);
  }
  assert_int_equal(snapshots(s), 10);
  assert_int_equal(snapshot_seqs[0], 15);
  rp_event ev[1000];
  for (size_t i = 0; i < 1000; i++) ev[i] = (rp_event){.kind = "x-a", .body = "{}"};
  OK(rp_append_many(s, ev, 1000, NULL, NULL, &err), err);
  rp_session_free(s);
  OK(rp_attach(r->e, "k", &s, &err), err);
  assert_int_equal(snapshots(s), 10);
  assert_int_equal(snapshot_seqs[0], 1015);
  rp_session_free(s);
}

/* B-04: a crash leaves a running tool with an unknown outcome, a clean end does not touch it. */
static void test_tool_unknown_after_crash(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rp_event ev = {.kind = "tool", .body = "{\"call_id\":\"c1\",\"name\":\"rm\",\"status\":\"running\"}"};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
  rp_session_free(s);
  s = rig_start(r, "a", "k", RP_OWNER_SELF);
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(rig_get(doc, "tools"), "\"unknown\""));
  free(doc);
  rp_session_free(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_state_at_every_event),
      T(test_restore_and_replay),
      T(test_restore_of_restores),
      T(test_what_was_spent_stays_spent),
      T(test_a_restore_gives_no_budget_back),
      T(test_fork),
      T(test_checkpoint_policy),
      T(test_tool_unknown_after_crash),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
