/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats for the sessions whose clients are present, sent by the server's background work. */
#include "server/heartbeats.h"

#include "base/ticks.h"
#include "server/channel/channel.h"
#include "server/http/mcp-clients.h"
#include "server/server.h"

#define RUN_MS 200 /* then the job is due again */

struct round {
  struct rp__server *srv;
  int64_t now_ms;
};

static void after_heartbeat(void *ctx, rp_presence_kind kind, void *host, int rc)
{
  struct round *r = ctx;
  if (atomic_load(&r->srv->draining)) return;
  if (kind == RP_PRESENCE_CHANNEL) rp__member_look(host, r->now_ms);
  /* Somebody else has ended it. */
  if (kind == RP_PRESENCE_MCP && (rc == RP_E_ENDED || rc == RP_E_SESSION_NOT_FOUND)) {
    rp__mcp_clients_leave(r->srv->mcp, rp__entry_id(host));
    rp__registry_forget(r->srv->registry, rp__entry_id(host));
  }
}

int rp__heartbeats_send(struct rp__server *srv, int64_t now_ms, rp_error *err)
{
  struct round r = {srv, now_ms};
  int64_t until = rp__ticks_ms() + RUN_MS;
  size_t cursor = 0;
  rp_error first = {0};
  bool more = true;
  while (more && !atomic_load(&srv->draining) && rp__ticks_ms() < until) {
    rp_error why = {0};
    more = rp_presence_heartbeats(srv->engine, now_ms, &cursor, after_heartbeat, &r, &why) > 0;
    if (why.code && !first.code) first = why;
  }
  if (first.code && err) *err = first;
  return first.code ? first.code : more && !atomic_load(&srv->draining) ? RP_WORK_AGAIN : 0;
}
