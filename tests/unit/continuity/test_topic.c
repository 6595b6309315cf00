/* SPDX-License-Identifier: Apache-2.0 */
/* Topics as hashes, and their ranking. */
#include "continuity_test.h"

static uint64_t hash(const char *s)
{
  return rp__topic_hash(s, strlen(s), NULL);
}

/* overlap is of lower-cased topics */
static void case_does_not_count(void **state)
{
  (void)state;
  assert_true(hash("Ham Radio") == hash("ham radio"));
  assert_true(hash("ham radio") != hash("ham-radio"));
  assert_true(hash("ÄRGER") == hash("ärger"));
  assert_true(hash("ŁÓDŹ") == hash("łódź"));
  assert_true(hash("ŸĞ") == hash("ÿğ"));
  assert_true(hash("ΑΒΓ") == hash("αβγ"));
  assert_true(hash("ПРИВЕТ Ё") == hash("привет ё"));
  assert_true(hash("日本") != hash("日木"));
  assert_true(hash("") != hash(" "));
  assert_true(hash("×") != hash("÷"));
  assert_true(hash("\xff\xfe") != hash("\xfe\xff"));
}

static void long_topics_are_hashed_whole(void **state)
{
  (void)state;
  char a[1000], b[1000];
  memset(a, 'a', sizeof a);
  memset(b, 'A', sizeof b);
  assert_true(rp__topic_hash(a, sizeof a, NULL) == rp__topic_hash(b, sizeof b, NULL));
  b[999] = 'b';
  assert_true(rp__topic_hash(a, sizeof a, NULL) != rp__topic_hash(b, sizeof b, NULL));
}

/* Without its key a sealed scope's topics can't be guessed */
static void a_key_changes_every_hash(void **state)
{
  (void)state;
  unsigned char one[32] = {1}, two[32] = {2};
  assert_true(rp__topic_hash("radio", 5, one) != rp__topic_hash("radio", 5, two));
  assert_true(rp__topic_hash("radio", 5, one) != hash("radio"));
  assert_true(rp__topic_hash("Radio", 5, one) == rp__topic_hash("radio", 5, one));
}

static void sets_are_sorted_without_repeats(void **state)
{
  (void)state;
  uint64_t v[] = {5, 1, 5, 3, 1, 9};
  assert_int_equal(rp__topic_set(v, 6), 4);
  assert_true(v[0] == 1 && v[1] == 3 && v[2] == 5 && v[3] == 9);
  assert_int_equal(rp__topic_set(v, 0), 0);
}

/* */
static void rare_topics_rank_first(void **state)
{
  (void)state;
  struct rp__topic t[] = {{"frequent", 8, 1.0, 50}, {"rare", 4, .9, 0}, {"other", 5, .9, 0}, {"scarce", 6, .5, 10}};
  assert_int_equal(rp__topic_rank(t, 4, 100), 4);
  assert_string_equal(t[0].text, "rare");
  assert_string_equal(t[1].text, "other");
  assert_string_equal(t[2].text, "scarce");
  assert_string_equal(t[3].text, "frequent");
}

/* a word of more than half of the sessions is a stop word of the scope, once there are enough of them */
static void what_most_sessions_have_is_no_topic(void **state)
{
  (void)state;
  struct rp__topic half[] = {{"cuetrace", 8, 9, 3}, {"heatmap", 7, 1, 0}};
  struct rp__topic most[] = {{"cuetrace", 8, 9, 4}, {"heatmap", 7, 1, 0}};
  struct rp__topic young[] = {{"cuetrace", 8, 9, 5}, {"heatmap", 7, 1, 0}};
  assert_int_equal(rp__topic_rank(half, 2, 6), 2);
  assert_int_equal(rp__topic_rank(most, 2, 6), 1);
  assert_string_equal(most[0].text, "heatmap");
  assert_int_equal(rp__topic_rank(young, 2, 5), 2);
}

static void without_a_past_the_order_stays(void **state)
{
  (void)state;
  struct rp__topic t[] = {{"a", 1, .1, 0}, {"b", 1, 1, 0}, {"c", 1, .5, 0}};
  assert_int_equal(rp__topic_rank(t, 3, 0), 3);
  assert_string_equal(t[0].text, "a");
  assert_string_equal(t[2].text, "c");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(case_does_not_count),
      cmocka_unit_test(long_topics_are_hashed_whole),
      cmocka_unit_test(a_key_changes_every_hash),
      cmocka_unit_test(sets_are_sorted_without_repeats),
      cmocka_unit_test(rare_topics_rank_first),
      cmocka_unit_test(without_a_past_the_order_stays),
      cmocka_unit_test(what_most_sessions_have_is_no_topic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
