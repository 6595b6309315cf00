/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the agent's process. */
#include "bridge/host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "bridge/host/guardian.h"

#define NOT_RUN 127 /* as shells say it */

/*
 * Ends of pipes: the agent reads in[0], writes out[1], and says on report[1] why it could not become the program. Its
 * keeper says on ended[1] how it ended.
 */
struct pipes {
  int in[2], out[2], report[2], ended[2];
};

static void pipes_done(struct pipes *p)
{
  const int fds[] = {p->in[0], p->in[1], p->out[0], p->out[1], p->report[0], p->report[1], p->ended[0], p->ended[1]};
  for (size_t i = 0; i < RP_ARRAY_SIZE(fds); i++)
    if (fds[i] >= 0) close(fds[i]);
}

static bool pipes_open(struct pipes *p)
{
  return pipe2(p->in, O_CLOEXEC) == 0 && pipe2(p->out, O_CLOEXEC) == 0 && pipe2(p->report, O_CLOEXEC) == 0 &&
         pipe2(p->ended, O_CLOEXEC) == 0;
}

/*
 * Signals were blocked before the fork: none of our handlers may run in the child. What was ignored when we were
 * started stays so, but for SIGPIPE, which we ignore ourselves.
 */
static void reset_signals(void)
{
  static const int ours[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD};
  struct sigaction was;
  sigset_t none;
  for (size_t i = 0; i < RP_ARRAY_SIZE(ours); i++)
    if (sigaction(ours[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN) signal(ours[i], SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Between fork and exec; the engine has threads, so nothing here may allocate or lock. */
static void __attribute__((noreturn))
become(const struct pipes *p, pid_t parent, const char *const *argv, char *const *env)
{
  setsid();
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(NOT_RUN); /* it died before we asked to be told */
  if (dup2(p->in[0], STDIN_FILENO) >= 0 && dup2(p->out[1], STDOUT_FILENO) >= 0) {
    reset_signals();
    execvpe(argv[0], (char *const *)(uintptr_t)argv, env);
  }
  int why = errno;
  ssize_t n = write(p->report[1], &why, sizeof why);
  _exit(n == (ssize_t)sizeof why ? NOT_RUN : NOT_RUN - 1);
}

/* The store's files and their locks are ours alone: a copy of them would look like a living owner. */
static void let_go_of_files(int keep)
{
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO), dup2(null, STDOUT_FILENO);
  unsigned first = STDERR_FILENO + 1, last = (unsigned)keep;
  if (last > first) syscall(SYS_close_range, first, last - 1, 0);
  syscall(SYS_close_range, last + 1, ~0U, 0);
}

static void __attribute__((noreturn))
keep(const struct pipes *p, pid_t parent, const char *const *argv, char *const *env, bool outlive)
{
  setsid();
  prctl(PR_SET_NAME, "reprise-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (!outlive) prctl(PR_SET_PDEATHSIG, RP_KEEPER_TERM);
  if (getppid() != parent) _exit(NOT_RUN); /* it died before we asked to be told */
  pid_t self = getpid(), agent = fork();
  if (agent == 0) become(p, self, argv, env);
  int why = errno;
  if (agent < 0) {
    ssize_t n = write(p->report[1], &why, sizeof why);
    _exit(n == (ssize_t)sizeof why ? NOT_RUN : NOT_RUN - 1);
  }
  let_go_of_files(p->ended[1]);
  rp__keeper_run(agent, p->ended[1]);
}

static pid_t fork_quietly(const struct pipes *p, const char *const *argv, char *const *env, bool outlive)
{
  sigset_t all, before;
  pid_t parent = getpid();
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork();
  if (pid == 0) keep(p, parent, argv, env, outlive);
  int why = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = why;
  return pid;
}

static int refuse(rp_error *err, const char *name, int why)
{
  int code = why == ENOENT ? RP_E_FILE_NOT_FOUND : why == ENOMEM ? RP_E_NOMEM : RP_E_FAILED;
  rp__fail(err, code, "agent '%s' can't be started: %s", name, strerrordesc_np(why));
  if (why == ENOENT) rp__hint(err, "is it installed, and in $PATH?");
  return code;
}

int rp__child_start(const char *const *argv, char *const *env, bool outlive, struct rp__child *ret, rp_error *err)
{
  RP_CLEANUP(pipes_done) struct pipes p = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
  int why = 0;
  if (!pipes_open(&p)) return refuse(err, argv[0], errno);
  pid_t pid = fork_quietly(&p, argv, env, outlive);
  if (pid < 0) return refuse(err, argv[0], errno);
  close(p.report[1]);
  p.report[1] = -1;
  if (TEMP_FAILURE_RETRY(read(p.report[0], &why, sizeof why)) == (ssize_t)sizeof why) {
    TEMP_FAILURE_RETRY(waitpid(pid, NULL, 0));
    return refuse(err, argv[0], why);
  }
  *ret = (struct rp__child){pid, p.in[1], p.out[0], p.ended[0]};
  p.in[1] = p.out[0] = p.ended[0] = -1;
  return 0;
}

static bool is_replaced(const char *var, const char *const *extra)
{
  for (; *extra; extra++) {
    size_t n = strcspn(*extra, "=") + 1;
    if (strncmp(var, *extra, n) == 0) return true;
  }
  return false;
}

char **rp__child_env(const char *const *extra)
{
  size_t n = 0, more = 0, at = 0;
  while (environ[n]) n++;
  while (extra[more]) more++;
  char **env = calloc(n + more + 1, sizeof *env);
  if (!env) return NULL;
  for (size_t i = 0; i < n; i++)
    if (!is_replaced(environ[i], extra)) env[at++] = environ[i];
  for (size_t i = 0; i < more; i++) env[at++] = (char *)(uintptr_t)extra[i];
  return env;
}
