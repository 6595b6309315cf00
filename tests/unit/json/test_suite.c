/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every case of the JSON Test Suite: y_ is accepted, n_ is refused, i_ is decided
 * in the table below. Duplicate keys are allowed here, as in RFC 8259.
 */
#include <dirent.h>

#include "json_test.h"

#define FILE_MAX (1 << 20)
#define SKIPPED 77

/* What the standard leaves open, and what we do. */
static const struct {
  const char *name;
  int code;
} decisions[] = {
    /* Numbers are kept as written; whoever wants a double or an integer learns then that it does not fit. */
    {"i_number_double_huge_neg_exp.json", 0},
    {"i_number_huge_exp.json", 0},
    {"i_number_neg_int_huge_exp.json", 0},
    {"i_number_pos_double_huge_exp.json", 0},
    {"i_number_real_neg_overflow.json", 0},
    {"i_number_real_pos_overflow.json", 0},
    {"i_number_real_underflow.json", 0},
    {"i_number_too_big_neg_int.json", 0},
    {"i_number_too_big_pos_int.json", 0},
    {"i_number_very_big_negative_int.json", 0},
    /* Half a surrogate pair is in the grammar, and what is left of an emoji that was cut: kept, and read as U+FFFD. */
    {"i_object_key_lone_2nd_surrogate.json", 0},
    {"i_string_1st_surrogate_but_2nd_missing.json", 0},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", 0},
    {"i_string_incomplete_surrogate_and_escape_valid.json", 0},
    {"i_string_incomplete_surrogate_pair.json", 0},
    {"i_string_incomplete_surrogates_escape_valid.json", 0},
    {"i_string_invalid_lonely_surrogate.json", 0},
    {"i_string_invalid_surrogate.json", 0},
    {"i_string_inverted_surrogates_U+1D11E.json", 0},
    {"i_string_lone_second_surrogate.json", 0},
    /* UTF-8 and nothing else, without a byte order mark. */
    {"i_string_UTF-16LE_with_BOM.json", RP_E_JSON},
    {"i_string_utf16BE_no_BOM.json", RP_E_JSON},
    {"i_string_utf16LE_no_BOM.json", RP_E_JSON},
    {"i_structure_UTF-8_BOM_empty_object.json", RP_E_JSON},
    {"i_string_UTF-8_invalid_sequence.json", RP_E_JSON},
    {"i_string_UTF8_surrogate_U+D800.json", RP_E_JSON},
    {"i_string_invalid_utf-8.json", RP_E_JSON},
    {"i_string_iso_latin_1.json", RP_E_JSON},
    {"i_string_lone_utf8_continuation_byte.json", RP_E_JSON},
    {"i_string_not_in_unicode_range.json", RP_E_JSON},
    {"i_string_overlong_sequence_2_bytes.json", RP_E_JSON},
    {"i_string_overlong_sequence_6_bytes.json", RP_E_JSON},
    {"i_string_overlong_sequence_6_bytes_null.json", RP_E_JSON},
    {"i_string_truncated-utf-8.json", RP_E_JSON},
    /* Good JSON, deeper than the default limit. */
    {"i_structure_500_nested_arrays.json", RP_E_TOO_LARGE},
};

static int decision_of(const char *name)
{
  for (size_t i = 0; i < RP_ARRAY_SIZE(decisions); i++)
    if (strcmp(decisions[i].name, name) == 0) return decisions[i].code;
  fail_msg("%s: not decided", name);
  return 1;
}

static size_t file_read(const char *folder, const char *name, char *bytes)
{
  char path[1000];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  size_t n = fread(bytes, 1, FILE_MAX, f);
  assert_true(feof(f));
  fclose(f);
  return n;
}

static void test_file(const char *name, const char *bytes, size_t n)
{
  struct rp__json_limits limits = {.allow_duplicates = true};
  struct rp__json v;
  rp_error err = {.message = "accepted"};
  int r = rp__json_parse(bytes, n, &limits, &v, &err);
  int good = name[0] == 'y' ? r == 0 : name[0] == 'n' ? r != 0 : r == decision_of(name);
  if (!good) fail_msg("%s: %s", name, err.message);
}

static void test_files(void **state)
{
  static const char kinds[] = "yni";
  const char *folder = *state;
  RP_AUTOFREE char *bytes = malloc(FILE_MAX);
  assert_non_null(bytes);
  unsigned counts[3] = {0};
  DIR *d = opendir(folder);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) {
    const char *kind = strchr(kinds, e->d_name[0]);
    if (!kind || e->d_name[1] != '_') continue;
    test_file(e->d_name, bytes, file_read(folder, e->d_name, bytes));
    counts[kind - kinds]++;
  }
  closedir(d);
  print_message("y_ %u accepted, n_ %u refused, i_ %u decided\n", counts[0], counts[1], counts[2]);
  assert_true(counts[0] > 0 && counts[1] > 0);
  assert_int_equal(counts[2], RP_ARRAY_SIZE(decisions));
}

/* Accepted as syntax, kept as written, but not a double. */
static void test_out_of_range_is_syntax_only(void **state)
{
  (void)state;
  struct rp__json v = value_of("123123e100000");
  double d;
  assert_false(rp__json_double(v, &d));
  assert_span(v, "123123e100000");
}

int main(void)
{
  char *folder = getenv("JSON_SUITE");
  DIR *d = folder ? opendir(folder) : NULL;
  if (!d) {
    printf("skipped: the folder of the JSON Test Suite is absent\n");
    return SKIPPED;
  }
  closedir(d);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(test_files, folder),
      cmocka_unit_test(test_out_of_range_is_syntax_only),
  };
  return cmocka_run_group_tests_name("json suite", tests, NULL, NULL);
}
