/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people use now, on the same machine in the same run: the whole state as JSON
 * rewritten per message, a JSON line appended per message, LangGraph's SQLite
 * checkpointer. The first two are C programs that keep the text of each message ready
 * and never parse: a floor that no real program of that kind reaches.
 */
#include "ours.h"
#include "process.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESUMES 20

struct line {
  struct samples append, resume;
};

static void line_tell(struct report *r, struct line *l, const char *label, const char *durable, int64_t messages)
{
  report_line(r, "| %s | %s | %lld | %s | %s | %s |", label, durable, (long long)messages,
              text_ns(samples_median(&l->append)), text_ns(samples_at(&l->append, 99)),
              text_ns(samples_median(&l->resume)));
  samples_done(&l->append), samples_done(&l->resume);
}

static void read_file(const char *path)
{
  static char block[1 << 20];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) die("%s can't be read", path);
  while (read(fd, block, sizeof block) > 0) {
  }
  close(fd);
}

static void resume_files(const struct bench *b, const char *path, struct line *l)
{
  for (int i = 0; i < (b->quick ? 3 : RESUMES); i++) {
    int64_t t = now_ns();
    read_file(path);
    samples_add(&l->resume, (double)(now_ns() - t));
  }
}

static struct bare_row *rows_make(int64_t n)
{
  struct bare_row *rows = must_alloc((size_t)n, sizeof *rows);
  for (int64_t i = 0; i < n; i++) rows[i] = row_at(1, i, i);
  return rows;
}

static void rewrite_line(struct report *r, int64_t messages)
{
  const struct bench *b = r->bench;
  struct line l = {0};
  char path[BENCH_PATH];
  int64_t tries = b->quick || messages > 10000 ? 10 : 200;
  struct bare_row *rows = rows_make(messages);
  for (int64_t i = 0; i < tries; i++) {
    int64_t t = now_ns();
    bare_rewrite(b->dir, "state.json", rows, (size_t)messages);
    samples_add(&l.append, (double)(now_ns() - t));
  }
  free(rows);
  resume_files(b, bench_path(b, "state.json", path), &l);
  line_tell(r, &l, "whole state rewritten as JSON", "fsync, rename, fsync", messages);
}

static void lines_line(struct report *r, int64_t messages)
{
  const struct bench *b = r->bench;
  struct line l = {0};
  char path[BENCH_PATH];
  bench_path(b, "lines.jsonl", path);
  unlink(path);
  struct bare_file *f = bare_file_open(path);
  struct bare_row *rows = rows_make(messages);
  bare_file_commit(f, rows, (size_t)messages);
  for (int64_t i = 0; i < bench_count(b, 1000, 30); i++) {
    int64_t t = now_ns();
    bare_file_commit(f, &rows[i % messages], 1);
    samples_add(&l.append, (double)(now_ns() - t));
  }
  free(rows);
  bare_file_close(f);
  resume_files(b, path, &l);
  line_tell(r, &l, "a JSON line appended", "fdatasync", messages);
  unlink(path);
}

static void ours_line(struct report *r, int64_t messages, rp_durability durability)
{
  const struct bench *b = r->bench;
  struct line l = {0};
  char name[40];
  snprintf(name, sizeof name, "%s", ours_big(b, messages));
  rp_engine *e = ours_open(b, name);
  rp_session *s = ours_start(e, "big");
  /* At 50 messages, 50 more: the figure stands for a session of about that length. */
  int64_t tries = messages < 1000 ? 50 : 1000;
  if (b->quick) tries = 20;
  for (int64_t i = 0; i < tries; i++) {
    int64_t t = now_ns();
    ours_append(s, i, durability, NULL);
    samples_add(&l.append, (double)(now_ns() - t));
  }
  settle(b);
  rp_session_free(s);
  rp_close(e);
  for (int i = 0; i < (b->quick ? 2 : RESUMES); i++) {
    struct resume x = ours_resume(b, name, "big");
    samples_add(&l.resume, x.open_ns + x.start_ns);
  }
  line_tell(r, &l, "ours", durability == RP_DISK ? "`disk`" : "`os`", messages);
}

/* Lines of langgraph.mjs: messages, put median, put p99, getTuple median, in ns; at the end "bytes N". */
static double langgraph_tell(struct report *r, const char *label, const char *durable, const char *out)
{
  double bytes = 0;
  for (const char *at = out; at && *at; at = strchr(at, '\n'), at = at ? at + 1 : NULL) {
    double n, put, p99, get;
    if (sscanf(at, "bytes %lf", &bytes) == 1) continue;
    if (sscanf(at, "%lf %lf %lf %lf", &n, &put, &p99, &get) != 4) continue;
    report_line(r, "| %s | %s | %.0f | %s | %s | %s |", label, durable, n, text_ns(put), text_ns(p99), text_ns(get));
  }
  return bytes;
}

/* Returns the bytes on disk at the end. */
static double langgraph(struct report *r, const char *shape, const char *sync, const char *label, const char *durable)
{
  const struct bench *b = r->bench;
  char path[BENCH_PATH], out[4096];
  bench_path(b, "langgraph.db", path);
  const char *argv[] = {"node", b->script, b->langgraph, path, shape, sync, b->quick ? "quick" : "full", NULL};
  if (!process_read(argv, out, sizeof out)) die("%s failed", b->script);
  return langgraph_tell(r, label, durable, out);
}

static double langgraph_lines(struct report *r)
{
  const struct bench *b = r->bench;
  if (b->langgraph == NULL || b->script == NULL || !process_found("node")) {
    report_line(r, "| LangGraph SqliteSaver | | | not measured: it needs node and npm | | |");
    return 0;
  }
  double bytes = langgraph(r, "plain", "NORMAL", "LangGraph SqliteSaver, plain objects", "NORMAL (its default)");
  langgraph(r, "plain", "FULL", "LangGraph SqliteSaver, plain objects", "FULL (set by hand)");
  langgraph(r, "messages", "NORMAL", "LangGraph SqliteSaver, its message classes", "NORMAL (its default)");
  return bytes;
}

static double size_of(const struct bench *b, const char *name, const char *end)
{
  char path[BENCH_PATH + 8], base[BENCH_PATH];
  struct stat st;
  snprintf(path, sizeof path, "%s%s", bench_path(b, name, base), end);
  return stat(path, &st) == 0 ? (double)st.st_size : 0;
}

void section_rivals(const struct bench *b)
{
  static const int64_t sizes[] = {50, 200, 500, 50000, 1000000};
  struct report r;
  report_open(&r, b, "rivals", "Against what people use now");
  report_line(
      &r, "Storing one more message of 1 KiB in a conversation of so many, and coming back to it. The two file "
          "formats are C programs that neither serialise nor parse (resume: the file is read, no more): a floor. "
          "LangGraph's checkpointer (default channel, `put` of the whole state, resume: `getTuple`) runs with "
          "synchronous NORMAL, which a power cut may roll back: compare it with `os`, and FULL with `disk`. Resume "
          "of ours is `rp_open` and `rp_start` in a new process after a crash; theirs is in the running process.\n");
  report_line(&r, "| what | durability | messages | store one, median | p99 | resume, median |");
  report_line(&r, "| --- | --- | --- | --- | --- | --- |");
  int n = b->quick ? 3 : 5;
  for (int i = 0; i < n && sizes[i] <= 50000; i++) rewrite_line(&r, sizes[i]);
  for (int i = 0; i < n; i++) lines_line(&r, sizes[i]);
  double theirs = langgraph_lines(&r);
  for (int i = 0; i < n; i++) ours_line(&r, sizes[i], RP_OS);
  for (int i = 0; i < n; i++) ours_line(&r, sizes[i], RP_DISK);
  const char *name = ours_big(b, 500);
  double mine = size_of(b, name, "") + size_of(b, name, "-wal");
  report_line(&r, "\nOn disk after about 500 messages of 1 KiB: ours %.1f MiB, LangGraph's %.1f MiB (0: not measured).",
              mine / 1048576, theirs / 1048576);
  report_close(&r);
}
