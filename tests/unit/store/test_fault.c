/* SPDX-License-Identifier: Apache-2.0 */
/* The decorator that fails the nth call, over every slot. */
#include "store_test.h"

static int session_ignored(void *ctx, const struct rp__session_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int run_ignored(void *ctx, const struct rp__run_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int event_ignored(void *ctx, const struct rp__event_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int snapshot_ignored(void *ctx, const struct rp__snapshot_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int recall_ignored(void *ctx, const struct rp__recall *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int audit_ignored(void *ctx, const struct rp__audit_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int scope_ignored(void *ctx, const char *scope)
{
  (void)ctx, (void)scope;
  return 0;
}
static int token_ignored(void *ctx, const struct rp__token_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int blob_ignored(void *ctx, const struct rp__blob_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int finding_ignored(void *ctx, const rp_finding *f)
{
  (void)ctx, (void)f;
  return 0;
}

enum { SLOTS = 22 };

/* Calls every slot in order; the results. */
static void call_all(struct rp__store *s, int64_t ref, int rc[SLOTS], rp_error *err)
{
  struct rp__session_row row = {0};
  struct rp__run_filter runs = {0};
  struct rp__event_range range = {.session_ref = ref};
  struct rp__scope_row scope;
  struct rp__store_stats stats;
  int64_t n;
  int hits = 0, i = 0;
  rc[i++] = say_in(s, "a", "word", RP_OS, NULL, err);
  rc[i++] = s->ops->session_find(s, RP_FIND_ID, NULL, "a", &row, err);
  if (rc[1] == 0) rp__session_row_done(&row);
  rc[i++] = s->ops->session_list(s, NULL, session_ignored, NULL, err);
  rc[i++] = s->ops->run_list(s, &runs, run_ignored, NULL, err);
  rc[i++] = s->ops->event_list(s, &range, event_ignored, NULL, err);
  rc[i++] = s->ops->snapshot_list(s, ref, 0, snapshot_ignored, NULL, err);
  rc[i++] = s->ops->scope_get(s, "s", &scope, err);
  rc[i++] = s->ops->client_get(s, ref, "c", &n, err);
  rc[i++] = s->ops->search(s, "word", NULL, 0, hit_count, &hits, err);
  struct rp__recall_filter recall = {.scope = "s"};
  struct rp__memory_filter memories = {.scope = "s"};
  struct rp__audit_filter audits = {.scope = "s"};
  struct rp__record_row record;
  struct rp__task_row task;
  struct rp__audit_row head;
  bool found;
  rc[i++] = s->ops->recall_list(s, &recall, recall_ignored, NULL, err);
  rc[i++] = s->ops->record_get(s, ref, &record, err);
  if (rc[i - 1] == 0) rp__record_row_done(&record);
  rc[i++] = s->ops->task_get(s, "s", 1, &task, &found, err);
  rc[i++] = s->ops->memory_list(s, &memories, memory_count, &hits, err);
  rc[i++] = s->ops->audit_list(s, &audits, audit_ignored, NULL, err);
  rc[i++] = s->ops->audit_head(s, "s", &head, err);
  rc[i++] = s->ops->scope_list(s, scope_ignored, NULL, err);
  rc[i++] = s->ops->token_list(s, NULL, token_ignored, NULL, err);
  rc[i++] = s->ops->blob_list(s, ref, NULL, blob_ignored, NULL, err);
  rc[i++] = s->ops->maintain(s, RP_MAINTAIN_INDEX, NULL, err);
  rc[i++] = s->ops->check(s, false, finding_ignored, NULL, err);
  rc[i++] = s->ops->stats(s, &stats, err);
  rc[i++] = say_in(s, "a", "word", RP_OS, NULL, err);
  assert_int_equal(i, SLOTS);
}

static void the_nth_call_fails_and_no_other(void **state)
{
  struct rp__store_options o = {0};
  (void)state;
  for (int nth = 0; nth <= SLOTS + 1; nth++) {
    for (int kind = 0; kind < 4; kind++) {
      struct rp__fault plan = {0};
      struct rp__store *inner, *s;
      rp_error err;
      int64_t ref;
      int rc[SLOTS];
      assert_int_equal(rp__store_memory_open(&o, &inner, &err), 0);
      assert_int_equal(rp__store_fault_wrap(inner, &plan, &s), 0);
      assert_int_equal(put_in(s, "a", &ref, &err), 0);
      assert_int_equal(record_in(s, "a", "[]", &err), 0);
      plan = (struct rp__fault){.nth = nth, .code = RP_E_IO, .after = kind & 1, .persistent = kind & 2};
      call_all(s, ref, rc, &err);
      assert_int_equal(plan.calls, SLOTS);
      for (int i = 0; i < SLOTS; i++) {
        bool fails = nth && (i + 1 == nth || (plan.persistent && i + 1 > nth));
        assert_int_equal(rc[i], fails ? RP_E_IO : 0);
      }
      /* Failed after: the first append was done all the same. */
      struct rp__session_row row;
      assert_int_equal(inner->ops->session_find(inner, RP_FIND_ID, NULL, "a", &row, &err), 0);
      if (nth == 1 && !plan.persistent) assert_int_equal(row.last_seq, plan.after ? 2 : 1);
      s->ops->close(s);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_nth_call_fails_and_no_other)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
