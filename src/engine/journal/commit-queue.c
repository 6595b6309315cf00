/* SPDX-License-Identifier: Apache-2.0 */
/* Group commit: the leader, the requests that follow, and requests that nobody waits for. */
#include "engine/journal/commit-queue.h"

#include <assert.h>

#include <linux/futex.h>
#include <sys/syscall.h>

#include "base/process/thread.h"
#include "engine/journal/outbox.h"

void rp__commitq_init(struct rp__commitq *q, struct rp__store *store, struct rp__changes *changes,
                      struct rp__outbox *outbox)
{
  *q = (struct rp__commitq){.store = store, .changes = changes, .outbox = outbox};
  STAILQ_INIT(&q->waiting);
  pthread_mutex_init(&q->lock, NULL); /* none of these can fail on Linux */
  pthread_cond_init(&q->work, NULL);
  pthread_cond_init(&q->drained, NULL);
}

static void wake_all(_Atomic uint32_t *word)
{
  atomic_fetch_add(word, 1);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* One database transaction. If it fails as a whole, each gets its own chance: one full body must not fail the rest. */
static void run_group(struct rp__commitq *q, struct rp__commits *commits, size_t n)
{
  struct rp__txn *group[RP_COMMIT_GROUP];
  rp_error err = {0};
  size_t i = 0;
  for (struct rp__commit *c = STAILQ_FIRST(commits); c; c = STAILQ_NEXT(c, next)) group[i++] = &c->txn;
  assert(i == n && n <= RP_COMMIT_GROUP);
  int rc = q->store->ops->commit(q->store, group, n, &err);
  if (rc == 0) return;
  /* After RP_E_IO the outcome is unknown: only whoever sent it can send it again, with its key. */
  bool all = n == 1 || rc == RP_E_UNREACHABLE || rc == RP_E_BUSY || rc == RP_E_READONLY || rc == RP_E_IO;
  for (i = 0; i < n; i++) {
    if (!all) rc = q->store->ops->commit(q->store, &group[i], 1, &err);
    if (!rc) continue;
    group[i]->rc = rc;
    group[i]->err = err;
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
  struct rp__commits group = STAILQ_HEAD_INITIALIZER(group);
  struct rp__commit *c, *next;
  bool waited = false;
  int64_t failed = 0;
  size_t n = 0;
  pthread_mutex_lock(&q->lock);
  assert(q->led && q->taken == 0); /* one leads, and has nothing else in hand */
  for (; n < RP_COMMIT_GROUP && (c = STAILQ_FIRST(&q->waiting)); n++) {
    STAILQ_REMOVE_HEAD(&q->waiting, next);
    STAILQ_INSERT_TAIL(&group, c, next);
    q->bytes -= c->bytes;
  }
  q->count -= n;
  q->taken = (int64_t)n;
  /* Requests that come from here on gather for the next group, and sleep on the other word. */
  bool was_cut = q->cut;
  q->cut = !STAILQ_EMPTY(&q->waiting);
  _Atomic uint32_t *word = &q->woken[q->group++ % 2];
  _Atomic uint32_t *other = was_cut || q->cut ? &q->woken[q->group % 2] : NULL;
  pthread_mutex_unlock(&q->lock);

  if (n) run_group(q, &group, n);
  for (c = STAILQ_FIRST(&group); c; c = next) {
    next = STAILQ_NEXT(c, next);
    failed += c->txn.rc != 0;
    rp__outbox_note(q->outbox, c->txn.rc, &c->txn.err);
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
  bool more = q->led = !STAILQ_EMPTY(&q->waiting);
  pthread_mutex_unlock(&q->lock);
  return more;
}

static void push(struct rp__commitq *q, struct rp__commit *c)
{
  assert(!q->stop);
  STAILQ_INSERT_TAIL(&q->waiting, c, next);
  q->count++;
  q->bytes += c->bytes;
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
  if (leads && lead(q)) { /* the thread leads from now on; where there can be none, this one does until nothing waits */
    pthread_mutex_lock(&q->lock);
    bool alone = start_thread(q) != 0;
    q->thread_leads = !alone;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
    while (alone && lead(q)) continue;
  }
  while (!atomic_load_explicit(&c->finished, memory_order_acquire)) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
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
  assert(c->done); /* nobody waits: somebody is told */
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
