/* SPDX-License-Identifier: Apache-2.0 */
/*
 * B-14: the undecided end of a chunk is stored sealed with the chunk. Nothing that was acknowledged is
 * lost and no byte of a secret is readable, whoever goes on with the stream, ends it, copies it or finds it again.
 */
#include <pthread.h>

#include "unit/engine/life.h"

#define TOKEN                                                                                                          \
  "ghp_"                                                                                                               \
  "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"

static const char *const texts[] = {
    "key " TOKEN " end",
    "the password=hunter2hunter2 is old",
    "at postgres://ada:S3cretPw99xx@db/prod now",
    "def check(password, token):\n    return token == self.secret_of(password)\n",
    "a plain sentence about tokens, passwords and secrets: sk- is a prefix, so is ghp_ and AKIA",
};
static const char *const secrets[] = {&TOKEN[8], "hunter2hunter2", "S3cretPw99xx", NULL, NULL};

static rp_engine *engine_on(struct rig *r)
{
  rp_engine *e = NULL;
  rp_error err = {0};
  OK(rp_open(&(rp_options){.db = r->url}, &e, &err), err);
  return e;
}

static rp_session *attach(rp_engine *e, const char *id)
{
  rp_session *s = NULL;
  rp_error err = {0};
  OK(rp_attach(e, id, &s, &err), err);
  return s;
}

static void write_string(struct rp__buf *out, const char *text, size_t n)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_strn(&w, text, n);
}

static void body_of(struct rp__buf *out, const char *role, const char *id, const char *text, size_t n, bool partial)
{
  rp__buf_reset(out);
  rp__buf_printf(out, "{\"role\":\"%s\",", role);
  if (id) rp__buf_printf(out, "\"message_id\":\"%s\",", id);
  rp__buf_str(out, "\"content\":");
  write_string(out, text, n);
  rp__buf_printf(out, "%s}", partial ? ",\"partial\":true" : "");
}

static void chunk(rp_session *s, const char *id, const char *text, size_t n)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(65536);
  body_of(&body, "assistant", id, text, n, true);
  put(s, "message", body.p);
}

static void say(rp_session *s, const char *role, const char *id, const char *text)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(65536);
  body_of(&body, role, id, text, strlen(text), false);
  put(s, "message", body.p);
}

/* The texts of the messages with that id, joined as they stand in the journal; freed by the caller. */
struct gather {
  const char *id;
  struct rp__buf text;
  int64_t continues, events;
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct gather *g = ctx;
  struct rp__json body = rp__json_trusted(ev->body, ev->body_len), id = rp__json_get(body, "message_id");
  if (strcmp(ev->kind, "message") != 0) return 0;
  if (g->id ? !rp__json_eq(id, g->id) : id.type != RP_JSON_NONE) return 0;
  rp__json_text(rp__json_get(body, "content"), &g->text);
  if (rp__json_i64(rp__json_get(body, "continues"), &g->continues)) assert_true(g->continues < ev->seq);
  g->events++;
  return 0;
}

static struct gather gather(rp_engine *e, const char *session, const char *id)
{
  struct gather g = {.id = id, .text = RP_BUF(1 << 20)};
  rp_session *s = attach(e, session);
  rp_error err = {0};
  OK(rp_events(s, 0, 0, on_event, &g, &err), err);
  rp_session_free(s);
  return g;
}

static char *masked(rp_engine *e, const char *text)
{
  char *out = NULL;
  rp_error err = {0};
  OK(rp_redact_check(e, text, strlen(text), NULL, NULL, &out, &err), err);
  return out;
}

static void assert_said(rp_engine *e, const char *session, const char *id, const char *want)
{
  struct gather g = gather(e, session, id);
  if (strcmp(g.text.p ? g.text.p : "", want) != 0) fail_msg("'%s'\nis not '%s'", g.text.p ? g.text.p : "", want);
  rp__buf_done(&g.text);
}

/* ---- who goes on ---- */

/* Each chunk by another of two engines, which know nothing of each other, at every cut. */
static void test_two_engines_take_turns(void **state)
{
  struct rig *r = *state;
  rp_engine *e[2] = {engine_on(r), engine_on(r)};
  for (size_t t = 0; t < RP_ARRAY_SIZE(texts); t++) {
    char *want RP_AUTOFREE = masked(e[0], texts[t]);
    size_t n = strlen(texts[t]);
    rp_session *first = rig_start(r, "turns", NULL, RP_OWNER_SELF);
    rp_session *s[2] = {attach(e[0], rp_session_id(first)), attach(e[1], rp_session_id(first))};
    for (size_t cut = 0; cut <= n; cut += n > 60 ? 3 : 1) {
      char id[32];
      snprintf(id, sizeof id, "m%zu", cut);
      chunk(s[0], id, texts[t], cut);
      chunk(s[1], id, texts[t] + cut, n - cut);
      say(s[0], "assistant", id, "");
      assert_said(r->e, rp_session_id(first), id, want);
    }
    for (size_t at = 0; at < n; at += 3) chunk(s[at % 2], "pieces", texts[t] + at, RP_MIN(n - at, 3));
    say(s[0], "assistant", "pieces", "");
    assert_said(r->e, rp_session_id(first), "pieces", want);
    if (secrets[t]) assert_null(held_by(r->scratch.dir, secrets[t]));
    rp_session_free(s[0]);
    rp_session_free(s[1]);
    end(first);
  }
  rp_close(e[0]);
  rp_close(e[1]);
}

/* A graceful stop between two chunks decides nothing, and flushes nothing. */
static void test_over_a_restart(void **state)
{
  struct rig *r = *state;
  for (size_t t = 0; t < RP_ARRAY_SIZE(texts); t++) {
    char *want RP_AUTOFREE = masked(r->e, texts[t]);
    size_t n = strlen(texts[t]);
    for (size_t cut = 1 + t; cut < n; cut += 7) {
      char id[RP_ID_MAX + 1];
      rp_engine *one = engine_on(r);
      rp_session *s = NULL;
      rp_error err = {0};
      OK(rp_start(one, &(rp_start_options){.scope = "stops", .owner = RP_OWNER_NONE}, &s, &err), err);
      id_of(s, id);
      chunk(s, "m", texts[t], cut);
      rp_session_free(s);
      rp_close(one);
      if (secrets[t]) assert_null(held_by(r->scratch.dir, secrets[t]));
      rp_engine *two = engine_on(r);
      s = attach(two, id);
      chunk(s, "m", texts[t] + cut, n - cut);
      say(s, "assistant", "m", "");
      assert_said(two, id, "m", want);
      OK(rp_end(s, NULL, &err), err);
      rp_session_free(s);
      rp_close(two);
    }
    if (secrets[t]) assert_null(held_by(r->scratch.dir, secrets[t]));
  }
}

/* ---- who ends ---- */

/* Another process's end tells what was held, in an event that says which one it continues. */
static void test_an_end_from_elsewhere(void **state)
{
  static const char text[] = "cut off in ghp_";
  struct rig *r = *state;
  rp_engine *e = engine_on(r);
  rp_session *s = rig_start(r, "ends", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  id_of(s, id);
  chunk(s, "m", text, strlen(text));
  assert_said(e, id, "m", "cut off in ");
  rp_session *other = attach(e, id);
  OK(rp_end(other, NULL, &err), err);
  rp_session_free(other);
  struct gather g = gather(e, id, "m");
  assert_string_equal(g.text.p, text);
  assert_int_equal(g.continues, 1);
  assert_int_equal(g.events, 2);
  rp__buf_done(&g.text);
  rp_session_free(s);
  rp_close(e);
}

/* What begins like a credential is masked when it is cut off for good; nothing else is. */
static void test_what_is_cut_off(void **state)
{
  static const char *const cuts[][2] = {
      {"it is "
       "ghp_AbCdEfGh",
       "it is [REDACTED]"},
      {"password=hun", "password=[REDACTED]"},
      {"the last wor", "the last wor"},
      {"return sk", "return sk"},
  };
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cuts); i++) {
    char id[RP_ID_MAX + 1];
    rp_session *s = rig_start(r, "cuts", NULL, RP_OWNER_SELF);
    id_of(s, id);
    chunk(s, "m", cuts[i][0], strlen(cuts[i][0]));
    end(s);
    assert_said(r->e, id, "m", cuts[i][1]);
  }
}

/* A run that died is recovered with what it was saying, and its record knows of it. */
static void test_recovery(void **state)
{
  static const char text[] = "about zeppelins and ghp_";
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "dead", NULL, RP_OWNER_NONE);
  id_of(s, id);
  chunk(s, "m", text, strlen(text));
  rp_session_free(s);
  r->wall += 2 * MINUTE;
  rp_session *next = rig_start(r, "dead", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(next, "crash_recovered.0") ? "x" : "", "x");
  assert_said(r->e, id, "m", text);
  end(next);
}

/* Taking a session over by force ends the streams of the run before. */
static void test_takeover(void **state)
{
  static const char text[] = "over to you, ghp_";
  struct rig *r = *state;
  rp_engine *e = engine_on(r);
  rp_session *s = rig_start(r, "taken", "k", RP_OWNER_SELF), *next = NULL;
  rp_error err = {0};
  char id[RP_ID_MAX + 1];
  id_of(s, id);
  chunk(s, "m", text, strlen(text));
  OK(rp_start(e, &(rp_start_options){.scope = "taken", .key = "k", .owner = RP_OWNER_SELF, .force = true}, &next, &err),
     err);
  assert_string_equal(rp_session_id(next), id);
  assert_said(e, id, "m", text);
  end(next);
  rp_session_free(s);
  rp_close(e);
}

static void take_over(struct rig *r, const char *id)
{
  rp_session *s = NULL;
  rp_error err = {0};
  OK(rp_start(r->e, &(rp_start_options){.scope = "seams", .id = id, .owner = RP_OWNER_NONE, .force = true}, &s, &err),
     err);
  rp_session_free(s);
}

static void end_and_resume(struct rig *r, const char *id)
{
  rp_session *s = attach(r->e, id);
  end(s);
  take_over(r, id);
}

static void others_speak(struct rig *r, const char *id)
{
  rp_session *s = attach(r->e, id);
  for (int i = 0; i < 30; i++) {
    char name[32];
    snprintf(name, sizeof name, "other%d", i);
    chunk(s, name, "ends in ghp_", 12);
  }
  rp_session_free(s);
}

/* So that the cut is not among the last events, which a handle reads when it is opened. */
static void take_over_and_talk(struct rig *r, const char *id)
{
  take_over(r, id);
  others_speak(r, id);
}

static void somebody_asks(struct rig *r, const char *id)
{
  rp_session *s = attach(r->e, id);
  say(s, "user", NULL, "go on");
  rp_session_free(s);
}

/* What comes between two chunks of a secret decides what the first one held, but the second is still its other half. */
static void test_a_secret_goes_on_after_the_cut(void **state)
{
  static void (*const between[])(struct rig * r, const char *id) = {take_over, end_and_resume, others_speak,
                                                                    take_over_and_talk, somebody_asks};
  static const char *const ids[] = {"m", "m", "m", "m", NULL};
  static const struct {
    const char *text, *secret;
  } split[] = {
      {"key " TOKEN " end", &TOKEN[8]},
      {"DB_PASSWORD=hunter2hunter2 is old", "hunter2hunter2"},
      {"-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAxYz0123456789\nabcdefghijklmnopqrstuvwxyz0123\n-----END RSA "
       "PRIVATE KEY-----\n",
       "abcdefghijklmnop"},
  };
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(between); i++) {
    for (size_t k = 0; k < RP_ARRAY_SIZE(split); k++) {
      size_t n = strlen(split[k].text);
      for (size_t cut = 6; cut < n; cut += 5) {
        char id[RP_ID_MAX + 1];
        rp_session *s = rig_start(r, "seams", NULL, RP_OWNER_NONE);
        id_of(s, id);
        chunk(s, ids[i], split[k].text, cut);
        rp_session_free(s);
        between[i](r, id);
        s = attach(r->e, id);
        chunk(s, ids[i], split[k].text + cut, n - cut);
        end(s);
      }
      assert_null(held_by(r->scratch.dir, split[k].secret));
    }
  }
}

/* ---- whose words they are ---- */

static void blocks(rp_session *s, const char *id, bool partial, const char *one, const char *two)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(65536);
  rp__buf_printf(&body, "{\"role\":\"assistant\",\"message_id\":\"%s\",\"content\":[{\"type\":\"text\",\"text\":", id);
  write_string(&body, one, strlen(one));
  rp__buf_str(&body, "},{\"type\":\"text\",\"text\":");
  write_string(&body, two, strlen(two));
  rp__buf_printf(&body, "}]%s}", partial ? ",\"partial\":true" : "");
  put(s, "message", body.p);
}

/* Several text blocks are one stream: within a chunk, over chunks, and in a whole message. */
static void test_several_blocks(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "blocks", NULL, RP_OWNER_NONE);
  for (size_t cut = 1; cut < strlen(TOKEN); cut += 2) {
    char id[32], first[64], second[64], third[64];
    snprintf(id, sizeof id, "m%zu", cut);
    snprintf(first, sizeof first, "k %.*s", (int)cut / 2, TOKEN);
    snprintf(second, sizeof second, "%.*s", (int)(cut - cut / 2), &TOKEN[cut / 2]);
    snprintf(third, sizeof third, "%s done", &TOKEN[cut]);
    blocks(s, id, true, first, second);
    chunk(s, id, third, strlen(third));
    say(s, "assistant", id, "");
    snprintf(first, sizeof first, "k %.*s", (int)cut, TOKEN);
    blocks(s, "whole", false, first, third);
  }
  blocks(s, "plain", false, "one", "two");
  char *doc RP_AUTOFREE = rig_state(s, -1);
  assert_non_null(strstr(doc, "[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"two\"}]"));
  blocks(s, "p", true, "", "DB_PASSWORD=");
  blocks(s, "p", true, "", "hunter2Xy9zzq");
  end(s);
  assert_null(held_by(r->scratch.dir, &TOKEN[10]));
  assert_null(held_by(r->scratch.dir, "hunter2Xy9zzq"));
}

/* Streams with ids go on undisturbed by each other; more of them than are remembered lose nothing either. */
static void test_interleaved(void **state)
{
  enum { MANY = 80 };
  struct rig *r = *state;
  rp_session *s = rig_start(r, "many", NULL, RP_OWNER_SELF);
  char id[RP_ID_MAX + 1], name[32];
  id_of(s, id);
  for (int round = 0; round < 2; round++) {
    int n = round ? MANY : 12;
    for (size_t at = 0; at < strlen(texts[0]); at += 5) {
      for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "r%d-%d", round, i);
        chunk(s, name, texts[0] + at, RP_MIN(strlen(texts[0]) - at, 5));
      }
      if (!round) say(s, "user", NULL, "go on");
    }
  }
  end(s);
  for (int i = 0; i < 12; i++) {
    snprintf(name, sizeof name, "r0-%d", i);
    assert_said(r->e, id, name, "key [REDACTED] end");
  }
  /* A stream that had to make room is cut off there: parts of the secret are masked one by one. */
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "r1-%d", i);
    struct gather g = gather(r->e, id, name);
    assert_int_equal(strncmp(g.text.p, "key ", 4), 0);
    assert_string_equal(g.text.p + g.text.n - 4, " end");
    rp__buf_done(&g.text);
  }
  assert_null(held_by(r->scratch.dir, &TOKEN[8]));
}

/* A stream without an id is over when somebody else says something: what it held comes before that. */
static void test_nameless(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nameless", NULL, RP_OWNER_SELF);
  chunk(s, NULL, "I was saying ghp_", 17);
  say(s, "user", NULL, "stop");
  char *doc RP_AUTOFREE = rig_state(s, -1);
  const char *first = strstr(doc, "\"content\":\"I was saying ghp_\""), *second = strstr(doc, "\"content\":\"stop\"");
  assert_true(first && second && first < second);
  end(s);
}

/* A whole message behind chunks: what they held is told by itself, and a secret over the seam is masked. */
static void test_whole_behind_chunks(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "whole", NULL, RP_OWNER_SELF);
  char id[RP_ID_MAX + 1];
  id_of(s, id);
  for (size_t cut = 1; cut < strlen(texts[0]); cut++) {
    char name[32];
    snprintf(name, sizeof name, "m%zu", cut);
    chunk(s, name, texts[0], cut);
    say(s, "assistant", name, texts[0] + cut);
    struct gather g = gather(r->e, id, name);
    assert_null(strstr(g.text.p, &TOKEN[12]));
    assert_non_null(strstr(g.text.p, "[REDACTED]"));
    rp__buf_done(&g.text);
  }
  end(s);
  assert_null(held_by(r->scratch.dir, &TOKEN[8]));
}

/* The acknowledgement names the event that was given, also when the engine had to tell something before it. */
static void test_acknowledged_numbers(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "numbers", NULL, RP_OWNER_SELF);
  rp_error err = {0};
  rp_ack ack = {0};
  chunk(s, NULL, "held ghp_", 9);
  rp_event ev[2] = {{.kind = "message", .body = "{\"role\":\"user\",\"content\":\"a\"}", .idempotency_key = "k"},
                    {.kind = "message", .body = "{\"role\":\"user\",\"content\":\"b\"}"}};
  OK(rp_append_many(s, ev, 2, NULL, &ack, &err), err);
  assert_int_equal(ack.first_seq, 3); /* 2 tells what was held */
  assert_int_equal(ack.seq, 4);
  rp_ack again = {0};
  OK(rp_append_many(s, ev, 2, NULL, &again, &err), err);
  assert_true(again.repeated);
  assert_int_equal(again.first_seq, 3);
  assert_int_equal(again.seq, 4);
  end(s);
}

/* ---- asynchronous ---- */

struct writer {
  struct rig *r;
  const char *session, *id;
  int failures;
  char why[400];
  _Atomic int64_t last;
  _Atomic int out_of_order;
};

static void on_ack(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct writer *w = ctx;
  if (!ack) {
    w->failures++;
    snprintf(w->why, sizeof w->why, "%s", err->message);
  } else {
    if (ack->seq <= w->last) w->out_of_order++;
    w->last = ack->seq;
  }
}

#define ROUNDS 60

static void *writer_main(void *arg)
{
  struct writer *w = arg;
  rp_engine *e = NULL;
  rp_session *s = NULL;
  struct rp__buf body RP_AUTOBUF = RP_BUF(65536);
  if (rp_open(&(rp_options){.db = w->r->url}, &e, NULL) || rp_attach(e, w->session, &s, NULL)) {
    w->failures++;
    return NULL;
  }
  for (int round = 0; round < ROUNDS; round++) {
    for (size_t at = 0; at < strlen(texts[0]); at += 4) {
      body_of(&body, "assistant", w->id, texts[0] + at, RP_MIN(strlen(texts[0]) - at, 4), true);
      rp_event ev = {.kind = "message", .body = body.p};
      if (rp_append_async(s, &ev, &(rp_append_options){.durability = RP_OS}, on_ack, w, NULL)) w->failures++;
    }
    char n[40];
    snprintf(n, sizeof n, "{\"id\":\"%s\",\"n\":%d}", w->id, round);
    rp_event mark = {.kind = "x-mark", .body = n};
    if (rp_append_async(s, &mark, NULL, on_ack, w, NULL)) w->failures++;
  }
  rp_session_free(s);
  rp_close(e);
  return NULL;
}

/* Chunks that nobody waits for, by three engines at once: each stream is whole and masked, and everything of one writer
 * is stored and acknowledged in the order in which it came. */
static void test_asynchronous_writers(void **state)
{
  static const char *const ids[] = {"a", "b", "c"};
  struct rig *r = *state;
  rp_session *s = rig_start(r, "async", NULL, RP_OWNER_SELF);
  struct writer w[3];
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) {
    w[i] = (struct writer){.r = r, .session = rp_session_id(s), .id = ids[i]};
    assert_int_equal(pthread_create(&threads[i], NULL, writer_main, &w[i]), 0);
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  char id[RP_ID_MAX + 1];
  id_of(s, id);
  for (int i = 0; i < 3; i++) {
    if (w[i].failures) fail_msg("%d of %s failed: %s", w[i].failures, ids[i], w[i].why);
    struct rp__buf want RP_AUTOBUF = RP_BUF(1 << 20);
    for (int k = 0; k < ROUNDS; k++) rp__buf_str(&want, "key [REDACTED] end");
    assert_int_equal(w[i].out_of_order, 0);
    say(s, "assistant", ids[i], "");
    assert_said(r->e, id, ids[i], want.p);
  }
  assert_int_equal(sql_number(r, "SELECT count(*) FROM (SELECT json_extract(body, '$.id') AS i, seq, row_number() OVER "
                                 "(PARTITION BY json_extract(body, '$.id') ORDER BY seq) - 1 AS at, "
                                 "json_extract(body, '$.n') AS n FROM rp_events WHERE kind = 'x-mark') WHERE at <> n"),
                   0);
  end(s);
  assert_null(held_by(r->scratch.dir, &TOKEN[8]));
}

/* ---- copies ---- */

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return 0;
}

/* A fork goes on with the stream as the original would; it has not one event more. */
static void test_fork(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  for (size_t cut = 1; cut < strlen(texts[0]); cut += 3) {
    char id[RP_ID_MAX + 1], copy[RP_ID_MAX + 1];
    rp_session *s = rig_start(r, "forks", NULL, RP_OWNER_SELF);
    id_of(s, id);
    chunk(s, "m", texts[0], cut);
    say(s, "user", NULL, "fork here");
    chunk(s, "m", texts[0] + cut, strlen(texts[0]) - cut);
    OK(rp_fork(s, &(rp_fork_options){.at_seq = 2}, copy, NULL, &err), err);
    rp_session *f = attach(r->e, copy);
    assert_string_equal(state_get(f, "session.seq"), "2");
    chunk(f, "m", texts[0] + cut, strlen(texts[0]) - cut);
    say(f, "assistant", "m", "");
    assert_said(r->e, copy, "m", "key [REDACTED] end");
    rp_session_free(f);
    end(s);
  }
  assert_null(held_by(r->scratch.dir, &TOKEN[8]));
}

/* An export tells what is held as if the session ended there. */
static void test_export(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "exports", NULL, RP_OWNER_SELF);
  chunk(s, "m", "all of it, ghp_", 15);
  struct rp__buf out RP_AUTOBUF = RP_BUF(1 << 20), text RP_AUTOBUF = RP_BUF(1 << 20);
  OK(rp_export(s, to_buf, &out, NULL, NULL, &err), err);
  assert_non_null(strstr(out.p, "\"continues\":1"));
  assert_non_null(strstr(out.p, "ghp_"));
  OK(rp_export_as(s, "markdown", to_buf, &text, &err), err);
  assert_non_null(memmem(text.p, text.n, "all of it, ghp_", 15));
  assert_string_equal(state_get(s, "session.seq"), "1"); /* it changed nothing */
  end(s);
}

/* ---- keys ---- */

static char *seal_path(struct rig *r, char out[SCRATCH_PATH + 16])
{
  snprintf(out, SCRATCH_PATH + 16, "%s.seal", r->url + strlen("sqlite:"));
  return out;
}

static void test_the_key_file(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH + 16];
  struct stat st;
  rp_session *s = rig_start(r, "keys", NULL, RP_OWNER_SELF);
  say(s, "user", NULL, "no chunk yet");
  assert_int_not_equal(stat(seal_path(r, path), &st), 0);
  chunk(s, "m", "held ghp_", 9);
  assert_int_equal(stat(path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  end(s);
}

/* A file that is none is an error that says what to do, not a stream without a key. */
static void test_a_damaged_key_file(void **state)
{
  static const char *const contents[] = {"", "nonsense\n", "reprise-seal 1\nabc 1\n", "reprise-seal 1\n\n"};
  struct rig *r = *state;
  char path[SCRATCH_PATH + 16];
  rp_session *s = rig_start(r, "keys", NULL, RP_OWNER_SELF);
  for (size_t i = 0; i < RP_ARRAY_SIZE(contents); i++) {
    rp_error err = {0};
    rp_event ev = {.kind = "message", .body = "{\"role\":\"assistant\",\"content\":\"x ghp_\",\"partial\":true}"};
    FILE *f = fopen(seal_path(r, path), "w");
    assert_non_null(f);
    fputs(contents[i], f);
    fclose(f);
    assert_int_equal(rp_append(s, &ev, NULL, NULL, &err), RP_E_CORRUPT);
    assert_non_null(strstr(err.message, ".seal"));
    assert_non_null(strstr(err.hint, "move it away"));
    unlink(path);
  }
  chunk(s, "m", "held ghp_", 9);
  end(s);
}

/* A day later there is a new key, and the old one goes once no open stream needs it. */
static void test_rotation(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH + 16], id[RP_ID_MAX + 1];
  size_t n = 0;
  rp_session *s = rig_start(r, "keys", NULL, RP_OWNER_SELF);
  id_of(s, id);
  chunk(s, "m", "held ghp_", 9);
  char *first RP_AUTOFREE = slurp(seal_path(r, path), &n);
  assert_int_equal(times(first, "\n"), 2);
  r->wall += DAY + HOUR;
  chunk(s, "other", "held too: ghp_", 14);
  char *second RP_AUTOFREE = slurp(path, &n);
  assert_int_equal(times(second, "\n"), 3);
  assert_non_null(strstr(second, strchr(first, '\n') + 1));
  assert_said(r->e, id, "m", "held ");
  say(s, "assistant", "m", "");
  assert_said(r->e, id, "m", "held ghp_");
  r->wall += DAY + HOUR;
  chunk(s, "third", "and ghp_", 8);
  char *third RP_AUTOFREE = slurp(path, &n);
  assert_int_equal(times(third, "\n"), 3);
  assert_null(strstr(third, strchr(first, '\n') + 1));
  say(s, "assistant", "other", "");
  assert_said(r->e, id, "other", "held too: ghp_");
  end(s);
}

static int on_finding(void *ctx, const rp_finding *f)
{
  rp__buf_printf(ctx, "%lld %s\n", (long long)f->seq, f->what);
  return 0;
}

/* verify names what is lost without its key, and repair lets the stream go on. */
static void test_verify_names_lost_keys(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH + 16], id[RP_ID_MAX + 1];
  struct rp__buf found RP_AUTOBUF = RP_BUF(65536);
  rp_error err = {0};
  rp_session *s = rig_start(r, "lost", NULL, RP_OWNER_NONE);
  id_of(s, id);
  chunk(s, "m", "held ghp_", 9);
  rp_session_free(s);
  OK(rp_verify(r->e, NULL, false, on_finding, &found, NULL, NULL, &err), err);
  assert_int_equal(unlink(seal_path(r, path)), 0);
  rig_reopen(r);
  assert_int_equal(rp_verify(r->e, NULL, false, on_finding, &found, NULL, NULL, &err), RP_E_CORRUPT);
  assert_non_null(strstr(found.p, "1 event 1: the end of its text is sealed with a key that is gone"));
  OK(rp_verify(r->e, NULL, true, NULL, NULL, NULL, NULL, &err), err);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
  s = attach(r->e, id);
  chunk(s, "m", "on ghp_", 7);
  say(s, "assistant", "m", "");
  assert_said(r->e, id, "m", "held on ghp_");
  rp_session_free(s);
}

/* Without its key nobody knows whether a secret had begun: what follows directly is taken for one. */
static void test_a_secret_whose_beginning_is_lost(void **state)
{
  struct rig *r = *state;
  char path[SCRATCH_PATH + 16], id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "lost", NULL, RP_OWNER_NONE);
  id_of(s, id);
  chunk(s, "m", texts[0], 12);
  rp_session_free(s);
  assert_int_equal(unlink(seal_path(r, path)), 0);
  rig_reopen(r);
  s = attach(r->e, id);
  chunk(s, "m", texts[0] + 12, strlen(texts[0]) - 12);
  end(s);
  assert_null(held_by(r->scratch.dir, &TOKEN[12]));
}

/* Redaction on request leaves no sealed copy behind. */
static void test_redaction_forgets(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s = rig_start(r, "forget", NULL, RP_OWNER_NONE);
  char id[RP_ID_MAX + 1];
  id_of(s, id);
  chunk(s, "m", "the walnut ghp_", 15);
  rp_session_free(s);
  assert_true(sql_number(r, "SELECT count(*) FROM rp_events WHERE tail IS NOT NULL") > 0);
  OK(rp_redact_session(r->e, id, "walnut", false, NULL, NULL, NULL, &err), err);
  assert_int_equal(sql_number(r, "SELECT count(*) FROM rp_events WHERE tail IS NOT NULL"), 0);
  assert_said(r->e, id, "m", "the [REDACTED] ghp_");
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      T(test_two_engines_take_turns),
      T(test_over_a_restart),
      T(test_an_end_from_elsewhere),
      T(test_what_is_cut_off),
      T(test_recovery),
      T(test_takeover),
      T(test_a_secret_goes_on_after_the_cut),
      T(test_several_blocks),
      T(test_interleaved),
      T(test_nameless),
      T(test_whole_behind_chunks),
      T(test_acknowledged_numbers),
      T(test_asynchronous_writers),
      T(test_fork),
      T(test_export),
      T(test_the_key_file),
      T(test_a_damaged_key_file),
      T(test_rotation),
      T(test_verify_names_lost_keys),
      T(test_redaction_forgets),
      T(test_a_secret_whose_beginning_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
