/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, the handshake and what they need, against the RFCs' own examples (L-03, C-06). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "client.h"
#include "json/scan.h"
#include "net/frames.h"
#include "net/sha1.h"
#include "base/utf8.h"
#include "net/ws.h"
#include "tests/lib/dice.h"

#define MAX 1000

/* ---- SHA-1 (RFC 3174) ---- */

static void sha1_is(const char *text, size_t repeat, const char *hex)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(CLIENT_MAX);
  uint8_t out[RP_SHA1_SIZE];
  char got[2 * RP_SHA1_SIZE + 1];
  for (size_t i = 0; i < repeat; i++) rp__buf_str(&b, text);
  rp__sha1(b.p, b.n, out);
  for (size_t i = 0; i < RP_SHA1_SIZE; i++) snprintf(got + 2 * i, 3, "%02x", out[i]);
  assert_string_equal(got, hex);
}

static void sha1_of_the_rfc(void **state)
{
  (void)state;
  sha1_is("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d");
  sha1_is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  sha1_is("a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  sha1_is("0123456701234567012345670123456701234567012345670123456701234567", 10,
          "dea356a2cddd90c7a7ecedc5ebb563934f460452");
  sha1_is("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

/* ---- UTF-8 ---- */

static bool plain_utf8(const char *p, size_t n)
{
  const char *end = p + n;
  while (p < end) {
    unsigned k = rp__utf8_len(p, end);
    if (!k) return false;
    p += k;
  }
  return true;
}

/* Of random bytes at the edges of what is valid: the same word as the JSON reader's, wherever it is cut. */
static void utf8_agrees_with_the_json_reader(void **state)
{
  (void)state;
  static const uint8_t edges[] = {0,    'a',  0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
                                  0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff};
  struct dice d = dice_new();
  int valid = 0;
  for (int64_t round = dice_rounds(300000, 5000000); round > 0; round--) {
    char text[16];
    size_t n = (size_t)dice_below(&d, sizeof(text));
    for (size_t i = 0; i < n; i++) text[i] = (char)edges[dice_below(&d, sizeof(edges))];
    size_t cut = (size_t)dice_below(&d, (int64_t)n + 1);
    struct rp__utf8 u = {0};
    bool got = rp__utf8_feed(&u, text, cut) && rp__utf8_feed(&u, text + cut, n - cut) && !u.need;
    if (got != plain_utf8(text, n)) fail();
    valid += got && n > 3;
  }
  assert_true(valid > 0);
}

/* ---- the handshake ---- */

#define RFC_KEY "dGhlIHNhbXBsZSBub25jZQ=="

static void the_handshake_of_the_rfc(void **state)
{
  (void)state;
  struct rp__ws_hello hello = {RP_GET, "Upgrade", "websocket", "13", RFC_KEY};
  RP_AUTOBUF struct rp__buf b = RP_BUF(1000), c = RP_BUF(1000), small = RP_BUF(20);
  assert_int_equal(rp__ws_answer(&hello, NULL, &b, NULL), 0);
  assert_string_equal(b.p, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n" RP_HTTP_SAFE_LINES "\r\n");
  hello.connection = "keep-alive , UPGRADE";
  hello.upgrade = "h2c, WebSocket\t";
  assert_int_equal(rp__ws_answer(&hello, "phoenix", &c, NULL), 0);
  assert_non_null(strstr(c.p, "\r\nSec-WebSocket-Protocol: phoenix\r\n\r\n"));
  assert_null(strstr(c.p, "Extensions"));
  assert_int_equal(rp__ws_answer(&hello, NULL, &small, NULL), RP_E_TOO_LARGE);
}

static void a_wrong_handshake_is_told(void **state)
{
  (void)state;
  static const struct {
    struct rp__ws_hello hello;
    const char *field, *hint;
  } wrong[] = {
      {{RP_POST, "Upgrade", "websocket", "13", RFC_KEY}, "", ""},
      {{RP_GET, NULL, "websocket", "13", RFC_KEY}, "Connection", ""},
      {{RP_GET, "keep-alive, not-upgrade", "websocket", "13", RFC_KEY}, "Connection", ""},
      {{RP_GET, "Upgrade", NULL, "13", RFC_KEY}, "Upgrade", "WebSocket client"},
      {{RP_GET, "Upgrade", "websockets", "13", RFC_KEY}, "Upgrade", "WebSocket client"},
      {{RP_GET, "Upgrade", "websocket", NULL, RFC_KEY}, "Sec-WebSocket-Version", "13"},
      {{RP_GET, "Upgrade", "websocket", "8", RFC_KEY}, "Sec-WebSocket-Version", "13"},
      {{RP_GET, "Upgrade", "websocket", "013", RFC_KEY}, "Sec-WebSocket-Version", "13"},
      {{RP_GET, "Upgrade", "websocket", "13", NULL}, "Sec-WebSocket-Key", ""},
      {{RP_GET, "Upgrade", "websocket", "13", ""}, "Sec-WebSocket-Key", ""},
      {{RP_GET, "Upgrade", "websocket", "13", "dGhlIHNhbXBsZSBub25jZQ="}, "Sec-WebSocket-Key", ""},
      {{RP_GET, "Upgrade", "websocket", "13", "dGhlIHNhbXBsZSBub25jZTE="}, "Sec-WebSocket-Key", ""},
      {{RP_GET, "Upgrade", "websocket", "13", "!Ghl IHNhbXBsZSBub25jZQ="}, "Sec-WebSocket-Key", ""},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(wrong); i++) {
    RP_AUTOBUF struct rp__buf b = RP_BUF(1000);
    rp_error err = {0};
    assert_int_equal(rp__ws_answer(&wrong[i].hello, NULL, &b, &err), RP_E_USAGE);
    assert_string_equal(err.field, wrong[i].field);
    assert_non_null(strstr(err.hint, wrong[i].hint));
    assert_true(err.message[0] != 0);
    assert_int_equal(b.n, 0);
  }
}

/* ---- frames out ---- */

static void heads_of_frames(void **state)
{
  (void)state;
  char out[10];
  assert_int_equal(rp__ws_frame_head(false, 0, out), 2);
  assert_memory_equal(out, "\x81\x00", 2);
  assert_int_equal(rp__ws_frame_head(true, 125, out), 2);
  assert_memory_equal(out, "\x82\x7d", 2);
  assert_int_equal(rp__ws_frame_head(false, 126, out), 4);
  assert_memory_equal(out, "\x81\x7e\x00\x7e", 4);
  assert_int_equal(rp__ws_frame_head(true, 65535, out), 4);
  assert_memory_equal(out, "\x82\x7e\xff\xff", 4);
  assert_int_equal(rp__ws_frame_head(false, 65536, out), 10);
  assert_memory_equal(out, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10);
  struct rp__net_msg *m = rp__ws_text("Hello", 5);
  assert_int_equal(m->n, 7);
  assert_memory_equal(m->bytes, "\x81\x05Hello", 7);
  rp__msg_unref(m);
  assert_null(rp__ws_binary(NULL, SIZE_MAX));
}

/* ---- frames in ---- */

struct heard {
  struct rp__buf log; /* "T<text>", "B<bytes>", "8<payload>" … */
  int stop_after, told;
};

static bool note(struct heard *h, char kind, const char *bytes, size_t n)
{
  rp__buf_char(&h->log, kind);
  rp__buf_add(&h->log, bytes, n);
  rp__buf_char(&h->log, '|');
  return ++h->told != h->stop_after;
}

static bool on_message(void *ctx, bool binary, const char *bytes, size_t n)
{
  return note(ctx, binary ? 'B' : 'T', bytes, n);
}

static bool on_control(void *ctx, enum rp__control kind, const char *bytes, size_t n)
{
  return note(ctx, kind == RP_FRAME_PING ? '9' : kind == RP_FRAME_PONG ? 'A' : '8', bytes, n);
}

static const struct rp__frames_handler handler = {on_message, on_control};

/* Feeds in pieces of `step` bytes; returns the code. `*ret_rest`: something is kept. */
static int feed(const struct rp__buf *in, size_t step, struct heard *h, bool *ret_rest)
{
  struct rp__frames *f = NULL;
  const char *why = NULL;
  int rc = 0;
  for (size_t at = 0; at < in->n && !rc; at += step)
    rc = rp__frames_feed(&f, in->p + at, RP_MIN(step, in->n - at), MAX, &handler, h, &why);
  assert_true(!rc == !why);
  *ret_rest = f != NULL;
  rp__frames_free(f);
  return rc;
}

static void messages_arrive_at_any_cut(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf in = RP_BUF(CLIENT_MAX);
  char big[900];
  memset(big, 'z', sizeof(big));
  client_frame(&in, 0x81, "Hello", 5);
  client_frame(&in, 0x01, "fra\xc3", 4);
  client_frame(&in, 0x89, "are you there", 13);
  client_frame(&in, 0x00, "\xa9g", 2);
  client_frame(&in, 0x00, "", 0);
  client_frame(&in, 0x8a, "", 0);
  client_frame(&in, 0x80, "ments", 5);
  client_frame(&in, 0x82, big, sizeof(big));
  client_frame(&in, 0x82, "", 0);
  client_close(&in, 1000, "bye");
  for (size_t step = 1; step <= in.n; step++) {
    struct heard h = {.log = RP_BUF(CLIENT_MAX)};
    bool rest;
    assert_int_equal(feed(&in, step, &h, &rest), 0);
    assert_false(rest);
    assert_true(strncmp(h.log.p, "THello|9are you there|A|Tfra\xc3\xa9gments|Bzzz", 40) == 0);
    assert_int_equal(h.told, 7);
    assert_memory_equal(h.log.p + h.log.n - 10, "|B|8\x03\xe8", 6);
    rp__buf_done(&h.log);
  }
}

/* Nothing is kept between messages; inside a frame or between fragments something is. */
static void nothing_is_kept_at_rest(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf in = RP_BUF(CLIENT_MAX);
  const char *why;
  struct heard h = {.log = RP_BUF(CLIENT_MAX)};
  struct rp__frames *f = NULL;
  char payload[300] = {0};
  client_frame(&in, 0x82, payload, sizeof(payload));
  for (size_t at = 0; at < in.n; at++) {
    assert_int_equal(rp__frames_feed(&f, in.p + at, 1, MAX, &handler, &h, &why), 0);
    assert_true((f == NULL) == (at == in.n - 1));
  }
  rp__buf_reset(&in);
  client_frame(&in, 0x01, "a", 1);
  assert_int_equal(rp__frames_feed(&f, in.p, in.n, MAX, &handler, &h, &why), 0);
  assert_non_null(f);
  rp__buf_reset(&in);
  client_frame(&in, 0x80, "b", 1);
  assert_int_equal(rp__frames_feed(&f, in.p, in.n, MAX, &handler, &h, &why), 0);
  assert_null(f);
  rp__buf_done(&h.log);
}

static void a_handler_may_end_it(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf in = RP_BUF(CLIENT_MAX);
  struct heard h = {.log = RP_BUF(CLIENT_MAX), .stop_after = 2};
  bool rest;
  for (int i = 0; i < 4; i++) client_frame(&in, 0x81, "x", 1);
  assert_int_equal(feed(&in, in.n, &h, &rest), 0);
  assert_int_equal(h.told, 2);
  rp__buf_done(&h.log);
}

static void broken_frames_get_their_codes(void **state)
{
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    int code;
  } raw[] = {
#define RAW(s, code) {s, sizeof(s) - 1, code}
      RAW("\x81\x01x", 1002),                             /* no mask */
      RAW("\x89\x00\x81", 1002),                          /* no mask on a control frame */
      RAW("\xc1\x81\0\0\0\0x", 1002),                     /* RSV1, as with deflate */
      RAW("\xa1\x81\0\0\0\0x", 1002),                     /* RSV2 */
      RAW("\x91\x81\0\0\0\0x", 1002),                     /* RSV3 */
      RAW("\x83\x81\0\0\0\0x", 1002),                     /* reserved opcodes */
      RAW("\x87\x80\0\0\0\0", 1002),                      /* */
      RAW("\x8b\x80\0\0\0\0", 1002),                      /* */
      RAW("\x8f\x80\0\0\0\0", 1002),                      /* */
      RAW("\x80\x81\0\0\0\0x", 1002),                     /* continues nothing */
      RAW("\x01\x81\0\0\0\0x\x81\x81\0\0\0\0y", 1002),    /* begins inside a message */
      RAW("\x09\x80\0\0\0\0", 1002),                      /* a fragmented ping */
      RAW("\x89\xfe\0\x7e\0\0\0\0", 1002),                /* a ping over 125 bytes */
      RAW("\x81\xfe\0\x7d\0\0\0\0x", 1002),               /* a length in a longer form than needed */
      RAW("\x81\xff\0\0\0\0\0\0\xff\xff\0\0\0\0x", 1002), /* */
      RAW("\x81\xff\x80\0\0\0\0\0\0\0\0\0\0\0x", 1002),   /* a length with its top bit */
      RAW("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0x", 1009),
      RAW("\x82\xfe\x03\xe9\0\0\0\0x", 1009), /* 1,001 bytes of 1,000 */
      RAW("\x02\xfe\x03\xe8\0\0\0\0", 0),     /* 1,000: let them come */
      RAW("\x81\x81\0\0\0\0\xff", 1007),      /* not UTF-8 */
      RAW("\x01\x81\0\0\0\0\xc0", 1007),      /* not after any continuation */
      RAW("\x81\x82\0\0\0\0\xe2\x82", 1007),  /* ends inside a character */
      RAW("\x01\x82\0\0\0\0\xe2\x82\x80\x81\0\0\0\0A", 1007),
      RAW("\x01\x82\0\0\0\0\xe2\x82\x80\x80\0\0\0\0", 1007),
      RAW("\x81\x83\0\0\0\0\xed\xa0\x80", 1007), /* a surrogate */
      RAW("\x82\x81\0\0\0\0\xff", 0),            /* binary may be anything */
#undef RAW
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(raw); i++) {
    RP_AUTOBUF struct rp__buf in = RP_BUF(raw[i].n);
    rp__buf_add(&in, raw[i].bytes, raw[i].n);
    for (size_t step = 1; step <= raw[i].n; step += raw[i].n - 1) {
      struct heard h = {.log = RP_BUF(CLIENT_MAX)};
      bool rest;
      int code = feed(&in, step, &h, &rest);
      if (code != raw[i].code) fail_msg("case %zu in steps of %zu: %d", i, step, code);
      rp__buf_done(&h.log);
    }
  }
}

/* The fragments of a message count together, however small; what is over is never stored. */
static void fragments_are_bounded_together(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf in = RP_BUF(CLIENT_MAX), one = RP_BUF(100);
  struct heard h = {.log = RP_BUF(CLIENT_MAX)};
  bool rest;
  client_frame(&in, 0x02, "", 0);
  for (int i = 0; i < 50000; i++) client_frame(&in, 0x00, "", 0);
  for (int i = 0; i < MAX; i++) client_frame(&in, 0x00, "x", 1);
  client_frame(&one, 0x80, "y", 1);
  size_t n = in.n;
  client_frame(&in, 0x80, "", 0);
  assert_int_equal(feed(&in, 4096, &h, &rest), 0);
  assert_int_equal(h.log.n, MAX + 2);
  in.n = n;
  rp__buf_add(&in, one.p, one.n);
  rp__buf_reset(&h.log);
  assert_int_equal(feed(&in, 4096, &h, &rest), 1009);
  assert_int_equal(h.log.n, 0);
  rp__buf_done(&h.log);
}

static void close_codes(void **state)
{
  (void)state;
  for (int code = 0; code < 65536; code++) {
    char payload[2] = {(char)(code >> 8), (char)code};
    bool good = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) || (code >= 3000 && code < 5000);
    int wrong = 0;
    assert_int_equal(rp__close_code(payload, 2, &wrong), good ? code : 0);
    assert_int_equal(wrong, good ? 0 : 1002);
  }
  int wrong = 0;
  assert_int_equal(rp__close_code("", 0, &wrong), 1005);
  assert_int_equal(rp__close_code("\x03", 1, &wrong), 0);
  assert_int_equal(wrong, 1002);
  assert_int_equal(rp__close_code("\x03\xe8\xff", 3, &wrong), 0);
  assert_int_equal(wrong, 1007);
  assert_int_equal(rp__close_code("\x03\xe8\xc3", 3, &wrong), 0);
  assert_int_equal(wrong, 1007);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sha1_of_the_rfc),
      cmocka_unit_test(utf8_agrees_with_the_json_reader),
      cmocka_unit_test(the_handshake_of_the_rfc),
      cmocka_unit_test(a_wrong_handshake_is_told),
      cmocka_unit_test(heads_of_frames),
      cmocka_unit_test(messages_arrive_at_any_cut),
      cmocka_unit_test(nothing_is_kept_at_rest),
      cmocka_unit_test(a_handler_may_end_it),
      cmocka_unit_test(broken_frames_get_their_codes),
      cmocka_unit_test(fragments_are_bounded_together),
      cmocka_unit_test(close_codes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
