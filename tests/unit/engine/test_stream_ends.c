/* SPDX-License-Identifier: Apache-2.0 */
/* B-04, X-14: streams that an empty message ends, thoughts, and what bridges store beside them. */
#include "unit/engine/life.h"

#define SECRET                                                                                                         \
  "ghp_"                                                                                                               \
  "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
#define TEXT(t) "[{\"type\":\"text\",\"text\":\"" t "\"}]"

/* An engine that stays, so that it may hold back what is not decided yet. */
struct talk {
  struct rig *r;
  rp_engine *e;
  rp_session *s;
};

static struct talk talk_begin(struct rig *r, const char *name)
{
  struct talk t = {.r = r};
  rp_error err = {0};
  char path[SCRATCH_PATH], url[SCRATCH_PATH + 16];
  snprintf(url, sizeof url, "sqlite:%s", scratch_path(&r->scratch, name, path));
  OK(rp_open(&(rp_options){.db = url}, &t.e, &err), err);
  OK(rp_start(t.e, &(rp_start_options){.scope = "coder", .owner = RP_OWNER_SELF}, &t.s, &err), err);
  return t;
}

static void talk_end(struct talk *t)
{
  end(t->s);
  rp_close(t->e);
}

/* A chunk (`more` begins with a comma) or, with partial "", the end of a stream. */
static void say(struct talk *t, const char *content, const char *more, const char *partial)
{
  char body[400];
  snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":%s%s%s}", content, more, partial);
  put(t->s, "message", body);
}
#define PARTIAL ",\"partial\":true"

static int add_event(void *ctx, const rp_event_info *ev)
{
  rp__buf_add(ctx, ev->body, ev->body_len);
  rp__buf_char(ctx, '\n');
  return 0;
}

/* All bodies, one per line; freed by the caller. */
static char *journal(struct talk *t)
{
  rp_error err = {0};
  struct rp__buf out = RP_BUF(1 << 20);
  OK(rp_events(t->s, 0, 0, add_event, &out, &err), err);
  return rp__buf_take(&out);
}

static void assert_messages(struct talk *t, const char *want)
{
  char *doc RP_AUTOFREE = rig_state(t->s, -1);
  struct rp__buf got RP_AUTOBUF = RP_BUF(65536);
  struct rp__json talked = rp__json_get(rp__json_trusted(doc, strlen(doc)), "conversation"), m;
  struct rp__json_iter it = {0};
  while (rp__json_next(rp__json_get(talked, "messages"), &it, NULL, &m)) {
    struct rp__json content = rp__json_get(m, "content");
    rp__buf_add(&got, content.p, content.n);
    rp__buf_char(&got, '\n');
  }
  assert_string_equal(got.p ? got.p : "", want);
}

/* What was held because a secret might begin in it is said when the stream ends, in the chunks' own form. */
static void test_closing(void **state)
{
  static const struct {
    const char *chunk, *end, *want;
  } talks[] = {
      {TEXT("ends in ghp_"), "[]", TEXT("ends in ghp_") "\n"},
      {TEXT("ends in ghp_"), "\"\"", TEXT("ends in ghp_") "\n"},
      {TEXT("ends in ghp_"), "[ ]", TEXT("ends in ghp_") "\n"},
      {TEXT("ends in ghp_"), TEXT(""), TEXT("ends in ghp_") "\n"},
      {"\"ends in ghp_\"", "\"\"", "\"ends in ghp_\"\n"},
      {"\"ends in ghp_\"", "[]", "\"ends in ghp_\"\n"},
      {TEXT("the password=hunter2"), "[]", TEXT("the password=[REDACTED]") "\n"},
      {TEXT("nothing in it"), "[]", TEXT("nothing in it") "\n"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(talks); i++) {
    char name[16];
    snprintf(name, sizeof name, "c%zu.db", i);
    struct talk t = talk_begin(*state, name);
    say(&t, talks[i].chunk, ",\"message_id\":\"m\"", PARTIAL);
    char *before RP_AUTOFREE = journal(&t);
    assert_null(strstr(before, "ghp_")); /* it was held */
    say(&t, talks[i].end, ",\"message_id\":\"m\"", "");
    assert_messages(&t, talks[i].want);
    say(&t, TEXT("on"), "", ""); /* is no part of it */
    char want[200];
    snprintf(want, sizeof want, "%s%s\n", talks[i].want, TEXT("on"));
    assert_messages(&t, want);
    talk_end(&t);
  }
}

/* Over chunks and with thoughts between them, each secret at every place; what was said is whole, what was thought too.
 */
static void test_split_with_thoughts(void **state)
{
  static const char text[] = "key " SECRET " end";
  struct talk t = talk_begin(*state, "split.db");
  for (size_t at = 1; at < sizeof text - 1; at += 3) {
    char first[200], second[200], id[40];
    snprintf(id, sizeof id, ",\"message_id\":\"m%zu\"", at);
    snprintf(first, sizeof first, TEXT("%.*s"), (int)at, text);
    snprintf(second, sizeof second, TEXT("%s"), text + at);
    say(&t, first, id, PARTIAL);
    say(&t, first, ",\"thought\":true", PARTIAL);
    say(&t, second, id, PARTIAL);
    say(&t, second, ",\"thought\":true", PARTIAL);
    say(&t, "[]", ",\"thought\":true", "");
    say(&t, "[]", id, "");
  }
  char *all RP_AUTOFREE = journal(&t), *doc RP_AUTOFREE = rig_state(t.s, -1);
  int n = times(doc, TEXT("key [REDACTED] end"));
  assert_int_equal(n, (int)((sizeof text - 2 + 2) / 3));
  assert_int_equal(times(all, "[REDACTED]"), 2 * n);
  for (size_t i = 8; i + 8 < sizeof SECRET; i++) { /* no part of it that would be worth something */
    char part[9];
    snprintf(part, sizeof part, "%.8s", &SECRET[i]);
    if (strstr(all, part)) fail_msg("%s is in the journal", part);
  }
  assert_null(strstr(doc, "thought"));
  assert_non_null(strstr(all, "\"thought\":true"));
  talk_end(&t);
  assert_null(held_by(t.r->scratch.dir, SECRET));
}

static int say_batch(struct talk *t, int64_t expect, rp_error *err)
{
  static const rp_event batch[] = {
      {.kind = "message", .body = "{\"role\":\"assistant\",\"content\":" TEXT("one ") ",\"partial\":true}"},
      {.kind = "message", .body = "{\"role\":\"assistant\",\"content\":" TEXT("ghp_") ",\"partial\":true}"},
      {.kind = "message", .body = "{\"role\":\"assistant\",\"content\":[]}"},
  };
  return rp_append_many(t->s, batch, 3, &(rp_append_options){.durability = RP_OS, .expect_seq = expect}, NULL, err);
}

/* The end may be part of the same append as the last chunk; one that was refused leaves nothing behind. */
static void test_one_append(void **state)
{
  struct talk t = talk_begin(*state, "batch.db");
  rp_error err = {0};
  assert_int_equal(say_batch(&t, 99, &err), RP_E_SEQ_CONFLICT);
  assert_messages(&t, "");
  OK(say_batch(&t, 0, &err), err);
  assert_messages(&t, TEXT("one ghp_") "\n");
  assert_int_equal(say_batch(&t, 99, &err), RP_E_SEQ_CONFLICT);
  OK(say_batch(&t, 0, &err), err);
  assert_messages(&t, TEXT("one ghp_") "\n" TEXT("one ghp_") "\n");
  /* An end that was refused is said again. */
  say(&t, TEXT("two ghp_"), "", PARTIAL);
  rp_event last = {.kind = "message", .body = "{\"role\":\"assistant\",\"content\":[]}"};
  assert_int_equal(rp_append(t.s, &last, &(rp_append_options){.expect_seq = 99}, NULL, &err), RP_E_SEQ_CONFLICT);
  OK(rp_append(t.s, &last, NULL, NULL, &err), err);
  assert_messages(&t, TEXT("one ghp_") "\n" TEXT("one ghp_") "\n" TEXT("two ghp_") "\n");
  talk_end(&t);
}

/* Thoughts are stored and found, and are no part of what goes into a transcript. */
static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return 0;
}

static void test_thoughts(void **state)
{
  static const char *const formats[] = {"markdown", "clawd", "nova", "orbitmesh"};
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  put(s, "message", "{\"role\":\"assistant\",\"content\":\"a walnut thought\",\"thought\":true}");
  put(s, "message", "{\"role\":\"assistant\",\"content\":\"said aloud\"}");
  rp_event ev = {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"x\",\"thought\":\"yes\"}"};
  assert_int_equal(rp_append(s, &ev, NULL, NULL, &err), RP_E_INVALID);
  assert_string_equal(err.field, "body.thought");
  assert_non_null(strstr(state_get(s, "conversation"), "said aloud"));
  assert_null(strstr(state_get(s, "conversation"), "walnut"));
  for (size_t i = 0; i < RP_ARRAY_SIZE(formats); i++) {
    struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
    OK(rp_export_as(s, formats[i], to_buf, &out, &err), err);
    assert_null(memmem(out.p, out.n, "walnut", 6));
    if (strcmp(formats[i], "orbitmesh") != 0) assert_non_null(memmem(out.p, out.n, "said aloud", 10));
  }
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20);
  OK(rp_export(s, to_buf, &out, NULL, NULL, &err), err);
  assert_non_null(strstr(out.p, "a walnut thought"));
  rp_session_free(s);
}

/* Every string of what bridges store, and the value beside a credential's name. */
static void test_bodies_of_bridges(void **state)
{
#define PARAMS                                                                                                         \
  "{\"env\":[{\"name\":\"API_KEY\",\"value\":\"swordfish-1\"},{\"name\":\"LANG\",\"value\":\"C.walnut\"}],"            \
  "\"headers\":[{\"name\":\"Authorization\",\"value\":\"swordfish-2\"}],\"deep\":[[{\"x\":\"" SECRET "\"}]]}"
  static const char *const events[][2] = {
      {"tool", "{\"call_id\":\"1\",\"name\":\"n\",\"status\":\"done\",\"input\":" PARAMS ",\"output\":" PARAMS
               ",\"acp\":" PARAMS "}"},
      {"approval", "{\"id\":\"1\",\"status\":\"pending\",\"acp\":" PARAMS "}"},
      {"question", "{\"id\":\"1\",\"status\":\"pending\",\"acp\":" PARAMS "}"},
      {"x-acp-request", "{\"id\":1,\"method\":\"m\",\"params\":" PARAMS "}"},
      {"x-acp-answer", "{\"id\":1,\"method\":\"m\",\"result\":" PARAMS "}"},
      {"x-acp-update", "{\"update\":" PARAMS "}"},
      {"provider", "{\"type\":\"acp\",\"capabilities\":" PARAMS ",\"metadata\":" PARAMS "}"},
  };
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  for (size_t i = 0; i < RP_ARRAY_SIZE(events); i++) put(s, events[i][0], events[i][1]);
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_events WHERE body LIKE '%C.walnut%'"), RP_ARRAY_SIZE(events));
  end(s);
  assert_null(held_by(r->scratch.dir, "swordfish"));
  assert_null(held_by(r->scratch.dir, SECRET));
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {T(test_closing), T(test_split_with_thoughts), T(test_one_append), T(test_thoughts),
                                     T(test_bodies_of_bridges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
