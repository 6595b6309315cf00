/* SPDX-License-Identifier: Apache-2.0 */
/* O-04: with a key set, what was said is nowhere in the bytes on disk. */
#include "unit/engine/rig.h"

#include <stdlib.h>

#include "base/file.h"

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define OTHER "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SECRET "the-lighthouse-keeper-is-called-Ada"

static bool found_on_disk(struct rig *r, const char *needle)
{
  static const char *const names[] = {"t.db", "t.db-wal"};
  bool found = false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    char path[SCRATCH_PATH];
    struct rp__buf bytes = RP_BUF(64 << 20);
    if (!rp__file_read(scratch_path(&r->scratch, names[i], path), 64 << 20, &bytes, NULL))
      found = found || memmem(bytes.p, bytes.n, needle, strlen(needle)) != NULL;
    rp__buf_done(&bytes);
  }
  return found;
}

static int setup_sealed(void **state)
{
  setenv("REPRISE_KEY", KEY, 1);
  return rig_setup(state);
}

static int teardown_sealed(void **state)
{
  unsetenv("REPRISE_KEY");
  return rig_teardown(state);
}

static int no_hit(void *ctx, const rp_hit *hit)
{
  (void)ctx;
  fail_msg("found in %s", hit->session_id);
  return 0;
}

static void test_nothing_in_the_clear(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, SECRET);
  OK(rp_checkpoint(s, NULL, &err), err);
  rig_say(s, SECRET " again");
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, SECRET));
  free(doc);
  OK(rp_search(r->e, "lighthouse", NULL, 10, no_hit, NULL, &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  assert_false(found_on_disk(r, SECRET));
  assert_false(found_on_disk(r, "lighthouse"));
  rig_reopen(r);
  OK(rp_attach(r->e, "last", &s, &err), err);
  doc = rig_state(s, -1);
  assert_non_null(strstr(doc, SECRET " again"));
  free(doc);
  rp_session_free(s);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

static int meta_is(void *ctx, const rp_session_info *i)
{
  assert_string_equal(i->meta, ctx);
  return 0;
}

/* Neither what somebody said of the session nor why it ended. */
static void test_meta_and_reason(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s;
  char meta[] = "{\"about\":\"" SECRET "\"}";
  rp_start_options o = {.scope = "a", .key = "k", .meta = meta};
  OK(rp_start(r->e, &o, &s, &err), err);
  OK(rp_show(r->e, "k", meta_is, meta, &err), err);
  OK(rp_end(s, SECRET, &err), err);
  rp_session_free(s);
  assert_false(found_on_disk(r, SECRET));
}

/* The test above can fail: without a key the same bytes are found. */
static void test_clear_without_key(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, SECRET);
  rp_session_free(s);
  assert_true(found_on_disk(r, SECRET));
}

static void test_wrong_and_missing_key(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, SECRET);
  rp_session_free(s);
  setenv("REPRISE_KEY", OTHER, 1);
  rig_reopen(r);
  rp_start_options o = {.scope = "a", .key = "k"};
  assert_int_equal(rp_attach(r->e, "k", &s, &err), RP_E_KEY_WRONG);
  assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_KEY_WRONG);
  unsetenv("REPRISE_KEY");
  rig_reopen(r);
  assert_int_equal(rp_attach(r->e, "k", &s, &err), RP_E_KEY_MISSING);
  assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_KEY_MISSING);
}

/* Sealing belongs to the scope: another one, without a key file, stays readable. */
static void test_key_file_per_scope(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char path[SCRATCH_PATH], ini[SCRATCH_PATH * 2], config[SCRATCH_PATH];
  scratch_path(&r->scratch, "key", path);
  OK(rp__file_write(path, KEY "\n", strlen(KEY) + 1, &err), err);
  int n = snprintf(ini, sizeof ini, "[scope sealed]\nkey_file = %s\n", path);
  OK(rp__file_write(scratch_path(&r->scratch, "reprise.ini", config), ini, (size_t)n, &err), err);
  rig_reopen(r);
  rp_session *s = rig_start(r, "sealed", NULL, RP_OWNER_SELF);
  rig_say(s, SECRET);
  rp_session_free(s);
  assert_false(found_on_disk(r, SECRET));
  s = rig_start(r, "open", NULL, RP_OWNER_SELF);
  rig_say(s, "plain words here");
  rp_session_free(s);
  assert_true(found_on_disk(r, "plain words here"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_nothing_in_the_clear, setup_sealed, teardown_sealed),
      cmocka_unit_test_setup_teardown(test_meta_and_reason, setup_sealed, teardown_sealed),
      cmocka_unit_test_setup_teardown(test_clear_without_key, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(test_wrong_and_missing_key, setup_sealed, teardown_sealed),
      cmocka_unit_test_setup_teardown(test_key_file_per_scope, rig_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
