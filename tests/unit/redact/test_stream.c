/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that come in pieces: every split of every example, through the stream and across a seam. */
#include "redact_test.h"

#include "redact/stream.h"

#define PIECES_MAX 4096

static struct rp__redactor *r;

/* As between two processes: saved, forgotten, and loaded again. */
static void written_down(struct rp__redact_stream *s)
{
  struct rp__buf saved = RP_BUF(RP_REDACT_SAVED);
  rp__redact_stream_save(s, &saved);
  assert_int_equal(saved.err, 0);
  rp__redact_stream_done(s);
  assert_int_equal(rp__redact_stream_load(saved.p, saved.n, s), 0);
  rp__buf_done(&saved);
}

/* Pushes text[cuts[i - 1], cuts[i]) one after the other and ends the stream; the joined output. */
static char *streamed(const struct rp__redactor *with, const char *text, const size_t *cuts, size_t n_cuts,
                      size_t *hits)
{
  struct rp__redact_stream s = {0};
  struct rp__buf out = RP_BUF(OUT_MAX);
  size_t from = 0, sum = 0, n = strlen(text);
  for (size_t i = 0; i <= n_cuts; i++) {
    size_t to = i < n_cuts ? cuts[i] : n, k = 0;
    assert_int_equal(rp__redact_stream_push(with, &s, text + from, to - from, &out, &k), 0);
    assert_true(s.held.n <= RP_REDACT_TAIL_MAX);
    written_down(&s);
    from = to;
    sum += k;
  }
  size_t k = 0;
  assert_int_equal(rp__redact_stream_end(with, &s, false, &out, &k), 0);
  assert_int_equal(s.held.n, 0);
  if (hits) *hits = sum + k;
  char *copy = rp__buf_take(&out);
  assert_non_null(copy);
  return copy;
}

static void same(const char *text, const char *expected, const size_t *cuts, size_t n_cuts)
{
  RP_AUTOFREE char *out = streamed(r, text, cuts, n_cuts, NULL);
  if (strcmp(out, expected) != 0)
    fail_msg("cut at %zu and %zu of %zu: '%s'\nbecame '%s'\nnot    '%s'", cuts[0], n_cuts > 1 ? cuts[1] : 0, n_cuts,
             text, out, expected);
}

static void every_split(const char *text)
{
  size_t n = strlen(text), bytes[PIECES_MAX];
  RP_AUTOFREE char *expected = masked_text(r, text, n, NULL);
  assert_true(n < PIECES_MAX);
  for (size_t i = 0; i <= n; i++) same(text, expected, &i, 1);
  /* All pairs of cuts of short texts, a part of them of long ones. */
  size_t stride = 1 + n * n / 1500;
  for (size_t i = 0; i <= n; i++)
    for (size_t j = i + (i % stride); j <= n; j += stride) same(text, expected, (size_t[]){i, j}, 2);
  for (size_t i = 0; i < n; i++) bytes[i] = i;
  same(text, expected, bytes, n);
}

static void test_every_split_of_secrets(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_mask); i++) {
    RP_AUTOFREE char *text = joined(&must_mask[i]);
    every_split(text);
  }
}

/* What only looked like a beginning comes out complete. */
static void test_every_split_of_plain_text(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_stay); i++) every_split(must_stay[i].text);
  every_split("ends with sk-ant-ab");
  every_split("ends with password");
  every_split("ends with -----BEGIN RSA PRIV");
  every_split("task-force-abc1234567890 is no key");
}

/* Between two secrets the context is read anew: the first one does not reappear. */
static void test_several_secrets(void **state)
{
  (void)state;
  every_split("a password=hunter2 b MY_API_KEY=foo c postgres://u:p4ss@h/d e sk-" MIX32 " f ghp_" MIX32 ", done");
}

/* A token held back is not given out before it is decided. */
static void test_held_back(void **state)
{
  struct rp__redact_stream s = {0};
  struct rp__buf out = RP_BUF(OUT_MAX);
  size_t hits = 7;
  (void)state;
  assert_int_equal(rp__redact_stream_push(r, &s, "my key sk-ant-ab", 16, &out, &hits), 0);
  assert_string_equal(out.p, "my key ");
  assert_int_equal(hits, 0);
  assert_int_equal(rp__redact_stream_push(r, &s, "cdefghijkl0123456789 ok", 23, &out, &hits), 0);
  assert_string_equal(out.p, "my key " RP_MASK " ok");
  assert_int_equal(hits, 1);
  rp__buf_done(&out);
  rp__redact_stream_done(&s);
}

/* A key of many lines, far more than is ever held, in chunks of any size: nothing of it comes out. */
static void test_long_key(void **state)
{
  (void)state;
  for (size_t chunk = 1; chunk < 5000; chunk = chunk * 3 + 1) {
    struct rp__redact_stream s = {0};
    struct rp__buf text = RP_BUF(OUT_MAX), out = RP_BUF(OUT_MAX);
    rp__buf_str(&text, "here: " BEGIN_KEY "\n");
    for (int i = 0; i < 1000; i++) rp__buf_str(&text, PEM_LINE "\n");
    rp__buf_str(&text, END_KEY "\nand that was it.");
    for (size_t at = 0; at < text.n; at += chunk) {
      size_t n = RP_MIN(chunk, text.n - at);
      assert_int_equal(rp__redact_stream_push(r, &s, text.p + at, n, &out, NULL), 0);
      assert_true(s.held.n <= RP_REDACT_TAIL_MAX);
    }
    assert_int_equal(rp__redact_stream_end(r, &s, false, &out, NULL), 0);
    assert_null(strstr(out.p, "MIIEp"));
    assert_null(strstr(out.p, "9Oi"));
    assert_non_null(strstr(out.p, "here: " BEGIN_KEY));
    assert_non_null(strstr(out.p, "and that was it."));
    rp__buf_done(&text);
    rp__buf_done(&out);
  }
}

/* The end of a stream hides what is long enough a part of a token, and gives out what is not. */
static void test_unfinished(void **state)
{
  size_t hits = 0, cut = 4;
  (void)state;
  RP_AUTOFREE char *hidden = streamed(r, "x: ghp_aB3dE5gH7jK9mN1", &cut, 1, &hits);
  assert_string_equal(hidden, "x: " RP_MASK);
  assert_int_equal(hits, 1);
  RP_AUTOFREE char *shown = streamed(r, "x: ghp_aB3dE5", &cut, 1, &hits);
  assert_string_equal(shown, "x: ghp_aB3dE5");
  assert_int_equal(hits, 0);
}

/* Ordinary text is never held for long and comes out byte for byte, whatever its bytes. */
static void test_plain_bytes(void **state)
{
  char text[600];
  (void)state;
  for (size_t i = 0; i < sizeof text - 1; i++) text[i] = (char)(1 + i * 7 % 255);
  text[sizeof text - 1] = '\0';
  for (size_t cut = 0; cut < sizeof text; cut += 13) {
    RP_AUTOFREE char *out = streamed(r, text, &cut, 1, NULL);
    assert_string_equal(out, text);
  }
}

static void test_own_pattern_split(void **state)
{
  static const char text[] = "about ticket-12345 and ticket-x.";
  (void)state;
  struct rp__redactor *own = redactor_of("ticket-\\d+");
  for (size_t cut = 0; cut <= strlen(text); cut++) {
    RP_AUTOFREE char *out = streamed(own, text, &cut, 1, NULL);
    assert_string_equal(out, "about " RP_MASK " and ticket-x.");
  }
  rp__redactor_free(own);
}

/* ---- written down ---- */

/* Whatever is cut off or altered of a saved stream, loading it fails or gives a stream that can be used. */
static void test_damaged(void **state)
{
  struct rp__redact_stream s = {0};
  struct rp__buf saved = RP_BUF(RP_REDACT_SAVED), out = RP_BUF(OUT_MAX);
  (void)state;
  assert_int_equal(rp__redact_stream_push(r, &s, "the MY_API_KEY=f", 16, &out, NULL), 0);
  rp__redact_stream_save(&s, &saved);
  rp__redact_stream_done(&s);
  for (size_t n = 0; n < 5; n++) assert_int_equal(rp__redact_stream_load(saved.p, n, &s), RP_E_CORRUPT);
  for (size_t i = 0; i < saved.n; i++) {
    saved.p[i] = (char)(saved.p[i] ^ 0x41);
    int rc = rp__redact_stream_load(saved.p, saved.n, &s);
    saved.p[i] = (char)(saved.p[i] ^ 0x41);
    assert_true(rc == 0 || rc == RP_E_CORRUPT);
    if (rc) continue;
    assert_int_equal(rp__redact_stream_push(r, &s, "oo!!7 bar", 9, &out, NULL), 0);
    assert_int_equal(rp__redact_stream_end(r, &s, false, &out, NULL), 0);
  }
  rp__buf_done(&saved);
  rp__buf_done(&out);
}

/* ---- cut off for good ---- */

/* What begins like a credential is masked when its stream is cut off anywhere, and everything else is told. */
static void test_cut_off(void **state)
{
  static const struct {
    const char *text, *want;
  } cuts[] = {
      {"see sk-ant-api03-AbCd", "see " RP_MASK},
      {"see ghp_Ab", "see " RP_MASK},
      {"the password=hun", "the password=" RP_MASK},
      {"MY_API_KEY = \"f", "MY_API_KEY = \"" RP_MASK},
      {"at postgres://ada:S3cr", "at postgres://ada:" RP_MASK},
      {"-----BEGIN RSA PRIVATE KEY-----\nMIIE", "-----BEGIN RSA PRIVATE KEY-----\n" RP_MASK},
      {"for (int i = 0; i < n; i++) {", "for (int i = 0; i < n; i++) {"},
      {"a plain word", "a plain word"},
      {"ends in s", "ends in s"},
      {"Use curl to fetch the page, it works fine on every system",
       "Use curl to fetch the page, it works fine on every system"},
      {"curl -u ada:S3cretPw9", "curl -u ada:" RP_MASK},
      {"the Bearer of", "the Bearer of"},
      {"print(\"password:\", ", "print(\"password:\", "},
      {"def password_check(self):", "def password_check(self):"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cuts); i++) {
    struct rp__redact_stream s = {0};
    struct rp__buf out = RP_BUF(OUT_MAX);
    assert_int_equal(rp__redact_stream_push(r, &s, cuts[i].text, strlen(cuts[i].text), &out, NULL), 0);
    assert_int_equal(rp__redact_stream_end(r, &s, true, &out, NULL), 0);
    assert_string_equal(out.p, cuts[i].want);
    rp__buf_done(&out);
  }
}

/* Each prefix of each secret, cut off there: no byte of the secret that is worth something is told. */
static void test_cut_off_everywhere(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_mask); i++) {
    RP_AUTOFREE char *text = joined(&must_mask[i]);
    for (size_t n = 1; n < strlen(text); n++) {
      struct rp__redact_stream s = {0};
      struct rp__buf out = RP_BUF(OUT_MAX);
      assert_int_equal(rp__redact_stream_push(r, &s, text, n, &out, NULL), 0);
      assert_int_equal(rp__redact_stream_end(r, &s, true, &out, NULL), 0);
      const char *secret = must_mask[i].secret;
      /* The first half may be a vendor's prefix. */
      for (size_t k = strlen(secret) / 2; out.p && k + 8 <= strlen(secret); k++) {
        if (memmem(out.p, out.n, secret + k, 8)) fail_msg("'%.*s' cut off there tells '%s'", (int)n, text, out.p);
      }
      rp__buf_done(&out);
    }
  }
}

/* ---- across a seam ---- */

static char *after(const char *before, bool is_joined, const char *text, size_t *hits)
{
  struct rp__buf out = RP_BUF(OUT_MAX);
  assert_int_equal(rp__redact_after(r, before, strlen(before), is_joined, text, strlen(text), &out, hits), 0);
  char *copy = rp__buf_take(&out);
  assert_non_null(copy);
  return copy;
}

/* The first part is stored, masked as well as it could be alone: the second must not complete it. */
static void seam(const struct masked_example *e, size_t cut)
{
  RP_AUTOFREE char *text = joined(e);
  size_t from = strlen(e->before), to = from + strlen(e->secret);
  RP_AUTOFREE char *first = masked_text(r, text, cut, NULL);
  RP_AUTOFREE char *second = after(first, true, text + cut, NULL);
  RP_AUTOFREE char *both = NULL;
  assert_true(asprintf(&both, "%s%s", first, second) >= 0);
  if (strlen(e->secret) >= 4 && strstr(both, e->secret)) fail_msg("cut at %zu: '%s' | '%s'", cut, first, second);
  bool hidden = cut > from && cut < to && strlen(first) >= 10 && strcmp(first + strlen(first) - 10, RP_MASK) == 0;
  if (!hidden || to - cut < 4) return;
  RP_AUTOFREE char *rest = strndup(text + cut, to - cut);
  if (strstr(second, rest)) fail_msg("cut at %zu: '%s' | '%s' gives the rest away", cut, first, second);
}

static void test_every_seam(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_mask); i++) {
    size_t n = strlen(must_mask[i].before) + strlen(must_mask[i].secret) + strlen(must_mask[i].after);
    for (size_t cut = 0; cut <= n; cut++) seam(&must_mask[i], cut);
  }
}

static void test_seam_of_plain_text(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_stay); i++) {
    const char *text = must_stay[i].text;
    for (size_t cut = 0; cut <= strlen(text); cut++) {
      RP_AUTOFREE char *first = strndup(text, cut);
      size_t n = strlen(first);
      if (n >= 10 && strcmp(first + n - 10, RP_MASK) == 0) continue;
      /* what is a secret by itself is masked as one, whatever stands before it */
      RP_AUTOFREE char *alone = after("", false, text + cut, NULL), *second = after(first, true, text + cut, NULL);
      if (strcmp(alone, text + cut) == 0) assert_string_equal(second, text + cut);
    }
  }
}

static void test_seam_joined_or_not(void **state)
{
  size_t hits = 0;
  (void)state;
  RP_AUTOFREE char *same_message = after("the key is " RP_MASK, true, "rest9876 and more", &hits);
  assert_string_equal(same_message, RP_MASK " and more");
  assert_int_equal(hits, 1);
  RP_AUTOFREE char *other_message = after("the key is " RP_MASK, false, "rest9876 and more", &hits);
  assert_string_equal(other_message, "rest9876 and more");
  RP_AUTOFREE char *spaced = after("the key is " RP_MASK, true, " and more", &hits);
  assert_string_equal(spaced, " and more");
  RP_AUTOFREE char *quoted = after("passphrase=\"" RP_MASK, true, " battery staple\" x", &hits);
  assert_string_equal(quoted, RP_MASK "\" x");
  RP_AUTOFREE char *lines = after(BEGIN_KEY "\n" RP_MASK "\n", true, PEM_LINE "\n" END_KEY, &hits);
  assert_string_equal(lines, RP_MASK END_KEY);
}

static int setup(void **state)
{
  (void)state;
  r = redactor_of(NULL);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  rp__redactor_free(r);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_split_of_secrets),
      cmocka_unit_test(test_every_split_of_plain_text),
      cmocka_unit_test(test_several_secrets),
      cmocka_unit_test(test_held_back),
      cmocka_unit_test(test_long_key),
      cmocka_unit_test(test_unfinished),
      cmocka_unit_test(test_plain_bytes),
      cmocka_unit_test(test_own_pattern_split),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_cut_off),
      cmocka_unit_test(test_cut_off_everywhere),
      cmocka_unit_test(test_every_seam),
      cmocka_unit_test(test_seam_of_plain_text),
      cmocka_unit_test(test_seam_joined_or_not),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
