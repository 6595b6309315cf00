/* SPDX-License-Identifier: Apache-2.0 */
/* WebSockets over a socket: messages, pings, every way to close, silence (L-03, L-10, C-06). */
#include "rig.h"

#include "client.h"
#include "net/ws.h"

#define MAX 100000
#define HEAD "HTTP/1.1 101 the head\r\n\r\n"

struct side {
  struct rp__loop *l;
  struct rp__ws *ws;
  int fd[2];
  struct rp__ws_options o;
  struct news news;
  int messages, drained, closed, code;
  bool binary;
  char why[80];
  struct rp__buf last;
  enum { LISTEN, ECHO, CUT, CLOSE } on_message;
  int rc;
  size_t waiting;
};

static void answer(struct side *s, bool binary, const char *bytes, size_t n)
{
  struct rp__net_msg *m = binary ? rp__ws_binary(bytes, n) : rp__ws_text(bytes, n);
  if (!m) abort();
  s->rc = rp__ws_send(s->ws, m);
  rp__msg_unref(m);
}

static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  struct side *s = ctx;
  s->binary = binary;
  rp__buf_reset(&s->last);
  rp__buf_add(&s->last, bytes, n);
  if (s->on_message == ECHO) answer(s, binary, bytes, n);
  if (s->on_message == CUT) rp__ws_cut(s->ws, "cut by the test");
  if (s->on_message == CLOSE) rp__ws_close(s->ws, 4001, "enough");
  news_add(&s->news, &s->messages, 1);
}

static void on_drained(void *ctx)
{
  struct side *s = ctx;
  news_add(&s->news, &s->drained, 1);
}

static void on_closed(void *ctx, int code, const char *why)
{
  struct side *s = ctx;
  s->code = code;
  snprintf(s->why, sizeof(s->why), "%s", why);
  rp__ws_close(s->ws, 1001, "too late to matter");
  news_add(&s->news, &s->closed, 1);
}

static const struct rp__ws_handler handler = {on_message, on_drained, on_closed};

static void open_side(void *arg)
{
  struct side *s = arg;
  s->rc = rp__ws_open(s->l, s->fd[0], RP_STR(HEAD), &s->o, &handler, s, &s->ws, NULL);
}

static void begin(struct side *s)
{
  char head[sizeof(HEAD) - 1];
  s->l = loop_begin();
  s->news = NEWS;
  s->last = RP_BUF(MAX);
  if (!s->o.max_message) s->o.max_message = MAX;
  if (!s->o.queue_bytes) s->o.queue_bytes = 1 << 20;
  pair_make(s->fd);
  in_loop(s->l, open_side, s);
  assert_int_equal(s->rc, 0);
  get(s->fd[1], head, sizeof(head));
  assert_memory_equal(head, HEAD, sizeof(head));
}

static void finish_test(struct side *s)
{
  if (s->fd[1] >= 0) close(s->fd[1]);
  news_await(&s->news, &s->closed, 1);
  rp__loop_free(s->l);
  assert_int_equal(s->closed, 1);
  rp__buf_done(&s->last);
}

static void put_frame(struct side *s, int first, const void *payload, size_t n)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(CLIENT_MAX);
  client_frame(&b, first, payload, n);
  put(s->fd[1], b.p, b.n);
}

static void put_close(struct side *s, int code, const char *reason)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(200);
  client_close(&b, code, reason);
  put(s->fd[1], b.p, b.n);
}

static void expect(struct side *s, const void *bytes, size_t n)
{
  char got[300];
  assert_true(n <= sizeof(got));
  get(s->fd[1], got, n);
  assert_memory_equal(got, bytes, n);
}
#define EXPECT(s, lit) expect(s, lit, sizeof(lit) - 1)

/* A close frame with that code; whatever the reason. */
static void expect_close(struct side *s, int code)
{
  uint8_t head[4];
  char reason[128];
  get(s->fd[1], head, 4);
  assert_int_equal(head[0], 0x88);
  assert_true(head[1] >= 2 && head[1] <= 125);
  assert_int_equal(head[2] << 8 | head[3], code);
  get(s->fd[1], reason, (size_t)(head[1] - 2));
}

/* ---- messages ---- */

static void messages_go_both_ways(void **state)
{
  (void)state;
  struct side s = {.on_message = ECHO};
  RP_AUTOBUF struct rp__buf big = RP_BUF(MAX);
  begin(&s);
  put_frame(&s, 0x81, "Hello", 5);
  EXPECT(&s, "\x81\x05Hello");
  put_frame(&s, 0x82, "\xff\0\x01", 3);
  EXPECT(&s, "\x82\x03\xff\0\x01");
  put_frame(&s, 0x81, "", 0);
  EXPECT(&s, "\x81\0");
  while (big.n < MAX) rp__buf_char(&big, (char)('a' + big.n % 26));
  put_frame(&s, 0x01, big.p, 4);
  put_frame(&s, 0x80, big.p + 4, big.n - 4);
  EXPECT(&s, "\x81\x7f\0\0\0\0\0\x01\x86\xa0");
  for (size_t at = 0; at < big.n; at += 250) expect(&s, big.p + at, 250);
  assert_int_equal(news_read(&s.news, &s.messages), 4);
  finish_test(&s);
  assert_int_equal(s.code, 1006);
}

/* Bytes that came with the handshake or in pieces are no different; a message that is cut in after a close is dropped.
 */
static void many_frames_in_one_piece(void **state)
{
  (void)state;
  struct side s = {.on_message = ECHO};
  RP_AUTOBUF struct rp__buf b = RP_BUF(CLIENT_MAX);
  begin(&s);
  for (int i = 0; i < 3; i++) client_frame(&b, 0x81, &"abc"[i], 1);
  client_frame(&b, 0x89, "p", 1);
  client_close(&b, 4321, "");
  client_frame(&b, 0x81, "late", 4);
  put(s.fd[1], b.p, b.n);
  EXPECT(&s, "\x8a\x01p\x81\x01"
             "a\x81\x01"
             "b\x81\x01"
             "c");
  expect_close(&s, 4321);
  get_eof(s.fd[1]);
  finish_test(&s);
  assert_int_equal(s.messages, 3);
  assert_int_equal(s.code, 4321);
  assert_string_equal(s.why, "closed by the peer");
}

/* ---- pings ---- */

static void pings_are_answered(void **state)
{
  (void)state;
  struct side s = {0};
  char longest[125], got[127];
  begin(&s);
  put_frame(&s, 0x89, "", 0);
  EXPECT(&s, "\x8a\0");
  memset(longest, 'p', sizeof(longest));
  put_frame(&s, 0x89, longest, sizeof(longest));
  get(s.fd[1], got, sizeof(got));
  assert_memory_equal(got, "\x8a\x7dppp", 5);
  put_frame(&s, 0x8a, "nobody asked", 12);
  for (int i = 0; i < 10; i++) put_frame(&s, 0x89, &"0123456789"[i], 1);
  for (int i = 0; i < 10; i++) {
    char want[3] = {(char)0x8a, 1, (char)('0' + i)};
    expect(&s, want, 3);
  }
  finish_test(&s);
}

static void measure(void *arg)
{
  struct side *s = arg;
  s->waiting = rp__ws_waiting(s->ws);
}

/* Somebody pings and pings and reads nothing: what waits for him is bounded. */
static void a_flood_of_pings_is_bounded(void **state)
{
  (void)state;
  struct side s = {.o = {.queue_bytes = 3000}};
  RP_AUTOBUF struct rp__buf b = RP_BUF(CLIENT_MAX);
  char payload[125] = {0};
  begin(&s);
  while (b.n < CLIENT_MAX / 2) client_frame(&b, 0x89, payload, sizeof(payload));
  put(s.fd[1], b.p, b.n);
  put_frame(&s, 0x81, "done", 4);
  news_await(&s.news, &s.messages, 1);
  in_loop(s.l, measure, &s);
  assert_true(s.waiting > 0 && s.waiting <= 3000);
  finish_test(&s);
}

/* ---- who breaks the rules ---- */

static void rule_breakers_are_told_and_closed(void **state)
{
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    int code;
  } bad[] = {
      {"\x81\x01x", 3, 1002},
      {"\xc1\x81\0\0\0\0x", 7, 1002},
      {"\x81\x81\0\0\0\0\xff", 7, 1007},
      {"\x82\xff\0\0\0\0\0\1\x86\xa1\0\0\0\0x", 15, 1009},
      {"\x88\x81\0\0\0\0x", 7, 1002},
      {"\x88\x82\0\0\0\0\3\xed", 8, 1002},
      {"\x88\x83\0\0\0\0\3\xe8\xff", 9, 1007},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    struct side s = {0};
    begin(&s);
    put(s.fd[1], bad[i].bytes, bad[i].n);
    put_frame(&s, 0x81, "unheard", 7);
    expect_close(&s, bad[i].code);
    get_eof(s.fd[1]);
    finish_test(&s);
    assert_int_equal(s.messages, 0);
    assert_int_equal(s.code, bad[i].code);
  }
}

/* ---- closing ---- */

static void close_it(void *arg)
{
  struct side *s = arg;
  answer(s, false, "last", 4);
  rp__ws_close(s->ws, 1012, "the server restarts");
  rp__ws_close(s->ws, 4000, "once is enough");
  answer(s, false, "never", 5);
}

/* Ours: what was queued, then the frame; the peer's messages on the way are dropped; its answer ends it. */
static void closing_from_this_side(void **state)
{
  (void)state;
  struct side s = {0};
  begin(&s);
  in_loop(s.l, close_it, &s);
  assert_int_equal(s.rc, RP_E_CANCELLED);
  EXPECT(&s, "\x81\x04last\x88\x15\x03\xf4the server restarts");
  put_frame(&s, 0x81, "crossing", 8);
  put_frame(&s, 0x89, "ping", 4);
  assert_int_equal(news_read(&s.news, &s.closed), 0);
  put_close(&s, 1012, "");
  get_eof(s.fd[1]);
  finish_test(&s);
  assert_int_equal(s.messages, 0);
  assert_int_equal(s.code, 1012);
  assert_string_equal(s.why, "closed by this side");
}

static void a_peer_that_does_not_answer_a_close_is_left(void **state)
{
  (void)state;
  struct side s = {0};
  begin(&s);
  in_loop(s.l, close_it, &s);
  news_await(&s.news, &s.closed, 1);
  assert_int_equal(s.code, 1012);
  finish_test(&s);
}

static void the_peer_closes_without_a_code(void **state)
{
  (void)state;
  struct side s = {0};
  begin(&s);
  put_frame(&s, 0x88, "", 0);
  EXPECT(&s, "\x88\0");
  get_eof(s.fd[1]);
  finish_test(&s);
  assert_int_equal(s.code, 1005);
}

static void long_reason(void *arg)
{
  struct side *s = arg;
  char reason[301];
  for (int i = 0; i < 300; i += 3) memcpy(reason + i, "\xe2\x82\xac", 3);
  reason[300] = 0;
  rp__ws_close(s->ws, 1011, reason);
}

/* A reason is cut between two characters. */
static void a_long_reason_is_cut(void **state)
{
  (void)state;
  struct side s = {0};
  char got[125];
  begin(&s);
  in_loop(s.l, long_reason, &s);
  EXPECT(&s, "\x88\x7d\x03\xf3");
  get(s.fd[1], got, 123);
  assert_memory_equal(got + 120, "\xe2\x82\xac", 3);
  finish_test(&s);
}

static void a_message_may_end_it(void **state)
{
  (void)state;
  struct side cut = {.on_message = CUT}, closing = {.on_message = CLOSE};
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
  for (int i = 0; i < 3; i++) client_frame(&b, 0x81, "x", 1);
  begin(&cut);
  put(cut.fd[1], b.p, b.n);
  news_await(&cut.news, &cut.closed, 1);
  finish_test(&cut);
  assert_int_equal(cut.messages, 1);
  assert_int_equal(cut.code, 1006);
  assert_string_equal(cut.why, "cut by the test");
  begin(&closing);
  put(closing.fd[1], b.p, b.n);
  expect_close(&closing, 4001);
  put_close(&closing, 4001, "");
  get_eof(closing.fd[1]);
  finish_test(&closing);
  assert_int_equal(closing.messages, 1);
  assert_int_equal(closing.code, 4001);
}

static void a_peer_that_just_goes(void **state)
{
  (void)state;
  struct side s = {0};
  begin(&s);
  put(s.fd[1], "\x81", 1);
  shutdown(s.fd[1], SHUT_WR);
  news_await(&s.news, &s.closed, 1);
  assert_int_equal(s.code, 1006);
  assert_string_equal(s.why, "the peer closed the connection");
  finish_test(&s);
}

/* ---- slow readers ---- */

#define BIG ((size_t)1 << 20)

static void fill(void *arg)
{
  struct side *s = arg;
  char *bytes = calloc(1, BIG);
  if (!bytes) abort();
  answer(s, true, bytes, BIG);
  free(bytes);
}

static void skip_input(int fd, size_t n)
{
  char got[65536];
  for (size_t k; n; n -= k) {
    k = RP_MIN(n, sizeof(got));
    get(fd, got, k);
  }
}

static void fill_and_close(void *arg)
{
  struct side *s = arg;
  fill(s);
  answer(s, false, "no room", 7);
  rp__ws_close(s->ws, 1012, NULL);
}

/* A full queue takes no message, but it takes the close frame. */
static void a_full_queue_still_closes(void **state)
{
  (void)state;
  struct side s = {.o = {.queue_bytes = 1000}};
  begin(&s);
  in_loop(s.l, fill_and_close, &s);
  assert_int_equal(s.rc, RP_E_LIMIT);
  skip_input(s.fd[1], BIG + 10);
  expect_close(&s, 1012);
  put_close(&s, 1012, "");
  get_eof(s.fd[1]);
  finish_test(&s);
  assert_int_equal(s.drained, 0);
}

static void fill_twice(void *arg)
{
  fill(arg);
  fill(arg);
}

static void a_pong_overtakes_messages_that_wait(void **state)
{
  (void)state;
  struct side s = {.o = {.queue_bytes = 4 * BIG}};
  begin(&s);
  in_loop(s.l, fill_twice, &s);
  put_frame(&s, 0x89, "now", 3);
  put_frame(&s, 0x81, "x", 1);
  news_await(&s.news, &s.messages, 1);
  skip_input(s.fd[1], BIG + 10);
  EXPECT(&s, "\x8a\x03now\x82\x7f\0\0\0\0\0\x10\0\0");
  skip_input(s.fd[1], BIG);
  finish_test(&s);
}

static void who_reads_nothing_is_cut_off(void **state)
{
  (void)state;
  struct side s = {.o = {.stall_ms = 50}};
  begin(&s);
  in_loop(s.l, fill, &s);
  news_await(&s.news, &s.closed, 1);
  assert_int_equal(s.code, 1006);
  assert_string_equal(s.why, "it took nothing for too long");
  finish_test(&s);
}

/* ---- silence ---- */

static void the_silent_are_pinged_and_then_closed(void **state)
{
  (void)state;
  struct side s = {.o = {.idle_ms = 50}};
  begin(&s);
  EXPECT(&s, "\x89\0");
  expect_close(&s, 1001);
  news_await(&s.news, &s.closed, 1);
  assert_int_equal(s.code, 1001);
  finish_test(&s);
}

/* Any byte is a sign of life; a pong keeps it open as long as it is given. */
static void those_who_answer_stay(void **state)
{
  (void)state;
  struct side s = {.o = {.idle_ms = 500}};
  begin(&s);
  for (int i = 0; i < 3; i++) {
    EXPECT(&s, "\x89\0");
    put_frame(&s, 0x8a, "", 0);
  }
  put_frame(&s, 0x81, "x", 1);
  news_await(&s.news, &s.messages, 1);
  assert_int_equal(news_read(&s.news, &s.closed), 0);
  finish_test(&s);
  assert_int_equal(s.code, 1006);
}

/* ---- the end of the loop ---- */

static void the_loop_ends_under_it(void **state)
{
  (void)state;
  struct side s = {.o = {.idle_ms = 1000}};
  begin(&s);
  put(s.fd[1], "\x81\x85\0\0", 4);
  rp__loop_free(s.l);
  assert_int_equal(s.closed, 1);
  assert_int_equal(s.code, 1006);
  assert_string_equal(s.why, "the server stops");
  close(s.fd[1]);
  rp__buf_done(&s.last);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_go_both_ways),
      cmocka_unit_test(many_frames_in_one_piece),
      cmocka_unit_test(pings_are_answered),
      cmocka_unit_test(a_flood_of_pings_is_bounded),
      cmocka_unit_test(rule_breakers_are_told_and_closed),
      cmocka_unit_test(closing_from_this_side),
      cmocka_unit_test(a_peer_that_does_not_answer_a_close_is_left),
      cmocka_unit_test(the_peer_closes_without_a_code),
      cmocka_unit_test(a_long_reason_is_cut),
      cmocka_unit_test(a_message_may_end_it),
      cmocka_unit_test(a_peer_that_just_goes),
      cmocka_unit_test(a_full_queue_still_closes),
      cmocka_unit_test(a_pong_overtakes_messages_that_wait),
      cmocka_unit_test(who_reads_nothing_is_cut_off),
      cmocka_unit_test(the_silent_are_pinged_and_then_closed),
      cmocka_unit_test(those_who_answer_stay),
      cmocka_unit_test(the_loop_ends_under_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
