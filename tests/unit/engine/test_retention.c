/* SPDX-License-Identifier: Apache-2.0 */
/* B-09, X-15, L-09, O-04: trash, holds, deletion, cold files, abandonment, the budget; on a clock that the test moves.
 */
#include "unit/engine/rig.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "engine/abandon.h"
#include "engine/archive.h"
#include "engine/capture.h"

#define MINUTE_MS 60000LL
#define DAY_MS (24 * 60 * MINUTE_MS)
#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define SECRET "the-lighthouse-keeper-is-called-Ada"

/* ---- helpers ---- */

/* A session with one message that has ended; its id in `id`. */
static void ended_session(struct rig *r, const char *scope, const char *text, char id[RP_ID_MAX + 1])
{
  rp_error err = {0};
  rp_session *s = rig_start(r, scope, NULL, RP_OWNER_NONE);
  rig_say(s, text);
  OK(rp_end(s, NULL, &err), err);
  snprintf(id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_free(s);
}

static struct rp__session_row row_of(struct rig *r, const char *id)
{
  struct rp__session_row row = {0};
  rp_error err = {0};
  OK(r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, &err), err);
  return row;
}

static bool exists(struct rig *r, const char *id)
{
  struct rp__session_row row = {0};
  int rc = r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, NULL);
  rp__session_row_done(&row);
  return rc == 0;
}

static int count_one(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int count(struct rig *r, bool trashed)
{
  rp_error err = {0};
  rp_filter f = {.trashed = trashed, .limit = 1000};
  int n = 0;
  OK(rp_list(r->e, &f, count_one, &n, &err), err);
  return n;
}

/* What a run of gc told, as lines "action id". */
struct told {
  struct rp__buf lines;
  char last_reason[200];
  int n, stop_after; /* stop_after 0: never */
};

static int tell(void *ctx, const rp_gc_item *item)
{
  struct told *t = ctx;
  rp__buf_printf(&t->lines, "%s %s\n", item->action, item->session_id);
  snprintf(t->last_reason, sizeof t->last_reason, "%s", item->reason);
  t->n++;
  assert_true(item->bytes > 0);
  assert_string_equal(item->scope, "a");
  return t->stop_after && t->n >= t->stop_after ? 4711 : 0;
}

static void told_done(struct told *t)
{
  rp__buf_done(&t->lines);
}
#define TOLD RP_CLEANUP(told_done) struct told
#define NOTHING ((struct told){.lines = RP_BUF(65536)})

static void gc(struct rig *r, rp_gc_options o, struct told *t, const char *summary)
{
  rp_error err = {0};
  char *doc;
  OK(rp_gc(r->e, &o, tell, t, NULL, NULL, &doc, &err), err);
  if (summary) assert_string_equal(doc, summary);
  rp_free(doc);
}

static void expect_lines(const struct told *t, const char *expected)
{
  assert_string_equal(t->lines.p ? t->lines.p : "", expected);
}

/* The dry run first, which must say the same and change nothing. */
static void gc_both(struct rig *r, rp_gc_options o, struct told *t)
{
  TOLD dry = NOTHING;
  int before = count(r, false), in_trash = count(r, true);
  o.dry_run = true;
  gc(r, o, &dry, NULL);
  assert_int_equal(count(r, false), before);
  assert_int_equal(count(r, true), in_trash);
  o.dry_run = false;
  gc(r, o, t, NULL);
  expect_lines(t, dry.lines.p ? dry.lines.p : "");
}

struct audit_search {
  const char *event;
  int n;
  char fields[1024];
};

static int on_audit(void *ctx, const rp_audit_info *a)
{
  struct audit_search *x = ctx;
  if (strcmp(a->event, x->event) != 0) return 0;
  x->n++;
  snprintf(x->fields, sizeof x->fields, "%s", a->fields);
  return 0;
}

static struct audit_search audited(struct rig *r, const char *event)
{
  rp_error err = {0};
  struct audit_search x = {.event = event};
  OK(rp_audit(r->e, NULL, 0, 0, on_audit, &x, &err), err);
  OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
  return x;
}

static char *cold_file(struct rig *r, const char *id, const char *ending)
{
  static char path[SCRATCH_PATH];
  char name[SCRATCH_PATH];
  snprintf(name, sizeof name, "archive/2027-01/%s.json.%s", id, ending);
  scratch_path(&r->scratch, name, path);
  return path;
}

static bool is_file(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- trash, hold, purge ---- */

static void test_trash_and_back(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], other[RP_ID_MAX + 1], prefix[20];
  ended_session(r, "a", "one", id);
  r->wall += MINUTE_MS;
  ended_session(r, "a", "two", other);
  OK(rp_trash(r->e, id, "a test", &err), err);
  assert_int_equal(count(r, false), 1);
  assert_int_equal(count(r, true), 1);
  OK(rp_trash(r->e, id, "twice", &err), err); /* is there already */
  assert_int_equal(audited(r, "trash").n, 1);
  assert_non_null(strstr(audited(r, "trash").fields, "a test"));

  assert_int_equal(rp_untrash(r->e, other, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_untrash(r->e, "nobody", &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_untrash(r->e, NULL, &err), RP_E_USAGE);
  snprintf(prefix, sizeof prefix, "%.13s", id);
  OK(rp_untrash(r->e, prefix, &err), err);
  assert_int_equal(count(r, false), 2);
  assert_int_equal(count(r, true), 0);
  assert_int_equal(audited(r, "untrash").n, 1);
}

static void test_hold(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  ended_session(r, "a", "one", id);
  OK(rp_hold(r->e, id, true, &err), err);
  OK(rp_hold(r->e, id, true, &err), err); /* changes nothing */
  assert_int_equal(audited(r, "hold").n, 1);
  assert_int_equal(rp_trash(r->e, id, NULL, &err), RP_E_ON_HOLD);
  assert_int_equal(rp_error_lookup(err.code)->exit_code, 8);
  assert_int_equal(rp_purge(r->e, id, true, &err), RP_E_ON_HOLD);

  /* Neither age nor budget takes it, and it is told once. */
  TOLD t = NOTHING;
  char expected[200];
  r->wall += 400 * DAY_MS;
  gc_both(r, (rp_gc_options){.older_than_ms = DAY_MS, .budget_bytes = 1}, &t);
  snprintf(expected, sizeof expected, "keep %s\n", id);
  expect_lines(&t, expected);
  assert_string_equal(t.last_reason, "on hold");
  assert_true(exists(r, id));

  OK(rp_hold(r->e, id, false, &err), err);
  OK(rp_trash(r->e, id, NULL, &err), err);
  OK(rp_hold(r->e, id, true, &err), err); /* in the trash too */
  assert_int_equal(rp_purge(r->e, id, false, &err), RP_E_ON_HOLD);
}

/* Nobody's session disappears under him. */
static void test_in_use(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, "hello");
  assert_int_equal(rp_trash(r->e, "k", NULL, &err), RP_E_HELD);
  assert_int_equal(rp_purge(r->e, "k", true, &err), RP_E_HELD);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rp_session_free(s); /* as a crash: the run has no living owner now */
  OK(rp_trash(r->e, "k", NULL, &err), err);
  assert_int_equal(count(r, true), 1);

  /* The key is free again; the one in the trash still answers to its id. */
  s = rig_start(r, "a", "k", RP_OWNER_NONE);
  assert_string_not_equal(rp_session_id(s), id);
  rp_session_free(s);
  assert_true(exists(r, id));
}

static void test_purge(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], other[RP_ID_MAX + 1];
  ended_session(r, "a", "one", id);
  ended_session(r, "a", "two", other);
  assert_int_equal(rp_purge(r->e, id, false, &err), RP_E_REFUSED); /* not in the trash */
  OK(rp_purge(r->e, id, true, &err), err);
  assert_false(exists(r, id));
  assert_int_equal(rp_purge(r->e, id, true, &err), RP_E_SESSION_NOT_FOUND);
  OK(rp_trash(r->e, other, NULL, &err), err);
  OK(rp_purge(r->e, other, false, &err), err);
  assert_false(exists(r, other));
  struct audit_search x = audited(r, "deletion"); /* B-09: one record each, kept when the session is gone */
  assert_int_equal(x.n, 2);
  assert_non_null(strstr(x.fields, other));
  assert_string_equal(rig_get(x.fields, "scope"), "\"a\"");
  assert_string_not_equal(rig_get(x.fields, "events"), "0");
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

/* ---- gc ---- */

static void test_ages(void **state)
{
  struct rig *r = *state;
  char id[3][RP_ID_MAX + 1], expected[400];
  for (int i = 0; i < 3; i++) {
    ended_session(r, "a", "hello", id[i]);
    r->wall += 10 * DAY_MS;
  }
  TOLD nothing = NOTHING; /* retain_days is 0: nothing is ever too old by itself */
  gc_both(r, (rp_gc_options){0}, &nothing);
  assert_int_equal(nothing.n, 1); /* but a record of 30 days ago is archived, X-15 */

  TOLD t = NOTHING; /* ended 30, 20 and 10 days ago */
  gc_both(r, (rp_gc_options){.older_than_ms = 15 * DAY_MS}, &t);
  snprintf(expected, sizeof expected, "trash %s\ntrash %s\n", id[0], id[1]);
  expect_lines(&t, expected);
  assert_string_equal(t.last_reason, "ended 20 days ago");

  TOLD within = NOTHING; /* the grace period */
  r->wall += 6 * DAY_MS;
  gc_both(r, (rp_gc_options){0}, &within);
  assert_int_equal(within.n, 0);
  TOLD over = NOTHING;
  r->wall += DAY_MS;
  gc_both(r, (rp_gc_options){0}, &over);
  snprintf(expected, sizeof expected, "delete %s\ndelete %s\n", id[0], id[1]);
  expect_lines(&over, expected);
  assert_string_equal(over.last_reason, "in the trash for 7 days");
  assert_int_equal(audited(r, "deletion").n, 2);
  assert_int_equal(count(r, false), 1);
  assert_int_equal(count(r, true), 0);
}

/* The configured days, per scope; no grace period at all. */
static void test_configured(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1], expected[300];
  ended_session(r, "a", "hello", id);
  setenv("REPRISE_RETAIN_DAYS", "3", 1);
  setenv("REPRISE_TRASH_DAYS", "0", 1);
  rig_reopen(r);
  r->wall += 3 * DAY_MS - 1;
  TOLD early = NOTHING;
  gc_both(r, (rp_gc_options){0}, &early);
  assert_int_equal(early.n, 0);
  r->wall += 1;
  TOLD t = NOTHING;
  gc_both(r, (rp_gc_options){0}, &t);
  snprintf(expected, sizeof expected, "trash %s\ndelete %s\n", id, id);
  expect_lines(&t, expected);
  assert_false(exists(r, id));
  unsetenv("REPRISE_RETAIN_DAYS");
  unsetenv("REPRISE_TRASH_DAYS");
}

static void test_scope_only(void **state)
{
  struct rig *r = *state;
  char mine[RP_ID_MAX + 1], other[RP_ID_MAX + 1];
  ended_session(r, "a", "mine", mine);
  ended_session(r, "b", "other", other);
  r->wall += 40 * DAY_MS;
  TOLD t = NOTHING;
  gc_both(r, (rp_gc_options){.scope = "a", .older_than_ms = DAY_MS, .budget_bytes = 1},
          &t); /* tell() asserts scope a */
  assert_false(exists(r, mine));
  assert_true(exists(r, other));
}

static int cancel_third(void *ctx, int64_t done, int64_t total)
{
  assert_int_equal(total, 5);
  *(int64_t *)ctx = done;
  return done == 3;
}

/* Interrupted between two sessions: what was done is done, the rest is as it was, the next run finishes. */
static void test_interrupted(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  int64_t done = 0;
  for (int i = 0; i < 5; i++) {
    char id[RP_ID_MAX + 1];
    ended_session(r, "a", "hello", id);
    r->wall += MINUTE_MS;
  }
  r->wall += 2 * DAY_MS;
  rp_gc_options o = {.older_than_ms = DAY_MS};
  assert_int_equal(rp_gc(r->e, &o, NULL, NULL, cancel_third, &done, NULL, &err), RP_E_CANCELLED);
  assert_int_equal(count(r, true), 3);
  assert_int_equal(count(r, false), 2);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);

  TOLD one = NOTHING; /* a listener's word comes back as he said it */
  one.stop_after = 1;
  assert_int_equal(rp_gc(r->e, &o, tell, &one, NULL, NULL, NULL, &err), 4711);
  assert_int_equal(count(r, true), 3);
  TOLD rest = NOTHING;
  gc(r, o, &rest,
     "{\"abandoned\":0,\"archived\":0,\"trashed\":2,\"deleted\":0,\"kept\":0,\"bytes\":0,\"dry_run\":false}");
  assert_int_equal(count(r, false), 0);
}

/* ---- the budget ---- */

static int64_t file_bytes(struct rig *r, const char *name)
{
  struct stat st;
  char path[SCRATCH_PATH];
  return stat(scratch_path(&r->scratch, name, path), &st) ? 0 : (int64_t)st.st_size;
}

static void test_budget(void **state)
{
  enum { N = 8 };
  struct rig *r = *state;
  rp_error err = {0};
  char id[N][RP_ID_MAX + 1];
  char *text = malloc(60001);
  assert_non_null(text);
  for (int i = 0; i < N; i++) {
    rp_session *s = rig_start(r, "a", NULL, RP_OWNER_NONE);
    for (int k = 0; k < 5; k++) {
      for (int c = 0; c < 60000; c++) text[c] = (char)('a' + (c * 7 + c / 13 + i + k) % 26);
      text[60000] = 0;
      rig_say(s, text);
    }
    OK(rp_end(s, NULL, &err), err);
    snprintf(id[i], sizeof id[i], "%s", rp_session_id(s));
    rp_session_free(s);
    r->wall += DAY_MS;
  }
  free(text);
  OK(rp_hold(r->e, id[0], true, &err), err);
  const int64_t budget = 1500000; /* of more than 2,400,000 bytes of messages */
  TOLD t = NOTHING;
  gc_both(r, (rp_gc_options){.budget_bytes = budget}, &t);
  assert_in_range(file_bytes(r, "t.db") + file_bytes(r, "t.db-wal"), 600000, budget); /* the files are smaller now */
  assert_true(exists(r, id[0]));                                                      /* held, though the oldest */
  assert_false(exists(r, id[1]));                                                     /* then the oldest first … */
  assert_true(exists(r, id[N - 1]));                                                  /* … and no more than needed */
  assert_true(count(r, false) >= 3);
  TOLD again = NOTHING;
  gc_both(r, (rp_gc_options){.budget_bytes = budget}, &again);
  assert_int_equal(again.n, 0);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);

  setenv("REPRISE_DISK_BUDGET", "plenty", 1);
  rig_reopen(r);
  assert_int_equal(rp_gc(r->e, NULL, NULL, NULL, NULL, NULL, NULL, &err), RP_E_CONFIG);
  unsetenv("REPRISE_DISK_BUDGET");
}

/* ---- cold files ---- */

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

/* ---- abandonment, L-09 ---- */

static void channel_session(struct rig *r, const char *channel, const char *key, char id[RP_ID_MAX + 1])
{
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "a", .key = key, .channel = channel, .owner = RP_OWNER_NONE};
  OK(rp_start(r->e, &o, &s, &err), err);
  rig_say(s, "hello");
  snprintf(id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_detach(s);
}

static void expect_status(struct rig *r, const char *id, enum rp__status status)
{
  struct rp__session_row row = row_of(r, id);
  assert_string_equal(rp__status_name(row.status), rp__status_name(status));
  rp__session_row_done(&row);
}

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

/* ---- failures ---- */

/* An engine whose store fails the nth call; the file is the rig's, whose own engine looks on. */
static rp_engine *failing_engine(struct rig *r, struct rp__fault *plan)
{
  rp_error err = {0};
  char path[SCRATCH_PATH];
  struct rp__store *inner, *store;
  rp_engine *e;
  rp_options o = {.clock = &r->e->clock, .short_lived = true};
  struct rp__store_options so = {
      .path = scratch_path(&r->scratch, "t.db", path), .keep_wal = true, .clock = &r->e->clock};
  OK(rp__store_sqlite_open(&so, &inner, &err), err);
  assert_int_equal(rp__store_fault_wrap(inner, plan, &store), 0);
  OK(rp__engine_open_with(&o, store, &e, &err), err);
  return e;
}

/* Whatever call fails, before or after it was done: the next run finishes the work, and each deletion is told once. */
static void test_every_failure(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char web[RP_ID_MAX + 1];
  for (int i = 0; i < 3; i++) {
    char id[RP_ID_MAX + 1];
    ended_session(r, "a", "hello", id);
    if (i == 0) OK(rp_trash(r->e, id, NULL, &err), err);
  }
  channel_session(r, "web", "w", web);
  r->wall += 8 * DAY_MS;
  rp_gc_options o = {.older_than_ms = 8 * DAY_MS, .budget_bytes = 1 << 30};
  int failed = 0;
  for (int64_t n = 1; n < 400; n++) {
    struct rp__fault plan = {.nth = n / 2 + 1, .code = RP_E_IO, .after = n % 2};
    rp_engine *e = failing_engine(r, &plan);
    int rc = rp_gc(e, &o, NULL, NULL, NULL, NULL, NULL, &err);
    rp_close(e);
    failed += rc != 0;
    if (plan.calls < plan.nth) break;
  }
  assert_true(failed > 10);
  expect_status(r, web, RP_STATUS_ABANDONED); /* as of eight days ago, so a later run took it to the trash */
  assert_int_equal(count(r, false), 0);
  assert_int_equal(count(r, true), 3);
  assert_int_equal(audited(r, "deletion").n, 1);
  assert_int_equal(audited(r, "trash").n, 4);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(test_trash_and_back),
      TEST(test_hold),
      TEST(test_in_use),
      TEST(test_purge),
      TEST(test_ages),
      TEST(test_configured),
      TEST(test_scope_only),
      TEST(test_interrupted),
      TEST(test_budget),
      TEST(test_archive),
      TEST(test_archive_damaged),
      TEST(test_archive_deleted),
      TEST(test_archive_sealed),
      TEST(test_abandoned),
      TEST(test_not_abandoned_by_the_living),
      TEST(test_abandon_policy),
      TEST(test_abandoned_at_start),
      TEST(test_every_failure),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
