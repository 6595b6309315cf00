/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that both templates have: why the session stopped, what is still open, and the memories. */
#include "continuity/brief-impl.h"

#include <math.h>

#include "base/clock.h"
#include "facets/learnings.h"
#include "facets/rows.h"
#include "facets/table.h"

#define ASKED_CHARS 300
#define DOING_CHARS 240
#define MINUTE 60.0
#define HOUR 3600.0
#define DAY 86400.0

/* ---- a time away in words ---------------------------------------------------------- */

/* Units from small to large; a time is told in the first whose limit its rounded number does not reach. */
static const struct {
  double seconds, limit;
  const char *before, *one, *many;
} units[] = {
    {1, 60, "", "second", "seconds"},
    {MINUTE, 60, "", "minute", "minutes"},
    {HOUR, 48, "about ", "hour", "hours"},
    {DAY, 21, "", "day", "days"},
    {7 * DAY, 9, "about ", "week", "weeks"},
    {30.44 * DAY, 24, "about ", "month", "months"},
    {365.25 * DAY, 1e9, "about ", "year", "years"},
};

void rp__time_words(double seconds, struct rp__buf *out)
{
  double s = seconds > 0 ? seconds : 0;
  if (s < 5) {
    rp__buf_str(out, "a moment");
    return;
  }
  for (size_t i = 0; i < RP_ARRAY_SIZE(units); i++) {
    double n = round(s / units[i].seconds);
    if (n >= units[i].limit) continue;
    rp__buf_printf(out, "%s%.0f %s", units[i].before, n, n < 2 ? units[i].one : units[i].many);
    return;
  }
  rp__buf_str(out, "ages");
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
  rp__draft_why(d, "the run before did not end cleanly%s%s", in->evidence && in->evidence[0] ? ": " : "",
                in->evidence ? in->evidence : "");
}

/* ---- tools, approvals, questions ------------------------------------------------------ */

#define DOUBT ": may or may not have happened; check before repeating it"

/* Calls in doubt of the session that speaks, which need not be the one whose state this is. */
static void tools_of_speaker(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__brief_session *s = in->n_sessions && !in->sessions[0].lives ? &in->sessions[0] : NULL;
  for (size_t i = 0; s && i < s->digest->calls.count; i++) {
    const struct rp__row *call = s->digest->calls.v[i];
    if (!s->crashed && !(call->flags & RP_CALL_DOUBT)) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__plain_value(out, rp__row_cell(call, RP_CALL_WHAT), DOING_CHARS);
    rp__buf_str(out, DOUBT);
    if (rp__draft_repeats(d))
      rp__draft_cancel(d);
    else
      rp__draft_why(d, "it had no outcome when session %s stopped", s->session_id);
  }
}

void rp__brief_tools(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__digest *digest = rp__digest_of(in->state);
  bool unclean = in->cause != RP_CAUSE_NONE && in->cause != RP_CAUSE_CLEAN && in->cause != RP_CAUSE_UPGRADE;
  rp__draft_section(d, RP_SEC_TOOLS, "calls without a known outcome in the ledger");
  for (size_t i = 0; i < rp__tools_count(in->state); i++) {
    struct rp__tool_call call = rp__tools_at(in->state, i);
    bool open = call.status == RP_TOOL_INTENDED || call.status == RP_TOOL_RUNNING;
    if (call.status != RP_TOOL_UNKNOWN && !(open && unclean)) continue;
    struct rp__json doing = rp__digest_doing(digest, call.call_id);
    /* A call that was open when the user went on was declined or interrupted, and the digest let go of it. */
    if (!doing.type && digest && rp__digest_count(digest)) continue;
    struct rp__buf *out = rp__draft_item(d);
    RP_AUTOFREE char *id = rp__json_dup(call.call_id);
    if (!id) out->err = RP_E_NOMEM;
    rp__buf_str(out, "- ");
    rp__plain_value(out, doing.type ? doing : call.name, DOING_CHARS);
    rp__buf_str(out, DOUBT);
    if (rp__draft_repeats(d))
      rp__draft_cancel(d);
    else
      rp__draft_why(d, "%s (call %s)", open ? "it had begun when the run stopped" : "the ledger has it as unknown",
                    id ? id : "");
  }
  tools_of_speaker(in, d);
}

/* A member that is a string, or nothing. */
static struct rp__json string(struct rp__json object, const char *name)
{
  struct rp__json v = rp__json_get(object, name);
  return v.type == RP_JSON_STRING ? v : (struct rp__json){0};
}

static void add_waiting(const struct rp__brief_input *in, enum rp__section kind, const struct rp__facet_ops *facet,
                        struct rp__draft *d)
{
  static const char *const names[] = {"title",  "question", "text",    "description", "message",
                                      "prompt", "summary",  "command", "tool",        "name"};
  const struct rp__rows *rows = rp__rows_of(in->state, facet);
  rp__draft_section(d, kind, "%s without an answer", facet->name);
  for (size_t i = 0; i < rows->count; i++) {
    struct rp__json body = rp__row_cell(rows->v[i], RP_PENDING_BODY), id = rp__json_get(body, "id");
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    /* What is asked, in the member that has it; the bodies are their senders'. Only what has none is told by its id. */
    struct rp__json call = rp__json_get(rp__json_get(body, "acp"), "toolCall");
    size_t said = 0;
    for (size_t k = 0; k < RP_ARRAY_SIZE(names) && !said; k++)
      said = rp__plain_value(out, string(body, names[k]), ASKED_CHARS);
    if (!said) said = rp__plain_value(out, string(call, "title"), ASKED_CHARS);
    if (!said) {
      rp__buf_char(out, '[');
      rp__plain_value(out, id.type == RP_JSON_NONE ? rp__row_cell(rows->v[i], RP_PENDING_ID) : id, RP_LABEL_CHARS);
      rp__buf_char(out, ']');
    }
    /* When: as its body says, else when it came; a time of the body's that can't be read is not told. */
    struct rp__json at = rp__json_get(body, "at");
    int64_t at_ms = at.type == RP_JSON_NONE ? rows->v[i]->at_ms : 0;
    if (at.type == RP_JSON_STRING && rp__time_parse(at.p + 1, at.n - 2, &at_ms)) at_ms = 0;
    rp__brief_ago(in, at_ms, out);
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
