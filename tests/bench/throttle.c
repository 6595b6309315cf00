/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeat and save as a game loop calls them (N-19): nearly always there is nothing to do. */
#include "ours.h"
#include "process.h"

#include <stdlib.h>
#include <string.h>

#define STRAY_SYSCALLS 20 /* what two starts of a process may differ by */

typedef int call_fn(rp_session *s, rp_error *err);

static double loop(rp_session *s, call_fn *call, int64_t n)
{
  int64_t t = now_ns();
  for (int64_t i = 0; i < n; i++)
    if (call(s, NULL) != 0) die("a throttled call failed");
  return (double)(now_ns() - t) / (double)n;
}

/* args: database, heartbeat or save, how often. */
void child_throttle(const struct bench *b, char **args)
{
  rp_engine *e = ours_open(b, args[0]);
  rp_session *s = ours_start(e, "beat");
  call_fn *call = strcmp(args[1], "save") == 0 ? rp_save : rp_heartbeat;
  ours_append(s, 0, RP_OS, NULL); /* something to save */
  loop(s, call, 1);
  settle(b);
  printf("%.1f\n", loop(s, call, strtoll(args[2], NULL, 10)));
  rp_session_free(s);
  rp_close(e);
}

/* System calls of the calling thread, `n` calls against one: what the loop itself adds. */
static bool extra_syscalls(const struct bench *b, const char *db, const char *what, int64_t n, double *ret)
{
  char count[32];
  snprintf(count, sizeof count, "%lld", (long long)n);
  const char *few[CHILD_ARGS] = {db, what, "1"}, *many[CHILD_ARGS] = {db, what, count};
  struct syscalls x, y;
  if (!child_syscalls(b, "throttle", few, false, &x) || !child_syscalls(b, "throttle", many, false, &y)) return false;
  double extra = (y.all - y.wait) - (x.all - x.wait);
  *ret = extra > 0 ? extra : 0;
  return true;
}

struct figures {
  double median, slowest, extra;
  bool counted;
};

static struct figures measure(const struct bench *b, const char *what, int64_t traced)
{
  char db[64], count[32], out[64];
  snprintf(db, sizeof db, "throttle-%s.db", what);
  snprintf(count, sizeof count, "%lld", (long long)bench_count(b, 5000000, 10000));
  struct samples ns = {0};
  const char *args[CHILD_ARGS] = {db, what, count};
  for (int i = 0; i < b->rounds; i++) {
    child_read(b, "throttle", args, out, sizeof out);
    samples_add(&ns, strtod(out, NULL));
  }
  struct figures f = {.median = samples_median(&ns), .slowest = samples_at(&ns, 100)};
  f.counted = extra_syscalls(b, db, what, traced, &f.extra);
  samples_done(&ns);
  return f;
}

static void tell(struct report *r, const char *what, const struct figures *f, int64_t traced)
{
  char label[96];
  snprintf(label, sizeof label, "Throttled `rp_%s`: time of a call", what);
  report_target(r, label, f->median, 200, true, " ns");
  if (!f->counted) {
    report_line(r, "\nSystem calls of `rp_%s` were not counted: there is no working strace here.", what);
    return;
  }
  snprintf(label, sizeof label, "Throttled `rp_%s`: system calls in %lld calls", what, (long long)traced);
  report_target(r, label, f->extra, STRAY_SYSCALLS, true, "");
}

void section_throttle(const struct bench *b)
{
  struct report r;
  int64_t traced = bench_count(b, 1000000, 10000);
  report_open(&r, b, "throttle", "Throttled calls");
  report_line(
      &r,
      "`rp_heartbeat` and `rp_save` in a tight loop of %lld calls, each round in a new process. System calls are "
      "those of the calling thread as strace counts them, so reading the clock through the vDSO is none.\n",
      (long long)bench_count(b, 5000000, 10000));
  struct figures beat = measure(b, "heartbeat", traced), save = measure(b, "save", traced);
  report_line(&r, "| call | median | slowest round |");
  report_line(&r, "| --- | --- | --- |");
  report_line(&r, "| `rp_heartbeat` | %.0f ns | %.0f ns |", beat.median, beat.slowest);
  report_line(&r, "| `rp_save` | %.0f ns | %.0f ns |", save.median, save.slowest);
  tell(&r, "heartbeat", &beat, traced);
  tell(&r, "save", &save, traced);
  report_close(&r);
}
