/* SPDX-License-Identifier: Apache-2.0 */
/* The scope of a command: the one given, the one configured, or that of the folder. */
#include "cli/scope.h"

#include "bridge/workspace.h"

_Static_assert(sizeof((struct rp__cli){0}.scope) > RP_SCOPE_MAX, "a scope fits");

int rp__scope_default(struct rp__cli *c, const char *given, const char **ret, rp_error *err)
{
  const char *named = getenv("REPRISE_SCOPE");
  char root[RP_PROJECT_PATH_MAX];
  *ret = given;
  if (given || (!(named && *named) && !rp__workspace_root(NULL, root))) return 0;
  int code = rp__workspace_scope(NULL, root, c->scope, err);
  if (!code) *ret = c->scope;
  return code;
}

int rp__scope_required(struct rp__cli *c, const char *given, const char **ret, rp_error *err)
{
  int code = rp__scope_default(c, given, ret, err);
  if (code || *ret) return code;
  rp__fail_field(err, RP_E_USAGE, "scope", "--scope is missing, and no project is around here");
  rp__hint(err, "name an agent, a project or a robot, like --scope my-agent; inside a repository, or a folder with an "
                "agent's settings, that is the scope");
  return RP_E_USAGE;
}
