/* SPDX-License-Identifier: Apache-2.0 */
/* records of old sessions in cold files. */
#include "unit/engine/retain.h"

#include "base/file.h"
#include "engine/keep/archive.h"

#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SECRET "the-lighthouse-keeper-is-called-Ada"

static void archive_session(struct rig *r, const char *text, char id[RP_ID_MAX + 1])
{
  rp_error err = {0};
  rp_ack ack;
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_NONE);
  char body[300];
  rig_say(s, "hello");
  snprintf(body, sizeof body, "{\"label\":\"note\",\"content\":\"%s\",\"importance\":\"high\"}", text);
  rp_event pin = {.kind = "pin", .body = body};
  OK(rp_append(s, &pin, NULL, &ack, &err), err);
  OK(rp_end(s, NULL, &err), err);
  snprintf(id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_free(s);
  r->wall += 30 * DAY_MS;
  TOLD t = NOTHING;
  char expected[200];
  gc_both(r, (rp_gc_options){0}, &t);
  snprintf(expected, sizeof expected, "archive %s\n", id);
  expect_lines(&t, expected);
  assert_string_equal(t.last_reason, "ended 30 days ago");
}

static int read_cold(struct rig *r, const char *id, struct rp__buf *out, rp_error *err)
{
  struct rp__session_row row = row_of(r, id);
  int rc = rp__archive_read(r->e, &row, out, err);
  rp__session_row_done(&row);
  return rc;
}

/* the record is in the cold file and nowhere else, and comes back whole. The journal stays. */
static void test_archive(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], mirror[SCRATCH_PATH], name[SCRATCH_PATH];
  archive_session(r, SECRET, id);
  assert_true(is_file(cold_file(r, id, "gz")));
  snprintf(name, sizeof name, "sessions/%s.json", id);
  assert_false(is_file(scratch_path(&r->scratch, name, mirror)));
  struct rp__session_row row = row_of(r, id);
  struct rp__record_row record = {0};
  OK(r->e->store->ops->record_get(r->e->store, row.ref, &record, &err), err);
  assert_true(record.archived);
  rp__record_row_done(&record);
  struct rp__buf json RP_AUTOBUF = RP_BUF(65536), again RP_AUTOBUF = RP_BUF(65536);
  OK(rp__archive_read(r->e, &row, &json, &err), err);
  assert_non_null(strstr(json.p, SECRET));
  assert_string_equal(rig_get(json.p, "schema_version"), "1");
  OK(rp__record_read(r->e, &row, &again, &err), err); /* the way that continuing and planning take */
  assert_string_equal(json.p, again.p);
  rp__session_row_done(&row);
  char *digest;
  OK(rp_digest_json(r->e, id, &digest, &err), err);
  assert_string_equal(rig_get(digest, "last_request"), "\"hello\"");
  rp_free(digest);

  rp_session *s;
  OK(rp_attach(r->e, id, &s, &err), err);
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "hello"));
  free(doc);
  rp_session_free(s);
  assert_int_equal(audited(r, "archive").n, 1);
  TOLD twice = NOTHING;
  gc_both(r, (rp_gc_options){0}, &twice);
  assert_int_equal(twice.n, 0);
}

static void test_archive_damaged(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], other[RP_ID_MAX + 1];
  struct rp__buf json RP_AUTOBUF = RP_BUF(65536), bytes RP_AUTOBUF = RP_BUF(0);
  archive_session(r, SECRET, id);
  r->wall -= 30 * DAY_MS; /* the same month */
  archive_session(r, "another", other);
  OK(rp__file_read(cold_file(r, id, "gz"), 65536, &bytes, &err), err);
  OK(rp__file_write(cold_file(r, other, "gz"), bytes.p, bytes.n, &err), err); /* somebody else's record */
  assert_int_equal(read_cold(r, other, &json, &err), RP_E_CORRUPT);
  for (size_t cut = 0; cut < bytes.n; cut += 7) { /* a file that ends too early */
    OK(rp__file_write(cold_file(r, id, "gz"), bytes.p, cut, &err), err);
    assert_int_equal(read_cold(r, id, &json, &err), RP_E_CORRUPT);
  }
  bytes.p[bytes.n / 2] ^= 0x10;
  OK(rp__file_write(cold_file(r, id, "gz"), bytes.p, bytes.n, &err), err);
  assert_int_equal(read_cold(r, id, &json, &err), RP_E_CORRUPT);
  assert_int_equal(unlink(cold_file(r, id, "gz")), 0);
  assert_int_equal(read_cold(r, id, &json, &err), RP_E_RECORD_NOT_FOUND);
  assert_int_equal(json.n, 0);
}

/* A deletion takes the cold file along. */
static void test_archive_deleted(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  archive_session(r, SECRET, id);
  OK(rp_trash(r->e, id, NULL, &err), err);
  assert_true(is_file(cold_file(r, id, "gz")));
  OK(rp_purge(r->e, id, false, &err), err);
  assert_false(is_file(cold_file(r, id, "gz")));
}

/* O-04: sealed in a sealed scope, unreadable without the key. */
static void test_archive_sealed(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  struct rp__buf bytes RP_AUTOBUF = RP_BUF(0), json RP_AUTOBUF = RP_BUF(65536);
  setenv("REPRISE_KEY", KEY, 1);
  rig_reopen(r);
  archive_session(r, SECRET, id);
  assert_false(is_file(cold_file(r, id, "gz")));
  OK(rp__file_read(cold_file(r, id, "sealed"), 65536, &bytes, &err), err);
  assert_null(memmem(bytes.p, bytes.n, "lighthouse", 10));
  assert_null(memmem(bytes.p, bytes.n, "\x1f\x8b\x08", 3));
  OK(read_cold(r, id, &json, &err), err);
  assert_non_null(strstr(json.p, SECRET));
  unsetenv("REPRISE_KEY");
  rig_reopen(r);
  assert_int_equal(read_cold(r, id, &json, &err), RP_E_KEY_MISSING);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_archive),
      TEST(test_archive_damaged),
      TEST(test_archive_deleted),
      TEST(test_archive_sealed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
