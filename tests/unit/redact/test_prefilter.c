/* SPDX-License-Identifier: Apache-2.0 */
/* The prefilter finds what a plain search finds, in order. */
#include "redact_test.h"

#include <strings.h>

#include "redact/prefilter.h"

#define TEXTS 3000
#define TEXT_MAX 300

static uint32_t roll(uint32_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 17;
  *x ^= *x << 5;
  return *x;
}

/* Pieces of literals among words and odd bytes. */
static size_t text_make(const struct rp__prefilter *f, char *out, uint32_t seed)
{
  uint32_t x = seed * 2654435761u | 1;
  size_t n = 0, want = roll(&x) % TEXT_MAX;
  while (n < want) {
    const struct rp__literal *l = &f->literals[roll(&x) % f->n];
    size_t k = roll(&x) % 4 == 0 ? l->n : roll(&x) % (l->n + 1u);
    for (size_t i = 0; i < k && n < want; i++)
      out[n++] = roll(&x) % 3 || l->text[i] < 'a' || l->text[i] > 'z' ? l->text[i] : (char)(l->text[i] - 32);
    for (uint32_t i = roll(&x) % 6; i > 0 && n < want; i--)
      out[n++] = (char)(roll(&x) % 9 ? 'a' + roll(&x) % 26 : roll(&x));
  }
  return n;
}

static bool plain_next(const struct rp__prefilter *f, const char *text, size_t n, size_t from, size_t *ret)
{
  for (size_t at = from; at < n; at++) {
    for (size_t i = 0; i < f->n; i++) {
      const struct rp__literal *l = &f->literals[i];
      if (l->n > n - at || strncasecmp(text + at, l->text, l->n) != 0) continue;
      *ret = at;
      return true;
    }
  }
  return false;
}

static void compare(const struct rp__prefilter *f, const char *text, size_t n)
{
  struct rp__hit hit;
  for (size_t from = 0, at = 0; from <= n; from = at + 1) {
    bool there = plain_next(f, text, n, from, &at);
    assert_int_equal(rp__prefilter_next(f, text, n, from, &hit), there);
    if (!there) return;
    assert_int_equal(hit.at, at);
    assert_true(hit.n <= n - at && hit.row < rp__patterns_n);
  }
}

static void test_finds_every_literal(void **state)
{
  struct rp__prefilter f;
  size_t with = 0;
  (void)state;
  rp__prefilter_init(&f);
  for (uint32_t i = 1; i <= TEXTS; i++) {
    RP_AUTOFREE char *text = malloc(TEXT_MAX);
    size_t n = text_make(&f, text, i), at;
    /* In memory of its exact size, so that a read beyond it shows. */
    RP_AUTOFREE char *exact = malloc(n ? n : 1);
    memcpy(exact, text, n);
    with += plain_next(&f, exact, n, 0, &at);
    compare(&f, exact, n);
  }
  assert_in_range(with, TEXTS / 2, TEXTS);
}

/* All literals have room, and a row of its own each. */
static void test_all_literals_are_in(void **state)
{
  struct rp__prefilter f;
  size_t n = 0;
  (void)state;
  rp__prefilter_init(&f);
  for (size_t row = 0; row < rp__patterns_n; row++)
    for (const char *const *word = rp__patterns[row].literals; word && *word; word++) n++;
  assert_int_equal(f.n, n);
  for (size_t i = 0; i < f.n; i++) {
    assert_in_range(f.literals[i].n, 3, 31);
    for (size_t k = 0; k < f.n; k++) {
      bool begins = strncmp(f.literals[i].text, f.literals[k].text, f.literals[i].n) == 0;
      if (begins && f.literals[i].row != f.literals[k].row)
        fail_msg("'%s' hides '%s'", f.literals[i].text, f.literals[k].text);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_finds_every_literal),
      cmocka_unit_test(test_all_literals_are_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
