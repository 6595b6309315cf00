/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of Phoenix channels, byte by byte (L-03). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/channel/phoenix.h"

static struct rp__phx message;

static int read_text(const char *text, rp_error *err)
{
  return rp__phx_read(false, text, strlen(text), &message, err);
}

static void assert_name(struct rp__str name, const char *want)
{
  if (!want) {
    assert_null(name.p);
    return;
  }
  assert_non_null(name.p);
  assert_string_equal(name.p, want);
  assert_int_equal(name.n, strlen(want));
}

static void a_text_push(void **state)
{
  (void)state;
  assert_int_equal(read_text("[\"3\",\"5\",\"audio:x\",\"transcript_final\",{\"text\":\"hm\"}]", NULL), 0);
  assert_name(message.join_ref, "3");
  assert_name(message.ref, "5");
  assert_name(message.topic, "audio:x");
  assert_name(message.event, "transcript_final");
  assert_false(message.binary);
  assert_true(rp__json_eq(rp__json_get(message.payload, "text"), "hm"));
}

static void a_heartbeat_has_no_join_ref(void **state)
{
  (void)state;
  assert_int_equal(read_text("[null,\"7\",\"phoenix\",\"heartbeat\",{}]", NULL), 0);
  assert_name(message.join_ref, NULL);
  assert_name(message.ref, "7");
}

static void names_are_decoded(void **state)
{
  (void)state;
  assert_int_equal(read_text("[\"\\u0033\",null,\"audio:\\u00e9\",\"a\\\"b\",null]", NULL), 0);
  assert_name(message.join_ref, "3");
  assert_name(message.ref, NULL);
  assert_name(message.topic, "audio:\xc3\xa9");
  assert_name(message.event, "a\"b");
  assert_int_equal(message.payload.type, RP_JSON_NULL);
}

static void what_is_no_message_is_refused_with_its_part(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int code;
    const char *field;
  } bad[] = {
      {"{\"topic\":\"a\",\"event\":\"e\",\"payload\":{},\"ref\":\"1\"}", RP_E_INVALID, ""}, /* version 1 */
      {"[\"1\",\"2\",\"a\",\"e\"]", RP_E_INVALID, ""},
      {"[\"1\",\"2\",\"a\",\"e\",{},1]", RP_E_INVALID, ""},
      {"[1,\"2\",\"a\",\"e\",{}]", RP_E_INVALID, "join_ref"},
      {"[\"1\",2,\"a\",\"e\",{}]", RP_E_INVALID, "ref"},
      {"[\"1\",\"2\",null,\"e\",{}]", RP_E_INVALID, "topic"},
      {"[\"1\",\"2\",\"\",\"e\",{}]", RP_E_INVALID, "topic"},
      {"[\"1\",\"2\",\"a\\u0000b\",\"e\",{}]", RP_E_INVALID, "topic"},
      {"[\"1\",\"2\",\"a\",7,{}]", RP_E_INVALID, "event"},
      {"[\"1\",\"2\",\"a\",\"\",{}]", RP_E_INVALID, "event"},
      {"[\"1\",\"2\",\"a\",\"e\",{}", RP_E_JSON, ""},
      {"hello", RP_E_JSON, ""},
      {"", RP_E_JSON, ""},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    rp_error err = {0};
    assert_int_equal(read_text(bad[i].text, &err), bad[i].code);
    assert_string_equal(err.field, bad[i].field);
    assert_true(err.message[0] != '\0');
  }
}

static void names_have_255_bytes_at_most(void **state)
{
  (void)state;
  char text[400], topic[260];
  memset(topic, 't', sizeof topic);
  topic[255] = '\0';
  snprintf(text, sizeof text, "[null,\"1\",\"%s\",\"e\",{}]", topic);
  assert_int_equal(read_text(text, NULL), 0);
  assert_name(message.topic, topic);
  topic[255] = 't';
  topic[256] = '\0';
  snprintf(text, sizeof text, "[null,\"1\",\"%s\",\"e\",{}]", topic);
  rp_error err = {0};
  assert_int_equal(read_text(text, &err), RP_E_INVALID);
  assert_string_equal(err.field, "topic");
}

/* The frame that the stock client was seen to send. */
static void a_binary_push(void **state)
{
  (void)state;
  static const char frame[] = "\x00\x01\x01\x13\x0b"
                              "36audio:11111111-2222audio_chunk\x01\x02\x03\x04";
  assert_int_equal(rp__phx_read(true, frame, sizeof frame - 1, &message, NULL), 0);
  assert_true(message.binary);
  assert_name(message.join_ref, "3");
  assert_name(message.ref, "6");
  assert_name(message.topic, "audio:11111111-2222");
  assert_name(message.event, "audio_chunk");
  assert_int_equal(message.data.n, 4);
  assert_memory_equal(message.data.p, "\x01\x02\x03\x04", 4);
}

static void binary_frames_that_are_cut_or_not_a_push(void **state)
{
  (void)state;
  static const char whole[] = "\x00\x01\x01\x01\x01"
                              "12te";
  assert_int_equal(rp__phx_read(true, whole, sizeof whole - 1, &message, NULL), 0);
  assert_int_equal(message.data.n, 0);
  for (size_t n = 0; n < sizeof whole - 1; n++) {
    char *exact = malloc(n ? n : 1); /* of its own, so that a read beyond is seen */
    memcpy(exact, whole, n);
    assert_int_equal(rp__phx_read(true, exact, n, &message, NULL), RP_E_INVALID);
    free(exact);
  }
  assert_int_equal(rp__phx_read(true, "\x01\x01\x01\x01\x01xxxx", 9, &message, NULL), RP_E_INVALID);
}

static void assert_out(struct rp__buf *out, const char *want, size_t n)
{
  assert_int_equal(out->err, 0);
  assert_int_equal(out->n, n);
  assert_memory_equal(out->p, want, n);
  rp__buf_reset(out);
}

static void what_is_sent(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
#define WANT(text) assert_out(&out, text, sizeof(text) - 1)
  rp__phx_reply(&out, "3", "5", "audio:x", true, RP_STR("{}"));
  WANT("[\"3\",\"5\",\"audio:x\",\"phx_reply\",{\"status\":\"ok\",\"response\":{}}]");
  rp__phx_reply(&out, NULL, "7", "nowhere", false, RP_STR("{\"reason\":\"unmatched topic\"}"));
  WANT("[null,\"7\",\"nowhere\",\"phx_reply\",{\"status\":\"error\",\"response\":{\"reason\":\"unmatched topic\"}}]");
  rp__phx_push(&out, NULL, NULL, "audio:x", "event", RP_STR("{\"seq\":1}"));
  WANT("[null,null,\"audio:x\",\"event\",{\"seq\":1}]");
  rp__phx_push(&out, "3", "3", "a\"b", "phx_close", RP_STR("{}"));
  WANT("[\"3\",\"3\",\"a\\\"b\",\"phx_close\",{}]");
  rp__phx_reply_binary(&out, "3", "6", "a:x", true, RP_STR("\x01\x02"));
  WANT("\x01\x01\x01\x03\x02"
       "36a:xok\x01\x02");
  rp__phx_broadcast_binary(&out, "a:x", "ev", RP_STR("\xff"));
  WANT("\x02\x03\x02"
       "a:xev\xff");
#undef WANT
}

static void a_name_too_long_for_a_byte_is_not_sent(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(RP_PHX_OUT_MAX);
  char topic[257];
  memset(topic, 't', 256);
  topic[256] = '\0';
  rp__phx_broadcast_binary(&out, topic, "e", RP_STR("x"));
  assert_int_equal(out.err, RP_E_TOO_LARGE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_text_push),
      cmocka_unit_test(a_heartbeat_has_no_join_ref),
      cmocka_unit_test(names_are_decoded),
      cmocka_unit_test(what_is_no_message_is_refused_with_its_part),
      cmocka_unit_test(names_have_255_bytes_at_most),
      cmocka_unit_test(a_binary_push),
      cmocka_unit_test(binary_frames_that_are_cut_or_not_a_push),
      cmocka_unit_test(what_is_sent),
      cmocka_unit_test(a_name_too_long_for_a_byte_is_not_sent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
