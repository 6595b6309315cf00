/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The surroundings of a bridge: the scope of a project's directory, and whether the bridge runs inside another bridge.
 */
#ifndef RP_BRIDGE_PLACE_H
#define RP_BRIDGE_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "base/buf.h"
#include "base/error.h"

#define RP_SCOPE_MAX 128

/*
 * The scope: what was given, else $REPRISE_SCOPE, else that of the project the directory is in, outside of one its own
 * ("reprise-1f3a9c": the last part and a hash of the real path), so that editor, hooks, MCP servers and commands of one
 * project share their memory, whichever of its folders they stand in.
 */
RP_MUST_USE int rp__workspace_scope(const char *given, const char *cwd, char ret[RP_SCOPE_MAX + 1], rp_error *err);

/* The scope that bridges gave a project's folder before they looked for the project. False: it is the same one. */
bool rp__workspace_former(const char *given, const char *cwd, char ret[RP_SCOPE_MAX + 1]);

/*
 * The project's directory as the agent around us names it, for where it runs us may be anywhere: $CLAUDE_PROJECT_DIR,
 * which Claude Code gives to its hooks and its servers, and Gemini CLI to its hooks. NULL: it says nothing.
 */
const char *rp__workspace_project(void);

/*
 * The project that a directory (NULL: $CLAUDE_PROJECT_DIR, else the current one) is in: the nearest folder upwards that
 * is a repository or holds an agent's settings, by its real path. The user's home and "/" are none to what lies in
 * them. False: none.
 */
#define RP_PROJECT_PATH_MAX PATH_MAX
bool rp__workspace_root(const char *cwd, char ret[RP_PROJECT_PATH_MAX]);

/* The name of that project's folder, outside of a project of the directory itself; false: the user's home, or "/". */
#define RP_PROJECT_NAME_MAX 255
bool rp__workspace_name(const char *cwd, char ret[RP_PROJECT_NAME_MAX + 1]);

/*
 * What a start in a directory (NULL: as above) is about, comma separated, for rp_start_options.topics: what was
 * given (or NULL), the name of the project's folder, and the branch of git's there unless it is the main one, at most
 * RP_START_TOPICS_MAX in this order. `ret` gets nothing where there is nothing.
 */
#define RP_START_TOPICS_MAX 64
#define RP_START_TOPICS_BYTES ((size_t)64 * 1024)
void rp__workspace_topics(const char *given, const char *cwd, struct rp__buf *ret);

/* The session of the bridge around this one ($REPRISE_SESSION), or NULL: then nothing is injected here.
 */
const char *rp__workspace_session(void);

/* Whether another bridge is around this one ($REPRISE_SESSION or $REPRISE_BRIDGE): we are its guests. */
bool rp__workspace_nested(void);

/* When this process was started, in ms of wall time. To be asked early: a clock that is set meanwhile would move it. */
int64_t rp__workspace_born(void);

/* What a guest knows of itself. Zero: nothing. */
struct rp__workspace_guest {
  const char *agent_sid; /* what the agent calls the session; hooks are told */
  int64_t born_ms;       /* of a server, which is started for a session that is being begun or loaded */
  int64_t greeted_ms;    /* when the agent spoke to it first */
};

/*
 * The session whose guests we are: $REPRISE_SESSION, else, since a proxy can't know it when it starts its agent, of the
 * scope's living sessions of the channel $REPRISE_BRIDGE the one that the agent calls by that name now; else, of those
 * begun in `cwd` (NULL: here), the first that the agent got within a minute after our birth; else the one with the last
 * activity. *ret_sure: it is not this last one. RP_E_SESSION_NOT_FOUND: there is none, so be silent.
 */
RP_MUST_USE int rp__workspace_host(rp_engine *e, const char *scope, const char *cwd,
                                   const struct rp__workspace_guest *guest, char ret[RP_SCOPE_MAX + 1], bool *ret_sure,
                                   rp_error *err);

/* A name as an id: itself when it may be one, else "PREFIX-" and a hash of it. */
void rp__workspace_id(const char *prefix, const char *name, char ret[RP_SCOPE_MAX + 1]);

#endif
