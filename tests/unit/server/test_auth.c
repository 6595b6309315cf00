/* SPDX-License-Identifier: Apache-2.0 */
/* The internal secret (C-02), sessions' tokens (C-06), bearer tokens' cache, and who may do what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/file.h"
#include "server/http/auth.h"
#include "base/credentials/secret.h"
#include "server/settings.h"
#include "server/http/token-cache.h"

struct rig {
  char folder[64], db[128], path[128];
  rp_engine *e;
};

static int setup(void **state)
{
  struct rig *x = calloc(1, sizeof *x);
  rp_options o = {.db = "memory:", .short_lived = true}; /* no thread beside those that fork */
  unsetenv("INTERNAL_SECRET");
  memcpy(x->folder, "/tmp/rp-auth-XXXXXX", sizeof "/tmp/rp-auth-XXXXXX");
  if (!mkdtemp(x->folder) || rp_open(&o, &x->e, NULL)) return -1;
  snprintf(x->db, sizeof x->db, "%s/test.db", x->folder);
  snprintf(x->path, sizeof x->path, "%s/internal-secret", x->folder);
  *state = x;
  return 0;
}

static int teardown(void **state)
{
  struct rig *x = *state;
  unsetenv("INTERNAL_SECRET");
  unlink(x->path);
  int left = rmdir(x->folder); /* nothing else was left there */
  rp_close(x->e);
  free(x);
  return left;
}

static bool same(const struct rp__internal_secret *a, const struct rp__internal_secret *b)
{
  return memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

/* ---- the secret ---- */

static void the_secret_is_made_once(void **state)
{
  struct rig *x = *state;
  struct rp__internal_secret a, b;
  struct stat st;
  struct rp__buf text RP_AUTOBUF = RP_BUF(0);
  assert_int_equal(rp__secret_load("", x->db, &a, NULL), 0);
  assert_int_equal(stat(x->path, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
  assert_int_equal(rp__file_read(x->path, 1024, &text, NULL), 0);
  assert_int_equal(text.n, 44); /* 32 bytes in base64url, and a line's end */
  assert_int_equal(rp__secret_load("", x->db, &b, NULL), 0);
  assert_true(same(&a, &b));
  assert_true(rp__secret_is(&a, (struct rp__str){text.p, 43}));
  assert_false(rp__secret_is(&a, (struct rp__str){text.p, 42}));
  assert_false(rp__secret_is(&a, (struct rp__str){"", 0}));
  assert_int_equal(rp__secret_load(x->path, NULL, &b, NULL), 0); /* by its own name */
  assert_true(same(&a, &b));
}

static void the_environment_comes_first(void **state)
{
  struct rig *x = *state;
  struct rp__internal_secret a, b;
  rp_error err = {0};
  setenv("INTERNAL_SECRET", "sixteen-bytes-ok", 1);
  assert_int_equal(rp__secret_load("", x->db, &a, NULL), 0);
  assert_true(rp__secret_is(&a, RP_STR("sixteen-bytes-ok")));
  assert_int_equal(access(x->path, F_OK), -1);
  setenv("INTERNAL_SECRET", "short", 1);
  assert_int_equal(rp__secret_load("", x->db, &b, &err), RP_E_CONFIG);
  assert_null(strstr(err.message, "short"));
  setenv("INTERNAL_SECRET", "", 1); /* as good as none */
  assert_int_equal(rp__secret_load("", NULL, &a, NULL), 0);
  assert_int_equal(rp__secret_load("", NULL, &b, NULL), 0);
  assert_false(same(&a, &b)); /* without a place, nobody keeps it */
}

static void write_secret(const char *path, const char *text, mode_t mode)
{
  unlink(path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
  close(fd);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
  static const mode_t bad[] = {0640, 0604, 0660, 0602, 0777};
  struct rig *x = *state;
  struct rp__internal_secret s;
  rp_error err = {0};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) {
    write_secret(x->path, "a-secret-that-is-long-enough\n", bad[i]);
    err = (rp_error){0};
    assert_int_equal(rp__secret_load("", x->db, &s, &err), RP_E_CONFIG);
    assert_non_null(strstr(err.hint, "chmod 600"));
    assert_null(strstr(err.message, "a-secret"));
  }
  write_secret(x->path, "a-secret-that-is-long-enough\n", 0400);
  assert_int_equal(rp__secret_load("", x->db, &s, &err), 0);
  assert_true(rp__secret_is(&s, RP_STR("a-secret-that-is-long-enough")));
  write_secret(x->path, "  \n", 0600); /* one that was cut off is not silently replaced */
  assert_int_equal(rp__secret_load("", x->db, &s, &err), RP_E_CONFIG);
  int rc = rp__secret_load("/dev/null/there", x->db, &s, &err);
  assert_true(rc < 0 && rc == err.code);
}

static void a_link_is_not_followed(void **state)
{
  struct rig *x = *state;
  struct rp__internal_secret s;
  char target[160];
  snprintf(target, sizeof target, "%s/elsewhere", x->folder);
  write_secret(target, "a-secret-that-is-long-enough\n", 0600);
  assert_int_equal(symlink(target, x->path), 0);
  assert_true(rp__secret_load("", x->db, &s, NULL) != 0);
  unlink(target);
}

static void two_processes_agree(void **state)
{
  struct rig *x = *state;
  struct rp__internal_secret got[4];
  for (int round = 0; round < 20; round++) {
    int fds[2];
    unlink(x->path);
    assert_int_equal(pipe(fds), 0);
    for (size_t i = 0; i < RP_ARRAY_SIZE(got); i++) {
      pid_t pid = fork();
      assert_true(pid >= 0);
      if (pid == 0) {
        struct rp__internal_secret s = {0};
        bool ok = rp__secret_load("", x->db, &s, NULL) == 0 && write(fds[1], &s, sizeof s) == (ssize_t)sizeof s;
        _exit(ok ? 0 : 1);
      }
    }
    for (size_t i = 0; i < RP_ARRAY_SIZE(got); i++) {
      int status;
      assert_true(wait(&status) > 0 && status == 0);
    }
    for (size_t i = 0; i < RP_ARRAY_SIZE(got); i++) {
      assert_int_equal(read(fds[0], &got[i], sizeof got[i]), sizeof got[i]);
      assert_true(same(&got[0], &got[i]));
    }
    close(fds[0]);
    close(fds[1]);
  }
}

/* ---- sessions' tokens ---- */

static struct rp__auth *make(struct rig *x, const struct rp__scope_config *set, const char *db)
{
  struct rp__auth *a = NULL;
  rp_error err = {0};
  if (rp__auth_new(x->e, set, db, &a, &err)) fail_msg("%s", err.message);
  return a;
}

static struct rp__scope_config settings(void)
{
  return (struct rp__scope_config){
      .allowed_hosts = "", .allowed_origins = "", .trusted_proxies = "", .internal_secret_file = ""};
}

static void a_sessions_token_is_stable(void **state)
{
  struct rig *x = *state;
  const struct rp__scope_config set = settings();
  char one[RP_SESSION_TOKEN_TEXT], again[RP_SESSION_TOKEN_TEXT], two[RP_SESSION_TOKEN_TEXT];
  struct rp__auth *a = make(x, &set, x->db);
  rp__auth_session_token(a, "one", 7, one);
  rp__auth_session_token(a, "two", 7, two);
  assert_int_equal(strlen(one), RP_SESSION_TOKEN_TEXT - 1);
  assert_memory_equal(one, "rps_", 4);
  assert_string_not_equal(one, two);
  rp__auth_free(a);
  a = make(x, &set, x->db); /* another run of the server */
  rp__auth_session_token(a, "one", 7, again);
  assert_string_equal(one, again);
  assert_true(rp__auth_is_session_token(a, "one", 7, rp__str(one)));
  assert_true(rp__auth_is_session_token(a, "one", RP_BIRTH_ANY, rp__str(one)));
  assert_false(rp__auth_is_session_token(a, "one", 8, rp__str(one))); /* a later session of that id */
  assert_false(rp__auth_is_session_token(a, "two", 7, rp__str(one)));
  assert_false(rp__auth_is_session_token(a, "two", RP_BIRTH_ANY, rp__str(one)));
  rp__auth_session_token(a, "one", RP_BIRTH_ANY, two);
  assert_false(rp__auth_is_session_token(a, "one", RP_BIRTH_ANY, rp__str(two)));
  assert_false(rp__auth_is_session_token(a, "one", 7, (struct rp__str){one, sizeof one - 2}));
  assert_false(rp__auth_is_session_token(a, "one", 7, (struct rp__str){"", 0}));
  for (size_t i = 0; i < sizeof one - 1; i++) {
    one[i] ^= 1;
    assert_false(rp__auth_is_session_token(a, "one", 7, rp__str(one)));
    one[i] ^= 1;
  }
  rp__auth_free(a);
  a = make(x, &set, NULL); /* another secret */
  assert_false(rp__auth_is_session_token(a, "one", 7, rp__str(one)));
  rp__auth_free(a);
}

static void wrong_lists_stop_the_server(void **state)
{
  struct rig *x = *state;
  char bad[] = "not a/host";
  struct rp__auth *a = NULL;
  rp_error err = {0};
  for (int i = 0; i < 3; i++) {
    static const char *const names[] = {"allowed_hosts", "allowed_origins", "trusted_proxies"};
    struct rp__scope_config set = settings();
    *(i == 0 ? &set.allowed_hosts : i == 1 ? &set.allowed_origins : &set.trusted_proxies) = bad;
    assert_int_equal(rp__auth_new(x->e, &set, NULL, &a, &err), RP_E_CONFIG);
    assert_string_equal(err.field, names[i]);
  }
  assert_null(a);
}

/* ---- rights ---- */

static int may(const struct rp__identity *who, enum rp__right right, const char *id, const char *scope)
{
  rp_error err = {0};
  int rc = rp__auth_allows(who, right, id, scope, 7, &err);
  assert_int_equal(rc, err.code);
  return rc;
}

static void rights(void **state)
{
  const struct rp__identity nobody = {.who = RP_WHO_NOBODY, .name = "10.0.0.1"}, local = {.who = RP_WHO_LOCAL},
                            all = {.who = RP_WHO_TOKEN, .name = "t1"},
                            reader = {.who = RP_WHO_TOKEN, .name = "t2", .read_only = true},
                            scoped = {.who = RP_WHO_TOKEN, .name = "t3", .scope = "nova"};
  enum { OK = 0, NO = RP_E_FORBIDDEN, WHO = RP_E_UNAUTHORIZED };
  const struct {
    const struct rp__identity *who;
    int none, read, write, admin, other_read; /* RP_RIGHT_SCOPE is as write */
  } rows[] = {
      {&nobody, OK, WHO, WHO, WHO, WHO}, {&local, OK, OK, OK, OK, OK},  {&all, OK, OK, OK, OK, OK},
      {&reader, OK, OK, NO, OK, OK},     {&scoped, OK, OK, OK, NO, NO},
  };
  (void)state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    assert_int_equal(may(rows[i].who, RP_RIGHT_NONE, NULL, NULL), rows[i].none);
    assert_int_equal(may(rows[i].who, RP_RIGHT_READ, "s1", "nova"), rows[i].read);
    assert_int_equal(may(rows[i].who, RP_RIGHT_WRITE, "s1", "nova"), rows[i].write);
    assert_int_equal(may(rows[i].who, RP_RIGHT_SCOPE, "s1", "nova"), rows[i].write);
    assert_int_equal(may(rows[i].who, RP_RIGHT_ADMIN, NULL, NULL), rows[i].admin);
    assert_int_equal(may(rows[i].who, RP_RIGHT_READ, "s2", "other"), rows[i].other_read);
    assert_int_equal(may(rows[i].who, RP_RIGHT_READ, NULL, NULL), rows[i].read); /* the handler narrows it */
  }
}

static void a_sessions_token_opens_that_session(void **state)
{
  struct rig *x = *state;
  const struct rp__scope_config set = settings();
  struct rp__auth *a = make(x, &set, NULL);
  struct rp__identity who = {.who = RP_WHO_SESSION, .auth = a};
  rp__auth_session_token(a, "s1", 7, who.shown);
  assert_int_equal(may(&who, RP_RIGHT_READ, "s1", "nova"), 0);
  assert_int_equal(may(&who, RP_RIGHT_WRITE, "s1", "nova"), 0);
  assert_int_equal(may(&who, RP_RIGHT_NONE, NULL, NULL), 0);
  assert_int_equal(rp__auth_allows(&who, RP_RIGHT_READ, "s1", "other", 8, NULL), RP_E_FORBIDDEN); /* made anew */
  assert_int_equal(may(&who, RP_RIGHT_READ, "s2", "nova"), RP_E_FORBIDDEN);
  assert_int_equal(may(&who, RP_RIGHT_WRITE, "s2", "nova"), RP_E_FORBIDDEN);
  assert_int_equal(may(&who, RP_RIGHT_READ, NULL, NULL), RP_E_FORBIDDEN);    /* lists */
  assert_int_equal(may(&who, RP_RIGHT_READ, NULL, "nova"), RP_E_FORBIDDEN);  /* of a scope too */
  assert_int_equal(may(&who, RP_RIGHT_WRITE, NULL, "nova"), RP_E_FORBIDDEN); /* starts */
  assert_int_equal(may(&who, RP_RIGHT_ADMIN, "s1", NULL), RP_E_FORBIDDEN);
  assert_int_equal(may(&who, RP_RIGHT_SCOPE, "s1", "nova"), RP_E_FORBIDDEN); /* copies, deletion */
  who.auth = NULL;
  assert_int_equal(may(&who, RP_RIGHT_READ, "s1", "nova"), RP_E_FORBIDDEN);
  rp__auth_free(a);
}

/* Whether one that is shown on `id` is told so many times that it may not, and then that it tries too often. */
static bool is_limited(const struct rp__identity *who, const char *id)
{
  int rc = RP_E_FORBIDDEN;
  for (int i = 0; i < 1000 && rc == RP_E_FORBIDDEN; i++) rc = rp__auth_admit(who, RP_RIGHT_SCOPE, id, "nova", 7, NULL);
  return rc == RP_E_LIMIT;
}

static void wrong_session_tokens_count(void **state)
{
  struct rig *x = *state;
  const struct rp__scope_config set = settings();
  struct rp__auth *a = make(x, &set, NULL);
  struct rp__identity who = {.who = RP_WHO_SESSION, .auth = a};
  rp__auth_session_token(a, "s1", 7, who.shown);
  assert_false(is_limited(&who, "s2")); /* on this machine */
  snprintf(who.place, sizeof who.place, "192.0.2.1");
  assert_false(is_limited(&who, "s1")); /* it fits, and may not that: nothing is guessed */
  assert_true(is_limited(&who, "s2"));
  assert_true(is_limited(&who, NULL));
  assert_int_equal(rp__auth_admit(&who, RP_RIGHT_WRITE, "s1", "nova", 7, NULL),
                   0); /* a right one comes in all the same */
  rp__auth_free(a);
}

/* ---- bearer tokens ---- */

static void a_token_is_remembered_for_a_moment(void **state)
{
  struct rig *x = *state;
  struct rp__tokens *t;
  struct rp__grant g;
  rp_error err = {0};
  char *text, wrong[64];
  rp_token_options o = {.name = "n", .scope = "nova", .read_only = true};
  assert_int_equal(rp__tokens_new(x->e, &t, NULL), 0);
  assert_int_equal(rp_token_create(x->e, &o, &text, NULL), 0);
  assert_int_equal(rp__tokens_check(t, text, 1000, &g, NULL), 0);
  assert_string_equal(g.scope, "nova");
  assert_true(g.read_only);
  assert_int_equal(strlen(g.id), 8);
  assert_memory_equal(text + 4, g.id, 8);
  assert_int_equal(rp_token_revoke(x->e, g.id, NULL), 0);
  assert_int_equal(rp__tokens_check(t, text, 1000 + RP_TOKENS_FRESH_MS - 1, &g, NULL), 0);
  assert_int_equal(rp__tokens_check(t, text, 1000 + RP_TOKENS_FRESH_MS, &g, &err), RP_E_UNAUTHORIZED);
  assert_null(strstr(err.message, text + 13)); /* nothing of the secret */
  /* A wrong one is not remembered as wrong: there may be a right one with that text a moment later. */
  snprintf(wrong, sizeof wrong, "%s", text);
  assert_int_equal(rp__tokens_check(t, wrong, 5000, &g, &err), RP_E_UNAUTHORIZED);
  assert_int_equal(rp__tokens_check(t, "", 5000, &g, &err), RP_E_UNAUTHORIZED);
  assert_int_equal(rp__tokens_check(t, "rpt_", 5000, &g, &err), RP_E_UNAUTHORIZED);
  rp_free(text);
  rp__tokens_free(t);
}

static void many_tokens_share_the_cache(void **state)
{
  struct rig *x = *state;
  struct rp__tokens *t;
  struct rp__grant g;
  char *text[64];
  assert_int_equal(rp__tokens_new(x->e, &t, NULL), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(text); i++) assert_int_equal(rp_token_create(x->e, NULL, &text[i], NULL), 0);
  for (int64_t round = 0; round < 3; round++)
    for (size_t i = 0; i < RP_ARRAY_SIZE(text); i++) {
      assert_int_equal(rp__tokens_check(t, text[i], round, &g, NULL), 0);
      assert_memory_equal(text[i] + 4, g.id, 8); /* its own, never a neighbour's */
    }
  for (size_t i = 0; i < RP_ARRAY_SIZE(text); i++) rp_free(text[i]);
  rp__tokens_free(t);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_secret_is_made_once, setup, teardown),
      cmocka_unit_test_setup_teardown(the_environment_comes_first, setup, teardown),
      cmocka_unit_test_setup_teardown(a_file_that_others_may_read_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(a_link_is_not_followed, setup, teardown),
      cmocka_unit_test_setup_teardown(two_processes_agree, setup, teardown),
      cmocka_unit_test_setup_teardown(a_sessions_token_is_stable, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_lists_stop_the_server, setup, teardown),
      cmocka_unit_test(rights),
      cmocka_unit_test_setup_teardown(a_sessions_token_opens_that_session, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_session_tokens_count, setup, teardown),
      cmocka_unit_test_setup_teardown(a_token_is_remembered_for_a_moment, setup, teardown),
      cmocka_unit_test_setup_teardown(many_tokens_share_the_cache, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
