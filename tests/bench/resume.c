/* SPDX-License-Identifier: Apache-2.0 */
/* Coming back to a long session: as fast, and in as little memory, as to a short one. */
#include "ours.h"
#include "process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRIES 20

static double status_kib(const char *name)
{
  char line[256];
  double v = 0;
  FILE *f = fopen("/proc/self/status", "re");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, name, strlen(name)) == 0) v = strtod(line + strlen(name), NULL);
  if (f) fclose(f);
  return v;
}

/* args: database, key. Nothing is ended or closed, so that the next one finds what a crash leaves. */
void child_resume(const struct bench *b, char **args)
{
  int64_t t0 = now_ns();
  rp_engine *e = ours_open(b, args[0]);
  int64_t t1 = now_ns();
  rp_session *s = ours_start(e, args[1]);
  int64_t t2 = now_ns();
  double hwm = status_kib("VmHWM:"), rss = status_kib("VmRSS:");
  char *state = NULL;
  rp_error err;
  int64_t t3 = now_ns();
  ours_check(rp_state_json(s, -1, &state, &err), &err, "state");
  int64_t t4 = now_ns();
  if (strstr(rp_start_json(s), "\"resumed\":true") == NULL) die("the session was not resumed");
  printf("%lld %lld %lld %.0f %.0f\n", (long long)(t1 - t0), (long long)(t2 - t1), (long long)(t4 - t3), hwm, rss);
  fflush(stdout);
  _exit(0);
}

struct resume ours_resume(const struct bench *b, const char *name, const char *key)
{
  char out[256];
  struct resume r;
  const char *args[CHILD_ARGS] = {name, key};
  child_read(b, "resume", args, out, sizeof out);
  if (sscanf(out, "%lf %lf %lf %lf %lf", &r.open_ns, &r.start_ns, &r.state_ns, &r.hwm_kib, &r.rss_kib) != 5)
    die("the child resume said '%s'", out);
  return r;
}

struct column {
  int64_t events;
  char name[40];
  struct samples open, start, state, hwm, rss;
};

static void column_take(struct column *c, const struct bench *b)
{
  struct resume r = ours_resume(b, c->name, "big");
  samples_add(&c->open, r.open_ns);
  samples_add(&c->start, r.start_ns);
  samples_add(&c->state, r.state_ns);
  samples_add(&c->hwm, r.hwm_kib);
  samples_add(&c->rss, r.rss_kib);
}

static void column_line(struct column *c, struct report *r)
{
  report_line(r, "| %lld | %s | %s | %s | %s | %.1f MiB | %.1f MiB |", (long long)c->events,
              text_ns(samples_median(&c->start)), text_ns(samples_at(&c->start, 95)), text_ns(samples_median(&c->open)),
              text_ns(samples_median(&c->state)), samples_median(&c->hwm) / 1024, samples_median(&c->rss) / 1024);
}

static void column_done(struct column *c)
{
  samples_done(&c->open), samples_done(&c->start), samples_done(&c->state);
  samples_done(&c->hwm), samples_done(&c->rss);
}

void section_resume(const struct bench *b)
{
  struct report r;
  struct column small = {.events = bench_count(b, 1000, 100)}, large = {.events = bench_count(b, 1000000, 2000)};
  report_open(&r, b, "resume", "Resume");
  snprintf(small.name, sizeof small.name, "%s", ours_big(b, small.events));
  snprintf(large.name, sizeof large.name, "%s", ours_big(b, large.events));
  column_take(&small, b), column_take(&large, b); /* The first of each finds a cold cache. */
  column_done(&small), column_done(&large);
  for (int i = 0; i < (b->quick ? 3 : TRIES); i++) column_take(&small, b), column_take(&large, b);
  report_line(&r,
              "A session that crashed 500 messages of 1 KiB after its last checkpoint is started again by its key, "
              "state loaded, each time in a new process; %d times each, in turns.\n",
              TRIES);
  report_line(&r, "| events | `rp_start`, median | p95 | `rp_open` | `rp_state_json` | peak memory | resident |");
  report_line(&r, "| --- | --- | --- | --- | --- | --- | --- |");
  column_line(&small, &r);
  column_line(&large, &r);
  double ratio = samples_median(&large.start) / samples_median(&small.start);
  double more = (samples_median(&large.hwm) - samples_median(&small.hwm)) / 1024;
  report_target(&r, "Resume of 1,000,000 events against 1,000: time of `rp_start`", ratio, 1.5, true, " ×");
  report_target(&r, "Resume of 1,000,000 events against 1,000: more memory at the peak", more, 1, true, " MiB");
  column_done(&small), column_done(&large);
  report_close(&r);
}
