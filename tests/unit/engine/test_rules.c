/* SPDX-License-Identifier: Apache-2.0 */
/* N-03: the numbers of restoration through the public door, each of them a setting. */
#include "unit/engine/life.h"

#include "base/buf.h"

/* A session with n pins that ends at once. */
static void pinned(struct rig *r, const char *scope, const char *stem, int n, char id[RP_ID_MAX + 1])
{
  rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
  char label[64];
  for (int i = 0; i < n; i++) {
    snprintf(label, sizeof label, "%s-%d", stem, i);
    pin(s, label, "x");
  }
  id_of(s, id);
  end(s);
}

/* How many pins a start in the scope inherits now; nothing is left behind. */
static int64_t inherits(struct rig *r, const char *scope, const char *part)
{
  rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
  char path[64];
  snprintf(path, sizeof path, "inherited.%s", part);
  int64_t n = strtoll(start_get(s, path), NULL, 10);
  rp_session_free(s);
  return n;
}

static int64_t continues(rp_session *s, const char *from, const char *part)
{
  rp_error err = {0};
  char *told;
  OK(rp_continue(s, from, "tester", &told, &err), err);
  int64_t n = strtoll(rig_get(told, part), NULL, 10);
  rp_free(told);
  return n;
}

/* ---- X-06 ---- */

/* Ten pins before: five come, the newest first; the provenance stands beside each. */
static void test_five_of_ten(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  pinned(r, "coder", "p", 10, first);
  r->wall += HOUR;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "inherited.pins"), "5");
  const char *pins = state_get(s, "pins");
  for (int i = 0; i < 10; i++) {
    char label[32];
    snprintf(label, sizeof label, "\"p-%d\"", i);
    assert_int_equal(strstr(pins, label) != NULL, i >= 5);
  }
  assert_int_equal(times(pins, first), 5);
  assert_int_equal(times(pins, "\"inherited_end\":\"2027-01-15T08:00:00.000Z\""), 5);
  end(s);
}

/* Eight present leave two free slots; ten leave none; a label that is present wins. */
static void test_free_slots(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1], label[16];
  pinned(r, "coder", "old", 5, first);
  r->wall += 20 * DAY; /* nothing comes by itself */
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  for (int i = 0; i < 7; i++) {
    snprintf(label, sizeof label, "own-%d", i);
    pin(s, label, "mine");
  }
  pin(s, "old-4", "mine");
  assert_int_equal(continues(s, first, "pins"), 2);
  const char *pins = state_get(s, "pins");
  assert_int_equal(times(pins, "\"label\""), 10);
  assert_int_equal(times(pins, "\"content\":\"mine\""), 8);
  assert_int_equal(continues(s, first, "pins"), 0);
  assert_int_equal(times(state_get(s, "pins"), "\"label\""), 10);
  end(s);
}

/* Two sessions side by side, so that none inherits from the other: the first ends `apart` before the second. */
static void two_sessions(struct rig *r, const char *scope, int64_t apart, void (*first)(rp_session *), int n)
{
  rp_session *a = rig_start(r, scope, "a", RP_OWNER_SELF), *b = rig_start(r, scope, "b", RP_OWNER_SELF);
  char label[32];
  first(a);
  end(a);
  r->wall += apart;
  for (int i = 0; i < n; i++) {
    snprintf(label, sizeof label, "new-%d", i);
    pin(b, label, "x");
  }
  end(b);
}

static void critical_ones(rp_session *s)
{
  pin(s, "law", "CRITICAL: never push to main");
  put(s, "pin", "{\"label\":\"rule\",\"content\":\"ask first\",\"importance\":\"critical\"}");
  pin(s, "uncritical", "whatever");
}

static void plain_one(rp_session *s)
{
  pin(s, "older", "x");
}

/* CRITICAL ones come from any session inside seven days, before others, and by word as by importance. */
static void test_critical(void **state)
{
  struct rig *r = *state;
  two_sessions(r, "coder", 6 * DAY, critical_ones, 9);
  r->wall += HOUR;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "inherited.pins"), "5");
  const char *pins = state_get(s, "pins");
  assert_non_null(strstr(pins, "\"law\""));
  assert_non_null(strstr(pins, "\"rule\""));
  assert_null(strstr(pins, "uncritical"));
  assert_int_equal(times(pins, "\"new-"), 3);
  end(s);
}

/* The label shows where it came from, and stays with its first source over two inheritances. */
static void test_first_source(void **state)
{
  struct rig *r = *state;
  char first[RP_ID_MAX + 1];
  pinned(r, "coder", "p", 1, first);
  r->wall += HOUR;
  end(rig_start(r, "coder", NULL, RP_OWNER_SELF));
  r->wall += HOUR;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  const char *pins = state_get(s, "pins");
  assert_non_null(strstr(pins, first));
  assert_int_equal(times(pins, "\"label\""), 1);
  end(s);
}

/* ---- X-16 ---- */

/* Each threshold alone turns the outcome of the same past. */
static void test_thresholds(void **state)
{
  static const struct {
    const char *name, *value, *part;
    int64_t by_default, then;
  } rows[] = {
      {"REPRISE_LOOKBACK_DAYS", "1", "pins", 5, 0},      {"REPRISE_RELEVANCE_THRESHOLD", "0.9", "pins", 5, 0},
      {"REPRISE_MAX_INHERITED_PINS", "3", "pins", 5, 3}, {"REPRISE_MAX_INHERITED_PINS", "8", "pins", 5, 8},
      {"REPRISE_DECAY_FLOOR", "0.95", "memories", 1, 0}, {"REPRISE_ENABLED", "false", "pins", 5, 0},
  };
  struct rig *r = *state;
  for (size_t i = 0; i < 2 * RP_ARRAY_SIZE(rows); i++) {
    char scope[16], id[RP_ID_MAX + 1];
    bool set = i % 2;
    const char *name = rows[i / 2].name, *value = rows[i / 2].value;
    snprintf(scope, sizeof scope, "s%zu", i);
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    put(s, "learning", "{\"memory_id\":\"m\",\"content\":\"a fact\",\"confidence\":0.9}");
    end(s);
    r->wall += SECOND; /* which was the last one shows in the time */
    pinned(r, scope, "p", 8, id);
    r->wall += 48 * HOUR;
    if (set) reopen_with(r, name, value);
    int64_t n = inherits(r, scope, rows[i / 2].part);
    if (n != (set ? rows[i / 2].then : rows[i / 2].by_default))
      fail_msg("%s %s: %lld", name, set ? value : "unset", (long long)n);
    if (set) rig_reopen(r);
  }
}

/* The best of four sessions contribute, as many as max_sessions says. */
static void test_max_sessions(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  char *doc;
  for (int i = 0; i < 5; i++) {
    pinned(r, "coder", "p", 1, id);
    r->wall += HOUR;
  }
  rp_brief_options o = {.scope = "coder", .explain = true};
  for (int max = 1; max <= 4; max += 3) {
    char value[8];
    snprintf(value, sizeof value, "%d", max);
    reopen_with(r, "REPRISE_MAX_SESSIONS", value);
    OK(rp_brief_scope(r->e, &o, &doc, &err), err);
    assert_int_equal(times(doc, "\"verdict\":\"restored\""), max);
    assert_int_equal(times(doc, "\"verdict\":\"beyond_limit\""), 5 - max);
    rp_free(doc);
  }
}

/* pin_threshold: another restored session's pins come only from that score on: here .4 · (1 − 24/168) = .343. */
static void test_pin_threshold(void **state)
{
  struct rig *r = *state;
  for (int i = 0; i < 2; i++) {
    char scope[8];
    snprintf(scope, sizeof scope, "s%d", i);
    two_sessions(r, scope, DAY, plain_one, 1);
    reopen_with(r, "REPRISE_PIN_THRESHOLD", i ? "0.3" : "0.4");
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    assert_string_equal(start_get(s, "inherited.pins"), i ? "2" : "1");
    assert_int_equal(strstr(state_get(s, "pins"), "older") != NULL, i);
    rp_session_free(s);
  }
}

/* Restored, but below pin_threshold, and from critical_days on critical no more. */
static void test_critical_days(void **state)
{
  struct rig *r = *state;
  for (int i = 0; i < 2; i++) {
    char scope[8];
    snprintf(scope, sizeof scope, "s%d", i);
    two_sessions(r, scope, 3 * DAY, critical_ones, 1);
    reopen_with(r, "REPRISE_CRITICAL_DAYS", i ? "4" : "2");
    rp_session *s = rig_start(r, scope, NULL, RP_OWNER_SELF);
    assert_string_equal(start_get(s, "inherited.pins"), i ? "3" : "1");
    assert_int_equal(strstr(state_get(s, "pins"), "law") != NULL, i);
    rp_session_free(s);
  }
}

static void test_decay_rate(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  put(s, "learning", "{\"memory_id\":\"m\",\"content\":\"a fact\",\"confidence\":1}");
  put(s, "task", "{\"task_id\":\"task-1\",\"title\":\"Half\",\"stage\":\"build\"}");
  end(s);
  r->wall += 84 * HOUR;
  reopen_with(r, "REPRISE_DECAY_RATE", "0.8");
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  const char *at = strstr(state_get(s, "learnings"), "\"confidence\":");
  if (!at) fail_msg("nothing was inherited: %s", rp_start_json(s));
  assert_float_equal((float)strtod(at + strlen("\"confidence\":"), NULL), 0.6f, 1e-6f); /* 1 − 84/168 · .8 */
  rp_session_free(s);
}

/* per_channel: continuity inside one channel only. */
static void test_per_channel(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *s;
  rp_start_options o = {.scope = "coder", .channel = "slack", .owner = RP_OWNER_SELF};
  reopen_with(r, "REPRISE_PER_CHANNEL", "true");
  OK(rp_start(r->e, &o, &s, &err), err);
  pin(s, "where", "in slack");
  end(s);
  r->wall += HOUR;
  assert_int_equal(inherits(r, "coder", "pins"), 0);
  OK(rp_start(r->e, &o, &s, &err), err);
  assert_string_equal(start_get(s, "inherited.pins"), "1");
  end(s);
}

static void test_brief_bytes(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *doc, body[160];
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  for (int i = 0; i < 60; i++) {
    snprintf(body, sizeof body, "{\"task_id\":\"task-%d\",\"title\":\"A title of some length %d\",\"stage\":\"build\"}",
             i, i);
    put(s, "task", body);
  }
  end(s);
  r->wall += HOUR;
  rp_brief_options o = {.scope = "coder"};
  size_t lengths[2];
  for (int i = 0; i < 2; i++) {
    reopen_with(r, "REPRISE_BRIEF_BYTES", i ? "8192" : "600");
    OK(rp_brief_scope(r->e, &o, &doc, &err), err);
    lengths[i] = strlen(rig_get(doc, "brief"));
    rp_free(doc);
  }
  assert_in_range(lengths[0], 100, 700);
  assert_true(lengths[1] > 2000);
}

struct lines {
  struct rp__buf text;
};

static void on_log(void *ctx, rp_log_level level, const char *text)
{
  struct lines *l = ctx;
  if (level != RP_LOG_DEBUG) return;
  rp__buf_str(&l->text, text);
  rp__buf_char(&l->text, '\n');
}

static int64_t fixed_wall(void *ctx)
{
  return ((struct rig *)ctx)->wall;
}

static int64_t no_boot(void *ctx)
{
  (void)ctx;
  return 0;
}

/* Both names explain every decision to whoever listens. */
static void test_debug(void **state)
{
  static const char *const names[] = {"REPRISE_DEBUG", "CORTEX_SESSION_DEBUG"};
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  pinned(r, "coder", "p", 1, id);
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct lines l = {.text = RP_BUF(1 << 20)};
    rp_clock clock = {fixed_wall, no_boot, r};
    rp_options o = {.db = r->url, .clock = &clock, .short_lived = true, .log = on_log, .log_ctx = &l};
    rp_start_options so = {.scope = "coder", .owner = RP_OWNER_SELF};
    rp_engine *e;
    rp_session *s;
    rp_error err = {0};
    setenv(names[i], "1", 1);
    OK(rp_open(&o, &e, &err), err);
    unsetenv(names[i]);
    OK(rp_start(e, &so, &s, &err), err);
    rp_session_free(s);
    rp_close(e);
    assert_non_null(l.text.p);
    assert_non_null(strstr(l.text.p, id));
    assert_non_null(strstr(l.text.p, "restored"));
    assert_non_null(strstr(l.text.p, "p-0"));
    rp__buf_done(&l.text);
  }
}

/* ---- clocks ---- */

/* N-03, X-03, X-05: the clock went back between the runs: nothing has aged, nothing is younger than now. */
static void test_clock_back(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char *doc;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  pin(s, "p", "x");
  put(s, "task", "{\"task_id\":\"task-1\",\"title\":\"Half\",\"stage\":\"build\"}");
  put(s, "learning", "{\"memory_id\":\"m\",\"content\":\"a fact\",\"confidence\":0.8}");
  end(s);
  r->wall -= 5 * HOUR;
  rp_brief_options o = {.scope = "coder", .explain = true};
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  assert_non_null(strstr(doc, "\"hours\":0"));
  assert_non_null(strstr(doc, "\"recency\":1"));
  rp_free(doc);
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(s, "restart.elapsed_seconds"), "0.0");
  assert_string_equal(start_get(s, "inherited.pins"), "1");
  assert_non_null(strstr(start_get(s, "brief"), "0d ago"));
  assert_non_null(strstr(state_get(s, "learnings"), "\"confidence\":0.8"));
  end(s);
}

/* An end in the future (another machine's clock): counts as now, and the plan has no negative hours. */
static void test_future_end(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  char *doc;
  pinned(r, "coder", "p", 1, id);
  sql_run(r, "UPDATE rp_recall SET ended_at = ended_at + 864000000; UPDATE rp_records SET sum = NULL");
  r->wall += HOUR;
  rp_brief_options o = {.scope = "coder", .explain = true};
  OK(rp_brief_scope(r->e, &o, &doc, &err), err);
  assert_null(strstr(doc, "\"hours\":-"));
  assert_non_null(strstr(doc, "\"verdict\":\"restored\""));
  rp_free(doc);
  assert_int_equal(inherits(r, "coder", "pins"), 1);
}

/* A chain with a loop is walked once, by a start as by a question. */
static void test_loop(void **state)
{
  struct rig *r = *state;
  char a[RP_ID_MAX + 1], b[RP_ID_MAX + 1], sql[512], *doc;
  rp_error err = {0};
  pinned(r, "coder", "a", 1, a);
  r->wall += HOUR;
  pinned(r, "coder", "b", 1, b);
  snprintf(sql, sizeof sql, "UPDATE rp_sessions SET previous_id = '%s', continued_by = '%s' WHERE id = '%s'", b, b, a);
  sql_run(r, sql);
  snprintf(sql, sizeof sql, "UPDATE rp_sessions SET previous_id = '%s', continued_by = '%s' WHERE id = '%s'", b, b, b);
  OK(rp_chain_json(r->e, a, 50, &doc, &err), err);
  assert_int_equal(times(doc, "\"session_id\""), 2);
  rp_free(doc);
  sql_run(r, sql); /* its own predecessor */
  OK(rp_chain_json(r->e, b, 50, &doc, &err), err);
  assert_int_equal(times(doc, "\"session_id\""), 1);
  rp_free(doc);
  r->wall += HOUR;
  assert_int_equal(inherits(r, "coder", "pins"), 2);
}

/* ---- X-17 ---- */

static int on_memory(void *ctx, const rp_memory_info *m)
{
  rp__buf_printf(ctx, "%s=%.2f;", m->content, m->confidence);
  return 0;
}

static char *memories(struct rig *r, const char *words)
{
  struct rp__buf out = RP_BUF(65536);
  rp_error err = {0};
  OK(rp_memories(r->e, "coder", words, 0, on_memory, &out, &err), err);
  char *text = rp__buf_take(&out);
  return text ? text : strdup("");
}

/* Added with a confidence, found by words and ranked with it, changed, forgotten; the session keeps its own list. */
static void test_memories(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char weak[RP_ID_MAX + 1], strong[RP_ID_MAX + 1], *found;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  OK(rp_remember(s, "The radio is blue", 0.4, "hardware,colour", weak, &err), err);
  OK(rp_remember(s, "The radio is heavy", 0.9, NULL, strong, &err), err);
  OK(rp_remember(s, "Tea at five", 0.7, NULL, NULL, &err), err);
  found = memories(r, "radio");
  assert_string_equal(found, "The radio is heavy=0.90;The radio is blue=0.40;");
  free(found);
  OK(rp_memory_confidence(s, weak, 0.95, "seen twice", &err), err);
  found = memories(r, "radio");
  assert_string_equal(found, "The radio is blue=0.95;The radio is heavy=0.90;");
  free(found);
  assert_non_null(strstr(state_get(s, "confidence_updates"), "seen twice"));
  OK(rp_memory_forget(r->e, "coder", strong, &err), err);
  assert_int_equal(rp_memory_forget(r->e, "coder", strong, &err), RP_E_MEMORY_NOT_FOUND);
  assert_int_equal(rp_remember(s, "x", 1.5, NULL, NULL, &err), RP_E_USAGE);
  found = memories(r, NULL);
  assert_string_equal(found, "The radio is blue=0.95;Tea at five=0.70;");
  free(found);
  end(s);
}

/* The working memory of the seed's tool: pin, view, unpin, and ten of them. */
static void test_working_memory(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  pin(s, "a", "one");
  pin(s, "b", "two");
  assert_int_equal(times(state_get(s, "pins"), "\"label\""), 2);
  put(s, "unpin", "{\"label\":\"a\"}");
  assert_null(strstr(state_get(s, "pins"), "\"one\""));
  put(s, "unpin", "{\"label\":\"a\"}"); /* not there: nothing happens */
  pin(s, "b", "three");
  assert_non_null(strstr(state_get(s, "pins"), "\"three\""));
  end(s);
}

/* restoring twice adds nothing, whoever repeats it: the same start, and a resumed session. */
static void test_idempotent(void **state)
{
  struct rig *r = *state;
  char id[RP_ID_MAX + 1];
  pinned(r, "coder", "p", 3, id);
  r->wall += HOUR;
  rp_session *s = rig_start(r, "coder", "cwd", RP_OWNER_SELF);
  char *first = rig_state(s, -1);
  assert_int_equal(times(first, "\"inherited_from\":\""), 3);
  free(first);
  rp_session *again = rig_start(r, "coder", "cwd", RP_OWNER_SELF);
  assert_string_equal(start_get(again, "inherited.pins"), "0");
  rp_session_free(again);
  rp_session_free(s);
  r->wall += MINUTE;
  s = rig_start(r, "coder", "cwd", RP_OWNER_SELF); /* resumed after a crash */
  assert_string_equal(start_get(s, "resumed"), "true");
  assert_string_equal(start_get(s, "inherited.pins"), "0");
  assert_int_equal(times(state_get(s, "pins"), "\"inherited_from\":\""), 3);
  assert_int_equal(audited(r, "coder", "session_restored").n, 2); /* the start and the resume, once each */
  end(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      T(test_five_of_ten),  T(test_free_slots),     T(test_critical),      T(test_first_source), T(test_thresholds),
      T(test_max_sessions), T(test_pin_threshold),  T(test_critical_days), T(test_decay_rate),   T(test_per_channel),
      T(test_brief_bytes),  T(test_debug),          T(test_clock_back),    T(test_future_end),   T(test_loop),
      T(test_memories),     T(test_working_memory), T(test_idempotent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
