/* SPDX-License-Identifier: Apache-2.0 */
/* C-02: tokens are rows with a hash; what a refused transaction did to them is undone. */
#include "suite.h"

#include <string.h>

static struct rp__token_row token_new(const char *id)
{
  struct rp__token_row row = {.created_at = NOW};
  rp__name_set(row.id, id);
  memset(row.hash, id[0], sizeof row.hash);
  return row;
}

static struct rp__op op_token(enum rp__op_type type, const struct rp__token_row *row)
{
  return (struct rp__op){.type = type, .u.token.row = row};
}

static int token_put(struct suite *f, const char *id)
{
  struct rp__token_row row = token_new(id);
  struct rp__op op = op_token(RP_OP_TOKEN_PUT, &row);
  return suite_op(f, &op);
}

static int token_note(void *ctx, const struct rp__token_row *row)
{
  struct ids *ids = ctx;
  size_t at = strlen(ids->text);
  assert_int_equal(row->hash[31], row->id[0]);
  snprintf(ids->text + at, sizeof ids->text - at, "%s:%lld ", row->id, (long long)row->last_used_at);
  return ++ids->n == ids->stop_after ? 77 : 0;
}

static void assert_tokens(struct suite *f, const char *id, const char *want)
{
  struct ids ids = {0};
  assert_int_equal(f->s->ops->token_list(f->s, id, token_note, &ids, &f->err), 0);
  assert_string_equal(ids.text, want);
}

static int token_whole(void *ctx, const struct rp__token_row *row)
{
  const struct rp__token_row *want = ctx;
  assert_string_equal(row->id, want->id);
  assert_string_equal(row->name, want->name);
  assert_string_equal(row->scope, want->scope);
  assert_int_equal(row->read_only, want->read_only);
  assert_true(row->created_at == want->created_at && row->expires_at == want->expires_at &&
              row->last_used_at == want->last_used_at);
  assert_memory_equal(row->hash, want->hash, sizeof row->hash);
  return 33;
}

static void a_row_comes_back_whole(void **state)
{
  struct suite *f = *state;
  struct rp__token_row rows[2] = {token_new("abcd2345"), token_new("k")};
  for (int i = 0; i < 32; i++) rows[0].hash[i] = (unsigned char)(255 - i * 8);
  rp__name_set(rows[0].name, "laptop");
  rp__name_set(rows[0].scope, "nova");
  rows[0].read_only = true;
  rows[0].expires_at = NOW + 5;
  rows[0].last_used_at = NOW + 3;
  for (int i = 0; i < 2; i++) {
    struct rp__op op = op_token(RP_OP_TOKEN_PUT, &rows[i]);
    assert_int_equal(suite_op(f, &op), 0);
  }
  for (int again = 0; again < 2; again++) {
    for (int i = 0; i < 2; i++)
      assert_int_equal(f->s->ops->token_list(f->s, rows[i].id, token_whole, &rows[i], &f->err), 33);
    if (!suite_reopen(f)) break;
  }
}

static void tokens_are_listed_in_order(void **state)
{
  struct suite *f = *state;
  struct ids ids = {.stop_after = 2};
  assert_tokens(f, NULL, "");
  assert_tokens(f, "z", "");
  assert_int_equal(token_put(f, "z"), 0);
  assert_int_equal(token_put(f, "a"), 0);
  assert_int_equal(token_put(f, "m"), 0);
  assert_tokens(f, NULL, "z:0 a:0 m:0 ");
  assert_tokens(f, "a", "a:0 ");
  assert_tokens(f, "A", "");
  assert_int_equal(f->s->ops->token_list(f->s, NULL, token_note, &ids, &f->err), 77);
  assert_int_equal(ids.n, 2);
}

static int token_counted(void *ctx, const struct rp__token_row *row)
{
  int want = (*(int *)ctx)++;
  char id[16];
  snprintf(id, sizeof id, "t%d", want);
  assert_string_equal(row->id, id);
  return 0;
}

static void there_may_be_many(void **state)
{
  struct suite *f = *state;
  int n = 0;
  for (int i = 0; i < 200; i++) {
    char id[16];
    snprintf(id, sizeof id, "t%d", i);
    assert_int_equal(token_put(f, id), 0);
  }
  assert_int_equal(f->s->ops->token_list(f->s, NULL, token_counted, &n, &f->err), 0);
  assert_int_equal(n, 200);
}

static void an_id_is_given_once(void **state)
{
  struct suite *f = *state;
  assert_int_equal(token_put(f, "a"), 0);
  assert_int_equal(token_put(f, "a"), RP_E_EXISTS);
  assert_non_null(strstr(f->err.message, "a token has the id a"));
  assert_tokens(f, NULL, "a:0 ");
}

static void a_token_is_used_and_ends(void **state)
{
  struct suite *f = *state;
  struct rp__token_row a = token_new("a"), gone = token_new("gone");
  struct rp__op used = op_token(RP_OP_TOKEN_USED, &a), ended = op_token(RP_OP_TOKEN_DELETE, &a);
  struct rp__op used_gone = op_token(RP_OP_TOKEN_USED, &gone), ended_gone = op_token(RP_OP_TOKEN_DELETE, &gone);
  assert_int_equal(token_put(f, "a"), 0);
  assert_int_equal(token_put(f, "b"), 0);
  a.last_used_at = 42;
  assert_int_equal(suite_op(f, &used), 0);
  assert_int_equal(suite_op(f, &used_gone), 0);
  assert_tokens(f, NULL, "a:42 b:0 ");
  assert_int_equal(suite_op(f, &ended_gone), RP_E_TOKEN_NOT_FOUND);
  assert_int_equal(suite_op(f, &ended), 0);
  assert_int_equal(suite_op(f, &ended), RP_E_TOKEN_NOT_FOUND);
  assert_tokens(f, NULL, "b:0 ");
  assert_int_equal(token_put(f, "a"), 0);
}

static void what_is_refused_is_undone(void **state)
{
  struct suite *f = *state;
  struct rp__token_row rows[] = {token_new("a"), token_new("b"), token_new("c"), token_new("d")};
  for (int i = 0; i < 3; i++) assert_int_equal(token_put(f, rows[i].id), 0);
  rows[1].last_used_at = rows[2].last_used_at = 9;
  struct rp__op ops[] = {
      op_token(RP_OP_TOKEN_DELETE, &rows[0]), op_token(RP_OP_TOKEN_USED, &rows[1]),
      op_token(RP_OP_TOKEN_PUT, &rows[3]),    op_token(RP_OP_TOKEN_DELETE, &rows[1]),
      op_token(RP_OP_TOKEN_USED, &rows[2]),   op_token(RP_OP_TOKEN_DELETE, &rows[3]),
      op_token(RP_OP_TOKEN_PUT, &rows[2]),
  };
  assert_int_equal(suite_txn(f, ops, RP_ARRAY_SIZE(ops)), RP_E_EXISTS);
  assert_tokens(f, NULL, "a:0 b:0 c:0 ");
  assert_int_equal(suite_txn(f, ops, RP_ARRAY_SIZE(ops) - 1), 0);
  assert_tokens(f, NULL, "c:9 ");
}

const struct CMUnitTest token_tests[] = {
    SUITE_TEST(a_row_comes_back_whole), SUITE_TEST(tokens_are_listed_in_order), SUITE_TEST(there_may_be_many),
    SUITE_TEST(an_id_is_given_once),    SUITE_TEST(a_token_is_used_and_ends),   SUITE_TEST(what_is_refused_is_undone),
};
const size_t token_tests_n = RP_ARRAY_SIZE(token_tests);
