/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agents run hooks by a shell, which may or may not stay between them and us. The run belongs to the agent's process:
 * the first ancestor that is no shell and no mere wrapper.
 */
#include "bridge/hook/hook.h"

#include <fcntl.h>

#define STEPS_MAX 16
#define STAT_MAX 512

static const char *const wrappers[] = {"sh",  "bash",    "dash", "ash",    "zsh",    "ksh", "fish",
                                       "env", "timeout", "nice", "setsid", "stdbuf", NULL};
/* Whoever adopts orphans knows nothing of the agent. */
static const char *const adopters[] = {"systemd", "init", "tini", "dumb-init", "docker-init", NULL};

static bool among(const char *const *names, const char *name)
{
  for (size_t i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0) return true;
  return false;
}

/* PID (NAME) STATE PPID …; the name may hold anything, so its end is the last parenthesis. */
static bool look(int64_t pid, char name[STAT_MAX], int64_t *ret_parent)
{
  char path[64], stat[STAT_MAX];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
  if (n <= 0) return false;
  stat[n] = '\0';
  char *from = strchr(stat, '('), *to = strrchr(stat, ')');
  if (!from || !to || to < from || to + 4 >= stat + n) return false;
  snprintf(name, STAT_MAX, "%.*s", (int)(to - from - 1), from + 1);
  *ret_parent = strtoll(to + 4, NULL, 10); /* behind ") S " */
  return true;
}

int64_t rp__hook_owner(void)
{
  char name[STAT_MAX];
  int64_t pid = getppid(), parent = 0;
  for (int i = 0; i < STEPS_MAX && pid > 0; i++) {
    if (!look(pid, name, &parent) || among(adopters, name)) return 0;
    if (!among(wrappers, name)) return pid;
    pid = parent;
  }
  return 0;
}
