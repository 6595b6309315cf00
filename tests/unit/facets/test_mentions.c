/* SPDX-License-Identifier: Apache-2.0 */
/* which task of a message is completed, in ten languages, and the titles of tasks that messages mention. */
#include "facets_test.h"

#include "facets/mentions.h"

/* The tasks that the text completes, then "/", then those that it does not: "3 /1 2". */
static void told(const char *text, char *out, size_t size)
{
  static const struct rp__rows none;
  struct rp__mentions m;
  size_t n = 0;
  rp__mentions_in_message(&none, rp__str(text), &m);
  *out = 0;
  for (int completed = 1; completed >= 0; completed--) {
    for (size_t i = 0; i < m.n; i++) {
      if (m.v[i].completed != (completed == 1)) continue;
      n += (size_t)snprintf(out + n, size - n, "%.*s ", (int)m.v[i].id.n - 5, m.v[i].id.p + 5);
    }
    if (n && out[n - 1] == ' ') n--;
    if (completed) n += (size_t)snprintf(out + n, size - n, "/");
    out[n] = 0;
  }
}

struct said {
  const char *text, *want;
};

static void check(const struct said *cases, size_t n)
{
  int wrong = 0;
  for (size_t i = 0; i < n; i++) {
    char got[200];
    told(cases[i].text, got, sizeof got);
    if (strcmp(got, cases[i].want) == 0) continue;
    print_error("%s: %s, not %s\n", cases[i].text, got, cases[i].want);
    wrong++;
  }
  assert_int_equal(wrong, 0);
}

/* a completion holds for the tasks of its clause. */
static void clauses_decide(void **state)
{
  (void)state;
  static const struct said cases[] = {
      {"task-8 incomplete; task-9 is done", "9/8"},
      {"task-8 incomplete, task-9 is done", "9/8"},
      {"task-8 needs review, task-9 is done", "9/8"},
      {"task-8 is in review and task-9 is done", "9/8"},
      {"task-9 is done but task-8 is not", "9/8"},
      {"task-8 is open while task-9 is closed", "9/8"},
      {"- task-8 waits\n- task-9 done", "9/8"},
      {"1. task-9: done\n2. task-8: to do", "9/8"},
      {"- [x] task-9 the login\n- [ ] task-8 the logout", "9/8"},
      {"✅ task-9\n❌ task-8", "9/8"},
      {"| task-9 | done |\n| task-8 | open |", "9/8"},
      {"task-9 done, task-8 next", "9/8"},
      {"Finished task-9, task-8 is next", "9/8"},
      {"Started task-8 and finished task-9", "9/8"},
      {"While I worked on task-8 I finished task-9", "9/8"},
      {"task-9 (a part of task-8) is done", "9/8"},
      {"Merged task-9 into task-8", "9/8"},
      {"task-1, task-2 and task-3 are done", "1 2 3/"},
      {"Finished task-1, task-2 and task-3", "1 2 3/"},
      {"Both task-1 and task-2 are finished.", "1 2/"},
      {"Done: task-1, task-2. Open: task-3, task-4", "1 2/3 4"},
      {"task-1 and task-2 are not done", "/1 2"},
      {"Neither task-1 nor task-2 is done", "/1 2"},
      {"All three, task-1 included, are done", "1/"},
      {"task-1, which was blocked for weeks, is done", "1/"},
      {"task-1 is reviewed and merged", "1/"},
      {"task-1 was hard, but it is done now", "1/"},
      {"task-1 was closed but reopened", "/1"},
      {"task-1 is in review, I'm done for today", "/1"},
      {"task-1 is in review, Bob is done", "/1"},
      {"task-1 is done, not sure about the rest", "1/"},
      {"I am done with task-1.", "1/"},
      {"No problem, task-1 is done without errors", "1/"},
      {"task-1 in parser.c is done", "1/"},
      {"task-1 is complete", "1/"},
      {"Finished \xe2\x80\x9ctask-1\xe2\x80\x9d \xf0\x9f\x8e\x89", "1/"},
      {"I closed the lid, task-1 is next", "/1"},
      {"go on with task-1 on the merged branch", "/1"},
      {"complete task-1", "/1"},
      {"Everything is finished except task-1", "/1"},
      {"the infra team closed over task-77", "/77"},
      {"see task-77 of the payments team", "/77"},
  };
  check(cases, RP_ARRAY_SIZE(cases));
}

/* questions, conditions, wishes and the future complete nothing. */
static void questions_and_conditions_complete_nothing(void **state)
{
  (void)state;
  static const struct said cases[] = {
      {"Is task-22 finished?", "/22"},
      {"task-22 finished?", "/22"},
      {"task-22 is done, right?", "/22"},
      {"Is task-22 finished, or should I wait?", "/22"},
      {"Is task-22 finished, what do you think?!", "/22"},
      {"task-1 is done. Is task-22 finished?", "1/22"},
      {"task-1 is done, what about task-22?", "1/22"},
      {"task-1 is done, can you start task-22?", "1/22"},
      {"Was task-22 merged\xef\xbc\x9f", "/22"},
      {"tell me when task-3 is done", "/3"},
      {"when task-3 is done, task-4 is done too", "/3 4"},
      {"once task-3 is merged we go on", "/3"},
      {"if task-3 is finished, start task-4", "/3 4"},
      {"task-3 is done if the tests pass", "/3"},
      {"after task-3 is done, start task-4", "/3 4"},
      {"task-3 was finished after two days", "3/"},
      {"wait until task-3 is closed", "/3"},
      {"as soon as task-3 is done", "/3"},
      {"task-3 should be done by Friday", "/3"},
      {"task-3 needs to be finished", "/3"},
      {"task-3 will be done tomorrow", "/3"},
      {"I'll have task-3 finished", "/3"},
      {"task-3 is not yet done", "/3"},
      {"task-3 isn\xe2\x80\x99t done", "/3"},
      {"task-3 is almost done", "/3"},
      {"task-3 is to be merged", "/3"},
      {"I want task-3 done", "/3"},
      {"let's get task-3 done", "/3"},
      {"make sure that task-3 is finished", "/3"},
      {"please check that task-3 is closed", "/3"},
      {"none of task-3 is done", "/3"},
  };
  check(cases, RP_ARRAY_SIZE(cases));
}

/* X-07 in each language of the table, both ways. */
static void languages(void **state)
{
  (void)state;
  static const struct said cases[] = {
      /* German */
      {"task-1 ist erledigt, task-2 noch nicht", "1/2"},
      {"Ich habe task-1 abgeschlossen", "1/"},
      {"Fertig: task-1 und task-2", "1 2/"},
      {"Ist task-1 fertig?", "/1"},
      {"Wenn task-1 fertig ist, geht es weiter", "/1"},
      {"task-1 ist fast fertig", "/1"},
      {"task-1 soll morgen abgeschlossen sein", "/1"},
      {"TASK-1 IST NICHT ERLEDIGT", "/1"},
      /* French */
      {"task-1 est terminée, mais task-2 n'est pas finie", "1/2"},
      {"J'ai terminé task-1", "1/"},
      {"task-1 TERMINÉE", "1/"},
      {"Quand task-1 sera terminée", "/1"},
      {"task-1 est presque terminée", "/1"},
      {"Est-ce que task-1 est finie ?", "/1"},
      /* Spanish */
      {"task-1 está terminada pero task-2 no está lista", "1/2"},
      {"He terminado la task-1", "1/"},
      {"¿Está terminada task-1?", "/1"},
      {"¿task-1 terminada", "/1"},
      {"cuando task-1 esté terminada", "/1"},
      {"task-1 casi terminada", "/1"},
      {"task-1 todavía no está hecha", "/1"},
      /* Portuguese */
      {"task-1 está concluída, task-2 ainda não", "1/2"},
      {"Terminei a task-1", "1/"},
      {"Se a task-1 estiver concluída", "/1"},
      {"task-1 não foi concluída", "/1"},
      {"A task-1 está feita?", "/1"},
      /* Italian */
      {"task-1 è finita ma task-2 non è chiusa", "1/2"},
      {"Ho completato task-1", "1/"},
      {"quando task-1 è finita", "/1"},
      {"task-1 è quasi finita", "/1"},
      {"task-1 è finita?", "/1"},
      /* Russian */
      {"task-1 готова, а task-2 не сделана", "1/2"},
      {"Завершил task-1", "1/"},
      {"Задача task-1 ЗАКРЫТА", "1/"},
      {"Когда task-1 будет готова", "/1"},
      {"task-1 почти готова", "/1"},
      {"task-1 готова?", "/1"},
      /* Chinese */
      {"task-1完成了，task-2还没完成", "1/2"},
      {"已完成task-1和task-2。", "1 2/"},
      {"task-1 完成", "1/"},
      {"请完成task-1", "/1"},
      {"task-1完成了吗？", "/1"},
      {"如果task-1完成了，就开始task-2", "/1 2"},
      {"task-1未完成；task-9已完成", "9/1"},
      {"task-1完成后告诉我", "/1"},
      /* Japanese */
      {"task-1は完了しました。task-2はまだ完了していません", "1/2"},
      {"task-1とtask-2は完了", "1 2/"},
      {"task-1は完了しましたか？", "/1"},
      {"task-1が完了したら教えて", "/1"},
      {"task-1を完了してください", "/1"},
      {"task-1は未完了", "/1"},
      /* Korean */
      {"task-1은 완료했습니다. task-2는 아직 완료되지 않았습니다", "1/2"},
      {"task-1 끝났어요", "1/"},
      {"task-1 완료되면 알려줘", "/1"},
      {"task-1 완료했나요?", "/1"},
      {"task-1을 완료해야 합니다", "/1"},
      {"task-1 거의 완료", "/1"},
  };
  check(cases, RP_ARRAY_SIZE(cases));
}

static void a_name_beside_letters_of_its_own_kind_is_none(void **state)
{
  (void)state;
  static const struct said cases[] = {
      {"\xc3\xa9task-1 and task-1\xc3\xa9 and \xd1\x8ftask-1", "/"},
      {"\xe2\x80\x9ctask-1\xe2\x80\x9d, \xc2\xabtask-2\xc2\xbb and \xe3\x80\x8ctask-3\xe3\x80\x8d", "/1 2 3"},
  };
  check(cases, RP_ARRAY_SIZE(cases));
}

/* a title is a phrase. */
static void titles(void **state)
{
  (void)state;
  static const struct said cases[] = {
      {"task-1: fix the login", "fix the login"},
      {"- [ ] task-1 \xe2\x80\x94 fix the   login;", "fix the login"},
      {"2) [task-1] fix the login, please", "fix the login"},
      {"> fix the login (task-1).", "fix the login"},
      {"fix (task-1) the login", "fix the login"},
      {"Good morning! Please go on with task-1 tomorrow, I am away.", "Please go on with task-1 tomorrow"},
      {"A long story of many words. And task-1 waits for the review; more text", "task-1 waits for the review"},
      {"task-1", "task-1"},
      {"task-1?", "task-1"},
      {"2026-01-02T10:00:00Z worker: task-1 failed, giving up", "task-1"},
      {"[worker] task-1 failed", "task-1"},
      {"ERROR in task-1", "task-1"},
      {"{\"id\":\"task-1\",\"state\":5}", "task-1"},
      {"level=info id=task-1 msg=begun", "task-1"},
      {"one two three four five six seven eight nine ten eleven twelve thirteen fourteen of task-1 and so on",
       "one two three four five six seven eight nine ten eleven twelve thirteen fourteen\xe2\x80\xa6"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    static const struct rp__rows none;
    RP_AUTOBUF struct rp__buf out = RP_BUF(1000);
    struct rp__mentions m;
    rp__mentions_in_message(&none, rp__str(cases[i].text), &m);
    assert_int_equal(m.n, 1);
    assert_int_equal(rp__mention_title(&m.v[0], &out), 0);
    rp__buf_char(&out, 0);
    assert_string_equal(out.p, cases[i].want);
  }
}

/* A text of nothing but tasks, and one of nothing but commas, stay within their bounds. */
static void long_texts(void **state)
{
  (void)state;
  static const struct rp__rows none;
  static const struct {
    const char *before, *after;
  } pieces[] = {{"task-1", ""}, {"task-", " "}, {"task-", ", "}, {"task-", " and done but "}, {"\xe5\xae\x8c, ?", ""}};
  for (size_t k = 0; k < RP_ARRAY_SIZE(pieces); k++) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(1 << 20), title = RP_BUF(1 << 20);
    struct rp__mentions m;
    rp__buf_str(&text, "task-0 ");
    for (int i = 0; i < 900; i++) rp__buf_printf(&text, "%s%d%s", pieces[k].before, i, pieces[k].after);
    rp__mentions_in_message(&none, (struct rp__str){text.p, text.n}, &m);
    assert_in_range(m.n, 1, RP_MENTIONS_MAX);
    assert_int_equal(rp__mention_title(&m.v[0], &title), 0);
    assert_in_range(title.n, 1, 4 * RP_MENTION_TITLE + 3);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(clauses_decide), cmocka_unit_test(questions_and_conditions_complete_nothing),
      cmocka_unit_test(languages),      cmocka_unit_test(a_name_beside_letters_of_its_own_kind_is_none),
      cmocka_unit_test(titles),         cmocka_unit_test(long_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
