/* SPDX-License-Identifier: Apache-2.0 */
/* B-13: what is found in texts, in ten languages, both ways: what each rule takes and what it leaves. */
#include "facets_test.h"

#include "base/utf8.h"
#include "facets/digest/prose.h"

static unsigned wrong;

static struct rp__str of(const char *text)
{
  return (struct rp__str){text, strlen(text)};
}

static void expect(const char *rule, const char *text, const char *got, const char *want)
{
  if (strcmp(got, want) == 0) return;
  print_message("  %s of '%s'\n    is '%s'\n   not '%s'\n", rule, text, got, want);
  wrong++;
}

static void expect_is(const char *rule, const char *text, bool got, bool want)
{
  if (got == want) return;
  print_message("  '%s' is %s%s\n", text, got ? "" : "not ", rule);
  wrong++;
}

/* ---- lists of cues ---- */

static const struct {
  enum rp__cue_list list;
  bool begins; /* compared with the beginning alone */
  const char *text;
  bool takes;
} cue_examples[] = {
#include "cue-examples.h"
    /* clang-format on */
};

static void phrases_are_found_between_the_bounds_of_words(void **state)
{
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cue_examples); i++) {
    RP_AUTOBUF struct rp__buf lower = RP_BUF(4096);
    rp__cues_lower(of(cue_examples[i].text), &lower);
    struct rp__str s = {lower.p, lower.n};
    bool found = cue_examples[i].begins ? rp__cues_begin(NULL, cue_examples[i].list, s) > 0
                                        : rp__cues_in(NULL, cue_examples[i].list, s);
    expect_is(rp__cue_list_names[cue_examples[i].list], cue_examples[i].text, found, cue_examples[i].takes);
  }
  assert_int_equal(wrong, 0);
}

static void tools_are_known_by_their_whole_name(void **state)
{
  static const struct {
    enum rp__cue_list list;
    const char *name;
    bool is;
  } tools[] = {
      {RP_CUE_EDIT_TOOLS, "Edit", true},
      {RP_CUE_EDIT_TOOLS, "NotebookEdit", true},
      {RP_CUE_EDIT_TOOLS, "apply_patch", true},
      {RP_CUE_EDIT_TOOLS, "write_file", true},
      {RP_CUE_EDIT_TOOLS, "Editor", false},
      {RP_CUE_EDIT_TOOLS, "read_file", false},
      {RP_CUE_RUN_TOOLS, "Bash", true},
      {RP_CUE_RUN_TOOLS, "run_shell_command", true},
      {RP_CUE_RUN_TOOLS, "shell", true},
      {RP_CUE_RUN_TOOLS, "BashOutput", false},
      {RP_CUE_TODO_TOOLS, "TodoWrite", true},
      {RP_CUE_TODO_TOOLS, "update_plan", true},
      {RP_CUE_TODO_TOOLS, "write_todos", true},
      {RP_CUE_TODO_TOOLS, "TaskUpdate", true},
      {RP_CUE_TODO_TOOLS, "Task", false},
      {RP_CUE_ASK_TOOLS, "AskUserQuestion", true},
      {RP_CUE_PLAN_TOOLS, "ExitPlanMode", true},
      {RP_CUE_PLAN_TOOLS, "EnterPlanMode", false},
      {RP_CUE_EDIT_TOOLS, "", false},
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(tools); i++)
    expect_is(rp__cue_list_names[tools[i].list], tools[i].name,
              (rp__cues_lists(NULL, of(tools[i].name)) >> tools[i].list & 1) != 0, tools[i].is);
  assert_int_equal(wrong, 0);
}

static void lines_that_programs_print_are_known(void **state)
{
  static const struct {
    const char *line;
    bool log;
  } lines[] = {
      {"2026-03-04 10:11:12 INFO server started", true},
      {"10:11:12.345 worker 3 ready", true},
      {"[12:00:01] GET /api 500", true},
      {"192.168.1.20 - - [04/Mar/2026] \"GET / HTTP/1.1\" 200", true},
      {"    at Object.<anonymous> (/srv/app/index.js:10:15)", true},
      {"  File \"/srv/app/main.py\", line 12, in <module>", true},
      {"Traceback (most recent call last):", true},
      {"src/parser.c:120:5: error: expected ';'", true},
      {"npm ERR! code ELIFECYCLE", true},
      {"error[E0382]: borrow of moved value: `buf`", true},
      {"fatal: not a git repository", true},
      {"ada@nova:~/src$ make test", true},
      {"+--------+---------+-------+-----+", true},
      {"{\"level\":\"warn\",\"msg\":\"slow\"}", true},
      {"<div class=\"card\">", true},
      {"goroutine 17 [running]:", true},
      {"✗ 3 tests failed", true},
      {"12 | let x = y;", true},
      {"Caused by: java.lang.NullPointerException", true},
      {"The server starts but the page stays white", false},
      {"Der Server startet, aber die Seite bleibt leer", false},
      {"Le serveur démarre mais la page reste vide", false},
      {"El servidor arranca pero la página queda en blanco", false},
      {"O servidor inicia, mas a página fica em branco", false},
      {"Il server parte ma la pagina resta bianca", false},
      {"Сервер запускается, но страница остаётся пустой", false},
      {"服务器启动了但是页面还是空白的，请检查一下", false},
      {"サーバーは起動しますが、ページが真っ白のままです", false},
      {"서버는 시작되지만 페이지가 비어 있습니다", false},
      {"3 of the tests fail on my machine", false},
      {"error handling is missing in the parser", false},
      {"at night the job runs twice, why?", false},
      {"2 Tests schlagen bei mir fehl", false},
      {"", false},
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(lines); i++)
    expect_is("a log line", lines[i].line, rp__cues_log_line(NULL, of(lines[i].line)), lines[i].log);
  assert_int_equal(wrong, 0);
}

/* ---- what a prompt asks for ---- */

static const char java_log[] =
    "2026-03-04 10:11:12,001 INFO  [main] org.example.App: starting with profile dev and 12 beans in the context\n"
    "2026-03-04 10:11:12,220 INFO  [main] org.example.Pool: pool of 8 connections to jdbc:postgresql://db/orders\n"
    "2026-03-04 10:11:13,420 ERROR [main] org.example.Pool: Connection to db:5432 refused\n"
    "    at org.example.Pool.open(Pool.java:71)\n    at org.example.Pool.warm(Pool.java:44)\n"
    "    at org.example.App.start(App.java:23)\n    at org.example.App.main(App.java:11)\n"
    "2026-03-04 10:11:13,421 INFO  [main] org.example.App: closing the context after 1.2 s, exit code 1\n"
    "2026-03-04 10:11:13,422 INFO  [main] org.example.App: JVM options were -Xmx2g -XX:+UseZGC -Dprofile=dev\n"
    "2026-03-04 10:11:13,430 INFO  [main] org.example.App: see /var/log/orders/app.log for the whole story\n";

static void a_pasted_log_is_told_by_its_first_error(void **state)
{
  static const char *const wishes[] = {
      "Why does it not start any more?",  "Warum startet es nicht mehr?", "Pourquoi est-ce que ça ne démarre plus ?",
      "¿Por qué ya no arranca?",          "Por que não inicia mais?",     "Perché non parte più?",
      "Почему он больше не запускается?", "为什么启动不了了？",           "なぜ起動しなくなったのですか？",
      "왜 더 이상 시작되지 않나요?",
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < 2 * RP_ARRAY_SIZE(wishes); i++) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(8192), got = RP_BUF(8192), want = RP_BUF(8192);
    const char *wish = wishes[i / 2];
    if (i % 2 == 0) /* the wish stands before, or behind */
      rp__buf_printf(&text, "%s\n\n%s", wish, java_log);
    else
      rp__buf_printf(&text, "%s\n%s", java_log, wish);
    rp__prose_request(NULL, (struct rp__str){text.p, text.n}, &got);
    rp__buf_printf(&want, "%s [pasted: ERROR [main] org.example.Pool: Connection to db:5432 refused]", wish);
    if (!strstr(got.p, "Connection to db:5432 refused]") || strncmp(got.p, wish, strlen(wish)) != 0)
      expect("the request", wish, got.p, want.p);
  }
  assert_int_equal(wrong, 0);
}

static void a_prompt_is_told_without_marks_and_code(void **state)
{
  static const struct {
    const char *prompt, *want;
  } prompts[] = {
      {"Please **fix** the `parser`:\n```c\nint x;\n```\nIt drops tabs.", "Please fix the parser: It drops tabs."},
      {"Bitte die Datei [liesmich](LIESMICH.md) kürzen", "Bitte die Datei liesmich kürzen"},
      {"[Image #1] le bouton est coupé", "le bouton est coupé"},
      {"修复登录页面\n\n```\nnpm run dev\n```", "修复登录页面"},
      {"Implement the following plan:\n\n# Move the cache to disk\n\n## Steps\n- one\n",
       "Implement the following plan: Move the cache to disk"},
      {"请实现以下计划：\n\n# 把缓存移到磁盘\n- 第一步", "请实现以下计划： 把缓存移到磁盘"},
      {"Réécris la fonction 🚀 s'il te plaît", "Réécris la fonction s'il te plaît"},
      {"error: expected ';' before '}' token", "error: expected ';' before '}' token"},
      {"ログイン画面を\n直してください", "ログイン画面を 直してください"},
      {"repair this:\n```c\nint x;\nand test it", "repair this: int x; and test it"},
      {"Traceback (most recent call last):\n  File \"<frozen runpy>\", line 198, in _run_module_as_main\n  File "
       "\"ferry/table.py\", line 9, in schedule\n    return [start + i * lasts for i in range(DAY // lasts)]\n         "
       "  "
       "~~~~^^~~~~~~~\nZeroDivisionError: division by zero\n\nmach, dass der Winterplan wieder druckt",
       "ZeroDivisionError: division by zero mach, dass der Winterplan wieder druckt"},
      {"still: TypeError: doc is not a function at Editor.useEffect (http://localhost/chunk.js:75:106) at commit "
       "(http://localhost/react.js:7:1) please fix",
       "still: TypeError: doc is not a function please fix"},
      {"meet me at the office (room 12) at 9", "meet me at the office (room 12) at 9"},
      {"   \n\n", ""},
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(prompts); i++) {
    RP_AUTOBUF struct rp__buf got = RP_BUF(8192);
    rp__prose_request(NULL, of(prompts[i].prompt), &got);
    expect("the request", prompts[i].prompt, got.p ? got.p : "", prompts[i].want);
  }
  assert_int_equal(wrong, 0);
}

static void a_long_text_is_cut_in_its_middle(void **state)
{
  static const char *const ends[][2] = {
      {"Begin here", "the wish stands last."},    {"Anfang hier", "der Wunsch steht am Ende."},
      {"Начало здесь", "просьба стоит в конце."}, {"从这里开始", "愿望在最后。"},
      {"ここから始まり", "願いは最後です。"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(ends); i++) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(1 << 20), got = RP_BUF(1 << 20);
    rp__buf_str(&text, ends[i][0]);
    for (int k = 0; k < 300; k++) rp__buf_str(&text, i < 3 ? " filler" : "填充");
    rp__buf_printf(&text, "%s%s", i < 3 ? " " : "", ends[i][1]);
    rp__prose_middle((struct rp__str){text.p, text.n}, 120, &got);
    if (!strstr(got.p, ends[i][0]) || !strstr(got.p, ends[i][1]) || !strstr(got.p, "…")) fail_msg("%s", got.p);
    assert_true(rp__prose_width((struct rp__str){got.p, got.n}) <= 124 && rp__utf8_ok(got.p, got.n));
    RP_AUTOBUF struct rp__buf whole = RP_BUF(1 << 20);
    rp__prose_middle(of(ends[i][1]), 120, &whole);
    assert_string_equal(whole.p, ends[i][1]);
  }
}

/* ---- how an answer ends ---- */

static void an_answer_is_its_first_sentence_and_a_question(void **state)
{
  static const struct {
    const char *answer, *want;
  } answers[] = {
      {"Done! The upload is retried three times. I also wrote a test for it and ran the whole suite twice.",
       "The upload is retried three times. I also wrote a test for it and ran the whole suite twice."},
      {"The cache lies on disk now. Tests pass. Should I commit it?",
       "The cache lies on disk now. … «Tests pass. Should I commit it?»"},
      {"Perfekt! Der Cache liegt jetzt auf der Platte. Soll ich committen?",
       "Der Cache liegt jetzt auf der Platte. … «Soll ich committen?»"},
      {"Terminé. Le cache est maintenant sur le disque. Veux-tu que je fasse le commit ?",
       "Le cache est maintenant sur le disque. … «Veux-tu que je fasse le commit ?»"},
      {"Listo. La caché ya está en el disco. ¿Quieres que haga el commit?",
       "La caché ya está en el disco. … «¿Quieres que haga el commit?»"},
      {"Pronto! O cache agora fica no disco. Devo fazer o commit?",
       "O cache agora fica no disco. … «Devo fazer o commit?»"},
      {"Fatto. La cache ora sta su disco. Devo fare il commit?", "La cache ora sta su disco. … «Devo fare il commit?»"},
      {"Готово. Кэш теперь лежит на диске. Сделать коммит?", "Кэш теперь лежит на диске. … «Сделать коммит?»"},
      {"完成。缓存现在保存在磁盘上。需要我提交吗？", "缓存现在保存在磁盘上。 … «需要我提交吗？»"},
      {"完了しました。キャッシュはディスクに保存されます。コミットしますか？",
       "キャッシュはディスクに保存されます。 … «コミットしますか？»"},
      {"완료했습니다. 캐시는 이제 디스크에 있습니다. 커밋할까요?", "캐시는 이제 디스크에 있습니다. … «커밋할까요?»"},
      {"## Summary\n\n| a | b |\n|---|---|\nThe parser reads tabs.", "The parser reads tabs."},
      {"Three things changed:\n- the lexer counts lines\n- the parser reads tabs\n",
       "Three things changed: the lexer counts lines; the parser reads tabs"},
      {"Is the port free? I checked, and it is. Nothing listens there, neither on IPv4 nor on IPv6, and the firewall "
       "lets "
       "it pass on both machines that I could reach; the third did not answer my ping, so look there yourself.",
       "I checked, and it is. Nothing listens there, neither on IPv4 nor on IPv6, and the firewall lets it pass on "
       "both "
       "machines that I could reach; the third did not answer my ping, so look there yourself."},
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(answers); i++) {
    RP_AUTOBUF struct rp__buf got = RP_BUF(8192);
    rp__prose_answer(NULL, of(answers[i].answer), 400, &got);
    expect("the answer", answers[i].answer, got.p ? got.p : "", answers[i].want);
  }
  assert_int_equal(wrong, 0);
}

static void a_step_that_was_announced_is_no_end(void **state)
{
  static const struct {
    const char *text;
    bool cut;
  } texts[] = {
      {"Let me look at the parser.", true},
      {"Now I will run the tests.", true},
      {"Jetzt prüfe ich die Konfiguration.", true},
      {"Als Nächstes schreibe ich den Test.", true},
      {"Maintenant je lance les tests.", true},
      {"Je vais vérifier la configuration.", true},
      {"Ahora voy a revisar el analizador.", true},
      {"Agora vou verificar o analisador.", true},
      {"Ora controllo la configurazione.", true},
      {"Теперь проверю конфигурацию.", true},
      {"接下来我会检查配置文件。", true},
      {"次に設定を確認します。", true},
      {"이제 설정을 확인하겠습니다.", true},
      {"The files are:", true},
      {"以下是文件：", true},
      {"The upload is retried and the,", true},
      {"The upload is retried three times.", false},
      {"Done, 33 tests pass", false},
      {"Die Vorlage steht in mail.html", false},
      {"Le modèle est écrit", false},
      {"模板写好了", false},
      {"Done", false},
      {"Die Tests laufen durch.", false},
      {"Les tests passent tous.", false},
      {"Las pruebas pasan.", false},
      {"Os testes passam.", false},
      {"I test passano tutti.", false},
      {"Все тесты проходят.", false},
      {"所有测试都通过了。", false},
      {"テストはすべて通りました。", false},
      {"모든 테스트가 통과했습니다.", false},
      {"Should I run the tests now?", false},
      {"现在要提交吗？", false},
      {"", false},
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++)
    expect_is("cut off", texts[i].text, rp__prose_cut_off(NULL, of(texts[i].text)), texts[i].cut);
  assert_int_equal(wrong, 0);
}

/* ---- errors and sentences ---- */

static void the_line_that_tells_what_went_wrong_is_found(void **state)
{
  static const struct {
    const char *output, *want;
  } outputs[] = {
      {"> build\nsrc/a.c:3:1: error: unknown type name 'foo'\nmake: *** [a.o] Error 1",
       "src/a.c:3:1: error: unknown type name 'foo'"},
      {"npm ERR! code ELIFECYCLE\nnpm ERR! Failed at the nova@1.0.0 build script.",
       "npm ERR! Failed at the nova@1.0.0 build script."},
      {"bin/bash: line 1: ruff: command not found", "bin/bash: line 1: ruff: command not found"},
      {"/bin/sh: 1: ruff: not found", "/bin/sh: 1: ruff: not found"},
      {"Traceback (most recent call last):\n  File \"ferry/__main__.py\", line 4, in <module>\nFileNotFoundError: "
       "[Errno 2] "
       "No such file or directory: 'summer.csv'",
       "FileNotFoundError: [Errno 2] No such file or directory: 'summer.csv'"},
      {"10:11:12 ERROR: relation \"users\" does not exist", "ERROR: relation \"users\" does not exist"},
      {"Fehler: Datei nicht lesbar\n", "Fehler: Datei nicht lesbar"},
      {"erreur : fichier introuvable\n", "erreur : fichier introuvable"},
      {"la conexión falló tras 3 intentos", "la conexión falló tras 3 intentos"},
      {"a conexão falhou depois de 3 tentativas", "a conexão falhou depois de 3 tentativas"},
      {"errore: file non trovato\n", "errore: file non trovato"},
      {"ошибка: файл не найден\n", "ошибка: файл не найден"},
      {"编译\n错误: 找不到文件\n", "错误: 找不到文件"},
      {"ビルド\nエラー: ファイルがありません\n", "エラー: ファイルがありません"},
      {"빌드\n오류: 파일을 찾을 수 없습니다\n", "오류: 파일을 찾을 수 없습니다"},
      {"12 passed, 0 errors\nall is well", ""},
      {"Die Fehlerbehebung ist beschrieben", ""},
      {"mirrors and terrors of the deep", ""},
  };
  (void)state;
  wrong = 0;
  for (size_t i = 0; i < RP_ARRAY_SIZE(outputs); i++) {
    RP_AUTOBUF struct rp__buf got = RP_BUF(8192);
    rp__prose_error(NULL, of(outputs[i].output), 120, &got);
    expect("the error", outputs[i].output, got.p ? got.p : "", outputs[i].want);
  }
  assert_int_equal(wrong, 0);
}

static void sentences_end_in_every_script(void **state)
{
  static const struct {
    const char *text;
    size_t n;
    const char *last;
  } texts[] = {
      {"Use v1.2 of it. Then test!", 2, "Then test!"},
      {"Nimm z.B. main.c. Fertig?", 2, "Fertig?"},
      {"你好。现在开始！好吗？", 3, "好吗？"},
      {"直してください。テストも。", 2, "テストも。"},
      {"- first point\n- second point", 2, "second point"},
      {"1. eins und\n2) zwei", 2, "zwei"},
      {"Подожди… потом", 2, "потом"},
      {"", 0, ""},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
    struct rp__sentences all = {of(texts[i].text)};
    struct rp__str s = {0};
    size_t n = 0;
    while (rp__sentences_next(&all, &s)) n++;
    if (n != texts[i].n || s.n != strlen(texts[i].last) || memcmp(s.p ? s.p : "", texts[i].last, s.n) != 0)
      fail_msg("'%s' has %zu sentences; the last is '%.*s'", texts[i].text, n, (int)s.n, s.p);
  }
}

/* ---- a user's own cues ---- */

static struct rp__cue_set *own_of(const char *json)
{
  struct rp__cue_set *set = NULL;
  assert_int_equal(rp__cues_new(rp__json_trusted(json, strlen(json)), &set), 0);
  return set;
}

static void own_cues_are_added_to_the_lists(void **state)
{
  (void)state;
  struct rp__cue_set *own = own_of("{\"rules\":[\"altijd\",\"nooit*\",\"S\\u0065mper\"],\"log lines\":[\"<#>~ \"],"
                                   "\"edit tools\":[\"redact\"]}");
  assert_non_null(own);
  assert_true(rp__cues_in(own, RP_CUE_RULES, of("test dit altijd eerst")));
  assert_true(rp__cues_in(own, RP_CUE_RULES, of("nooitmeer")));
  assert_true(rp__cues_in(own, RP_CUE_RULES, of("semper idem")));
  assert_true(rp__cues_in(own, RP_CUE_RULES, of("always")));
  assert_false(rp__cues_in(own, RP_CUE_RULES, of("altijdgroen")));
  assert_false(rp__cues_in(own, RP_CUE_GO_ON, of("altijd")));
  assert_true(rp__cues_log_line(own, of("<12>abc and so on")));
  assert_false(rp__cues_log_line(own, of("<x>abc and so on")));
  assert_true(rp__cues_lists(own, of("Redact")) >> RP_CUE_EDIT_TOOLS & 1);
  assert_false(rp__cues_lists(NULL, of("Redact")) >> RP_CUE_EDIT_TOOLS & 1);
  rp__cues_free(own);
}

/* The settings of a session are anybody's. */
static void what_is_no_entry_is_left_out(void **state)
{
  static const char *const nothing[] = {"{}",
                                        "{\"rules\":\"x\"}",
                                        "{\"rules\":[7,42,null,\"\",\"*\",\"  \",\"a\\u0000b\",[\"x\"]]}",
                                        "{\"log lines\":[\"~\",\"# ?\",5,42]}",
                                        "{\"other\":[\"x\"]}",
                                        "[]",
                                        "null"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(nothing); i++) assert_null(own_of(nothing[i]));
  struct rp__cue_set *own = own_of("{\"log lines\":[\"~~~~~~~~~~~~~~~~~~~~x\"]}");
  char line[400];
  memset(line, 'a', sizeof line);
  assert_false(rp__cues_log_line(own, (struct rp__str){line, sizeof line})); /* in time */
  rp__cues_free(own);
}

static void a_file_of_cues_becomes_json(void **state)
{
  static const struct {
    const char *ini, *want; /* … or the beginning of the error */
  } files[] = {
      {"", "{}"},
      {"; nothing\n\n[rules]\n", "{}"},
      {"[rules]\nnl = Altijd | ÜBER ALLES |  nooit* \r\n    in plaats van\n[log lines]\nx = { | a  | \"b\\\n",
       "{\"rules\":[\"altijd\",\"über alles\",\"nooit*\",\"in plaats van\"],\"log lines\":[\"{\",\"a "
       "\",\"\\\"b\\\\\"]}"},
      {"[go on]\na = x\n[rules]\nb = y\n[go on]\nc = z", "{\"rules\":[\"y\"],\"go on\":[\"x\",\"z\"]}"},
      {"[rules]\nb = y = z\n", "{\"rules\":[\"y = z\"]}"},
      {"x = y", "line 1 is neither"},
      {"\n[rules", "line 2: there is no list"},
      {"[rules]\n[go on]\n  y", "line 3 is neither"},
      {"[rules]\ny", "line 2 is neither"},
      {"[rules]\na = b | * | c", "line 2: an entry needs"},
      {"[rules]\na = b\n  \001", "line 3: an entry needs"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(files); i++) {
    RP_AUTOBUF struct rp__buf got = RP_BUF(1 << 16);
    rp_error err = {0};
    int rc = rp__cues_read(of(files[i].ini), &got, &err);
    assert_int_equal(rc, err.code);
    if (rc) assert_int_equal(rc, RP_E_CONFIG);
    const char *said = rc ? err.message : got.p;
    if (strncmp(said, files[i].want, rc ? strlen(files[i].want) : SIZE_MAX) != 0)
      fail_msg("'%s' became '%s'", files[i].ini, said);
  }
  RP_AUTOBUF struct rp__buf ini = RP_BUF(1 << 20), got = RP_BUF(1 << 20);
  rp_error err = {0};
  rp__buf_str(&ini, "[rules]\nx = a");
  for (size_t i = 0; i < RP_CUES_BYTES; i++) rp__buf_str(&ini, " | abc");
  assert_int_equal(rp__cues_read((struct rp__str){ini.p, ini.n}, &got, &err), RP_E_CONFIG);
  assert_non_null(strstr(err.message, "longer than"));
}

/* Whatever stands at whatever place of eight bytes that are looked at together. */
static void runs_of_blanks_become_one_wherever_they_stand(void **state)
{
  (void)state;
  static const char words[] = "pack my box with five dozen jugs of ale; quick";
  static const struct {
    const char *put, *becomes;
  } runs[] = {{"  ", " "}, {"\t", " "}, {" \n \t ", " "}, {"\x7f", " "}, {"\xc2\xa0", " "}, {"\xc3\xa9", "\xc3\xa9"},
              {"~!", "~!"}};
  for (size_t at = 1; at + 1 < sizeof words - 1; at++) {
    if (words[at] == ' ' || words[at - 1] == ' ') continue;
    for (size_t i = 0; i < RP_ARRAY_SIZE(runs); i++) {
      RP_AUTOBUF struct rp__buf text = RP_BUF(200), want = RP_BUF(200), got = RP_BUF(200);
      rp__buf_printf(&text, "%.*s%s%s", (int)at, words, runs[i].put, words + at);
      rp__buf_printf(&want, "%.*s%s%s", (int)at, words, runs[i].becomes, words + at);
      rp__prose_clip((struct rp__str){text.p, text.n}, 200, &got);
      assert_string_equal(got.p, want.p);
    }
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(phrases_are_found_between_the_bounds_of_words),
      cmocka_unit_test(tools_are_known_by_their_whole_name),
      cmocka_unit_test(lines_that_programs_print_are_known),
      cmocka_unit_test(a_pasted_log_is_told_by_its_first_error),
      cmocka_unit_test(a_prompt_is_told_without_marks_and_code),
      cmocka_unit_test(a_long_text_is_cut_in_its_middle),
      cmocka_unit_test(runs_of_blanks_become_one_wherever_they_stand),
      cmocka_unit_test(an_answer_is_its_first_sentence_and_a_question),
      cmocka_unit_test(a_step_that_was_announced_is_no_end),
      cmocka_unit_test(the_line_that_tells_what_went_wrong_is_found),
      cmocka_unit_test(sentences_end_in_every_script),
      cmocka_unit_test(own_cues_are_added_to_the_lists),
      cmocka_unit_test(what_is_no_entry_is_left_out),
      cmocka_unit_test(a_file_of_cues_becomes_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
