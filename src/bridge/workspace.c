/* SPDX-License-Identifier: Apache-2.0 */
/* The scope, the project and the session of a working folder. */
#include "bridge/workspace.h"

#include <limits.h>
#include <sodium.h>

#include "base/text.h"
#include "json/json.h"

#define HASH_CHARS 6     /* tells two projects of one name apart */
#define ID_HASH_CHARS 32 /* stands for a whole name */
#define NAME_CHARS 48
#define PATH_CHARS 4096

static bool is_first(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_id_char(char c)
{
  return is_first(c) || c == '.' || c == '_' || c == ':' || c == '-';
}

static bool is_id(const char *s)
{
  size_t n = strlen(s);
  if (n == 0 || n > RP_ID_MAX || !is_first(s[0])) return false;
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

/* Where links lead: they are names of the same project. What can't be followed is taken as it is. */
static const char *real(const char *path, char room[PATH_MAX])
{
  return realpath(path, room) ? room : path;
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
    if (n || is_first(c)) name[n++] = c;
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
  scope_of(rp__workspace_root(cwd, followed) ? followed : real(cwd, followed), ret);
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
