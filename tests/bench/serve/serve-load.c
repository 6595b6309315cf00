/* SPDX-License-Identifier: Apache-2.0 */
/* Load by wrk, and what it reports. */
#include "process.h"
#include "serve.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BODIES 512 /* that wrk chooses from: enough that no two neighbours in a journal are alike */

bool load_found(void)
{
  return process_found("wrk");
}

void load_id(int64_t i, char out[32])
{
  snprintf(out, 32, "load-%lld", (long long)i);
}

static FILE *create(const struct bench *b, const char *name)
{
  char path[BENCH_PATH];
  FILE *f = fopen(bench_path(b, name, path), "we");
  if (f == NULL) die("%s can't be written", path);
  return f;
}

void load_prepare(const struct bench *b, int64_t sessions)
{
  FILE *ids = create(b, "sessions.txt"), *bodies = create(b, "bodies.txt");
  for (int64_t i = 0; i < sessions; i++) {
    char id[32];
    load_id(i, id);
    fprintf(ids, "%s\n", id);
  }
  for (int i = 0; i < BODIES; i++) fprintf(bodies, "%s\n", body_at(i * (BODY_POOL / BODIES) + i % 2));
  if (fclose(ids) != 0 || fclose(bodies) != 0) die("what wrk reads can't be written");
}

void load_start(struct program *p, const struct bench *b, struct program *server, const char *path, int seconds)
{
  char url[256], clients[16], length[16], script[BENCH_PATH];
  int folder = (int)(strrchr(b->self, '/') - b->self);
  snprintf(url, sizeof url, "http://127.0.0.1:%d%s", server->port, path ? path : "/");
  snprintf(clients, sizeof clients, "-c%d", SERVE_CLIENTS);
  snprintf(length, sizeof length, "-d%ds", seconds);
  if (snprintf(script, sizeof script, "%.*s/load.lua", folder, b->self) >= BENCH_PATH) die("the path is too long");
  const char *argv[] = {"wrk", "-t1", clients, length, "-s", script, url, "--", path ? NULL : b->dir, NULL};
  server->cpu = program_cpu(server);
  program_start(p, b, "wrk", argv);
}

struct load load_end(struct program *p, const struct program *server)
{
  char line[LINE_BYTES];
  long long requests, us, bad;
  double at[5];
  program_line(p, "load requests", line);
  while (program_runs(p)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  int n = sscanf(line, "load requests %lld us %lld bad %lld p50 %lf p90 %lf p95 %lf p99 %lf max %lf", &requests, &us,
                 &bad, &at[0], &at[1], &at[2], &at[3], &at[4]);
  if (n != 8 || us <= 0) die("wrk said: %s", line);
  if (bad > 0 || requests == 0) die("%lld of %lld requests failed", bad, requests);
  return (struct load){.per_second = (double)requests * 1e6 / (double)us,
                       .p50 = at[0] * 1e3,
                       .p90 = at[1] * 1e3,
                       .p95 = at[2] * 1e3,
                       .p99 = at[3] * 1e3,
                       .max = at[4] * 1e3,
                       .cpu = (program_cpu(server) - server->cpu) * 1e9 / (double)requests,
                       .requests = requests};
}
