/* SPDX-License-Identifier: Apache-2.0 */
/* The era without a handshake: each request says in its `_meta` who asks and in which version. */
#include "bridge/mcp/mcp-impl.h"

#define VERSION RP_MCP_META("protocolVersion")
#define CAPABILITIES RP_MCP_META("clientCapabilities")

static struct rp__json meta_of(const struct rp__rpc *r)
{
  return rp__json_get(r->params, "_meta");
}

bool rp__mcp_is_modern(const struct rp__mcp *m, const struct rp__rpc *r)
{
  struct rp__json meta = meta_of(r);
  if (rp__json_get(meta, VERSION).type || rp__json_get(meta, CAPABILITIES).type) return true;
  if (rp__json_eq(r->method, "server/discover")) return true;
  return m->head && m->head->version && strcmp(m->head->version, RP_MCP_MODERN) == 0;
}

static bool lacks(struct rp__mcp_ask *a, const char *name, const char *want)
{
  rp__mcp_error(a, RP_RPC_PARAMS, NULL, "params._meta%s%s%s: must be %s", name ? "[\"" : "", name ? name : "",
                name ? "\"]" : "", want);
  return false;
}

static bool fail_version(struct rp__mcp_ask *a, struct rp__json requested)
{
  struct rp__buf data RP_AUTOBUF = RP_BUF(RP_MCP_LINE_MAX);
  struct rp__jw w = RP_JW(&data);
  rp__jw_object(&w);
  rp__jw_key(&w, "supported");
  rp__jw_array(&w);
  rp__jw_str(&w, RP_MCP_MODERN);
  rp__jw_end_array(&w);
  rp__jw_key(&w, "requested");
  rp__jw_value(&w, requested);
  rp__jw_end_object(&w);
  rp__mcp_error(a, RP_MCP_VERSION, data.err ? NULL : data.p, "this version of the protocol is not spoken here");
  return false;
}

bool rp__mcp_check_meta(struct rp__mcp_ask *a)
{
  struct rp__json meta = meta_of(&a->rpc), version = rp__json_get(meta, VERSION);
  if (meta.type != RP_JSON_OBJECT) return lacks(a, NULL, "an object");
  if (version.type != RP_JSON_STRING) return lacks(a, VERSION, "a string");
  if (rp__json_get(meta, CAPABILITIES).type != RP_JSON_OBJECT) return lacks(a, CAPABILITIES, "an object");
  if (!rp__mcp_check_head(a, version)) return false;
  if (!rp__json_eq(version, RP_MCP_MODERN)) return fail_version(a, version);
  rp__mcp_client(a->m, rp__json_get(meta, RP_MCP_META("clientInfo")));
  return true;
}

void rp__mcp_discover(struct rp__mcp_ask *a)
{
  struct rp__jw w = rp__mcp_begin(a);
  rp__jw_key(&w, "supportedVersions");
  rp__jw_array(&w);
  rp__jw_str(&w, RP_MCP_MODERN);
  rp__jw_end_array(&w);
  rp__mcp_introduce(a->m, &w);
  rp__mcp_end(a, &w);
}
