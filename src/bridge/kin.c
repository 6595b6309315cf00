/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/kin.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>

#define STEPS_MAX 16
#define STAT_MAX 512
#define LOOKED_AT 100 /* sessions of the scope among which a living one is looked for */
#define FOUND_MAX 16  /* of them, those that may be it */

/* ---- the agent ---- */

/* Agents run us by a shell, which may or may not stay between them and us: the first ancestor that is none of these. */
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

static int open_stat(int64_t pid)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* PID (NAME) STATE PPID …; the name may hold anything, so its end is the last parenthesis. */
static bool look(int64_t pid, char name[STAT_MAX], int64_t *ret_parent)
{
  char stat[STAT_MAX];
  RP_AUTOCLOSE int fd = open_stat(pid);
  ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
  if (n <= 0) return false;
  stat[n] = '\0';
  char *from = strchr(stat, '('), *to = strrchr(stat, ')');
  if (!from || !to || to < from || to + 4 >= stat + n) return false;
  snprintf(name, STAT_MAX, "%.*s", (int)(to - from - 1), from + 1);
  *ret_parent = strtoll(to + 4, NULL, 10); /* behind ") S " */
  return true;
}

int64_t rp__kin_agent(void)
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

/* Agents start their hooks and servers at once. The agent's own entry in /proc is the one file that all of them know
 * and nobody has to make or remove. */
int rp__kin_lock(int64_t agent)
{
  int fd = agent > 0 ? open_stat(agent) : -1, rc;
  if (fd < 0) return -1;
  do rc = flock(fd, LOCK_EX);
  while (rc && errno == EINTR);
  if (!rc) return fd;
  close(fd);
  return -1;
}

/* ---- its session ---- */

void rp__kin_mark(struct rp__jw *w, int64_t agent, const char *bridge)
{
  if (agent <= 0) return;
  rp__jw_ki64(w, "agent_pid", agent);
  rp__jw_kstr(w, "bridge", bridge);
}

struct search {
  const char *bridge;
  int64_t agent;
  size_t n;
  struct {
    char id[RP_ID_MAX + 1];
    bool marked; /* with this agent; else it may have been resumed by it */
  } found[FOUND_MAX];
};

static int take(void *ctx, const rp_session_info *info)
{
  struct search *s = ctx;
  const char *text = info->meta ? info->meta : "";
  struct rp__json meta = rp__json_trusted(text, strlen(text));
  int64_t pid = 0;
  if (info->ended_at || s->n == FOUND_MAX || !rp__json_eq(rp__json_get(meta, "bridge"), s->bridge)) return 0;
  rp__json_i64(rp__json_get(meta, "agent_pid"), &pid);
  snprintf(s->found[s->n].id, sizeof s->found[0].id, "%s", info->id);
  s->found[s->n++].marked = pid == s->agent;
  return 0;
}

/* The meta tells who began a session, not who resumed it; but who owns its run gets that run again, and nobody else. */
static bool owns(rp_engine *e, const char *scope, const char *id, int64_t agent)
{
  const rp_start_options o = {.scope = scope, .id = id, .owner = RP_OWNER_PID, .owner_pid = agent};
  rp_session *s = NULL;
  if (rp_start(e, &o, &s, NULL)) return false;
  rp_session_detach(s);
  return true;
}

int rp__kin_find(rp_engine *e, const char *scope, int64_t agent, const char *bridge, char ret[RP_SCOPE_MAX + 1],
                 rp_error *err)
{
  struct search s = {.bridge = bridge, .agent = agent};
  const rp_filter f = {.scope = scope, .limit = LOOKED_AT};
  bool hooks = strcmp(bridge, "hook") == 0; /* their runs are owned by the agent itself */
  int rc = agent > 0 ? rp_list(e, &f, take, &s, err) : 0;
  for (size_t i = 0; !rc && i < s.n; i++) {
    bool alive = false;
    rc = s.found[i].marked || hooks ? rp_alive(e, s.found[i].id, &alive, err) : 0;
    if (rc || !alive || !(s.found[i].marked || owns(e, scope, s.found[i].id, agent))) continue;
    snprintf(ret, RP_SCOPE_MAX + 1, "%s", s.found[i].id);
    return 0;
  }
  return rc ? rc : rp__fail(err, RP_E_SESSION_NOT_FOUND, "nothing else of this agent has a session");
}
