/* SPDX-License-Identifier: Apache-2.0 */
/* What store.h promises, run over SQLite in memory, SQLite in a file, and the decorator that fails calls. */
#include "suite.h"

#include <string.h>

static int open_memory(const struct rp__store_options *o, struct rp__fault *plan, struct rp__store **ret, rp_error *err)
{
  (void)plan;
  return rp__store_memory_open(o, ret, err);
}

static int open_sqlite(const struct rp__store_options *o, struct rp__fault *plan, struct rp__store **ret, rp_error *err)
{
  (void)plan;
  return rp__store_sqlite_open(o, ret, err);
}

/* The decorator with no fault planned must not be noticed. */
static int open_fault(const struct rp__store_options *o, struct rp__fault *plan, struct rp__store **ret, rp_error *err)
{
  struct rp__store *inner;
  int rc = rp__store_sqlite_open(o, &inner, err);
  return rc ? rc : rp__store_fault_wrap(inner, plan, ret);
}

static const struct backend backends[] = {
    {"memory", open_memory, false},
    {"sqlite", open_sqlite, true},
    {"fault", open_fault, true},
};

static const struct {
  const char *name;
  const struct CMUnitTest *tests;
  const size_t *n;
} groups[] = {
    {"session", session_tests, &session_tests_n},
    {"append", append_tests, &append_tests_n},
    {"run", run_tests, &run_tests_n},
    {"snapshot", snapshot_tests, &snapshot_tests_n},
    {"list", list_tests, &list_tests_n},
    {"search", search_tests, &search_tests_n},
    {"record", record_tests, &record_tests_n},
    {"memory", memory_tests, &memory_tests_n},
    {"audit", audit_tests, &audit_tests_n},
    {"trash", trash_tests, &trash_tests_n},
    {"changes", changes_tests, &changes_tests_n},
    {"token", token_tests, &token_tests_n},
    {"blob", blob_tests, &blob_tests_n},
    {"stream", stream_tests, &stream_tests_n},
    {"name", name_tests, &name_tests_n},
};

int main(int argc, char **argv)
{
  int failed = 0, ran = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(backends); i++) {
    if (argc > 1 && strcmp(argv[1], backends[i].name) != 0) continue;
    suite_backend = &backends[i];
    for (size_t j = 0; j < RP_ARRAY_SIZE(groups); j++, ran++) {
      char name[64];
      snprintf(name, sizeof name, "%s %s", backends[i].name, groups[j].name);
      failed += _cmocka_run_group_tests(name, groups[j].tests, *groups[j].n, NULL, NULL);
    }
  }
  return failed || !ran;
}
