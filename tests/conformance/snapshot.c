/* SPDX-License-Identifier: Apache-2.0 */
/* What a store must do with snapshots. */
#include "suite.h"

#include <string.h>

static int64_t snap(struct suite *f, int64_t seq, const char *data)
{
  struct rp__snapshot_row row = {.seq = seq,
                                 .at_ms = NOW + seq,
                                 .raw_size = 1000 + seq,
                                 .size = (int64_t)strlen(data),
                                 .reason = "manual",
                                 .data = data};
  struct rp__op op = {.type = RP_OP_SNAPSHOT_PUT, .session_id = "a", .u.snapshot_put.row = &row};
  assert_int_equal(suite_op(f, &op), 0);
  return op.ret.snapshot_n;
}

static int snap_delete(struct suite *f, int64_t n)
{
  struct rp__op op = {.type = RP_OP_SNAPSHOT_DELETE, .session_id = "a", .u.snapshot_delete.n = n};
  return suite_op(f, &op);
}

struct snaps {
  int64_t n[200];
  int count;
  char data[100];
};

static int snaps_add(void *ctx, const struct rp__snapshot_row *row)
{
  struct snaps *s = ctx;
  s->n[s->count++] = row->n;
  if (row->data) snprintf(s->data, sizeof s->data, "%.*s", (int)row->size, (const char *)row->data);
  return 0;
}

static void numbers_go_on(void **state)
{
  struct suite *f = *state;
  struct snaps s = {0};
  int64_t ref = suite_put(f, "a");
  suite_say(f, "a", "one");
  assert_int_equal(snap(f, 1, "first"), 1);
  assert_int_equal(snap(f, 1, "second"), 2);
  assert_int_equal(snap_delete(f, 2), 0);
  assert_int_equal(snap_delete(f, 2), RP_E_SNAPSHOT_NOT_FOUND);
  assert_int_equal(snap(f, 1, "third"), 3);
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, 0, snaps_add, &s, &f->err), 0);
  assert_int_equal(s.count, 2);
  assert_int_equal(s.n[0], 3);
  assert_int_equal(s.n[1], 1);
  assert_string_equal(s.data, "");
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, 1, snaps_add, &s, &f->err), 0);
  assert_string_equal(s.data, "first");
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, 2, snaps_add, &s, &f->err), RP_E_SNAPSHOT_NOT_FOUND);
}

static void the_newest_is_read_without_its_number(void **state)
{
  struct suite *f = *state;
  struct snaps s = {0};
  int64_t ref = suite_put(f, "a");
  suite_say(f, "a", "one");
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, -1, snaps_add, &s, &f->err), RP_E_SNAPSHOT_NOT_FOUND);
  snap(f, 1, "first");
  snap(f, 1, "second");
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, -1, snaps_add, &s, &f->err), 0);
  assert_int_equal(s.count, 1);
  assert_int_equal(s.n[0], 2);
  assert_string_equal(s.data, "second");
}

static void the_tail_is_what_comes_after_the_newest(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  for (int i = 0; i < 4; i++) suite_say(f, "a", "\xc3\xa4"); /* bytes, not characters */
  struct rp__session_row row = suite_row(f, "a");
  int64_t each = row.bytes / 4;
  assert_int_equal(each, (int64_t)strlen("{\"role\":\"user\",\"content\":\"\xc3\xa4\"}"));
  snap(f, 3, "x");
  row = suite_row(f, "a");
  assert_int_equal(row.snap_seq, 3);
  assert_int_equal(row.tail_bytes, each);
  assert_int_equal(row.bytes, 4 * each);
  /* An older one moves nothing. */
  snap(f, 1, "y");
  row = suite_row(f, "a");
  assert_int_equal(row.snap_seq, 3);
  assert_int_equal(row.tail_bytes, each);
  assert_int_equal(snap_delete(f, 1), 0);
  row = suite_row(f, "a");
  assert_int_equal(row.snap_seq, 1);
  assert_int_equal(row.tail_bytes, 3 * each);
  assert_int_equal(snap_delete(f, 2), 0);
  row = suite_row(f, "a");
  assert_int_equal(row.snap_seq, 0);
  assert_int_equal(row.tail_bytes, 4 * each);
  snap(f, 4, "z");
  row = suite_row(f, "a");
  assert_int_equal(row.tail_bytes, 0);
  struct rp__new_event ev = event_new("message", "{}");
  struct rp__op op = op_append("a", &ev, 1);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(op.ret.tail_events, 1);
  assert_int_equal(op.ret.tail_bytes, 2);
}

static void the_journal_must_have_come_that_far(void **state)
{
  struct suite *f = *state;
  struct rp__snapshot_row row = {.seq = 1, .size = 1, .data = "x"};
  suite_put(f, "a");
  struct rp__op op = {.type = RP_OP_SNAPSHOT_PUT, .session_id = "a", .u.snapshot_put.row = &row};
  assert_int_equal(suite_op(f, &op), RP_E_SEQ_NOT_FOUND);
  op.session_id = "nobody";
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
}

static int whole_row(void *ctx, const struct rp__snapshot_row *row)
{
  int *seen = ctx;
  ++*seen;
  assert_int_equal(row->seq, 1);
  assert_int_equal(row->at_ms, NOW + 1);
  assert_int_equal(row->raw_size, 1001);
  assert_int_equal(row->size, 4);
  assert_string_equal(row->reason, "manual");
  assert_false(row->sealed);
  return 0;
}

static void pages_of_snapshots(void **state)
{
  struct suite *f = *state;
  struct snaps s = {0};
  int seen = 0;
  int64_t ref = suite_put(f, "a");
  suite_say(f, "a", "one");
  snap(f, 1, "data");
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, 0, whole_row, &seen, &f->err), 0);
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, 1, whole_row, &seen, &f->err), 0);
  assert_int_equal(seen, 2);
  for (int i = 0; i < 130; i++) snap(f, 1, "x");
  assert_int_equal(f->s->ops->snapshot_list(f->s, ref, 0, snaps_add, &s, &f->err), 0);
  assert_int_equal(s.count, 131);
  for (int i = 0; i < 131; i++) assert_int_equal(s.n[i], 131 - i);
}

const struct CMUnitTest snapshot_tests[] = {
    SUITE_TEST(numbers_go_on),
    SUITE_TEST(the_newest_is_read_without_its_number),
    SUITE_TEST(the_tail_is_what_comes_after_the_newest),
    SUITE_TEST(the_journal_must_have_come_that_far),
    SUITE_TEST(pages_of_snapshots),
};
const size_t snapshot_tests_n = RP_ARRAY_SIZE(snapshot_tests);
