/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sessions: kept with their session, then for a year, and no more than so many. */
#include "suite.h"

#include <string.h>

static int name_put(struct suite *f, const char *name, const char *session_id, int64_t now)
{
  struct rp__name_row row = {0};
  rp__name_set(row.name, name);
  rp__name_set(row.session_id, session_id);
  struct rp__op op = {.type = RP_OP_NAME_PUT, .now_ms = now, .u.name.row = &row};
  return suite_op(f, &op);
}

/* The session's id, "-" when it is gone, NULL when nobody gave that name. */
static const char *name_get(struct suite *f, const char *name)
{
  static struct rp__name_row row;
  bool found = false;
  assert_int_equal(f->s->ops->name_get(f->s, name, &row, &found, &f->err), 0);
  if (!found) return NULL;
  assert_string_equal(row.name, name);
  return row.session_id[0] ? row.session_id : "-";
}

static void session_delete(struct suite *f, const char *id)
{
  struct rp__op op = {.type = RP_OP_SESSION_DELETE, .session_id = id, .now_ms = NOW + 1000};
  assert_int_equal(suite_op(f, &op), 0);
}

static void a_name_means_a_session(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  suite_put(f, "b");
  assert_null(name_get(f, "n"));
  assert_int_equal(name_put(f, "n", "nobody", NOW), RP_E_SESSION_NOT_FOUND);
  assert_null(name_get(f, "n"));
  assert_int_equal(name_put(f, "n", "a", NOW), 0);
  assert_int_equal(name_put(f, "m", "", NOW), 0);
  assert_string_equal(name_get(f, "n"), "a");
  assert_string_equal(name_get(f, "m"), "-");
  assert_null(name_get(f, "N"));
  assert_int_equal(name_put(f, "n", "b", NOW), 0);
  if (suite_reopen(f)) assert_string_equal(name_get(f, "m"), "-");
  session_delete(f, "a");
  if (name_get(f, "n")) assert_string_equal(name_get(f, "n"), "b");
}

/* Its session goes: the name says so, and goes a year later. In a refused transaction nothing of that happens. */
static void a_name_outlives_its_session(void **state)
{
  struct suite *f = *state;
  struct rp__new_event ev = event_new("message", "{}");
  struct rp__name_row row = {.name = "late", .session_id = "b"};
  int64_t left = -1;
  suite_put(f, "a");
  suite_put(f, "b");
  assert_int_equal(name_put(f, "n", "a", NOW), 0);
  assert_int_equal(name_put(f, "m", "b", NOW), 0);
  struct rp__op ops[3] = {{.type = RP_OP_SESSION_DELETE, .session_id = "a", .now_ms = NOW},
                          {.type = RP_OP_NAME_PUT, .now_ms = NOW, .u.name.row = &row},
                          op_append("nobody", &ev, 1)};
  assert_int_equal(suite_txn(f, ops, 3), RP_E_SESSION_NOT_FOUND);
  assert_string_equal(name_get(f, "n"), "a");
  assert_null(name_get(f, "late"));
  session_delete(f, "a"); /* at NOW + 1000 */
  assert_string_equal(name_get(f, "n"), "-");
  f->wall = NOW + 1000 + RP_NAMES_MS;
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_PRUNE, &left, &f->err), 0);
  assert_string_equal(name_get(f, "n"), "-");
  f->wall++;
  assert_int_equal(f->s->ops->maintain(f->s, RP_MAINTAIN_PRUNE, &left, &f->err), 0);
  assert_int_equal(left, 0);
  assert_null(name_get(f, "n"));
  assert_string_equal(name_get(f, "m"), "b");
}

static void put_many(struct suite *f, int from, int n)
{
  enum { TXN = 500 };
  static struct rp__name_row rows[TXN];
  static struct rp__op ops[TXN];
  for (int i = 0; i < n; i += TXN) {
    int k = 0;
    for (; k < TXN && i + k < n; k++) {
      rows[k] = (struct rp__name_row){0};
      snprintf(rows[k].name, sizeof rows[k].name, "many-%06d", from + i + k);
      ops[k] = (struct rp__op){.type = RP_OP_NAME_PUT, .now_ms = NOW + from + i + k, .u.name.row = &rows[k]};
    }
    assert_int_equal(suite_txn(f, ops, (size_t)k), 0);
  }
}

/* One more takes the place of the oldest, those of no session first. */
static void there_are_so_many(void **state)
{
  struct suite *f = *state;
  suite_put(f, "a");
  assert_int_equal(name_put(f, "n", "a", NOW - 1000), 0);
  put_many(f, 0, RP_NAMES_MAX - 1);
  assert_non_null(name_get(f, "many-000000"));
  put_many(f, RP_NAMES_MAX - 1, 1);
  assert_null(name_get(f, "many-000000"));
  assert_non_null(name_get(f, "many-000001"));
  assert_string_equal(name_get(f, "n"), "a");
}

const struct CMUnitTest name_tests[] = {
    SUITE_TEST(a_name_means_a_session),
    SUITE_TEST(a_name_outlives_its_session),
    SUITE_TEST(there_are_so_many),
};
const size_t name_tests_n = RP_ARRAY_SIZE(name_tests);
