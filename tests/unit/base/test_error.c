/* SPDX-License-Identifier: Apache-2.0 */
/* The table of errors, and filling in rp_error. */
#include "scratch.h"

#include <errno.h>

#include "base/error.h"

static const struct {
  int code;
  const char *name;
  int exit_code;
} table[] = {
#define X(symbol, code, name, http, rpc, exit, retry, text) {RP_E_##symbol, name, exit},
    RP_ERROR_TABLE(X)
#undef X
};

static void lookup_finds_every_row(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    const rp_error_info *info = rp_error_lookup(table[i].code);
    assert_int_equal(info->code, table[i].code);
    assert_string_equal(info->name, table[i].name);
    assert_int_equal(info->exit_code, table[i].exit_code);
    assert_true(*info->text);
  }
}

static void rows_are_distinct(void **state)
{
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(table); i++) {
    assert_true(table[i].code < 0);
    for (size_t j = 0; j < i; j++) {
      assert_int_not_equal(table[i].code, table[j].code);
      assert_string_not_equal(table[i].name, table[j].name);
    }
  }
}

static void lookup_of_the_unknown_is_internal(void **state)
{
  (void)state;
  assert_int_equal(rp_error_lookup(-9999)->code, RP_E_FAILED);
  assert_int_equal(rp_error_lookup(1)->code, RP_E_FAILED);
}

static void fail_replaces_all_that_was_there(void **state)
{
  (void)state;
  rp_error err;
  memset(&err, 'x', sizeof err);
  assert_int_equal(rp__fail(&err, RP_E_USAGE, "bad %s %d", "thing", 7), RP_E_USAGE);
  assert_int_equal(err.code, RP_E_USAGE);
  assert_string_equal(err.message, "bad thing 7");
  assert_string_equal(err.hint, "");
  assert_string_equal(err.field, "");
}

static void fail_names_a_field(void **state)
{
  (void)state;
  rp_error err;
  assert_int_equal(rp__fail_field(&err, RP_E_INVALID, "body.role", "must be text"), RP_E_INVALID);
  assert_string_equal(err.field, "body.role");
  assert_string_equal(err.message, "must be text");
}

static void message_is_cut_at_a_character(void **state)
{
  (void)state;
  rp_error err;
  char text[1001] = "";
  for (int i = 0; i < 500; i++) memcpy(text + 2 * i, "\xc3\xa9", 2);
  rp__fail(&err, RP_E_FAILED, "%s", text);
  assert_int_equal(strlen(err.message), 398);
  rp__fail(&err, RP_E_FAILED, "x%s", text);
  assert_int_equal(strlen(err.message), 399);
  rp__fail_field(&err, RP_E_FAILED, text, "x");
  assert_int_equal(strlen(err.field), 78);
  rp__hint(&err, "%s", text);
  assert_int_equal(strlen(err.hint), 198);
}

static void message_is_one_line(void **state)
{
  (void)state;
  rp_error err;
  rp__fail(&err, RP_E_FAILED, "a\nb\x1b[31mc\x7f");
  assert_string_equal(err.message, "a b [31mc ");
}

static void message_may_be_made_of_itself(void **state)
{
  (void)state;
  rp_error err;
  rp__fail(&err, RP_E_FAILED, "inner");
  rp__fail(&err, RP_E_IO, "outer (%s)", err.message);
  assert_string_equal(err.message, "outer (inner)");
}

static void errno_is_translated(void **state)
{
  (void)state;
  static const struct {
    int errnum, code;
  } rows[] = {{ENOSPC, RP_E_FULL},           {EDQUOT, RP_E_FULL},  {EROFS, RP_E_READONLY}, {EACCES, RP_E_READONLY},
              {ENOENT, RP_E_FILE_NOT_FOUND}, {ENOMEM, RP_E_NOMEM}, {EIO, RP_E_IO},         {EXDEV, RP_E_IO}};
  rp_error err;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    assert_int_equal(rp__fail_errno(&err, rows[i].errnum, "%s", "a/b"), rows[i].code);
    assert_int_equal(err.code, rows[i].code);
  }
  rp__fail_errno(&err, ENOSPC, "a/%s", "b");
  assert_string_equal(err.message, "a/b: No space left on device");
  rp__fail_errno(&err, 99999, "x");
  assert_string_equal(err.message, "x: unknown error");
}

static void wrap_puts_context_before(void **state)
{
  (void)state;
  rp_error err;
  rp__fail_field(&err, RP_E_FULL, "f", "no space");
  rp__hint(&err, "delete %d things", 3);
  assert_int_equal(rp__wrap(&err, "start of %s", "nova"), RP_E_FULL);
  assert_string_equal(err.message, "start of nova: no space");
  assert_string_equal(err.hint, "delete 3 things");
  assert_string_equal(err.field, "f");
  for (int i = 0; i < 200; i++) rp__wrap(&err, "again");
  assert_int_equal(strlen(err.message), sizeof err.message - 1);
  assert_int_equal(err.code, RP_E_FULL);
}

static void nobody_need_listen(void **state)
{
  (void)state;
  assert_int_equal(rp__fail(NULL, RP_E_USAGE, "x"), RP_E_USAGE);
  assert_int_equal(rp__fail_field(NULL, RP_E_INVALID, "f", "x"), RP_E_INVALID);
  assert_int_equal(rp__fail_errno(NULL, ENOSPC, "x"), RP_E_FULL);
  assert_int_equal(rp__fail_nomem(NULL), RP_E_NOMEM);
  assert_int_equal(rp__wrap(NULL, "x"), RP_E_FAILED);
  rp__hint(NULL, "x");
}

static void no_memory_has_its_text(void **state)
{
  (void)state;
  rp_error err;
  memset(&err, 'x', sizeof err);
  assert_int_equal(rp__fail_nomem(&err), RP_E_NOMEM);
  assert_string_equal(err.message, "out of memory");
  assert_string_equal(err.hint, "");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lookup_finds_every_row),
      cmocka_unit_test(rows_are_distinct),
      cmocka_unit_test(lookup_of_the_unknown_is_internal),
      cmocka_unit_test(fail_replaces_all_that_was_there),
      cmocka_unit_test(fail_names_a_field),
      cmocka_unit_test(message_is_cut_at_a_character),
      cmocka_unit_test(message_is_one_line),
      cmocka_unit_test(message_may_be_made_of_itself),
      cmocka_unit_test(errno_is_translated),
      cmocka_unit_test(wrap_puts_context_before),
      cmocka_unit_test(nobody_need_listen),
      cmocka_unit_test(no_memory_has_its_text),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
