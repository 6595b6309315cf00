/* SPDX-License-Identifier: Apache-2.0 */
/* C-02: tokens open what they were made for until they expire or are revoked, and nobody can read them back. */
#include "unit/engine/life.h"

#include "engine/engine.h"

#define TEXT 56 /* characters of a token */

static char *create(struct rig *r, const rp_token_options *o)
{
  rp_error err = {0};
  char *text = NULL;
  OK(rp_token_create(r->e, o, &text, &err), err);
  assert_int_equal(strlen(text), TEXT);
  assert_memory_equal(text, "rpt_", 4);
  assert_int_equal(text[12], '_');
  return text;
}

static const char *id_in(const char *text)
{
  static char id[9];
  snprintf(id, sizeof id, "%.8s", text + 4);
  return id;
}

/* Of a list: "id/name/scope/read_only " each, and the last one's times. */
struct seen {
  char text[2000];
  int64_t created_at, expires_at, last_used_at;
  int n;
};

static int see(void *ctx, const rp_token_info *t)
{
  struct seen *x = ctx;
  size_t at = strlen(x->text);
  snprintf(x->text + at, sizeof x->text - at, "%s/%s/%s/%d ", t->id, t->name ? t->name : "", t->scope ? t->scope : "",
           t->read_only);
  x->created_at = t->created_at;
  x->expires_at = t->expires_at;
  x->last_used_at = t->last_used_at;
  x->n++;
  return 0;
}

static struct seen listed(rp_engine *e)
{
  struct seen x = {0};
  rp_error err = {0};
  OK(rp_token_list(e, see, &x, &err), err);
  return x;
}

static void a_token_opens_what_it_was_made_for(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct seen all = {0}, one = {0};
  char want[100];
  rp_token_options o = {.name = "laptop", .scope = "nova", .read_only = true, .expires_ms = r->wall + DAY};
  char *first = create(r, NULL), *second = create(r, &o);
  OK(rp_token_check(r->e, first, see, &all, &err), err);
  snprintf(want, sizeof want, "%s///0 ", id_in(first));
  assert_string_equal(all.text, want);
  assert_true(all.expires_at == 0 && all.created_at == r->wall);
  OK(rp_token_check(r->e, second, see, &one, &err), err);
  snprintf(want, sizeof want, "%s/laptop/nova/1 ", id_in(second));
  assert_string_equal(one.text, want);
  assert_true(one.expires_at == r->wall + DAY);
  assert_int_equal(listed(r->e).n, 2);
  assert_int_equal(rp_token_check(r->e, first, NULL, NULL, &err), 0);
  free(first);
  free(second);
}

/* Neither in the file, nor in its log, nor in the audit log. */
static void the_secret_is_stored_nowhere(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *text = create(r, &(rp_token_options){.name = "needle"});
  OK(rp_token_check(r->e, text, NULL, NULL, &err), err);
  assert_non_null(held_by(r->scratch.dir, "needle"));
  assert_non_null(held_by(r->scratch.dir, id_in(text)));
  assert_null(held_by(r->scratch.dir, text + 13));
  assert_int_equal(sql_number(r, "SELECT length(hash) FROM rp_tokens"), 32);
  free(text);
}

static void assert_closed(struct rig *r, const char *text, const char *words)
{
  rp_error err = {0};
  struct seen x = {0};
  assert_int_equal(rp_token_check(r->e, text, see, &x, &err), RP_E_UNAUTHORIZED);
  assert_int_equal(x.n, 0);
  if (!strstr(err.message, words)) fail_msg("%s", err.message);
  if (text && strlen(text) > 13) assert_null(strstr(err.message, text + 13));
}

static void what_is_no_token_opens_nothing(void **state)
{
  struct rig *r = *state;
  char *text = create(r, NULL), *other = create(r, NULL), bad[TEXT + 2];
  static const char *const no[] = {NULL, "", "rpt_", "Bearer", "rpt_abcdefgh_short"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(no); i++) assert_closed(r, no[i], "no token of this server");
  for (size_t i = 0; i < TEXT; i++) {
    memcpy(bad, text, TEXT + 1);
    bad[i] = bad[i] == 'b' ? 'c' : 'b';
    assert_closed(r, bad, i < 4 || i == 12 ? "no token of this server" : "not valid");
    bad[i] = i % 2 ? '\n' : '\xff';
    assert_closed(r, bad, "no token of this server");
  }
  snprintf(bad, sizeof bad, "%sA", text);
  assert_closed(r, bad, "no token of this server");
  snprintf(bad, sizeof bad, "%.13s%s", text, other + 13);
  assert_closed(r, bad, "not valid");
  snprintf(bad, sizeof bad, "rps%s", text + 3);
  assert_closed(r, bad, "no token of this server");
  free(text);
  free(other);
}

static void a_token_expires(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *text = create(r, &(rp_token_options){.expires_ms = r->wall + MINUTE});
  r->wall += MINUTE - 1;
  OK(rp_token_check(r->e, text, NULL, NULL, &err), err);
  r->wall += 1;
  assert_closed(r, text, "has expired");
  /* Who has not the secret is not told. */
  text[TEXT - 1] = text[TEXT - 1] == 'A' ? 'E' : 'A';
  assert_closed(r, text, "not valid");
  assert_int_equal(listed(r->e).n, 1);
  free(text);
}

static void a_token_is_revoked(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *by_id = create(r, &(rp_token_options){.name = "twin"}),
       *by_name = create(r, &(rp_token_options){.name = "one"});
  char *by_text = create(r, &(rp_token_options){.name = "twin"});
  char *named = create(r, &(rp_token_options){.name = id_in(by_id)}); /* an id goes before a name */
  rp_engine *other;
  rp_options o = {.db = r->url, .short_lived = true};
  OK(rp_open(&o, &other, &err), err);
  assert_int_equal(rp_token_check(other, by_id, NULL, NULL, &err), 0);
  assert_int_equal(rp_token_revoke(r->e, "twin", &err), RP_E_AMBIGUOUS);
  assert_non_null(strstr(err.message, "2 tokens have the name 'twin'"));
  OK(rp_token_revoke(r->e, id_in(by_id), &err), err);
  OK(rp_token_revoke(r->e, "one", &err), err);
  OK(rp_token_revoke(r->e, by_text, &err), err);
  assert_closed(r, by_id, "revoked");
  assert_closed(r, by_name, "revoked");
  assert_closed(r, by_text, "revoked");
  assert_int_equal(rp_token_check(other, by_id, NULL, NULL, &err), RP_E_UNAUTHORIZED);
  OK(rp_token_check(other, named, NULL, NULL, &err), err);
  assert_int_equal(rp_token_revoke(r->e, "one", &err), RP_E_TOKEN_NOT_FOUND);
  assert_string_equal(err.field, "id");
  assert_int_equal(rp_token_revoke(r->e, by_text, &err), RP_E_TOKEN_NOT_FOUND);
  assert_null(strstr(err.message, by_text + 13));
  by_text[TEXT - 1] = 0; /* a slip of the pen is not told back either */
  static const char *const no[] = {NULL, "", "a b", "../x"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(no); i++) assert_int_equal(rp_token_revoke(r->e, no[i], &err), RP_E_USAGE);
  assert_int_equal(rp_token_revoke(r->e, by_text, &err), RP_E_USAGE);
  assert_null(strstr(err.message, by_text + 13));
  assert_int_equal(listed(r->e).n, 1);
  rp_close(other);
  free(by_id);
  free(by_name);
  free(by_text);
  free(named);
}

static void bad_options_make_nothing(void **state)
{
  struct rig *r = *state;
  const struct {
    const char *field;
    rp_token_options o;
  } rows[] = {
      {"name", {.name = "two words"}},      {"name", {.name = ""}},
      {"scope", {.scope = "a/b"}},          {"scope", {.scope = RP_SCOPE_STORE}},
      {"expires", {.expires_ms = r->wall}}, {"expires", {.expires_ms = -1}},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    rp_error err = {0};
    char *text = (char *)&err;
    assert_int_equal(rp_token_create(r->e, &rows[i].o, &text, &err), RP_E_USAGE);
    assert_string_equal(err.field, rows[i].field);
    assert_ptr_equal(text, &err);
  }
  assert_int_equal(listed(r->e).n, 0);
  assert_int_equal(audited(r, RP_SCOPE_STORE, "token_created").n, 0);
}

/* also while a key seals scopes, for the store's own log belongs to none. */
static void making_and_ending_is_audited(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *heads = NULL, want[200];
  char *text = create(r, &(rp_token_options){.name = "laptop", .scope = "nova"});
  reopen_with(r, "REPRISE_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
  OK(rp_token_revoke(r->e, "laptop", &err), err);
  OK(rp_audit_verify(r->e, RP_SCOPE_STORE, NULL, NULL, &err), err);
  rig_reopen(r);
  OK(rp_audit_verify(r->e, NULL, NULL, &heads, &err), err);
  assert_non_null(strstr(heads, "{\"scope\":\"-\",\"records\":2"));
  struct audit_search made = audited(r, RP_SCOPE_STORE, "token_created");
  struct audit_search ended = audited(r, RP_SCOPE_STORE, "token_revoked");
  assert_true(made.n == 1 && ended.n == 1);
  snprintf(want, sizeof want,
           "{\"id\":\"%s\",\"name\":\"laptop\",\"scope\":\"nova\",\"read_only\":false,\"expires_at\":null}",
           id_in(text));
  assert_string_equal(made.fields, want);
  assert_string_equal(ended.fields, want);
  rp_free(heads);
  free(text);
}

static int64_t used(rp_engine *e)
{
  rp_error err = {0};
  OK(rp_flush(e, &err), err);
  return listed(e).last_used_at;
}

static void check_uses(struct rig *r, rp_engine *e, const char *text)
{
  rp_error err = {0};
  int64_t first = r->wall;
  for (int i = 0; i < 100; i++) OK(rp_token_check(e, text, NULL, NULL, &err), err);
  assert_true(used(e) == first);
  r->wall += MINUTE - 1;
  OK(rp_token_check(e, text, NULL, NULL, &err), err);
  assert_true(used(e) == first);
  r->wall += 1;
  OK(rp_token_check(e, text, NULL, NULL, &err), err);
  assert_true(used(e) == r->wall);
  r->wall -= HOUR; /* the clock was set back */
  OK(rp_token_check(e, text, NULL, NULL, &err), err);
  assert_true(used(e) == r->wall);
  r->wall += DAY;
}

static int64_t wall_of(void *ctx)
{
  return ((struct rig *)ctx)->wall;
}

/* In the call where there are no threads, else behind it. */
static void uses_are_noted_once_a_minute(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_engine *live;
  rp_clock clock = {wall_of, wall_of, r};
  rp_options o = {.db = r->url, .clock = &clock};
  char *text = create(r, NULL);
  assert_true(used(r->e) == 0);
  check_uses(r, r->e, text);
  OK(rp_open(&o, &live, &err), err);
  check_uses(r, live, text);
  rp_close(live);
  free(text);
}

static void looking_writes_nothing(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_engine *reader;
  rp_options o = {.db = r->url, .short_lived = true, .read_only = true};
  char *text = create(r, NULL), *none = NULL;
  OK(rp_open(&o, &reader, &err), err);
  OK(rp_token_check(reader, text, NULL, NULL, &err), err);
  assert_int_equal(rp_token_create(reader, NULL, &none, &err), RP_E_READONLY);
  assert_null(none);
  assert_int_equal(rp_token_revoke(reader, id_in(text), &err), RP_E_READONLY);
  rp_close(reader);
  assert_true(used(r->e) == 0);
  free(text);
}

/* The store's own slots, but no use of a token gets through. */
static const struct rp__store_ops *real;
static atomic_int refused, refusing;

static int refuse_uses(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err)
{
  for (size_t i = 0; i < n; i++) {
    if (!refusing || group[i]->ops[0].type != RP_OP_TOKEN_USED) continue;
    refused++;
    return rp__fail(err, RP_E_FULL, "no space");
  }
  return real->commit(s, group, n, err);
}

/* A store that takes no writes: tokens still open, and once a minute it is tried again. */
static void a_full_store_is_no_wrong_token(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct rp__store_options so = {.path = r->url + strlen("sqlite:")};
  struct rp__store *store;
  struct rp__store_ops ops;
  rp_clock clock = {wall_of, wall_of, r};
  rp_options o = {.clock = &clock};
  rp_engine *e;
  char *text = create(r, NULL);
  assert_int_equal(rp__store_sqlite_open(&so, &store, &err), 0);
  real = store->ops;
  ops = *real;
  ops.commit = refuse_uses;
  store->ops = &ops;
  OK(rp__engine_open_with(&o, store, &e, &err), err);
  refusing = 1;
  for (int i = 0; i < 10; i++) OK(rp_token_check(e, text, NULL, NULL, &err), err);
  rp_flush(e, NULL);
  assert_int_equal(refused, 1);
  assert_true(listed(r->e).last_used_at == 0);
  r->wall += MINUTE;
  OK(rp_token_check(e, text, NULL, NULL, &err), err);
  rp_flush(e, NULL);
  assert_int_equal(refused, 2);
  refusing = 0;
  r->wall += MINUTE;
  OK(rp_token_check(e, text, NULL, NULL, &err), err);
  assert_true(used(e) == r->wall);
  rp_close(e);
  free(text);
}

/* What can't be looked up is not called wrong, and what can't be stored is not given. */
static void a_store_in_trouble_is_told(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct rp__store_options so = {.path = r->url + strlen("sqlite:")};
  struct rp__store *inner, *store;
  struct rp__fault plan = {.code = RP_E_UNREACHABLE};
  rp_options o = {.short_lived = true};
  rp_engine *e;
  char *text = create(r, NULL), *none = NULL;
  assert_int_equal(rp__store_sqlite_open(&so, &inner, &err), 0);
  assert_int_equal(rp__store_fault_wrap(inner, &plan, &store), 0);
  OK(rp__engine_open_with(&o, store, &e, &err), err);
  plan.nth = plan.calls + 1;
  plan.persistent = true;
  assert_int_equal(rp_token_check(e, text, NULL, NULL, &err), RP_E_UNREACHABLE);
  assert_int_equal(rp_token_list(e, see, NULL, &err), RP_E_UNREACHABLE);
  assert_int_equal(rp_token_revoke(e, id_in(text), &err), RP_E_UNREACHABLE);
  assert_int_equal(rp_token_create(e, NULL, &none, &err), RP_E_UNREACHABLE);
  assert_null(none);
  rp_close(e);
  assert_int_equal(listed(r->e).n, 1);
  OK(rp_token_check(r->e, text, NULL, NULL, &err), err);
  free(text);
}

static void the_store_in_memory_has_them_too(void **state)
{
  (void)state;
  rp_error err = {0};
  rp_engine *e;
  char *text = NULL;
  rp_options o = {.db = "memory:", .short_lived = true};
  OK(rp_open(&o, &e, &err), err);
  OK(rp_token_create(e, NULL, &text, &err), err);
  OK(rp_token_check(e, text, NULL, NULL, &err), err);
  OK(rp_token_revoke(e, id_in(text), &err), err);
  assert_int_equal(rp_token_check(e, text, NULL, NULL, &err), RP_E_UNAUTHORIZED);
  rp_free(text);
  rp_close(e);
}

#define TOKEN_TEST(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      TOKEN_TEST(a_token_opens_what_it_was_made_for),
      TOKEN_TEST(the_secret_is_stored_nowhere),
      TOKEN_TEST(what_is_no_token_opens_nothing),
      TOKEN_TEST(a_token_expires),
      TOKEN_TEST(a_token_is_revoked),
      TOKEN_TEST(bad_options_make_nothing),
      TOKEN_TEST(making_and_ending_is_audited),
      TOKEN_TEST(uses_are_noted_once_a_minute),
      TOKEN_TEST(looking_writes_nothing),
      TOKEN_TEST(a_full_store_is_no_wrong_token),
      TOKEN_TEST(a_store_in_trouble_is_told),
      TOKEN_TEST(the_store_in_memory_has_them_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
