/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that both templates have: why it stopped, what is open, what is remembered. */
#include "continuity/brief-impl.h"

#include "base/clock.h"
#include "facets/learnings.h"
#include "facets/pending.h"
#include "facets/tools.h"

#define ASKED_CHARS 300

bool rp__brief_unclean(enum rp__cause c)
{
  return c != RP_CAUSE_NONE && c != RP_CAUSE_CLEAN && c != RP_CAUSE_UPGRADE;
}

void rp__brief_ago(const struct rp__brief_input *in, int64_t at_ms, struct rp__buf *out)
{
  if (!at_ms) return;
  rp__buf_str(out, " (");
  rp__time_words(((double)in->now_ms - (double)at_ms) / 1000.0, out);
  rp__buf_str(out, " ago)");
}

/* ---- why it stopped ---------------------------------------------------------------- */

static const char *const causes[RP_CAUSE_MAX] = {
    [RP_CAUSE_CRASH] = "it crashed",
    [RP_CAUSE_KILLED] = "it was killed by a signal",
    [RP_CAUSE_REBOOT] = "the machine was restarted",
    [RP_CAUSE_POWER_LOSS] = "the machine lost power",
    [RP_CAUSE_CLOCK_JUMP] = "the clock jumped, so it is uncertain when",
    [RP_CAUSE_UPGRADE] = "it was stopped for an upgrade",
};

void rp__brief_stopped(const struct rp__brief_input *in, struct rp__draft *d)
{
  const char *words = (unsigned)in->cause < RP_CAUSE_MAX ? causes[in->cause] : NULL;
  /* A robot that goes on as if nothing had happened is not told of a plain crash. */
  bool silent = in->form == RP_TEMPLATE_ROBOT && in->restart == RP_RESTART_CRASH && in->cause == RP_CAUSE_CRASH;
  if (!words || silent) return;
  rp__draft_section(d, RP_SEC_STOPPED, "the run before ended with cause %s", rp__cause_name(in->cause));
  struct rp__buf *out = rp__draft_item(d);
  rp__buf_str(out, words);
  if (in->cause != RP_CAUSE_CLOCK_JUMP) {
    rp__buf_str(out, " ");
    rp__time_words(in->elapsed_seconds, out);
    rp__buf_str(out, " ago");
  }
  if (in->evidence && in->evidence[0]) {
    rp__buf_str(out, " (");
    rp__plain_text(out, in->evidence, RP_LABEL_CHARS);
    rp__buf_str(out, ")");
  }
  rp__draft_why(d, "the run before did not end cleanly");
}

/* ---- tools, approvals, questions ------------------------------------------------------ */

void rp__brief_tools(const struct rp__brief_input *in, struct rp__draft *d)
{
  rp__draft_section(d, RP_SEC_TOOLS, "calls without a known outcome in the ledger");
  for (size_t i = 0; i < rp__tools_count(in->state); i++) {
    struct rp__tool_call call = rp__tools_at(in->state, i);
    bool open = call.status == RP_TOOL_INTENDED || call.status == RP_TOOL_RUNNING;
    if (call.status != RP_TOOL_UNKNOWN && !(open && rp__brief_unclean(in->cause))) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__plain_value(out, call.name, RP_LABEL_CHARS);
    rp__buf_str(out, ", call ");
    rp__plain_value(out, call.call_id, RP_LABEL_CHARS);
    rp__buf_str(out, ": may or may not have happened; check before repeating it");
    rp__draft_why(d, open ? "it had begun when the run stopped" : "the ledger has it as unknown");
  }
}

/* What is asked, in the member that has it; the bodies are their senders'. */
static void add_asked(struct rp__json asked, struct rp__buf *out)
{
  static const char *const names[] = {"title",  "question", "text",    "description", "message",
                                      "prompt", "summary",  "command", "tool",        "name"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    struct rp__json v = rp__json_get(asked, names[i]);
    if (v.type != RP_JSON_STRING) continue;
    rp__buf_char(out, ' ');
    if (rp__plain_value(out, v, ASKED_CHARS)) return;
    if (!out->err) out->n--;
  }
}

/* When it was asked: as its body says, else when it came; 0 of a body that says so and can't be read. */
static int64_t asked_at(const struct rp__row *row, struct rp__json body)
{
  struct rp__json at = rp__json_get(body, "at");
  int64_t ms = 0;
  if (at.type == RP_JSON_NONE) return row->at_ms;
  if (at.type == RP_JSON_STRING && rp__time_parse(at.p + 1, at.n - 2, &ms)) return 0;
  return ms;
}

static void add_waiting(const struct rp__brief_input *in, enum rp__section kind, const struct rp__facet_ops *facet,
                        struct rp__draft *d)
{
  const struct rp__rows *rows = rp__rows_of(in->state, facet);
  rp__draft_section(d, kind, "%s without an answer", facet->name);
  for (size_t i = 0; i < rows->count; i++) {
    struct rp__json body = rp__row_cell(rows->v[i], RP_PENDING_BODY), id = rp__json_get(body, "id");
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- [");
    rp__plain_value(out, id.type == RP_JSON_NONE ? rp__row_cell(rows->v[i], RP_PENDING_ID) : id, RP_LABEL_CHARS);
    rp__buf_char(out, ']');
    add_asked(body, out);
    rp__brief_ago(in, asked_at(rows->v[i], body), out);
    rp__draft_why(d, "asked, and not answered");
  }
}

void rp__brief_waiting(const struct rp__brief_input *in, struct rp__draft *d)
{
  add_waiting(in, RP_SEC_APPROVALS, &rp__facet_approvals, d);
  add_waiting(in, RP_SEC_QUESTIONS, &rp__facet_questions, d);
}

/* ---- memories --------------------------------------------------------------------------- */

void rp__brief_memories(const struct rp__brief_input *in, struct rp__draft *d)
{
  size_t n = 0;
  const struct rp__memory_choice *m = in->plan ? rp__plan_memories(in->plan, &n) : NULL;
  rp__draft_section(d, RP_SEC_MEMORIES, "facts that are remembered, with their confidence now");
  for (size_t i = 0; i < n && m[i].taken; i++) {
    if (!m[i].content || !m[i].content[0]) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__plain_text(out, m[i].content, RP_TEXT_CHARS);
    rp__buf_printf(out, " (confidence %.0f%%)", 100 * RP_MAX(0, RP_MIN(m[i].inherited, 1)));
    rp__draft_why(d, "memory %.64s: %.4f after %.1f h is %.4f", m[i].memory_id, m[i].original, m[i].hours,
                  m[i].inherited);
  }
  if (in->resumed) {
    const struct rp__rows *rows = rp__rows_of(in->state, &rp__facet_learnings);
    for (size_t i = rows->count > RP_BRIEF_MEMORIES ? rows->count - RP_BRIEF_MEMORIES : 0; i < rows->count; i++) {
      double confidence = 1;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "- ");
      struct rp__json content = rp__row_cell(rows->v[i], RP_LEARNING_CONTENT);
      if (rp__plain_value(out, content, RP_TEXT_CHARS) == 0 || rp__draft_repeats(d)) {
        rp__draft_cancel(d);
        continue;
      }
      if (rp__json_double(rp__row_cell(rows->v[i], RP_LEARNING_CONFIDENCE), &confidence))
        rp__buf_printf(out, " (confidence %.0f%%)", 100 * RP_MAX(0, RP_MIN(confidence, 1)));
      rp__draft_why(d, "learned in this session");
    }
  }
}
