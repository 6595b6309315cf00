/* SPDX-License-Identifier: Apache-2.0 */
/* N-07, N-14, N-18, L-06, L-13, O-08: whole lives of a session, over restarts, providers and segments. */
#include "unit/engine/life.h"

#include "base/buf.h"
#include "lib/dice.h"

static int robot_setup(void **state)
{
  setenv("REPRISE_TEMPLATE", "robot", 1);
  int rc = rig_setup(state);
  unsetenv("REPRISE_TEMPLATE");
  return rc;
}

/* ---- N-07 ---- */

#define SAID_MAX 400
#define KEPT 50 /* messages that are carried forward (N-06) */

/* What an observer noted beside the robot. */
struct witness {
  char said[SAID_MAX][32];
  int n;
  char person[32], sleep[32];
};

static void random_event(rp_session *s, struct dice *d, struct witness *w)
{
  static const char *const feelings[] = {"pat_level2", "insult", "violence", "abuse", "conversation_reply"};
  static const char *const sleeps[] = {"awake", "falling_asleep", "sleeping", "waking_up"};
  char body[160];
  switch (dice_below(d, 5)) {
  case 0:
  case 1:
    snprintf(w->said[w->n], sizeof w->said[0], "word %d.", w->n);
    snprintf(body, sizeof body, "{\"role\":\"%s\",\"content\":\"%s\"}", w->n % 2 ? "assistant" : "user", w->said[w->n]);
    put(s, "message", body);
    w->n++;
    break;
  case 2:
    snprintf(body, sizeof body, "{\"event\":\"%s\"}", feelings[dice_below(d, RP_ARRAY_SIZE(feelings))]);
    put(s, "emotion", body);
    break;
  case 3:
    snprintf(w->person, sizeof w->person, "\"Ori%d\"", (int)dice_below(d, 9));
    snprintf(body, sizeof body, "{\"name\":%s}", w->person);
    put(s, "person", body);
    break;
  default:
    snprintf(w->sleep, sizeof w->sleep, "\"%s\"", sleeps[dice_below(d, RP_ARRAY_SIZE(sleeps))]);
    snprintf(body, sizeof body, "{\"state\":%s}", w->sleep);
    put(s, "sleep", body);
  }
}

/* The newest KEPT words, in their order and once each. */
static void assert_words(const char *doc, const struct witness *w)
{
  const char *at = doc;
  for (int i = w->n > KEPT ? w->n - KEPT : 0; i < w->n; i++) {
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\"", w->said[i]);
    at = strstr(at, quoted);
    if (!at) fail_msg("'%s' of %d is lost or out of order: %s", w->said[i], w->n, doc);
    assert_int_equal(times(doc, quoted), 1);
  }
}

/* The numbers of the affect in the order they are written, and the names between them. */
static void assert_same_feelings(const char *before, const char *after)
{
  while (*before && *after) {
    char *b_end, *a_end;
    double b = strtod(before, &b_end), a = strtod(after, &a_end);
    if (b_end != before && a_end != after) {
      if (a - b > 1e-6 || b - a > 1e-6) fail_msg("%.9g became %.9g: %s", b, a, after);
      before = b_end;
      after = a_end;
    } else if (*before++ != *after++) {
      fail_msg("feelings differ: '%s' and '%s'", before - 1, after - 1);
    }
  }
  assert_int_equal(*before, *after);
}

static char *affect_of(rp_session *s)
{
  return strdup(state_get(s, "affect"));
}

/*
 * Random events, a random number of restarts in a row (clean ones, crashes, resumed by key or as a successor) without
 * a moment in between: whatever was felt and said before is felt and remembered after.
 */
static void restarts(struct rig *r, const char *key, int in_a_row, int rounds)
{
  struct dice d = dice_new();
  struct witness w = {.n = 0};
  rp_session *s = rig_start(r, "nova", key, RP_OWNER_SELF);
  for (int round = 0; round < rounds; round++) {
    for (int64_t n = dice_below(&d, 8); n >= 0; n--) random_event(s, &d, &w);
    r->wall += dice_below(&d, 20) * SECOND;
    put(s, "x-beat", "{}"); /* a sign of life, so that no time passes between it and the restart */
    char *before = affect_of(s);
    for (int i = 0; i < in_a_row; i++) {
      if (dice_below(&d, 2))
        end(s);
      else
        rp_session_free(s);
      s = rig_start(r, "nova", key, RP_OWNER_SELF);
      assert_string_equal(start_get(s, "restart.elapsed_seconds"), "0.0");
    }
    char *doc = rig_state(s, -1), *after = affect_of(s);
    assert_words(doc, &w);
    if (strcmp(before, "null") != 0) assert_same_feelings(before, after);
    if (w.person[0]) assert_string_equal(rig_get(doc, "presence.last_person"), w.person);
    if (w.sleep[0]) assert_string_equal(rig_get(doc, "presence.sleep"), w.sleep);
    free(before);
    free(after);
    free(doc);
  }
  end(s);
}

static void test_two_restarts(void **state)
{
  restarts(*state, NULL, 2, 12);
}

static void test_ten_restarts(void **state)
{
  restarts(*state, NULL, 10, 4);
}

static void test_ten_resumptions(void **state)
{
  restarts(*state, "robot", 10, 4);
}

/* ---- N-14, N-18 ---- */

/* The data behind GET /api/session: what a start and the session's row know. */
static void test_api_session(void **state)
{
  static const char *const members[] = {"session_id", "total_sessions", "restart.type", "restart.elapsed_seconds"};
  struct rig *r = *state;
  for (int i = 1; i <= 4; i++) {
    char total[8];
    rp_session *s = rig_start(r, "nova", i > 2 ? "again" : NULL, RP_OWNER_SELF);
    snprintf(total, sizeof total, "%d", i);
    assert_string_equal(start_get(s, "total_sessions"),
                        total); /* N-14: starts of the scope, also of one that goes on */
    for (size_t m = 0; m < RP_ARRAY_SIZE(members); m++) assert_string_not_equal(start_get(s, members[m]), "");
    assert_string_equal(start_get(s, "restart.type"), i == 1 ? "\"fresh_start\"" : "\"short_break\"");
    assert_string_equal(start_get(s, "restart.elapsed_seconds"), i == 1 ? "0.0" : "600.0");
    put(s, "sleep", "{\"state\":\"sleeping\"}");
    assert_string_equal(state_get(s, "session.created_at"),
                        i == 4 ? "\"2027-01-15T08:20:00.000Z\"" : state_get(s, "session.created_at"));
    if (i == 3)
      rp_session_free(s);
    else
      end(s);
    r->wall += 600 * SECOND;
  }
  rp_session *other = rig_start(r, "other", NULL, RP_OWNER_SELF);
  assert_string_equal(start_get(other, "total_sessions"), "1");
  end(other);
}

/* N-14: who was seen last and when, and the sleep, over a restart. */
static void test_presence(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  put(s, "person", "{\"name\":\"Ori\"}");
  put(s, "sleep", "{\"state\":\"falling_asleep\"}");
  end(s);
  r->wall += 2 * HOUR;
  s = rig_start(r, "nova", NULL, RP_OWNER_SELF);
  assert_string_equal(state_get(s, "presence.last_person"), "\"Ori\"");
  assert_string_equal(state_get(s, "presence.last_person_at"), "\"2027-01-15T08:00:00.000Z\"");
  assert_string_equal(state_get(s, "presence.sleep"), "\"falling_asleep\"");
  assert_non_null(strstr(start_get(s, "brief"), "Ori"));
  end(s);
}

/* ---- L-13, L-06 ---- */

static char *brief(rp_session *s, bool explain)
{
  rp_error err = {0};
  char *doc;
  OK(rp_brief(s, explain, &doc, &err), err);
  return doc;
}

/* The next segment of an open session is told the transcript's tail, notes, nearby frames and the conversation. */
static void test_segments(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "video", "tab:1", RP_OWNER_SELF);
  put(s, "note", "{\"id\":\"n1\",\"text\":\"The tower leans to the left\",\"category\":\"visual\",\"timestamp\":12}");
  put(s, "frame", "{\"frame_id\":\"f1\",\"timestamp\":12.5}");
  put(s, "transcript", "{\"text\":\"what is that tower over there\",\"final\":true,\"timestamp\":13}");
  put(s, "intent", "{\"topics\":[\"towers\"],\"intent\":\"identify\",\"context\":\"a walk through Pisa\"}");
  put(s, "note", "{\"id\":\"n2\",\"text\":\"It is in Pisa\",\"context_used\":[\"n1\"],\"timestamp\":14}");
  char *doc = brief(s, false);
  static const char *const told[] = {"The tower leans to the left", "It is in Pisa",       "f1",
                                     "what is that tower",          "a walk through Pisa", "identify"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(told); i++)
    if (!strstr(rig_get(doc, "brief"), told[i])) fail_msg("the brief lacks '%s': %s", told[i], doc);
  rp_free(doc);
  assert_string_equal(state_get(s, "evidence.context_used"), "1");
  doc = brief(s, true);
  assert_non_null(strstr(doc, "\"lines\":["));
  rp_free(doc);
  end(s);
}

/* L-06: ten notes bring a checkpoint by themselves, nine none; closing brings the last. */
static int note_reason(void *ctx, const rp_snapshot_info *info)
{
  rp__buf_printf(ctx, "%s ", info->reason);
  return 0;
}

/* A server that takes n notes and goes. The reasons of all snapshots, newest first. */
static char *snapshots_after(struct rig *r, const char *id, int n)
{
  rp_options o = {.db = r->url};
  rp_error err = {0};
  struct rp__buf reasons = RP_BUF(4096);
  char body[80];
  rp_engine *e;
  rp_session *s;
  OK(rp_open(&o, &e, &err), err);
  OK(rp_attach(e, id, &s, &err), err);
  for (int i = 0; i < n; i++) {
    snprintf(body, sizeof body, "{\"id\":\"n%d\",\"text\":\"note\"}", i);
    put(s, "note", body);
  }
  rp_session_free(s);
  rp_close(e);
  OK(rp_attach(r->e, id, &s, &err), err);
  OK(rp_snapshots(s, note_reason, &reasons, &err), err);
  rp_session_free(s);
  char *text = rp__buf_take(&reasons);
  return text ? text : strdup("");
}

static void test_checkpoints(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "video", "tab:1", RP_OWNER_SELF);
  char id[RP_ID_MAX + 1], *reasons;
  id_of(s, id);
  reasons = snapshots_after(r, id, 9);
  assert_string_equal(reasons, "");
  free(reasons);
  reasons = snapshots_after(r, id, 10);
  assert_int_equal(strncmp(reasons, "count ", 6), 0);
  free(reasons);
  put(s, "note", "{\"id\":\"last\",\"text\":\"one more\"}");
  end(s);
  reasons = snapshots_after(r, id, 0);
  assert_int_equal(strncmp(reasons, "exit count ", 11), 0);
  free(reasons);
}

/* ---- O-08 ---- */

/* A session begun with one provider goes on under another, by its id, with the whole state; snapshots are nobody's own.
 */
static void test_across_providers(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  char id[RP_ID_MAX + 1], *before, *snapshot;
  rp_session *s;
  rp_start_options o = {.scope = "coder", .provider = "gemini", .owner = RP_OWNER_SELF};
  OK(rp_start(r->e, &o, &s, &err), err);
  id_of(s, id);
  put(s, "provider", "{\"type\":\"gemini\",\"acp_session_id\":\"g-1\",\"current_task\":\"the bridge\"}");
  put(s, "message", "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"build the bridge\"}]}");
  put(s, "tool", "{\"call_id\":\"c1\",\"name\":\"sh\",\"status\":\"done\",\"output\":\"ok\"}");
  pin(s, "goal", "a bridge");
  put(s, "usage", "{\"tokens_in\":10,\"cost_usd\":0.5}");
  OK(rp_checkpoint(s, NULL, &err), err);
  before = rig_state(s, -1);
  OK(rp_snapshot_json(s, 1, &snapshot, &err), err);
  assert_non_null(strstr(snapshot, "build the bridge"));
  rp_free(snapshot);
  end(s);
  rig_reopen(r);
  rp_start_options other = {.scope = "coder", .id = id, .provider = "claude", .owner = RP_OWNER_SELF};
  OK(rp_start(r->e, &other, &s, &err), err);
  assert_string_equal(start_get(s, "resumed"), "true");
  put(s, "provider", "{\"type\":\"claude\",\"acp_session_id\":\"c-9\"}");
  char *after = rig_state(s, -1);
  static const char *const same[] = {"conversation", "pins", "tools", "usage"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(same); i++) {
    char *was = strdup(rig_get(before, same[i]));
    assert_string_equal(rig_get(after, same[i]), was);
    free(was);
  }
  assert_string_equal(rig_get(after, "provider.type"), "\"claude\"");
  assert_string_equal(rig_get(after, "provider.acp_session_id"), "\"c-9\"");
  assert_string_equal(rig_get(after, "provider.current_task"), ""); /* that was the other agent's */
  free(before);
  free(after);
  end(s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define ROBOT(name) cmocka_unit_test_setup_teardown(name, robot_setup, rig_teardown)

int main(void)
{
  const struct CMUnitTest tests[] = {
      ROBOT(test_two_restarts), ROBOT(test_ten_restarts), ROBOT(test_ten_resumptions), ROBOT(test_api_session),
      ROBOT(test_presence),     T(test_segments),         T(test_checkpoints),         T(test_across_providers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
