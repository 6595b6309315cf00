/* SPDX-License-Identifier: Apache-2.0 */
/* Notes, frames, transcript and conversation memory. */
#include "facets_test.h"

static struct rp__json evidence_of(const struct rp__fold *f, struct rp__buf *out)
{
  show(f, out);
  return rp__json_get(parsed(out), "evidence");
}

static size_t count_of(const struct rp__fold *f, const char *part)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  return rp__json_count(rp__json_get(evidence_of(f, &out), part));
}

static void assert_transcript(const struct rp__fold *f, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  if (!rp__json_eq(rp__json_get(evidence_of(f, &out), "transcript"), want)) fail_msg("%s", out.p);
}

static void assert_memory(const struct rp__fold *f, const char *want)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  struct rp__json memory = rp__json_get(evidence_of(f, &out), "memory");
  if (memory.n != strlen(want) || memcmp(memory.p, want, memory.n) != 0) fail_msg("%s", out.p);
}

/* L-07, L-13 */
static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_NOTE,
       "{\"id\":\"n1\",\"text\":\"a \\\"red\\\" car\",\"category\":\"thing\",\"confidence\":0.9,"
       "\"timestamp\":12.5,\"context_used\":[\"n0\"],\"seq\":77}");
  tell(f, RP_KIND_NOTE, "{\"id\":2,\"text\":\"x\"}");
  tell(f, RP_KIND_FRAME,
       "{\"frame_id\":\"f1\",\"timestamp\":13,\"embedding\":[0.1, 0.2],\"uploaded_at\":\"2026-01-01\"}");
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"hello\",\"final\":true}");
  tell(f, RP_KIND_INTENT, "{\"topics\":[\"cars\"],\"intent\":\"buy\"}");
  struct rp__json evidence = evidence_of(f, &out);
  static const char want[] =
      "{\"notes\":[{\"id\":\"n1\",\"text\":\"a \\\"red\\\" car\",\"category\":\"thing\",\"confidence\":0.9,"
      "\"timestamp\":12.5,\"seq\":1,\"at\":\"1970-01-01T00:00:01.000Z\"},"
      "{\"id\":2,\"text\":\"x\",\"category\":null,\"confidence\":null,\"timestamp\":null,\"seq\":2,"
      "\"at\":\"1970-01-01T00:00:02.000Z\"}],"
      "\"frames\":[{\"frame_id\":\"f1\",\"timestamp\":13,\"embedding\":[0.1, 0.2],\"uploaded_at\":\"2026-01-01\","
      "\"seq\":3,\"at\":\"1970-01-01T00:00:03.000Z\"}],\"transcript\":\"hello\","
      "\"memory\":{\"topics\":[\"cars\"],\"intent\":\"buy\",\"context\":null},\"context_used\":1}";
  assert_int_equal(evidence.n, sizeof want - 1);
  assert_memory_equal(evidence.p, want, evidence.n);
  assert_sound(f);
}

/* L-13 */
static void notes_that_used_context_are_counted(void **state)
{
  (void)state;
  static const char *const used[] = {"true", "[1]", "{\"a\":1}"}, *const unused[] = {"false", "[]", "{ }", "null", "1"};
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  char body[100];
  int64_t n = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(used) + RP_ARRAY_SIZE(unused); i++) {
    const char *v = i < RP_ARRAY_SIZE(used) ? used[i] : unused[i - RP_ARRAY_SIZE(used)];
    snprintf(body, sizeof body, "{\"id\":1,\"text\":\"t\",\"context_used\":%s}", v);
    tell(f, RP_KIND_NOTE, body);
  }
  assert_true(rp__json_i64(rp__json_get(evidence_of(f, &out), "context_used"), &n));
  assert_int_equal(n, 3);
}

static void the_newest_notes_and_frames_stay(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  char body[100];
  for (int i = 1; i <= 600; i++) {
    snprintf(body, sizeof body, "{\"id\":%d,\"text\":\"t\"}", i);
    tell(f, RP_KIND_NOTE, body);
    snprintf(body, sizeof body, "{\"frame_id\":%d,\"timestamp\":%d.5,\"embedding\":[%d]}", i, i, i);
    tell(f, RP_KIND_FRAME, body);
  }
  assert_int_equal(count_of(f, "notes"), 500);
  assert_int_equal(count_of(f, "frames"), 240);
  evidence_of(f, &out);
  assert_non_null(strstr(out.p, "\"notes\":[{\"id\":101,"));
  assert_non_null(strstr(out.p, "\"frames\":[{\"frame_id\":361,\"timestamp\":361.5,\"seq\":722,"));
  assert_non_null(strstr(out.p, "{\"frame_id\":580,\"timestamp\":580.5,\"seq\"")); /* 20 embeddings */
  assert_non_null(strstr(out.p, "{\"frame_id\":581,\"timestamp\":581.5,\"embedding\":[581],"));
  assert_sound(f);
}

static void bytes_are_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX), out = RP_BUF(SAVED_MAX);
  for (int i = 1; i <= 40; i++) {
    rp__buf_reset(&body);
    rp__buf_printf(&body, "{\"id\":%d,\"text\":\"", i);
    for (int k = 0; k < 9000; k++) rp__buf_str(&body, i % 2 ? "\\u0001" : "\xe2\x82\xac");
    rp__buf_str(&body, "\"}");
    tell(f, RP_KIND_NOTE, body.p);
    rp__buf_reset(&body);
    rp__buf_printf(&body, "{\"frame_id\":%d,\"timestamp\":1,\"embedding\":\"", i);
    for (int k = 0; k < (i % 3 ? 16381 : 16382); k++) rp__buf_char(&body, 'e'); /* every third is too long */
    rp__buf_str(&body, "\"}");
    tell(f, RP_KIND_FRAME, body.p);
    assert_sound(f);
  }
  assert_int_equal(count_of(f, "frames"), 40);
  evidence_of(f, &out);
  assert_null(strstr(out.p, "\"frame_id\":39,\"timestamp\":1,\"embedding\""));
  assert_non_null(strstr(out.p, "\"frame_id\":40,\"timestamp\":1,\"embedding\""));
}

static void an_interim_text_is_replaced(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"hel\",\"final\":false}");
  assert_transcript(f, "hel");
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"hello wor\",\"final\":false}");
  assert_transcript(f, "hello wor");
  assert_sound(f);
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"Hello world.\",\"final\":true}");
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"How\",\"final\":false}");
  assert_transcript(f, "Hello world. How");
  assert_sound(f);
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"How\\u0000are\\tyou?\\n\"}"); /* final unless told otherwise */
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"Fine.\",\"final\":true}");
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"\",\"final\":false}");
  assert_transcript(f, "Hello world. How are you?\nFine.");
  assert_sound(f);
}

/* The tail of 16 KiB, cut before a character. */
static void the_transcript_keeps_its_tail(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX), out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  for (int round = 0; round < 3; round++) {
    rp__buf_reset(&body);
    rp__buf_str(&body, "{\"text\":\"");
    for (int i = 0; i < 4000; i++) rp__buf_str(&body, round == 1 ? "\\\"\\\\\\n" : "\xe2\x82\xac\xc3\xa4");
    rp__buf_str(&body, "\"}");
    tell(f, RP_KIND_TRANSCRIPT, body.p);
    rp__buf_reset(&text);
    rp__json_text(rp__json_get(evidence_of(f, &out), "transcript"), &text);
    assert_true(text.n <= 16384 && text.n > (round == 0 ? 16000 : 16380));
    assert_true(((unsigned char)text.p[0] & 0xc0) != 0x80);
    assert_sound(f);
  }
}

static void the_memory_of_the_conversation_is_merged(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_INTENT, "{\"topics\":[\"a\",\"b\"],\"intent\":\"learn\",\"context\":{\"x\":1,\"y\":2}}");
  tell(f, RP_KIND_INTENT, "{\"topics\":[\"\\u0061\",\"c\",7,\"\"],\"intent\":null,\"context\":{\"y\":3,\"z\":{}}}");
  assert_memory(f,
                "{\"topics\":[\"b\",\"\\u0061\",\"c\"],\"intent\":\"learn\",\"context\":{\"x\":1,\"y\":3,\"z\":{}}}");
  tell(f, RP_KIND_INTENT, "{\"context\":{\"x\":null,\"y\":null,\"z\":null}}");
  assert_memory(f, "{\"topics\":[\"b\",\"\\u0061\",\"c\"],\"intent\":\"learn\",\"context\":{}}");
  tell(f, RP_KIND_INTENT, "{\"intent\":\"drive\",\"context\":\"a text\",\"topics\":null}");
  assert_memory(f, "{\"topics\":[\"b\",\"\\u0061\",\"c\"],\"intent\":\"drive\",\"context\":\"a text\"}");
  assert_sound(f);
  for (int i = 0; i < 50; i++) {
    char body[40];
    snprintf(body, sizeof body, "{\"topics\":[\"topic %d\"]}", i);
    tell(f, RP_KIND_INTENT, body);
  }
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  struct rp__json memory = rp__json_get(evidence_of(f, &out), "memory");
  assert_int_equal(rp__json_count(rp__json_get(memory, "topics")), 32);
  assert_non_null(strstr(out.p, "[\"topic 18\","));
  assert_sound(f);
}

static void nonsense_changes_nothing(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_NOTE, "{\"id\":1}");
  tell(f, RP_KIND_NOTE, "{\"text\":\"x\"}");
  tell(f, RP_KIND_NOTE, "[]");
  tell(f, RP_KIND_FRAME, "{\"timestamp\":1}");
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":5}");
  tell(f, RP_KIND_TRANSCRIPT, "{\"text\":\"\"}");
  tell(f, RP_KIND_INTENT, "{\"topics\":\"x\",\"intent\":[],\"context\":null}");
  show(f, &out);
  assert_string_equal(out.p, "{}");
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
  static const char good[] = "{\"notes\":[{\"id\":1,\"text\":\"x\",\"seq\":5,\"at_ms\":1}],"
                             "\"frames\":[{\"frame_id\":1,\"timestamp\":2,\"seq\":6,\"at_ms\":1}],\"transcript\":\"t\","
                             "\"interim\":\"\",\"memory\":{\"topics\":[],\"intent\":null,\"context\":null},"
                             "\"context_used\":0}";
  static const struct {
    const char *what, *with;
  } bad[] = {
      {"\"text\":\"x\",", ""},
      {"\"seq\":5", "\"seq\":1001"},
      {"\"seq\":5", "\"seq\":1.5"},
      {"\"seq\":6", "\"seq\":1001"},
      {"\"frames\":[", "\"frames\":[1,"},
      {"\"t\"", "null"},
      {"\"\"", "7"},
      {"[],", "[1],"},
      {"\"intent\":null", "\"intent\":5"},
      {"\"context\":null", "\"x\":1"},
      {"\"context_used\":0", "\"context_used\":-1"},
  };
  rp_error err;
  assert_int_equal(load_part("evidence", good, &err), 0);
  assert_int_equal(load_part("evidence", "[]", &err), RP_E_SNAPSHOT_CORRUPT);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    char text[1000];
    const char *at = strstr(good, bad[i].what);
    assert_non_null(at);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - good), good, bad[i].with, at + strlen(bad[i].what));
    if (load_part("evidence", text, &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", text);
    assert_non_null(strstr(err.field, "evidence"));
  }
}

/* N-07: what the conversation before was about, until this one has its own. */
static void the_memory_of_the_conversation_is_carried(void **state)
{
  (void)state;
  static const char carried[] =
      "{\"carried\":{\"memory\":{\"topics\":[\"cars\"],\"intent\":\"buy\",\"context\":null}}}";
  RP_AUTOFOLD struct rp__fold *fresh = fold_new(), *own = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(fresh, RP_KIND_RESTORED, carried);
  assert_true(rp__json_eq(rp__json_get(rp__json_get(evidence_of(fresh, &out), "memory"), "intent"), "buy"));
  assert_sound(fresh);
  rp__buf_reset(&out);
  tell(own, RP_KIND_INTENT, "{\"intent\":\"sell\"}");
  tell(own, RP_KIND_RESTORED, carried);
  struct rp__json memory = rp__json_get(evidence_of(own, &out), "memory");
  assert_true(rp__json_eq(rp__json_get(memory, "intent"), "sell"));
  assert_int_equal(rp__json_count(rp__json_get(memory, "topics")), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(notes_that_used_context_are_counted),
      cmocka_unit_test(the_newest_notes_and_frames_stay),
      cmocka_unit_test(bytes_are_bounded),
      cmocka_unit_test(an_interim_text_is_replaced),
      cmocka_unit_test(the_transcript_keeps_its_tail),
      cmocka_unit_test(the_memory_of_the_conversation_is_merged),
      cmocka_unit_test(the_memory_of_the_conversation_is_carried),
      cmocka_unit_test(nonsense_changes_nothing),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
