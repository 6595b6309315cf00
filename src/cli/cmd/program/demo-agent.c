/* SPDX-License-Identifier: Apache-2.0 */
/* The two agents of the demo: the one that is killed, and the one that comes back. */
#include "cli/demo/demo.h"
#include "cli/event-text.h"
#include "cli/term.h"

#define REMEMBERED 3 /* messages shown by the one that comes back */

enum { FAST };

static const struct rp__opt opts[] = {
    [FAST] = {"fast", 0, RP_OPT_FLAG, NULL, "without the pauses"},
};

struct agent {
  struct rp__cli *c;
  struct rp__stage stage;
  rp_error *err;
};

static int append(struct agent *a, const char *kind, const struct rp__buf *body, rp_ack *ret)
{
  const rp_event ev = {.kind = kind, .body = body->p};
  if (body->err) return rp__fail_nomem(a->err);
  int code = rp_append(a->c->session, &ev, NULL, ret, a->err);
  if (code) return code;
  const struct rp__demo_note note = {.what = RP_DEMO_ACK, .seq = ret->seq};
  return rp__demo_send(&note) ? 0 : rp__fail(a->err, RP_E_CANCELLED, "the director left");
}

static void show_ack(const struct agent *a, const rp_ack *ack)
{
  bool colour = a->stage.colour;
  printf("  %s%lld on %s%s\n", RP_SGR(colour, RP_DIM), (long long)ack->seq, rp__durability_name(ack->durability),
         RP_RESET(colour));
  rp__stage_pause(&a->stage, 200);
}

static int say(struct agent *a, const char *role, const char *text)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(4096);
  struct rp__jw w = RP_JW(&body);
  rp_ack ack;
  rp__jw_pack(&w, "{role:s content:s}", role, text);
  rp__stage_say(&a->stage, strcmp(role, "user") == 0 ? "you" : "agent", text);
  int code = append(a, "message", &body, &ack);
  if (!code) show_ack(a, &ack);
  return code;
}

/* One line of the ledger, written before the thing it speaks of happens. */
static int ledger(struct agent *a, const char *call, const char *name, const char *status, const char *output)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(4096);
  struct rp__jw w = RP_JW(&body);
  rp_ack ack;
  rp__jw_pack(&w, "{call_id:s name:s status:s", call, name, status);
  if (output) rp__jw_kstr(&w, "output", output);
  rp__jw_end_object(&w);
  int code = append(a, "tool", &body, &ack);
  if (!code) printf(" %s", status);
  rp__stage_pause(&a->stage, 150);
  return code;
}

static int use_tool(struct agent *a, const char *call, const char *name, const char *output)
{
  rp__stage_say(&a->stage, "tool", name);
  int code = ledger(a, call, name, "intended", NULL);
  if (!code) code = ledger(a, call, name, "running", NULL);
  if (!code && output) code = ledger(a, call, name, "done", output);
  if (!code) printf(output ? ": %s\n" : "%s …\n", output ? output : "");
  return code;
}

static int start(struct agent *a)
{
  const rp_start_options o = {.scope = RP_DEMO_SCOPE, .key = RP_DEMO_KEY, .channel = "demo"};
  return rp_start(a->c->engine, &o, &a->c->session, a->err);
}

static int run_first(struct agent *a)
{
  struct rp__demo_note note = {.what = RP_DEMO_MID_TURN};
  int code = start(a);
  if (code) return code;
  rp__stage_fact(&a->stage, "process", "%lld, session %.13s…, key %s, epoch %lld", (long long)getpid(),
                 rp_session_id(a->c->session), RP_DEMO_KEY, (long long)rp_session_epoch(a->c->session));
  code = say(a, "user", "The harbour light has been dark since Tuesday. Why?");
  if (!code) code = say(a, "assistant", "Let me read the lamp controller's log.");
  if (!code) code = use_tool(a, "call-1", "read_log", "relay 3 open since Tuesday 02:14");
  if (!code) code = say(a, "assistant", "Relay 3 opened at 02:14. I can close it from here.");
  if (!code) code = say(a, "user", "Do it, but carefully: there are boats out tonight.");
  if (!code) code = use_tool(a, "call-2", "close_relay", NULL);
  if (code) return code;
  rp__stage_say(&a->stage, "agent", "Closing relay 3 now. In a mo");
  rp__stage_pause(&a->stage, 0);
  if (!rp__demo_send(&note)) return rp__fail(a->err, RP_E_CANCELLED, "the director left");
  for (;;) pause();
}

/* ---- the one that comes back -------------------------------------------------- */

static void text_of(struct rp__json v, char *out, size_t size)
{
  RP_AUTOBUF struct rp__buf raw = RP_BUF(65536), safe = RP_BUF(65536);
  rp__event_content(&raw, v);
  rp__term_cut(&safe, raw.p ? raw.p : "", raw.n, 60);
  snprintf(out, size, "%s", safe.p ? safe.p : "");
}

static void tell_restart(struct agent *a, struct rp__json doc)
{
  struct rp__json restart = rp__json_get(doc, "restart");
  char cause[64], type[64];
  double elapsed = 0;
  text_of(rp__json_get(restart, "cause"), cause, sizeof(cause));
  text_of(rp__json_get(restart, "type"), type, sizeof(type));
  rp__json_double(rp__json_get(restart, "elapsed_seconds"), &elapsed);
  rp__stage_fact(&a->stage, "process", "%lld, session %.13s…, key %s, epoch %lld%s", (long long)getpid(),
                 rp_session_id(a->c->session), RP_DEMO_KEY, (long long)rp_session_epoch(a->c->session),
                 rp__json_get(doc, "resumed").type == RP_JSON_TRUE ? ", resumed" : "");
  rp__stage_fact(&a->stage, "because", "%s; last sign of life %.1f s ago (%s)", cause, elapsed, type);
}

static void tell_messages(struct agent *a, struct rp__json messages)
{
  struct rp__json_iter it = {0};
  struct rp__json m;
  size_t n = rp__json_count(messages), i = 0;
  rp__stage_fact(&a->stage, "remembers", "%zu messages, the last of them:", n);
  while (rp__json_next(messages, &it, NULL, &m)) {
    char text[256];
    if (i++ + REMEMBERED < n) continue;
    text_of(rp__json_get(m, "content"), text, sizeof(text));
    rp__stage_fact(&a->stage, "", "%-6s %s", rp__json_eq(rp__json_get(m, "role"), "user") ? "you" : "agent", text);
  }
}

static void tell_tools(struct agent *a, struct rp__json tools)
{
  struct rp__json_iter it = {0};
  struct rp__json t;
  while (rp__json_next(tools, &it, NULL, &t)) {
    char name[128], status[64];
    text_of(rp__json_get(t, "name"), name, sizeof(name));
    text_of(rp__json_get(t, "status"), status, sizeof(status));
    if (strcmp(status, "done") == 0 || strcmp(status, "failed") == 0) continue;
    rp__stage_fact(&a->stage, "caution", "tool %s: outcome %s, so it must not be repeated blindly", name, status);
  }
}

/* Time from asking for the session to having its whole state in hand. */
static int resume(struct agent *a, char **ret_state, int64_t *ret_us)
{
  int64_t from = rp__demo_now_us();
  int code = start(a);
  if (!code) code = rp_state_json(a->c->session, -1, ret_state, a->err);
  *ret_us = rp__demo_now_us() - from;
  return code;
}

static int go_on(struct agent *a)
{
  int code = say(a, "assistant", "I was cut off while closing relay 3. I'll look before I act.");
  if (!code) code = use_tool(a, "call-3", "read_relay", "relay 3 closed, lamp on");
  if (!code) {
    rp__stage_say(&a->stage, "tool", "close_relay");
    code = ledger(a, "call-2", "close_relay", "done", "seen by read_relay");
    printf(": it had worked\n");
  }
  if (!code) code = say(a, "assistant", "It worked before I fell over. The light is on again.");
  return code ? code : rp_end(a->c->session, NULL, a->err);
}

static int run_second(struct agent *a)
{
  char *state = NULL, go;
  struct rp__demo_note note = {.what = RP_DEMO_BACK};
  int code = resume(a, &state, &note.us);
  if (!code) {
    const char *start_doc = rp_start_json(a->c->session);
    struct rp__json doc = rp__json_trusted(state, strlen(state));
    tell_restart(a, rp__json_trusted(start_doc, strlen(start_doc)));
    tell_messages(a, rp__json_get(rp__json_get(doc, "conversation"), "messages"));
    tell_tools(a, rp__json_get(doc, "tools"));
    rp__stage_fact(&a->stage, "took", "%lld µs from asking to having it all back", (long long)note.us);
  }
  rp_free(state);
  if (code) return code;
  /* Holding the session, it waits while the director lets the past knock at the door. */
  if (!rp__demo_send(&note) || read(RP_DEMO_FD, &go, 1) != 1)
    return rp__fail(a->err, RP_E_CANCELLED, "the director left");
  return go_on(a);
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct agent a = {.c = c, .stage = rp__stage(c, rp__opt_given(c, FAST)), .err = err};
  int code = rp__cli_open(c, RP_USE_LIVE, err);
  if (code) return code;
  return strcmp(c->args[0], "first") == 0 ? run_first(&a) : run_second(&a);
}

const struct rp__cmd rp__cmd_demo_agent = {
    .name = "demo-agent",
    .theme = RP_THEME_MORE,
    .hidden = true,
    .usage = "first|second",
    .summary = "An agent of the demo",
    .example = "  $ reprise demo\n",
    RP_ARGS(RP_ARG_NONE, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
