/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topics of a start: the name of the project's folder, and the branch that git has checked out there. Git's
 * files are read; no program is run.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/text.h"
#include "bridge/workspace.h"

#define GIT_LINE_MAX 4096
#define PART_MIN 3 /* bytes of a part that may be a word */
#define BRANCH_PREFIX "ref: refs/heads/"
#define GIT_FILE_PREFIX "gitdir: "

/* ---- the folder ---- */

/* The folder of the project, outside of one the directory itself. False: the user's home or "/", which are none. */
static bool find_folder(const char *cwd, char ret[RP_PROJECT_PATH_MAX], char ret_home[PATH_MAX])
{
  const char *home = getenv("HOME");
  if (!home || !realpath(home, ret_home)) ret_home[0] = '\0';
  bool found = rp__workspace_root(cwd, ret) || realpath(cwd ? cwd : ".", ret);
  return found && ret[1] && strcmp(ret, ret_home) != 0;
}

bool rp__workspace_name(const char *cwd, char ret[RP_PROJECT_NAME_MAX + 1])
{
  char folder[RP_PROJECT_PATH_MAX], home[PATH_MAX];
  if (!find_folder(cwd, folder, home)) return false;
  rp__text_copy(ret, RP_PROJECT_NAME_MAX + 1, strrchr(folder, '/') + 1);
  return true;
}

/* ---- the branch ---- */

/* The first line of a file. False: there is none, or it is too long. */
static bool first_line(const char *path, char ret[GIT_LINE_MAX])
{
  RP_AUTOCLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  ssize_t n = fd < 0 ? -1 : read(fd, ret, GIT_LINE_MAX - 1);
  if (n <= 0) return false;
  ret[n] = '\0';
  size_t end = strcspn(ret, "\r\n");
  bool whole = end < (size_t)n || n < GIT_LINE_MAX - 1;
  ret[end] = '\0';
  return whole && end > 0;
}

/* Of the repository whose work tree is `dir`. In a linked work tree .git is a file that names git's folder. */
static bool read_head(const char *dir, char ret[GIT_LINE_MAX])
{
  char path[2 * PATH_MAX + 16], line[GIT_LINE_MAX];
  snprintf(path, sizeof path, "%s/.git/HEAD", dir);
  if (first_line(path, ret)) return true;
  snprintf(path, sizeof path, "%s/.git", dir);
  if (!first_line(path, line) || strncmp(line, GIT_FILE_PREFIX, strlen(GIT_FILE_PREFIX)) != 0) return false;
  const char *to = line + strlen(GIT_FILE_PREFIX);
  snprintf(path, sizeof path, "%s%s%s/HEAD", *to == '/' ? "" : dir, *to == '/' ? "" : "/", to);
  return first_line(path, ret);
}

/* Branches that every project has: they say nothing of the work. */
static const char *const common[] = {"main", "master", "trunk", "develop", "HEAD"};

/* The branch around a folder, without what stands before its first slash ("feature/", a person's name). */
static bool find_branch(const char *folder, const char *home, char line[GIT_LINE_MAX], struct rp__str *ret)
{
  char dir[PATH_MAX];
  snprintf(dir, sizeof dir, "%s", folder);
  while (!read_head(dir, line)) {
    char *slash = strrchr(dir, '/');
    if (!slash || slash == dir) return false;
    *slash = '\0';
    if (strcmp(dir, home) == 0) return false; /* a repository of dotfiles is not around what lies in it */
  }
  if (strncmp(line, BRANCH_PREFIX, strlen(BRANCH_PREFIX)) != 0) return false; /* detached */
  const char *name = line + strlen(BRANCH_PREFIX);
  for (size_t i = 0; i < RP_ARRAY_SIZE(common); i++)
    if (strcmp(name, common[i]) == 0) return false;
  const char *slash = strchr(name, '/');
  if (slash && slash[1]) name = slash + 1;
  *ret = (struct rp__str){name, strlen(name)};
  return true;
}

/* ---- the list ---- */

struct list {
  struct rp__buf *out;
  size_t n;
};

static bool has(const struct rp__buf *list, const char *topic, size_t n)
{
  for (const char *p = list->p; p && *p;) {
    size_t len = strcspn(p, ",");
    if (len == n && memcmp(p, topic, n) == 0) return true;
    p += len + (p[len] == ',');
  }
  return false;
}

static void add(struct list *l, const char *topic, size_t n)
{
  if (!n || l->n == RP_START_TOPICS_MAX || memchr(topic, ',', n) || has(l->out, topic, n)) return;
  if (l->out->n) rp__buf_char(l->out, ',');
  rp__buf_add(l->out, topic, n);
  l->n++;
}

/* A name in lower case, and the parts of a compound that may be words: of "my-shop" also "shop". */
static void add_name(struct list *l, struct rp__str name)
{
  char lower[GIT_LINE_MAX];
  size_t n = RP_MIN(name.n, sizeof lower), from = 0;
  for (size_t i = 0; i < n; i++)
    lower[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] + 'a' - 'A' : name.p[i]);
  add(l, lower, n);
  for (size_t i = 0; i <= n; i++) {
    if (i < n && !rp__is_in(lower[i], "-_./ ")) continue;
    if (i - from >= PART_MIN) add(l, lower + from, i - from);
    from = i + 1;
  }
}

void rp__workspace_topics(const char *given, const char *cwd, struct rp__buf *ret)
{
  char folder[RP_PROJECT_PATH_MAX], home[PATH_MAX], line[GIT_LINE_MAX];
  struct list l = {.out = ret};
  struct rp__str branch;
  for (const char *p = given; p && *p;) {
    size_t n = strcspn(p, ",");
    add(&l, p, n);
    p += n + (p[n] == ',');
  }
  if (!find_folder(cwd, folder, home)) return;
  const char *name = strrchr(folder, '/') + 1;
  add_name(&l, (struct rp__str){name, strlen(name)});
  if (find_branch(folder, home, line, &branch)) add_name(&l, branch);
}
