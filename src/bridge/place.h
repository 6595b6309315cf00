/* SPDX-License-Identifier: Apache-2.0 */
/* Where a bridge stands: which scope a project's directory is, and whether another bridge is around it. */
#ifndef RP_BRIDGE_PLACE_H
#define RP_BRIDGE_PLACE_H

#include <stdbool.h>

#include <reprise/reprise.h>

#include "base/error.h"

#define RP_SCOPE_MAX 128

/*
 * The scope: what was given, else $REPRISE_SCOPE, else one of the directory's own ("reprise-1f3a9c": its last part and
 * a hash of its absolute path), so that editor, hooks and MCP servers of one project share their memory.
 */
int rp__place_scope(const char *given, const char *cwd, char ret[RP_SCOPE_MAX + 1], rp_error *err);

/* The session of the bridge around this one ($REPRISE_SESSION), or NULL: then nothing is injected here (decision 15).
 */
const char *rp__place_session(void);

/* Whether another bridge is around this one ($REPRISE_SESSION or $REPRISE_BRIDGE): we are its guests. */
bool rp__place_nested(void);

/*
 * The session whose guests we are: $REPRISE_SESSION, else, since a proxy can't know it when it starts its agent, the
 * scope's newest open session of the channel $REPRISE_BRIDGE that was begun in `cwd` (NULL: here).
 * RP_E_SESSION_NOT_FOUND: there is none, so be silent.
 */
int rp__place_host(rp_engine *e, const char *scope, const char *cwd, char ret[RP_SCOPE_MAX + 1], rp_error *err);

/* A name as an id: itself when it may be one, else "PREFIX-" and a hash of it. */
void rp__place_id(const char *prefix, const char *name, char ret[RP_SCOPE_MAX + 1]);

#endif
