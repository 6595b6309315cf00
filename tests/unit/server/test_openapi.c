/* SPDX-License-Identifier: Apache-2.0 */
/* The description of the routes: it is JSON, it has every row of the table, and all it refers to is there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/route.h"

#define DOC_MAX (1024 * 1024) /* what the server keeps of it */

struct doc {
  struct rp__buf text;
  struct rp__json root;
};

static int setup(void **state)
{
  static struct doc d;
  const struct rp__json_limits limits = {.max_depth = 64};
  rp_error err = {0};
  d.text = RP_BUF(DOC_MAX);
  assert_int_equal(rp__openapi_write(&d.text), 0);
  int rc = rp__json_parse(d.text.p, d.text.n, &limits, &d.root, &err); /* finds duplicate keys too */
  if (rc) print_error("%s\n", err.message);
  assert_int_equal(rc, 0);
  *state = &d;
  return 0;
}

static int teardown(void **state)
{
  struct doc *d = *state;
  rp__buf_done(&d->text);
  return 0;
}

static struct rp__json operation(const struct doc *d, const struct rp__route *r)
{
  static const char *const methods[] = {
      [RP_GET] = "get", [RP_POST] = "post", [RP_PUT] = "put", [RP_PATCH] = "patch", [RP_DELETE] = "delete"};
  char path[256];
  size_t n = 0;
  for (const char *p = r->path; *p; p++) {
    path[n++] = *p == ':' ? '{' : *p;
    if (*p != ':') continue;
    size_t name = strcspn(p + 1, "/");
    memcpy(path + n, p + 1, name);
    n += name;
    p += name;
    path[n++] = '}';
  }
  path[n] = 0;
  return rp__json_get(rp__json_get(rp__json_get(d->root, "paths"), path), methods[r->method]);
}

static bool has_code(struct rp__json responses, int code)
{
  const rp_error_info *info = rp_error_lookup(code);
  char status[8];
  struct rp__json_iter it = {0};
  struct rp__json name;
  snprintf(status, sizeof status, "%d", info->http);
  struct rp__json codes = rp__json_get(rp__json_get(responses, status), "x-codes");
  while (rp__json_next(codes, &it, NULL, &name))
    if (rp__json_eq(name, info->name)) return true;
  return false;
}

static void test_every_route(void **state)
{
  const struct doc *d = *state;
  for (const struct rp__route *r = rp__routes; r->path; r++) {
    print_message("%s\n", r->path);
    struct rp__json op = operation(d, r), responses = rp__json_get(op, "responses");
    assert_int_equal(op.type, RP_JSON_OBJECT);
    assert_true(rp__json_eq(rp__json_get(op, "summary"), r->summary));
    size_t params = 0, want = 0;
    for (const char *p = r->path; *p; p++) want += *p == ':';
    for (size_t i = 0; i < RP_ROUTE_QUERY && r->query[i].name; i++) want++;
    want += (r->flags & RP_ROUTE_KEY) != 0;
    want += rp__route_names_session(r); /* `scope` */
    want += (r->flags & RP_ROUTE_SESSION) && (r->flags & RP_ROUTE_TAKES);
    want += strcmp(r->path, "/mcp") == 0; /* MCP-Session-Id */
    params = rp__json_count(rp__json_get(op, "parameters"));
    assert_int_equal(params, want);
    assert_int_equal(rp__json_get(op, "requestBody").type, r->request ? RP_JSON_OBJECT : RP_JSON_NONE);
    for (size_t i = 0; i < RP_ROUTE_ERRORS && r->errors[i]; i++) assert_true(has_code(responses, r->errors[i]));
    assert_true(has_code(responses, RP_E_HOST));
    assert_int_equal(has_code(responses, RP_E_FORBIDDEN), r->right != RP_RIGHT_NONE || r->errors[0] == RP_E_FORBIDDEN);
    assert_int_equal(has_code(responses, RP_E_MEDIA_TYPE), r->flags & RP_ROUTE_JSON || r->method == RP_POST);
  }
}

static bool schema_exists(const char *name, size_t n)
{
  for (const struct rp__schema *s = rp__schemas; s->name; s++)
    if (strlen(s->name) == n && memcmp(s->name, name, n) == 0) return true;
  return false;
}

/* Every "$ref" names a schema. Returns how many there were. */
static int check_refs(struct rp__json v)
{
  static const char head[] = "#/components/schemas/";
  struct rp__json_iter it = {0};
  struct rp__json key, child;
  int n = 0;
  while (rp__json_next(v, &it, &key, &child)) {
    n += check_refs(child);
    if (key.type != RP_JSON_STRING || !rp__json_eq(key, "$ref")) continue;
    assert_int_equal(child.type, RP_JSON_STRING);
    assert_true(child.n > sizeof head + 1 && memcmp(child.p + 1, head, sizeof head - 1) == 0);
    assert_true(schema_exists(child.p + sizeof head, child.n - 1 - sizeof head));
    n++;
  }
  return n;
}

static void test_references(void **state)
{
  const struct doc *d = *state;
  assert_true(check_refs(d->root) > 100);
  for (const struct rp__route *r = rp__routes; r->path; r++) {
    if (r->request) assert_true(schema_exists(r->request, strlen(r->request)));
    if (r->answer && !(r->flags & RP_ROUTE_TEXT)) assert_true(schema_exists(r->answer, strlen(r->answer)));
  }
}

static void test_operation_ids_are_unique(void **state)
{
  const struct doc *d = *state;
  struct rp__json_iter it = {0};
  struct rp__json path;
  char *seen[64] = {0};
  size_t n = 0;
  while (rp__json_next(rp__json_get(d->root, "paths"), &it, NULL, &path)) {
    struct rp__json_iter inner = {0};
    struct rp__json op;
    while (rp__json_next(path, &inner, NULL, &op)) {
      char *id = rp__json_dup(rp__json_get(op, "operationId"));
      assert_non_null(id);
      for (size_t i = 0; i < n; i++) assert_string_not_equal(seen[i], id);
      assert_true(n < RP_ARRAY_SIZE(seen));
      seen[n++] = id;
    }
  }
  for (size_t i = 0; i < n; i++) free(seen[i]);
}

/* A buffer that is too small gives an error, not half a document. */
static void test_bounded(void **state)
{
  (void)state;
  struct rp__buf small RP_AUTOBUF = RP_BUF(1000);
  assert_int_equal(rp__openapi_write(&small), RP_E_TOO_LARGE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_route),
      cmocka_unit_test(test_references),
      cmocka_unit_test(test_operation_ids_are_unique),
      cmocka_unit_test(test_bounded),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
