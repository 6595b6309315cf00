/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types and functions that the files of HTTP share. libmicrohttpd does not accept
 * connections itself: the door, a thread of our own, accepts them (limits, refusals,
 * several listening sockets) and gives the sockets to libmicrohttpd's workers. Once a
 * second the door also cuts off connections that are over their time, because
 * libmicrohttpd's own timeout starts anew with every byte.
 *
 * A connection lives from accept until libmicrohttpd reports its end. It holds one
 * request at a time, with buffers that are kept from one request to the next.
 */
#ifndef RP_NET_HTTP_IMPL_H
#define RP_NET_HTTP_IMPL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "net/http.h"
#include "base/ticks.h"

#define RP_HTTP_POOL (24 * 1024)     /* libmicrohttpd's memory per connection: the head, its index, the answer's head */
#define RP_HTTP_KEEP_MAX (16 * 1024) /* buffers up to this size are kept between requests */
#define RP_HTTP_RATE_MIN (16 * 1024) /* bytes per second at which a long answer must be taken */
#define RP_HTTP_LINGER_MAX 16        /* refused sockets that are still being read from */
#define RP_HTTP_LINGER_MS 1000       /* for this long at most */
#define RP_HTTP_FD_RESERVE 32        /* file descriptors that connections leave to the rest of the program */
#define RP_HTTP_FD_MAX (1 << 20)     /* connections have no higher file descriptor */
#define RP_HTTP_FLUSH_MS 2000        /* answers given have this long to get out when all is closed */
#define RP_HTTP_SWEEP_MS 1000
#define RP_HTTP_PAUSE_MS 100 /* no accepting for this long when the machine is out of something */
#define RP_HTTP_ADDRESS_BUCKETS 1024
#define RP_HTTP_PEER_TEXT 46

/* A buffer that is reused. */
struct rp__hbuf {
  char *p;
  size_t n, cap;
};

enum rp__hstep {
  RP_STEP_NONE,
  RP_STEP_HEAD,     /* the request line is there */
  RP_STEP_BODY,     /* the head is there */
  RP_STEP_HANDED,   /* the whole request is there and `handle` has it */
  RP_STEP_DEFERRED, /* … and will answer later */
  RP_STEP_TAKEN,
};

struct rp__request {
  struct rp__hconn *conn;
  struct MHD_Connection *mhd;
  void *user;
  enum rp__hstep step;
  enum rp__method method;
  const char *method_name;
  struct rp__hbuf uri, body, out;
  size_t path_n, max_body;
  int64_t began_us;
  struct MHD_Response *response; /* given by answer, until it is queued */
  int status, refusal;
  size_t answer_size;
  bool chunked, uploads; /* a body comes in chunks; a body comes at all */
  bool raw;              /* the answer is written past libmicrohttpd, which takes none in mid-body */
  bool answered, sent;
  bool owed; /* counted in `pending`: handed over and not answered */
};

struct rp__haddress;

struct rp__hconn {
  struct rp__http *h;
  struct rp__hconn *next, *prev;
  struct rp__haddress *address; /* NULL: not counted */
  int fd;
  bool started;     /* libmicrohttpd serves it; guarded by the list's lock */
  pthread_t worker; /* … in this thread, to its end */
  bool linger;      /* what the client still sends is read for a while, lest a reset eats the answer */
  bool local;
  _Atomic int64_t deadline_ms; /* 0: none */
  atomic_bool reads;           /* the deadline is the client's, for sending a request */
  int64_t hung_up_ms;          /* the sweep's: the deadline under which it found that nothing more will come */
  char peer[RP_HTTP_PEER_TEXT];
  struct rp__request r;
};

/* All connections. The lock is taken when one comes or goes and by the sweep, not by requests. */
struct rp__hconns {
  pthread_mutex_t lock;
  struct rp__hconn *first;
  struct rp__hconn **by_fd;
  struct rp__haddress *addresses[RP_HTTP_ADDRESS_BUCKETS];
  int fd_limit;
  atomic_int n;
};

struct rp__hlinger {
  int fd;
  int64_t until_ms;
};

struct rp__hdoor {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int wake;
  int *listen_fds;
  size_t n_listen;
  bool running;
  bool quiesce, quiet, stop; /* asked; done; asked (all guarded by the lock) */
  int spare;                 /* given up for a moment to refuse somebody when no file descriptor is left */
  int64_t paused_until_ms;
  struct rp__hlinger linger[RP_HTTP_LINGER_MAX]; /* fd -1: free. Anybody fills, the door's thread empties */
};

struct rp__http {
  struct rp__http_options o;
  struct MHD_Daemon *mhd;
  bool exact_lines; /* this libmicrohttpd lets bare line feeds pass, so we look for them */
  struct rp__hconns conns;
  struct rp__hdoor door;
  atomic_int pending; /* handed over, not answered; who answers touches nothing of ours after lowering it */
  atomic_int unsent;  /* handed over, and libmicrohttpd has not finished with it */
  atomic_bool closing;
};

static inline void rp__hconn_deadline(struct rp__hconn *c, bool reads, int64_t after_ms)
{
  atomic_store_explicit(&c->reads, reads, memory_order_relaxed);
  atomic_store_explicit(&c->deadline_ms, after_ms ? rp__ticks_coarse_ms() + after_ms : 0, memory_order_relaxed);
}

bool rp__hbuf_reserve(struct rp__hbuf *b, size_t cap);

/* A request leaves `pending` once, whichever of its ends comes first. */
static inline void rp__request_settle(struct rp__request *r)
{
  struct rp__http *h = r->conn->h;
  if (!r->owed) return;
  r->owed = false;
  atomic_fetch_sub(&h->pending, 1);
}

/* ---- http-conn.c ---- */
RP_MUST_USE int rp__hconns_init(struct rp__hconns *s, rp_error *err);
void rp__hconns_done(struct rp__hconns *s);
/* A socket was accepted: RP_E_LIMIT, RP_E_NOMEM; it stays the caller's. */
int rp__hconn_new(struct rp__http *h, int fd, const struct sockaddr *from);
void rp__hconn_drop(struct rp__http *h, int fd);               /* libmicrohttpd did not want it */
struct rp__hconn *rp__hconn_start(struct rp__http *h, int fd); /* in the thread that will serve it */
/* The connection of this thread whose head libmicrohttpd has read and not handed over yet, or NULL. */
struct rp__hconn *rp__hconn_in_head(struct rp__http *h);
void rp__hconn_free(struct rp__hconn *c); /* before its socket is closed */
void rp__hconns_sweep(struct rp__http *h);

/* ---- http-accept.c ---- */
RP_MUST_USE int rp__hdoor_open(struct rp__http *h, const int *listen_fds, rp_error *err);
void rp__hdoor_quiesce(struct rp__hdoor *d);        /* returns when nothing more is accepted */
void rp__hdoor_stop(struct rp__http *h);            /* ends the thread */
void rp__hdoor_close(struct rp__http *h);           /* the rest, when libmicrohttpd is gone */
void rp__hdoor_linger(struct rp__hdoor *d, int fd); /* takes fd */

#endif
