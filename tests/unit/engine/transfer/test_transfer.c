/* SPDX-License-Identifier: Apache-2.0 */
/* Export and import: lossless, streaming, all or nothing. */
#include "unit/engine/rig.h"

#include <sys/wait.h>
#include <unistd.h>

#include "engine/engine.h"

static int to_buf(void *ctx, const void *bytes, size_t n)
{
  rp__buf_add(ctx, bytes, n);
  return ((struct rp__buf *)ctx)->err;
}

struct reader {
  const char *p;
  size_t n, step;
};

static long from_buf(void *ctx, void *bytes, size_t n)
{
  struct reader *r = ctx;
  n = RP_MIN(RP_MIN(n, r->n), r->step);
  memcpy(bytes, r->p, n);
  r->p += n;
  r->n -= n;
  return (long)n;
}

static long from_buf_then_die(void *ctx, void *bytes, size_t n)
{
  if (((struct reader *)ctx)->n == 0) _exit(7);
  return from_buf(ctx, bytes, n);
}

static void fill(struct rig *r, struct rp__buf *out, char *ret_id)
{
  rp_error err = {0};
  char text[64];
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  for (int i = 0; i < 300; i++) {
    snprintf(text, sizeof text, "message \"%d\" \xe2\x82\xac", i);
    rig_say(s, text);
  }
  rp_session_free(s);
  s = rig_start(r, "a", "k", RP_OWNER_SELF);
  rig_say(s, "after a crash");
  OK(rp_end(s, "bye", &err), err);
  OK(rp_export(s, to_buf, out, NULL, NULL, &err), err);
  snprintf(ret_id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_free(s);
}

static rp_engine *elsewhere(void)
{
  rp_engine *e;
  rp_error err = {0};
  rp_options o = {.db = "memory:"};
  OK(rp_open(&o, &e, &err), err);
  return e;
}

static void test_round_trip(void **state)
{
  rp_error err = {0};
  struct rp__buf a = RP_BUF(1 << 24), b = RP_BUF(1 << 24);
  char id[RP_ID_MAX + 1], got[RP_ID_MAX + 1];
  fill(*state, &a, id);
  rp_engine *e = elsewhere();
  rp_session *s;
  struct reader r = {a.p, a.n, 7};
  OK(rp_import(e, from_buf, &r, NULL, NULL, got, &err), err);
  assert_string_equal(id, got);
  OK(rp_attach(e, id, &s, &err), err);
  OK(rp_export(s, to_buf, &b, NULL, NULL, &err), err);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.p, b.p, a.n);
  rp_session_free(s);
  r = (struct reader){a.p, a.n, 4096};
  assert_int_equal(rp_import(e, from_buf, &r, NULL, NULL, got, &err), RP_E_EXISTS);
  rp_close(e);
  rp__buf_done(&a);
  rp__buf_done(&b);
}

static int count(void *ctx, const rp_session_info *i)
{
  (void)i;
  ++*(int *)ctx;
  return 0;
}

/* Cut anywhere or changed anywhere: refused, and nothing is there afterwards. */
static void test_damage(void **state)
{
  rp_error err = {0};
  struct rp__buf a = RP_BUF(1 << 24);
  char id[RP_ID_MAX + 1], got[RP_ID_MAX + 1];
  fill(*state, &a, id);
  rp_engine *e = elsewhere();
  for (size_t cut = 0; cut < a.n; cut += 997) {
    struct reader r = {a.p, cut, 4096};
    int rc = rp_import(e, from_buf, &r, NULL, NULL, got, &err);
    assert_true(rc == RP_E_FORMAT || rc == RP_E_FORMAT_CORRUPT);
  }
  for (size_t at = 100; at < a.n; at += 991) {
    char was = a.p[at];
    a.p[at] = was == 'z' ? 'y' : 'z';
    struct reader r = {a.p, a.n, 4096};
    int rc = rp_import(e, from_buf, &r, NULL, NULL, got, &err);
    if (rc != RP_E_FORMAT && rc != RP_E_FORMAT_CORRUPT) fail_msg("byte %zu: %d %s", at, rc, err.message);
    a.p[at] = was;
  }
  int n = 0;
  OK(rp_list(e, NULL, count, &n, &err), err);
  assert_int_equal(n, 0);
  struct reader r = {a.p, a.n, 4096};
  OK(rp_import(e, from_buf, &r, NULL, NULL, got, &err), err); /* the id is free */
  rp_close(e);
  rp__buf_done(&a);
}

/* An import that died: its id is free for the next one, and verify finds and removes what it left. */
static int first_finding(void *ctx, const rp_finding *f)
{
  snprintf(ctx, 200, "%s", f->what);
  return 0;
}

static void test_import_cut_off(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct rp__buf a = RP_BUF(1 << 24);
  char id[RP_ID_MAX + 1], got[RP_ID_MAX + 1], what[200] = "", path[SCRATCH_PATH], url[SCRATCH_PATH + 16];
  fill(r, &a, id);
  snprintf(url, sizeof url, "sqlite:%s", scratch_path(&r->scratch, "other.db", path));
  for (int i = 0; i < 2; i++) {
    pid_t pid = fork();
    if (pid == 0) { /* reads all but the end and is gone */
      rp_engine *e;
      rp_options o = {.db = url};
      struct reader in = {a.p, a.n - 100, 4096};
      if (rp_open(&o, &e, NULL)) _exit(9);
      RP_IGNORE(rp_import(e, from_buf_then_die, &in, NULL, NULL, got, NULL)); /* it dies in it */
      _exit(8);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 7);
  }
  rp_engine *e;
  rp_options o = {.db = url, .short_lived = true};
  OK(rp_open(&o, &e, &err), err);
  OK(rp_verify(e, NULL, false, first_finding, what, NULL, NULL, &err), err); /* litter, no damage */
  assert_non_null(strstr(what, "cut off"));
  struct reader in = {a.p, a.n, 4096};
  OK(rp_import(e, from_buf, &in, NULL, NULL, got, &err), err);
  OK(rp_verify(e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
  rp_close(e);
  rp__buf_done(&a);
}

/* Touches a session by its id in every way there is, while it is being imported by `other`. */
struct intruder {
  struct reader in;
  rp_engine *other;
  const char *id;
  size_t at; /* tries once so little is left */
  int tried;
};

static void intrude(struct intruder *x)
{
  rp_session *s = NULL;
  rp_error err = {0};
  char got[RP_ID_MAX + 1];
  rp_start_options o = {.scope = "a", .id = x->id, .owner = RP_OWNER_NONE};
  rp_engine *e = x->other;
  x->tried++;
  assert_int_equal(rp_attach(e, x->id, &s, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_start(e, &o, &s, &err), RP_E_EXISTS);
  assert_non_null(strstr(err.message, "being imported"));
  o.mode = RP_MODE_RESUME;
  assert_int_equal(rp_start(e, &o, &s, &err), RP_E_EXISTS);
  assert_int_equal(rp_resolve(e, x->id, got, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_resolve_in(e, "a", x->id, got, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_trash(e, x->id, NULL, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_purge(e, x->id, true, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_hold(e, x->id, true, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_show(e, x->id, count, &x->tried, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_verify(e, x->id, true, NULL, NULL, NULL, NULL, &err), RP_E_SESSION_NOT_FOUND);
  OK(rp_verify(e, NULL, true, NULL, NULL, NULL, NULL, &err), err); /* nor is it taken for one that was cut off */
}

static long from_buf_with_intruder(void *ctx, void *bytes, size_t n)
{
  struct intruder *x = ctx;
  if (x->in.n <= x->at && !x->tried) intrude(x);
  return from_buf(&x->in, bytes, n);
}

/* Nobody but the importer finds the session, however the id is said, and what is stored in the end is what was
 * exported. */
static void test_import_is_untouchable(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct rp__buf a = RP_BUF(1 << 24), b = RP_BUF(1 << 24);
  char id[RP_ID_MAX + 1], got[RP_ID_MAX + 1], path[SCRATCH_PATH], url[SCRATCH_PATH + 16];
  fill(r, &a, id);
  snprintf(url, sizeof url, "sqlite:%s", scratch_path(&r->scratch, "other.db", path));
  rp_options o = {.db = url, .short_lived = true};
  rp_engine *importer, *other;
  OK(rp_open(&o, &importer, &err), err);
  OK(rp_open(&o, &other, &err), err);
  struct intruder x = {.in = {a.p, a.n, 4096}, .other = other, .id = id, .at = a.n / 4};
  OK(rp_import(importer, from_buf_with_intruder, &x, NULL, NULL, got, &err), err);
  assert_true(x.tried);
  rp_session *s;
  OK(rp_attach(other, id, &s, &err), err);
  OK(rp_export(s, to_buf, &b, NULL, NULL, &err), err);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.p, b.p, a.n);
  rp_session_free(s);
  rp_close(other);
  rp_close(importer);
  rp__buf_done(&a);
  rp__buf_done(&b);
}

static int count_finding(void *ctx, const rp_finding *f)
{
  (void)f;
  ++*(int *)ctx;
  return 0;
}

static int count_memory(void *ctx, const rp_memory_info *m)
{
  (void)m;
  ++*(int *)ctx;
  return 0;
}

/* Exports a session that has learned something, so that the scope learns it with an import. */
static void fill_learned(struct rig *r, struct rp__buf *out, char *ret_id)
{
  rp_error err = {0};
  rp_session *s = rig_start(r, "a", "k", RP_OWNER_SELF);
  static const rp_event ev[] = {
      {.kind = "learning", .body = "{\"memory_id\":\"m1\",\"content\":\"otters hold hands\",\"confidence\":0.4}"},
      {.kind = "confidence", .body = "{\"memory_id\":\"m1\",\"old_score\":0.4,\"new_score\":0.9,\"reason\":\"seen\"}"},
      {.kind = "learning", .body = "{\"memory_id\":\"m2\",\"content\":\"in their sleep\",\"categories\":[\"zoo\"]}"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(ev); i++) OK(rp_append(s, &ev[i], NULL, NULL, &err), err);
  OK(rp_end(s, "bye", &err), err);
  OK(rp_export(s, to_buf, out, NULL, NULL, &err), err);
  snprintf(ret_id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_free(s);
}

static int note_memory(void *ctx, const rp_memory_info *m)
{
  rp__buf_printf(ctx, "%s %.1f %s\n", m->id, m->confidence, m->content);
  return 0;
}

/* An engine on a file whose store fails from the nth call on, as for a process that dies there. */
static rp_engine *failing(const char *path, struct rp__fault *plan)
{
  rp_error err = {0};
  rp_engine *e;
  rp_options o = {.short_lived = true};
  struct rp__store *inner, *store;
  struct rp__store_options so = {.path = path, .short_lived = true};
  OK(rp__store_sqlite_open(&so, &inner, &err), err);
  OK(rp__store_fault_wrap(inner, plan, &store), err);
  OK(rp__engine_open_with(&o, store, &e, &err), err);
  return e;
}

/* At whichever call the import is gone: the scope has learned all of it with the session, or nothing. */
static void test_import_gone_anywhere(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  struct rp__buf a RP_AUTOBUF = RP_BUF(1 << 24), text RP_AUTOBUF = RP_BUF(4096);
  char id[RP_ID_MAX + 1], got[RP_ID_MAX + 1], path[SCRATCH_PATH], url[SCRATCH_PATH + 16];
  int sessions = 0, cut_off = 0;
  rp_session *s;
  fill_learned(r, &a, id);
  snprintf(url, sizeof url, "sqlite:%s", scratch_path(&r->scratch, "other.db", path));
  rp_options o = {.db = url, .short_lived = true};
  for (int64_t nth = 1; !sessions; nth++) {
    struct rp__fault plan = {.nth = 0, .code = RP_E_IO, .persistent = true};
    rp_engine *e = failing(path, &plan);
    struct reader in = {a.p, a.n, 4096};
    plan.calls = 0;
    plan.nth = nth;
    int rc = rp_import(e, from_buf, &in, NULL, NULL, got, &err);
    plan.nth = 0;
    rp_close(e);
    int memories = 0, notes = 0;
    OK(rp_open(&o, &e, &err), err);
    OK(rp_list(e, NULL, count, &sessions, &err), err);
    OK(rp_memories(e, "a", NULL, 0, count_memory, &memories, &err), err);
    assert_int_equal(sessions, rc == 0);
    assert_int_equal(memories, rc == 0 ? 2 : 0);
    OK(rp_verify(e, NULL, false, count_finding, &notes, NULL, NULL, &err), err);
    cut_off += notes;
    if (notes == 1 && cut_off == 1) { /* the id is free for a session of its own, though a dead import has it */
      rp_start_options start = {.scope = "a", .id = id, .owner = RP_OWNER_NONE};
      OK(rp_start(e, &start, &s, &err), err);
      assert_int_equal(rp_session_epoch(s), 1);
      OK(rp_end(s, NULL, &err), err);
      rp_session_free(s);
      OK(rp_purge(e, id, true, &err), err);
    }
    if (rc == 0) OK(rp_memories(e, "a", NULL, 0, note_memory, &text, &err), err);
    rp_close(e);
  }
  assert_true(cut_off > 3);
  assert_string_equal(text.p, "m2 1.0 in their sleep\nm1 0.9 otters hold hands\n");
}

/* O-02 */
static void test_newer_version(void **state)
{
  (void)state;
  rp_error err = {0};
  char got[RP_ID_MAX + 1];
  static const char text[] = "{\"reprise\":3,\"session\":{}}\n";
  rp_engine *e = elsewhere();
  struct reader r = {text, sizeof text - 1, 100};
  assert_int_equal(rp_import(e, from_buf, &r, NULL, NULL, got, &err), RP_E_FORMAT_VERSION);
  assert_int_equal(rp_error_lookup(RP_E_FORMAT_VERSION)->exit_code, 6);
  rp_close(e);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
int main(void)
{
  const struct CMUnitTest tests[] = {T(test_round_trip),           T(test_damage),
                                     T(test_import_cut_off),       T(test_import_is_untouchable),
                                     T(test_import_gone_anywhere), T(test_newer_version)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
