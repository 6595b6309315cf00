/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coming back to a long session: as fast, and in as little memory, as to a short one, and not much slower than a bare
 * program that reads and parses the same bytes.
 */
#include "ours.h"
#include "process.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/snapshot.h"

#define TRIES 20
#define BARE_FACTOR 4 /* how much longer a resume may take than the bare program */

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

/* ---- the bare program ------------------------------------------------------------ */

static sqlite3_stmt *bare_query(sqlite3 *db, const char *sql)
{
  sqlite3_stmt *q;
  if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK) die("%s: %s", sql, sqlite3_errmsg(db));
  return q;
}

static void bare_parse(const char *text, size_t n)
{
  struct rp__json_limits limits = {.max_bytes = RP_SNAPSHOT_MAX};
  struct rp__json v;
  rp_error err = {0};
  ours_check(rp__json_parse(text, n, &limits, &v, &err), &err, "parse");
}

/* args: database, key. Reads the newest snapshot and the events behind it, parses them and makes one durable commit. */
void child_bare_resume(const struct bench *b, char **args)
{
  char path[BENCH_PATH];
  sqlite3 *db = NULL;
  struct rp__buf plain = RP_BUF(RP_SNAPSHOT_MAX);
  rp_error err = {0};
  int64_t t0 = now_ns();
  if (sqlite3_open(bench_path(b, args[0], path), &db) != SQLITE_OK) die("%s: %s", path, sqlite3_errmsg(db));
  sqlite3_exec(db, "PRAGMA synchronous=FULL", NULL, NULL, NULL);
  sqlite3_stmt *snapshot = bare_query(db, "SELECT s.ref, s.id, p.seq, p.data FROM rp_sessions s JOIN rp_snapshots p"
                                          " ON p.session = s.ref WHERE s.key = ?1 ORDER BY p.n DESC LIMIT 1");
  sqlite3_bind_text(snapshot, 1, args[1], -1, SQLITE_STATIC);
  if (sqlite3_step(snapshot) != SQLITE_ROW) die("there is no snapshot of %s", args[1]);
  struct rp__str id = rp__str((const char *)sqlite3_column_text(snapshot, 1));
  int rc = rp__snapshot_open(sqlite3_column_blob(snapshot, 3), (size_t)sqlite3_column_bytes(snapshot, 3), NULL, id,
                             NULL, 0, &plain, &err);
  ours_check(rc, &err, "snapshot");
  bare_parse(plain.p, plain.n);
  sqlite3_stmt *tail = bare_query(db, "SELECT body FROM rp_events WHERE session = ?1 AND seq > ?2 ORDER BY seq");
  sqlite3_bind_int64(tail, 1, sqlite3_column_int64(snapshot, 0));
  sqlite3_bind_int64(tail, 2, sqlite3_column_int64(snapshot, 2));
  while (sqlite3_step(tail) == SQLITE_ROW)
    bare_parse((const char *)sqlite3_column_text(tail, 0), (size_t)sqlite3_column_bytes(tail, 0));
  sqlite3_reset(tail);
  sqlite3_reset(snapshot);
  if (sqlite3_exec(db, "UPDATE rp_heads SET last_seq = last_seq WHERE session = 1", NULL, NULL, NULL) != SQLITE_OK)
    die("commit: %s", sqlite3_errmsg(db));
  printf("%lld\n", (long long)(now_ns() - t0));
  fflush(stdout);
  _exit(0);
}

/* ---- both ------------------------------------------------------------------------ */

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
  struct samples open, start, state, hwm, rss, both, bare;
};

static void column_take(struct column *c, const struct bench *b)
{
  const char *args[CHILD_ARGS] = {c->name, "big"};
  char out[64];
  struct resume r = ours_resume(b, c->name, "big");
  child_read(b, "bare-resume", args, out, sizeof out);
  samples_add(&c->bare, strtod(out, NULL));
  samples_add(&c->both, r.open_ns + r.start_ns);
  samples_add(&c->open, r.open_ns);
  samples_add(&c->start, r.start_ns);
  samples_add(&c->state, r.state_ns);
  samples_add(&c->hwm, r.hwm_kib);
  samples_add(&c->rss, r.rss_kib);
}

static void column_line(struct column *c, struct report *r)
{
  report_line(r, "| %lld | %s | %s | %s | %s | %s | %.1f MiB | %.1f MiB |", (long long)c->events,
              text_ns(samples_median(&c->start)), text_ns(samples_at(&c->start, 95)), text_ns(samples_median(&c->open)),
              text_ns(samples_median(&c->bare)), text_ns(samples_median(&c->state)), samples_median(&c->hwm) / 1024,
              samples_median(&c->rss) / 1024);
}

static void column_done(struct column *c)
{
  samples_done(&c->open), samples_done(&c->start), samples_done(&c->state);
  samples_done(&c->hwm), samples_done(&c->rss), samples_done(&c->both), samples_done(&c->bare);
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
  report_line(
      &r,
      "A session that crashed 500 messages of 1 KiB after its last checkpoint is started again by its key, "
      "state loaded, each time in a new process; %d times each, in turns. The bare program opens the database, reads "
      "the same snapshot and events, parses them with our reader and makes one durable commit.\n",
      TRIES);
  report_line(&r,
              "| events | `rp_start`, median | p95 | `rp_open` | bare | `rp_state_json` | peak memory | resident |");
  report_line(&r, "| --- | --- | --- | --- | --- | --- | --- | --- |");
  column_line(&small, &r);
  column_line(&large, &r);
  double ratio = samples_median(&large.start) / samples_median(&small.start);
  double more = (samples_median(&large.hwm) - samples_median(&small.hwm)) / 1024;
  double against_small = samples_median(&small.both) / samples_median(&small.bare);
  double against_large = samples_median(&large.both) / samples_median(&large.bare);
  report_target(&r, "Resume of 1,000 events: `rp_open` and `rp_start` against the bare program", against_small,
                BARE_FACTOR, true, " ×");
  report_target(&r, "Resume of 1,000,000 events: `rp_open` and `rp_start` against the bare program", against_large,
                BARE_FACTOR, true, " ×");
  report_target(&r, "Resume of 1,000,000 events against 1,000: time of `rp_start`", ratio, 1.5, true, " ×");
  report_target(&r, "Resume of 1,000,000 events against 1,000: more memory at the peak", more, 1, true, " MiB");
  column_done(&small), column_done(&large);
  report_close(&r);
}
