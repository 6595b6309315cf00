/* SPDX-License-Identifier: Apache-2.0 */
/*
 * B-13, X-14: each promised shape of a credential, wherever a session may hold one (prompts, inputs and outputs of
 * tools, todos, commits, words of a refusal, chunks), is in nothing that the next session is told, nor in record, state
 * and explanation.
 */
#include "unit/engine/life.h"

#include <unistd.h>

#include "unit/redact/shapes.h"

#define DOC_MAX ((size_t)8 << 20)
#define SURE 6 /* bytes of a secret that stand nowhere by chance */

/* A shape without its brackets, and the bytes that must not be seen: the secrets, the short ones with what is before.
 */
struct shape {
  char text[512];
  struct rp__str secrets[8];
  size_t n;
};

static void shape_read(const char *from, struct shape *s)
{
  char *to = s->text, *open = NULL;
  s->n = 0;
  for (; *from;) {
    if (strncmp(from, OPEN, 2) == 0) {
      open = to;
      from += 2;
    } else if (strncmp(from, CLOSE, 2) == 0) {
      if (to - open < SURE) open = open - s->text > 8 ? open - 8 : s->text;
      assert_true(s->n < RP_ARRAY_SIZE(s->secrets));
      s->secrets[s->n++] = (struct rp__str){open, (size_t)(to - open)};
      from += 2;
    } else {
      assert_true(to < s->text + sizeof s->text - 1);
      *to++ = *from++;
    }
  }
  *to = '\0';
}

/* The secret as JSON has it; with blanks for line ends, as a brief tells it, in a second pass. */
static void assert_hidden(const struct shape *s, const char *where, const char *doc)
{
  for (size_t i = 0; i < s->n; i++) {
    for (int blanks = 0; blanks < 2; blanks++) {
      RP_AUTOBUF struct rp__buf secret = RP_BUF(DOC_MAX), json = RP_BUF(DOC_MAX);
      struct rp__jw w = RP_JW(&json);
      rp__buf_add(&secret, s->secrets[i].p, s->secrets[i].n);
      for (size_t k = 0; blanks && k < secret.n; k++)
        if (secret.p[k] == '\n') secret.p[k] = ' ';
      rp__jw_strn(&w, secret.p, secret.n);
      json.p[--json.n] = '\0';
      const char *hit = strstr(doc, json.p + 1);
      if (!hit) hit = strstr(doc, secret.p);
      if (hit) fail_msg("%s shows '%s' of '%s': %.300s", where, secret.p, s->text, hit - RP_MIN(hit - doc, 200));
    }
  }
}

static void put_text(rp_session *s, const char *kind, const char *pattern, const char *text)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(DOC_MAX), json = RP_BUF(DOC_MAX);
  struct rp__jw w = RP_JW(&json);
  rp__jw_strn(&w, text, strlen(text));
  for (const char *at = pattern; *at; at++) {
    if (*at == '@') /* the text as a string, and within one */
      rp__buf_add(&body, json.p, json.n);
    else if (*at == '%')
      rp__buf_add(&body, json.p + 1, json.n - 2);
    else
      rp__buf_char(&body, *at);
  }
  assert_int_equal(body.err + json.err, 0);
  rig_put(s, kind, body.p);
}

static const struct {
  const char *kind, *body;
} places[] = {
    {"message", "{\"role\":\"user\",\"content\":\"Fix the login with this:\\n%\\nand write a test.\"}"},
    {"message",
     "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Always use\\n%\\nfor it. Never:\\n%\\n\"}]}"},
    {"message", "{\"role\":\"assistant\",\"content\":\"I wrote it down:\\n%\\nShall I go on with\\n%\\n?\"}"},
    {"tool", "{\"call_id\":\"1\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":@}}"},
    {"tool", "{\"call_id\":\"1\",\"name\":\"Bash\",\"status\":\"failed\",\"output\":\"error: it failed\\n%\\n\"}"},
    {"tool",
     "{\"call_id\":\"2\",\"name\":\"Write\",\"status\":\"done\",\"input\":{\"file_path\":\".env\",\"content\":@}}"},
    {"tool", "{\"call_id\":\"3\",\"name\":\"TaskCreate\",\"status\":\"done\",\"input\":{\"subject\":@}}"},
    {"tool", "{\"call_id\":\"4\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":\"git commit -m "
             "'\\n%\\n'\"}}"},
    {"tool", "{\"call_id\":\"4\",\"name\":\"Bash\",\"status\":\"done\",\"output\":\"[main 1a2b3c4] x\\n%\\n\"}"},
    {"tool",
     "{\"call_id\":\"5\",\"name\":\"shell\",\"status\":\"running\",\"input\":{\"command\":[\"bash\",\"-lc\",@]}}"},
    {"tool",
     "{\"call_id\":\"5\",\"name\":\"shell\",\"status\":\"failed\",\"declined\":true,\"said\":\"no, use\\n%\\n\"}"},
    {"tool",
     "{\"call_id\":\"6\",\"name\":\"ask_user\",\"status\":\"running\",\"input\":{\"question\":\"Is it\\n%\\n?\"}}"},
    {"tool", "{\"call_id\":\"6\",\"name\":\"ask_user\",\"status\":\"done\",\"output\":@}"},
    {"tool", "{\"call_id\":\"7\",\"name\":\"Edit\",\"status\":\"done\",\"input\":{\"file_path\":@}}"},
    {"tool",
     "{\"call_id\":\"8\",\"name\":\"Fetch\",\"status\":\"failed\",\"input\":{\"url\":@},\"output\":{\"stderr\":@}}"},
    {"approval",
     "{\"id\":\"p\",\"status\":\"pending\",\"acp\":{\"toolCall\":{\"title\":@,\"kind\":\"execute\",\"rawInput\":"
     "{\"command\":@}}}}"},
    {"todo",
     "{\"items\":[{\"content\":@,\"status\":\"pending\"},{\"content\":\"see\\n%\\n\",\"status\":\"pending\"}]}"},
    {"message", "{\"role\":\"user\",\"content\":@}"},
    {"tool", "{\"call_id\":\"9\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":\"run\\n%\\n\"}}"},
    {"tool", "{\"call_id\":\"10\",\"name\":\"Bash\",\"status\":\"running\",\"input\":{\"command\":@}}"},
};

/* The text as an agent says it, in two pieces that part the secret. */
static void say_in_chunks(rp_session *s, const struct shape *x)
{
  size_t cut = (size_t)(x->secrets[0].p - x->text) + x->secrets[0].n / 2;
  char head[512];
  snprintf(head, sizeof head, "%.*s", (int)cut, x->text);
  put_text(s, "message", "{\"role\":\"assistant\",\"message_id\":\"m\",\"partial\":true,\"content\":@}", head);
  put_text(s, "message", "{\"role\":\"assistant\",\"message_id\":\"m\",\"partial\":true,\"content\":@}", x->text + cut);
  put_text(s, "message", "{\"role\":\"assistant\",\"message_id\":\"m\",\"content\":\"\"}", "");
}

static void assert_files_hide(const struct shape *x, const char *dir)
{
  struct dirent *entry;
  DIR *d = opendir(dir);
  if (!d) return;
  while ((entry = readdir(d))) {
    char path[SCRATCH_PATH * 2];
    size_t n;
    snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
    RP_AUTOFREE char *text = entry->d_name[0] == '.' ? NULL : slurp(path, &n);
    if (!text) continue;
    assert_hidden(x, path, text);
    unlink(path);
  }
  closedir(d);
}

/* What the next session of the scope is told, and what is kept of this one, which has ended or died. */
static void assert_not_told(struct rig *r, rp_session *s, const struct shape *x, size_t i, const char *scope)
{
  rp_error err = {0};
  char path[SCRATCH_PATH], *doc;
  doc = rig_state(s, -1);
  assert_non_null(strstr(doc, "\"digest\""));
  assert_hidden(x, "the state", doc);
  free(doc);
  OK(rp_brief(s, true, &doc, &err), err);
  assert_hidden(x, "the brief of the session", doc);
  rp_free(doc);
  if (i % 2) /* or it dies */
    rig_end(s);
  else
    rp_session_free(s);
  r->wall += 3600 * 1000;
  rp_brief_options o = {.scope = scope, .explain = true};
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  assert_hidden(x, "the explained brief", doc);
  assert_non_null(strstr(doc, "[REDACTED]")); /* it tells of the work */
  rp_free(doc);
  s = rig_start(r, scope, NULL, RP_OWNER_SELF);
  assert_hidden(x, "the start", rp_start_json(s));
  assert_non_null(strstr(rp_start_json(s), "[REDACTED]"));
  doc = rig_state(s, -1);
  assert_hidden(x, "the next state", doc);
  free(doc);
  rig_end(s);
  assert_files_hide(x, scratch_path(&r->scratch, "sessions", path)); /* the records */
}

static void test_no_shape_of_text_is_told(void **state)
{
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(text_shapes); i++) {
    struct shape x;
    char scope[32];
    shape_read(text_shapes[i], &x);
    snprintf(scope, sizeof scope, "s%zu", i);
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    for (size_t k = 0; k < RP_ARRAY_SIZE(places); k++) put_text(s, places[k].kind, places[k].body, x.text);
    say_in_chunks(s, &x);
    assert_not_told(r, s, &x, i, scope);
  }
}

/* Without the marks of Markdown, which a digest takes off, a password shows itself that the journal does not know. */
static void test_marks_hide_nothing(void **state)
{
  static const char *const texts[] = {"The page works. **DB_PASSWORD**: hunter2Secret98",
                                      "It is set: **Password:** hunter2Secret98",
                                      "Set `password`: `hunter2Secret98` and start it again."};
  struct rig *r = *state;
  rp_error err = {0};
  for (size_t i = 0; i < 2 * RP_ARRAY_SIZE(texts); i++) {
    char scope[32], body[256], *doc;
    struct shape x = {.n = 1, .secrets = {{"hunter2Secret98", 15}}};
    snprintf(scope, sizeof scope, "m%zu", i);
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    rig_say(s, "Make the page work again");
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"content\":\"%s\"}", texts[i / 2]);
    rig_put(s, "message", body);
    OK(rp_digest_json(r->e, rp_session_id(s), &doc, &err), err);
    assert_hidden(&x, "the digest", doc);
    rp_free(doc);
    if (i % 2) /* or it dies */
      rig_end(s);
    else
      rp_session_free(s);
    r->wall += 3600 * 1000;
    s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    assert_hidden(&x, "the start", rp_start_json(s));
    rig_end(s);
  }
}

static void test_no_shape_of_json_is_told(void **state)
{
  struct rig *r = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(json_shapes); i++) {
    struct shape x;
    char scope[32], body[3 * sizeof x.text];
    shape_read(json_shapes[i], &x);
    snprintf(scope, sizeof scope, "j%zu", i);
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    rig_say(
        s, "Deploy with password=rosebudswordfish and tell me."); /* so that there is something to mask in each brief */
    for (unsigned k = 0; k < 2; k++) {
      snprintf(body, sizeof body,
               "{\"call_id\":\"%u\",\"name\":\"Bash\",\"status\":\"%s\",\"input\":%s%s%s,\"output\":%s}", k,
               k ? "failed" : "running", x.text[0] == '[' ? "{\"command\":" : "", x.text, x.text[0] == '[' ? "}" : "",
               x.text);
      rig_put(s, "tool", body);
    }
    assert_not_told(r, s, &x, i, scope);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_no_shape_of_text_is_told, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(test_marks_hide_nothing, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(test_no_shape_of_json_is_told, rig_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
