/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the heartbeats that are due, for all entries of the presence table. */
#include <assert.h>

#include "engine/engine.h"
#include "engine/presence.h"

#define BATCH 1024 /* entries whose heartbeats are sent in one go, without the lock */

/* As their rows lie in the store. */
static int by_number(const void *a, const void *b)
{
  int64_t x = (*(rp_presence *const *)a)->row.number, y = (*(rp_presence *const *)b)->row.number;
  return (x > y) - (x < y);
}

static bool is_due(const rp_presence *p, int64_t now_ms)
{
  const rp_presence_row *r = &p->row;
  if (!p->host.session || !r->heartbeat_ms || r->heartbeat_at > now_ms) return false;
  return !p->taken && !r->ended && (r->writers || r->always);
}

size_t rp_presence_heartbeats(rp_engine *e, int64_t now_ms, size_t *cursor, rp_heartbeat_fn *fn, void *ctx,
                              rp_error *err)
{
  struct rp__presence *t = e->presence;
  rp_presence *due[BATCH], *p;
  int rc[BATCH];
  size_t n = 0;
  bool failed = false;
  pthread_mutex_lock(&t->lock);
  while (*cursor < RP_PRESENCE_BUCKETS && n < BATCH) {
    LIST_FOREACH(p, &t->sessions[*cursor], by_session)
    {
      if (n == BATCH || !is_due(p, now_ms)) continue;
      p->row.heartbeat_at += p->row.heartbeat_ms * ((now_ms - p->row.heartbeat_at) / p->row.heartbeat_ms + 1);
      p->uses++;
      due[n++] = p;
    }
    if (n < BATCH) (*cursor)++; /* else the rest of the bucket comes next */
  }
  pthread_mutex_unlock(&t->lock);
  qsort(due, n, sizeof due[0], by_number);
  for (size_t i = 0; i < n; i++) {
    rp_error why = {0};
    rc[i] = rp_heartbeat(due[i]->host.session, &why);
    bool over = rc[i] == RP_E_ENDED || rc[i] == RP_E_SESSION_NOT_FOUND;
    if (rc[i] && !over && !failed && err) *err = why;
    failed = failed || (rc[i] && !over);
  }
  for (size_t i = 0; i < n; i++) {
    if (fn) fn(ctx, (rp_presence_kind)due[i]->row.kind, due[i]->host.host, rc[i]);
    pthread_mutex_lock(&t->lock);
    rp_presence *freed = rp__presence_unuse(due[i]);
    pthread_mutex_unlock(&t->lock);
    rp__presence_entry_free(freed);
  }
  return n;
}
