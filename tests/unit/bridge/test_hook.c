/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks one by one: which session, which events, what is told (B-04, X-09). */
#include "bridge_test.h"

#include "bridge/hook/hook.h"

#include <fnmatch.h>

#define OUT_MAX ((size_t)64 * 1024)

static int hook_setup(void **state)
{
  unsetenv("CLAUDE_PROJECT_DIR");
  return bridge_setup(state);
}

/* Calls a hook of Claude's with these members; its code, and the answer in a static buffer. */
static int try_hook(struct rig *r, const char *event, const char *members, const char **ret_out, rp_error *err)
{
  static char answer[OUT_MAX];
  RP_AUTOBUF struct rp__buf in = RP_BUF(RP_HOOK_INPUT_MAX), out = RP_BUF(OUT_MAX);
  const struct rp__hook_call call = {.event = event, .scope = "shop"};
  struct rp__json_limits limits = {.max_depth = RP_HOOK_DEPTH};
  struct rp__json input;
  rp__buf_printf(&in, "{\"cwd\":\"/srv/ada/shop\"%s%s}", *members ? "," : "", members);
  assert_int_equal(in.err, 0);
  OK(rp__json_parse(in.p, in.n, &limits, &input, err), *err);
  *err = (rp_error){0};
  int rc = rp__hook_handle(r->e, &call, input, &out, err);
  snprintf(answer, sizeof answer, "%s", out.p ? out.p : "");
  *ret_out = answer;
  return rc;
}

static const char *hook(struct rig *r, const char *event, const char *members)
{
  const char *out;
  rp_error err = {0};
  OK(try_hook(r, event, members, &out, &err), err);
  return out;
}

static rp_session *attach(struct rig *r, const char *key)
{
  rp_session *s;
  rp_error err = {0};
  OK(rp_attach(r->e, key, &s, &err), err);
  return s;
}

static const char *state_of(struct rig *r, const char *key, const char *path)
{
  rp_session *s = attach(r, key);
  char *doc = rig_state(s, -1);
  const char *value = rig_get(doc, path);
  rp_free(doc);
  rp_session_free(s);
  return value;
}

/* The status of the nth call in the ledger. */
static const char *call_of(struct rig *r, const char *key, int n)
{
  static char status[32];
  rp_session *s = attach(r, key);
  RP_AUTOFREE char *doc = rig_state(s, -1);
  struct rp__json tools = rp__json_get(rp__json_trusted(doc, strlen(doc)), "tools"), call = {0};
  struct rp__json_iter it = {0};
  while (n-- >= 0 && rp__json_next(tools, &it, NULL, &call)) continue;
  struct rp__json v = rp__json_get(call, "status");
  snprintf(status, sizeof status, "%.*s", (int)v.n, v.p ? v.p : "");
  rp_session_free(s);
  return status;
}

struct last {
  char kind[32], body[4096];
  int64_t seq;
};

static int on_last(void *ctx, const rp_event_info *ev)
{
  struct last *l = ctx;
  snprintf(l->kind, sizeof l->kind, "%s", ev->kind);
  snprintf(l->body, sizeof l->body, "%.*s", (int)RP_MIN(ev->body_len, sizeof l->body - 1), ev->body);
  l->seq = ev->seq;
  return 0;
}

static struct last last_event(struct rig *r, const char *key)
{
  rp_session *s = attach(r, key);
  struct last l = {0};
  rp_error err = {0};
  OK(rp_events(s, 0, 0, on_last, &l, &err), err);
  rp_session_free(s);
  return l;
}

static int on_info(void *ctx, const rp_session_info *info)
{
  struct {
    char status[32];
    int64_t epoch;
  } *x = ctx;
  snprintf(x->status, sizeof x->status, "%s", rp_session_status_name(info->status));
  x->epoch = info->epoch;
  return 0;
}

static int64_t epoch_of(struct rig *r, const char *key)
{
  struct {
    char status[32];
    int64_t epoch;
  } x = {0};
  rp_error err = {0};
  OK(rp_show(r->e, key, on_info, &x, &err), err);
  return x.epoch;
}

static void a_compaction_is_no_new_run(void **state)
{
  struct rig *r = *state;
  assert_string_equal(hook(r, "SessionStart", "\"session_id\":\"s\",\"source\":\"startup\""), "");
  assert_string_equal(hook(r, "SessionStart", "\"session_id\":\"s\",\"source\":\"compact\""), "");
  assert_int_equal(epoch_of(r, "claude:s"), 1);
  /* Without a process to ask, a second start means that the first run is over. */
  hook(r, "SessionStart", "\"session_id\":\"s\",\"source\":\"startup\"");
  assert_int_equal(epoch_of(r, "claude:s"), 2);
}

static void a_prompt_begins_what_is_not_there_and_tells_nothing(void **state)
{
  struct rig *r = *state;
  assert_string_equal(hook(r, "UserPromptSubmit", "\"session_id\":\"p\",\"prompt\":\"hello\""), "");
  assert_string_equal(state_of(r, "claude:p", "conversation.total"), "1");
  hook(r, "SessionEnd", "\"session_id\":\"p\"");
  assert_string_equal(last_event(r, "claude:p").kind, "status");
  hook(r, "UserPromptSubmit", "\"session_id\":\"p\",\"prompt\":\"again\"");
  assert_string_equal(last_event(r, "claude:p").kind, "message");
  assert_int_equal(epoch_of(r, "claude:p"), 1);
}

static void odd_ids_have_keys_too(void **state)
{
  struct rig *r = *state;
  hook(r, "UserPromptSubmit", "\"session_id\":\"../.. \\u0001 \\ud83d\\uded2\",\"prompt\":\"x\"");
  hook(r, "Stop", "\"session_id\":\"../.. \\u0001 \\ud83d\\uded2\",\"last_assistant_message\":\"y\"");
  const rp_filter f = {.scope = "shop"};
  struct {
    char status[32];
    int64_t epoch;
  } x = {0};
  rp_error err = {0};
  OK(rp_list(r->e, &f, on_info, &x, &err), err);
  assert_string_equal(state_of(r, "last", "conversation.total"), "2");
}

static void bad_inputs_name_their_field_and_store_nothing(void **state)
{
  struct rig *r = *state;
  static const struct {
    const char *event, *members, *field;
  } bad[] = {
      {"UserPromptSubmit", "\"session_id\":\"b\\u0000c\",\"prompt\":\"x\"", "session_id"},
      {"UserPromptSubmit", "\"session_id\":\"b\"", "prompt"},
      {"UserPromptSubmit", "\"session_id\":\"b\",\"prompt\":[]", "prompt"},
      {"UserPromptSubmit", "\"prompt\":\"x\"", "session_id"},
      {"UserPromptSubmit", "\"session_id\":\"\",\"prompt\":\"x\"", "session_id"},
      {"UserPromptSubmit", "\"session_id\":7,\"prompt\":\"x\"", "session_id"},
      {"PreToolUse", "\"session_id\":\"b\",\"tool_input\":{}", "tool_name"},
      {NULL, "\"session_id\":\"b\"", "hook_event_name"},
      {"Stop", "\"session_id\":\"b\",\"scope\":\"no scope\"", "scope"},
  };
  hook(r, "SessionStart", "\"session_id\":\"b\"");
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    rp_error err = {0};
    const char *out;
    assert_int_equal(try_hook(r, bad[i].event, bad[i].members, &out, &err), RP_E_INVALID);
    assert_string_equal(err.field, bad[i].field);
  }
  assert_int_equal(last_event(r, "claude:b").seq, 0);
}

static void unknown_events_are_none(void **state)
{
  struct rig *r = *state;
  static const char *const words[] = {"", "sessionstart", "SubagentStop", "WorktreeCreate", "BeforeModel", "x"};
  const char *out;
  rp_error err = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
    assert_string_equal(hook(r, words[i], "\"session_id\":\"u\",\"prompt\":\"x\""), "");
  rp_session *s;
  assert_int_equal(rp_attach(r->e, "claude:u", &s, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(try_hook(r, "UserPromptSubmit", "\"session_id\":\"u\",\"prompt\":\"\"", &out, &err), 0);
}

/* Twice the same call, one inside the other's time: each outcome finds its own intent. */
static void calls_without_ids_are_told_apart(void **state)
{
  struct rig *r = *state;
  static const char call[] = "\"session_id\":\"g\",\"timestamp\":\"t\",\"tool_name\":\"ls\",\"tool_input\":{\"p\":1}";
  static const char done[] =
      "\"session_id\":\"g\",\"timestamp\":\"t\",\"tool_name\":\"ls\",\"tool_input\":{\"p\":1},\"tool_response\":{}";
  hook(r, "BeforeTool", call);
  hook(r, "AfterTool", done);
  hook(r, "BeforeTool", call);
  hook(r, "BeforeTool", "\"session_id\":\"g\",\"timestamp\":\"t\",\"tool_name\":\"ls\",\"tool_input\":{\"p\":2}");
  hook(r, "AfterTool", done);
  assert_string_equal(call_of(r, "gemini:g", 0), "\"done\"");
  assert_string_equal(call_of(r, "gemini:g", 1), "\"done\"");
  assert_string_equal(call_of(r, "gemini:g", 2), "\"intended\"");
  /* An outcome without an intent is told all the same. */
  hook(r, "AfterTool",
       "\"session_id\":\"g\",\"timestamp\":\"t\",\"tool_name\":\"cat\",\"tool_response\":{\"error\":\"no\"}");
  assert_string_equal(call_of(r, "gemini:g", 3), "\"failed\"");
}

/* `n` bytes of text in a member. */
static char *large(const char *before, size_t n, const char *after)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(RP_HOOK_INPUT_MAX);
  rp__buf_str(&b, before);
  for (size_t i = 0; i < n; i++) rp__buf_char(&b, 'x');
  rp__buf_str(&b, after);
  char *text = rp__buf_take(&b);
  assert_non_null(text);
  return text;
}

static void what_is_too_large_for_an_event_is_a_blob(void **state)
{
  struct rig *r = *state;
  RP_AUTOFREE char *output = large(
      "\"session_id\":\"l\",\"tool_name\":\"Read\",\"tool_use_id\":\"t1\",\"tool_response\":\"", 3 * 1024 * 1024, "\"");
  hook(r, "PreToolUse", "\"session_id\":\"l\",\"tool_name\":\"Read\",\"tool_use_id\":\"t1\",\"tool_input\":{}");
  hook(r, "PostToolUse", output);
  assert_string_equal(call_of(r, "claude:l", 0), "\"done\"");
  struct last l = last_event(r, "claude:l");
  assert_string_equal(rig_get(l.body, "output_bytes"), "3145730");
  assert_true(strlen(rig_get(l.body, "output_blob")) > 2);
  RP_AUTOFREE char *prompt = large("\"session_id\":\"l\",\"prompt\":\"", 3 * 1024 * 1024, "\"");
  hook(r, "UserPromptSubmit", prompt);
  assert_string_equal(state_of(r, "claude:l", "conversation.total"), "1");
}

static void what_is_nested_too_deep_leaves_its_line(void **state)
{
  struct rig *r = *state;
  char deep[512] = "\"session_id\":\"d\",\"tool_name\":\"T\",\"tool_use_id\":\"t\",\"tool_input\":";
  for (int i = 0; i < 100; i++) strncat(deep, "[", sizeof deep - strlen(deep) - 1);
  for (int i = 0; i < 100; i++) strncat(deep, "]", sizeof deep - strlen(deep) - 1);
  hook(r, "PreToolUse", deep);
  assert_string_equal(call_of(r, "claude:d", 0), "\"intended\"");
  assert_string_equal(rig_get(last_event(r, "claude:d").body, "input_bytes"), "200");
}

static void secrets_are_masked(void **state)
{
  struct rig *r = *state;
  hook(r, "UserPromptSubmit",
       "\"session_id\":\"m\",\"prompt\":\"use ghp_abcdefghijklmnopqrstuvwxyz0123456789 please\"");
  assert_null(strstr(last_event(r, "claude:m").body, "ghp_abcdefghijkl"));
}

/* One brief per run, and it is the one injection (X-09, N-05). */
static void the_brief_is_told_once(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  hook(r, "SessionStart", "\"session_id\":\"one\"");
  rp_session *s = attach(r, "claude:one");
  const rp_event pin = {.kind = "pin",
                        .body = "{\"label\":\"l\",\"content\":\"mind the gap\",\"importance\":\"critical\"}"};
  rp_ack ack;
  OK(rp_append(s, &pin, NULL, &ack, &err), err);
  rp_session_free(s);
  hook(r, "SessionEnd", "\"session_id\":\"one\",\"reason\":\"exit\"");
  r->wall += 60000;
  const char *out = hook(r, "SessionStart", "\"session_id\":\"two\"");
  assert_non_null(strstr(rig_get(out, "hookSpecificOutput.additionalContext"), "mind the gap"));
  assert_string_equal(rig_get(out, "hookSpecificOutput.hookEventName"), "\"SessionStart\"");
  assert_string_equal(hook(r, "SessionStart", "\"session_id\":\"two\",\"source\":\"compact\""), "");
  assert_string_equal(hook(r, "UserPromptSubmit", "\"session_id\":\"two\",\"prompt\":\"x\""), "");
}

static void nested_it_is_a_guest(void **state)
{
  struct rig *r = *state;
  rp_session *host = rig_start(r, "shop", "host", RP_OWNER_SELF);
  rig_say(host, "hello");
  setenv("REPRISE_SESSION", rp_session_id(host), 1);
  assert_string_equal(hook(r, "SessionStart", "\"session_id\":\"n\""), "");
  hook(r, "UserPromptSubmit", "\"session_id\":\"n\",\"prompt\":\"inner\"");
  hook(r, "SessionEnd", "\"session_id\":\"n\"");
  assert_string_equal(state_of(r, "host", "conversation.total"), "2");
  /* A bridge that journals itself has that already. */
  setenv("REPRISE_BRIDGE", "acp", 1);
  hook(r, "UserPromptSubmit", "\"session_id\":\"n\",\"prompt\":\"inner\"");
  assert_string_equal(state_of(r, "host", "conversation.total"), "2");
  unsetenv("REPRISE_SESSION");
  unsetenv("REPRISE_BRIDGE");
  rp_session *s;
  rp_error err = {0};
  assert_int_equal(rp_attach(r->e, "claude:n", &s, &err), RP_E_SESSION_NOT_FOUND);
  rp_session_free(host);
}

/* ---- how a turn ended (B-13) ---- */

#define REJECTED                                                                                                       \
  "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "    \
  "new_string was NOT written to the file). "
#define SAID(words)                                                                                                    \
  REJECTED "To tell you how to proceed, the user said:\\n" words "\\n\\nNote: The user's next message may contain"

static void an_outcome_says_that_the_user_declined(void **state)
{
  static const struct {
    const char *event, *members, *body;
  } cases[] = {
      {"PostToolUseFailure", "\"error\":\"" SAID("use main") "\"",
       "*\"failed\",\"declined\":true,\"said\":\"use main\",*"},
      {"PostToolUseFailure", "\"error\":\"" REJECTED "STOP\"", "*\"failed\",\"declined\":true,\"output\":*"},
      {"PostToolUse", "\"tool_response\":\"exec command rejected by user\"", "*\"failed\",\"declined\":true,*"},
      {"PostToolUse", "\"tool_result\":{\"result_type\":\"denied\"}", "*\"failed\",\"declined\":true,*"},
      {"PostToolUse",
       "\"tool_response\":{\"llmContent\":\"[Operation Cancelled] Reason: User did not allow tool call\"}",
       "*\"failed\",\"declined\":true,*"},
      {"PostToolUse",
       "\"tool_response\":{\"error\":{\"message\":\"[Operation Cancelled] Reason: User did not allow tool call\"}}",
       "*\"failed\",\"declined\":true,*"},
      {"PostToolUseFailure", "\"error\":\"Exit code 1\"", "*\"failed\",\"output\":\"Exit code 1\"}"},
  };
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    char members[1024];
    snprintf(members, sizeof members, "\"session_id\":\"d\",\"tool_name\":\"Bash\",\"tool_use_id\":\"t%zu\",%s", i,
             cases[i].members);
    hook(r, cases[i].event, members);
    struct last l = last_event(r, "claude:d");
    if (fnmatch(cases[i].body, l.body, 0) != 0) fail_msg("%s\nis not %s", l.body, cases[i].body);
  }
}

static void a_turn_that_was_cut_off_is_told(void **state)
{
  struct rig *r = *state;
  hook(r, "SessionStart", "\"session_id\":\"f\"");
  hook(r, "StopFailure", "\"session_id\":\"f\",\"error\":\"rate_limit\"");
  struct last l = last_event(r, "claude:f");
  assert_string_equal(l.kind, "turn");
  assert_string_equal(l.body, "{\"status\":\"failed\",\"reason\":\"rate_limit\"}");
  hook(r, "PostToolUseFailure",
       "\"session_id\":\"f\",\"tool_name\":\"Bash\",\"tool_use_id\":\"t\",\"error\":\"x\",\"is_interrupt\":true");
  l = last_event(r, "claude:f");
  assert_string_equal(l.body, "{\"status\":\"cancelled\"}");
}

static int64_t count_events(struct rig *r, const char *key)
{
  return last_event(r, key).seq;
}

/* Claude Code calls no hook for either: its file has them. */
static void what_no_hook_tells_stands_in_the_file(void **state)
{
  struct rig *r = *state;
  char path[PATH_MAX], tool[PATH_MAX + 128], prompt[PATH_MAX + 128];
  snprintf(path, sizeof path, "%s/file.jsonl", r->scratch.dir);
  snprintf(tool, sizeof tool, "\"session_id\":\"c\",\"tool_name\":\"Bash\",\"transcript_path\":\"%s\"", path);
  snprintf(prompt, sizeof prompt, "\"session_id\":\"c\",\"transcript_path\":\"%s\",\"prompt\":\"no\"", path);
  char with_id[PATH_MAX + 256];
  snprintf(with_id, sizeof with_id, "%s,\"tool_use_id\":\"t1\"", tool);
  hook(r, "UserPromptSubmit", "\"session_id\":\"c\",\"prompt\":\"push it\"");
  hook(r, "PreToolUse", with_id);
  FILE *f = fopen(path, "we");
  assert_non_null(f);
  fputs(
      "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t0\",\"is_error\":true,"
      "\"content\":\"" REJECTED "\"}]}}\n" /* of an earlier turn */
      "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"push it\"}}\n"
      "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,"
      "\"content\":\"" SAID("not to main") "\"}]}}\n"
                                           "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":"
                                           "\"[Request interrupted by user for tool "
                                           "use]\"}]}}\n",
      f);
  fclose(f);
  hook(r, "UserPromptSubmit", prompt);
  assert_string_equal(call_of(r, "claude:c", 0), "\"failed\"");
  /* The request, the call, its outcome, the turn's end, the next request. */
  assert_int_equal(count_events(r, "claude:c"), 5);
  rp_session *s = attach(r, "claude:c");
  struct last l = {0};
  rp_error err = {0};
  OK(rp_events(s, 2, 1, on_last, &l, &err), err);
  assert_string_equal(l.body, "{\"call_id\":\"t1\",\"name\":\"Bash\",\"status\":\"failed\",\"declined\":true,"
                              "\"said\":\"not to main\"}");
  OK(rp_events(s, 3, 1, on_last, &l, &err), err);
  assert_string_equal(l.body, "{\"status\":\"cancelled\"}");
  rp_session_free(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, hook_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TEST(a_compaction_is_no_new_run),
      TEST(a_prompt_begins_what_is_not_there_and_tells_nothing),
      TEST(odd_ids_have_keys_too),
      TEST(bad_inputs_name_their_field_and_store_nothing),
      TEST(unknown_events_are_none),
      TEST(calls_without_ids_are_told_apart),
      TEST(what_is_too_large_for_an_event_is_a_blob),
      TEST(what_is_nested_too_deep_leaves_its_line),
      TEST(secrets_are_masked),
      TEST(the_brief_is_told_once),
      TEST(nested_it_is_a_guest),
      TEST(an_outcome_says_that_the_user_declined),
      TEST(a_turn_that_was_cut_off_is_told),
      TEST(what_no_hook_tells_stands_in_the_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
