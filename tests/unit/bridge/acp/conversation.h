/* SPDX-License-Identifier: Apache-2.0 */
/* A conversation written down as the proxy does it, and told again. */
#ifndef TEST_ACP_PAST_H
#define TEST_ACP_PAST_H

#include <stdlib.h>

#include "unit/engine/rig.h"

#include "bridge/acp/session/event.h"
#include "bridge/acp/replay/replay.h"
#include "bridge/acp/restore/hand-over-text.h"

#define TOLD_MAX 512

/* One session, the proxy's book of it, and what was told last. */
struct talk {
  struct rig *rig;
  rp_session *s;
  struct rp__known_calls book;
  char *told[TOLD_MAX];
  size_t n_told;
  size_t most; /* updates told in one step */
};

static inline struct rp__json parsed(const char *text)
{
  rp_error err = {0};
  struct rp__json v = {0};
  struct rp__json_limits deep = {.max_depth = 256};
  if (text) OK(rp__json_parse(text, strlen(text), &deep, &v, &err), err);
  return v;
}

static inline void talk_forget(struct talk *t)
{
  for (size_t i = 0; i < t->n_told; i++) free(t->told[i]);
  t->n_told = t->most = 0;
}

static inline struct talk talk_begin(void **state)
{
  struct rig *r = *state;
  return (struct talk){.rig = r, .s = rig_start(r, "acp", "talk", RP_OWNER_SELF)};
}

static inline void talk_end(struct talk *t)
{
  talk_forget(t);
  rp_session_free(t->s);
}

/* The process dies, and another goes on with the session. */
static inline void talk_crash(struct talk *t)
{
  rp_error err = {0};
  rp_session_free(t->s);
  rig_reopen(t->rig);
  t->s = rig_start(t->rig, "acp", "talk", RP_OWNER_SELF);
  OK(rp__known_calls_load(t->s, &t->book, &err), err);
}

static inline void talk_event(struct talk *t, const char *kind, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = kind, .body = body};
  OK(rp_append(t->s, &ev, NULL, NULL, &err), err);
}

static inline void talk_store(struct talk *t, struct rp__acp_events *n)
{
  rp_error err = {0};
  rp_event ev[RP_ACP_EVENTS_MAX];
  rp_append_options o = {.durability = RP_OS};
  OK(rp__acp_events_large_body(t->s, RP_BODY_MAX, n, &err), err);
  for (size_t i = 0; i < n->n; i++)
    ev[i] = (rp_event){.kind = n->v[i].kind, .body = n->bytes.p + n->v[i].at, .body_len = n->v[i].n};
  OK(rp_append_many(t->s, ev, n->n, &o, NULL, &err), err);
  rp__acp_events_done(n);
}

static inline void talk_prompt(struct talk *t, const char *params)
{
  rp_error err = {0};
  struct rp__acp_events n = RP_ACP_EVENTS;
  OK(rp__acp_event_prompt(&t->book, parsed(params), NULL, &n, &err), err);
  talk_store(t, &n);
}

static inline void talk_ask(struct talk *t, const char *text)
{
  char params[1024];
  snprintf(params, sizeof params, "{\"sessionId\":\"s\",\"prompt\":[{\"type\":\"text\",\"text\":\"%s\"}]}", text);
  talk_prompt(t, params);
}

static inline void talk_update(struct talk *t, const char *update)
{
  rp_error err = {0};
  struct rp__acp_events n = RP_ACP_EVENTS;
  OK(rp__acp_event_update(&t->book, parsed(update), &n, &err), err);
  talk_store(t, &n);
}

static inline void talk_chunk(struct talk *t, const char *kind, const char *id, const char *text)
{
  struct rp__buf b RP_AUTOBUF = RP_BUF(8 * 1024 * 1024);
  struct rp__jw w = RP_JW(&b);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "sessionUpdate", kind);
  rp__jw_key(&w, "content");
  rp__jw_object(&w);
  rp__jw_kstr(&w, "type", "text");
  rp__jw_kstr(&w, "text", text);
  rp__jw_end_object(&w);
  if (id) rp__jw_kstr(&w, "messageId", id);
  rp__jw_end_object(&w);
  assert_int_equal(b.err, 0);
  talk_update(t, b.p);
}

static inline void talk_done(struct talk *t)
{
  rp_error err = {0};
  struct rp__acp_events n = RP_ACP_EVENTS;
  OK(rp__acp_event_turn_end(&t->book, t->book.turn, parsed("{\"stopReason\":\"end_turn\"}"), (struct rp__json){0}, &n,
                            &err),
     err);
  talk_store(t, &n);
}

static inline void talk_request(struct talk *t, const char *id, const char *method, const char *params)
{
  rp_error err = {0};
  struct rp__acp_events n = RP_ACP_EVENTS;
  char name[128];
  snprintf(name, sizeof name, "\"%s\"", method);
  OK(rp__acp_event_request(&t->book, parsed(id), parsed(name), parsed(params), &n, &err), err);
  talk_store(t, &n);
}

static inline void talk_answer(struct talk *t, const char *id, const char *method, const char *result)
{
  rp_error err = {0};
  struct rp__acp_events n = RP_ACP_EVENTS;
  OK(rp__acp_event_answer(&t->book, parsed(id), method, parsed(result), (struct rp__json){0}, &n, &err), err);
  talk_store(t, &n);
}

static inline int talk_on_update(void *ctx, const char *update, size_t n)
{
  struct talk *t = ctx;
  rp_error err = {0};
  struct rp__json v;
  OK(rp__json_parse(update, n, &(struct rp__json_limits){.max_depth = 256}, &v, &err), err);
  assert_int_equal(v.type, RP_JSON_OBJECT);
  assert_true(t->n_told < TOLD_MAX);
  t->told[t->n_told++] = strndup(update, n);
  return 0;
}

static inline void talk_replay(struct talk *t, bool compaction)
{
  rp_error err = {0};
  struct rp__replay *r;
  bool more = true;
  talk_forget(t);
  OK(rp__replay_new(t->s, compaction, &r, &err), err);
  while (more) {
    size_t before = t->n_told;
    OK(rp__replay_step(r, talk_on_update, t, &more, &err), err);
    t->most = RP_MAX(t->most, t->n_told - before);
  }
  rp__replay_free(r);
}

/* What is told is exactly this, in this order. */
static inline void talk_expect(struct talk *t, const char *const *want, size_t n)
{
  for (size_t i = 0; i < RP_MIN(n, t->n_told); i++)
    if (strcmp(t->told[i], want[i]) != 0) fail_msg("update %zu is %s instead of %s", i, t->told[i], want[i]);
  if (t->n_told > n) fail_msg("told beyond what was expected: %s", t->told[n]);
  if (t->n_told < n) fail_msg("not told: %s", want[t->n_told]);
}
#define EXPECT(t, ...)                                                                                                 \
  do {                                                                                                                 \
    const char *const want_[] = {__VA_ARGS__};                                                                         \
    talk_expect((t), want_, RP_ARRAY_SIZE(want_));                                                                     \
  } while (0)

#define TEXT(kind, text) "{\"sessionUpdate\":\"" kind "\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"}}"
#define TEXT_ID(kind, text, id)                                                                                        \
  "{\"sessionUpdate\":\"" kind "\",\"content\":{\"type\":\"text\",\"text\":\"" text "\"},\"messageId\":\"" id "\"}"
#define USER(text) TEXT("user_message_chunk", text)
#define AGENT(text) TEXT("agent_message_chunk", text)
/* A call, but for its last brace. */
#define CALL(id) "{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"" id "\",\"title\":\"t\",\"kind\":\"edit\""
#define FAILED(id) "{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"" id "\",\"status\":\"failed\"}"

#endif
