/* SPDX-License-Identifier: Apache-2.0 */
/* What a hook costs its agent: a whole process, against one that does nothing and one bare commit. */
#include "bare.h"
#include "bench.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARM 3
#define INPUT_MAX 2048

extern char **environ;

/* A program of this build: its path from the build's root. */
static char *built(const struct bench *b, const char *name, char out[BENCH_PATH])
{
  const char *end = b->self + strlen(b->self);
  for (int n = 0; end > b->self && n < 3; end--) n += end[-1] == '/';
  if (snprintf(out, BENCH_PATH, "%.*s/%s", (int)(end - b->self), b->self, name) >= BENCH_PATH) die("too long a path");
  return out;
}

/* From before it is made until it is gone, with the file as its input. */
static double process_ns(const char *const *argv, const char *input)
{
  posix_spawn_file_actions_t actions;
  pid_t pid;
  int status;
  if (posix_spawn_file_actions_init(&actions) != 0) die("no memory");
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  int64_t before = now_ns();
  if (posix_spawn(&pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ) != 0) die("can't run %s", argv[0]);
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) die("waitpid: %s", strerror(errno));
  double ns = (double)(now_ns() - before);
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) die("%s failed", argv[0]);
  return ns;
}

static void write_input(const char *path, const char *event, int64_t n, const char *more)
{
  char text[INPUT_MAX];
  int len =
      snprintf(text, sizeof text,
               "{\"session_id\":\"bench\",\"cwd\":\"/srv/ada/shop\",\"hook_event_name\":\"%s\",\"tool_name\":\"Bash\","
               "\"tool_use_id\":\"toolu_%lld\",\"prompt\":\"go on\",\"tool_input\":{\"command\":\"make test\"}%s}",
               event, (long long)n, more);
  FILE *f = fopen(path, "we");
  if (!f || fwrite(text, 1, (size_t)len, f) != (size_t)len || fclose(f) != 0) die("%s: %s", path, strerror(errno));
}

struct hooks {
  char reprise[BENCH_PATH], empty[BENCH_PATH], input[BENCH_PATH], url[BENCH_PATH + 16], owner[32];
  struct samples nothing, unknown, start, prompt, before, after, stop, commit;
};

static double hook_ns(struct hooks *h, const char *event, int64_t n)
{
  const char *const argv[] = {h->reprise, "--db",    h->url,   "hook",     event, "--agent",
                              "claude",   "--owner", h->owner, "--within", "60",  NULL};
  write_input(h->input, event, n,
              strcmp(event, "PostToolUse") == 0 ? ",\"tool_response\":{\"stdout\":\"12 passed\"}"
              : strcmp(event, "Stop") == 0      ? ",\"last_assistant_message\":\"Done.\""
                                                : "");
  return process_ns(argv, h->input);
}

static void turn(struct hooks *h, struct bare_db *db, int64_t i)
{
  const char *const empty[] = {h->empty, NULL};
  const struct bare_row row = {1, i + 1, i, "tool", "{\"call_id\":\"toolu\",\"name\":\"Bash\",\"status\":\"done\"}",
                               51};
  double nothing = process_ns(empty, h->input), unknown = hook_ns(h, "Unknown", i),
         start = hook_ns(h, "SessionStart", i);
  double prompt = hook_ns(h, "UserPromptSubmit", i), before = hook_ns(h, "PreToolUse", i);
  double after = hook_ns(h, "PostToolUse", i), stop = hook_ns(h, "Stop", i);
  int64_t at = now_ns();
  bare_db_commit(db, &row, 1);
  double commit = (double)(now_ns() - at);
  if (i < WARM) return;
  samples_add(&h->nothing, nothing), samples_add(&h->unknown, unknown), samples_add(&h->start, start);
  samples_add(&h->prompt, prompt), samples_add(&h->before, before), samples_add(&h->after, after);
  samples_add(&h->stop, stop), samples_add(&h->commit, commit);
}

static void line(struct report *r, const char *what, struct samples *s, double unit)
{
  report_line(r, "| %s | %s | %s | %.1f |", what, text_ns(samples_median(s)), text_ns(samples_at(s, 95)),
              samples_median(s) / unit);
}

static void tell(struct report *r, struct hooks *h)
{
  double empty = samples_median(&h->nothing), unit = empty + samples_median(&h->commit) / 3;
  report_line(r, "| | median | p95 | in empty processes, with a third of a commit each |");
  report_line(r, "| --- | ---: | ---: | ---: |");
  line(r, "an empty process", &h->nothing, unit);
  line(r, "a bare commit, synchronous FULL", &h->commit, unit);
  line(r, "an event that says nothing to us", &h->unknown, unit);
  line(r, "SessionStart, again by the same agent", &h->start, unit);
  line(r, "UserPromptSubmit", &h->prompt, unit);
  line(r, "**PreToolUse**", &h->before, unit);
  line(r, "**PostToolUse**", &h->after, unit);
  line(r, "Stop", &h->stop, unit);
  report_target(r, "A hook around a tool, in empty processes plus one commit", samples_median(&h->before) / unit, 3,
                true, "×");
}

void section_hook(const struct bench *b)
{
  struct report r;
  struct hooks h = {0};
  char path[BENCH_PATH];
  int64_t n = bench_count(b, 200, 2);
  built(b, "src/cli/reprise", h.reprise);
  built(b, "tests/bench/empty", h.empty);
  bench_path(b, "hook.json", h.input);
  snprintf(h.url, sizeof h.url, "sqlite:%s", bench_path(b, "hook.db", path));
  snprintf(h.owner, sizeof h.owner, "%ld", (long)getpid());
  report_open(&r, b, "hook", "Hooks of coding agents");
  report_line(&r,
              "`reprise hook EVENT` from the making of the process to its end, the event on stdin, each stored with "
              "durability `disk`; %lld of each in turns, one after the other in one session, nobody else on the "
              "database.\n",
              (long long)n);
  struct bare_db *db = bare_db_open(bench_path(b, "hook-bare.db", path), true);
  write_input(h.input, "Unknown", 0, "");
  for (int64_t i = 0; i < n + WARM; i++) turn(&h, db, i);
  bare_db_close(db);
  tell(&r, &h);
  report_close(&r);
  samples_done(&h.nothing), samples_done(&h.unknown), samples_done(&h.start), samples_done(&h.prompt);
  samples_done(&h.before), samples_done(&h.after), samples_done(&h.stop), samples_done(&h.commit);
}
