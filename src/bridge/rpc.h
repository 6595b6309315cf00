/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0: classifies lines, and writes lines of our own. The bytes of a peer's message are never written anew. */
#ifndef RP_BRIDGE_RPC_H
#define RP_BRIDGE_RPC_H

#include "json/json.h"

#define RP_RPC_DEPTH 128 /* levels of nesting in a message */

enum rp__rpc_type {
  RP_RPC_BROKEN, /* no message: `code` and `why` say what to answer */
  RP_RPC_REQUEST,
  RP_RPC_NOTE,
  RP_RPC_RESULT,
  RP_RPC_ERROR,
};

/* What rp__rpc_route takes and rp__rpc_look does not. */
enum rp__rpc_odd {
  RP_RPC_PLAIN,
  RP_RPC_ODD,  /* duplicate keys, or more levels than RP_RPC_DEPTH: no event's body as it is */
  RP_RPC_DEEP, /* more than RP_JSON_DEPTH_LIMIT: of what is below its members nothing is known */
};

/* Spans into the line; RP_JSON_NONE where there is none. */
struct rp__rpc {
  enum rp__rpc_type type;
  enum rp__rpc_odd odd;
  bool unmarked;      /* passed on, though "jsonrpc" is not there or not "2.0" */
  struct rp__json id; /* string, number or null, as it came */
  struct rp__json method, params, result, error;
  int code; /* -32700 or -32600 */
  char why[400];
};

/* Reads one line. Duplicate keys and batches are -32600, what is no JSON is -32700. */
void rp__rpc_look(const char *line, size_t n, struct rp__rpc *ret);
/*
 * The same for a message that is passed on: all that is JSON is taken, also with bytes that are not UTF-8 (spans have
 * them as they came) and without "jsonrpc"; of duplicate members the last counts, and an answer need not be as it
 * should. A broken one has its id if it was a request's.
 */
void rp__rpc_route(const char *line, size_t n, struct rp__rpc *ret);

/* Peers may write an id anew: strings are compared by their text, numbers by their value, else bytes. */
bool rp__rpc_same_id(struct rp__json x, struct rp__json y);
uint32_t rp__rpc_id_hash(struct rp__json id); /* the same for ids that are the same */

/*
 * Lines of ours, without their end; the buffer remembers an error. An id of NONE is written as null.
 * rp__rpc_begin_* leave the writer where the value of params or result is due; rp__rpc_end closes the message.
 */
struct rp__jw rp__rpc_begin_request(struct rp__buf *out, const char *id,
                                    const char *method); /* id NULL: a notification */
struct rp__jw rp__rpc_begin_result(struct rp__buf *out, struct rp__json id);
void rp__rpc_end(struct rp__jw *w);
/* `data`: a JSON value, or NULL. */
void rp__rpc_error(struct rp__buf *out, struct rp__json id, int code, const char *message, const char *data);
/* The error table's JSON-RPC code for one of ours, its message, and {"code","hint"?} as data. */
void rp__rpc_fail(struct rp__buf *out, struct rp__json id, const rp_error *err);

/* A copy of `line` with the bytes of `span`, a value in it, replaced by `with`. */
void rp__rpc_splice(struct rp__buf *out, struct rp__str line, struct rp__json span, struct rp__str with);

#endif
