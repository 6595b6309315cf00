/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of connections. A connection is entered under the number of its file descriptor when it is accepted, and
 * found under that number when libmicrohttpd begins with it. When libmicrohttpd drops a connection without a notice
 * (out of memory), the number is free again, and the next connection with that number finds and removes the old entry.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include "net/http-impl.h"
#include "net/peer.h"

/* An IPv4 address, or the half of an IPv6 address that names a network; one holder may have all of the other half. */
struct rp__haddress {
  struct rp__haddress *next;
  uint64_t key;
  bool v6;
  int n;
};

int rp__hconns_init(struct rp__hconns *s, rp_error *err)
{
  struct rlimit limit;
  rlim_t most = RP_HTTP_FD_MAX;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most) most = limit.rlim_cur;
  s->by_fd = calloc(most, sizeof(struct rp__hconn *));
  if (!s->by_fd) return rp__fail_nomem(err);
  s->fd_limit = (int)(most - RP_MIN(most / 4, (rlim_t)RP_HTTP_FD_RESERVE));
  pthread_mutex_init(&s->lock, NULL);
  return 0;
}

void rp__hconns_done(struct rp__hconns *s)
{
  if (!s->by_fd) return;
  pthread_mutex_destroy(&s->lock);
  free(s->by_fd);
}

/* ---- addresses ---- */

static struct rp__haddress **find_address(struct rp__hconns *s, uint64_t key, bool v6)
{
  size_t bucket = (size_t)((key * 0x9e3779b97f4a7c15u) >> 32) % RP_HTTP_ADDRESS_BUCKETS;
  struct rp__haddress **at = &s->addresses[bucket];
  while (*at && ((*at)->key != key || (*at)->v6 != v6)) at = &(*at)->next;
  return at;
}

static bool as_v4(const struct sockaddr *from, struct in_addr *ret)
{
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)from;
  if (from->sa_family == AF_INET)
    *ret = ((const struct sockaddr_in *)from)->sin_addr;
  else if (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
    memcpy(ret, six->sin6_addr.s6_addr + 12, sizeof(*ret));
  else
    return false;
  return true;
}

static int count_address(struct rp__hconns *s, struct rp__hconn *c, const struct sockaddr *from, int max)
{
  struct in_addr v4;
  uint64_t key = 0;
  bool v6 = !as_v4(from, &v4);
  if (v6)
    memcpy(&key, ((const struct sockaddr_in6 *)from)->sin6_addr.s6_addr, sizeof(key));
  else
    key = v4.s_addr;
  struct rp__haddress **at = find_address(s, key, v6);
  if (*at && (*at)->n >= max) return RP_E_LIMIT;
  if (!*at) {
    *at = malloc(sizeof(**at));
    if (!*at) return RP_E_NOMEM;
    **at = (struct rp__haddress){.key = key, .v6 = v6};
  }
  (*at)->n++;
  c->address = *at;
  return 0;
}

/* ---- coming and going ---- */

/* With the lock held. */
static void leave(struct rp__hconns *s, struct rp__hconn *c)
{
  if (c->prev)
    c->prev->next = c->next;
  else
    s->first = c->next;
  if (c->next) c->next->prev = c->prev;
  s->by_fd[c->fd] = NULL;
  if (c->address && --c->address->n == 0) {
    *find_address(s, c->address->key, c->address->v6) = c->address->next;
    free(c->address);
  }
  atomic_fetch_sub(&s->n, 1);
}

static void release(struct rp__hconn *c)
{
  free(c->r.uri.p);
  free(c->r.body.p);
  free(c->r.out.p);
  free(c);
}

static int enter(struct rp__http *h, struct rp__hconn *c, const struct sockaddr *from)
{
  struct rp__hconns *s = &h->conns;
  bool counts = h->o.max_per_address > 0 && (from->sa_family == AF_INET || from->sa_family == AF_INET6);
  if (s->by_fd[c->fd]) {
    struct rp__hconn *left = s->by_fd[c->fd];
    leave(s, left);
    release(left);
  }
  size_t n = (size_t)atomic_load(&s->n) + (h->o.taken ? h->o.taken(h->o.ctx) : 0);
  if (h->o.max_connections > 0 && n >= (size_t)h->o.max_connections) return RP_E_LIMIT;
  int code = counts ? count_address(s, c, from, h->o.max_per_address) : 0;
  if (code) return code;
  c->next = s->first;
  if (s->first) s->first->prev = c;
  s->first = c;
  s->by_fd[c->fd] = c;
  atomic_fetch_add(&s->n, 1);
  return 0;
}

int rp__hconn_new(struct rp__http *h, int fd, const struct sockaddr *from)
{
  if (fd >= h->conns.fd_limit) return RP_E_LIMIT;
  struct rp__hconn *c = calloc(1, sizeof(*c));
  if (!c) return RP_E_NOMEM;
  c->h = h;
  c->fd = fd;
  c->r.conn = c;
  struct in_addr v4;
  if (from->sa_family != AF_INET && from->sa_family != AF_INET6) {
    memcpy(c->peer, "unix", sizeof("unix"));
    c->local = true;
  } else if (as_v4(from, &v4)) {
    inet_ntop(AF_INET, &v4, c->peer, sizeof(c->peer));
    c->local = ntohl(v4.s_addr) >> 24 == 127;
  } else {
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)from)->sin6_addr;
    inet_ntop(AF_INET6, v6, c->peer, sizeof(c->peer));
    c->local = IN6_IS_ADDR_LOOPBACK(v6);
  }
  if (c->local && h->o.own_user) c->local = rp__peer_is_own(fd);
  rp__hconn_deadline(c, true, (int64_t)h->o.request_s * 1000);
  pthread_mutex_lock(&h->conns.lock);
  int code = enter(h, c, from);
  pthread_mutex_unlock(&h->conns.lock);
  if (code) release(c);
  return code;
}

void rp__hconn_drop(struct rp__http *h, int fd)
{
  pthread_mutex_lock(&h->conns.lock);
  struct rp__hconn *c = h->conns.by_fd[fd];
  if (c) leave(&h->conns, c);
  pthread_mutex_unlock(&h->conns.lock);
  if (c) release(c);
}

struct rp__hconn *rp__hconn_start(struct rp__http *h, int fd)
{
  pthread_mutex_lock(&h->conns.lock);
  struct rp__hconn *c = h->conns.by_fd[fd];
  if (c) {
    c->started = true;
    c->worker = pthread_self();
  }
  pthread_mutex_unlock(&h->conns.lock);
  return c;
}

/* A head's size is known from when it was read; what is handed over has another step. */
struct rp__hconn *rp__hconn_in_head(struct rp__http *h)
{
  struct rp__hconn *found = NULL;
  pthread_mutex_lock(&h->conns.lock);
  for (struct rp__hconn *c = h->conns.first; c && !found; c = c->next) {
    bool ours = c->started && pthread_equal(c->worker, pthread_self());
    if (ours && c->r.step == RP_STEP_HEAD && MHD_get_connection_info(c->r.mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE))
      found = c;
  }
  pthread_mutex_unlock(&h->conns.lock);
  return found;
}

void rp__hconn_free(struct rp__hconn *c)
{
  struct rp__hconns *s = &c->h->conns;
  pthread_mutex_lock(&s->lock);
  leave(s, c);
  pthread_mutex_unlock(&s->lock);
  release(c);
}

/*
 * Whether the client has hung up in the middle of a request. libmicrohttpd waits for changes of a socket and misses an
 * end that came together with the last bytes. An end counts when two sweeps see it under one deadline: between the two
 * a request that was complete has been handed over.
 */
static bool hung_up(struct rp__hconn *c, int64_t deadline)
{
  char byte;
  if (!atomic_load_explicit(&c->reads, memory_order_relaxed)) return false;
  if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return false;
  bool again = c->hung_up_ms == deadline;
  c->hung_up_ms = deadline;
  return again;
}

/* The socket is only shut down: libmicrohttpd sees that as the client's going and does the rest. */
void rp__hconns_sweep(struct rp__http *h)
{
  int64_t now = rp__ticks_coarse_ms();
  pthread_mutex_lock(&h->conns.lock);
  for (struct rp__hconn *c = h->conns.first; c; c = c->next) {
    int64_t deadline = atomic_load_explicit(&c->deadline_ms, memory_order_relaxed);
    if (c->started && deadline && (now > deadline || hung_up(c, deadline))) shutdown(c->fd, SHUT_RDWR);
  }
  pthread_mutex_unlock(&h->conns.lock);
}
