/* SPDX-License-Identifier: Apache-2.0 */
/* What the server's appends are compared with: as many threads of this process as there are connections. */
#include "serve.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct embedded {
  rp_engine *engine;
  rp_session **handles;
  int64_t sessions, turns;
  const struct bench *bench;
  atomic_bool stop;
};

struct writer {
  struct embedded *of;
  pthread_t thread;
  uint64_t dice;
  struct samples waits;
};

struct embedded *embedded_open(const struct bench *b, int64_t sessions)
{
  struct embedded *e = must_alloc(1, sizeof *e);
  e->bench = b;
  e->sessions = sessions;
  e->engine = ours_open(b, "serve-embedded.db");
  e->handles = must_alloc((size_t)sessions, sizeof(rp_session *));
  for (int64_t i = 0; i < sessions; i++) {
    char id[32];
    load_id(i, id);
    e->handles[i] = ours_start(e->engine, id);
  }
  return e;
}

void embedded_close(struct embedded *e)
{
  for (int64_t i = 0; i < e->sessions; i++) rp_session_free(e->handles[i]);
  rp_close(e->engine);
  free(e->handles);
  free(e);
}

static uint64_t roll(uint64_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

static void *writer_main(void *ctx)
{
  struct writer *w = ctx;
  while (!atomic_load_explicit(&w->of->stop, memory_order_relaxed)) {
    uint64_t x = roll(&w->dice);
    int64_t t = now_ns();
    ours_append(w->of->handles[x % (uint64_t)w->of->sessions], (int64_t)(x >> 20), RP_DISK, NULL);
    samples_add(&w->waits, (double)(now_ns() - t));
  }
  return NULL;
}

static struct load gather(struct writer *w, double ns, double cpu_ns)
{
  struct samples all = {0};
  for (int i = 0; i < SERVE_CLIENTS; i++) {
    for (size_t k = 0; k < w[i].waits.n; k++) samples_add(&all, w[i].waits.v[k]);
    samples_done(&w[i].waits);
  }
  struct load ret = {.per_second = (double)all.n * 1e9 / ns,
                     .p50 = samples_median(&all),
                     .p90 = samples_at(&all, 90),
                     .p95 = samples_at(&all, 95),
                     .p99 = samples_at(&all, 99),
                     .max = samples_at(&all, 100),
                     .cpu = cpu_ns / (double)all.n,
                     .requests = (int64_t)all.n};
  samples_done(&all);
  return ret;
}

struct load embedded_run(struct embedded *e, double seconds)
{
  struct writer w[SERVE_CLIENTS];
  struct timespec length = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  atomic_store(&e->stop, false);
  e->turns++;
  double cpu = cpu_seconds();
  int64_t began = now_ns();
  for (int i = 0; i < SERVE_CLIENTS; i++) {
    w[i] = (struct writer){.of = e, .dice = (uint64_t)(e->turns * SERVE_CLIENTS + i + 1) * 0x9e3779b97f4a7c15u};
    if (pthread_create(&w[i].thread, NULL, writer_main, &w[i]) != 0) die("no thread");
  }
  nanosleep(&length, NULL);
  atomic_store(&e->stop, true);
  for (int i = 0; i < SERVE_CLIENTS; i++) pthread_join(w[i].thread, NULL);
  double ns = (double)(now_ns() - began);
  cpu = (cpu_seconds() - cpu) * 1e9;
  ours_index(e->engine);
  settle(e->bench);
  return gather(w, ns, cpu);
}
