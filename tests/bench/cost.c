/* SPDX-License-Identifier: Apache-2.0 */
/* What one append costs besides time: allocations, synchronisations with the disk, system calls. */
#include "count.h"
#include "ours.h"
#include "process.h"

#include <stdlib.h>
#include <string.h>

#define WARM 200

/*
 * args: bare, disk or os; how often. Prints the allocations of that many appends after
 * the first WARM ones. What snapshots and full text do meanwhile is in it: at 1 KiB
 * an event they are due about every thousandth.
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
  int64_t base = now_ns(); /* so that the bare loop's seqs are new in each process */
  for (int64_t i = 0; i < WARM + n; i++) {
    if (i == WARM) count_start();
    struct bare_row row = bare ? row_at(1, base + i, i) : (struct bare_row){0};
    if (bare)
      bare_db_commit(db, &row, 1);
    else
      ours_append(s, i, durability, NULL);
  }
  struct counts c = count_stop();
  printf("%lld %lld\n", (long long)(c.all - c.sqlite), (long long)c.sqlite);
  rp_session_free(s);
  rp_close(e);
  bare_db_close(db);
}

static void allocations(struct report *r, const char *what, double *ret_ours, double *ret_sqlite)
{
  char n[32], out[128];
  int64_t count = bench_count(r->bench, 500, 50);
  snprintf(n, sizeof n, "%lld", (long long)count);
  const char *args[CHILD_ARGS] = {what, n};
  child_read(r->bench, "cost", args, out, sizeof out);
  if (sscanf(out, "%lf %lf", ret_ours, ret_sqlite) != 2) die("the child cost said '%s'", out);
  *ret_ours /= (double)count;
  *ret_sqlite /= (double)count;
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
  double ours = 0, sqlite = 0;
  struct syscalls c;
  char counted[64] = "not counted | not counted", traced[128] = "no strace | | |";
  allocations(r, what, &ours, &sqlite);
  if (count_works()) snprintf(counted, sizeof counted, "%.2f | %.2f", ours, sqlite);
  if (syscalls(r, what, &c))
    snprintf(traced, sizeof traced, "%.2f | %.2f | %.2f | %.2f", c.sync, c.write, c.futex, c.all);
  report_line(r, "| %s | %s | %s |", label, counted, traced);
}

void section_cost(const struct bench *b)
{
  struct report r;
  report_open(&r, b, "cost", "What one append costs");
  report_line(&r,
              "One writer, messages of 1 KiB, the mean of %lld appends in a new process, all its threads taken "
              "together. Allocations are calls of malloc, calloc and realloc; SQLite's own stand apart.\n",
              (long long)bench_count(b, 500, 50));
  report_line(&r, "| | allocations, ours | allocations, SQLite | syncs | writes | futexes | system calls |");
  report_line(&r, "| --- | --- | --- | --- | --- | --- | --- |");
  line(&r, "bare", "bare SQLite commit, FULL");
  line(&r, "disk", "ours, `disk`");
  line(&r, "os", "ours, `os`");
  report_close(&r);
}
