/* SPDX-License-Identifier: Apache-2.0 */
/* B-13: what a session's events leave in its digest: requests and their ends, work, todos, refusals, rules. */
#include "facets_test.h"

#include "base/utf8.h"
#include "facets/digest/cues.h"
#include "facets/digest/digest.h"

static const struct rp__digest *digest_of(const struct rp__fold *f)
{
  assert_sound(f);
  return rp__digest_of(f);
}

static void say(struct rp__fold *f, const char *role, const char *text, const char *more)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(SAVED_MAX);
  struct rp__jw w = RP_JW(&b);
  rp__jw_pack(&w, "{role:s content:s", role, text);
  rp__jw_end_object(&w);
  assert_int_equal(b.err, 0);
  b.n--;
  rp__buf_printf(&b, "%s}", more);
  tell(f, RP_KIND_MESSAGE, b.p);
}

static void ask(struct rp__fold *f, const char *text)
{
  say(f, "user", text, "");
}

static void answer(struct rp__fold *f, const char *text)
{
  say(f, "assistant", text, "");
}

/* A call that has ended with that status. */
static void call(struct rp__fold *f, const char *name, const char *input, const char *status, const char *output)
{
  static int calls;
  char body[4096];
  snprintf(body, sizeof body, "{\"call_id\":\"k%d\",\"name\":\"%s\",\"status\":\"running\",\"input\":%s}", ++calls,
           name, input);
  tell(f, RP_KIND_TOOL, body);
  if (strcmp(status, "running") == 0) return;
  snprintf(body, sizeof body, "{\"call_id\":\"k%d\",\"name\":\"%s\",\"status\":\"%s\"%s%s}", calls, name, status,
           *output ? "," : "", output);
  tell(f, RP_KIND_TOOL, body);
}

static void assert_cell(const struct rp__rows *rows, size_t i, unsigned column, const char *want)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(SAVED_MAX);
  if (i >= rows->count) fail_msg("%s has %zu rows, not %zu", rows->shape->name, rows->count, i + 1);
  struct rp__json cell = rp__row_cell(rows->v[i], column);
  if (cell.type == RP_JSON_STRING)
    assert_int_equal(rp__json_text(cell, &text), 0);
  else
    rp__buf_add(&text, cell.p, cell.n);
  if (strcmp(text.p ? text.p : "", want) != 0) fail_msg("%s %zu: '%s' is not '%s'", rows->shape->name, i, text.p, want);
}

static void assert_end(const struct rp__fold *f, size_t i, const char *text, enum rp__request_end end,
                       const char *answered)
{
  RP_AUTOBUF struct rp__buf room = RP_BUF(SAVED_MAX), said = RP_BUF(SAVED_MAX);
  struct rp__digest_request r;
  const struct rp__digest *d = digest_of(f);
  assert_true(i < rp__digest_count(d));
  assert_int_equal(rp__digest_request(d, i, &room, &r), 0);
  assert_int_equal(rp__json_text(r.text, &said), 0);
  assert_string_equal(said.p, text);
  assert_string_equal(rp__request_end_words[r.end], rp__request_end_words[end]);
  if (r.answer.n != strlen(answered) || memcmp(r.answer.p, answered, r.answer.n) != 0)
    fail_msg("the answer to '%s' is '%.*s', not '%s'", text, (int)r.answer.n, r.answer.p, answered);
}

/* ---- requests ---- */

static void the_last_request_is_none_that_only_goes_on(void **state)
{
  static const char *const talks[][3] = {
      {"Add a retry to the upload and test it", "yes, go ahead", "thanks!"},
      {"Bau eine Wiederholung in den Upload ein", "ja, mach weiter", "Danke"},
      {"Ajoute une reprise à l'envoi des fichiers", "vas-y", "merci beaucoup"},
      {"Añade un reintento a la subida de archivos", "sí, adelante", "gracias"},
      {"Adicione uma nova tentativa ao envio", "pode continuar", "obrigado"},
      {"Aggiungi un nuovo tentativo al caricamento", "va bene", "grazie"},
      {"Добавь повтор к загрузке файлов", "продолжай", "спасибо"},
      {"给上传功能加上重试", "继续", "谢谢"},
      {"アップロードに再試行を追加する", "続けて", "ありがとう"},
      {"업로드에 재시도를 추가해 줘", "계속", "고마워"},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(talks); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    for (size_t k = 0; k < 3; k++) {
      ask(f, talks[i][k]);
      call(f, "Edit", "{\"file_path\":\"a.c\"}", "done", "");
      answer(f, "The upload is retried three times.");
    }
    const struct rp__digest *d = digest_of(f);
    assert_int_equal(rp__digest_count(d), 3);
    if (rp__digest_asked(d) != 0) fail_msg("'%s' or '%s' counts as a request", talks[i][1], talks[i][2]);
    ask(f, talks[i][0]);
    assert_int_equal(rp__digest_asked(rp__digest_of(f)), 3);
  }
}

/* A short request that begins with a word of assent or dissent is a request all the same. */
static void a_short_request_is_no_go_on(void **state)
{
  static const char *const requests[] = {"no funciona el login",  "no sound in the player", "Go 1.24 for the backend",
                                         "non funziona il login", "нет звука в плеере",     "需要一个深色主题",
                                         "nein: erst die Tests"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(requests); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    ask(f, "Move the cache to the disk");
    call(f, "Edit", "{\"file_path\":\"a.c\"}", "done", "");
    answer(f, "The cache lies on the disk now.");
    ask(f, requests[i]);
    call(f, "Edit", "{\"file_path\":\"b.c\"}", "done", "");
    answer(f, "It is repaired.");
    if (rp__digest_asked(digest_of(f)) != 1) fail_msg("'%s' is taken for a go-on", requests[i]);
  }
}

/* An option is chosen by its mark alone, and never by a sentence that only has a letter in it. */
static void a_choice_is_told_in_the_options_words(void **state)
{
  static const struct {
    const char *said, *chosen;
  } cases[] = {{"B", "chosen: B) copy the files by hand"},
               {"b, das ist besser", "chosen: B) copy the files by hand"},
               {"la 3", NULL},
               {"option A", "chosen: A) keep the server"},
               {"вариант c.", "chosen: C) delete the old database first"},
               {"not B, wait", NULL},
               {"nicht D bitte!", NULL},
               {"anything but C", NULL},
               {"c'est bon, merci", NULL},
               {"e poi che si fa?", NULL},
               {"plan B failed?", NULL}};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    ask(f, "How do we move?");
    answer(f, "There are ways:\nA) keep the server\nB) copy the files by hand\nC) delete the old database first\nD) "
              "drop all");
    ask(f, cases[i].said);
    const struct rp__digest *d = digest_of(f);
    size_t n = 0;
    for (size_t k = 0; k < d->rules.count; k++) n += (d->rules.v[k]->flags & RP_RULE_CHOSEN) != 0;
    if (n != (cases[i].chosen ? 1u : 0u)) fail_msg("'%s' chose %zu options", cases[i].said, n);
    if (n) assert_cell(&d->rules, 0, RP_RULE_TEXT, cases[i].chosen);
  }
}

/* Small talk: short, without any work, in a session that worked. An open one may be what is wanted next. */
static void small_talk_is_skipped(void **state)
{
  static const char *const talk[] = {"how late is it?", "wie spät ist es?", "quelle heure est-il ?", "现在几点了？"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(talk); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    ask(f, "Move the cache to the disk");
    answer(f, "The cache lies on the disk now.");
    ask(f, talk[i]);
    answer(f, "It is half past nine in the evening.");
    assert_int_equal(rp__digest_asked(digest_of(f)), 1); /* nothing was worked on: all is talk */
    ask(f, "Now write a test for it");
    call(f, "Write", "{\"file_path\":\"t.c\"}", "done", "");
    answer(f, "The test is there, and it passes.");
    ask(f, talk[i]);
    assert_int_equal(rp__digest_asked(digest_of(f)), 3);
    answer(f, "It is ten.");
    assert_int_equal(rp__digest_asked(digest_of(f)), 2);
  }
}

static void the_newest_requests_stay(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  char text[64];
  for (int i = 0; i < 40; i++) {
    snprintf(text, sizeof text, "Implement feature number %d", i);
    ask(f, text);
  }
  const struct rp__digest *d = digest_of(f);
  assert_int_equal(rp__digest_count(d), 12);
  assert_end(f, 11, "Implement feature number 39", RP_END_OPEN, "");
  assert_end(f, 0, "Implement feature number 28", RP_END_OPEN, "");
}

static void each_request_tells_how_it_ended(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  ask(f, "Move the cache to the disk");
  assert_end(f, 0, "Move the cache to the disk", RP_END_OPEN, "");
  answer(f, "Perfekt! Der Cache liegt auf der Platte. Soll ich committen?");
  assert_end(f, 0, "Move the cache to the disk", RP_END_ANSWERED,
             "Der Cache liegt auf der Platte. … «Soll ich committen?»");
  ask(f, "登录页面打不开了");
  answer(f, "接下来我会检查配置文件。");
  assert_end(f, 1, "登录页面打不开了", RP_END_CUT_OFF, "接下来我会检查配置文件。");
  ask(f, "Lance les tests");
  call(f, "Bash", "{\"command\":\"make test\"}", "running", "");
  assert_end(f, 2, "Lance les tests", RP_END_TOOL, "");
  ask(f, "Publica la versión");
  tell(f, RP_KIND_TURN, "{\"status\":\"cancelled\"}");
  assert_end(f, 3, "Publica la versión", RP_END_CANCELLED, "");
  ask(f, "Собери пакет заново");
  tell(f, RP_KIND_TURN, "{\"status\":\"failed\",\"reason\":\"overloaded\"}");
  assert_end(f, 4, "Собери пакет заново", RP_END_FAILED, "");
  ask(f, "Write the release notes");
  tell(f, RP_KIND_TURN, "{\"status\":\"refused\"}");
  ask(f, "Then only their headings");
  tell(f, RP_KIND_TURN, "{\"status\":\"limit\"}");
  ask(f, "And the date");
  assert_end(f, 2, "Lance les tests", RP_END_TOOL, ""); /* as they were */
  assert_end(f, 5, "Write the release notes", RP_END_REFUSED, "");
  assert_end(f, 6, "Then only their headings", RP_END_LIMIT, "");
  assert_end(f, 0, "Move the cache to the disk", RP_END_ANSWERED,
             "Der Cache liegt auf der Platte. … «Soll ich committen?»");
}

static void chunks_are_one_answer(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  ask(f, "Move the cache to the disk");
  say(f, "assistant", "The cache lies on ", ",\"message_id\":\"a\",\"partial\":true");
  assert_end(f, 0, "Move the cache to the disk", RP_END_CUT_OFF, "The cache lies on");
  say(f, "assistant", "the disk now.", ",\"message_id\":\"a\",\"partial\":true");
  say(f, "assistant", "", ",\"message_id\":\"a\"");
  assert_end(f, 0, "Move the cache to the disk", RP_END_ANSWERED, "The cache lies on the disk now.");
  say(f, "assistant", "Hidden thoughts.", ",\"thought\":true");
  say(f, "system", "No request and no answer.", "");
  assert_end(f, 0, "Move the cache to the disk", RP_END_ANSWERED, "The cache lies on the disk now.");
}

/* ---- work ---- */

static void files_are_counted_whatever_the_agent(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  call(f, "Write", "{\"file_path\":\"/p/a.c\",\"content\":\"x\"}", "done", "");
  call(f, "replace", "{\"file_path\":\"/p/b.c\"}", "done", "");
  call(f, "mcp__files__edit_file", "{\"path\":\"/p/a.c\"}", "done", "");
  call(f, "apply_patch",
       "{\"input\":\"*** Begin Patch\\n*** Update File: c.c\\n@@\\n*** Add File: d.c\\n+x\\n*** End Patch\"}", "done",
       "");
  call(f, "shell", "{\"command\":[\"apply_patch\",\"*** Begin Patch\\n*** Delete File: e.c\\n*** End Patch\"]}", "done",
       "");
  call(f, "Edit f.c", "{\"x\":1},\"acp\":{\"kind\":\"edit\",\"locations\":[{\"path\":\"/p/f.c\",\"line\":3}]}", "done",
       "");
  call(f, "Edit", "{\"file_path\":\"/p/failed.c\"}", "failed", "");
  call(f, "Edit", "{\"file_path\":\"/p/doubt.c\"}", "unknown", "");
  call(f, "Read", "{\"file_path\":\"/p/read.c\"}", "done", "");
  call(f, "str_replace_based_edit_tool", "{\"command\":\"view\",\"path\":\"/p/viewed.c\"}", "done", "");
  const struct rp__digest *d = digest_of(f);
  static const char *const want[] = {"/p/b.c", "/p/a.c", "c.c", "d.c", "e.c", "/p/f.c"};
  assert_int_equal(d->files.count, RP_ARRAY_SIZE(want));
  for (size_t i = 0; i < RP_ARRAY_SIZE(want); i++) assert_cell(&d->files, i, RP_FILE_PATH, want[i]);
  assert_cell(&d->files, 1, RP_FILE_COUNT, "2");
  assert_cell(&d->files, 5, RP_FILE_COUNT, "1");
}

static void paths_are_told_relative_to_the_project(void **state)
{
  static const struct {
    const char *path, *root, *want;
    bool home;
  } paths[] = {
      {"/home"
       "/ada/nova/src/a.c",
       "/home"
       "/ada/nova",
       "src/a.c", false},
      {"/home"
       "/ada/nova2/a.c",
       "/home"
       "/ada/nova",
       "nova2/a.c", true},
      {"/home"
       "/ada/nova",
       "/home"
       "/ada/nova",
       "nova", true},
      {"/Users/zoë/werk/a.c", "", "werk/a.c", true},
      {"/srv/项目/a.c", "/srv/项目", "a.c", false},
      {"/srv/a.c",
       "/home"
       "/ada/nova",
       "/srv/a.c", false},
      {"a.c",
       "/home"
       "/ada/nova",
       "a.c", false},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(paths); i++) {
    bool home;
    struct rp__str got = rp__digest_path(rp__str(paths[i].path), rp__str(paths[i].root), &home);
    assert_int_equal(got.n, strlen(paths[i].want));
    assert_memory_equal(got.p, paths[i].want, got.n);
    assert_int_equal(home, paths[i].home);
  }
}

static void a_failed_command_stays_until_it_succeeds(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  call(f, "Bash", "{\"command\":\"cd /p && make test 2>&1 | tail -5\"}", "failed",
       "\"output\":\"test_a: ok\\ntest_b failed: 2 is not 3\"");
  call(f, "run_shell_command", "{\"command\":\"npm run build\"}", "done",
       "\"output\":{\"exit_code\":2,\"stderr\":\"Fehler: Datei fehlt\"}");
  call(f, "shell", "{\"command\":[\"bash\",\"-lc\",\"cargo check\"]}", "done",
       "\"output\":{\"exitCode\":101,\"stdout\":\"错误: 类型不符\"}");
  call(f, "`go vet`", "{},\"acp\":{\"kind\":\"execute\"}", "failed", "\"output\":\"ошибка: нет модуля\"");
  call(f, "Bash", "{\"command\":\"grep -r nothing .\"}", "failed", "\"output\":\"exit 1\"");
  call(f, "Bash", "{\"command\":\"make docs\"}", "done", "");
  const struct rp__digest *d = digest_of(f);
  assert_int_equal(d->commands.count, 4);
  assert_cell(&d->commands, 0, RP_COMMAND_LINE, "make test");
  assert_cell(&d->commands, 0, RP_COMMAND_ERROR, "test_b failed: 2 is not 3");
  assert_cell(&d->commands, 1, RP_COMMAND_ERROR, "Fehler: Datei fehlt");
  assert_cell(&d->commands, 2, RP_COMMAND_LINE, "cargo check");
  assert_cell(&d->commands, 2, RP_COMMAND_ERROR, "错误: 类型不符");
  assert_cell(&d->commands, 3, RP_COMMAND_ERROR, "ошибка: нет модуля");
  call(f, "Bash", "{\"command\":\"make test -k\"}", "done", "\"output\":\"ok\"");
  d = digest_of(f);
  assert_int_equal(d->commands.count, 3);
  assert_cell(&d->commands, 0, RP_COMMAND_LINE, "npm run build");
}

static void commits_have_subject_and_hash(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  call(f, "Bash", "{\"command\":\"git add -A && git commit -m 'Parser: liest Tabulatoren'\"}", "done",
       "\"output\":\"[main 1a2b3c4] Parser\\n 1 file changed\"");
  call(f, "shell", "{\"command\":\"git commit -qam 'release 0.4' && git push --mirror\"}", "done", "\"output\":\"\"");
  call(f, "shell", "{\"command\":\"git commit --amend --no-edit -s\"}", "done", "\"output\":\"\"");
  call(f, "shell", "{\"command\":\"git commit -m \\\"修复登录页面\\\"\"}", "done",
       "\"output\":\"[fix/login 0badcafe] x\"");
  call(f, "Bash", "{\"command\":\"git commit -q -m \\\"$(cat <<'EOF'\\nОбновлён лексер\\n\\nlong\\nEOF\\n)\\\"\"}",
       "done", "");
  call(f, "Bash", "{\"command\":\"echo git commit -m never >> notes\"}", "done", "");
  call(f, "Bash", "{\"command\":\"git commit --dry-run -m 'a try'\"}", "done", "");
  call(f, "Bash", "{\"command\":\"git commit -m 'empty' || true\"}", "done", "\"output\":\"nothing to commit\"");
  call(f, "Bash", "{\"command\":\"git commit -m 'never made'\"}", "failed", "\"output\":\"nothing to commit\"");
  call(f, "Bash", "{\"command\":\"git commit -m \\\"Say \\\\\\\"ciao\\\\\\\" to l'utente\\\" && git push\"}", "done",
       "");
  const struct rp__digest *d = digest_of(f);
  assert_int_equal(d->commits.count, 5);
  assert_cell(&d->commits, 4, RP_COMMIT_TEXT, "Say \\\"ciao\\\" to l'utente");
  assert_cell(&d->commits, 0, RP_COMMIT_TEXT, "1a2b3c4 Parser: liest Tabulatoren");
  assert_cell(&d->commits, 1, RP_COMMIT_TEXT, "release 0.4");
  assert_cell(&d->commits, 2, RP_COMMIT_TEXT, "0badcafe 修复登录页面");
  assert_cell(&d->commits, 3, RP_COMMIT_TEXT, "Обновлён лексер");
}

/* ---- todos ---- */

static void the_next_list_replaces_the_open_todos(void **state)
{
  static const struct {
    const char *name, *input;
  } lists[] = {
      {"TodoWrite", "{\"todos\":[{\"content\":\"Read\",\"status\":\"completed\"},{\"content\":\"Tests schreiben\","
                    "\"status\":\"in_progress\",\"activeForm\":\"x\"},{\"content\":\"部署\",\"status\":\"pending\"}]}"},
      {"update_plan",
       "{\"plan\":[{\"step\":\"Read\",\"status\":\"completed\"},{\"step\":\"Tests schreiben\",\"status\":"
       "\"in_progress\"},{\"step\":\"部署\",\"status\":\"pending\"}]}"},
      {"write_todos",
       "{\"todos\":[{\"description\":\"Read\",\"status\":\"completed\"},{\"description\":\"Tests schreiben\","
       "\"status\":\"in_progress\"},{\"description\":\"部署\",\"status\":\"pending\"}]}"},
  };
  (void)state;
  for (size_t i = 0; i <= RP_ARRAY_SIZE(lists); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    tell(f, RP_KIND_TODO, "{\"items\":[{\"content\":\"gone\",\"status\":\"pending\"}]}");
    if (i < RP_ARRAY_SIZE(lists))
      call(f, lists[i].name, lists[i].input, "done", "");
    else /* what an ACP plan becomes */
      tell(f, RP_KIND_TODO,
           "{\"items\":[{\"content\":\"Tests schreiben\",\"status\":\"in_progress\"},{\"content\":\"部署\","
           "\"status\":\"pending\"},{\"content\":\"Old\",\"status\":\"completed\"}]}");
    const struct rp__digest *d = digest_of(f);
    assert_int_equal(d->todos.count, 2);
    assert_cell(&d->todos, 0, RP_TODO_TEXT, "Tests schreiben");
    assert_cell(&d->todos, 0, RP_TODO_STATUS, "in_progress");
    assert_cell(&d->todos, 1, RP_TODO_TEXT, "部署");
    tell(f, RP_KIND_TODO, "{\"items\":[]}");
    assert_int_equal(digest_of(f)->todos.count, 0);
  }
}

static void todos_made_one_by_one_are_closed_by_their_number(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  call(f, "TaskCreate", "{\"subject\":\"Lire le parseur\",\"description\":\"x\"}", "done", "");
  call(f, "TaskCreate", "{\"subject\":\"Escribir las pruebas\"}", "done", "");
  call(f, "TaskUpdate", "{\"taskId\":\"1\",\"status\":\"in_progress\"}", "done", "");
  assert_int_equal(digest_of(f)->todos.count, 2);
  call(f, "TaskUpdate", "{\"taskId\":\"1\",\"status\":\"completed\"}", "done", "");
  call(f, "TaskCreate", "{\"subject\":\"発行する\"}", "done", "");
  const struct rp__digest *d = digest_of(f);
  assert_int_equal(d->todos.count, 2);
  assert_cell(&d->todos, 0, RP_TODO_TEXT, "Escribir las pruebas");
  assert_cell(&d->todos, 1, RP_TODO_ID, "3");
  RP_AUTOFOLD struct rp__fold *closed = fold_new(), *back = NULL;
  RP_AUTOBUF struct rp__buf doc = RP_BUF(SAVED_MAX);
  call(closed, "TaskCreate", "{\"subject\":\"Only one\"}", "done", "");
  call(closed, "TaskUpdate", "{\"taskId\":\"1\",\"status\":\"completed\"}", "done", "");
  save(closed, &doc);
  back = load(&doc); /* the number goes on over a snapshot */
  call(back, "TaskCreate", "{\"subject\":\"Another\"}", "done", "");
  assert_cell(&digest_of(back)->todos, 0, RP_TODO_ID, "2");
  show(f, &doc);
  assert_null(strstr(doc.p, "\"pending_tasks\"")); /* they are no tasks of X-05 */
}

/* ---- what was declined ---- */

static void a_declined_tool_has_what_was_said_instead(void **state)
{
  static const struct {
    const char *said;
    bool tells;
  } words[] = {
      {"no, use the other port", true},       {"Nein, nimm Port 8081", true},
      {"non, utilise le port 8081", true},    {"no, usa el puerto 8081", true},
      {"нет, возьми порт 8081", true},        {"不，用8081端口", true},
      {"Which colours has the logo?", false}, {"Baue die Startseite um", false},
      {"Dessine le logo en bleu", false},     {"给页面加一个按钮", false},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    ask(f, "Start the server");
    call(f, "Bash", "{\"command\":\"cd /p && npm start\"}", "running", "");
    ask(f, words[i].said); /* while the call has no outcome */
    const struct rp__digest *d = digest_of(f);
    assert_int_equal(d->declined.count, 1);
    assert_int_equal(d->calls.count, 0);
    assert_cell(&d->declined, 0, RP_DECLINED_WHAT, "npm start");
    assert_cell(&d->declined, 0, RP_DECLINED_SAID, words[i].tells ? words[i].said : "");
  }
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  call(f, "Bash", "{\"command\":\"git push\"}", "failed", "\"declined\":true,\"said\":\"nicht auf main\"");
  call(f, "Bash", "{\"command\":\"git push\"}", "failed", "\"declined\":true");
  call(f, "Edit", "{\"file_path\":\"a.c\"}", "failed",
       "\"declined\":true,\"output\":\"rejected. the user said: 先写测试\"");
  tell(f, RP_KIND_APPROVAL,
       "{\"id\":\"p\",\"status\":\"pending\",\"acp\":{\"toolCall\":{\"title\":\"rm -rf out\",\"kind\":"
       "\"execute\",\"rawInput\":{\"command\":\"rm -rf out\"}}}}");
  assert_int_equal(digest_of(f)->calls.count, 1);
  tell(f, RP_KIND_APPROVAL, "{\"id\":\"p\",\"status\":\"denied\"}");
  const struct rp__digest *d = digest_of(f);
  assert_int_equal(d->declined.count, 3);
  assert_int_equal(d->calls.count + d->files.count + d->commands.count, 0);
  assert_cell(&d->declined, 0, RP_DECLINED_WHAT, "git push");
  assert_cell(&d->declined, 0, RP_DECLINED_COUNT, "2");
  assert_cell(&d->declined, 0, RP_DECLINED_SAID, "nicht auf main");
  assert_cell(&d->declined, 1, RP_DECLINED_SAID, "先写测试");
  assert_cell(&d->declined, 2, RP_DECLINED_WHAT, "rm -rf out");
}

static void what_ran_when_the_run_stopped_is_in_doubt_not_declined(void **state)
{
  static const struct {
    const char *cause;
    bool doubt;
  } causes[] = {{"crash", true}, {"reboot", true}, {"clean", false}, {"upgrade", false}};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(causes); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    char body[64];
    ask(f, "Release it");
    tell(f, RP_KIND_TOOL,
         "{\"call_id\":\"x\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":\"git push\"}}");
    snprintf(body, sizeof body, "{\"cause\":\"%s\"}", causes[i].cause);
    tell(f, RP_KIND_RESTORED, body);
    struct rp__json doing = rp__digest_doing(digest_of(f), rp__json_trusted("\"x\"", 3));
    assert_true(rp__json_eq(doing, "git push"));
    ask(f, "no, wait for me");
    assert_int_equal(digest_of(f)->declined.count, causes[i].doubt ? 0 : 1);
  }
}

/* ---- rules ---- */

static void rules_are_whole_sentences(void **state)
{
  static const struct {
    const char *prompt, *rule; /* NULL: none */
  } prompts[] = {
      {"Fix the login. Always run the linter before you commit. Thanks!", "Always run the linter before you commit."},
      {"Bau den Upload. Nimm nie eine Bibliothek, z.B. axios, dafür. Los!",
       "Nimm nie eine Bibliothek, z.B. axios, dafür."},
      {"Corrige la page.\n- N'utilise pas de framework\n- le titre est coupé", "N'utilise pas de framework"},
      {"Arregla la página. Nunca borres la base de datos.", "Nunca borres la base de datos."},
      {"Corrija a página. De agora em diante responda em português.", "De agora em diante responda em português."},
      {"Sistema la pagina. Non toccare i test!", "Non toccare i test!"},
      {"Исправь страницу. Никогда не трогай миграции.", "Никогда не трогай миграции."},
      {"修复登录页面。提交前必须运行测试。", "提交前必须运行测试。"},
      {"ページを直す。設定ファイルは触らないでください。", "設定ファイルは触らないでください。"},
      {"페이지를 고쳐 줘. 항상 테스트를 먼저 작성해.", "항상 테스트를 먼저 작성해."},
      {"Should I always use tabs?", NULL},
      {"Wird das immer so gemacht?", NULL},
      {"Faut-il toujours un point-virgule ?", NULL},
      {"以后都要用中文吗？", NULL},
      {"See https://example.org/always/do-this", NULL},
      {"[12:00:01] WARN always retrying the connection", NULL},
      {"```\nalways: true\nnever: false\n```\nAdd a button", NULL},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(prompts); i++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    ask(f, prompts[i].prompt);
    const struct rp__digest *d = digest_of(f);
    if (!prompts[i].rule && d->rules.count) fail_msg("'%s' has a rule", prompts[i].prompt);
    if (!prompts[i].rule) continue;
    if (d->rules.count != 1) fail_msg("'%s' has %zu rules", prompts[i].prompt, d->rules.count);
    assert_cell(&d->rules, 0, RP_RULE_TEXT, prompts[i].rule);
    ask(f, prompts[i].prompt); /* said again, it stands there once */
    assert_int_equal(digest_of(f)->rules.count, 1);
  }
}

static void own_cues_come_and_go_with_the_settings(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  tell(f, RP_KIND_SESSION, "{\"settings\":{\"cues\":{\"rules\":[\"altijd\"]},\"other\":1}}");
  tell(f, RP_KIND_SESSION, "{\"settings\":{\"other\":2}}");
  ask(f, "Schrijf altijd eerst een test.");
  assert_int_equal(digest_of(f)->rules.count, 1);
  tell(f, RP_KIND_SESSION, "{\"settings\":{\"cues\":null}}");
  ask(f, "Schrijf altijd daarna de code.");
  assert_int_equal(digest_of(f)->rules.count, 1);
}

static void answers_to_the_agents_questions_are_decisions(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  call(f, "AskUserQuestion", "{\"questions\":[{\"question\":\"Welcher Port?\",\"options\":[]}]}", "done",
       "\"output\":\"8081\"");
  call(f, "ask_user", "{\"question\":\"用哪个端口？\"}", "failed", "\"output\":\"8082\"");
  const struct rp__digest *d = digest_of(f);
  assert_int_equal(d->rules.count, 1);
  assert_cell(&d->rules, 0, RP_RULE_TEXT, "asked «Welcher Port?»: 8081");
}

/* ---- saving ---- */

/* A newer program has other lists: what was found stays, and its next snapshot has its own hash. */
static void a_digest_of_other_cues_is_loaded_and_goes_on(void **state)
{
  (void)state;
  RP_AUTOFOLD struct rp__fold *f = fold_new();
  RP_AUTOBUF struct rp__buf a = RP_BUF(SAVED_MAX), b = RP_BUF(SAVED_MAX), c = RP_BUF(SAVED_MAX);
  ask(f, "Fix the login. Always run the linter.");
  call(f, "Edit", "{\"file_path\":\"a.c\"}", "done", "");
  save(f, &a);
  char *data = strstr(a.p, "\"data\":\"");
  assert_non_null(data);
  assert_memory_equal(data + 8, rp__cues_hash, strlen(rp__cues_hash));
  rp__buf_add(&b, a.p, a.n);
  memset(b.p + (data - a.p) + 8, '0', strlen(rp__cues_hash));
  RP_AUTOFOLD struct rp__fold *old = load(&b);
  save(old, &c);
  assert_string_equal(a.p, c.p);
  answer(f, "The login works.");
  answer(old, "The login works.");
  save(f, &a);
  save(old, &c);
  assert_string_equal(a.p, c.p);
}

/* Whatever comes, the saved form stays within its bound. */
static void hostile_sessions_stay_within_the_bound(void **state)
{
  static const char *const fills[] = {"\\n", "\\\"",    "\\u0001", "\\\\",          "x", "é", "界",
                                      "😀",   "\\ud800", "a/",      "always do it. "};
  (void)state;
  for (size_t k = 0; k < RP_ARRAY_SIZE(fills); k++) {
    RP_AUTOFOLD struct rp__fold *f = fold_new();
    RP_AUTOBUF struct rp__buf big = RP_BUF(SAVED_MAX), body = RP_BUF(SAVED_MAX);
    rp__buf_str(&body, "{\"settings\":{\"cues\":{\"rules\":[\"a*\"");
    while (body.n < RP_CUES_BYTES - 100) rp__buf_printf(&body, ",\"cue %zu\"", body.n);
    rp__buf_str(&body, "]}}}");
    tell(f, RP_KIND_SESSION, body.p);
    for (int i = 0; i < 700; i++) {
      char text[256];
      rp__buf_reset(&big);
      for (int n = i % 50 ? 100 : 60000; n > 0; n--) rp__buf_str(&big, fills[k]);
      rp__buf_reset(&body);
      rp__buf_printf(&body, "{\"role\":\"%s\",\"content\":\"%s%d%s\",\"partial\":%s}", i % 7 ? "assistant" : "user",
                     i % 3 ? "a " : "", i, big.p, i % 5 ? "true" : "false");
      tell(f, RP_KIND_MESSAGE, body.p);
      const char *name = i % 4 == 0 ? "Bash" : i % 4 == 1 ? "TaskCreate" : i % 4 == 2 ? "Edit" : "apply_patch";
      rp__buf_reset(&body);
      rp__buf_printf(
          &body,
          "{\"call_id\":\"%d\",\"name\":\"%s\",\"status\":\"%s\",\"declined\":%s,\"said\":\"no "
          "%s\",\"output\":\"error: "
          "%s\",\"input\":{\"command\":\"run%d %s\",\"subject\":\"%d%s\",\"file_path\":\"%d%s\",\"patch\":\"*** Begin "
          "Patch\\n*** Add File: %d%s\\n\"}}",
          i, name,
          i % 3   ? "failed"
          : i % 2 ? "done"
                  : "running",
          i % 6 == 1 ? "true" : "false", big.p, big.p, i, big.p, i, big.p, i, i % 50 ? fills[k] : big.p, i, fills[k]);
      tell(f, RP_KIND_TOOL, body.p);
      snprintf(text, sizeof text,
               "{\"call_id\":\"e%d\",\"name\":\"Edit\",\"status\":\"done\",\"input\":{\"file_path\":\"%d%s/%s/%s\"}}",
               i, i, fills[k], fills[k], fills[k]);
      tell(f, RP_KIND_TOOL, text);
      if (i % 50 == 0) assert_sound(f);
    }
    const struct rp__digest *d = digest_of(f);
    assert_true(d->files.count > 4 && d->own && d->calls.count && d->declined.count);
    RP_AUTOBUF struct rp__buf doc = RP_BUF(SAVED_MAX);
    show(f, &doc);
    assert_true(rp__utf8_ok(doc.p, doc.n));
  }
}

static void a_damaged_part_is_refused(void **state)
{
  static const char *const parts[] = {"[]",
                                      "5",
                                      "{\"requests\":5}",
                                      "{\"head\":5}",
                                      "{\"turn\":\"x\"}",
                                      "{\"n_calls\":-1}",
                                      "{\"said_seq\":\"x\"}",
                                      "{\"cues\":[]}",
                                      "{\"files\":[{\"count\":1}]}"};
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++) {
    rp_error err;
    if (load_part("digest", parts[i], &err) != RP_E_SNAPSHOT_CORRUPT) fail_msg("%s is loaded", parts[i]);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_request_is_none_that_only_goes_on),
      cmocka_unit_test(a_short_request_is_no_go_on),
      cmocka_unit_test(a_choice_is_told_in_the_options_words),
      cmocka_unit_test(small_talk_is_skipped),
      cmocka_unit_test(the_newest_requests_stay),
      cmocka_unit_test(each_request_tells_how_it_ended),
      cmocka_unit_test(chunks_are_one_answer),
      cmocka_unit_test(files_are_counted_whatever_the_agent),
      cmocka_unit_test(paths_are_told_relative_to_the_project),
      cmocka_unit_test(a_failed_command_stays_until_it_succeeds),
      cmocka_unit_test(commits_have_subject_and_hash),
      cmocka_unit_test(the_next_list_replaces_the_open_todos),
      cmocka_unit_test(todos_made_one_by_one_are_closed_by_their_number),
      cmocka_unit_test(a_declined_tool_has_what_was_said_instead),
      cmocka_unit_test(what_ran_when_the_run_stopped_is_in_doubt_not_declined),
      cmocka_unit_test(rules_are_whole_sentences),
      cmocka_unit_test(own_cues_come_and_go_with_the_settings),
      cmocka_unit_test(answers_to_the_agents_questions_are_decisions),
      cmocka_unit_test(a_digest_of_other_cues_is_loaded_and_goes_on),
      cmocka_unit_test(hostile_sessions_stay_within_the_bound),
      cmocka_unit_test(a_damaged_part_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
