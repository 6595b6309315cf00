/* SPDX-License-Identifier: Apache-2.0 */
/* One MCP request while the methods of either era handle it. */
#ifndef RP_BRIDGE_MCP_IMPL_H
#define RP_BRIDGE_MCP_IMPL_H

#include "bridge/mcp/mcp.h"

enum {
  RP_MCP_HEADERS = -32020,     /* a header says something else than the message */
  RP_MCP_VERSION = -32022,     /* a version that is not spoken here */
  RP_MCP_NO_RESOURCE = -32002, /* of the legacy era */
  RP_RPC_INVALID = -32600,
  RP_RPC_NO_METHOD = -32601,
  RP_RPC_PARAMS = -32602,
  RP_RPC_INTERNAL = -32603,
};

#define RP_MCP_META(name) "io.modelcontextprotocol/" name

struct rp__mcp_ask;

struct rp__mcp_method {
  const char *name; /* NULL ends the table */
  bool legacy, modern;
  int64_t ttl_ms;    /* how long a modern client may keep the result */
  const char *cache; /* "public" or "private": for whom; NULL: results are not kept */
  void (*run)(struct rp__mcp_ask *a);
  void (*list)(struct rp__jw *w); /* instead: members of a result of one page, which no cursor goes on from */
};

struct rp__mcp_ask {
  struct rp__mcp *m;
  struct rp__rpc rpc;
  const struct rp__mcp_method *method; /* NULL until it is found */
  struct rp__buf *out;
  struct rp__mcp_reply *reply;
};

/* ---- answering (mcp.c) ---- */

/* Opens the result's object and leaves the writer in it; the end adds what the era wants. */
struct rp__jw rp__mcp_begin(struct rp__mcp_ask *a);
void rp__mcp_end(struct rp__mcp_ask *a, struct rp__jw *w);
/* An error instead; what was written so far is taken back. `data`: a JSON value, or NULL. */
void rp__mcp_error(struct rp__mcp_ask *a, int code, const char *data, const char *fmt, ...) RP_PRINTF(4, 5);
/* The same for one of ours, under its code of the table; what comes of the parameters, under theirs. */
void rp__mcp_fail(struct rp__mcp_ask *a, const rp_error *err);
/* The text that may be told of it. */
void rp__mcp_words(const struct rp__mcp *m, const rp_error *err, char ret[RP_MCP_WORDS]);

/* ---- the two eras (mcp-eras.c) ---- */

void rp__mcp_server_info(struct rp__jw *w);
bool rp__mcp_is_modern(const struct rp__mcp *m, const struct rp__rpc *r);
/* Whether the message and its headers are sound; false when the error is written. */
bool rp__mcp_check_legacy(struct rp__mcp_ask *a);
bool rp__mcp_check_modern(struct rp__mcp_ask *a);
void rp__mcp_initialize(struct rp__mcp_ask *a);
void rp__mcp_ping(struct rp__mcp_ask *a);
void rp__mcp_discover(struct rp__mcp_ask *a);

/* ---- what there is to ask for (mcp-methods.c) ---- */

void rp__mcp_tools_list(struct rp__jw *w);
void rp__mcp_tools_call(struct rp__mcp_ask *a);
void rp__mcp_resources_list(struct rp__mcp_ask *a);
void rp__mcp_resources_read(struct rp__mcp_ask *a);
void rp__mcp_prompts_get(struct rp__mcp_ask *a);

#endif
