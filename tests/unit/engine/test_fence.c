/* SPDX-License-Identifier: Apache-2.0 */
/*
 * B-05: every epoch is given to one start, and one that is over never writes again. The store of the first engine stops
 * at a chosen place, where another engine on the same file (what another process is) takes the session over.
 */
#include "unit/engine/rig.h"

#include <unistd.h>

#include "engine/engine.h"

enum place { NOWHERE, AFTER_LEASE, AFTER_JUDGED };

static struct {
  const struct rp__store_ops *real;
  struct rp__store_ops ops;
  enum place at;
  void (*then)(void *ctx);
  void *ctx;
} stop;

static void stopped(enum place here)
{
  if (stop.at != here) return;
  stop.at = NOWHERE;
  stop.then(stop.ctx);
}

static int commit(struct rp__store *s, struct rp__txn **group, size_t n, rp_error *err)
{
  bool lease = false;
  int rc = stop.real->commit(s, group, n, err);
  for (size_t i = 0; !rc && i < n; i++)
    for (size_t j = 0; !group[i]->rc && j < group[i]->n; j++) lease |= group[i]->ops[j].type == RP_OP_LEASE;
  if (lease) stopped(AFTER_LEASE);
  return rc;
}

/* After the session's holder was judged a start looks at all runs of the session, ended ones too. */
static int run_list(struct rp__store *s, const struct rp__run_filter *f, rp__run_row_fn *fn, void *ctx, rp_error *err)
{
  int rc = stop.real->run_list(s, f, fn, ctx, err);
  if (!rc && f->session_ref && !f->open_only) stopped(AFTER_JUDGED);
  return rc;
}

static void stop_at(rp_engine *e, enum place at, void (*then)(void *ctx), void *ctx)
{
  if (e->store->ops != &stop.ops) {
    stop.real = e->store->ops;
    stop.ops = *stop.real;
    stop.ops.commit = commit;
    stop.ops.run_list = run_list;
    e->store->ops = &stop.ops;
  }
  stop.at = at;
  stop.then = then;
  stop.ctx = ctx;
}

struct other {
  rp_engine *e;
  rp_session *s;
};

static void take_over(void *ctx)
{
  struct other *b = ctx;
  rp_start_options o = {.scope = "z", .key = "k", .force = true};
  rp_error err = {0};
  OK(rp_start(b->e, &o, &b->s, &err), err);
}

static struct other another(struct rig *r)
{
  struct other b = {0};
  rp_options o = {.db = r->url, .short_lived = true};
  rp_error err = {0};
  OK(rp_open(&o, &b.e, &err), err);
  return b;
}

static void another_done(struct other *b)
{
  rp_session_free(b->s);
  rp_close(b->e);
}

static int append(rp_session *s)
{
  rp_event ev = {.kind = "x-a", .body = "{}"};
  return rp_append(s, &ev, NULL, NULL, NULL);
}

/* Every write of the handle is refused. */
static void assert_fenced(rp_session *s)
{
  char blob[RP_BLOB_ID_MAX + 1];
  assert_int_equal(append(s), RP_E_FENCED);
  assert_int_equal(rp_blob_put(s, "x", 1, blob, NULL), RP_E_FENCED);
  assert_int_equal(rp_checkpoint(s, NULL, NULL), RP_E_FENCED);
  assert_int_equal(rp_snapshot_delete(s, 1, NULL), RP_E_FENCED);
  assert_int_equal(rp_heartbeat(s, NULL), RP_E_FENCED);
  assert_int_equal(rp_end(s, NULL, NULL), RP_E_FENCED);
}

static void a_start_gets_the_epoch_of_its_own_lease(void **state)
{
  static const rp_owner_kind owners[] = {RP_OWNER_SELF, RP_OWNER_PID, RP_OWNER_NONE};
  struct rig *r = *state;
  rp_error err = {0};
  for (int64_t i = 0, epoch = 0; i < 3; i++, epoch += 2) { /* the first is new, the others are resumed */
    struct other b = another(r);
    rp_session *a;
    rp_start_options o = {.scope = "z", .key = "k", .owner = owners[i], .owner_pid = getpid(), .force = true};
    stop_at(r->e, AFTER_LEASE, take_over, &b);
    OK(rp_start(r->e, &o, &a, &err), err);
    assert_non_null(b.s);
    assert_int_equal(rp_session_epoch(a), epoch + 1);
    assert_int_equal(rp_session_epoch(b.s), epoch + 2);
    char said[24];
    snprintf(said, sizeof said, "%lld", (long long)epoch + 1);
    assert_string_equal(rig_get(rp_start_json(a), "epoch"), said);
    snprintf(said, sizeof said, "%lld", (long long)epoch + 1); /* and which of the scope's starts it was */
    assert_string_equal(rig_get(rp_start_json(a), "total_sessions"), said);
    assert_int_equal(append(b.s), 0);
    OK(rp_checkpoint(b.s, NULL, &err), err);
    assert_fenced(a);
    assert_int_equal(append(b.s), 0);
    rp_session_free(a);
    another_done(&b);
  }
}

/* What a start tells is what its own transaction left, not what others made of it. */
static void end_it(void *ctx)
{
  struct other *b = ctx;
  rp_error err = {0};
  OK(rp_attach(b->e, "k", &b->s, &err), err);
  OK(rp_end(b->s, NULL, &err), err);
}

static void a_start_tells_the_status_of_its_own_lease(void **state)
{
  struct rig *r = *state;
  struct other b = another(r);
  stop_at(r->e, AFTER_LEASE, end_it, &b);
  rp_session *a = rig_start(r, "z", "k", RP_OWNER_SELF);
  assert_string_equal(rig_get(rp_start_json(a), "status"), "\"created\"");
  assert_int_equal(append(a), RP_E_ENDED);
  rp_session_free(a);
  another_done(&b);
}

static void a_repeated_start_gets_the_epoch_of_the_run_it_repeats(void **state)
{
  struct rig *r = *state;
  struct other b = another(r);
  rp_session *first = rig_start(r, "z", "k", RP_OWNER_SELF);
  stop_at(r->e, AFTER_JUDGED, take_over, &b);
  rp_session *again = rig_start(r, "z", "k", RP_OWNER_SELF);
  assert_string_equal(rig_get(rp_start_json(again), "repeated"), "true");
  assert_string_equal(rig_get(rp_start_json(again), "total_sessions"), "1");
  assert_int_equal(rp_session_epoch(again), 1);
  assert_int_equal(rp_session_epoch(b.s), 2);
  assert_int_equal(append(b.s), 0);
  assert_fenced(again);
  assert_fenced(first);
  rp_session_free(again);
  rp_session_free(first);
  another_done(&b);
}

static void let_go(void *ctx)
{
  rp_session_free(ctx);
}

/* Nobody would see that the run lives. */
static void a_run_that_was_let_go_meanwhile_is_not_repeated(void **state)
{
  struct rig *r = *state;
  struct other b = another(r);
  rp_start_options o = {.scope = "z", .key = "k"};
  rp_session *first = rig_start(r, "z", "k", RP_OWNER_SELF);
  stop_at(r->e, AFTER_JUDGED, let_go, first);
  rp_session *again = rig_start(r, "z", "k", RP_OWNER_SELF);
  assert_int_equal(rp_session_epoch(again), 2);
  assert_int_equal(rp_start(b.e, &o, &b.s, NULL), RP_E_HELD);
  rp_session_free(again);
  another_done(&b);
}

/* A name that leads to the database is the database: its locks, its log, whatever lies beside it. */
static void a_link_to_the_database_shows_who_lives(void **state)
{
  struct rig *r = *state;
  char link[SCRATCH_PATH], beside[SCRATCH_PATH + 8];
  rp_error err = {0};
  rp_engine *e;
  rp_session *s;
  scratch_path(&r->scratch, "link.db", link);
  assert_int_equal(symlink("t.db", link), 0);
  snprintf(beside, sizeof beside, "sqlite:%s", link);
  rp_session *a = rig_start(r, "z", "k", RP_OWNER_SELF);
  rp_options oo = {.db = beside, .short_lived = true};
  OK(rp_open(&oo, &e, &err), err);
  rp_start_options o = {.scope = "z", .key = "k"};
  assert_int_equal(rp_start(e, &o, &s, &err), RP_E_HELD);
  o.key = NULL;
  OK(rp_start(e, &o, &s, &err), err);
  assert_string_equal(rig_get(rp_start_json(s), "crash_recovered"), "[]");
  OK(rp_end(s, NULL, &err), err); /* which writes a mirror beside the database */
  rp_session_free(s);
  rp_close(e);
  assert_int_equal(append(a), 0);
  rp_session_free(a);
  snprintf(beside, sizeof beside, "%s.runs", link);
  assert_int_equal(access(beside, F_OK), -1);
  snprintf(beside, sizeof beside, "%s-wal", link);
  assert_int_equal(access(beside, F_OK), -1);
}

/* A session of the same id is another session, even at the same epoch. */
static void the_handle_of_a_deleted_session_writes_to_no_other(void **state)
{
  struct rig *r = *state;
  struct other b = another(r);
  rp_error err = {0};
  rp_start_options o = {.scope = "z", .id = "one", .force = true};
  rp_session *a, *guest;
  OK(rp_start(r->e, &o, &a, &err), err);
  OK(rp_attach(r->e, "one", &guest, &err), err);
  OK(rp_attach(b.e, "one", &b.s, &err), err);
  OK(rp_end(b.s, NULL, &err), err);
  rp_session_free(b.s);
  OK(rp_purge(b.e, "one", true, &err), err);
  o.scope = "y";
  OK(rp_start(b.e, &o, &b.s, &err), err);
  assert_int_equal(rp_session_epoch(b.s), rp_session_epoch(a));
  assert_int_not_equal(rp_session_number(b.s), rp_session_number(a));
  assert_int_equal(append(a), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp_end(a, NULL, NULL), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(append(guest), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(append(b.s), 0);
  rp_session_free(guest);
  rp_session_free(a);
  another_done(&b);
}

/* Nor does the repeat of the request that made it open the other one. */
static void a_repeated_request_opens_no_later_session_of_its_id(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_request request = {"k", "{}", 2}, of_fork = {"f", "{}", 2};
  rp_start_options o = {.scope = "z", .id = "one", .request = &request}, other = {.scope = "y", .id = "one"};
  rp_session *s, *t;
  char fork[RP_ID_MAX + 1];
  bool repeated = false;
  OK(rp_start(r->e, &o, &s, &err), err);
  OK(rp_fork(s, &(rp_fork_options){.request = &of_fork}, fork, &repeated, &err), err);
  assert_false(repeated);
  OK(rp_fork(s, &(rp_fork_options){.request = &of_fork}, fork, &repeated, &err), err);
  assert_true(repeated);
  OK(rp_purge(r->e, fork, true, &err), err);
  assert_int_equal(rp_fork(s, &(rp_fork_options){.request = &of_fork}, fork, &repeated, &err), RP_E_SESSION_NOT_FOUND);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  OK(rp_purge(r->e, "one", true, &err), err);
  r->wall += 1;
  OK(rp_start(r->e, &other, &t, &err), err);
  assert_int_equal(rp_start(r->e, &o, &s, &err), RP_E_SESSION_NOT_FOUND);
  rp_session_free(t);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_start_gets_the_epoch_of_its_own_lease, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_start_tells_the_status_of_its_own_lease, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_repeated_start_gets_the_epoch_of_the_run_it_repeats, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_run_that_was_let_go_meanwhile_is_not_repeated, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_link_to_the_database_shows_who_lives, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(the_handle_of_a_deleted_session_writes_to_no_other, rig_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_repeated_request_opens_no_later_session_of_its_id, rig_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
