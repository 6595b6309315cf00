/* SPDX-License-Identifier: Apache-2.0 */
/* C-11: the file of agents that came with another program's store. */
#include "scratch.h"

#include <fcntl.h>
#include <pthread.h>

#include "base/credentials/fleet.h"

#define ONE "0123456789abcdef"
#define TWO "fedcba9876543210"
#define SECRET "a secret with spaces in it"

static struct rp__str s(const char *text)
{
  return rp__str(text);
}

static struct rp__fleet_agent agent(const char *id, rp__birth birth, const char *token, const char *manager)
{
  struct rp__fleet_agent a = {.birth = birth};
  snprintf(a.id, sizeof a.id, "%s", id);
  snprintf(a.token, sizeof a.token, "%s", token);
  snprintf(a.manager, sizeof a.manager, "%s", manager);
  return a;
}

static struct rp__fleet *open_fleet(const char *dir)
{
  char *path RP_AUTOFREE = rp__path_join(dir, "x.db");
  struct rp__fleet *f;
  assert_int_equal(rp__fleet_new(path, &f, NULL), 0);
  return f;
}

static void an_agent_is_known_by_its_token_its_birth_and_its_secret(void **state)
{
  const char *dir = *state;
  struct rp__fleet *f = open_fleet(dir), *other = open_fleet(dir);
  struct rp__fleet_agent got;
  char secret[RP_SECRET_MAX + 1], *path RP_AUTOFREE = rp__path_join(dir, "x.db.fleet");
  assert_false(rp__fleet_knows(f, s(SECRET)));
  const struct rp__fleet_agent two[] = {agent("a", 7, ONE, TWO), agent("b", 8, TWO, "")};
  assert_int_equal(rp__fleet_add(f, SECRET, two, 2, NULL), 0);
  assert_int_equal(mode_of(path), 0600);
  /* Another process sees it at once. */
  assert_true(rp__fleet_knows(other, s(SECRET)));
  assert_false(rp__fleet_knows(other, s("a secret")));
  assert_true(rp__fleet_opens(other, "a", 7, s(ONE)));
  assert_true(rp__fleet_opens(other, "a", RP_BIRTH_ANY, s(ONE)));
  assert_false(rp__fleet_opens(other, "a", 8, s(ONE)));
  assert_false(rp__fleet_opens(other, "a", 7, s(TWO)));
  assert_false(rp__fleet_opens(other, "b", 8, s(ONE)));
  assert_true(rp__fleet_find(other, "a", 7, &got, secret));
  assert_string_equal(got.token, ONE);
  assert_string_equal(got.manager, TWO);
  assert_string_equal(secret, SECRET);
  /* Others with another secret; one of them stands in the place of one that was there. */
  const struct rp__fleet_agent more[] = {agent("b", 9, ONE, ""), agent("c", 1, TWO, "")};
  assert_int_equal(rp__fleet_add(other, "another secret", more, 2, NULL), 0);
  assert_false(rp__fleet_opens(f, "b", 8, s(TWO)));
  assert_true(rp__fleet_find(f, "b", 9, &got, secret));
  assert_string_equal(secret, "another secret");
  assert_true(rp__fleet_find(f, "a", 7, &got, secret));
  assert_string_equal(secret, SECRET);
  /* The last one takes its secret along. */
  assert_int_equal(rp__fleet_forget(f, "a", NULL), 0);
  assert_false(rp__fleet_knows(f, s(SECRET)));
  assert_true(rp__fleet_opens(f, "c", 1, s(TWO)));
  assert_int_equal(rp__fleet_forget(f, "nobody", NULL), 0);
  rp__fleet_free(f);
  rp__fleet_free(other);
}

static void a_file_that_others_may_change_opens_nothing(void **state)
{
  const char *dir = *state;
  struct rp__fleet *f = open_fleet(dir);
  const struct rp__fleet_agent a = agent("a", 7, ONE, "");
  char *path RP_AUTOFREE = rp__path_join(dir, "x.db.fleet"), *elsewhere RP_AUTOFREE = rp__path_join(dir, "elsewhere");
  assert_int_equal(rp__fleet_add(f, SECRET, &a, 1, NULL), 0);
  assert_int_equal(chmod(path, 0640), 0);
  assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0); /* seen anew */
  assert_false(rp__fleet_knows(f, s(SECRET)));
  assert_false(rp__fleet_opens(f, "a", 7, s(ONE)));
  rp_error err = {0};
  assert_int_equal(rp__fleet_add(f, SECRET, &a, 1, &err), RP_E_REFUSED);
  assert_non_null(strstr(err.message, "chmod 600"));
  assert_int_equal(rename(path, elsewhere), 0);
  assert_int_equal(symlink(elsewhere, path), 0);
  assert_false(rp__fleet_knows(f, s(SECRET)));
  assert_true(rp__fleet_add(f, SECRET, &a, 1, NULL) < 0);
  rp__fleet_free(f);
}

static void what_is_no_line_of_ours_is_passed_over(void **state)
{
  const char *dir = *state;
  static const char text[] = "agent\nagent a\n\nsecret\nsecret " SECRET "\nagent a 0000000000000007 " ONE "\nagent b 8";
  char *path RP_AUTOFREE = rp__path_join(dir, "x.db.fleet");
  assert_int_equal(rp__file_write(path, text, sizeof text - 1, NULL), 0);
  struct rp__fleet *f = open_fleet(dir);
  assert_true(rp__fleet_knows(f, s(SECRET)));
  assert_true(rp__fleet_opens(f, "a", 7, s(ONE)));
  assert_false(rp__fleet_opens(f, "b", 8, s("")));
  rp__fleet_free(f);
}

static void what_can_be_a_token(void **state)
{
  (void)state;
  char text[RP_FLEET_TOKEN_MAX + 2];
  memset(text, 'x', sizeof text);
  assert_true(rp__fleet_takes((struct rp__str){text, RP_FLEET_TOKEN_MIN}, RP_FLEET_TOKEN_MAX, false));
  assert_false(rp__fleet_takes((struct rp__str){text, RP_FLEET_TOKEN_MIN - 1}, RP_FLEET_TOKEN_MAX, false));
  assert_true(rp__fleet_takes((struct rp__str){text, RP_FLEET_TOKEN_MAX}, RP_FLEET_TOKEN_MAX, false));
  assert_false(rp__fleet_takes((struct rp__str){text, RP_FLEET_TOKEN_MAX + 1}, RP_FLEET_TOKEN_MAX, false));
  assert_false(rp__fleet_takes(s("0123456789 abcdef"), RP_FLEET_TOKEN_MAX, false));
  assert_true(rp__fleet_takes(s("0123456789 abcdef"), RP_FLEET_TOKEN_MAX, true));
  assert_false(rp__fleet_takes(s("0123456789abcdef "), RP_FLEET_TOKEN_MAX, true));
  assert_false(rp__fleet_takes(s("0123456789\nabcdef"), RP_FLEET_TOKEN_MAX, true));
  assert_false(rp__fleet_takes(s("0123456789abcdef\xc3\xa9"), RP_FLEET_TOKEN_MAX, true));
}

#define WRITERS 4
#define EACH 25

struct writer {
  const char *dir;
  int n;
};

static void *write_some(void *arg)
{
  const struct writer *w = arg;
  struct rp__fleet *f = open_fleet(w->dir);
  for (int i = 0; i < EACH; i++) {
    char id[32];
    snprintf(id, sizeof id, "s-%d-%d", w->n, i);
    const struct rp__fleet_agent a = agent(id, 1, ONE, "");
    assert_int_equal(rp__fleet_add(f, SECRET, &a, 1, NULL), 0);
  }
  rp__fleet_free(f);
  return NULL;
}

/* Of several who write at the same time none loses what another wrote. */
static void writers_wait_for_each_other(void **state)
{
  struct writer w[WRITERS];
  pthread_t threads[WRITERS];
  for (int i = 0; i < WRITERS; i++) {
    w[i] = (struct writer){*state, i};
    assert_int_equal(pthread_create(&threads[i], NULL, write_some, &w[i]), 0);
  }
  for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
  struct rp__fleet *f = open_fleet(*state);
  for (int i = 0; i < WRITERS; i++)
    for (int k = 0; k < EACH; k++) {
      char id[32];
      snprintf(id, sizeof id, "s-%d-%d", i, k);
      assert_true(rp__fleet_opens(f, id, 1, s(ONE)));
    }
  rp__fleet_free(f);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      scratch_test(an_agent_is_known_by_its_token_its_birth_and_its_secret),
      scratch_test(a_file_that_others_may_change_opens_nothing),
      scratch_test(what_is_no_line_of_ours_is_passed_over),
      cmocka_unit_test(what_can_be_a_token),
      scratch_test(writers_wait_for_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
