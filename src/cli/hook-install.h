/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reprise hook install`, `uninstall` and `status`: our hooks in an agent's settings file. Looks for agents whose
 * settings run Reprise, as hooks or as an MCP server, and checks whether that program can be run.
 */
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
RP_MUST_USE int rp__hook_install_run(struct rp__cli *c, const struct rp__hook_install *o, rp_error *err);

/* The file of an agent's settings that has its hooks, of a project or (NULL) of the user; it may not be there. */
RP_MUST_USE int rp__hook_file(const struct rp__hook_agent *agent, const char *project, char ret[PATH_MAX],
                              rp_error *err);

/* Prints where agents are told to run us; `agent` NULL: all of them. `project` NULL: the one we are in. */
RP_MUST_USE int rp__hook_status_run(struct rp__cli *c, const struct rp__hook_agent *agent, const char *project,
                                    rp_error *err);

/* ---- agent-look.c ---- */

struct rp__agent_use {
  const struct rp__hook_agent *agent;
  bool mcp;               /* as a server; else as hooks */
  bool project;           /* for one project; else for all of the user's */
  const char *file;       /* that says so */
  const char *trouble;    /* why it can't be read, and then nothing below is known; or NULL */
  const char *name;       /* of the server's entry */
  const char *command;    /* as it is written there */
  int events, wanted;     /* of hooks: how many are asked for, and how many install asks for */
  char program[PATH_MAX]; /* what the command runs */
  bool exists;            /* … and can be run */
  bool own;               /* … and is this very program */
};

typedef int rp__agent_use_fn(void *ctx, const struct rp__agent_use *use);

/* Every use by `only` (NULL: by any agent), the user's and those of the project in the folder. Stops at a non-zero. */
RP_MUST_USE int rp__agent_look(const struct rp__hook_agent *only, const char *folder, rp__agent_use_fn *fn, void *ctx,
                               rp_error *err);
/* This program's own file. */
RP_MUST_USE int rp__agent_self(char ret[PATH_MAX], rp_error *err);

#endif
