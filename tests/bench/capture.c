/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a session whose record is at its limit of 50 KB, in turns with a bare commit of as many bytes. */
#include "past.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define WARM 3
#define RECORD_LIMIT (50 * 1024)
#define RECORD_LEAST (45 * 1024) /* less would not be at the limit */
#define DB "capture.db"

/* The bytes of the newest record in the table that other programs read. */
static int64_t record_bytes(const struct bench *b)
{
  static const char sql[] =
      "SELECT length(CAST(working_memory AS BLOB)) + length(CAST(hot_topics AS BLOB)) +"
      " length(CAST(active_projects AS BLOB)) + length(CAST(pending_tasks AS BLOB)) +"
      " length(CAST(recent_learnings AS BLOB)) + length(CAST(confidence_updates AS BLOB)) +"
      " length(CAST(sop_interactions AS BLOB)) FROM session_states ORDER BY end_time DESC LIMIT 1";
  char path[BENCH_PATH];
  sqlite3 *db = NULL;
  sqlite3_stmt *st = NULL;
  if (sqlite3_open_v2(bench_path(b, DB, path), &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
      sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK || sqlite3_step(st) != SQLITE_ROW)
    die("the record can't be read: %s", sqlite3_errmsg(db));
  int64_t n = sqlite3_column_int64(st, 0);
  sqlite3_finalize(st);
  sqlite3_close(db);
  return n;
}

struct pair {
  const struct bench *bench;
  rp_engine *engine;
  struct bare_db *bare;
  char *body; /* as many bytes as a record */
  struct samples capture, commit;
};

static double capture_ns(struct pair *p, int64_t i)
{
  rp_error err;
  rp_session *s = past_start(p->engine, "capture");
  past_fill(s, i);
  ours_check(rp_flush(p->engine, &err), &err, "flush");
  int64_t t = now_ns();
  ours_check(rp_end(s, NULL, &err), &err, "end");
  double ns = (double)(now_ns() - t);
  rp_session_free(s);
  return ns;
}

static double commit_ns(struct pair *p, int64_t i)
{
  struct bare_row row = row_at(1, i + 1, i);
  row.body = p->body;
  row.body_len = RECORD_LIMIT;
  int64_t t = now_ns();
  bare_db_commit(p->bare, &row, 1);
  return (double)(now_ns() - t);
}

static void turn(struct pair *p, int64_t i)
{
  double capture = capture_ns(p, i), commit = commit_ns(p, i);
  if (i < WARM) return;
  samples_add(&p->capture, capture);
  samples_add(&p->commit, commit);
}

static void tell(struct report *r, struct pair *p)
{
  static const double at[] = {50, 95, 99};
  report_line(r, "| | bare SQLite commit of 50 KB, FULL | `rp_end` | ratio |");
  report_line(r, "| --- | ---: | ---: | ---: |");
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    double bare = samples_at(&p->commit, at[i]), ours = samples_at(&p->capture, at[i]);
    report_line(r, "| p%.0f | %s | %s | %.1f × |", at[i], text_ns(bare), text_ns(ours), ours / bare);
  }
}

void section_capture(const struct bench *b)
{
  struct report r;
  char path[BENCH_PATH];
  int64_t n = bench_count(b, 200, 3);
  struct pair p = {.bench = b, .body = must_alloc(1, RECORD_LIMIT + 1)};
  memset(p.body, 'a', RECORD_LIMIT);
  p.engine = ours_open(b, DB);
  p.bare = bare_db_open(bench_path(b, "capture-bare.db", path), true);
  report_open(&r, b, "capture", "Capture");
  for (int64_t i = 0; i < n + WARM; i++) turn(&p, i);
  int64_t bytes = record_bytes(b);
  if (bytes < RECORD_LEAST || bytes > RECORD_LIMIT) die("the record has %lld bytes", (long long)bytes);
  report_line(&r,
              "The end of a session with 400 events that fill its record (%lld bytes after trimming), %lld times in "
              "turns with one bare commit of 50 KB. `rp_end` is the final checkpoint, the record in the transaction "
              "of the end, and the mirror file.\n",
              (long long)bytes, (long long)n);
  tell(&r, &p);
  rp_close(p.engine);
  bare_db_close(p.bare);
  free(p.body);
  samples_done(&p.capture), samples_done(&p.commit);
  report_close(&r);
}
