/* SPDX-License-Identifier: Apache-2.0 */
/* The first act: an agent is killed and comes back. The director opens the database itself only after the agents are
 * gone. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "cli/demo/demo.h"
#include "cli/signals.h"
#include "cli/term.h"

#define MID_SENTENCE_MS 250
#define ARGS_MAX 12
#define STRAGGLER "Closing relay 3 again!"

struct director {
  struct rp__demo *demo;
  struct rp__stage stage;
  char db[320];
  pid_t child;
  int line; /* the socket to it */
  bool interrupted;
  int64_t acked, last_acked, resume_us;
};

/* In the child, between fork and exec. */
static void become(char *const *args, int line, pid_t parent)
{
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  /* An agent must not outlive an interrupted demo. */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  if (line == RP_DEMO_FD)
    fcntl(line, F_SETFD, 0);
  else if (line >= 0)
    dup2(line, RP_DEMO_FD);
  if (line < 0) dup2(STDOUT_FILENO, STDERR_FILENO);
  execv("/proc/self/exe", args);
  _exit(127);
}

/* Runs ourselves with other arguments. With `line` < 0 its complaints come out where its data does. */
static int spawn(struct director *d, const char *const *words, int line, rp_error *err)
{
  const char *args[ARGS_MAX] = {"reprise", "--db", d->db, "--config", d->demo->config};
  size_t n = 5;
  for (; *words && n + 1 < ARGS_MAX; words++) args[n++] = *words;
  char *argv[ARGS_MAX] = {0};
  for (size_t i = 0; i < n; i++) argv[i] = (char *)(uintptr_t)args[i];
  fflush(stdout);
  pid_t parent = getpid();
  d->child = fork();
  if (d->child < 0) return rp__fail_errno(err, errno, "can't start a process");
  if (d->child == 0) become(argv, line, parent);
  return 0;
}

static int spawn_agent(struct director *d, const char *role, rp_error *err)
{
  int ends[2];
  const char *words[] = {"demo-agent", role, d->stage.fast ? "--fast" : NULL, NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return rp__fail_errno(err, errno, "can't make a socket");
  int code = spawn(d, words, ends[1], err);
  close(ends[1]);
  d->line = ends[0];
  return code;
}

static int reap(struct director *d)
{
  int status = 0;
  if (d->line >= 0) close(d->line);
  d->line = -1;
  while (d->child > 0 && waitpid(d->child, &status, 0) < 0 && errno == EINTR) continue;
  d->child = 0;
  return status;
}

/* Waits for the agent's next note, its end (false), or a signal (also false, and remembered). */
static bool listen_once(struct director *d, struct rp__demo_note *ret)
{
  struct pollfd fds[] = {{.fd = d->line, .events = POLLIN}, {.fd = d->demo->signals, .events = POLLIN}};
  while (poll(fds, RP_ARRAY_SIZE(fds), -1) < 0)
    if (errno != EINTR) return false;
  if (fds[1].revents && rp__signals_read(d->demo->signals)) d->interrupted = true;
  return !d->interrupted && recv(d->line, ret, sizeof(*ret), MSG_WAITALL) == (ssize_t)sizeof(*ret);
}

/* Listens to the agent until it says `what`. */
static int listen_for(struct director *d, enum rp__demo_what what, struct rp__demo_note *ret, rp_error *err)
{
  struct rp__demo_note note;
  while (listen_once(d, &note)) {
    if (note.what == (int64_t)what) {
      *ret = note;
      return 0;
    }
    d->acked++;
    d->last_acked = note.seq;
  }
  /* An interrupt from the keyboard reaches the agent too, and may be seen there first. */
  if (d->interrupted || rp__signals_read(d->demo->signals)) return rp__fail(err, RP_E_CANCELLED, "interrupted");
  return rp__fail(err, RP_E_CANCELLED, "the agent ended too early");
}

static int scene_kill(struct director *d, rp_error *err)
{
  struct rp__demo_note note;
  rp__stage_scene(&d->stage, "an agent at work");
  int code = spawn_agent(d, "first", err);
  if (!code) code = listen_for(d, RP_DEMO_MID_TURN, &note, err);
  if (code) return code;
  rp__stage_pause(&d->stage, MID_SENTENCE_MS);
  kill(d->child, SIGKILL);
  pid_t killed = d->child;
  int status = reap(d);
  bool colour = d->stage.colour;
  printf("\n\n  %s%s kill -9 %lld%s   in the middle of a sentence, a tool running\n", RP_SGR(colour, RP_RED), "✗",
         (long long)killed, RP_RESET(colour));
  rp__stage_pause(&d->stage, 900);
  return WIFSIGNALED(status) ? 0 : rp__fail(err, RP_E_FAILED, "the agent was gone before it could be killed");
}

/* Somebody who still believes in the first epoch, as a stalled process would, tries to write. */
static int knock(struct director *d, rp_error *err)
{
  static const char body[] = "{\"role\":\"assistant\",\"content\":\"" STRAGGLER "\"}";
  const char *words[] = {"append", RP_DEMO_KEY, "message", body, "--epoch", "1", NULL};
  rp__stage_scene(&d->stage, "a straggler from before wakes up");
  printf("  $ reprise append %s message '%s' --epoch 1\n  ", RP_DEMO_KEY, body);
  int line = d->line;
  pid_t agent = d->child;
  d->line = -1;
  int code = spawn(d, words, -1, err);
  int status = code ? 0 : reap(d);
  d->line = line;
  d->child = agent;
  if (code) return code;
  rp__stage_fact(&d->stage, "fenced", "exit code %d", WEXITSTATUS(status));
  rp__stage_pause(&d->stage, 500);
  int fenced = rp_error_lookup(RP_E_FENCED)->exit_code;
  return WEXITSTATUS(status) == fenced ? 0 : rp__fail(err, RP_E_FAILED, "the straggler was not fenced");
}

static int scene_return(struct director *d, rp_error *err)
{
  struct rp__demo_note note = {0};
  /* What the second agent writes is no longer about the kill. */
  int64_t acked = d->acked, last = d->last_acked;
  rp__stage_scene(&d->stage, "a new process, the same key");
  int code = spawn_agent(d, "second", err);
  if (!code) code = listen_for(d, RP_DEMO_BACK, &note, err);
  if (code) return code;
  d->resume_us = note.us;
  rp__stage_pause(&d->stage, 900);
  code = knock(d, err);
  if (code) return code;
  rp__stage_scene(&d->stage, "and the work goes on");
  if (write(d->line, "g", 1) != 1) return rp__fail(err, RP_E_CANCELLED, "the agent ended too early");
  listen_for(d, RP_DEMO_BACK, &note, NULL); /* until it hangs up */
  if (d->interrupted) return rp__fail(err, RP_E_CANCELLED, "interrupted");
  d->acked = acked;
  d->last_acked = last;
  int status = reap(d);
  return status ? rp__fail(err, RP_E_FAILED, "the second agent failed") : 0;
}

struct count {
  int64_t upto, found, stray;
};

static int count_event(void *ctx, const rp_event_info *ev)
{
  struct count *n = ctx;
  bool ours = strcmp(ev->kind, "message") == 0 || strcmp(ev->kind, "tool") == 0;
  n->found += ours && ev->seq <= n->upto;
  n->stray += memmem(ev->body, ev->body_len, STRAGGLER, strlen(STRAGGLER)) != NULL;
  return 0;
}

static int ignore_finding(void *ctx, const rp_finding *f)
{
  (void)ctx;
  (void)f;
  return 0;
}

static int scene_proof(struct director *d, rp_error *err)
{
  struct rp__cli *c = d->demo->c;
  struct count n = {.upto = d->last_acked};
  int code = rp__cli_open_db(c, d->db, RP_USE_WRITE, err);
  if (!code) code = rp_attach(c->engine, RP_DEMO_KEY, &c->session, err);
  if (!code) code = rp_events(c->session, 0, 0, count_event, &n, err);
  if (code) return code;
  code = rp_verify(c->engine, NULL, false, ignore_finding, NULL, NULL, NULL, err);
  if (code) return code;
  rp__stage_scene(&d->stage, "in short");
  rp__stage_fact(&d->stage, "safe",
                 "%lld events acknowledged before the kill, %lld of them there after it; %lld of the straggler's",
                 (long long)d->acked, (long long)n.found, (long long)n.stray);
  rp__stage_fact(&d->stage, "fast", "back in %lld µs, with the mark of its start on the disk", (long long)d->resume_us);
  rp__stage_fact(&d->stage, "sound", "reprise verify: ok");
  rp__stage_fact(&d->stage, "yours", "reprise start --scope me --key hello");
  rp__stage_fact(&d->stage, "more", "reprise demo robot, reprise demo coder");
  if (n.stray) return rp__fail(err, RP_E_CORRUPT, "the straggler's event is in the journal");
  return n.found == d->acked ? 0 : rp__fail(err, RP_E_CORRUPT, "acknowledged events are missing");
}

int rp__demo_crash(struct rp__demo *demo, rp_error *err)
{
  struct director d = {.demo = demo, .stage = demo->stage, .line = -1};
  rp__demo_db(demo, "crash", d.db, sizeof(d.db));
  int code = scene_kill(&d, err);
  if (!code) code = scene_return(&d, err);
  if (!code) code = scene_proof(&d, err);
  if (d.child > 0) kill(d.child, SIGKILL), reap(&d);
  rp__cli_done(demo->c);
  return code;
}
