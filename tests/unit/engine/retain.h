/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of retention, cold files and abandonment share: sessions that ended, and what a run of gc told. */
#ifndef TEST_ENGINE_RETAIN_H
#define TEST_ENGINE_RETAIN_H

#include "unit/engine/rig.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "engine/capture/capture.h"

#define MINUTE_MS 60000LL
#define DAY_MS (24 * 60 * MINUTE_MS)

/* A session with one message that has ended; its id in `id`. */
static inline void ended_session(struct rig *r, const char *scope, const char *text, char id[RP_ID_MAX + 1])
{
  rp_error err = {0};
  rp_session *s = rig_start(r, scope, NULL, RP_OWNER_NONE);
  rig_say(s, text);
  OK(rp_end(s, NULL, &err), err);
  snprintf(id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_free(s);
}

static inline struct rp__session_row row_of(struct rig *r, const char *id)
{
  struct rp__session_row row = {0};
  rp_error err = {0};
  OK(r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, &err), err);
  return row;
}

static inline bool exists(struct rig *r, const char *id)
{
  struct rp__session_row row = {0};
  int rc = r->e->store->ops->session_find(r->e->store, RP_FIND_ID, NULL, id, &row, NULL);
  rp__session_row_done(&row);
  return rc == 0;
}

static inline int count_one(void *ctx, const rp_session_info *info)
{
  (void)info;
  ++*(int *)ctx;
  return 0;
}

static inline int count(struct rig *r, bool trashed)
{
  rp_error err = {0};
  rp_filter f = {.trashed = trashed, .limit = 1000};
  int n = 0;
  OK(rp_list(r->e, &f, count_one, &n, &err), err);
  return n;
}

/* What a run of gc told, as lines "action id". */
struct told {
  struct rp__buf lines;
  char last_reason[200];
  int n, stop_after; /* stop_after 0: never */
};

static inline int tell(void *ctx, const rp_gc_item *item)
{
  struct told *t = ctx;
  rp__buf_printf(&t->lines, "%s %s\n", rp_gc_action_name(item->action), item->session_id);
  snprintf(t->last_reason, sizeof t->last_reason, "%s", item->reason);
  t->n++;
  assert_true(item->bytes > 0);
  assert_string_equal(item->scope, "a");
  return t->stop_after && t->n >= t->stop_after ? 4711 : 0;
}

static inline void told_done(struct told *t)
{
  rp__buf_done(&t->lines);
}
#define TOLD RP_CLEANUP(told_done) struct told
#define NOTHING ((struct told){.lines = RP_BUF(65536)})

static inline void gc(struct rig *r, rp_gc_options o, struct told *t, const char *summary)
{
  rp_error err = {0};
  char *doc;
  OK(rp_gc(r->e, &o, tell, t, NULL, NULL, &doc, &err), err);
  if (summary) assert_string_equal(doc, summary);
  rp_free(doc);
}

static inline void expect_lines(const struct told *t, const char *expected)
{
  assert_string_equal(t->lines.p ? t->lines.p : "", expected);
}

/* The dry run first, which must say the same and change nothing. */
static inline void gc_both(struct rig *r, rp_gc_options o, struct told *t)
{
  TOLD dry = NOTHING;
  int before = count(r, false), in_trash = count(r, true);
  o.dry_run = true;
  gc(r, o, &dry, NULL);
  assert_int_equal(count(r, false), before);
  assert_int_equal(count(r, true), in_trash);
  o.dry_run = false;
  gc(r, o, t, NULL);
  expect_lines(t, dry.lines.p ? dry.lines.p : "");
}

struct audit_search {
  const char *event;
  int n;
  char fields[1024];
};

static inline int on_audit(void *ctx, const rp_audit_info *a)
{
  struct audit_search *x = ctx;
  if (strcmp(a->event, x->event) != 0) return 0;
  x->n++;
  snprintf(x->fields, sizeof x->fields, "%s", a->fields);
  return 0;
}

static inline struct audit_search audited(struct rig *r, const char *event)
{
  rp_error err = {0};
  struct audit_search x = {.event = event};
  OK(rp_audit(r->e, NULL, 0, 0, on_audit, &x, &err), err);
  OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
  return x;
}

static inline char *cold_file(struct rig *r, const char *id, const char *ending)
{
  static char path[SCRATCH_PATH];
  char name[SCRATCH_PATH];
  snprintf(name, sizeof name, "archive/2027-01/%s.json.%s", id, ending);
  scratch_path(&r->scratch, name, path);
  return path;
}

static inline bool is_file(const char *path)
{
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static inline void channel_session(struct rig *r, const char *channel, const char *key, char id[RP_ID_MAX + 1])
{
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "a", .key = key, .channel = channel, .owner = RP_OWNER_NONE};
  OK(rp_start(r->e, &o, &s, &err), err);
  rig_say(s, "hello");
  snprintf(id, RP_ID_MAX + 1, "%s", rp_session_id(s));
  rp_session_detach(s);
}

static inline void expect_status(struct rig *r, const char *id, enum rp__status status)
{
  struct rp__session_row row = row_of(r, id);
  assert_string_equal(rp__status_name(row.status), rp__status_name(status));
  rp__session_row_done(&row);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

#endif
