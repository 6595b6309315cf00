/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a transcript: its head, timeline, pins and tasks, and the escaping of text. */
#include <math.h>

#include "base/clock.h"
#include "facets/message.h"
#include "facets/pins.h"
#include "facets/presence.h"
#include "facets/settings.h"
#include "facets/tasks.h"
#include "facets/usage.h"
#include "format/markdown.h"
#include "format/take.h"

#define FLUSH_AT 65536

int rp__md_flush(struct rp__md *m)
{
  return m->out.n < FLUSH_AT && !m->out.err ? 0 : rp__give(m->g, &m->out, m->err);
}

/* ---- text ---- */

void rp__md_text(struct rp__buf *out, const char *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if ((c >= 0x20 && c != 0x7f) || c == '\n' || c == '\t') rp__buf_char(out, s[i]);
  }
}

void rp__md_line(struct rp__buf *out, const char *s, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    if (c == '<')
      rp__buf_str(out, "&lt;"); /* most lines stand inside tags */
    else
      rp__buf_char(out, c < 0x20 || c == 0x7f ? ' ' : s[i]);
  }
}

void rp__md_value(struct rp__buf *out, struct rp__json v)
{
  struct rp__buf text RP_AUTOBUF = RP_BUF(RP_FOREIGN_MAX);
  if (v.type != RP_JSON_STRING) return;
  rp__json_text(v, &text);
  if (text.err) out->err = out->err ? out->err : text.err;
  if (text.n) rp__md_line(out, text.p, text.n);
}

void rp__md_fenced(struct rp__buf *out, const char *lang, const char *s, size_t n)
{
  size_t longest = 2, row = 0;
  for (size_t i = 0; i < n; i++) {
    row = s[i] == '`' ? row + 1 : 0;
    longest = RP_MAX(longest, row);
  }
  for (size_t i = 0; i <= longest; i++) rp__buf_char(out, '`');
  rp__buf_printf(out, "%s\n", lang);
  rp__md_text(out, s, n);
  if (n && s[n - 1] != '\n') rp__buf_char(out, '\n');
  for (size_t i = 0; i <= longest; i++) rp__buf_char(out, '`');
  rp__buf_str(out, "\n\n");
}

void rp__md_clock(struct rp__buf *out, int64_t ms)
{
  char text[RP_TIME_TEXT];
  rp__buf_add(out, rp__time_format(ms, text) + 11, 8);
}

void rp__md_day(struct rp__buf *out, int64_t ms)
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

static void write_length(struct rp__buf *out, int64_t ms)
{
  long long minutes = (long long)(ms / 60000);
  if (ms < 60000)
    rp__buf_printf(out, "%lld s", (long long)(ms / 1000));
  else if (minutes < 60)
    rp__buf_printf(out, "%lld min", minutes);
  else if (minutes < 48 * 60)
    rp__buf_printf(out, "%lld h %lld min", minutes / 60, minutes % 60);
  else
    rp__buf_printf(out, "%lld days", minutes / 60 / 24);
}

static void write_when(struct rp__buf *out, const struct rp__given_session *session)
{
  int64_t from = session->created_at, to = session->ended_at;
  bool open = !to;
  if (open) to = session->last_activity_at;
  to = RP_MAX(to, from);
  rp__buf_str(out, "- **When:** ");
  rp__md_day(out, from);
  rp__buf_str(out, ", ");
  rp__md_clock(out, from);
  rp__buf_str(out, " to ");
  if (to / 86400000 != from / 86400000) {
    rp__md_day(out, to);
    rp__buf_str(out, ", ");
  }
  rp__md_clock(out, to);
  rp__buf_str(out, " UTC (");
  write_length(out, to - from);
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
  if (rp__presence_person(state, &person, &seen_ms)) {
    rp__buf_str(out, ", last seen: ");
    rp__md_value(out, person);
  }
  rp__buf_printf(out, " (%lld message%s)\n", (long long)total, total == 1 ? "" : "s");
}

static void write_cost(struct rp__buf *out, const struct rp__fold *state)
{
  const struct rp__usage *u = rp__usage(state);
  if (rp__fold_has(state, "usage"))
    rp__buf_printf(out, "- **Cost:** $%.4f, %lld tokens in, %lld out\n", u->cost_usd, (long long)u->tokens_in,
                   (long long)u->tokens_out);
}

void rp__md_head(struct rp__md *m)
{
  const struct rp__giver *g = m->g;
  struct rp__json name = rp__settings_name(g->state);
  struct rp__buf *out = &m->out;
  rp__buf_str(out, "# ");
  if (name.type == RP_JSON_STRING) {
    rp__md_value(out, name);
  } else {
    rp__buf_str(out, "Session ");
    rp__md_line(out, g->session.id, strlen(g->session.id));
  }
  rp__buf_str(out, "\n\n");
  write_when(out, &g->session);
  write_people(out, g->state);
  write_cost(out, g->state);
  rp__buf_str(out, "- **Session:** `");
  rp__md_line(out, g->session.id, strlen(g->session.id));
  rp__buf_str(out, "` of `");
  rp__md_line(out, g->session.scope, strlen(g->session.scope));
  rp__buf_str(out, "`\n\n");
}

/* ---- the timeline ---- */

struct timeline {
  struct rp__md *m;
  bool begun;
};

/* The video's own time: "02:05.5", or the text that stands there. */
static void write_position(struct rp__buf *out, struct rp__json v)
{
  double s;
  if (v.type == RP_JSON_STRING) {
    rp__buf_str(out, " (");
    rp__md_value(out, v);
    rp__buf_char(out, ')');
  }
  if (!rp__json_double(v, &s) || !(s >= 0) || s > 1e9) return;
  long long tenths = llround(s * 10);
  rp__buf_printf(out, " (%02lld:%02lld.%lld)", tenths / 600, tenths / 10 % 60, tenths % 10);
}

/* An id may be a number, too. */
static void write_id(struct rp__buf *out, struct rp__json v)
{
  if (v.type == RP_JSON_NUMBER) rp__md_line(out, v.p, v.n);
  rp__md_value(out, v);
}

static void write_note(struct rp__buf *out, struct rp__json body)
{
  struct rp__json category = RP_ANY(body, "category");
  double confidence;
  write_position(out, rp__json_get(body, "timestamp"));
  rp__buf_char(out, ' ');
  if (category.type == RP_JSON_STRING) {
    rp__buf_str(out, "**");
    rp__md_value(out, category);
    rp__buf_str(out, "** ");
  }
  rp__md_value(out, rp__json_get(body, "text"));
  if (rp__json_double(rp__json_get(body, "confidence"), &confidence))
    rp__buf_printf(out, " _(confidence %.2f)_", confidence);
}

static int on_moment(void *ctx, const struct rp__event *ev)
{
  struct timeline *t = ctx;
  struct rp__buf *out = &t->m->out;
  bool final = rp__json_get(ev->body, "final").type != RP_JSON_FALSE;
  bool heard = ev->kind == RP_KIND_TRANSCRIPT && final;
  if (ev->kind != RP_KIND_NOTE && ev->kind != RP_KIND_FRAME && !heard) return 0;
  if (!t->begun) rp__buf_str(out, "## Timeline\n\n");
  t->begun = true;
  rp__buf_str(out, "- ");
  rp__md_clock(out, ev->at_ms);
  if (ev->kind == RP_KIND_NOTE) {
    write_note(out, ev->body);
  } else {
    write_position(out, rp__json_get(ev->body, "timestamp"));
    rp__buf_str(out, heard ? " heard: " : " frame `");
    if (heard)
      rp__md_value(out, rp__json_get(ev->body, "text"));
    else
      write_id(out, rp__json_get(ev->body, "frame_id"));
    if (!heard) rp__buf_char(out, '`');
  }
  rp__buf_char(out, '\n');
  return rp__md_flush(t->m);
}

int rp__md_timeline(struct rp__md *m)
{
  struct timeline t = {.m = m};
  int rc = m->g->events(m->g->ctx, on_moment, &t, m->err);
  if (t.begun) rp__buf_char(&m->out, '\n');
  return rc;
}

/* ---- pins and tasks ---- */

void rp__md_pins(struct rp__md *m)
{
  const struct rp__rows *pins = rp__rows_of(m->g->state, &rp__facet_pins);
  if (pins->count == 0) return;
  rp__buf_str(&m->out, "## Pins\n\n");
  for (size_t i = 0; i < pins->count; i++) {
    struct rp__json importance = rp__row_cell(pins->v[i], RP_PIN_IMPORTANCE);
    rp__buf_str(&m->out, "- **");
    rp__md_value(&m->out, rp__row_cell(pins->v[i], RP_PIN_LABEL));
    rp__buf_str(&m->out, "**");
    if (rp__json_eq(importance, "high") || rp__json_eq(importance, "critical")) {
      rp__buf_str(&m->out, " (");
      rp__md_value(&m->out, importance);
      rp__buf_char(&m->out, ')');
    }
    rp__buf_str(&m->out, ": ");
    rp__md_value(&m->out, rp__row_cell(pins->v[i], RP_PIN_CONTENT));
    rp__buf_char(&m->out, '\n');
  }
  rp__buf_char(&m->out, '\n');
}

void rp__md_tasks(struct rp__md *m)
{
  const struct rp__rows *tasks = rp__rows_of(m->g->state, &rp__facet_tasks);
  if (tasks->count == 0) return;
  rp__buf_str(&m->out, "## Tasks\n\n");
  for (size_t i = 0; i < tasks->count; i++) {
    const struct rp__row *task = tasks->v[i];
    struct rp__json status = rp__row_cell(task, RP_TASK_STATUS);
    if (rp__json_eq(status, "deleted")) continue;
    rp__buf_str(&m->out, rp__json_eq(status, "done") ? "- [x] " : "- [ ] ");
    rp__md_value(&m->out, rp__row_cell(task, RP_TASK_TITLE));
    rp__buf_str(&m->out, " (`");
    rp__md_value(&m->out, rp__row_cell(task, RP_TASK_ID));
    rp__buf_str(&m->out, "`, ");
    rp__md_value(&m->out, rp__row_cell(task, RP_TASK_STAGE));
    rp__buf_str(&m->out, ")\n");
  }
  rp__buf_char(&m->out, '\n');
}
