/* SPDX-License-Identifier: Apache-2.0 */
/* B-14: streams that are not over, their sealed tails, and who may go on with them. */
#include "suite.h"

#include <string.h>

static struct rp__new_event chunk_new(uint64_t voice, bool open, const char *tail)
{
  struct rp__new_event ev = event_new("message", "{\"role\":\"assistant\",\"content\":\"x\",\"partial\":true}");
  ev.voice = voice;
  ev.open = open;
  ev.tail = tail;
  ev.tail_len = tail ? strlen(tail) : 0;
  return ev;
}

static struct rp__op op_chunk(const struct rp__new_event *ev, int64_t heard, int64_t number)
{
  struct rp__op op = op_append("a", ev, 1);
  op.u.append.heard = true;
  op.u.append.heard_number = heard;
  op.u.append.streams_number = number;
  return op;
}

struct seen {
  char text[256];
};

static int on_tail(void *ctx, const struct rp__tail_row *row)
{
  struct seen *x = ctx;
  size_t n = strlen(x->text);
  assert_string_equal(row->session_id, "a");
  assert_string_equal(row->scope, "s");
  assert_string_equal(row->event.kind, "message");
  assert_int_equal(row->event.seq, row->seq);
  snprintf(x->text + n, sizeof x->text - n, "%llu:%lld:%.*s ", (unsigned long long)row->voice, (long long)row->seq,
           (int)row->tail_len, row->tail ? (const char *)row->tail : "");
  return 0;
}

static const char *listed(struct suite *f, int64_t ref, const struct rp__tails *which)
{
  static struct seen x;
  x.text[0] = 0;
  assert_int_equal(f->s->ops->tail_list(f->s, ref, which, on_tail, &x, &f->err), 0);
  return x.text;
}

static void the_newest_chunk_of_each_voice_is_listed(void **state)
{
  struct suite *f = *state;
  int64_t ref = suite_put(f, "a");
  struct rp__new_event ev[3] = {chunk_new(7, true, "one"), chunk_new(8, true, NULL), chunk_new(7, true, "two")};
  for (int i = 0; i < 3; i++) {
    struct rp__op op = op_chunk(&ev[i], i, i + 1);
    assert_int_equal(suite_op(f, &op), 0);
  }
  assert_string_equal(listed(f, ref, NULL), "8:2: 7:3:two ");
  assert_string_equal(listed(f, 0, NULL), "7:3:two ");
  struct rp__tails which = {.n = 1, .at = {{7, 1}}};
  assert_string_equal(listed(f, ref, &which), "7:1:one ");
  if (suite_reopen(f)) assert_string_equal(listed(f, ref, NULL), "8:2: 7:3:two ");
  struct rp__new_event last = chunk_new(7, false, NULL);
  struct rp__op op = op_chunk(&last, 3, 4);
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(listed(f, ref, NULL), "8:2: ");
  assert_int_equal(suite_row(f, "a").tails.number, 4);
}

static void a_writer_that_has_not_heard_is_refused(void **state)
{
  struct suite *f = *state;
  int64_t ref = suite_put(f, "a");
  struct rp__new_event ev = chunk_new(7, true, "held");
  struct rp__op op = op_chunk(&ev, 0, 100);
  assert_int_equal(suite_op(f, &op), 0);
  op = op_chunk(&ev, 0, 200);
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_CONFLICT);
  assert_true(op.ret.unheard);
  assert_int_equal(suite_count_events(f, "a"), 1);
  assert_string_equal(listed(f, ref, NULL), "7:1:held ");
  /* An event that only has to come behind the streams leaves them as they are. */
  struct rp__new_event plain = event_new("note", "{}");
  op = op_chunk(&plain, 100, 0);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_row(f, "a").tails.number, 100);
  op = op_chunk(&ev, 100, 101);
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(listed(f, ref, NULL), "7:3:held ");
}

static void a_tail_is_sealed_with_the_key_the_store_knows(void **state)
{
  static const unsigned char one[] = "11111111", two[] = "22222222";
  struct suite *f = *state;
  suite_put(f, "a");
  struct rp__new_event ev = chunk_new(7, true, "held");
  struct rp__op op = op_chunk(&ev, 0, 1);
  op.u.append.tail_key = one;
  assert_int_equal(suite_op(f, &op), 0);
  op = op_chunk(&ev, 1, 2);
  op.u.append.tail_key = two;
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_CONFLICT);
  assert_true(op.ret.other_key);
  assert_false(op.ret.unheard);
  struct rp__op key = {.type = RP_OP_TAIL_KEY, .now_ms = NOW, .u.tail_key.id = two};
  assert_int_equal(suite_op(f, &key), 0);
  op = op_chunk(&ev, 1, 2);
  op.u.append.tail_key = two;
  assert_int_equal(suite_op(f, &op), 0);
}

static void the_stream_silent_for_longest_makes_room(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  for (int i = 0; i <= RP_TAILS_MAX; i++) {
    struct rp__new_event ev = chunk_new((uint64_t)i + 1, true, NULL);
    struct rp__op op = op_chunk(&ev, i, i + 1);
    assert_int_equal(suite_op(f, &op), 0);
  }
  struct rp__session_row row = suite_row(f, "a");
  assert_int_equal(row.tails.n, RP_TAILS_MAX);
  assert_int_equal(row.tails.at[0].voice, 2);
  assert_int_equal(row.tails.at[RP_TAILS_MAX - 1].voice, RP_TAILS_MAX + 1);
}

/* What the engine told before the caller's events is no part of the acknowledgement, nor of a client's count. */
static void only_given_events_are_acknowledged(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  struct rp__new_event ev[3] = {chunk_new(7, false, NULL), event_new("note", "{}"), event_new("note", "{}")};
  for (int i = 0; i < 2; i++) {
    struct rp__op op = op_append("a", ev, 3);
    op.u.append.given = 2;
    op.u.append.first_given = 1;
    op.u.append.client_id = "c";
    op.u.append.client_seq = 1;
    assert_int_equal(suite_op(f, &op), 0);
    assert_int_equal(op.ret.repeated, i == 1);
    assert_int_equal(op.ret.seq, 3);
    if (!i) assert_int_equal(op.ret.first_seq, 2);
  }
  struct rp__op next = op_append("a", ev + 1, 1);
  next.u.append.client_id = "c";
  next.u.append.client_seq = 3;
  assert_int_equal(suite_op(f, &next), 0);
}

static void forgotten_tails_are_gone(void **state)
{
  struct suite *f = *state;
  int64_t ref = suite_put(f, "a");
  struct rp__new_event ev = chunk_new(7, true, "held");
  struct rp__op op = op_chunk(&ev, 0, 1);
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__op forget = op_append("a", NULL, 0);
  forget.type = RP_OP_TAILS_FORGET;
  forget.u.tails_forget.number = 9;
  assert_int_equal(suite_op(f, &forget), 0);
  assert_string_equal(listed(f, ref, NULL), "");
  struct rp__tails which = {.n = 1, .at = {{7, 1}}};
  assert_string_equal(listed(f, ref, &which), "7:1: ");
  assert_int_equal(suite_row(f, "a").tails.number, 9);
}

const struct CMUnitTest stream_tests[] = {
    SUITE_TEST(the_newest_chunk_of_each_voice_is_listed),
    SUITE_TEST(a_writer_that_has_not_heard_is_refused),
    SUITE_TEST(a_tail_is_sealed_with_the_key_the_store_knows),
    SUITE_TEST(the_stream_silent_for_longest_makes_room),
    SUITE_TEST(only_given_events_are_acknowledged),
    SUITE_TEST(forgotten_tails_are_gone),
};
const size_t stream_tests_n = RP_ARRAY_SIZE(stream_tests);
