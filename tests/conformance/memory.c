/* SPDX-License-Identifier: Apache-2.0 */
/* memories of a scope, found by their words and ranked with their confidence. */
#include "suite.h"

#include <string.h>

static struct rp__memory_row memory_new(const char *id, const char *content, double confidence)
{
  struct rp__memory_row row = {.confidence = confidence,
                               .created_at = NOW,
                               .updated_at = NOW,
                               .content = content,
                               .content_len = strlen(content)};
  snprintf(row.id, sizeof row.id, "%s", id);
  rp__name_set(row.scope, "s");
  rp__name_set(row.session_id, "a");
  return row;
}

static int memory_do(struct suite *f, enum rp__op_type type, const struct rp__memory_row *row)
{
  struct rp__op op = {.type = type, .now_ms = NOW + 50, .u.memory.row = row};
  return suite_op(f, &op);
}

static void memory_put(struct suite *f, const char *id, const char *content, double confidence)
{
  struct rp__memory_row row = memory_new(id, content, confidence);
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
}

struct listed {
  char text[4096];
  int n, stop_after;
  double rank, confidence;
  bool ranked;
};

static int memory_note(void *ctx, const struct rp__memory_row *row)
{
  struct listed *l = ctx;
  size_t at = strlen(l->text);
  snprintf(l->text + at, sizeof l->text - at, "%s ", row->id);
  if (l->ranked)
    assert_true(row->rank > 0 && row->rank <= l->rank);
  else
    assert_true(row->rank == 0 && row->confidence <= l->confidence);
  l->rank = row->rank;
  l->confidence = row->confidence;
  assert_int_equal(row->content[row->content_len], '\0');
  return ++l->n == l->stop_after ? 77 : 0;
}

static const char *memories(struct suite *f, const struct rp__memory_filter *filter)
{
  static struct listed l;
  l = (struct listed){.rank = 1e9, .confidence = 1e9, .ranked = filter->words != NULL};
  int rc = f->s->ops->memory_list(f->s, filter, memory_note, &l, &f->err);
  if (rc != 0) fail_msg("%s", f->err.message);
  return l.text;
}
#define LISTED(f, ...) memories(f, &(struct rp__memory_filter){.scope = "s", __VA_ARGS__})

static int memory_whole(void *ctx, const struct rp__memory_row *row)
{
  const struct rp__memory_row *want = ctx;
  assert_string_equal(row->id, want->id);
  assert_string_equal(row->scope, "s");
  assert_string_equal(row->session_id, want->session_id);
  assert_true(row->confidence == want->confidence);
  assert_int_equal(row->created_at, want->created_at);
  assert_int_equal(row->updated_at, want->updated_at);
  assert_int_equal(row->learned_at, want->learned_at);
  assert_int_equal(row->uses, want->uses);
  assert_int_equal(row->used_at, want->used_at);
  assert_int_equal(row->sealed, want->sealed);
  assert_int_equal(row->content_len, want->content_len);
  assert_memory_equal(row->content, want->content, want->content_len);
  if (want->categories)
    assert_string_equal(row->categories, want->categories);
  else
    assert_null(row->categories);
  return 78;
}

static void memory_is(struct suite *f, const struct rp__memory_row *want)
{
  struct rp__memory_filter one = {.scope = "s", .id = want->id};
  struct rp__memory_row copy = *want;
  assert_int_equal(f->s->ops->memory_list(f->s, &one, memory_whole, &copy, &f->err), 78);
}

static void a_memory_comes_back_whole(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row = memory_new("m1", "the antenna is \xc3\xa9longated", 0.9);
  row.categories = "[\"radio\"]";
  row.created_at = row.learned_at = NOW - 1;
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
  memory_is(f, &row);
  if (suite_reopen(f)) memory_is(f, &row);
  struct rp__memory_filter none = {.scope = "t", .id = "m1"};
  assert_int_equal(f->s->ops->memory_list(f->s, &none, memory_whole, &row, &f->err), 0);
}

/* hours run from the end of the session that learned it. */
static void a_memory_is_as_old_as_the_end_of_its_session(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row = memory_new("m1", "x", 1);
  suite_put(f, "a");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
  row.learned_at = NOW;
  memory_is(f, &row);
  struct rp__op end = op_set("a", RP_SET_MOVE);
  end.u.session_set.move = RP_MOVE_CLOSE;
  end.u.session_set.ended_at = NOW + 777;
  assert_int_equal(suite_op(f, &end), 0);
  row.learned_at = NOW + 777;
  memory_is(f, &row);
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(suite_op(f, &del), 0);
  row.learned_at = NOW; /* it stays: memories are the scope's */
  memory_is(f, &row);
}

static void the_most_confident_come_first(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row other = memory_new("x", "elsewhere", 1);
  struct rp__memory_row newer = memory_new("new", "later", 0.5);
  rp__name_set(other.scope, "t");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &other), 0);
  memory_put(f, "low", "a", 0.2);
  memory_put(f, "old", "b", 0.5);
  newer.created_at = NOW + 1;
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &newer), 0);
  memory_put(f, "high", "c", 0.9);
  assert_string_equal(LISTED(f, .limit = 0), "high new old low ");
  assert_string_equal(LISTED(f, .limit = 2), "high new ");
  assert_string_equal(memories(f, &(struct rp__memory_filter){.scope = "u"}), "");
  struct listed l = {.confidence = 2, .stop_after = 2};
  struct rp__memory_filter all = {.scope = "s"};
  assert_int_equal(f->s->ops->memory_list(f->s, &all, memory_note, &l, &f->err), 77);
}

static void confidence_and_replacement(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row = memory_new("a", "walnut", 0.5), gone = memory_new("b", "", 0);
  struct rp__store_stats stats;
  memory_put(f, "a", "walnut", 0.5);
  memory_put(f, "b", "walnut", 0.6);
  assert_string_equal(LISTED(f, .limit = 0), "b a ");
  row.confidence = 0.7;
  assert_int_equal(memory_do(f, RP_OP_MEMORY_SET, &row), 0);
  row.learned_at = NOW;
  row.updated_at = NOW + 50;
  row.uses = 1; /* it was confirmed */
  memory_is(f, &row);
  assert_string_equal(LISTED(f, .words = "walnut"), "a b ");
  memory_put(f, "a", "hazel", 0.1);
  assert_string_equal(LISTED(f, .words = "walnut"), "b ");
  assert_string_equal(LISTED(f, .words = "hazel"), "a ");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_DELETE, &gone), 0);
  assert_string_equal(LISTED(f, .words = "walnut"), "");
  assert_string_equal(LISTED(f, .limit = 0), "a ");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_DELETE, &gone), RP_E_MEMORY_NOT_FOUND);
  assert_int_equal(memory_do(f, RP_OP_MEMORY_SET, &gone), RP_E_MEMORY_NOT_FOUND);
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.memories, 1);
}

static void words_find_memories(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row other = memory_new("x", "the rig hums", 1);
  struct listed l = {0};
  rp__name_set(other.scope, "t");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &other), 0);
  memory_put(f, "m1", "the rig hums at night", 0.9);
  memory_put(f, "m2", "the rig hums at night", 0.3);
  memory_put(f, "m3", "nothing of the kind", 1);
  assert_string_equal(LISTED(f, .words = "rig hums"), "m1 m2 ");
  assert_string_equal(LISTED(f, .words = "\"hums at\" NIGHT", .limit = 1), "m1 ");
  assert_string_equal(LISTED(f, .words = "hum"), "");
  assert_string_equal(LISTED(f, .words = "hum*"), "m1 m2 ");
  assert_string_equal(LISTED(f, .words = "rig OR kind"), "");
  struct rp__memory_filter bad = {.scope = "s", .words = "?!"};
  assert_int_equal(f->s->ops->memory_list(f->s, &bad, memory_note, &l, &f->err), RP_E_USAGE);
}

/* Full text knows nothing that is sealed. */
static void sealed_memories_have_no_words(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row = memory_new("m1", "whisper", 0.5), open = memory_new("m1", "loud", 0.5);
  row.sealed = true;
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
  assert_string_equal(LISTED(f, .words = "whisper"), "");
  row.learned_at = NOW;
  memory_is(f, &row);
  /* One that was open is replaced by a sealed one and the other way round. */
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &open), 0);
  assert_string_equal(LISTED(f, .words = "loud"), "m1 ");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
  assert_string_equal(LISTED(f, .words = "loud"), "");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_DELETE, &row), 0);
}

static void memories_can_be_undone(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row = memory_new("m1", "pear", 0.1), new = memory_new("m9", "fig", 0.1);
  memory_put(f, "m0", "apple", 0.8);
  memory_put(f, "m1", "apple", 0.5);
  memory_put(f, "m2", "apple", 0.2);
  struct rp__op tries[] = {
      {.type = RP_OP_MEMORY_PUT, .u.memory.row = &row},  {.type = RP_OP_MEMORY_PUT, .u.memory.row = &new},
      {.type = RP_OP_MEMORY_SET, .u.memory.row = &row},  {.type = RP_OP_MEMORY_DELETE, .u.memory.row = &row},
      {.type = RP_OP_MEMORY_USED, .u.memory.row = &row},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(tries); i++) {
    struct rp__op ops[2] = {tries[i], op_set("nobody", RP_SET_CRASH)};
    assert_int_equal(suite_txn(f, ops, 2), RP_E_SESSION_NOT_FOUND);
    assert_string_equal(LISTED(f, .limit = 0), "m0 m1 m2 ");
    assert_string_equal(LISTED(f, .words = "apple"), "m0 m1 m2 ");
    assert_string_equal(LISTED(f, .words = "fig"), "");
  }
}

/* a memory keeps how often and when it was used; once an hour counts. */
static void uses_are_counted(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row = memory_new("m1", "the rig hums", 0.5), gone = memory_new("none", "", 0);
  static const struct {
    int64_t at, uses, used_at;
  } rows[] = {
      {NOW, 1, NOW},
      {NOW + RP_MEMORY_USE_MS - 1, 1, NOW},
      {NOW + RP_MEMORY_USE_MS, 2, NOW + RP_MEMORY_USE_MS},
      {NOW - 5, 3, NOW - 5}, /* the clock was set back */
  };
  memory_put(f, "m1", "the rig hums", 0.5);
  row.learned_at = NOW;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    row.used_at = gone.used_at = rows[i].at;
    assert_int_equal(memory_do(f, RP_OP_MEMORY_USED, &row), 0);
    assert_int_equal(memory_do(f, RP_OP_MEMORY_USED, &gone), 0);
    row.uses = rows[i].uses;
    row.used_at = rows[i].used_at;
    memory_is(f, &row);
  }
  row.confidence = 0.4; /* a correction is no use, … */
  assert_int_equal(memory_do(f, RP_OP_MEMORY_SET, &row), 0);
  row.updated_at = NOW + 50;
  memory_is(f, &row);
  row = memory_new("m1", "the rig is silent", 0.9); /* … and another content keeps its uses */
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
  row.learned_at = NOW;
  row.uses = 3;
  row.used_at = NOW - 5;
  memory_is(f, &row);
  if (suite_reopen(f)) memory_is(f, &row);
}

static int note_id(void *ctx, const struct rp__memory_row *row)
{
  size_t at = strlen(ctx);
  snprintf((char *)ctx + at, 100 - at, "%s ", row->id);
  return 0;
}

/* a start reads what was learned, confirmed or recalled last, and what is about its topics. */
static void the_fresh_come_first(void **state)
{
  struct suite *f = *state;
  struct rp__memory_row row;
  static const struct {
    const char *id, *content, *session;
    double confidence;
    int64_t updated, used;
  } put[] = {
      {"old", "the rig hums", "a", 1, NOW - 9, 0},
      {"recalled", "a walnut", "b", 0.2, NOW - 8, NOW + 9},
      {"new", "the hazel", "a", 0.1, NOW, 0},
      {"confirmed", "the rig rests", "gone", 0.3, NOW + 5, 0},
  };
  static const struct {
    struct rp__memory_filter filter;
    const char *want;
  } rows[] = {
      {{.limit = 0}, "recalled confirmed new old "},
      {{.limit = 2}, "recalled confirmed "},
      {{.words = "rig walnut"}, "confirmed recalled old "},
      {{.words = "rig walnut", .limit = 1}, "confirmed "},
      {{.words = "nothing"}, ""},
      {{.channel = "radio"}, "new old "},
      {{.channel = "radio", .words = "rig walnut"}, "old "},
      {{.channel = "nowhere"}, ""},
  };
  struct rp__session_row a = row_new("a", "s", NULL), b = row_new("b", "s", NULL);
  struct rp__op sessions[] = {op_put(&a), op_put(&b)};
  rp__name_set(a.channel, "radio");
  rp__name_set(b.channel, "cli");
  assert_int_equal(suite_txn(f, sessions, 2), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(put); i++) {
    row = memory_new(put[i].id, put[i].content, put[i].confidence);
    rp__name_set(row.session_id, put[i].session);
    row.updated_at = put[i].updated;
    row.used_at = put[i].used;
    assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
    if (row.used_at) assert_int_equal(memory_do(f, RP_OP_MEMORY_USED, &row), 0);
  }
  row = memory_new("elsewhere", "the rig", 1);
  rp__name_set(row.scope, "t");
  assert_int_equal(memory_do(f, RP_OP_MEMORY_PUT, &row), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__memory_filter filter = rows[i].filter;
    char ids[100] = "";
    filter.scope = "s";
    filter.fresh = true;
    assert_int_equal(f->s->ops->memory_list(f->s, &filter, note_id, ids, &f->err), 0);
    assert_string_equal(ids, rows[i].want);
  }
}

/* More than a page, by number and by size. */
static void many_memories(void **state)
{
  enum { N = 200, LONG = 40000 };
  struct suite *f = *state;
  struct rp__memory_filter all = {.scope = "s"};
  char *text = malloc(LONG + 1);
  memset(text, 'y', LONG);
  memcpy(text, "long ", 5);
  text[LONG] = '\0';
  for (int i = 0; i < N; i++) {
    char id[16];
    snprintf(id, sizeof id, "m%d", i);
    memory_put(f, id, i % 2 ? text : "short", 1.0 - i / 1000.0);
  }
  struct listed l = {.confidence = 2};
  assert_int_equal(f->s->ops->memory_list(f->s, &all, memory_note, &l, &f->err), 0);
  assert_int_equal(l.n, N);
  free(text);
}

const struct CMUnitTest memory_tests[] = {
    SUITE_TEST(a_memory_comes_back_whole),
    SUITE_TEST(a_memory_is_as_old_as_the_end_of_its_session),
    SUITE_TEST(the_most_confident_come_first),
    SUITE_TEST(confidence_and_replacement),
    SUITE_TEST(words_find_memories),
    SUITE_TEST(sealed_memories_have_no_words),
    SUITE_TEST(memories_can_be_undone),
    SUITE_TEST(many_memories),
    SUITE_TEST(uses_are_counted),
    SUITE_TEST(the_fresh_come_first),
};
const size_t memory_tests_n = RP_ARRAY_SIZE(memory_tests);
