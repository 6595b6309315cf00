/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: shared messages, bounded queues, slow and vanished readers (L-03, L-11, C-06). */
#include "rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

#include "net/queue.h"
#include "tests/lib/dice.h"

#define READERS 1000
#define MESSAGES 50

struct end {
  struct rp__loop *l;
  struct rp__conn *c;
  int fd[2];
  struct rp__conn_options o;
  struct news news;
  int opened, input, drained, closed;
  char why[80];
  char last[64]; /* of the input */
  /* What to do in a callback. */
  bool cut_on_input, cut_on_closed, mute;
  int rc;
  size_t waiting, at_drained;
};

static void on_input(void *ctx, const char *bytes, size_t n)
{
  struct end *e = ctx;
  memcpy(e->last, bytes, RP_MIN(n, sizeof(e->last)));
  if (e->cut_on_input) rp__conn_cut(e->c, "cut by the test");
  news_add(&e->news, &e->input, (int)n);
}

static void on_drained(void *ctx)
{
  struct end *e = ctx;
  e->at_drained = rp__conn_waiting(e->c);
  news_add(&e->news, &e->drained, 1);
}

static void on_closed(void *ctx, const char *why)
{
  struct end *e = ctx;
  snprintf(e->why, sizeof(e->why), "%s", why);
  if (e->cut_on_closed) rp__conn_cut(e->c, "again");
  news_add(&e->news, &e->closed, 1);
}

static const struct rp__conn_handler handler = {on_input, on_drained, on_closed};
static const struct rp__conn_handler deaf = {NULL, NULL, on_closed};

static void open_end(void *arg)
{
  struct end *e = arg;
  e->rc = rp__conn_open(e->l, e->fd[0], &e->o, e->mute ? &deaf : &handler, e, &e->c, NULL);
}

static void begin(struct end *e, size_t queue_bytes, int64_t stall_ms)
{
  e->l = e->l ? e->l : loop_begin();
  e->news = NEWS;
  e->o = (struct rp__conn_options){queue_bytes, stall_ms};
  pair_make(e->fd);
  in_loop(e->l, open_end, e);
  assert_int_equal(e->rc, 0);
}

static void finish_test(struct end *e)
{
  rp__loop_free(e->l);
  close(e->fd[1]);
  assert_int_equal(e->closed, 1);
}

static int send_bytes(struct rp__conn *c, const void *bytes, size_t n)
{
  struct rp__net_msg *m = rp__msg_new(bytes, n);
  if (!m) abort();
  if (!bytes) memset(m->bytes, 'x', n);
  int rc = rp__conn_send(c, m);
  rp__msg_unref(m);
  return rc;
}

/* ---- both ways ---- */

static void greet(void *arg)
{
  struct end *e = arg;
  if (send_bytes(e->c, "hel", 3) || send_bytes(e->c, "", 0) || send_bytes(e->c, "lo", 2)) abort();
}

static void bytes_flow_both_ways(void **state)
{
  (void)state;
  struct end e = {0};
  char got[5];
  begin(&e, 1000, 0);
  in_loop(e.l, greet, &e);
  get(e.fd[1], got, 5);
  assert_memory_equal(got, "hello", 5);
  put(e.fd[1], "world", 5);
  news_await(&e.news, &e.input, 5);
  assert_memory_equal(e.last, "world", 5);
  finish_test(&e);
  assert_string_equal(e.why, "the server stops");
}

/* ---- one message to a thousand readers ---- */

struct crowd {
  struct rp__loop *l;
  struct end v[READERS];
  struct rp__net_msg *m[MESSAGES];
  int next, refused;
};

static void open_crowd(void *arg)
{
  struct crowd *w = arg;
  for (int i = 0; i < READERS; i++) open_end(&w->v[i]);
}

static void tell_crowd(void *arg)
{
  struct crowd *w = arg;
  for (int i = 0; i < READERS; i++)
    if (rp__conn_send(w->v[i].c, w->m[w->next])) w->refused++;
  w->next++;
}

static void check_reader(struct end *e, struct rp__net_msg **m)
{
  char got[4096];
  for (int i = 0; i < MESSAGES; i++) {
    get(e->fd[1], got, m[i]->n);
    if (memcmp(got, m[i]->bytes, m[i]->n) != 0) fail();
  }
}

/* Each message exists once; it arrives whole and in order at every reader, and is gone afterwards. */
static void a_shared_message_reaches_a_thousand_readers(void **state)
{
  (void)state;
  struct crowd *w = calloc(1, sizeof(*w));
  struct rlimit files;
  assert_non_null(w);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
  files.rlim_cur = files.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
  w->l = loop_begin();
  for (int i = 0; i < READERS; i++) {
    w->v[i] = (struct end){.l = w->l, .news = NEWS, .o = {1 << 20, 0}};
    pair_make(w->v[i].fd);
  }
  in_loop(w->l, open_crowd, w);
  for (int i = 0; i < MESSAGES; i++) {
    w->m[i] = rp__msg_new(NULL, (size_t)(1 + i * 61));
    assert_non_null(w->m[i]);
    memset(w->m[i]->bytes, 'a' + i % 26, w->m[i]->n);
    in_loop(w->l, tell_crowd, w);
  }
  assert_int_equal(w->refused, 0);
  for (int i = 0; i < READERS; i++) check_reader(&w->v[i], w->m);
  rp__loop_stop(w->l);
  for (int i = 0; i < READERS; i++) {
    assert_int_equal(w->v[i].closed, 1);
    get_eof(w->v[i].fd[1]);
    close(w->v[i].fd[1]);
  }
  for (int i = 0; i < MESSAGES; i++) {
    assert_int_equal(atomic_load(&w->m[i]->refs), 1);
    rp__msg_unref(w->m[i]);
  }
  rp__loop_free(w->l);
  free(w);
}

/* ---- who does not read ---- */

#define BIG ((size_t)1 << 20) /* more than a socket takes */

static void fill(void *arg)
{
  struct end *e = arg;
  e->rc = send_bytes(e->c, NULL, BIG);
}

static void overfill(void *arg)
{
  struct end *e = arg;
  e->rc = send_bytes(e->c, NULL, e->o.queue_bytes);
}

static void measure(void *arg)
{
  struct end *e = arg;
  e->waiting = rp__conn_waiting(e->c);
}

static void skip_input(int fd, size_t n)
{
  char got[65536];
  while (n) {
    size_t k = RP_MIN(n, sizeof(got));
    get(fd, got, k);
    n -= k;
  }
}

/* Into an empty queue one message may go that is over the bound; the next is refused; reading makes room. */
static void a_full_queue_refuses_and_drains(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 65536, 0);
  in_loop(e.l, fill, &e);
  assert_int_equal(e.rc, 0);
  in_loop(e.l, overfill, &e);
  assert_int_equal(e.rc, RP_E_LIMIT);
  in_loop(e.l, measure, &e);
  assert_true(e.waiting > 0 && e.waiting <= BIG);
  assert_int_equal(news_read(&e.news, &e.drained), 0);
  skip_input(e.fd[1], BIG);
  news_await(&e.news, &e.drained, 1);
  assert_true(e.at_drained <= 65536 / 2);
  in_loop(e.l, overfill, &e);
  assert_int_equal(e.rc, 0);
  skip_input(e.fd[1], 65536);
  finish_test(&e);
  assert_int_equal(e.drained, 1);
}

static void who_reads_nothing_is_cut_off(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 65536, 50);
  in_loop(e.l, fill, &e);
  news_await(&e.news, &e.closed, 1);
  assert_string_equal(e.why, "it took nothing for too long");
  finish_test(&e);
}

#define SLOW_MS 1500

/* Slower than the bound in all, but never without a byte for that long: stays. */
static void a_slow_reader_stays(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 65536, SLOW_MS);
  in_loop(e.l, fill, &e);
  int64_t began = dice_now_us();
  size_t left = BIG;
  while (left) {
    struct pollfd none = {.fd = -1};
    size_t step = RP_MIN(left, (size_t)32 << 10);
    skip_input(e.fd[1], step);
    left -= step;
    if (left) poll(&none, 1, 60); /* the reader's pace, nothing is waited for */
  }
  assert_true(dice_now_us() - began > SLOW_MS * 1000);
  in_loop(e.l, measure, &e);
  assert_int_equal(e.waiting, 0);
  assert_int_equal(news_read(&e.news, &e.closed), 0);
  finish_test(&e);
}

/* Many small messages: their number is bounded too. */
static void fill_small(void *arg)
{
  struct end *e = arg;
  struct rp__net_msg *m = rp__msg_new("x", 1);
  if (!m) abort();
  int n = 0;
  while ((e->rc = rp__conn_send(e->c, m)) == 0) n++;
  rp__msg_unref(m);
  e->waiting = (size_t)n;
}

static void the_number_of_messages_is_bounded(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, SIZE_MAX, 0);
  in_loop(e.l, fill_small, &e);
  assert_int_equal(e.rc, RP_E_LIMIT);
  assert_int_equal(e.waiting, RP_CONN_MESSAGES_MAX);
  skip_input(e.fd[1], RP_CONN_MESSAGES_MAX);
  news_await(&e.news, &e.drained, 1);
  finish_test(&e);
}

/* ---- urgent bytes ---- */

static void send_urgent(void *arg)
{
  struct end *e = arg;
  char first[3000] = {'1'};
  if (send_bytes(e->c, first, sizeof(first)) || send_bytes(e->c, "22", 2)) abort();
  if (rp__conn_send_urgent(e->c, "!", 1) || rp__conn_send_urgent(e->c, "?", 1)) abort();
}

static void urgent_bytes_go_first_but_never_inside_a_message(void **state)
{
  (void)state;
  struct end e = {0};
  char got[3004];
  begin(&e, 100000, 0);
  in_loop(e.l, send_urgent, &e);
  get(e.fd[1], got, sizeof(got));
  assert_memory_equal(got, "!?1", 3);
  assert_memory_equal(got + 3002, "22", 2);
  finish_test(&e);
}

static struct rp__net_msg *letter(char c, size_t n)
{
  struct rp__net_msg *m = rp__msg_new(NULL, n);
  if (!m) abort();
  memset(m->bytes, c, n);
  return m;
}

static size_t drain_some(struct rp__queue *q, char *out, size_t n)
{
  struct iovec iov[4];
  int k = rp__queue_peek(q, iov, 4);
  size_t done = 0;
  for (int i = 0; i < k && done < n; i++) {
    size_t step = RP_MIN(iov[i].iov_len, n - done);
    memcpy(out + done, iov[i].iov_base, step);
    done += step;
  }
  rp__queue_advance(q, done);
  return done;
}

/* Whatever the sizes and however it is cut: messages keep their order, no message is broken, nothing is lost. */
static void a_queue_keeps_order_at_any_cut(void **state)
{
  (void)state;
  struct dice d = dice_new();
  for (int64_t round = dice_rounds(300, 20000); round > 0; round--) {
    struct rp__queue q = {0};
    char out[20000];
    size_t n = 0, total = 0;
    for (int i = 0; i < 200; i++) {
      struct rp__net_msg *m = letter((char)('a' + i % 26), 7);
      total += m->n;
      assert_int_equal(rp__queue_add(&q, m), 0);
      rp__msg_unref(m);
      if (dice_below(&d, 4) == 0) {
        assert_int_equal(rp__queue_urgent(&q, "<=>", 3), 0);
        total += 3;
      }
      if (dice_below(&d, 2)) n += drain_some(&q, out + n, (size_t)dice_below(&d, 30));
      assert_int_equal(q.bytes, total - n);
    }
    while (q.bytes) n += drain_some(&q, out + n, (size_t)dice_below(&d, 40));
    assert_int_equal(n, total);
    int next = 0;
    for (size_t i = 0; i < n;) {
      size_t len = out[i] == '<' ? 3 : 7;
      if (len == 3) assert_memory_equal(out + i, "<=>", 3);
      for (size_t k = 0; len == 7 && k < 7; k++) assert_int_equal(out[i + k], 'a' + next % 26);
      next += len == 7;
      i += len;
    }
    assert_int_equal(next, 200);
    rp__queue_done(&q);
  }
}

static void flood_urgent(void *arg)
{
  struct end *e = arg;
  int n = 0;
  while ((e->rc = rp__conn_send_urgent(e->c, "pong", 4)) == 0 && n < 100000) n++;
  e->waiting = rp__conn_waiting(e->c);
}

static void urgent_bytes_are_bounded(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 1 << 20, 0);
  in_loop(e.l, flood_urgent, &e);
  assert_int_equal(e.rc, RP_E_LIMIT);
  assert_int_equal(e.waiting, RP_CONN_URGENT_MAX);
  finish_test(&e);
}

/* ---- ends ---- */

static void finish_big(void *arg)
{
  struct end *e = arg;
  fill(e);
  rp__conn_finish(e->c);
  rp__conn_finish(e->c);
  e->rc = send_bytes(e->c, "x", 1);
}

/* All that was queued arrives, then the end, although the peer's own bytes were never looked at. */
static void finishing_writes_the_rest(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 65536, 0);
  in_loop(e.l, finish_big, &e);
  assert_int_equal(e.rc, RP_E_CANCELLED);
  put(e.fd[1], "unread", 6);
  skip_input(e.fd[1], BIG);
  get_eof(e.fd[1]);
  assert_int_equal(news_read(&e.news, &e.closed), 0);
  shutdown(e.fd[1], SHUT_WR);
  news_await(&e.news, &e.closed, 1);
  assert_string_equal(e.why, "closed by this side");
  assert_int_equal(e.input, 0);
  finish_test(&e);
}

static void finish_now(void *arg)
{
  struct end *e = arg;
  rp__conn_finish(e->c);
}

/* One that never closes its side is not waited for. */
static void a_peer_that_stays_is_left(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 65536, 0);
  in_loop(e.l, finish_now, &e);
  get_eof(e.fd[1]);
  news_await(&e.news, &e.closed, 1);
  finish_test(&e);
}

/* The peer has said its last word but still reads: what is queued is sent, and no more. */
static void a_half_closed_peer_gets_what_is_queued(void **state)
{
  (void)state;
  struct end e = {0};
  begin(&e, 65536, 0);
  in_loop(e.l, fill, &e);
  put(e.fd[1], "bye", 3);
  shutdown(e.fd[1], SHUT_WR);
  news_await(&e.news, &e.input, 3);
  skip_input(e.fd[1], BIG);
  get_eof(e.fd[1]);
  news_await(&e.news, &e.closed, 1);
  assert_string_equal(e.why, "the peer closed the connection");
  finish_test(&e);
}

static void a_peer_that_goes_is_noticed(void **state)
{
  (void)state;
  struct end idle = {0}, busy = {0};
  begin(&idle, 65536, 0);
  close(idle.fd[1]);
  idle.fd[1] = -1;
  news_await(&idle.news, &idle.closed, 1);
  finish_test(&idle);
  busy.mute = true;
  begin(&busy, 65536, 0);
  in_loop(busy.l, fill, &busy);
  put(busy.fd[1], "thrown away", 11);
  close(busy.fd[1]);
  busy.fd[1] = -1;
  news_await(&busy.news, &busy.closed, 1);
  finish_test(&busy);
}

static void cutting_inside_callbacks(void **state)
{
  (void)state;
  struct end e = {.cut_on_input = true, .cut_on_closed = true};
  begin(&e, 65536, 0);
  put(e.fd[1], "x", 1);
  news_await(&e.news, &e.closed, 1);
  news_await(&e.news, &e.input, 1);
  assert_string_equal(e.why, "cut by the test");
  get_eof(e.fd[1]);
  finish_test(&e);
}

static void reopen(void *ctx, const char *why)
{
  struct end *e = ctx;
  struct end other = {.l = e->l, .o = e->o};
  on_closed(ctx, why);
  pair_make(other.fd);
  open_end(&other);
  e->rc = other.rc;
  close(other.fd[1]);
}

static void open_reopening(void *arg)
{
  static const struct rp__conn_handler again = {.closed = reopen};
  struct end *e = arg;
  e->rc = rp__conn_open(e->l, e->fd[0], &e->o, &again, e, &e->c, NULL);
}

static void an_ending_loop_takes_no_connections(void **state)
{
  (void)state;
  struct end e = {.l = loop_begin(), .news = NEWS, .o = {1000, 0}};
  pair_make(e.fd);
  in_loop(e.l, open_reopening, &e);
  assert_int_equal(e.rc, 0);
  finish_test(&e);
  assert_int_equal(e.rc, RP_E_CANCELLED);
}

/* ---- TCP ---- */

static void tcp_pair(int fd[2])
{
  struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t n = sizeof(a);
  int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(s >= 0);
  assert_int_equal(bind(s, (struct sockaddr *)&a, sizeof(a)), 0);
  assert_int_equal(listen(s, 1), 0);
  assert_int_equal(getsockname(s, (struct sockaddr *)&a, &n), 0);
  fd[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_int_equal(connect(fd[1], (struct sockaddr *)&a, sizeof(a)), 0);
  fd[0] = accept(s, NULL, NULL);
  assert_true(fd[0] >= 0);
  close(s);
}

static void look_at_options(void *arg)
{
  struct end *e = arg;
  int on = 0;
  unsigned ms = 0;
  socklen_t n = sizeof(on), k = sizeof(ms);
  getsockopt(e->fd[0], IPPROTO_TCP, TCP_NODELAY, &on, &n);
  getsockopt(e->fd[0], IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &k);
  e->rc = on && ms == e->o.stall_ms;
}

/* A reset says why; small messages do not wait for each other; a dead network ends within stall_ms. */
static void tcp_is_tuned_and_resets_are_told(void **state)
{
  (void)state;
  struct end e = {.l = loop_begin(), .news = NEWS, .o = {1000, 5000}};
  struct linger hard = {1, 0};
  tcp_pair(e.fd);
  in_loop(e.l, open_end, &e);
  in_loop(e.l, look_at_options, &e);
  assert_true(e.rc);
  setsockopt(e.fd[1], SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  close(e.fd[1]);
  e.fd[1] = -1;
  news_await(&e.news, &e.closed, 1);
  assert_string_equal(e.why, "Connection reset by peer");
  finish_test(&e);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bytes_flow_both_ways),
      cmocka_unit_test(a_shared_message_reaches_a_thousand_readers),
      cmocka_unit_test(a_full_queue_refuses_and_drains),
      cmocka_unit_test(who_reads_nothing_is_cut_off),
      cmocka_unit_test(a_slow_reader_stays),
      cmocka_unit_test(the_number_of_messages_is_bounded),
      cmocka_unit_test(urgent_bytes_go_first_but_never_inside_a_message),
      cmocka_unit_test(a_queue_keeps_order_at_any_cut),
      cmocka_unit_test(urgent_bytes_are_bounded),
      cmocka_unit_test(finishing_writes_the_rest),
      cmocka_unit_test(a_peer_that_stays_is_left),
      cmocka_unit_test(a_half_closed_peer_gets_what_is_queued),
      cmocka_unit_test(a_peer_that_goes_is_noticed),
      cmocka_unit_test(cutting_inside_callbacks),
      cmocka_unit_test(an_ending_loop_takes_no_connections),
      cmocka_unit_test(tcp_is_tuned_and_resets_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
