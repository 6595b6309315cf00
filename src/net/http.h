/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP on libmicrohttpd's epoll threads. A request is handed over when its last byte
 * has arrived. It is answered immediately, or deferred and answered later by any
 * thread, or its socket is taken out of HTTP for good (WebSocket, event streams). Every size, number and time is
 * bounded by the options.
 *
 * Slow clients are cut off. A request's head must arrive within request_s and its body
 * within four times that; between requests idle_s may pass. An answer must be taken
 * within twice request_s, plus a second per 16 KiB of a long one. The time for which a
 * request is deferred has no such bound.
 */
#ifndef RP_NET_HTTP_H
#define RP_NET_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

#define RP_HTTP_HEAD_MAX (16 * 1024) /* bytes of request line and headers; more is 431 */
#define RP_HTTP_HEADERS_MAX 6        /* of an answer, beside type, length, date and those of every answer */
#define RP_HTTP_ADDRESS_TEXT 46      /* bytes of an address's text */

struct rp__http;
struct rp__request;

enum rp__method {
  RP_GET,
  RP_HEAD,
  RP_POST,
  RP_PUT,
  RP_PATCH,
  RP_DELETE,
  RP_OPTIONS,
  RP_METHOD_OTHER,
};
const char *rp__method_name(enum rp__method m); /* "?" for RP_METHOD_OTHER */

struct rp__http_options {
  const int *listen_fds; /* borrowed; bound and listening */
  size_t n_listen;
  int threads;
  int max_connections; /* of all threads together; who comes too late gets 503 and is closed, old ones live; 0: no bound
                        */
  /* Sockets that were taken and are still open: they count as connections. Called by the door's thread. May be NULL. */
  size_t (*taken)(void *ctx);
  int max_per_address; /* an IPv6 network (/64) counts as one, unix sockets not at all; 0: no bound */
  bool own_user;       /* of those on this machine only our own user and root count as local (net/peer.h) */
  size_t max_body;
  int idle_s, request_s;
  /*
   * The head is there, the body is not. 0: go on; otherwise answer with this error right away and read no body.
   * `*max_body` may be made smaller or larger for this request. A request that is answered here (0 is returned) is
   * not handed over: its body is read and dropped. May be NULL.
   */
  int (*admit)(void *ctx, struct rp__request *r, size_t *max_body, rp_error *err);
  /* Writes the answer to an error of admit, or of this layer itself (413, 408, 503 …). */
  void (*refuse)(void *ctx, struct rp__request *r, const rp_error *err);
  /* The whole request is there. Must answer, defer or take. */
  void (*handle)(void *ctx, struct rp__request *r);
  /*
   * The answer is out, or the client is gone; the last word on `r`, once for each request that got as far as a head.
   * For logs and for freeing what `user` holds. May be NULL.
   */
  void (*done)(void *ctx, struct rp__request *r, bool complete);
  void *ctx;
  const atomic_bool *hurry; /* once true, closing gives answers no time to get out; or NULL */
};

RP_MUST_USE int rp__http_open(const struct rp__http_options *o, struct rp__http **ret, rp_error *err);
/* Accepts no more, from when it returns; what is connected goes on. The listening sockets stay open. */
void rp__http_quiesce(struct rp__http *h);
/* Requests that were handed over and not answered yet, and connections. */
int rp__http_pending(const struct rp__http *h);
int rp__http_connections(const struct rp__http *h);
/*
 * Refuses requests that come from now on, waits until every one handed over before is answered (deferred ones too:
 * whoever answers them must still be at work, and whoever calls bounds the wait), gives the answers a moment to get
 * out, and ends all threads. Taken sockets live on. NULL is fine.
 */
void rp__http_close(struct rp__http *h);

/* ---- a request: borrowed strings live until `done` ---- */

enum rp__method rp__request_method(const struct rp__request *r);
const char *rp__request_method_name(const struct rp__request *r);
struct rp__str rp__request_path(const struct rp__request *r);  /* as it came: not decoded, without the query */
struct rp__str rp__request_query(const struct rp__request *r); /* as it came, without the '?' */
const char *rp__request_header(const struct rp__request *r, const char *name); /* or NULL */
/* The last one of that name, where proxies add one of their own behind the client's; or NULL. */
const char *rp__request_header_last(const struct rp__request *r, const char *name);
bool rp__request_has_prefix(const struct rp__request *r, const char *prefix); /* a header whose name begins so */
struct rp__str rp__request_body(const struct rp__request *r);
const char *rp__request_peer(const struct rp__request *r); /* address without port; "unix" for a unix socket */
bool rp__request_is_local(const struct rp__request *r); /* loopback or a unix socket, and with own_user one of ours */
/* Which of our addresses the client connected to, without port; empty for a unix socket. */
void rp__request_local_address(const struct rp__request *r, char out[RP_HTTP_ADDRESS_TEXT]);
int64_t rp__request_began_us(const struct rp__request *r); /* monotonic, when its head was there */
void *rp__request_user(const struct rp__request *r);
void rp__request_set_user(struct rp__request *r, void *user);

/* ---- answering ---- */

/*
 * Headers of every answer: a browser does not guess another type, and pages of other origins can't load it as an image
 * or a script. Pages of allowed origins ask with CORS, to which the second does not apply.
 */
#define RP_HTTP_SAFE(H) H("X-Content-Type-Options", "nosniff") H("Cross-Origin-Resource-Policy", "same-origin")
#define RP_HTTP_LINE(name, value) name ": " value "\r\n"
#define RP_HTTP_SAFE_LINES RP_HTTP_SAFE(RP_HTTP_LINE) /* for heads that are written as bytes */

struct rp__header {
  const char *name, *value; /* copied; one without a value is left out */
};

struct rp__answer {
  int status;
  const char *type; /* Content-Type; NULL: none */
  const char *body;
  size_t n;
  enum {
    RP_BODY_COPY,
    RP_BODY_TAKE,   /* freed with free() */
    RP_BODY_STATIC, /* lives as long as the program */
    RP_BODY_FILE,   /* the first n bytes of `fd`, which is closed */
  } own;
  int fd;
  struct rp__header headers[RP_HTTP_HEADERS_MAX]; /* unused ones have no name */
  bool close;                                     /* the connection ends with this answer */
};

/*
 * Once per request: from `admit`, `handle`, `refuse`, or, when deferred, from any thread, and then `r` may be gone when
 * this returns. Without memory, or with a line end in a header, the client is cut off. A body in chunks, or a refusal
 * before the body was read, ends the connection.
 */
void rp__request_answer(struct rp__request *r, const struct rp__answer *a);
int rp__request_status(const struct rp__request *r); /* of the answer given; 0: none yet, 101 or 200 when taken */
size_t rp__request_answer_size(const struct rp__request *r);
/* In `refuse`: the status that fits where the table of errors has no row for it (431), else 0. */
int rp__request_refusal(const struct rp__request *r);
/* In `handle` only, and before another thread gets to know of `r`: the answer comes later. */
void rp__request_defer(struct rp__request *r);
/*
 * In `handle` only: the socket leaves HTTP and is the caller's, non-blocking; nothing has been written to it. `status`
 * is for the log. `done` still comes. RP_E_LIMIT: no file descriptor is left; the request can still be answered.
 * What the client sent behind the request without waiting for an answer is lost.
 */
RP_MUST_USE int rp__request_take(struct rp__request *r, int status, int *ret_fd, rp_error *err);

#endif
