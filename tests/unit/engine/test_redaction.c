/* SPDX-License-Identifier: Apache-2.0 */
/* a credential never appears in any byte that is stored: database, log, index, mirror, audit, export. */
#include "unit/engine/rig.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"

/* Put together here so that this file itself holds none. */
#define SECRET                                                                                                         \
  "ghp_"                                                                                                               \
  "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"

static bool file_holds(const char *path, const char *needle)
{
  struct stat st;
  FILE *f = fopen(path, "rb");
  if (!f || fstat(fileno(f), &st)) return false;
  char *bytes = malloc((size_t)st.st_size + 1);
  assert_non_null(bytes);
  size_t n = fread(bytes, 1, (size_t)st.st_size, f);
  fclose(f);
  bool hit = memmem(bytes, n, needle, strlen(needle)) != NULL;
  free(bytes);
  return hit;
}

/* Every file below the folder, for the needle. */
static void assert_nowhere(const char *dir, const char *needle)
{
  DIR *d = opendir(dir);
  struct dirent *entry;
  assert_non_null(d);
  while ((entry = readdir(d))) {
    char path[SCRATCH_PATH * 2];
    struct stat st;
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
    if (stat(path, &st)) continue;
    if (S_ISDIR(st.st_mode))
      assert_nowhere(path, needle);
    else if (file_holds(path, needle))
      fail_msg("%s holds the secret", path);
  }
  closedir(d);
}

static int take(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return 0;
}

static void assert_export_clean(rp_session *s, const char *needle)
{
  static const char *const formats[] = {"markdown", "nova", "clawd", "orbitmesh"};
  rp_error err = {0};
  struct rp__buf out = RP_BUF(16 << 20);
  OK(rp_export(s, take, &out, NULL, NULL, &err), err);
  assert_null(strstr(out.p, needle));
  for (size_t i = 0; i < RP_ARRAY_SIZE(formats); i++) {
    rp__buf_reset(&out);
    OK(rp_export_as(s, formats[i], take, &out, &err), err);
    assert_null(memmem(out.p, out.n, needle, strlen(needle)));
  }
  rp__buf_done(&out);
}

static void test_everywhere(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_start_options o = {.scope = "coder", .owner = RP_OWNER_SELF, .meta = "{\"note\":\"use " SECRET "\"}"};
  rp_session *s;
  OK(rp_start(r->e, &o, &s, &err), err);
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"my token is " SECRET " ok\"}");
  rig_put(s, "pin", "{\"label\":\"key\",\"content\":\"token: " SECRET "\"}");
  rig_put(s, "task", "{\"task_id\":\"t1\",\"title\":\"rotate " SECRET "\",\"stage\":\"build\"}");
  rig_put(s, "tool",
          "{\"call_id\":\"c\",\"name\":\"sh\",\"status\":\"intended\",\"input\":{\"env\":[\"T=" SECRET "\"]}}");
  rig_put(s, "learning", "{\"memory_id\":\"m\",\"content\":\"the key is " SECRET "\"}");
  rig_put(s, "x-own", "{\"deep\":[{\"a\":\"\\u0067hp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789\"}]}");
  OK(rp_checkpoint(s, NULL, &err), err);
  char *doc = rig_state(s, -1);
  assert_null(strstr(doc, SECRET));
  assert_non_null(strstr(doc, "my token is [REDACTED] ok"));
  free(doc);
  assert_export_clean(s, SECRET);
  OK(rp_end(s, "leaked " SECRET, &err), err);
  rp_session_free(s);
  rp_session_free(rig_start(r, "coder", NULL, RP_OWNER_SELF));
  assert_nowhere(r->scratch.dir, SECRET);
}

/* Split at any point over two chunks, joined again by an export; by one process, and by two. */
static void split(struct rig *r, bool reopen, const char *extra)
{
  static const char text[] = "key " SECRET " end";
  for (size_t at = 1; at < sizeof text - 1; at++) {
    char body[256], id[24];
    rp_error err = {0};
    snprintf(id, sizeof id, "m%zu", at);
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_NONE);
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"message_id\":\"%s\"%s,\"content\":\"%.*s\"}", id, extra,
             (int)at, text);
    rig_put(s, "message", body);
    if (reopen) {
      char ref[RP_ID_MAX + 1];
      snprintf(ref, sizeof ref, "%s", rp_session_id(s));
      rp_session_detach(s);
      rig_reopen(r);
      OK(rp_attach(r->e, ref, &s, &err), err);
    }
    snprintf(body, sizeof body, "{\"role\":\"assistant\",\"message_id\":\"%s\"%s,\"content\":\"%s\"}", id, extra,
             text + at);
    rig_put(s, "message", body);
    assert_export_clean(s, SECRET);
    struct rp__buf out = RP_BUF(1 << 20);
    OK(rp_export_as(s, "markdown", take, &out, &err), err);
    if (at > 4 + 20 && at < 4 + sizeof SECRET - 4) /* the second half alone must be gone as well */
      if (strstr(out.p, text + at)) fail_msg("split at %zu: the rest of the secret is in the transcript", at);
    rp__buf_done(&out);
    OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
  }
  assert_nowhere(r->scratch.dir, SECRET);
}

/* One masked message after the other: what was masked must not hide what the next one begins with. */
static void test_after_masks(void **state)
{
  static const char *const extras[] = {"", ",\"message_id\":\"m\""};
  static const char *const texts[] = {"id AKIA"
                                      "IOSFODNN7EXAMPLE",
                                      SECRET, "password=hunter2hunter2",
                                      "-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA7Nox\\n", "hello there"};
  struct rig *r = *state;
  for (size_t k = 0; k < RP_ARRAY_SIZE(extras); k++) {
    rp_error err = {0};
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    for (size_t first = 0; first < RP_ARRAY_SIZE(texts); first++)
      for (size_t i = 0; i < RP_ARRAY_SIZE(texts); i++) {
        char body[512];
        snprintf(body, sizeof body, "{\"role\":\"user\"%s,\"content\":\"%s\"}", extras[k],
                 texts[(first + i) % RP_ARRAY_SIZE(texts)]);
        rig_put(s, "message", body);
      }
    OK(rp_end(s, NULL, &err), err);
    rp_session_free(s);
    assert_nowhere(r->scratch.dir, "hunter2");
    assert_nowhere(r->scratch.dir, "7Nox");
    assert_nowhere(r->scratch.dir, &SECRET[4]);
  }
}

/* The closing event of a stream, and the transcript that follows another, go on where the one before ended. */
static void test_split_closing(void **state)
{
  static const struct {
    const char *kind, *first, *second;
  } rows[] = {
      {"transcript", "{\"text\":\"%.*s\",\"final\":false}", "{\"text\":\"%s\",\"final\":true}"},
      {"message", "{\"role\":\"user\",\"content\":\"%.*s\",\"partial\":true}",
       "{\"role\":\"user\",\"content\":\"%s\"}"},
  };
  static const char text[] = "here " SECRET " ok";
  struct rig *r = *state;
  for (size_t k = 0; k < RP_ARRAY_SIZE(rows); k++)
    for (size_t at = 1; at < sizeof text - 1; at++) {
      char body[256];
      rp_error err = {0};
      rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
      snprintf(body, sizeof body, rows[k].first, (int)at, text);
      rig_put(s, rows[k].kind, body);
      snprintf(body, sizeof body, rows[k].second, text + at);
#pragma GCC diagnostic pop
      rig_put(s, rows[k].kind, body);
      OK(rp_end(s, NULL, &err), err);
      rp_session_free(s);
      if (at < 5 + 8) assert_nowhere(r->scratch.dir, &SECRET[20]);
    }
  assert_nowhere(r->scratch.dir, SECRET);
}

static void test_split_whole(void **state)
{
  split(*state, false, "");
}

static void test_split_partial(void **state)
{
  split(*state, false, ",\"partial\":true");
}

static void test_split_processes(void **state)
{
  split(*state, true, "");
}

/* A secret that the patterns do not know, found later: no byte of it stays. */
static void test_apply(void **state)
{
  static const char word[] = "correct horse battery staple";
  struct rig *r = *state;
  rp_error err = {0};
  char *told, id[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"the phrase: correct horse battery staple\"}");
  rig_put(s, "pin", "{\"label\":\"phrase\",\"content\":\"correct horse battery staple\"}");
  rig_put(s, "learning", "{\"memory_id\":\"m\",\"content\":\"it is correct horse battery staple\"}");
  rig_put(s, "session", "{\"name\":\"about correct horse battery staple\"}"); /* which is in the session's row, too */
  OK(rp_checkpoint(s, NULL, &err), err);
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rp_redact_session(r->e, id, word, true, NULL, NULL, &told, &err), err);
  assert_string_equal(rig_get(told, "events"), "4");
  rp_free(told);
  OK(rp_redact_session(r->e, id, word, false, NULL, NULL, &told, &err), err);
  assert_string_equal(rig_get(told, "events"), "4");
  rp_free(told);
  assert_nowhere(r->scratch.dir, word);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

/* Off only by an explicit setting. */
static void test_off(void **state)
{
  struct rig *r = *state;
  setenv("REPRISE_REDACT", "false", 1);
  rig_reopen(r);
  unsetenv("REPRISE_REDACT");
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_put(s, "message", "{\"role\":\"user\",\"content\":\"" SECRET "\"}");
  char *doc = rig_state(s, -1);
  assert_non_null(strstr(doc, SECRET));
  free(doc);
  rp_session_free(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_everywhere),    T(test_after_masks),     T(test_split_closing), T(test_split_whole),
      T(test_split_partial), T(test_split_processes), T(test_apply),         T(test_off)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
