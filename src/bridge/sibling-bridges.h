/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bridges that one agent runs side by side: its hooks and one or several `reprise mcp` servers. The bridge that comes
 * first begins a session, the others share it, and the brief is told once (N-05, X-09). The owner of the run is the
 * agent's process: it outlives each bridge, so the run ends when the agent dies.
 */
#ifndef RP_BRIDGE_SIBLINGS_H
#define RP_BRIDGE_SIBLINGS_H

#include "bridge/exit-cause.h"
#include "bridge/workspace.h"
#include "json/json.h"

/* The agent that runs this process, beyond the shells in between; 0: none that says anything. */
int64_t rp__siblings_agent(void);

#define RP_SIBLINGS_LOCK_MS 3000 /* looking for a session and beginning one takes less */

/*
 * Until it is closed nobody else of this agent looks for a session and begins one. -1: there is no agent, or no lock to
 * be had in time; then two that come in the same moment may begin one each.
 */
int rp__siblings_lock(int64_t agent);

/* Members of a session's meta by which the others find it. */
void rp__siblings_mark(struct rp__jw *w, int64_t agent, const char *bridge);

/*
 * The living session of the scope that `bridge` ("hook", "mcp") of this agent began. It is looked for among the scope's
 * newest; with `far` also beyond them, which takes longer the more sessions the scope has. RP_E_SESSION_NOT_FOUND:
 * there is none, or no agent.
 */
RP_MUST_USE int rp__siblings_find(rp_engine *e, const char *scope, int64_t agent, const char *bridge, bool far,
                                  char ret[RP_SCOPE_MAX + 1], rp_error *err);

/* Whether that session is open and `bridge` of this very agent began it. */
bool rp__siblings_began(rp_engine *e, const char *ref, int64_t agent, const char *bridge);

/*
 * A server's entry in a session that a server of its agent began. The last one that leaves ends the session; hooks have
 * no entries, because none of them lives long enough.
 */
struct rp__sibling {
  bool taken;
  int fd;
  int64_t at; /* which of the agent's sessions it is */
  struct rp__process_watch agent;
};

/* False: there is no agent, or no lock to be had. With rp__siblings_lock held, so that nobody ends the session
 * meanwhile. */
bool rp__siblings_register(struct rp__sibling *entry, int64_t agent, const char *session);
void rp__siblings_leave(struct rp__sibling *entry); /* what was never taken is fine */
/* rp__siblings_lock for a registered server, also when the agent is gone; until it leaves. */
void rp__siblings_lock_entry(const struct rp__sibling *entry);
bool rp__siblings_alone(const struct rp__sibling *entry);
/* Whether any server of the agent is registered in the session. */
bool rp__siblings_registered(int64_t agent, const char *session);
/* In place of a session: where a server is registered that told the scope's brief without beginning one. */
#define RP_SIBLINGS_TELLER_MAX (RP_SCOPE_MAX + 8)
void rp__siblings_teller(const char *scope, char ret[RP_SIBLINGS_TELLER_MAX]);

#endif
