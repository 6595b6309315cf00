/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections that digests tell (B-13): what was asked last and what came of it, files, failing commands, todos, what
 * the user declined and laid down, other sessions. The first session speaks in full, the others in a line each.
 */
#include "continuity/brief-impl.h"

#include <math.h>

#include "facets/digest/prose.h"
#include "json/text.h"

#define REQUEST_WIDTH 330
#define ANSWER_WIDTH 330
#define BEFORE_WIDTH 120
#define BEFORE_MAX 6
#define BEFORE_MIN 14 /* bytes; a shorter request says too little to be told again */
#define OLDER_WIDTH 130
#define OLDER_MAX 3
#define OLDER_DAYS 14
#define OPEN_WIDTH 170
#define TODO_WIDTH 70
#define TODOS_MAX 5
#define RULE_WIDTH 150
#define RULES_TOLD 5
#define RULES_SESSIONS 6
#define DECLINED_SESSIONS 5
#define DECLINED_TOLD 2
#define FAILS_TOLD 2
#define FAILS_CALLS 40 /* a failure this many calls ago was given up */
#define COMMITS_TOLD 3
#define FILES_TOLD 7
#define FILES_RECENT 3
#define ID_SHOWN 13 /* characters of an id: its time, which names one session */
#define MINUTE_MS 60000.0
#define HOUR_MS 3600000.0
#define DAY_MS 86400000.0

static const struct rp__brief_session *speaker(const struct rp__brief_input *in)
{
  return in->n_sessions && !in->sessions[0].lives ? &in->sessions[0] : NULL;
}

/* ---- words ----------------------------------------------------------------------------- */

void rp__ago_words(int64_t now_ms, int64_t at_ms, struct rp__buf *out)
{
  double ms = now_ms > at_ms ? (double)(now_ms - at_ms) : 0;
  double minutes = round(ms / MINUTE_MS), hours = round(ms / HOUR_MS), days = round(ms / DAY_MS);
  if (minutes < 1)
    rp__buf_str(out, "just now");
  else if (minutes < 60)
    rp__buf_printf(out, "%.0f min ago", minutes);
  else if (hours < 20)
    rp__buf_printf(out, "%.0f hour%s ago", hours, hours < 2 ? "" : "s");
  else if (hours < 36)
    rp__buf_str(out, "yesterday");
  else if (days < 21)
    rp__buf_printf(out, "%.0f days ago", RP_MAX(days, 2));
  else {
    rp__time_words(ms / 1000, out);
    rp__buf_str(out, " ago");
  }
}

/* A stored text as one line, its beginning and end; no stored text can look like a line of Reprise. */
static void add_text(struct rp__buf *out, struct rp__json v, size_t width, bool middle)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)64 * 1024), line = RP_BUF((size_t)64 * 1024);
  if (v.type != RP_JSON_STRING) return;
  rp__json_text(v, &text);
  struct rp__str s = {text.p ? text.p : "", text.n};
  if (middle)
    rp__prose_middle(s, width, &line);
  else
    rp__prose_clip(s, width, &line);
  if (text.err || line.err) out->err = RP_E_NOMEM;
  if (line.n) rp__plain_text(out, line.p, line.n);
}

static void add_str(struct rp__buf *out, struct rp__str s, size_t width)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF((size_t)64 * 1024);
  rp__prose_clip(s, width, &line);
  if (line.err) out->err = RP_E_NOMEM;
  if (line.n) rp__plain_text(out, line.p, line.n);
}

/* ---- the last request ------------------------------------------------------------------------ */

struct told {
  struct rp__digest_request r;
  struct rp__buf room;
};

static void told_done(struct told *t)
{
  rp__buf_done(&t->room);
}

static bool tell(const struct rp__digest *g, size_t i, struct told *ret, struct rp__draft *d)
{
  ret->room = RP_BUF((size_t)16 * 1024);
  if (rp__digest_request(g, i, &ret->room, &ret->r) == 0) return true;
  d->bytes.err = RP_E_NOMEM;
  return false;
}

static bool is_answered(const struct told *t)
{
  return t->r.end == RP_END_ANSWERED;
}

static const char *const ends[RP_ENDS] = {
    [RP_END_OPEN] = "NO ANSWER CAME",
    [RP_END_ANSWERED] = "ANSWER",
    [RP_END_CUT_OFF] = "IT WAS NOT FINISHED; said last",
    [RP_END_TOOL] = "IT WAS NOT FINISHED: a tool was running or had been declined",
    [RP_END_CANCELLED] = "THE USER CANCELLED IT",
    [RP_END_FAILED] = "THE TURN FAILED",
    [RP_END_REFUSED] = "THE AGENT REFUSED IT",
    [RP_END_LIMIT] = "IT WAS NOT FINISHED: the agent's limit was reached",
};

/* What came of the request p; `l` is the request that says so, p itself or a go-on behind it. */
static void tell_end(const struct rp__digest *g, size_t p, size_t l, const struct told *last, struct rp__draft *d)
{
  struct rp__buf *out;
  bool quoted = l != p && last->r.go_on;
  if (quoted && last->r.end != RP_END_ANSWERED && l > 0) {
    RP_CLEANUP(told_done) struct told before = {0};
    if (!tell(g, l - 1, &before, d)) return;
    out = rp__draft_item(d);
    rp__buf_str(out, "THE USER SAID «");
    add_text(out, last->r.text, 40, false);
    rp__buf_str(out, "» TO: ");
    add_str(out, before.r.answer, 260);
    if (before.r.answer.n)
      rp__draft_why(d, "the answer that the user let go on");
    else
      rp__draft_cancel(d);
  }
  out = rp__draft_item(d);
  rp__buf_str(out, ends[last->r.end]);
  bool says = last->r.answer.n > 0;
  if (says) rp__buf_str(out, last->r.end == RP_END_ANSWERED || last->r.end == RP_END_CUT_OFF ? ": " : "; said last: ");
  if (says) add_str(out, last->r.answer, last->r.end == RP_END_ANSWERED ? ANSWER_WIDTH : ANSWER_WIDTH / 2);
  rp__draft_why(d, "how the last request ended: %s", rp__request_end_words[last->r.end]);
  if (says || quoted) return;
  for (size_t i = p; i > 0; i--) {
    RP_CLEANUP(told_done) struct told before = {0};
    if (!tell(g, i - 1, &before, d)) return;
    if (!before.r.answer.n) continue;
    out = rp__draft_item(d);
    rp__buf_str(out, "ANSWER BEFORE: ");
    add_str(out, before.r.answer, 200);
    rp__draft_why(d, "the last answer that came");
    return;
  }
}

void rp__brief_last(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__brief_session *s = speaker(in);
  const struct rp__digest *g = s ? s->digest : NULL;
  if (!g || rp__digest_count(g) == 0) return;
  RP_CLEANUP(told_done) struct told asked = {0}, last = {0};
  size_t p = rp__digest_asked(g), l = rp__digest_count(g) - 1;
  if (!tell(g, p, &asked, d) || !tell(g, l, &last, d)) return;
  if (is_answered(&asked) && !last.r.go_on) { /* what came behind it was small talk */
    told_done(&last);
    last.room = RP_BUF(0);
    l = p;
    if (!tell(g, l, &last, d)) return;
  }
  rp__draft_section(d, RP_SEC_LAST, "%s", "");
  struct rp__buf *out = rp__draft_item(d);
  rp__buf_str(out, last.r.end == RP_END_ANSWERED ? "LAST REQUEST" : "NOT FINISHED");
  if (!in->resumed) {
    rp__buf_str(out, " (");
    rp__ago_words(in->now_ms, s->end_ms, out);
    rp__buf_char(out, ')');
  }
  rp__buf_str(out, ": ");
  /* After a crash the request is told whole: the agent may have to take it up. */
  bool crashed = in->cause != RP_CAUSE_NONE && in->cause != RP_CAUSE_CLEAN && in->cause != RP_CAUSE_UPGRADE;
  add_text(out, asked.r.text, crashed && in->resumed ? RP_DIGEST_WHOLE : REQUEST_WIDTH, true);
  rp__draft_why(d, "the last request of session %s", s->session_id);
  tell_end(g, p, l, &last, d);

  rp__draft_section(d, RP_SEC_BEFORE, "earlier requests of the same session, newest first");
  for (size_t i = rp__digest_count(g), n = 0; i > 0 && n < BEFORE_MAX; i--) {
    RP_CLEANUP(told_done) struct told one = {0};
    if (i - 1 == p) continue;
    if (!tell(g, i - 1, &one, d)) return;
    size_t width = rp__prose_width((struct rp__str){one.r.text.p, one.r.text.n});
    if (one.r.go_on || width < BEFORE_MIN + 2 || (one.r.tools == 0 && width < 40)) continue;
    out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    add_text(out, one.r.text, BEFORE_WIDTH, true);
    rp__draft_why(d, "asked before, %s", rp__request_end_words[one.r.end]);
    n++;
  }
}

/* ---- what was done ------------------------------------------------------------------------------ */

static int64_t number(const struct rp__row *row, unsigned column)
{
  int64_t n;
  return rp__json_i64(rp__row_cell(row, column), &n) ? n : 0;
}

static void add_path(const struct rp__brief_input *in, const struct rp__digest *g, const struct rp__row *row,
                     struct rp__buf *out)
{
  RP_AUTOBUF struct rp__buf path = RP_BUF(4096);
  bool home;
  rp__json_text(rp__row_cell(row, RP_FILE_PATH), &path);
  struct rp__str root = g->root.n ? (struct rp__str){g->root.p, g->root.n} : rp__str(in->root ? in->root : "");
  struct rp__str s = rp__digest_path((struct rp__str){path.p ? path.p : "", path.n}, root, &home);
  if (path.err) out->err = RP_E_NOMEM;
  if (home) rp__buf_str(out, "~/");
  if (s.n) rp__plain_text(out, s.p, RP_LABEL_CHARS);
  if (number(row, RP_FILE_COUNT) > 2) rp__buf_printf(out, " (%lld×)", (long long)number(row, RP_FILE_COUNT));
}

/* The newest few, then those changed most. Returns how many were told. */
static size_t add_files(const struct rp__brief_input *in, const struct rp__digest *g, size_t max, struct rp__buf *out)
{
  const struct rp__rows *files = &g->files;
  size_t picked[FILES_TOLD], n = 0;
  for (size_t i = files->count; i > 0 && n < RP_MIN(max, (size_t)FILES_RECENT); i--) picked[n++] = i - 1;
  while (n < max && n < files->count) {
    size_t best = files->count;
    for (size_t i = files->count; i > 0; i--) {
      bool taken = false;
      for (size_t k = 0; k < n; k++) taken = taken || picked[k] == i - 1;
      if (taken) continue;
      if (best == files->count || number(files->v[i - 1], RP_FILE_COUNT) > number(files->v[best], RP_FILE_COUNT))
        best = i - 1;
    }
    picked[n++] = best;
  }
  for (size_t i = 0; i < n; i++) {
    if (i) rp__buf_str(out, ", ");
    add_path(in, g, files->v[picked[i]], out);
  }
  if (files->count > n) rp__buf_printf(out, " … %zu more", files->count - n);
  return n;
}

void rp__brief_work(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__brief_session *s = speaker(in);
  const struct rp__digest *g = s ? s->digest : NULL;
  struct rp__buf *out;
  if (!g) return;
  rp__draft_section(d, RP_SEC_FILES, "%s", "");
  if (g->files.count) {
    out = rp__draft_item(d);
    rp__buf_str(out, "FILES CHANGED: ");
    add_files(in, g, FILES_TOLD, out);
    rp__draft_why(d, "the newest files and those changed most, of %zu", g->files.count);
  }
  rp__draft_section(d, RP_SEC_FAILS, "%s", "");
  for (size_t i = g->commands.count, n = 0; i > 0 && n < FAILS_TOLD; i--) {
    const struct rp__row *row = g->commands.v[i - 1];
    if (g->n_calls - number(row, RP_COMMAND_CALL) >= FAILS_CALLS) continue;
    struct rp__json error = rp__row_cell(row, RP_COMMAND_ERROR);
    out = rp__draft_item(d);
    rp__buf_str(out, "FAILS: ");
    add_text(out, rp__row_cell(row, RP_COMMAND_LINE), RULE_WIDTH, false);
    if (error.n > 2) rp__buf_str(out, " — ");
    add_text(out, error, RULE_WIDTH, false);
    rp__draft_why(d, "it failed and did not succeed since");
    n++;
  }
  rp__draft_section(d, RP_SEC_COMMITS, "%s", "");
  if (g->commits.count == 0) return;
  out = rp__draft_item(d);
  rp__buf_str(out, "COMMITTED: ");
  for (size_t i = g->commits.count, n = 0; i > 0 && n < COMMITS_TOLD; i--, n++) {
    if (n) rp__buf_str(out, "; ");
    add_text(out, rp__row_cell(g->commits.v[i - 1], RP_COMMIT_TEXT), TODO_WIDTH, false);
  }
  rp__draft_why(d, "the newest of %zu commits", g->commits.count);
}

void rp__brief_todos(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__brief_session *s = speaker(in);
  if (!s) return;
  rp__draft_section(d, RP_SEC_TODOS, "items of the agent's own list that are not done");
  for (size_t i = 0; i < s->digest->todos.count && i < TODOS_MAX; i++) {
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    add_text(out, rp__row_cell(s->digest->todos.v[i], RP_TODO_TEXT), TODO_WIDTH, false);
    if (rp__json_eq(rp__row_cell(s->digest->todos.v[i], RP_TODO_STATUS), "in_progress"))
      rp__buf_str(out, " (in progress)");
    rp__draft_why(d, "an open item of the agent's own list");
  }
}

/* ---- what the user declined and laid down --------------------------------------------------------- */

/* Whether the brief tells the beginning of a text already. */
static bool is_told(const struct rp__draft *d, struct rp__json text)
{
  char head[48];
  size_t n = 0;
  if (text.type != RP_JSON_STRING || !d->bytes.p) return false;
  struct rp__json_cursor at = {.at = text.p + 1, .end = text.p + text.n - 1};
  for (int c; n < sizeof head && (c = rp__json_cursor_next(&at)) >= 0;) head[n++] = (char)c;
  return n && memmem(d->bytes.p, d->bytes.n, head, n);
}

void rp__brief_rules(const struct rp__brief_input *in, struct rp__draft *d)
{
  rp__draft_section(d, RP_SEC_DECLINED, "%s", "");
  for (size_t k = 0, told = 0; k < RP_MIN(in->n_sessions, (size_t)DECLINED_SESSIONS); k++) {
    const struct rp__rows *declined = &in->sessions[k].digest->declined;
    for (size_t i = declined->count; i > 0 && told < DECLINED_TOLD; i--) {
      struct rp__json what = rp__row_cell(declined->v[i - 1], RP_DECLINED_WHAT);
      struct rp__json said = rp__row_cell(declined->v[i - 1], RP_DECLINED_SAID);
      int64_t count = number(declined->v[i - 1], RP_DECLINED_COUNT);
      bool plan = rp__json_eq(what, "the plan");
      if ((said.n <= 2 && (count < 2 || plan)) || is_told(d, what)) continue;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "THE USER DECLINED: ");
      add_text(out, what, OLDER_WIDTH, true);
      if (count > 1) rp__buf_printf(out, " (%lld×)", (long long)count);
      if (said.n > 2) {
        rp__buf_str(out, " — «");
        add_text(out, said, RULE_WIDTH, true);
        rp__buf_str(out, "»");
      }
      rp__draft_why(d, "declined %lld times", (long long)count);
      told++;
    }
  }
  rp__draft_section(d, RP_SEC_RULES, "rules and decisions that the user stated, newest first");
  for (size_t k = 0, told = 0; k < RP_MIN(in->n_sessions, (size_t)RULES_SESSIONS); k++) {
    const struct rp__rows *rules = &in->sessions[k].digest->rules;
    for (size_t i = rules->count; i > 0 && told < RULES_TOLD; i--) {
      struct rp__json rule = rp__row_cell(rules->v[i - 1], RP_RULE_TEXT);
      if (is_told(d, rule)) continue;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "- ");
      add_text(out, rule, RULE_WIDTH, true);
      rp__draft_why(d, "stated in session %s", in->sessions[k].session_id);
      told++;
    }
  }
}

/* ---- other sessions ------------------------------------------------------------------------------------ */

void rp__brief_others(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__brief_session *first = speaker(in);
  struct rp__buf *out;
  rp__draft_section(d, RP_SEC_OPEN, "%s", "");
  for (size_t i = 0; i < in->n_sessions; i++) {
    const struct rp__brief_session *s = &in->sessions[i];
    RP_CLEANUP(told_done) struct told one = {0};
    if (!s->lives || rp__digest_count(s->digest) == 0) continue;
    if (!tell(s->digest, rp__digest_asked(s->digest), &one, d)) return;
    out = rp__draft_item(d);
    rp__buf_str(out, "ANOTHER SESSION IS OPEN (began ");
    rp__ago_words(in->now_ms, s->begun_ms, out);
    rp__buf_str(out, "): ");
    add_text(out, one.r.text, OPEN_WIDTH, true);
    if (s->digest->files.count) {
      rp__draft_short(d);
      rp__buf_str(out, " → ");
      add_files(in, s->digest, 4, out);
    }
    rp__draft_why(d, "session %s is open", s->session_id);
  }
  rp__draft_section(d, RP_SEC_OLDER, "sessions of the %d days before the last one", OLDER_DAYS);
  for (size_t i = 1, n = 0; first && i < in->n_sessions && n < OLDER_MAX; i++) {
    const struct rp__brief_session *s = &in->sessions[i];
    RP_CLEANUP(told_done) struct told one = {0}, last = {0};
    if (s->lives || rp__digest_count(s->digest) == 0) continue;
    if ((double)(first->end_ms - s->end_ms) > OLDER_DAYS * DAY_MS) break;
    if (!tell(s->digest, rp__digest_asked(s->digest), &one, d)) return;
    if (!tell(s->digest, rp__digest_count(s->digest) - 1, &last, d)) return;
    if (one.r.text.n < BEFORE_MIN + 2) continue;
    out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__ago_words(in->now_ms, s->end_ms, out);
    rp__buf_str(out, ": ");
    add_text(out, one.r.text, OLDER_WIDTH, true);
    if (!last.r.answer.n) rp__buf_str(out, " (no answer)");
    if (s->digest->files.count) {
      rp__draft_short(d);
      rp__buf_str(out, " → ");
      add_files(in, s->digest, 2, out);
    }
    rp__draft_why(d, "session %s", s->session_id);
    n++;
  }
}

void rp__brief_more(const struct rp__brief_input *in, struct rp__draft *d)
{
  if (in->n_sessions == 0) return;
  rp__draft_section(d, RP_SEC_MORE, "%s", "");
  struct rp__buf *out = rp__draft_item(d);
  rp__buf_printf(out, "MORE: reprise log %.*s, reprise search WORDS", ID_SHOWN, in->sessions[0].session_id);
  rp__draft_why(d, "how to know more");
}
