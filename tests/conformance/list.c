/* SPDX-License-Identifier: Apache-2.0 */
/* What a store must list, in which order, by which filter. */
#include "suite.h"

#include <string.h>

static void put(struct suite *f, const char *id, const char *scope, const char *key)
{
  struct rp__session_row row = row_new(id, scope, key);
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
}

static void end(struct suite *f, const char *id)
{
  struct rp__op op = op_set(id, RP_SET_MOVE);
  op.u.session_set.move = RP_MOVE_CLOSE;
  assert_int_equal(suite_op(f, &op), 0);
}

/* The id found, or the error's name. */
static const char *found(struct suite *f, enum rp__find how, const char *scope, const char *what)
{
  static char id[RP_NAME];
  struct rp__session_row row = {0};
  int rc = f->s->ops->session_find(f->s, how, scope, what, &row, &f->err);
  rp__name_set(id, row.id);
  rp__session_row_done(&row);
  return rc ? rp_error_lookup(rc)->name : id;
}

static void by_id_and_prefix(void **state)
{
  struct suite *f = *state;
  put(f, "abc-1", "s", NULL);
  put(f, "abc-2", "t", NULL);
  put(f, "abc", "s", NULL);
  put(f, "ab%_", "s", NULL);
  assert_string_equal(found(f, RP_FIND_ID, NULL, "abc"), "abc");
  assert_string_equal(found(f, RP_FIND_ID, NULL, "ab"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "abc-1"), "abc-1");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "abc-"), "session.ambiguous");
  assert_string_equal(found(f, RP_FIND_PREFIX, "t", "abc-"), "abc-2");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "abc"), "abc");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "b"), "session.not_found");
  /* No pattern is one. */
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "ab_-1"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "%"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "ab%"), "ab%_");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, ""), "usage");
  assert_string_equal(found(f, RP_FIND_ID, NULL, NULL), "usage");
}

static void by_number(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = {0};
  char number[32];
  put(f, "a", "s", NULL);
  put(f, "b", "s", NULL);
  assert_int_equal(f->s->ops->session_find(f->s, RP_FIND_ID, NULL, "a", &row, &f->err), 0);
  snprintf(number, sizeof number, "%lld", (long long)row.ref);
  rp__session_row_done(&row);
  assert_string_equal(found(f, RP_FIND_NUMBER, NULL, number), "a");
  assert_string_equal(found(f, RP_FIND_NUMBER, NULL, "999999"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_NUMBER, NULL, ""), "usage");
}

static void by_key_the_open_one_first(void **state)
{
  struct suite *f = *state;
  struct rp__run_row run = {.owner = RP_RUN_NONE};
  put(f, "old", "s", "k");
  end(f, "old");
  put(f, "new", "s", "k");
  put(f, "far", "t", "k");
  assert_string_equal(found(f, RP_FIND_KEY, "s", "k"), "new");
  assert_string_equal(found(f, RP_FIND_NAME, NULL, "k"), "far");
  assert_string_equal(found(f, RP_FIND_NAME, NULL, "old"), "old");
  end(f, "new");
  assert_string_equal(found(f, RP_FIND_KEY, "s", "k"), "new");
  struct rp__op again = op_lease("old", 0, &run);
  again.u.lease.move = RP_MOVE_RESUME_ID;
  assert_int_equal(suite_op(f, &again), 0);
  assert_string_equal(found(f, RP_FIND_KEY, "s", "k"), "old");
  assert_string_equal(found(f, RP_FIND_KEY, "s", "other"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_KEY_ELSEWHERE, "s", "k"), "far");
  assert_string_equal(found(f, RP_FIND_KEY_ELSEWHERE, "t", "k"), "old");
  end(f, "far");
  assert_string_equal(found(f, RP_FIND_KEY_ELSEWHERE, "s", "k"), "far");
  assert_string_equal(found(f, RP_FIND_KEY_ELSEWHERE, "s", "other"), "session.not_found");
}

/* Of two starts with one key, one makes the session and the other is told. */
static void a_key_names_one_open_session(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("b", "s", "k");
  put(f, "a", "s", "k");
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), RP_E_EXISTS);
  assert_non_null(strstr(f->err.message, "'k'"));
  row.hidden = true;
  assert_int_equal(suite_op(f, &op), 0);
  put(f, "c", "t", "k");
  end(f, "a");
  put(f, "d", "s", "k");
}

static void last_is_the_last_started(void **state)
{
  struct suite *f = *state;
  assert_string_equal(found(f, RP_FIND_LAST, NULL, NULL), "session.not_found");
  put(f, "a", "s", NULL);
  put(f, "b", "s", NULL);
  assert_string_equal(found(f, RP_FIND_LAST, "s", NULL), "b");
  suite_lease(f, "a");
  assert_string_equal(found(f, RP_FIND_LAST, "s", NULL), "a");
  suite_lease(f, "b");
  put(f, "c", "t", NULL);
  suite_lease(f, "c");
  assert_string_equal(found(f, RP_FIND_LAST, "s", NULL), "b");
  assert_string_equal(found(f, RP_FIND_LAST, NULL, NULL), "c");
  assert_string_equal(found(f, RP_FIND_LAST, "u", NULL), "session.not_found");
}

/* with per_channel a start follows the last one of its channel. */
static void last_of_a_channel(void **state)
{
  struct suite *f = *state;
  static const char *const channels[] = {"cli", "signal", "cli"};
  char id[2] = "a";
  for (size_t i = 0; i < 3; i++, id[0]++) {
    struct rp__session_row row = row_new(id, "s", NULL);
    rp__name_set(row.channel, channels[i]);
    struct rp__op op = op_put(&row);
    assert_int_equal(suite_op(f, &op), 0);
    suite_lease(f, id);
  }
  assert_string_equal(found(f, RP_FIND_LAST, "s", "signal"), "b");
  assert_string_equal(found(f, RP_FIND_LAST, "s", "cli"), "c");
  assert_string_equal(found(f, RP_FIND_LAST, NULL, "signal"), "b");
  suite_lease(f, "a");
  assert_string_equal(found(f, RP_FIND_LAST, "s", "cli"), "a");
  assert_string_equal(found(f, RP_FIND_LAST, "s", "voice"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_LAST, "t", "cli"), "session.not_found");
}

/* A session that is being imported or forked is there for its copier alone, until it is shown. */
static void hidden_ones_are_found_by_their_copier_only(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("h", "s", "k");
  struct rp__new_event ev = event_new("note", "{\"text\":\"secret\"}");
  struct ids ids = {0};
  row.hidden = true;
  struct rp__op op = op_put(&row);
  assert_int_equal(suite_op(f, &op), 0);
  op = op_append("h", &ev, 1);
  op.copying = true;
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(found(f, RP_FIND_COPY, NULL, "h"), "h");
  assert_string_equal(found(f, RP_FIND_HIDDEN, NULL, NULL), "h");
  assert_string_equal(found(f, RP_FIND_ID, NULL, "h"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_NAME, NULL, "h"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_PREFIX, NULL, "h"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_NAME, NULL, "k"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_LAST, "s", NULL), "session.not_found");
  assert_int_equal(f->s->ops->session_list(f->s, NULL, ids_session, &ids, &f->err), 0);
  assert_int_equal(f->s->ops->search(f->s, "secret", NULL, 0, ids_hit, &ids, &f->err), 0);
  assert_string_equal(ids.text, "");
  op = op_set("h", RP_SET_SHOWN);
  op.copying = true;
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(found(f, RP_FIND_COPY, NULL, "h"), "session.not_found");
  assert_string_equal(found(f, RP_FIND_ID, NULL, "h"), "h");
  assert_string_equal(found(f, RP_FIND_NAME, NULL, "k"), "h");
  assert_int_equal(f->s->ops->search(f->s, "secret", NULL, 0, ids_hit, &ids, &f->err), 0);
  assert_string_equal(ids.text, "h:1 ");
}

/* Every op that names a session is refused, also with the number that the store knows it by. */
static void nobody_but_the_copier_touches_a_hidden_one(void **state)
{
  struct suite *f = *state;
  struct rp__session_row row = row_new("h", "s", NULL);
  struct rp__run_row run = {.owner = RP_RUN_NONE};
  struct rp__new_event ev = event_new("note", "{\"text\":\"mine\"}");
  struct rp__snapshot_row snap = {.seq = 1, .size = 1, .data = "x"};
  struct rp__record_row record = {.end_ms = NOW};
  struct rp__blob_row blob = {.id = "b1", .size = 1, .raw_size = 1, .data = "x"};
  row.hidden = true;
  struct rp__op put = op_put(&row);
  assert_int_equal(suite_op(f, &put), 0);
  int64_t ref = put.ret.ref;
  struct rp__op first[] = {op_append("h", &ev, 1), op_lease("h", 0, &run)};
  for (size_t i = 0; i < RP_ARRAY_SIZE(first); i++) {
    first[i].copying = true;
    assert_int_equal(suite_op(f, &first[i]), 0);
  }
  struct rp__op tries[] = {
      op_append("h", &ev, 1),
      op_lease("h", 1, &run),
      op_set("h", RP_SET_SHOWN),
      op_set("h", RP_SET_TRASH),
      {.type = RP_OP_RUN_END, .session_id = "h", .u.run_end = {.ended_at = 5, .cause = RP_CAUSE_CLEAN}},
      {.type = RP_OP_HEARTBEAT, .session_id = "h", .now_ms = NOW},
      {.type = RP_OP_SNAPSHOT_PUT, .session_id = "h", .u.snapshot_put.row = &snap},
      {.type = RP_OP_SNAPSHOT_DELETE, .session_id = "h", .u.snapshot_delete = {.n = 1, .if_there = true}},
      {.type = RP_OP_EVENT_REPLACE, .session_id = "h", .u.event_replace = {.seq = 1, .event = &ev}},
      {.type = RP_OP_RECORD_PUT, .session_id = "h", .u.record.row = &record},
      {.type = RP_OP_RECORD_ARCHIVE, .session_id = "h"},
      {.type = RP_OP_TASK_PUT, .session_id = "h", .u.task_put = {.scope = "s", .hash = 7, .seq = 1, .open = true}},
      {.type = RP_OP_BLOB_PUT, .session_id = "h", .u.blob.row = &blob},
      {.type = RP_OP_BLOB_SET, .session_id = "h", .u.blob.row = &blob},
      {.type = RP_OP_BLOB_DELETE, .session_id = "h", .u.blob.row = &blob},
      {.type = RP_OP_SESSION_DELETE, .session_id = "h"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(tries); i++) {
    for (int by_ref = 0; by_ref < 2; by_ref++) {
      tries[i].session_ref = by_ref ? ref : 0;
      assert_int_equal(suite_op(f, &tries[i]), RP_E_SESSION_NOT_FOUND);
    }
  }
  struct rp__op show = op_set("h", RP_SET_SHOWN);
  show.copying = true;
  assert_int_equal(suite_op(f, &show), 0);
  struct rp__session_row shown = suite_row(f, "h");
  assert_int_equal(shown.last_seq, 1);
  assert_int_equal(shown.epoch, 1);
  tries[0].session_ref = ref;
  assert_int_equal(suite_op(f, &tries[0]), 0);
  /* A copier that comes late deletes nothing that was shown, and no copy but its own. */
  struct rp__op late = {.type = RP_OP_SESSION_DELETE, .session_ref = ref, .session_id = "h", .copying = true};
  assert_int_equal(suite_op(f, &late), RP_E_SESSION_NOT_FOUND);
  struct rp__op gone = {.type = RP_OP_SESSION_DELETE, .session_id = "h"};
  assert_int_equal(suite_op(f, &gone), 0);
  put = op_put(&row);
  assert_int_equal(suite_op(f, &put), 0);
  assert_int_equal(suite_op(f, &late), RP_E_SESSION_NOT_FOUND);
  late.session_ref = put.ret.ref;
  assert_int_equal(suite_op(f, &late), 0);
}

static const char *listed(struct suite *f, struct rp__session_filter filter)
{
  static struct ids ids;
  ids = (struct ids){0};
  assert_int_equal(f->s->ops->session_list(f->s, &filter, ids_session, &ids, &f->err), 0);
  return ids.text;
}

static void lists_filter_and_page(void **state)
{
  struct suite *f = *state;
  put(f, "a", "s", NULL);
  put(f, "b", "t", NULL);
  put(f, "c", "s", NULL);
  put(f, "d", "s", NULL);
  end(f, "c");
  assert_string_equal(listed(f, (struct rp__session_filter){0}), "d c b a ");
  assert_string_equal(listed(f, (struct rp__session_filter){.scope = "s"}), "d c a ");
  assert_string_equal(listed(f, (struct rp__session_filter){.scope = "s", .limit = 2}), "d c ");
  assert_string_equal(listed(f, (struct rp__session_filter){.scope = "s", .limit = 2, .cursor = "c"}), "a ");
  assert_string_equal(listed(f, (struct rp__session_filter){.cursor = "a"}), "");
  assert_string_equal(listed(f, (struct rp__session_filter){.status = "closed"}), "c ");
  assert_string_equal(listed(f, (struct rp__session_filter){.status = "created", .scope = "s"}), "d a ");
  assert_string_equal(listed(f, (struct rp__session_filter){.status = "closed|created", .scope = "s"}), "d c a ");
  struct rp__session_filter none = {.status = "closed|asleep"};
  assert_int_equal(f->s->ops->session_list(f->s, &none, ids_session, &(struct ids){0}, &f->err), RP_E_USAGE);
  struct rp__new_event ev = event_new("message", "{}");
  struct rp__op op = op_append("b", &ev, 1);
  op.now_ms = NOW + 100;
  assert_int_equal(suite_op(f, &op), 0);
  assert_string_equal(listed(f, (struct rp__session_filter){.since_ms = NOW + 1}), "b ");
  struct ids ids = {0};
  struct rp__session_filter bad = {.status = "sleepy"};
  assert_int_equal(f->s->ops->session_list(f->s, &bad, ids_session, &ids, &f->err), RP_E_USAGE);
  assert_string_equal(f->err.field, "status");
  bad = (struct rp__session_filter){.cursor = "nobody"};
  assert_int_equal(f->s->ops->session_list(f->s, &bad, ids_session, &ids, &f->err), RP_E_SESSION_NOT_FOUND);
  ids.stop_after = 2;
  assert_int_equal(f->s->ops->session_list(f->s, NULL, ids_session, &ids, &f->err), 77);
  assert_string_equal(ids.text, "d c ");
}

/* O-06: what was in use last is what people look for. */
static void lists_by_activity(void **state)
{
  struct suite *f = *state;
  static const struct {
    const char *id;
    int64_t later;
  } said[] = {{"a", 300}, {"c", 100}, {"b", 200}};
  put(f, "a", "s", NULL);
  put(f, "b", "t", NULL);
  put(f, "c", "s", NULL);
  put(f, "d", "s", NULL);
  put(f, "e", "s", NULL);
  for (size_t i = 0; i < RP_ARRAY_SIZE(said); i++) {
    struct rp__new_event ev = event_new("message", "{}");
    struct rp__op op = op_append(said[i].id, &ev, 1);
    op.now_ms = NOW + said[i].later;
    assert_int_equal(suite_op(f, &op), 0);
  }
  end(f, "d");
  assert_string_equal(listed(f, (struct rp__session_filter){0}), "e d c b a ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true}), "a b c e d ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .limit = 2}), "a b ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .limit = 2, .cursor = "b"}), "c e ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .cursor = "e"}), "d ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .scope = "s"}), "a c e d ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .status = "closed"}), "d ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .since_ms = NOW + 150}), "a b ");
  assert_string_equal(listed(f, (struct rp__session_filter){.by_activity = true, .trashed = true}), "");
  struct ids ids = {.stop_after = 2};
  struct rp__session_filter active = {.by_activity = true};
  assert_int_equal(f->s->ops->session_list(f->s, &active, ids_session, &ids, &f->err), 77);
  assert_string_equal(ids.text, "a b ");
}

static void fifty_unless_told_otherwise(void **state)
{
  struct suite *f = *state;
  struct ids ids = {0};
  for (int i = 0; i < 150; i++) {
    char id[16];
    snprintf(id, sizeof id, "s%03d", i);
    put(f, id, "s", NULL);
  }
  assert_int_equal(f->s->ops->session_list(f->s, NULL, ids_session, &ids, &f->err), 0);
  assert_int_equal(ids.n, 50);
  ids = (struct ids){0};
  struct rp__session_filter all = {.limit = 1000};
  assert_int_equal(f->s->ops->session_list(f->s, &all, ids_session, &ids, &f->err), 0);
  assert_int_equal(ids.n, 150);
  assert_memory_equal(ids.text, "s149 s148 ", 10);
}

struct seen {
  int64_t n, last, stop_at;
  struct suite *f; /* to call the store from within */
};

static int event_seen(void *ctx, const struct rp__event_row *row)
{
  struct seen *s = ctx;
  char want[64];
  s->n++;
  assert_true(s->last == 0 || row->seq == s->last + 1);
  s->last = row->seq;
  snprintf(want, sizeof want, "{\"n\":%lld}", (long long)row->seq);
  assert_int_equal(row->body_len, strlen(want));
  assert_memory_equal(row->body, want, row->body_len);
  if (s->f) {
    struct rp__session_row again = suite_row(s->f, "a");
    assert_int_equal(again.last_seq >= row->seq, 1);
  }
  return row->seq == s->stop_at ? 99 : 0;
}

static void events_come_in_pages(void **state)
{
  struct suite *f = *state;
  int64_t ref = suite_put(f, "a");
  enum { N = 700 };
  char body[N][32];
  struct rp__new_event ev[N];
  for (int i = 0; i < N; i++) {
    snprintf(body[i], sizeof body[i], "{\"n\":%d}", i + 1);
    ev[i] = event_new("x-n", body[i]);
  }
  struct rp__op op = op_append("a", ev, N);
  assert_int_equal(suite_op(f, &op), 0);

  struct rp__event_range r = {.session_ref = ref, .session_id = "a"};
  struct seen s = {.f = f};
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_seen, &s, &f->err), 0);
  assert_int_equal(s.n, N);
  r = (struct rp__event_range){.session_ref = ref, .after = 300, .limit = 300};
  s = (struct seen){0};
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_seen, &s, &f->err), 0);
  assert_int_equal(s.n, 300);
  assert_int_equal(s.last, 600);
  r = (struct rp__event_range){.session_ref = ref, .after = 0, .max_bytes = 20};
  s = (struct seen){0};
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_seen, &s, &f->err), 0);
  assert_int_equal(s.n, 3); /* 7 bytes each: the third passes 20 */
  r = (struct rp__event_range){.session_ref = ref};
  s = (struct seen){.stop_at = 257};
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_seen, &s, &f->err), 99);
  assert_int_equal(s.n, 257);
  r = (struct rp__event_range){.session_ref = ref, .after = N};
  s = (struct seen){0};
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_seen, &s, &f->err), 0);
  assert_int_equal(s.n, 0);
  r = (struct rp__event_range){.session_ref = ref + 5, .session_id = "gone"};
  assert_int_equal(f->s->ops->event_list(f->s, &r, event_seen, &s, &f->err), RP_E_SESSION_NOT_FOUND);
}

static void stats_count(void **state)
{
  struct suite *f = *state;
  struct rp__store_stats stats;
  put(f, "a", "s", NULL);
  put(f, "b", "s", NULL);
  suite_lease(f, "a");
  suite_say(f, "a", "one");
  end(f, "b");
  assert_int_equal(f->s->ops->stats(f->s, &stats, &f->err), 0);
  assert_int_equal(stats.sessions[RP_STATUS_ACTIVE], 1);
  assert_int_equal(stats.sessions[RP_STATUS_CLOSED], 1);
  assert_int_equal(stats.events, 1);
  assert_true(stats.event_bytes > 10);
  assert_int_equal(stats.runs_open, 1);
}

static int events_add(void *ctx, const struct rp__event_row *row)
{
  snprintf((char *)ctx + strlen(ctx), 200 - strlen(ctx), "%lld:%s ", (long long)row->seq, row->kind);
  return row->seq == 3 ? 77 : 0;
}

/* In their order, each with its own result: one that fails keeps none from being made. */
static void several_reads_in_one(void **state)
{
  struct suite *f = *state;
  struct rp__session_row found = {0}, missing = {0};
  struct rp__scope_row scope = {.starts = 99};
  struct rp__task_row task;
  struct rp__record_row record = {0};
  bool known = true;
  char events[200] = "", more[200] = "";
  int64_t ref = suite_put(f, "a");
  for (int i = 0; i < 4; i++) suite_say(f, "a", "hello");
  struct rp__read reads[] = {
      {.type = RP_READ_SESSION, .u.session = {.how = RP_FIND_ID, .what = "nobody", .ret = &missing}},
      {.type = RP_READ_SESSION, .u.session = {.how = RP_FIND_ID, .what = "a", .ret = &found}},
      {.type = RP_READ_SCOPE, .u.scope = {"s", &scope}},
      {.type = RP_READ_EVENTS,
       .ctx = events,
       .u.events = {.range = {.session_ref = ref, .session_id = "a", .limit = 2}, .fn = events_add}},
      {.type = RP_READ_EVENTS,
       .ctx = more,
       .u.events = {.range = {.session_ref = ref, .session_id = "a", .after = 1}, .fn = events_add}},
      {.type = RP_READ_TASK, .u.task = {"s", 1, &task, &known}},
      {.type = RP_READ_RECORD, .u.record = {ref, &record}},
  };
  assert_int_equal(f->s->ops->read(f->s, reads, RP_ARRAY_SIZE(reads), &f->err), 0);
  assert_int_equal(reads[0].rc, RP_E_SESSION_NOT_FOUND);
  assert_true(reads[0].err.message[0]);
  assert_int_equal(reads[1].rc, 0);
  assert_int_equal(found.ref, ref);
  assert_int_equal(reads[2].rc, 0);
  assert_int_equal(scope.starts, 0);
  assert_string_equal(events, "1:message 2:message ");
  assert_int_equal(reads[4].rc, 77); /* the callback's word */
  assert_string_equal(more, "2:message 3:message ");
  assert_int_equal(reads[5].rc, 0);
  assert_false(known);
  assert_int_equal(reads[6].rc, RP_E_RECORD_NOT_FOUND);
  rp__session_row_done(&found);
}

const struct CMUnitTest list_tests[] = {
    SUITE_TEST(several_reads_in_one),
    SUITE_TEST(by_id_and_prefix),
    SUITE_TEST(by_number),
    SUITE_TEST(by_key_the_open_one_first),
    SUITE_TEST(a_key_names_one_open_session),
    SUITE_TEST(last_is_the_last_started),
    SUITE_TEST(last_of_a_channel),
    SUITE_TEST(hidden_ones_are_found_by_their_copier_only),
    SUITE_TEST(nobody_but_the_copier_touches_a_hidden_one),
    SUITE_TEST(lists_filter_and_page),
    SUITE_TEST(lists_by_activity),
    SUITE_TEST(fifty_unless_told_otherwise),
    SUITE_TEST(events_come_in_pages),
    SUITE_TEST(stats_count),
};
const size_t list_tests_n = RP_ARRAY_SIZE(list_tests);
