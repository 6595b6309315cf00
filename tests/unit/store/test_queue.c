/* SPDX-License-Identifier: Apache-2.0 */
/* Two queues on one file are what two processes have: descriptors of their own. */
#include "store_test.h"

#include "base/lockfile.h"

#define TURNS 300

struct runner {
  struct rp__sq_queue *q;
  int *shared; /* not atomic: only the turn protects it */
  atomic_int *inside;
  atomic_bool *go;
  int rc;
};

static void *take_turns(void *arg)
{
  struct runner *r = arg;
  while (!atomic_load(r->go)) {
  }
  for (int i = 0; i < TURNS && r->rc == 0; i++) {
    r->rc = rp__sq_queue_enter(r->q, 60000, NULL);
    if (r->rc != 0) break;
    if (atomic_fetch_add(r->inside, 1) != 0) r->rc = 1;
    ++*r->shared;
    atomic_fetch_sub(r->inside, 1);
    rp__sq_queue_leave(r->q);
  }
  return NULL;
}

static void one_at_a_time(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q[2];
  struct runner r[4];
  pthread_t t[4];
  int shared = 0;
  atomic_int inside = 0;
  atomic_bool go = false;
  scratch_path(&b->dir, "x.runs", b->path);
  for (int i = 0; i < 2; i++) assert_int_equal(rp__sq_queue_new(b->path, &q[i], &b->err), 0);
  for (int i = 0; i < 4; i++) {
    r[i] = (struct runner){.q = q[i % 2], .shared = &shared, .inside = &inside, .go = &go};
    assert_int_equal(pthread_create(&t[i], NULL, take_turns, &r[i]), 0);
  }
  atomic_store(&go, true);
  for (int i = 0; i < 4; i++) {
    pthread_join(t[i], NULL);
    assert_int_equal(r[i].rc, 0);
  }
  assert_int_equal(shared, 4 * TURNS);
  for (int i = 0; i < 2; i++) rp__sq_queue_free(q[i]);
}

/* A holder that was stopped can't hang the others for ever. */
static void waiting_has_an_end(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q, *other;
  scratch_path(&b->dir, "x.runs", b->path);
  assert_int_equal(rp__sq_queue_new(b->path, &q, &b->err), 0);
  assert_int_equal(rp__sq_queue_new(b->path, &other, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(other, 1000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY);
  rp__sq_queue_leave(other);
  /* The helper is still in the kernel's queue, or has passed its turn on: both must do. */
  assert_int_equal(rp__sq_queue_enter(q, 60000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(other, 20, &b->err), RP_E_BUSY);
  assert_int_equal(rp__sq_queue_enter(q, 20, &b->err), RP_E_BUSY); /* a second thread's, as it were */
  rp__sq_queue_leave(q);
  assert_int_equal(rp__sq_queue_enter(other, 60000, &b->err), 0);
  rp__sq_queue_leave(other);
  rp__sq_queue_free(q);
  rp__sq_queue_free(other);
}

/* Closed with the helper in the kernel: whoever waits next still gets his turn. */
static void a_late_turn_is_passed_on(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q, *other;
  scratch_path(&b->dir, "x.runs", b->path);
  assert_int_equal(rp__sq_queue_new(b->path, &q, &b->err), 0);
  assert_int_equal(rp__sq_queue_new(b->path, &other, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(other, 1000, &b->err), 0);
  assert_int_equal(rp__sq_queue_enter(q, 10, &b->err), RP_E_BUSY);
  rp__sq_queue_free(q);
  rp__sq_queue_leave(other);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(rp__sq_queue_enter(other, 60000, &b->err), 0);
    rp__sq_queue_leave(other);
  }
  rp__sq_queue_free(other);
}

static void no_file_no_queue(void **state)
{
  struct box *b = *state;
  struct rp__sq_queue *q;
  scratch_path(&b->dir, "no/where.runs", b->path);
  assert_int_not_equal(rp__sq_queue_new(b->path, &q, &b->err), 0);
  rp__sq_queue_free(NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      BOX_TEST(one_at_a_time),
      BOX_TEST(waiting_has_an_end),
      BOX_TEST(a_late_turn_is_passed_on),
      BOX_TEST(no_file_no_queue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
