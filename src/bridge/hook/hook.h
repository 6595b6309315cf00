/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of coding agents: what they give on stdin to events, and what they want back. */
#ifndef RP_BRIDGE_HOOK_H
#define RP_BRIDGE_HOOK_H

#include <reprise/reprise.h>

#include "bridge/mind.h"
#include "json/json.h"

#define RP_HOOK_INPUT_MAX ((size_t)16 * 1024 * 1024)

/* What happened, in our words; each agent's table maps its own names. */
enum rp__hook_event {
  RP_HOOK_NONE, /* known, nothing to do */
  RP_HOOK_START,
  RP_HOOK_PROMPT,
  RP_HOOK_TOOL_BEFORE,
  RP_HOOK_TOOL_AFTER,
  RP_HOOK_COMPACT,
  RP_HOOK_STOP,
  RP_HOOK_END,
  RP_HOOK_NOTICE,
};

/* An agent whose hooks we know. */
struct rp__hook_agent {
  const char *name;  /* claude, gemini, openclaw */
  const char *title; /* for people */
  const struct rp__hook_word {
    const char *name; /* the agent's own word for the event */
    enum rp__hook_event event;
  } * words; /* ends with a NULL name */
};

extern const struct rp__hook_agent *const rp__hook_agents[]; /* ends with NULL */
/* By name, or by what the input looks like; NULL: unknown. */
const struct rp__hook_agent *rp__hook_agent_find(const char *name);

struct rp__hook_call {
  const struct rp__hook_agent *agent;
  const char *event; /* as it was called; NULL: the input's own word */
  const char *scope; /* or NULL: of the input's cwd */
  int64_t owner_pid; /* the agent's process; 0: nobody (a stream owns its runs itself) */
};

/* Handles one input and writes the answer for the agent to `out` (may be nothing). */
int rp__hook_handle(rp_engine *e, const struct rp__hook_call *c, struct rp__json input, struct rp__buf *out,
                    rp_error *err);

/*
 * `reprise hook --stream`: one input per line, one answer per line, for plugins that live as long as their agent. Runs
 * are owned by this process. Besides hooks, {"id","tool","arguments","session"} calls one of rp__tools.
 */
int rp__hook_stream(rp_engine *e, const struct rp__hook_call *c, int in, int out, rp_error *err);

#endif
