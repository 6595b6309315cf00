/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections that digests tell (B-13): what was asked last and what came of it, files, failing commands, todos, what
 * the user declined and laid down, other sessions. The session in which something was done last speaks in full, also
 * when it is still open (a terminal left overnight has the actual work); the others speak in a line each.
 */
#include "continuity/brief-impl.h"

#include <math.h>

#include "base/text.h"

#include "facets/digest/prose.h"
#include "json/text.h"

#define REQUEST_WIDTH 330
#define ANSWER_WIDTH 330
#define THANKS_WIDTH 60
#define BEFORE_WIDTH 200
#define BEFORE_MAX 2
#define BEFORE_MIN 16 /* a narrower request says too little to be told again */
#define BEFORE_VAGUE 30
#define OLDER_WIDTH 130
#define OLDER_MAX 3
#define OLDER_DAYS 14
#define OPEN_WIDTH 170
#define OPEN_MAX 3
#define TODO_WIDTH 70
#define TODOS_MAX 5
#define RULE_WIDTH 150
#define RULES_TOLD 3
#define LASTING_TOLD 3
#define RULES_SESSIONS 6
#define RULES_LOOKED_AT 48
#define DECLINED_SESSIONS 5
#define DECLINED_TOLD 2
#define PATH_WORD 24 /* bytes of a path in a command that is told whole */
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

/* As much of a request, its beginning and end, as so many bytes hold, whatever its script. */
static void add_request(struct rp__buf *out, struct rp__json v, size_t max_bytes)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)64 * 1024), line = RP_BUF((size_t)64 * 1024);
  rp__json_text(v, &text);
  rp__prose_fit((struct rp__str){text.p ? text.p : "", text.n}, max_bytes, &line);
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

/* A command, its long paths by their last parts: "rm …/api/.env.example". */
static void add_command(struct rp__buf *out, struct rp__json v, size_t width)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)64 * 1024), brief = RP_BUF((size_t)64 * 1024);
  if (v.type != RP_JSON_STRING) return;
  rp__json_text(v, &text);
  for (const char *at = text.p, *end = text.p + text.n; at && at < end;) {
    const char *stop = memchr(at, ' ', (size_t)(end - at));
    stop = stop ? stop : end;
    const char *name = memrchr(at, '/', (size_t)(stop - at));
    const char *folder = name && name > at ? memrchr(at, '/', (size_t)(name - at)) : NULL;
    bool shorten = stop - at > PATH_WORD && folder && folder > at;
    if (shorten) rp__buf_str(&brief, "…");
    rp__buf_add(&brief, shorten ? folder : at, (size_t)(stop - (shorten ? folder : at)));
    if (stop < end) rp__buf_char(&brief, ' ');
    at = stop + 1;
  }
  if (text.err || brief.err) out->err = RP_E_NOMEM;
  add_str(out, (struct rp__str){brief.p ? brief.p : "", brief.n}, width);
}

/* Whether the brief tells a stored text already. */
static bool is_told(struct rp__draft *d, struct rp__json stored, unsigned percent)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)64 * 1024);
  if (stored.type != RP_JSON_STRING) return false;
  if (rp__json_text(stored, &text)) d->bytes.err = RP_E_NOMEM;
  return rp__draft_tells(d, (struct rp__str){text.p ? text.p : "", text.n}, percent);
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

/* Whether an answer has a question, which a short word may have answered. */
static bool asks(struct rp__str answer)
{
  return answer.n && (memchr(answer.p, '?', answer.n) || memmem(answer.p, answer.n, "？", 3));
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

/* Where the request got no answer, the last one that came tells where the work stood. */
static void tell_answer_before(const struct rp__digest *g, size_t p, bool quoted, struct rp__draft *d)
{
  for (size_t i = quoted ? 0 : p; i > 0; i--) {
    RP_CLEANUP(told_done) struct told before = {0};
    if (!tell(g, i - 1, &before, d)) return;
    if (!before.r.answer.n) continue;
    struct rp__buf *out = rp__draft_item(d);
    rp__buf_str(out, "ANSWER BEFORE: ");
    add_str(out, before.r.answer, 200);
    rp__draft_why(d, "the last answer that came");
    return;
  }
}

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
  bool says = last->r.answer.n > 0, open = last->r.end == RP_END_OPEN && (s->lives || !quoted);
  if ((doubtful || open) && !says) return tell_answer_before(g, p, quoted, d);
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
  if (!says) tell_answer_before(g, p, quoted, d);
}

/* Whether a stored text has a file, a number or an identifier. */
static bool has_name(struct rp__json text)
{
  for (size_t i = 1; i + 2 < text.n; i++) {
    char c = text.p[i], next = text.p[i + 1];
    if (rp__is_digit(c) || c == '@' || c == '/' || c == '_') return true;
    if (c == '.' && rp__is_alnum(next)) return true;
    if (rp__is_lower(c) && rp__is_upper(next)) return true;
  }
  return false;
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
                !asks(last.r.answer) && !asks(asked.r.answer);
  if (l != p && (!last.r.go_on || (thanks && is_answered(&asked)))) {
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
  bool silent = last.r.end == RP_END_OPEN && !s->lives && (l == p || !last.r.go_on);
  rp__buf_str(out, last.r.end == RP_END_ANSWERED ? "LAST REQUEST" : s->lives ? "UNDER WAY" : "NOT FINISHED");
  if (silent) rp__buf_str(out, ", NO ANSWER CAME");
  bool unclean = in->cause != RP_CAUSE_NONE && in->cause != RP_CAUSE_CLEAN && in->cause != RP_CAUSE_UPGRADE;
  bool crashed = s->crashed || (in->resumed && unclean);
  if (!in->resumed) {
    rp__buf_str(out, " (");
    rp__ago_words(in->now_ms, s->end_ms, out);
    rp__buf_char(out, ')');
  }
  rp__buf_str(out, ": ");
  /* After a crash the request is told whole: the agent may have to take it up. */
  if (crashed)
    add_request(out, asked.r.text, in->max_bytes * 2 / 5);
  else
    add_text(out, asked.r.text, REQUEST_WIDTH, true);
  rp__draft_why(d, "the last request of session %s", s->session_id);
  tell_end(s, p, l, &last, crashed, d);

  rp__draft_section(d, RP_SEC_BEFORE, "earlier requests of the same session, newest first");
  for (size_t i = rp__digest_count(g), n = 0; i > 0 && n < BEFORE_MAX; i--) {
    RP_CLEANUP(told_done) struct told one = {0};
    if (i - 1 == p) continue;
    if (!tell(g, i - 1, &one, d)) return;
    /* A short request without work, or without a name in it, says nothing by itself. */
    size_t width = rp__prose_width((struct rp__str){one.r.text.p, one.r.text.n});
    bool vague = width < BEFORE_VAGUE && !has_name(one.r.text);
    if (one.r.go_on || width < BEFORE_MIN || vague || (one.r.tools == 0 && width < 40)) continue;
    if (is_told(d, one.r.text, RP_SENT_AGAIN)) continue; /* it was sent again */
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

struct rule {
  struct rp__json text;
  const char *session_id;
  uint64_t words[RP_DRAFT_WORDS];
  bool lasting; /* by its own words, or by those of an older rule that it says again, or takes back */
};

/* Adds the rules of a session, newest first, behind those of newer sessions. */
static size_t add_rules(const struct rp__brief_input *in, size_t k, struct rule rules[RULES_LOOKED_AT], size_t n,
                        struct rp__draft *d)
{
  const struct rp__rows *rows = &in->sessions[k].digest->rules;
  for (size_t i = rows->count; i > 0 && n < RULES_LOOKED_AT; i--) {
    const struct rp__row *row = rows->v[i - 1];
    RP_AUTOBUF struct rp__buf text = RP_BUF((size_t)4 * 1024);
    if (row->flags & RP_RULE_CHOSEN && k > 0) continue; /* that step is over */
    struct rule *r = &rules[n];
    *r = (struct rule){.text = rp__row_cell(row, RP_RULE_TEXT),
                       .session_id = in->sessions[k].session_id,
                       .lasting = (row->flags & RP_RULE_LASTING) != 0};
    if (rp__json_text(r->text, &text)) d->bytes.err = RP_E_NOMEM;
    struct rp__str s = {text.p ? text.p : "", text.n};
    size_t newer = 0;
    while (newer < n && !rp__words_repeat(s, rules[newer].words, RP_REPEATED)) newer++;
    if (newer < n) rules[newer].lasting = rules[newer].lasting || r->lasting;
    if (newer < n && rp__words_repeat(s, rules[newer].words, RP_SENT_AGAIN)) continue;
    rp__draft_words(s, r->words);
    n++;
  }
  return n;
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
      if ((said.n <= 2 && (count < 2 || plan)) || is_told(d, what, RP_REPEATED)) continue;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "THE USER DECLINED");
      if (k > 0) rp__buf_str(out, " (");
      if (k > 0) rp__ago_words(in->now_ms, declined->v[i - 1]->at_ms, out);
      rp__buf_str(out, k > 0 ? "): " : ": ");
      add_command(out, what, said.n > 2 ? OLDER_WIDTH / 2 : OLDER_WIDTH);
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
  struct rule rules[RULES_LOOKED_AT];
  size_t n = 0, told = 0;
  for (size_t k = 0; k < RP_MIN(in->n_sessions, (size_t)RULES_SESSIONS); k++) n = add_rules(in, k, rules, n, d);
  for (int lasting = 1; lasting >= 0; lasting--)
    for (size_t i = 0; i < n && told < (lasting ? LASTING_TOLD : RULES_TOLD); i++) {
      if (rules[i].lasting != (lasting == 1) || is_told(d, rules[i].text, RP_SENT_AGAIN)) continue;
      struct rp__buf *out = rp__draft_item(d);
      rp__buf_str(out, "- ");
      add_text(out, rules[i].text, RULE_WIDTH, true);
      rp__draft_why(d, "stated in session %s", rules[i].session_id);
      told++;
    }
}

/* ---- other sessions ------------------------------------------------------------------------------------ */

/* The request that an older session is told by: the last one, or, where that changed nothing, the one that did most. */
static size_t main_request(const struct rp__digest *g)
{
  size_t n = rp__digest_count(g), best = rp__digest_asked(g);
  int64_t most = best + 1 == n ? g->edits : number(g->requests.v[best], RP_REQUEST_EDITS);
  if (most > 0) return best;
  for (size_t i = n - 1; i > 0; i--) {
    int64_t edits = number(g->requests.v[i - 1], RP_REQUEST_EDITS);
    if (edits <= most || g->requests.v[i - 1]->flags & RP_REQUEST_GO_ON) continue;
    most = edits;
    best = i - 1;
  }
  return best;
}

static bool has_work(const struct rp__digest *g)
{
  return g->files.count || g->commits.count || newest_failure(g);
}

/* Whether a line about an older session would say something; with work: of one in which something was done. */
static bool older_says(const struct rp__brief_session *s, bool work, struct rp__draft *d)
{
  if (s->lives || rp__digest_count(s->digest) == 0 || has_work(s->digest) != work) return false;
  struct rp__json text = rp__row_cell(s->digest->requests.v[main_request(s->digest)], RP_REQUEST_TEXT);
  size_t width = rp__prose_width((struct rp__str){text.p, text.n});
  return width >= BEFORE_MIN && !is_told(d, text, RP_SENT_AGAIN);
}

static void tell_older(const struct rp__brief_input *in, const struct rp__brief_session *s, struct rp__draft *d)
{
  const struct rp__digest *g = s->digest;
  struct rp__buf *out = rp__draft_item(d);
  rp__buf_str(out, "- ");
  rp__ago_words(in->now_ms, s->end_ms, out);
  rp__buf_str(out, ": ");
  add_text(out, rp__row_cell(g->requests.v[main_request(g)], RP_REQUEST_TEXT), OLDER_WIDTH, true);
  const struct rp__row *failed = newest_failure(g);
  if (failed) rp__buf_str(out, ", fails: ");
  if (failed) add_text(out, rp__row_cell(failed, RP_COMMAND_LINE), OLDER_WIDTH / 3, false);
  if (g->files.count) {
    rp__draft_short(d);
    rp__buf_str(out, " → ");
    rp__brief_files(in, g, 2, out);
  }
  rp__draft_why(d, "session %s", s->session_id);
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
  /* Those in which something was done, and if there are few, those in which people only talked. */
  bool chosen[RP_SPEAKERS_MAX] = {false};
  size_t n = 0;
  for (int work = 1; work >= 0 && first; work--)
    for (size_t i = 1; i < in->n_sessions && n < OLDER_MAX; i++) {
      if ((double)(first->end_ms - in->sessions[i].end_ms) > OLDER_DAYS * DAY_MS) break;
      if (!older_says(&in->sessions[i], work == 1, d)) continue;
      chosen[i] = true;
      n++;
    }
  for (size_t i = 1; i < in->n_sessions; i++)
    if (chosen[i]) tell_older(in, &in->sessions[i], d);
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
