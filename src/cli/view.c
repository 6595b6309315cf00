/* SPDX-License-Identifier: Apache-2.0 */
/* Shows parts of the engine's documents as lines and tables. */
#include "cli/view.h"

#include <math.h>

#include "cli/term.h"

#define TEXT_MAX (2 * RP_BODY_MAX)
#define BAR_CELLS 24
#define NAME_COLUMNS 10
#define ID_SHOWN 13 /* of a UUIDv7: its whole time, one dash */

/* ---- values --------------------------------------------------------------- */

static void value_text(struct rp__buf *out, struct rp__json v)
{
  if (v.type == RP_JSON_STRING)
    rp__json_text(v, out);
  else if (v.type != RP_JSON_NONE && v.type != RP_JSON_NULL)
    rp__buf_add(out, v.p, v.n);
  if (out->n == 0) rp__buf_char(out, '-');
}

void rp__view_text(struct rp__buf *out, struct rp__json v, int columns)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(TEXT_MAX);
  value_text(&text, v);
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
  if (v.type != RP_JSON_STRING || v.n < 2 || rp__time_parse(v.p + 1, v.n - 2, &ms)) {
    rp__view_text(out, v, 0);
    return;
  }
  rp__buf_str(out, rp__moment_format(c, ms, at));
}

double rp__view_number(struct rp__json v, double otherwise)
{
  double d;
  return rp__json_double(v, &d) ? d : otherwise;
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

int rp__view_print(const struct rp__buf *b, rp_error *err)
{
  if (b->err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (b->err) return rp__fail(err, b->err, "the output is too large");
  if (b->n) fwrite(b->p, 1, b->n, stdout);
  return 0;
}

/* ---- feelings ------------------------------------------------------------- */

void rp__view_bar(const struct rp__cli *c, struct rp__buf *out, double value, const char *colour)
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

static const char *colour_of(struct rp__json emotion)
{
  static const struct {
    const char *name, *colour;
  } colours[] = {{"joy", RP_YELLOW}, {"sadness", RP_CYAN}, {"anger", RP_RED}, {"disgust", RP_GREEN}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(colours); i++)
    if (strlen(colours[i].name) == emotion.n && memcmp(colours[i].name, emotion.p, emotion.n) == 0)
      return colours[i].colour;
  return RP_BOLD;
}

/* A key is raw between its quotes; the table of emotions only has plain names, and others are made safe. */
static void level_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json name, double value)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(1024);
  rp__buf_add(&text, name.p, name.n);
  label_add(c, out, text.p && !text.err ? text.p : "?");
  rp__view_bar(c, out, value, colour_of(name));
  rp__buf_printf(out, "%.2f\n", value);
}

static void floors_add(struct rp__buf *out, struct rp__json floors)
{
  struct rp__json_iter it = {0};
  struct rp__json name, value;
  const char *comma = "";
  while (rp__json_next(floors, &it, &name, &value)) {
    rp__buf_str(out, comma);
    rp__term_cut(out, name.p, name.n, 0);
    rp__buf_printf(out, " %.2f", rp__view_number(value, 0));
    comma = ", ";
  }
}

static void wound_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json wound)
{
  bool healing = rp__json_get(wound, "healing").type == RP_JSON_TRUE;
  label_add(c, out, "wound");
  rp__view_text(out, rp__json_get(wound, "event"), 0);
  rp__buf_str(out, ": at least ");
  floors_add(out, rp__json_get(wound, "floors"));
  if (healing)
    rp__buf_printf(out, "; %shealing%s by %g a second\n", RP_SGR(c->term.out_colour, RP_GREEN),
                   RP_RESET(c->term.out_colour), rp__view_number(rp__json_get(wound, "heal_rate"), 0));
  else
    rp__buf_printf(out, "; %sopen%s for %.0f s more\n", RP_SGR(c->term.out_colour, RP_RED),
                   RP_RESET(c->term.out_colour), rp__view_number(rp__json_get(wound, "remaining_fixed_seconds"), 0));
}

void rp__view_affect(const struct rp__cli *c, struct rp__buf *out, struct rp__json affect)
{
  struct rp__json_iter levels = {0}, wounds = {0};
  struct rp__json name, value, boredom = rp__json_get(affect, "boredom");
  label_add(c, out, "mood");
  rp__view_text(out, rp__json_get(affect, "mood"), 0);
  rp__buf_char(out, '\n');
  while (rp__json_next(rp__json_get(affect, "levels"), &levels, &name, &value))
    level_line(c, out, name, rp__view_number(value, 0));
  if (boredom.type == RP_JSON_NUMBER) {
    label_add(c, out, "boredom");
    rp__view_bar(c, out, rp__view_number(boredom, 0), RP_DIM);
    rp__buf_printf(out, "%.2f\n", rp__view_number(boredom, 0));
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
  double elapsed = rp__view_number(rp__json_get(doc, "elapsed"), 0);
  double number = rp__view_number(rp__json_get(doc, "start_number"), 0);
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
  span_add(out, rp__view_number(rp__json_get(doc, "uptime"), 0));
}

void rp__view_usage(struct rp__buf *out, struct rp__json doc)
{
  double usd = rp__view_number(rp__json_get(doc, "cost_usd"), 0);
  double in = rp__view_number(rp__json_get(doc, "tokens_in"), 0);
  double back = rp__view_number(rp__json_get(doc, "tokens_out"), 0);
  double budget = rp__view_number(rp__json_get(doc, "budget_usd"), 0);
  double tokens = rp__view_number(rp__json_get(doc, "budget_tokens"), 0);
  if (!(usd > 0 || in > 0 || back > 0 || budget > 0 || tokens > 0)) return;
  rp__buf_printf(out, "$%.*f", usd > 0 && usd < 0.1 ? 4 : 2, usd);
  if (budget > 0) rp__buf_printf(out, " of $%.2f (%.0f %%)", budget, 100 * usd / budget);
  rp__buf_printf(out, ", %.0f tokens in, %.0f out", in, back);
  if (tokens > 0) rp__buf_printf(out, " of %.0f (%.0f %%)", tokens, 100 * (in + back) / tokens);
}
