/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise hook install`, `uninstall` and `status`: our hooks in an agent's settings file. */
#ifndef RP_CLI_HOOK_INSTALL_H
#define RP_CLI_HOOK_INSTALL_H

#include <limits.h>

#include "bridge/hook/hook.h"
#include "cli/cli.h"

struct rp__hook_install {
  const struct rp__hook_agent *agent;
  const char *project; /* its folder, or NULL: for every project of this user */
  const char *scope;   /* for all of them, or NULL: each project's own */
  bool remove, dry_run, yes;
};

/* Shows what would change, asks, and writes: whole or not at all, with a backup. Nothing to change is fine. */
RP_MUST_USE int rp__hook_install_run(struct rp__cli *c, const struct rp__hook_install *o, rp_error *err);

/* The file of an agent's settings that has its hooks, of a project or (NULL) of the user; it may not be there. */
RP_MUST_USE int rp__hook_file(const struct rp__hook_agent *agent, const char *project, char ret[PATH_MAX],
                              rp_error *err);

/* Prints where agents are told to run us; `agent` NULL: all of them. `project` NULL: the one we are in.
 */
RP_MUST_USE int rp__hook_status_run(struct rp__cli *c, const struct rp__hook_agent *agent, const char *project,
                                    rp_error *err);

#endif
