/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of writers: a lock on a byte of <db>.runs, for which processes wait in the kernel (docs/architecture.md),
 * and a flag between the threads of this store, because locks on one descriptor do not exclude each other.
 *
 * A wait in the kernel can't have a time limit without signals, so a helper thread waits while the writer watches the
 * clock. The helper is made when a thread first has to wait. When the store is closed while the helper is still in the
 * kernel, the helper is left behind as the owner of the queue: when it gets the lock, it releases the lock and frees
 * everything.
 */
#include "store/sqlite/sqlite.h"
#include "base/ticks.h"

#include <assert.h>

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "base/process/lockfile.h"
#include "base/process/thread.h"

enum helper_state {
  HELPER_IDLE,
  HELPER_ASKED, /* to wait in the kernel, or doing so */
  HELPER_GOT,   /* has the byte (or helper_rc), for a thread that is waiting for it */
};

struct rp__sq_queue {
  pthread_mutex_t mu;
  pthread_cond_t changed;
  struct rp__lockfile file;
  struct rp__proc self;
  bool taken;  /* by a thread of this store */
  bool wanted; /* that thread waits for the helper */
  bool closed, orphaned;
  bool have_helper;
  pthread_t helper;
  enum helper_state state;
  int helper_rc;
};

static void queue_destroy(struct rp__sq_queue *q)
{
  rp__lockfile_close(&q->file);
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->mu);
  free(q);
}

static int monotonic_cond_init(pthread_cond_t *c)
{
  pthread_condattr_t attr;
  if (pthread_condattr_init(&attr)) return RP_E_NOMEM;
  int rc = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  if (rc == 0) rc = pthread_cond_init(c, &attr);
  pthread_condattr_destroy(&attr);
  return rc ? RP_E_NOMEM : 0;
}

int rp__sq_queue_new(const char *path, const struct rp__proc *self, struct rp__sq_queue **ret, rp_error *err)
{
  RP_AUTOFREE struct rp__sq_queue *q = calloc(1, sizeof *q);
  if (!q) return rp__fail_nomem(err);
  int rc = 0;
  if (path)
    rc = rp__lockfile_open(&q->file, path, err);
  else if ((q->file.fd = memfd_create("reprise.runs", MFD_CLOEXEC)) < 0)
    rc = rp__fail_errno(err, errno, "a file in memory");
  if (rc != 0) return rc;
  rp__lockfile_map(&q->file);
  q->self = *self;
  if (pthread_mutex_init(&q->mu, NULL)) goto no_mutex;
  if (monotonic_cond_init(&q->changed)) goto no_cond;
  rp__lockfile_map(&q->file);
  *ret = RP_TAKE(q);
  return 0;

no_cond:
  pthread_mutex_destroy(&q->mu);
no_mutex:
  rp__lockfile_close(&q->file);
  return rp__fail_nomem(err);
}

static void *helper_main(void *arg)
{
  struct rp__sq_queue *q = arg;
  pthread_mutex_lock(&q->mu);
  for (;;) {
    while (q->state != HELPER_ASKED && !q->closed) pthread_cond_wait(&q->changed, &q->mu);
    if (q->state != HELPER_ASKED) break;
    /* Waits its turn once, without mu. */
    pthread_mutex_unlock(&q->mu);
    int rc = rp__lockfile_queue_wait(&q->file);
    pthread_mutex_lock(&q->mu);
    q->helper_rc = rc;
    q->state = HELPER_GOT;
    if (!q->wanted) {
      if (rc == 0) rp__lockfile_queue_leave(&q->file);
      q->state = HELPER_IDLE;
    }
    pthread_cond_broadcast(&q->changed);
  }
  bool orphaned = q->orphaned;
  pthread_mutex_unlock(&q->mu);
  if (orphaned) queue_destroy(q);
  return NULL;
}

struct rp__runs_header *rp__sq_queue_header(struct rp__sq_queue *q)
{
  rp__lockfile_map(&q->file);
  return q->file.header;
}

void rp__sq_queue_free(struct rp__sq_queue *q)
{
  if (!q) return;
  pthread_mutex_lock(&q->mu);
  bool join = q->have_helper, orphan = join && q->state == HELPER_ASKED;
  pthread_t helper = q->helper;
  q->closed = true;
  q->orphaned = orphan;
  if (orphan) pthread_detach(helper);
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->mu);
  if (orphan) return;
  if (join) pthread_join(helper, NULL);
  queue_destroy(q);
}

/* Sends the helper into the kernel's queue and waits for it. mu is held. */
static int helper_wait(struct rp__sq_queue *q, const struct timespec *deadline)
{
  if (!q->have_helper) {
    if (rp__thread_start(&q->helper, "reprise-turn", helper_main, q)) return RP_E_NOMEM;
    q->have_helper = true;
  }
  assert(q->taken && !q->wanted);
  if (q->state == HELPER_IDLE) q->state = HELPER_ASKED;
  q->wanted = true;
  pthread_cond_broadcast(&q->changed);
  int rc = 0;
  while (q->state == HELPER_ASKED && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&q->changed, &q->mu, deadline);
  q->wanted = false;
  if (q->state == HELPER_ASKED) return RP_E_BUSY;
  q->state = HELPER_IDLE;
  return q->helper_rc;
}

int rp__sq_queue_enter(struct rp__sq_queue *q, int timeout_ms, rp_error *err)
{
  struct timespec deadline = rp__ticks_after_us(1000LL * timeout_ms);
  int rc = 0;
  pthread_mutex_lock(&q->mu);
  while (q->taken && rc != ETIMEDOUT) rc = pthread_cond_timedwait(&q->changed, &q->mu, &deadline);
  bool turn = !q->taken;
  if (turn) {
    q->taken = true;
    rc = q->state == HELPER_IDLE ? rp__lockfile_queue_try(&q->file) : RP_E_BUSY;
    if (rc == RP_E_BUSY) rc = helper_wait(q, &deadline);
    if (rc != 0) {
      q->taken = false;
      pthread_cond_broadcast(&q->changed);
    }
  } else {
    rc = RP_E_BUSY;
  }
  if (rc == 0) rp__lockfile_queue_sign(&q->file, &q->self);
  pthread_mutex_unlock(&q->mu);
  /* A turn is a few milliseconds: who has it for so long is stopped or hangs, and somebody has to be told who. */
  if (rc == RP_E_BUSY) {
    char who[RP_TURN_TEXT];
    struct rp__turn t;
    rp__lockfile_queue_look(&q->file, &t);
    rp__fail(err, RP_E_BUSY, "no turn to write within %d ms: %s has it", timeout_ms, rp__turn_text(&t, who));
    if (t.stopped)
      rp__hint(err, "'kill -CONT %lld' lets it go on; if it is killed, its turn passes on and nothing is lost",
               (long long)t.pid);
    return RP_E_BUSY;
  }
  return rc ? rp__fail(err, rc, "the queue of writers can't be used") : 0;
}

void rp__sq_queue_leave(struct rp__sq_queue *q)
{
  rp__lockfile_queue_leave(&q->file);
  pthread_mutex_lock(&q->mu);
  assert(q->taken);
  q->taken = false;
  pthread_cond_broadcast(&q->changed);
  pthread_mutex_unlock(&q->mu);
}
