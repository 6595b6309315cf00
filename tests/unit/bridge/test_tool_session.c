/* SPDX-License-Identifier: Apache-2.0 */
/* Which session the tools act on: begun, joined, resumed, or around us. */
#include "bridge_test.h"

#define MINUTE (60 * 1000LL)

static int on_status(void *ctx, const rp_session_info *info)
{
  snprintf(ctx, 32, "%s", rp_session_status_name(info->status));
  return 0;
}

static const char *status_of(struct rig *r, const char *id)
{
  static char status[32];
  rp_error err = {0};
  OK(rp_show(r->e, id, on_status, status, &err), err);
  return status;
}

static int on_count(void *ctx, const rp_session_info *info)
{
  (void)info;
  (*(int *)ctx)++;
  return 0;
}

static int sessions_of(struct rig *r, const char *scope)
{
  const rp_filter f = {.scope = scope};
  rp_error err = {0};
  int n = 0;
  OK(rp_list(r->e, &f, on_count, &n, &err), err);
  return n;
}

static void begin(struct rp__tool_session *m)
{
  rp_error err = {0};
  OK(rp__tool_session_begin(m, &err), err);
}

/* A session that leaves something to tell of. */
static void leave_something(struct rig *r, const char *scope)
{
  struct rp__tool_session m = bridge_mind(r, scope);
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"left behind\"}");
  rp__tool_session_end(&m, "done");
}

static void it_begins_once_and_ends(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  char id[RP_ID_MAX + 1];
  begin(&m);
  rp_session *s = m.s;
  begin(&m);
  assert_ptr_equal(m.s, s);
  assert_null(rp__tool_session_brief(&m)); /* a cold start has nothing to tell */
  snprintf(id, sizeof id, "%s", rp_session_id(s));
  rp__tool_session_end(&m, "over");
  assert_null(m.s);
  assert_string_equal(status_of(r, id), "closed");
  rp__tool_session_end(&m, NULL); /* twice is fine */
  assert_int_equal(sessions_of(r, "coder"), 1);
}

/* one brief per run, N-05: in one piece. */
static void the_brief_comes_once_per_run(void **state)
{
  struct rig *r = *state;
  leave_something(r, "coder");
  struct rp__tool_session m = bridge_mind(r, "coder"), again = bridge_mind(r, "coder");
  snprintf(m.ref, sizeof m.ref, "desk");
  snprintf(again.ref, sizeof again.ref, "desk");
  begin(&m);
  assert_has(rp__tool_session_brief(&m), "left behind");
  begin(&again);
  assert_null(rp__tool_session_brief(&again));
  assert_string_equal(rp_session_id(again.s), rp_session_id(m.s));
  rp__tool_session_end(&again, NULL);
  assert_string_not_equal(status_of(r, rp_session_id(m.s)), "closed"); /* it was only a guest */
  rp__tool_session_end(&m, NULL);
}

static void asked_for_the_brief_stands(void **state)
{
  struct rig *r = *state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(BRIDGE_DOC);
  struct rp__tool_session m = bridge_mind(r, "coder");
  rp_error err = {0};
  OK(rp__tool_session_brief_now(&m, &out, &err), err);
  assert_int_equal(out.n, 0);
  leave_something(r, "coder");
  OK(rp__tool_session_brief_now(&m, &out, &err), err);
  assert_has(out.p, "left behind");
  assert_null(m.s);
  begin(&m);
  rp__buf_reset(&out);
  OK(rp__tool_session_brief_now(&m, &out, &err), err);
  assert_has(out.p, "left behind");
  rp__tool_session_end(&m, NULL);
}

/* A client of MCP alone tells no prompts: what earlier sessions were about stays to be read until one is told. */
static void earlier_requests_stand_until_something_is_asked(void **state)
{
  struct rig *r = *state;
  RP_AUTOBUF struct rp__buf out = RP_BUF(BRIDGE_DOC);
  struct rp__tool_session m = bridge_mind(r, "coder");
  rp_error err = {0};
  rp_session *s = rig_start(r, "coder", NULL, RP_OWNER_SELF);
  rig_say(s, "move the cache to the disk");
  rig_end(s);
  begin(&m);
  OK(rp__tool_session_brief_now(&m, &out, &err), err);
  assert_has(out.p, "NOT FINISHED");
  assert_has(out.p, "move the cache to the disk");
  rig_say(m.s, "write the notes of the release");
  rp__buf_reset(&out);
  OK(rp__tool_session_brief_now(&m, &out, &err), err);
  assert_has(out.p, "write the notes of the release");
  assert_null(strstr(out.p, "move the cache"));
  rp__tool_session_end(&m, NULL);
}

/* The outermost bridge has the session, those within are its guests. */
static void a_bridge_around_us_has_the_session(void **state)
{
  struct rig *r = *state;
  leave_something(r, "outer");
  rp_session *s = rig_start(r, "outer", NULL, RP_OWNER_SELF);
  struct rp__tool_session m = bridge_mind(r, "inner"), far = bridge_mind(r, "inner");
  setenv("REPRISE_SESSION", rp_session_id(s), 1);
  begin(&m);
  assert_true(m.guest);
  assert_null(rp__tool_session_brief(&m));
  assert_string_equal(m.scope, "outer");
  const char *doc = bridge_call(&m, "working_memory", "{\"action\":\"pin\",\"label\":\"a\",\"content\":\"b\"}");
  assert_string_equal(rig_get(doc, "count"), "1");
  assert_string_equal(rig_get(bridge_call(&m, "session_status", NULL), "guest"), "true");
  rp__tool_session_end(&m, "nothing");
  assert_string_equal(status_of(r, rp_session_id(s)), "active");
  assert_int_equal(sessions_of(r, "inner"), 0);
  far.remote = true; /* who asks over a network is not within */
  begin(&far);
  assert_false(far.guest);
  assert_string_equal(far.scope, "inner");
  rp__tool_session_end(&far, NULL);
  rp_session_free(s);
}

/* `reprise acp` is around us: the last session that its editor opened for this directory. */
static void an_editor_around_us(void **state)
{
  struct rig *r = *state;
  char here[2048], meta[2100];
  rp_error err = {0};
  rp_session *s = NULL, *other = NULL;
  struct rp__tool_session m = bridge_mind(r, "coder");
  setenv("REPRISE_BRIDGE", "acp", 1);
  rp_error why = bridge_fail(&m, "session_status", NULL, RP_E_SESSION_NOT_FOUND, "");
  assert_has(why.hint, "again");
  assert_null(rp__tool_session_brief(&m));
  assert_int_equal(sessions_of(r, "coder"), 0);
  assert_non_null(getcwd(here, sizeof here));
  snprintf(meta, sizeof meta, "{\"cwd\":\"%s\"}", here);
  rp_start_options o = {.scope = "coder", .channel = "acp", .meta = meta};
  OK(rp_start(r->e, &o, &s, &err), err);
  o.meta = "{\"cwd\":\"/elsewhere\"}";
  OK(rp_start(r->e, &o, &other, &err), err);
  bridge_call(&m, "session_status", NULL);
  assert_string_equal(rp_session_id(m.s), rp_session_id(s));
  rp__tool_session_end(&m, NULL);
  rp_session_free(s);
  rp_session_free(other);
}

/* Once found it stays, until it ends; a look before that decides nothing when it is only a guess. */
static void a_guest_stays_where_it_is(void **state)
{
  struct rig *r = *state;
  char here[2048], meta[2100];
  rp_error err = {0};
  rp_session *a = NULL, *b = NULL;
  struct rp__tool_session m = bridge_mind(r, "coder"), late = bridge_mind(r, "coder");
  setenv("REPRISE_BRIDGE", "acp", 1);
  assert_true(rp__tool_session_waits(&m));
  assert_false(rp__tool_session_peek(&m)); /* there is none yet */
  assert_null(m.s);
  assert_non_null(getcwd(here, sizeof here));
  snprintf(meta, sizeof meta, "{\"cwd\":\"%s\"}", here);
  const rp_start_options o = {.scope = "coder", .channel = "acp", .meta = meta, .owner = RP_OWNER_SELF};
  m.born_ms = m.greeted_ms = r->wall;
  late.born_ms = late.greeted_ms = r->wall + 100;
  OK(rp_start(r->e, &o, &a, &err), err);
  assert_true(rp__tool_session_peek(&late));
  assert_string_equal(rp_session_id(late.s), rp_session_id(a));
  rp__tool_session_leave(&late);
  r->wall += 200;
  OK(rp_start(r->e, &o, &b, &err), err);
  bridge_call(&late, "session_status", NULL);
  assert_string_equal(rp_session_id(late.s), rp_session_id(b));
  assert_false(rp__tool_session_peek(&m)); /* this one is no guess, so it stays */
  assert_string_equal(rp_session_id(m.s), rp_session_id(a));
  assert_false(rp__tool_session_waits(&m));
  r->wall += 200;
  rig_say(b, "hello");
  bridge_call(&m, "remember", "{\"text\":\"x\"}");
  assert_string_equal(rp_session_id(m.s), rp_session_id(a));
  OK(rp_end(a, NULL, &err), err);
  bridge_call(&m, "remember", "{\"text\":\"y\"}");
  assert_string_equal(rp_session_id(m.s), rp_session_id(b));
  rp__tool_session_end(&m, NULL);
  rp__tool_session_end(&late, NULL);
  rp_session_free(a);
  rp_session_free(b);
}

static void a_key_and_an_id(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder"), by_id = bridge_mind(r, "coder"),
                          by_key = bridge_mind(r, "coder");
  char id[RP_ID_MAX + 1];
  snprintf(m.ref, sizeof m.ref, "desk");
  begin(&m);
  snprintf(id, sizeof id, "%s", rp_session_id(m.s));
  rp__tool_session_end(&m, NULL);
  snprintf(by_id.ref, sizeof by_id.ref, "%s", id); /* an ended one goes on by its id */
  begin(&by_id);
  assert_string_equal(rp_session_id(by_id.s), id);
  assert_false(by_id.guest);
  rp__tool_session_end(&by_id, NULL);
  snprintf(by_key.ref, sizeof by_key.ref, "desk"); /* and gets a successor by its key */
  begin(&by_key);
  assert_string_not_equal(rp_session_id(by_key.s), id);
  rp__tool_session_end(&by_key, NULL);
  struct rp__tool_session bad = bridge_mind(r, "coder");
  rp_error err = {0};
  snprintf(bad.ref, sizeof bad.ref, "no/key");
  assert_int_equal(rp__tool_session_begin(&bad, &err), RP_E_USAGE);
  assert_null(bad.s);
}

/* Somebody ended it meanwhile: the next call begins another instead of failing for ever. */
static void an_ended_session_is_followed(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  rp_session *s = NULL;
  char id[RP_ID_MAX + 1];
  rp_error err = {0};
  begin(&m);
  snprintf(id, sizeof id, "%s", rp_session_id(m.s));
  OK(rp_attach(r->e, id, &s, &err), err);
  OK(rp_end(s, NULL, &err), err);
  rp_session_free(s);
  bridge_call(&m, "working_memory", "{\"action\":\"pin\",\"label\":\"a\",\"content\":\"b\"}");
  assert_string_not_equal(rp_session_id(m.s), id);
  rp__tool_session_end(&m, NULL);
}

/* A server's runs have no owner: leaving ends nothing, coming back within the lease joins. */
static void without_an_owner(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder"), back = bridge_mind(r, "coder"), late = bridge_mind(r, "coder");
  char id[RP_ID_MAX + 1];
  m.owner = back.owner = late.owner = RP_OWNER_NONE;
  m.remote = back.remote = late.remote = true;
  snprintf(m.ref, sizeof m.ref, "client");
  snprintf(back.ref, sizeof back.ref, "client");
  snprintf(late.ref, sizeof late.ref, "client");
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"still open\"}");
  snprintf(id, sizeof id, "%s", rp_session_id(m.s));
  rp__tool_session_leave(&m);
  begin(&back);
  assert_true(back.guest);
  assert_string_equal(rp_session_id(back.s), id);
  rp__tool_session_leave(&back);
  r->wall += 10 * MINUTE;
  begin(&late); /* its heartbeats stopped: the run is over, the session goes on, and the brief comes */
  assert_string_equal(rp_session_id(late.s), id);
  assert_has(rp__tool_session_brief(&late), "still open");
  rp__tool_session_end(&late, NULL);
}

/* Two requests that began the same session at once: the fenced one joins. Who holds it as a process does not. */
static void a_fenced_request_joins(void **state)
{
  static const char pin[] = "{\"action\":\"pin\",\"label\":\"a\",\"content\":\"b\"}";
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder"), owner = bridge_mind(r, "coder");
  rp_start_options o = {.scope = "coder", .key = "client", .owner = RP_OWNER_NONE, .force = true};
  rp_session *s = NULL;
  rp_error err = {0};
  m.owner = RP_OWNER_NONE;
  m.remote = true;
  snprintf(m.ref, sizeof m.ref, "client");
  begin(&m);
  OK(rp_start(r->e, &o, &s, &err), err);
  assert_string_equal(rig_get(bridge_call(&m, "working_memory", pin), "count"), "1");
  assert_true(m.guest);
  assert_string_equal(rp_session_id(m.s), rp_session_id(s));
  rp__tool_session_leave(&m);
  rp_session_detach(s);
  snprintf(owner.ref, sizeof owner.ref, "desk");
  begin(&owner);
  o.key = "desk";
  OK(rp_start(r->e, &o, &s, &err), err);
  bridge_fail(&owner, "working_memory", pin, RP_E_FENCED, "");
  rp__tool_session_end(&owner, NULL);
  rp_session_detach(s);
}

static void who_may_only_read(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "coder");
  m.reads_only = true;
  bridge_fail(&m, "session_status", NULL, RP_E_SESSION_NOT_FOUND, "");
  leave_something(r, "coder");
  bridge_call(&m, "session_status", NULL);
  assert_true(m.guest);
  bridge_call(&m, "working_memory", "{\"action\":\"view\"}");
  bridge_fail(&m, "working_memory", "{\"action\":\"pin\",\"content\":\"c\"}", RP_E_FORBIDDEN, "");
  bridge_fail(&m, "remember", "{\"text\":\"c\"}", RP_E_FORBIDDEN, "");
  bridge_fail(&m, "task", "{\"action\":\"open\",\"title\":\"t\"}", RP_E_FORBIDDEN, "");
  bridge_fail(&m, "session_continue", "{\"session_id\":\"last\"}", RP_E_FORBIDDEN, "");
  rp__tool_session_end(&m, NULL);
  assert_int_equal(sessions_of(r, "coder"), 1);
}

/* With per_channel a client that looks without a session sees its own channel's past alone. */
static void who_looks_stays_in_its_channel(void **state)
{
  struct rig *r = *state;
  setenv("REPRISE_PER_CHANNEL", "true", 1);
  rig_reopen(r);
  unsetenv("REPRISE_PER_CHANNEL");
  struct rp__tool_session a = bridge_mind(r, "z"), m = bridge_mind(r, "z");
  rp_error err;
  const char *doc;
  char id[RP_ID_MAX + 1];
  snprintf(a.channel, sizeof a.channel, "signal");
  snprintf(m.channel, sizeof m.channel, "telegram");
  m.lazy = true;
  bridge_call(&a, "working_memory", "{\"action\":\"pin\",\"label\":\"l\",\"content\":\"signal only\"}");
  bridge_call(&a, "task", "{\"action\":\"open\",\"title\":\"signal task\"}");
  assert_null(strstr(bridge_call(&m, "working_memory_view", NULL), "signal only"));
  assert_null(strstr(bridge_call(&m, "task", "{\"action\":\"list\"}"), "signal task"));
  assert_int_equal(bridge_try(&m, "session_status", NULL, &doc, &err), RP_E_SESSION_NOT_FOUND);
  assert_int_equal(rp__tool_session_resolve(&m, "last", id, &err), RP_E_SESSION_NOT_FOUND);
  RP_AUTOBUF struct rp__buf brief = RP_BUF(BRIDGE_DOC), own = RP_BUF(BRIDGE_DOC);
  OK(rp__tool_session_brief_now(&m, &brief, &err), err);
  assert_int_equal(brief.n, 0);
  snprintf(m.channel, sizeof m.channel, "signal");
  assert_non_null(strstr(bridge_call(&m, "working_memory_view", NULL), "signal only"));
  OK(rp__tool_session_brief_now(&m, &own, &err), err);
  assert_non_null(strstr(own.p, "signal only"));
  rp__tool_session_end(&m, NULL);
  rp__tool_session_end(&a, NULL);
}

/* What view numbered is the last session's; the one that unpin would begin has them in another order. */
static void no_number_names_another_pin(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session a = bridge_mind(r, "z"), m = bridge_mind(r, "z");
  for (int i = 0; i < 3; i++) {
    char args[100];
    snprintf(args, sizeof args, "{\"action\":\"pin\",\"label\":\"l%d\",\"content\":\"c%d\"}", i, i);
    bridge_call(&a, "working_memory", args);
    r->wall += 1000;
  }
  rp__tool_session_end(&a, NULL);
  m.lazy = true;
  bridge_call(&m, "working_memory_view", NULL);
  rp_error err = bridge_fail(&m, "working_memory", "{\"action\":\"unpin\",\"index\":1}", RP_E_INVALID, "index");
  assert_non_null(strstr(err.message, "'l2', 'l1', 'l0'"));
  assert_int_equal(sessions_of(r, "z"), 1);
  const char *doc = bridge_call(&m, "working_memory", "{\"action\":\"unpin\",\"label\":\"l1\"}");
  assert_string_equal(rig_get(doc, "label"), "\"l1\"");
  /* Now there are numbers. */
  doc = bridge_call(&m, "working_memory_view", NULL);
  assert_null(strstr(rig_get(doc, "pins"), "\"c1\""));
  assert_non_null(strstr(rig_get(doc, "pins"), "\"c0\""));
  bridge_call(&m, "working_memory", "{\"action\":\"unpin\",\"index\":1}");
  rp__tool_session_end(&m, NULL);
}

static void a_call_that_fails_begins_nothing(void **state)
{
  struct rig *r = *state;
  struct rp__tool_session m = bridge_mind(r, "z");
  m.lazy = true;
  bridge_fail(&m, "working_memory", "{\"action\":\"unpin\",\"label\":\"nope\"}", RP_E_MEMORY_NOT_FOUND, "label");
  bridge_fail(&m, "working_memory", "{\"action\":\"unpin\",\"index\":1}", RP_E_MEMORY_NOT_FOUND, "index");
  bridge_fail(&m, "working_memory", "{\"action\":\"pin\",\"content\":\" \"}", RP_E_INVALID, "content");
  bridge_fail(&m, "task", "{\"action\":\"done\",\"task_id\":\"nope\"}", RP_E_MEMORY_NOT_FOUND, "task_id");
  bridge_fail(&m, "task", "{\"action\":\"open\"}", RP_E_INVALID, "title");
  bridge_fail(&m, "session_continue", "{\"session_id\":\"nope\"}", RP_E_SESSION_NOT_FOUND, "session_id");
  assert_int_equal(sessions_of(r, "z"), 0);
  bridge_call(&m, "task", "{\"action\":\"open\",\"title\":\"T\",\"task_id\":\"t-1\"}");
  assert_int_equal(sessions_of(r, "z"), 1);
  rp__tool_session_end(&m, NULL);
  /* What a start would inherit is there to be named. */
  bridge_call(&m, "task", "{\"action\":\"done\",\"task_id\":\"t-1\"}");
  rp__tool_session_end(&m, NULL);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(it_begins_once_and_ends, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(the_brief_comes_once_per_run, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(asked_for_the_brief_stands, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(earlier_requests_stand_until_something_is_asked, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_bridge_around_us_has_the_session, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(an_editor_around_us, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_guest_stays_where_it_is, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_key_and_an_id, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(an_ended_session_is_followed, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(without_an_owner, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_fenced_request_joins, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(who_may_only_read, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(who_looks_stays_in_its_channel, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(no_number_names_another_pin, bridge_setup, rig_teardown),
      cmocka_unit_test_setup_teardown(a_call_that_fails_begins_nothing, bridge_setup, rig_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
