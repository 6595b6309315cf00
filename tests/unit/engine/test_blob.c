/* SPDX-License-Identifier: Apache-2.0 */
/* O-05, B-06, X-14: what is too large for an event, and everything it follows. */
#include <unistd.h>

#include "core/container.h"
#include "unit/engine/life.h"

/* Put together here so that this file itself holds none. */
#define SECRET                                                                                                         \
  "ghp_"                                                                                                               \
  "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
#define KEY "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define GONE "blob-0123456789abcdef0123456789abcdef"

struct blob {
  char id[RP_BLOB_ID_MAX + 1];
};

static struct blob blob_put(rp_session *s, const void *bytes, size_t n)
{
  rp_error err = {0};
  struct blob b;
  OK(rp_blob_put(s, bytes, n, b.id, &err), err);
  assert_true(strlen(b.id) > 0 && strlen(b.id) <= RP_BLOB_ID_MAX);
  return b;
}

static struct blob blob_say(rp_session *s, const char *text)
{
  return blob_put(s, text, strlen(text));
}

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return ((struct rp__buf *)ctx)->err;
}

static void assert_bytes(rp_session *s, const char *id, const void *bytes, size_t n)
{
  rp_error err = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_BLOB_MAX);
  OK(rp_blob_get(s, id, to_buf, &out, &err), err);
  if (out.n != n || (n && memcmp(out.p, bytes, n) != 0))
    fail_msg("blob %s is %zu bytes, not %zu: %.300s", id, out.n, n, out.p ? out.p : "");
}

static void assert_text(rp_session *s, const char *id, const char *text)
{
  assert_bytes(s, id, text, strlen(text));
}

static int blob_fails(rp_session *s, const char *id)
{
  rp_error err = {0};
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_BLOB_MAX);
  int rc = rp_blob_get(s, id, to_buf, &out, &err);
  if (rc) assert_int_equal(rc, err.code);
  return rc;
}

/* An event that names it. */
static void name_it(rp_session *s, const char *id)
{
  char body[256];
  snprintf(body, sizeof body, "{\"what\":1,\"acp_blob\":\"%s\"}", id);
  put(s, "x-acp-answer", body);
}

static rp_session *session_of(struct rig *r, const char *id)
{
  rp_error err = {0};
  rp_session *s;
  OK(rp_attach(r->e, id, &s, &err), err);
  return s;
}

/* Text that does not compress to nothing: words of a small generator. */
static char *long_text(size_t n)
{
  char *text = malloc(n + 1);
  assert_non_null(text);
  uint64_t x = 88172645463325252u;
  for (size_t i = 0; i < n; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    text[i] = "abcdefghij klmno\npqr"[x % 20];
  }
  text[n] = '\0';
  return text;
}

static void test_round_trip(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  char *text RP_AUTOFREE = long_text(5000001);
  static const unsigned char binary[] = {0, 255, 1, '{', 0x80, '"', 0};
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  id_of(s, id);
  struct blob large = blob_put(s, text, 5000001), bin = blob_put(s, binary, sizeof binary), none = blob_put(s, NULL, 0);
  struct blob again = blob_put(s, text, 5000001);
  assert_string_equal(large.id, again.id);
  assert_string_not_equal(large.id, bin.id);
  assert_string_not_equal(bin.id, none.id);
  rp_session_free(s);
  rig_reopen(r);
  s = session_of(r, id);
  assert_bytes(s, large.id, text, 5000001);
  assert_bytes(s, bin.id, binary, sizeof binary);
  assert_bytes(s, none.id, "", 0);
  assert_true(sql_number(r, "SELECT max(size) FROM rp_blobs") < 4000000); /* compressed */
  /* A guest puts one as well, and finds the holder's. */
  struct blob guest = blob_put(s, text, 5000001);
  assert_string_equal(guest.id, large.id);
  rp_session *other = rig_start(r, "coder", "other", RP_OWNER_SELF);
  assert_int_equal(blob_fails(other, large.id), RP_E_BLOB_NOT_FOUND);
  struct blob theirs = blob_put(other, text, 5000001);
  assert_string_not_equal(theirs.id, large.id);
  rp_session_free(other);
  rp_session_free(s);
}

static int stop(void *ctx, const void *bytes, size_t n)
{
  (void)bytes, (void)n;
  return ++*(int *)ctx == 2 ? 55 : 0;
}

static void test_bad_input(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct blob b = {"untouched"};
  int calls = 0;
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  char *text RP_AUTOFREE = long_text(1000000), *huge RP_AUTOFREE = calloc(1, RP_BLOB_MAX + 1);
  assert_non_null(huge);
  assert_int_equal(rp_blob_put(s, huge, RP_BLOB_MAX + 1, b.id, &err), RP_E_TOO_LARGE);
  assert_non_null(strstr(err.message, "67108864"));
  assert_string_equal(err.field, "bytes");
  assert_int_equal(rp_blob_put(s, NULL, 1, b.id, &err), RP_E_USAGE);
  assert_int_equal(rp_blob_put(s, "x", 1, NULL, &err), RP_E_USAGE);
  assert_int_equal(rp_blob_put(NULL, "x", 1, b.id, &err), RP_E_USAGE);
  assert_string_equal(b.id, "untouched");
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_blobs"), 0);
  memset(huge, 'x', RP_BLOB_MAX);
  b = blob_put(s, huge, RP_BLOB_MAX);
  assert_bytes(s, b.id, huge, RP_BLOB_MAX);
  assert_int_equal(blob_fails(s, GONE), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(blob_fails(s, ""), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(blob_fails(s, text), RP_E_BLOB_NOT_FOUND);
  assert_int_equal(rp_blob_get(s, NULL, to_buf, NULL, &err), RP_E_USAGE);
  b = blob_put(s, text, 1000000);
  assert_int_equal(rp_blob_get(s, b.id, stop, &calls, &err), 55);
  assert_int_equal(calls, 2);
  rp_session_free(s);
}

/* Whoever can't append can't put one either, and nothing is stored. */
static void test_who_may(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct blob b;
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_NONE), *newer;
  id_of(s, id);
  struct blob first = blob_say(s, "walnut");
  rp_start_options o = {.scope = "coder", .key = "k", .owner = RP_OWNER_SELF, .force = true};
  OK(rp_start(r->e, &o, &newer, &err), err);
  assert_int_equal(rp_blob_put(s, "x", 1, b.id, &err), RP_E_FENCED);
  assert_text(s, first.id, "walnut");
  rp_session_free(s);
  OK(rp_end(newer, NULL, &err), err);
  assert_int_equal(rp_blob_put(newer, "x", 1, b.id, &err), RP_E_ENDED);
  assert_text(newer, first.id, "walnut");
  rp_session_free(newer);

  OK(rp_trash(r->e, id, NULL, &err), err);
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_blobs"), 1);
  s = session_of(r, id);
  assert_int_equal(rp_blob_put(s, "x", 1, b.id, &err), RP_E_ENDED);
  assert_text(s, first.id, "walnut");
  rp_session_free(s);
  OK(rp_purge(r->e, id, false, &err), err);
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_blobs"), 0);
}

/* the strings of what is JSON, decoded; anything else as one text. White space around it stays. */
static void test_masked(void **state)
{
  static const char *const texts[][2] = {
      {" {\"a\":\"key " SECRET "\",\"b\":[\"\\u0070assword=hunter2\"]}\n",
       " {\"a\":\"key [REDACTED]\",\"b\":[\"\\u0070assword=[REDACTED]\"]}\n"},
      {"{\"env\":[{\"name\":\"API_KEY\",\"value\":\"swordfish\"},{\"name\":\"EDITOR\",\"value\":\"vi\"}]}",
       "{\"env\":[{\"name\":\"API_KEY\",\"value\":\"[REDACTED]\"},{\"name\":\"EDITOR\",\"value\":\"vi\"}]}"},
      {"[\"" SECRET "\"]", "[\"[REDACTED]\"]"},
      {"\"" SECRET "\"", "\"[REDACTED]\""},
      {"# notes\nexport GITHUB_TOKEN=" SECRET "\n{\"open\":", "# notes\nexport GITHUB_TOKEN=[REDACTED]\n{\"open\":"},
      {"{\"a\":1,\"a\":\"" SECRET "\"}", "{\"a\":1,\"a\":\"[REDACTED]\"}"},
  };
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    struct blob b = blob_say(s, texts[i][0]);
    assert_text(s, b.id, texts[i][1]);
    struct blob masked = blob_say(s, texts[i][1]); /* the same once it is masked */
    assert_string_equal(masked.id, b.id);
  }
  assert_null(held_by(r->scratch.dir, SECRET));
  assert_null(held_by(r->scratch.dir, "swordfish"));
  rp_session_free(s);
  reopen_with(r, "REPRISE_REDACT", "false");
  s = rig_start(r, "coder", "other", RP_OWNER_SELF);
  struct blob b = blob_say(s, "as it came: " SECRET);
  assert_text(s, b.id, "as it came: " SECRET);
  rp_session_free(s);
}

/* Not a word of it on the disk, nor a hash that whoever lacks the key could try words on. */
static void test_sealed(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "open", "k", RP_OWNER_SELF);
  blob_say(s, "the Quagmireopen");
  assert_non_null(held_by(r->scratch.dir, "Quagmireopen")); /* short text is stored as it is: this test can fail */
  rp_session_free(s);
  setenv("REPRISE_KEY", KEY, 1);
  rig_reopen(r);
  s = rig_start(r, "vault", "k", RP_OWNER_SELF);
  id_of(s, id);
  struct blob b = blob_say(s, "the Quagmiresealed"), other = blob_say(s, "something else");
  assert_text(s, b.id, "the Quagmiresealed");
  assert_null(held_by(r->scratch.dir, "Quagmiresealed"));
  assert_string_equal(blob_say(s, "the Quagmiresealed").id, b.id);

  /* Of another session's, another key's or another blob's bytes nothing opens. */
  char *hash RP_AUTOFREE = sql_text(r, "SELECT hex(hash) FROM rp_blobs WHERE sealed ORDER BY ref LIMIT 1");
  rp_session *next = rig_start(r, "vault", "next", RP_OWNER_SELF);
  blob_say(next, "the Quagmiresealed");
  char *theirs RP_AUTOFREE = sql_text(r, "SELECT hex(hash) FROM rp_blobs ORDER BY ref DESC LIMIT 1");
  assert_string_not_equal(hash, theirs);
  rp_session_free(next);
  char sql[300];
  snprintf(sql, sizeof sql, "UPDATE rp_blobs SET data = (SELECT data FROM rp_blobs WHERE id = '%s') WHERE id = '%s'",
           b.id, other.id);
  sql_run(r, sql);
  assert_int_equal(blob_fails(s, other.id), RP_E_CORRUPT);
  assert_text(s, b.id, "the Quagmiresealed");
  rp_session_free(s);
  unsetenv("REPRISE_KEY");
  rig_reopen(r);
  assert_int_equal(rp_attach(r->e, id, &s, &err), RP_E_KEY_MISSING);
}

/* ---- verify ---- */

struct findings {
  char text[2000];
  int repaired, notes, n;
};

static int on_finding(void *ctx, const rp_finding *f)
{
  struct findings *x = ctx;
  size_t at = strlen(x->text);
  snprintf(x->text + at, sizeof x->text - at, "%s\n", f->what);
  x->n++;
  x->repaired += f->repaired;
  x->notes += f->note;
  return 0;
}

static struct findings verify(struct rig *r, bool repair, int want)
{
  struct findings x = {0};
  rp_error err = {0};
  assert_int_equal(rp_verify(r->e, NULL, repair, on_finding, &x, NULL, NULL, &err), want);
  return x;
}

static void test_damage(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char line[200];
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  struct blob kept = blob_say(s, "kept"), hurt = blob_say(s, "hurt hurt hurt");
  name_it(s, kept.id);
  name_it(s, hurt.id);
  name_it(s, GONE);
  put(s, "x-other",
      "{\"blob\":\"no id \\n at all\",\"my_blob\":7,\"a\":\"" GONE "1\",\"b\":\"0123\",\"c\":[\"" GONE "\"]}");
  OK(rp_end(s, NULL, &err), err); /* also of one that has ended */
  static const char *const harm[] = {
      "UPDATE rp_blobs SET data = substr(data, 1, length(data) - 1) WHERE raw_size = 14",
      "UPDATE rp_blobs SET data = substr(data, 1, 20) WHERE raw_size = 14",
      "UPDATE rp_blobs SET data = x'' WHERE raw_size = 14",
      "UPDATE rp_blobs SET data = randomblob(length(data)) WHERE raw_size = 14",
      "UPDATE rp_blobs SET data = CAST(data || x'00' AS BLOB) WHERE raw_size = 14",
      "UPDATE rp_blobs SET data = CAST(substr(data, 1, 35) || x'7f' || substr(data, 37) AS BLOB) WHERE raw_size = 14",
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(harm); i++) {
    sql_run(r, harm[i]);
    assert_int_equal(blob_fails(s, hurt.id), RP_E_CORRUPT);
    assert_text(s, kept.id, "kept");
  }
  struct findings x = verify(r, false, RP_E_CORRUPT);
  assert_int_equal(x.n, 2);
  snprintf(line, sizeof line, "blob %s is damaged", hurt.id);
  assert_non_null(strstr(x.text, line));
  assert_non_null(strstr(x.text, "blob " GONE ", which an event names, is missing"));
  x = verify(r, true, 0);
  assert_int_equal(x.repaired, 2);
  assert_int_equal(verify(r, false, 0).n, 0);
  assert_text(s, hurt.id, "");
  assert_text(s, GONE, "");
  assert_text(s, kept.id, "kept");
  rp_session_free(s);
}

/* A blob comes before the event that names it: only after a while nobody can be on the way. */
static void test_orphans(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  struct blob kept = blob_say(s, "kept"), lost = blob_say(s, "lost");
  name_it(s, kept.id);
  assert_int_equal(verify(r, true, 0).n, 0);
  r->wall += 59 * MINUTE;
  assert_int_equal(verify(r, true, 0).n, 0);
  r->wall += 2 * MINUTE;
  struct findings x = verify(r, false, 0);
  assert_int_equal(x.n, 1);
  assert_int_equal(x.notes, 1);
  assert_non_null(strstr(x.text, lost.id));
  assert_text(s, lost.id, "lost");
  assert_int_equal(verify(r, true, 0).repaired, 1);
  assert_int_equal(blob_fails(s, lost.id), RP_E_BLOB_NOT_FOUND);
  assert_text(s, kept.id, "kept");
  assert_int_equal(verify(r, false, 0).n, 0);
  rp_session_free(s);
  sql_run(r, "INSERT INTO rp_blobs SELECT 99, 12345, id, at, raw_size, size, sealed, hash, data FROM rp_blobs");
  x = verify(r, true, 0);
  assert_int_equal(x.repaired, 1);
  assert_non_null(strstr(x.text, "blobs of session number 12345 belong to no session"));
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_blobs"), 1);
}

/* ---- fork, redaction ---- */

/* B-07: a fork stands on its own, with what its events name. */
static void test_fork(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], fork[RP_ID_MAX + 1], early[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  id_of(s, id);
  struct blob one = blob_say(s, "one"), two = blob_say(s, "two");
  name_it(s, one.id);
  name_it(s, GONE); /* keeps nobody from forking */
  int64_t at = rig_say(s, "here").seq;
  name_it(s, two.id);
  OK(rp_fork(s, NULL, fork, NULL, &err), err);
  OK(rp_fork(s, &(rp_fork_options){.at_seq = at}, early, NULL, &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rp_purge(r->e, id, true, &err), err);
  s = session_of(r, fork);
  assert_text(s, one.id, "one");
  assert_text(s, two.id, "two");
  rp_session_free(s);
  s = session_of(r, early);
  assert_text(s, one.id, "one");
  assert_int_equal(blob_fails(s, two.id), RP_E_BLOB_NOT_FOUND);
  rp_session_free(s);
}

/* masked again under the same id, in those that came after too, and no byte is left. */
static void test_redacted(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], fork[RP_ID_MAX + 1], *doc;
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  id_of(s, id);
  struct blob b = blob_say(s, "{\"phrase\":\"Quagmireword is it\"}"), other = blob_say(s, "nothing of it");
  name_it(s, b.id);
  name_it(s, other.id);
  OK(rp_fork(s, NULL, fork, NULL, &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  assert_non_null(held_by(r->scratch.dir, "Quagmireword"));
  char *hash RP_AUTOFREE = sql_text(r, "SELECT hex(hash) FROM rp_blobs WHERE ref = 1");

  OK(rp_redact_session(r->e, id, "Quagmireword", true, NULL, NULL, &doc, &err), err);
  assert_string_equal(rig_get(doc, "blobs"), "2");
  rp_free(doc);
  assert_non_null(held_by(r->scratch.dir, "Quagmireword"));
  OK(rp_redact_session(r->e, id, "Quagmireword", false, NULL, NULL, &doc, &err), err);
  assert_string_equal(rig_get(doc, "sessions"), "2");
  assert_string_equal(rig_get(doc, "events"), "0");
  assert_string_equal(rig_get(doc, "blobs"), "2");
  assert_string_equal(rig_get(doc, "secrets"), "2");
  rp_free(doc);
  assert_null(held_by(r->scratch.dir, "Quagmireword"));
  const char *ids[] = {id, fork};
  for (int i = 0; i < 2; i++) {
    s = session_of(r, ids[i]);
    assert_text(s, b.id, "{\"phrase\":\"[REDACTED] is it\"}");
    assert_text(s, other.id, "nothing of it");
    rp_session_free(s);
  }
  /* What found the same bytes again went with them. */
  char *now RP_AUTOFREE = sql_text(r, "SELECT hex(hash) FROM rp_blobs WHERE ref = 1");
  assert_string_not_equal(hash, now);
  assert_non_null(strstr(audited(r, "coder", "redaction").fields, "\"blobs\":1"));
  assert_int_equal(verify(r, false, 0).n, 0);
}

/* ---- export ---- */

struct reader {
  const char *p;
  size_t n, step;
};

static long from_buf(void *ctx, void *bytes, size_t n)
{
  struct reader *x = ctx;
  n = RP_MIN(RP_MIN(n, x->n), x->step);
  memcpy(bytes, x->p, n);
  x->p += n;
  x->n -= n;
  return (long)n;
}

static int import(rp_engine *e, const char *p, size_t n, char *ret_id, rp_error *err)
{
  struct reader x = {p, n, 4096};
  return rp_import(e, from_buf, &x, NULL, NULL, ret_id, err);
}

static rp_engine *elsewhere(void)
{
  rp_engine *e;
  rp_error err = {0};
  OK(rp_open(&(rp_options){.db = "memory:", .short_lived = true}, &e, &err), err);
  return e;
}

/* B-06: lossless, in lines of bounded length; what has no blobs is written as it always was. */
static void test_export(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char got[RP_ID_MAX + 1];
  struct rp__buf a RP_AUTOBUF = RP_BUF(1 << 24), b RP_AUTOBUF = RP_BUF(1 << 24);
  char *text RP_AUTOFREE = long_text(700000);
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  rig_say(s, "before");
  OK(rp_export(s, to_buf, &a, NULL, NULL, &err), err);
  assert_int_equal(memcmp(a.p, "{\"reprise\":1,", 13), 0);
  assert_null(strstr(a.p, "blob"));
  rp__buf_reset(&a);

  struct blob large = blob_put(s, text, 700000), none = blob_say(s, ""), bin = blob_put(s, "\0\xff\0", 3);
  name_it(s, large.id);
  OK(rp_end(s, NULL, &err), err);
  OK(rp_export(s, to_buf, &a, NULL, NULL, &err), err);
  assert_int_equal(memcmp(a.p, "{\"reprise\":2,", 13), 0);
  assert_true(times(a.p, "{\"blob\":{") >= 2 + 700000 / 131072);
  for (const char *line = a.p, *nl; (nl = strchr(line, '\n')); line = nl + 1) assert_true(nl - line < 262144);
  rp_session_free(s);
  rp_engine *e = elsewhere();
  OK(import(e, a.p, a.n, got, &err), err);
  OK(rp_attach(e, got, &s, &err), err);
  assert_bytes(s, large.id, text, 700000);
  assert_bytes(s, none.id, "", 0);
  assert_bytes(s, bin.id, "\0\xff\0", 3);
  OK(rp_export(s, to_buf, &b, NULL, NULL, &err), err);
  rp_session_free(s);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.p, b.p, a.n);
  rp_close(e);
}

/* Cut or changed anywhere: refused, and nothing is there afterwards. */
static void test_export_damaged(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char got[RP_ID_MAX + 1], *stats;
  struct rp__buf a RP_AUTOBUF = RP_BUF(1 << 24);
  char *text RP_AUTOFREE = long_text(300000);
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  name_it(s, blob_put(s, text, 300000).id);
  OK(rp_export(s, to_buf, &a, NULL, NULL, &err), err);
  rp_session_free(s);
  rp_engine *e = elsewhere();
  for (size_t cut = 0; cut < a.n; cut += 7993) {
    int rc = import(e, a.p, cut, got, &err);
    assert_true(rc == RP_E_FORMAT || rc == RP_E_FORMAT_CORRUPT);
  }
  for (size_t at = 100; at < a.n; at += 7919) {
    char was = a.p[at];
    a.p[at] = was == 'z' ? 'y' : 'z';
    int rc = import(e, a.p, a.n, got, &err);
    if (rc != RP_E_FORMAT && rc != RP_E_FORMAT_CORRUPT) fail_msg("byte %zu: %d %s", at, rc, err.message);
    a.p[at] = was;
  }
  OK(rp_stats_json(e, &stats, &err), err);
  assert_string_equal(rig_get(stats, "blobs"), "0");
  assert_string_equal(rig_get(stats, "sessions.total"), "0");
  rp_free(stats);
  OK(import(e, a.p, a.n, got, &err), err);
  rp_close(e);
}

/* Lines somebody made up: each is named. */
static void test_export_forged(void **state)
{
  static const char head[] =
      "{\"reprise\":2,\"session\":{\"session_id\":\"f\",\"scope\":\"s\",\"status\":\"closed\"}}\n";
  static const struct {
    const char *lines;
    int code;
    const char *said;
  } forged[] = {
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":3,\"part\":1,\"data\":\"!!!!\"}}\n", RP_E_FORMAT, "line 2"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":3,\"part\":1,\"data\":7}}\n", RP_E_FORMAT, "line 2"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":3,\"part\":2,\"data\":\"AAAA\"}}\n", RP_E_FORMAT, "line 2"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":2,\"part\":1,\"data\":\"AAAA\"}}\n", RP_E_FORMAT, "longer"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":-1,\"part\":1,\"data\":\"\"}}\n", RP_E_FORMAT, "line 2"},
      {"{\"blob\":{\"id\":\"\",\"at\":1,\"bytes\":0,\"part\":1,\"data\":\"\"}}\n", RP_E_FORMAT, "line 2"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":99999999,\"part\":1,\"data\":\"AAAA\"}}\n", RP_E_TOO_LARGE,
       "line 2"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":6,\"part\":1,\"data\":\"AAAA\"}}\n"
       "{\"blob\":{\"id\":\"blob-00\",\"at\":1,\"bytes\":6,\"part\":2,\"data\":\"AAAA\"}}\n",
       RP_E_FORMAT, "line 3"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":6,\"part\":1,\"data\":\"AAAA\"}}\n"
       "{\"seq\":1,\"at\":1,\"kind\":\"x-a\",\"body\":{}}\n",
       RP_E_FORMAT_CORRUPT, "blob " GONE " is cut off"},
      {"{\"blob\":{\"id\":\"" GONE "\",\"at\":1,\"bytes\":3,\"part\":1,\"data\":\"AAAA\"}}\n"
       "{\"end\":{\"events\":0,\"hash\":\"\"}}\n",
       RP_E_FORMAT_CORRUPT, "0 blobs, it has 1"},
  };
  rp_engine *e = elsewhere();
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(forged); i++) {
    char file[1000], got[RP_ID_MAX + 1];
    rp_error err = {0};
    snprintf(file, sizeof file, "%s%s", head, forged[i].lines);
    int rc = import(e, file, strlen(file), got, &err);
    if (rc != forged[i].code || !strstr(err.message, forged[i].said)) fail_msg("%zu: %d %s", i, rc, err.message);
  }
  rp_close(e);
}

/* What was exported before a pattern was known is masked when it comes in, and sealed where its scope is. */
static void test_import_masks(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], got[RP_ID_MAX + 1];
  struct rp__buf a RP_AUTOBUF = RP_BUF(1 << 24);
  reopen_with(r, "REPRISE_REDACT", "false");
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  id_of(s, id);
  struct blob b = blob_say(s, "see " SECRET), twin = blob_say(s, "see [REDACTED]");
  name_it(s, b.id);
  OK(rp_end(s, NULL, &err), err);
  OK(rp_export(s, to_buf, &a, NULL, NULL, &err), err);
  rp_session_free(s);
  OK(rp_purge(r->e, id, true, &err), err);
  setenv("REPRISE_KEY", KEY, 1);
  rig_reopen(r);
  OK(import(r->e, a.p, a.n, got, &err), err);
  s = session_of(r, got);
  assert_text(s, b.id, "see [REDACTED]");
  assert_text(s, twin.id, "see [REDACTED]"); /* what became the same stays two: events name both */
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_blobs WHERE sealed"), 2);
  rp_session_free(s);
  unsetenv("REPRISE_KEY");
}

/* ---- numbers ---- */

static void test_weight(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *stats, id[RP_ID_MAX + 1];
  char *text RP_AUTOFREE = long_text(500000);
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  id_of(s, id);
  blob_put(s, text, 500000);
  int64_t size = sql_number(r, "SELECT sum(size) FROM rp_blobs");
  OK(rp_stats_json(r->e, &stats, &err), err);
  assert_string_equal(rig_get(stats, "blobs"), "1");
  assert_true(strtoll(rig_get(stats, "blob_bytes"), NULL, 10) == size);
  rp_free(stats);
  end(s);
  OK(rp_purge(r->e, id, true, &err), err);
  assert_true(strtoll(rig_get(audited(r, "coder", "deletion").fields, "bytes"), NULL, 10) > size);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      T(test_round_trip),     T(test_bad_input),     T(test_who_may),      T(test_masked),   T(test_sealed),
      T(test_damage),         T(test_orphans),       T(test_fork),         T(test_redacted), T(test_export),
      T(test_export_damaged), T(test_export_forged), T(test_import_masks), T(test_weight)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
