/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of restoration against the requirements' own numbers. */
#include "continuity_test.h"

#include "../../lib/dice.h"

#include <math.h>

/* X-03, with the numbers of the requirement */
static void fades_as_required(void **state)
{
  (void)state;
  static const struct {
    double hours, factor;
  } table[] = {{-5, 1},   {0, 1},    {24, .942857}, {48, .885714},  {84, .8},
               {168, .6}, {294, .3}, {1000, .3},    {200, .523810}, {INFINITY, .3}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++)
    assert_near(rp__decay_factor(table[i].hours, .4, .3), table[i].factor);
  assert_true(rp__decay_factor(293, .4, .3) > .3);
  assert_near(rp__decay_factor(NAN, .4, .3), 1);
  assert_near(rp__decay_factor(168, 1, 0), 0);
}

/* */
static void terms_are_as_required(void **state)
{
  (void)state;
  uint64_t abc[] = {1, 2, 3}, abd[] = {1, 2, 4}, xy[] = {8, 9};
  assert_near(rp__recency(48, 168), .714286);
  assert_near(rp__recency(168, 168), 0);
  assert_near(rp__recency(200, 168), 0);
  assert_near(rp__recency(-1, 168), 1);
  assert_near(rp__overlap(abc, 3, abd, 3), .5);
  assert_near(rp__overlap(abc, 3, abc, 3), 1);
  assert_near(rp__overlap(abc, 3, xy, 2), 0);
  assert_near(rp__overlap(abc, 3, NULL, 0), 0);
  assert_near(rp__overlap(NULL, 0, NULL, 0), 0);
  assert_near(rp__tasks_term(-1), 0);
  assert_near(rp__tasks_term(0), 0);
  assert_near(rp__tasks_term(1), .25);
  assert_near(rp__tasks_term(4), 1);
  assert_near(rp__tasks_term(10), 1);
  assert_near(rp__tasks_term(INT64_MAX), 1);
}

/* the values of the seed's own tests */
static void relevance_is_as_required(void **state)
{
  (void)state;
  assert_near(rp__relevance(1, 0, 0), .4);
  assert_near(rp__relevance(rp__recency(84, 168), 0, 0), .2);
  assert_near(rp__relevance(rp__recency(168, 168), 1, 0), .35);
  assert_near(rp__relevance(0, .5, 0), .175);
  assert_near(rp__relevance(0, 0, rp__tasks_term(1)), .0625);
  assert_near(rp__relevance(0, 0, rp__tasks_term(4)), .25);
  assert_near(rp__relevance(0, 0, rp__tasks_term(10)), .25);
  assert_near(rp__relevance(1, 1, 1), 1);
  assert_near(rp__relevance(rp__recency(144, 168), 0, rp__tasks_term(3)), .244643);
}

static void laws_hold_for_any_number(void **state)
{
  (void)state;
  struct dice d = dice_new();
  for (int i = 0; i < 2000; i++) {
    double h = (double)dice_below(&d, 1000000) / 1000, more = h + (double)dice_below(&d, 100000) / 1000;
    double rate = (double)dice_below(&d, 3000) / 1000, floor = (double)dice_below(&d, 1000) / 1000;
    double a = rp__decay_factor(h, rate, floor), b = rp__decay_factor(more, rate, floor);
    assert_true(b <= a && a <= 1 && b >= floor - 1e-12);
    double score =
        rp__relevance(rp__recency(h, 168), (double)dice_below(&d, 1001) / 1000, rp__tasks_term(dice_below(&d, 20)));
    assert_true(score >= 0 && score <= 1);
    assert_true(rp__recency(more, 168) <= rp__recency(h, 168));
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fades_as_required),
      cmocka_unit_test(terms_are_as_required),
      cmocka_unit_test(relevance_is_as_required),
      cmocka_unit_test(laws_hold_for_any_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
