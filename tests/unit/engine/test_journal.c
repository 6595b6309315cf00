/* SPDX-License-Identifier: Apache-2.0 */
/* Appending: acknowledgements, expectations, idempotency, numbered clients, what is refused and stores nothing. */
#include "unit/engine/rig.h"

static int append(rp_session *s, const char *kind, const char *body, const char *key, const rp_append_options *o,
                  rp_ack *ack, rp_error *err)
{
  rp_event ev = {.kind = kind, .body = body, .idempotency_key = key};
  return rp_append(s, &ev, o, ack, err);
}

static int64_t last_seq(rp_session *s)
{
  rp_error err = {0};
  int64_t mark, seq;
  OK(rp_sync(s, "nobody", &mark, &seq, &err), err);
  return seq;
}

/* B-01 */
static void test_durability_is_named(void **state)
{
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_ack ack;
  rp_append_options o = {0};
  OK(append(s, "x-a", "{}", NULL, &o, &ack, &err), err);
  assert_int_equal(ack.durability, RP_DISK);
  o.durability = RP_OS;
  OK(append(s, "x-a", "{}", NULL, &o, &ack, &err), err);
  assert_int_equal(ack.durability, RP_OS);
  assert_int_equal(ack.seq, 2);
  o.durability = RP_MEMORY; /* a short-lived engine has no memory to speak of */
  OK(append(s, "x-a", "{}", NULL, &o, &ack, &err), err);
  assert_int_equal(ack.durability, RP_OS);
  rp_session_free(s);
}

static void test_refused_bodies_store_nothing(void **state)
{
  static const struct {
    const char *kind, *body, *field;
    int code;
  } rows[] = {
      {"message", "{\"role\":\"user\"}", "body.content", RP_E_INVALID},
      {"message", "{\"role\":\"king\",\"content\":\"x\"}", "body.role", RP_E_INVALID},
      {"message", "{\"role\":\"user\",\"content\":7}", "body.content", RP_E_INVALID},
      {"message", "[]", "body", RP_E_INVALID},
      {"message", "{\"role\":\"user\",\"content\":\"x\"", "body", RP_E_JSON},
      {"mesage", "{}", "kind", RP_E_INVALID},
      {"restored", "{}", "kind", RP_E_INVALID},
      {"x-a", "{\"a\":1,\"a\":2}", "body", RP_E_JSON},
  };
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    rp_error err = {0};
    rp_event batch[2] = {{.kind = "x-good", .body = "{}"}, {.kind = rows[i].kind, .body = rows[i].body}};
    int rc = append(s, rows[i].kind, rows[i].body, NULL, NULL, NULL, &err);
    if (rc != rows[i].code) fail_msg("row %zu: %d %s", i, rc, err.message);
    if (strcmp(err.field, rows[i].field) != 0) fail_msg("row %zu: field '%s'", i, err.field);
    assert_int_equal(rp_append_many(s, batch, 2, NULL, NULL, &err), rows[i].code);
    assert_non_null(strstr(err.message, "event 2 of 2"));
  }
  assert_int_equal(last_seq(s), 0);
  rp_session_free(s);
}

static void test_body_limit(void **state)
{
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  size_t n = RP_BODY_MAX + 1;
  char *big = malloc(n + 1);
  memset(big, 'a', n);
  memcpy(big, "{\"t\":\"", 6);
  memcpy(big + n - 2, "\"}", 3);
  assert_int_equal(append(s, "x-a", big, NULL, NULL, NULL, &err), RP_E_TOO_LARGE);
  assert_int_equal(rp_append_async(s, &(rp_event){.kind = "x-a", .body = big}, NULL, NULL, NULL, &err), RP_E_TOO_LARGE);
  memcpy(big + n - 3, "\"}", 3);
  OK(append(s, "x-a", big, NULL, NULL, NULL, &err), err);
  free(big);
  rp_session_free(s);
}

static void test_expected_seq(void **state)
{
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_append_options o = {0};
  o.expect_seq = RP_SEQ_NONE;
  OK(append(s, "x-a", "{}", NULL, &o, NULL, &err), err);
  assert_int_equal(append(s, "x-a", "{}", NULL, &o, NULL, &err), RP_E_SEQ_CONFLICT);
  o.expect_seq = 1;
  OK(append(s, "x-a", "{}", NULL, &o, NULL, &err), err);
  rp_session_free(s);
}

/* Idempotency comes before everything else: a repeat is acknowledged even with a wrong expectation. */
static void test_idempotency(void **state)
{
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_ack a, b;
  rp_append_options o = {0};
  OK(append(s, "x-a", "{\"n\":1}", "k1", &o, &a, &err), err);
  OK(append(s, "x-a", "{\"n\":2}", "k2", &o, NULL, &err), err);
  o.expect_seq = RP_SEQ_NONE;
  OK(append(s, "x-a", "{\"n\":1}", "k1", &o, &b, &err), err);
  assert_true(b.repeated);
  assert_int_equal(a.seq, b.seq);
  assert_int_equal(last_seq(s), 2);
  assert_int_equal(append(s, "x-a", "{}", "", NULL, NULL, &err), RP_E_INVALID);
  assert_string_equal(err.field, "idempotency_key");
  rp_session_free(s);
}

/* The key with other events is a conflict. What is masked can't be told apart, and so can't be found by trying. */
static void test_a_key_is_of_one_request(void **state)
{
  static const char *const secrets[] = {
      "{\"role\":\"user\",\"content\":\"use ghp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}",
      "{\"role\":\"user\",\"content\":\"use ghp_BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB\"}"};
  static const char *const chunks[] = {
      "{\"role\":\"assistant\",\"message_id\":\"m\",\"content\":\"ab\",\"partial\":true}",
      "{\"role\":\"assistant\",\"message_id\":\"m\",\"content\":\"cde\",\"partial\":true}"};
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_ack ack;
  OK(append(s, "x-a", "{\"n\":1}", "k", NULL, NULL, &err), err);
  assert_int_equal(append(s, "x-a", "{\"n\":2}", "k", NULL, NULL, &err), RP_E_KEY_REUSED);
  assert_int_equal(append(s, "x-a", "{\"n\": 1}", "k", NULL, NULL, &err), RP_E_KEY_REUSED); /* bytes decide */
  assert_int_equal(append(s, "x-b", "{\"n\":1}", "k", NULL, NULL, &err), RP_E_KEY_REUSED);
  rp_event two[2] = {{.kind = "x-a", .body = "{\"n\":1}", .idempotency_key = "k"}, {.kind = "x-a", .body = "{}"}};
  assert_int_equal(rp_append_many(s, two, 2, NULL, NULL, &err), RP_E_KEY_REUSED);
  OK(append(s, "message", secrets[0], "secret", NULL, NULL, &err), err);
  OK(append(s, "message", secrets[1], "secret", NULL, &ack, &err), err);
  assert_true(ack.repeated);
  /* A chunk that is sent again is a repeat, whatever was said after it. */
  OK(append(s, "message", chunks[0], "one", NULL, NULL, &err), err);
  OK(append(s, "message", chunks[1], "two", NULL, NULL, &err), err);
  OK(append(s, "message", chunks[0], "one", NULL, &ack, &err), err);
  assert_true(ack.repeated);
  assert_int_equal(append(s, "message", chunks[1], "one", NULL, NULL, &err), RP_E_KEY_REUSED);
  assert_int_equal(last_seq(s), 4);
  rp_session_free(s);
}

/* L-10 */
static void test_numbered_client(void **state)
{
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_ack ack;
  int64_t mark, seq;
  rp_append_options o = {0};
  o.client_id = "tab-1";
  for (o.client_seq = 1; o.client_seq <= 3; o.client_seq++) OK(append(s, "x-a", "{}", NULL, &o, NULL, &err), err);
  o.client_seq = 2;
  OK(append(s, "x-a", "{}", NULL, &o, &ack, &err), err);
  assert_true(ack.repeated);
  o.client_seq = 5;
  assert_int_equal(append(s, "x-a", "{}", NULL, &o, NULL, &err), RP_E_CLIENT_GAP);
  assert_non_null(strstr(err.message, "4"));
  OK(rp_sync(s, "tab-1", &mark, &seq, &err), err);
  assert_int_equal(mark, 3);
  assert_int_equal(seq, 3);
  rp_session_free(s);
}

/* Bodies are kept as the bytes that came. */
static int same_bytes(void *ctx, const rp_event_info *ev)
{
  const char *want = ctx;
  assert_int_equal(ev->body_len, strlen(want));
  assert_memory_equal(ev->body, want, ev->body_len);
  return 0;
}

static void test_bytes_are_kept(void **state)
{
  static char body[] = "{ \"b\" : 1.50e+2,\t\"a\":\"\\u0041\",\"big\":18446744073709551615 }";
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  OK(append(s, "x-a", body, NULL, NULL, NULL, &err), err);
  OK(rp_events(s, 0, 0, same_bytes, body, &err), err);
  rp_session_free(s);
}

/* N-01: throttled inside, the first call at once. */
static void test_heartbeat_throttle(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *stats;
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  for (int i = 0; i < 1000; i++, r->wall += 20) OK(rp_heartbeat(s, &err), err); /* 20 s at 50 Hz */
  OK(rp_stats_json(r->e, &stats, &err), err);
  assert_string_equal(rig_get(stats, "counters.heartbeats_ok"), "2");
  rp_free(stats);
  rp_session_free(s);
}

static int on_info(void *ctx, const rp_session_info *i)
{
  snprintf(ctx, 600, "%s", i->name ? i->name : "(none)");
  return 0;
}

static void assert_name(struct rig *r, const char *name)
{
  rp_error err = {0};
  char listed[600], shown[600];
  OK(rp_list(r->e, NULL, on_info, listed, &err), err);
  assert_string_equal(listed, name);
  OK(rp_show(r->e, "last", on_info, shown, &err), err);
  assert_string_equal(shown, name);
}

/* C-11: a list tells the name of the newest `session` event that has one, without reading the state. */
static void test_names_are_listed(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  assert_name(r, "(none)");
  OK(append(s, "session", "{\"name\":\"caf\\u00e9 \\ud83d\"}", "k", NULL, NULL, &err), err);
  assert_name(r, "caf\xc3\xa9 \xef\xbf\xbd");
  rp_event batch[] = {{.kind = "session", .body = "{\"name\":\"first\"}"},
                      {.kind = "session", .body = "{\"settings\":{\"a\":1}}"},
                      {.kind = "session", .body = "{\"name\":\"second\"}"}};
  OK(rp_append_many(s, batch, 3, NULL, NULL, &err), err);
  assert_name(r, "second");
  OK(append(s, "session", "{\"name\":\"caf\\u00e9 \\ud83d\"}", "k", NULL, NULL, &err), err); /* a repeat */
  assert_name(r, "second");
  rp_session_free(s);
  rig_reopen(r);
  assert_name(r, "second");
  s = rig_start(r, "a", "other", RP_OWNER_SELF);
  OK(append(s, "session", "{\"name\":\"x\"}", NULL, NULL, NULL, &err), err);
  OK(append(s, "session", "{\"name\":null}", NULL, NULL, NULL, &err), err);
  char shown[600];
  OK(rp_show(r->e, "last", on_info, shown, &err), err);
  assert_string_equal(shown, "(none)");
  rp_session_free(s);
}

static int on_body(void *ctx, const rp_event_info *ev)
{
  snprintf(ctx, 600, "%.*s", (int)ev->body_len, ev->body);
  return 0;
}

/* What JavaScript writes for an emoji that was cut in two is stored as it came. */
static void test_half_a_pair_is_kept(void **state)
{
  static const char body[] = "{\"role\":\"user\",\"content\":\"cut \\uD83d\",\"\\udc00\":1}";
  rp_session *s = rig_start(*state, "a", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  char got[600] = "";
  OK(append(s, "message", body, NULL, NULL, NULL, &err), err);
  OK(rp_events(s, 0, 1, on_body, got, &err), err);
  assert_string_equal(got, body);
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "cut "));
  free(doc);
  rp_session_free(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_durability_is_named),
      T(test_refused_bodies_store_nothing),
      T(test_body_limit),
      T(test_expected_seq),
      T(test_a_key_is_of_one_request),
      T(test_idempotency),
      T(test_numbered_client),
      T(test_bytes_are_kept),
      T(test_heartbeat_throttle),
      T(test_names_are_listed),
      T(test_half_a_pair_is_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
