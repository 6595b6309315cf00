/* SPDX-License-Identifier: Apache-2.0 */
/* What clients push, and which events it becomes (L-03, L-07, L-10). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/http/call.h"
#include "server/channel/push.h"

static const struct rp__push_moment moment = {.now_ms = 1767323045678, .has_video = true, .video = 42.5};
static const struct rp__push_moment nowhere = {.now_ms = 1767323045678};

static struct rp__json value_of(const char *text)
{
  struct rp__json v = {0};
  assert_int_equal(rp__json_parse(text, strlen(text), NULL, &v, NULL), 0);
  return v;
}

static void make(const char *name, const struct rp__push_moment *m, const char *payload, struct rp__push_event *ret)
{
  rp_error err = {0};
  const struct rp__push_row *row = rp__push_find(name);
  assert_non_null(row);
  if (rp__push_event(row, m, value_of(payload), ret, &err)) fail_msg("%s: %s", name, err.message);
}

static void assert_body(const char *name, const struct rp__push_moment *m, const char *payload, const char *kind,
                        const char *body)
{
  struct rp__push_event e RP_CLEANUP(rp__push_event_done) = {0};
  make(name, m, payload, &e);
  assert_string_equal(e.kind, kind);
  assert_string_equal(e.body.p, body);
}

static void assert_refused(const char *name, const char *payload, const char *field)
{
  struct rp__push_event e = {.client_seq = 77};
  rp_error err = {0};
  assert_int_equal(rp__push_event(rp__push_find(name), &moment, value_of(payload), &e, &err), RP_E_INVALID);
  assert_string_equal(err.field, field);
  assert_int_equal(e.client_seq, 77); /* outputs are written only on success */
}

static void an_event_keeps_its_bytes(void **state)
{
  (void)state;
  struct rp__push_event e RP_CLEANUP(rp__push_event_done) = {0};
  make("event", &moment,
       "{\"kind\":\"x-y\",\"body\":{ \"a\" : 1.50 },\"at\":\"2026-01-02T03:04:05.678Z\",\"client_id\":\"c\","
       "\"client_seq\":9,\"durability\":\"os\"}",
       &e);
  assert_string_equal(e.kind, "x-y");
  assert_string_equal(e.body.p, "{ \"a\" : 1.50 }");
  assert_int_equal(e.at_ms, 1767323045678);
  assert_string_equal(e.client_id, "c");
  assert_int_equal(e.client_seq, 9);
  assert_int_equal(e.durability, RP_OS);
  assert_false(e.accepts_memory);
}

static void what_is_wrong_around_an_event_is_named(void **state)
{
  (void)state;
  assert_refused("event", "{\"body\":{}}", "kind");
  assert_refused("note", "{\"text\":\"x\",\"timestamp_seconds\":-1}", "timestamp_seconds");
  assert_refused("note", "{\"text\":\"x\",\"timestamp_seconds\":\"x\"}", "timestamp_seconds");
  assert_refused("note", "{\"text\":\"x\",\"timestamp\":-1}", "timestamp");
  assert_refused("event", "{\"kind\":7,\"body\":{}}", "kind");
  assert_refused("event", "{\"kind\":\"note\"}", "body");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"at\":\"yesterday\"}", "at");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"durability\":\"stone\"}", "durability");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"fallback\":\"disk\"}", "fallback");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"client_id\":\"c\"}", "client_seq");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"client_seq\":1}", "client_id");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"client_id\":\"c\",\"client_seq\":1.5}", "client_seq");
  assert_refused("event", "{\"kind\":\"note\",\"body\":{},\"client-seq\":1}", "client-seq");
  assert_refused("update_video_context", "{}", "video_id");
}

static void the_seeds_events_become_ours(void **state)
{
  (void)state;
  assert_body("transcript_final", &moment,
              "{\"text\":\"so\",\"source\":\"local\",\"chunks\":3,\"durationSeconds\":1.5,\"transcriptionTimeMs\":20}",
              "transcript",
              "{\"final\":true,\"timestamp\":42.5,\"duration_seconds\":1.5,\"transcription_time_ms\":20,"
              "\"text\":\"so\",\"source\":\"local\",\"chunks\":3}");
  assert_body("transcript_final", &nowhere, "{\"text\":\"so\",\"final\":false}", "transcript",
              "{\"final\":true,\"text\":\"so\"}");
  assert_body("frame_embedding", &moment,
              "{\"frame_id\":\"f\",\"embedding\":[0.1],\"timestamp\":7,\"embeddingTimeMs\":3,\"client_id\":\"c\","
              "\"client_seq\":1}",
              "frame",
              "{\"frame_id\":\"f\",\"timestamp\":7,\"uploaded_at\":\"2026-01-02T03:04:05.678Z\","
              "\"embedding_time_ms\":3,\"embedding\":[0.1]}");
  assert_body("note_created", &moment,
              "{\"id\":\"n\",\"text\":\"t\",\"timestamp_seconds\":5,\"timestamp\":1700000000,\"context_used\":[1]}",
              "note", "{\"id\":\"n\",\"timestamp\":5,\"text\":\"t\",\"context_used\":[1]}");
  assert_body("note", &nowhere, "{\"id\":\"n\",\"text\":\"t\",\"timestamp\":6}", "note",
              "{\"id\":\"n\",\"timestamp\":6,\"text\":\"t\"}");
  assert_body("update_video_context", &moment, "{\"video_id\":\"v\",\"more\":1}", "session",
              "{\"meta\":{\"video_id\":\"v\"}}");
}

static void what_has_no_id_gets_one(void **state)
{
  (void)state;
  struct rp__push_event a RP_CLEANUP(rp__push_event_done) = {0}, b RP_CLEANUP(rp__push_event_done) = {0};
  make("note", &nowhere, "{\"text\":\"t\"}", &a);
  make("note", &nowhere, "{\"id\":null,\"text\":\"t\"}", &b);
  struct rp__json one = rp__json_get(value_of(a.body.p), "id"), two = rp__json_get(value_of(b.body.p), "id");
  assert_int_equal(one.n, 38);
  assert_int_equal(two.n, 38);
  assert_memory_not_equal(one.p, two.p, 38);
}

static void audio_is_counted_in_whatever_form_it_comes(void **state)
{
  (void)state;
  assert_int_equal(rp__push_chunk_bytes(value_of("[1,2,3]")), 3);
  assert_int_equal(rp__push_chunk_bytes(value_of("{\"0\":1,\"1\":2}")), 2);
  assert_int_equal(rp__push_chunk_bytes(value_of("\"ab\\u00e9\"")), 4);
  assert_int_equal(rp__push_chunk_bytes(value_of("7")), -1);
  assert_int_equal(rp__push_chunk_bytes((struct rp__json){0}), -1);
}

static void a_refusal_says_all_it_knows(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  rp_error gap = {.code = RP_E_CLIENT_GAP, .message = "client c: expected client_seq 12, got 40"};
  rp__push_refusal(&gap, NULL, &w);
  assert_string_equal(out.p,
                      "{\"reason\":\"event.client_gap\",\"message\":\"client c: expected client_seq 12, got 40\","
                      "\"retryable\":false,\"expected\":12}");
  rp__buf_reset(&out);
  rp_error field = {.code = RP_E_INVALID, .message = "m", .field = "text", .hint = "h"};
  w = RP_JW(&out);
  rp__push_refusal(&field, "own_word", &w);
  assert_string_equal(out.p, "{\"reason\":\"own_word\",\"message\":\"m\",\"field\":\"text\",\"hint\":\"h\","
                             "\"retryable\":false}");
}

/* Where the store's files lie is for the log. */
static void a_refusal_names_no_path(void **state)
{
  static const struct {
    int code;
    const char *message, *want;
  } rows[] = {
      {RP_E_FULL, "/srv/my data/reprise.db: commit: database or disk is full", "commit: database or disk is full"},
      {RP_E_IO, "no more events can wait in memory: data/reprise.db: commit: disk I/O error",
       "no more events can wait in memory: commit: disk I/O error"},
      {RP_E_IO, "can't open '/srv/reprise.db-wal' any more", "can't open … any more"},
      {RP_E_READONLY, "/srv/reprise.db", "the store can't be written"},
      {RP_E_BUSY, "", "the store is busy"},
      {RP_E_USAGE, "there is nothing at /v1/otters", "there is nothing at /v1/otters"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
    struct rp__jw w = RP_JW(&out);
    rp_error err = {.code = rows[i].code};
    snprintf(err.message, sizeof err.message, "%s", rows[i].message);
    rp__push_refusal(&err, NULL, &w);
    assert_true(rp__json_eq(rp__json_get(rp__json_trusted(out.p, out.n), "message"), rows[i].want));
    rp__buf_reset(&out);
    rp__problem_write(&err, &out);
    assert_true(rp__json_eq(rp__json_get(rp__json_trusted(out.p, out.n), "detail"), rows[i].want));
  }
}

static void the_table_has_one_way_for_each(void **state)
{
  (void)state;
  for (const struct rp__push_row *row = rp__pushes; row->name; row++) {
    assert_int_equal((row->kind != NULL) + (row->now != NULL) + (row->ask != NULL), 1);
    assert_ptr_equal(rp__push_find(row->name), row); /* no name twice */
    if (row->ask) assert_true(row->flags & RP_PUSH_ALONE);
    if (row->kind) assert_true(row->flags & RP_PUSH_WRITES);
  }
  assert_null(rp__push_find("phx_leave"));
  assert_null(rp__push_find("no_such_event"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_event_keeps_its_bytes),
      cmocka_unit_test(what_is_wrong_around_an_event_is_named),
      cmocka_unit_test(the_seeds_events_become_ours),
      cmocka_unit_test(what_has_no_id_gets_one),
      cmocka_unit_test(audio_is_counted_in_whatever_form_it_comes),
      cmocka_unit_test(a_refusal_says_all_it_knows),
      cmocka_unit_test(a_refusal_names_no_path),
      cmocka_unit_test(the_table_has_one_way_for_each),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
