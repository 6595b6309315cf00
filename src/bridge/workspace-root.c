/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the root of the project that a directory belongs to. */
#include <sys/stat.h>

#include "bridge/workspace.h"

/* A repository, of whatever kind. In a work tree of git's it is a file. */
static const char *const repositories[] = {".git", ".hg", ".jj", ".svn"};
/* Where agents keep a project's settings. Their folder at home, or in a container's "/", holds the user's. */
static const char *const settings[] = {".claude", ".codex", ".cursor", ".gemini", ".opencode", ".qwen", ".mcp.json"};

static bool has_one(const char *dir, const char *const *names, size_t n)
{
  char path[RP_PROJECT_PATH_MAX + 16];
  struct stat st;
  for (size_t i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, names[i]);
    if (stat(path, &st) == 0) return true;
  }
  return false;
}

static bool is_home(const char *dir)
{
  char real[PATH_MAX];
  const char *home = getenv("HOME");
  return home && realpath(home, real) && strcmp(real, dir) == 0;
}

/* What lies in the user's home or in "/" is no part of it, even of a repository (of dotfiles, say). */
static bool is_root(const char *dir, bool within)
{
  bool repository = has_one(dir, repositories, RP_ARRAY_SIZE(repositories));
  if (is_home(dir) || strcmp(dir, "/") == 0) return repository && !within;
  return repository || has_one(dir, settings, RP_ARRAY_SIZE(settings));
}

bool rp__workspace_root(const char *cwd, char ret[RP_PROJECT_PATH_MAX])
{
  char dir[PATH_MAX];
  const char *project = cwd ? NULL : rp__workspace_project();
  if (project && !realpath(project, dir)) project = NULL; /* it is gone */
  if (!project && !realpath(cwd ? cwd : ".", dir)) return false;
  /* What the agent around us calls its project is one, whatever is in it. */
  if (project) memcpy(ret, dir, strlen(dir) + 1);
  bool found = is_root(dir, false);
  while (!found && strcmp(dir, "/") != 0) {
    char *slash = strrchr(dir, '/');
    slash[slash == dir] = '\0'; /* "/a" is in "/" */
    found = is_root(dir, true);
  }
  if (found) memcpy(ret, dir, strlen(dir) + 1);
  return found || project;
}
