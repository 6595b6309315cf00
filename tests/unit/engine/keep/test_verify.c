/* SPDX-License-Identifier: Apache-2.0 */
/* verify over what is not a journal: records, cold files, memories, audit chains, full text. Damage is told; what the
 * journal can make again is made again, and nothing else is. */
#include "unit/engine/retain.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

static void sql(struct rig *r, const char *text)
{
  sqlite3 *db;
  char path[SCRATCH_PATH], *why = NULL;
  assert_int_equal(sqlite3_open(scratch_path(&r->scratch, "t.db", path), &db), SQLITE_OK);
  if (sqlite3_exec(db, text, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s: %s", text, why);
  assert_int_not_equal(sqlite3_total_changes(db), 0);
  sqlite3_close(db);
}

struct findings {
  int n, repaired, notes;
  struct rp__buf text;
};

static int on_finding(void *ctx, const rp_finding *f)
{
  struct findings *all = ctx;
  all->n++;
  all->repaired += f->repaired;
  all->notes += f->note && !f->repaired;
  rp__buf_printf(&all->text, "%s: %s\n", f->session_id ? f->session_id : "store", f->what);
  return 0;
}

static void findings_done(struct findings *f)
{
  rp__buf_done(&f->text);
}
#define FINDINGS RP_CLEANUP(findings_done) struct findings

/* What a check says must hold `message` (NULL: it says nothing); its code. */
static int verify(struct rig *r, const char *ref, bool repair, const char *message)
{
  rp_error err = {0};
  FINDINGS f = {.text = RP_BUF(65536)};
  int rc = rp_verify(r->e, ref, repair, on_finding, &f, NULL, NULL, &err);
  const char *text = f.text.p ? f.text.p : "";
  if (message ? !strstr(text, message) : f.n != 0) fail_msg("'%s' is not in: %s", message ? message : "nothing", text);
  if (repair && rc == 0) assert_int_equal(f.repaired + f.notes, f.n);
  return rc;
}

/* Found, and mended so that nothing is left to say. */
static void expect_mended(struct rig *r, const char *message)
{
  assert_int_equal(verify(r, NULL, false, message), RP_E_CORRUPT);
  assert_int_equal(verify(r, NULL, true, message), 0);
  assert_int_equal(verify(r, NULL, false, NULL), 0);
}

static void learned(struct rig *r, char id[RP_ID_MAX + 1])
{
  static const rp_event ev[] = {
      {.kind = "pin", .body = "{\"label\":\"otter\",\"content\":\"holds hands\",\"importance\":\"critical\"}"},
      {.kind = "task", .body = "{\"task_id\":\"t1\",\"title\":\"feed\",\"stage\":\"build\"}"},
      {.kind = "learning",
       .body =
           "{\"memory_id\":\"m1\",\"content\":\"otters \\\"sleep\\\"\",\"confidence\":0.4,\"categories\":[\"zoo\"]}"},
      {.kind = "confidence", .body = "{\"memory_id\":\"m1\",\"old_score\":0.4,\"new_score\":0.9,\"reason\":\"seen\"}"},
  };
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_NONE);
  rig_say(s, "hello otters");
  for (size_t i = 0; i < RP_ARRAY_SIZE(ev); i++) OK(rp_append(s, &ev[i], NULL, NULL, &err), err);
  OK(rp_end(s, NULL, &err), err);
  snprintf(id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_free(s);
}

static void read_record(struct rig *r, const char *id, struct rp__buf *out)
{
  rp_error err = {0};
  struct rp__session_row row = row_of(r, id);
  rp__buf_reset(out);
  OK(rp__record_read(r->e, &row, out, &err), err);
  rp__session_row_done(&row);
}

/* ---- records ---- */

static void test_records(void **state)
{
  static const char *const damage[] = {
      "UPDATE session_states SET working_memory = '[]'",
      "UPDATE rp_records SET previous_id = 'nobody'",
      "UPDATE rp_recall SET topics = x'00000000', flags = flags & ~1",
  };
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  struct rp__buf before RP_AUTOBUF = RP_BUF(65536), after RP_AUTOBUF = RP_BUF(65536);
  learned(r, id);
  assert_int_equal(verify(r, NULL, false, NULL), 0);
  read_record(r, id, &before);
  assert_non_null(strstr(before.p, "holds hands"));
  for (size_t i = 0; i < RP_ARRAY_SIZE(damage); i++) {
    sql(r, damage[i]);
    assert_int_equal(verify(r, id, false, "is damaged"), RP_E_CORRUPT);
    expect_mended(r, "is damaged");
    read_record(r, id, &after);
    assert_string_equal(before.p, after.p);
  }
  /* By its id alone, too. */
  sql(r, damage[0]);
  assert_int_equal(verify(r, id, true, "is damaged"), 0);
  assert_int_equal(verify(r, NULL, false, NULL), 0);
  read_record(r, id, &after);
  assert_string_equal(before.p, after.p);
  /* Another program tidied its table up: no damage, and made again. */
  sql(r, "DELETE FROM session_states");
  assert_int_equal(verify(r, NULL, false, "has lost the record"), 0);
  assert_int_equal(verify(r, NULL, true, "made again from its journal"), 0);
  assert_int_equal(verify(r, NULL, false, NULL), 0);
  read_record(r, id, &after);
  assert_string_equal(before.p, after.p);
}

static int put_link(const char *path)
{
  return symlink("/dev/null", path);
}

static int put_pipe(const char *path)
{
  return mkfifo(path, 0600);
}

static int put_folder(const char *path)
{
  return mkdir(path, 0700);
}

/* The cold file of an archived one: altered, gone, and something in its place that is not ours to take away. */
static void test_cold_files(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  struct rp__buf before RP_AUTOBUF = RP_BUF(65536), after RP_AUTOBUF = RP_BUF(65536);
  learned(r, id);
  r->wall += 30 * DAY_MS;
  TOLD t = NOTHING;
  gc(r, (rp_gc_options){0}, &t, NULL);
  read_record(r, id, &before);
  OK(rp__file_write(cold_file(r, id, "gz"), "no gzip", 7, &err), err);
  expect_mended(r, "is damaged");
  read_record(r, id, &after);
  assert_string_equal(before.p, after.p);
  assert_int_equal(unlink(cold_file(r, id, "gz")), 0);
  expect_mended(r, "is gone");
  read_record(r, id, &after);
  assert_string_equal(before.p, after.p);

  struct {
    int (*put)(const char *path);
    const char *what;
  } const others[] = {
      {put_link, "is a symbolic link"}, {put_pipe, "not a regular file"}, {put_folder, "not a regular file"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(others); i++) {
    const char *path = cold_file(r, id, "gz");
    assert_int_equal(remove(path), 0);
    assert_int_equal(others[i].put(path), 0);
    assert_int_equal(verify(r, NULL, false, others[i].what), RP_E_CORRUPT);
    assert_int_equal(verify(r, NULL, true, others[i].what), RP_E_CORRUPT);
    assert_int_equal(remove(path), 0);
    expect_mended(r, "is gone");
  }
  read_record(r, id, &after);
  assert_string_equal(before.p, after.p);
}

/* ---- memories ---- */

static int note_memory(void *ctx, const rp_memory_info *m)
{
  rp__buf_printf(ctx, "%s %.1f %s %s;", m->id, m->confidence, m->content, m->categories ? m->categories : "-");
  return 0;
}

static void expect_memories(struct rig *r, const char *words, const char *want)
{
  rp_error err = {0};
  struct rp__buf text RP_AUTOBUF = RP_BUF(65536);
  OK(rp_memories(r->e, "a", words, 0, note_memory, &text, &err), err);
  assert_string_equal(text.p ? text.p : "", want);
}

static void test_memories(void **state)
{
  static const char sound[] = "m1 0.9 otters \"sleep\" [\"zoo\"];";
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  learned(r, id);
  expect_memories(r, "otters", sound);
  sql(r, "UPDATE rp_memories SET content = 'otters bite'");
  expect_memories(r, "otters", ""); /* never what nobody said */
  expect_memories(r, NULL, "");
  expect_mended(r, "memory m1 of scope a");
  expect_memories(r, "sleep", sound);
  sql(r, "UPDATE rp_memories SET confidence = 0.1");
  expect_mended(r, "memory m1 of scope a");
  expect_memories(r, NULL, sound);
  /* Without the journal that said it nothing can be made again, and the finding stays. */
  OK(rp_purge(r->e, id, true, &err), err);
  expect_memories(r, NULL, sound);
  sql(r, "UPDATE rp_memories SET content = 'otters bite'");
  assert_int_equal(verify(r, NULL, true, "memory m1 of scope a is damaged"), RP_E_CORRUPT);
  OK(rp_memory_forget(r->e, "a", "m1", &err), err);
  assert_int_equal(verify(r, NULL, false, NULL), 0);
}

/* ---- the audit log ---- */

/* Emptied, cut, or its head alone altered: neither verify says that all is well, and no repair makes it so. */
static void test_audit(void **state)
{
  static const char *const damage[] = {
      "DELETE FROM rp_audit",
      "DELETE FROM rp_audit; DELETE FROM rp_audit_heads",
      "DELETE FROM rp_audit WHERE n = (SELECT max(n) FROM rp_audit)",
      "DELETE FROM rp_audit WHERE n > 1; UPDATE rp_audit_heads SET n = 1, hash = (SELECT hash FROM rp_audit)",
      "DELETE FROM rp_audit_heads",
      "UPDATE rp_audit_heads SET hash = zeroblob(32)",
      "UPDATE rp_audit SET at = at + 1 WHERE n = 1",
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(damage); i++) {
    struct rig *r = *state;
    rp_error err = {0};
    char id[RP_ID_MAX + 1];
    learned(r, id);
    learned(r, id);
    OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
    OK(rp_audit_verify(r->e, "a", NULL, NULL, &err), err);
    sql(r, damage[i]);
    assert_int_equal(rp_audit_verify(r->e, NULL, NULL, NULL, &err), RP_E_AUDIT_BROKEN);
    assert_int_equal(rp_audit_verify(r->e, "a", NULL, NULL, &err), RP_E_AUDIT_BROKEN);
    assert_int_equal(verify(r, NULL, false, "audit"), RP_E_CORRUPT);
    assert_int_equal(verify(r, NULL, true, "audit"), RP_E_CORRUPT);
    assert_int_equal(verify(r, NULL, false, "audit"), RP_E_CORRUPT);
    rig_teardown(state);
    assert_int_equal(rig_setup(state), 0);
  }
}

/* ---- the trash, and full text ---- */

static void test_trash(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  learned(r, id);
  OK(rp_trash(r->e, id, NULL, &err), err);
  assert_int_equal(verify(r, NULL, false, NULL), 0);
  sql(r, "UPDATE rp_events SET body = replace(body, 'hello', 'hullo')");
  expect_mended(r, "its checksum does not fit");
}

static int count_hit(void *ctx, const rp_hit *hit)
{
  assert_non_null(strstr(hit->snippet, "["));
  ++*(int *)ctx;
  return 0;
}

/* B-08 */
static void test_full_text(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  int hits = 0;
  learned(r, id);
  OK(rp_search(r->e, "hello", NULL, 0, count_hit, &hits, &err), err);
  assert_int_equal(hits, 1);
  sql(r, "INSERT INTO rp_fts (rowid, text) SELECT id, 'walrus' FROM rp_events WHERE body LIKE '%hello%'");
  OK(rp_search(r->e, "walrus", NULL, 0, count_hit, &hits, &err), err);
  assert_int_equal(hits, 1); /* nobody said it */
  expect_mended(r, "full text is not that of the journal");
  OK(rp_search(r->e, "hello", NULL, 0, count_hit, &hits, &err), err);
  assert_int_equal(hits, 2);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {T(test_records), T(test_cold_files), T(test_memories),
                                     T(test_audit),   T(test_trash),      T(test_full_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
