/* SPDX-License-Identifier: Apache-2.0 */
/* After the server's start (C-01, C-04): sessions that had an agent await it. Terminated ones do not, failed ones go to
 * the trash. */
#include "server/agent-impl.h"

struct adoption {
  struct rp__job job;
  struct rp__agents *a;
  struct rp__entry *entry;
  struct rp__agent_facts facts;
};

/* In the loop. The agent may have been faster. */
static void adopt(struct rp__job *job)
{
  struct adoption *d = (struct adoption *)job;
  struct rp__agents *a = d->a;
  if (a->closing || rp__seat_find(a, rp__entry_id(d->entry))) {
    rp__registry_put(a->srv->registry, d->entry);
  } else {
    struct rp__seat *s = rp__seat_new(a, d->entry);
    if (s) {
      snprintf(s->status, sizeof s->status, "%s", d->facts.status);
      s->delivered = d->facts.delivered;
      rp__seat_await(a, s, true);
    }
  }
  free(d);
}

static int on_shown(void *ctx, const rp_session_info *info)
{
  *(int64_t *)ctx = info->last_activity_at;
  return 0;
}

/* One that failed is on its way to the trash, where the server's stop has interrupted it. */
static bool evict(struct rp__agents *a, const struct adoption *d)
{
  int64_t quiet_since;
  if (strcmp(d->facts.status, "error") != 0) return false;
  if (rp_show(a->srv->engine, rp__entry_id(d->entry), on_shown, &quiet_since, NULL) == 0)
    rp__agent_evict_later(a, d->entry, quiet_since);
  return true;
}

/* *ret_kept: it stays on the list, awaited or to be evicted. */
static int look_at(struct rp__agents *a, const char *id, bool *ret_alive, bool *ret_kept, rp_error *err)
{
  struct adoption *d = calloc(1, sizeof *d);
  if (!d) return rp__fail_nomem(err);
  *d = (struct adoption){.job.fn = adopt, .a = a};
  int rc = rp__registry_get(a->srv->registry, id, &d->entry, err);
  if (!rc) rc = rp__agent_facts(a->srv, d->entry, &d->facts, NULL, err);
  *ret_alive = !rc && rp__seat_alive(d->facts.status);
  *ret_kept = *ret_alive || (!rc && evict(a, d));
  if (*ret_alive && rp__loop_post(a->srv->loop, &d->job)) return 0;
  rp__registry_put(a->srv->registry, d->entry);
  free(d);
  return rc;
}

/* Whether there is nothing left to await: not when the store just can't be read. */
static bool is_over(int rc, bool kept)
{
  return rc ? rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND : !kept;
}

int rp__agents_restore(struct rp__server *srv, rp_error *err)
{
  struct rp__agents *a = srv->agents;
  char **ids = NULL;
  size_t n = 0, found = 0;
  int rc = rp__roster_load(&a->roster, err);
  if (!rc) rc = rp__roster_ids(&a->roster, &ids, &n, err);
  if (rc) return rc;
  for (size_t i = 0; i < n; i++) {
    rp_error why = {0};
    bool alive = false, kept = false;
    int one = look_at(a, ids[i], &alive, &kept, &why);
    if (is_over(one, kept))
      rp__roster_remove(&a->roster, ids[i]);
    else if (one)
      rp__slog(&srv->log, RP_LOG_WARN, "agent_not_restored", RP_F("session", ids[i]), RP_F("error", why.message));
    found += alive;
    free(ids[i]);
  }
  free(ids);
  if (n) rp__slog(&srv->log, RP_LOG_INFO, "agents_awaited", RP_FN("sessions", found));
  return n ? rp__roster_save(&a->roster, err) : 0;
}
