/* SPDX-License-Identifier: Apache-2.0 */
/* Who is there: rows in, what is due out; heartbeats for those who are; and rows that survive being written down. */
#include <pthread.h>

#include <reprise/host.h>

#include "base/macros.h"
#include "unit/engine/rig.h"

enum { BEAT_MS = 1000, GRACE_MS = 5000 };

static rp_presence_row row(rp_presence_kind kind, const char *session, const char *name)
{
  rp_presence_row r = {.kind = kind, .end = RP_PRESENCE_CLOSE, .grace_ms = -1};
  snprintf(r.session, sizeof r.session, "%s", session);
  snprintf(r.scope, sizeof r.scope, "s");
  snprintf(r.name, sizeof r.name, "%s", name);
  return r;
}

static rp_presence *join(struct rig *r, const char *session, const char *name, bool writer)
{
  rp_presence_row x = row(RP_PRESENCE_CHANNEL, session, name);
  rp_presence *p = NULL;
  rp_error err = {0};
  OK(rp_presence_join(r->e, &x, NULL, writer, 1, &p, NULL, &err), err);
  return p;
}

/* The session of the entry that is taken, settled so; "" for none. */
static const char *take(struct rig *r, int64_t due_by, int64_t deadline)
{
  static rp_presence_row got;
  rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .due_by = due_by};
  rp_presence *p = rp_presence_take(r->e, &q, &got, NULL);
  if (!p) return "";
  rp_presence_settle(r->e, p, deadline);
  return got.session;
}

static void the_grace_begins_when_the_last_one_leaves(void **state)
{
  struct rig *r = *state;
  rp_presence *one = join(r, "a", "", true), *two = join(r, "a", "", false);
  assert_ptr_equal(one, two);
  assert_int_equal(rp_presence_present(r->e, RP_PRESENCE_CHANNEL, "a"), 2);
  rp_presence_leave(r->e, one, true, GRACE_MS, 100);
  assert_int_equal(rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 1 << 30).ending, 0);
  rp_presence_leave(r->e, two, false, GRACE_MS, 200);
  rp_presence_counts n = rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 200 + GRACE_MS - 1);
  assert_true(n.entries == 1 && n.ending == 1 && !n.due);
  assert_string_equal(take(r, 200 + GRACE_MS - 1, -1), "");
  assert_true(rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 200 + GRACE_MS).due);
  assert_string_equal(take(r, 200 + GRACE_MS, -1), "a");
  assert_int_equal(rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 0).entries, 0);
}

static void a_join_in_time_ends_the_deadline(void **state)
{
  struct rig *r = *state;
  rp_presence_leave(r->e, join(r, "a", "", true), true, GRACE_MS, 100);
  rp_presence *back = join(r, "a", "", true);
  assert_string_equal(take(r, INT64_MAX, -1), "");
  rp_presence_leave(r->e, back, true, -1, 200); /* a lost connection has no grace here */
  assert_int_equal(rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 0).entries, 0);
}

/* The longest grace that was asked for counts; what is due first comes first, whoever left first. */
static void entries_are_due_in_order(void **state)
{
  struct rig *r = *state;
  rp_presence *late = join(r, "late", "", true), *soon = join(r, "soon", "", true), *mid = join(r, "mid", "", true);
  rp_presence_keep(r->e, late, 9000);
  rp_presence_keep(r->e, late, 10);
  rp_presence_leave(r->e, late, true, 0, 100);
  rp_presence_leave(r->e, mid, true, 50, 100);
  rp_presence_leave(r->e, soon, true, 0, 100);
  assert_string_equal(take(r, INT64_MAX, 7000), "soon"); /* could not be ended: tried again at 7000 */
  assert_string_equal(take(r, 150, -1), "mid");
  assert_string_equal(take(r, 6999, -1), "");
  assert_string_equal(take(r, INT64_MAX, -1), "soon");
  assert_string_equal(take(r, INT64_MAX, -1), "late");
}

static void what_was_ended_is_not_found_by_its_name(void **state)
{
  struct rig *r = *state;
  rp_presence *p = join(r, "a", "", true);
  join(r, "a", "key", true); /* names what had no name */
  rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .scope = "s", .name = "key"};
  rp_presence_row got;
  assert_true(rp_presence_find(r->e, &q, &got, NULL));
  assert_string_equal(got.session, "a");
  q.scope = "t";
  assert_false(rp_presence_find(r->e, &q, NULL, NULL));
  q.scope = "s";
  rp_presence_set_ended(r->e, p, true);
  assert_false(rp_presence_find(r->e, &q, NULL, NULL));
  rp_presence_set_ended(r->e, p, false);
  assert_true(rp_presence_find(r->e, &q, NULL, NULL));
  rp_presence_set_ended(r->e, p, true);
  rp_presence_leave(r->e, p, true, GRACE_MS, 1);
  rp_presence_leave(r->e, p, true, GRACE_MS, 1);
  assert_int_equal(rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 0).entries, 0);
}

static int on_row(void *ctx, const rp_presence_row *x)
{
  char *all = ctx;
  size_t n = strlen(all);
  snprintf(all + n, 64 - n, "%s ", x->session);
  return 0;
}

static bool touch(struct rig *r, const char *session, const char *name, int64_t now)
{
  const rp_presence_query q = {.kind = RP_PRESENCE_MCP, .session = session};
  return rp_presence_touch(r->e, &q, name, now);
}

static void a_touch_moves_the_deadline_and_the_order(void **state)
{
  struct rig *r = *state;
  rp_presence_row one = row(RP_PRESENCE_MCP, "one", "x"), two = row(RP_PRESENCE_MCP, "two", "x");
  rp_error err = {0};
  char all[64] = "";
  one.grace_ms = two.grace_ms = GRACE_MS;
  OK(rp_presence_put(r->e, &one, NULL, 1, NULL, &err), err);
  OK(rp_presence_put(r->e, &two, NULL, 1, NULL, &err), err);
  assert_true(touch(r, "one", NULL, 10));
  assert_true(touch(r, "two", "y", 20));
  assert_true(touch(r, "one", NULL, 30));
  assert_false(touch(r, "three", NULL, 30));
  OK(rp_presence_list(r->e, RP_PRESENCE_MCP, on_row, all, &err), err);
  assert_string_equal(all, "two one ");
  const rp_presence_query due = {.kind = RP_PRESENCE_MCP, .due_by = 20 + GRACE_MS};
  const rp_presence_query named = {.kind = RP_PRESENCE_MCP, .scope = "s", .name = "x"};
  rp_presence_row got;
  rp_presence *p = rp_presence_take(r->e, &due, &got, NULL);
  assert_string_equal(got.session, "two");
  assert_int_equal(got.end, RP_PRESENCE_CLOSE);
  assert_null(rp_presence_take(r->e, &due, NULL, NULL));
  rp_presence_settle(r->e, p, -1);
  assert_true(rp_presence_find(r->e, &named, &got, NULL));
  assert_string_equal(got.session, "one");
}

struct visitor {
  struct rig *r;
  rp_presence *got;
};

static void *visit(void *arg)
{
  struct visitor *v = arg;
  v->got = join(v->r, "a", "", true);
  return NULL;
}

static void released(void *ctx, void *host)
{
  (void)host;
  ++*(int *)ctx;
}

/* Who comes while the session is being closed waits for that, and begins a new entry. */
static void a_join_waits_for_the_end(void **state)
{
  struct rig *r = *state;
  struct visitor v = {.r = r};
  pthread_t thread;
  int n = 0;
  rp_presence_row x = row(RP_PRESENCE_CHANNEL, "a", "");
  rp_presence_host host = {.host = &x, .release = released, .ctx = &n};
  rp_presence_query q = {.kind = RP_PRESENCE_CHANNEL, .session = "a"};
  void *found = NULL;
  rp_error err = {0};
  OK(rp_presence_put(r->e, &x, &host, 1, NULL, &err), err);
  rp_presence *p = rp_presence_take(r->e, &q, NULL, &found);
  assert_ptr_equal(found, &x);
  assert_int_equal(pthread_create(&thread, NULL, visit, &v), 0);
  nanosleep(&(struct timespec){0, 20000000}, NULL);
  assert_int_equal(rp_presence_present(r->e, RP_PRESENCE_ANY, "a"), 0);
  rp_presence_settle(r->e, p, -1);
  pthread_join(thread, NULL);
  assert_int_equal(n, 1);
  assert_int_equal(rp_presence_present(r->e, RP_PRESENCE_ANY, "a"), 1);
  rp_presence_clear(r->e, RP_PRESENCE_CHANNEL);
  assert_int_equal(rp_presence_count(r->e, RP_PRESENCE_CHANNEL, 0).entries, 0);
}

/* ---- heartbeats ---- */

struct beats {
  rp_engine *e;
  char order[64];
  rp_presence *leaves;
};

static void on_beat(void *ctx, rp_presence_kind kind, void *host, int rc)
{
  struct beats *b = ctx;
  assert_int_equal(kind, RP_PRESENCE_CHANNEL);
  assert_true(rc == 0 || rc == RP_E_ENDED);
  size_t n = strlen(b->order);
  snprintf(b->order + n, sizeof b->order - n, "%s%s ", (const char *)host, rc ? "!" : "");
  if (b->leaves) rp_presence_leave(b->e, RP_TAKE(b->leaves), true, -1, 1); /* also while they are sent */
}

static const char *beat(struct rig *r, int64_t now, rp_presence *leaves)
{
  static struct beats b;
  size_t cursor = 0;
  rp_error err = {0};
  b = (struct beats){.e = r->e, .leaves = leaves};
  while (rp_presence_heartbeats(r->e, now, &cursor, on_beat, &b, &err)) continue;
  assert_int_equal(err.code, 0);
  return b.order;
}

static rp_presence *join_session(struct rig *r, rp_session *s, const char *name, bool writer)
{
  rp_presence_row x = row(RP_PRESENCE_CHANNEL, rp_session_id(s), "");
  rp_presence_host host = {.session = s, .host = (void *)(uintptr_t)name};
  rp_presence *p;
  rp_error err = {0};
  x.number = rp_session_number(s);
  x.heartbeat_ms = BEAT_MS;
  OK(rp_presence_join(r->e, &x, &host, writer, 10000, &p, NULL, &err), err);
  return p;
}

static void heartbeats_are_sent_while_somebody_may_write(void **state)
{
  struct rig *r = *state;
  rp_session *a = rig_start(r, "s", "a", RP_OWNER_NONE), *b = rig_start(r, "s", "b", RP_OWNER_NONE);
  rp_presence *pb = join_session(r, b, "b", true), *pa = join_session(r, a, "a", true);
  rp_session *c = rig_start(r, "s", "c", RP_OWNER_NONE);
  join_session(r, c, "c", false);                    /* only watches */
  assert_string_equal(beat(r, 10000, NULL), "");     /* the first comes within one interval */
  assert_string_equal(beat(r, 11000, NULL), "a b "); /* in the order of their numbers */
  assert_string_equal(beat(r, 11000, NULL), "");
  rp_presence_set_ended(r->e, pb, true);
  assert_string_equal(beat(r, 13500, NULL), "a "); /* those that were missed are not made up for */
  assert_string_equal(beat(r, 13900, NULL), "");
  rp_presence_set_ended(r->e, pb, false);
  assert_string_equal(beat(r, 15000, pb), "a b ");
  rp_presence_leave(r->e, pa, true, GRACE_MS, 15000);
  assert_string_equal(beat(r, 20000, NULL), ""); /* nobody is there */
  rp_presence_clear(r->e, RP_PRESENCE_CHANNEL);
  rp_session_free(a);
  rp_session_free(b);
  rp_session_free(c);
}

/* ---- rows ---- */

static void a_row_survives_being_written_and_read_back(void **state)
{
  struct rig *r = *state;
  rp_presence_row x = row(RP_PRESENCE_FAILED_AGENT, "gone", "who"), back = {0}, got;
  rp_presence_query q = {.kind = RP_PRESENCE_FAILED_AGENT, .due_by = 41};
  rp_error err = {0};
  x.end = RP_PRESENCE_TRASH;
  x.deadline = 42;
  x.touched_at = 7;
  OK(rp_presence_put(r->e, &x, NULL, 1, NULL, &err), err);
  q.due_by = 42;
  assert_true(rp_presence_find(r->e, &q, &got, NULL));
  FILE *f = tmpfile();
  assert_non_null(f);
  assert_int_equal(fwrite(&got, sizeof got, 1, f), 1);
  rewind(f);
  assert_int_equal(fread(&back, sizeof back, 1, f), 1);
  fclose(f);
  rig_reopen(r); /* another process, whose table is empty */
  assert_false(rp_presence_find(r->e, &q, NULL, NULL));
  OK(rp_presence_put(r->e, &back, NULL, 99, NULL, &err), err);
  assert_true(rp_presence_find(r->e, &q, &back, NULL));
  assert_memory_equal(&back, &got, sizeof got);
  q.due_by = 41;
  assert_false(rp_presence_find(r->e, &q, NULL, NULL));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
  const struct CMUnitTest tests[] = {
      T(the_grace_begins_when_the_last_one_leaves),
      T(a_join_in_time_ends_the_deadline),
      T(entries_are_due_in_order),
      T(what_was_ended_is_not_found_by_its_name),
      T(a_touch_moves_the_deadline_and_the_order),
      T(a_join_waits_for_the_end),
      T(heartbeats_are_sent_while_somebody_may_write),
      T(a_row_survives_being_written_and_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
