/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a pager, and waiting for its end. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#define SAID_MAX 65536 /* bytes kept back for the time after it */

static pthread_mutex_t said_mu = PTHREAD_MUTEX_INITIALIZER; /* the engine's threads say things, too */

/* The command for a shell; NULL: none is wanted, or there is none. */
static const char *command(void)
{
  static const char *const names[] = {"REPRISE_PAGER", "PAGER"};
  const char *term = getenv("TERM");
  char less[PATH_MAX];
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    const char *s = getenv(names[i]);
    if (s) return *s && strcmp(s, "cat") != 0 ? s : NULL;
  }
  return term && strcmp(term, "dumb") != 0 && rp__on_path("less", less) ? "less -FRX" : NULL;
}

void rp__pager_start(struct rp__cli *c)
{
  int fd[2];
  if (!c->cmd || !c->cmd->pages || !c->term.out_tty || !c->term.in_tty) return;
  if (rp__json_wanted(c) || c->globals[RP_G_NO_PAGER].count) return;
  for (size_t i = 0; i < c->cmd->n_opts; i++)
    if (c->opts[i].count && strcmp(c->cmd->opts[i].name, "follow") == 0) return;
  const char *pager = command();
  if (!pager || pipe2(fd, O_CLOEXEC)) return;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    if (dup2(fd[0], STDIN_FILENO) < 0) _exit(127);
    signal(SIGPIPE, SIG_DFL);
    setenv("LESS", "FRX", 0);
    execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
    _exit(127);
  }
  close(fd[0]);
  if (pid > 0 && dup2(fd[1], STDOUT_FILENO) >= 0) {
    c->pager.pid = pid;
    c->pager.said = RP_BUF(SAID_MAX);
    /* The interrupt is the pager's: it stops reading, and who leaves it ends us, too. */
    signal(SIGINT, SIG_IGN);
  }
  close(fd[1]);
}

void rp__pager_finish(struct rp__cli *c)
{
  pid_t pid = c->pager.pid;
  int status = 0;
  if (!pid) return;
  /* The pipe must end, or the pager waits for more. */
  fflush(stdout);
  close(STDOUT_FILENO);
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  signal(SIGINT, SIG_DFL);
  c->pager.pid = 0;
  if (c->pager.said.n && !c->pager.said.err) fputs(c->pager.said.p, stderr);
  rp__buf_done(&c->pager.said);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    rp__cli_say(c, "the pager can't be run: look at $REPRISE_PAGER and $PAGER, or say --no-pager");
}

void rp__pager_say(struct rp__cli *c, const char *text)
{
  pthread_mutex_lock(&said_mu);
  if (c->pager.pid)
    rp__buf_str(&c->pager.said, text);
  else
    fputs(text, stderr);
  pthread_mutex_unlock(&said_mu);
}
