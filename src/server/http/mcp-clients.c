/* SPDX-License-Identifier: Apache-2.0 */
/* The table of MCP clients over HTTP: found by key, kept alive, and ended when they were silent too long. */
#include "server/http/mcp-clients.h"
#include "base/ticks.h"

#include "base/clock.h"
#include "server/server.h"

#define BEAT_MS 1000   /* between two heartbeats; the engine writes only those that are due */
#define BEGIN_LOCKS 64 /* keys that share one wait for each other now and then */

struct rp__mcp_clients {
  struct rp__server *srv;
  pthread_mutex_t begin[BEGIN_LOCKS];
  size_t max;
};

int rp__mcp_clients_new(struct rp__server *srv, size_t max, struct rp__mcp_clients **ret, rp_error *err)
{
  struct rp__mcp_clients *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  *c = (struct rp__mcp_clients){.srv = srv, .max = max};
  for (size_t i = 0; i < BEGIN_LOCKS; i++) pthread_mutex_init(&c->begin[i], NULL);
  *ret = c;
  return 0;
}

void rp__mcp_clients_free(struct rp__mcp_clients *c)
{
  if (!c) return;
  rp_presence_clear(c->srv->engine, RP_PRESENCE_MCP);
  for (size_t i = 0; i < BEGIN_LOCKS; i++) pthread_mutex_destroy(&c->begin[i]);
  free(c);
}

pthread_mutex_t *rp__mcp_clients_lock(struct rp__mcp_clients *c, const char *scope, const char *key)
{
  size_t hash = 0;
  for (; *scope; scope++) hash = hash * 31 + (unsigned char)*scope;
  for (; *key; key++) hash = hash * 31 + (unsigned char)*key;
  pthread_mutex_t *lock = &c->begin[hash % BEGIN_LOCKS];
  pthread_mutex_lock(lock);
  return lock;
}

static void release(void *ctx, void *host)
{
  rp__registry_put(ctx, host);
}

/* Without memory for an entry the session's heartbeats are those of its requests. */
void rp__mcp_clients_use(struct rp__mcp_clients *c, const char *id, const char *client)
{
  struct rp__server *srv = c->srv;
  struct rp__entry *entry = NULL;
  rp_presence *p;
  void *found = NULL;
  double silence = 0;
  int64_t now = rp__ticks_ms();
  const rp_presence_query q = {.kind = RP_PRESENCE_MCP, .session = id};
  if (rp_presence_touch(srv->engine, &q, client, now) || rp__registry_get(srv->registry, id, &entry, NULL)) return;
  const rp_presence_query oldest = {.kind = RP_PRESENCE_MCP};
  if (rp_presence_count(srv->engine, RP_PRESENCE_MCP, now).entries >= c->max &&
      (p = rp_presence_take(srv->engine, &oldest, NULL, NULL)))
    rp_presence_settle(srv->engine, p, -1);
  rp_presence_row row = {.number = rp_session_number(entry->s),
                         .kind = RP_PRESENCE_MCP,
                         .end = RP_PRESENCE_CLOSE,
                         .always = true,
                         .heartbeat_ms = BEAT_MS,
                         .heartbeat_at = now};
  snprintf(row.session, sizeof row.session, "%s", entry->id);
  snprintf(row.scope, sizeof row.scope, "%s", entry->scope);
  /* 0: it may be silent for ever. */
  if (rp_config_number(srv->engine, row.scope, "abandon_s", &silence, NULL) == 0)
    row.grace_ms = (int64_t)(silence * 1000);
  const rp_presence_host host = {entry->s, entry, release, srv->registry};
  if (rp_presence_join(srv->engine, &row, &host, true, now, &p, &found, NULL) || found != entry)
    rp__registry_put(srv->registry, entry);
  rp_presence_touch(srv->engine, &q, client, now);
}

void rp__mcp_clients_leave(struct rp__mcp_clients *c, const char *id)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_MCP, .session = id};
  rp_presence *p = rp_presence_take(c->srv->engine, &q, NULL, NULL);
  if (p) rp_presence_settle(c->srv->engine, p, -1);
}

/* Ends the first session that is meant, and forgets it, whatever comes of that. False: there is none. */
static bool end_one(struct rp__mcp_clients *c, const rp_presence_query *q, const char *reason)
{
  void *host;
  rp_presence *p = rp_presence_take(c->srv->engine, q, NULL, &host);
  if (!p) return false;
  const struct rp__entry *entry = host;
  RP_IGNORE(rp_end(entry->s, reason, NULL)); /* not ended now, it is abandoned later */
  rp__registry_forget(c->srv->registry, entry->id);
  rp_presence_settle(c->srv->engine, p, -1);
  return true;
}

/* The one used last ends last: it is what the next session inherits from. */
void rp__mcp_clients_again(struct rp__mcp_clients *c, const char *scope, const char *client)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_MCP, .scope = scope, .name = client};
  while (client[0] && end_one(c, &q, RP_MCP_END_AGAIN)) continue;
}

void rp__mcp_clients_stop(struct rp__mcp_clients *c, int64_t ms)
{
  const rp_presence_query any = {.kind = RP_PRESENCE_MCP};
  int64_t until = rp__ticks_ms() + ms;
  while (rp__ticks_ms() < until && !(c->srv->hurry && atomic_load(c->srv->hurry)) && end_one(c, &any, RP_MCP_END_STOP))
    continue;
}

int rp__mcp_clients_end_silent(struct rp__server *srv, rp_error *err)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_MCP, .due_by = rp__ticks_ms()};
  (void)err;
  while (end_one(srv->mcp, &q, "silent")) continue;
  return 0;
}
