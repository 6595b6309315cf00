/* SPDX-License-Identifier: Apache-2.0 */
/* Shows parts of the engine's documents as lines and tables. */
#include "cli/out.h"

#include <math.h>

#include "cli/term.h"

#define BRIEF_MAX (4 * 1024 * 1024)
#define VERDICT_COLUMNS 16
#define TEXT_MAX (2 * RP_BODY_MAX)
#define BAR_CELLS 24
#define NAME_COLUMNS 10
#define ID_SHOWN 13 /* of a UUIDv7: its whole time, one dash */

/* ---- values --------------------------------------------------------------- */

void rp__view_text(struct rp__buf *out, struct rp__json v, int columns)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
  if (v.type == RP_JSON_STRING)
    rp__json_text(v, &text);
  else if (v.type != RP_JSON_NONE && v.type != RP_JSON_NULL)
    rp__buf_add(&text, v.p, v.n);
  if (text.n == 0) rp__buf_char(&text, '-');
  if (text.err)
    out->err = out->err ? out->err : text.err;
  else
    rp__term_cut(out, text.p, text.n, columns);
}

void rp__view_cell(struct rp__buf *out, struct rp__json v, int columns)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
  rp__view_text(&text, v, columns);
  if (text.err)
    out->err = out->err ? out->err : text.err;
  else
    rp__term_cell(out, text.p, columns);
}

void rp__view_time(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  char at[RP_MOMENT_TEXT];
  int64_t ms;
  if (v.type == RP_JSON_STRING && v.n >= 2 && rp__time_parse(v.p + 1, v.n - 2, &ms) == 0)
    rp__buf_str(out, rp__moment_format(c, ms, at));
  else
    rp__view_text(out, v, 0);
}

double rp__view_number(struct rp__json v)
{
  double d;
  return rp__json_double(v, &d) ? d : 0;
}

void rp__view_id(struct rp__buf *out, struct rp__json v)
{
  bool uuid = v.type == RP_JSON_STRING && v.n == 38 && v.p[9] == '-';
  if (uuid)
    rp__term_cut(out, v.p + 1, ID_SHOWN, 0);
  else
    rp__view_text(out, v, 36);
}

/* ---- texts ---------------------------------------------------------------- */

void rp__view_lines(const struct rp__cli *c, struct rp__buf *out, const char *text, size_t n, const char *prefix)
{
  while (n > 0) {
    const char *end = memchr(text, '\n', n);
    size_t line = end ? (size_t)(end - text) : n;
    rp__buf_str(out, prefix);
    if (c->term.out_tty)
      rp__term_cut(out, text, line, 0);
    else
      rp__buf_add(out, text, line);
    rp__buf_char(out, '\n');
    text += line + (end != NULL);
    n -= line + (end != NULL);
  }
}

void rp__view_heading(const struct rp__cli *c, struct rp__buf *out, const char *title)
{
  bool colour = c->term.out_colour;
  rp__buf_printf(out, "%s%s%s%s\n", out->n ? "\n" : "", RP_SGR(colour, RP_BOLD), title, RP_RESET(colour));
}

/* ---- feelings ------------------------------------------------------------- */

/* A bar for 0..1 and a space behind it; away from a terminal nothing. */
static void bar_add(const struct rp__cli *c, struct rp__buf *out, double value, const char *colour)
{
  if (!c->term.out_tty) return;
  double part = value > 0 ? value : 0;
  int full = (int)((part < 1 ? part : 1) * BAR_CELLS + 0.5);
  rp__buf_str(out, RP_SGR(c->term.out_colour, colour));
  for (int i = 0; i < full; i++) rp__buf_str(out, "█");
  rp__buf_printf(out, "%s%s", RP_RESET(c->term.out_colour), RP_SGR(c->term.out_colour, RP_DIM));
  for (int i = full; i < BAR_CELLS; i++) rp__buf_str(out, "░");
  rp__buf_printf(out, "%s  ", RP_RESET(c->term.out_colour));
}

static void label_add(const struct rp__cli *c, struct rp__buf *out, const char *name)
{
  rp__buf_str(out, RP_SGR(c->term.out_colour, RP_CYAN));
  rp__term_cell(out, name, NAME_COLUMNS);
  rp__buf_printf(out, "%s ", RP_RESET(c->term.out_colour));
}

/* A key is raw between its quotes; the table of emotions only has plain names, and others are made safe. */
static void level_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json name, double value)
{
  static const char *const colours[][2] = {
      {"joy", RP_YELLOW}, {"sadness", RP_CYAN}, {"anger", RP_RED}, {"disgust", RP_GREEN}};
  RP_AUTOBUF struct rp__buf text = RP_BUF(1024);
  rp__buf_add(&text, name.p, name.n);
  const char *emotion = text.p && !text.err ? text.p : "?", *colour = RP_BOLD;
  for (size_t i = 0; i < RP_ARRAY_SIZE(colours); i++)
    if (strcmp(colours[i][0], emotion) == 0) colour = colours[i][1];
  label_add(c, out, emotion);
  bar_add(c, out, value, colour);
  rp__buf_printf(out, "%.2f\n", value);
}

static void wound_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json wound)
{
  bool healing = rp__json_get(wound, "healing").type == RP_JSON_TRUE;
  struct rp__json_iter it = {0};
  struct rp__json name, value;
  label_add(c, out, "wound");
  rp__view_text(out, rp__json_get(wound, "event"), 0);
  rp__buf_str(out, ": at least ");
  for (const char *comma = ""; rp__json_next(rp__json_get(wound, "floors"), &it, &name, &value); comma = ", ") {
    rp__buf_str(out, comma);
    rp__term_cut(out, name.p, name.n, 0);
    rp__buf_printf(out, " %.2f", rp__view_number(value));
  }
  if (healing)
    rp__buf_printf(out, "; %shealing%s by %g a second\n", RP_SGR(c->term.out_colour, RP_GREEN),
                   RP_RESET(c->term.out_colour), rp__view_number(rp__json_get(wound, "heal_rate")));
  else
    rp__buf_printf(out, "; %sopen%s for %.0f s more\n", RP_SGR(c->term.out_colour, RP_RED),
                   RP_RESET(c->term.out_colour), rp__view_number(rp__json_get(wound, "remaining_fixed_seconds")));
}

void rp__view_affect(const struct rp__cli *c, struct rp__buf *out, struct rp__json affect)
{
  struct rp__json_iter levels = {0}, wounds = {0};
  struct rp__json name, value, boredom = rp__json_get(affect, "boredom");
  label_add(c, out, "mood");
  rp__view_text(out, rp__json_get(affect, "mood"), 0);
  rp__buf_char(out, '\n');
  while (rp__json_next(rp__json_get(affect, "levels"), &levels, &name, &value))
    level_line(c, out, name, rp__view_number(value));
  if (boredom.type == RP_JSON_NUMBER) {
    label_add(c, out, "boredom");
    bar_add(c, out, rp__view_number(boredom), RP_DIM);
    rp__buf_printf(out, "%.2f\n", rp__view_number(boredom));
  }
  while (rp__json_next(rp__json_get(affect, "wounds"), &wounds, NULL, &value)) wound_line(c, out, value);
}

/* ---- runs and usage --------------------------------------------------------- */

static void span_add(struct rp__buf *out, double seconds)
{
  static const struct {
    double below, unit;
    const char *name;
  } units[] = {{60, 1, "s"}, {3600, 60, "min"}, {2 * 86400.0, 3600, "h"}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(units); i++) {
    if (seconds >= units[i].below) continue;
    rp__buf_printf(out, "%.0f %s", floor(seconds / units[i].unit), units[i].name);
    return;
  }
  rp__buf_printf(out, "%.0f d", floor(seconds / 86400));
}

void rp__view_run(struct rp__buf *out, struct rp__json doc)
{
  struct rp__json type = rp__json_get(doc, "restart_type"), cause = rp__json_get(doc, "cause");
  double elapsed = rp__view_number(rp__json_get(doc, "elapsed"));
  double number = rp__view_number(rp__json_get(doc, "start_number"));
  if (rp__json_get(doc, "session_start").type != RP_JSON_NUMBER) return;
  if (number > 0) rp__buf_printf(out, "start %.0f, ", number);
  if (type.type == RP_JSON_STRING) {
    size_t from = out->n;
    rp__view_text(out, type, 0);
    for (size_t i = from; i < out->n; i++)
      if (out->p[i] == '_') out->p[i] = ' ';
    if (cause.type == RP_JSON_STRING) {
      rp__buf_str(out, " (away for ");
      span_add(out, elapsed);
      rp__buf_char(out, ')');
    }
    rp__buf_str(out, ", ");
  }
  rp__buf_str(out, rp__json_get(doc, "alive").type == RP_JSON_TRUE ? "up for " : "ended after ");
  span_add(out, rp__view_number(rp__json_get(doc, "uptime")));
}

void rp__view_usage(struct rp__buf *out, struct rp__json doc)
{
  double usd = rp__view_number(rp__json_get(doc, "cost_usd"));
  double in = rp__view_number(rp__json_get(doc, "tokens_in"));
  double back = rp__view_number(rp__json_get(doc, "tokens_out"));
  double budget = rp__view_number(rp__json_get(doc, "budget_usd"));
  double tokens = rp__view_number(rp__json_get(doc, "budget_tokens"));
  if (!(usd > 0 || in > 0 || back > 0 || budget > 0 || tokens > 0)) return;
  rp__buf_printf(out, "$%.*f", usd > 0 && usd < 0.1 ? 4 : 2, usd);
  if (budget > 0) rp__buf_printf(out, " of $%.2f (%.0f %%)", budget, 100 * usd / budget);
  rp__buf_printf(out, ", %.0f tokens in, %.0f out", in, back);
  if (tokens > 0) rp__buf_printf(out, " of %.0f (%.0f %%)", tokens, 100 * (in + back) / tokens);
}

/* ---- briefs, and why they are so ------------------------------------------- */

void rp__brief_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(BRIEF_MAX);
  struct rp__json brief = rp__json_get(doc, "brief");
  char prefix[32];
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, &text);
  if (text.err) out->err = out->err ? out->err : text.err;
  snprintf(prefix, sizeof(prefix), "%s│%s ", RP_SGR(c->term.out_colour, RP_CYAN), RP_RESET(c->term.out_colour));
  if (text.n && !text.err) rp__view_lines(c, out, text.p, text.n, c->term.out_tty ? prefix : "");
}

static void verdict_add(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  bool good = rp__json_eq(v, "restored") || rp__json_eq(v, "inherited") || rp__json_eq(v, "surfaced");
  bool bad = rp__json_eq(v, "damaged");
  bool colour = c->term.out_colour;
  rp__buf_str(out, RP_SGR(colour, good ? RP_GREEN : bad ? RP_RED : RP_DIM));
  rp__view_cell(out, v, VERDICT_COLUMNS);
  rp__buf_printf(out, "%s ", RP_RESET(colour));
}

static void candidate_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  static const char *const parts[] = {"recency", "overlap", "tasks", "score"};
  RP_AUTOBUF struct rp__buf id = RP_BUF(1024);
  rp__view_id(&id, rp__json_get(v, "session_id"));
  rp__term_cell(out, id.err ? "?" : id.p, VERDICT_COLUMNS);
  rp__buf_printf(out, "%8.1f ", rp__view_number(rp__json_get(v, "hours")));
  for (size_t i = 0; i < RP_ARRAY_SIZE(parts); i++)
    rp__buf_printf(out, "%8.3f ", rp__view_number(rp__json_get(v, parts[i])));
  rp__buf_char(out, ' ');
  verdict_add(c, out, rp__json_get(v, "verdict"));
  rp__view_text(out, rp__json_get(v, "reason"), 0);
  rp__buf_char(out, '\n');
}

static void pin_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  verdict_add(c, out, rp__json_get(v, "verdict"));
  rp__view_text(out, rp__json_get(v, "label"), 0);
  rp__buf_str(out, "  from ");
  rp__view_id(out, rp__json_get(v, "session_id"));
  rp__buf_str(out, ": ");
  rp__view_text(out, rp__json_get(v, "reason"), 0);
  rp__buf_char(out, '\n');
}

static void memory_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  verdict_add(c, out, rp__json_get(v, "verdict"));
  rp__view_text(out, rp__json_get(v, "memory_id"), 0);
  rp__buf_printf(out, "  %.2f × %.6f = %.6f", rp__view_number(rp__json_get(v, "original")),
                 rp__view_number(rp__json_get(v, "factor")), rp__view_number(rp__json_get(v, "inherited")));
  rp__buf_str(out, "; ");
  rp__view_text(out, rp__json_get(v, "reason"), 0);
  rp__buf_char(out, '\n');
}

static void task_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  verdict_add(c, out, rp__json_get(v, "verdict"));
  rp__view_text(out, rp__json_get(v, "task_id"), 0);
  rp__buf_str(out, ": ");
  rp__view_text(out, rp__json_get(v, "reason"), 0);
  rp__buf_char(out, '\n');
}

static void reason_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  bool colour = c->term.out_colour;
  rp__view_text(out, rp__json_get(v, "line"), c->term.out_tty ? RP_MAX(c->term.columns - 2, 20) : 0);
  rp__buf_printf(out, "\n    %s↳ ", RP_SGR(colour, RP_DIM));
  rp__view_text(out, rp__json_get(v, "reason"), 0);
  rp__buf_printf(out, "%s\n", RP_RESET(colour));
}

typedef void line_fn(const struct rp__cli *c, struct rp__buf *out, struct rp__json v);

static void section(const struct rp__cli *c, struct rp__buf *out, const char *title, struct rp__json list, line_fn *fn)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  if (rp__json_count(list) == 0) return;
  rp__view_heading(c, out, title);
  while (rp__json_next(list, &it, NULL, &v)) fn(c, out, v);
}

void rp__explain_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  struct rp__json candidates = rp__json_get(doc, "candidates");
  rp__view_heading(c, out, "earlier sessions");
  if (rp__json_count(candidates))
    rp__buf_printf(out, "%-*s%8s %8s %8s %8s %8s  %-*s %s\n", VERDICT_COLUMNS, "SESSION", "HOURS", "RECENCY", "OVERLAP",
                   "TASKS", "SCORE", VERDICT_COLUMNS, "VERDICT", "REASON");
  struct rp__json_iter it = {0}, counts = {0};
  struct rp__json name, v;
  const char *comma = "";
  while (rp__json_next(candidates, &it, NULL, &v)) candidate_line(c, out, v);
  if (rp__json_count(candidates) == 0) rp__buf_str(out, "none\n");
  while (rp__json_next(rp__json_get(doc, "counts"), &counts, &name, &v)) {
    rp__buf_str(out, comma);
    rp__term_cut(out, name.p, name.n, 0);
    rp__buf_char(out, ' ');
    rp__view_text(out, v, 0);
    comma = ", ";
  }
  if (*comma) rp__buf_char(out, '\n');
  section(c, out, "pins", rp__json_get(doc, "pins"), pin_line);
  section(c, out, "tasks", rp__json_get(doc, "tasks"), task_line);
  section(c, out, "memories", rp__json_get(doc, "memories"), memory_line);
  section(c, out, "the brief, line by line", rp__json_get(doc, "lines"), reason_line);
}
