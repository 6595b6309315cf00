/* SPDX-License-Identifier: Apache-2.0 */
/* Credentials in bodies. */
#include "core_test.h"

#include <stdio.h>

#include "alloc_fault.h"
#include "core/mask.h"
#include "core/spoken.h"

#define OUT_MAX 1000000
#define M RP_MASK

static struct rp__redactor *r;

/* The masked body as a string (freed by the caller); it is JSON without duplicate names whatever came. */
static char *masked(enum rp__kind kind, const char *body, size_t *hits)
{
  struct rp__buf out = RP_BUF(OUT_MAX);
  struct rp__json v;
  struct rp__str ret;
  assert_int_equal(rp__json_parse(body, strlen(body), NULL, &v, NULL), 0);
  assert_int_equal(rp__mask_body(r, kind, v, &out, &ret, hits), 0);
  char *copy = strndup(ret.p, ret.n);
  assert_non_null(copy);
  assert_int_equal(rp__json_parse(copy, strlen(copy), NULL, &v, NULL), 0);
  rp__buf_done(&out);
  return copy;
}

static const struct {
  const char *body, *expected;
} bodies[] = {
    /* what patterns find in strings, wherever they stand */
    {"{\"content\":\"my password=hunter2 ok\"}", "{\"content\":\"my password=" M " ok\"}"},
    {"{\"a\":[1,{\"b\":[\"x\",\"see postgres://u:p4ss@h/d\"]}]}",
     "{\"a\":[1,{\"b\":[\"x\",\"see postgres://u:" M "@h/d\"]}]}"},
    /* escapes: decoded to be read, and left as they came around the secret */
    {"{\"t\":\"line\\n\\tpassword=hunter2\\n\\u00e9nd\"}", "{\"t\":\"line\\n\\tpassword=" M "\\n\\u00e9nd\"}"},
    {"{\"t\":\"{\\\"api_key\\\": \\\"abc123def\\\"}\"}", "{\"t\":\"{\\\"api_key\\\": \\\"" M "\\\"}\"}"},
    {"{\"t\":\"\\u0070assword=hunter2\"}", "{\"t\":\"\\u0070assword=" M "\"}"},
    {"{\"t\":\"postgres:\\/\\/u:p4ss@h\\/d\"}", "{\"t\":\"postgres:\\/\\/u:" M "@h\\/d\"}"},
    {"{\"t\":\"password=h\\u0075nter2 x\"}", "{\"t\":\"password=" M " x\"}"},
    {"{\"t\":\"\\\"password=\\u00e9t\\u00e91234\\\" x\"}", "{\"t\":\"\\\"password=" M "\\\" x\"}"},
    /* members by their names, whatever the value; where the name is weak evidence, what looks like a credential */
    {"{\"password\":\"a b\"}", "{\"password\":\"" M "\"}"},
    {"{\"input\":{\"apiKey\" : \"x\", \"n\":1}}", "{\"input\":{\"apiKey\" : \"" M "\", \"n\":1}}"},
    {"{\"pass\\u0077ord\":\"x\"}", "{\"pass\\u0077ord\":\"" M "\"}"},
    {"{\"secrets\":{\"a\":\"aB3dE5gH7jK9\",\"b\":[\"y7Kp2mQ9x\",2,null],\"d\":\"plain\"},\"c\":\"z\"}",
     "{\"secrets\":{\"a\":\"" M "\",\"b\":[\"" M "\",2,null],\"d\":\"plain\"},\"c\":\"z\"}"},
    {"{\"headers\":{\"Authorization\":\"Bearer x\",\"Accept\":\"*/*\"}}",
     "{\"headers\":{\"Authorization\":\"" M "\",\"Accept\":\"*/*\"}}"},
    {"{\"env\":[{\"name\":\"API_KEY\",\"value\":\"x\"},{\"name\":\"HOME\",\"value\":\"y\"}]}",
     "{\"env\":[{\"name\":\"API_KEY\",\"value\":\"" M "\"},{\"name\":\"HOME\",\"value\":\"y\"}]}"},
    {"{\"value\":\"x\",\"key\":\"db_password\"}", "{\"value\":\"" M "\",\"key\":\"db_password\"}"},
    /* names that hold secrets; a second one stays another name */
    {"{\"a\":{\"ghp_aaaaaaaaaaaaaaaaaaaaaaaa\":1,\"ghp_bbbbbbbbbbbbbbbbbbbbbbbb\":2}}",
     "{\"a\":{\"" M "\":1,\"" M "-2\":2}}"},
};

static void test_masked(void **state)
{
  (void)state;
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    size_t hits = 0, again = 7;
    RP_AUTOFREE char *out = masked(RP_KIND_TOOL, bodies[i].body, &hits);
    assert_string_equal(out, bodies[i].expected);
    assert_true(hits > 0);
    RP_AUTOFREE char *twice = masked(RP_KIND_TOOL, out, &again);
    assert_string_equal(twice, out);
    assert_int_equal(again, 0);
  }
}

/* The bytes that came are the bytes that stay: not even copied. */
static void test_untouched(void **state)
{
  static const char *const plain[] = {
      "{}",
      "{ \"role\" : \"user\",\t\"content\":\"Hello, how are you?\\n\" }",
      "{\"tokens_in\":12,\"tokens_out\":7,\"max_tokens\":\"4096\",\"token_count\":\"5\"}",
      "{\"message_id\":\"m1\",\"call_id\":\"call_1\",\"task_id\":\"task-1\",\"idempotency_key\":\"k\"}",
      "{\"password\":\"\",\"secret\":null,\"token\":5,\"api_key\":\"[REDACTED]\"}",
      "{\"content\":\"password: the field is required, token = next(it)\"}",
      "{\"pwd\":\"/srv/x\",\"content\":\"caf\\u00e9 http:\\/\\/example.org\\/\"}",
  };
  (void)state;
  for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
    struct rp__buf out = RP_BUF(OUT_MAX);
    struct rp__str ret;
    size_t hits = 7;
    struct rp__json v = rp__json_trusted(plain[i], strlen(plain[i]));
    assert_int_equal(rp__mask_body(r, RP_KIND_ACTIVITY, v, &out, &ret, &hits), 0);
    if (ret.p != plain[i]) fail_msg("%s became %.*s", plain[i], (int)ret.n, ret.p);
    assert_int_equal(ret.n, strlen(plain[i]));
    assert_int_equal(hits, 0);
    assert_null(out.p);
  }
}

/* B-04: variables and headers as bridges send them; the value beside a credential's name is one, others are not. */
static void test_pairs(void **state)
{
  static const char *const names[] = {
      "API_KEY",   "OPENAI_API_KEY",      "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD",  "Authorization",
      "X-Api-Key", "Proxy-Authorization", "x-goog-api-key",        "clientSecret", "api\\u005fkey"};
  static const char *const plain[] = {"HOME",        "PATH",          "MAX_TOKENS",  "TOKENIZER",
                                      "KEYBOARD",    "Accept",        "monkey",      "public_key",
                                      "token_count", "SSH_AUTH_SOCK", "primary_key", "X-Request-Id"};
  static const enum rp__kind kinds[] = {RP_KIND_TOOL, RP_KIND_APPROVAL, RP_KIND_QUESTION, RP_KIND_OTHER};
  char body[400], want[400];
  size_t hits;
  (void)state;
  for (size_t k = 0; k < RP_ARRAY_SIZE(kinds); k++) {
    for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
      static const char form[] = "{\"id\":1,\"acp\":{\"params\":{\"env\":[{\"value\":\"%s\",\"name\":\"%s\"},"
                                 "{\"name\":\"EDITOR\",\"value\":\"vi\"}]}}}";
      snprintf(body, sizeof body, form, "plain words", names[i]);
      snprintf(want, sizeof want, form, M, names[i]);
      RP_AUTOFREE char *out = masked(kinds[k], body, &hits);
      assert_string_equal(out, want);
    }
    for (size_t i = 0; i < RP_ARRAY_SIZE(plain); i++) {
      snprintf(body, sizeof body, "{\"env\":[{\"name\":\"%s\",\"value\":\"plain words\"}]}", plain[i]);
      RP_AUTOFREE char *out = masked(kinds[k], body, &hits);
      assert_string_equal(out, body);
    }
  }
}

/* What is no event's body: JSON by its strings, with white space and repeated names; anything else as one text. */
static void test_bytes(void **state)
{
  static const char *const texts[][2] = {
      {"", ""},
      {"[1,2]", "[1,2]"},
      {"plain text, \"password\": the word", "plain text, \"password\": the word"},
      {" \n{\"a\":\"x\"}\t", " \n{\"a\":\"x\"}\t"},
      {" \n{\"secret\":\"x\"}\t", " \n{\"secret\":\"" M "\"}\t"},
      {"[{\"a\":1,\"a\":\"password=hunter2\"}]", "[{\"a\":1,\"a\":\"password=" M "\"}]"},
      {"\"password=hunter2\"", "\"password=" M "\""},
      {"{\"cut\":\"password=hunter2", "{\"cut\":\"password=" M},
      {"PASSWORD=hunter2\nEDITOR=vi\n", "PASSWORD=" M "\nEDITOR=vi\n"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    struct rp__buf out = RP_BUF(OUT_MAX);
    struct rp__str ret;
    size_t hits = 7;
    assert_int_equal(rp__mask_bytes(r, texts[i][0], strlen(texts[i][0]), &out, &ret, &hits), 0);
    if (!rp__str_eq(ret, texts[i][1])) fail_msg("%s became %.*s", texts[i][0], (int)ret.n, ret.p);
    bool same = strcmp(texts[i][0], texts[i][1]) == 0;
    assert_int_equal(hits, same ? 0 : 1);
    if (same) assert_ptr_equal(ret.p, texts[i][0]);
    rp__buf_done(&out);
  }
}

/* A stream's `token` is a piece of text; as a member of anything else it is a credential if it looks like one. */
static void test_exempt(void **state)
{
  size_t hits = 0;
  (void)state;
  RP_AUTOFREE char *piece = masked(RP_KIND_OTHER, "{\"token\":\" hello\"}", &hits);
  assert_string_equal(piece, "{\"token\":\" hello\"}");
  RP_AUTOFREE char *secret = masked(RP_KIND_OTHER, "{\"token\":\"aB3dE5gH7jK9mN1pQ3sT5vW7\"}", &hits);
  assert_string_equal(secret, "{\"token\":\"" M "\"}");
  RP_AUTOFREE char *deeper = masked(RP_KIND_OTHER, "{\"auth\":{\"token\":\"k3y9x2\"}}", &hits);
  assert_string_equal(deeper, "{\"auth\":{\"token\":\"" M "\"}}");
  RP_AUTOFREE char *tool = masked(RP_KIND_TOOL, "{\"token\":\"k3y9x2\"}", &hits);
  assert_string_equal(tool, "{\"token\":\"" M "\"}");
  RP_AUTOFREE char *word = masked(RP_KIND_TOOL, "{\"token\":\"hello\"}", &hits);
  assert_string_equal(word, "{\"token\":\"hello\"}");
}

static void test_out_too_small(void **state)
{
  static const char body[] = "{\"password\":\"x\"}";
  struct rp__buf out = RP_BUF(12);
  struct rp__str ret;
  (void)state;
  assert_int_equal(rp__mask_body(r, RP_KIND_TOOL, rp__json_trusted(body, strlen(body)), &out, &ret, NULL),
                   RP_E_TOO_LARGE);
  rp__buf_done(&out);
}

/* Without memory it says so, or has done its work without it (a JIT's memory). */
static void test_nomem(void **state)
{
  static const char body[] = "{\"\\u0061\":\"x\",\"t\":\"\\n a password=hunter2 b\",\"secret\":\"y\"}";
  (void)state;
  for (long n = 0, failed = 1; failed; n++) {
    struct rp__redactor *own = NULL;
    struct rp__buf out = RP_BUF(OUT_MAX);
    struct rp__str ret = {0};
    alloc_countdown = n;
    alloc_failed = 0;
    int rc = rp__redactor_new(NULL, &own, NULL);
    if (!rc) rc = rp__mask_body(own, RP_KIND_TOOL, rp__json_trusted(body, strlen(body)), &out, &ret, NULL);
    alloc_countdown = -1;
    failed = alloc_failed;
    if (rc == 0)
      assert_true(rp__str_eq(ret, "{\"\\u0061\":\"x\",\"t\":\"\\n a password=" M " b\",\"secret\":\"" M "\"}"));
    else
      assert_int_equal(rc, RP_E_NOMEM);
    rp__buf_done(&out);
    rp__redactor_free(own);
  }
}

/* ---- speakers ---- */

static struct rp__spoken spoken(enum rp__kind kind, const char *body)
{
  struct rp__spoken ret;
  struct rp__event ev = event_of(1, kind, body);
  rp__spoken_read(&ev, &ret);
  return ret;
}

/* The text of a chunk, and whose it is; none for everything that is no chunk of one text. */
static struct rp__json chunk(enum rp__kind kind, const char *body, char speaker[RP_SPEAKER_MAX])
{
  struct rp__spoken s = spoken(kind, body);
  if (!s.chunk || s.form != RP_SPOKEN_TEXT) return (struct rp__json){0};
  memcpy(speaker, s.name, sizeof s.name);
  return s.text;
}

static void test_chunks(void **state)
{
  char a[RP_SPEAKER_MAX], b[RP_SPEAKER_MAX];
  (void)state;
  struct rp__json text = chunk(
      RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"hi\",\"message_id\":\"m\\u0031\",\"partial\":true}", a);
  assert_true(rp__json_eq(text, "hi"));
  assert_string_equal(a, "message/assistant/m1");
  text = chunk(RP_KIND_MESSAGE,
               "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"ho\"}],\"partial\":true}", b);
  assert_true(rp__json_eq(text, "ho"));
  assert_string_equal(b, "message/user/");
}

static void test_no_chunks(void **state)
{
  static const struct {
    enum rp__kind kind;
    const char *body;
  } whole[] = {
      {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hi\"}"},
      {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hi\",\"partial\":false}"},
      {RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":[{\"text\":\"a\"},{\"text\":\"b\"}],\"partial\":true}"},
      {RP_KIND_TRANSCRIPT, "{\"text\":\"said\"}"},
      {RP_KIND_TRANSCRIPT, "{\"text\":\"said\",\"final\":true}"},
      {RP_KIND_TRANSCRIPT, "{\"text\":\"said\",\"final\":false}"}, /* the next one replaces it */
      {RP_KIND_NOTE, "{\"id\":1,\"text\":\"said\",\"partial\":true,\"final\":false}"},
  };
  char speaker[RP_SPEAKER_MAX];
  (void)state;
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    assert_int_equal(chunk(whole[i].kind, whole[i].body, speaker).type, RP_JSON_NONE);
  struct rp__spoken said = spoken(RP_KIND_MESSAGE, whole[0].body);
  assert_int_equal(said.form, RP_SPOKEN_TEXT);
  assert_true(rp__json_eq(said.text, "hi"));
  assert_string_equal(said.name, "message/user/");
  said = spoken(RP_KIND_MESSAGE, whole[2].body);
  assert_int_equal(said.form, RP_SPOKEN_TEXTS);
  assert_int_equal(said.n_texts, 2);
  assert_true(said.chunk);
  assert_true(spoken(RP_KIND_TRANSCRIPT, whole[5].body).unfinished);
}

/* Names as long as ids may be fit; longer ones are cut, not overrun. */
static void test_long_speaker(void **state)
{
  char id[2000], body[2200];
  (void)state;
  memset(id, 'a', sizeof id);
  id[sizeof id - 1] = '\0';
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"x\",\"message_id\":\"%s\"}", id);
  struct rp__spoken said = spoken(RP_KIND_MESSAGE, body);
  assert_int_equal(said.form, RP_SPOKEN_TEXT);
  assert_int_equal(strlen(said.name), RP_SPEAKER_MAX - 1);
}

/* Who thinks is another speaker; and a role that nobody checked has its bound too. */
static void test_thoughts(void **state)
{
  char speaker[RP_SPEAKER_MAX], role[2000], body[2200];
  (void)state;
  chunk(RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"x\",\"partial\":true,\"thought\":true}", speaker);
  assert_string_equal(speaker, "thought/assistant/");
  chunk(RP_KIND_MESSAGE, "{\"thought\":false,\"role\":\"assistant\",\"content\":\"x\",\"partial\":true}", speaker);
  assert_string_equal(speaker, "message/assistant/");
  memset(role, 'r', sizeof role);
  role[sizeof role - 1] = '\0';
  snprintf(body, sizeof body, "{\"role\":\"%s\",\"text\":\"x\",\"message_id\":\"m\"}", role);
  struct rp__spoken said = spoken(RP_KIND_TRANSCRIPT, body);
  assert_int_equal(said.form, RP_SPOKEN_TEXT);
  assert_true(strlen(said.name) < 200);
  assert_string_equal(said.name + strlen(said.name) - 2, "/m");
}

static void test_closing(void **state)
{
  static const char *const ends[] = {"{\"role\":\"user\",\"content\":[]}", "{\"role\":\"user\",\"content\":\"\"}",
                                     "{\"partial\":false,\"role\":\"user\",\"content\":[ ]}"},
                           *const others[] = {"{\"role\":\"user\",\"content\":[],\"partial\":true}",
                                              "{\"role\":\"user\",\"content\":\"x\"}", "{\"role\":\"user\"}",
                                              "{\"role\":\"user\",\"content\":[{\"type\":\"image\"}]}"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(ends); i++) {
    struct rp__spoken said = spoken(RP_KIND_MESSAGE, ends[i]);
    assert_int_equal(said.form, RP_SPOKEN_END);
    assert_string_equal(said.name, "message/user/");
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(others); i++)
    assert_int_not_equal(spoken(RP_KIND_MESSAGE, others[i]).form, RP_SPOKEN_END);
  assert_int_equal(spoken(RP_KIND_NOTE, ends[0]).form, RP_SPOKEN_NOTHING);
}

static void test_with_text(void **state)
{
  static const char body[] = "{ \"role\":\"user\", \"content\" : \"old\", \"n\":1 }";
  struct rp__buf out = RP_BUF(OUT_MAX);
  (void)state;
  struct rp__json v = rp__json_trusted(body, strlen(body));
  assert_int_equal(rp__spoken_replace(v, rp__json_get(v, "content"), "new \"\n", 6, &out), 0);
  assert_string_equal(out.p, "{ \"role\":\"user\", \"content\" : \"new \\\"\\n\", \"n\":1 }");
  rp__buf_done(&out);
}

static int setup(void **state)
{
  (void)state;
  return rp__redactor_new(NULL, &r, NULL);
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
      cmocka_unit_test(test_masked),        cmocka_unit_test(test_untouched),    cmocka_unit_test(test_exempt),
      cmocka_unit_test(test_out_too_small), cmocka_unit_test(test_nomem),        cmocka_unit_test(test_chunks),
      cmocka_unit_test(test_no_chunks),     cmocka_unit_test(test_long_speaker), cmocka_unit_test(test_with_text),
      cmocka_unit_test(test_pairs),         cmocka_unit_test(test_bytes),        cmocka_unit_test(test_thoughts),
      cmocka_unit_test(test_closing),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
