/* SPDX-License-Identifier: Apache-2.0 */
/* N-06: a robot's session.json, both ways. */
#include "format_test.h"

static struct book b;
static rp_error err;

static const char sample[] =
    "{\n  \"version\": 1,\n  \"heartbeat\": 1708300000.5,\n  \"shutdown_clean\": true,\n"
    "  \"session_start\": 1708290000.0,\n  \"session_id\": \"a1b2c3d4\",\n  \"uptime_seconds\": 10000.5,\n"
    "  \"total_sessions\": 42,\n  \"emotions\": {\"levels\": {\"joy\": 0.35, \"sadness\": 0.5, \"anger\": 0.0, "
    "\"fear\": 0.0, \"disgust\": 0.0}, \"boredom\": 0.12, \"current_mood\": \"happy\", \"wounds\": [{\"id\": "
    "\"e5f6a7b8\", \"event\": \"violence\", \"floors\": {\"sadness\": 0.4}, \"duration\": 300, \"heal_rate\": 0.001, "
    "\"created_at\": 1708299820.5, \"remaining_fixed_seconds\": 120.0}]},\n"
    "  \"conversation\": [{\"role\": \"USER\", \"text\": \"Tell me about \\u00e9toiles\", \"timestamp\": "
    "1708299800.0},\n"
    "    {\"role\": \"ASSISTANT\", \"text\": \"Oh!\", \"timestamp\": 1708299802.25}],\n"
    "  \"sleep_state\": \"falling_asleep\",\n  \"last_person_seen\": \"Ori\",\n"
    "  \"last_person_seen_time\": 1708299700.0\n}";

static void everything_is_taken(void **state)
{
  (void)state;
  assert_int_equal(book_import(&b, NULL, sample, sizeof sample - 1, &err), 0);
  assert_int_equal(b.n_sessions, 1);
  assert_int_equal(b.ended, 1);
  const struct rp__foreign *f = &b.session[0];
  assert_string_equal(f->id, "a1b2c3d4");
  assert_int_equal(f->created_at, 1708290000000);
  assert_int_equal(f->ended_at, 1708300000500);
  assert_false(f->crashed);
  assert_int_equal(f->total_sessions, 42);
  assert_int_equal(book_count(&b, 0, "message"), 2);
  assert_int_equal(b.event[1].at, 1708299802250);
  HAS(book_find(&b, 0, "message", 0), "\"role\":\"user\"");
  HAS(book_find(&b, 0, "person", 0), "\"Ori\"");
  HAS(book_find(&b, 0, "sleep", 0), "falling_asleep");
  HAS(book_find(&b, 0, "restored", 0), "\"joy\": 0.35");
  HAS(book_find(&b, 0, "restored", 0), "\"mood\":\"happy\"");
  book_clear(&b);
}

static const char *raw(struct rp__json doc, const char *name)
{
  static char out[500];
  struct rp__json v = rp__json_get(doc, name);
  snprintf(out, sizeof out, "%.*s", (int)v.n, v.p ? v.p : "");
  return out;
}

/* What was read is written as it was, but for our count of sessions. */
static void there_and_back(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(book_import(&b, "nova", sample, sizeof sample - 1, &err), 0);
  assert_int_equal(book_export(&b, 0, "nova", &out, &err), 0);
  struct rp__json was = rp__json_trusted(sample, sizeof sample - 1), now = rp__json_trusted(out.p, out.n);
  static const char *const same[] = {"version",        "heartbeat",     "shutdown_clean",   "session_start",
                                     "session_id",     "sleep_state",   "last_person_seen", "last_person_seen_time",
                                     "uptime_seconds", "total_sessions"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(same); i++) {
    char before[500];
    snprintf(before, sizeof before, "%s", raw(was, same[i]));
    assert_string_equal(before, raw(now, same[i]));
  }
  HAS(out.p, "\"text\": \"Tell me about \\u00e9toiles\"");
  HAS(out.p, "\"role\": \"ASSISTANT\"");
  HAS(out.p, "\"timestamp\": 1708299802.25");
  HAS(out.p, "\"joy\": 0.35");
  HAS(out.p, "\"current_mood\": \"happy\"");
  HAS(out.p, "\"remaining_fixed_seconds\": 120.0");
  HAS(out.p, "\"event\": \"violence\"");
  HAS_NOT(out.p, "healing");
  for (size_t i = 0; i < out.n; i++) assert_true((unsigned char)out.p[i] < 0x80);
  book_clear(&b);
  assert_int_equal(book_import(&b, NULL, out.p, out.n, &err), 0);
  assert_int_equal(book_count(&b, 0, "message"), 2);
  book_clear(&b);
}

static void nobody_and_nothing_are_absent(void **state)
{
  (void)state;
  static const char marker[] = "{\"version\":1,\"heartbeat\":1708300000.0,\"shutdown_clean\":false,"
                               "\"session_start\":1708290000.0,\"session_id\":\"../etc/passwd\",\"total_sessions\":1}";
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(book_import(&b, NULL, marker, sizeof marker - 1, &err), 0);
  assert_true(b.session[0].crashed);
  assert_true(rp__name_ok(b.session[0].id));
  assert_int_equal(b.n, 0);
  assert_int_equal(book_export(&b, 0, "nova", &out, &err), 0);
  HAS(out.p, "\"emotions\": {}");
  HAS(out.p, "\"conversation\": []");
  HAS(out.p, "\"sleep_state\": \"awake\"");
  HAS(out.p, "\"shutdown_clean\": false");
  HAS_NOT(out.p, "last_person_seen");
  book_clear(&b);
}

static void only_version_one(void **state)
{
  (void)state;
  static const char *const other[] = {"2", "0", "\"1\"", "1.0", "null"};
  char text[200];
  for (size_t i = 0; i < RP_ARRAY_SIZE(other); i++) {
    snprintf(text, sizeof text, "{\"version\":%s,\"heartbeat\":1.0,\"shutdown_clean\":true}", other[i]);
    assert_int_equal(book_import(&b, NULL, text, strlen(text), &err), RP_E_FORMAT_VERSION);
    assert_false(rp__nova_readable(text, strlen(text)));
  }
  assert_int_equal(b.n_sessions, 0);
}

/* The last fifty turns; chunks of one message are one turn. */
static void fifty_turns(void **state)
{
  (void)state;
  struct rp__buf in RP_AUTOBUF = RP_BUF(1 << 20), out RP_AUTOBUF = RP_BUF(1 << 20);
  rp__buf_str(&in, "{\"version\":1,\"heartbeat\":1708300000.0,\"shutdown_clean\":true,\"session_id\":\"x\","
                   "\"conversation\":[");
  for (int i = 0; i < 60; i++)
    rp__buf_printf(&in, "%s{\"role\":\"USER\",\"text\":\"turn %d.\",\"timestamp\":%d.0}", i ? "," : "", i,
                   1708290000 + i);
  rp__buf_str(&in, "]}");
  assert_int_equal(book_import(&b, NULL, in.p, in.n, &err), 0);
  assert_int_equal(book_export(&b, 0, "nova", &out, &err), 0);
  HAS_NOT(out.p, "\"turn 9.\"");
  HAS(out.p, "\"turn 10.\"");
  HAS(out.p, "\"turn 59.\"");
  book_clear(&b);
}

static void a_heartbeat_changes_nothing_else(void **state)
{
  (void)state;
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(rp__nova_heartbeat(sample, sizeof sample - 1, 1708300010000, &out), 0);
  const char *at = strstr(sample, "1708300000.5");
  size_t before = (size_t)(at - sample);
  assert_memory_equal(out.p, sample, before);
  assert_memory_equal(out.p + before, "1708300010.0", 12);
  assert_string_equal(out.p + before + 12, at + 12);
  rp__buf_reset(&out);
  assert_int_equal(rp__nova_heartbeat("{\"version\":1,", 13, 1, &out), RP_E_FORMAT);
  assert_int_equal(rp__nova_heartbeat("{\"version\":1}", 13, 1, &out), RP_E_FORMAT);
}

/* What makes no sense is left out and said; the rest comes. */
static void nonsense_is_left_out(void **state)
{
  (void)state;
  static const char odd[] =
      "{\"version\":1,\"heartbeat\":1e300,\"shutdown_clean\":7,\"session_start\":-5,\"session_id\":12,"
      "\"emotions\":{\"levels\":{\"joy\":\"much\"},\"wounds\":[1,{\"floors\":3}]},"
      "\"conversation\":[1,{\"role\":\"USER\"},{\"text\":\"who?\",\"timestamp\":\"never\"},{\"role\":3,\"text\":[]}],"
      "\"sleep_state\":4,\"last_person_seen\":{}}";
  assert_int_equal(book_import(&b, NULL, odd, sizeof odd - 1, &err), 0);
  assert_int_equal(b.ended, 1);
  assert_int_equal(book_count(&b, 0, "message"), 2);
  HAS(b.notes, "2 of its parts were left out");
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  assert_int_equal(book_export(&b, 0, "nova", &out, &err), 0);
  book_clear(&b);
}

/* N-05: a count that is none is told of, not passed over. */
static void a_bad_count_is_told_of(void **state)
{
  (void)state;
  static const char *const bad[] = {"-5", "\"7\"", "1e400", "2.5", "[]"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    char doc[300];
    int n = snprintf(doc, sizeof doc,
                     "{\"version\":1,\"heartbeat\":1708300000.0,\"shutdown_clean\":true,\"session_start\":1708290000.0,"
                     "\"session_id\":\"a\",\"conversation\":[],\"total_sessions\":%s}",
                     bad[i]);
    assert_int_equal(book_import(&b, NULL, doc, (size_t)n, &err), 0);
    HAS(b.notes, "total_sessions was left out");
    HAS(b.notes, bad[i]);
    assert_int_equal(b.session[0].total_sessions, 0);
    book_clear(&b);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_taken),
      cmocka_unit_test(there_and_back),
      cmocka_unit_test(nobody_and_nothing_are_absent),
      cmocka_unit_test(only_version_one),
      cmocka_unit_test(fifty_turns),
      cmocka_unit_test(a_heartbeat_changes_nothing_else),
      cmocka_unit_test(nonsense_is_left_out),
      cmocka_unit_test(a_bad_count_is_told_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
