/* SPDX-License-Identifier: Apache-2.0 */
/* The socket `<db>.serve`, through which one server takes over from another. */
#include "server/succession.h"
#include "base/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/buf.h"
#include "base/process/lockfile.h"
#include "base/process/thread.h"

#define SUFFIX ".serve"
#define BACKLOG 4
#define WORD_MAX 8
#define TAKE "take"
#define GO "go"

struct rp__control {
  struct rp__control_options o;
  char path[sizeof((struct sockaddr_un *)0)->sun_path];
  dev_t dev; /* of the path, as we made it */
  ino_t ino;
  int fd, stop;      /* listening; an eventfd that ends the thread */
  int before, after; /* whom we replaced, until it is gone; who replaced us, until we are */
  bool handed_over, running;
  pthread_t thread;
};

/* The place beside the database, with something behind it. */
static int make_address(const char *db_path, const char *more, struct sockaddr_un *ret, rp_error *err)
{
  *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
  int n = snprintf(ret->sun_path, sizeof ret->sun_path, "%s" SUFFIX "%s", db_path, more);
  if (n > 0 && (size_t)n < sizeof ret->sun_path) return 0;
  return rp__fail(err, RP_E_TOO_LARGE, "the path of the database is too long for a control socket beside it");
}

static bool is_ours(int fd)
{
  struct ucred who;
  socklen_t n = sizeof who;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0) return false;
  return who.uid == geteuid() || who.uid == 0;
}

int64_t rp__control_peer(int fd)
{
  struct ucred who;
  socklen_t n = sizeof who;
  return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 ? 0 : who.pid;
}

/* ---- who comes to replace us ---- */

/* False: the word did not come in time, or we are to stop. */
static bool hear(const struct rp__control *c, int fd, const char *word, int ms)
{
  char got[WORD_MAX];
  struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = c->stop, .events = POLLIN}};
  int ready;
  do {
    ready = poll(p, 2, ms);
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0 || p[1].revents || !p[0].revents) return false;
  ssize_t n = recv(fd, got, sizeof got, MSG_DONTWAIT);
  return n == (ssize_t)strlen(word) && memcmp(got, word, (size_t)n) == 0;
}

static void hand_over(struct rp__control *c, int fd)
{
  rp_error err = {0};
  struct rp__listeners sent = *c->o.listeners; /* sending disowns the paths, which is too early for ours */
  if (!is_ours(fd)) {
    rp__slog(c->o.log, RP_LOG_WARN, "control", RP_F("error", "another user asked for the sockets"));
    return;
  }
  if (!hear(c, fd, TAKE, RP_CONTROL_ANSWER_MS)) return;
  rp__slog(c->o.log, RP_LOG_INFO, "handing_over", RP_FN("to", rp__control_peer(fd)));
  if (rp__listen_send(fd, &sent, &err)) {
    rp__slog(c->o.log, RP_LOG_ERROR, "control", RP_F("error", err.message));
  } else if (hear(c, fd, GO, RP_CONTROL_GO_MS)) {
    for (size_t i = 0; i < c->o.listeners->n; i++) c->o.listeners->v[i].owned = false;
    c->handed_over = true;
    c->after = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    c->o.replaced(c->o.ctx);
  } else {
    rp__slog(c->o.log, RP_LOG_WARN, "control", RP_F("error", "the new server did not begin; this one goes on"));
  }
}

/* The one before says nothing more: what there is to read of it is its end. */
static void *control_main(void *arg)
{
  struct rp__control *c = arg;
  int64_t until = rp__ticks_ms() + RP_CONTROL_GONE_MS;
  while (!c->handed_over) {
    struct pollfd p[] = {{.fd = c->fd, .events = POLLIN},
                         {.fd = c->stop, .events = POLLIN},
                         {.fd = c->before, .events = POLLIN}}; /* -1 is passed over */
    int n = poll(p, 3, c->before < 0 ? -1 : (int)RP_MAX(until - rp__ticks_ms(), 0));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 || p[1].revents) break;
    if (c->before >= 0 && (n == 0 || p[2].revents)) {
      close(c->before);
      c->before = -1;
      c->o.alone(c->o.ctx);
    }
    if (p[0].revents) {
      RP_AUTOCLOSE int fd = accept4(c->fd, NULL, NULL, SOCK_CLOEXEC);
      if (fd >= 0) hand_over(c, fd);
    }
  }
  return NULL;
}

/* ---- opening ---- */

/* A socket bound to a name of our own, then moved to where it belongs, so that there is one there at any time. */
static int bind_socket(struct rp__control *c, rp_error *err)
{
  char pid[24];
  struct sockaddr_un a;
  struct stat st;
  snprintf(pid, sizeof pid, ".%d", (int)getpid());
  int rc = make_address(c->o.db_path, pid, &a, err);
  if (rc) return rc;
  c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (c->fd < 0) return rp__fail_errno(err, errno, "no control socket");
  (void)!fchmod(c->fd, 0600); /* bind gives the path the socket's own mode */
  unlink(a.sun_path);
  if (bind(c->fd, (struct sockaddr *)&a, sizeof a) < 0) return rp__fail_errno(err, errno, "%s", a.sun_path);
  if (listen(c->fd, BACKLOG) < 0 || lstat(a.sun_path, &st) < 0 || rename(a.sun_path, c->path) < 0) {
    rc = rp__fail_errno(err, errno, "%s", c->path);
    unlink(a.sun_path);
    return rc;
  }
  c->dev = st.st_dev;
  c->ino = st.st_ino;
  return 0;
}

static int connect_to(const struct sockaddr_un *a, int *ret_fd)
{
  struct timeval most = {.tv_sec = RP_CONTROL_ANSWER_MS / 1000};
  RP_AUTOCLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
  if (connect(fd, (const struct sockaddr *)a, sizeof *a) < 0) return errno;
  *ret_fd = fd;
  fd = -1;
  return 0;
}

static int check(const struct sockaddr_un *a, rp_error *err)
{
  RP_AUTOCLOSE int fd = -1;
  if (connect_to(a, &fd)) return 0;
  rp__fail(err, RP_E_HELD, "a server runs on this database already (pid %lld)", (long long)rp__control_peer(fd));
  rp__hint(err, "--replace takes over from it");
  return RP_E_HELD;
}

/*
 * Of those that start at once, one looks and takes the place before the next looks. The lock is a byte of <db>.runs,
 * which nobody but the database's own user can open: anybody may lock a folder that he can read. Held until the file is
 * closed; where there are no such locks, it is looked all the same.
 */
static int lock_place(const char *db_path, struct rp__lockfile *l, rp_error *err)
{
  static const struct timespec step = {0, 10 * 1000000L};
  struct rp__buf path RP_AUTOBUF = RP_BUF(65536);
  rp__buf_printf(&path, "%s.runs", db_path);
  if (path.err) return rp__fail_nomem(err);
  if (rp__lockfile_open(l, path.p, NULL)) return 0;
  for (int64_t until = rp__ticks_ms() + RP_CONTROL_ANSWER_MS;;) {
    int rc = rp__lockfile_take_slot(l, RP_RUNS_SERVE_BYTE);
    if (rc != RP_E_BUSY) return 0;
    if (rp__ticks_ms() > until) break;
    nanosleep(&step, NULL);
  }
  rp__lockfile_close(l);
  rp__fail(err, RP_E_BUSY, "another server has been starting on this database for %d s and does not get on",
           RP_CONTROL_ANSWER_MS / 1000);
  rp__hint(err, "'fuser %s' names the processes that use it: one of them is stopped or hangs", path.p);
  return RP_E_BUSY;
}

int rp__control_check(const char *db_path, rp_error *err)
{
  struct sockaddr_un a;
  return make_address(db_path, "", &a, NULL) ? 0 : check(&a, err); /* without a place there is nobody in it */
}

int rp__control_open(const struct rp__control_options *o, int before, struct rp__control **ret, rp_error *err)
{
  struct sockaddr_un a;
  int rc = make_address(o->db_path, "", &a, err);
  if (rc) return rc;
  struct rp__control *c = calloc(1, sizeof *c);
  if (!c) return rp__fail_nomem(err);
  *c = (struct rp__control){.o = *o, .fd = -1, .stop = -1, .before = -1, .after = -1};
  memcpy(c->path, a.sun_path, sizeof c->path);
  if (before >= 0) c->before = fcntl(before, F_DUPFD_CLOEXEC, 0);
  struct rp__lockfile place = {.fd = -1};
  rc = lock_place(c->o.db_path, &place, err);
  if (!rc && before < 0) rc = check(&a, err);
  if (!rc) rc = bind_socket(c, err);
  rp__lockfile_close(&place);
  if (!rc && (c->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
    rc = rp__fail_errno(err, errno, "no control socket");
  if (!rc && rp__thread_start(&c->thread, "reprise-control", control_main, c))
    rc = rp__fail(err, RP_E_NOMEM, "a thread can't be started");
  c->running = !rc;
  if (rc) {
    rp__control_close(c);
    return rc;
  }
  *ret = c;
  return 0;
}

void rp__control_close(struct rp__control *c)
{
  if (!c) return;
  if (c->running) {
    (void)!write(c->stop, &(uint64_t){1}, sizeof(uint64_t));
    pthread_join(c->thread, NULL);
  }
  /* The path goes with us, unless somebody else's socket is there by now. */
  struct stat st;
  if (c->ino && lstat(c->path, &st) == 0 && st.st_ino == c->ino && st.st_dev == c->dev) unlink(c->path);
  if (c->fd >= 0) close(c->fd);
  if (c->stop >= 0) close(c->stop);
  if (c->before >= 0) close(c->before);
  if (c->after >= 0) close(c->after);
  free(c);
}

/* ---- replacing somebody ---- */

int rp__control_take(const char *db_path, struct rp__listeners *l, int *ret_fd, rp_error *err)
{
  struct sockaddr_un a;
  RP_AUTOCLOSE int fd = -1;
  int rc = make_address(db_path, "", &a, err);
  if (rc) return rc;
  int errnum = connect_to(&a, &fd);
  if (errnum == ENOENT || errnum == ECONNREFUSED) {
    *ret_fd = -1;
    return 0;
  }
  if (errnum) return rp__fail_errno(err, errnum, "%s", a.sun_path);
  if (!is_ours(fd)) return rp__fail(err, RP_E_REFUSED, "the server that runs is another user's");
  if (send(fd, TAKE, strlen(TAKE), MSG_NOSIGNAL) < 0 || rp__listen_receive(fd, l, err)) {
    rp__fail(err, RP_E_BUSY, "the server that runs (pid %lld) does not hand its sockets over",
             (long long)rp__control_peer(fd));
    rp__hint(err, "end it, and start without --replace");
    return RP_E_BUSY;
  }
  *ret_fd = fd;
  fd = -1;
  return 0;
}

void rp__control_go(int fd)
{
  (void)!send(fd, GO, strlen(GO), MSG_NOSIGNAL); /* one that is gone needs no telling */
  close(fd);
}
