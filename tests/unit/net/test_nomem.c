/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation fails, for every n: an error or a closed socket, never a crash, never a leak (L-03). */
#include "rig.h"

#include "client.h"
#include "net/ws.h"
#include "nomem.h"

struct side {
  struct rp__loop *l;
  struct rp__ws *ws;
  int fd, rc, closed, messages;
  struct news news;
};

static void on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  struct side *s = ctx;
  for (int i = 0; i < 6; i++) {
    struct rp__net_msg *m = binary ? rp__ws_binary(bytes, n) : rp__ws_text(bytes, n);
    if (m) rp__ws_send(s->ws, m);
    rp__msg_unref(m);
  }
  s->messages++;
}

static void on_closed(void *ctx, int code, const char *why)
{
  struct side *s = ctx;
  assert_true(code >= 1000 && why);
  news_add(&s->news, &s->closed, 1);
}

static void open_side(void *arg)
{
  static const struct rp__ws_handler handler = {on_message, NULL, on_closed};
  static const struct rp__ws_options o = {.max_message = 1000, .queue_bytes = 10000, .stall_ms = 5000, .idle_ms = 5000};
  struct side *s = arg;
  s->rc = rp__ws_open(s->l, s->fd, RP_STR("101\n"), &o, &handler, s, &s->ws, NULL);
}

static void conversation(struct side *s, const struct rp__buf *bytes)
{
  int fd[2];
  char got[4096];
  pair_make(fd);
  s->fd = fd[0];
  in_loop(s->l, open_side, s);
  if (s->rc == 0) {
    put(fd[1], bytes->p, bytes->n);
    shutdown(fd[1], SHUT_WR);
    while (recv(fd[1], got, sizeof(got), 0) > 0) {
    }
    news_await(&s->news, &s->closed, 1);
  } else {
    assert_int_equal(s->rc, RP_E_NOMEM);
    get_eof(fd[1]);
  }
  close(fd[1]);
}

static bool once(int n, const struct rp__buf *bytes)
{
  struct side s = {.news = NEWS};
  atomic_store(&failed, false);
  atomic_store(&left, n);
  int rc = rp__loop_new(&s.l, NULL);
  if (rc) {
    assert_int_equal(rc, RP_E_NOMEM);
    return true;
  }
  assert_int_equal(rp__loop_start(s.l, NULL), 0);
  conversation(&s, bytes);
  atomic_store(&left, -1);
  rp__loop_free(s.l);
  assert_int_equal(s.closed, s.rc == 0);
  if (!atomic_load(&failed)) assert_int_equal(s.messages, 2);
  return atomic_load(&failed);
}

static void every_allocation_may_fail(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf bytes = RP_BUF(CLIENT_MAX);
  int n = 0;
  client_frame(&bytes, 0x81, "Hello", 5);
  client_frame(&bytes, 0x89, "ping", 4);
  client_frame(&bytes, 0x01, "frag", 4);
  client_frame(&bytes, 0x80, "ments", 5);
  client_close(&bytes, 4000, "bye");
  while (once(n, &bytes)) n++;
  assert_true(n > 12);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
