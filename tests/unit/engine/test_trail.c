/* SPDX-License-Identifier: Apache-2.0 */
/* X-12, O-07, L-12: what the log says of each event, that no record of it can be changed unseen, and budgets' warnings.
 */
#include "unit/engine/life.h"

#include "base/buf.h"

static void live(struct rig *r)
{
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  pin(s, "radio", "on channel 3");
  put(s, "task", "{\"task_id\":\"task-7\",\"title\":\"Bridge\",\"stage\":\"build\"}");
  put(s, "learning", "{\"memory_id\":\"m1\",\"content\":\"The antenna is on the roof\",\"confidence\":1.0}");
  r->wall += 30 * MINUTE;
  end(s);
  r->wall += 48 * HOUR;
}

/* Every field of the seed, and what it must say. */
static void test_fields(void **state)
{
  static const struct {
    const char *event, *member, *value; /* value NULL: it is there */
  } rows[] = {
      {"session_captured", "session_id", NULL},
      {"session_captured", "channel", "\"cli\""},
      {"session_captured", "duration_minutes", "30.0"},
      {"session_captured", "pin_count", "1"},
      {"session_captured", "learning_count", "1"},
      {"session_captured", "task_count", "1"},
      {"session_captured", "hot_topic_count", NULL},
      {"session_captured", "crash_recovered", "false"},
      {"session_restored", "session_id", NULL},
      {"session_restored", "new_session_id", NULL},
      {"session_restored", "age_hours", "48.0"},
      {"session_restored", "age", "172800.0"},
      {"session_restored", "from_session_ids", NULL},
      {"session_restored", "pins_inherited", "1"},
      {"session_restored", "relevance_scores", NULL},
      {"session_restored", "pending_task_count", "1"},
      {"session_restored", "cold_start", "false"},
      {"confidence_decay_applied", "memory_id", "\"m1\""},
      {"confidence_decay_applied", "original_confidence", "1.0"},
      {"confidence_decay_applied", "decayed_confidence", NULL},
      {"confidence_decay_applied", "hours_elapsed", "48.0"},
      {"confidence_decay_applied", "excluded", "false"},
      {"pending_task_surfaced", "task_id", "\"task-7\""},
      {"pending_task_surfaced", "title", "\"Bridge\""},
      {"pending_task_surfaced", "stage", "\"build\""},
      {"pending_task_surfaced", "days_pending", "2"},
      {"pending_task_surfaced", "source", "\"pipeline_state\""},
      {"session_chain_traversal", "start_session_id", NULL},
      {"session_chain_traversal", "requested_depth", "5"},
      {"session_chain_traversal", "sessions_found", "2"},
      {"session_chain_traversal", "oldest_session_age_hours", "48.0"},
      {"snapshot_created", "session_id", NULL},
      {"snapshot_created", "bytes", NULL},
  };
  struct rig *r = *state;
  rp_error err = {0};
  char *doc;
  live(r);
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  OK(rp_chain_json(r->e, rp_session_id(s), 5, &doc, &err), err);
  rp_free(doc);
  rp_session_free(s);
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct audit_search x = audited(r, "coder", rows[i].event);
    if (x.n != 1) fail_msg("%s is there %d times", rows[i].event, x.n);
    const char *got = rig_get(x.fields, rows[i].member);
    if (!*got || (rows[i].value && strcmp(got, rows[i].value) != 0))
      fail_msg("%s: %s is '%s'", rows[i].event, rows[i].member, got);
  }
}

/* O-07: a session that is resumed was restored too, and how old it was is told. */
static void test_resumed(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rig_say(s, "hello");
  assert_int_equal(audited(r, "coder", "session_restored").n, 0);
  rp_session_free(s);
  r->wall += 90 * MINUTE;
  s = rig_start(r, "coder", "k", RP_OWNER_SELF);
  assert_string_equal(rp_session_id(s), id);
  struct audit_search x = audited(r, "coder", "session_restored");
  assert_int_equal(x.n, 1);
  assert_string_equal(rig_get(x.fields, "age"), "5400.0");
  assert_string_equal(rig_get(x.fields, "age_hours"), "1.5");
  assert_string_equal(rig_get(x.fields, "resumed"), "true");
  char quoted[RP_ID_MAX + 3];
  snprintf(quoted, sizeof quoted, "\"%s\"", id);
  assert_string_equal(rig_get(x.fields, "session_id"), quoted);
  end(s);
}

/* Two records change places, with their numbers mended; a forger makes one up; one is put in twice. */
static void test_rearranged(void **state)
{
  static const struct {
    const char *sql, *says;
  } rows[] = {
      {"UPDATE rp_audit SET n = CASE n WHEN 2 THEN 1002 ELSE 1003 END WHERE n IN (2, 3);"
       "UPDATE rp_audit SET n = CASE n WHEN 1002 THEN 3 ELSE 2 END WHERE n > 1000",
       "record 2"},
      {"UPDATE rp_audit SET event = 'session_restored' WHERE n = 2", "record 2"},
      {"UPDATE rp_audit SET fields = '{}' WHERE n = 3", "record 3"},
      {"DELETE FROM rp_audit WHERE n = (SELECT max(n) FROM rp_audit)", "record"},
      {"DELETE FROM rp_audit WHERE n = 1", "record 1"},
  };
  struct rig *r = *state;
  rp_error err = {0};
  live(r);
  live(r);
  OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
  sql_run(r, "CREATE TABLE kept AS SELECT * FROM rp_audit");
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    sql_run(r, rows[i].sql);
    int rc = rp_audit_verify(r->e, "coder", NULL, NULL, &err);
    if (rc != RP_E_AUDIT_BROKEN) fail_msg("%s: %d", rows[i].sql, rc);
    if (!strstr(err.message, rows[i].says)) fail_msg("%s: %s", rows[i].sql, err.message);
    sql_run(r, "DELETE FROM rp_audit; INSERT INTO rp_audit SELECT * FROM kept");
    OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
  }
}

/* A secret found later is gone from the log as well, and the chain stays whole. */
static void test_erased(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char first[RP_ID_MAX + 1], second[RP_ID_MAX + 1];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, first);
  put(s, "task", "{\"task_id\":\"task-7\",\"title\":\"rotate horse battery staple\",\"stage\":\"build\"}");
  end(s);
  r->wall += HOUR;
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  id_of(s, second);
  end(s);
  assert_non_null(held_by(r->scratch.dir, "horse battery staple"));
  OK(rp_redact_session(r->e, first, "horse battery staple", false, NULL, NULL, NULL, &err), err);
  OK(rp_redact_session(r->e, second, "horse battery staple", false, NULL, NULL, NULL, &err), err);
  const char *where = held_by(r->scratch.dir, "horse battery staple");
  if (where) fail_msg("%s still holds it", where);
  OK(rp_audit_verify(r->e, NULL, NULL, NULL, &err), err);
  OK(rp_verify(r->e, NULL, false, NULL, NULL, NULL, NULL, &err), err);
}

/* ---- L-12 ---- */

static void on_log(void *ctx, rp_log_level level, const char *text)
{
  if (level == RP_LOG_WARN) rp__buf_printf(ctx, "%s\n", text);
}

/* A warning once, from the share on that is configured; then a refusal; tokens count like money. */
static void test_budget(void **state)
{
  struct rig *r = *state;
  struct rp__buf heard = RP_BUF(65536);
  rp_error err = {0};
  rp_engine *e;
  rp_session *s;
  rp_options o = {.db = r->url, .short_lived = true, .log = on_log, .log_ctx = &heard};
  rp_start_options so = {.scope = "coder", .owner = RP_OWNER_SELF};
  setenv("REPRISE_BUDGET_TOKENS", "1000", 1);
  setenv("REPRISE_BUDGET_WARN", "0.5", 1);
  OK(rp_open(&o, &e, &err), err);
  unsetenv("REPRISE_BUDGET_TOKENS");
  unsetenv("REPRISE_BUDGET_WARN");
  OK(rp_start(e, &so, &s, &err), err);
  put(s, "usage", "{\"tokens_in\":300,\"tokens_out\":100}");
  assert_int_equal(heard.n, 0);
  put(s, "usage", "{\"tokens_in\":100,\"cost_usd\":0.25}");
  put(s, "usage", "{\"tokens_in\":100}");
  assert_int_equal(times(heard.p, "budget"), 1);
  rig_say(s, "still allowed");
  put(s, "usage", "{\"tokens_in\":400}");
  rp_event tool = {.kind = "tool", .body = "{\"call_id\":\"c\",\"name\":\"sh\",\"status\":\"intended\"}"};
  assert_int_equal(rp_append(s, &tool, NULL, NULL, &err), RP_E_BUDGET);
  assert_int_equal(rp_error_lookup(RP_E_BUDGET)->exit_code, 8);
  assert_non_null(strstr(err.message, "1000 tokens"));
  assert_string_equal(state_get(s, "usage.tokens_in"), "900");
  assert_string_equal(state_get(s, "usage.cost_usd"), "0.25");
  end(s);
  rp_close(e);
  rp__buf_done(&heard);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {T(test_fields), T(test_resumed), T(test_rearranged), T(test_erased),
                                     T(test_budget)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
