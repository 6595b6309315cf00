/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms that are promised, and how many of them are caught: as text, in pieces (cut at every place, the
 * stream gives out what the whole gives) and as JSON. And what has a credential's name and must stay.
 */
#include "redact_test.h"

#include "core/mask.h"
#include "redact/stream.h"

#include "shapes.h"

static struct rp__redactor *r;

/* The shape without its brackets, and as it is to come out. */
static void shape_read(const char *shape, char *text, char *want)
{
  bool inside = false;
  while (*shape) {
    if (strncmp(shape, OPEN, 2) == 0 || strncmp(shape, CLOSE, 2) == 0) {
      inside = shape[1] == OPEN[1];
      if (inside) want = stpcpy(want, RP_MASK);
      shape += 2;
    } else {
      if (!inside) *want++ = *shape;
      *text++ = *shape++;
    }
  }
  *text = *want = '\0';
}

static char *json_masked(const char *text)
{
  struct rp__buf out = RP_BUF(OUT_MAX);
  struct rp__str ret;
  struct rp__json v;
  assert_int_equal(rp__json_parse(text, strlen(text), NULL, &v, NULL), 0);
  assert_int_equal(rp__mask_bytes(r, text, strlen(text), &out, &ret, NULL), 0);
  char *copy = strndup(ret.p, ret.n);
  rp__buf_done(&out);
  assert_non_null(copy);
  return copy;
}

/* How many of them come out as they should; the others are told. */
static size_t count(const char *const *shapes, size_t n, bool json)
{
  size_t caught = 0;
  for (size_t i = 0; i < n; i++) {
    char text[512], want[512];
    assert_true(strlen(shapes[i]) < sizeof text / 2);
    shape_read(shapes[i], text, want);
    RP_AUTOFREE char *out = json ? json_masked(text) : masked_text(r, text, strlen(text), NULL);
    if (strcmp(out, want) == 0)
      caught++;
    else
      print_message("  '%s'\n  became '%s'\n", shapes[i], out);
  }
  return caught;
}

static void test_every_promised_shape_is_caught(void **state)
{
  (void)state;
  size_t n = RP_ARRAY_SIZE(text_shapes), k = RP_ARRAY_SIZE(json_shapes);
  size_t text = count(text_shapes, n, false), json = count(json_shapes, k, true);
  print_message("shapes caught: %zu of %zu as text, %zu of %zu as JSON\n", text, n, json, k);
  assert_int_equal(text, n);
  assert_int_equal(json, k);
}

static void test_names_without_a_secret_stay(void **state)
{
  (void)state;
  size_t n = RP_ARRAY_SIZE(text_plain), k = RP_ARRAY_SIZE(json_plain);
  size_t text = count(text_plain, n, false), json = count(json_plain, k, true);
  print_message("left alone: %zu of %zu as text, %zu of %zu as JSON\n", text, n, json, k);
  assert_int_equal(text, n);
  assert_int_equal(json, k);
}

/* Whatever the whole masks is masked when it comes in two pieces, and nothing of it is given out before. */
static void cut_everywhere(const char *shape)
{
  char text[512], want[512];
  shape_read(shape, text, want);
  size_t n = strlen(text);
  RP_AUTOFREE char *whole = masked_text(r, text, n, NULL);
  for (size_t cut = 0; cut <= n; cut++) {
    struct rp__redact_stream s = {0};
    struct rp__buf out = RP_BUF(OUT_MAX);
    assert_int_equal(rp__redact_stream_push(r, &s, text, cut, &out, NULL), 0);
    if (out.n && strncmp(out.p, whole, out.n) != 0) fail_msg("'%.*s' gives out '%s'", (int)cut, text, out.p);
    assert_int_equal(rp__redact_stream_push(r, &s, text + cut, n - cut, &out, NULL), 0);
    assert_int_equal(rp__redact_stream_end(r, &s, false, &out, NULL), 0);
    if (strcmp(out.p ? out.p : "", whole) != 0) fail_msg("'%s' cut at %zu became '%s'", text, cut, out.p);
    rp__buf_done(&out);
  }
}

static void test_every_shape_cut_everywhere(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(text_shapes); i++) cut_everywhere(text_shapes[i]);
  for (size_t i = 0; i < RP_ARRAY_SIZE(text_plain); i++) cut_everywhere(text_plain[i]);
}

/* Masked text is not masked again. */
static void test_masks_stay(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(text_shapes); i++) {
    char text[512], want[512];
    size_t hits = 0;
    shape_read(text_shapes[i], text, want);
    RP_AUTOFREE char *again = masked_text(r, want, strlen(want), &hits);
    assert_string_equal(again, want);
    assert_int_equal(hits, 0);
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
  return 0;
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_promised_shape_is_caught),
      cmocka_unit_test(test_names_without_a_secret_stay),
      cmocka_unit_test(test_every_shape_cut_everywhere),
      cmocka_unit_test(test_masks_stay),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
