/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: everything posted runs once, also what still waits when it closes; it takes no more than its bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

#include "base/macros.h"
#include "server/pool.h"

struct counted {
  struct rp__task task;
  atomic_int *runs;
};

static void count(struct rp__task *t)
{
  atomic_fetch_add(((struct counted *)t)->runs, 1);
}

static void every_task_runs_once(void **state)
{
  enum { N = 2000 };
  struct rp__pool *p;
  static struct counted tasks[N];
  atomic_int runs = 0;
  (void)state;
  assert_int_equal(rp__pool_new(4, &p, NULL), 0);
  for (int i = 0; i < N; i++) {
    tasks[i] = (struct counted){.task.fn = count, .runs = &runs};
    assert_true(rp__pool_post(p, &tasks[i].task));
  }
  rp__pool_free(p);
  assert_int_equal(atomic_load(&runs), N);
}

struct gate {
  struct rp__task task;
  pthread_mutex_t *held;
};

static void wait_at_gate(struct rp__task *t)
{
  struct gate *g = (struct gate *)t;
  pthread_mutex_lock(g->held);
  pthread_mutex_unlock(g->held);
}

static void too_many_are_refused(void **state)
{
  struct rp__pool *p;
  pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
  struct gate gate = {.task.fn = wait_at_gate, .held = &held};
  atomic_int runs = 0;
  size_t taken = 0;
  (void)state;
  struct counted *tasks = calloc(RP_POOL_WAITING + 2, sizeof *tasks);
  assert_non_null(tasks);
  assert_int_equal(rp__pool_new(1, &p, NULL), 0);
  pthread_mutex_lock(&held);
  assert_true(rp__pool_post(p, &gate.task));
  for (size_t i = 0; i < RP_POOL_WAITING + 2; i++) {
    tasks[i] = (struct counted){.task.fn = count, .runs = &runs};
    taken += rp__pool_post(p, &tasks[i].task);
  }
  assert_in_range(taken, RP_POOL_WAITING - 1, RP_POOL_WAITING); /* the gate itself may still wait */
  pthread_mutex_unlock(&held);
  rp__pool_free(p);
  assert_int_equal(atomic_load(&runs), taken);
  free(tasks);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_task_runs_once), cmocka_unit_test(too_many_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
