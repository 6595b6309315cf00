/* SPDX-License-Identifier: Apache-2.0 */
/* The acts of the demo that run in this process, with a clock that can be moved. */
#include "cli/demo/demo.h"
#include "cli/explain.h"
#include "cli/signals.h"
#include "cli/term.h"
#include "cli/view.h"

#define BODY_MAX 65536
#define DOC_MAX (4 * 1024 * 1024)

static int interrupted(const struct rp__act *a)
{
  return rp__signals_read(a->demo->signals) ? rp__fail(a->err, RP_E_CANCELLED, "interrupted") : 0;
}

int rp__act_start(struct rp__act *a, int64_t at_ms, const char *topics)
{
  struct rp__cli *c = a->demo->c;
  const rp_start_options o = {.scope = a->scope, .channel = "demo", .topics = topics};
  const rp_brief_options why = {.scope = a->scope, .channel = "demo", .topics = topics, .explain = true};
  rp__cli_done(c);
  c->clock = rp__clock_shifted(&c->shifted, at_ms);
  int code = interrupted(a);
  if (!code) code = rp__cli_open_db(c, a->db, RP_USE_WRITE, a->err);
  rp_free(RP_TAKE(a->reasons));
  if (!code) code = rp_brief_scope(c->engine, &why, &a->reasons, a->err);
  return code ? code : rp_start(c->engine, &o, &c->session, a->err);
}

void rp__act_done(struct rp__act *a)
{
  rp_free(RP_TAKE(a->reasons));
}

int rp__act_end(struct rp__act *a)
{
  int code = rp_end(a->demo->c->session, NULL, a->err);
  rp__cli_done(a->demo->c);
  return code;
}

/* ---- playing -------------------------------------------------------------- */

static void message_body(struct rp__buf *out, const struct rp__step *s)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "role", strcmp(s->who, "you") == 0 ? "user" : "assistant");
  rp__jw_kstr(&w, "content", s->text);
  rp__jw_end_object(&w);
}

static int play(struct rp__act *a, const struct rp__step *s)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(BODY_MAX);
  const struct rp__stage *stage = &a->demo->stage;
  rp_ack ack;
  /* The engine reads the clock through this very struct. */
  a->demo->c->shifted.offset_ms += (int64_t)s->wait_s * 1000;
  if (s->kind) {
    rp__buf_str(&body, s->body);
    rp__stage_fact(stage, s->who, "%s", s->text);
  } else {
    message_body(&body, s);
    rp__stage_say(stage, s->who, s->text);
    putchar('\n');
    rp__stage_pause(stage, 200);
  }
  if (body.err) return rp__fail_nomem(a->err);
  const rp_event ev = {.kind = s->kind ? s->kind : "message", .body = body.p};
  return rp_append(a->demo->c->session, &ev, NULL, &ack, a->err);
}

int rp__act_play(struct rp__act *a, const struct rp__step *steps, size_t n)
{
  int code = 0;
  for (size_t i = 0; i < n && !code; i++) {
    code = interrupted(a);
    if (!code) code = play(a, &steps[i]);
  }
  return code;
}

int rp__act_remember(struct rp__act *a, const char *text, double confidence)
{
  rp__stage_fact(&a->demo->stage, "learns", "%s (confidence %.1f)", text, confidence);
  return rp_remember(a->demo->c->session, text, confidence, NULL, NULL, a->err);
}

/* ---- telling -------------------------------------------------------------- */

static void indent_print(const struct rp__buf *text)
{
  const char *p = text->p;
  for (size_t n = text->n; n > 0;) {
    const char *end = memchr(p, '\n', n);
    size_t line = end ? (size_t)(end - p) : n;
    printf("%s%.*s\n", line ? "  " : "", (int)line, p);
    p += line + (end != NULL);
    n -= line + (end != NULL);
  }
}

/* Prints what was collected, a little to the right, as everything on the stage. */
static int show(struct rp__act *a, const struct rp__buf *text, int pause_ms)
{
  if (text->err) return rp__fail_nomem(a->err);
  indent_print(text);
  rp__stage_pause(&a->demo->stage, pause_ms);
  return interrupted(a);
}

static void fact_of(struct rp__buf *out, struct rp__json v, const char *name)
{
  rp__view_text(out, rp__json_get(v, name), 60);
}

static int tell_restart(struct rp__act *a, struct rp__json doc)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(BODY_MAX);
  struct rp__json restart = rp__json_get(doc, "restart"), inherited = rp__json_get(doc, "inherited");
  rp__buf_str(&text, "restart   ");
  fact_of(&text, restart, "type");
  rp__buf_str(&text, ", ");
  fact_of(&text, restart, "cause");
  rp__buf_printf(&text, "; away for %.0f s; session number ",
                 rp__view_number(rp__json_get(restart, "elapsed_seconds"), 0));
  fact_of(&text, doc, "total_sessions");
  rp__buf_str(&text, "\ninherits  ");
  fact_of(&text, inherited, "pins");
  rp__buf_str(&text, " pins, ");
  fact_of(&text, inherited, "tasks");
  rp__buf_str(&text, " tasks, ");
  fact_of(&text, inherited, "memories");
  rp__buf_str(&text, " memories\n\n");
  return show(a, &text, 600);
}

int rp__act_tell_start(struct rp__act *a)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(DOC_MAX);
  const char *json = rp_start_json(a->demo->c->session);
  struct rp__json doc = rp__json_trusted(json, strlen(json));
  int code = tell_restart(a, doc);
  if (code) return code;
  rp__brief_view(a->demo->c, &text, doc);
  if (text.n == 0) rp__buf_str(&text, "(no brief: a cold start)\n");
  rp__buf_char(&text, '\n');
  return show(a, &text, 1500);
}

int rp__act_tell_mood(struct rp__act *a)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(DOC_MAX);
  char *state = NULL;
  int code = rp_state_json(a->demo->c->session, -1, &state, a->err);
  if (code) return code;
  rp__view_affect(a->demo->c, &text, rp__json_get(rp__json_trusted(state, strlen(state)), "affect"));
  rp_free(state);
  return show(a, &text, 900);
}

static void pin_lines(const struct rp__cli *c, struct rp__buf *out, struct rp__json pin)
{
  struct rp__json from = rp__json_get(pin, "inherited_from");
  rp__view_text(out, rp__json_get(pin, "label"), 0);
  if (from.type == RP_JSON_STRING) {
    rp__buf_str(out, " [inherited from ");
    rp__view_id(out, from);
    rp__buf_str(out, " @ ");
    rp__view_time(c, out, rp__json_get(pin, "inherited_end"));
    rp__buf_char(out, ']');
  }
  rp__buf_str(out, ": ");
  rp__view_text(out, rp__json_get(pin, "content"), 0);
  rp__buf_char(out, '\n');
}

int rp__act_tell_pins(struct rp__act *a)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(DOC_MAX);
  struct rp__json_iter it = {0};
  struct rp__json pin;
  char *state = NULL;
  int code = rp_state_json(a->demo->c->session, -1, &state, a->err);
  if (code) return code;
  struct rp__json pins = rp__json_get(rp__json_trusted(state, strlen(state)), "pins");
  while (rp__json_next(pins, &it, NULL, &pin)) pin_lines(a->demo->c, &text, pin);
  rp_free(state);
  return show(a, &text, 900);
}

int rp__act_tell_reasons(struct rp__act *a)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(DOC_MAX);
  rp__explain_view(a->demo->c, &text, rp__json_trusted(a->reasons, strlen(a->reasons)));
  return show(a, &text, 1500);
}
