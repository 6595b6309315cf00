/* SPDX-License-Identifier: Apache-2.0 */
/* Briefs and explanations as text for a person. */
#include "cli/explain.h"

#include "cli/term.h"
#include "cli/view.h"

#define BRIEF_MAX (4 * 1024 * 1024)
#define VERDICT_COLUMNS 16

bool rp__brief_text(struct rp__json doc, struct rp__buf *out)
{
  struct rp__json brief = rp__json_get(doc, "brief");
  if (brief.type == RP_JSON_STRING) rp__json_text(brief, out);
  return out->n > 0 || out->err;
}

void rp__brief_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(BRIEF_MAX);
  char prefix[32];
  if (!rp__brief_text(doc, &text)) return;
  if (text.err) out->err = out->err ? out->err : text.err;
  snprintf(prefix, sizeof(prefix), "%s│%s ", RP_SGR(c->term.out_colour, RP_CYAN), RP_RESET(c->term.out_colour));
  if (!text.err) rp__view_lines(c, out, text.p, text.n, c->term.out_tty ? prefix : "");
}

/* ---- decisions ------------------------------------------------------------ */

static void verdict_add(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  bool good = rp__json_eq(v, "restored") || rp__json_eq(v, "inherited") || rp__json_eq(v, "surfaced");
  bool bad = rp__json_eq(v, "damaged");
  bool colour = c->term.out_colour;
  rp__buf_str(out, RP_SGR(colour, good ? RP_GREEN : bad ? RP_RED : RP_DIM));
  rp__view_cell(out, v, VERDICT_COLUMNS);
  rp__buf_printf(out, "%s ", RP_RESET(colour));
}

static void number_add(struct rp__buf *out, struct rp__json v, int decimals)
{
  rp__buf_printf(out, "%8.*f ", decimals, rp__view_number(v, 0));
}

static void candidate_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v)
{
  RP_AUTOBUF struct rp__buf id = RP_BUF(1024);
  rp__view_id(&id, rp__json_get(v, "session_id"));
  rp__term_cell(out, id.err ? "?" : id.p, VERDICT_COLUMNS);
  number_add(out, rp__json_get(v, "hours"), 1);
  number_add(out, rp__json_get(v, "recency"), 3);
  number_add(out, rp__json_get(v, "overlap"), 3);
  number_add(out, rp__json_get(v, "tasks"), 3);
  number_add(out, rp__json_get(v, "score"), 3);
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
  rp__buf_printf(out, "  %.2f × %.6f = %.6f\n", rp__view_number(rp__json_get(v, "original"), 0),
                 rp__view_number(rp__json_get(v, "factor"), 0), rp__view_number(rp__json_get(v, "inherited"), 0));
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

static void counts_line(struct rp__buf *out, struct rp__json counts)
{
  struct rp__json_iter it = {0};
  struct rp__json name, value;
  const char *comma = "";
  while (rp__json_next(counts, &it, &name, &value)) {
    rp__buf_str(out, comma);
    rp__term_cut(out, name.p, name.n, 0);
    rp__buf_char(out, ' ');
    rp__view_text(out, value, 0);
    comma = ", ";
  }
  if (*comma) rp__buf_char(out, '\n');
}

void rp__explain_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  struct rp__json candidates = rp__json_get(doc, "candidates");
  rp__view_heading(c, out, "earlier sessions");
  if (rp__json_count(candidates))
    rp__buf_printf(out, "%-*s%8s %8s %8s %8s %8s  %-*s %s\n", VERDICT_COLUMNS, "SESSION", "HOURS", "RECENCY", "OVERLAP",
                   "TASKS", "SCORE", VERDICT_COLUMNS, "VERDICT", "REASON");
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (rp__json_next(candidates, &it, NULL, &v)) candidate_line(c, out, v);
  if (rp__json_count(candidates) == 0) rp__buf_str(out, "none\n");
  counts_line(out, rp__json_get(doc, "counts"));
  section(c, out, "pins", rp__json_get(doc, "pins"), pin_line);
  section(c, out, "tasks", rp__json_get(doc, "tasks"), task_line);
  section(c, out, "memories", rp__json_get(doc, "memories"), memory_line);
  section(c, out, "the brief, line by line", rp__json_get(doc, "lines"), reason_line);
}
