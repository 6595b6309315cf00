/* SPDX-License-Identifier: Apache-2.0 */
/* What the conformance tests share: a store to open and reopen, ops in one line each. */
#include "suite.h"

#include <string.h>

const struct backend *suite_backend;

static int64_t suite_wall(void *ctx)
{
  return ((struct suite *)ctx)->wall;
}

static int suite_open(struct suite *f)
{
  struct rp__store_options o = {.path = f->path, .clock = &f->clock};
  return suite_backend->open(&o, &f->plan, &f->s, &f->err);
}

int suite_setup(void **state)
{
  struct suite *f = calloc(1, sizeof *f);
  if (!f || scratch_make_fast(&f->dir)) return -1;
  scratch_path(&f->dir, "store.db", f->path);
  f->wall = NOW;
  f->clock = (rp_clock){.wall_ms = suite_wall, .boot_ms = suite_wall, .ctx = f};
  *state = f;
  return suite_open(f);
}

static int on_finding(void *ctx, const rp_finding *f)
{
  (void)ctx;
  print_error("%s\n", f->what);
  return 1;
}

/* Whatever a test did, the store finds nothing wrong with itself: sums, records, chains and full text agree. */
int suite_teardown(void **state)
{
  struct suite *f = *state;
  int found = f->s ? f->s->ops->check(f->s, false, on_finding, NULL, &f->err) : 0;
  if (f->s) f->s->ops->close(f->s);
  scratch_remove(&f->dir);
  free(f);
  return found;
}

bool suite_reopen(struct suite *f)
{
  if (!suite_backend->persistent) return false;
  f->s->ops->close(f->s);
  f->s = NULL;
  assert_int_equal(suite_open(f), 0);
  return true;
}

int suite_txn(struct suite *f, struct rp__op *ops, size_t n)
{
  struct rp__txn t = {.ops = ops, .n = n, .durability = RP_OS}, *group = &t;
  for (size_t i = 0; i < n; i++)
    if (!ops[i].now_ms) ops[i].now_ms = NOW;
  int rc = f->s->ops->commit(f->s, &group, 1, &f->err);
  if (rc != 0) print_error("commit: %s\n", f->err.message);
  assert_int_equal(rc, 0);
  if (t.rc != 0) {
    assert_int_equal(t.rc, t.err.code);
    f->err = t.err;
  }
  return t.rc;
}

struct rp__session_row row_new(const char *id, const char *scope, const char *key)
{
  struct rp__session_row row = {.created_at = NOW, .last_activity_at = NOW};
  rp__name_set(row.id, id);
  rp__name_set(row.scope, scope);
  rp__name_set(row.key, key);
  return row;
}

struct rp__op op_put(const struct rp__session_row *row)
{
  return (struct rp__op){.type = RP_OP_SESSION_PUT, .session_id = row->id, .u.session_put = {.row = row}};
}

struct rp__op op_lease(const char *id, int64_t expect, const struct rp__run_row *run)
{
  return (struct rp__op){
      .type = RP_OP_LEASE, .session_id = id, .u.lease = {.expect_epoch = expect, .run = run, .move = RP_MOVE_MAX}};
}

struct rp__op op_append(const char *id, const struct rp__new_event *ev, size_t n)
{
  return (struct rp__op){.type = RP_OP_APPEND, .session_id = id, .u.append = {.events = ev, .n = n, .expect = -1}};
}

struct rp__op op_set(const char *id, unsigned fields)
{
  return (struct rp__op){.type = RP_OP_SESSION_SET, .session_id = id, .u.session_set = {.fields = fields}};
}

struct rp__new_event event_new(const char *kind, const char *body)
{
  return (struct rp__new_event){.kind = kind, .body = body, .body_len = strlen(body), .at_ms = NOW};
}

int64_t suite_put(struct suite *f, const char *id)
{
  struct rp__session_row row = row_new(id, "s", NULL);
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
  assert_true(op.ret.ref > 0);
  return op.ret.ref;
}

int64_t suite_say(struct suite *f, const char *id, const char *text)
{
  char body[4096];
  snprintf(body, sizeof body, "{\"role\":\"user\",\"content\":\"%s\"}", text);
  struct rp__new_event ev = event_new("message", body);
  struct rp__op op = op_append(id, &ev, 1);
  assert_int_equal(suite_op(f, &op), 0);
  return op.ret.seq;
}

int64_t suite_lease(struct suite *f, const char *id)
{
  struct rp__session_row row = suite_row(f, id);
  struct rp__run_row run = {.owner = RP_RUN_NONE, .started_at = NOW, .heartbeat_at = NOW};
  struct rp__op op = op_lease(id, row.epoch, &run);
  rp__session_row_done(&row);
  assert_int_equal(suite_op(f, &op), 0);
  return op.ret.epoch;
}

struct rp__session_row suite_row(struct suite *f, const char *id)
{
  struct rp__session_row row = {0};
  assert_int_equal(f->s->ops->session_find(f->s, RP_FIND_ID, NULL, id, &row, &f->err), 0);
  return row;
}

static int event_counted(void *ctx, const struct rp__event_row *row)
{
  int64_t *n = ctx;
  assert_int_equal(row->seq, ++*n);
  return 0;
}

int64_t suite_count_events(struct suite *f, const char *id)
{
  struct rp__session_row row = suite_row(f, id);
  struct rp__event_range r = {.session_ref = row.ref, .session_id = id};
  int64_t n = 0;
  rp__session_row_done(&row);
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_counted, &n, &f->err), 0);
  return n;
}

static int ids_add(struct ids *ids, const char *id, int64_t seq)
{
  size_t at = strlen(ids->text);
  if (seq)
    snprintf(ids->text + at, sizeof ids->text - at, "%s:%lld ", id, (long long)seq);
  else
    snprintf(ids->text + at, sizeof ids->text - at, "%s ", id);
  return ++ids->n == ids->stop_after ? 77 : 0;
}

int ids_session(void *ctx, const struct rp__session_row *row)
{
  return ids_add(ctx, row->id, 0);
}

int ids_hit(void *ctx, const rp_hit *hit)
{
  return ids_add(ctx, hit->session_id, hit->seq);
}
