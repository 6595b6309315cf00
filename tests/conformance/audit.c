/* SPDX-License-Identifier: Apache-2.0 */
/* one chain for each scope, its head advanced with it. */
#include "suite.h"

#include <string.h>

static struct rp__op op_audit(const char *scope, const char *event, const char *fields)
{
  struct rp__op op = {.type = RP_OP_AUDIT, .u.audit = {.scope = scope, .event = event, .at_ms = NOW}};
  op.u.audit.fields = rp__str(fields);
  memset(op.u.audit.salt, 7, sizeof op.u.audit.salt);
  rp__chain_digest(op.u.audit.salt, fields, fields ? strlen(fields) : 0, op.u.audit.digest);
  return op;
}

/* Follows a chain from its beginning. */
struct chain {
  const char *scope;
  const unsigned char *key;
  int64_t n, stop_after;
  unsigned char hash[32];
};

static int chain_follow(void *ctx, const struct rp__audit_row *row)
{
  struct chain *c = ctx;
  unsigned char hash[32], digest[32];
  if (c->n == 0) rp__chain_genesis(c->scope, c->hash);
  assert_string_equal(row->scope, c->scope);
  assert_int_equal(row->n, ++c->n);
  assert_memory_equal(row->prev, c->hash, 32);
  rp__chain_digest(row->salt, row->fields.p, row->fields.n, digest);
  assert_memory_equal(row->digest, digest, 32);
  rp__chain_hash(c->key, row->prev, row->n, row->at_ms, row->event, row->digest, hash);
  assert_memory_equal(row->hash, hash, 32);
  memcpy(c->hash, hash, 32);
  return c->n == c->stop_after ? 77 : 0;
}

static int64_t chain_check(struct suite *f, const char *scope, const unsigned char *key)
{
  struct chain c = {.scope = scope, .key = key};
  struct rp__audit_filter filter = {.scope = scope};
  struct rp__audit_row head;
  assert_int_equal(f->s->ops->audit_list(f->s, &filter, chain_follow, &c, &f->err), 0);
  assert_int_equal(f->s->ops->audit_head(f->s, scope, &head, &f->err), 0);
  assert_string_equal(head.scope, scope);
  assert_int_equal(head.n, c.n);
  if (c.n > 0) assert_memory_equal(head.hash, c.hash, 32);
  return c.n;
}

static void each_scope_has_a_chain(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats stats;
  assert_int_equal(chain_check(f, "a", NULL), 0);
  for (int i = 0; i < 150; i++) {
    struct rp__op op = op_audit(i % 3 ? "a" : "b", "session_captured", i % 5 ? "{\"x\":1}" : NULL);
    assert_int_equal(suite_op(f, &op), 0);
    assert_int_equal(op.ret.seq, i % 3 ? i - i / 3 : i / 3 + 1);
    struct rp__audit_row head;
    assert_int_equal(f->s->ops->audit_head(f->s, op.u.audit.scope, &head, &f->err), 0);
    assert_memory_equal(op.ret.hash, head.hash, 32);
  }
  for (int again = 0; again < 2; again++) {
    assert_int_equal(chain_check(f, "a", NULL), 100);
    assert_int_equal(chain_check(f, "b", NULL), 50);
    assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
    assert_int_equal(stats.audits, 150);
    if (!suite_reopen(f)) break;
  }
}

static void a_chain_may_have_a_key(void **state)
{
  struct suite *f = *state;
  unsigned char key[32] = {1, 2, 3};
  for (int i = 0; i < 3; i++) {
    struct rp__op op = op_audit("a", "deletion", "{}");
    op.u.audit.key = key;
    op.u.audit.sealed = i == 1;
    assert_int_equal(suite_op(f, &op), 0);
  }
  assert_int_equal(chain_check(f, "a", key), 3);
}

static int row_check(void *ctx, const struct rp__audit_row *row)
{
  ++*(int *)ctx;
  assert_string_equal(row->event, "hold");
  assert_int_equal(row->at_ms, NOW);
  assert_int_equal(row->salt[15], 7);
  if (row->n == 2) {
    assert_null(row->fields.p);
  } else {
    assert_int_equal(row->sealed, row->n == 3);
    assert_int_equal(row->fields.n, 2);
    assert_memory_equal(row->fields.p, row->n == 3 ? "\0\xff" : "{}", 2);
  }
  return 0;
}

static void a_row_comes_back_whole(void **state)
{
  struct suite *f = *state;
  struct rp__op ops[3] = {op_audit("a", "hold", "{}"), op_audit("a", "hold", NULL), op_audit("a", "hold", "x")};
  struct rp__audit_filter filter = {.scope = "a"};
  int n = 0;
  ops[2].u.audit.fields = (struct rp__str){"\0\xff", 2};
  ops[2].u.audit.sealed = true;
  assert_int_equal(suite_txn(f, ops, 3), 0);
  assert_int_equal(ops[2].ret.seq, 3);
  assert_int_equal(f->s->ops->audit_list(f->s, &filter, row_check, &n, &f->err), 0);
  assert_int_equal(n, 3);
}

static void parts_of_a_chain(void **state)
{
  struct suite *f = *state;
  struct rp__op op = op_audit("a", "hold", "{}");
  int n = 0;
  for (int i = 0; i < 10; i++) assert_int_equal(suite_op(f, &op), 0);
  struct rp__audit_filter filter = {.scope = "a", .after = 7};
  assert_int_equal(f->s->ops->audit_list(f->s, &filter, row_check, &n, &f->err), 0);
  assert_int_equal(n, 3);
  filter = (struct rp__audit_filter){.scope = "a", .limit = 4};
  struct chain c = {.scope = "a"};
  assert_int_equal(f->s->ops->audit_list(f->s, &filter, chain_follow, &c, &f->err), 0);
  assert_int_equal(c.n, 4);
  c = (struct chain){.scope = "a", .stop_after = 2};
  assert_int_equal(f->s->ops->audit_list(f->s, &filter, chain_follow, &c, &f->err), 77);
}

/* What is refused leaves no trace in the chain, and the next record closes up. */
static void a_refused_record_is_no_link(void **state)
{
  struct suite *f = *state;
  struct rp__op op = op_audit("a", "hold", "{}");
  assert_int_equal(suite_op(f, &op), 0);
  struct rp__op ops[3] = {op, op_audit("b", "hold", "{}"), op_set("nobody", RP_SET_CRASH)};
  assert_int_equal(suite_txn(f, ops, 3), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(chain_check(f, "a", NULL), 1);
  assert_int_equal(chain_check(f, "b", NULL), 0);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(chain_check(f, "a", NULL), 2);
}

static int scope_note(void *ctx, const char *scope)
{
  struct ids *ids = ctx;
  size_t at = strlen(ids->text);
  if (at < 60) snprintf(ids->text + at, sizeof ids->text - at, "%s ", scope);
  return ++ids->n == ids->stop_after ? 77 : 0;
}

static void scopes_are_listed_once(void **state)
{
  struct suite *f = *state;
  struct ids ids = {0};
  struct rp__op op = op_audit("m", "hold", "{}");
  assert_int_equal(f->s->ops->scope_list(f->s, scope_note, &ids, &f->err), 0);
  assert_int_equal(ids.n, 0);
  assert_int_equal(suite_op(f, &op), 0);
  assert_int_equal(suite_op(f, &op), 0);
  static const char *const names[] = {"z", "m", "b"};
  for (int i = 0; i < 3; i++) {
    struct rp__session_row row = row_new(names[i], names[i], NULL);
    op = op_put(&row);
    op.u.session_put.count_start = true;
    assert_int_equal(suite_op(f, &op), 0);
  }
  assert_int_equal(f->s->ops->scope_list(f->s, scope_note, &ids, &f->err), 0);
  assert_string_equal(ids.text, "b m z ");
  ids = (struct ids){.stop_after = 2};
  assert_int_equal(f->s->ops->scope_list(f->s, scope_note, &ids, &f->err), 77);
  for (int i = 0; i < 300; i++) {
    char scope[16];
    snprintf(scope, sizeof scope, "n%d", i);
    op = op_audit(scope, "hold", "{}");
    assert_int_equal(suite_op(f, &op), 0);
  }
  ids = (struct ids){0};
  assert_int_equal(f->s->ops->scope_list(f->s, scope_note, &ids, &f->err), 0);
  assert_int_equal(ids.n, 303);
}

const struct CMUnitTest audit_tests[] = {
    SUITE_TEST(each_scope_has_a_chain), SUITE_TEST(a_chain_may_have_a_key),      SUITE_TEST(a_row_comes_back_whole),
    SUITE_TEST(parts_of_a_chain),       SUITE_TEST(a_refused_record_is_no_link), SUITE_TEST(scopes_are_listed_once),
};
const size_t audit_tests_n = RP_ARRAY_SIZE(audit_tests);
