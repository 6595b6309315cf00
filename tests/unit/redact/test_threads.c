/* SPDX-License-Identifier: Apache-2.0 */
/* One redactor, many threads, none of its expressions compiled yet. */
#include "redact_test.h"

#include <pthread.h>

#define THREADS 8

struct work {
  const struct rp__redactor *r;
  pthread_barrier_t *start;
  size_t hits;
};

static void *scan_all(void *arg)
{
  struct work *w = arg;
  pthread_barrier_wait(w->start);
  for (size_t i = 0; i < RP_ARRAY_SIZE(must_mask); i++) {
    RP_AUTOFREE char *text = NULL;
    struct rp__buf out = RP_BUF(OUT_MAX);
    size_t hits = 0;
    if (asprintf(&text, "%s%s%s", must_mask[i].before, must_mask[i].secret, must_mask[i].after) < 0) return NULL;
    if (rp__redact_text(w->r, text, strlen(text), &out, &hits)) return NULL;
    rp__buf_done(&out);
    w->hits += hits;
  }
  return NULL;
}

static void test_first_use_by_many(void **state)
{
  pthread_barrier_t start;
  pthread_t threads[THREADS];
  struct work work[THREADS];
  (void)state;
  struct rp__redactor *r = redactor_of(NULL);
  assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
  for (size_t i = 0; i < THREADS; i++) {
    work[i] = (struct work){r, &start, 0};
    assert_int_equal(pthread_create(&threads[i], NULL, scan_all, &work[i]), 0);
  }
  for (size_t i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(work[i].hits, RP_ARRAY_SIZE(must_mask));
  }
  pthread_barrier_destroy(&start);
  rp__redactor_free(r);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_use_by_many)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
