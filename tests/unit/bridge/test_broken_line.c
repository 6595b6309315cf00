/* SPDX-License-Identifier: Apache-2.0 */
/* The id of a line that can't be read: only where there is no doubt (B-04). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bridge/broken-line.h"

static void ids_are_found_where_there_is_no_doubt(void **state)
{
  (void)state;
  static const struct {
    const char *line, *id; /* NULL: none */
  } rows[] = {
      {"", NULL},
      {"  ", NULL},
      {"nonsense", NULL},
      {"[{\"id\":1}", NULL},
      {"{\"id\":1,", "1"},
      {" {\"id\" : 12 , x", "12"},
      {"{\"id\":-1.5e3}}", "-1.5e3"},
      {"{\"id\":\"a\\\"b\",", "\"a\\\"b\""},
      {"{\"a\":{\"id\":2},\"id\":3,\"b\":\"\\x\"}", "3"},
      {"{\"a\":\"\\\"id\\\":4\",", NULL},
      {"{\"a\":\"id\",\"b\":", NULL},
      {"{\"a\":[\"id\",5],\"id\":6,!", "6"},
      {"{\"id\":1,\"id\":2,", NULL},
      {"{\"id\":1", NULL}, /* perhaps 12 */
      {"{\"id\":\"a", NULL},
      {"{\"id\":null,", NULL},
      {"{\"id\":{},", NULL},
      {"{\"id\":01,", NULL},
      {"{\"id\":", NULL},
      {"{\"id\"", NULL},
      {"{\"id\":1,\"x\":\"\\", "1"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    /* To the byte: nothing behind the line is looked at. */
    size_t n = strlen(rows[i].line);
    char *line = malloc(n ? n : 1);
    assert_non_null(line);
    memcpy(line, rows[i].line, n);
    struct rp__json id = rp__broken_line_id(line, n);
    if (!rows[i].id && id.type) fail_msg("%s: %.*s", rows[i].line, (int)id.n, id.p);
    if (rows[i].id && (id.n != strlen(rows[i].id) || memcmp(id.p, rows[i].id, id.n) != 0))
      fail_msg("%s: not %s", rows[i].line, rows[i].id);
    free(line);
  }
}

static void long_ids_are_none(void **state)
{
  (void)state;
  char line[2 * RP_BROKEN_ID_MAX];
  memset(line, '7', sizeof line);
  memcpy(line, "{\"id\":", 6);
  line[sizeof line - 1] = ',';
  assert_int_equal(rp__broken_line_id(line, sizeof line).type, RP_JSON_NONE);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_are_found_where_there_is_no_doubt),
      cmocka_unit_test(long_ids_are_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
