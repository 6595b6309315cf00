/* SPDX-License-Identifier: Apache-2.0 */
/* Export files that were cut or changed, names and bodies that mean harm: refused, and nothing of them is stored. */
#include "hostile.h"

#define DOC_MAX (1024 * 1024)

/* ---- exports ---- */

struct doc {
  char *bytes;
  size_t n, at, end;
};

static int doc_write(void *ctx, const void *bytes, size_t n)
{
  struct doc *d = ctx;
  if (n > DOC_MAX - d->n) return 1;
  memcpy(d->bytes + d->n, bytes, n);
  d->n += n;
  return 0;
}

static long doc_read(void *ctx, void *bytes, size_t n)
{
  struct doc *d = ctx;
  if (n > d->end - d->at) n = d->end - d->at;
  memcpy(bytes, d->bytes + d->at, n);
  d->at += n;
  return (long)n;
}

static void export_first(const struct room *room, struct doc *d)
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  *d = (struct doc){.bytes = malloc(DOC_MAX)};
  assert_non_null(d->bytes);
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "first", &s, &err), err);
  OK(rp_export(s, doc_write, d, NULL, NULL, &err), err);
  rp_session_free(s);
  rp_close(e);
}

static int count_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static int import_doc(rp_engine *e, struct doc *d, size_t end, char *ret_id, rp_error *err)
{
  d->at = 0;
  d->end = end;
  return rp_import(e, doc_read, d, NULL, NULL, ret_id, err);
}

static void expect_refused(rp_engine *e, struct doc *d, size_t end, const char *how, size_t where)
{
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  int sessions = 0;
  int rc = import_doc(e, d, end, id, &err);
  if (rc == 0) fail_msg("%s at %zu of %zu was accepted", how, where, d->n);
  if (!rig_typed(rc) || err.code != rc || !err.message[0]) fail_msg("%s at %zu: code %d", how, where, rc);
  OK(rp_list(e, NULL, count_session, &sessions, &err), err);
  if (sessions) fail_msg("%s at %zu was refused and left something behind", how, where);
}

static void test_export_damaged(void **state)
{
  struct doc d;
  rp_engine *e;
  rp_error err;
  char id[RP_ID_MAX + 1];
  rp_options o = {.db = "memory:", .short_lived = true};
  export_first(*state, &d);
  OK(rp_open(&o, &e, &err), err);
  for (size_t n = 0; n < d.n - 1; n += 1 + d.n / 300) expect_refused(e, &d, n, "cut", n);
  for (size_t i = 0; i < d.n; i += 1 + d.n / 1500) {
    char was = d.bytes[i];
    d.bytes[i] = (char)(was ^ (1 << i % 7));
    expect_refused(e, &d, d.n, "flip", i);
    d.bytes[i] = was;
  }
  OK(import_doc(e, &d, d.n, id, &err), err);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  free(d.bytes);
}

/* Refused after many pages, in a file this time: nothing is left in the tables either. */
static void test_export_damaged_late(void **state)
{
  struct room *room = *state;
  struct doc d;
  rp_engine *e;
  rp_error err;
  char id[RP_ID_MAX + 1], url[RIG_URL], path[SCRATCH_PATH];
  export_first(room, &d);
  rig_url(scratch_path(&room->dir, "into.db", path), url);
  OK(rig_open(url, false, &e, &err), err);
  expect_refused(e, &d, d.n * 2 / 3, "cut", d.n * 2 / 3);
  rp_close(e);
  OK(rig_verify_file(url, &err), err);
  OK(rig_open(url, false, &e, &err), err);
  OK(import_doc(e, &d, d.n, id, &err), err);
  rp_close(e);
  OK(rig_verify_file(room->url, &err), err);
  free(d.bytes);
}

/* ---- names and bodies ---- */

static const char *const bad_names[] = {
    "../../etc/passwd",       "..",       "a/b",       "/etc/passwd", "a b",  "-a", ".a", "a\nb", "a'b",
    "a;DROP TABLE rp_events", "\xc3\xa4", "a..b/../c", "%00",         "a\\b", "",   NULL};

static int start_named(rp_engine *e, int which, const char *name, rp_error *err)
{
  rp_session *s;
  rp_start_options o = {.scope = "test", .key = "k", .owner = RP_OWNER_SELF};
  if (which == 0) o.scope = name;
  if (which == 1) o.key = name;
  if (which == 2) o.id = name;
  if (which == 3) o.channel = name;
  int rc = rp_start(e, &o, &s, err);
  if (rc == 0) rp_session_free(s);
  return rc;
}

static void expect_name_refused(rp_engine *e, int which, const char *name)
{
  rp_error err = {0};
  int rc = start_named(e, which, name, &err);
  /* An empty key, id or channel may count as none. */
  if (name[0] == '\0' && which != 0 && rc == 0) return;
  if (rc != RP_E_USAGE && rc != RP_E_INVALID) fail_msg("name %d \"%s\": %d", which, name, rc);
  assert_true(err.message[0]);
}

static void test_names(void **state)
{
  struct room *room = *state;
  char url[RIG_URL], path[SCRATCH_PATH], longest[RP_ID_MAX + 2];
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rig_url(scratch_path(&room->dir, "names.db", path), url);
  OK(rig_open(url, false, &e, &err), err);
  memset(longest, 'a', sizeof(longest) - 1);
  longest[RP_ID_MAX + 1] = '\0';
  for (int which = 0; which < 4; which++) {
    for (int i = 0; bad_names[i]; i++) expect_name_refused(e, which, bad_names[i]);
    longest[RP_ID_MAX] = 'a';
    expect_name_refused(e, which, longest);
    longest[RP_ID_MAX] = '\0';
    OK(start_named(e, which, longest, &err), err);
  }
  for (int i = 0; bad_names[i]; i++) {
    int rc = rp_attach(e, bad_names[i], &s, &err);
    if (rc != RP_E_USAGE && rc != RP_E_SESSION_NOT_FOUND) fail_msg("attach \"%s\": %d", bad_names[i], rc);
  }
  OK(rig_verify(e, &err), err);
  rp_close(e);
}

static char *nested(int depth)
{
  char *body = malloc((size_t)depth * 6 + 16), *p = body;
  assert_non_null(body);
  for (int i = 0; i < depth - 1; i++) p += snprintf(p, 8, "{\"a\":");
  p += snprintf(p, 8, "{}");
  for (int i = 0; i < depth - 1; i++) *p++ = '}';
  *p = '\0';
  return body;
}

static char *sized(size_t n)
{
  char *body = malloc(n + 1);
  assert_non_null(body);
  memset(body, 'x', n);
  memcpy(body, "{\"a\":\"", 6);
  memcpy(body + n - 2, "\"}", 3);
  return body;
}

static void expect_body(rp_session *s, const char *kind, const char *body, int want)
{
  rp_error err = {0};
  rp_ack ack;
  rp_event ev = {.kind = kind, .body = body};
  int rc = rp_append(s, &ev, NULL, &ack, &err);
  if (rc != want) fail_msg("kind %.20s, body %.40s: %d instead of %d (%s)", kind, body, rc, want, err.message);
}

static int64_t last_seq(rp_session *s)
{
  int64_t mark, seq;
  rp_error err;
  OK(rp_sync(s, "nobody", &mark, &seq, &err), err);
  return seq;
}

static void test_bodies(void **state)
{
  struct room *room = *state;
  char *deep = nested(RP_DEPTH_MAX + 1), *deepest = nested(RP_DEPTH_MAX);
  char *big = sized(RP_BODY_MAX + 1), *biggest = sized(RP_BODY_MAX);
  char kind[RP_ID_MAX + 8];
  rp_engine *e;
  rp_session *s;
  rp_error err;
  memset(kind, 'x', sizeof(kind) - 1);
  kind[1] = '-';
  kind[sizeof(kind) - 1] = '\0';
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "second", &s, &err), err);
  int64_t before = last_seq(s);
  expect_body(s, "x-a", deep, RP_E_INVALID);
  expect_body(s, "x-a", big, RP_E_TOO_LARGE);
  expect_body(s, "x-a", "{\"a\":1,\"a\":2}", RP_E_JSON);
  expect_body(s, "x-a", "{\"a\":NaN}", RP_E_JSON);
  expect_body(s, "x-a", "{\"a\":\"\xff\"}", RP_E_JSON);
  expect_body(s, "x-a", "{\"a\":1} x", RP_E_JSON);
  expect_body(s, "x-a", "[1]", RP_E_INVALID);
  expect_body(s, "nonsense", "{}", RP_E_INVALID);
  expect_body(s, "status", "{}", RP_E_INVALID);
  expect_body(s, kind, "{}", RP_E_INVALID);
  expect_body(s, "message", "{\"role\":\"nobody\",\"content\":\"\"}", RP_E_INVALID);
  assert_int_equal(last_seq(s), before);
  expect_body(s, "x-a", deepest, 0);
  expect_body(s, "x-a", biggest, 0);
  assert_int_equal(last_seq(s), before + 2);
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  free(deep);
  free(deepest);
  free(big);
  free(biggest);
}

/* One bad event and nothing of the batch is stored; too many are refused. */
static void test_batches(void **state)
{
  struct room *room = *state;
  rp_event ev[3] = {{.kind = "x-a", .body = "{}"}, {.kind = "x-a", .body = "{"}, {.kind = "x-a", .body = "{}"}};
  rp_event *many = calloc(RP_BATCH_MAX + 1, sizeof(*many));
  rp_engine *e;
  rp_session *s;
  rp_error err;
  rp_ack ack;
  assert_non_null(many);
  for (int i = 0; i <= RP_BATCH_MAX; i++) many[i] = ev[0];
  OK(rig_open(room->url, false, &e, &err), err);
  OK(rp_attach(e, "second", &s, &err), err);
  int64_t before = last_seq(s);
  assert_int_equal(rp_append_many(s, ev, 3, NULL, &ack, &err), RP_E_JSON);
  int rc = rp_append_many(s, many, RP_BATCH_MAX + 1, NULL, &ack, &err);
  assert_true(rc == RP_E_LIMIT || rc == RP_E_TOO_LARGE || rc == RP_E_USAGE);
  assert_int_equal(last_seq(s), before);
  OK(rp_append_many(s, many, RP_BATCH_MAX, NULL, &ack, &err), err);
  assert_int_equal(ack.first_seq, before + 1);
  assert_int_equal(ack.seq, before + RP_BATCH_MAX);
  rp_session_free(s);
  rp_close(e);
  free(many);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      WITH(test_export_damaged), WITH(test_export_damaged_late), WITH(test_names), WITH(test_bodies),
      WITH(test_batches),
  };
  setvbuf(stdout, NULL, _IOLBF, 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
