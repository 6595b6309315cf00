/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the server's start (C-01, C-04): sessions that had an agent await it again. Sessions whose agent was terminated
 * do not. Sessions whose agent failed are again due for the trash (evict.c).
 */
#include "server/agent/agent-session.h"

struct restored {
  struct rp__job job;
  struct rp__agents *a;
  struct rp__entry *entry;
  struct rp__agent_facts facts;
};

/* In the loop. The agent may have been faster. */
static void await(struct rp__job *job)
{
  struct restored *x = (struct restored *)job;
  struct rp__agents *a = x->a;
  struct rp__agent_session *s = NULL;
  if (a->closing || rp__agent_session_find(a, rp__entry_id(x->entry)))
    rp__registry_put(a->srv->registry, x->entry);
  else
    s = rp__agent_session_new(a, x->entry);
  if (s) {
    snprintf(s->status, sizeof s->status, "%s", x->facts.status);
    s->delivered = x->facts.delivered;
    rp__agent_session_await(a, s, true);
  }
  free(x);
}

/* *ret_stays: it is still one of the roster's, awaited (*ret_alive) or to be evicted. */
static int restore(struct rp__agents *a, const char *id, bool *ret_alive, bool *ret_stays, rp_error *err)
{
  struct rp__shown row;
  struct restored *x = calloc(1, sizeof *x);
  if (!x) return rp__fail_nomem(err);
  *x = (struct restored){.job.fn = await, .a = a};
  int rc = rp__registry_get(a->srv->registry, id, &x->entry, err);
  if (!rc) rc = rp__agent_facts(a->srv, x->entry, &x->facts, NULL, err);
  bool failed = !rc && strcmp(x->facts.status, "error") == 0;
  *ret_alive = !rc && rp__agent_session_alive(x->facts.status);
  *ret_stays = *ret_alive || failed;
  if (failed && rp__show(a->srv->engine, id, &row, NULL) == 0) rp__agent_evict_later(a, x->entry, row.last_activity_at);
  if (*ret_alive && rp__loop_post(a->srv->loop, &x->job)) return 0;
  rp__registry_put(a->srv->registry, x->entry);
  free(x);
  return rc;
}

int rp__agents_restore(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  struct rp__roster_row *rows RP_AUTOFREE = NULL;
  size_t n = 0, found = 0;
  int rc = rp__roster_load(&a->roster, err);
  if (!rc) rc = rp__roster_copy(&a->roster, &rows, &n, err);
  for (size_t i = 0; !rc && i < n; i++) {
    rp_error why = {0};
    bool alive = false, stays = false;
    int one = restore(a, rows[i].id, &alive, &stays, &why);
    /* There is something left to await also when the store just can't be read. */
    if (one ? one == RP_E_ENDED || one == RP_E_SESSION_NOT_FOUND : !stays)
      rp__roster_remove(&a->roster, rows[i].id);
    else if (one)
      rp__slog(&srv->log, RP_LOG_WARN, "agent_not_restored", RP_F("session", rows[i].id), RP_F("error", why.message));
    found += alive;
  }
  if (!rc && n) rp__slog(&srv->log, RP_LOG_INFO, "agents_awaited", RP_FN("sessions", found));
  return !rc && n ? rp__roster_save(&a->roster, err) : rc;
}
