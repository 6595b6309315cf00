/* SPDX-License-Identifier: Apache-2.0 */
/* The router and the table it reads: every row is found, nothing else is, and no trick in a path makes an id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "server/http/route.h"

struct found {
  const struct rp__route *route;
  char param[RP_CALL_PARAMS][RP_ID_MAX + 1];
  char allow[64];
  rp_error err;
};

static int find(enum rp__method m, const char *path, struct found *f)
{
  *f = (struct found){0};
  return rp__route_find(m, rp__str(path), &f->route, f->param, f->allow, &f->err);
}

/* The pattern with its variables filled in. */
static void fill(const char *pattern, char *out, size_t size)
{
  size_t n = 0;
  for (const char *p = pattern; *p && n + 4 < size; p++) {
    if (*p != ':') {
      out[n++] = *p;
      continue;
    }
    out[n++] = '7';
    while (p[1] && p[1] != '/') p++;
  }
  out[n] = 0;
}

static void test_every_row_is_found(void **state)
{
  (void)state;
  char path[256];
  struct found f;
  for (const struct rp__route *r = rp__routes; r->path; r++) {
    fill(r->path, path, sizeof path);
    assert_int_equal(find(r->method, path, &f), 0);
    assert_ptr_equal(f.route, r);
    assert_string_equal(f.param[0], strchr(r->path, ':') ? "7" : "");
    if (r->method == RP_GET) {
      assert_int_equal(find(RP_HEAD, path, &f), 0);
      assert_ptr_equal(f.route, r);
    }
  }
}

static void test_rows_are_whole(void **state)
{
  (void)state;
  for (const struct rp__route *r = rp__routes; r->path; r++) {
    print_message("%s\n", r->path);
    assert_non_null(r->run);
    assert_non_null(r->summary);
    assert_int_equal(r->answer == NULL, r->status == 204);
    assert_true(r->status >= 100);
    assert_int_equal(r->path[0], '/');
    /* A body that is wanted is described, and the other way round. */
    assert_int_equal((r->flags & (RP_ROUTE_JSON | RP_ROUTE_RPC)) != 0, r->request != NULL);
    assert_true(!(r->flags & RP_ROUTE_OPTIONAL) || (r->flags & RP_ROUTE_JSON));
    if (r->flags & RP_ROUTE_SESSION) assert_non_null(strstr(r->path, "/:id"));
    /* Only a request's own thread can give its socket away. */
    assert_false((r->flags & RP_ROUTE_TAKES) && (r->flags & RP_ROUTE_POOL));
    for (const struct rp__route *other = rp__routes; other < r; other++)
      assert_false(other->method == r->method && strcmp(other->path, r->path) == 0);
    for (size_t i = 0; i < RP_ROUTE_QUERY && r->query[i].name; i++) {
      struct rp__json v;
      assert_int_equal(rp__json_parse(r->query[i].schema, strlen(r->query[i].schema), NULL, &v, NULL), 0);
      assert_int_equal(v.type, RP_JSON_OBJECT);
      assert_non_null(r->query[i].help);
    }
    for (size_t i = 0; i < RP_ROUTE_ERRORS && r->errors[i]; i++)
      assert_int_equal(rp_error_lookup(r->errors[i])->code, r->errors[i]);
  }
}

static void test_unknown_paths(void **state)
{
  (void)state;
  static const char *const paths[] = {"",
                                      "x",
                                      "//",
                                      "/v1",
                                      "/v1/",
                                      "/v1/session",
                                      "/v1/sessions/7/",
                                      "/v1//sessions",
                                      "/V1/sessions",
                                      "/v1/sessions/7/Events",
                                      "/v1/sessions/7/events/8",
                                      "/v1/sessions/7/snapshots/1/2",
                                      "/healthz/",
                                      "/%68ealthz",
                                      "/v1/sessions%2F7",
                                      "/v1/../v1/sessions",
                                      "/./healthz",
                                      "/v1/scopes/x"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(paths); i++) {
    struct found f;
    print_message("'%s'\n", paths[i]);
    assert_int_equal(find(RP_GET, paths[i], &f), RP_E_ROUTE_NOT_FOUND);
    assert_int_equal(f.err.code, RP_E_ROUTE_NOT_FOUND);
    assert_null(f.route);
  }
}

static void test_fixed_words_are_no_ids(void **state)
{
  (void)state;
  struct found f;
  assert_int_equal(find(RP_GET, "/v1/sessions/stream", &f), 0);
  assert_string_equal(f.route->path, "/v1/sessions/stream");
  assert_int_equal(find(RP_GET, "/v1/sessions/streams", &f), 0);
  assert_string_equal(f.route->path, "/v1/sessions/:id");
  assert_string_equal(f.param[0], "streams");
  assert_int_equal(find(RP_GET, "/v1/sessions/stream/events/stream", &f), 0);
  assert_string_equal(f.route->path, "/v1/sessions/:id/events/stream");
  assert_string_equal(f.param[0], "stream");
}

static void test_methods(void **state)
{
  (void)state;
  static const struct {
    enum rp__method method;
    const char *path, *allow;
  } cases[] = {
      {RP_PUT, "/v1/sessions", "POST, GET, HEAD"},
      {RP_DELETE, "/v1/sessions", "POST, GET, HEAD"},
      {RP_POST, "/v1/sessions/7", "GET, HEAD, PATCH, DELETE"},
      {RP_OPTIONS, "/v1/sessions/7/events", "POST, GET, HEAD"},
      {RP_METHOD_OTHER, "/healthz", "GET, HEAD"},
      {RP_HEAD, "/v1/sessions/7/heartbeat", "POST"},
      {RP_GET, "/v1/sessions/7/close", "POST"},
      {RP_PUT, "/v1/sessions/stream", "GET, HEAD, PATCH, DELETE"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct found f;
    assert_int_equal(find(cases[i].method, cases[i].path, &f), RP_E_METHOD);
    assert_string_equal(f.allow, cases[i].allow);
    assert_non_null(strstr(f.err.message, cases[i].allow));
  }
}

static void test_params(void **state)
{
  (void)state;
  struct found f;
  assert_int_equal(find(RP_GET, "/v1/sessions/a%2Db/snapshots/12", &f), 0);
  assert_string_equal(f.param[0], "a-b");
  assert_string_equal(f.param[1], "12");
  assert_int_equal(find(RP_GET, "/v1/scopes/nova:kitchen/brief", &f), 0);
  assert_string_equal(f.param[0], "nova:kitchen");
}

static void test_tricks(void **state)
{
  (void)state;
  static const char *const ids[] = {"",      "%2e%2e", "..",     ".",         "%2E",   "a%2Fb",  "a%5Cb", "%00",
                                    "a%00b", "%",      "%4",     "%zz",       "a%20b", "a+b",    "-a",    "_a",
                                    "a..b",  "%ff",    "%c3%a9", "%c0%ae",    "a;b",   "a'b",    "a\"b",  "a,b",
                                    "a%0ab", "a%7f",   "~",      "a\xc3\xa9", "a%25b", "%u0041", "a@b",   "a*"};
  char path[512];
  struct found f;
  for (size_t i = 0; i < RP_ARRAY_SIZE(ids); i++) {
    snprintf(path, sizeof path, "/v1/sessions/%s/state", ids[i]);
    print_message("%s\n", path);
    assert_int_equal(find(RP_GET, path, &f), RP_E_USAGE);
    assert_string_equal(f.err.field, "path");
  }
}

static void test_longest_id(void **state)
{
  (void)state;
  char path[3 * RP_ID_MAX + 64], id[RP_ID_MAX + 2];
  struct found f;
  memset(id, 'a', sizeof id);
  id[RP_ID_MAX + 1] = 0;
  snprintf(path, sizeof path, "/v1/sessions/%s", id);
  assert_int_equal(find(RP_GET, path, &f), RP_E_USAGE);
  id[RP_ID_MAX] = 0;
  snprintf(path, sizeof path, "/v1/sessions/%s", id);
  assert_int_equal(find(RP_GET, path, &f), 0);
  assert_string_equal(f.param[0], id);
  /* Escaped it is three times as long and the same. */
  size_t n = (size_t)snprintf(path, sizeof path, "/v1/sessions/");
  for (int i = 0; i < RP_ID_MAX; i++) n += (size_t)snprintf(path + n, sizeof path - n, "%%61");
  assert_int_equal(find(RP_GET, path, &f), 0);
  assert_string_equal(f.param[0], id);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_row_is_found),
      cmocka_unit_test(test_rows_are_whole),
      cmocka_unit_test(test_unknown_paths),
      cmocka_unit_test(test_fixed_words_are_no_ids),
      cmocka_unit_test(test_methods),
      cmocka_unit_test(test_params),
      cmocka_unit_test(test_tricks),
      cmocka_unit_test(test_longest_id),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
