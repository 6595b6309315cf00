/* SPDX-License-Identifier: Apache-2.0 */
/* Names that other programs have for sessions, and forks under an id of the caller's (B-06, B-07). */
#include "unit/engine/rig.h"

static int count(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int listed(struct rig *r, bool trashed)
{
  rp_filter f = {.trashed = trashed};
  rp_error err = {0};
  int n = 0;
  OK(rp_list(r->e, &f, count, &n, &err), err);
  return n;
}

static int no_finding(void *ctx, const rp_finding *f)
{
  (void)ctx;
  fail_msg("%s", f->what);
  return 1;
}

/* The session's id, "-" when it is gone, "" when nobody gave that name. */
static const char *found(struct rig *r, const char *name)
{
  static char id[RP_ID_MAX + 1];
  rp_error err = {0};
  int rc = rp_name_find(r->e, name, id, &err);
  if (rc == RP_E_SESSION_NOT_FOUND) return "";
  OK(rc, err);
  return id[0] ? id : "-";
}

static void test_a_name_and_its_session(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  char id[RP_ID_MAX + 1], *before = NULL, *after = NULL;
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rp_stats_json(r->e, &before, &err), err);
  OK(rp_name_put(r->e, "agents-own", id, &err), err);
  OK(rp_name_put(r->e, "deleted-one", NULL, &err), err);
  rig_reopen(r);
  assert_string_equal(found(r, "agents-own"), id);
  assert_string_equal(found(r, "deleted-one"), "-");
  assert_string_equal(found(r, "nobodys"), "");
  assert_int_equal(listed(r, false), 1);
  assert_int_equal(listed(r, true), 0);
  OK(rp_stats_json(r->e, &after, &err), err);
  assert_string_equal(rig_get(before, "sessions"), rig_get(after, "sessions"));
  rp_free(before), rp_free(after);
  OK(rp_verify(r->e, NULL, false, no_finding, NULL, NULL, NULL, &err), err);
  assert_int_equal(rp_attach(r->e, "agents-own", &s, &err), RP_E_SESSION_NOT_FOUND); /* no reference */

  OK(rp_trash(r->e, id, NULL, &err), err);
  assert_string_equal(found(r, "agents-own"), id);
  OK(rp_purge(r->e, id, true, &err), err);
  assert_string_equal(found(r, "agents-own"), "-");
}

static void test_what_is_no_name(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1] = "kept", longest[RP_ID_MAX + 2];
  memset(longest, 'n', sizeof longest - 1);
  longest[sizeof longest - 1] = '\0';
  const char *const bad[] = {NULL, "", "-a", "a b", "a/b", longest};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_int_equal(rp_name_put(r->e, bad[i], NULL, &err), RP_E_INVALID);
    assert_string_equal(err.field, "name");
    assert_int_equal(rp_name_find(r->e, bad[i], id, &err), RP_E_INVALID);
  }
  assert_int_equal(rp_name_put(r->e, "n", "a b", &err), RP_E_INVALID);
  assert_string_equal(err.field, "session_id");
  assert_int_equal(rp_name_put(r->e, "n", "nobody", &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_name_find(r->e, "n", id, &err), RP_E_SESSION_NOT_FOUND);
  assert_string_equal(id, "kept");
  longest[RP_ID_MAX] = '\0';
  OK(rp_name_put(r->e, longest, NULL, &err), err);
  assert_string_equal(found(r, longest), "-");
}

/* ---- forks ---- */

static int on_meta(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 300, "%s", info->meta ? info->meta : "none");
  return 0;
}

static const char *meta_of(struct rig *r, const char *id)
{
  static char meta[300];
  rp_error err = {0};
  OK(rp_show(r->e, id, on_meta, meta, &err), err);
  return meta;
}

static void test_forks_as_they_were_asked_for(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_start_options o = {
      .scope = "a", .id = "one", .owner = RP_OWNER_SELF, .meta = "{\"acp_session_id\":\"one\",\"x\":[1]}"};
  rp_session *s = NULL;
  char id[RP_ID_MAX + 1], want[300];
  OK(rp_start(r->e, &o, &s, &err), err);
  rig_say(s, "hello");
  OK(rp_fork(s, NULL, id, NULL, &err), err);
  snprintf(want, sizeof want, "{\"acp_session_id\":\"%s\",\"x\":[1]}", id);
  assert_string_equal(meta_of(r, id), want);
  assert_string_equal(meta_of(r, "one"), o.meta);

  rp_fork_options as = {.at_seq = 1, .id = "two", .meta = "{\"m\":\"password=hunter2\"}"};
  OK(rp_fork(s, &as, id, NULL, &err), err);
  assert_string_equal(id, "two");
  assert_string_equal(meta_of(r, "two"), "{\"m\":\"password=[REDACTED]\"}");
  assert_int_equal(rp_fork(s, &as, id, NULL, &err), RP_E_EXISTS);
  as.id = "a b";
  assert_int_equal(rp_fork(s, &as, id, NULL, &err), RP_E_USAGE);
  assert_string_equal(err.field, "id");
  as.id = "three";
  as.meta = "[]";
  assert_int_equal(rp_fork(s, &as, id, NULL, &err), RP_E_INVALID);
  assert_string_equal(err.field, "meta");
  as.meta = "{";
  assert_int_not_equal(rp_fork(s, &as, id, NULL, &err), 0);
  assert_int_equal(listed(r, false), 3);
  rp_session_free(s);
}

/* ---- snapshots: ten are ten (O-03) ---- */

static int on_snapshot(void *ctx, const rp_snapshot_info *i)
{
  int64_t *seen = ctx; /* how many, the newest and the oldest number */
  if (!seen[0]++) seen[1] = i->n;
  seen[2] = i->n;
  return 0;
}

static void test_lists_have_ten(void **state)
{
  enum { PAGE = 1000, PAGES = 24 };
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rp_event *ev = calloc(PAGE, sizeof *ev);
  int64_t n = 0, seen[3] = {0};
  char *doc = NULL;
  assert_non_null(ev);
  for (int i = 0; i < PAGE; i++) ev[i] = (rp_event){.kind = "x-n", .body = "{}"};
  for (int i = 0; i < PAGES; i++) {
    OK(rp_append_many(s, ev, PAGE, NULL, NULL, &err), err);
    OK(rp_checkpoint(s, &n, &err), err);
  }
  OK(rp_snapshots(s, on_snapshot, seen, &err), err);
  assert_int_equal(seen[0], 10);
  assert_int_equal(seen[1], n);
  assert_int_equal(seen[2], n - 9);
  OK(rp_stats_json(r->e, &doc, &err), err);
  assert_string_equal(rig_get(doc, "snapshots"), "12"); /* and one of each 10,000 events before them */
  rp_free(doc);
  rp_session_free(s);
  free(ev);
}

/* ---- going back in what has ended ---- */

static void test_a_restore_of_what_has_ended(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  char hint[300];
  rig_say(s, "one");
  rig_say(s, "two");
  OK(rp_end(s, NULL, &err), err);
  assert_int_equal(rp_restore(s, 1, NULL, &err), RP_E_ENDED);
  snprintf(hint, sizeof hint, "'reprise start --scope a --id %s'", rp_session_id(s));
  assert_non_null(strstr(err.hint, hint));
  snprintf(hint, sizeof hint, "'reprise fork %s --at 1'", rp_session_id(s));
  assert_non_null(strstr(err.hint, hint));
  rp_session_free(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_a_name_and_its_session),       T(test_what_is_no_name),
      T(test_forks_as_they_were_asked_for), T(test_lists_have_ten),
      T(test_a_restore_of_what_has_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
