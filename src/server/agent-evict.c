/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session whose agent has failed goes to the trash after evict_s (C-03): audited,
 * and out of it again by untrash. A start in between gives its agent another life and
 * takes it off the list, as its end, a hold and a process that lives in it do. The list
 * is in memory; after a restart the roster and the journals say what was on it.
 */
#include "server/agent-impl.h"
#include "server/handle.h"

#define REASON "its agent failed, and nobody started it again"

struct rp__eviction {
  struct rp__eviction *next;
  int64_t due_ms; /* by the server's clock */
  char id[RP_ID_MAX + 1];
};

void rp__agent_evict_done(struct rp__agents *a)
{
  while (a->evictions) {
    struct rp__eviction *v = a->evictions;
    a->evictions = v->next;
    free(v);
  }
  pthread_mutex_destroy(&a->evict_lock);
}

void rp__agent_evict_later(struct rp__agents *a, const struct rp__entry *e, int64_t failed_ms)
{
  int64_t after = rp__settings_ms(&a->srv->set, a->srv->engine, rp__entry_scope(e), "evict_s");
  if (!after) return; /* never */
  pthread_mutex_lock(&a->evict_lock);
  struct rp__eviction *v = a->evictions;
  while (v && strcmp(v->id, rp__entry_id(e)) != 0) v = v->next;
  if (!v && (v = calloc(1, sizeof *v))) {
    snprintf(v->id, sizeof v->id, "%s", rp__entry_id(e));
    v->next = a->evictions;
    a->evictions = v;
  }
  if (v) v->due_ms = failed_ms + after; /* without memory: after the next restart */
  pthread_mutex_unlock(&a->evict_lock);
}

static struct rp__eviction *take_due(struct rp__agents *a, int64_t now_ms)
{
  pthread_mutex_lock(&a->evict_lock);
  struct rp__eviction **at = &a->evictions;
  while (*at && (*at)->due_ms > now_ms) at = &(*at)->next;
  struct rp__eviction *v = *at;
  if (v) *at = v->next;
  pthread_mutex_unlock(&a->evict_lock);
  return v;
}

static void put_back(struct rp__agents *a, struct rp__eviction *v)
{
  pthread_mutex_lock(&a->evict_lock);
  v->next = a->evictions;
  a->evictions = v;
  pthread_mutex_unlock(&a->evict_lock);
}

/* 0: it is in the trash, or has no need to be. */
static int evict(struct rp__agents *a, const char *id, bool *ret_evicted, rp_error *err)
{
  struct rp__server *srv = a->srv;
  struct rp__agent_facts facts;
  struct rp__entry *e = NULL;
  int rc = rp__registry_get(srv->registry, id, &e, err);
  if (!rc) rc = rp__agent_facts(srv, e, &facts, NULL, err);
  bool failed = !rc && strcmp(facts.status, "error") == 0;
  if (failed) rc = rp__trash_session(srv, e, REASON, "evicted", err);
  *ret_evicted = failed && !rc;
  if (*ret_evicted) rp__registry_forget(srv->registry, id);
  rp__registry_put(srv->registry, e);
  bool kept = rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND || rc == RP_E_ON_HOLD || rc == RP_E_HELD;
  return kept ? 0 : rc;
}

int rp__agents_evict(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  struct rp__eviction *v;
  bool any = false;
  int rc = 0;
  while (!rc && !atomic_load(&srv->draining) && (v = take_due(a, rp__server_now(srv)))) {
    bool evicted = false;
    rc = evict(a, v->id, &evicted, err);
    if (rc) {
      put_back(a, v);
      break;
    }
    if (evicted) {
      any = true;
      atomic_fetch_add(&a->evicted, 1);
      rp__slog(&srv->log, RP_LOG_WARN, "session_evicted", RP_F("session", v->id), RP_F("why", REASON));
      rp__roster_remove(&a->roster, v->id);
    }
    free(v);
  }
  return !rc && any ? rp__roster_save(&a->roster, err) : rc;
}
