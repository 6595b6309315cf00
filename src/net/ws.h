/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets (RFC 6455) on a connection in a loop; libwslay handles the frames. All
 * calls are made on the loop's thread, except the handshake and the making of messages.
 *
 * A peer that breaks the protocol is closed with 1002, 1007 or 1009. Pings are
 * answered. A peer that is silent for idle_ms is pinged, and closed with 1001 when it
 * stays silent for as long again.
 */
#ifndef RP_NET_WS_H
#define RP_NET_WS_H

#include "net/conn.h"
#include "net/http.h"

struct rp__ws;

struct rp__ws_options {
  size_t max_message; /* bytes of one message, fragments joined; more: 1009 */
  size_t queue_bytes;
  int64_t stall_ms, idle_ms; /* idle_ms 0: never pinged */
};

struct rp__ws_handler {
  /* A whole message; text is valid UTF-8. */
  void (*message)(void *ctx, bool binary, const char *bytes, size_t n);
  void (*drained)(void *ctx); /* as in conn.h; may be NULL */
  /*
   * The last call. `code`: what the peer's close frame said (1005: no code), 1006 when it just went, or what this side
   * sent: 1002, 1007, 1009, 1001, 1011 (no memory), or what rp__ws_close was given. `why` is for the log.
   */
  void (*closed)(void *ctx, int code, const char *why);
};

/*
 * In a handler of HTTP: checks the handshake (RP_E_USAGE with what is wrong, nothing taken) and gives the bytes of the
 * 101 answer, to be sent first. `protocol`: the subprotocol to confirm, or NULL.
 */
RP_MUST_USE int rp__ws_handshake(struct rp__request *r, const char *protocol, struct rp__buf *ret_head, rp_error *err);

/* The same from the values of the headers, each may be NULL. */
struct rp__ws_hello {
  enum rp__method method;
  const char *connection, *upgrade, *version, *key;
};
RP_MUST_USE int rp__ws_answer(const struct rp__ws_hello *hello, const char *protocol, struct rp__buf *ret_head,
                              rp_error *err);

#define RP_WS_CLOSE_MS 2000 /* the peer's answer to a close frame; begun anew while it still takes what was queued */
#define RP_WS_CLOSE_ROUNDS 15

/* In the loop. Takes `fd` over, also on failure, and sends `head` first. */
RP_MUST_USE int rp__ws_open(struct rp__loop *l, int fd, struct rp__str head, const struct rp__ws_options *o,
                            const struct rp__ws_handler *h, void *ctx, struct rp__ws **ret, rp_error *err);

/* A framed message, ready to be sent to any number of sockets. NULL without memory. Any thread. */
struct rp__net_msg *rp__ws_text(const char *text, size_t n);
struct rp__net_msg *rp__ws_binary(const void *bytes, size_t n);
/* The frame's head alone, to be followed by the payload's n bytes; returns its length. */
size_t rp__ws_frame_head(bool binary, size_t n, char out[10]);

int rp__ws_send(struct rp__ws *ws, struct rp__net_msg *m); /* as rp__conn_send */
/*
 * Sends what is queued and a close frame; `closed` comes when the peer has answered, or after a short while. No
 * messages come or go after it. `reason` may be NULL; it is cut to 123 bytes. Once; later calls do nothing.
 */
void rp__ws_close(struct rp__ws *ws, int code, const char *reason);
void rp__ws_cut(struct rp__ws *ws, const char *why); /* without a word */
size_t rp__ws_waiting(const struct rp__ws *ws);

#endif
