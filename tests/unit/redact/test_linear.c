/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile text costs in proportion to its length: four times as much of it takes about four times as long, not sixteen.
 */
#include "redact_test.h"

#include <time.h>

#define SMALL ((size_t)128 << 10)
#define TIMES 4
#define RATIO_MAX 9.0 /* between linear (4) and quadratic (16), with room for a busy machine */

static struct rp__redactor *r;

static const char *const hostile[] = {
    "password=password=",
    "sk-sk-sk-",
    "sk-ant-",
    "eyJ",
    "eyJ.",
    "eyJaaaaaaaa.eyJ-",
    " eyJaaaaaaaa",
    "://a:",
    "://",
    "a",
    "-",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN RSA PRIVATE KEY-----\nA-b: c\n",
    "password=\"",
    "password='\\",
    "password=a&",
    "PASSWORD=a,b;",
    "Authorization: Bearer ",
    "authorization",
    "secretsecret",
    "token token_",
    "<password>",
    "password is ",
    "--password ",
    "api key: x ",
    "_pass_pass",
    "xoxb-",
    "gh0_ghp_",
    "[REDACTED]",
    "password: [REDACTED",
    "SG.SG.",
    "auth=auth:auth\"",
    "\\\\\\\\\"password\\\\\\\"",
    "12345678:AA",
};

static char *repeated(const char *what, size_t n)
{
  char *text = malloc(n);
  size_t k = strlen(what);
  assert_non_null(text);
  for (size_t i = 0; i < n; i++) text[i] = what[i % k];
  return text;
}

static double seconds(const char *text, size_t n)
{
  double best = 1e9;
  for (int i = 0; i < 3; i++) {
    struct timespec a, b;
    struct rp__buf out = RP_BUF(OUT_MAX);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    assert_int_equal(rp__redact_text(r, text, n, &out, NULL), 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    rp__buf_done(&out);
    double took = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
    best = RP_MIN(best, took);
  }
  return best;
}

static void test_hostile_text_is_linear(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(hostile); i++) {
    RP_AUTOFREE char *text = repeated(hostile[i], SMALL * TIMES);
    double ratio = 0;
    /* A machine that is busy elsewhere gets a second and a third chance; a quadratic search needs none. */
    for (int chance = 0; chance < 3; chance++) {
      double small = seconds(text, SMALL), large = seconds(text, SMALL * TIMES);
      ratio = large / RP_MAX(small, 1e-5);
      if (ratio < RATIO_MAX) break;
    }
    if (ratio >= RATIO_MAX) fail_msg("'%s': %.1f times the time for %d times the text", hostile[i], ratio, TIMES);
  }
}

/* A secret of any length is one secret. */
static void test_long_secret(void **state)
{
  size_t n = 1 << 20, hits = 0;
  (void)state;
  RP_AUTOFREE char *text = repeated("aB3", n);
  memcpy(text, "password=", 9);
  RP_AUTOFREE char *out = masked_text(r, text, n, &hits);
  assert_string_equal(out, "password=" RP_MASK);
  memcpy(text, "x ghp_aaa", 9);
  RP_AUTOFREE char *token = masked_text(r, text, n, &hits);
  assert_string_equal(token, "x " RP_MASK);
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
      cmocka_unit_test(test_hostile_text_is_linear),
      cmocka_unit_test(test_long_secret),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
