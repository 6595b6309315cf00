/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges that one agent runs side by side: its hooks, and `reprise mcp` as a server of its. They share the session of
 * whoever came first, and the brief is told once (N-05, X-09). What they have in common is the agent's process.
 */
#ifndef RP_BRIDGE_KIN_H
#define RP_BRIDGE_KIN_H

#include "bridge/place.h"
#include "json/json.h"

/* The agent that runs this process, beyond the shells in between; 0: none that says anything. */
int64_t rp__kin_agent(void);

/*
 * Until it is closed nobody else of this agent looks for a session and begins one. -1: there is no agent, or no lock to
 * be had; then two that come in the same moment may begin one each.
 */
int rp__kin_lock(int64_t agent);

/* Members of a session's meta by which the others find it. */
void rp__kin_mark(struct rp__jw *w, int64_t agent, const char *bridge);

/*
 * The living session of the scope that `bridge` ("hook", "mcp") of this agent began. RP_E_SESSION_NOT_FOUND: there is
 * none, or no agent.
 */
int rp__kin_find(rp_engine *e, const char *scope, int64_t agent, const char *bridge, char ret[RP_SCOPE_MAX + 1],
                 rp_error *err);

#endif
