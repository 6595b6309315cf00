/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of coding agents: turns their input on stdin into events, and writes the output that each agent expects. */
#ifndef RP_BRIDGE_HOOK_H
#define RP_BRIDGE_HOOK_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "bridge/tool/tool-session.h"
#include "json/json.h"

#define RP_HOOK_INPUT_MAX ((size_t)16 * 1024 * 1024)
#define RP_HOOK_CHANNEL 31                         /* bytes of a channel */
#define RP_HOOK_DEPTH 128                          /* levels of nesting in an input */
#define RP_HOOK_ANSWER_MAX ((size_t)1024 * 1024)   /* bytes written for an agent */
#define RP_HOOK_SETTINGS_MAX ((size_t)1024 * 1024) /* bytes of a settings file */

/* What happened, in our words; each agent's table maps its own names. */
enum rp__hook_event {
  RP_HOOK_NONE, /* known, nothing to do */
  RP_HOOK_START,
  RP_HOOK_PROMPT,
  RP_HOOK_TOOL_BEFORE,
  RP_HOOK_TOOL_AFTER,
  RP_HOOK_COMPACT,
  RP_HOOK_STOP,
  RP_HOOK_FAILURE, /* the turn ended with an error */
  RP_HOOK_END,
  RP_HOOK_NOTICE,
};

/* How `install` enters an event. */
enum rp__hook_entry {
  RP_HOOK_UNASKED, /* understood when it comes, not asked for */
  RP_HOOK_PLAIN,
  RP_HOOK_MATCHED, /* with a matcher for every tool */
};

/* An agent whose hooks we know. */
struct rp__hook_agent {
  const char *name;  /* claude, gemini, … */
  const char *title; /* for people */
  const struct rp__hook_word {
    const char *name; /* the agent's own word for the event */
    enum rp__hook_event event;
    enum rp__hook_entry entry;
  } * words;                  /* ends with a NULL name */
  const char *folder;         /* of its settings, in a project or at home; NULL: it is not ours to write */
  const char *project_folder; /* the one in a project, where it has another name; or NULL */
  const char *folder_env;     /* names that folder itself, in place of the one at home; or NULL */
  const char *file;           /* in that folder */
  int timeout;                /* for the settings: long after we give up ourselves, in the agent's own unit */
  bool named;                 /* entries have a name */
  bool plain;                 /* its answers are "additionalContext" alone */
};

extern const struct rp__hook_agent *const rp__hook_agents[]; /* ends with NULL */
/* By name; NULL: unknown. */
const struct rp__hook_agent *rp__hook_agent_find(const char *name);
/* By what the input looks like and the word for the event; NULL: it looks like none that has this word. */
const struct rp__hook_agent *rp__hook_agent_guess(const char *event, struct rp__json input);
/* Its word for an event, or NULL. */
const struct rp__hook_word *rp__hook_word_find(const struct rp__hook_agent *a, const char *name);

/* A member of an input by Claude's name for it, whatever the agent calls it. */
struct rp__json rp__hook_field(struct rp__json input, const char *name);

struct rp__hook_call {
  const struct rp__hook_agent *agent; /* NULL: told from the input */
  const char *event;                  /* as it was called; NULL: the input's own word */
  const char *scope;                  /* or NULL: of the input's project */
  int64_t owner_pid; /* the agent's process; 0: nobody. A stream owns its runs itself, and asks how this one ended */
  int stop;          /* a stream ends when this descriptor is readable; 0: none */
  bool stream;       /* of many projects: our own surroundings say nothing about them */
};

/* Whether there is anything to do for an input: to open the store is most of what a hook costs. */
bool rp__hook_wants(const struct rp__hook_call *c, struct rp__json input);
/* RP_E_INVALID, and what was not understood, for an event that nobody's table has: for who asks why nothing happened.
 */
RP_MUST_USE int rp__hook_puzzles(const struct rp__hook_call *c, struct rp__json input, rp_error *err);
/*
 * Handles one input and writes the answer for the agent to `out` (may be nothing). An unknown event is no error. The
 * session's run goes on afterwards: it is its owner's, or lives by what is appended.
 */
RP_MUST_USE int rp__hook_handle(rp_engine *e, const struct rp__hook_call *c, struct rp__json input, struct rp__buf *out,
                                rp_error *err);

/*
 * `reprise hook --stream`: one input per line, one answer per line, for plugins that live as long as their agent. Runs
 * are owned by this process. Besides hooks, {"id","tool","session_id","arguments"} calls one of rp__tools. Sessions
 * end with the stream. An error is one of reading or writing; what a line asks in vain is told in its answer.
 */
RP_MUST_USE int rp__hook_stream(rp_engine *e, const struct rp__hook_call *c, int in, int out, rp_error *err);

/* ---- settings files of agents ---- */

/*
 * The text of a settings file with our hooks in it, or without them; everything else stays byte for byte. `before` may
 * be empty: there is no file yet. RP_E_JSON, RP_E_FORMAT: not a settings file that can be changed safely, and why.
 * `ret` is a live buffer that gets the whole text. Our entries are known by "hook EVENT --agent NAME" in the command.
 */
struct rp__hook_command {
  const char *program; /* how the agent calls us */
  const char *scope;   /* as a shell reads it, or NULL: of each project */
};
RP_MUST_USE int rp__hook_settings_add(const struct rp__hook_agent *a, const struct rp__hook_command *command,
                                      struct rp__str before, struct rp__buf *ret, rp_error *err);
RP_MUST_USE int rp__hook_settings_remove(const struct rp__hook_agent *a, struct rp__str before, struct rp__buf *ret,
                                         rp_error *err);

/* Every command of ours in a settings file, one for each event that install asks for. Stops at a non-zero. */
RP_MUST_USE int rp__hook_settings_each(const struct rp__hook_agent *a, struct rp__str text,
                                       int (*fn)(void *ctx, const char *event, const char *command), void *ctx,
                                       rp_error *err);

/* Line by line what changed between two texts, as `diff -u` would tell it without its head. */
RP_MUST_USE int rp__hook_diff(struct rp__str before, struct rp__str after, struct rp__buf *out, rp_error *err);

#endif
