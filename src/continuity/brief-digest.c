/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections that digests tell (B-13): what was asked last and what came of it, files, failing commands, todos, what
 * the user declined and laid down, other sessions. The session in which something was done last speaks in full, also
 * when it is still open (a terminal left overnight has the actual work); the others speak in a line each.
 */
#include "continuity/brief-impl.h"

#include <math.h>

#include "facets/digest/prose.h"
#include "json/text.h"

#define REQUEST_WIDTH 330
#define ANSWER_WIDTH 330
#define THANKS_WIDTH 60
#define POINT_WIDTH 110
#define POINT_MIN 20
#define POINTS_MAX 8
#define BEFORE_WIDTH 120
#define BEFORE_MAX 6
#define BEFORE_MIN 14 /* bytes; a shorter request says too little to be told again */
#define OLDER_WIDTH 130
#define OLDER_MAX 3
#define FOLLOW_UP_WIDTH 32
#define OLDER_DAYS 14
#define OPEN_WIDTH 170
#define OPEN_MAX 3
#define TODO_WIDTH 70
#define TODOS_MAX 5
#define RULE_WIDTH 150
#define RULES_TOLD 5
#define LASTING_TOLD 3
#define RULES_SESSIONS 6
#define DECLINED_SESSIONS 5
#define DECLINED_TOLD 2
#define FAILS_TOLD 2
#define FAILS_CALLS 40 /* a failure this many calls ago was given up */
#define COMMITS_TOLD 3
#define FILES_TOLD 9
#define ID_SHOWN 13 /* characters of an id: its time, which names one session */
#define IDS_TOLD 2
#define MINUTE_MS 60000.0
#define HOUR_MS 3600000.0
#define DAY_MS 86400000.0

static const struct rp__brief_session *speaker(const struct rp__brief_input *in)
{
  return in->n_sessions ? &in->sessions[0] : NULL;
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

/* The beginning and the end of an answer: a question to the user stands at its end. */
static void add_str(struct rp__buf *out, struct rp__str s, size_t width)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF((size_t)64 * 1024);
  rp__prose_middle(s, width, &line);
  if (line.err) out->err = RP_E_NOMEM;
  if (line.n) rp__plain_text(out, line.p, line.n);
}

/* Whether the brief, or a line that it will have of an older session, tells a stored text already. */
static bool is_told(const struct rp__brief_input *in, struct rp__draft *d, struct rp__json stored)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)64 * 1024), request = RP_BUF((size_t)64 * 1024);
  uint64_t words[RP_DRAFT_WORDS];
  if (stored.type != RP_JSON_STRING) return false;
  if (rp__json_text(stored, &text)) d->bytes.err = RP_E_NOMEM;
  struct rp__str s = {text.p ? text.p : "", text.n};
  if (rp__draft_tells(d, s)) return true;
  for (size_t i = 1, n = 0; in && i < in->n_sessions && n < OLDER_MAX; i++, n++) {
    const struct rp__digest *g = in->sessions[i].digest;
    if (rp__digest_count(g) == 0) continue;
    rp__buf_reset(&request);
    if (rp__json_text(rp__row_cell(g->requests.v[rp__digest_asked(g)], RP_REQUEST_TEXT), &request))
      d->bytes.err = RP_E_NOMEM;
    rp__draft_words((struct rp__str){request.p ? request.p : "", RP_MIN(request.n, (size_t)OLDER_WIDTH)}, words);
    if (rp__words_repeat(s, words)) return true;
  }
  return false;
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
    [RP_END_CUT_OFF] = "IT ENDED IN THE MIDDLE",
    [RP_END_TOOL] = "IT STOPPED AT",
    [RP_END_CANCELLED] = "THE USER CANCELLED IT",
    [RP_END_FAILED] = "THE TURN FAILED",
    [RP_END_REFUSED] = "THE AGENT REFUSED IT",
    [RP_END_LIMIT] = "THE AGENT'S LIMIT WAS REACHED",
};

/* What came of the request p; `l` is the request that says so, p itself or a go-on behind it. */
static void tell_end(const struct rp__brief_session *s, size_t p, size_t l, const struct told *last, bool crashed,
                     struct rp__draft *d)
{
  const struct rp__digest *g = s->digest;
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
  bool doubtful = last->r.end == RP_END_TOOL && crashed; /* the section on unknown outcomes tells that call */
  bool says = last->r.answer.n > 0;
  if (doubtful && !says) return;
  out = rp__draft_item(d);
  if (last->r.end == RP_END_TOOL && s->lives)
    rp__buf_str(out, "IT IS AT");
  else
    rp__buf_str(out, ends[doubtful ? RP_END_CUT_OFF : last->r.end]);
  if (!doubtful && last->r.end == RP_END_TOOL && g->calls.count) {
    const struct rp__row *call = g->calls.v[g->calls.count - 1];
    rp__buf_str(out, ": ");
    add_text(out, rp__row_cell(call, RP_CALL_WHAT), BEFORE_WIDTH, true);
    /* Where the run ended as it should, a tool that ran would have told its outcome. */
    if (!s->lives && !(call->flags & RP_CALL_DOUBT)) rp__buf_str(out, " (declined or interrupted)");
  }
  if (says) rp__buf_str(out, last->r.end == RP_END_ANSWERED ? ": " : "; said last: ");
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

/* The rest of the last answer, for a brief that has room. */
static void tell_points(const struct rp__digest *g, struct rp__draft *d)
{
  RP_AUTOBUF struct rp__buf said = RP_BUF((size_t)16 * 1024), plain = RP_BUF((size_t)32 * 1024);
  rp__draft_section(d, RP_SEC_POINTS, "the last answer goes on");
  if (rp__digest_said(g, &said) == 0) rp__prose_plain((struct rp__str){said.p ? said.p : "", said.n}, &plain);
  if (said.err || plain.err) d->bytes.err = RP_E_NOMEM;
  struct rp__sentences all = {{plain.p ? plain.p : "", plain.n}};
  struct rp__str s;
  for (size_t n = 0; n < POINTS_MAX && !d->bytes.err && rp__sentences_next(&all, &s);) {
    if (rp__prose_width(s) < POINT_MIN || rp__draft_tells(d, s)) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    add_str(out, s, POINT_WIDTH);
    rp__draft_why(d, "said in the last answer");
    n++;
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
  /* What came behind it was small talk, or thanks and "you're welcome". */
  bool thanks = is_answered(&last) && last.r.tools == 0 && rp__prose_width(last.r.answer) < THANKS_WIDTH &&
                !memchr(last.r.answer.p, '?', last.r.answer.n);
  if (l != p && is_answered(&asked) && (!last.r.go_on || thanks)) {
    told_done(&last);
    last.room = RP_BUF(0);
    l = p;
    if (!tell(g, l, &last, d)) return;
  }
  rp__draft_section(d, RP_SEC_LAST, "%s", "");
  struct rp__buf *out = rp__draft_item(d);
  if (s->lives) {
    rp__buf_str(out, "ANOTHER SESSION IS OPEN (began ");
    rp__ago_words(in->now_ms, s->begun_ms, out);
    rp__buf_str(out, "); ");
  }
  rp__buf_str(out, last.r.end == RP_END_ANSWERED ? "LAST REQUEST" : s->lives ? "UNDER WAY" : "NOT FINISHED");
  bool unclean = in->cause != RP_CAUSE_NONE && in->cause != RP_CAUSE_CLEAN && in->cause != RP_CAUSE_UPGRADE;
  bool crashed = s->crashed || (in->resumed && unclean);
  if (!in->resumed) {
    rp__buf_str(out, " (");
    rp__ago_words(in->now_ms, s->end_ms, out);
    rp__buf_char(out, ')');
  }
  rp__buf_str(out, ": ");
  /* After a crash the request is told whole: the agent may have to take it up. */
  add_text(out, asked.r.text, crashed ? RP_MIN((size_t)RP_DIGEST_WHOLE, in->max_bytes * 2 / 5) : REQUEST_WIDTH, true);
  rp__draft_why(d, "the last request of session %s", s->session_id);
  tell_end(s, p, l, &last, crashed, d);

  if (is_answered(&last) && l + 1 == rp__digest_count(g)) tell_points(g, d);
  rp__draft_section(d, RP_SEC_BEFORE, "earlier requests of the same session, newest first");
  for (size_t i = rp__digest_count(g), n = 0; i > 0 && n < BEFORE_MAX; i--) {
    RP_CLEANUP(told_done) struct told one = {0};
    if (i - 1 == p) continue;
    if (!tell(g, i - 1, &one, d)) return;
    size_t width = rp__prose_width((struct rp__str){one.r.text.p, one.r.text.n});
    if (one.r.go_on || width < BEFORE_MIN + 2 || (one.r.tools == 0 && width < 40)) continue;
    if (is_told(NULL, d, one.r.text)) continue; /* it was sent again */
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

static bool still_fails(const struct rp__digest *g, const struct rp__row *command)
{
  return g->n_calls - number(command, RP_COMMAND_CALL) < FAILS_CALLS;
}

static const struct rp__row *newest_failure(const struct rp__digest *g)
{
  const struct rp__row *row = g->commands.count ? g->commands.v[g->commands.count - 1] : NULL;
  return row && still_fails(g, row) ? row : NULL;
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
    rp__brief_files(in, g, FILES_TOLD, out);
    rp__draft_why(d, "the newest files and those changed most, of %zu", g->files.count);
  }
  rp__draft_section(d, RP_SEC_FAILS, "%s", "");
  for (size_t i = g->commands.count, n = 0; i > 0 && n < FAILS_TOLD; i--) {
    const struct rp__row *row = g->commands.v[i - 1];
    if (!still_fails(g, row)) continue;
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
  const struct rp__brief_session *last = speaker(in), *s = last;
  if (!s) return;
  /* A short session in another matter makes no list; the one before is still open then. Older ones may be done. */
  if (s->digest->todos.count == 0 && in->n_sessions > 1 &&
      (double)(last->end_ms - in->sessions[1].end_ms) <= OLDER_DAYS * DAY_MS)
    s = &in->sessions[1];
  rp__draft_section(d, RP_SEC_TODOS, "items of the agent's own list that are not done, of session %s", s->session_id);
  for (size_t i = 0; i < s->digest->todos.count && i < TODOS_MAX; i++) {
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    add_text(out, rp__row_cell(s->digest->todos.v[i], RP_TODO_TEXT), TODO_WIDTH, false);
    bool begun = rp__json_eq(rp__row_cell(s->digest->todos.v[i], RP_TODO_STATUS), "in_progress");
    if (begun || (s != last && i == 0)) rp__buf_str(out, begun ? " (in progress" : " (");
    if (s != last && i == 0) rp__buf_str(out, begun ? "; listed " : "listed ");
    if (s != last && i == 0) rp__ago_words(in->now_ms, s->end_ms, out);
    if (begun || (s != last && i == 0)) rp__buf_char(out, ')');
    rp__draft_why(d, "an open item of the agent's own list");
  }
}

/* ---- what the user declined and laid down --------------------------------------------------------- */

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
      if ((said.n <= 2 && (count < 2 || plan)) || is_told(NULL, d, what)) continue;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "THE USER DECLINED");
      if (k > 0) rp__buf_str(out, " (");
      if (k > 0) rp__ago_words(in->now_ms, declined->v[i - 1]->at_ms, out);
      rp__buf_str(out, k > 0 ? "): " : ": ");
      add_text(out, what, said.n > 2 ? OLDER_WIDTH / 2 : OLDER_WIDTH, true);
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
  rp__draft_section(d, RP_SEC_RULES, "rules and decisions that the user stated");
  /* Those that are meant to last, then the others, as a user repeats himself less about the former. */
  size_t told = 0, sessions = RP_MIN(in->n_sessions, (size_t)RULES_SESSIONS);
  for (size_t pick = 0; pick < 2 * sessions; pick++) {
    const struct rp__brief_session *s = &in->sessions[pick % sessions];
    const struct rp__rows *rules = &s->digest->rules;
    unsigned wanted = pick < sessions ? RP_RULE_LASTING : 0;
    size_t max = pick < sessions ? LASTING_TOLD : RULES_TOLD;
    for (size_t i = rules->count; i > 0 && told < max; i--) {
      struct rp__json rule = rp__row_cell(rules->v[i - 1], RP_RULE_TEXT);
      if ((rules->v[i - 1]->flags & RP_RULE_LASTING) != wanted || is_told(in, d, rule)) continue;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "- ");
      add_text(out, rule, RULE_WIDTH, true);
      rp__draft_why(d, "stated in session %s", s->session_id);
      told++;
    }
  }
}

/* ---- other sessions ------------------------------------------------------------------------------------ */

/* A short follow-up ("then clean that up") says little without the request that it follows. */
static void add_request_before(const struct rp__digest *g, const struct told *one, struct rp__draft *d)
{
  size_t i = rp__digest_asked(g);
  if (rp__prose_width((struct rp__str){one->r.text.p, one->r.text.n}) >= FOLLOW_UP_WIDTH) return;
  while (i > 0) {
    const struct rp__row *row = g->requests.v[--i];
    if (row->flags & RP_REQUEST_GO_ON) continue;
    rp__buf_str(&d->bytes, " (after: ");
    add_text(&d->bytes, rp__row_cell(row, RP_REQUEST_TEXT), OLDER_WIDTH / 2, true);
    rp__buf_char(&d->bytes, ')');
    return;
  }
}

void rp__brief_others(const struct rp__brief_input *in, struct rp__draft *d)
{
  const struct rp__brief_session *first = speaker(in);
  struct rp__buf *out;
  rp__draft_section(d, RP_SEC_OPEN, "%s", "");
  for (size_t i = 1, n = 0; i < in->n_sessions && n < OPEN_MAX; i++) {
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
      rp__brief_files(in, s->digest, 4, out);
    }
    rp__draft_why(d, "session %s is open", s->session_id);
    n++;
  }
  rp__draft_section(d, RP_SEC_OLDER, "sessions of the %d days before the last one", OLDER_DAYS);
  for (size_t i = 1, n = 0; first && i < in->n_sessions && n < OLDER_MAX; i++) {
    const struct rp__brief_session *s = &in->sessions[i];
    RP_CLEANUP(told_done) struct told one = {0}, last = {0};
    if (s->lives || rp__digest_count(s->digest) == 0) continue;
    if ((double)(first->end_ms - s->end_ms) > OLDER_DAYS * DAY_MS) break;
    if (!tell(s->digest, rp__digest_asked(s->digest), &one, d)) return;
    if (!tell(s->digest, rp__digest_count(s->digest) - 1, &last, d)) return;
    if (one.r.text.n < BEFORE_MIN + 2 || is_told(NULL, d, one.r.text)) continue;
    out = rp__draft_item(d);
    rp__buf_str(out, "- ");
    rp__ago_words(in->now_ms, s->end_ms, out);
    rp__buf_str(out, ": ");
    add_text(out, one.r.text, OLDER_WIDTH, true);
    add_request_before(s->digest, &one, d);
    if (last.r.end == RP_END_TOOL && s->digest->calls.count) {
      rp__buf_str(out, " (stopped at: ");
      add_text(out, rp__row_cell(s->digest->calls.v[s->digest->calls.count - 1], RP_CALL_WHAT), OLDER_WIDTH / 3, false);
      rp__buf_char(out, ')');
    } else if (!last.r.answer.n) {
      rp__buf_str(out, " (no answer)");
    }
    const struct rp__row *failed = newest_failure(s->digest);
    if (failed) rp__buf_str(out, ", fails: ");
    if (failed) add_text(out, rp__row_cell(failed, RP_COMMAND_LINE), OLDER_WIDTH / 3, false);
    if (s->digest->files.count) {
      rp__draft_short(d);
      rp__buf_str(out, " → ");
      rp__brief_files(in, s->digest, 2, out);
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
  rp__buf_str(out, "MORE: reprise log ");
  for (size_t i = 0; i < RP_MIN(in->n_sessions, (size_t)IDS_TOLD); i++) {
    const char *id = in->sessions[i].session_id;
    bool ours = strlen(id) == 36 && id[8] == '-'; /* another chosen id may begin with the same characters */
    rp__buf_printf(out, "%s%.*s", i ? " or " : "", ours ? ID_SHOWN : RP_ID_MAX, id);
  }
  rp__buf_str(out, "; reprise search WORDS (MCP: session_search)");
  rp__draft_why(d, "how to know more");
}
