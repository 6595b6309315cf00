/* SPDX-License-Identifier: Apache-2.0 */
/* One suite, run over every backend: what store.h promises, none of how. */
#ifndef TEST_CONFORMANCE_SUITE_H
#define TEST_CONFORMANCE_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/error.h"
#include "lib/scratch.h"
#include "store/rules.h"

#define NOW 1700000000000LL

/* How a backend is opened; `persistent`: closing and opening again finds the same. */
struct backend {
  const char *name;
  int (*open)(const struct rp__store_options *o, struct rp__fault *plan, struct rp__store **ret, rp_error *err);
  bool persistent;
};
extern const struct backend *suite_backend; /* the one the running group is about */

struct suite {
  struct scratch dir;
  char path[SCRATCH_PATH];
  struct rp__fault plan;
  int64_t wall; /* what the store's clock shows */
  rp_clock clock;
  struct rp__store *s;
  rp_error err;
};

int suite_setup(void **state);
int suite_teardown(void **state);
#define SUITE_TEST(fn) cmocka_unit_test_setup_teardown(fn, suite_setup, suite_teardown)

/* Closes and opens again; false when the backend keeps nothing. */
bool suite_reopen(struct suite *f);

/* Commits the ops as one txn: its own rc. The commit itself must succeed. */
int suite_txn(struct suite *f, struct rp__op *ops, size_t n);
static inline int suite_op(struct suite *f, struct rp__op *op)
{
  return suite_txn(f, op, 1);
}

/* Ops with the usual fields filled in. */
struct rp__session_row row_new(const char *id, const char *scope, const char *key);
struct rp__op op_put(const struct rp__session_row *row);
struct rp__op op_lease(const char *id, int64_t expect, const struct rp__run_row *run);
struct rp__op op_append(const char *id, const struct rp__new_event *ev, size_t n);
struct rp__op op_set(const char *id, unsigned fields);
struct rp__new_event event_new(const char *kind, const char *body);

/* A session of scope "s", put; its ref. */
int64_t suite_put(struct suite *f, const char *id);
/* One message with that text; its seq. The session must take it. */
int64_t suite_say(struct suite *f, const char *id, const char *text);
/* Leases it at whatever epoch it has; the new epoch. */
int64_t suite_lease(struct suite *f, const char *id);
/* The row as it is. The caller frees its meta. */
struct rp__session_row suite_row(struct suite *f, const char *id);
int64_t suite_count_events(struct suite *f, const char *id);

/* Ids of what a list gave, each followed by a space. */
struct ids {
  char text[4096];
  int n, stop_after; /* 0: never */
};
rp__session_row_fn ids_session;
rp_hit_fn ids_hit; /* "id:seq " */

extern const struct CMUnitTest session_tests[], append_tests[], run_tests[], snapshot_tests[], list_tests[],
    search_tests[], record_tests[], memory_tests[], audit_tests[], trash_tests[], changes_tests[], token_tests[],
    blob_tests[], stream_tests[], name_tests[];
extern const size_t session_tests_n, append_tests_n, run_tests_n, snapshot_tests_n, list_tests_n, search_tests_n,
    record_tests_n, memory_tests_n, audit_tests_n, trash_tests_n, changes_tests_n, token_tests_n, blob_tests_n,
    stream_tests_n, name_tests_n;

#endif
