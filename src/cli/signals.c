/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM through a descriptor. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

static void stop_signals(sigset_t *ret)
{
  sigemptyset(ret);
  sigaddset(ret, SIGINT);
  sigaddset(ret, SIGTERM);
}

int rp__signals_open(int *ret_fd, rp_error *err)
{
  sigset_t set;
  stop_signals(&set);
  int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return rp__fail_errno(err, errno, "can't watch for signals");
  sigprocmask(SIG_BLOCK, &set, NULL);
  *ret_fd = fd;
  return 0;
}

int rp__signals_read(int fd)
{
  struct signalfd_siginfo info;
  sigset_t set;
  if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) return 0;
  stop_signals(&set);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  return (int)info.ssi_signo;
}
