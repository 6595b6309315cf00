/* SPDX-License-Identifier: Apache-2.0 */
/* Bridges that one agent runs side by side: finds and registers them, and decides which of them gives the brief. */
#include "bridge/sibling-bridges.h"
#include "base/enum-words.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <sys/file.h>

#include "base/process/proc.h"

#define STEPS_MAX 16
#define LOOKED_AT 100 /* sessions of the scope among which a living one is looked for */
#define FOUND_MAX 16  /* of them, those that may be it */
#define LOCK_STEP_MS 5

/* ---- the agent ---- */

/* Agents run us by a shell, which may or may not stay between them and us: the first ancestor that is none of these. */
static const char *const wrappers[] = {"sh",      "bash", "dash",    "ash",  "zsh",    "ksh",    "fish",
                                       "busybox", "env",  "timeout", "nice", "setsid", "stdbuf", NULL};
/* Whoever adopts orphans knows nothing of the agent. */
static const char *const adopters[] = {"systemd", "init", "tini", "dumb-init", "docker-init", "reprise-keeper", NULL};

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

/* A script has its own name; the program that runs it tells what it is. */
static bool is_wrapper(int64_t pid, const char *name)
{
  char path[64], program[PATH_MAX];
  snprintf(path, sizeof path, "/proc/%lld/exe", (long long)pid);
  if (among(wrappers, name)) return true;
  ssize_t n = readlink(path, program, sizeof program - 1);
  if (n <= 0) return false;
  program[n] = '\0';
  const char *slash = strrchr(program, '/');
  return among(wrappers, slash ? slash + 1 : program);
}

int64_t rp__siblings_agent(void)
{
  struct rp__proc_line line;
  int64_t pid = getppid();
  for (int i = 0; i < STEPS_MAX && pid > 0; i++) {
    if (!rp__proc_line(pid, &line) || among(adopters, line.name)) return 0;
    if (!is_wrapper(pid, line.name)) return pid;
    pid = line.parent;
  }
  return 0;
}

/* With a bound: the file is everybody's, and whoever keeps it locked must not keep an agent from starting. */
static int lock_all(int fd)
{
  static const struct timespec step = {0, LOCK_STEP_MS * 1000000L};
  for (int waited = 0;; waited += LOCK_STEP_MS) {
    int rc = flock(fd, LOCK_EX | LOCK_NB);
    if (!rc || (errno != EWOULDBLOCK && errno != EINTR) || waited >= RP_SIBLINGS_LOCK_MS) return rc;
    nanosleep(&step, NULL);
  }
}

/* Agents start their hooks and servers at once. The agent's own entry in /proc is the one file that all of them know
 * and nobody has to make or remove. */
int rp__siblings_lock(int64_t agent)
{
  int fd = agent > 0 ? open_stat(agent) : -1;
  if (fd < 0 || lock_all(fd) == 0) return fd;
  close(fd);
  return -1;
}

/* ---- its session ---- */

void rp__siblings_mark(struct rp__jw *w, int64_t agent, const char *bridge)
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

/* One list: 0 when the session is among it. */
static int find_in(rp_engine *e, const rp_filter *f, int64_t agent, const char *bridge, char ret[RP_SCOPE_MAX + 1],
                   rp_error *err)
{
  struct search s = {.bridge = bridge, .agent = agent};
  bool hooks = strcmp(bridge, "hook") == 0; /* a server begins a session of its own, unless it is told to resume one */
  int rc = rp_list(e, f, take, &s, err);
  for (size_t i = 0; !rc && i < s.n; i++) {
    bool alive = false;
    rc = s.found[i].marked || hooks ? rp_alive(e, s.found[i].id, &alive, err) : 0;
    if (rc || !alive || !(s.found[i].marked || owns(e, f->scope, s.found[i].id, agent))) continue;
    snprintf(ret, RP_SCOPE_MAX + 1, "%s", s.found[i].id);
    return 0;
  }
  return rc ? rc : rp__fail(err, RP_E_SESSION_NOT_FOUND, "nothing else of this agent has a session");
}

int rp__siblings_find(rp_engine *e, const char *scope, int64_t agent, const char *bridge, bool far,
                      char ret[RP_SCOPE_MAX + 1], rp_error *err)
{
  rp_filter f = {.scope = scope, .limit = LOOKED_AT};
  if (agent <= 0) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "there is no agent");
  int rc = find_in(e, &f, agent, bridge, ret, err);
  /* A window stays open for days while scripts begin and end many others: ended ones are not in the way here. */
  for (rp_session_status status = RP_SESSION_CREATED; far && rc == RP_E_SESSION_NOT_FOUND && status < RP_SESSION_CLOSED;
       status++) {
    f.status = status;
    rc = find_in(e, &f, agent, bridge, ret, err);
  }
  return rc;
}

bool rp__siblings_began(rp_engine *e, const char *ref, int64_t agent, const char *bridge)
{
  struct search s = {.bridge = bridge, .agent = agent};
  return agent > 0 && rp_show(e, ref, take, &s, NULL) == 0 && s.n && s.found[0].marked;
}

/* ---- registered servers ---- */

/* Locks of ranges know nothing of those of whole files, and who only reads may share one. */
static struct flock range(int type, int64_t at)
{
  return (struct flock){.l_type = (short)type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
}

/* Far behind the end, where a session has a byte of its own. */
static int64_t byte_of(const char *session)
{
  unsigned char h[crypto_generichash_BYTES_MIN];
  uint64_t at;
  crypto_generichash(h, sizeof h, (const unsigned char *)session, strlen(session), NULL, 0);
  memcpy(&at, h, sizeof at);
  return (int64_t)(at >> 2);
}

static bool others(int fd, int64_t at)
{
  struct flock l = range(F_WRLCK, at);
  return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

bool rp__siblings_register(struct rp__sibling *entry, int64_t agent, const char *session)
{
  struct rp__sibling s = {.at = byte_of(session)};
  struct flock l = range(F_RDLCK, s.at);
  if (!rp__process_watch_open(&s.agent, agent)) return false;
  s.fd = open_stat(agent);
  s.taken = s.fd >= 0 && fcntl(s.fd, F_OFD_SETLK, &l) == 0;
  if (s.taken) {
    *entry = s;
    return true;
  }
  rp__process_watch_close(&s.agent);
  if (s.fd >= 0) close(s.fd);
  return false;
}

void rp__siblings_leave(struct rp__sibling *entry)
{
  if (!entry->taken) return;
  rp__process_watch_close(&entry->agent);
  close(entry->fd);
  *entry = (struct rp__sibling){0};
}

void rp__siblings_lock_entry(const struct rp__sibling *entry)
{
  lock_all(entry->fd);
}

bool rp__siblings_alone(const struct rp__sibling *entry)
{
  return !others(entry->fd, entry->at);
}

bool rp__siblings_registered(int64_t agent, const char *session)
{
  RP_AUTOCLOSE int fd = agent > 0 ? open_stat(agent) : -1;
  return fd >= 0 && others(fd, byte_of(session));
}

void rp__siblings_teller(const char *scope, char ret[RP_SIBLINGS_TELLER_MAX])
{
  snprintf(ret, RP_SIBLINGS_TELLER_MAX, "told:%s", scope);
}
