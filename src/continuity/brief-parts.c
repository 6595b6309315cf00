/* SPDX-License-Identifier: Apache-2.0 */
/* Sections that both templates have: why it stopped, what is open, what is remembered. */
#include "continuity/brief-impl.h"

#include "base/clock.h"

#define ASKED_CHARS 300

bool rp__brief_unclean(enum rp__cause c)
{
  return c != RP_CAUSE_NONE && c != RP_CAUSE_CLEAN && c != RP_CAUSE_UPGRADE;
}

bool rp__brief_time(struct rp__json object, const char *name, int64_t *ret_ms)
{
  struct rp__json at = rp__json_get(object, name);
  return at.type == RP_JSON_STRING && at.n >= 2 && rp__time_parse(at.p + 1, at.n - 2, ret_ms) == 0;
}

void rp__brief_ago(const struct rp__brief_input *in, struct rp__json object, const char *name, struct rp__buf *out)
{
  int64_t ms;
  if (!rp__brief_time(object, name, &ms)) return;
  rp__buf_str(out, " (");
  rp__time_words(((double)in->now_ms - (double)ms) / 1000.0, out);
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

static bool outcome_unknown(const struct rp__brief_input *in, struct rp__json call)
{
  struct rp__json status = rp__json_get(call, "status");
  if (rp__json_eq(status, "unknown")) return true;
  return rp__brief_unclean(in->cause) && (rp__json_eq(status, "intended") || rp__json_eq(status, "running"));
}

void rp__brief_tools(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__json_iter it = {0};
  struct rp__json call;
  rp__draft_section(d, RP_SEC_TOOLS, "calls without a known outcome in the ledger");
  while (rp__json_next(rp__json_get(in->state, "tools"), &it, NULL, &call)) {
    if (!outcome_unknown(in, call)) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__plain_value(out, rp__json_get(call, "name"), RP_LABEL_CHARS);
    rp__buf_str(out, ", call ");
    rp__plain_value(out, rp__json_get(call, "call_id"), RP_LABEL_CHARS);
    rp__buf_str(out, ": may or may not have happened; check before repeating it");
    bool told = rp__json_eq(rp__json_get(call, "status"), "unknown");
    rp__draft_why(d, told ? "the ledger has it as unknown" : "it had begun when the run stopped");
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

static void add_waiting(const struct rp__brief_input *in, enum rp__section kind, const char *name, struct rp__draft *d)
{
  struct rp__json_iter it = {0};
  struct rp__json asked;
  rp__draft_section(d, kind, "%s without an answer", name);
  while (rp__json_next(rp__json_get(in->state, name), &it, NULL, &asked)) {
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- [");
    rp__plain_value(out, rp__json_get(asked, "id"), RP_LABEL_CHARS);
    rp__buf_char(out, ']');
    add_asked(asked, out);
    rp__brief_ago(in, asked, "at", out);
    rp__draft_why(d, "asked, and not answered");
  }
}

void rp__brief_waiting(const struct rp__brief_input *in, struct rp__draft *d)
{
  add_waiting(in, RP_SEC_APPROVALS, "approvals", d);
  add_waiting(in, RP_SEC_QUESTIONS, "questions", d);
}

/* ---- memories --------------------------------------------------------------------------- */

static void own_learnings(const struct rp__brief_input *in, struct rp__draft *d)
{
  struct rp__json list = rp__json_get(in->state, "learnings"), v;
  struct rp__json_iter it = {0};
  size_t n = rp__json_count(list), skip = n > RP_BRIEF_MEMORIES ? n - RP_BRIEF_MEMORIES : 0;
  while (rp__json_next(list, &it, NULL, &v)) {
    double confidence = 1;
    if (skip && skip--) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    if (rp__plain_value(out, rp__json_get(v, "content"), RP_TEXT_CHARS) == 0 || rp__draft_repeats(d)) {
      rp__draft_cancel(d);
      continue;
    }
    if (rp__json_double(rp__json_get(v, "confidence"), &confidence))
      rp__buf_printf(out, " (confidence %.0f%%)", 100 * RP_MAX(0, RP_MIN(confidence, 1)));
    rp__draft_why(d, "learned in this session");
  }
}

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
  if (in->resumed) own_learnings(in, d);
}
