/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol, both eras: 2025-11-25 and before with `initialize`, 2026-07-28 with `server/discover`
 * and `_meta` in each request. Knows no transport: one message in, at most one out.
 */
#ifndef RP_BRIDGE_MCP_H
#define RP_BRIDGE_MCP_H

#include "bridge/mind.h"
#include "bridge/rpc.h"

#define RP_MCP_LEGACY "2025-11-25"
#define RP_MCP_MODERN "2026-07-28"
#define RP_MCP_REPLY_MAX ((size_t)16 * 1024 * 1024)

struct rp__mcp {
  struct rp__mind mind;
  bool initialized; /* an `initialize` was answered: this is a legacy conversation */
  char version[16]; /* that was agreed on then */
};

/* What a reply is, for a transport that has its own words for it. */
struct rp__mcp_reply {
  int code;        /* 0 or the JSON-RPC error's */
  bool none;       /* nothing to send: it was a notification or a response */
  bool modern;     /* the request was of the modern era */
  bool initialize; /* it was an initialize that went well: the transport may name a session now */
};

/* Handles one message, writing the reply (without an end of line) to `out`. */
void rp__mcp_handle(struct rp__mcp *m, const char *line, size_t n, struct rp__buf *out, struct rp__mcp_reply *ret);

/* The stdio server: reads lines from `in` until its end, answers on `out`. 0 or an error of reading or writing. */
int rp__mcp_stdio(struct rp__mcp *m, int in, int out, rp_error *err);

#endif
