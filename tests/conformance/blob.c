/* SPDX-License-Identifier: Apache-2.0 */
/* O-05: blobs are rows of their session; what a refused transaction did to them is undone. */
#include "suite.h"

#include <string.h>

static struct rp__blob_row blob_new(const char *id, const char *data)
{
  struct rp__blob_row row = {.at_ms = NOW, .raw_size = 100 + (int64_t)strlen(data), .size = (int64_t)strlen(data)};
  snprintf(row.id, sizeof row.id, "%s", id);
  memset(row.hash, data[0], sizeof row.hash);
  row.data = data;
  return row;
}

static struct rp__op op_blob(enum rp__op_type type, const char *session, const struct rp__blob_row *row)
{
  return (struct rp__op){.type = type, .session_id = session, .now_ms = NOW, .u.blob.row = row};
}

static int blob_do(struct suite *f, enum rp__op_type type, const char *session, const char *id, const char *data)
{
  struct rp__blob_row row = blob_new(id, data);
  struct rp__op op = op_blob(type, session, &row);
  return suite_op(f, &op);
}

static int blob_note(void *ctx, const struct rp__blob_row *row)
{
  struct ids *ids = ctx;
  size_t at = strlen(ids->text);
  assert_int_equal(row->raw_size, 100 + row->size);
  assert_true(row->at_ms == NOW);
  snprintf(ids->text + at, sizeof ids->text - at, "%s:%.*s ", row->id, row->data ? (int)row->size : 0,
           row->data ? (const char *)row->data : "");
  return ++ids->n == ids->stop_after ? 77 : 0;
}

static void assert_blobs(struct suite *f, const char *session, const char *id, const char *want)
{
  struct ids ids = {0};
  struct rp__session_row row = suite_row(f, session);
  rp__session_row_done(&row);
  assert_int_equal(f->s->ops->blob_list(f->s, row.ref, id, blob_note, &ids, &f->err), 0);
  assert_string_equal(ids.text, want);
}

static int blob_missing(struct suite *f, int64_t ref, const char *id)
{
  struct ids ids = {0};
  return f->s->ops->blob_list(f->s, ref, id, blob_note, &ids, &f->err);
}

static int whole(void *ctx, const struct rp__blob_row *row)
{
  const struct rp__blob_row *want = ctx;
  assert_string_equal(row->id, want->id);
  assert_true(row->at_ms == want->at_ms && row->raw_size == want->raw_size && row->size == want->size);
  assert_int_equal(row->sealed, want->sealed);
  assert_memory_equal(row->hash, want->hash, sizeof row->hash);
  assert_memory_equal(row->data, want->data, (size_t)want->size);
  return 33;
}

static void a_blob_comes_back_whole(void **state)
{
  struct suite *f = *state;
  static char bytes[300000];
  int64_t ref = suite_put(f, "a");
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 131 >> 3);
  struct rp__blob_row row = {.at_ms = NOW + 7, .raw_size = 1LL << 26, .size = sizeof bytes, .sealed = true};
  memset(row.id, 'x', RP_BLOB_ID_MAX);
  for (int i = 0; i < RP_BLOB_HASH; i++) row.hash[i] = (unsigned char)(255 - i * 16);
  row.data = bytes;
  char id[RP_BLOB_ID_MAX + 1] = "";
  struct rp__op op = op_blob(RP_OP_BLOB_PUT, "a", &row);
  op.u.blob.ret_id = id;
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(id, row.id);
  assert_false(op.ret.repeated);
  suite_reopen(f);
  assert_int_equal(f->s->ops->blob_list(f->s, ref, row.id, whole, &row, &f->err), 33);
  assert_int_equal(blob_missing(f, ref, "other"), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(blob_missing(f, ref + 1, row.id), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(blob_missing(f, ref + 1, NULL), 0);
}

static void the_same_bytes_are_one_blob_of_their_session(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_put(f, "b");
  char id[RP_BLOB_ID_MAX + 1] = "";
  struct rp__blob_row row = blob_new("one", "walnut"), again = blob_new("two", "walnut");
  struct rp__op op = op_blob(RP_OP_BLOB_PUT, "a", &row);
  assert_int_equal(suite_op(f, &op), 0);
  op.u.blob.row = &again;
  op.u.blob.ret_id = id;
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.repeated);
  assert_string_equal(id, "one");
  assert_blobs(f, "a", NULL, "one: ");
  op.session_id = "b";
  assert_int_equal(suite_op(f, &op), 0);
  assert_false(op.ret.repeated);
  assert_string_equal(id, "two");
  assert_blobs(f, "b", "two", "two:walnut ");
  /* The same hash of another length is something else. */
  again.raw_size++;
  op.session_id = "a";
  assert_int_equal(suite_op(f, &op), 0);
  assert_false(op.ret.repeated);
}

static void an_id_is_taken_once(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "a", "x", "one"), 0);
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "a", "x", "two"), RP_E_EXISTS);
  assert_blobs(f, "a", "x", "x:one ");
  assert_int_equal(blob_do(f, RP_OP_BLOB_SET, "a", "x", "three"), 0);
  assert_blobs(f, "a", "x", "x:three ");
  assert_int_equal(blob_do(f, RP_OP_BLOB_SET, "a", "y", "three"), 0); /* of the same bytes, as a copy may have it */
  assert_blobs(f, "a", NULL, "x: y: ");
  assert_int_equal(blob_do(f, RP_OP_BLOB_DELETE, "a", "z", "-"), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(blob_do(f, RP_OP_BLOB_DELETE, "a", "x", "-"), 0);
  assert_blobs(f, "a", NULL, "y: ");
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "nobody", "x", "one"), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(blob_do(f, RP_OP_BLOB_SET, "nobody", "x", "one"), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(blob_do(f, RP_OP_BLOB_DELETE, "nobody", "x", "-"), RP_E_SESSION_NOT_FOUND);
}

/* Whoever may append may put one; copies, redaction and repair may always. */
static void who_is_fenced_puts_none(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  int64_t epoch = suite_lease(f, "a");
  struct rp__blob_row row = blob_new("x", "one");
  struct rp__op op = op_blob(RP_OP_BLOB_PUT, "a", &row);
  op.epoch = epoch;
  assert_int_equal(suite_op(f, &op), 0);
  suite_lease(f, "a");
  row = blob_new("y", "two");
  assert_int_equal(suite_op(f, &op), RP_E_FENCED);
  struct rp__op end = op_set("a", RP_SET_MOVE);
  end.u.session_set.move = RP_MOVE_CLOSE;
  assert_int_equal(suite_op(f, &end), 0);
  op.epoch = 0;
  assert_int_equal(suite_op(f, &op), RP_E_ENDED);
  assert_blobs(f, "a", NULL, "x: ");
  op.type = RP_OP_BLOB_SET;
  assert_int_equal(suite_op(f, &op), 0);
  assert_blobs(f, "a", NULL, "x: y: ");
}

static void a_list_has_pages_and_an_end(void **state)
{
  struct suite *f = *state;
  char id[16], want[4096] = "";
  int64_t ref = suite_put(f, "a");
  for (int i = 150; i-- > 0;) {
    char data[16];
    snprintf(id, sizeof id, "b%03d", i);
    snprintf(data, sizeof data, "%03d", i);
    assert_int_equal(blob_do(f, RP_OP_BLOB_SET, "a", id, data), 0);
  }
  for (int i = 0; i < 150; i++) snprintf(want + strlen(want), sizeof want - strlen(want), "b%03d: ", i);
  assert_blobs(f, "a", NULL, want);
  struct ids ids = {.stop_after = 3};
  assert_int_equal(f->s->ops->blob_list(f->s, ref, NULL, blob_note, &ids, &f->err), 77);
  assert_string_equal(ids.text, "b000: b001: b002: ");
}

static void a_refused_transaction_is_undone(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "a", "k", "kept"), 0);
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "a", "m", "more"), 0);
  struct rp__blob_row added = blob_new("b", "added"), other = blob_new("k", "other"), gone = blob_new("m", "-"),
                      wrong = blob_new("zz", "-");
  struct rp__op ops[] = {op_blob(RP_OP_BLOB_PUT, "a", &added),   op_blob(RP_OP_BLOB_SET, "a", &other),
                         op_blob(RP_OP_BLOB_DELETE, "a", &gone), op_blob(RP_OP_BLOB_DELETE, "a", &added),
                         op_blob(RP_OP_BLOB_SET, "a", &added),   op_blob(RP_OP_BLOB_DELETE, "a", &wrong)};
  assert_int_equal(suite_txn(f, ops, RP_ARRAY_SIZE(ops)), RP_E_BLOB_NOT_FOUND);
  assert_blobs(f, "a", NULL, "k: m: ");
  assert_blobs(f, "a", "k", "k:kept ");
  assert_blobs(f, "a", "m", "m:more ");
  assert_int_equal(suite_txn(f, ops, RP_ARRAY_SIZE(ops) - 1), 0);
  assert_blobs(f, "a", NULL, "b: k: ");
  assert_blobs(f, "a", "k", "k:other ");
}

/* B-09: with the session, and not before; its neighbours keep theirs. */
static void blobs_go_with_their_session(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats stats;
  int64_t ref = suite_put(f, "a");
  suite_put(f, "b");
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "a", "x", "one"), 0);
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "a", "y", "three"), 0);
  assert_int_equal(blob_do(f, RP_OP_BLOB_PUT, "b", "x", "one"), 0);
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.blobs, 3);
  assert_int_equal(stats.blob_bytes, 11);
  struct rp__op trash = op_set("a", RP_SET_TRASH);
  trash.u.session_set.trashed_at = NOW;
  assert_int_equal(suite_op(f, &trash), 0);
  assert_int_equal(blob_missing(f, ref, "y"), 0);
  struct rp__blob_row wrong = blob_new("zz", "-");
  struct rp__op undone[2] = {{.type = RP_OP_SESSION_DELETE, .session_id = "a"},
                             op_blob(RP_OP_BLOB_DELETE, "b", &wrong)};
  assert_int_equal(suite_txn(f, undone, 2), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(blob_missing(f, ref, "y"), 0);
  assert_int_equal(suite_op(f, undone), 0);
  assert_int_equal(blob_missing(f, ref, "y"), RP_E_BLOB_NOT_FOUND);
  assert_blobs(f, "b", NULL, "x: ");
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.blobs, 1);
  assert_int_equal(stats.blob_bytes, 3);
}

const struct CMUnitTest blob_tests[] = {
    SUITE_TEST(a_blob_comes_back_whole),     SUITE_TEST(the_same_bytes_are_one_blob_of_their_session),
    SUITE_TEST(an_id_is_taken_once),         SUITE_TEST(who_is_fenced_puts_none),
    SUITE_TEST(a_list_has_pages_and_an_end), SUITE_TEST(a_refused_transaction_is_undone),
    SUITE_TEST(blobs_go_with_their_session),
};
const size_t blob_tests_n = RP_ARRAY_SIZE(blob_tests);
