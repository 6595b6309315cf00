/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy between an editor and its agent, against a pipe that only copies: latency, throughput, loading, start. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RATE 2000 /* updates a second, faster than models stream */
#define READ_BYTES 65536
#define LONG_SESSION 10000
#define SHORT_SESSION 100
#define WARM 3

extern char **environ;

enum way { WAY_BARE, WAY_OS, WAY_DISK, WAYS };
static const char *const way_names[] = {"a pipe that copies", "**`reprise acp`**", "`reprise acp --durability disk`"};

/* An agent and what stands before it, as an editor sees them. */
struct talk {
  pid_t pid;
  int in, out, next_id;
  char session[64];
  char bytes[READ_BYTES];
  size_t at, n; /* what was read and not looked at yet */
  int64_t read_at;
};

struct programs {
  char reprise[BENCH_PATH], peer[BENCH_PATH], url[BENCH_PATH + 16];
};

static char *built(const struct bench *b, const char *name, char out[BENCH_PATH])
{
  const char *end = b->self + strlen(b->self);
  for (int n = 0; end > b->self && n < 3; end--) n += end[-1] == '/';
  if (snprintf(out, BENCH_PATH, "%.*s/%s", (int)(end - b->self), b->self, name) >= BENCH_PATH) die("too long a path");
  return out;
}

static void talk_open(struct talk *t, const char *const *argv)
{
  int in[2], out[2];
  posix_spawn_file_actions_t actions;
  *t = (struct talk){0};
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) die("no pipe");
  if (posix_spawn_file_actions_init(&actions) != 0) die("no memory");
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  if (posix_spawn(&t->pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ)) die("can't run %s", argv[0]);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  t->in = in[1];
  t->out = out[0];
}

static void talk_close(struct talk *t)
{
  int status;
  close(t->in);
  while (read(t->out, t->bytes, sizeof t->bytes) > 0) continue;
  close(t->out);
  while (waitpid(t->pid, &status, 0) < 0)
    if (errno != EINTR) die("waitpid: %s", strerror(errno));
  if (status != 0) die("the proxy failed");
}

/* The next line, good until the next call; a line of ours is far shorter than the buffer. */
static const char *talk_line(struct talk *t)
{
  for (;;) {
    char *from = t->bytes + t->at, *end = memchr(from, '\n', t->n - t->at);
    if (end) {
      *end = '\0';
      t->at = (size_t)(end + 1 - t->bytes);
      return from;
    }
    memmove(t->bytes, from, t->n - t->at);
    t->n -= t->at;
    t->at = 0;
    if (t->n == sizeof t->bytes) die("too long a line");
    ssize_t n = read(t->out, t->bytes + t->n, sizeof t->bytes - t->n);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) die("the agent's side has closed");
    t->n += (size_t)n;
    t->read_at = now_ns();
  }
}

static void talk_ask(struct talk *t, const char *method, const char *params)
{
  char line[1024];
  int n = snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":%s}\n", ++t->next_id,
                   method, params);
  if (write(t->in, line, (size_t)n) != n) die("can't write to the agent");
}

/* Reads to the answer, calling `fn` for every update before it. The answer is good until the next call. */
static const char *talk_wait(struct talk *t, void (*fn)(void *ctx, const struct talk *t, const char *line), void *ctx)
{
  char id[32];
  snprintf(id, sizeof id, "\"id\":%d,", t->next_id);
  for (;;) {
    const char *line = talk_line(t);
    if (strstr(line, id)) {
      if (!strstr(line, "\"result\":")) die("the answer is an error: %s", line);
      return line;
    }
    if (fn) fn(ctx, t, line);
  }
}

static void begin(struct talk *t, const struct programs *p, enum way way)
{
  const char *const bare[] = {p->peer, "copy", p->peer, "agent", NULL};
  const char *const ours[] = {p->reprise, "--db",  p->url,         "acp",
                              "--scope",  "bench", "--durability", way == WAY_DISK ? "disk" : "os",
                              "--",       p->peer, "agent",        NULL};
  talk_open(t, way == WAY_BARE ? bare : ours);
  talk_ask(t, "initialize", "{\"protocolVersion\":1,\"clientCapabilities\":{}}");
  talk_wait(t, NULL, NULL);
}

static void new_session(struct talk *t)
{
  talk_ask(t, "session/new", "{\"cwd\":\"/tmp\",\"mcpServers\":[]}");
  const char *id = strstr(talk_wait(t, NULL, NULL), "\"sessionId\":\"");
  if (!id || sscanf(id + 13, "%63[^\"]", t->session) != 1) die("session/new tells no id");
}

/* Asks about the session; `more` are further members of the parameters. */
static void ask_session(struct talk *t, const char *method, const char *more)
{
  char params[512];
  snprintf(params, sizeof params, "{\"sessionId\":\"%s\"%s}", t->session, more);
  talk_ask(t, method, params);
}

static void prompt(struct talk *t, int64_t count, int64_t rate, const char *kind)
{
  char more[256];
  snprintf(more, sizeof more, ",\"prompt\":[{\"type\":\"text\",\"text\":\"wish:%" PRId64 " %" PRId64 " %s\"}]", count,
           rate, kind);
  ask_session(t, "session/prompt", more);
}

/* ---- streaming ---- */

struct streamed {
  struct samples latency;
  int64_t updates, first, last; /* of one run */
};

static void take_update(void *ctx, const struct talk *t, const char *line)
{
  struct streamed *s = ctx;
  const char *at = strstr(line, "\"@");
  if (!at) return;
  int64_t sent = strtoll(at + 2, NULL, 10);
  samples_add(&s->latency, (double)(t->read_at - sent));
  if (s->updates++ == 0) s->first = sent;
  s->last = t->read_at;
}

/* Updates a second, from the first that was sent to the last that came. */
static double stream(const struct programs *p, enum way way, int64_t count, int64_t rate, struct streamed *s)
{
  struct talk t;
  s->updates = 0;
  begin(&t, p, way);
  new_session(&t);
  prompt(&t, count, rate, "one");
  talk_wait(&t, take_update, s);
  if (s->updates != count) die("%" PRId64 " updates of %" PRId64 " came", s->updates, count);
  talk_close(&t);
  return (double)count * 1e9 / (double)(s->last - s->first);
}

static void tell_streams(struct report *r, struct streamed *s, struct samples *per_second)
{
  double median = samples_median(&s[WAY_BARE].latency), slow = samples_at(&s[WAY_BARE].latency, 99);
  report_line(r, "| | median | p99 | added: median | p99 | updates/s |");
  report_line(r, "| --- | ---: | ---: | ---: | ---: | ---: |");
  for (int w = 0; w < WAYS; w++) {
    double m = samples_median(&s[w].latency), p99 = samples_at(&s[w].latency, 99);
    report_line(r, "| %s | %s | %s | %s | %s | %.0f |", way_names[w], text_ns(m), text_ns(p99),
                w ? text_ns(m > median ? m - median : 0) : "", w ? text_ns(p99 > slow ? p99 - slow : 0) : "",
                samples_median(&per_second[w]));
  }
}

/* Returns the median of updates a second with every update on disk. */
static double measure_streams(struct report *r, const struct programs *p, int64_t count, int64_t rate)
{
  struct streamed s[WAYS] = {0};
  struct samples per_second[WAYS] = {0};
  for (int round = 0; round < r->bench->rounds; round++)
    for (int w = 0; w < WAYS; w++) samples_add(&per_second[w], stream(p, (enum way)w, count, rate, &s[w]));
  tell_streams(r, s, per_second);
  double disk = samples_median(&per_second[WAY_DISK]);
  for (int w = 0; w < WAYS; w++) samples_done(&s[w].latency), samples_done(&per_second[w]);
  return disk;
}

static void section_streams(struct report *r, const struct programs *p)
{
  int64_t n = bench_count(r->bench, 10000, 100);
  report_line(r, "From the agent's write to the editor's read, %" PRId64 " updates at %d a second:\n", n, RATE);
  measure_streams(r, p, n, RATE);
  report_line(r,
              "\nThe same as fast as they are taken; latencies are those of full pipes and of what waits for the disk, "
              "the last column is what counts:\n");
  double disk = measure_streams(r, p, n, 0);
  report_limit(r, "Updates through the proxy, each on disk before it is shown", disk, RATE, false, "/s");
}

/* ---- loading ---- */

static void count_update(void *ctx, const struct talk *t, const char *line)
{
  (void)t, (void)line;
  ++*(int64_t *)ctx;
}

static double peak_kib(pid_t pid)
{
  char path[64], line[256];
  double kib = 0;
  snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
  FILE *f = fopen(path, "re");
  while (f && fgets(line, sizeof line, f))
    if (strncmp(line, "VmHWM:", 6) == 0) kib = strtod(line + 6, NULL);
  if (f) fclose(f);
  if (kib <= 0) die("no peak of memory for %d", (int)pid);
  return kib;
}

struct loaded {
  double ns, kib;
};

/* Made by one process, loaded by another, whose agent has never heard of it. */
static struct loaded load(const struct programs *p, int64_t messages)
{
  struct talk t;
  struct loaded ret;
  char session[sizeof t.session];
  int64_t told = 0;
  begin(&t, p, WAY_OS);
  new_session(&t);
  prompt(&t, messages, 0, "own");
  talk_wait(&t, NULL, NULL);
  memcpy(session, t.session, sizeof session);
  talk_close(&t);
  begin(&t, p, WAY_OS);
  memcpy(t.session, session, sizeof session);
  int64_t before = now_ns();
  ask_session(&t, "session/load", ",\"cwd\":\"/tmp\",\"mcpServers\":[]");
  talk_wait(&t, count_update, &told);
  ret.ns = (double)(now_ns() - before);
  ret.kib = peak_kib(t.pid);
  if (told < messages) die("%" PRId64 " messages of %" PRId64 " were loaded", told, messages);
  talk_close(&t);
  return ret;
}

static void section_load(struct report *r, const struct programs *p)
{
  int64_t many = bench_count(r->bench, LONG_SESSION, 200), few = bench_count(r->bench, SHORT_SESSION, 20);
  struct loaded small = load(p, few), big = load(p, many);
  report_line(r, "\n`session/load` of a session that another process wrote, with an agent that can load nothing:\n");
  report_line(r, "| messages | to the answer | memory at its peak |");
  report_line(r, "| ---: | ---: | ---: |");
  report_line(r, "| %" PRId64 " | %s | %.1f MiB |", few, text_ns(small.ns), small.kib / 1024);
  report_line(r, "| %" PRId64 " | %s | %.1f MiB |", many, text_ns(big.ns), big.kib / 1024);
  report_limit(r, "Memory that loading a hundred times more messages takes more", (big.kib - small.kib) / 1024, 4, true,
               " MiB");
}

/* ---- start ---- */

static double first_answer_ns(const char *const *argv, const char *params)
{
  struct talk t;
  int64_t before = now_ns();
  talk_open(&t, argv);
  talk_ask(&t, "initialize", params);
  talk_wait(&t, NULL, NULL);
  double ns = (double)(now_ns() - before);
  talk_close(&t);
  return ns;
}

static void section_first(struct report *r, const struct programs *p)
{
  static const char acp[] = "{\"protocolVersion\":1,\"clientCapabilities\":{}}";
  static const char mcp[] = "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                            "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}";
  const char *const agent[] = {p->peer, "agent", NULL};
  const char *const proxy[] = {p->reprise, "--db", p->url, "acp", "--", p->peer, "agent", NULL};
  const char *const server[] = {p->reprise, "--db", p->url, "mcp", "--scope", "bench-mcp", NULL};
  struct samples s[3] = {0};
  static const char *const names[] = {"the agent alone", "**`reprise acp`** and that agent", "**`reprise mcp`**"};
  for (int64_t i = 0; i < bench_count(r->bench, 50, 2) + WARM; i++) {
    double ns[] = {first_answer_ns(agent, acp), first_answer_ns(proxy, acp), first_answer_ns(server, mcp)};
    for (int k = 0; i >= WARM && k < 3; k++) samples_add(&s[k], ns[k]);
  }
  report_line(r, "\nFrom before the process is made to its answer to `initialize`:\n");
  report_line(r, "| | median | p95 |");
  report_line(r, "| --- | ---: | ---: |");
  for (int k = 0; k < 3; k++) {
    report_line(r, "| %s | %s | %s |", names[k], text_ns(samples_median(&s[k])), text_ns(samples_at(&s[k], 95)));
    samples_done(&s[k]);
  }
}

void section_acp(const struct bench *b)
{
  struct report r;
  struct programs p;
  char path[BENCH_PATH];
  built(b, "src/cli/reprise", p.reprise);
  built(b, "tests/bench/acp-peer", p.peer);
  snprintf(p.url, sizeof p.url, "sqlite:%s", bench_path(b, "acp.db", path));
  setenv("REPRISE_HOME", b->dir, 1);
  report_open(&r, b, "acp", "The proxy for ACP agents");
  section_streams(&r, &p);
  section_load(&r, &p);
  section_first(&r, &p);
  report_close(&r);
}
