/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails, for every n: a typed error, and nothing is leaked. */
#include "json_test.h"

static int left = -1; /* allocations that still succeed; negative: all */
static unsigned long made;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static bool allowed(void)
{
  made++;
  if (left == 0) return false;
  if (left > 0) left--;
  return true;
}

void *__wrap_malloc(size_t n)
{
  return allowed() ? __real_malloc(n) : NULL;
}

void *__wrap_calloc(size_t n, size_t size)
{
  return allowed() ? __real_calloc(n, size) : NULL;
}

void *__wrap_realloc(void *p, size_t n)
{
  return allowed() ? __real_realloc(p, n) : NULL;
}

static void test_ordinary_messages_allocate_nothing(void **state)
{
  (void)state;
  static const char text[] =
      "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"h\\u00e9llo\"}],\"n\":1.5e300}";
  double d;
  made = 0;
  struct rp__json v = value_of(text);
  assert_int_equal(rp__json_get(v, "content").type, RP_JSON_ARRAY);
  assert_true(rp__json_double(rp__json_get(v, "n"), &d));
  assert_int_equal(made, 0);
}

static void test_parse(void **state)
{
  (void)state;
  static char text[100000];
  size_t n = 1;
  text[0] = '{';
  for (int i = 0; i < 1000; i++) n += (size_t)snprintf(text + n, sizeof(text) - n, "%s\"k%d\":0", i ? "," : "", i);
  text[n++] = '}';
  int r, tries = 0;
  do {
    struct rp__json v = {0};
    rp_error err = {0};
    left = tries++;
    r = rp__json_parse(text, n, NULL, &v, &err);
    left = -1;
    assert_true(r == 0 || (r == RP_E_NOMEM && err.code == RP_E_NOMEM && v.type == RP_JSON_NONE));
  } while (r != 0 && tries < 100);
  assert_int_equal(r, 0);
  assert_true(tries > 2);
}

static void test_text(void **state)
{
  (void)state;
  struct rp__json v = value_of("\"a\\nb\"");
  RP_AUTOBUF struct rp__buf out = RP_BUF(100);
  left = 0;
  char *copy = rp__json_dup(v);
  int r = rp__json_text(v, &out);
  left = -1;
  assert_null(copy);
  assert_int_equal(r, RP_E_NOMEM);
  rp__buf_reset(&out);
  assert_int_equal(rp__json_text(v, &out), 0);
}

static void test_write(void **state)
{
  (void)state;
  int err, tries = 0;
  do {
    RP_AUTOBUF struct rp__buf out = RP_BUF(100000);
    struct rp__jw w = RP_JW(&out);
    left = tries++;
    rp__jw_array(&w);
    for (int i = 0; i < 500; i++) rp__jw_strn(&w, "text \n \xff more of it", 17);
    rp__jw_double(&w, 0.1);
    rp__jw_end_array(&w);
    left = -1;
    err = out.err;
    assert_true(err == 0 || err == RP_E_NOMEM);
  } while (err && tries < 100);
  assert_int_equal(err, 0);
  assert_true(tries > 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ordinary_messages_allocate_nothing),
      cmocka_unit_test(test_parse),
      cmocka_unit_test(test_text),
      cmocka_unit_test(test_write),
  };
  return cmocka_run_group_tests_name("json nomem", tests, NULL, NULL);
}
