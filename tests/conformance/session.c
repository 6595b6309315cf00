/* SPDX-License-Identifier: Apache-2.0 */
/* What a store must do with sessions and scopes. */
#include "suite.h"

#include <string.h>

static void a_row_comes_back_whole(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("abc", "scope", "key"), got;
  char meta[] = "{\"a\": 1}";
  rp__name_set(row.channel, "cli");
  rp__name_set(row.provider, "p");
  rp__name_set(row.previous_id, "before");
  rp__name_set(row.forked_from, "stem");
  row.forked_at_seq = 7;
  row.sealed = true;
  row.crash_recovered = true;
  row.meta = meta;
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
  for (int again = 0; again < 2; again++) {
    got = suite_row(f, "abc");
    assert_int_equal(got.ref, op.ret.ref);
    assert_string_equal(got.scope, "scope");
    assert_string_equal(got.key, "key");
    assert_string_equal(got.channel, "cli");
    assert_string_equal(got.provider, "p");
    assert_string_equal(got.previous_id, "before");
    assert_string_equal(got.continued_by, "");
    assert_string_equal(got.forked_from, "stem");
    assert_string_equal(got.meta, meta);
    assert_int_equal(got.forked_at_seq, 7);
    assert_int_equal(got.created_at, NOW);
    assert_int_equal(got.last_activity_at, NOW);
    assert_true(got.sealed && got.crash_recovered && !got.hidden);
    assert_int_equal(got.last_seq + got.epoch + got.ended_at + got.snap_seq + got.bytes, 0);
    rp__session_row_done(&got);
    if (!suite_reopen(f)) break;
  }
}

static void an_id_is_put_once(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("a", "s", NULL);
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_op(f, &op), RP_E_EXISTS);
}

static void scopes_count_their_starts(void **state)
{
  struct suite *f = *state;
  struct rp__session_row a = row_new("a", "s", NULL), b = row_new("b", "s", NULL);
  struct rp__run_row run = {.owner = RP_RUN_NONE};
  struct rp__scope_row scope;
  struct rp__op op = op_put(&a);
  op.u.session_put.count_start = true;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.starts, 1);
  op = op_put(&b);
  assert_int_equal(suite_op(f, &op), 0);
  op = op_lease("b", 0, &run);
  op.u.lease.count_start = true;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.starts, 2);
  struct rp__scope_row set = {.sealed = true, .key_id = {1, 2, 3, 4, 5, 6, 7, 8}, .starts = 99};
  op = (struct rp__op){.type = RP_OP_SCOPE_SET, .u.scope_set = {.scope = "s", .row = &set}};
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(f->s->ops->scope_get(f->s, "s", &scope, &f->err), 0);
  assert_int_equal(scope.starts, 2);
  assert_true(scope.sealed);
  assert_memory_equal(scope.key_id, set.key_id, 8);
  assert_int_equal(f->s->ops->scope_get(f->s, "never", &scope, &f->err), 0);
  assert_int_equal(scope.starts + scope.sealed, 0);
}

/* N-14: a past that is taken in. It never takes starts away, nor what the scope is sealed with. */
static void starts_are_raised(void **state)
{
  struct suite *f = *state;
  struct rp__scope_row past = {.starts = 42, .robot = true}, less = {.starts = 7}, scope;
  struct rp__scope_row set = {.sealed = true, .key_id = {1, 2, 3, 4, 5, 6, 7, 8}};
  struct rp__session_row a = row_new("a", "s", NULL);
  struct rp__op op = {.type = RP_OP_SCOPE_RAISE, .u.scope_set = {.scope = "s", .row = &past}};
  assert_int_equal(suite_op(f, &op), 0);
  op = (struct rp__op){.type = RP_OP_SCOPE_SET, .u.scope_set = {.scope = "s", .row = &set}};
  assert_int_equal(suite_op(f, &op), 0);
  op = (struct rp__op){.type = RP_OP_SCOPE_RAISE, .u.scope_set = {.scope = "s", .row = &less}};
  assert_int_equal(suite_op(f, &op), 0);
  op = op_put(&a);
  op.u.session_put.count_start = true;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.starts, 43);
  assert_int_equal(f->s->ops->scope_get(f->s, "s", &scope, &f->err), 0);
  assert_int_equal(scope.starts, 43);
  assert_true(scope.robot && scope.sealed);
  assert_memory_equal(scope.key_id, set.key_id, 8);
  struct rp__op undone[2] = {{.type = RP_OP_SCOPE_RAISE, .u.scope_set = {.scope = "s", .row = &past}},
                             op_set("nobody", RP_SET_CRASH)};
  past.starts = 99;
  assert_int_equal(suite_txn(f, undone, 2), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(f->s->ops->scope_get(f->s, "s", &scope, &f->err), 0);
  assert_int_equal(scope.starts, 43);
}

static void moves_change_status_and_end(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  struct rp__op op = op_set("a", RP_SET_MOVE | RP_SET_CRASH);
  op.u.session_set.move = RP_MOVE_CLOSE;
  op.u.session_set.ended_at = NOW + 5;
  op.u.session_set.crash_recovered = true;
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__session_row row = suite_row(f, "a");
  assert_int_equal(row.status, RP_STATUS_CLOSED);
  assert_int_equal(row.ended_at, NOW + 5);
  assert_true(row.crash_recovered);
  op.u.session_set.move = RP_MOVE_QUIET;
  assert_int_equal(suite_op(f, &op), RP_E_ENDED);

  struct rp__run_row run = {.owner = RP_RUN_NONE};
  struct rp__op lease = op_lease("a", 0, &run);
  lease.u.lease.move = RP_MOVE_RESUME_KEY;
  assert_int_equal(suite_op(f, &lease), RP_E_ENDED);
  lease.u.lease.move = RP_MOVE_RESUME_ID;
  assert_int_equal(suite_op(f, &lease), 0);
  row = suite_row(f, "a");
  assert_int_equal(row.status, RP_STATUS_ACTIVE);
  assert_int_equal(row.ended_at, 0);
}

static void a_set_is_fenced(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_lease(f, "a");
  struct rp__op op = op_set("a", RP_SET_CRASH);
  op.epoch = 2;
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  op.epoch = 1;
  assert_int_equal(suite_op(f, &op), 0);
  op = op_set("nobody", RP_SET_CRASH);
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
}

static void the_first_successor_stays(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  struct rp__op op = op_set("a", RP_SET_CONTINUED_BY | RP_SET_META);
  op.u.session_set.continued_by = "b";
  op.u.session_set.meta = "{\"x\":1}";
  assert_int_equal(suite_op(f, &op), 0);
  op.u.session_set.continued_by = "c";
  op.u.session_set.meta = NULL;
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__session_row row = suite_row(f, "a");
  assert_string_equal(row.continued_by, "b");
  assert_null(row.meta);
}

static void assert_name(struct suite *f, const char *name)
{
  struct rp__session_row row = suite_row(f, "a");
  assert_string_equal(row.name, name);
  rp__session_row_done(&row);
}

/* C-11: the name of the newest `session` event, for lists */
static void a_name_is_kept_and_cut(void **state)
{
  struct suite *f = *state;
  char many[2 * RP_TITLE];
  suite_put(f, "a");
  assert_name(f, "");
  struct rp__op op = op_set("a", RP_SET_NAME);
  op.u.session_set.name = "caf\xc3\xa9";
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__op other = op_set("a", RP_SET_CRASH);
  assert_int_equal(suite_op(f, &other), 0);
  assert_name(f, "caf\xc3\xa9");
  if (suite_reopen(f)) assert_name(f, "caf\xc3\xa9");
  memset(many, 'x', sizeof many - 1);
  many[sizeof many - 1] = '\0';
  memcpy(many + RP_TITLE - 2, "\xc3\xa9", 2); /* never in the middle of a character */
  op.u.session_set.name = many;
  assert_int_equal(suite_op(f, &op), 0);
  many[RP_TITLE - 2] = '\0';
  assert_name(f, many);
  op.u.session_set.name = NULL;
  assert_int_equal(suite_op(f, &op), 0);
  assert_name(f, "");
}

static void an_import_sets_times(void **state)
{
  struct suite *f = *state;
  struct rp__session_row want = {
      .created_at = 1, .last_activity_at = 2, .ended_at = 3, .status = RP_STATUS_ABANDONED, .crash_recovered = true};
  suite_put(f, "a");
  struct rp__op op = op_set("a", RP_SET_TIMES);
  op.u.session_set.row = &want;
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__session_row row = suite_row(f, "a");
  assert_int_equal(row.created_at, 1);
  assert_int_equal(row.last_activity_at, 2);
  assert_int_equal(row.ended_at, 3);
  assert_int_equal(row.status, RP_STATUS_ABANDONED);
  assert_true(row.crash_recovered);
}

static void counters_are_recomputed(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_say(f, "a", "one");
  suite_say(f, "a", "two");
  struct rp__session_row before = suite_row(f, "a");
  struct rp__op op = op_set("a", RP_SET_COUNTERS);
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__session_row after = suite_row(f, "a");
  assert_int_equal(after.last_seq, 2);
  assert_int_equal(after.bytes, before.bytes);
  assert_int_equal(after.tail_bytes, before.tail_bytes);
}

static void nothing_is_left_of_a_deleted_session(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats stats;
  struct rp__new_event ev = event_new("message", "{\"content\":\"treasure\"}");
  struct rp__snapshot_row snap = {.seq = 1, .size = 3, .data = "abc"};
  int64_t ref = suite_put(f, "a");
  suite_put(f, "b");
  suite_lease(f, "a");
  struct rp__op op = op_append("a", &ev, 1);
  op.u.append.idempotency_key = "k";
  op.u.append.client_id = "c";
  op.u.append.client_seq = 1;
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__op put = {.type = RP_OP_SNAPSHOT_PUT, .session_id = "a", .u.snapshot_put.row = &snap};
  assert_int_equal(suite_op(f, &put), 0);
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(suite_op(f, &del), 0);
  assert_int_equal(suite_op(f, &del), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.sessions[RP_STATUS_CREATED], 1);
  assert_int_equal(stats.events + stats.event_bytes + stats.snapshots + stats.runs_open, 0);

  /* The id may be used again, its ref may not, and nothing of the old one shows. */
  int64_t again = suite_put(f, "a"), mark;
  assert_int_not_equal(again, ref);
  assert_int_equal(f->s->ops->client_get(f->s, again, "c", &mark, &f->err), 0);
  assert_int_equal(mark, 0);
  op.session_ref = ref;
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
  op.session_ref = again;
  assert_int_equal(suite_op(f, &op), 0);
  assert_false(op.ret.repeated);
  assert_int_equal(op.ret.seq, 1);
}

static void a_delete_can_be_undone(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_put(f, "b");
  suite_lease(f, "a");
  suite_say(f, "a", "one");
  struct rp__op ops[2] = {{.type = RP_OP_SESSION_DELETE, .session_id = "a"}, op_set("nobody", RP_SET_CRASH)};
  assert_int_equal(suite_txn(f, ops, 2), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(suite_count_events(f, "a"), 1);
  struct rp__op beat = {.type = RP_OP_HEARTBEAT, .session_id = "a", .epoch = 1};
  assert_int_equal(suite_op(f, &beat), 0);
}

/* Every op, undone by the one after it, leaves nothing behind. */
static void every_op_can_be_undone(void **state)
{
  struct suite *f = *state;
  struct rp__run_row run = {.owner = RP_RUN_NONE};
  struct rp__new_event ev = event_new("message", "{\"content\":\"changed\"}");
  struct rp__snapshot_row snap = {.seq = 1, .size = 3, .data = "abc"};
  struct rp__scope_row scope = {.sealed = true};
  suite_put(f, "a");
  suite_lease(f, "a");
  suite_say(f, "a", "one");
  struct rp__op put = {.type = RP_OP_SNAPSHOT_PUT, .session_id = "a", .u.snapshot_put.row = &snap};
  assert_int_equal(suite_op(f, &put), 0);
  struct rp__op tries[] = {
      op_lease("a", 1, &run),
      {.type = RP_OP_RUN_END, .session_id = "a", .u.run_end = {.ended_at = 5, .cause = RP_CAUSE_CRASH}},
      op_set("a", RP_SET_CRASH | RP_SET_META),
      op_append("a", &ev, 1),
      {.type = RP_OP_HEARTBEAT, .session_id = "a", .now_ms = NOW + 9},
      put,
      {.type = RP_OP_SNAPSHOT_DELETE, .session_id = "a", .u.snapshot_delete.n = 1},
      {.type = RP_OP_EVENT_REPLACE, .session_id = "a", .u.event_replace = {.seq = 1, .event = &ev}},
      {.type = RP_OP_SCOPE_SET, .u.scope_set = {.scope = "s", .row = &scope}},
  };
  tries[2].u.session_set.crash_recovered = true;
  tries[2].u.session_set.meta = "{}";
  struct rp__session_row before = suite_row(f, "a");
  for (size_t i = 0; i < RP_ARRAY_SIZE(tries); i++) {
    struct rp__op ops[2] = {tries[i], op_set("nobody", RP_SET_CRASH)};
    assert_int_equal(suite_txn(f, ops, 2), RP_E_SESSION_NOT_FOUND);
    struct rp__session_row after = suite_row(f, "a");
    assert_memory_equal(&before, &after, sizeof before);
  }
  struct ids ids = {0};
  assert_int_equal(f->s->ops->search(f->s, "changed", NULL, 0, ids_hit, &ids, &f->err), 0);
  assert_string_equal(ids.text, "");
  assert_int_equal(f->s->ops->search(f->s, "one", NULL, 0, ids_hit, &ids, &f->err), 0);
  assert_string_equal(ids.text, "a:1 ");
  struct rp__op last = op_lease("a", 1, &run);
  assert_int_equal(suite_op(f, &last), 0);
  assert_int_equal(suite_op(f, &put), 0);
  assert_int_equal(put.ret.snapshot_n, 2);
}

static void events_are_replaced(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("x-lost", "{\"was\":\"damaged\"}");
  suite_put(f, "a");
  suite_say(f, "a", "a very long text that is no more");
  suite_say(f, "a", "two");
  struct rp__session_row before = suite_row(f, "a");
  struct rp__op op = {.type = RP_OP_EVENT_REPLACE, .session_id = "a", .u.event_replace = {.seq = 1, .event = &ev}};
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_count_events(f, "a"), 2);
  struct rp__session_row after = suite_row(f, "a");
  assert_true(after.bytes < before.bytes);
  assert_int_equal(after.bytes, after.tail_bytes);
  op.u.event_replace.seq = 3;
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_NOT_FOUND);
  op.u.event_replace.seq = 0;
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_NOT_FOUND);
}

const struct CMUnitTest session_tests[] = {
    SUITE_TEST(a_row_comes_back_whole),
    SUITE_TEST(an_id_is_put_once),
    SUITE_TEST(scopes_count_their_starts),
    SUITE_TEST(starts_are_raised),
    SUITE_TEST(moves_change_status_and_end),
    SUITE_TEST(a_set_is_fenced),
    SUITE_TEST(the_first_successor_stays),
    SUITE_TEST(a_name_is_kept_and_cut),
    SUITE_TEST(an_import_sets_times),
    SUITE_TEST(counters_are_recomputed),
    SUITE_TEST(nothing_is_left_of_a_deleted_session),
    SUITE_TEST(a_delete_can_be_undone),
    SUITE_TEST(every_op_can_be_undone),
    SUITE_TEST(events_are_replaced),
};
const size_t session_tests_n = RP_ARRAY_SIZE(session_tests);
