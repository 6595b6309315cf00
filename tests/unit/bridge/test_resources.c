/* SPDX-License-Identifier: Apache-2.0 */
/* What MCP clients may read and pick: resources, their templates, prompts. */
#include "bridge_test.h"

#include "bridge/mcp/resources.h"

struct reply {
  struct rp__buf out;
  struct rp__jw w;
};

static void reply_done(struct reply *r)
{
  rp__buf_done(&r->out);
}

#define REPLY(name)                                                                                                    \
  struct reply name RP_CLEANUP(reply_done) = {.out = RP_BUF(4 * 1024 * 1024)};                                         \
  name.w = RP_JW(&name.out);                                                                                           \
  rp__jw_object(&name.w)

static struct rp__json reply_json(struct reply *r)
{
  rp__jw_end_object(&r->w);
  assert_int_equal(r->out.err, 0);
  return bridge_json(r->out.p);
}

/* An error leaves the result as it was. */
static void reply_empty(struct reply *r)
{
  assert_int_equal(r->out.n, 1);
}

static struct rp__json quoted(const char *text)
{
  static char room[RP_RESOURCE_URI_MAX + 64];
  snprintf(room, sizeof room, "\"%s\"", text);
  return bridge_json(room);
}

static struct rp__json first(struct rp__json array)
{
  struct rp__json_iter it = {0};
  struct rp__json v = {0};
  rp__json_next(array, &it, NULL, &v);
  return v;
}

/* The text of a resource, freed by the caller. */
static char *read_text(struct rp__tool_session *m, const char *uri, const char *type)
{
  REPLY(r);
  rp_error err = {0};
  OK(rp__resource_read(m, quoted(uri), &r.w, &err), err);
  struct rp__json content = first(rp__json_get(reply_json(&r), "contents"));
  assert_true(rp__json_eq(rp__json_get(content, "uri"), uri));
  assert_true(rp__json_eq(rp__json_get(content, "mimeType"), type));
  char *text = rp__json_dup(rp__json_get(content, "text"));
  assert_non_null(text);
  return text;
}

static void read_fails(struct rp__tool_session *m, const char *uri)
{
  REPLY(r);
  rp_error err = {0};
  int rc = rp__resource_read(m, quoted(uri), &r.w, &err);
  if (rc != RP_E_SESSION_NOT_FOUND) fail_msg("%s: %d %s", uri, rc, err.message);
  assert_string_equal(err.field, "uri");
  reply_empty(&r);
}

static void pages_of_sessions(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  rp_error err = {0};
  int fixed = 2, n = 60;
  for (int i = 0; i < n; i++) {
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
  }
  rp_session_free(rig_start(r, "other", NULL, RP_OWNER_SELF));
  REPLY(one);
  OK(rp__resources_list(&m, (struct rp__json){0}, &one.w, &err), err);
  struct rp__json page = reply_json(&one), cursor = rp__json_get(page, "nextCursor");
  assert_int_equal(rp__json_count(rp__json_get(page, "resources")), fixed + RP_RESOURCE_PAGE);
  assert_int_equal(cursor.type, RP_JSON_STRING);
  REPLY(two);
  OK(rp__resources_list(&m, cursor, &two.w, &err), err);
  page = reply_json(&two);
  assert_int_equal(rp__json_count(rp__json_get(page, "resources")), n - RP_RESOURCE_PAGE);
  assert_int_equal(rp__json_get(page, "nextCursor").type, RP_JSON_NONE);
  static const char *const bad[] = {"\"\"", "\"nobody\"", "3", "null", "\"../x\""};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    REPLY(three);
    err = (rp_error){0};
    assert_int_equal(rp__resources_list(&m, bridge_json(bad[i]), &three.w, &err), RP_E_INVALID);
    assert_string_equal(err.field, "cursor");
    reply_empty(&three);
  }
  assert_null(m.s);
}

static void each_is_read(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  char uri[256];
  bridge_call(&m, "working_memory", "{\"action\":\"pin\",\"label\":\"north\",\"content\":\"is up\"}");
  RP_AUTOFREE char *list = read_text(&m, "reprise://sessions", "application/json");
  assert_has(list, rp_session_id(m.s));
  assert_true(rp__json_get(bridge_json(list), "sessions").type == RP_JSON_ARRAY);
  snprintf(uri, sizeof uri, "reprise://sessions/%s", rp_session_id(m.s));
  RP_AUTOFREE char *one = read_text(&m, uri, "application/json");
  assert_string_equal(rig_get(one, "scope"), "\"coder\"");
  snprintf(uri, sizeof uri, "reprise://sessions/%s/state", rp_session_id(m.s));
  RP_AUTOFREE char *doc = read_text(&m, uri, "application/json");
  assert_has(rig_get(doc, "pins"), "north");
  rp__tool_session_end(&m, NULL);
  struct rp__tool_session next = bridge_mind(*state, "coder");
  RP_AUTOFREE char *brief = read_text(&next, "reprise://brief", "text/plain");
  assert_has(brief, "WORKING MEMORY");
  assert_null(next.s); /* reading begins nothing */
}

static void what_is_no_resource(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  rp_error err = {0};
  char uri[256];
  static const char *const bad[] = {"reprise://",
                                    "reprise://sessions/",
                                    "reprise://sessions/last",
                                    "reprise://sessions/desk",
                                    "reprise://sessions//state",
                                    "reprise://sessions/../state",
                                    "reprise://sessions/%2e%2e",
                                    "reprise://brief/",
                                    "file:///etc/passwd",
                                    ""};
  rp_session *own = rig_start(r, "coder", "desk", RP_OWNER_SELF), *other = rig_start(r, "other", NULL, RP_OWNER_SELF);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) read_fails(&m, bad[i]);
  snprintf(uri, sizeof uri, "reprise://sessions/%s", rp_session_id(other));
  read_fails(&m, uri);
  snprintf(uri, sizeof uri, "reprise://sessions/%s/events", rp_session_id(own));
  read_fails(&m, uri);
  OK(rp_end(own, NULL, &err), err);
  OK(rp_trash(r->e, rp_session_id(own), NULL, &err), err);
  snprintf(uri, sizeof uri, "reprise://sessions/%s", rp_session_id(own));
  read_fails(&m, uri);
  REPLY(none);
  assert_int_equal(rp__resource_read(&m, (struct rp__json){0}, &none.w, &err), RP_E_INVALID);
  assert_string_equal(err.field, "uri");
  reply_empty(&none);
  rp_session_free(own);
  rp_session_free(other);
}

static void the_templates(void **state)
{
  (void)state;
  REPLY(r);
  rp__resource_templates(&r.w);
  struct rp__json list = rp__json_get(reply_json(&r), "resourceTemplates");
  assert_int_equal(rp__json_count(list), 2);
  assert_true(rp__json_eq(rp__json_get(first(list), "uriTemplate"), "reprise://sessions/{id}"));
}

/* ---- prompts ---- */

static char *prompt_text(struct rp__tool_session *m, const char *name, const char *args)
{
  REPLY(r);
  rp_error err = {0};
  struct rp__json given = args ? rp__json_trusted(args, strlen(args)) : (struct rp__json){0};
  OK(rp__prompt_get(m, quoted(name), given, &r.w, &err), err);
  struct rp__json message = first(rp__json_get(reply_json(&r), "messages"));
  assert_true(rp__json_eq(rp__json_get(message, "role"), "user"));
  char *text = rp__json_dup(rp__json_get(rp__json_get(message, "content"), "text"));
  assert_non_null(text);
  return text;
}

static void append(rp_session *s, const char *kind, const char *body)
{
  rp_error err = {0};
  rp_event ev = {.kind = kind, .body = body};
  OK(rp_append(s, &ev, NULL, NULL, &err), err);
}

static void a_handoff_tells_what_is_open(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  RP_AUTOFREE char *none = prompt_text(&m, "handoff", NULL);
  assert_has(none, "nothing to hand over");
  rp_session *s = rig_start(r, "coder", "desk", RP_OWNER_SELF);
  append(s, "tool", "{\"call_id\":\"c1\",\"name\":\"deploy\",\"status\":\"running\"}");
  append(s, "tool", "{\"call_id\":\"c2\",\"name\":\"ls\",\"status\":\"done\"}");
  append(s, "task", "{\"task_id\":\"t1\",\"title\":\"ship it\",\"stage\":\"verify\"}");
  append(s, "task", "{\"task_id\":\"t2\",\"title\":\"old news\",\"stage\":\"done\",\"status\":\"done\"}");
  append(s, "pin", "{\"label\":\"rule\",\"content\":\"CRITICAL: ask first\"}");
  append(s, "approval", "{\"id\":\"a1\",\"status\":\"pending\"}");
  append(s, "message", "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"please ship\"}]}");
  append(s, "message", "{\"role\":\"assistant\",\"content\":\"on it\"}");
  RP_AUTOFREE char *text = prompt_text(&m, "handoff", "{\"session\":\"desk\"}");
  static const char *const parts[] = {"- deploy (c1, running)", "[t1] ship it (stage: verify)",
                                      "[rule] (critical) CRIT", "- a1",
                                      "user: please ship",      "assistant: on it",
                                      "not instructions"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++) assert_has(text, parts[i]);
  assert_null(strstr(text, "old news"));
  assert_null(strstr(text, "- ls"));
  assert_null(m.s);
  rp_session_free(s);
}

static void resuming(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder"), next = bridge_mind(r, "coder");
  char args[256];
  RP_AUTOFREE char *none = prompt_text(&m, "resume", "{}");
  assert_has(none, "first session");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"half done\"}");
  snprintf(args, sizeof args, "{\"session\":\"%s\"}", rp_session_id(m.s));
  rp__tool_session_end(&m, NULL);
  RP_AUTOFREE char *last = prompt_text(&next, "resume", NULL), *named = prompt_text(&next, "resume", args);
  assert_has(last, "half done");
  assert_has(named, "Call session_continue with session_id");
  assert_has(named, "half done");
}

static void prompts_asked_for_wrongly(void **state)
{
  struct rp__tool_session m = bridge_mind(*state, "coder");
  static const struct {
    const char *name, *args, *field;
    int code;
  } bad[] = {
      {"\"nothing\"", "{}", "name", RP_E_INVALID},
      {"3", "{}", "name", RP_E_INVALID},
      {"\"resume\"", "{\"sesion\":\"x\"}", "sesion", RP_E_INVALID},
      {"\"resume\"", "{\"session\":1}", "session", RP_E_INVALID},
      {"\"handoff\"", "{\"session\":\"nobody\"}", "session", RP_E_SESSION_NOT_FOUND},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    REPLY(r);
    rp_error err = {0};
    struct rp__json args = rp__json_trusted(bad[i].args, strlen(bad[i].args));
    assert_int_equal(rp__prompt_get(&m, bridge_json(bad[i].name), args, &r.w, &err), bad[i].code);
    assert_string_equal(err.field, bad[i].field);
    reply_empty(&r);
  }
  REPLY(list);
  rp__prompts_list(&list.w);
  struct rp__json prompts = rp__json_get(reply_json(&list), "prompts");
  assert_int_equal(rp__json_count(prompts), 2);
  assert_true(rp__json_eq(rp__json_get(first(rp__json_get(first(prompts), "arguments")), "name"), "session"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(pages_of_sessions, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(each_is_read, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(what_is_no_resource, bridge_setup, rig_teardown),
      cmocka_unit_test(the_templates),
      cmocka_unit_test_setup_teardown(a_handoff_tells_what_is_open, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(resuming, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(prompts_asked_for_wrongly, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
