/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many writers: 64 threads append to 1,000 sessions and wait for each event. What
 * they are compared with has no clients to wake: one thread inserts the same rows in
 * transactions of the size that ours had on average, or writes them to a file.
 */
#include "ours.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define WRITERS 64
#define SESSIONS 1000
#define QUICK_SESSIONS 50
#define PRELOAD_BATCH 1000

struct field {
  const struct bench *bench;
  int sessions;
  rp_engine *engine;
  rp_session **handles;
  struct bare_db *bare;
  int64_t *seqs; /* of the bare loop's sessions */
  struct bare_file *file;
  struct bare_row *rows; /* one transaction of the bare loops */
  size_t rows_cap;
  bool keys; /* ours with an idempotency key per event */
  int64_t turns;
};

struct writer {
  struct field *field;
  pthread_t thread;
  pthread_barrier_t *start;
  int64_t n;
  uint64_t dice;
  struct samples latencies;
};

static uint64_t roll(uint64_t *x)
{
  *x ^= *x << 13;
  *x ^= *x >> 7;
  *x ^= *x << 17;
  return *x;
}

/* ---- ours ------------------------------------------------------------------ */

static void *writer_main(void *ctx)
{
  struct writer *w = ctx;
  struct field *f = w->field;
  pthread_barrier_wait(w->start);
  for (int64_t i = 0; i < w->n; i++) {
    uint64_t x = roll(&w->dice);
    char key[40];
    if (f->keys) snprintf(key, sizeof key, "%016llx%016llx", (unsigned long long)x, (unsigned long long)w->dice);
    int64_t t = now_ns();
    ours_append(f->handles[x % (uint64_t)f->sessions], (int64_t)(x >> 20), RP_DISK, f->keys ? key : NULL);
    samples_add(&w->latencies, (double)(now_ns() - t));
  }
  return NULL;
}

struct turn {
  double per_second, cpu_us; /* CPU of all threads per event */
  double size, p50, p99, after;
};

static struct turn turn_begin(void)
{
  return (struct turn){.per_second = (double)now_ns(), .cpu_us = cpu_seconds()};
}

static void turn_end(struct turn *t, int64_t events)
{
  t->per_second = (double)events * 1e9 / ((double)now_ns() - t->per_second);
  t->cpu_us = (cpu_seconds() - t->cpu_us) * 1e6 / (double)events;
}

static void gather(struct writer *w, struct turn *ret)
{
  struct samples all = {0};
  for (int i = 0; i < WRITERS; i++) {
    for (size_t k = 0; k < w[i].latencies.n; k++) samples_add(&all, w[i].latencies.v[k]);
    samples_done(&w[i].latencies);
  }
  ret->p50 = samples_median(&all);
  ret->p99 = samples_at(&all, 99);
  samples_done(&all);
}

static struct turn ours_turn(struct field *f, int64_t events)
{
  struct writer w[WRITERS];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, WRITERS + 1);
  struct commits before = ours_commits(f->engine);
  f->turns++;
  for (int i = 0; i < WRITERS; i++) {
    uint64_t dice = (uint64_t)(f->turns * WRITERS + i + 1) * 0x9e3779b97f4a7c15u;
    w[i] = (struct writer){.field = f, .start = &start, .n = events / WRITERS, .dice = dice};
    if (pthread_create(&w[i].thread, NULL, writer_main, &w[i]) != 0) die("no thread");
  }
  pthread_barrier_wait(&start);
  struct turn ret = turn_begin();
  for (int i = 0; i < WRITERS; i++) pthread_join(w[i].thread, NULL);
  turn_end(&ret, events / WRITERS * WRITERS);
  struct commits after = ours_commits(f->engine);
  pthread_barrier_destroy(&start);
  gather(w, &ret);
  ret.size = (double)(after.txns - before.txns) / (double)(after.groups - before.groups);
  double cpu = cpu_seconds();
  ours_index(f->engine);
  settle(f->bench);
  ret.after = cpu_seconds() - cpu;
  return ret;
}

/* ---- the bare loops -------------------------------------------------------- */

static size_t fill_rows(struct field *f, size_t n, uint64_t *dice)
{
  if (n > f->rows_cap) {
    free(f->rows);
    f->rows = must_alloc(n, sizeof *f->rows);
    f->rows_cap = n;
  }
  for (size_t i = 0; i < n; i++) {
    uint64_t x = roll(dice), session = x % (uint64_t)f->sessions;
    f->rows[i] = row_at((int64_t)session, ++f->seqs[session], (int64_t)(x >> 20));
  }
  return n;
}

static struct turn bare_turn(struct field *f, int64_t events, size_t size, bool file)
{
  uint64_t dice = (uint64_t)++f->turns * 0x9e3779b97f4a7c15u;
  struct turn ret = turn_begin();
  for (int64_t done = 0; done < events;) {
    size_t left = (size_t)(events - done);
    size_t n = fill_rows(f, left < size ? left : size, &dice);
    if (file)
      bare_file_commit(f->file, f->rows, n);
    else
      bare_db_commit(f->bare, f->rows, n);
    done += (int64_t)n;
  }
  turn_end(&ret, events);
  return ret;
}

/* ---- rounds ---------------------------------------------------------------- */

static void round_line(struct report *r, int number, const struct turn *o, const struct turn *bare,
                       const struct turn *file)
{
  report_line(r, "| %d | %.0f/s | %.0f µs | %s | %s | %.1f | %.0f/s | %.0f µs | %.0f %% | %.0f/s | %.0f %% | %.1f s |",
              number, o->per_second, o->cpu_us, text_ns(o->p50), text_ns(o->p99), o->size, bare->per_second,
              bare->cpu_us, 100 * o->per_second / bare->per_second, file->per_second,
              100 * o->per_second / file->per_second, o->after);
}

static double rounds_run(struct report *r, struct field *f)
{
  int64_t n = bench_count(f->bench, 64000, 640);
  struct samples ratios = {0}, ours = {0}, bares = {0}, files = {0}, ours_cpu = {0}, bare_cpu = {0};
  report_line(r,
              "| round | ours | CPU per event | median wait | p99 | mean transaction | bare SQLite | CPU per event | "
              "ours / bare | bare file | ours / file | CPU afterwards |");
  report_line(r, "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
  for (int i = 0; i < f->bench->rounds; i++) {
    struct turn o = ours_turn(f, n);
    size_t size = o.size < 1 ? 1 : (size_t)(o.size + 0.5);
    struct turn bare = bare_turn(f, n, size, false), file = bare_turn(f, n, size, true);
    round_line(r, i + 1, &o, &bare, &file);
    samples_add(&ratios, 100 * o.per_second / bare.per_second);
    samples_add(&ours, o.per_second), samples_add(&ours_cpu, o.cpu_us);
    samples_add(&bares, bare.per_second), samples_add(&bare_cpu, bare.cpu_us);
    samples_add(&files, file.per_second);
  }
  double ratio = samples_median(&ratios), mine = samples_median(&ours);
  report_line(r, "| **median** | %.0f/s | %.0f µs | | | | %.0f/s | %.0f µs | **%.0f %%** | %.0f/s | %.0f %% | |", mine,
              samples_median(&ours_cpu), samples_median(&bares), samples_median(&bare_cpu), ratio,
              samples_median(&files), 100 * mine / samples_median(&files));
  samples_done(&ratios), samples_done(&ours), samples_done(&bares), samples_done(&files);
  samples_done(&ours_cpu), samples_done(&bare_cpu);
  return ratio;
}

static void field_open(struct field *f, const struct bench *b, const char *name)
{
  char ours_name[64], bare_name[64], file_name[64], path[BENCH_PATH];
  snprintf(ours_name, sizeof ours_name, "group-%s.db", name);
  snprintf(bare_name, sizeof bare_name, "group-%s-bare.db", name);
  snprintf(file_name, sizeof file_name, "group-%s-bare.log", name);
  *f = (struct field){.bench = b, .sessions = b->quick ? QUICK_SESSIONS : SESSIONS};
  f->engine = ours_open(b, ours_name);
  f->bare = bare_db_open(bench_path(b, bare_name, path), true);
  f->file = bare_file_open(bench_path(b, file_name, path));
  f->handles = must_alloc((size_t)f->sessions, sizeof(rp_session *));
  f->seqs = must_alloc((size_t)f->sessions, sizeof(int64_t));
  for (int i = 0; i < f->sessions; i++) {
    char key[32];
    snprintf(key, sizeof key, "session-%d", i);
    f->handles[i] = ours_start(f->engine, key);
  }
}

static void field_close(struct field *f)
{
  for (int i = 0; i < f->sessions; i++) rp_session_free(f->handles[i]);
  rp_close(f->engine);
  bare_db_close(f->bare);
  bare_file_close(f->file);
  free(f->rows);
  free(f->handles);
  free(f->seqs);
}

/* ---- a database that is full already -------------------------------------------- */

static void preload_done(void *ctx, const rp_ack *ack, const rp_error *err)
{
  (void)ack;
  if (err != NULL) atomic_store((_Atomic int *)ctx, err->code);
}

/* Round robin, so that the rows of a session lie as far apart as they would in use. */
static void preload_ours(struct field *f, int64_t n)
{
  _Atomic int failed = 0;
  rp_append_options o = {0};
  o.durability = RP_OS;
  rp_error err;
  for (int64_t i = 0; i < n && !failed;) {
    rp_event ev = {.kind = "message", .body = body_at(i), .body_len = BODY_BYTES};
    int rc = rp_append_async(f->handles[i % f->sessions], &ev, &o, preload_done, &failed, &err);
    if (rc == RP_E_LIMIT) {
      ours_check(rp_flush(f->engine, &err), &err, "flush");
      continue;
    }
    ours_check(rc, &err, "append_async");
    i++;
  }
  ours_check(rp_flush(f->engine, &err), &err, "flush");
  if (failed) die("append_async: %s", rp_error_lookup(failed)->name);
}

static void preload_bare(struct field *f, int64_t n)
{
  struct bare_row *rows = must_alloc(PRELOAD_BATCH, sizeof *rows);
  for (int64_t i = 0; i < n;) {
    size_t k = 0;
    for (; k < PRELOAD_BATCH && i < n; k++, i++) {
      int64_t session = i % f->sessions;
      rows[k] = row_at(session, ++f->seqs[session], i);
    }
    bare_db_commit(f->bare, rows, k);
  }
  free(rows);
}

static void preload(struct report *r, struct field *f)
{
  int64_t n = bench_count(f->bench, 1000000, 1000), t = now_ns();
  preload_ours(f, n);
  double ours = (double)(now_ns() - t), index = ours_index(f->engine);
  settle(f->bench);
  t = now_ns();
  preload_bare(f, n);
  report_line(r,
              "\nInto a database that holds %lld events already, spread over the sessions (made in %s with "
              "`rp_append_async` and `os`, indexed for search in %s; the bare loop's in %s, %d a transaction):\n",
              (long long)n, text_ns(ours), text_ns(index), text_ns((double)(now_ns() - t)), PRELOAD_BATCH);
}

void section_group(const struct bench *b)
{
  struct report r;
  struct field f;
  report_open(&r, b, "group", "64 writers over 1,000 sessions");
  report_line(&r,
              "Durability `disk`, messages of 1 KiB, %lld a turn. The bare SQLite loop inserts as many rows (event and "
              "index) in transactions of the same average size, the bare file gets one write and one fdatasync per "
              "batch of that size; both have one thread and nobody to wake. CPU afterwards is what ours still did in "
              "the background (snapshots, full text) once all were acknowledged.\n",
              (long long)bench_count(b, 64000, 640));
  field_open(&f, b, "new");
  double plain = rounds_run(&r, &f);
  report_target(&r, "64 writers over 1,000 sessions: throughput against a bare SQLite loop", plain, 70, false, " %");
  report_line(&r, "\nThe same with an idempotency key of its own for each event of ours:\n");
  f.keys = true;
  rounds_run(&r, &f);
  field_close(&f);
  field_open(&f, b, "full");
  preload(&r, &f);
  rounds_run(&r, &f);
  field_close(&f);
  report_close(&r);
}
