/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise hook install` and `uninstall`: our hooks in an agent's settings file. */
#ifndef RP_CLI_HOOK_INSTALL_H
#define RP_CLI_HOOK_INSTALL_H

#include "bridge/hook/hook.h"
#include "cli/cli.h"

struct rp__hook_install {
  const struct rp__hook_agent *agent;
  const char *project; /* its folder, or NULL: for every project of this user */
  const char *scope;   /* for all of them, or NULL: each project's own */
  bool remove, dry_run, yes;
};

/* Shows what would change, asks, and writes: whole or not at all, with a backup. Nothing to change is fine. */
int rp__hook_install_run(struct rp__cli *c, const struct rp__hook_install *o, rp_error *err);

#endif
