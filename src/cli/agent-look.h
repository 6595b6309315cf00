/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for agents whose settings run Reprise, as hooks or as an MCP server, and checks whether that program can be
 * run.
 */
#ifndef RP_CLI_AGENT_LOOK_H
#define RP_CLI_AGENT_LOOK_H

#include <limits.h>

#include "bridge/hook/hook.h"

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
