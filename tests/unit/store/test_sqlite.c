/* SPDX-License-Identifier: Apache-2.0 */
/* What only this backend can get wrong: durability, damage, full text, the log, several handles. */
#include "store_test.h"

/* B-01. */
static void durability_is_what_was_asked_for(void **state)
{
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(rp__sq_synchronous(b->s), 1);
  assert_int_equal(say_in(b->s, "a", "x", RP_DISK, NULL, &b->err), 0);
  assert_int_equal(rp__sq_synchronous(b->s), 2);
  assert_int_equal(say_in(b->s, "a", "x", RP_OS, NULL, &b->err), 0);
  assert_int_equal(rp__sq_synchronous(b->s), 1);

  struct rp__new_event ev = {.kind = "message", .body = "{}", .body_len = 2};
  struct rp__op op[2] = {{.type = RP_OP_APPEND, .session_id = "a", .u.append = {.events = &ev, .n = 1, .expect = -1}}};
  op[1] = op[0];
  struct rp__txn t[2] = {{.ops = &op[0], .n = 1, .durability = RP_OS}, {.ops = &op[1], .n = 1, .durability = RP_DISK}};
  struct rp__txn *group[2] = {&t[0], &t[1]};
  assert_int_equal(b->s->ops->commit(b->s, group, 2, &b->err), 0);
  assert_int_equal(rp__sq_synchronous(b->s), 2);
}

/* The first was stored as `os`; acknowledging it again as `disk` must bring it there. */
static void a_repeat_is_as_durable_as_it_says(void **state)
{
  struct box *b = *state;
  static const char flushes[] = "SELECT coalesce((SELECT value FROM rp_meta WHERE name = 'flushes'), 0)";
  struct rp__new_event ev = {.kind = "message", .body = "{}", .body_len = 2};
  struct rp__op op = {.type = RP_OP_APPEND,
                      .session_id = "a",
                      .u.append = {.events = &ev, .n = 1, .expect = -1, .idempotency_key = "k"}};
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(raw_int(b->path, flushes), 0);
  assert_int_equal(commit_as(b->s, &op, RP_DISK, &b->err), 0);
  assert_true(op.ret.repeated);
  assert_int_equal(raw_int(b->path, flushes), 1);
}

/* Two handles are what two processes have: nothing is known but what the row says. */
static void seqs_come_from_the_row(void **state)
{
  struct box *b = *state;
  struct rp__store_options o = {.path = b->path};
  struct rp__store *other;
  struct rp__session_row row;
  int64_t seq;
  box_open(b);
  assert_int_equal(rp__store_sqlite_open(&o, &other, &b->err), 0);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  for (int i = 1; i <= 20; i += 2) {
    assert_int_equal(say_in(b->s, "a", "x", RP_OS, &seq, &b->err), 0);
    assert_int_equal(seq, i);
    assert_int_equal(say_in(other, "a", "y", RP_OS, &seq, &b->err), 0);
    assert_int_equal(seq, i + 1);
  }
  assert_int_equal(put_in(other, "b", NULL, &b->err), 0);
  assert_int_equal(b->s->ops->session_find(b->s, RP_FIND_LAST, NULL, NULL, &row, &b->err), 0);
  assert_string_equal(row.id, "b");
  struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
  assert_int_equal(commit_as(other, &del, RP_OS, &b->err), 0);
  assert_int_equal(say_in(b->s, "a", "x", RP_OS, NULL, &b->err), RP_E_SESSION_NOT_FOUND);
  other->ops->close(other);
}

struct seen {
  int n, damaged;
};

static int event_seen(void *ctx, const struct rp__event_row *row)
{
  struct seen *s = ctx;
  s->n++;
  s->damaged += row->damaged;
  return 0;
}

static int events_read(struct box *b, int64_t ref, bool tolerant, struct seen *ret)
{
  struct rp__event_range r = {.session_ref = ref, .session_id = "a", .tolerant = tolerant};
  *ret = (struct seen){0};
  return b->s->ops->event_list(b->s, &r, event_seen, ret, &b->err);
}

static void damage_is_named(void **state)
{
  static const struct {
    const char *sql, *message;
    int left, damaged;
  } cases[] = {
      {"DELETE FROM rp_events WHERE seq = 3", "event 3 is missing", 9, 0},
      {"DELETE FROM rp_events WHERE seq = 10", "event 10 is missing", 9, 0},
      {"DELETE FROM rp_events WHERE seq = 1", "event 1 is missing", 9, 0},
      {"UPDATE rp_events SET body = replace(body, 'word', 'wOrd') WHERE seq = 4", "event 4 is damaged", 10, 1},
      {"UPDATE rp_events SET kind = 'note' WHERE seq = 5", "event 5 is damaged", 10, 1},
      {"UPDATE rp_events SET at = at + 1 WHERE seq = 6", "event 6 is damaged", 10, 1},
      {"UPDATE rp_events SET sum = 0 WHERE seq = 7", "event 7 is damaged", 10, 1},
      {"UPDATE rp_events SET body = x'00ff' WHERE seq = 8", "event 8 is damaged", 10, 1},
  };
  struct box *b = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct seen seen;
    int64_t ref;
    box_open(b);
    assert_int_equal(put_in(b->s, "a", &ref, &b->err), 0);
    for (int j = 0; j < 10; j++) assert_int_equal(say_in(b->s, "a", "word", RP_OS, NULL, &b->err), 0);
    raw_run(b->path, cases[i].sql);
    assert_int_equal(events_read(b, ref, false, &seen), RP_E_CORRUPT);
    assert_non_null(strstr(b->err.message, cases[i].message));
    assert_non_null(strstr(b->err.message, "session a"));
    assert_int_equal(events_read(b, ref, true, &seen), 0);
    assert_int_equal(seen.n, cases[i].left);
    assert_int_equal(seen.damaged, cases[i].damaged);
    box_close(b);
    scratch_empty(&b->dir);
  }
}

/* Repair: a hole is filled, a damaged event replaced, and the index forgets what it can't know. */
static void damage_is_repaired(void **state)
{
  struct box *b = *state;
  struct rp__new_event ev = {.kind = "x-lost", .body = "{\"t\":\"lost\"}", .body_len = 12, .at_ms = NOW};
  struct seen seen;
  int64_t ref;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", &ref, &b->err), 0);
  for (int j = 0; j < 5; j++) assert_int_equal(say_in(b->s, "a", "word", RP_OS, NULL, &b->err), 0);
  assert_int_equal(hits_in(b->s, "word"), 5);
  raw_run(b->path,
          "DELETE FROM rp_events WHERE seq = 2; UPDATE rp_events SET body = '{\"x\":\"other\"}' WHERE seq = 3");
  struct rp__op op = {.type = RP_OP_EVENT_REPLACE, .session_id = "a", .u.event_replace = {.seq = 2, .event = &ev}};
  assert_int_equal(commit_as(b->s, &op, RP_DISK, &b->err), 0);
  op.u.event_replace.seq = 3;
  assert_int_equal(commit_as(b->s, &op, RP_DISK, &b->err), 0);
  assert_int_equal(events_read(b, ref, false, &seen), 0);
  assert_int_equal(seen.n, 5);
  assert_int_equal(hits_in(b->s, "word"), 3);
  assert_int_equal(hits_in(b->s, "lost"), 2);
  assert_int_equal(hits_in(b->s, "other"), 0);
}

static void counters_that_lie_do_not_harm_others(void **state)
{
  struct box *b = *state;
  struct rp__new_event ev = {.kind = "message", .body = "{}", .body_len = 2};
  struct rp__op op[2] = {{.type = RP_OP_APPEND, .session_id = "a", .u.append = {.events = &ev, .n = 1, .expect = -1}},
                         {.type = RP_OP_APPEND, .session_id = "b", .u.append = {.events = &ev, .n = 1, .expect = -1}}};
  struct rp__txn t[2] = {{.ops = &op[0], .n = 1, .durability = RP_OS}, {.ops = &op[1], .n = 1, .durability = RP_OS}};
  struct rp__txn *group[2] = {&t[0], &t[1]};
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(put_in(b->s, "b", NULL, &b->err), 0);
  assert_int_equal(say_in(b->s, "a", "x", RP_OS, NULL, &b->err), 0);
  raw_run(b->path, "UPDATE rp_heads SET last_seq = 0 WHERE session = 1");
  assert_int_equal(b->s->ops->commit(b->s, group, 2, &b->err), 0);
  assert_int_equal(t[0].rc, RP_E_CORRUPT);
  assert_int_equal(t[1].rc, 0);
  struct rp__op set = {.type = RP_OP_SESSION_SET, .session_id = "a", .u.session_set.fields = RP_SET_COUNTERS};
  assert_int_equal(commit_as(b->s, &set, RP_OS, &b->err), 0);
  int64_t seq;
  assert_int_equal(say_in(b->s, "a", "x", RP_OS, &seq, &b->err), 0);
  assert_int_equal(seq, 2);
}

/* B-08: whatever becomes of the index, the next search is right. */
static void full_text_is_rebuilt(void **state)
{
  static const char *const wrongs[] = {
      "DROP TABLE rp_fts",
      "UPDATE rp_meta SET value = 1000000 WHERE name = 'index_at'",
      "DELETE FROM rp_meta WHERE name = 'index_at'",
      "UPDATE rp_meta SET value = -5 WHERE name = 'index_at'",
      "UPDATE rp_meta SET value = 0 WHERE name = 'index_version'",
  };
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  for (int j = 0; j < 600; j++)
    assert_int_equal(say_in(b->s, "a", j % 100 ? "hay" : "needle", RP_OS, NULL, &b->err), 0);
  assert_int_equal(hits_in(b->s, "needle"), 6);
  for (size_t i = 0; i < RP_ARRAY_SIZE(wrongs); i++) {
    raw_run(b->path, wrongs[i]);
    assert_int_equal(say_in(b->s, "a", "needle", RP_OS, NULL, &b->err), 0);
    assert_int_equal(hits_in(b->s, "needle"), 7 + (int)i);
  }
  int64_t left = -1;
  raw_run(b->path, "DROP TABLE rp_fts");
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_INDEX, &left, &b->err), 0);
  assert_true(left > 0 && left < 605); /* a bounded step */
}

/* The text of the last session deleted, its ids given again: no ghost and nothing missed. */
static void ids_given_again_are_indexed_again(void **state)
{
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "keep", NULL, &b->err), 0);
  assert_int_equal(say_in(b->s, "keep", "kept", RP_OS, NULL, &b->err), 0);
  for (int round = 0; round < 3; round++) {
    assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
    for (int j = 0; j < 10; j++)
      assert_int_equal(say_in(b->s, "a", round % 2 ? "odd" : "even", RP_OS, NULL, &b->err), 0);
    assert_int_equal(hits_in(b->s, round % 2 ? "odd" : "even"), 10);
    assert_int_equal(hits_in(b->s, round % 2 ? "even" : "odd"), 0);
    struct rp__op del = {.type = RP_OP_SESSION_DELETE, .session_id = "a"};
    assert_int_equal(commit_as(b->s, &del, RP_OS, &b->err), 0);
    assert_int_equal(hits_in(b->s, "even"), 0);
    assert_int_equal(hits_in(b->s, "kept"), 1);
  }
  assert_int_equal(raw_int(b->path, "SELECT value <= (SELECT max(id) FROM rp_events) FROM rp_meta "
                                    "WHERE name = 'index_at'"),
                   1);
}

struct findings {
  int n, repaired;
  char text[2000];
};

static int finding_note(void *ctx, const rp_finding *f)
{
  struct findings *all = ctx;
  size_t at = strlen(all->text);
  all->n++;
  all->repaired += f->repaired;
  snprintf(all->text + at, sizeof all->text - at, "%s\n", f->what);
  return 0;
}

static struct findings checked(struct box *b, bool repair)
{
  struct findings all = {0};
  assert_int_equal(b->s->ops->check(b->s, repair, finding_note, &all, &b->err), 0);
  return all;
}

static int walnuts(struct box *b)
{
  struct rp__memory_filter filter = {.scope = "s", .words = "walnut"};
  int n = 0;
  assert_int_equal(b->s->ops->memory_list(b->s, &filter, memory_count, &n, &b->err), 0);
  return n;
}

static void structures_are_checked_and_repaired(void **state)
{
  static const struct {
    const char *sql, *message;
  } cases[] = {
      {"DROP INDEX rp_events_seq", "rp_events_seq is missing"},
      {"DROP TABLE rp_clients", "rp_clients is missing"},
      {"DELETE FROM rp_fts_data WHERE id > 10", "full text is damaged"},
      {"UPDATE rp_meta SET value = 1000000 WHERE name = 'index_at'", "full text is ahead"},
      {"DROP TABLE rp_memory_fts", "rp_memory_fts is missing"},
      {"DELETE FROM rp_memory_fts_data WHERE id > 10", "full text of memories is damaged"},
      {"DROP INDEX rp_recall_session", "rp_recall_session is missing"},
      {"DROP VIEW agent_session_states", "agent_session_states is missing"},
      {"UPDATE rp_recall SET n_tasks = 7", "the record of session a counts 7 tasks and has 1"},
      {"INSERT INTO rp_recall VALUES ('s', 1, 'ghost', 77, NULL, 0, 0, ''); INSERT INTO rp_records VALUES"
       " (77, 0, 0, 0, 0, NULL, NULL, 0, NULL, NULL); INSERT INTO session_states (id, start_time, created_at)"
       " VALUES ('ghost', '', '')",
       "the record of session ghost belongs to no session"},
      {"INSERT INTO rp_records VALUES (77, 0, 0, 0, 0, NULL, NULL, 0, NULL, NULL)",
       "the body of a record belongs to no"},
      {"INSERT INTO rp_tasks VALUES ('s', 1, 77, 1, 1, 1)", "words on tasks belong to no session"},
      {"DELETE FROM session_states WHERE id = 'a'", "session_states has lost the record of session a"},
  };
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  assert_int_equal(record_in(b->s, "a", "[]", &b->err), 0);
  assert_int_equal(memory_in(b->s, "m", "walnut", &b->err), 0);
  for (int j = 0; j < 20; j++) assert_int_equal(say_in(b->s, "a", "word", RP_OS, NULL, &b->err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    assert_int_equal(hits_in(b->s, "word"), 20);
    assert_int_equal(checked(b, false).n, 0);
    raw_run(b->path, cases[i].sql);
    struct findings f = checked(b, false);
    if (f.n != 1) print_error("%s\n", f.text);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.repaired, 0);
    assert_non_null(strstr(f.text, cases[i].message));
    f = checked(b, true);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.repaired, 1);
    assert_int_equal(checked(b, false).n, 0);
    assert_int_equal(walnuts(b), 1);
  }
  assert_int_equal(raw_int(b->path, "SELECT count(*) FROM session_states"), 0);
}

/* Every column of a record, wherever it stands, and of what must agree with it. B-08: every word of the index. */
static void altered_rows_are_found_and_repaired(void **state)
{
  static const char other[] = "full text is not that of the journal's events";
  static const char record[] = "the record of session a is damaged",
                    says[] = "session_states says something else of session a";
  static const struct {
    const char *sql, *message;
  } cases[] = {
      {"UPDATE session_states SET hot_topics = '[\"x\"]'", record},
      {"UPDATE session_states SET sop_interactions = '[]x'", record},
      {"UPDATE rp_records SET start_at = start_at + 1", record},
      {"UPDATE rp_records SET created_at = 7", record},
      {"UPDATE rp_records SET updated_at = 7", record},
      {"UPDATE rp_records SET crash_recovered = 1 - crash_recovered", record},
      {"UPDATE rp_records SET previous_id = 'x'", record},
      {"UPDATE rp_records SET body = x'5b5d'", record},
      {"UPDATE rp_records SET sum = sum + 1", record},
      {"UPDATE rp_recall SET ended_at = ended_at + 1", record},
      {"UPDATE rp_recall SET channel = 'x'", record},
      {"UPDATE rp_recall SET flags = flags | 1", record},
      {"UPDATE rp_recall SET topics = x'01000000'", record},
      {"UPDATE session_states SET start_time = 'x'", says},
      {"UPDATE session_states SET end_time = NULL", says},
      {"UPDATE session_states SET channel = 'x'", says},
      {"UPDATE session_states SET previous_session_id = 'x'", says},
      {"UPDATE session_states SET continued_by = 'x'", says},
      {"UPDATE session_states SET crash_recovered = 1", says},
      {"UPDATE rp_recall SET flags = flags | 4", "the recall row of session a"},
      {"INSERT INTO rp_fts (rowid, text) VALUES (3, 'ghost')", other},
      {"INSERT INTO rp_fts (rowid, text) VALUES (99999, 'ghost')", other},
      {"INSERT INTO rp_fts (rp_fts) VALUES ('delete-all')", other},
      {"UPDATE rp_meta SET value = value - 3 WHERE name = 'index_at'", other},
      {"INSERT INTO rp_memory_fts (rowid, text) VALUES (7, 'ghost')", "full text is not that of the memories"},
      {"INSERT INTO rp_memory_fts (rp_memory_fts) VALUES ('delete-all')", "full text is not that of the memories"},
  };
  struct box *b = *state;
  int64_t ref;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", &ref, &b->err), 0);
  assert_int_equal(memory_in(b->s, "m", "walnut", &b->err), 0);
  for (int j = 0; j < 20; j++)
    assert_int_equal(say_in(b->s, "a", "one word, Zwei W\xc3\xb6rter", RP_OS, NULL, &b->err), 0);
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__record_row row = {0};
    assert_int_equal(record_in(b->s, "a", "[]", &b->err), 0);
    assert_int_equal(hits_in(b->s, "worter"), 20);
    struct findings f = checked(b, false);
    if (f.n) fail_msg("before %s: %s", cases[i].sql, f.text);
    raw_run(b->path, cases[i].sql);
    int rc = b->s->ops->record_get(b->s, ref, &row, &b->err);
    rp__record_row_done(&row);
    assert_int_equal(rc, cases[i].message == record ? RP_E_CORRUPT : 0); /* nobody takes it for what was stored */
    f = checked(b, false);
    if (!strstr(f.text, cases[i].message)) fail_msg("%s: %s", cases[i].sql, f.text);
    f = checked(b, true);
    if (f.repaired != f.n) fail_msg("%s: %s", cases[i].sql, f.text);
    f = checked(b, false);
    if (f.n) fail_msg("after %s: %s", cases[i].sql, f.text);
    assert_int_equal(hits_in(b->s, "worter"), 20);
    assert_int_equal(hits_in(b->s, "ghost"), 0);
    assert_int_equal(walnuts(b), 1);
  }
  /* A store that is only read is looked at as closely. */
  raw_run(b->path, "INSERT INTO rp_fts (rowid, text) VALUES (3, 'ghost')");
  box_close(b);
  struct rp__store_options o = {.path = b->path, .read_only = true};
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_non_null(strstr(checked(b, false).text, other));
}

static int memory_state(void *ctx, const struct rp__memory_row *row)
{
  *(int *)ctx = row->damaged ? 2 : 1;
  return 0;
}

/* A memory is more than the store could make again; it is told, marked and neither changed nor counted as sound. */
static void altered_memories_are_found(void **state)
{
  static const char *const cases[] = {
      "content = 'walnux'",
      "confidence = confidence / 2",
      "created_at = created_at + 1",
      "updated_at = 1",
      "session_id = 'x'",
      "categories = '[\"x\"]'",
      "sealed = 1",
      "sum = 0",
  };
  struct box *b = *state;
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct rp__memory_row row = {.id = "m", .scope = "s", .confidence = 0.25};
    struct rp__memory_filter filter = {.scope = "s", .id = "m"};
    struct rp__op set = {.type = RP_OP_MEMORY_SET, .u.memory.row = &row};
    char sql[200];
    int seen = 0;
    box_open(b);
    assert_int_equal(memory_in(b->s, "m", "walnut", &b->err), 0);
    assert_int_equal(commit_as(b->s, &set, RP_OS, &b->err), 0);
    assert_int_equal(checked(b, false).n, 0);
    assert_int_equal(b->s->ops->memory_list(b->s, &filter, memory_state, &seen, &b->err), 0);
    assert_int_equal(seen, 1);
    snprintf(sql, sizeof sql, "UPDATE rp_memories SET %s", cases[i]);
    raw_run(b->path, sql);
    assert_int_equal(b->s->ops->memory_list(b->s, &filter, memory_state, &seen, &b->err), 0);
    assert_int_equal(seen, 2);
    assert_int_equal(commit_as(b->s, &set, RP_OS, &b->err), RP_E_CORRUPT);
    assert_non_null(strstr(checked(b, true).text, "memory m of scope s is damaged"));
    assert_non_null(strstr(checked(b, false).text, "memory m of scope s is damaged"));
    /* Deleted or put again, nothing of it is left in the index. */
    set.type = RP_OP_MEMORY_DELETE;
    if (i % 2)
      assert_int_equal(memory_in(b->s, "m", "hazel", &b->err), 0);
    else
      assert_int_equal(commit_as(b->s, &set, RP_OS, &b->err), 0);
    struct findings f = checked(b, false);
    if (f.n) fail_msg("%s: %s", cases[i], f.text);
    assert_int_equal(walnuts(b), 0);
    /* What is older than sums has none, and is believed. */
    assert_int_equal(memory_in(b->s, "old", "walnut", &b->err), 0);
    raw_run(b->path, "UPDATE rp_memories SET sum = NULL, content = 'walnut' WHERE id = 'old'");
    memcpy(row.id, "old", 4);
    set.type = RP_OP_MEMORY_SET;
    assert_int_equal(commit_as(b->s, &set, RP_OS, &b->err), 0);
    assert_int_equal(checked(b, false).n, 0);
    box_close(b);
    scratch_empty(&b->dir);
  }
}

/* B-08: a hit is what the journal says, whatever the index says and whatever became of the event. */
static void search_shows_what_the_journal_has(void **state)
{
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  for (int j = 0; j < 3; j++) assert_int_equal(say_in(b->s, "a", "otter", RP_OS, NULL, &b->err), 0);
  assert_int_equal(hits_in(b->s, "otter"), 3);
  raw_run(b->path, "UPDATE rp_events SET body = replace(body, 'otter', 'otter hunts badger') WHERE seq = 2");
  assert_int_equal(hits_in(b->s, "otter"), 2);
  raw_run(b->path, "UPDATE rp_events SET flags = 1 WHERE seq = 3");
  assert_int_equal(hits_in(b->s, "otter"), 1);
}

/* Nobody can put a chain right again: what is wrong with it is told, and stays. */
static void chains_are_not_repaired(void **state)
{
  struct box *b = *state;
  struct rp__op op = {.type = RP_OP_AUDIT, .u.audit = {.scope = "s", .event = "hold"}};
  box_open(b);
  for (int i = 0; i < 3; i++) assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  assert_int_equal(checked(b, false).n, 0);
  raw_run(b->path, "DELETE FROM rp_audit WHERE n = 3");
  struct findings f = checked(b, true);
  assert_int_equal(f.n, 1);
  assert_int_equal(f.repaired, 0);
  assert_non_null(strstr(f.text, "the audit log of scope s ends at 2, not at 3"));
  raw_run(b->path, "UPDATE rp_audit_heads SET n = 2");
  assert_non_null(strstr(checked(b, false).text, "ends with another record than its head says"));
  assert_non_null(strstr(checked(b, false).text, "the audit log has lost 1 of 3 records"));
  raw_run(b->path, "DELETE FROM rp_audit; DELETE FROM rp_audit_heads");
  f = checked(b, true);
  assert_int_equal(f.repaired, 0);
  assert_non_null(strstr(f.text, "the audit log has lost 3 of 3 records"));
}

/* ---- the log ---- */

static void grown(void *ctx)
{
  ++*(int *)ctx;
}

static void fill(struct box *b, int64_t bytes)
{
  static char body[1 << 20];
  struct rp__new_event ev[16];
  if (!body[0]) {
    memset(body, 'x', sizeof body);
    memcpy(body, "{\"t\":\"", 6);
    memcpy(body + sizeof body - 2, "\"}", 2);
  }
  for (int64_t done = 0; done < bytes; done += 1 << 20) {
    for (int i = 0; i < 16; i++)
      ev[i] = (struct rp__new_event){.kind = "x-fill", .body = body, .body_len = sizeof body / 16, .sealed = true};
    struct rp__op op = {.type = RP_OP_APPEND, .session_id = "a", .u.append = {.events = ev, .n = 16, .expect = -1}};
    assert_int_equal(commit_as(b->s, &op, RP_OS, &b->err), 0);
  }
}

static void open_counting(struct box *b, int *calls)
{
  struct rp__store_options o = {.path = b->path, .wal_grown = grown, .ctx = calls};
  assert_int_equal(rp__store_sqlite_open(&o, &b->s, &b->err), 0);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
}

static int write_while_reading(void *ctx, const struct rp__event_row *row)
{
  struct box *b = ctx;
  struct rp__store_stats stats;
  if (row->seq > 16) return 0;
  fill(b, 3 << 20);
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_WAL, NULL, &b->err), 0);
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_true(stats.wal_bytes < 2L * RP_SQ_WAL_PAGES * 4096 + (4 << 20));
  return 0;
}

/* A list that takes its time holds nothing open, so the log does not grow. */
static void a_slow_reader_does_not_grow_the_log(void **state)
{
  struct box *b = *state;
  int calls = 0;
  open_counting(b, &calls);
  fill(b, 1 << 20);
  assert_int_equal(calls, 0);
  struct rp__event_range r = {.session_ref = 1, .session_id = "a"};
  assert_int_equal(b->s->ops->event_list(b->s, &r, write_while_reading, b, &b->err), 0);
  assert_true(calls > 0);
}

/* Somebody else's open transaction pins the log; once it ends, the log is begun anew. */
static void the_log_has_a_bound(void **state)
{
  struct box *b = *state;
  struct rp__store_stats stats;
  int64_t left = 0;
  int calls = 0;
  open_counting(b, &calls);
  sqlite3 *db = raw_open(b->path);
  raw_exec(db, "BEGIN; SELECT count(*) FROM rp_events");
  fill(b, RP_SQ_WAL_MAX + (2 << 20));
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_WAL, &left, &b->err), 0);
  raw_exec(db, "COMMIT");
  sqlite3_close(db);
  assert_int_equal(b->s->ops->maintain(b->s, RP_MAINTAIN_WAL, &left, &b->err), 0);
  assert_int_equal(left, 0);
  fill(b, 40 << 20); /* into the same file, from its beginning */
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_true(stats.wal_bytes < RP_SQ_WAL_MAX + (8 << 20));
}

/* Nobody maintains anything: commit sees to it. */
static void the_log_has_a_bound_without_a_keeper(void **state)
{
  struct box *b = *state;
  struct rp__store_stats stats;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  fill(b, 3 * RP_SQ_WAL_MAX);
  assert_int_equal(b->s->ops->stats(b->s, &stats, &b->err), 0);
  assert_true(stats.wal_bytes < RP_SQ_WAL_MAX + (8 << 20));
}

/* Somebody set the file back to a rollback journal: the next open sets that right. */
static void another_journal_mode_is_undone(void **state)
{
  struct box *b = *state;
  box_open(b);
  assert_int_equal(put_in(b->s, "a", NULL, &b->err), 0);
  box_close(b);
  raw_run(b->path, "PRAGMA journal_mode = DELETE");
  box_open(b);
  assert_int_equal(say_in(b->s, "a", "x", RP_OS, NULL, &b->err), 0);
  assert_true(rp__sq_file_bytes(rp__sq(b->s)->wal_path) > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      BOX_TEST(durability_is_what_was_asked_for),
      BOX_TEST(a_repeat_is_as_durable_as_it_says),
      BOX_TEST(seqs_come_from_the_row),
      BOX_TEST(damage_is_named),
      BOX_TEST(damage_is_repaired),
      BOX_TEST(counters_that_lie_do_not_harm_others),
      BOX_TEST(full_text_is_rebuilt),
      BOX_TEST(ids_given_again_are_indexed_again),
      BOX_TEST(structures_are_checked_and_repaired),
      BOX_TEST(altered_rows_are_found_and_repaired),
      BOX_TEST(altered_memories_are_found),
      BOX_TEST(search_shows_what_the_journal_has),
      BOX_TEST(chains_are_not_repaired),
      BOX_TEST(a_slow_reader_does_not_grow_the_log),
      BOX_TEST(the_log_has_a_bound),
      BOX_TEST(the_log_has_a_bound_without_a_keeper),
      BOX_TEST(another_journal_mode_is_undone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
