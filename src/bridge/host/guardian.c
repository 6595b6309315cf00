/* SPDX-License-Identifier: Apache-2.0 */
/* The guardian: the process between us and the agent. */
#include "bridge/host/guardian.h"
#include "base/ticks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "bridge/host/process-tree.h"

#define AGAIN_MS 100   /* between two SIGKILLs: what was forked meanwhile gets the next one */
#define ROUNDS_MAX 100 /* of them; what the kernel does not let go of is left */

static void signal_tree(pid_t agent, int sig)
{
  if (rp__tree_signal(NULL, 0, sig) < 0 && agent) kill(-agent, sig); /* no /proc: as far as we can know */
}

/* ---- its life ---- */

/* While the agent is not reaped its id is taken, so the group is its own. */
static void tell_end(pid_t agent, int ended)
{
  int st = 0;
  kill(-agent, SIGTERM); /* helpers may go on with what it asked of them, beside the next one in the same directory */
  if (waitpid(agent, &st, 0) != agent) return;
  int status = WIFSIGNALED(st) ? -WTERMSIG(st) : WEXITSTATUS(st);
  ssize_t n = write(ended, &status, sizeof status);
  (void)n; /* nobody may be there any more */
  close(ended);
}

/* False: nobody is left. */
static bool reap(pid_t *agent, int ended)
{
  for (;;) {
    siginfo_t info = {0};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT)) return errno == EINTR;
    if (!info.si_pid) return true;
    if (info.si_pid == *agent) {
      tell_end(*agent, ended);
      *agent = 0;
    } else {
      waitpid(info.si_pid, NULL, WNOHANG);
    }
  }
}

/* The signal that came, or 0: the time has come. */
static int wait_signal(const sigset_t *set, int64_t until)
{
  if (until < 0) {
    int sig = sigwaitinfo(set, NULL);
    return sig > 0 ? sig : SIGCHLD;
  }
  int64_t ms = RP_MAX(until - rp__ticks_ms(), (int64_t)0);
  struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
  int sig = sigtimedwait(set, NULL, &t);
  return sig > 0 ? sig : errno == EAGAIN ? 0 : SIGCHLD;
}

void rp__keeper_run(pid_t agent, int ended)
{
  int64_t until = -1;
  sigset_t set;
  signal(SIGCHLD, SIG_DFL);
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, RP_KEEPER_TERM);
  sigaddset(&set, RP_KEEPER_KILL);
  for (int rounds = 0; reap(&agent, ended) && rounds < ROUNDS_MAX;) {
    int sig = wait_signal(&set, until);
    if (sig == RP_KEEPER_TERM) {
      signal_tree(agent, SIGTERM);
      until = rp__ticks_ms() + RP_KEEPER_GRACE_MS;
    } else if (sig == RP_KEEPER_KILL || sig == 0) {
      signal_tree(agent, SIGKILL);
      until = rp__ticks_ms() + AGAIN_MS;
      rounds++;
    }
  }
  _exit(0);
}
