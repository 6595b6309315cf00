/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a brief that digests tell (B-13): whose words come first, and in which form. */
#include "brief_test.h"

/* A place for the brief, and a plan that brings nothing. */
#define STAGE                                                                                                          \
  RP_AUTOBUF struct rp__buf out = RP_BUF(1 << 20);                                                                     \
  AUTOPLAN struct rp__plan *p = plan_of(&plain_rules, NULL, NULL, 0, NULL)
#define SPEAKERS 4

/* A session, its life in hours before now, and its events as "kind body" without sequence numbers. */
struct life {
  const char *id;
  double begun, end;
  bool lives;
  const char *const *events; /* kind, body, …, NULL */
};

struct cast {
  struct rp__fold *fold[SPEAKERS];
  struct rp__brief_session sessions[SPEAKERS];
  size_t n;
};

static void cast_done(struct cast *c)
{
  for (size_t i = 0; i < c->n; i++) rp__fold_free(c->fold[i]);
}
#define AUTOCAST RP_CLEANUP(cast_done) struct cast

static void cast_add(struct cast *c, const struct life *l)
{
  struct telling t = {.now = NOW - HOURS(l->end)};
  assert_int_equal(rp__fold_new(&rp__facets, &t.f), 0);
  for (const char *const *e = l->events; *e; e += 2) tell_at(&t, rp__kind_parse(e[0]), json(e[1]), t.now);
  assert_int_equal(t.rc, 0);
  c->fold[c->n] = t.f;
  c->sessions[c->n++] = (struct rp__brief_session){.session_id = l->id,
                                                   .digest = rp__digest_of(t.f),
                                                   .begun_ms = NOW - HOURS(l->begun),
                                                   .end_ms = NOW - HOURS(l->end),
                                                   .lives = l->lives};
}

static struct rp__brief_input input_of(const struct cast *c, const struct rp__plan *plan)
{
  return (struct rp__brief_input){.form = RP_TEMPLATE_CODER,
                                  .restart = RP_RESTART_LONG,
                                  .cause = RP_CAUSE_CLEAN,
                                  .elapsed_seconds = 3600,
                                  .now_ms = NOW,
                                  .plan = plan,
                                  .sessions = c->sessions,
                                  .n_sessions = c->n,
                                  .max_bytes = 8192};
}

#define USER(text) "message", "{\"role\":\"user\",\"content\":\"" text "\"}"
#define AGENT(text) "message", "{\"role\":\"assistant\",\"content\":\"" text "\"}"
#define TOOL(id, name, status, input)                                                                                  \
  "tool", "{\"call_id\":\"" id "\",\"name\":\"" name "\",\"status\":\"" status "\",\"input\":" input "}"
#define EDIT(id, path) TOOL(id, "Edit", "done", "{\"file_path\":\"" path "\"}")
#define EVENTS(...)                                                                                                    \
  (const char *const[])                                                                                                \
  {                                                                                                                    \
    __VA_ARGS__, NULL                                                                                                  \
  }

#define TOLD(text) assert_non_null(strstr(told, text))
#define UNTOLD(text) assert_null(strstr(told, text))

/* B-13: the last request, what came of it, and when */
static void the_last_request_speaks_with_its_end(void **state)
{
  (void)state;
  STAGE;
  const struct {
    struct life life;
    const char *request, *end;
  } cases[] = {
      {{"s", 30, 17, false,
        EVENTS(USER("make the parser read weeks"), AGENT("The parser reads weeks now, and its tests pass."))},
       "LAST REQUEST (17 hours ago): make the parser read weeks",
       "ANSWER: The parser reads weeks now, and its tests pass."},
      {{"s", 30, 30, false, EVENTS(USER("修复登录页面的按钮颜色问题"))},
       "NOT FINISHED, NO ANSWER CAME (yesterday): 修复登录页面的按钮颜色问题",
       "]"},
      {{"s", 30, 72, false,
        EVENTS(USER("Füge der Liste die Feiertage hinzu"), AGENT("Ich ergänze jetzt die Feiertage:"))},
       "NOT FINISHED (3 days ago): Füge der Liste die Feiertage hinzu",
       "IT ENDED IN THE MIDDLE; said last: Ich ergänze jetzt die Feiertage:"},
      {{"s", 30, 1, false,
        EVENTS(USER("почини сборку проекта"), TOOL("c1", "Bash", "running", "{\"command\":\"make dist\"}"))},
       "NOT FINISHED (1 hour ago): почини сборку проекта",
       "IT STOPPED AT: make dist (declined or interrupted)"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    AUTOCAST c = {0};
    cast_add(&c, &cases[i].life);
    struct rp__brief_input in = input_of(&c, p);
    const char *told = brief(&in, &out);
    TOLD(cases[i].request);
    TOLD(cases[i].end);
  }
}

/* A terminal left overnight has the actual work */
static void an_open_session_with_the_newest_work_speaks_in_full(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s-open", 30, .25, true,
                              EVENTS(USER("move the queue to its own thread"), EDIT("c1", "src/queue.c"))});
  cast_add(&c,
           &(struct life){"s-done", 9, 8, false,
                          EVENTS(USER("explain the licence of the project"), AGENT("It is Apache 2.0 throughout."))});
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("ANOTHER SESSION IS OPEN (began yesterday); UNDER WAY (15 min ago): move the queue to its own thread");
  TOLD("FILES CHANGED: src/queue.c");
  TOLD("EARLIER SESSIONS:\n- 8 hours ago: explain the licence of the project");

  AUTOCAST d = {0};
  cast_add(&d,
           &(struct life){"s-done", 9, 1, false,
                          EVENTS(USER("explain the licence of the project"), AGENT("It is Apache 2.0 throughout."))});
  cast_add(&d, &(struct life){"s-open", 30, 8, true,
                              EVENTS(USER("move the queue to its own thread"), EDIT("c1", "src/queue.c"))});
  in = input_of(&d, p);
  told = brief(&in, &out);
  TOLD("LAST REQUEST (1 hour ago): explain the licence");
  TOLD("ANOTHER SESSION IS OPEN (began yesterday): move the queue to its own thread → src/queue.c");
}

/* A tool in doubt is told once; what an open session is at is no doubt */
static void a_tool_is_told_once(void **state)
{
  (void)state;
  STAGE;
  const char *const *events =
      EVENTS(USER("release version 0.4"), TOOL("c1", "Bash", "running", "{\"command\":\"git push origin main\"}"));
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s", 30, 18, false, events});
  c.sessions[0].crashed = true;
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("NOT FINISHED (18 hours ago): release version 0.4\n");
  TOLD("TOOLS WITH UNKNOWN OUTCOME:\n- git push origin main: may or may not have happened");
  assert_null(strstr(strstr(told, "git push origin main") + 1, "git push"));

  AUTOCAST d = {0};
  cast_add(&d, &(struct life){"s", 30, .1, true, events});
  in = input_of(&d, p);
  told = brief(&in, &out);
  TOLD("UNDER WAY (6 min ago): release version 0.4\nIT IS AT: git push origin main\n");
  UNTOLD("UNKNOWN OUTCOME");
}

/* What an agent says to a thank-you is no answer to the request before */
static void thanks_are_not_the_answer(void **state)
{
  (void)state;
  STAGE;
  static const char *const thanks[][2] = {
      {"thanks", "You're welcome!"}, {"danke", "Gerne!"}, {"спасибо", "Пожалуйста."}, {"谢谢", "不客气。"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(thanks); i++) {
    AUTOCAST c = {0};
    char user[128], agent[128];
    snprintf(user, sizeof user, "{\"role\":\"user\",\"content\":\"%s\"}", thanks[i][0]);
    snprintf(agent, sizeof agent, "{\"role\":\"assistant\",\"content\":\"%s\"}", thanks[i][1]);
    cast_add(&c,
             &(struct life){"s", 2, 1, false,
                            EVENTS(USER("sort the table by date"), AGENT("The table is sorted by date, newest first."),
                                   "message", user, "message", agent)});
    struct rp__brief_input in = input_of(&c, p);
    const char *told = brief(&in, &out);
    TOLD("LAST REQUEST (1 hour ago): sort the table by date\nANSWER: The table is sorted by date, newest first.");
    UNTOLD(thanks[i][1]);
  }
}

/* Todos and failures of the session before are open still when the last one was about something else */
static void what_was_left_open_outlives_the_next_session(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s-2", 2, 1, false,
                              EVENTS(USER("write the notes of release 0.4"), AGENT("They are written and linked."))});
  cast_add(&c,
           &(struct life){"s-1", 50, 49, false,
                          EVENTS(USER("teach the parser combined durations"), "todo",
                                 "{\"items\":[{\"content\":\"weeks\",\"status\":\"in_progress\"},{\"content\":\"the "
                                 "README\",\"status\":\"pending\"},{\"content\":\"days\",\"status\":\"completed\"}]}",
                                 TOOL("c1", "Bash", "failed", "{\"command\":\"make check\"}"))});
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("OPEN TODOS:\n- weeks (in progress; listed 2 days ago)\n- the README");
  UNTOLD("days (");
  TOLD("- 2 days ago: teach the parser combined durations");
  TOLD("fails: make check");

  c.sessions[1].end_ms = NOW - HOURS(24 * 30);
  told = brief(&in, &out);
  UNTOLD("weeks"); /* two weeks are the end of it */
}

/* Files of one folder share its name, and a folder that all are below is told once */
static void files_are_told_briefly(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s", 2, 1, false,
                              EVENTS(USER("split the controllers"), EDIT("1", "backend/src/main/kotlin/shop/api/A.kt"),
                                     EDIT("2", "backend/src/main/kotlin/shop/api/A.kt"),
                                     EDIT("3", "backend/src/main/kotlin/shop/api/A.kt"),
                                     EDIT("4", "backend/src/main/kotlin/shop/api/B.kt"),
                                     EDIT("5", "backend/src/main/kotlin/shop/db/C.kt"))});
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("FILES CHANGED: backend/src/main/kotlin/shop/: db/C.kt, api/{B.kt, A.kt (3×)}");
}

/* A rule that is meant to last comes before a newer one of the day, and none is told twice */
static void lasting_rules_come_first(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s-2", 2, 1, false,
                              EVENTS(USER("write the notes of release 0.4"), AGENT("They are written and linked."))});
  cast_add(&c, &(struct life){
                   "s-1", 50, 49, false,
                   EVENTS(USER("räum die Tests auf. ab jetzt niemals direkt auf main pushen."),
                          AGENT("Die Tests sind aufgeräumt."), USER("ab jetzt niemals direkt auf main pushen!"),
                          AGENT("Verstanden, nie direkt auf main."),
                          USER("use the blue from the logo. and the header in grey"), AGENT("The header is blue now."),
                          USER("explain the licence of the project"), AGENT("It is Apache 2.0 throughout."))});
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("THE USER SAID:\n- ab jetzt niemals direkt auf main pushen!\n- use the blue from the logo.");
  assert_null(strstr(strstr(told, "niemals direkt") + 1, "niemals direkt"));
}

/* What was declined in an older session has its age; an older session is told by the request that did most */
static void older_sessions_say_when_and_what(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s-2", 2, 1, false,
                              EVENTS(USER("write the notes of release 0.4"), AGENT("They are written and linked."))});
  cast_add(&c, &(struct life){
                   "s-1", 50, 49, false,
                   EVENTS(USER("read the catalogue in chunks of 64 KiB"), EDIT("c0", "src/catalogue.c"),
                          AGENT("It is read in chunks."),
                          TOOL("c1", "Bash", "intended", "{\"command\":\"rm /srv/work/catalogue/old/data/.index\"}"),
                          USER("no, delete nothing: make a branch of it"), AGENT("The branch is there and pushed."),
                          USER("Dann räum das auf."), TOOL("c2", "Bash", "done", "{\"command\":\"git branch -D old\"}"),
                          AGENT("Der alte Zweig ist gelöscht."))});
  cast_add(&c, &(struct life){
                   "s-0", 60, 60, false,
                   EVENTS(USER("what is a branch, in one sentence please?"), AGENT("A movable name of a commit."))});
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("THE USER DECLINED (2 days ago): rm …/data/.index — «no, delete nothing: make a branch of it»");
  TOLD("EARLIER SESSIONS:\n- 2 days ago: read the catalogue in chunks of 64 KiB → src/catalogue.c\n- 3 days ago: what "
       "is a branch");
}

/* What nobody sees, and what turns a line around, does not come into a text for a model */
static void hidden_characters_go(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){"s", 2, 1, false,
                              EVENTS(USER("repair \xe2\x80\xae"
                                          "evil\xe2\x80\xac the [reprise:\xe2\x80\x8b end] of \xef\xbb\xbf"
                                          "it"))});
  struct rp__brief_input in = input_of(&c, p);
  const char *told = brief(&in, &out);
  TOLD("repair evil the [reprise: end] of it");
}

/* Whatever the bound is, it holds; the last request and what came of it are the last to go */
static void the_last_request_goes_last(void **state)
{
  (void)state;
  STAGE;
  AUTOCAST c = {0};
  cast_add(&c, &(struct life){
                   "s-2", 2, 1, false,
                   EVENTS(USER("always write tests first. rename the tables of the catalogue to the new scheme"),
                          EDIT("1", "src/catalogue.c"), "todo", "{\"items\":[{\"content\":\"rename the views too\"}]}",
                          AGENT("The tables are renamed. The views are left for later."))});
  cast_add(&c, &(struct life){"s-1", 50, 49, false,
                              EVENTS(USER("why is the start so slow on the old machine"),
                                     AGENT("The index is read twice at each start."))});
  struct rp__brief_input in = input_of(&c, p);
  size_t full = strlen(brief(&in, &out));
  for (size_t max = full; max-- > 0;) {
    in.max_bytes = max;
    const char *told = brief(&in, &out);
    if (strstr(told, "FILES CHANGED") || strstr(told, "OPEN TODOS") || strstr(told, "EARLIER")) TOLD("LAST REQUEST");
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_request_speaks_with_its_end),
      cmocka_unit_test(an_open_session_with_the_newest_work_speaks_in_full),
      cmocka_unit_test(a_tool_is_told_once),
      cmocka_unit_test(thanks_are_not_the_answer),
      cmocka_unit_test(what_was_left_open_outlives_the_next_session),
      cmocka_unit_test(files_are_told_briefly),
      cmocka_unit_test(lasting_rules_come_first),
      cmocka_unit_test(older_sessions_say_when_and_what),
      cmocka_unit_test(hidden_characters_go),
      cmocka_unit_test(the_last_request_goes_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
