/* SPDX-License-Identifier: Apache-2.0 */
/* records of ended sessions, what recall scans, words on tasks. */
#include "suite.h"

#include <string.h>

static const char *const contents[RP_PARTS_MAX] = {"[{\"label\":\"CRITICAL\",\"content\":\"caf\xc3\xa9\"}]",
                                                   "[\"ham radio\"]",
                                                   "[\"lbf\"]",
                                                   "[{\"task_id\":\"t1\"}]",
                                                   "[\"m1\"]",
                                                   "[]",
                                                   "[]"};

/* A record whose parts are the texts above; rp__record_row_done frees it. */
#define WENT "[{\"label\":\"gone\",\"pinned_at\":\"2026-01-01T00:00:00.000Z\"}]" /* */

static struct rp__record_row record_new(const char *id, int64_t end)
{
  struct rp__record_row row = {.start_ms = NOW - 5000,
                               .end_ms = end,
                               .created_ms = NOW - 4000,
                               .updated_ms = NOW + 1,
                               .n_tasks = 1,
                               .has_critical = true,
                               .topics = {1, 0x80000001u, UINT32_MAX},
                               .n_topics = 3};
  rp__name_set(row.session_id, id);
  rp__name_set(row.scope, "s");
  rp__name_set(row.channel, "cli");
  rp__name_set(row.previous_id, "before");
  for (int i = 0; i < RP_PARTS_MAX; i++) assert_non_null(row.part[i] = strdup(contents[i]));
  return row;
}

static int record_put(struct suite *f, const struct rp__record_row *row)
{
  struct rp__op op = {.type = RP_OP_RECORD_PUT, .session_id = row->session_id, .u.record.row = row};
  return suite_op(f, &op);
}

static void put_ended(struct suite *f, const char *id, int64_t end)
{
  struct rp__record_row row = record_new(id, end);
  suite_put(f, id);
  assert_int_equal(record_put(f, &row), 0);
  rp__record_row_done(&row);
}

static struct rp__record_row record_read(struct suite *f, const char *id)
{
  struct rp__session_row s = suite_row(f, id);
  struct rp__record_row row;
  int rc = f->s->ops->record_get(f->s, s.ref, &row, &f->err);
  if (rc != 0) fail_msg("%s", f->err.message);
  rp__session_row_done(&s);
  return row;
}

static int record_missing(struct suite *f, const char *id)
{
  struct rp__session_row s = suite_row(f, id);
  struct rp__record_row row;
  int rc = f->s->ops->record_get(f->s, s.ref, &row, &f->err);
  rp__session_row_done(&s);
  return rc;
}

static void a_record_comes_back_whole(void **state)
{
  struct suite *f = *state;
  struct rp__record_row row = record_new("a", NOW);
  row.crash_recovered = true;
  assert_non_null(row.dropped = strdup(WENT));
  suite_put(f, "a");
  assert_int_equal(record_missing(f, "a"), RP_E_RECORD_NOT_FOUND);
  assert_int_equal(record_put(f, &row), 0);
  for (int again = 0; again < 2; again++) {
    struct rp__record_row got = record_read(f, "a");
    assert_int_equal(got.session_ref, suite_row(f, "a").ref);
    assert_string_equal(got.session_id, "a");
    assert_string_equal(got.scope, "s");
    assert_string_equal(got.channel, "cli");
    assert_string_equal(got.previous_id, "before");
    assert_string_equal(got.continued_by, "");
    assert_int_equal(got.start_ms, row.start_ms);
    assert_int_equal(got.end_ms, row.end_ms);
    assert_int_equal(got.created_ms, row.created_ms);
    assert_int_equal(got.updated_ms, row.updated_ms);
    assert_true(got.crash_recovered && got.has_critical && !got.archived);
    assert_int_equal(got.n_tasks, 1);
    assert_int_equal(got.n_topics, 3);
    assert_memory_equal(got.topics, row.topics, 3 * sizeof row.topics[0]);
    for (int i = 0; i < RP_PARTS_MAX; i++) assert_string_equal(got.part[i], contents[i]);
    assert_string_equal(got.dropped, WENT);
    assert_null(got.sealed_body);
    rp__record_row_done(&got);
    if (!suite_reopen(f)) break;
  }
  rp__record_row_done(&row);
}

/* a session resumed after its end has one record, the last one. */
static void a_record_is_replaced(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats stats;
  put_ended(f, "a", NOW);
  struct rp__record_row row = record_new("a", NOW + 9);
  free(row.part[RP_PART_HOT_TOPICS]);
  row.part[RP_PART_HOT_TOPICS] = strdup("[\"other\"]");
  row.n_topics = 0;
  row.has_critical = false;
  assert_int_equal(record_put(f, &row), 0);
  rp__record_row_done(&row);
  struct rp__record_row got = record_read(f, "a");
  assert_string_equal(got.part[RP_PART_HOT_TOPICS], "[\"other\"]");
  assert_int_equal(got.end_ms, NOW + 9);
  assert_true(got.n_topics == 0 && !got.has_critical);
  rp__record_row_done(&got);
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.records, 1);
}

/* What is sealed is in the body alone. */
static void a_sealed_record_keeps_its_bytes(void **state)
{
  struct suite *f = *state;
  struct rp__record_row row = {.end_ms = NOW, .sealed_len = 4};
  rp__name_set(row.session_id, "a");
  row.sealed_body = malloc(4);
  memcpy(row.sealed_body, "\0\xff\0z", 4);
  suite_put(f, "a");
  assert_int_equal(record_put(f, &row), 0);
  rp__record_row_done(&row);
  struct rp__record_row got = record_read(f, "a");
  assert_int_equal(got.sealed_len, 4);
  assert_memory_equal(got.sealed_body, "\0\xff\0z", 4);
  for (int i = 0; i < RP_PARTS_MAX; i++) assert_string_equal(got.part[i], "[]");
  rp__record_row_done(&got);
}

static void an_archived_record_has_no_parts(void **state)
{
  struct suite *f = *state;
  struct rp__op op = {.type = RP_OP_RECORD_ARCHIVE, .session_id = "a"};
  suite_put(f, "a");
  assert_int_equal(suite_op(f, &op), RP_E_RECORD_NOT_FOUND);
  op.session_id = "nobody";
  assert_int_equal(suite_op(f, &op), RP_E_SESSION_NOT_FOUND);
  put_ended(f, "b", NOW);
  for (int twice = 0; twice < 2; twice++) {
    op.session_id = "b";
    assert_int_equal(suite_op(f, &op), 0);
    struct rp__record_row got = record_read(f, "b");
    assert_true(got.archived && got.has_critical);
    assert_int_equal(got.end_ms, NOW);
    assert_int_equal(got.start_ms, NOW - 5000);
    assert_int_equal(got.n_topics, 3);
    for (int i = 0; i < RP_PARTS_MAX; i++) assert_null(got.part[i]);
  }
  /* It ends again: a new record. */
  struct rp__record_row row = record_new("b", NOW + 1);
  assert_int_equal(record_put(f, &row), 0);
  rp__record_row_done(&row);
  struct rp__record_row got = record_read(f, "b");
  assert_false(got.archived);
  assert_string_equal(got.part[0], contents[0]);
  rp__record_row_done(&got);
}

/* set once, before the record or after it. */
static void a_record_knows_who_continued(void **state)
{
  struct suite *f = *state;
  put_ended(f, "a", NOW);
  suite_put(f, "b");
  for (int i = 0; i < 2; i++) {
    struct rp__op op = op_set(i ? "b" : "a", RP_SET_CONTINUED_BY);
    op.u.session_set.continued_by = "next";
    assert_int_equal(suite_op(f, &op), 0);
    op.u.session_set.continued_by = "other";
    assert_int_equal(suite_op(f, &op), 0);
  }
  struct rp__record_row row = record_new("b", NOW);
  assert_int_equal(record_put(f, &row), 0);
  rp__record_row_done(&row);
  for (int i = 0; i < 2; i++) {
    struct rp__record_row got = record_read(f, i ? "b" : "a");
    assert_string_equal(got.continued_by, "next");
    rp__record_row_done(&got);
  }
}

/* The end of a session and its record are one transaction, whose session may be new. */
static void a_record_comes_with_its_session(void **state)
{
  struct suite *f = *state;
  struct rp__session_row session = row_new("new", "s", NULL);
  struct rp__record_row row = record_new("new", NOW);
  struct rp__op ops[2] = {op_put(&session), {.type = RP_OP_RECORD_PUT, .u.record.row = &row}};
  assert_int_equal(suite_txn(f, ops, 2), 0);
  struct rp__record_row got = record_read(f, "new");
  assert_string_equal(got.part[0], contents[0]);
  rp__record_row_done(&got);
  rp__name_set(row.session_id, "nobody");
  assert_int_equal(record_put(f, &row), RP_E_SESSION_NOT_FOUND);
  rp__record_row_done(&row);
}

/* ---- recall ---- */

struct recalled {
  struct ids ids;
  int64_t ended_at;
};

static int recall_note(void *ctx, const struct rp__recall *row)
{
  struct recalled *r = ctx;
  size_t at = strlen(r->ids.text);
  assert_true(row->ended_at <= r->ended_at);
  r->ended_at = row->ended_at;
  if (at + 20 < sizeof r->ids.text)
    snprintf(r->ids.text + at, sizeof r->ids.text - at, "%s%s ", row->session_id, row->archived ? "!" : "");
  return ++r->ids.n == r->ids.stop_after ? 77 : 0;
}

static const char *recall(struct suite *f, const struct rp__recall_filter *filter)
{
  static struct recalled r;
  r = (struct recalled){.ended_at = INT64_MAX};
  assert_int_equal(f->s->ops->recall_list(f->s, filter, recall_note, &r, &f->err), 0);
  return r.ids.text;
}

static void recall_is_by_scope_and_end(void **state)
{
  struct suite *f = *state;
  struct rp__session_row other = row_new("x", "t", NULL);
  struct rp__op op = op_put(&other);
  struct rp__record_row row = record_new("x", NOW);
  assert_int_equal(suite_op(f, &op), 0);
  free(row.part[0]);
  row.part[0] = NULL;
  rp__name_set(row.channel, "voice");
  assert_int_equal(record_put(f, &row), 0);
  rp__record_row_done(&row);
  put_ended(f, "a", NOW + 3);
  put_ended(f, "b", NOW + 1);
  put_ended(f, "c", NOW + 2);
  put_ended(f, "d", NOW + 2);
  suite_put(f, "open");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s"}), "a d c b ");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "t"}), "x ");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "u"}), "");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s", .since_ms = NOW + 2}), "a d c ");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s", .limit = 2}), "a d ");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s", .channel = "voice"}), "");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s", .channel = "cli", .limit = 3}), "a d c ");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "t", .channel = "voice"}), "x ");
  struct recalled r = {.ended_at = INT64_MAX, .ids.stop_after = 2};
  struct rp__recall_filter all = {.scope = "s"};
  assert_int_equal(f->s->ops->recall_list(f->s, &all, recall_note, &r, &f->err), 77);
  struct rp__op archive = {.type = RP_OP_RECORD_ARCHIVE, .session_id = "d"};
  assert_int_equal(suite_op(f, &archive), 0);
  assert_string_equal(recall(f, &all), "a d! c b ");
}

static int recall_whole(void *ctx, const struct rp__recall *row)
{
  assert_string_equal(row->session_id, "a");
  assert_int_equal(row->session_ref, *(int64_t *)ctx);
  assert_int_equal(row->ended_at, NOW);
  assert_int_equal(row->n_tasks, 1);
  assert_true(row->has_critical);
  assert_int_equal(row->n_topics, 3);
  assert_true(row->topics[0] == 1 && row->topics[1] == 0x80000001u && row->topics[2] == UINT32_MAX);
  *(int64_t *)ctx = 0;
  return 0;
}

static void a_recall_row_is_whole(void **state)
{
  struct suite *f = *state;
  put_ended(f, "a", NOW);
  struct rp__recall_filter all = {.scope = "s"};
  int64_t ref = suite_row(f, "a").ref;
  assert_int_equal(f->s->ops->recall_list(f->s, &all, recall_whole, &ref, &f->err), 0);
  assert_int_equal(ref, 0);
}

/* More than a page holds, many of them with the same end. */
static void recall_goes_on_over_pages(void **state)
{
  enum { N = 5000 };
  struct suite *f = *state;
  struct rp__recall_filter all = {.scope = "s"};
  struct recalled r = {.ended_at = INT64_MAX};
  for (int i = 0; i < N; i++) {
    char id[32];
    snprintf(id, sizeof id, "s%05d", i);
    struct rp__session_row session = row_new(id, "s", NULL);
    struct rp__record_row row = {.end_ms = NOW + i / 700};
    rp__name_set(row.session_id, id);
    rp__name_set(row.channel, i % 1000 ? "cli" : "rare");
    struct rp__op ops[2] = {op_put(&session), {.type = RP_OP_RECORD_PUT, .session_id = id, .u.record.row = &row}};
    assert_int_equal(suite_txn(f, ops, 2), 0);
  }
  assert_int_equal(f->s->ops->recall_list(f->s, &all, recall_note, &r, &f->err), 0);
  assert_int_equal(r.ids.n, N);
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s", .channel = "rare"}),
                      "s04000 s03000 s02000 s01000 s00000 ");
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s", .channel = "rare", .limit = 2}),
                      "s04000 s03000 ");
}

/* ---- tasks ---- */

static int task_say(struct suite *f, const char *id, uint64_t hash, int64_t at, bool open)
{
  struct rp__new_event ev = event_new("task", "{\"task_id\":\"t\"}");
  struct rp__op ops[2] = {op_append(id, &ev, 1),
                          {.type = RP_OP_TASK_PUT,
                           .session_id = id,
                           .u.task_put = {.scope = "s", .hash = hash, .at_ms = at, .append_op = 0, .open = open}}};
  return suite_txn(f, ops, 2);
}

static struct rp__task_row task_read(struct suite *f, const char *scope, uint64_t hash)
{
  struct rp__task_row row = {0};
  bool found;
  assert_int_equal(f->s->ops->task_get(f->s, scope, hash, &row, &found, &f->err), 0);
  assert_int_equal(found, row.session_ref != 0);
  return row;
}

/* the newest word decides, whichever was stored last. */
static void the_newest_word_on_a_task_stays(void **state)
{
  struct suite *f = *state;
  const uint64_t hash = 0xfedcba9876543210u;
  suite_put(f, "a");
  suite_put(f, "b");
  suite_say(f, "a", "x");
  assert_int_equal(task_read(f, "s", hash).session_ref, 0);
  assert_int_equal(task_say(f, "a", hash, NOW + 5, true), 0);
  assert_int_equal(task_say(f, "b", hash, NOW + 4, false), 0);
  struct rp__task_row row = task_read(f, "s", hash);
  assert_true(row.hash == hash && row.open);
  assert_string_equal(row.session_id, "a");
  assert_int_equal(row.session_ref, suite_row(f, "a").ref);
  assert_int_equal(row.seq, 2);
  assert_int_equal(row.at_ms, NOW + 5);
  assert_int_equal(task_say(f, "b", hash, NOW + 5, false), 0);
  row = task_read(f, "s", hash);
  assert_string_equal(row.session_id, "b");
  assert_int_equal(row.seq, 2);
  assert_false(row.open);
  assert_int_equal(task_read(f, "t", hash).session_ref, 0);
  assert_int_equal(task_read(f, "s", hash + 1).session_ref, 0);
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "b"};
  assert_int_equal(suite_op(f, &del), 0);
  assert_int_equal(task_read(f, "s", hash).session_ref, 0);
}

static void a_word_needs_its_event(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("task", "{\"task_id\":\"t\"}");
  struct rp__op word = {.type = RP_OP_TASK_PUT, .session_id = "a", .u.task_put = {.scope = "s", .hash = 1}};
  suite_put(f, "a");
  assert_int_equal(suite_op(f, &word), RP_E_USAGE);
  struct rp__op ops[2] = {word, op_append("a", &ev, 1)};
  ops[0].u.task_put.append_op = 1;
  assert_int_equal(suite_txn(f, ops, 2), RP_E_USAGE);
  assert_int_equal(suite_row(f, "a").last_seq, 0);
  /* What is repeated was said before. */
  struct rp__op said[2] = {op_append("a", &ev, 1), word};
  said[0].u.append.idempotency_key = "k";
  for (int i = 0; i < 2; i++) {
    said[1].u.task_put.at_ms = NOW + i;
    assert_int_equal(suite_txn(f, said, 2), 0);
  }
  assert_true(said[0].ret.repeated);
  assert_int_equal(task_read(f, "s", 1).at_ms, NOW);
}

/* ---- all or none ---- */

static void records_and_words_can_be_undone(void **state)
{
  struct suite *f = *state;
  struct rp__record_row row = record_new("a", NOW + 1);
  struct rp__new_event ev = event_new("task", "{}");
  put_ended(f, "a", NOW);
  assert_int_equal(task_say(f, "a", 7, NOW, true), 0);
  row.has_critical = false;
  struct rp__op tries[][2] = {
      {{.type = RP_OP_RECORD_PUT, .session_id = "a", .u.record.row = &row}, op_set("a", RP_SET_CRASH)},
      {{.type = RP_OP_RECORD_ARCHIVE, .session_id = "a"}, op_set("a", RP_SET_CRASH)},
      {op_append("a", &ev, 1),
       {.type = RP_OP_TASK_PUT, .session_id = "a", .u.task_put = {.scope = "s", .hash = 7, .at_ms = NOW + 9}}},
      {op_append("a", &ev, 1),
       {.type = RP_OP_TASK_PUT, .session_id = "a", .u.task_put = {.scope = "s", .hash = 8, .at_ms = NOW + 9}}},
      {op_set("a", RP_SET_CONTINUED_BY), op_set("a", RP_SET_CRASH)},
      {{.type = RP_OP_SESSION_DELETE, .session_id = "a"}, op_set("nobody", RP_SET_CRASH)},
  };
  tries[4][0].u.session_set.continued_by = "z";
  for (size_t i = 0; i < RP_ARRAY_SIZE(tries); i++) {
    struct rp__op ops[3] = {tries[i][0], tries[i][1], op_set("nobody", RP_SET_CRASH)};
    assert_int_equal(suite_txn(f, ops, 3), RP_E_SESSION_NOT_FOUND);
    struct rp__record_row got = record_read(f, "a");
    assert_int_equal(got.end_ms, NOW);
    assert_true(got.has_critical && !got.archived);
    assert_string_equal(got.continued_by, "");
    assert_string_equal(got.part[0], contents[0]);
    rp__record_row_done(&got);
    assert_int_equal(task_read(f, "s", 7).at_ms, NOW);
    assert_int_equal(task_read(f, "s", 8).session_ref, 0);
    assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s"}), "a ");
  }
  rp__record_row_done(&row);
}

static void nothing_is_left_of_a_deleted_record(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats stats;
  put_ended(f, "a", NOW);
  put_ended(f, "b", NOW);
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(suite_op(f, &del), 0);
  assert_string_equal(recall(f, &(struct rp__recall_filter){.scope = "s"}), "b ");
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.records, 1);
  suite_put(f, "a");
  assert_int_equal(record_missing(f, "a"), RP_E_RECORD_NOT_FOUND);
}

const struct CMUnitTest record_tests[] = {
    SUITE_TEST(a_record_comes_back_whole),
    SUITE_TEST(a_record_is_replaced),
    SUITE_TEST(a_sealed_record_keeps_its_bytes),
    SUITE_TEST(an_archived_record_has_no_parts),
    SUITE_TEST(a_record_knows_who_continued),
    SUITE_TEST(a_record_comes_with_its_session),
    SUITE_TEST(recall_is_by_scope_and_end),
    SUITE_TEST(a_recall_row_is_whole),
    SUITE_TEST(recall_goes_on_over_pages),
    SUITE_TEST(the_newest_word_on_a_task_stays),
    SUITE_TEST(a_word_needs_its_event),
    SUITE_TEST(records_and_words_can_be_undone),
    SUITE_TEST(nothing_is_left_of_a_deleted_record),
};
const size_t record_tests_n = RP_ARRAY_SIZE(record_tests);
