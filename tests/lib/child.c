/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes of tests: started, waited for, killed. */
#include "lib/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t child_run(int (*fn)(void *arg), void *arg)
{
  pid_t pid = fork();
  if (pid != 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  _exit(fn(arg));
}

static void exec_with(const char *const *argv, const int in[2], const int out[2])
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (in[0] >= 0) dup2(in[0], STDIN_FILENO);
  if (out[1] >= 0) dup2(out[1], STDOUT_FILENO);
  signal(SIGPIPE, SIG_DFL);
  execvp(argv[0], (char *const *)(uintptr_t)argv);
  _exit(127);
}

pid_t child_exec(const char *const *argv, int *ret_in, int *ret_out)
{
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (ret_in && pipe2(in, O_CLOEXEC) != 0) abort();
  if (ret_out && pipe2(out, O_CLOEXEC) != 0) abort();
  pid_t pid = fork();
  if (pid == 0) exec_with(argv, in, out);
  if (ret_in) {
    close(in[0]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    *ret_in = in[1];
  }
  if (ret_out) {
    close(out[1]);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    *ret_out = out[0];
  }
  return pid;
}

int child_call(const char *const *argv)
{
  pid_t pid = child_exec(argv, NULL, NULL);
  if (pid < 0) return -1;
  int code = child_wait(pid);
  return code < 127 ? code : -1;
}

int child_wait(pid_t pid)
{
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void child_kill(pid_t pid)
{
  kill(pid, SIGKILL);
  child_wait(pid);
}

void child_kill_unreaped(pid_t pid)
{
  siginfo_t info;
  kill(pid, SIGKILL);
  while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
}

void *child_shared(size_t n)
{
  void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) abort();
  return p;
}
