/* SPDX-License-Identifier: Apache-2.0 */
/* L-09: sessions that nobody lives in any more. */
#include "unit/engine/retain.h"

#include "engine/keep/abandon.h"

static int64_t sweep(struct rig *r)
{
  rp_error err = {0};
  int64_t n = -1;
  OK(rp__abandon_sweep(r->e, NULL, &n, &err), err);
  return n;
}

static int on_event(void *ctx, const rp_event_info *ev)
{
  if (strcmp(ev->kind, "status") == 0) snprintf(ctx, 300, "%s", ev->body);
  return 0;
}

static void test_abandoned(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char web[RP_ID_MAX + 1], cli[RP_ID_MAX + 1], body[300] = "";
  channel_session(r, "web", "w", web);
  channel_session(r, "cli", "c", cli);
  int64_t last = r->wall + 50 * MINUTE_MS;
  r->wall = last;
  rp_session *s;
  OK(rp_attach(r->e, web, &s, &err), err);
  OK(rp_heartbeat(s, &err), err); /* is activity */
  rp_session_free(s);
  r->wall += 60 * MINUTE_MS - 1;
  assert_int_equal(sweep(r), 0);
  r->wall += 1;
  TOLD dry = NOTHING;
  gc(r, (rp_gc_options){.dry_run = true}, &dry,
     "{\"abandoned\":1,\"archived\":0,\"trashed\":0,\"deleted\":0,\"kept\":0,\"bytes\":0,\"dry_run\":true}");
  expect_status(r, web, RP_STATUS_ACTIVE);
  assert_int_equal(sweep(r), 1);
  assert_int_equal(sweep(r), 0);
  expect_status(r, web, RP_STATUS_ABANDONED);
  expect_status(r, cli, RP_STATUS_ACTIVE); /* a coder's session may rest for days */

  struct rp__session_row row = row_of(r, web);
  assert_int_equal(row.ended_at, last);
  struct rp__record_row record = {0}; /* captured as any other end */
  OK(r->e->store->ops->record_get(r->e->store, row.ref, &record, &err), err);
  assert_int_equal(record.end_ms, last);
  rp__record_row_done(&record);
  rp__session_row_done(&row);
  OK(rp_attach(r->e, web, &s, &err), err);
  OK(rp_events(s, 0, 0, on_event, body, &err), err);
  assert_string_equal(rig_get(body, "status"), "\"abandoned\"");
  rp_session_free(s);
  assert_int_equal(audited(r, "session_captured").n, 1);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

/* A living owner is activity, however quiet he is. */
static void test_not_abandoned_by_the_living(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s;
  char id[RP_ID_MAX + 1];
  rp_start_options o = {.scope = "a", .key = "k", .channel = "web", .owner = RP_OWNER_SELF};
  OK(rp_start(r->e, &o, &s, &err), err);
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  r->wall += 3 * DAY_MS;
  assert_int_equal(sweep(r), 0);
  expect_status(r, id, RP_STATUS_CREATED);
  rp_session_free(s); /* dies */
  OK(rp_hold(r->e, id, true, &err), err);
  assert_int_equal(sweep(r), 0);
  OK(rp_hold(r->e, id, false, &err), err);
  assert_int_equal(sweep(r), 1);
  expect_status(r, id, RP_STATUS_ABANDONED);
}

static void test_abandon_policy(void **state)
{
  struct rig *r = *state;
  char web[RP_ID_MAX + 1], cli[RP_ID_MAX + 1];
  channel_session(r, "web", "w", web);
  channel_session(r, "cli", "c", cli);
  r->wall += DAY_MS;
  setenv("REPRISE_ABANDON", "never", 1);
  rig_reopen(r);
  assert_int_equal(sweep(r), 0);
  setenv("REPRISE_ABANDON", "always", 1);
  setenv("REPRISE_ABANDON_S", "172800", 1);
  rig_reopen(r);
  assert_int_equal(sweep(r), 0);
  r->wall += DAY_MS;
  assert_int_equal(sweep(r), 2);
  unsetenv("REPRISE_ABANDON");
  unsetenv("REPRISE_ABANDON_S");
}

/* Another start of the scope marks it, too. */
static void test_abandoned_at_start(void **state)
{
  struct rig *r = *state;
  char web[RP_ID_MAX + 1], next[RP_ID_MAX + 1];
  channel_session(r, "web", "w", web);
  r->wall += 61 * MINUTE_MS;
  channel_session(r, "web", "other", next);
  expect_status(r, web, RP_STATUS_ABANDONED);
  expect_status(r, next, RP_STATUS_ACTIVE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_abandoned),
      TEST(test_not_abandoned_by_the_living),
      TEST(test_abandon_policy),
      TEST(test_abandoned_at_start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
