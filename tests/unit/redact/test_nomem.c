/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation fails once: the call says so or does without (a JIT's memory), and nothing leaks either way. */
#include "redact_test.h"

#include "../core/alloc_fault.h"
#include "redact/stream.h"

static const char text[] = "a password=hunter2 and sk-" MIX32 " with own-123 in it";
#define MASKED "a password=" RP_MASK " and " RP_MASK " with " RP_MASK " in it"

typedef int work_fn(struct rp__buf *out);

static int with_text(struct rp__buf *out)
{
  struct rp__redactor *r = NULL;
  rp_error err = {0};
  int rc = rp__redactor_new("own-\\d+", &r, &err);
  assert_int_equal(rc, err.code);
  if (!rc) rc = rp__redact_text(r, text, strlen(text), out, NULL);
  rp__redactor_free(r);
  return rc;
}

static int with_stream(struct rp__buf *out)
{
  struct rp__redactor *r = NULL;
  struct rp__redact_stream s = {0}, copy = {0};
  int rc = rp__redactor_new("own-\\d+", &r, NULL);
  for (size_t at = 0; at < strlen(text) && !rc; at += 7) {
    rc = rp__redact_stream_push(r, &s, text + at, RP_MIN(strlen(text) - at, 7), out, NULL);
    struct rp__buf saved = RP_BUF(RP_REDACT_SAVED);
    rp__redact_stream_save(&s, &saved);
    if (!rc) rc = saved.err;
    if (!rc) rc = rp__redact_stream_load(saved.p, saved.n, &copy);
    rp__redact_stream_done(&copy);
    rp__buf_done(&saved);
  }
  if (!rc) rc = rp__redact_stream_end(r, &s, false, out, NULL);
  rp__redact_stream_done(&s);
  rp__redactor_free(r);
  return rc;
}

static int with_seam(struct rp__buf *out)
{
  struct rp__redactor *r = NULL;
  int rc = rp__redactor_new("own-\\d+", &r, NULL);
  if (!rc) rc = rp__redact_after(r, "x", 1, true, text, strlen(text), out, NULL);
  rp__redactor_free(r);
  return rc;
}

static void enumerate(work_fn *work)
{
  for (long n = 0;; n++) {
    struct rp__buf out = RP_BUF(OUT_MAX);
    alloc_countdown = n;
    alloc_failed = 0;
    int rc = work(&out);
    alloc_countdown = -1;
    if (rc == 0) assert_string_equal(out.p, MASKED);
    if (rc && rc != RP_E_NOMEM) fail_msg("allocation %ld failed: %d", n, rc);
    rp__buf_done(&out);
    if (alloc_failed) continue;
    assert_int_equal(rc, 0);
    assert_true(n > 5);
    return;
  }
}

static void test_text(void **state)
{
  (void)state;
  enumerate(with_text);
}

static void test_stream(void **state)
{
  (void)state;
  enumerate(with_stream);
}

static void test_seam(void **state)
{
  (void)state;
  enumerate(with_seam);
}

/* A push that fails may be tried again. */
static void test_push_again(void **state)
{
  (void)state;
  struct rp__redactor *r = redactor_of(NULL);
  for (long n = 0, failed = 1; failed; n++) {
    struct rp__redact_stream s = {0};
    struct rp__buf out = RP_BUF(OUT_MAX), lost = RP_BUF(OUT_MAX);
    assert_int_equal(rp__redact_stream_push(r, &s, "password=hun", 12, &out, NULL), 0);
    alloc_countdown = n;
    alloc_failed = 0;
    int rc = rp__redact_stream_push(r, &s, "ter2 bye", 8, &lost, NULL);
    alloc_countdown = -1;
    failed = alloc_failed;
    if (rc) assert_int_equal(rp__redact_stream_push(r, &s, "ter2 bye", 8, &out, NULL), 0);
    if (!rc) rp__buf_add(&out, lost.p, lost.n);
    assert_int_equal(rp__redact_stream_end(r, &s, false, &out, NULL), 0);
    assert_string_equal(out.p, "password=" RP_MASK " bye");
    rp__buf_done(&out);
    rp__buf_done(&lost);
  }
  rp__redactor_free(r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_stream),
      cmocka_unit_test(test_seam),
      cmocka_unit_test(test_push_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
