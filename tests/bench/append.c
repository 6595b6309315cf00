/* SPDX-License-Identifier: Apache-2.0 */
/* One writer that waits for each event: ours and a bare SQLite commit of the same row, in turns. */
#include "ours.h"

struct pair {
  const struct bench *bench;
  struct bare_db *bare;
  rp_engine *engine;
  rp_session *session;
  rp_durability durability;
  int64_t next; /* seq of the bare loop, body of both */
};

static void bare_turn(struct pair *p, int64_t n, struct samples *ret)
{
  for (int64_t i = 0; i < n; i++) {
    p->next++;
    struct bare_row row = row_at(1, p->next, p->next);
    int64_t t = now_ns();
    bare_db_commit(p->bare, &row, 1);
    samples_add(ret, (double)(now_ns() - t));
  }
}

static void ours_turn(struct pair *p, int64_t n, struct samples *ret)
{
  for (int64_t i = 0; i < n; i++) {
    p->next++;
    int64_t t = now_ns();
    ours_append(p->session, p->next, p->durability, NULL);
    samples_add(ret, (double)(now_ns() - t));
  }
}

/* Long enough for both logs to have been started over once: steady state. */
static void warm(struct pair *p, int64_t n)
{
  struct samples ignored = {0};
  bare_turn(p, n, &ignored);
  ours_turn(p, n, &ignored);
  settle(p->bench);
  samples_done(&ignored);
}

struct round {
  struct samples bare, ours;
};

/* Who comes first alternates, so that a drift of the machine favours neither. */
static void round_run(struct pair *p, int number, int64_t n, struct round *ret)
{
  for (int turn = 0; turn < 2; turn++) {
    if ((turn + number) % 2) {
      ours_turn(p, n, &ret->ours);
      settle(p->bench);
    } else {
      bare_turn(p, n, &ret->bare);
    }
  }
}

static double rounds_run(struct report *r, struct pair *p, int64_t n)
{
  struct samples ratios = {0}, bare = {0}, ours = {0}, bare99 = {0}, ours99 = {0};
  report_line(r, "| round | bare SQLite, median | p99 | ours, median | p99 | ratio of medians |");
  report_line(r, "| --- | --- | --- | --- | --- | --- |");
  for (int i = 0; i < r->bench->rounds; i++) {
    struct round it = {0};
    round_run(p, i, n, &it);
    double b = samples_median(&it.bare), o = samples_median(&it.ours);
    double b99 = samples_at(&it.bare, 99), o99 = samples_at(&it.ours, 99);
    report_line(r, "| %d | %s | %s | %s | %s | %.2f |", i + 1, text_ns(b), text_ns(b99), text_ns(o), text_ns(o99),
                o / b);
    samples_add(&ratios, o / b), samples_add(&bare, b), samples_add(&ours, o);
    samples_add(&bare99, b99), samples_add(&ours99, o99);
    samples_done(&it.bare), samples_done(&it.ours);
  }
  double ratio = samples_median(&ratios);
  report_line(r, "| **median** | %s | %s | %s | %s | **%.2f** |", text_ns(samples_median(&bare)),
              text_ns(samples_median(&bare99)), text_ns(samples_median(&ours)), text_ns(samples_median(&ours99)),
              ratio);
  samples_done(&ratios), samples_done(&bare), samples_done(&ours), samples_done(&bare99), samples_done(&ours99);
  return ratio;
}

static double compare(struct report *r, const char *name, rp_durability durability)
{
  const struct bench *b = r->bench;
  char bare_name[64], ours_name[64], path[BENCH_PATH];
  snprintf(bare_name, sizeof bare_name, "append-bare-%s.db", name);
  snprintf(ours_name, sizeof ours_name, "append-ours-%s.db", name);
  struct pair p = {.bench = b, .durability = durability};
  p.bare = bare_db_open(bench_path(b, bare_name, path), durability == RP_DISK);
  p.engine = ours_open(b, ours_name);
  p.session = ours_start(p.engine, "one");
  int64_t n = bench_count(b, 3000, 30);
  warm(&p, n);
  double ratio = rounds_run(r, &p, n);
  rp_session_free(p.session);
  rp_close(p.engine);
  bare_db_close(p.bare);
  return ratio;
}

void section_append(const struct bench *b)
{
  struct report r;
  report_open(&r, b, "append", "One writer");
  report_line(&r, "Messages of 1 KiB, each waited for, %lld a turn. Durability `disk` (bare: synchronous FULL):\n",
              (long long)bench_count(b, 3000, 30));
  double ratio = compare(&r, "disk", RP_DISK);
  report_target(&r, "One writer, `disk`: median latency against a bare SQLite commit", ratio, 1.3, true, " ×");
  report_line(&r, "\nDurability `os` (bare: synchronous NORMAL):\n");
  compare(&r, "os", RP_OS);
  report_close(&r);
}
