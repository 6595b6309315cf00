/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The acts that are played in this process, over a clock that can be moved. A robot is hurt, restarts, sleeps for two
 * hours, and greets its person. A coder comes back after 48 hours with pins, tasks and topics.
 */
#include "cli/demo/demo.h"
#include "cli/term.h"
#include "cli/out.h"

#define EVENING_MS 1772562600000 /* 2026-03-03T18:30:00Z */
#define MONDAY_MS 1772460000000  /* 2026-03-02T14:00:00Z */
#define DAY_S 86400
#define CONFIDENCE 0.9
#define DOC_MAX (4 * 1024 * 1024)

enum what {
  SCENE,        /* a heading */
  START,        /* a session begins, so much later than the act; `who` are its topics */
  SAY,          /* a message */
  EVENT,        /* any other event; `who` stands before its text */
  LEARN,        /* a memory */
  TELL_START,   /* what the start said: restart, what was inherited, and the brief in full */
  TELL_MOOD,    /* mood and levels of the state */
  TELL_PINS,    /* what is pinned */
  TELL_REASONS, /* why the brief is as it is */
  END,
};

struct step {
  enum what what;
  const char *who, *text, *kind, *body;
  int wait_s; /* how much later */
};

#define MIA "person", "{\"name\":\"Mia\"}"
#define FEELS(event) "emotion", "{\"event\":\"" event "\"}"
#define SLEEPS(state) EVENT, "sleep", state, "sleep", "{\"state\":\"" state "\"}"

static const struct step robot[] = {
    {SCENE, .text = "a robot, 18:30, and a blow"},
    {START},
    {EVENT, "sees", "Mia", MIA},
    {EVENT, "feels", "face_recognized", FEELS("face_recognized"), 1},
    {SAY, "you", "Hi Nova! Shall we finish the lighthouse puzzle?", .wait_s = 5},
    {SAY, "nova", "Yes! Only the red roof is missing.", .wait_s = 4},
    {SAY, "you", "Afterwards I have to pack for Bremen, the train leaves at nine.", .wait_s = 20},
    {SAY, "nova", "I will remind you of the umbrella.", .wait_s = 4},
    {EVENT, "feels", "harsh_words: a stranger shouts at it", FEELS("harsh_words"), 30},
    {EVENT, "feels", "violence: and strikes it", FEELS("violence"), 1},
    {EVENT, "sees", "Mia, who comes running", MIA, 1},
    {TELL_MOOD, .wait_s = 2}, /* a mood settles */
    {END},
    {SCENE, .text = "four minutes later, after a restart"},
    {START, .wait_s = 5 * 60},
    {TELL_START},
    {TELL_MOOD},
    {SAY, "nova", "I am back. That was a bad moment, Mia.", .wait_s = 5},
    {EVENT, "feels", "pat_level2", FEELS("pat_level2"), 10},
    {SAY, "you", "It's all right. Sleep a little, I'll wake you before the train.", .wait_s = 20},
    {SLEEPS("falling_asleep"), 5},
    {SLEEPS("sleeping"), 20},
    {END},
    {SCENE, .text = "two hours of sleep later"},
    {START, .wait_s = 126 * 60},
    {TELL_START},
    {TELL_MOOD},
    {SCENE, .text = "why each line: reprise brief --scope nova --explain"},
    {TELL_REASONS},
    {SCENE, .text = "and it greets its person"},
    {SLEEPS("waking_up"), 1},
    {EVENT, "sees", "Mia", MIA, 1},
    {EVENT, "feels", "face_recognized", FEELS("face_recognized"), 1},
    {SAY, "nova", "Mia, there you are! How did the packing go? Don't forget the umbrella for Bremen.", .wait_s = 3},
    {TELL_MOOD, .wait_s = 2},
    {END},
    {0},
};

static const struct step coder[] = {
    {SCENE, .text = "a coder at work"},
    {START, .wait_s = -4 * DAY_S},
    {EVENT, "works", "on something else, four days earlier", "activity",
     "{\"text\":\"collecting receipts for the tax return\",\"workdir\":\"/srv/papers\"}"},
    {SAY, "you", "Sort the receipts by month, please.", .wait_s = 10},
    {SAY, "coder", "Sorted; two of them have no date.", .wait_s = 60},
    {END},
    {START},
    {EVENT, "works", "in Projects/lbf-ham-radio", "activity",
     "{\"tool\":\"edit\",\"text\":\"ham radio: CAT control of the ft991a\","
     "\"workdir\":\"/srv/Projects/lbf-ham-radio\"}"},
    {SAY, "you", "Let's get CAT control of the ft991a going in lbf-ham-radio.", .wait_s = 10},
    {EVENT, "task", "task-7, CAT control of the ft991a: build", "task",
     "{\"task_id\":\"task-7\",\"title\":\"CAT control of the ft991a\",\"stage\":\"build\"}", 5},
    {EVENT, "task", "task-6, read the manual: done", "task",
     "{\"task_id\":\"task-6\",\"title\":\"read the manual\",\"stage\":\"done\",\"status\":\"done\"}", 5},
    {EVENT, "pins", "CRITICAL dummy load", "pin",
     "{\"label\":\"CRITICAL dummy load\",\"content\":\"never key the transmitter without the dummy load\","
     "\"importance\":\"critical\"}",
     20},
    {EVENT, "pins", "rig login, with a password in it", "pin",
     "{\"label\":\"rig login\",\"content\":\"user ada, password=Tr4mpoline-77, port 4532\"}", 5},
    {SAY, "coder", "Frequency and mode work over CAT; the meter readings of the ft991a come next.", .wait_s = 1800},
    {LEARN, .text = "the ft991a speaks CAT at 38400 baud"},
    {END},
    {SCENE, .text = "48 hours later: reprise start --topics ft991a"},
    {START, "ft991a", .wait_s = 2 * DAY_S + 1860},
    {TELL_START},
    {SCENE, .text = "what is pinned; the password never reached the disk"},
    {TELL_PINS},
    {SCENE, .text = "why each line: reprise brief --scope workbench --explain"},
    {TELL_REASONS},
    {END},
    {0},
};

static const struct act {
  const char *name, *scope;
  int64_t begins_ms;
  const struct step *steps;
} acts[] = {{"robot", "nova", EVENING_MS, robot}, {"coder", "workbench", MONDAY_MS, coder}};

/* Sets the clock, closing what was open, asks why, and starts a session in the act's scope. */
static int start(struct rp__demo *d, const struct act *a, const struct step *s, char **reasons, rp_error *err)
{
  struct rp__cli *c = d->c;
  const rp_start_options o = {.scope = a->scope, .channel = "demo", .topics = s->who};
  const rp_brief_options why = {.scope = a->scope, .channel = "demo", .topics = s->who, .explain = true};
  rp__cli_done(c);
  c->clock = rp__clock_shifted(&c->shifted, a->begins_ms + (int64_t)s->wait_s * 1000);
  rp_free(RP_TAKE(*reasons));
  int code = rp__cli_open_db(c, d->db, RP_USE_WRITE, err);
  if (!code) code = rp_brief_scope(c->engine, &why, reasons, err);
  return code ? code : rp_start(c->engine, &o, &c->session, err);
}

/* A message is said letter by letter, any other event is a fact. */
static int happen(struct rp__demo *d, const struct step *s, rp_error *err)
{
  RP_AUTOBUF struct rp__buf message = RP_BUF(65536);
  struct rp__jw w = RP_JW(&message);
  rp_ack ack;
  if (s->what == EVENT) {
    rp__stage_fact(&d->stage, s->who, "%s", s->text);
  } else {
    rp__jw_pack(&w, "{role:s content:s}", strcmp(s->who, "you") == 0 ? "user" : "assistant", s->text);
    rp__stage_say(&d->stage, s->who, s->text);
    putchar('\n');
    rp__stage_pause(&d->stage, 200);
  }
  if (message.err) return rp__fail_nomem(err);
  const rp_event ev = {.kind = s->kind ? s->kind : "message", .body = s->body ? s->body : message.p};
  return rp_append(d->c->session, &ev, NULL, &ack, err);
}

/* ---- telling -------------------------------------------------------------- */

static void restart_text(struct rp__buf *out, struct rp__json doc)
{
  static const char *const parts[] = {"pins", "tasks", "memories"};
  struct rp__json restart = rp__json_get(doc, "restart"), inherited = rp__json_get(doc, "inherited");
  rp__buf_str(out, "restart   ");
  rp__view_text(out, rp__json_get(restart, "type"), 60);
  rp__buf_str(out, ", ");
  rp__view_text(out, rp__json_get(restart, "cause"), 60);
  rp__buf_printf(out, "; away for %.0f s; session number ", rp__view_number(rp__json_get(restart, "elapsed_seconds")));
  rp__view_text(out, rp__json_get(doc, "total_sessions"), 60);
  rp__buf_str(out, "\ninherits  ");
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++) {
    if (i) rp__buf_str(out, ", ");
    rp__view_text(out, rp__json_get(inherited, parts[i]), 60);
    rp__buf_printf(out, " %s", parts[i]);
  }
  rp__buf_str(out, "\n\n");
}

static void pin_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json pin)
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

/* Prints what was collected, a little to the right, as everything on the stage, and forgets it. */
static int show(const struct rp__demo *d, struct rp__buf *text, int pause_ms, rp_error *err)
{
  if (text->err) return rp__fail_nomem(err);
  const char *p = text->p;
  for (size_t n = text->n; n > 0;) {
    const char *end = memchr(p, '\n', n);
    size_t line = end ? (size_t)(end - p) : n;
    printf("%s%.*s\n", line ? "  " : "", (int)line, p);
    p += line + (end != NULL);
    n -= line + (end != NULL);
  }
  rp__buf_reset(text);
  rp__stage_pause(&d->stage, pause_ms);
  return 0;
}

static int tell_start(const struct rp__demo *d, struct rp__buf *text, rp_error *err)
{
  const char *json = rp_start_json(d->c->session);
  struct rp__json doc = rp__json_trusted(json, strlen(json));
  restart_text(text, doc);
  int code = show(d, text, 600, err);
  if (code) return code;
  rp__brief_view(d->c, text, doc);
  if (text->n == 0) rp__buf_str(text, "(no brief: a cold start)\n");
  rp__buf_char(text, '\n');
  return show(d, text, 1500, err);
}

static int tell_state(const struct rp__demo *d, enum what what, struct rp__buf *text, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json pin;
  RP_AUTOTEXT char *state = NULL;
  int code = rp_state_json(d->c->session, -1, &state, err);
  if (code) return code;
  struct rp__json doc = rp__json_trusted(state, strlen(state));
  if (what == TELL_MOOD)
    rp__view_affect(d->c, text, rp__json_get(doc, "affect"));
  else
    while (rp__json_next(rp__json_get(doc, "pins"), &it, NULL, &pin)) pin_line(d->c, text, pin);
  return show(d, text, 900, err);
}

int rp__demo_play(struct rp__demo *d, const char *name, rp_error *err)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(DOC_MAX);
  RP_AUTOTEXT char *reasons = NULL; /* what `brief --explain` said right before the last start */
  const struct act *a = acts;
  int code = 0;
  while (strcmp(a->name, name) != 0) a++;
  for (const struct step *s = a->steps; (s->what != SCENE || s->text) && !code; s++) {
    if (rp__signals_read(d->signals)) return rp__fail(err, RP_E_CANCELLED, "interrupted");
    /* The engine reads the clock through this very struct. */
    if (s->what != START) d->c->shifted.offset_ms += (int64_t)s->wait_s * 1000;
    switch (s->what) {
    case SCENE: rp__stage_scene(&d->stage, s->text); break;
    case START: code = start(d, a, s, &reasons, err); break;
    case SAY:
    case EVENT: code = happen(d, s, err); break;
    case LEARN:
      rp__stage_fact(&d->stage, "learns", "%s (confidence %.1f)", s->text, CONFIDENCE);
      code = rp_remember(d->c->session, s->text, CONFIDENCE, NULL, NULL, err);
      break;
    case TELL_START: code = tell_start(d, &text, err); break;
    case TELL_MOOD:
    case TELL_PINS: code = tell_state(d, s->what, &text, err); break;
    case TELL_REASONS:
      rp__explain_view(d->c, &text, rp__json_trusted(reasons, strlen(reasons)));
      code = show(d, &text, 1500, err);
      break;
    case END:
      code = rp_end(d->c->session, NULL, err);
      rp__cli_done(d->c);
      break;
    }
  }
  return code;
}
