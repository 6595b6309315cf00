/* SPDX-License-Identifier: Apache-2.0 */
/* The era of `initialize`: the client names a version, and gets it or our newest. */
#include "base/text.h"
#include "bridge/mcp/mcp-impl.h"

/* The first is the newest. */
static const char *const versions[] = {RP_MCP_LEGACY, "2025-06-18", "2025-03-26", "2024-11-05", NULL};

bool rp__mcp_speaks(const char *version)
{
  size_t i = 0;
  while (versions[i] && strcmp(versions[i], version) != 0) i++;
  return versions[i] != NULL;
}

static const char *agree(struct rp__json wanted)
{
  for (size_t i = 0; versions[i]; i++)
    if (rp__json_eq(wanted, versions[i])) return versions[i];
  return versions[0];
}

void rp__mcp_initialize(struct rp__mcp_ask *a)
{
  struct rp__json wanted = rp__json_get(a->rpc.params, "protocolVersion");
  if (wanted.type != RP_JSON_STRING) {
    rp__mcp_error(a, RP_RPC_PARAMS, NULL, "protocolVersion: must be a string");
    return;
  }
  rp__mcp_client(a->m, rp__json_get(a->rpc.params, "clientInfo"));
  rp__text_copy(a->m->version, sizeof a->m->version, agree(wanted));
  struct rp__jw w = rp__mcp_begin(a);
  rp__jw_kstr(&w, "protocolVersion", a->m->version);
  rp__jw_key(&w, "serverInfo");
  rp__mcp_server_info(&w);
  rp__mcp_introduce(a->m, &w);
  rp__mcp_end(a, &w);
  a->m->initialized = a->reply->initialize = true;
}

void rp__mcp_ping(struct rp__mcp_ask *a)
{
  struct rp__jw w = rp__mcp_begin(a);
  rp__mcp_end(a, &w);
}
