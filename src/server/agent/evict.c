/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session whose agent has failed goes to the trash after evict_s (C-03): audited, and out of it again by untrash. A
 * start in between gives its agent another life, and the session stays, as it does after its end, with a hold, or with
 * a process that lives in it. The entries are in memory, by the server's clock; after a restart the roster and the
 * journals say which there were.
 */
#include "server/agent/agent-session.h"
#include "server/http/handle.h"

#define REASON "its agent failed, and nobody started it again"

/* Without memory for an entry the session is evicted after the next restart. */
void rp__agent_evict_later(struct rp__agents *a, const struct rp__entry *e, int64_t failed_ms)
{
  rp_engine *engine = a->srv->engine;
  int64_t after = rp__server_settings_ms(&a->srv->set, engine, rp__entry_scope(e), "evict_s");
  rp_presence_row row = {
      .kind = RP_PRESENCE_FAILED_AGENT, .end = RP_PRESENCE_TRASH, .grace_ms = after, .deadline = failed_ms + after};
  if (!after) return; /* never */
  snprintf(row.session, sizeof row.session, "%s", rp__entry_id(e));
  snprintf(row.scope, sizeof row.scope, "%s", rp__entry_scope(e));
  const rp_presence_query q = {.kind = RP_PRESENCE_FAILED_AGENT, .session = row.session};
  rp_presence *known = rp_presence_take(engine, &q, NULL, NULL);
  if (known)
    rp_presence_settle(engine, known, row.deadline);
  else
    RP_IGNORE(rp_presence_put(engine, &row, NULL, failed_ms, NULL, NULL)); /* without memory: after the next restart */
}

int rp__agents_evict(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  const rp_presence_query q = {.kind = RP_PRESENCE_FAILED_AGENT, .due_by = rp__server_now(srv)};
  rp_presence_row row;
  rp_presence *p;
  bool any = false;
  int rc = 0;
  while (!rc && !atomic_load(&srv->draining) && (p = rp_presence_take(srv->engine, &q, &row, NULL))) {
    struct rp__agent_facts facts;
    struct rp__entry *e = NULL;
    rc = rp__registry_get(srv->registry, row.session, &e, err);
    if (!rc) rc = rp__agent_facts(srv, e, &facts, NULL, err);
    bool failed = !rc && strcmp(facts.status, "error") == 0;
    if (failed) rc = rp__trash_session(srv, e, REASON, "evicted", err);
    bool evicted = failed && !rc;
    if (evicted) rp__registry_forget(srv->registry, row.session);
    rp__registry_put(srv->registry, e);
    if (rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_ON_HOLD || rc == RP_E_HELD)
      rc = 0; /* it stays */
    rp_presence_settle(srv->engine, p, rc ? row.deadline : -1);
    if (!evicted) continue;
    any = true;
    atomic_fetch_add(&a->evicted, 1);
    rp__slog(&srv->log, RP_LOG_WARN, "session_evicted", RP_F("session", row.session), RP_F("why", REASON));
    rp__roster_remove(&a->roster, row.session);
  }
  return !rc && any ? rp__roster_save(&a->roster, err) : rc;
}
