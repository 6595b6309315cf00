/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child is told apart from its parent. */
#include "child.h"

#include "base/process/proc.h"

static void tell_same(int to, void *arg)
{
  char same = rp__forkguard_same(arg) ? 'y' : 'n';
  child_tell(to, &same, 1);
}

/* A fork after the opening is detected. */
static void a_child_is_not_the_same(void **state)
{
  (void)state;
  struct rp__forkguard g;
  char same = 0;
  assert_int_equal(rp__forkguard_init(&g), 0);
  assert_true(rp__forkguard_same(&g));
  struct child c = child_start(tell_same, &g);
  child_hear(&c, &same, 1);
  assert_int_equal(same, 'n');
  assert_int_equal(child_reap(&c), 0);
  assert_true(rp__forkguard_same(&g));
  rp__forkguard_done(&g);
}

static void make_and_tell(int to, void *arg)
{
  struct rp__forkguard g;
  (void)arg;
  if (rp__forkguard_init(&g)) _exit(1);
  tell_same(to, &g);
  rp__forkguard_done(&g);
}

static void a_child_can_make_its_own(void **state)
{
  (void)state;
  char same = 0;
  struct child c = child_start(make_and_tell, NULL);
  child_hear(&c, &same, 1);
  assert_int_equal(same, 'y');
  assert_int_equal(child_reap(&c), 0);
}

static void done_can_be_repeated(void **state)
{
  (void)state;
  struct rp__forkguard g = {0};
  assert_false(rp__forkguard_same(&g));
  rp__forkguard_done(&g);
  assert_int_equal(rp__forkguard_init(&g), 0);
  rp__forkguard_done(&g);
  rp__forkguard_done(&g);
  assert_false(rp__forkguard_same(&g));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_child_is_not_the_same),
      cmocka_unit_test(a_child_can_make_its_own),
      cmocka_unit_test(done_can_be_repeated),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
