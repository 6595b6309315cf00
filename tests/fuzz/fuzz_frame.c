/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client's bytes into a WebSocket over a socket (L-03, C-06). The first two bytes say where the rest is split: each
 * piece is one packet, so the socket reads it alone. What must hold: no message over the bound, text is UTF-8, closed
 * exactly once and nothing after it; what goes back are whole unmasked frames with at most one close frame, the last;
 * and the same bytes in one piece mean the same.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>

#include "json/scan.h"
#include "net/ws.h"

/* Not assert: release builds of the driver must fail too. */
#define MUST(x) ((x) ? (void)0 : abort())
#define MAX_MESSAGE 3000
#define INPUT_MAX 60000
#define REPLY_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

struct talk {
  struct rp__job job;
  struct rp__loop *l;
  int fd;
  struct rp__buf told; /* every message: kind, length, bytes */
  pthread_mutex_t lock;
  pthread_cond_t change;
  int closed, code;
};

static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  struct talk *t = ctx;
  uint32_t len = (uint32_t)n;
  MUST(!t->closed && n <= MAX_MESSAGE);
  for (const char *p = bytes; !binary && p < bytes + n;) {
    unsigned k = rp__utf8_len(p, bytes + n);
    MUST(k > 0);
    p += k;
  }
  rp__buf_char(&t->told, binary ? 'b' : 't');
  rp__buf_add(&t->told, &len, sizeof(len));
  rp__buf_add(&t->told, bytes, n);
}

static void on_closed(void *ctx, int code, const char *why)
{
  struct talk *t = ctx;
  MUST(why && ((code >= 1000 && code <= 1014) || (code >= 3000 && code <= 4999)));
  pthread_mutex_lock(&t->lock);
  t->closed++;
  t->code = code;
  pthread_cond_signal(&t->change);
  pthread_mutex_unlock(&t->lock);
}

static void open_it(struct rp__job *job)
{
  static const struct rp__ws_handler handler = {on_message, NULL, on_closed};
  static const struct rp__ws_options options = {.max_message = MAX_MESSAGE, .queue_bytes = 65536};
  struct talk *t = (struct talk *)(void *)job;
  struct rp__ws *ws;
  int rc = rp__ws_open(t->l, t->fd, RP_STR("101\n"), &options, &handler, t, &ws, NULL);
  MUST(rc == 0);
}

static void write_pieces(int fd, const uint8_t *bytes, size_t n, uint32_t dice)
{
  for (size_t k; n; bytes += k, n -= k) {
    dice = dice * 1664525u + 1013904223u;
    size_t longest = (size_t)1 << (dice >> 28);
    k = RP_MIN(n, 1 + (dice >> 8) % longest);
    if (TEMP_FAILURE_RETRY(send(fd, bytes, k, MSG_NOSIGNAL)) < 0) break; /* it has closed already */
  }
  shutdown(fd, SHUT_WR);
}

static void write_whole(int fd, const uint8_t *bytes, size_t n)
{
  if (n && TEMP_FAILURE_RETRY(send(fd, bytes, n, MSG_NOSIGNAL)) < 0) MUST(errno == EPIPE);
  shutdown(fd, SHUT_WR);
}

static void check_reply(int fd)
{
  struct rp__buf b = RP_BUF(REPLY_MAX); /* the fuzzer's alarm interrupts what waits */
  ssize_t n;
  char *room;
  while ((room = rp__buf_room(&b, 65536)) && (n = TEMP_FAILURE_RETRY(recv(fd, room, 65536, 0))) > 0) b.n += (size_t)n;
  MUST(room && b.n >= 4 && memcmp(b.p, "101\n", 4) == 0);
  bool closed = false;
  for (size_t at = 4; at < b.n;) {
    MUST(!closed && at + 2 <= b.n);
    uint8_t first = (uint8_t)b.p[at], len = (uint8_t)b.p[at + 1];
    MUST(len <= 125 && at + 2 + len <= b.n);
    MUST(first == 0x8a || first == 0x88);
    closed = first == 0x88;
    at += 2 + (size_t)len;
  }
  rp__buf_done(&b);
}

static void talk(struct rp__loop *l, struct talk *t, const uint8_t *bytes, size_t n, bool whole, uint32_t dice)
{
  int fd[2];
  MUST(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) == 0);
  *t = (struct talk){{.fn = open_it}, l, fd[0], RP_BUF(REPLY_MAX), PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};
  bool posted = rp__loop_post(l, &t->job);
  MUST(posted);
  if (whole)
    write_whole(fd[1], bytes, n);
  else
    write_pieces(fd[1], bytes, n, dice);
  check_reply(fd[1]);
  close(fd[1]);
  pthread_mutex_lock(&t->lock);
  while (!t->closed) pthread_cond_wait(&t->change, &t->lock);
  pthread_mutex_unlock(&t->lock);
}

/* Made anew for each input, so that its end, which must not close anything again, is part of it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
  struct rp__loop *l;
  struct talk split, whole;
  if (n < 2 || n > INPUT_MAX) return 0;
  int rc = rp__loop_new(&l, NULL);
  MUST(rc == 0);
  rc = rp__loop_start(l, NULL);
  MUST(rc == 0);
  talk(l, &split, data + 2, n - 2, false, (uint32_t)(data[0] | data[1] << 8) * 2654435761u + 1);
  talk(l, &whole, data + 2, n - 2, true, 0);
  rp__loop_free(l);
  MUST(split.closed == 1 && whole.closed == 1);
  MUST(split.code == whole.code && split.told.n == whole.told.n);
  MUST(split.told.n == 0 || memcmp(split.told.p, whole.told.p, whole.told.n) == 0);
  rp__buf_done(&split.told);
  rp__buf_done(&whole.told);
  return 0;
}
