/* SPDX-License-Identifier: Apache-2.0 */
/* What one append costs besides waiting: processor, allocations, synchronisations with the disk, system calls. */
#include "count.h"
#include "ours.h"
#include "process.h"

#include <stdlib.h>
#include <string.h>

#define WARM 200

/*
 * args: bare, disk or os; how often. Prints the allocations of that many appends after
 * the first WARM ones, and the CPU time of the thread that made them and of the process. What snapshots and full text
 * do meanwhile is in it: at 1 KiB an event they are due about every thousandth.
 */
void child_cost(const struct bench *b, char **args)
{
  int64_t n = strtoll(args[1], NULL, 10);
  bool bare = strcmp(args[0], "bare") == 0;
  rp_durability durability = strcmp(args[0], "os") == 0 ? RP_OS : RP_DISK;
  char path[BENCH_PATH];
  count_sqlite();
  body_at(0);
  struct bare_db *db = bare ? bare_db_open(bench_path(b, "cost-bare.db", path), true) : NULL;
  rp_engine *e = bare ? NULL : ours_open(b, "cost-ours.db");
  rp_session *s = bare ? NULL : ours_start(e, "cost");
  double thread = 0, process = 0;
  int64_t base = now_ns(); /* so that the bare loop's seqs are new in each process */
  for (int64_t i = 0; i < WARM + n; i++) {
    if (i == WARM) count_start(), thread = thread_cpu_ns(), process = cpu_seconds();
    struct bare_row row = bare ? row_at(1, base + i, i) : (struct bare_row){0};
    if (bare)
      bare_db_commit(db, &row, 1);
    else
      ours_append(s, i, durability, NULL);
  }
  struct counts c = count_stop();
  printf("%lld %lld %.0f %.0f\n", (long long)(c.all - c.sqlite), (long long)c.sqlite, thread_cpu_ns() - thread,
         (cpu_seconds() - process) * 1e9);
  rp_session_free(s);
  rp_close(e);
  bare_db_close(db);
}

struct counted {
  double ours, sqlite;    /* allocations */
  double thread, process; /* ns of CPU */
};

static struct counted count_appends(struct report *r, const char *what)
{
  char n[32], out[128];
  struct counted c;
  int64_t count = bench_count(r->bench, 500, 50);
  snprintf(n, sizeof n, "%lld", (long long)count);
  const char *args[CHILD_ARGS] = {what, n};
  child_read(r->bench, "cost", args, out, sizeof out);
  if (sscanf(out, "%lf %lf %lf %lf", &c.ours, &c.sqlite, &c.thread, &c.process) != 4)
    die("the child cost said '%s'", out);
  double k = (double)count;
  return (struct counted){c.ours / k, c.sqlite / k, c.thread / k, c.process / k};
}

/* The difference between many appends and few is free of what opening and closing cost. */
static bool syscalls(struct report *r, const char *what, struct syscalls *ret)
{
  char n[32];
  int64_t many = bench_count(r->bench, 500, 50);
  snprintf(n, sizeof n, "%lld", (long long)many);
  const char *args0[CHILD_ARGS] = {what, "0"}, *args1[CHILD_ARGS] = {what, n};
  struct syscalls x, y;
  if (!child_syscalls(r->bench, "cost", args0, true, &x) || !child_syscalls(r->bench, "cost", args1, true, &y))
    return false;
  double k = (double)many;
  *ret = (struct syscalls){.all = (y.all - x.all) / k,
                           .sync = (y.sync - x.sync) / k,
                           .write = (y.write - x.write) / k,
                           .futex = (y.futex - x.futex) / k};
  return true;
}

static void line(struct report *r, const char *what, const char *label)
{
  struct counted a = count_appends(r, what);
  struct syscalls c;
  char counted[64] = "not counted | not counted", traced[128] = "no strace | | |";
  if (count_works()) snprintf(counted, sizeof counted, "%.2f | %.2f", a.ours, a.sqlite);
  if (syscalls(r, what, &c))
    snprintf(traced, sizeof traced, "%.2f | %.2f | %.2f | %.2f", c.sync, c.write, c.futex, c.all);
  report_line(r, "| %s | %s | %s | %s | %s |", label, text_ns(a.thread), text_ns(a.process), counted, traced);
}

void section_cost(const struct bench *b)
{
  struct report r;
  report_open(&r, b, "cost", "What one append costs");
  report_line(
      &r,
      "One writer, messages of 1 KiB, the mean of %lld appends in a new process, all its threads taken together "
      "but in the first column. Allocations are calls of malloc, calloc and "
      "realloc; SQLite's own stand apart.\n",
      (long long)bench_count(b, 500, 50));
  report_line(&r, "| | CPU of the caller | CPU in all | allocations, ours | allocations, SQLite | syncs | writes | "
                  "futexes | system calls |");
  report_line(&r, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  line(&r, "bare", "bare SQLite commit, FULL");
  line(&r, "disk", "ours, `disk`");
  line(&r, "os", "ours, `os`");
  report_close(&r);
}
