/* SPDX-License-Identifier: Apache-2.0 */
/* A loop in its thread, calls into it that are waited for, and events that come out of it. */
#ifndef TEST_NET_RIG_H
#define TEST_NET_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include "net/loop.h"

#define DEADLINE_S 30 /* nothing here takes long; who waits this long waits in vain */

/* ---- what happened, told from any thread ---- */

struct news {
  pthread_mutex_t lock;
  pthread_cond_t change;
};
#define NEWS                                                                                                           \
  (struct news)                                                                                                        \
  {                                                                                                                    \
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER                                                                \
  }

/* Adds to a counter under the lock. */
static inline void news_add(struct news *n, int *counter, int by)
{
  pthread_mutex_lock(&n->lock);
  *counter += by;
  pthread_cond_broadcast(&n->change);
  pthread_mutex_unlock(&n->lock);
}

static inline int news_read(struct news *n, const int *counter)
{
  pthread_mutex_lock(&n->lock);
  int value = *counter;
  pthread_mutex_unlock(&n->lock);
  return value;
}

/* Waits until the counter has reached `want`. */
static inline void news_await(struct news *n, const int *counter, int want)
{
  struct timespec until;
  int rc = 0;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += DEADLINE_S;
  pthread_mutex_lock(&n->lock);
  while (*counter < want && rc == 0) rc = pthread_cond_timedwait(&n->change, &n->lock, &until);
  int got = *counter;
  pthread_mutex_unlock(&n->lock);
  assert_true(got >= want);
}

/* ---- loops ---- */

static inline struct rp__loop *loop_begin(void)
{
  struct rp__loop *l = NULL;
  assert_int_equal(rp__loop_new(&l, NULL), 0);
  assert_int_equal(rp__loop_start(l, NULL), 0);
  return l;
}

struct visit {
  struct rp__job job;
  void (*fn)(void *arg);
  void *arg;
  struct news news;
  int done;
};

static inline void visit_run(struct rp__job *job)
{
  struct visit *v = (struct visit *)(void *)job;
  v->fn(v->arg);
  news_add(&v->news, &v->done, 1);
}

/* fn(arg) in the loop's thread; returns when it has run. */
static inline void in_loop(struct rp__loop *l, void (*fn)(void *arg), void *arg)
{
  struct visit v = {.job = {.fn = visit_run}, .fn = fn, .arg = arg, .news = NEWS};
  assert_true(rp__loop_post(l, &v.job));
  news_await(&v.news, &v.done, 1);
}

/* ---- the other end of a socket ---- */

/* fd[0] goes into the loop; fd[1] is the test's, blocking, with a deadline. */
static inline void pair_make(int fd[2])
{
  struct timeval deadline = {.tv_sec = DEADLINE_S};
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
  assert_int_equal(setsockopt(fd[1], SOL_SOCKET, SO_RCVTIMEO, &deadline, sizeof(deadline)), 0);
  assert_int_equal(setsockopt(fd[1], SOL_SOCKET, SO_SNDTIMEO, &deadline, sizeof(deadline)), 0);
}

static inline void put(int fd, const void *bytes, size_t n)
{
  const char *p = bytes;
  while (n) {
    ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
    assert_true(k > 0);
    p += k;
    n -= (size_t)k;
  }
}

static inline void get(int fd, void *bytes, size_t n)
{
  char *p = bytes;
  while (n) {
    ssize_t k = recv(fd, p, n, 0);
    assert_true(k > 0);
    p += k;
    n -= (size_t)k;
  }
}

static inline void get_eof(int fd)
{
  char c;
  assert_int_equal(recv(fd, &c, 1, 0), 0);
}

#endif
