/* SPDX-License-Identifier: Apache-2.0 */
/* The conversation: its document, its bounds, streams and damaged snapshots. */
#include "facets_test.h"

static void say(struct rp__fold *f, const char *text)
{
  char body[200];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  tell(f, RP_KIND_MESSAGE, body);
}

static struct rp__json messages_of(const struct rp__buf *shown)
{
  return rp__json_get(rp__json_get(parsed(shown), "conversation"), "messages");
}

static int64_t total_of(const struct rp__buf *shown)
{
  int64_t n = -1;
  rp__json_i64(rp__json_get(rp__json_get(parsed(shown), "conversation"), "total"), &n);
  return n;
}

static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_string_equal(out.p, "{}");
  tell(f, RP_KIND_MESSAGE, "{\"content\":\"h\\u0069\", \"role\" : \"user\"}");
  tell(f, RP_KIND_NOTE, "{\"role\":\"user\",\"content\":\"no message\"}");
  tell(f, RP_KIND_MESSAGE,
       "{\"role\":\"assistant\",\"content\":[{\"type\": \"text\"}],\"message_id\":\"m1\",\"source\":\"acp\",\"x\":1}");
  show(f, &out);
  assert_string_equal(out.p,
                      "{\"conversation\":{\"messages\":["
                      "{\"seq\":1,\"role\":\"user\",\"content\":\"h\\u0069\",\"at\":\"1970-01-01T00:00:01.000Z\"},"
                      "{\"seq\":3,\"role\":\"assistant\",\"content\":[{\"type\": \"text\"}],\"message_id\":\"m1\","
                      "\"source\":\"acp\",\"at\":\"1970-01-01T00:00:03.000Z\"}],\"total\":2},"
                      "\"digest\":{\"requests\":[{\"text\":\"hi\",\"end\":\"open\",\"seq\":1,"
                      "\"at\":\"1970-01-01T00:00:01.000Z\",\"tools\":0,\"edits\":0,\"go_on\":true}]}}");
  assert_sound(f);
}

/* C-08 */
static void the_last_500_stay_and_all_are_counted(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 1; i <= 1750; i++) {
    char text[20];
    snprintf(text, sizeof text, "m%d", i);
    say(f, text);
  }
  show(f, &out);
  struct rp__json messages = messages_of(&out), m;
  struct rp__json_iter it = {0};
  assert_int_equal(rp__json_count(messages), 500);
  assert_int_equal(total_of(&out), 1750);
  for (int64_t want = 1251; rp__json_next(messages, &it, NULL, &m); want++) {
    char text[20];
    int64_t seq = 0;
    snprintf(text, sizeof text, "m%d", (int)want);
    assert_true(rp__json_eq(rp__json_get(m, "content"), text));
    assert_true(rp__json_i64(rp__json_get(m, "seq"), &seq));
    assert_int_equal(seq, want);
  }
  assert_sound(f);
}

static void tell_big(struct rp__fold *f, size_t n)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_str(&body, "{\"role\":\"tool\",\"content\":\"");
  char *p = rp__buf_room(&body, n);
  assert_non_null(p);
  memset(p, 'c', n);
  body.n += n;
  rp__buf_str(&body, "\"}");
  tell_n(f, RP_KIND_MESSAGE, body.p, body.n);
}

static void bytes_are_bounded_by_dropping_the_oldest(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 30; i++) {
    tell_big(f, 300000);
    assert_sound(f);
  }
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 6);
  assert_int_equal(total_of(&out), 30);
  for (int i = 0; i < 100; i++) say(f, "short again");
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 106);
  assert_sound(f);
}

/* Limits of bodies are configurable: what never fits leaves its place and its size. */
static void a_message_too_large_alone_is_named_and_left_out(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  say(f, "before");
  tell_big(f, 3 * 1024 * 1024);
  say(f, "after");
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 3);
  assert_non_null(strstr(out.p, "\"content\":null,\"omitted_bytes\":3145730,"));
  assert_sound(f);
  tell_big(f, 1792 * 1024 - 3 * 4096 - 2);
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 4);
  tell_big(f, 1792 * 1024 - 3 * 4096 - 1);
  tell_big(f, 1024 * 1024);
  show(f, &out);
  assert_int_equal(total_of(&out), 6);
  assert_sound(f);
}

static void bodies_of_other_versions_change_nothing_or_little(void **state)
{
  (void)state;
  static const char *const ignored[] = {"{}",
                                        "[]",
                                        "7",
                                        "{\"role\":\"user\"}",
                                        "{\"content\":\"x\"}",
                                        "{\"role\":5,\"content\":\"x\"}",
                                        "{\"role\":\"user\",\"content\":{}}",
                                        "{\"role\":\"user\",\"content\":null}"};
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (size_t i = 0; i < RP_ARRAY_SIZE(ignored); i++) tell(f, RP_KIND_MESSAGE, ignored[i]);
  show(f, &out);
  assert_string_equal(out.p, "{}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"oracle\",\"content\":\"x\",\"message_id\":5,\"source\":[]}");
  show(f, &out);
  assert_non_null(strstr(out.p, "\"role\":\"oracle\",\"content\":\"x\",\"at\""));
  assert_sound(f);
}

/* N-07: the conversation before is there until new messages displace it, and is not counted. */
static void carried_messages_stay_until_new_ones_displace_them(void **state)
{
  (void)state;
  static const char body[] =
      "{\"carried\":{\"conversation\":["
      "{\"role\":\"user\",\"content\":\"hi\",\"at\":\"2026-01-02T03:04:05.006Z\",\"message_id\":\"m1\"},"
      "{\"role\":\"user\"},7,{\"role\":\"assistant\",\"content\":[],\"at\":\"never\",\"seq\":99}]}}";
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_USAGE, "{}");
  tell(f, RP_KIND_RESTORED, body);
  show(f, &out);
  assert_string_equal(out.p, "{\"conversation\":{\"messages\":["
                             "{\"seq\":2,\"role\":\"user\",\"content\":\"hi\",\"message_id\":\"m1\",\"carried\":true,"
                             "\"at\":\"2026-01-02T03:04:05.006Z\"},"
                             "{\"seq\":2,\"role\":\"assistant\",\"content\":[],\"carried\":true,"
                             "\"at\":\"1970-01-01T00:00:02.000Z\"}],\"total\":0}}");
  assert_sound(f);
  tell(f, RP_KIND_RESTORED, body); /* there are messages now */
  for (int i = 0; i < 499; i++) say(f, "own");
  assert_sound(f);
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 500);
  assert_int_equal(total_of(&out), 499);
  assert_null(strstr(out.p, "\"hi\""));
  assert_non_null(strstr(out.p, "\"carried\":true"));
  say(f, "own");
  show(f, &out);
  assert_null(strstr(out.p, "\"carried\""));
  tell(f, RP_KIND_RESTORED, body);
  show(f, &out);
  assert_int_equal(total_of(&out), 500);
  assert_null(strstr(out.p, "\"carried\""));
  assert_sound(f);
}

/* ---- streams ---- */

#define CHUNK(role, content, more) "{\"role\":\"" role "\",\"content\":" content more ",\"partial\":true}"

static void expect_content(const struct rp__buf *shown, size_t i, const char *raw)
{
  struct rp__json_iter it = {0};
  struct rp__json m;
  for (size_t k = 0; k <= i; k++) assert_true(rp__json_next(messages_of(shown), &it, NULL, &m));
  struct rp__json content = rp__json_get(m, "content");
  if (content.n != strlen(raw) || memcmp(content.p, raw, content.n) != 0)
    fail_msg("%.*s is not %s", (int)content.n, content.p, raw);
}

static void expect_contents(struct rp__fold *f, size_t n, const char *const *raw)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  for (size_t i = 0; i < n; i++) expect_content(&out, i, raw[i]);
  assert_int_equal(rp__json_count(messages_of(&out)), n);
  assert_int_equal(total_of(&out), n);
  assert_sound(f);
}
#define EXPECT(f, ...)                                                                                                 \
  expect_contents(f, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

static void chunks_are_one_message_with_the_first_seq_and_time(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"Hel\"", ",\"message_id\":\"m\\u0031\",\"source\":\"acp\""));
  tell(f, RP_KIND_USAGE, "{\"tokens_in\":5}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"lo\\n\"", ",\"message_id\":\"m1\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("\\u0061ssistant", "\"\"", ",\"message_id\":\"m1\",\"source\":\"x\""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"w\\u00e4\",\"message_id\":\"m1\"}");
  show(f, &out);
  assert_non_null(strstr(
      out.p, "\"conversation\":{\"messages\":[{\"seq\":1,\"role\":\"assistant\",\"content\":\"Hello\\nw\\u00e4\","
             "\"message_id\":\"m\\u0031\",\"source\":\"acp\",\"at\":\"1970-01-01T00:00:01.000Z\"}],"
             "\"total\":1}"));
  assert_int_equal(total_of(&out), 1);
  EXPECT(f, "\"Hello\\nw\\u00e4\"");
  /* It is closed: what comes now with that name is another one. */
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"again\"", ",\"message_id\":\"m1\""));
  EXPECT(f, "\"Hello\\nw\\u00e4\"", "\"again\"");
}

static void without_a_name_the_same_role_goes_on(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"a\"", ""));
  tell(f, RP_KIND_TOOL, "{\"call_id\":\"1\",\"name\":\"n\",\"status\":\"done\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"b\"", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("user", "\"c\"", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"d\"", ""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"e\"}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"f\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"g\"", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"h\"", ",\"message_id\":\"x\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"i\"", ",\"message_id\":\"y\""));
  EXPECT(f, "\"ab\"", "\"c\"", "\"de\"", "\"f\"", "\"g\"", "\"h\"", "\"i\"");
}

/* Speakers take turns in mid-sentence, and whoever ends a stream ends that one. */
static void a_stream_is_one_message_by_its_id_whatever_comes_between(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"on\"", ",\"message_id\":\"1\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"tw\"", ",\"message_id\":\"2\""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"hm\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("user", "\"1 is another's\"", ",\"message_id\":\"1\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"e\"", ",\"message_id\":\"1\""));
  tell(f, RP_KIND_RESTORED, "{\"cause\":\"crash\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"o\"", ",\"message_id\":\"2\""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"!\",\"message_id\":\"1\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"?\"", ",\"message_id\":\"2\""));
  EXPECT(f, "\"one!\"", "\"two?\"", "\"hm\"", "\"1 is another's\"");
}

static void what_is_shown_tells_which_streams_may_go_on(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"a\"", ",\"message_id\":\"1\""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"b\"}");
  show(f, &out);
  assert_non_null(strstr(out.p, "\"message_id\":\"1\",\"partial\":true"));
  rp__buf_reset(&out);
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"\",\"message_id\":\"1\"}");
  show(f, &out);
  assert_null(strstr(out.p, "partial"));
}

/* It says so, or goes on from all that was streamed; without either it is the last piece. */
static void a_whole_message_stands_in_place_of_its_stream(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"Hel\"", ",\"message_id\":\"1\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"orld\"", ",\"message_id\":\"2\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"H\\u0065\"", ",\"message_id\":\"3\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"last\"", ",\"message_id\":\"4\""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"Hello\",\"message_id\":\"1\"}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"world\",\"message_id\":\"2\",\"whole\":true}");
  tell(f, RP_KIND_MESSAGE,
       "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hey\"}],\"message_id\":\"3\"}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"piece\",\"message_id\":\"4\"}");
  EXPECT(f, "\"Hello\"", "\"world\"", "[{\"type\":\"text\",\"text\":\"Hey\"}]", "\"lastpiece\"");
  /* Also when somebody has ended the stream before; and of a message that was never streamed it is just that. */
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"4\",\"message_id\":\"4\",\"whole\":true}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"5\",\"message_id\":\"5\",\"whole\":true}");
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"6\",\"whole\":true}");
  EXPECT(f, "\"Hello\"", "\"world\"", "[{\"type\":\"text\",\"text\":\"Hey\"}]", "\"4\"", "\"5\"", "\"6\"");
}

static void tell_big_chunk(struct rp__fold *f, const char *role, const char *more, size_t n)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_printf(&body, "{\"role\":\"%s\"%s,\"partial\":true,\"content\":\"", role, more);
  for (size_t i = 0; i < n; i++) rp__buf_char(&body, 'c');
  rp__buf_str(&body, "\"}");
  tell_n(f, RP_KIND_MESSAGE, body.p, body.n);
}

/* A stream that was too long for one message stands there in several, and is one again when it comes whole. */
static void a_whole_message_stands_in_place_of_a_long_stream(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"an older one of that name\",\"message_id\":\"m\"}");
  for (int i = 0; i < 5; i++) {
    tell_big_chunk(f, "assistant", ",\"message_id\":\"m\"", 131000);
    tell(f, RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"go on\"}");
  }
  show(f, &out);
  assert_int_equal(total_of(&out), 1 + 3 + 5);
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"short\",\"message_id\":\"m\",\"whole\":true}");
  EXPECT(f, "\"an older one of that name\"", "\"short\"", "\"go on\"", "\"go on\"", "\"go on\"", "\"go on\"",
         "\"go on\"");
}

/* A run that died can't go on with its sentence, unless the message has a name. */
static void a_restart_ends_a_stream_without_a_name(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"a\"", ""));
  tell(f, RP_KIND_RESTORED, "{\"cause\":\"crash\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"b\"", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("user", "\"c\"", ",\"message_id\":\"x\""));
  tell(f, RP_KIND_RESTORED, "{\"cause\":\"crash\"}");
  tell(f, RP_KIND_MESSAGE, CHUNK("user", "\"d\"", ",\"message_id\":\"x\""));
  EXPECT(f, "\"a\"", "\"b\"", "\"cd\"");
}

static void content_blocks_are_joined_and_their_text_goes_on(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[ ]", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[{\"type\":\"text\",\"text\":\"he\"} ]", ",\"source\":\"s\""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[ {\"text\":\"l\\n\",\"type\":\"text\"}]", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[]", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[{\"type\":\"text\",\"text\":\"o\"},{\"type\":\"image\"}]", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[{\"type\":\"text\",\"text\":\"a\"}]", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[{\"type\":\"text\",\"text\":\"b\",\"x\":1}]", ""));
  tell(f, RP_KIND_MESSAGE,
       CHUNK("assistant", "[{\"type\":\"text\",\"text\":\"c\"},5,{\"type\":\"text\",\"text\":\"d\"}]", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "[{\"type\":\"text\",\"text\":\"e\"}]", ""));
  EXPECT(f, "[ {\"type\":\"text\",\"text\":\"hel\\no\"} ,{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"a\"},"
            "{\"type\":\"text\",\"text\":\"bc\",\"x\":1},5,{\"type\":\"text\",\"text\":\"de\"}]");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"a string is another kind\"", ""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}");
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_int_equal(total_of(&out), 3);
}

/* One that says nothing only ends what came in chunks, whichever way it says nothing. */
static void an_empty_message_ends_a_stream(void **state)
{
  static const char *const nothing[] = {"[]", "\"\"", "[ ]"}, *const chunks[] = {"\"a\"", "[{\"type\":\"image\"}]"};
  (void)state;
  for (int i = 0; i < 6; i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    char body[200];
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":%s,\"partial\":true}", chunks[i % 2]);
    tell(f, RP_KIND_MESSAGE, body);
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":%s}", nothing[i / 2]);
    tell(f, RP_KIND_MESSAGE, body);
    EXPECT(f, chunks[i % 2]);
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":%s,\"partial\":true}", chunks[i % 2]);
    tell(f, RP_KIND_MESSAGE, body);
    EXPECT(f, chunks[i % 2], chunks[i % 2]);
  }
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"a\"", ",\"message_id\":\"1\""));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"\",\"message_id\":\"2\"}");
  EXPECT(f, "\"a\"", "\"\"");
}

/* What was thought is no part of what was said, and does not come between its chunks. */
static void thoughts_are_left_out(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"hm\"", ",\"thought\":true"));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":\"\",\"thought\":true}");
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show(f, &out);
  assert_null(strstr(out.p, "conversation"));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"a\"", ""));
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"hm\"", ",\"thought\":true"));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"assistant\",\"content\":[],\"thought\":true}");
  tell(f, RP_KIND_MESSAGE, CHUNK("assistant", "\"b\"", ",\"thought\":false"));
  tell(f, RP_KIND_MESSAGE, "{\"role\":\"user\",\"content\":\"walnut walnut walnut\",\"thought\":true}");
  EXPECT(f, "\"ab\"");
  rp__buf_reset(&out);
  show(f, &out);
  assert_null(strstr(out.p, "walnut")); /* no topic either */
}

static void a_joined_message_is_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 33; i++) tell_big_chunk(f, "assistant", "", 8192 - 2);
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 2);
  assert_int_equal(total_of(&out), 2);
  for (int i = 0; i < 500; i++) {
    tell_big_chunk(f, i % 100 ? "assistant" : "tool", "", 8192);
    if (i % 20 == 0) assert_sound(f);
  }
  show(f, &out);
  assert_in_range(rp__json_count(messages_of(&out)), 7, 16);
  assert_sound(f);
  tell_big_chunk(f, "assistant", "", 3 * 1024 * 1024); /* left out, and nothing can be joined to it */
  tell_big_chunk(f, "assistant", "", 5);
  show(f, &out);
  assert_non_null(strstr(out.p, "\"content\":null,\"omitted_bytes\":3145730,"));
  assert_non_null(strstr(out.p, "\"content\":\"ccccc\""));
  assert_sound(f);
}

/* N-06: what a tool says takes no place from the last 50 turns. */
static void the_last_turns_stay_when_tools_talk(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 70; i++) {
    char text[20];
    snprintf(text, sizeof text, "turn %d", i);
    say(f, text);
    if (i % 7 == 0) tell(f, RP_KIND_MESSAGE, "{\"role\":\"system\",\"content\":\"s\"}");
  }
  for (int i = 0; i < 1000; i++) {
    tell(f, RP_KIND_MESSAGE, "{\"role\":\"tool\",\"content\":\"t\"}");
    if (i % 100 == 0) assert_sound(f);
  }
  for (int i = 0; i < 10; i++) tell_big(f, 400000);
  show(f, &out);
  assert_non_null(strstr(out.p, "\"turn 20\""));
  assert_null(strstr(out.p, "\"turn 19\""));
  for (int i = 70; i < 600; i++) {
    char text[20];
    snprintf(text, sizeof text, "turn %d", i);
    say(f, text);
  }
  show(f, &out);
  assert_int_equal(rp__json_count(messages_of(&out)), 500);
  assert_null(strstr(out.p, "\"turn 99\""));
  assert_non_null(strstr(out.p, "\"turn 100\""));
  assert_sound(f);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char good[] = "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}";
  static const char *const bad[] = {
      "[]",
      "{}",
      "{\"messages\":{},\"total\":1}",
      "{\"messages\":[],\"total\":0}",
      "{\"messages\":[],\"total\":-1}",
      "{\"messages\":[],\"total\":\"1\"}",
      "{\"messages\":[5],\"total\":1}",
      "{\"messages\":[{\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":0,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":null}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"omitted_bytes\":5}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":null,\"omitted_bytes\":0}],\"total\":1}",
      "{\"messages\":[{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"},"
      "{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":2}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"},"
      "{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"},"
      "{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true}],\"total\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true},"
      "{\"seq\":2,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true}],\"total\":0}",
      "{\"messages\":[],\"total\":1,\"open\":true}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}],\"total\":1,\"open\":1}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\",\"carried\":true}],\"total\":0,"
      "\"open\":true}",
      "{\"messages\":[{\"seq\":1,\"at_ms\":5,\"role\":\"user\",\"content\":null,\"omitted_bytes\":9}],\"total\":1,"
      "\"open\":true}",
  };
  rp_error err;
  assert_int_equal(load_part("conversation", good, &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("conversation", bad[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i]);
    assert_non_null(strstr(err.field, "conversation"));
  }
}

static void a_snapshot_with_too_much_is_refused(void **state)
{
  (void)state;
  rp_error err;
  for (int n = 500; n <= 501; n++) {
    RP_AUTOBUF struct rp__buf part = RP_BUF(SAVED_MAX);
    rp__buf_str(&part, "{\"messages\":[");
    for (int i = 1; i <= n; i++)
      rp__buf_printf(&part, "%s{\"seq\":%d,\"at_ms\":5,\"role\":\"user\",\"content\":\"x\"}", i > 1 ? "," : "", i);
    rp__buf_printf(&part, "],\"total\":%d}", n);
    assert_int_equal(load_part("conversation", part.p, &err), n == 500 ? 0 : RP_E_SNAPSHOT_CORRUPT);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(the_last_500_stay_and_all_are_counted),
      cmocka_unit_test(bytes_are_bounded_by_dropping_the_oldest),
      cmocka_unit_test(a_message_too_large_alone_is_named_and_left_out),
      cmocka_unit_test(bodies_of_other_versions_change_nothing_or_little),
      cmocka_unit_test(carried_messages_stay_until_new_ones_displace_them),
      cmocka_unit_test(chunks_are_one_message_with_the_first_seq_and_time),
      cmocka_unit_test(without_a_name_the_same_role_goes_on),
      cmocka_unit_test(a_stream_is_one_message_by_its_id_whatever_comes_between),
      cmocka_unit_test(what_is_shown_tells_which_streams_may_go_on),
      cmocka_unit_test(a_whole_message_stands_in_place_of_its_stream),
      cmocka_unit_test(a_whole_message_stands_in_place_of_a_long_stream),
      cmocka_unit_test(a_restart_ends_a_stream_without_a_name),
      cmocka_unit_test(content_blocks_are_joined_and_their_text_goes_on),
      cmocka_unit_test(an_empty_message_ends_a_stream),
      cmocka_unit_test(thoughts_are_left_out),
      cmocka_unit_test(a_joined_message_is_bounded),
      cmocka_unit_test(the_last_turns_stay_when_tools_talk),
      cmocka_unit_test(refuses_damaged_snapshots),
      cmocka_unit_test(a_snapshot_with_too_much_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
