/* SPDX-License-Identifier: Apache-2.0 */
/* The two agents of the demo: the one that is killed, and the one that comes back. */
#include "base/ticks.h"
#include "cli/demo/demo.h"
#include "cli/term.h"
#include "cli/out.h"

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

static int send_note(const struct agent *a, const struct rp__demo_note *note)
{
  bool sent = write(RP_DEMO_FD, note, sizeof(*note)) == (ssize_t)sizeof(*note);
  return sent ? 0 : rp__fail(a->err, RP_E_CANCELLED, "the director left");
}

static int append(struct agent *a, const char *kind, const struct rp__buf *body, rp_ack *ret)
{
  const rp_event ev = {.kind = kind, .body = body->p};
  if (body->err) return rp__fail_nomem(a->err);
  int code = rp_append(a->c->session, &ev, NULL, ret, a->err);
  return code ? code : send_note(a, &(struct rp__demo_note){.what = RP_DEMO_ACK, .seq = ret->seq});
}

static int say(struct agent *a, const char *role, const char *text)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(4096);
  struct rp__jw w = RP_JW(&body);
  rp_ack ack;
  rp__jw_pack(&w, "{role:s content:s}", role, text);
  rp__stage_say(&a->stage, strcmp(role, "user") == 0 ? "you" : "agent", text);
  int code = append(a, "message", &body, &ack);
  if (code) return code;
  printf("  %s%lld on %s%s\n", RP_SGR(a->stage.colour, RP_DIM), (long long)ack.seq, rp__durability_name(ack.durability),
         RP_RESET(a->stage.colour));
  rp__stage_pause(&a->stage, 200);
  return 0;
}

/* One line of the ledger, written before the thing it speaks of happens. */
static int ledger(struct agent *a, const char *call, const char *name, const char *status, const char *output)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(4096);
  struct rp__jw w = RP_JW(&body);
  rp_ack ack;
  rp__jw_pack(&w, "{call_id:s name:s status:s output:?s}", call, name, status, output);
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
  const rp_start_options o = {.scope = "demo", .key = RP_DEMO_KEY, .channel = "demo"};
  return rp_start(a->c->engine, &o, &a->c->session, a->err);
}

static int run_first(struct agent *a)
{
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
  code = send_note(a, &(struct rp__demo_note){.what = RP_DEMO_MID_TURN});
  if (code) return code;
  for (;;) pause(); /* until it is killed */
}

/* ---- the one that comes back -------------------------------------------------- */

static void tell_restart(struct agent *a, struct rp__json doc)
{
  RP_AUTOBUF struct rp__buf cause = RP_BUF(1024), type = RP_BUF(1024);
  struct rp__json restart = rp__json_get(doc, "restart");
  rp__view_text(&cause, rp__json_get(restart, "cause"), 60);
  rp__view_text(&type, rp__json_get(restart, "type"), 60);
  rp__stage_fact(&a->stage, "process", "%lld, session %.13s…, key %s, epoch %lld%s", (long long)getpid(),
                 rp_session_id(a->c->session), RP_DEMO_KEY, (long long)rp_session_epoch(a->c->session),
                 rp__json_get(doc, "resumed").type == RP_JSON_TRUE ? ", resumed" : "");
  rp__stage_fact(&a->stage, "because", "%s; last sign of life %.1f s ago (%s)", cause.p,
                 rp__view_number(rp__json_get(restart, "elapsed_seconds")), type.p);
}

static void tell_state(struct agent *a, struct rp__json state)
{
  struct rp__json messages = rp__json_get(rp__json_get(state, "conversation"), "messages"), v;
  struct rp__json_iter said = {0}, used = {0};
  size_t n = rp__json_count(messages), i = 0;
  rp__stage_fact(&a->stage, "remembers", "%zu messages, the last of them:", n);
  while (rp__json_next(messages, &said, NULL, &v)) {
    RP_AUTOBUF struct rp__buf text = RP_BUF(65536);
    if (i++ + REMEMBERED < n) continue;
    rp__view_text(&text, rp__json_get(v, "content"), 60);
    rp__stage_fact(&a->stage, "", "%-6s %s", rp__json_eq(rp__json_get(v, "role"), "user") ? "you" : "agent", text.p);
  }
  while (rp__json_next(rp__json_get(state, "tools"), &used, NULL, &v)) {
    RP_AUTOBUF struct rp__buf name = RP_BUF(1024), outcome = RP_BUF(1024);
    struct rp__json status = rp__json_get(v, "status");
    if (rp__json_eq(status, "done") || rp__json_eq(status, "failed")) continue;
    rp__view_text(&name, rp__json_get(v, "name"), 60);
    rp__view_text(&outcome, status, 60);
    rp__stage_fact(&a->stage, "caution", "tool %s: outcome %s, so it must not be repeated blindly", name.p, outcome.p);
  }
}

static int run_second(struct agent *a)
{
  RP_AUTOTEXT char *state = NULL;
  struct rp__demo_note note = {.what = RP_DEMO_BACK};
  char go;
  /* Time from asking for the session to having its whole state in hand. */
  int64_t from = rp__ticks_us();
  int code = start(a);
  if (!code) code = rp_state_json(a->c->session, -1, &state, a->err);
  if (code) return code;
  note.us = rp__ticks_us() - from;
  const char *start_doc = rp_start_json(a->c->session);
  tell_restart(a, rp__json_trusted(start_doc, strlen(start_doc)));
  tell_state(a, rp__json_trusted(state, strlen(state)));
  rp__stage_fact(&a->stage, "took", "%lld µs from asking to having it all back", (long long)note.us);
  /* Holding the session, it waits while the director lets the past knock at the door. */
  code = send_note(a, &note);
  if (code) return code;
  if (read(RP_DEMO_FD, &go, 1) != 1) return rp__fail(a->err, RP_E_CANCELLED, "the director left");
  code = say(a, "assistant", "I was cut off while closing relay 3. I'll look before I act.");
  if (!code) code = use_tool(a, "call-3", "read_relay", "relay 3 closed, lamp on");
  if (code) return code;
  rp__stage_say(&a->stage, "tool", "close_relay");
  code = ledger(a, "call-2", "close_relay", "done", "seen by read_relay");
  printf(": it had worked\n");
  if (!code) code = say(a, "assistant", "It worked before I fell over. The light is on again.");
  return code ? code : rp_end(a->c->session, NULL, a->err);
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
