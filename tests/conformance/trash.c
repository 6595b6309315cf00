/* SPDX-License-Identifier: Apache-2.0 */
/* B-09: what is in the trash is out of sight and can come back; X-14: what is replaced or deleted is gone for good. */
#include "suite.h"

#include <string.h>

static void put_keyed(struct suite *f, const char *id, const char *key)
{
  struct rp__session_row row = row_new(id, "s", key);
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
}

static int trash(struct suite *f, const char *id, int64_t at)
{
  struct rp__op op = op_set(id, RP_SET_TRASH);
  op.u.session_set.trashed_at = at;
  return suite_op(f, &op);
}

static int found(struct suite *f, enum rp__find how, const char *scope, const char *what, const char *id)
{
  struct rp__session_row row = {0};
  int rc = f->s->ops->session_find(f->s, how, scope, what, &row, &f->err);
  if (rc == 0) assert_string_equal(row.id, id);
  rp__session_row_done(&row);
  return rc;
}

static const char *listed(struct suite *f, bool trashed, const char *scope)
{
  static struct ids ids;
  ids = (struct ids){0};
  struct rp__session_filter filter = {.scope = scope, .trashed = trashed};
  assert_int_equal(f->s->ops->session_list(f->s, &filter, ids_session, &ids, &f->err), 0);
  return ids.text;
}

static int recall_count(void *ctx, const struct rp__recall *row)
{
  (void)row;
  ++*(int *)ctx;
  return 0;
}

static int recalled(struct suite *f)
{
  struct rp__recall_filter all = {.scope = "s"};
  int n = 0;
  assert_int_equal(f->s->ops->recall_list(f->s, &all, recall_count, &n, &f->err), 0);
  return n;
}

static int hits(struct suite *f, const char *words)
{
  struct ids ids = {0};
  assert_int_equal(f->s->ops->search(f->s, words, NULL, 0, ids_hit, &ids, &f->err), 0);
  return ids.n;
}

static void the_trash_is_out_of_sight(void **state)
{
  struct suite *f = *state;
  struct rp__record_row record = {.end_ms = NOW};
  struct rp__op put = {.type = RP_OP_RECORD_PUT, .session_id = "aa1", .u.record.row = &record};
  struct rp__store_stats stats;
  put_keyed(f, "aa0", "other");
  put_keyed(f, "aa1", "k");
  suite_lease(f, "aa0");
  suite_lease(f, "aa1");
  suite_say(f, "aa1", "needle");
  assert_int_equal(suite_op(f, &put), 0);
  assert_int_equal(trash(f, "aa1", NOW + 1), 0);
  for (int again = 0; again < 2; again++) {
    assert_int_equal(suite_row(f, "aa1").trashed_at, NOW + 1);
    assert_int_equal(found(f, RP_FIND_PREFIX, NULL, "aa", "aa0"), 0);
    assert_int_equal(found(f, RP_FIND_PREFIX, NULL, "aa1", ""), RP_E_SESSION_NOT_FOUND);
    assert_int_equal(found(f, RP_FIND_NAME, NULL, "k", ""), RP_E_SESSION_NOT_FOUND);
    assert_int_equal(found(f, RP_FIND_KEY, "s", "k", ""), RP_E_SESSION_NOT_FOUND);
    assert_int_equal(found(f, RP_FIND_LAST, NULL, NULL, "aa0"), 0);
    assert_int_equal(found(f, RP_FIND_LAST, "s", NULL, "aa0"), 0);
    assert_string_equal(listed(f, false, NULL), "aa0 ");
    assert_string_equal(listed(f, false, "s"), "aa0 ");
    assert_string_equal(listed(f, true, NULL), "aa1 ");
    assert_string_equal(listed(f, true, "s"), "aa1 ");
    assert_string_equal(listed(f, true, "t"), "");
    assert_int_equal(hits(f, "needle"), 0);
    assert_int_equal(recalled(f), 0);
    assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
    assert_int_equal(stats.trashed, 1);
    assert_int_equal(stats.sessions[RP_STATUS_CREATED] + stats.sessions[RP_STATUS_ACTIVE], 1);
    if (!suite_reopen(f)) break;
  }
  assert_int_equal(trash(f, "aa1", 0), 0);
  assert_int_equal(found(f, RP_FIND_NAME, NULL, "k", "aa1"), 0);
  assert_string_equal(listed(f, false, NULL), "aa1 aa0 ");
  assert_string_equal(listed(f, true, NULL), "");
  assert_int_equal(hits(f, "needle"), 1);
  assert_int_equal(recalled(f), 1);
}

/* A record that is made for a session in the trash or hidden is seen when the session is. */
static void records_follow_their_session(void **state)
{
  struct suite *f = *state;
  struct rp__record_row record = {.end_ms = NOW};
  struct rp__session_row hidden = row_new("h", "s", NULL);
  hidden.hidden = true;
  struct rp__op put = op_put(&hidden);
  assert_int_equal(suite_op(f, &put), 0);
  suite_put(f, "a");
  assert_int_equal(trash(f, "a", NOW), 0);
  for (int i = 0; i < 2; i++) {
    put = (struct rp__op){.type = RP_OP_RECORD_PUT, .session_id = i ? "h" : "a", .copying = i, .u.record.row = &record};
    assert_int_equal(suite_op(f, &put), 0);
  }
  assert_int_equal(recalled(f), 0);
  assert_int_equal(trash(f, "a", 0), 0);
  assert_int_equal(recalled(f), 1);
  struct rp__op show = op_set("h", RP_SET_SHOWN);
  show.copying = true;
  assert_int_equal(suite_op(f, &show), 0);
  assert_int_equal(recalled(f), 2);
}

static void the_trash_frees_a_key(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("c", "s", "k");
  put_keyed(f, "a", "k");
  assert_int_equal(trash(f, "a", NOW), 0);
  put_keyed(f, "b", "k");
  assert_int_equal(trash(f, "a", 0), RP_E_EXISTS);
  assert_int_equal(suite_row(f, "a").trashed_at, NOW);
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), RP_E_EXISTS);
  /* One that has ended does not need its key. */
  struct rp__op end = op_set("a", RP_SET_MOVE);
  end.u.session_set.move = RP_MOVE_CLOSE;
  assert_int_equal(suite_op(f, &end), 0);
  assert_int_equal(trash(f, "a", 0), 0);
  assert_int_equal(found(f, RP_FIND_KEY, "s", "k", "b"), 0);
}

static void holds_are_kept(void **state)
{
  struct suite *f = *state;
  struct rp__op op = op_set("a", RP_SET_HOLD);
  suite_put(f, "a");
  op.u.session_set.held_at = NOW + 3;
  assert_int_equal(suite_op(f, &op), 0);
  if (!suite_reopen(f)) assert_int_equal(suite_row(f, "a").held_at, NOW + 3);
  assert_int_equal(suite_row(f, "a").held_at, NOW + 3);
  assert_int_equal(suite_row(f, "a").trashed_at, 0);
  op.u.session_set.held_at = 0;
  struct rp__op ops[2] = {op, op_set("nobody", RP_SET_HOLD)};
  assert_int_equal(suite_txn(f, ops, 2), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(suite_row(f, "a").held_at, NOW + 3);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_row(f, "a").held_at, 0);
}

/* ---- scrub ---- */

/* How often the bytes are in the file or its log. */
static int bytes_found(const char *path, const char *end, const char *what)
{
  char name[SCRATCH_PATH + 8];
  size_t n = strlen(what), got = 0;
  int count = 0;
  snprintf(name, sizeof name, "%s%s", path, end);
  FILE *file = fopen(name, "rb");
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *bytes = malloc((size_t)size + 1);
  assert_non_null(bytes);
  got = fread(bytes, 1, (size_t)size, file);
  fclose(file);
  for (size_t i = 0; i + n <= got; i++) count += memcmp(bytes + i, what, n) == 0;
  free(bytes);
  return count;
}

static int secrets(struct suite *f)
{
  return bytes_found(f->path, "", "hunter2") + bytes_found(f->path, "-wal", "hunter2");
}

static void secret_say(struct suite *f, const char *id, int i)
{
  char text[1200];
  int pad = i * 37 % 900;
  snprintf(text, sizeof text, "hunter2%d hunter2 %0*d", i, pad, 0);
  suite_say(f, id, text);
}

static void secret_replace(struct suite *f, int64_t seq)
{
  char body[2000];
  int pad = (int)(seq * 53 % 1500);
  snprintf(body, sizeof body, "{\"content\":\"[REDACTED] %0*d\"}", pad, 0);
  struct rp__new_event ev = event_new("message", body);
  struct rp__op op = {.type = RP_OP_EVENT_REPLACE, .session_id = "a", .u.event_replace = {.seq = seq, .event = &ev}};
  assert_int_equal(suite_op(f, &op), 0);
}

static void secrets_derive(struct suite *f, const char *text)
{
  struct rp__memory_row memory = {.confidence = 1, .content = text, .content_len = strlen(text)};
  struct rp__record_row record = {.end_ms = NOW};
  snprintf(memory.id, sizeof memory.id, "m");
  rp__name_set(memory.scope, "s");
  record.part[0] = strdup(text);
  struct rp__op ops[2] = {{.type = RP_OP_MEMORY_PUT, .u.memory.row = &memory},
                          {.type = RP_OP_RECORD_PUT, .session_id = "a", .u.record.row = &record}};
  assert_int_equal(suite_txn(f, ops, 2), 0);
  rp__record_row_done(&record);
}

/* Replaced in place, growing and shrinking; in a memory, a record, the index; and with a whole session. */
static void nothing_is_left_of_what_was_replaced(void **state)
{
  enum { N = 400 };
  struct suite *f = *state;
  suite_put(f, "a");
  suite_put(f, "b");
  for (int i = 1; i <= N; i++) {
    secret_say(f, "a", i);
    if (i % 4 == 0) secret_say(f, "b", i);
  }
  secrets_derive(f, "[\"hunter2\"]");
  assert_int_equal(hits(f, "hunter2"), 20);
  if (suite_backend->persistent) assert_true(secrets(f) > 0);
  for (int i = 1; i <= N; i++) secret_replace(f, i);
  secrets_derive(f, "[\"harmless\"]");
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "b"};
  assert_int_equal(suite_op(f, &del), 0);
  int64_t left = -1;
  int rc = f->s->ops->maintain(f->s, RP_MAINTAIN_SCRUB, &left, &f->err);
  if (rc != 0) fail_msg("%s", f->err.message);
  assert_int_equal(left, 0);
  if (suite_backend->persistent) assert_int_equal(secrets(f), 0);
  assert_int_equal(hits(f, "hunter2*"), 0);
  assert_int_equal(hits(f, "REDACTED"), 20);
  assert_int_equal(suite_count_events(f, "a"), N);
  suite_say(f, "a", "and it goes on");
  assert_int_equal(hits(f, "goes"), 1);
}

static void free_pages_are_given_back(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats before, after;
  suite_put(f, "a");
  suite_put(f, "b");
  for (int i = 0; i < 400; i++) secret_say(f, i % 10 ? "a" : "b", i);
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_SHRINK, NULL, &f->err), 0);
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(suite_op(f, &del), 0);
  assert_int_equal(f->s->ops->stats(f->s, &before, &f->err), 0);
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_SHRINK, NULL, &f->err), 0);
  assert_int_equal(f->s->ops->stats(f->s, &after, &f->err), 0);
  assert_int_equal(after.free_bytes, 0);
  if (suite_backend->persistent) {
    assert_true(before.free_bytes > 100000);
    assert_true(after.file_bytes < before.file_bytes);
  }
  assert_int_equal(suite_count_events(f, "b"), 40);
}

const struct CMUnitTest trash_tests[] = {
    SUITE_TEST(the_trash_is_out_of_sight),
    SUITE_TEST(records_follow_their_session),
    SUITE_TEST(the_trash_frees_a_key),
    SUITE_TEST(holds_are_kept),
    SUITE_TEST(nothing_is_left_of_what_was_replaced),
    SUITE_TEST(free_pages_are_given_back),
};
const size_t trash_tests_n = RP_ARRAY_SIZE(trash_tests);
