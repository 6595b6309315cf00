/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transcript for people: a head about the session, the conversation with its times and tool calls (collapsed), then
 * the timeline of notes and frames (L-12), pins and tasks. It is written as a stream, so a journal of any length needs
 * the memory of one page.
 */
#include <math.h>
#include <stdarg.h>

#include "base/clock.h"
#include "facets/pins.h"
#include "facets/presence.h"
#include "facets/settings.h"
#include "facets/tasks.h"
#include "facets/usage.h"
#include "format/give.h"
#include "format/take.h"

#define CALLS_OPEN 64
#define SHOWN_MAX 20000 /* bytes of an input or output that are shown */
#define FLUSH_AT 65536

/* The text so far, handed over piece by piece. */
struct md {
  const struct rp__giver *g;
  struct rp__buf out;
  rp_error *err;
};

static int md_flush(struct md *m)
{
  return m->out.n < FLUSH_AT && !m->out.err ? 0 : rp__give(m->g, &m->out, m->err);
}

/* ---- text ---- */

static void md_text(struct rp__buf *out, const char *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t') rp__buf_char(out, s[i]);
  }
}

static void md_line(struct rp__buf *out, const char *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '<')
      rp__buf_str(out, "&lt;"); /* most lines stand inside tags */
    else
      rp__buf_char(out, c < 0x20 || c == 0x7f ? ' ' : s[i]);
  }
}

static void md_value(struct rp__buf *out, struct rp__json v)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  if (v.type != RP_JSON_STRING) return;
  rp__json_text(v, &text);
  if (text.err) out->err = out->err ? out->err : text.err;
  if (text.n) md_line(out, text.p, text.n);
}

/* A pattern in which each % is the next value, as md_value writes it. */
static void md_put(struct rp__buf *out, const char *pattern, ...)
{
  va_list values;
  va_start(values, pattern);
  for (; *pattern; pattern++) {
    if (*pattern == '%')
      md_value(out, va_arg(values, struct rp__json));
    else
      rp__buf_char(out, *pattern);
  }
  va_end(values);
}

static void md_clock(struct rp__buf *out, int64_t ms)
{
  char text[RP_TIME_TEXT];
  rp__buf_add(out, rp__time_format(ms, text) + 11, 8);
}

static void md_day(struct rp__buf *out, int64_t ms)
{
  static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                       "July",    "August",   "September", "October", "November", "December"};
  char text[RP_TIME_TEXT];
  rp__time_format(ms, text);
  int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
  if (month < 1 || month > 12) return;
  rp__buf_printf(out, "%d %s %.4s", day, months[month - 1], text);
}

/* ---- the head ---- */

static void write_when(struct rp__buf *out, const struct rp__given_session *session)
{
  int64_t from = session->created_at, to = session->ended_at;
  bool open = !to;
  if (open) to = session->last_activity_at;
  to = RP_MAX(to, from);
  rp__buf_str(out, "- **When:** ");
  md_day(out, from);
  rp__buf_str(out, ", ");
  md_clock(out, from);
  rp__buf_str(out, " to ");
  if (to / 86400000 != from / 86400000) {
    md_day(out, to);
    rp__buf_str(out, ", ");
  }
  md_clock(out, to);
  rp__buf_str(out, " UTC (");
  long long minutes = (to - from) / 60000;
  if (minutes == 0)
    rp__buf_printf(out, "%lld s", (long long)((to - from) / 1000));
  else if (minutes < 60)
    rp__buf_printf(out, "%lld min", minutes);
  else if (minutes < 48 * 60)
    rp__buf_printf(out, "%lld h %lld min", minutes / 60, minutes % 60);
  else
    rp__buf_printf(out, "%lld days", minutes / 60 / 24);
  rp__buf_str(out, open ? ", not ended)\n" : ")\n");
}

static void write_people(struct rp__buf *out, const struct rp__fold *state)
{
  size_t kept = rp__conversation_count(state);
  int64_t total = rp__conversation_total(state), seen_ms;
  bool user = false, assistant = false;
  struct rp__json person;
  if (!total) return;
  for (size_t i = 0; i < kept; i++) {
    struct rp__json role = rp__message_part(rp__conversation_at(state, i), RP_MSG_ROLE);
    user = user || rp__json_eq(role, "user");
    assistant = assistant || rp__json_eq(role, "assistant");
  }
  rp__buf_printf(out, "- **Who:** %s%s%s", user ? "user" : "", user && assistant ? " and " : "",
                 assistant ? "assistant" : "");
  if (rp__presence_person(state, &person, &seen_ms)) md_put(out, ", last seen: %", person);
  rp__buf_printf(out, " (%lld message%s)\n", (long long)total, total == 1 ? "" : "s");
}

static void md_head(struct md *m)
{
  const struct rp__giver *g = m->g;
  struct rp__json name = rp__settings_name(g->state);
  const struct rp__usage *u = rp__usage(g->state);
  struct rp__buf *out = &m->out;
  if (name.type == RP_JSON_STRING) {
    md_put(out, "# %", name);
  } else {
    rp__buf_str(out, "# Session ");
    md_line(out, g->session.id, strlen(g->session.id));
  }
  rp__buf_str(out, "\n\n");
  write_when(out, &g->session);
  write_people(out, g->state);
  if (rp__fold_has(g->state, "usage"))
    rp__buf_printf(out, "- **Cost:** $%.4f, %lld tokens in, %lld out\n", u->cost_usd, (long long)u->tokens_in,
                   (long long)u->tokens_out);
  rp__buf_str(out, "- **Session:** `");
  md_line(out, g->session.id, strlen(g->session.id));
  rp__buf_str(out, "` of `");
  md_line(out, g->session.scope, strlen(g->session.scope));
  rp__buf_str(out, "`\n\n");
}

/* ---- the timeline ---- */

struct timeline {
  struct md *m;
  bool begun;
};

/* The video's own time: "02:05.5", or the text that stands there. */
static void write_position(struct rp__buf *out, struct rp__json v)
{
  double s;
  if (v.type == RP_JSON_STRING) md_put(out, " (%)", v);
  if (!rp__json_double(v, &s) || !(s >= 0) || s > 1e9) return;
  long long tenths = llround(s * 10);
  rp__buf_printf(out, " (%02lld:%02lld.%lld)", tenths / 600, tenths / 10 % 60, tenths % 10);
}

static int on_moment(void *ctx, const struct rp__event *ev)
{
  struct timeline *t = ctx;
  struct rp__buf *out = &t->m->out;
  bool heard = ev->kind == RP_KIND_TRANSCRIPT && rp__json_get(ev->body, "final").type != RP_JSON_FALSE;
  bool note = ev->kind == RP_KIND_NOTE;
  if (!note && ev->kind != RP_KIND_FRAME && !heard) return 0;
  if (!t->begun) rp__buf_str(out, "## Timeline\n\n");
  t->begun = true;
  rp__buf_str(out, "- ");
  md_clock(out, ev->at_ms);
  write_position(out, rp__json_get(ev->body, "timestamp"));
  if (note) {
    struct rp__json category = rp__json_get(ev->body, "category");
    double confidence;
    if (category.type == RP_JSON_STRING) md_put(out, " **%**", category);
    md_put(out, " %", rp__json_get(ev->body, "text"));
    if (rp__json_double(rp__json_get(ev->body, "confidence"), &confidence))
      rp__buf_printf(out, " _(confidence %.2f)_", confidence);
  } else if (heard) {
    md_put(out, " heard: %", rp__json_get(ev->body, "text"));
  } else {
    struct rp__json id = rp__json_get(ev->body, "frame_id"); /* may be a number, too */
    rp__buf_str(out, " frame `");
    if (id.type == RP_JSON_NUMBER) md_line(out, id.p, id.n);
    md_put(out, "%`", id);
  }
  rp__buf_char(out, '\n');
  return md_flush(t->m);
}

/* ---- pins and tasks ---- */

static void md_pins(struct md *m)
{
  const struct rp__rows *pins = rp__rows_of(m->g->state, &rp__facet_pins);
  if (pins->count == 0) return;
  rp__buf_str(&m->out, "## Pins\n\n");
  for (size_t i = 0; i < pins->count; i++) {
    struct rp__json importance = rp__row_cell(pins->v[i], RP_PIN_IMPORTANCE);
    bool told = rp__json_eq(importance, "high") || rp__json_eq(importance, "critical");
    md_put(&m->out, "- **%**", rp__row_cell(pins->v[i], RP_PIN_LABEL));
    if (told) md_put(&m->out, " (%)", importance);
    md_put(&m->out, ": %\n", rp__row_cell(pins->v[i], RP_PIN_CONTENT));
  }
  rp__buf_char(&m->out, '\n');
}

static void md_tasks(struct md *m)
{
  const struct rp__rows *tasks = rp__rows_of(m->g->state, &rp__facet_tasks);
  if (tasks->count == 0) return;
  rp__buf_str(&m->out, "## Tasks\n\n");
  for (size_t i = 0; i < tasks->count; i++) {
    const struct rp__row *task = tasks->v[i];
    struct rp__json status = rp__row_cell(task, RP_TASK_STATUS);
    if (rp__json_eq(status, "deleted")) continue;
    rp__buf_str(&m->out, rp__json_eq(status, "done") ? "- [x] " : "- [ ] ");
    md_put(&m->out, "% (`%`, %)\n", rp__row_cell(task, RP_TASK_TITLE), rp__row_cell(task, RP_TASK_ID),
           rp__row_cell(task, RP_TASK_STAGE));
  }
  rp__buf_char(&m->out, '\n');
}

/* ---- the conversation ---- */

struct call {
  char id[RP_EVENT_ID_MAX + 1];
  struct rp__buf body; /* of the event that opened it */
};

struct talk {
  struct md *m;
  struct rp__buf last; /* body of the last message or chunk written; empty: none is open */
  struct rp__buf text;
  int64_t day;
  struct call *calls;
  size_t n_calls;
};

static void close_message(struct talk *k)
{
  if (k->last.n) rp__buf_str(&k->m->out, "\n\n");
  rp__buf_reset(&k->last);
}

static void day_heading(struct talk *k, int64_t at_ms)
{
  int64_t day = at_ms / 86400000;
  if (day == k->day) return;
  k->day = day;
  rp__buf_str(&k->m->out, "### ");
  md_day(&k->m->out, at_ms);
  rp__buf_str(&k->m->out, "\n\n");
}

static void on_message(struct talk *k, const struct rp__event *ev)
{
  static const struct {
    const char *role, *name;
  } names[] = {{"user", "User"}, {"assistant", "Assistant"}, {"system", "System"}, {"tool", "Tool"}};
  struct rp__json role = rp__json_get(ev->body, "role");
  const char *speaker = "Somebody";
  struct rp__buf *out = &k->m->out;
  bool more = k->last.n && rp__same_message(rp__json_trusted(k->last.p, k->last.n), ev->body);
  if (!more) {
    close_message(k);
    day_heading(k, ev->at_ms);
    for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++)
      if (rp__json_eq(role, names[i].role)) speaker = names[i].name;
    rp__buf_printf(out, "**%s** · ", speaker);
    md_clock(out, ev->at_ms);
    rp__buf_str(out, "\n\n");
  }
  rp__buf_reset(&k->last);
  rp__buf_add(&k->last, ev->body.p, ev->body.n);
  rp__buf_reset(&k->text);
  rp__content_text(rp__json_get(ev->body, "content"), &k->text);
  if (k->text.n) md_text(out, k->text.p, k->text.n);
  if (k->text.err || k->last.err) out->err = out->err ? out->err : RP_E_NOMEM;
}

/* ---- tools ---- */

static void write_part(struct rp__buf *out, const char *title, struct rp__json v)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  if (v.type == RP_JSON_NONE || v.type == RP_JSON_NULL) return;
  if (v.type == RP_JSON_STRING)
    rp__json_text(v, &text);
  else
    rp__json_pretty(v, false, &text);
  if (text.err) out->err = out->err ? out->err : text.err;
  if (text.err || !text.n) return;
  /* The fence is longer than any row of such marks in the text. */
  size_t shown = RP_MIN(text.n, (size_t)SHOWN_MAX), longest = 2, row = 0;
  for (size_t i = 0; i < shown; i++) {
    row = text.p[i] == '`' ? row + 1 : 0;
    longest = RP_MAX(longest, row);
  }
  rp__buf_printf(out, "%s\n\n", title);
  for (size_t i = 0; i <= longest; i++) rp__buf_char(out, '`');
  rp__buf_printf(out, "%s\n", v.type == RP_JSON_STRING ? "" : "json");
  md_text(out, text.p, shown);
  if (text.p[shown - 1] != '\n') rp__buf_char(out, '\n');
  for (size_t i = 0; i <= longest; i++) rp__buf_char(out, '`');
  rp__buf_str(out, "\n\n");
  if (text.n > SHOWN_MAX) rp__buf_printf(out, "… %zu bytes in all\n\n", text.n);
}

static void write_call(struct talk *k, struct rp__json opened, struct rp__json ended, int64_t at_ms)
{
  struct rp__buf *out = &k->m->out;
  struct rp__json input = rp__json_get(ended, "input"), status = rp__json_get(ended, "status");
  close_message(k);
  day_heading(k, at_ms);
  md_put(out, "<details><summary>Tool <code>%</code> · ", rp__json_get(ended, "name"));
  if (rp__json_eq(status, "done") || rp__json_eq(status, "failed"))
    md_value(out, status);
  else
    rp__buf_str(out, "nobody knows how it ended");
  rp__buf_str(out, " · ");
  md_clock(out, at_ms);
  rp__buf_str(out, "</summary>\n\n");
  write_part(out, "Input", input.type == RP_JSON_NONE ? rp__json_get(opened, "input") : input);
  write_part(out, "Output", rp__json_get(ended, "output"));
  rp__buf_str(out, "</details>\n\n");
}

static void drop_call(struct talk *k, size_t i)
{
  rp__buf_done(&k->calls[i].body);
  k->n_calls--;
  memmove(&k->calls[i], &k->calls[i + 1], (k->n_calls - i) * sizeof k->calls[0]);
}

static void on_tool(struct talk *k, const struct rp__event *ev)
{
  struct rp__json status = rp__json_get(ev->body, "status"), opened = {0};
  char id[RP_EVENT_ID_MAX + 1];
  rp__text_of(rp__json_get(ev->body, "call_id"), id, sizeof id);
  size_t i = 0;
  while (i < k->n_calls && strcmp(k->calls[i].id, id) != 0) i++;
  if (rp__json_eq(status, "intended") || rp__json_eq(status, "running")) {
    if (i < k->n_calls) return; /* it goes on */
    if (k->n_calls == CALLS_OPEN) drop_call(k, 0);
    struct call *c = &k->calls[k->n_calls++];
    c->body = RP_BUF(RP_FOREIGN_MAX);
    snprintf(c->id, sizeof c->id, "%s", id);
    rp__buf_add(&c->body, ev->body.p, ev->body.n);
    if (c->body.err) k->m->out.err = RP_E_NOMEM;
    return;
  }
  if (i < k->n_calls) opened = rp__json_trusted(k->calls[i].body.p, k->calls[i].body.n);
  write_call(k, opened, ev->body, ev->at_ms);
  if (i < k->n_calls) drop_call(k, i);
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct talk *k = ctx;
  if (ev->kind == RP_KIND_MESSAGE) on_message(k, ev);
  if (ev->kind == RP_KIND_TOOL) on_tool(k, ev);
  return md_flush(k->m);
}

static int conversation(struct md *m)
{
  struct talk k = {.m = m, .last = RP_BUF(RP_FOREIGN_MAX), .text = RP_BUF(RP_FOREIGN_MAX), .day = -1};
  k.calls = calloc(CALLS_OPEN, sizeof *k.calls);
  if (!k.calls) return rp__fail_nomem(m->err);
  rp__buf_str(&m->out, "## Conversation\n\n");
  int rc = rp__give_events(m->g, on_event, &k, m->err);
  for (size_t i = 0; !rc && i < k.n_calls; i++) {
    struct rp__json body = rp__json_trusted(k.calls[i].body.p, k.calls[i].body.n);
    write_call(&k, body, body, m->g->now_ms);
  }
  close_message(&k);
  while (k.n_calls) drop_call(&k, k.n_calls - 1);
  free(k.calls);
  rp__buf_done(&k.last);
  rp__buf_done(&k.text);
  return rc;
}

static int markdown_export(const struct rp__giver *g, rp_error *err)
{
  struct md m = {.g = g, .out = RP_BUF(2 * RP_FOREIGN_MAX), .err = err};
  md_head(&m);
  int rc = conversation(&m);
  struct timeline t = {.m = &m};
  if (!rc) rc = g->events(g->ctx, on_moment, &t, err);
  if (!rc) {
    if (t.begun) rp__buf_char(&m.out, '\n');
    md_pins(&m);
    md_tasks(&m);
    rc = rp__give(g, &m.out, err);
  }
  rp__buf_done(&m.out);
  return rc;
}

const struct rp__format rp__format_markdown = {
    .name = "markdown",
    .extension = ".md",
    .what = "nothing: transcripts are only written",
    .export = markdown_export,
};
