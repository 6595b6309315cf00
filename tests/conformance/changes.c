/* SPDX-License-Identifier: Apache-2.0 */
/* L-03: what is new in the store, for whoever tells others of it; nothing may be missed, whatever is deleted. */
#include "suite.h"

#include <string.h>

#define TOLD_MAX 64

struct told {
  int64_t session[TOLD_MAX], seq[TOLD_MAX];
  int n, stop_after; /* 0: never */
};

static int tell(void *ctx, int64_t session, int64_t seq)
{
  struct told *t = ctx;
  assert_true(t->n < TOLD_MAX);
  t->session[t->n] = session;
  t->seq[t->n++] = seq;
  return t->n == t->stop_after ? 77 : 0;
}

static struct told changes(struct suite *f, int64_t *cursor, int64_t limit)
{
  struct told t = {0};
  assert_int_equal(f->s->ops->changes(f->s, cursor, limit, tell, &t, &f->err), 0);
  return t;
}

/* The seq that was told of a session, which was told of at most once; 0: it was not. */
static int64_t seq_of(const struct told *t, int64_t session)
{
  int64_t seq = 0;
  for (int i = 0; i < t->n; i++) {
    if (t->session[i] != session) continue;
    assert_int_equal(seq, 0);
    seq = t->seq[i];
  }
  return seq;
}

static int64_t now_in(struct suite *f)
{
  int64_t cursor = -1;
  assert_int_equal(changes(f, &cursor, 0).n, 0);
  assert_true(cursor >= 0);
  return cursor;
}

static int64_t version(struct suite *f, struct rp__store *s)
{
  int64_t v;
  assert_int_equal(s->ops->version(s, &v, &f->err), 0);
  return v;
}

static void purge(struct suite *f, const char *id)
{
  struct rp__op op = {.type = RP_OP_SESSION_DELETE, .session_id = id};
  assert_int_equal(suite_op(f, &op), 0);
}

static void each_journal_is_told_of_once(void **state)
{
  struct suite *f = *state;
  int64_t a = suite_put(f, "a"), b = suite_put(f, "b"), c = suite_put(f, "c");
  suite_say(f, "a", "before");
  int64_t cursor = now_in(f);
  assert_int_equal(changes(f, &cursor, 0).n, 0);
  for (int i = 0; i < 3; i++) {
    suite_say(f, "a", "x");
    suite_say(f, "b", "x");
  }
  struct told t = changes(f, &cursor, 0);
  assert_int_equal(t.n, 2);
  assert_int_equal(seq_of(&t, a), 4);
  assert_int_equal(seq_of(&t, b), 3);
  assert_int_equal(seq_of(&t, c), 0);
  assert_int_equal(changes(f, &cursor, 0).n, 0);
  suite_say(f, "c", "x");
  if (suite_reopen(f)) suite_say(f, "c", "a cursor is good for the life of the database");
  t = changes(f, &cursor, 0);
  assert_int_equal(t.n, 1);
  assert_true(seq_of(&t, c) >= 1);
}

static void a_step_is_bounded_and_the_next_goes_on(void **state)
{
  struct suite *f = *state;
  static const char *const ids[] = {"a", "b", "c", "d"};
  int64_t ref[4], last[4] = {0}, cursor, before;
  for (int i = 0; i < 4; i++) ref[i] = suite_put(f, ids[i]);
  cursor = now_in(f);
  for (int i = 0; i < 22; i++) suite_say(f, ids[i % 4], "x");
  int steps = 0;
  do {
    before = cursor;
    struct told t = changes(f, &cursor, 3);
    for (int i = 0; i < 4; i++) last[i] = seq_of(&t, ref[i]) ? seq_of(&t, ref[i]) : last[i];
    assert_true(steps++ < 22);
  } while (cursor != before);
  assert_true(last[0] == 6 && last[1] == 6 && last[2] == 5 && last[3] == 5);
}

static void who_stops_is_told_again(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_put(f, "b");
  int64_t cursor = now_in(f), before = cursor;
  suite_say(f, "a", "x");
  suite_say(f, "b", "x");
  struct told t = {.stop_after = 1};
  assert_int_equal(f->s->ops->changes(f->s, &cursor, 0, tell, &t, &f->err), 77);
  assert_true(cursor == before);
  assert_int_equal(changes(f, &cursor, 0).n, 2);
}

static void what_was_refused_is_not_told(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  int64_t cursor = now_in(f);
  struct rp__new_event ev = event_new("message", "{\"role\":\"user\",\"content\":\"x\"}");
  struct rp__op ops[2] = {op_append("a", &ev, 1), op_append("a", &ev, 1)};
  ops[1].u.append.expect = 99;
  assert_int_equal(suite_txn(f, ops, 2), RP_E_SEQ_CONFLICT);
  assert_int_equal(changes(f, &cursor, 0).n, 0);
}

/* The newest events go, and what is stored next must not take their place unseen. */
static void nothing_is_missed_after_a_deletion(void **state)
{
  struct suite *f = *state;
  int64_t a = suite_put(f, "a");
  suite_say(f, "a", "x");
  suite_put(f, "b");
  for (int i = 0; i < 10; i++) suite_say(f, "b", "x");
  int64_t cursor = now_in(f);
  purge(f, "b");
  assert_int_equal(changes(f, &cursor, 0).n, 0);
  for (int i = 0; i < 3; i++) suite_say(f, "a", "x");
  struct told t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, a), 4);

  /* More comes than went, before anybody looks. */
  suite_put(f, "c");
  for (int i = 0; i < 5; i++) suite_say(f, "c", "x");
  cursor = now_in(f);
  purge(f, "c");
  int64_t d = suite_put(f, "d");
  suite_say(f, "d", "x");
  for (int i = 0; i < 9; i++) suite_say(f, "a", "x");
  t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, a), 13);
  assert_int_equal(seq_of(&t, d), 1);
  assert_int_equal(changes(f, &cursor, 0).n, 0);
}

/* … also when nothing is left, when it happens within one transaction, and after another process has been there. */
static void nothing_is_missed_after_all_is_gone(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  for (int i = 0; i < 10; i++) suite_say(f, "a", "x");
  int64_t cursor = now_in(f), b = suite_put(f, "b");
  struct rp__new_event ev = event_new("message", "{\"role\":\"user\",\"content\":\"x\"}");
  struct rp__op ops[2] = {{.type = RP_OP_SESSION_DELETE, .session_id = "a"}, op_append("b", &ev, 1)};
  assert_int_equal(suite_txn(f, ops, 2), 0);
  struct told t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, b), 1);
  purge(f, "b");
  assert_int_equal(changes(f, &cursor, 0).n, 0);
  suite_reopen(f);
  int64_t c = suite_put(f, "c");
  for (int i = 0; i < 20; i++) suite_say(f, "c", "x");
  t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, c), 20);
  /* A deletion that is refused with its transaction changes nothing for those after it. */
  struct rp__op undone[2] = {{.type = RP_OP_SESSION_DELETE, .session_id = "c"}, op_append("nobody", &ev, 1)};
  assert_int_equal(suite_txn(f, undone, 2), RP_E_SESSION_NOT_FOUND);
  suite_say(f, "c", "x");
  t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, c), 21);
}

/* A cursor of another file, or of one that was set back, is no reason to stand still. */
static void a_cursor_from_elsewhere_comes_back(void **state)
{
  struct suite *f = *state;
  if (!suite_backend->persistent) return;
  int64_t a = suite_put(f, "a"), cursor = 1LL << 40;
  suite_say(f, "a", "x");
  assert_int_equal(changes(f, &cursor, 0).n, 0);
  suite_say(f, "a", "x");
  struct told t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, a), 2);
}

static void the_version_is_another_after_each_commit(void **state)
{
  struct suite *f = *state;
  int64_t v = version(f, f->s);
  suite_put(f, "a");
  assert_true(v != version(f, f->s));
  suite_lease(f, "a");
  v = version(f, f->s);
  assert_true(v == version(f, f->s));
  suite_say(f, "a", "x");
  assert_true(v != version(f, f->s));
  v = version(f, f->s);
  struct rp__op op = op_set("a", RP_SET_MOVE); /* no event */
  op.u.session_set.move = RP_MOVE_QUIET;
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(v != version(f, f->s));
  v = version(f, f->s);
  purge(f, "a");
  assert_true(v != version(f, f->s));
}

/* Another process's commits show as well, at once and without a question to the file. */
static void the_version_is_that_of_all(void **state)
{
  struct suite *f = *state;
  if (!suite_backend->persistent) return;
  struct suite other = *f;
  struct rp__store_options o = {.path = f->path, .clock = &f->clock};
  assert_int_equal(suite_backend->open(&o, &other.plan, &other.s, &other.err), 0);
  int64_t v = version(f, f->s), cursor = now_in(f), a = suite_put(&other, "a");
  assert_true(v != version(f, f->s));
  v = version(f, f->s);
  suite_say(&other, "a", "x");
  assert_true(v != version(f, f->s));
  struct told t = changes(f, &cursor, 0);
  assert_int_equal(seq_of(&t, a), 1);
  v = version(f, f->s);
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_SHRINK, NULL, &f->err), 0);
  suite_say(&other, "a", "x");
  assert_true(v != version(f, f->s));
  other.s->ops->close(other.s);
}

/* L-05: what somebody wrote to meanwhile is not idle. */
static void a_session_rests_only_if_nobody_wrote(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_say(f, "a", "x");
  struct rp__session_row row = suite_row(f, "a");
  struct rp__op op = op_set("a", RP_SET_MOVE);
  op.u.session_set.move = RP_MOVE_QUIET;
  op.u.session_set.quiet_since = row.last_activity_at - 1;
  rp__session_row_done(&row);
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  row = suite_row(f, "a");
  assert_int_equal(row.status, RP_STATUS_ACTIVE);
  op.u.session_set.quiet_since = row.last_activity_at;
  rp__session_row_done(&row);
  assert_int_equal(suite_op(f, &op), 0);
  row = suite_row(f, "a");
  assert_int_equal(row.status, RP_STATUS_IDLE);
  rp__session_row_done(&row);
}

const struct CMUnitTest changes_tests[] = {
    SUITE_TEST(each_journal_is_told_of_once),
    SUITE_TEST(a_step_is_bounded_and_the_next_goes_on),
    SUITE_TEST(who_stops_is_told_again),
    SUITE_TEST(what_was_refused_is_not_told),
    SUITE_TEST(nothing_is_missed_after_a_deletion),
    SUITE_TEST(nothing_is_missed_after_all_is_gone),
    SUITE_TEST(a_cursor_from_elsewhere_comes_back),
    SUITE_TEST(the_version_is_another_after_each_commit),
    SUITE_TEST(the_version_is_that_of_all),
    SUITE_TEST(a_session_rests_only_if_nobody_wrote),
};
const size_t changes_tests_n = RP_ARRAY_SIZE(changes_tests);
