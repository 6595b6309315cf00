/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds' own limits (X-13, L-11), each to be kept with a factor of ten to spare.
 * Captures and restorations happen in a scope with a long past while others, on an
 * engine of their own over the same file, write and read: both sides are timed.
 */
#include "past.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAUSE_NS 1000000 /* between two calls of a bystander: he works here, he does not load the disk */
#define PAGE 50

/* ---- bystanders ------------------------------------------------------------------ */

struct bystander {
  rp_engine *engine;
  rp_session *session;
  atomic_bool *stop;
  struct samples calls;
  void (*call)(struct bystander *y, int64_t i);
};

static int ignore_event(void *ctx, const rp_event_info *ev)
{
  (void)ev;
  ++*(int64_t *)ctx;
  return 0;
}

static int ignore_session(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int64_t *)ctx;
  return 0;
}

static void write_call(struct bystander *y, int64_t i)
{
  ours_append(y->session, i, RP_DISK, NULL);
}

static void read_call(struct bystander *y, int64_t i)
{
  rp_filter f = {.scope = PAST_SCOPE, .limit = PAGE};
  int64_t seen = 0;
  rp_error err;
  if (i % 2)
    ours_check(rp_events(y->session, 0, PAGE, ignore_event, &seen, &err), &err, "events");
  else
    ours_check(rp_list(y->engine, &f, ignore_session, &seen, &err), &err, "list");
}

static void *bystander_main(void *ctx)
{
  struct bystander *y = ctx;
  for (int64_t i = 0; !atomic_load(y->stop); i++) {
    int64_t t = now_ns();
    y->call(y, i);
    samples_add(&y->calls, (double)(now_ns() - t));
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  }
  return NULL;
}

/* ---- the scene ----------------------------------------------------------------------- */

struct scene {
  const struct bench *bench;
  rp_engine *engine, *other;
  rp_session *pen, *book; /* what the bystanders write to and read from */
  struct samples capture, restoration, scoring, create, checkpoint, restore;
  struct samples alone_write, alone_read, write, read;
};

/* Captures and restorations in turn; every brief that a start gave is one of a hundred thousand sessions. */
static void work(struct scene *s, int64_t n)
{
  rp_error err;
  for (int64_t i = 0; i < n; i++) {
    int64_t t0 = now_ns();
    rp_session *it = past_start(s->engine, PAST_SCOPE);
    int64_t t1 = now_ns();
    past_fill(it, i);
    int64_t t2 = now_ns();
    ours_check(rp_end(it, NULL, &err), &err, "end");
    int64_t t3 = now_ns();
    rp_session_free(it);
    samples_add(&s->restoration, (double)(t1 - t0));
    samples_add(&s->capture, (double)(t3 - t2));
  }
}

static void watch(struct scene *s, int64_t work_n, struct samples *ret_write, struct samples *ret_read)
{
  atomic_bool stop = false;
  struct bystander y[2] = {{.engine = s->other, .session = s->pen, .stop = &stop, .call = write_call},
                           {.engine = s->other, .session = s->book, .stop = &stop, .call = read_call}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    if (pthread_create(&threads[i], NULL, bystander_main, &y[i]) != 0) die("no thread");
  if (work_n)
    work(s, work_n);
  else
    nanosleep(&(struct timespec){.tv_sec = !s->bench->quick, .tv_nsec = 50000000}, NULL);
  atomic_store(&stop, true);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  *ret_write = y[0].calls;
  *ret_read = y[1].calls;
}

/* ---- L-11 ------------------------------------------------------------------------------ */

static void measure_create(struct scene *s, int64_t n)
{
  rp_error err;
  for (int64_t i = 0; i < n; i++) {
    int64_t t = now_ns();
    rp_session *it = past_start(s->other, "small");
    samples_add(&s->create, (double)(now_ns() - t));
    ours_check(rp_end(it, NULL, &err), &err, "end");
    rp_session_free(it);
  }
}

static void add_messages(rp_session *s, int64_t n)
{
  for (int64_t i = 0; i < n; i++) ours_append(s, i, RP_OS, NULL);
}

/* A session of five hundred messages that ten more were written to, and the same one after a crash. */
static void measure_checkpoint(struct scene *s, int64_t n)
{
  rp_error err;
  rp_session *it = ours_start(s->other, "long");
  add_messages(it, bench_count(s->bench, 500, 20));
  for (int64_t i = 0; i < n; i++) {
    add_messages(it, 10);
    int64_t t = now_ns();
    ours_check(rp_checkpoint(it, NULL, &err), &err, "checkpoint");
    samples_add(&s->checkpoint, (double)(now_ns() - t));
    add_messages(it, 90);
    rp_session_free(it);
    t = now_ns();
    it = ours_start(s->other, "long");
    samples_add(&s->restore, (double)(now_ns() - t));
    if (strstr(rp_start_json(it), "\"resumed\":true") == NULL) die("the session was not resumed");
  }
  rp_session_free(it);
}

/* ---- telling ----------------------------------------------------------------------------- */

static void line(struct report *r, const char *what, struct samples *s)
{
  report_line(r, "| %s | %zu | %s | %s | %s |", what, s->n, text_ns(samples_median(s)), text_ns(samples_at(s, 95)),
              text_ns(samples_at(s, 100)));
}

static void limit(struct report *r, const char *what, struct samples *s, double ms)
{
  report_limit(r, what, samples_at(s, 95) / 1e6, ms, true, " ms");
}

static void tell(struct report *r, struct scene *s)
{
  report_line(r, "| | calls | median | p95 | slowest |");
  report_line(r, "| --- | ---: | ---: | ---: | ---: |");
  line(r, "restoration: `rp_start` to the brief", &s->restoration);
  line(r, "capture: `rp_end` with a record of 50 KB", &s->capture);
  line(r, "scoring and selecting", &s->scoring);
  line(r, "another's append (`disk`) meanwhile", &s->write);
  line(r, "the same with nobody else there", &s->alone_write);
  line(r, "another's read (50 events, 50 sessions) meanwhile", &s->read);
  line(r, "the same with nobody else there", &s->alone_read);
  line(r, "create: `rp_start` in a small scope", &s->create);
  line(r, "checkpoint: `rp_checkpoint`", &s->checkpoint);
  line(r, "restore: `rp_start` of a session that crashed", &s->restore);
  limit(r, "Capture of 50 KB, p95 (seed: 500 ms)", &s->capture, 50);
  limit(r, "Restoration among 100,000 sessions, p95 (seed: 2 s)", &s->restoration, 200);
  limit(r, "Another's append during captures and restorations, p95 (seed: 100 ms)", &s->write, 10);
  limit(r, "Another's read during captures and restorations, p95 (seed: 100 ms)", &s->read, 10);
  limit(r, "Create, p95 (seed: 100 ms)", &s->create, 10);
  limit(r, "Checkpoint, p95 (seed: 500 ms)", &s->checkpoint, 50);
  limit(r, "Restore, p95 (seed: 1 s)", &s->restore, 100);
}

static void scene_done(struct scene *s)
{
  struct samples *all[] = {&s->capture,     &s->restoration, &s->scoring, &s->create, &s->checkpoint,
                           &s->alone_write, &s->alone_read,  &s->write,   &s->read,   &s->restore};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) samples_done(all[i]);
  rp_session_free(s->pen);
  rp_session_free(s->book);
  rp_close(s->other);
  rp_close(s->engine);
}

static void scene_open(struct scene *s, const char *name)
{
  s->engine = ours_open(s->bench, name);
  s->other = ours_open(s->bench, name);
  s->pen = ours_start(s->other, "pen");
  s->book = ours_start(s->other, "book");
  add_messages(s->book, PAGE);
}

void section_limits(const struct bench *b)
{
  struct report r;
  struct scene s = {.bench = b};
  int64_t rows = bench_count(b, 100000, 100), n = bench_count(b, 60, 2);
  const char *name = past_big(b, rows);
  report_open(&r, b, "limits", "The seeds' limits, with a factor of ten to spare");
  report_line(&r,
              "Captures and restorations in a scope of %lld ended sessions while two threads, with another engine over "
              "the same file, write and read; then create, checkpoint and restore by themselves. A limit that is "
              "missed makes `./dev bench` fail.\n",
              (long long)rows);
  scene_open(&s, name);
  struct past_scan *scan = past_scan_open(b, name);
  for (int64_t i = -1; i < n; i++) {
    double ns = past_scan_ns(scan, rows);
    if (i >= 0) samples_add(&s.scoring, ns);
  }
  past_scan_close(scan);
  watch(&s, 0, &s.alone_write, &s.alone_read);
  watch(&s, n, &s.write, &s.read);
  settle(b);
  measure_create(&s, n);
  measure_checkpoint(&s, n);
  tell(&r, &s);
  scene_done(&s);
  report_close(&r);
}
