/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a transcript, its timeline, pins and tasks, and how text gets into it. */
#include <math.h>

#include "base/clock.h"
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

static void write_when(struct rp__buf *out, struct rp__json session)
{
  int64_t from = rp__when(rp__json_get(session, "created_at")), to = rp__when(rp__json_get(session, "ended_at"));
  bool open = !to;
  if (open) to = rp__when(rp__json_get(session, "last_activity_at"));
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

static void write_people(struct rp__buf *out, const struct rp__giver *g)
{
  struct rp__json c = rp__json_get(g->state, "conversation"), item;
  struct rp__json_iter it = {0};
  struct rp__json person = rp__json_get(rp__json_get(g->state, "presence"), "last_person");
  bool user = false, assistant = false;
  int64_t total = 0;
  rp__json_i64(rp__json_get(c, "total"), &total);
  while (rp__json_next(rp__json_get(c, "messages"), &it, NULL, &item)) {
    user = user || rp__json_eq(rp__json_get(item, "role"), "user");
    assistant = assistant || rp__json_eq(rp__json_get(item, "role"), "assistant");
  }
  if (!total) return;
  rp__buf_printf(out, "- **Who:** %s%s%s", user ? "user" : "", user && assistant ? " and " : "",
                 assistant ? "assistant" : "");
  if (person.type == RP_JSON_STRING) {
    rp__buf_str(out, ", last seen: ");
    rp__md_value(out, person);
  }
  rp__buf_printf(out, " (%lld message%s)\n", (long long)total, total == 1 ? "" : "s");
}

static void write_cost(struct rp__buf *out, struct rp__json usage)
{
  int64_t in = 0, back = 0;
  double usd = 0;
  if (usage.type != RP_JSON_OBJECT) return;
  rp__json_i64(rp__json_get(usage, "tokens_in"), &in);
  rp__json_i64(rp__json_get(usage, "tokens_out"), &back);
  rp__json_double(rp__json_get(usage, "cost_usd"), &usd);
  rp__buf_printf(out, "- **Cost:** $%.4f, %lld tokens in, %lld out\n", usd, (long long)in, (long long)back);
}

void rp__md_head(struct rp__md *m)
{
  struct rp__json session = rp__json_get(m->g->state, "session");
  struct rp__json name = RP_ANY(rp__json_get(m->g->state, "settings"), "name"),
                  id = rp__json_get(session, "session_id");
  struct rp__buf *out = &m->out;
  rp__buf_str(out, "# ");
  if (name.type != RP_JSON_STRING) rp__buf_str(out, "Session ");
  rp__md_value(out, name.type == RP_JSON_STRING ? name : id);
  rp__buf_str(out, "\n\n");
  write_when(out, session);
  write_people(out, m->g);
  write_cost(out, rp__json_get(m->g->state, "usage"));
  rp__buf_str(out, "- **Session:** `");
  rp__md_value(out, id);
  rp__buf_str(out, "` of `");
  rp__md_value(out, rp__json_get(session, "scope"));
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
  struct rp__json pins = rp__json_get(m->g->state, "pins"), item;
  struct rp__json_iter it = {0};
  if (pins.type != RP_JSON_ARRAY || rp__json_count(pins) == 0) return;
  rp__buf_str(&m->out, "## Pins\n\n");
  while (rp__json_next(pins, &it, NULL, &item)) {
    struct rp__json importance = rp__json_get(item, "importance");
    rp__buf_str(&m->out, "- **");
    rp__md_value(&m->out, rp__json_get(item, "label"));
    rp__buf_str(&m->out, "**");
    if (rp__json_eq(importance, "high") || rp__json_eq(importance, "critical")) {
      rp__buf_str(&m->out, " (");
      rp__md_value(&m->out, importance);
      rp__buf_char(&m->out, ')');
    }
    rp__buf_str(&m->out, ": ");
    rp__md_value(&m->out, rp__json_get(item, "content"));
    rp__buf_char(&m->out, '\n');
  }
  rp__buf_char(&m->out, '\n');
}

void rp__md_tasks(struct rp__md *m)
{
  struct rp__json tasks = rp__json_get(m->g->state, "tasks"), item;
  struct rp__json_iter it = {0};
  if (tasks.type != RP_JSON_ARRAY || rp__json_count(tasks) == 0) return;
  rp__buf_str(&m->out, "## Tasks\n\n");
  while (rp__json_next(tasks, &it, NULL, &item)) {
    bool done = rp__json_eq(rp__json_get(item, "status"), "done");
    if (rp__json_eq(rp__json_get(item, "status"), "deleted")) continue;
    rp__buf_str(&m->out, done ? "- [x] " : "- [ ] ");
    rp__md_value(&m->out, rp__json_get(item, "title"));
    rp__buf_str(&m->out, " (`");
    rp__md_value(&m->out, rp__json_get(item, "task_id"));
    rp__buf_str(&m->out, "`, ");
    rp__md_value(&m->out, rp__json_get(item, "stage"));
    rp__buf_str(&m->out, ")\n");
  }
  rp__buf_char(&m->out, '\n');
}
