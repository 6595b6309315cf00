/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of Phoenix channels, version 2: parsed from bytes into fields, and written.
 * No sockets and no sessions here. Names (refs, topic, event) have at most 255 bytes,
 * because binary frames give their length in one byte; text frames have the same limit.
 *
 *   text    [join_ref, ref, topic, event, payload]
 *   binary  push      00 jl rl tl el  join_ref ref topic event  data   (from a client)
 *           reply     01 jl rl tl sl  join_ref ref topic status data   (to a client)
 *           broadcast 02 tl el        topic event data                 (to a client)
 */
#ifndef RP_SERVER_PHOENIX_H
#define RP_SERVER_PHOENIX_H

#include "json/json.h"

#define RP_PHX_NAME_MAX 255
#define RP_PHX_OUT_MAX (64 * 1024 * 1024) /* bytes of one message to a client */

/* Refs that are null have no `p`; an empty one in a binary frame is null too. */
struct rp__phx {
  struct rp__str join_ref, ref, topic, event;
  bool binary;
  struct rp__json payload;              /* of a text frame: a checked value in the bytes given */
  struct rp__str data;                  /* of a binary one */
  char text[4 * (RP_PHX_NAME_MAX + 1)]; /* where the names are, each with a NUL behind it */
};

/*
 * A client's message. RP_E_JSON or RP_E_INVALID, saying which part is wrong; names with a NUL byte are refused. The
 * payload may be any JSON value, and an object in it may have a key twice: that is the business of who takes it.
 */
RP_MUST_USE int rp__phx_read(bool binary, const char *bytes, size_t n, struct rp__phx *ret, rp_error *err);

/* Messages to clients. `json` is a checked value. NULL refs are null. Errors stay in the buffer. */
void rp__phx_push(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic, const char *event,
                  struct rp__str json);
void rp__phx_reply(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic, bool ok,
                   struct rp__str json);
/* Binary ones. A name over 255 bytes is RP_E_TOO_LARGE. */
void rp__phx_reply_binary(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic, bool ok,
                          struct rp__str data);
void rp__phx_broadcast_binary(struct rp__buf *out, const char *topic, const char *event, struct rp__str data);
/* As a client writes them, for tests and tools. */
void rp__phx_push_binary(struct rp__buf *out, const char *join_ref, const char *ref, const char *topic,
                         const char *event, struct rp__str data);

#endif
