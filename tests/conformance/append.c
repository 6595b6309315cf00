/* SPDX-License-Identifier: Apache-2.0 */
/* What a store must do with appended events. */
#include "suite.h"

#include <string.h>

static void seqs_begin_at_1_and_have_no_holes(void **state)
{
  struct suite *f = *state;
  int64_t ref = suite_put(f, "a");
  struct rp__new_event ev[3] = {event_new("message", "{\"n\":1}"), event_new("note", "{\"n\":22}"),
                                event_new("x-own", "{}")};
  struct rp__op op = op_append("a", ev, 3);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.first_seq, 1);
  assert_int_equal(op.ret.seq, 3);
  assert_int_equal(op.ret.tail_events, 3);
  assert_int_equal(op.ret.tail_bytes, 7 + 8 + 2);
  assert_false(op.ret.repeated);

  op = op_append("a", ev, 1);
  op.session_ref = ref;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.first_seq, 4);
  assert_int_equal(op.ret.seq, 4);
  assert_int_equal(suite_count_events(f, "a"), 4);
  struct rp__session_row row = suite_row(f, "a");
  assert_int_equal(row.last_seq, 4);
  assert_int_equal(row.bytes, 24);
  assert_int_equal(row.tail_bytes, 24);
}

/* A session that was deleted and made again under its id is another one: who knows the old one writes to neither. */
static void a_wrong_ref_names_no_session(void **state)
{
  struct suite *f = *state;
  int64_t a = suite_put(f, "a"), b = suite_put(f, "b");
  struct rp__new_event ev = event_new("message", "{}");
  struct rp__op op = op_append("b", &ev, 1);
  op.session_ref = a;
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
  op = op_append("b", &ev, 1);
  op.session_ref = b + 1000;
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(suite_count_events(f, "a") + suite_count_events(f, "b"), 0);
}

static void no_such_session(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{}");
  struct rp__op op = op_append("nobody", &ev, 1);
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
  assert_non_null(strstr(f->err.message, "nobody"));
}

static int body_check(void *ctx, const struct rp__event_row *row)
{
  const struct rp__new_event *ev = ctx;
  assert_string_equal(row->kind, ev->kind);
  assert_int_equal(row->at_ms, ev->at_ms);
  assert_int_equal(row->body_len, ev->body_len);
  assert_memory_equal(row->body, ev->body, ev->body_len);
  assert_int_equal(row->sealed, ev->sealed);
  assert_false(row->damaged);
  return 0;
}

/* The bytes that came are the bytes that are kept; sealed ones may be any. */
static void bodies_are_kept_as_bytes(void **state)
{
  struct suite *f = *state;
  static const char sealed[] = "\0\xff\x01 sealed \0 bytes";
  struct rp__new_event plain = event_new("message", " {\"n\" : 1.50, \"s\":\"\\u00e4\xc3\xa4\" }");
  struct rp__new_event secret = {.kind = "note", .body = sealed, .body_len = sizeof sealed, .at_ms = 5, .sealed = true};
  struct rp__event_range r = {.session_ref = suite_put(f, "a"), .session_id = "a", .limit = 1};
  struct rp__op op = op_append("a", &plain, 1);
  assert_int_equal(suite_op(f, &op), 0);
  op = op_append("a", &secret, 1);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(f->s->ops->event_list(f->s, &r, body_check, &plain, &f->err), 0);
  r.after = 1;
  assert_int_equal(f->s->ops->event_list(f->s, &r, body_check, &secret, &f->err), 0);
}

/* B-05: the epoch is checked inside the commit; a guest's goes under the current one. */
static void a_fenced_writer_stores_nothing(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{}");
  suite_put(f, "a");
  assert_int_equal(suite_lease(f, "a"), 1);
  assert_int_equal(suite_lease(f, "a"), 2);
  struct rp__op op = op_append("a", &ev, 1);
  op.epoch = 1;
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  op.epoch = 3;
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  assert_int_equal(suite_count_events(f, "a"), 0);
  op.epoch = 2;
  assert_int_equal(suite_op(f, &op), 0);
  op.epoch = 0;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.epoch, 2);
}

static void the_expected_seq_decides(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{}");
  suite_put(f, "a");
  struct rp__op op = op_append("a", &ev, 1);
  op.u.append.expect = 1;
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_CONFLICT);
  op.u.append.expect = 0;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_CONFLICT);
  assert_int_equal(suite_count_events(f, "a"), 1);
}

/* A repeated key gets the first acknowledgement again, whatever else is wrong by then. */
static void keys_are_remembered(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev[2] = {event_new("message", "{}"), event_new("message", "{}")};
  suite_put(f, "a");
  suite_put(f, "b");
  struct rp__op op = op_append("a", ev, 2);
  op.u.append.idempotency_key = "k";
  assert_int_equal(suite_op(f, &op), 0);
  suite_say(f, "a", "between");
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  assert_int_equal(op.ret.first_seq, 1);
  assert_int_equal(op.ret.seq, 2);
  assert_int_equal(suite_count_events(f, "a"), 3);
  /* Another session's keys are its own. */
  op.session_id = "b";
  assert_int_equal(suite_op(f, &op), 0);
  assert_false(op.ret.repeated);
}

/* A key with another request is a conflict, before anything else is looked at; without a digest nothing is compared. */
static void a_key_is_of_one_request(void **state)
{
  struct suite *f = *state;
  unsigned char one[RP_REQUEST_DIGEST] = {1}, two[RP_REQUEST_DIGEST] = {2};
  struct rp__new_event ev = event_new("message", "{}");
  suite_put(f, "a");
  struct rp__op op = op_append("a", &ev, 1), bare = op;
  op.u.append.idempotency_key = "k";
  op.u.append.digest = one;
  bare.u.append.idempotency_key = "bare";
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_op(f, &bare), 0);
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  op.epoch = 9;
  op.u.append.expect = 9;
  op.u.append.digest = two;
  assert_int_equal(suite_op(f, &op), RP_E_KEY_REUSED);
  assert_string_equal(f->err.field, "idempotency_key");
  op.u.append.digest = NULL;
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  bare.u.append.digest = two; /* one that an older version stored */
  assert_int_equal(suite_op(f, &bare), 0);
  assert_true(bare.ret.repeated);
  assert_int_equal(suite_count_events(f, "a"), 2);
}

static bool made(struct suite *f, const char *scope, const char *key, struct rp__request_row *ret)
{
  bool found = false;
  assert_int_equal(f->s->ops->request_get(f->s, scope, key, ret, &found, &f->err), 0);
  return found;
}

/* What was made under a key of a scope: once, with its transaction or not at all, and for a day. */
static void requests_are_remembered(void **state)
{
  struct suite *f = *state;
  struct rp__request_row row = {.scope = "s", .key = "k", .digest = {7, 8}, .session_id = "a", .epoch = 1LL << 40}, got;
  struct rp__new_event ev = event_new("message", "{}");
  int64_t left = -1;
  suite_put(f, "a");
  assert_false(made(f, "s", "k", &got));
  struct rp__op ops[2] = {{.type = RP_OP_REQUEST_PUT, .session_id = "a", .now_ms = NOW, .u.request.row = &row},
                          op_append("nobody", &ev, 1)};
  assert_int_equal(suite_txn(f, ops, 2), RP_E_SESSION_NOT_FOUND);
  assert_false(made(f, "s", "k", &got));
  assert_int_equal(suite_op(f, &ops[0]), 0);
  assert_true(made(f, "s", "k", &got));
  assert_memory_equal(got.digest, row.digest, sizeof got.digest);
  assert_string_equal(got.session_id, "a");
  assert_int_equal(got.epoch, 1LL << 40);
  assert_false(made(f, "t", "k", &got));
  assert_false(made(f, "s", "K", &got));
  row.epoch = 2;
  assert_int_equal(suite_op(f, &ops[0]), RP_E_FENCED);
  row.scope = "t";
  ops[0].now_ms = NOW + 1000;
  assert_int_equal(suite_op(f, &ops[0]), 0);
  f->wall = NOW + 24L * 3600 * 1000 + 500;
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_PRUNE, &left, &f->err), 0);
  assert_int_equal(left, 0);
  assert_false(made(f, "s", "k", &got));
  assert_true(made(f, "t", "k", &got));
}

/* Idempotency → epoch → expected seq → ended → client gap. */
static void refusals_come_in_order(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{}");
  suite_put(f, "a");
  suite_lease(f, "a");
  struct rp__op op = op_append("a", &ev, 1);
  op.u.append.idempotency_key = "k";
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__op end = op_set("a", RP_SET_MOVE);
  end.u.session_set.move = RP_MOVE_CLOSE;
  assert_int_equal(suite_op(f, &end), 0);

  op.epoch = 9;
  op.u.append.expect = 9;
  op.u.append.client_id = "c";
  op.u.append.client_seq = 9;
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  op.u.append.idempotency_key = "other";
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  op.epoch = 1;
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_CONFLICT);
  op.u.append.expect = 1;
  assert_int_equal(suite_op(f, &op), RP_E_ENDED);
  ev.engine = true;
  assert_int_equal(suite_op(f, &op), RP_E_CLIENT_GAP);
  op.u.append.client_seq = 1;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_count_events(f, "a"), 2);
}

/* L-10: a repeat is acknowledged and not stored, a gap is an error that names what was expected. */
static void clients_number_their_events(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev[3] = {event_new("message", "{}"), event_new("message", "{}"), event_new("message", "{}")};
  int64_t ref = suite_put(f, "a"), mark;
  struct rp__op op = op_append("a", ev, 1);
  op.u.append.client_id = "c";
  op.u.append.client_seq = 2;
  assert_int_equal(suite_op(f, &op), RP_E_CLIENT_GAP);
  assert_non_null(strstr(f->err.message, "expected client_seq 1"));
  assert_int_equal(f->s->ops->client_get(f->s, ref, "c", &mark, &f->err), 0);
  assert_int_equal(mark, 0);

  suite_say(f, "a", "before");
  op.u.append.client_seq = 1;
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.seq, 2);
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  assert_int_equal(op.ret.seq, 2);
  /* Three at once are 2, 3, 4; what reaches over the mark is a gap of its own kind. */
  op = op_append("a", ev, 3);
  op.u.append.client_id = "c";
  op.u.append.client_seq = 2;
  assert_int_equal(suite_op(f, &op), 0);
  op.u.append.client_seq = 3;
  assert_int_equal(suite_op(f, &op), RP_E_CLIENT_GAP);
  assert_non_null(strstr(f->err.message, "expected client_seq 5"));
  op.u.append.n = 1;
  op.u.append.client_seq = 1;
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  assert_int_equal(op.ret.seq, 0);
  assert_int_equal(f->s->ops->client_get(f->s, ref, "c", &mark, &f->err), 0);
  assert_int_equal(mark, 4);
  assert_int_equal(suite_count_events(f, "a"), 5);
}

static void activity_is_what_others_say(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("status", "{}");
  ev.engine = true;
  suite_put(f, "a");
  struct rp__op op = op_append("a", &ev, 1);
  op.now_ms = NOW + 1000;
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__session_row row = suite_row(f, "a");
  assert_int_equal(row.status, RP_STATUS_CREATED);
  assert_int_equal(row.last_activity_at, NOW);
  ev = event_new("message", "{}");
  assert_int_equal(suite_op(f, &op), 0);
  row = suite_row(f, "a");
  assert_int_equal(row.status, RP_STATUS_ACTIVE);
  assert_int_equal(row.last_activity_at, NOW + 1000);
}

static void an_empty_append_is_refused(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  struct rp__op op = op_append("a", NULL, 0);
  assert_int_equal(suite_op(f, &op), RP_E_USAGE);
}

/* A txn's refusal undoes that txn alone, also when its first ops were good. */
static void a_group_keeps_what_stands(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{\"content\":\"hello\"}");
  struct rp__session_row row = row_new("new", "fresh", NULL);
  suite_put(f, "a");
  struct rp__op good = op_append("a", &ev, 1), last = op_append("a", &ev, 1);
  struct rp__op bad[3] = {op_put(&row), op_append("a", &ev, 1), op_append("nobody", &ev, 1)};
  bad[0].u.session_put.count_start = true;
  bad[1].u.append.idempotency_key = "k";
  bad[1].u.append.client_id = "c";
  bad[1].u.append.client_seq = 1;
  struct rp__txn t[3] = {{.ops = &good, .n = 1, .durability = RP_OS},
                         {.ops = bad, .n = 3, .durability = RP_DISK},
                         {.ops = &last, .n = 1, .durability = RP_OS}};
  struct rp__txn *group[3] = {&t[0], &t[1], &t[2]};
  assert_int_equal(f->s->ops->commit(f->s, group, 3, &f->err), 0);
  assert_int_equal(t[0].rc, 0);
  assert_int_equal(t[1].rc, RP_E_SESSION_NOT_FOUND);
  assert_int_equal(t[2].rc, 0);
  assert_int_equal(good.ret.seq, 1);
  assert_int_equal(last.ret.seq, 2);
  assert_int_equal(suite_count_events(f, "a"), 2);
  assert_int_equal(f->s->ops->session_find(f->s, RP_FIND_ID, NULL, "new", &row, &f->err), RP_E_SESSION_NOT_FOUND);
  struct rp__scope_row scope;
  assert_int_equal(f->s->ops->scope_get(f->s, "fresh", &scope, &f->err), 0);
  assert_int_equal(scope.starts, 0);
  assert_int_equal(suite_op(f, &bad[1]), 0);
  assert_false(bad[1].ret.repeated);
}

static void a_txn_sees_its_own_ops(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("a", "s", "k");
  struct rp__run_row run = {.owner = RP_RUN_NONE, .started_at = NOW};
  struct rp__new_event ev = event_new("message", "{}");
  struct rp__op ops[4] = {op_put(&row), op_lease("a", 0, &run), op_append("a", &ev, 1), op_append("a", &ev, 1)};
  ops[2].epoch = ops[3].epoch = 1;
  ops[3].u.append.expect = 1;
  assert_int_equal(suite_txn(f, ops, 4), 0);
  assert_int_equal(ops[1].ret.epoch, 1);
  assert_int_equal(ops[3].ret.seq, 2);
}

static void old_keys_are_pruned(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{}");
  int64_t left = -1;
  suite_put(f, "a");
  struct rp__op op = op_append("a", &ev, 1);
  op.u.append.idempotency_key = "old";
  assert_int_equal(suite_op(f, &op), 0);
  op.u.append.idempotency_key = "young";
  op.now_ms = NOW + 1000;
  assert_int_equal(suite_op(f, &op), 0);
  f->wall = NOW + 24L * 3600 * 1000 + 500;
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_PRUNE, &left, &f->err), 0);
  assert_int_equal(left, 0);
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  op.u.append.idempotency_key = "old";
  assert_int_equal(suite_op(f, &op), 0);
  assert_false(op.ret.repeated);
}

const struct CMUnitTest append_tests[] = {
    SUITE_TEST(seqs_begin_at_1_and_have_no_holes),
    SUITE_TEST(a_wrong_ref_names_no_session),
    SUITE_TEST(no_such_session),
    SUITE_TEST(bodies_are_kept_as_bytes),
    SUITE_TEST(a_fenced_writer_stores_nothing),
    SUITE_TEST(the_expected_seq_decides),
    SUITE_TEST(keys_are_remembered),
    SUITE_TEST(a_key_is_of_one_request),
    SUITE_TEST(requests_are_remembered),
    SUITE_TEST(refusals_come_in_order),
    SUITE_TEST(clients_number_their_events),
    SUITE_TEST(activity_is_what_others_say),
    SUITE_TEST(an_empty_append_is_refused),
    SUITE_TEST(a_group_keeps_what_stands),
    SUITE_TEST(a_txn_sees_its_own_ops),
    SUITE_TEST(old_keys_are_pruned),
};
const size_t append_tests_n = RP_ARRAY_SIZE(append_tests);
