/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time limit for stopping. A separate thread watches the thread that shuts the server down. When the time is over,
 * it ends the process, whatever the shutdown waits for (a job of the pool, the store, a request without an answer).
 * That is as safe as a kill: acknowledged events are stored, and runs live by heartbeats.
 */
#include "base/process/thread.h"
#include "base/ticks.h"
#include "server/server.h"

#define LOOK_MS 50 /* between two looks at whether there is a hurry: a signal handler wakes nobody */

struct rp__stop {
  struct rp__slog *log;
  const atomic_bool *hurry;
  int64_t ms;
  _Atomic(const char *) step;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool over;
  pthread_t thread;
};

static void *stop_main(void *arg)
{
  struct rp__stop *s = arg;
  int64_t began = rp__ticks_ms(), until = began + s->ms;
  bool hurried = false;
  pthread_mutex_lock(&s->lock);
  while (!s->over) {
    int64_t now = rp__ticks_ms();
    if (!hurried && s->hurry && atomic_load(s->hurry)) {
      hurried = true;
      until = RP_MIN(until, now + RP_STOP_HURRY_MS);
    }
    if (now >= until) {
      alarm(1); /* ends the process too when nobody reads the log */
      rp__slog(s->log, RP_LOG_ERROR, "stop_overdue", RP_F("waited_for", atomic_load(&s->step)),
               RP_FN("ms", now - began),
               RP_F("means", "the process ends here; only what was accepted as memory can be lost"));
      _exit(rp_error_lookup(RP_E_FAILED)->exit_code);
    }
    int64_t next = RP_MIN(until, now + LOOK_MS);
    pthread_cond_timedwait(&s->changed, &s->lock, &(struct timespec){next / 1000, next % 1000 * 1000000});
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

struct rp__stop *rp__stop_begin(struct rp__slog *log, int64_t ms, const atomic_bool *hurry)
{
  pthread_condattr_t attr;
  struct rp__stop *s = calloc(1, sizeof *s);
  alarm((unsigned)((ms + 999) / 1000)); /* until there is a thread */
  if (!s) return NULL;
  *s = (struct rp__stop){.log = log, .ms = ms, .hurry = hurry, .step = "clients"};
  pthread_mutex_init(&s->lock, NULL);
  pthread_condattr_init(&attr);
  pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
  pthread_cond_init(&s->changed, &attr);
  pthread_condattr_destroy(&attr);
  if (rp__thread_start(&s->thread, "reprise-stop", stop_main, s)) {
    free(s);
    return NULL;
  }
  alarm(0);
  return s;
}

void rp__stop_step(struct rp__stop *s, const char *step)
{
  if (s) atomic_store(&s->step, step);
}

void rp__stop_end(struct rp__stop *s)
{
  alarm(0);
  if (!s) return;
  pthread_mutex_lock(&s->lock);
  s->over = true;
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->lock);
  pthread_join(s->thread, NULL);
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->lock);
  free(s);
}
