/* SPDX-License-Identifier: Apache-2.0 */
/* By which name we are called, which page calls, and who stands behind a proxy: texts in, decisions out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/client-address.h"
#include "server/http/origin.h"

static void hosts_are_read(void **state)
{
  static const struct {
    const char *text, *name;
    int port;
    bool literal, loopback;
  } good[] = {
      {"localhost", "localhost", 0, false, true},
      {"LocalHost:7377", "localhost", 7377, false, true},
      {"127.0.0.1:80", "127.0.0.1", 80, true, true},
      {"127.8.9.10", "127.8.9.10", 0, true, true},
      {"[::1]:7377", "::1", 7377, true, true},
      {"[0:0:0:0:0:0:0:1]", "::1", 0, true, true},
      {"[::FFFF:127.0.0.1]", "127.0.0.1", 0, true, true},
      {"[2001:DB8::0:5]", "2001:db8::5", 0, true, false},
      {"128.0.0.1", "128.0.0.1", 0, true, false},
      {"localhost.example.com", "localhost.example.com", 0, false, false},
      {"127.0.0.1.example.com", "127.0.0.1.example.com", 0, false, false},
      {"notlocalhost", "notlocalhost", 0, false, false},
      {"0.0.0.0", "0.0.0.0", 0, true, false},
      {"127.1", "127.1", 0, false, false}, /* a resolver may make anything of it */
      {"localhost.", "localhost.", 0, false, false},
  };
  static const char *const bad[] = {"",
                                    ":80",
                                    "localhost:",
                                    "localhost:0",
                                    "localhost:65536",
                                    "a b",
                                    "a/b",
                                    "a@localhost",
                                    "[::1",
                                    "[::1]80",
                                    "[localhost]",
                                    "[]",
                                    "::1",
                                    "host:8x",
                                    "localhost:80:80",
                                    ".localhost",
                                    "h\xc3\xb6st",
                                    "localhost\\x",
                                    "[127.0.0.1]",
                                    "localhost:+80"};
  struct rp__host h;
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(good); i++) {
    if (!rp__host_parse(rp__str(good[i].text), &h)) fail_msg("%s", good[i].text);
    assert_string_equal(h.name, good[i].name);
    assert_int_equal(h.port, good[i].port);
    assert_int_equal(h.literal, good[i].literal);
    if (rp__host_is_loopback(&h) != good[i].loopback) fail_msg("%s", good[i].text);
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++)
    if (rp__host_parse(rp__str(bad[i]), &h)) fail_msg("'%s' is a host", bad[i]);
  char longest[400];
  memset(longest, 'a', sizeof longest);
  assert_false(rp__host_parse((struct rp__str){longest, sizeof longest}, &h));
}

static bool listed(const char *list, const char *host)
{
  struct rp__host h;
  assert_true(rp__host_parse(rp__str(host), &h));
  return rp__host_listed(list, &h);
}

static void lists_of_hosts(void **state)
{
  static const char list[] = "box.lan, *.example.com secure.example.org:8443,192.168.1.5";
  (void)state;
  assert_true(listed(list, "box.lan"));
  assert_true(listed(list, "BOX.lan:7377"));
  assert_true(listed(list, "a.example.com"));
  assert_true(listed(list, "a.b.example.com:1"));
  assert_true(listed(list, "secure.example.org:8443"));
  assert_true(listed(list, "192.168.1.5:7377"));
  assert_false(listed(list, "example.com"));
  assert_false(listed(list, "evilexample.com"));
  assert_false(listed(list, "a.example.com.evil.org"));
  assert_false(listed(list, "secure.example.org"));
  assert_false(listed(list, "secure.example.org:8444"));
  assert_false(listed(list, "192.168.1.50"));
  assert_false(listed("", "box.lan"));
  assert_true(listed("*", "anything.at.all"));
  rp_error err = {0};
  assert_int_equal(rp__hosts_check(list, &err), 0);
  assert_int_equal(rp__hosts_check("", &err), 0);
  assert_int_equal(rp__hosts_check("a.example https://b.example", &err), RP_E_CONFIG);
  assert_non_null(strstr(err.message, "https://b.example"));
}

static void lists_of_origins(void **state)
{
  static const char list[] = "https://app.example.com, http://localhost:3000 chrome-extension://abcdefghijklmnop";
  (void)state;
  assert_true(rp__origin_listed(list, "https://app.example.com"));
  assert_true(rp__origin_listed(list, "https://APP.example.com:443"));
  assert_true(rp__origin_listed(list, "http://localhost:3000"));
  assert_true(rp__origin_listed(list, "chrome-extension://abcdefghijklmnop"));
  assert_false(rp__origin_listed(list, "http://app.example.com"));
  assert_false(rp__origin_listed(list, "https://app.example.com:8443"));
  assert_false(rp__origin_listed(list, "https://app.example.com.evil.org"));
  assert_false(rp__origin_listed(list, "https://app.example.com/"));
  assert_false(rp__origin_listed(list, "https://evil.org"));
  assert_false(rp__origin_listed(list, "chrome-extension://other"));
  assert_false(rp__origin_listed(list, "null"));
  assert_false(rp__origin_listed(list, ""));
  assert_true(rp__origin_listed("*", "https://anybody.example"));
  assert_false(rp__origin_listed("*", "null"));
  rp_error err = {0};
  assert_int_equal(rp__origins_check(list, &err), 0);
  assert_int_equal(rp__origins_check("https://a.example/path", &err), RP_E_CONFIG);
  assert_int_equal(rp__origins_check("a.example", &err), RP_E_CONFIG);
  assert_non_null(strstr(err.message, "'a.example'"));
}

static bool same(const char *origin, const char *host)
{
  struct rp__host h;
  assert_true(rp__host_parse(rp__str(host), &h));
  return rp__origin_is_host(origin, &h);
}

static void the_same_origin(void **state)
{
  (void)state;
  assert_true(same("http://localhost:7377", "localhost:7377"));
  assert_true(same("http://127.0.0.1:7377", "127.0.0.1:7377"));
  assert_true(same("http://[::1]:7377", "[::1]:7377"));
  assert_true(same("https://box.lan", "box.lan"));
  assert_true(same("https://box.lan", "box.lan:443"));
  assert_false(same("http://localhost:3000", "localhost:7377")); /* another program of this machine */
  assert_false(same("http://localhost", "localhost:7377"));
  assert_false(same("http://127.0.0.1:7377", "localhost:7377"));
  assert_false(same("http://evil.example:7377", "localhost:7377"));
  assert_false(same("null", "localhost:7377"));
  assert_false(same("file://localhost:7377", "localhost:7377"));
}

static const char *client(const char *trusted, const char *peer, const char *forwarded)
{
  static char out[RP_HTTP_ADDRESS_TEXT];
  rp__client_address(trusted, peer, forwarded, out);
  return out;
}

static void behind_proxies(void **state)
{
  (void)state;
  assert_string_equal(client("", "10.0.0.1", "1.2.3.4"), "10.0.0.1"); /* nobody is trusted */
  assert_string_equal(client("10.0.0.1", "10.0.0.1", "1.2.3.4"), "1.2.3.4");
  assert_string_equal(client("10.0.0.0/8", "10.0.0.1", "9.9.9.9, 1.2.3.4, 10.7.7.7"), "1.2.3.4");
  assert_string_equal(client("10.0.0.0/8", "10.0.0.1", "10.0.0.2, 10.0.0.3"), "10.0.0.2");
  assert_string_equal(client("10.0.0.0/8", "10.0.0.1", NULL), "10.0.0.1");
  assert_string_equal(client("10.0.0.0/8", "10.0.0.1", ""), "10.0.0.1");
  assert_string_equal(client("10.0.0.0/8", "10.0.0.1", "1.2.3.4, nonsense"), "10.0.0.1");
  assert_string_equal(client("unix", "unix", "1.2.3.4:5678"), "1.2.3.4");
  assert_string_equal(client("127.0.0.1", "127.0.0.1", "[2001:DB8::1]:99"), "2001:db8::1");
  assert_string_equal(client("fd00::/8", "fd00::7", "::ffff:1.2.3.4"), "1.2.3.4");
  assert_string_equal(client("10.0.0.0/9", "10.128.0.1", "1.2.3.4"), "10.128.0.1");
  assert_string_equal(client("0.0.0.0/0", "2001:db8::1", "1.2.3.4"), "2001:db8::1"); /* another family */
  char text[RP_CLIENT_HOPS * 10 * 2] = "6.6.6.6";
  for (int i = 0; i < RP_CLIENT_HOPS + 5; i++) strncat(text, ",10.0.0.9", sizeof text - strlen(text) - 1);
  assert_string_equal(client("10.0.0.0/8", "10.0.0.1", text), "10.0.0.9"); /* no further than so many */
}

static void proxies_and_groups(void **state)
{
  rp_error err = {0};
  char out[RP_HTTP_ADDRESS_TEXT];
  (void)state;
  assert_int_equal(rp__proxies_check("10.0.0.1, fd00::/8 unix 192.168.0.0/16", &err), 0);
  static const char *const bad[] = {"proxy.lan",  "10.0.0.0/33", "10.0.0.0/",
                                    "fd00::/129", "10.0.0.0/-1", "10.0.0.0/8x"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    assert_int_equal(rp__proxies_check(bad[i], &err), RP_E_CONFIG);
    assert_non_null(strstr(err.message, bad[i]));
    assert_string_equal(err.field, "trusted_proxies");
  }
  rp__client_group("2001:db8:1:2:3:4:5:6", out);
  assert_string_equal(out, "2001:db8:1:2::");
  rp__client_group("10.1.2.3", out);
  assert_string_equal(out, "10.1.2.3");
  rp__client_group("unix", out);
  assert_string_equal(out, "unix");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hosts_are_read),  cmocka_unit_test(lists_of_hosts), cmocka_unit_test(lists_of_origins),
      cmocka_unit_test(the_same_origin), cmocka_unit_test(behind_proxies), cmocka_unit_test(proxies_and_groups),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
