/* SPDX-License-Identifier: Apache-2.0 */
/* Readers, searchers and maintenance while commits go on: nobody waits for ever, nobody sees half a txn. */
#include "store_test.h"

#include <sched.h>

#define COMMITS 300
#define READERS 10 /* more than there are connections */

struct shared {
  struct rp__store *s;
  int64_t ref;
  atomic_bool done;
  atomic_int failed, reads;
};

struct pass {
  struct shared *sh;
  int64_t n;
};

static int row_count(void *ctx, const struct rp__event_row *row)
{
  struct pass *p = ctx;
  p->n++;
  /* A callback may call the store, whoever else is reading. */
  int64_t mark;
  rp_error err;
  if (row->seq % 64 == 0 && p->sh->s->ops->client_get(p->sh->s, p->sh->ref, "c", &mark, &err) != 0) return 1;
  return 0;
}

/* Txns are of three events, so every end seen is a multiple. */
static void *reader_main(void *arg)
{
  struct shared *sh = arg;
  while (!atomic_load(&sh->done)) {
    struct pass p = {.sh = sh};
    struct rp__event_range r = {.session_ref = sh->ref, .session_id = "a"};
    struct rp__session_row row;
    rp_error err;
    int rc = sh->s->ops->event_list(sh->s, &r, row_count, &p, &err);
    if (rc == 0) rc = sh->s->ops->session_find(sh->s, RP_FIND_ID, NULL, "a", &row, &err);
    if (rc != 0 || row.last_seq % 3 != 0 || p.n > row.last_seq) atomic_fetch_add(&sh->failed, 1);
    atomic_fetch_add(&sh->reads, 1);
  }
  return NULL;
}

static void *keeper_main(void *arg)
{
  struct shared *sh = arg;
  while (!atomic_load(&sh->done)) {
    rp_error err;
    int rc = sh->s->ops->maintain(sh->s, RP_MAINTAIN_INDEX, NULL, &err);
    if (rc == 0) rc = sh->s->ops->maintain(sh->s, RP_MAINTAIN_WAL, NULL, &err);
    if (rc != 0) atomic_fetch_add(&sh->failed, 1);
  }
  return NULL;
}

static void *searcher_main(void *arg)
{
  struct shared *sh = arg;
  while (!atomic_load(&sh->done)) {
    rp_error err;
    int n = 0, before = 0;
    struct rp__session_row row;
    int rc = sh->s->ops->session_find(sh->s, RP_FIND_ID, NULL, "a", &row, &err);
    before = (int)RP_MIN(row.last_seq, 1000);
    if (rc == 0) rc = sh->s->ops->search(sh->s, "word", NULL, 1000, hit_count, &n, &err);
    if (rc != 0 || n < before) atomic_fetch_add(&sh->failed, 1);
  }
  return NULL;
}

static int write_all(struct shared *sh, rp_error *err)
{
  struct rp__new_event ev = {.kind = "message", .body = "{\"content\":\"word\"}", .body_len = 18, .at_ms = NOW};
  struct rp__new_event three[3] = {ev, ev, ev};
  for (int i = 0; i < COMMITS; i++) {
    struct rp__op op = {.type = RP_OP_APPEND,
                        .session_ref = sh->ref,
                        .session_id = "a",
                        .now_ms = NOW,
                        .u.append = {.events = three, .n = 3, .expect = 3L * i}};
    int rc = commit_as(sh->s, &op, i % 10 ? RP_OS : RP_DISK, err);
    if (rc != 0) return rc;
  }
  return 0;
}

static void run_with(struct rp__store *s)
{
  struct shared sh = {.s = s};
  pthread_t t[READERS + 2];
  rp_error err = {0};
  assert_int_equal(put_in(s, "a", &sh.ref, &err), 0);
  for (int i = 0; i < READERS; i++) assert_int_equal(pthread_create(&t[i], NULL, reader_main, &sh), 0);
  assert_int_equal(pthread_create(&t[READERS], NULL, keeper_main, &sh), 0);
  assert_int_equal(pthread_create(&t[READERS + 1], NULL, searcher_main, &sh), 0);
  int rc = write_all(&sh, &err);
  while (rc == 0 && atomic_load(&sh.reads) < READERS) sched_yield();
  atomic_store(&sh.done, true);
  for (int i = 0; i < READERS + 2; i++) pthread_join(t[i], NULL);
  if (rc != 0) print_error("%s\n", err.message);
  assert_int_equal(rc, 0);
  assert_int_equal(atomic_load(&sh.failed), 0);
  assert_true(atomic_load(&sh.reads) >= READERS);
}

static void sqlite_with_readers(void **state)
{
  struct box *b = *state;
  box_open(b);
  run_with(b->s);
}

/* The writer is lent while it has nothing to do, and may be reading when a commit comes. */
static void short_lived_with_readers(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path, .short_lived = true};
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  run_with(b->s);
}

static void memory_with_readers(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {0};
  assert_int_equal(rp__store_memory_open(&o, &b->s, &b->err), 0);
  run_with(b->s);
}

int main(void)
{
  const struct CMUnitTest tests[] = {BOX_TEST(sqlite_with_readers), BOX_TEST(short_lived_with_readers),
                                     BOX_TEST(memory_with_readers)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
