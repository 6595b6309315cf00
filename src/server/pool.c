/* SPDX-License-Identifier: Apache-2.0 */
/* The pool: a bounded queue of jobs and the threads that run them. */
#include "server/pool.h"

#include <pthread.h>

#include "base/process/thread.h"

struct rp__pool {
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct rp__task *head, *tail;
  size_t waiting;
  uint64_t begun;
  bool stop;
  int n;
  pthread_t threads[];
};

static void *pool_main(void *arg)
{
  struct rp__pool *p = arg;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (!p->head && !p->stop) pthread_cond_wait(&p->work, &p->lock);
    struct rp__task *t = p->head;
    if (!t) break;
    p->head = t->next;
    if (!p->head) p->tail = NULL;
    p->waiting--;
    p->begun++;
    pthread_mutex_unlock(&p->lock);
    t->fn(t);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return NULL;
}

int rp__pool_new(int threads, struct rp__pool **ret, rp_error *err)
{
  struct rp__pool *p = calloc(1, sizeof *p + (size_t)threads * sizeof p->threads[0]);
  if (!p) return rp__fail_nomem(err);
  pthread_mutex_init(&p->lock, NULL);
  pthread_cond_init(&p->work, NULL);
  while (p->n < threads && rp__thread_start(&p->threads[p->n], "reprise-pool", pool_main, p) == 0) p->n++;
  if (p->n < threads) {
    rp__pool_free(p);
    return rp__fail(err, RP_E_NOMEM, "a thread can't be started");
  }
  *ret = p;
  return 0;
}

bool rp__pool_post(struct rp__pool *p, struct rp__task *t)
{
  t->next = NULL;
  pthread_mutex_lock(&p->lock);
  bool taken = !p->stop && p->waiting < RP_POOL_WAITING;
  if (taken) {
    if (p->tail)
      p->tail->next = t;
    else
      p->head = t;
    p->tail = t;
    p->waiting++;
    pthread_cond_signal(&p->work);
  }
  pthread_mutex_unlock(&p->lock);
  return taken;
}

size_t rp__pool_waiting(struct rp__pool *p)
{
  pthread_mutex_lock(&p->lock);
  size_t n = p->waiting;
  pthread_mutex_unlock(&p->lock);
  return n;
}

uint64_t rp__pool_begun(struct rp__pool *p)
{
  pthread_mutex_lock(&p->lock);
  uint64_t n = p->begun;
  pthread_mutex_unlock(&p->lock);
  return n;
}

void rp__pool_stop(struct rp__pool *p)
{
  if (!p) return;
  pthread_mutex_lock(&p->lock);
  p->stop = true;
  pthread_cond_broadcast(&p->work);
  pthread_mutex_unlock(&p->lock);
  for (int i = 0; i < p->n; i++) pthread_join(p->threads[i], NULL);
  p->n = 0;
}

void rp__pool_free(struct rp__pool *p)
{
  if (!p) return;
  rp__pool_stop(p);
  pthread_cond_destroy(&p->work);
  pthread_mutex_destroy(&p->lock);
  free(p);
}
