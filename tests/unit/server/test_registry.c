/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: one handle per session however it is named, kept while used, gone when the session is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>

#include "base/macros.h"
#include "server/registry.h"

struct rig {
  rp_engine *e;
  struct rp__registry *r;
};

static void start(rp_engine *e, const char *id, const char *key)
{
  rp_session *s;
  rp_start_options o = {.scope = "test", .id = id, .key = key, .channel = "channel", .owner = RP_OWNER_NONE};
  assert_int_equal(rp_start(e, &o, &s, NULL), 0);
  rp_session_detach(s);
}

static int setup(void **state)
{
  struct rig *x = calloc(1, sizeof *x);
  rp_options o = {.db = "memory:"};
  if (!x || rp_open(&o, &x->e, NULL) || rp__registry_new(x->e, &x->r, NULL)) return -1;
  start(x->e, "one", "first");
  start(x->e, "two", NULL);
  *state = x;
  return 0;
}

static int teardown(void **state)
{
  struct rig *x = *state;
  rp__registry_free(x->r);
  rp_close(x->e);
  free(x);
  return 0;
}

static void names_lead_to_one_handle(void **state)
{
  struct rig *x = *state;
  struct rp__entry *by_id, *by_key, *other;
  rp_error err = {0};
  assert_int_equal(rp__registry_get(x->r, "one", &by_id, NULL), 0);
  assert_int_equal(rp__registry_get(x->r, "first", &by_key, NULL), 0);
  assert_int_equal(rp__registry_get(x->r, "tw", &other, NULL), 0);
  assert_ptr_equal(by_id, by_key);
  assert_ptr_not_equal(by_id, other);
  assert_string_equal(other->id, "two");
  assert_string_equal(by_id->scope, "test");
  assert_string_equal(by_id->channel, "channel");
  assert_int_equal(rp__registry_count(x->r), 2);
  assert_int_equal(rp__registry_get(x->r, "three", &other, &err), RP_E_SESSION_NOT_FOUND);
  rp__registry_put(x->r, by_id);
  rp__registry_put(x->r, by_key);
  rp__registry_put(x->r, other);
  assert_int_equal(rp__registry_count(x->r), 2); /* kept for the next one */
}

static void assert_means(struct rig *x, const char *scope, const char *ref, const char *want)
{
  struct rp__entry *e;
  assert_int_equal(rp__registry_get_in(x->r, scope, ref, &e, NULL), 0);
  assert_string_equal(e->id, want);
  rp__registry_put(x->r, e);
}

static void names_depend_on_the_scope(void **state)
{
  struct rig *x = *state;
  struct rp__entry *e;
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "other", .id = "three", .key = "first", .channel = "channel", .owner = RP_OWNER_NONE};
  assert_int_equal(rp_start(x->e, &o, &s, NULL), 0);
  assert_means(x, "test", "first", "one");
  assert_means(x, "other", "first", "three");
  assert_means(x, "other", "last", "three");
  assert_means(x, "test", "last", "two");
  assert_means(x, "other", "one", "one"); /* whether the asker may is another question */
  assert_means(x, NULL, "one", "one");
  assert_int_equal(rp__registry_get_in(x->r, "other", "tw", &e, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp__registry_get_in(x->r, NULL, "first", &e, &err), RP_E_AMBIGUOUS);
  assert_non_null(strstr(err.hint, "?scope=test"));
  assert_non_null(strstr(err.hint, "?scope=other"));
  assert_int_equal(rp_end(s, NULL, NULL), 0);
  rp_session_free(s);
  assert_means(x, NULL, "first", "one"); /* the other is not open any more */
}

static void trimming_spares_what_is_used(void **state)
{
  struct rig *x = *state;
  struct rp__entry *one, *two;
  assert_int_equal(rp__registry_get(x->r, "one", &one, NULL), 0);
  assert_int_equal(rp__registry_get(x->r, "two", &two, NULL), 0);
  rp__registry_put(x->r, two);
  rp__registry_trim(x->r, 0, SIZE_MAX);
  assert_int_equal(rp__registry_count(x->r), 1);
  rp__registry_put(x->r, one);
  rp__registry_trim(x->r, 0, SIZE_MAX);
  assert_int_equal(rp__registry_count(x->r), 0);
}

static void what_is_forgotten_lives_until_it_is_put_back(void **state)
{
  struct rig *x = *state;
  struct rp__entry *old, *new;
  rp_error err = {0};
  assert_int_equal(rp__registry_get(x->r, "one", &old, NULL), 0);
  assert_int_equal(rp_end(old->s, NULL, &err), 0);
  assert_int_equal(rp_trash(x->e, "one", NULL, &err), 0);
  rp__registry_forget(x->r, "one");
  assert_string_equal(rp_session_id(old->s), "one");
  assert_int_equal(rp__registry_get(x->r, "one", &new, &err), RP_E_SESSION_NOT_FOUND);
  rp__registry_put(x->r, old);
  assert_int_equal(rp_untrash(x->e, "one", &err), 0);
  assert_int_equal(rp__registry_get(x->r, "one", &new, &err), 0);
  rp__registry_put(x->r, new);
}

/* Deleted and made again by another process, which tells this registry nothing. */
static void the_handle_follows_the_name_to_a_new_session(void **state)
{
  struct rig *x = *state;
  struct rp__entry *old, *new = NULL;
  rp_event ev = {.kind = "x-a", .body = "{}"};
  assert_int_equal(rp__registry_get(x->r, "one", &old, NULL), 0);
  int64_t before = rp_session_number(old->s);
  assert_int_equal(rp_end(old->s, NULL, NULL), 0);
  assert_int_equal(rp_purge(x->e, "one", true, NULL), 0);
  start(x->e, "one", "first");
  assert_int_equal(rp_append(old->s, &ev, NULL, NULL, NULL), RP_E_SESSION_NOT_FOUND);
  for (int i = 0; i < 300; i++) { /* until the entry counts as looked at long ago */
    assert_int_equal(rp__registry_get(x->r, "one", &new, NULL), 0);
    if (new != old) break;
    rp__registry_put(x->r, new);
    usleep(RP_REGISTRY_FRESH_MS * 1000 / 100);
  }
  assert_ptr_not_equal(old, new);
  assert_int_not_equal(rp_session_number(new->s), before);
  assert_int_equal(rp_append(new->s, &ev, NULL, NULL, NULL), 0);
  rp__registry_put(x->r, new);
  rp__registry_put(x->r, old);
}

static void *use(void *arg)
{
  struct rig *x = arg;
  for (int i = 0; i < 500; i++) {
    struct rp__entry *e;
    if (rp__registry_get(x->r, i % 2 ? "one" : "two", &e, NULL)) return arg;
    if (i % 7 == 0) rp__registry_forget(x->r, "one");
    if (i % 11 == 0) rp__registry_trim(x->r, 0, SIZE_MAX);
    rp__registry_put(x->r, e);
  }
  return NULL;
}

static void many_threads_share_it(void **state)
{
  struct rig *x = *state;
  pthread_t t[4];
  void *failed;
  for (size_t i = 0; i < RP_ARRAY_SIZE(t); i++) assert_int_equal(pthread_create(&t[i], NULL, use, x), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(t); i++) {
    pthread_join(t[i], &failed);
    assert_null(failed);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(names_lead_to_one_handle, setup, teardown),
      cmocka_unit_test_setup_teardown(names_depend_on_the_scope, setup, teardown),
      cmocka_unit_test_setup_teardown(trimming_spares_what_is_used, setup, teardown),
      cmocka_unit_test_setup_teardown(the_handle_follows_the_name_to_a_new_session, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_forgotten_lives_until_it_is_put_back, setup, teardown),
      cmocka_unit_test_setup_teardown(many_threads_share_it, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
