/* SPDX-License-Identifier: Apache-2.0 */
/* The scope, the project and the session of a working folder. */
#include "bridge/workspace.h"

#include <sodium.h>
#include <sys/stat.h>

#include "base/text.h"
#include "json/json.h"

#define HASH_CHARS 6     /* tells two projects of one name apart */
#define ID_HASH_CHARS 32 /* stands for a whole name */
#define NAME_CHARS 48
#define PATH_CHARS 4096

static bool is_id_char(char c)
{
  return rp__is_alnum(c) || rp__is_in(c, "._:-");
}

static bool is_id(const char *s)
{
  size_t n = strlen(s);
  if (n == 0 || n > RP_ID_MAX || !rp__is_alnum(s[0])) return false;
  for (size_t i = 0; i < n; i++)
    if (!is_id_char(s[i])) return false;
  return true;
}

static void hash_text(const char *s, char *ret, size_t chars)
{
  unsigned char h[crypto_generichash_BYTES_MIN];
  char hex[sizeof h * 2 + 1];
  crypto_generichash(h, sizeof h, (const unsigned char *)s, strlen(s), NULL, 0);
  sodium_bin2hex(hex, sizeof hex, h, sizeof h);
  memcpy(ret, hex, chars);
  ret[chars] = '\0';
}

static void scope_of(const char *cwd, char ret[RP_SCOPE_MAX + 1])
{
  char name[NAME_CHARS + 1], hash[HASH_CHARS + 1], path[PATH_CHARS];
  size_t end = strlen(cwd), n = 0;
  while (end > 1 && cwd[end - 1] == '/') end--;
  size_t from = end;
  while (from > 0 && cwd[from - 1] != '/') from--;
  for (; from < end && n < NAME_CHARS; from++) {
    char c = is_id_char(cwd[from]) && cwd[from] != ':' ? cwd[from] : '-';
    if (n || rp__is_alnum(c)) name[n++] = c;
  }
  name[n] = '\0';
  /* "/a/b" and "/a/b/" are one directory. */
  snprintf(path, sizeof path, "%.*s", (int)RP_MIN(end, sizeof path - 1), cwd);
  hash_text(path, hash, HASH_CHARS);
  snprintf(ret, RP_SCOPE_MAX + 1, "%s-%s", n ? name : "root", hash);
}

static const char *named(const char *given)
{
  const char *name = given && *given ? given : getenv("REPRISE_SCOPE");
  return name && *name ? name : NULL;
}

int rp__workspace_scope(const char *given, const char *cwd, char ret[RP_SCOPE_MAX + 1], rp_error *err)
{
  const char *name = named(given);
  char here[PATH_CHARS], followed[RP_PROJECT_PATH_MAX];
  if (name) {
    if (!is_id(name))
      return rp__fail_field(err, RP_E_INVALID, "scope", "'%s' is no name of a scope", rp__text_shown(name));
    snprintf(ret, RP_SCOPE_MAX + 1, "%s", name);
    return 0;
  }
  if (!cwd || !*cwd) cwd = getcwd(here, sizeof here);
  if (!cwd) return rp__fail(err, RP_E_INVALID, "the current directory has no name; give a scope");
  /* Links are names of the same project; what can't be followed is taken as it is. */
  scope_of(rp__workspace_root(cwd, followed) || realpath(cwd, followed) ? followed : cwd, ret);
  return 0;
}

bool rp__workspace_former(const char *given, const char *cwd, char ret[RP_SCOPE_MAX + 1])
{
  char here[PATH_CHARS], dir[PATH_MAX], root[RP_PROJECT_PATH_MAX];
  if (!cwd || !*cwd) cwd = getcwd(here, sizeof here);
  if (named(given) || !cwd || !realpath(cwd, dir) || !rp__workspace_root(dir, root) || strcmp(dir, root) == 0)
    return false;
  scope_of(dir, ret);
  return true;
}

const char *rp__workspace_project(void)
{
  const char *dir = getenv("CLAUDE_PROJECT_DIR");
  return dir && *dir == '/' ? dir : NULL;
}

const char *rp__workspace_session(void)
{
  const char *id = getenv("REPRISE_SESSION");
  return id && is_id(id) ? id : NULL;
}

bool rp__workspace_nested(void)
{
  const char *bridge = getenv("REPRISE_BRIDGE");
  return rp__workspace_session() || (bridge && *bridge);
}

void rp__workspace_id(const char *prefix, const char *name, char ret[RP_SCOPE_MAX + 1])
{
  char hash[ID_HASH_CHARS + 1];
  if (is_id(name)) {
    snprintf(ret, RP_SCOPE_MAX + 1, "%s", name);
    return;
  }
  hash_text(name, hash, ID_HASH_CHARS);
  snprintf(ret, RP_SCOPE_MAX + 1, "%s-%s", prefix, hash);
}

/* ---- the project around a directory ---- */

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

/* What lies in the user's home or in "/" is no part of it, even of a repository (of dotfiles, say). */
static bool is_root(const char *dir, bool within)
{
  char real[PATH_MAX];
  const char *home = getenv("HOME");
  bool at_home = home && realpath(home, real) && strcmp(real, dir) == 0;
  bool repository = has_one(dir, repositories, RP_ARRAY_SIZE(repositories));
  if (at_home || strcmp(dir, "/") == 0) return repository && !within;
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
