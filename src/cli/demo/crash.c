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
#include "cli/term.h"

#define MID_SENTENCE_MS 250
#define ARGS_MAX 12
#define STRAGGLER "Closing relay 3 again!"

struct director {
  struct rp__demo *demo;
  struct rp__stage stage;
  pid_t child;
  int line; /* the socket to it */
  bool interrupted;
  int64_t acked, last_acked, resume_us;
};

/* Runs ourselves with other arguments. With `line` < 0 its complaints come out where its data does. */
static int spawn(const struct director *d, const char *const *words, int line, pid_t *ret, rp_error *err)
{
  const char *args[ARGS_MAX] = {"reprise", "--db", d->demo->db, "--config", d->demo->config};
  for (size_t n = 5; *words && n + 1 < ARGS_MAX; n++) args[n] = *words++;
  fflush(stdout);
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) return rp__fail_errno(err, errno, "can't start a process");
  *ret = pid;
  if (pid > 0) return 0;
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
  execv("/proc/self/exe", (char *const *)(uintptr_t)args);
  _exit(127);
}

static int spawn_agent(struct director *d, const char *role, rp_error *err)
{
  int ends[2];
  const char *words[] = {"demo-agent", role, d->stage.fast ? "--fast" : NULL, NULL};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
    return rp__fail_errno(err, errno, "can't make a socket");
  int code = spawn(d, words, ends[1], &d->child, err);
  close(ends[1]);
  d->line = ends[0];
  return code;
}

static int wait_for(pid_t pid)
{
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

static int reap(struct director *d)
{
  close(d->line); /* who waits for a word from us hears that none will come */
  int status = wait_for(d->child);
  d->child = 0;
  return status;
}

/* Listens to the agent until it says `what`; its end and an interrupt are failures. */
static int listen_for(struct director *d, enum rp__demo_what what, struct rp__demo_note *ret, rp_error *err)
{
  struct pollfd fds[] = {{.fd = d->line, .events = POLLIN}, {.fd = d->demo->signals, .events = POLLIN}};
  for (;;) {
    int n = poll(fds, RP_ARRAY_SIZE(fds), -1);
    if (n < 0 && errno == EINTR) continue;
    d->interrupted = n < 0 || rp__signals_read(d->demo->signals);
    if (d->interrupted || recv(d->line, ret, sizeof(*ret), MSG_WAITALL) != (ssize_t)sizeof(*ret)) break;
    if (ret->what == (int64_t)what) return 0;
    /* What the second agent writes is no longer about the kill. */
    if (what != RP_DEMO_MID_TURN) continue;
    d->acked++;
    d->last_acked = ret->seq;
  }
  /* An interrupt from the keyboard reaches the agent too, and may be seen there first. */
  bool interrupted = d->interrupted || rp__signals_read(d->demo->signals);
  return rp__fail(err, RP_E_CANCELLED, "%s", interrupted ? "interrupted" : "the agent ended too early");
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
  pid_t straggler;
  int code = spawn(d, words, -1, &straggler, err);
  if (code) return code;
  int status = wait_for(straggler);
  rp__stage_fact(&d->stage, "fenced", "exit code %d", WEXITSTATUS(status));
  rp__stage_pause(&d->stage, 500);
  int fenced = rp_error_lookup(RP_E_FENCED)->exit_code;
  return WEXITSTATUS(status) == fenced ? 0 : rp__fail(err, RP_E_FAILED, "the straggler was not fenced");
}

static int scene_return(struct director *d, rp_error *err)
{
  struct rp__demo_note note = {0};
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
  RP_IGNORE(listen_for(d, RP_DEMO_BACK, &note, NULL)); /* until it hangs up */
  if (d->interrupted) return rp__fail(err, RP_E_CANCELLED, "interrupted");
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
  int code = rp__cli_open_db(c, d->demo->db, RP_USE_WRITE, err);
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
  struct director d = {.demo = demo, .stage = demo->stage};
  int code = scene_kill(&d, err);
  if (!code) code = scene_return(&d, err);
  if (!code) code = scene_proof(&d, err);
  if (d.child > 0) kill(d.child, SIGKILL), reap(&d);
  rp__cli_done(demo->c);
  return code;
}
