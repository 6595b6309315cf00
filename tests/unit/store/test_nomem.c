/* SPDX-License-Identifier: Apache-2.0 */
/* The nth allocation of ours fails, for every n of a cycle over each backend: a typed error, no leak, nothing half
 * done. */
#include "store_test.h"

static long countdown; /* < 0: none fails */
static bool failed;

static bool fails(void)
{
  if (countdown < 0 || countdown-- > 0) return false;
  failed = true;
  return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t n)
{
  return fails() ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size)
{
  return fails() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *p, size_t n)
{
  return fails() ? NULL : __real_realloc(p, n);
}
void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
  return fails() ? NULL : __real_reallocarray(p, n, size);
}
char *__wrap_strdup(const char *s)
{
  return fails() ? NULL : __real_strdup(s);
}
char *__wrap_strndup(const char *s, size_t n)
{
  return fails() ? NULL : __real_strndup(s, n);
}

static int event_ignored(void *ctx, const struct rp__event_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int session_ignored(void *ctx, const struct rp__session_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int snapshot_ignored(void *ctx, const struct rp__snapshot_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int run_ignored(void *ctx, const struct rp__run_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int recall_ignored(void *ctx, const struct rp__recall *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int audit_ignored(void *ctx, const struct rp__audit_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int scope_ignored(void *ctx, const char *scope)
{
  (void)ctx, (void)scope;
  return 0;
}
static int token_ignored(void *ctx, const struct rp__token_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int blob_ignored(void *ctx, const struct rp__blob_row *row)
{
  (void)ctx, (void)row;
  return 0;
}
static int finding_ignored(void *ctx, const rp_finding *f)
{
  (void)ctx, (void)f;
  return 0;
}

/* Everything that writes, each as one txn. */
static int cycle_write(struct rp__store *s, rp_error *err)
{
  char meta[] = "{\"m\":1}";
  struct rp__session_row row = {.id = "b", .scope = "s", .meta = meta};
  struct rp__run_row run = {.owner = RP_RUN_NONE};
  struct rp__new_event ev = {.kind = "message", .body = "{\"t\":\"word\"}", .body_len = 12};
  struct rp__snapshot_row snap = {.seq = 1, .size = 3, .data = "abc"};
  struct rp__scope_row scope = {.sealed = false};
  struct rp__op ops[] = {
      {.type = RP_OP_SESSION_PUT, .session_id = "b", .u.session_put = {.row = &row, .count_start = true}},
      {.type = RP_OP_LEASE, .session_id = "b", .u.lease = {.run = &run, .move = RP_MOVE_MAX, .count_start = true}},
      {.type = RP_OP_APPEND,
       .session_id = "b",
       .u.append = {.events = &ev, .n = 1, .expect = -1, .idempotency_key = "k", .client_id = "c", .client_seq = 1}},
      {.type = RP_OP_HEARTBEAT, .session_id = "b"},
      {.type = RP_OP_SNAPSHOT_PUT, .session_id = "b", .u.snapshot_put.row = &snap},
      {.type = RP_OP_EVENT_REPLACE, .session_id = "b", .u.event_replace = {.seq = 1, .event = &ev}},
      {.type = RP_OP_SESSION_SET, .session_id = "b", .u.session_set = {.fields = RP_SET_META, .meta = meta}},
      {.type = RP_OP_SCOPE_SET, .u.scope_set = {.scope = "new", .row = &scope}},
      {.type = RP_OP_SNAPSHOT_DELETE, .session_id = "b", .u.snapshot_delete.n = 1},
      {.type = RP_OP_RUN_END, .session_id = "b"},
      {.type = RP_OP_SESSION_DELETE, .session_id = "b"},
  };
  struct rp__txn t = {.ops = ops, .n = RP_ARRAY_SIZE(ops), .durability = RP_OS}, *group = &t;
  int rc = s->ops->commit(s, &group, 1, err);
  if (rc == 0 && t.rc != 0) *err = t.err;
  return rc ? rc : t.rc;
}

/* Records, words, memories and chains, written, replaced and taken out again. */
static int cycle_keep(struct rp__store *s, rp_error *err)
{
  struct rp__new_event ev = {.kind = "task", .body = "{}", .body_len = 2};
  char part[] = "[1]", sealed[] = "xyz";
  struct rp__record_row record = {.end_ms = 1, .part = {part}},
                        shut = {.end_ms = 2, .sealed_body = sealed, .sealed_len = 3};
  struct rp__memory_row memory = {.id = "m", .scope = "s", .content = "walnut", .content_len = 6, .categories = "[]"};
  struct rp__memory_row other = {.id = "n", .scope = "s", .content = "walnut", .content_len = 6, .categories = "[]"};
  struct rp__op ops[] = {
      {.type = RP_OP_APPEND, .session_id = "a", .u.append = {.events = &ev, .n = 1, .expect = -1}},
      {.type = RP_OP_TASK_PUT, .session_id = "a", .u.task_put = {.scope = "s", .hash = 1}},
      {.type = RP_OP_RECORD_PUT, .session_id = "a", .u.record.row = &shut},
      {.type = RP_OP_RECORD_ARCHIVE, .session_id = "a"},
      {.type = RP_OP_RECORD_PUT, .session_id = "a", .u.record.row = &record},
      {.type = RP_OP_MEMORY_PUT, .u.memory.row = &memory},
      {.type = RP_OP_MEMORY_PUT, .u.memory.row = &memory},
      {.type = RP_OP_MEMORY_SET, .u.memory.row = &memory},
      {.type = RP_OP_MEMORY_USED, .u.memory.row = &memory},
      {.type = RP_OP_MEMORY_PUT, .u.memory.row = &other},
      {.type = RP_OP_MEMORY_DELETE, .u.memory.row = &other},
      {.type = RP_OP_AUDIT, .u.audit = {.scope = "s", .event = "hold", .fields = {"{}", 2}}},
  };
  struct rp__txn t = {.ops = ops, .n = RP_ARRAY_SIZE(ops), .durability = RP_OS}, *group = &t;
  int rc = s->ops->commit(s, &group, 1, err);
  if (rc == 0 && t.rc != 0) *err = t.err;
  return rc ? rc : t.rc;
}

static int cycle_tokens(struct rp__store *s, rp_error *err)
{
  struct rp__token_row row = {.id = "t", .name = "n"};
  struct rp__op ops[] = {
      {.type = RP_OP_TOKEN_PUT, .u.token.row = &row},
      {.type = RP_OP_TOKEN_USED, .u.token.row = &row},
      {.type = RP_OP_TOKEN_DELETE, .u.token.row = &row},
      {.type = RP_OP_TOKEN_PUT, .u.token.row = &row},
  };
  struct rp__txn t = {.ops = ops, .n = RP_ARRAY_SIZE(ops), .durability = RP_OS}, *group = &t;
  int rc = s->ops->commit(s, &group, 1, err);
  if (rc == 0 && t.rc != 0) *err = t.err;
  if (rc == 0) rc = t.rc;
  if (rc == 0) rc = s->ops->token_list(s, NULL, token_ignored, NULL, err);
  if (rc == 0) rc = s->ops->token_list(s, "t", token_ignored, NULL, err);
  return rc ? rc : commit_as(s, &ops[2], RP_OS, err);
}

/* Leaves none behind, so that it can be gone through again. */
static int cycle_blobs(struct rp__store *s, int64_t ref, rp_error *err)
{
  struct rp__blob_row one = {.id = "one", .raw_size = 3, .size = 3, .data = "abc"},
                      two = {.id = "two", .hash = {1}, .raw_size = 2, .size = 2, .data = "de"};
  struct rp__op ops[] = {
      {.type = RP_OP_BLOB_SET, .session_id = "a", .u.blob.row = &one},
      {.type = RP_OP_BLOB_SET, .session_id = "a", .u.blob.row = &one},
      {.type = RP_OP_BLOB_PUT, .session_id = "a", .u.blob.row = &one},
      {.type = RP_OP_BLOB_PUT, .session_id = "a", .u.blob.row = &two},
      {.type = RP_OP_BLOB_DELETE, .session_id = "a", .u.blob.row = &two},
  };
  struct rp__txn t = {.ops = ops, .n = RP_ARRAY_SIZE(ops), .durability = RP_OS}, *group = &t;
  int rc = s->ops->commit(s, &group, 1, err);
  if (rc == 0 && t.rc != 0) *err = t.err;
  if (rc == 0) rc = t.rc;
  if (rc == 0) rc = s->ops->blob_list(s, ref, NULL, blob_ignored, NULL, err);
  return rc ? rc : s->ops->blob_list(s, ref, "one", blob_ignored, NULL, err);
}

static int cycle_recall(struct rp__store *s, int64_t ref, rp_error *err)
{
  struct rp__recall_filter recall = {.scope = "s"};
  struct rp__memory_filter best = {.scope = "s"}, words = {.scope = "s", .words = "walnut"};
  struct rp__audit_filter audits = {.scope = "s"};
  struct rp__record_row record;
  struct rp__task_row task;
  bool found;
  int n = 0;
  int rc = s->ops->record_get(s, ref, &record, err);
  if (rc != 0) return rc;
  rp__record_row_done(&record);
  rc = s->ops->recall_list(s, &recall, recall_ignored, NULL, err);
  if (rc == 0) rc = s->ops->task_get(s, "s", 1, &task, &found, err);
  if (rc == 0) rc = s->ops->memory_list(s, &best, memory_count, &n, err);
  if (rc == 0) rc = s->ops->memory_list(s, &words, memory_count, &n, err);
  if (rc == 0) rc = s->ops->audit_list(s, &audits, audit_ignored, NULL, err);
  if (rc == 0) rc = s->ops->scope_list(s, scope_ignored, NULL, err);
  return rc ? rc : s->ops->maintain(s, RP_MAINTAIN_SCRUB, NULL, err);
}

static int cycle_read(struct rp__store *s, int64_t ref, rp_error *err)
{
  struct rp__session_row row = {0};
  struct rp__event_range r = {.session_ref = ref};
  struct rp__run_filter runs = {0};
  int hits = 0;
  int rc = s->ops->session_find(s, RP_FIND_ID, NULL, "a", &row, err);
  if (rc != 0) return rc;
  rp__session_row_done(&row);
  rc = s->ops->session_list(s, NULL, session_ignored, NULL, err);
  if (rc == 0) rc = s->ops->run_list(s, &runs, run_ignored, NULL, err);
  if (rc == 0) rc = s->ops->event_list(s, &r, event_ignored, NULL, err);
  if (rc == 0) rc = s->ops->snapshot_list(s, ref, 0, snapshot_ignored, NULL, err);
  if (rc == 0) rc = s->ops->search(s, "word", NULL, 0, hit_count, &hits, err);
  if (rc == 0) rc = s->ops->check(s, false, finding_ignored, NULL, err);
  return rc;
}

typedef int open_fn(const struct rp__store_options *o, struct rp__store **ret, rp_error *err);

static int cycle(open_fn *open, const char *path, rp_error *err)
{
  struct rp__store_options o = {.path = path};
  struct rp__store *s = NULL;
  int64_t ref = 0;
  int rc = open(&o, &s, err);
  if (rc != 0) return rc;
  rc = put_in(s, "a", &ref, err);
  if (rc == RP_E_EXISTS) rc = 0;
  if (rc == 0) rc = say_in(s, "a", "word", RP_OS, NULL, err);
  if (rc == 0) rc = cycle_write(s, err);
  if (rc == 0) rc = cycle_keep(s, err);
  if (rc == 0) rc = cycle_tokens(s, err);
  if (rc == 0) rc = cycle_blobs(s, 1, err);
  if (rc == 0) rc = cycle_recall(s, 1, err);
  if (rc == 0) rc = cycle_read(s, 1, err);
  if (rc != 0) { /* the cause is gone: so is the trouble */
    rp_error again;
    countdown = -1;
    int better = put_in(s, "a", NULL, &again);
    assert_true(better == 0 || better == RP_E_EXISTS);
    assert_int_equal(say_in(s, "a", "word", RP_OS, NULL, &again), 0);
    assert_int_equal(cycle_write(s, &again), 0);
    assert_int_equal(cycle_keep(s, &again), 0);
    assert_int_equal(cycle_blobs(s, 1, &again), 0);
    assert_int_equal(cycle_recall(s, 1, &again), 0);
    assert_int_equal(cycle_read(s, 1, &again), 0);
  }
  s->ops->close(s);
  return rc;
}

static void every_allocation_fails_once(struct box *b, open_fn *open)
{
  long n = 0;
  for (failed = true; failed; n++) {
    assert_true(n < 10000);
    memset(&b->err, 0, sizeof b->err);
    scratch_empty(&b->dir); /* a store that grew would have more to allocate each time */
    failed = false;
    countdown = n;
    int rc = cycle(open, b->path, &b->err);
    countdown = -1;
    if (rc != 0 && rc != RP_E_NOMEM) print_error("allocation %ld: %d %s\n", n, rc, b->err.message);
    if (rc != (failed ? RP_E_NOMEM : 0)) print_error("allocation %ld: %d\n", n, rc);
    assert_true(rc == (failed ? RP_E_NOMEM : 0));
    if (rc != 0) assert_int_equal(b->err.code, rc);
  }
  assert_true(n > 20);
}

static void of_the_sqlite_store(void **state)
{
  every_allocation_fails_once(*state, rp__store_sqlite_open);
}

static void of_the_memory_store(void **state)
{
  every_allocation_fails_once(*state, rp__store_memory_open);
}

int main(void)
{
  countdown = -1;
  const struct CMUnitTest tests[] = {BOX_TEST(of_the_sqlite_store), BOX_TEST(of_the_memory_store)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
