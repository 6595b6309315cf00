/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a start reads (docs/architecture.md, "The path of one start"): at most twelve calls of the store, of any start,
 * and no fact twice. Each start is printed with its reads; several facts of one call stand below it.
 */
#include "unit/engine/rig.h"

#include <inttypes.h>
#include <stdlib.h>

#include "engine/engine.h"

#define READS_MAX 12
#define MINUTE ((int64_t)60 * 1000)
#define HOUR (60 * MINUTE)
#define FACTS_MAX 400

/* ---- the calls of one start ---- */

struct reads {
  char facts[FACTS_MAX][300];
  size_t n_facts, calls, others;
  int call_of[FACTS_MAX];
};

static const char *or_any(const char *text)
{
  return text ? text : "*";
}

static void describe(const struct rp__read *r, char *out, size_t size)
{
  static const char *const finds[] = {"id",     "copy", "name",  "prefix", "key", "key elsewhere",
                                      "number", "last", "hidden"};
  const struct rp__run_filter *runs = &r->u.runs.filter;
  switch (r->type) {
  case RP_READ_SESSION:
    snprintf(out, size, "session by %s %s/%s", finds[r->u.session.how], or_any(r->u.session.scope),
             or_any(r->u.session.what));
    return;
  case RP_READ_SESSIONS: snprintf(out, size, "sessions of %s", or_any(r->u.sessions.filter.scope)); return;
  case RP_READ_RUNS:
    snprintf(out, size, "%sruns of %s/%s/%" PRId64 ", %d%s", runs->open_only ? "open " : "", or_any(runs->scope),
             or_any(runs->channel), runs->session_ref, runs->limit, runs->with_session ? ", with sessions" : "");
    return;
  case RP_READ_EVENTS:
    snprintf(out, size, "events of %s after %" PRId64 ", %" PRId64, r->u.events.range.session_id,
             r->u.events.range.after, r->u.events.range.limit);
    return;
  case RP_READ_SNAPSHOTS:
    snprintf(out, size, "snapshot %" PRId64 " of %" PRId64, r->u.snapshots.n, r->u.snapshots.session_ref);
    return;
  case RP_READ_TAILS: snprintf(out, size, "open streams of %" PRId64, r->u.tails.session_ref); return;
  case RP_READ_SCOPE: snprintf(out, size, "scope %s", r->u.scope.scope); return;
  case RP_READ_RECALL:
    snprintf(out, size, "recall of %s/%s, %d", r->u.recall.filter.scope, or_any(r->u.recall.filter.channel),
             r->u.recall.filter.limit);
    return;
  case RP_READ_RECORD: snprintf(out, size, "record of %" PRId64, r->u.record.session_ref); return;
  case RP_READ_TASK: snprintf(out, size, "task %016" PRIx64, r->u.task.hash); return;
  case RP_READ_MEMORIES:
    snprintf(out, size, "memories of %s/%s, %s", r->u.memories.filter.scope, or_any(r->u.memories.filter.channel),
             or_any(r->u.memories.filter.words));
    return;
  case RP_READ_REQUEST: snprintf(out, size, "request %s", r->u.request.key); return;
  }
  fail();
}

static void on_call(void *ctx, const struct rp__read *reads, size_t n)
{
  struct reads *l = ctx;
  if (!n) {
    l->others++;
    return;
  }
  for (size_t i = 0; i < n; i++) {
    assert_true(l->n_facts < FACTS_MAX);
    l->call_of[l->n_facts] = (int)l->calls;
    describe(&reads[i], l->facts[l->n_facts], sizeof l->facts[0]);
    l->n_facts++;
  }
  l->calls++;
}

static void print(const char *name, const struct reads *l)
{
  print_message("%s: %zu reads of %zu facts, %zu commits\n", name, l->calls, l->n_facts, l->others);
  for (size_t i = 0; i < l->n_facts; i++) print_message("  %2d %s\n", l->call_of[i] + 1, l->facts[i]);
}

/* Starts and looks at what that read. The session is freed by the caller. */
static rp_session *start_with(struct rig *r, const char *name, const rp_start_options *o, struct reads *ret)
{
  rp_error err = {0};
  struct rp__fault plan = {0};
  rp_engine *e = rig_counting(r, &plan);
  rp_session *s;
  *ret = (struct reads){0};
  plan.on_call = on_call;
  plan.ctx = ret;
  OK(rp_start(e, o, &s, &err), err);
  plan.on_call = NULL;
  print(name, ret);
  bool twice = false;
  for (size_t i = 0; i < ret->n_facts; i++)
    for (size_t j = 0; j < i; j++)
      if (strcmp(ret->facts[i], ret->facts[j]) == 0) {
        print_message("read twice: %s\n", ret->facts[i]);
        twice = true;
      }
  if (twice || ret->calls > READS_MAX) fail_msg("%s: %zu reads", name, ret->calls);
  return s;
}

/* The start's document is checked by the caller's word; then its process "goes". */
static void start_and_leave(struct rig *r, const char *name, const rp_start_options *o, const char *says)
{
  struct reads *l = calloc(1, sizeof *l);
  rp_session *s = start_with(r, name, o, l);
  rp_engine *e = s->e;
  if (says && !strstr(rp_start_json(s), says)) fail_msg("%s: %s", says, rp_start_json(s));
  rp_session_free(s);
  rp_close(e);
  free(l);
}

static void put_past(rp_session *s, int i)
{
  char body[200];
  snprintf(body, sizeof body, "{\"label\":\"pin-%d\",\"content\":\"number %d.\"}", i, i);
  rig_put(s, "pin", body);
  snprintf(body, sizeof body, "{\"task_id\":\"task-%d\",\"title\":\"Bridge %d\",\"stage\":\"in review\"}", i, i);
  rig_put(s, "task", body);
  snprintf(body, sizeof body, "{\"memory_id\":\"m%d\",\"content\":\"The antenna %d is on the roof\"}", i, i);
  rig_put(s, "learning", body);
  rig_say(s, "what now?");
}

static void test_first(void **state)
{
  struct rig *r = *state;
  start_and_leave(r, "the first start", &(rp_start_options){.scope = "coder"}, "\"resumed\":false");
  start_and_leave(r, "the first start with a key", &(rp_start_options){.scope = "other", .key = "window"}, NULL);
  start_and_leave(r, "the first start with an id", &(rp_start_options){.scope = "third", .id = "s1"}, NULL);
  start_and_leave(r, "a start of nobody", &(rp_start_options){.scope = "fourth", .owner = RP_OWNER_NONE}, NULL);
}

static void test_resume(void **state)
{
  struct rig *r = *state;
  rp_start_options o = {.scope = "coder", .key = "window"};
  rp_session *s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  put_past(s, 1);
  for (int i = 0; i < 600; i++) rig_say(s, "and on it goes");
  char id[RP_ID_MAX + 1];
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rp_session_free(s);
  r->wall += MINUTE;
  start_and_leave(r, "resume after a crash, by key", &o, "\"resumed\":true");
  r->wall += MINUTE;
  o = (rp_start_options){.scope = "coder", .id = id};
  start_and_leave(r, "resume after a crash, by id", &o, "\"resumed\":true");
  r->wall += MINUTE;
  s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  rig_end(s);
  start_and_leave(r, "resume of what has ended, by id", &o, "\"resumed\":true");
  o = (rp_start_options){.scope = "coder", .mode = RP_MODE_RESUME};
  start_and_leave(r, "resume of the last", &o, "\"resumed\":true");
  s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  o = (rp_start_options){.scope = "coder", .key = "window", .force = true};
  start_and_leave(r, "a take-over by force", &o, "\"resumed\":true");
  rp_session_free(s);
  r->wall += MINUTE;
  setenv("REPRISE_TEMPLATE", "robot", 1);
  start_and_leave(r, "resume of a robot", &(rp_start_options){.scope = "coder", .key = "window"}, "\"resumed\":true");
  unsetenv("REPRISE_TEMPLATE");
}

/* Somebody was cut off in the middle of a word. */
static void test_resume_of_a_stream(void **state)
{
  struct rig *r = *state;
  rp_session *s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  rig_put(s, "message",
          "{\"role\":\"assistant\",\"message_id\":\"m\",\"content\":\"my key is sk-ab\",\"partial\":true}");
  rp_session_free(s);
  r->wall += MINUTE;
  start_and_leave(r, "resume of a stream", &(rp_start_options){.scope = "coder", .key = "window"}, "\"resumed\":true");
}

static void test_successor(void **state)
{
  struct rig *r = *state;
  for (int i = 0; i < 12; i++) {
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    put_past(s, i);
    rig_end(s);
    r->wall += MINUTE;
  }
  start_and_leave(r, "a successor", &(rp_start_options){.scope = "coder"}, "number 11.");
  r->wall += MINUTE;
  rp_request request = {.key = "k1", .bytes = "x", .n = 1};
  rp_start_options o = {.scope = "coder", .key = "window", .request = &request, .topics = "bridge,antenna"};
  start_and_leave(r, "a successor after a crash, with a key and a request's key", &o, "\"resumed\":false");
  start_and_leave(r, "the same request again", &o, "\"repeated\":true");
  setenv("REPRISE_PER_CHANNEL", "true", 1);
  start_and_leave(r, "a successor in its channel", &(rp_start_options){.scope = "coder", .channel = "cli"}, NULL);
  unsetenv("REPRISE_PER_CHANNEL");
  setenv("REPRISE_TEMPLATE", "robot", 1);
  start_and_leave(r, "a robot's successor", &(rp_start_options){.scope = "coder"}, NULL);
  unsetenv("REPRISE_TEMPLATE");
  setenv("REPRISE_ENABLED", "false", 1);
  start_and_leave(r, "a start without a past", &(rp_start_options){.scope = "coder"}, NULL);
  unsetenv("REPRISE_ENABLED");
}

static void test_repeated(void **state)
{
  struct rig *r = *state;
  rp_start_options o = {.scope = "coder", .owner = RP_OWNER_PID, .owner_pid = getpid()};
  start_and_leave(r, "a start for a process", &o, "\"resumed\":false");
  start_and_leave(r, "the same process again", &o, "\"repeated\":true");
}

/* All at once: dead runs, abandoned sessions, sessions that go on, a silent heir whose source is gone, tasks. */
static void test_crowd(void **state)
{
  struct rig *r = *state;
  rp_error err = {0};
  rp_session *living[7], *dying[20], *s;
  char id[RP_ID_MAX + 1], key[20];
  for (int i = 0; i < 5; i++) { /* kept open by their keys, quiet for long */
    snprintf(key, sizeof key, "quiet-%d", i);
    s = rig_start(r, "coder", key, RP_OWNER_NONE);
    put_past(s, i);
    rp_session_free(s);
  }
  r->wall += 400 * HOUR;
  s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  put_past(s, 99);
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rig_end(s);
  rp_session *heir = rig_start(r, "coder", NULL, RP_OWNER_NONE);
  for (int i = 0; i < 20; i++) {
    dying[i] = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    put_past(dying[i], 100 + i);
  }
  for (int i = 0; i < 7; i++) {
    living[i] = rig_start(r, "coder", NULL, RP_OWNER_NONE);
    put_past(living[i], i);
  }
  OK(rp_trash(r->e, id, NULL, &err), err);
  for (int i = 0; i < 20; i++) rp_session_free(dying[i]);
  r->wall += 1000;
  setenv("REPRISE_ABANDON", "always", 1);
  start_and_leave(r, "a successor in a crowd", &(rp_start_options){.scope = "coder", .key = "new"},
                  "\"resumed\":false");
  unsetenv("REPRISE_ABANDON");
  for (int i = 0; i < 7; i++) rp_session_free(living[i]);
  rp_session_free(heir);
}

static void test_sealed(void **state)
{
  struct rig *r = *state;
  setenv("REPRISE_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", 1);
  rig_reopen(r);
  for (int i = 0; i < 3; i++) {
    rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
    put_past(s, i);
    if (i < 2)
      rig_end(s);
    else
      rp_session_free(s);
    r->wall += MINUTE;
  }
  start_and_leave(r, "a successor in a sealed scope", &(rp_start_options){.scope = "coder", .meta = "{\"a\":1}"},
                  "number 2.");
  rp_session *s = rig_start(r, "coder", "window", RP_OWNER_SELF);
  put_past(s, 7);
  rp_session_free(s);
  r->wall += MINUTE;
  start_and_leave(r, "resume in a sealed scope", &(rp_start_options){.scope = "coder", .key = "window"}, "number 7.");
  unsetenv("REPRISE_KEY");
}

#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
  setenv("REPRISE_BRIEF_BYTES", "8192", 1); /* everything that was read is told */
  const struct CMUnitTest tests[] = {
      T(test_first), T(test_resume), T(test_resume_of_a_stream), T(test_successor), T(test_repeated),
      T(test_crowd), T(test_sealed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
