/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections, refuses those over the limits, and enforces the times. A refused client gets an answer, and its
 * socket is read from for a moment more: closing a socket with unread bytes sends a reset, and a reset makes the other
 * end discard an answer that it has not read yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/un.h>

#include "base/process/thread.h"
#include "net/http-impl.h"

#define ACCEPT_BATCH 64 /* per listening socket and turn */
#define DRAIN_BATCH 16  /* reads per lingering socket and turn */

#define BUSY_BODY                                                                                                      \
  "{\"type\":\"about:blank\",\"title\":\"too many connections\",\"status\":503,\"code\":\"limit.count\","              \
  "\"retryable\":true}\n"
#define BUSY_LENGTH "105"

static const char busy_answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                  "Content-Type: application/problem+json\r\n"
                                  "Content-Length: " BUSY_LENGTH "\r\n"
                                  "Retry-After: 1\r\n" RP_HTTP_SAFE_LINES "Connection: close\r\n\r\n" BUSY_BODY;
_Static_assert(sizeof(BUSY_BODY) - 1 == 105, "BUSY_LENGTH is the length of BUSY_BODY");

static void wake(struct rp__hdoor *d)
{
  (void)!write(d->wake, &(uint64_t){1}, sizeof(uint64_t));
}

/* ---- lingering ---- */

static void linger(struct rp__hdoor *d, int fd)
{
  shutdown(fd, SHUT_WR);
  pthread_mutex_lock(&d->lock);
  for (size_t i = 0; i < RP_HTTP_LINGER_MAX && fd >= 0; i++) {
    if (d->linger[i].fd >= 0) continue;
    d->linger[i] = (struct rp__hlinger){fd, rp__ticks_coarse_ms() + RP_HTTP_LINGER_MS};
    fd = -1;
  }
  pthread_mutex_unlock(&d->lock);
  if (fd >= 0) close(fd);
}

void rp__hdoor_linger(struct rp__hdoor *d, int fd)
{
  linger(d, fd);
  wake(d);
}

/* Whether the other end is done, or has just been cut off. */
static bool drain(int fd)
{
  char scratch[16 * 1024];
  for (int i = 0; i < DRAIN_BATCH; i++) {
    ssize_t n = recv(fd, scratch, sizeof(scratch), MSG_DONTWAIT);
    if (n > 0) continue;
    return n == 0 || (errno != EAGAIN && errno != EINTR);
  }
  return false;
}

static void tend_lingering(struct rp__hdoor *d, bool all)
{
  int64_t now = rp__ticks_coarse_ms();
  pthread_mutex_lock(&d->lock);
  for (size_t i = 0; i < RP_HTTP_LINGER_MAX; i++) {
    struct rp__hlinger *l = &d->linger[i];
    if (l->fd < 0 || (!drain(l->fd) && now < l->until_ms && !all)) continue;
    close(l->fd);
    l->fd = -1;
  }
  pthread_mutex_unlock(&d->lock);
}

/* ---- accepting ---- */

union from {
  struct sockaddr sa;
  struct sockaddr_in6 v6;
  struct sockaddr_un un;
};

static void open_spare(struct rp__hdoor *d)
{
  if (d->spare < 0) d->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/*
 * No file descriptor is left: the spare one makes room to tell somebody so, and true is returned. Otherwise nobody
 * waits (the kernel looks for a file descriptor before it looks for a client), or somebody else was faster.
 */
static bool refuse_without_fd(struct rp__hdoor *d, int listen_fd)
{
  if (d->spare < 0) return false;
  close(d->spare);
  d->spare = -1;
  int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0) {
    (void)!send(fd, busy_answer, sizeof(busy_answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(fd, SHUT_WR);
    drain(fd);
    close(fd);
  }
  open_spare(d);
  return fd >= 0;
}

static void accept_waiting(struct rp__http *h, int listen_fd)
{
  for (int i = 0; i < ACCEPT_BATCH; i++) {
    union from from = {.sa.sa_family = AF_UNIX};
    socklen_t n = sizeof(from);
    int fd = accept4(listen_fd, &from.sa, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      n = RP_MIN(n, (socklen_t)sizeof(from));
      if (n < sizeof(from.sa.sa_family)) {
        from.sa.sa_family = AF_UNIX;
        n = sizeof(from.sa.sa_family);
      }
      if (rp__hconn_new(h, fd, &from.sa) != 0) {
        (void)!send(fd, busy_answer, sizeof(busy_answer) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        linger(&h->door, fd);
      } else if (MHD_add_connection(h->mhd, fd, &from.sa, n) != MHD_YES) {
        rp__hconn_drop(h, fd);
      }
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN) return;
    bool no_fd = errno == EMFILE || errno == ENFILE;
    if (no_fd && refuse_without_fd(&h->door, listen_fd)) continue;
    if (!no_fd || h->door.spare < 0) h->door.paused_until_ms = rp__ticks_coarse_ms() + RP_HTTP_PAUSE_MS;
    return;
  }
}

/* ---- the thread ---- */

struct watched {
  struct pollfd v[1 + RP_HTTP_LINGER_MAX + 64];
  size_t n_listen; /* at 1 … */
  size_t n;
};

static bool gather(struct rp__hdoor *d, struct watched *w, int *ret_timeout)
{
  int64_t now = rp__ticks_coarse_ms();
  if (d->paused_until_ms <= now) d->paused_until_ms = 0;
  pthread_mutex_lock(&d->lock);
  bool go_on = !d->stop;
  w->v[0] = (struct pollfd){.fd = d->wake, .events = POLLIN};
  w->n = 1;
  w->n_listen = d->quiesce || d->paused_until_ms ? 0 : d->n_listen;
  for (size_t i = 0; i < w->n_listen; i++) w->v[w->n++] = (struct pollfd){.fd = d->listen_fds[i], .events = POLLIN};
  for (size_t i = 0; i < RP_HTTP_LINGER_MAX; i++)
    if (d->linger[i].fd >= 0) w->v[w->n++] = (struct pollfd){.fd = d->linger[i].fd, .events = POLLIN};
  if (d->quiesce && !d->quiet) {
    d->quiet = true;
    pthread_cond_broadcast(&d->changed);
  }
  pthread_mutex_unlock(&d->lock);
  *ret_timeout = d->paused_until_ms ? RP_HTTP_PAUSE_MS : RP_HTTP_SWEEP_MS;
  return go_on;
}

static void *door_main(void *arg)
{
  struct rp__http *h = arg;
  struct rp__hdoor *d = &h->door;
  struct watched w;
  int timeout;
  int64_t sweep_at = rp__ticks_coarse_ms() + RP_HTTP_SWEEP_MS;
  while (gather(d, &w, &timeout)) {
    if (poll(w.v, w.n, timeout) < 0) {
      if (errno != EINTR) nanosleep(&(struct timespec){0, RP_HTTP_PAUSE_MS * 1000000L}, NULL);
      continue;
    }
    if (w.v[0].revents) (void)!read(d->wake, &(uint64_t){0}, sizeof(uint64_t));
    for (size_t i = 0; i < w.n_listen; i++)
      if (w.v[1 + i].revents & POLLIN) accept_waiting(h, w.v[1 + i].fd);
    tend_lingering(d, false);
    if (rp__ticks_coarse_ms() < sweep_at) continue;
    open_spare(d);
    rp__hconns_sweep(h);
    sweep_at = rp__ticks_coarse_ms() + RP_HTTP_SWEEP_MS;
  }
  tend_lingering(d, true);
  return NULL;
}

int rp__hdoor_open(struct rp__http *h, const int *listen_fds, rp_error *err)
{
  struct rp__hdoor *d = &h->door;
  const size_t most = RP_ARRAY_SIZE(((struct watched *)0)->v) - 1 - RP_HTTP_LINGER_MAX;
  if (h->o.n_listen > most) return rp__fail(err, RP_E_LIMIT, "at most %zu sockets can be listened on", most);
  d->listen_fds = malloc(RP_MAX(h->o.n_listen, 1u) * sizeof(int));
  if (!d->listen_fds) return rp__fail_nomem(err);
  pthread_mutex_init(&d->lock, NULL);
  pthread_cond_init(&d->changed, NULL);
  d->n_listen = h->o.n_listen;
  d->spare = -1;
  for (size_t i = 0; i < RP_HTTP_LINGER_MAX; i++) d->linger[i].fd = -1;
  d->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (d->wake < 0) return rp__fail_errno(err, errno, "can't make an eventfd");
  memcpy(d->listen_fds, listen_fds, d->n_listen * sizeof(int));
  open_spare(d);
  int errnum = rp__thread_start(&d->thread, "reprise-door", door_main, h);
  if (errnum) return rp__fail_errno(err, errnum, "can't start a thread");
  d->running = true;
  return 0;
}

void rp__hdoor_quiesce(struct rp__hdoor *d)
{
  pthread_mutex_lock(&d->lock);
  d->quiesce = true;
  wake(d);
  while (!d->quiet && !d->stop) pthread_cond_wait(&d->changed, &d->lock);
  pthread_mutex_unlock(&d->lock);
}

void rp__hdoor_stop(struct rp__http *h)
{
  struct rp__hdoor *d = &h->door;
  if (!d->running) return;
  pthread_mutex_lock(&d->lock);
  d->stop = true;
  pthread_mutex_unlock(&d->lock);
  wake(d);
  pthread_join(d->thread, NULL);
  d->running = false;
}

void rp__hdoor_close(struct rp__http *h)
{
  struct rp__hdoor *d = &h->door;
  if (!d->listen_fds) return;
  rp__hdoor_stop(h);
  tend_lingering(d, true); /* those that came after the thread's end */
  if (d->spare >= 0) close(d->spare);
  if (d->wake >= 0) close(d->wake);
  free(d->listen_fds);
  pthread_cond_destroy(&d->changed);
  pthread_mutex_destroy(&d->lock);
}
