/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: stages, flags, mentions in pins and messages. */
#include "facets_test.h"

static struct rp__json tasks_of(const struct rp__fold *f, struct rp__buf *out)
{
  show(f, out);
  return rp__json_get(parsed(out), "tasks");
}

static struct rp__json task_of(const struct rp__fold *f, struct rp__buf *out, const char *id)
{
  struct rp__json tasks = tasks_of(f, out), t;
  struct rp__json_iter it = {0};
  while (rp__json_next(tasks, &it, NULL, &t))
    if (rp__json_eq(rp__json_get(t, "task_id"), id)) return t;
  return (struct rp__json){0};
}

/* "pending", "not pending" or "unknown". */
static const char *word_on(const struct rp__fold *f, const char *id)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  struct rp__json t = task_of(f, &out, id);
  if (t.type == RP_JSON_NONE) return "unknown";
  return rp__json_get(t, "pending").type == RP_JSON_TRUE ? "pending" : "not pending";
}

static void task(struct rp__fold *f, const char *id, const char *stage)
{
  char body[200];
  snprintf(body, sizeof body, "{\"task_id\":\"%s\",\"title\":\"T\",\"stage\":\"%s\"}", id, stage);
  tell(f, RP_KIND_TASK, body);
}

static void say(struct rp__fold *f, const char *role, const char *text)
{
  char body[400];
  snprintf(body, sizeof body, "{\"role\":\"%s\",\"content\":\"%s\"}", role, text);
  tell(f, RP_KIND_MESSAGE, body);
}

static void pin(struct rp__fold *f, const char *label, const char *content)
{
  char body[400];
  snprintf(body, sizeof body, "{\"label\":\"%s\",\"content\":\"%s\"}", label, content);
  tell(f, RP_KIND_PIN, body);
}

/* */
static void the_document_of_the_contract(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX), text = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_TASK, "{\"task_id\":\"T\\u0031\",\"title\":\"One\",\"stage\":\"build\",\"referred\":true}");
  tell(
      f, RP_KIND_TASK,
      "{\"task_id\":\"T2\",\"title\":\"Two\",\"stage\":\"design\",\"flagged_incomplete\":true,\"status\":\"deleted\"}");
  struct rp__json tasks = tasks_of(f, &out);
  rp__buf_add(&text, tasks.p, tasks.n);
  assert_string_equal(text.p, "[{\"task_id\":\"T1\",\"title\":\"One\",\"stage\":\"build\",\"status\":\"open\","
                              "\"source\":\"pipeline_state\",\"inherited_from\":null,\"flagged_incomplete\":false,"
                              "\"at\":\"1970-01-01T00:00:01.000Z\",\"pending\":true},"
                              "{\"task_id\":\"T2\",\"title\":\"Two\",\"stage\":\"design\",\"status\":\"deleted\","
                              "\"source\":\"pipeline_state\",\"inherited_from\":null,\"flagged_incomplete\":true,"
                              "\"at\":\"1970-01-01T00:00:02.000Z\",\"pending\":false}]");
  assert_sound(f);
}

/* any stage but done is one of unfinished work. */
static void stages_and_flags(void **state)
{
  (void)state;
  static const struct {
    const char *body, *word;
  } cases[] = {
      {"\"stage\":\"build\"", "pending"},
      {"\"stage\":\"verify\"", "pending"},
      {"\"stage\":\"Validate\"", "pending"},
      {"\"stage\":\"design\"", "pending"},
      {"\"stage\":\"in review\"", "pending"},
      {"\"stage\":\"deploy\",\"status\":null", "pending"},
      {"\"stage\":\"done\"", "not pending"},
      {"\"stage\":\"Done\"", "not pending"},
      {"\"stage\":\"design\",\"status\":\"done\"", "not pending"},
      {"\"stage\":\"design\",\"status\":\"deleted\"", "not pending"},
      {"\"stage\":\"design\",\"flagged_incomplete\":true", "pending"},
      {"\"stage\":\"design\",\"flagged_incomplete\":false", "pending"},
      {"\"stage\":\"done\",\"flagged_incomplete\":true", "not pending"},
      {"\"stage\":\"build\",\"status\":\"open\"", "pending"},
      {"\"stage\":\"build\",\"status\":\"done\"", "not pending"},
      {"\"stage\":\"build\",\"status\":\"deleted\"", "not pending"},
      {"\"stage\":5", "unknown"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    char body[200];
    snprintf(body, sizeof body, "{\"task_id\":\"T1\",\"title\":\"x\",%s}", cases[i].body);
    tell(f, RP_KIND_TASK, body);
    if (strcmp(word_on(f, "T1"), cases[i].word) != 0) fail_msg("%s: %s", body, word_on(f, "T1"));
    assert_sound(f);
  }
}

/* named incomplete by a pin. */
static void pins_name_tasks(void **state)
{
  (void)state;
  static const struct {
    const char *label, *content, *word;
  } cases[] = {
      {"task-7", "still todo", "pending"},
      {"notes", "task-7 is incomplete.", "pending"},
      {"notes", "todo:task-7", "pending"},
      {"[TASK] task-7", "x", "pending"},
      {"notes", "task-7 in progress", "pending"},
      {"notes", "in-progress (task-7)", "pending"},
      {"wip", "see task-7, please", "pending"},
      {"notes", "task-7 is unfinished; pending review", "pending"},
      {"notes", "task-7 is nice", "unknown"},
      {"notes", "task-70 is incomplete", "unknown"},
      {"notes", "subtask-7 is incomplete", "unknown"},
      {"notes", "task-7.1 is incomplete", "unknown"},
      {"notes", "task-7 is spending", "unknown"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    pin(f, cases[i].label, cases[i].content);
    if (strcmp(word_on(f, "task-7"), cases[i].word) != 0) fail_msg("%s: %s", cases[i].label, cases[i].content);
    assert_sound(f);
    char body[100];
    snprintf(body, sizeof body, "{\"label\":\"%s\"}", cases[i].label);
    tell(f, RP_KIND_UNPIN, body);
    assert_string_equal(word_on(f, "task-7"), "unknown");
  }
}

static void a_pin_may_come_before_its_task(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  pin(f, "open work", "JIRA-12 incomplete");
  assert_string_equal(word_on(f, "JIRA-12"), "unknown");
  assert_sound(f);
  task(f, "JIRA-12", "design");
  task(f, "fix login", "design");
  assert_string_equal(word_on(f, "JIRA-12"), "pending");
  pin(f, "more", "fix login is WIP");
  assert_string_equal(word_on(f, "fix login"), "pending");
  tell(f, RP_KIND_TASK, "{\"task_id\":\"JIRA-12\",\"title\":\"x\",\"stage\":\"design\",\"status\":\"done\"}");
  assert_string_equal(word_on(f, "JIRA-12"), "not pending");
  assert_sound(f);
}

/* what only a pin knows. */
static void an_unknown_task_lives_as_long_as_its_pin(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  pin(f, "Radio work", "todo: task-003 and task-alpha, pending; task-003 again");
  struct rp__json t = task_of(f, &out, "task-003");
  assert_true(rp__json_eq(rp__json_get(t, "title"), "Radio work"));
  assert_true(rp__json_eq(rp__json_get(t, "stage"), "unknown"));
  assert_true(rp__json_eq(rp__json_get(t, "source"), "working_memory_scan"));
  assert_int_equal(rp__json_get(t, "flagged_incomplete").type, RP_JSON_TRUE);
  assert_string_equal(word_on(f, "task-003"), "pending");
  assert_int_equal(rp__json_count(tasks_of(f, &out)), 2);
  /* The pin changes its mind about one, another pin takes the other up. */
  pin(f, "second", "task-alpha is unfinished");
  pin(f, "Radio work", "task-003 pending");
  assert_string_equal(word_on(f, "task-alpha"), "pending");
  tell(f, RP_KIND_UNPIN, "{\"label\":\"second\"}");
  assert_string_equal(word_on(f, "task-alpha"), "unknown");
  assert_sound(f);
  /* Once the pipeline knows it, it stays. */
  task(f, "task-003", "design");
  assert_string_equal(word_on(f, "task-003"), "pending");
  tell(f, RP_KIND_UNPIN, "{\"label\":\"Radio work [inherited from s @ t]\"}");
  assert_string_equal(word_on(f, "task-003"), "pending");
}

/* referred to by a message without a completion. */
static void messages_speak_of_tasks(void **state)
{
  (void)state;
  static const struct {
    const char *role, *text, *word;
  } cases[] = {
      {"user", "please go on with task-1 tomorrow", "pending"},
      {"assistant", "task-1: looked at it", "pending"},
      {"user", "task-1 is done", "unknown"},
      {"user", "Finished task-1!", "unknown"},
      {"user", "task-1 was merged, task-9 is next", "unknown"},
      {"user", "I closed the lid. What about task-1?", "pending"},
      {"user", "task-1 is not done", "pending"},
      {"user", "task-1 isn't finished yet", "pending"},
      {"user", "task-1 is almost completed", "pending"},
      {"user", "task-1 is done. Then task-1 came back", "pending"},
      {"user", "task-1 came back\\ntask-1 is done", "unknown"},
      {"user", "task-11 and xtask-1 and task-1-b", "unknown"},
      {"tool", "task-1", "unknown"},
      {"system", "task-1", "unknown"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    say(f, cases[i].role, cases[i].text);
    if (strcmp(word_on(f, "task-1"), cases[i].word) != 0) fail_msg("%s: %s", cases[i].text, word_on(f, "task-1"));
    assert_sound(f);
    /* A later one says so. */
    say(f, "assistant", "All three, task-1 included, are done");
    assert_string_equal(word_on(f, "task-1"), "unknown");
    say(f, "user", "task-1 again");
    assert_string_equal(word_on(f, "task-1"), "pending");
    /* The pipeline's word stands above what is said. */
    task(f, "task-1", "deploy");
    say(f, "user", "task-1 is done");
    assert_string_equal(word_on(f, "task-1"), "pending");
    task(f, "task-1", "done");
    say(f, "user", "task-1 again");
    assert_string_equal(word_on(f, "task-1"), "not pending");
  }
}

static void a_message_may_be_all_that_is_known(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  say(f, "user", "a task-oriented view: task-done, multitask-5 and task-- are none");
  assert_int_equal(tasks_of(f, &out).type, RP_JSON_NONE);
  tell(f, RP_KIND_MESSAGE,
       "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see Task-42_b.\"},{\"type\":\"image\"},"
       "{\"type\":\"text\",\"text\":\"and task-43; task-44 done\"}]}");
  struct rp__json t = task_of(f, &out, "Task-42_b");
  assert_true(rp__json_eq(rp__json_get(t, "source"), "message"));
  assert_true(rp__json_eq(rp__json_get(t, "title"), "see Task-42_b"));
  assert_int_equal(rp__json_get(t, "flagged_incomplete").type, RP_JSON_FALSE);
  assert_string_equal(word_on(f, "Task-42_b"), "pending");
  assert_string_equal(word_on(f, "task-43"), "pending");
  assert_string_equal(word_on(f, "task-44"), "unknown");
  assert_sound(f);
  say(f, "assistant", "task-42_b completed");
  assert_string_equal(word_on(f, "Task-42_b"), "unknown");
  /* A pin's task that was spoken of outlives the pin. */
  pin(f, "p", "task-50 pending");
  say(f, "user", "task-50?");
  tell(f, RP_KIND_UNPIN, "{\"label\":\"p\"}");
  t = task_of(f, &out, "task-50");
  assert_true(rp__json_eq(rp__json_get(t, "source"), "message"));
  assert_int_equal(rp__json_get(t, "pending").type, RP_JSON_TRUE);
  assert_sound(f);
}

#define DAY INT64_C(86400000)

static void say_at(struct rp__fold *f, int64_t at_ms, const char *more, const char *text)
{
  char body[400];
  snprintf(body, sizeof body, "{\"role\":\"user\",%s\"content\":\"%s\"}", more, text);
  tell_at(f, at_ms, RP_KIND_MESSAGE, body);
}

static bool pending_at(const struct rp__fold *f, int64_t now_ms, const char *id)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  show_at(f, now_ms, &out);
  struct rp__json tasks = rp__json_get(parsed(&out), "tasks"), t;
  struct rp__json_iter it = {0};
  while (rp__json_next(tasks, &it, NULL, &t))
    if (rp__json_eq(rp__json_get(t, "task_id"), id)) return rp__json_get(t, "pending").type == RP_JSON_TRUE;
  return false;
}

/* a task that one message mentioned is soon forgotten, one that is more than hearsay is not. */
static void what_was_heard_once_fades(void **state)
{
  (void)state;
  static const struct {
    const char *more, *then; /* members of the mention's message, and of a second one */
    enum rp__kind kind;
    const char *body;
    bool stays;
  } cases[] = {
      {"", NULL, RP_KIND_PERSON, "{}", false},
      {"", "", 0, NULL, true},
      {"\"message_id\":\"m\",\"partial\":true,", "\"message_id\":\"m\",\"partial\":true,", 0, NULL, false},
      {"\"message_id\":\"m\",\"partial\":true,", "\"message_id\":\"m\",\"whole\":true,", 0, NULL, false},
      {"\"message_id\":\"m\",", "\"message_id\":\"n\",", 0, NULL, true},
      {"\"partial\":true,", "\"partial\":true,", 0, NULL, false},
      {"\"partial\":true,", "", 0, NULL, true},
      {"", NULL, RP_KIND_PIN, "{\"label\":\"p\",\"content\":\"task-77 todo\"}", true},
      {"", NULL, RP_KIND_PIN, "{\"label\":\"p\",\"content\":\"nice\"}", false},
      {"", NULL, RP_KIND_TASK, "{\"task_id\":\"task-77\",\"title\":\"T\",\"stage\":\"build\"}", true},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    say_at(f, 1, cases[i].more, "the infra team closed over task-77");
    if (cases[i].then)
      say_at(f, 2, cases[i].then, "task-77 it was");
    else
      tell_at(f, 2, cases[i].kind, cases[i].body);
    assert_sound(f);
    assert_true(pending_at(f, 1 + 3 * DAY, "task-77"));
    if (pending_at(f, 46 * DAY, "task-77") != cases[i].stays) fail_msg("%zu", i);
  }
}

/* a second mention counts from its own time, also of a task that was inherited, and what was confirmed stays. */
static void mentions_are_inherited(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
#define HEARD(id, more)                                                                                                \
  "{\"task_id\":\"" id "\",\"title\":\"" id "\",\"stage\":\"unknown\",\"source\":\"message\"," more                    \
  "\"at\":\"1970-01-01T00:00:00.001Z\"}"
  tell_at(f, DAY, RP_KIND_RESTORED,
          "{\"tasks\":[" HEARD("task-1", "") "," HEARD("task-2", "\"confirmed\":true,") "," HEARD("task-3", "") "]}");
  assert_true(pending_at(f, 3 * DAY, "task-1"));
  assert_false(pending_at(f, 4 * DAY, "task-1"));
  assert_true(pending_at(f, 40 * DAY, "task-2"));
  say_at(f, 2 * DAY, "", "task-3: the antenna");
  assert_true(pending_at(f, 40 * DAY, "task-3"));
  struct rp__json t = task_of(f, &out, "task-3");
  assert_true(rp__json_eq(rp__json_get(t, "title"), "the antenna")); /* which had none */
  assert_true(rp__json_eq(rp__json_get(t, "at"), "1970-01-03T00:00:00.000Z"));
  assert_sound(f);
}

/* two blocks of one message are one message; two messages of one millisecond are two. */
static void messages_are_counted(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell_at(f, 1, RP_KIND_MESSAGE,
          "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"task-1 and task-2, task-3 done\"},"
          "{\"type\":\"text\",\"text\":\"task-2 and task-1 and task-3\"}]}");
  assert_true(pending_at(f, DAY, "task-1") && pending_at(f, DAY, "task-2") && pending_at(f, DAY, "task-3"));
  assert_false(pending_at(f, 5 * DAY, "task-1") || pending_at(f, 5 * DAY, "task-2") ||
               pending_at(f, 5 * DAY, "task-3"));
  say_at(f, 1, "", "task-2");
  assert_true(pending_at(f, 5 * DAY, "task-2"));
  assert_false(pending_at(f, 5 * DAY, "task-1"));
}

/* the title of a mention is a phrase, and that of an event wins. */
static void titles_of_mentions(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  say(f, "user", "Hello there. task-5: repair the antenna; then we see");
  say(f, "user", "and task-5 again");
  assert_true(rp__json_eq(rp__json_get(task_of(f, &out, "task-5"), "title"), "repair the antenna"));
  tell(f, RP_KIND_TASK, "{\"task_id\":\"task-5\",\"title\":\"Antenna\",\"stage\":\"build\"}");
  say(f, "user", "task-5: something else");
  assert_true(rp__json_eq(rp__json_get(task_of(f, &out, "task-5"), "title"), "Antenna"));
  assert_sound(f);
}

/* an agent's own list of things to do is no list of tasks. */
static void todo_lists_are_no_tasks(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  tell(f, RP_KIND_TOOL,
       "{\"call_id\":\"c\",\"name\":\"TodoWrite\",\"status\":\"done\",\"input\":{\"todos\":[{\"content\":\"task-5\","
       "\"status\":\"pending\"}]}}");
  assert_int_equal(tasks_of(f, &out).type, RP_JSON_NONE);
}

static void only_the_beginning_of_a_message_is_read(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX);
  rp__buf_str(&body, "{\"role\":\"user\",\"content\":\"task-1 ");
  for (int i = 0; i < 8192; i++) rp__buf_char(&body, 'x');
  rp__buf_str(&body, " task-2\"}");
  tell_n(f, RP_KIND_MESSAGE, body.p, body.n);
  assert_string_equal(word_on(f, "task-1"), "pending");
  assert_string_equal(word_on(f, "task-2"), "unknown");
}

/* */
static void inheriting(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  task(f, "T1", "done");
  tell(f, RP_KIND_RESTORED,
       "{\"tasks\":[5,{\"task_id\":\"x\"},{\"task_id\":\"T1\",\"title\":\"a\",\"stage\":\"build\"},"
       "{\"task_id\":\"T2\",\"title\":\"b\",\"stage\":\"build\",\"at\":\"1960-01-01T00:00:00.000Z\","
       "\"source\":\"pipeline_state\",\"inherited_from\":\"s1\"},"
       "{\"task_id\":\"task-9\",\"title\":\"c\",\"stage\":\"unknown\",\"flagged_incomplete\":true,"
       "\"source\":\"working_memory_scan\",\"inherited_from\":\"s1\"},"
       "{\"task_id\":\"T4\",\"title\":\"d\",\"stage\":\"design\",\"source\":\"else\",\"inherited_from\":\"s1\"}],"
       "\"pins\":[{\"label\":\"p\",\"content\":\"todo task-9\"},{\"label\":\"q\",\"content\":\"todo task-10\"}]}");
  assert_string_equal(word_on(f, "T1"), "not pending");
  assert_string_equal(word_on(f, "T4"), "pending"); /* it was pending where it came from */
  struct rp__json t = task_of(f, &out, "T2");
  assert_true(rp__json_eq(rp__json_get(t, "inherited_from"), "s1"));
  assert_true(rp__json_eq(rp__json_get(t, "at"), "1960-01-01T00:00:00.000Z"));
  assert_string_equal(word_on(f, "task-10"), "pending");
  assert_sound(f);
  tell(f, RP_KIND_UNPIN, "{\"label\":\"p\"}");
  assert_string_equal(word_on(f, "task-9"), "unknown");
  say(f, "user", "T4 is done");
  assert_string_equal(word_on(f, "T4"), "pending"); /* that is the pipeline's to say */
  task(f, "T2", "done");
  assert_string_equal(word_on(f, "T2"), "not pending");
  t = task_of(f, &out, "T2");
  assert_int_equal(rp__json_get(t, "inherited_from").type, RP_JSON_NULL);
  tell(f, RP_KIND_RESTORED, "{\"tasks\":{},\"pins\":null}");
}

static void what_is_closed_goes_first(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  task(f, "first", "build");
  say(f, "user", "task-1");
  task(f, "closed", "done");
  for (int i = 0; i < 253; i++) {
    char id[20];
    snprintf(id, sizeof id, "b%d", i);
    task(f, id, "build");
  }
  assert_int_equal(rp__json_count(tasks_of(f, &out)), 256);
  task(f, "more", "build");
  assert_string_equal(word_on(f, "closed"), "unknown");
  task(f, "more2", "build");
  assert_string_equal(word_on(f, "task-1"), "unknown");
  task(f, "more3", "build");
  assert_string_equal(word_on(f, "first"), "unknown");
  assert_string_equal(word_on(f, "b0"), "pending");
  assert_int_equal(rp__json_count(tasks_of(f, &out)), 256);
  assert_sound(f);
}

static void bytes_are_bounded(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf out = RP_BUF(SAVED_MAX);
  for (int i = 0; i < 300; i++) {
    RP_AUTOBUF struct rp__buf body = RP_BUF(SAVED_MAX), pinned = RP_BUF(SAVED_MAX);
    rp__buf_printf(&body, "{\"task_id\":\"%d-", i);
    for (int k = 0; k < 500; k++) rp__buf_str(&body, i % 2 ? "y" : "\\u0002");
    rp__buf_str(&body, "\",\"stage\":\"build\",\"title\":\"");
    for (int k = 0; k < 400; k++) rp__buf_str(&body, "\\\"");
    rp__buf_str(&body, "\"}");
    tell_n(f, RP_KIND_TASK, body.p, body.n);
    rp__buf_printf(&pinned, "{\"label\":\"%d", i);
    for (int k = 0; k < 500; k++) rp__buf_str(&pinned, "\\u0003");
    rp__buf_str(&pinned, "\",\"content\":\"todo");
    for (int k = 0; k < 30; k++) rp__buf_printf(&pinned, " task-%d-%d", i, k);
    rp__buf_str(&pinned, "\"}");
    tell_n(f, RP_KIND_PIN, pinned.p, pinned.n);
    if (i % 30 == 0) assert_sound(f);
  }
  assert_sound(f);
  assert_true(rp__json_count(tasks_of(f, &out)) > 50);
}

static void refuses_damaged_snapshots(void **state)
{
  (void)state;
#define TASK "{\"task_id\":\"a\",\"title\":\"b\",\"stage\":\"c\",\"status\":\"open\",\"source\":\"message\",\"at_ms\":1"
#define PINS "],\"pins\":[]}"
  static const struct {
    const char *part, *field;
  } bad[] = {
      {"[]", "tasks.tasks"},
      {"{}", "tasks.tasks"},
      {"{\"tasks\":[]}", "tasks.pins"},
      {"{\"tasks\":[5" PINS, "tasks.tasks"},
      {"{\"tasks\":[" TASK "}," TASK "}" PINS, "tasks.tasks"},
      {"{\"tasks\":[" TASK ",\"flagged_incomplete\":\"yes\"}" PINS, "tasks.tasks"},
      {"{\"tasks\":[" TASK ",\"referred\":null}" PINS, "tasks.tasks"},
      {"{\"tasks\":[{\"task_id\":\"a\",\"title\":\"b\",\"at_ms\":1}" PINS, "tasks.tasks"},
      {"{\"tasks\":[],\"pins\":[{\"label\":\"a\",\"at_ms\":1}]}", "tasks.pins"},
      {"{\"tasks\":[],\"pins\":[{\"label\":\"a\",\"ids\":\"x\",\"at_ms\":1}]}", "tasks.pins"},
  };
  rp_error err;
  assert_int_equal(load_part("tasks", "{\"tasks\":[" TASK "}" PINS, &err), 0); /* as older versions wrote it */
  assert_int_equal(load_part("tasks", "{\"tasks\":[" TASK ",\"confirmed\":true,\"heard_in\":\"m\"}" PINS, &err), 0);
  assert_int_equal(load_part("tasks", "{\"tasks\":[],\"pins\":[{\"label\":\"a\",\"ids\":[5],\"at_ms\":1}]}", &err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    if (load_part("tasks", bad[i].part, &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s", bad[i].part);
    assert_string_equal(err.field, bad[i].field);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_document_of_the_contract),
      cmocka_unit_test(stages_and_flags),
      cmocka_unit_test(pins_name_tasks),
      cmocka_unit_test(a_pin_may_come_before_its_task),
      cmocka_unit_test(an_unknown_task_lives_as_long_as_its_pin),
      cmocka_unit_test(messages_speak_of_tasks),
      cmocka_unit_test(a_message_may_be_all_that_is_known),
      cmocka_unit_test(what_was_heard_once_fades),
      cmocka_unit_test(mentions_are_inherited),
      cmocka_unit_test(messages_are_counted),
      cmocka_unit_test(titles_of_mentions),
      cmocka_unit_test(todo_lists_are_no_tasks),
      cmocka_unit_test(only_the_beginning_of_a_message_is_read),
      cmocka_unit_test(inheriting),
      cmocka_unit_test(what_is_closed_goes_first),
      cmocka_unit_test(bytes_are_bounded),
      cmocka_unit_test(refuses_damaged_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
