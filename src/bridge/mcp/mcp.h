/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Model Context Protocol, both eras: 2025-11-25 and before with `initialize`, 2026-07-28 with `server/discover`
 * and `_meta` in each request. Knows no transport: one message in, at most one out.
 */
#ifndef RP_BRIDGE_MCP_H
#define RP_BRIDGE_MCP_H

#include "bridge/tool/tool-session.h"
#include "bridge/rpc.h"

#define RP_MCP_LEGACY "2025-11-25"
#define RP_MCP_MODERN "2026-07-28"
#define RP_MCP_REPLY_MAX ((size_t)16 * 1024 * 1024)
#define RP_MCP_LINE_MAX ((size_t)10 * 1024 * 1024) /* bytes of one message */
#define RP_MCP_BEAT_MS 10000                       /* between two signs of life of a session that is held */
#define RP_MCP_WORDS 640                           /* bytes of an error's text, and its NUL */

/* What HTTP says of a message beside it; NULL where there is no such header. */
struct rp__mcp_head {
  const char *version, *method, *name;
};

struct rp__mcp {
  struct rp__tool_session session;
  bool initialized;                /* an `initialize` was answered: this is a legacy conversation */
  char version[16];                /* that was agreed on then */
  bool lazy;                       /* of the modern era: only what writes begins a session */
  bool stateless;                  /* the brief is of the session as it stands: who asks may have come back to it */
  const struct rp__mcp_head *head; /* of the message that comes next; NULL: not over HTTP */
  /* An error as it may be told to this client; NULL: as it is. */
  void (*words)(const rp_error *err, char ret[RP_MCP_WORDS]);
};

/* What a reply is, for a transport that has its own words for it. */
struct rp__mcp_reply {
  int code;        /* 0 or the JSON-RPC error's */
  bool none;       /* nothing to send: it was a notification or a response */
  bool modern;     /* the request was of the modern era */
  bool refused;    /* no method has seen it: the message itself, its `_meta` or its headers are wrong */
  bool initialize; /* it was an initialize that went well: the transport may name a session now */
};

/* Handles one message, writing the reply (without an end of line) to `out`, which is empty. */
void rp__mcp_handle(struct rp__mcp *m, const char *line, size_t n, struct rp__buf *out, struct rp__mcp_reply *ret);

/* The status of HTTP that goes with a reply. */
int rp__mcp_status(const struct rp__mcp_reply *r);

enum { RP_MCP_CLOSED, RP_MCP_STOPPED };
/*
 * The stdio server: reads lines from `in` and answers on `out` until the client closes (RP_MCP_CLOSED) or `stop`
 * becomes readable (RP_MCP_STOPPED; -1: never). Negative: an error of reading or writing. Ends no session.
 */
RP_MUST_USE int rp__mcp_stdio(struct rp__mcp *m, int in, int out, int stop, rp_error *err);

#endif
