/* SPDX-License-Identifier: Apache-2.0 */
/* Finding secrets: the corpus that must be masked and the one that must stay. */
#include "redact_test.h"

#include "redact/pattern.h"

static struct rp__redactor *r;

struct found {
  struct rp__secret first;
  size_t n;
};

static int on_secret(void *ctx, const struct rp__secret *s)
{
  struct found *f = ctx;
  if (f->n++ == 0) f->first = *s;
  return 0;
}

/* only the secret is masked, and by the pattern it belongs to. */
static void test_must_mask(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_mask); i++) {
    const struct masked_example *e = &must_mask[i];
    RP_AUTOFREE char *text = joined(e);
    struct found f = {0};
    assert_int_equal(rp__redact_find(r, text, strlen(text), on_secret, &f), 0);
    if (f.n != 1) fail_msg("%s: %zu secrets in '%s'", e->pattern, f.n, text);
    if (f.first.start != strlen(e->before) || f.first.end != strlen(e->before) + strlen(e->secret))
      fail_msg("'%s': '%.*s'", text, (int)(f.first.end - f.first.start), text + f.first.start);
    if (strcmp(f.first.name, e->pattern) != 0) fail_msg("'%s' was found as %s", text, f.first.name);
    assert_true(rp__redact_suspects(r, text, strlen(text)));
  }
}

static void test_must_stay(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_stay); i++) {
    const char *text = must_stay[i].text;
    size_t hits = 1;
    RP_AUTOFREE char *out = masked_text(r, text, strlen(text), &hits);
    if (hits || strcmp(out, text) != 0) fail_msg("%s: '%s' became '%s'", must_stay[i].pattern, text, out);
  }
}

/* No row of the table is without an example of either kind. */
static void test_every_pattern_has_examples(void **state)
{
  (void)state;
  for (size_t i = 0; i < rp__patterns_n; i++) {
    bool masks = false, stays = false;
    for (size_t k = 0; k < RP_ARRAY_SIZE(must_mask); k++)
      masks |= strcmp(must_mask[k].pattern, rp__patterns[i].name) == 0;
    for (size_t k = 0; k < RP_ARRAY_SIZE(must_stay); k++)
      stays |= strcmp(must_stay[k].pattern, rp__patterns[i].name) == 0;
    if (!masks || !stays) fail_msg("the pattern '%s' lacks examples", rp__patterns[i].name);
  }
}

static void test_masking_again_changes_nothing(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_mask); i++) {
    RP_AUTOFREE char *text = joined(&must_mask[i]);
    size_t hits = 0;
    RP_AUTOFREE char *once = masked_text(r, text, strlen(text), NULL);
    RP_AUTOFREE char *twice = masked_text(r, once, strlen(once), &hits);
    assert_string_equal(once, twice);
    if (hits) fail_msg("'%s': the mask was masked", once);
  }
}

/* Two secrets side by side are two; the text around them stays. */
static void test_several(void **state)
{
  static const char text[] = "password=hunter2 and MY_API_KEY=foo, see postgres://u:p4ss@h/d";
  size_t hits = 0;
  (void)state;
  RP_AUTOFREE char *out = masked_text(r, text, strlen(text), &hits);
  assert_int_equal(hits, 3);
  assert_string_equal(out, "password=" RP_MASK " and MY_API_KEY=" RP_MASK ", see postgres://u:" RP_MASK "@h/d");
}

static int stop(void *ctx, const struct rp__secret *s)
{
  (void)s;
  return ++*(int *)ctx == 2 ? 42 : 0;
}

static void test_callback_stops(void **state)
{
  static const char text[] = "password=hunter1 password=hunter2 password=hunter3";
  int calls = 0;
  (void)state;
  assert_int_equal(rp__redact_find(r, text, strlen(text), stop, &calls), 42);
  assert_int_equal(calls, 2);
}

static void test_plain_text_is_not_suspected(void **state)
{
  static const char *const plain[] = {"", "Hello there, how are you?", "max_tokens: 4096 and tokenizers",
                                      "the keyboard of the monkey", "a.b@c"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(plain); i++) assert_false(rp__redact_suspects(r, plain[i], strlen(plain[i])));
}

static void test_out_too_small(void **state)
{
  struct rp__buf out = RP_BUF(10);
  (void)state;
  assert_int_equal(rp__redact_text(r, "password=hunter2", 16, &out, NULL), RP_E_TOO_LARGE);
  rp__buf_done(&out);
}

/* ---- a user's own patterns ---- */

static void test_own_patterns(void **state)
{
  static const char text[] = "ticket ABC-1234 of acme-77\npassword=hunter2, ABC-99";
  size_t hits = 0;
  (void)state;
  struct rp__redactor *own = redactor_of("# tickets\nABC-\\d+\r\n\nacme-(?<secret>\\d+)\n");
  RP_AUTOFREE char *out = masked_text(own, text, strlen(text), &hits);
  assert_string_equal(out, "ticket " RP_MASK " of acme-" RP_MASK "\npassword=" RP_MASK ", " RP_MASK);
  assert_int_equal(hits, 4);
  RP_AUTOFREE char *twice = masked_text(own, out, strlen(out), &hits);
  assert_string_equal(out, twice);
  assert_true(rp__redact_suspects(own, "x", 1));
  rp__redactor_free(own);
}

/* What overlaps is one secret; what finds the mask itself does not make it longer. */
static void test_own_patterns_overlap(void **state)
{
  size_t hits = 0;
  (void)state;
  struct rp__redactor *own = redactor_of("r2d\\d+\nhunter\\w+\n\\w{8}\n");
  RP_AUTOFREE char *out = masked_text(own, "password=hunter2d22, x", 22, &hits);
  assert_string_equal(out, RP_MASK "=" RP_MASK ", x");
  RP_AUTOFREE char *again = masked_text(own, out, strlen(out), &hits);
  assert_string_equal(again, out);
  rp__redactor_free(own);
}

static void test_own_pattern_on_long_lines(void **state)
{
  (void)state;
  struct rp__redactor *own = redactor_of("needle\\d{4}");
  for (size_t at = 4080; at < 4110; at++) {
    RP_AUTOFREE char *text = malloc(10001);
    size_t hits = 0;
    memset(text, '.', 10000);
    text[10000] = '\0';
    memcpy(text + at, "needle1234", 10);
    RP_AUTOFREE char *out = masked_text(own, text, 10000, &hits);
    assert_int_equal(hits, 1);
    assert_null(strstr(out, "needle1234"));
  }
  rp__redactor_free(own);
}

static void test_own_pattern_wrong(void **state)
{
  struct rp__redactor *own = NULL;
  rp_error err = {0};
  (void)state;
  assert_int_equal(rp__redactor_new("fine\n(oops", &own, &err), RP_E_CONFIG);
  assert_non_null(strstr(err.message, "line 2"));
  assert_null(own);
}

/* Fails closed: an expression that can't decide in its limits hides the line it could not decide about. */
static void test_gives_up_closed(void **state)
{
  size_t hits = 0;
  (void)state;
  struct rp__redactor *own = redactor_of("(x+x+)+[^x]y?[^x]");
  RP_AUTOFREE char *out = masked_text(own, "before\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\nbehind", 52, &hits);
  assert_string_equal(out, "before\n" RP_MASK "\nbehind");
  assert_int_equal(hits, 1);
  rp__redactor_free(own);
}

/* ---- names ---- */

static void test_key_names(void **state)
{
  static const char *const yes[] = {"password",
                                    "Passwd",
                                    "pwd",
                                    "secret",
                                    "api_key",
                                    "apiKey",
                                    "APIKey",
                                    "x-api-key",
                                    "access_token",
                                    "accessToken",
                                    "refresh-token",
                                    "client_secret",
                                    "token",
                                    "private_key",
                                    "MY_API_KEY",
                                    "DB_PASSWORD",
                                    "dbPassword",
                                    "userpassword",
                                    "password2",
                                    "db_pass",
                                    "x-internal-secret",
                                    "Authorization",
                                    "credentials",
                                    "passphrase",
                                    "SECRET_KEY_BASE",
                                    "botToken",
                                    "AccountKey",
                                    "aws_secret_access_key",
                                    "secrets",
                                    "api_keys",
                                    "authToken",
                                    "password_confirmation"};
  static const char *const no[] = {"token_count",     "max_tokens", "tokens_in",  "tokens",
                                   "public_key",      "key",        "is_secret",  "has_password",
                                   "secret_id",       "token_type", "message_id", "call_id",
                                   "task_id",         "session_id", "next_token", "pageToken",
                                   "password_hint",   "secretary",  "monkey",     "bypass",
                                   "idempotency_key", "eos_token",  "",           "_",
                                   "compass",         "first_pass", "tokenizer",  "123",
                                   "access_key_id"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(yes); i++)
    if (!rp__redact_key_name(yes[i], strlen(yes[i]))) fail_msg("'%s' is no credential", yes[i]);
  for (size_t i = 0; i < RP_ARRAY_SIZE(no); i++)
    if (rp__redact_key_name(no[i], strlen(no[i]))) fail_msg("'%s' is a credential", no[i]);
}

/* ---- tails ---- */

static void test_tail(void **state)
{
  static const struct {
    const char *text;
    size_t tail;
  } cases[] = {
      {"all is well.", 12},         {"use sk-ant-ab", 4}, {"the password=hun", 4},
      {"-----BEGIN RSA PRIV", 0},   {"it is a passw", 8}, {"password=hunter2 ", 0},
      {"password=hunter2  x.", 20}, {"key: " RP_MASK, 5}, {BEGIN_KEY "\n" RP_MASK "\n", 32},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    size_t at = rp__redact_tail(r, cases[i].text, strlen(cases[i].text));
    if (at != cases[i].tail) fail_msg("'%s': %zu, not %zu", cases[i].text, at, cases[i].tail);
  }
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
  rp__redactor_free(NULL);
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_must_mask),
      cmocka_unit_test(test_must_stay),
      cmocka_unit_test(test_every_pattern_has_examples),
      cmocka_unit_test(test_masking_again_changes_nothing),
      cmocka_unit_test(test_several),
      cmocka_unit_test(test_callback_stops),
      cmocka_unit_test(test_plain_text_is_not_suspected),
      cmocka_unit_test(test_out_too_small),
      cmocka_unit_test(test_own_patterns),
      cmocka_unit_test(test_own_patterns_overlap),
      cmocka_unit_test(test_own_pattern_on_long_lines),
      cmocka_unit_test(test_own_pattern_wrong),
      cmocka_unit_test(test_gives_up_closed),
      cmocka_unit_test(test_key_names),
      cmocka_unit_test(test_tail),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
