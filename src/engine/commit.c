/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/commit.h"

#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/thread.h"

int rp__commitq_init(struct rp__commitq *q, struct rp__store *store, struct rp__changes *changes)
{
  *q = (struct rp__commitq){.store = store, .changes = changes};
  if (pthread_mutex_init(&q->lock, NULL)) return RP_E_NOMEM;
  if (pthread_cond_init(&q->work, NULL)) {
    pthread_mutex_destroy(&q->lock);
    return RP_E_NOMEM;
  }
  if (pthread_cond_init(&q->drained, NULL)) {
    pthread_cond_destroy(&q->work);
    pthread_mutex_destroy(&q->lock);
    return RP_E_NOMEM;
  }
  return 0;
}

static void sleep_while(_Atomic uint32_t *word, uint32_t seen)
{
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
  atomic_fetch_add(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* Takes the next group off the queue; what is pushed from here on gathers for the one after. Called with the lock held.
 */
static size_t take_group(struct rp__commitq *q, struct rp__commit **first)
{
  size_t n = 0;
  struct rp__commit *c = q->head, *last = NULL;
  *first = c;
  for (; c && n < RP_COMMIT_GROUP; c = c->next) {
    q->bytes -= c->bytes;
    last = c;
    n++;
  }
  if (last) {
    q->head = last->next;
    last->next = NULL;
    if (!q->head) q->tail = NULL;
  }
  q->count -= n;
  q->taken = (int64_t)n;
  q->group++;
  q->cut = q->head != NULL;
  return n;
}

static void set_result(struct rp__txn *t, int rc, const rp_error *err)
{
  t->rc = rc;
  t->err = *err;
}

/* One database transaction. If it fails as a whole, each gets its own chance: one full body must not fail the rest. */
static void run_group(struct rp__commitq *q, struct rp__commit *first, size_t n)
{
  struct rp__txn *group[RP_COMMIT_GROUP];
  rp_error err = {0};
  size_t i = 0;
  for (struct rp__commit *c = first; c; c = c->next) group[i++] = &c->txn;
  int rc = q->store->ops->commit(q->store, group, n, &err);
  if (rc == 0) return;
  /* After RP_E_IO the outcome is unknown: only whoever sent it can send it again, with its key. */
  if (n == 1 || rc == RP_E_UNREACHABLE || rc == RP_E_BUSY || rc == RP_E_READONLY || rc == RP_E_IO) {
    for (i = 0; i < n; i++) set_result(group[i], rc, &err);
    return;
  }
  for (i = 0; i < n; i++) {
    rc = q->store->ops->commit(q->store, &group[i], 1, &err);
    if (rc) set_result(group[i], rc, &err);
  }
}

static void *thread_main(void *arg);

static int start_thread(struct rp__commitq *q)
{
  if (!q->started) q->started = rp__thread_start(&q->thread, "reprise-commit", thread_main, q) == 0;
  return q->started ? 0 : RP_E_NOMEM;
}

/*
 * Commits one group. Asynchronous requests are told while nobody else leads, so
 * that theirs come in order. True: more is waiting, and the caller still leads.
 */
static bool lead(struct rp__commitq *q)
{
  struct rp__commit *first, *next;
  bool waited = false;
  int64_t failed = 0;
  pthread_mutex_lock(&q->lock);
  _Atomic uint32_t *word = &q->woken[q->group % 2];
  bool was_cut = q->cut;
  size_t n = take_group(q, &first);
  _Atomic uint32_t *other = was_cut || q->cut ? &q->woken[q->group % 2] : NULL;
  pthread_mutex_unlock(&q->lock);

  if (n) run_group(q, first, n);
  for (struct rp__commit *c = first; c; c = next) {
    next = c->next;
    failed += c->txn.rc != 0;
    if (c->done) {
      c->done(c);
    } else {
      waited = true;
      atomic_store_explicit(&c->finished, true, memory_order_release); /* c may be gone from here on */
    }
  }
  if (waited) wake_all(word);
  if (waited && other) wake_all(other);
  if (n) rp__changes_note(q->changes);

  pthread_mutex_lock(&q->lock);
  q->groups++;
  q->txns += (int64_t)n;
  q->taken = 0;
  q->failures += failed;
  if (q->drainers) pthread_cond_broadcast(&q->drained);
  q->led = q->head != NULL;
  bool more = q->led;
  pthread_mutex_unlock(&q->lock);
  return more;
}

static void push(struct rp__commitq *q, struct rp__commit *c)
{
  c->next = NULL;
  if (q->tail)
    q->tail->next = c;
  else
    q->head = c;
  q->tail = c;
  q->count++;
  q->bytes += c->bytes;
}

/* Passes the lead on to the thread; where there can be none, goes on alone until nothing waits. */
static void hand_over(struct rp__commitq *q)
{
  pthread_mutex_lock(&q->lock);
  bool alone = start_thread(q) != 0;
  if (!alone) {
    q->thread_leads = true;
    pthread_cond_signal(&q->work);
  }
  pthread_mutex_unlock(&q->lock);
  while (alone && lead(q)) continue;
}

int rp__commit_wait(struct rp__commitq *q, struct rp__commit *c)
{
  c->done = NULL;
  atomic_init(&c->finished, false);
  pthread_mutex_lock(&q->lock);
  push(q, c);
  bool leads = !q->led;
  q->led = true;
  _Atomic uint32_t *word = &q->woken[q->group % 2];
  uint32_t seen = atomic_load(word);
  pthread_mutex_unlock(&q->lock);
  if (leads && lead(q)) hand_over(q);
  while (!atomic_load_explicit(&c->finished, memory_order_acquire)) {
    sleep_while(word, seen);
    seen = atomic_load(word);
  }
  return c->txn.rc;
}

static void *thread_main(void *arg)
{
  struct rp__commitq *q = arg;
  pthread_mutex_lock(&q->lock);
  while (!q->stop || q->thread_leads) {
    if (!q->thread_leads) {
      pthread_cond_wait(&q->work, &q->lock);
      continue;
    }
    q->thread_leads = false;
    pthread_mutex_unlock(&q->lock);
    while (lead(q)) continue;
    pthread_mutex_lock(&q->lock);
  }
  pthread_mutex_unlock(&q->lock);
  return NULL;
}

int rp__commit_post(struct rp__commitq *q, struct rp__commit *c)
{
  pthread_mutex_lock(&q->lock);
  int rc = start_thread(q);
  if (!rc && !c->admitted && (q->count >= RP_COMMIT_QUEUE || q->bytes + c->bytes > RP_COMMIT_QUEUE_BYTES))
    rc = RP_E_LIMIT;
  if (!rc) {
    push(q, c);
    if (!q->led) {
      q->led = q->thread_leads = true;
      pthread_cond_signal(&q->work);
    }
  }
  pthread_mutex_unlock(&q->lock);
  return rc;
}

void rp__commitq_drain(struct rp__commitq *q)
{
  pthread_mutex_lock(&q->lock);
  int64_t target = q->txns + q->taken + (int64_t)q->count;
  q->drainers++;
  while (q->txns < target) pthread_cond_wait(&q->drained, &q->lock);
  q->drainers--;
  pthread_mutex_unlock(&q->lock);
}

void rp__commitq_done(struct rp__commitq *q)
{
  rp__commitq_drain(q);
  pthread_mutex_lock(&q->lock);
  q->stop = true;
  pthread_cond_signal(&q->work);
  pthread_mutex_unlock(&q->lock);
  if (q->started) pthread_join(q->thread, NULL);
  pthread_cond_destroy(&q->drained);
  pthread_cond_destroy(&q->work);
  pthread_mutex_destroy(&q->lock);
}
