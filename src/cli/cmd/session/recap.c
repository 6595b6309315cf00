/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reprise recap`: what was worked on, by project and day. A session stands on each day on which its user asked for
 * something, with what was asked last on that day.
 */
#include "cli/out.h"
#include "cli/term.h"
#include "cli/when.h"
#include "base/text.h"

#define WHEN_SHOWN 16      /* bytes of a wrong time that are told back; what is longer may be a credential */
#define DAYS_DEFAULT 6     /* before today */
#define SESSIONS_MAX 500   /* that are looked at */
#define LISTED_MAX 1000000 /* rows that are passed over to find them, for --until */
#define INDENT 9           /* columns before a detail: the time of day */
#define ID_FROM 70         /* columns of a terminal that has room for ids */
#define WIDTH_MIN 10       /* columns of a text at least, … */
#define WIDTH_MAX 160      /* … and at most, also where there is no terminal */
#define BEFORE_TOLD 3
#define FILES_TOLD 6
#define COMMITS_TOLD 3
#define FAILS_TOLD 2
#define TODOS_TOLD 4
#define NAME_WIDTH 60 /* of a commit, a todo, an earlier request */
#define STOP 1        /* what the callback returns to stop */

enum { SCOPE, ALL, SINCE, UNTIL, ON };

#define WHEN "today, monday, 'last tuesday', '3 days', a date, a time, or like 2h"
static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's (default: this project's, outside one all)"},
    [ALL] = {"all", 'a', RP_OPT_FLAG, NULL, "of all scopes, also inside a project"},
    [SINCE] = {"since", 0, RP_OPT_TEXT, "WHEN", "from then on (default: today and the six days before)"},
    [UNTIL] = {"until", 0, RP_OPT_TEXT, "WHEN", "until then, a day with its evening"},
    [ON] = {"on", 0, RP_OPT_TEXT, "DAY", "that day alone"},
};

/* A session with its digest. */
struct source {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1];
  char *name, *text; /* owned; or NULL */
  bool active;       /* its run lives */
  struct rp__json digest;
};

/* What was done in a session on one day. */
struct entry {
  const struct source *s;
  int64_t at, day;           /* of the request that is told, and the beginning of its day */
  int64_t from, upto;        /* changes in between were made on that day */
  size_t asked, first, last; /* of the session's requests; `asked` is told */
  bool newest;               /* how it ended is how the session stands */
  size_t project;            /* in the order of their newest entries */
};

struct recap {
  struct rp__cli *c;
  const char *scope; /* NULL: all */
  bool utc, more;
  int64_t now, since, until, silent, unreadable;
  struct source *sources;
  size_t n_sources;
  struct entry *entries;
  size_t n, cap;
};

static void recap_done(struct recap *r)
{
  for (size_t i = 0; i < r->n_sources; i++) {
    free(r->sources[i].name);
    rp_free(r->sources[i].text);
  }
  free(r->sources);
  free(r->entries);
}

/* ---- reading ---- */

static int on_session(void *ctx, const rp_session_info *info)
{
  struct recap *r = ctx;
  if (info->created_at >= r->until) return 0;
  r->more = r->n_sources == SESSIONS_MAX;
  if (r->more) return STOP;
  if (!r->sources && !(r->sources = calloc(SESSIONS_MAX, sizeof *r->sources))) return RP_E_NOMEM;
  struct source *s = &r->sources[r->n_sources++];
  snprintf(s->id, sizeof s->id, "%s", info->id);
  snprintf(s->scope, sizeof s->scope, "%s", info->scope ? info->scope : "-");
  s->active = info->status == RP_SESSION_ACTIVE;
  return info->name && !(s->name = strdup(info->name)) ? RP_E_NOMEM : 0;
}

static int64_t time_of(struct rp__json item)
{
  struct rp__json v = rp__json_get(item, "at");
  int64_t ms;
  return v.type == RP_JSON_STRING && v.n > 2 && rp__time_parse(v.p + 1, v.n - 2, &ms) == 0 ? ms : 0;
}

static bool is_true(struct rp__json item, const char *name)
{
  return rp__json_get(item, name).type == RP_JSON_TRUE;
}

static struct rp__json item_at(struct rp__json list, size_t at)
{
  struct rp__json_iter it = {0};
  struct rp__json v = {0};
  for (size_t i = 0; i <= at && rp__json_next(list, &it, NULL, &v); i++) {
  }
  return v;
}

/* The days of one session, oldest first. A go-on tells the request before it. */
static int add_days(struct recap *r, const struct source *s)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  struct entry *e = NULL;
  size_t asked = 0;
  for (size_t i = 0; rp__json_next(rp__json_get(s->digest, "requests"), &it, NULL, &v); i++) {
    int64_t at = time_of(v);
    if (e) e->newest = false;
    if (!is_true(v, "go_on")) asked = i;
    if (at < r->since || at >= r->until) {
      if (e && e->upto == INT64_MAX) e->upto = at;
      continue;
    }
    int64_t day = rp__when_day(at, 0, r->utc);
    if (!e || e->day != day || e->upto != INT64_MAX) {
      if (e && e->upto == INT64_MAX) e->upto = at;
      if (r->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 64;
        struct entry *more = reallocarray(r->entries, cap, sizeof *more);
        if (!more) return RP_E_NOMEM;
        r->entries = more;
        r->cap = cap;
      }
      e = &r->entries[r->n++];
      *e = (struct entry){.s = s, .day = day, .from = i ? at : INT64_MIN, .upto = INT64_MAX, .first = i};
    }
    e->at = at;
    e->last = i;
    e->asked = asked;
    e->newest = true;
  }
  /* Small talk behind the last request is passed over, as everywhere. */
  it = (struct rp__json_iter){0};
  for (size_t i = 0; e && e->newest && rp__json_next(rp__json_get(s->digest, "requests"), &it, NULL, &v); i++)
    if (is_true(v, "last")) e->asked = i;
  return 0;
}

static int by_time(const void *x, const void *y)
{
  const struct entry *a = x, *b = y;
  if (a->at != b->at) return a->at > b->at ? -1 : 1;
  return strcmp(b->s->id, a->s->id);
}

static int by_project(const void *x, const void *y)
{
  const struct entry *a = x, *b = y;
  if (a->project != b->project) return a->project < b->project ? -1 : 1;
  return by_time(x, y);
}

static void order(struct recap *r)
{
  size_t projects = 0;
  if (r->n == 0) return;
  qsort(r->entries, r->n, sizeof r->entries[0], by_time);
  for (size_t i = 0; i < r->n; i++) {
    size_t k = 0;
    while (k < i && strcmp(r->entries[k].s->scope, r->entries[i].s->scope) != 0) k++;
    r->entries[i].project = k < i ? r->entries[k].project : projects++;
  }
  qsort(r->entries, r->n, sizeof r->entries[0], by_project);
}

static int collect(struct recap *r, rp_error *err)
{
  rp_filter f = {.scope = r->scope, .by_activity = true, .since_ms = r->since, .limit = LISTED_MAX};
  int code = rp_list(r->c->engine, &f, on_session, r, err);
  if (code && code != STOP) return err->code ? code : rp__fail(err, code, "can't list the sessions");
  for (size_t i = 0; i < r->n_sources; i++) {
    struct source *s = &r->sources[i];
    rp_error why = {0};
    code = rp_digest_json(r->c->engine, s->id, &s->text, &why);
    if (code == RP_E_NOMEM || code == RP_E_BUSY || code == RP_E_UNREACHABLE) {
      *err = why;
      return code;
    }
    r->unreadable += code != 0;
    if (code) continue;
    s->digest = rp__json_trusted(s->text, strlen(s->text));
    r->silent += rp__json_count(rp__json_get(s->digest, "requests")) == 0;
    if (add_days(r, s)) return rp__fail_nomem(err);
  }
  order(r);
  return 0;
}

/* ---- for a person ---- */

/* How a request ended, where it was not answered. */
static const char *unfinished(struct rp__json end)
{
  static const struct {
    const char *word, *text;
  } ends[] = {
      {"open", "no answer came"},        {"cut_off", "it ended in the middle"}, {"tool", "it ended at a tool"},
      {"cancelled", "you cancelled it"}, {"failed", "the turn failed"},         {"refused", "the agent refused it"},
      {"limit", "a limit was reached"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(ends); i++)
    if (rp__json_eq(end, ends[i].word)) return ends[i].text;
  return NULL;
}

static struct rp__json end_of(const struct entry *e, struct rp__json request)
{
  return rp__json_get(e->newest ? e->s->digest : request, e->newest ? "last_request_end" : "end");
}

static int width_of(const struct rp__cli *c, int taken)
{
  return c->term.out_tty ? RP_MIN(RP_MAX(c->term.columns - taken, WIDTH_MIN), WIDTH_MAX) : WIDTH_MAX;
}

/* One line below the request: a word that says what it is, and as much of the text as fits. */
static void detail(const struct recap *r, struct rp__buf *out, const char *word, const char *colour,
                   const struct rp__buf *text)
{
  bool on = r->c->term.out_colour;
  if (text->err) out->err = RP_E_NOMEM;
  if (!text->n || text->err) return;
  rp__buf_printf(out, "%*s%s%s:%s ", INDENT, "", RP_SGR(on, colour), word, RP_RESET(on));
  rp__term_cut(out, text->p, text->n, width_of(r->c, INDENT + (int)strlen(word) + 2));
  rp__buf_char(out, '\n');
}

static bool is_of(const struct entry *e, struct rp__json item)
{
  int64_t at = time_of(item);
  return at >= e->from && at < e->upto;
}

/* The entry's items of one list, `max` of them. */
static void add_list(const struct recap *r, struct rp__buf *out, const struct entry *e, const char *list,
                     const char *member, const char *behind, const char *word, const char *colour, int max)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(65536);
  struct rp__json_iter it = {0};
  struct rp__json v;
  int n = 0;
  while (rp__json_next(rp__json_get(e->s->digest, list), &it, NULL, &v)) {
    if (!is_of(e, v) || n++ >= max) continue;
    if (text.n) rp__buf_str(&text, "; ");
    rp__view_text(&text, rp__json_get(v, member), NAME_WIDTH);
    struct rp__json more = behind ? rp__json_get(v, behind) : (struct rp__json){0};
    if (more.type == RP_JSON_STRING && more.n > 2) {
      rp__buf_str(&text, " — ");
      rp__view_text(&text, more, NAME_WIDTH);
    }
  }
  if (n > max) rp__buf_printf(&text, " … %d more", n - max);
  detail(r, out, word, colour, &text);
}

static void add_before(const struct recap *r, struct rp__buf *out, const struct entry *e)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(65536);
  struct rp__json requests = rp__json_get(e->s->digest, "requests");
  int n = 0;
  for (size_t i = e->last + 1; i > e->first; i--) {
    struct rp__json v = item_at(requests, i - 1);
    if (i - 1 == e->asked || is_true(v, "go_on") || n++ >= BEFORE_TOLD) continue;
    if (text.n) rp__buf_str(&text, " · ");
    rp__view_text(&text, rp__json_get(v, "text"), NAME_WIDTH);
  }
  if (n > BEFORE_TOLD) rp__buf_printf(&text, " … %d more", n - BEFORE_TOLD);
  detail(r, out, "before", RP_DIM, &text);
}

static void add_entry(const struct recap *r, struct rp__buf *out, const struct entry *e)
{
  char at[RP_MOMENT_TEXT], id[RP_ID_MAX + 1];
  bool colour = r->c->term.out_colour, ids = !r->c->term.out_tty || r->c->term.columns >= ID_FROM;
  struct rp__json requests = rp__json_get(e->s->digest, "requests"), asked = item_at(requests, e->asked);
  rp__moment_format(r->c, e->at, at);
  rp__buf_printf(out, "  %.5s  ", strlen(at) > 16 ? at + 11 : "?");
  if (ids) {
    rp__buf_str(out, RP_SGR(colour, RP_CYAN));
    rp__buf_str(out, rp__id_short(e->s->id, id));
    rp__buf_printf(out, "%s  ", RP_RESET(colour));
  }
  RP_AUTOBUF struct rp__buf text = RP_BUF(65536), answer = RP_BUF(65536);
  if (e->s->name) {
    rp__term_cut(&text, e->s->name, strlen(e->s->name), NAME_WIDTH);
    rp__buf_str(&text, " · ");
  }
  rp__view_text(&text, rp__json_get(asked, "text"), 0);
  if (text.err) out->err = RP_E_NOMEM;
  if (text.n && !text.err) rp__term_cut(out, text.p, text.n, width_of(r->c, INDENT + (ids ? (int)strlen(id) + 2 : 0)));
  rp__buf_char(out, '\n');

  const char *why = unfinished(end_of(e, asked));
  struct rp__json last = item_at(requests, e->last);
  struct rp__json said = rp__json_get(e->newest && is_true(last, "go_on") ? last : asked, "answer");
  if (why && e->newest) rp__buf_str(&answer, why);
  if (said.type == RP_JSON_STRING) {
    if (answer.n) rp__buf_str(&answer, "; said last: ");
    rp__view_text(&answer, said, 0);
  }
  if (why && e->newest)
    detail(r, out, e->s->active ? "in progress" : "NOT FINISHED", e->s->active ? RP_GREEN : RP_YELLOW, &answer);
  else
    detail(r, out, "answer", RP_DIM, &answer);
  add_before(r, out, e);
  add_list(r, out, e, "files", "path", NULL, "files", RP_DIM, FILES_TOLD);
  add_list(r, out, e, "commits", "commit", NULL, "committed", RP_DIM, COMMITS_TOLD);
  add_list(r, out, e, "failing", "command", "error", "fails", RP_RED, FAILS_TOLD);
  add_list(r, out, e, "todos", "text", NULL, "open", RP_DIM, TODOS_TOLD);
}

static int tell(const struct recap *r, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__cli *c = r->c;
  char day[RP_WHEN_TEXT];
  for (size_t i = 0; i < r->n; i++) {
    const struct entry *e = &r->entries[i], *before = i ? e - 1 : NULL;
    bool fresh = !before || before->project != e->project;
    if (fresh) {
      RP_AUTOBUF struct rp__buf title = RP_BUF(4096);
      rp__term_cut(&title, e->s->scope, strlen(e->s->scope), width_of(c, 0));
      rp__buf_str(&title, "");
      rp__view_heading(c, &out, title.err ? "?" : title.p);
    }
    if (fresh || before->day != e->day)
      rp__buf_printf(&out, "%s%s%s\n", RP_SGR(c->term.out_colour, RP_CYAN), rp__when_words(e->at, r->now, r->utc, day),
                     RP_RESET(c->term.out_colour));
    add_entry(r, &out, e);
  }
  int code = rp__out_text(&out, err);
  if (code) return code;
  if (r->n == 0) rp__cli_say(c, "nothing was asked for in that time");
  if (r->silent) rp__cli_say(c, "%lld session%s without a request", (long long)r->silent, r->silent == 1 ? "" : "s");
  if (r->unreadable)
    rp__cli_say(c, "%lld session%s can't be read; 'reprise doctor' tells whether a key is missing",
                (long long)r->unreadable, r->unreadable == 1 ? "" : "s");
  if (r->more) rp__cli_say(c, "the newest %d sessions of that time; --until goes further back", SESSIONS_MAX);
  if (r->scope && !rp__opt_given(c, SCOPE) && c->term.err_tty)
    rp__cli_say(c, "the scope %s; --all tells of every scope", r->scope);
  return 0;
}

/* ---- for a program ---- */

static void write_list(struct rp__jw *w, const struct entry *e, const char *name)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  rp__jw_karray(w, name);
  while (rp__json_next(rp__json_get(e->s->digest, name), &it, NULL, &v))
    if (is_of(e, v)) rp__jw_value(w, v);
  rp__jw_end_array(w);
}

static void write_entry(struct rp__jw *w, const struct entry *e)
{
  static const char *const lists[] = {"files", "commits", "failing", "todos"};
  struct rp__json requests = rp__json_get(e->s->digest, "requests"), asked = item_at(requests, e->asked);
  rp__jw_pack(w, "{session_id:s name:?s at:t last_request:v last_request_end:v", e->s->id, e->s->name, e->at,
              rp__json_get(asked, "text"), end_of(e, asked));
  rp__jw_kbool(w, "active", e->s->active);
  rp__jw_karray(w, "requests");
  for (size_t i = e->first; i <= e->last; i++) rp__jw_value(w, item_at(requests, i));
  rp__jw_end_array(w);
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) write_list(w, e, lists[i]);
  rp__jw_end_object(w);
}

static int write_document(const struct recap *r, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  char day[RP_WHEN_TEXT];
  rp__jw_pack(&w, "{since:t until:?t projects:[", r->since, r->until == INT64_MAX ? 0 : r->until);
  for (size_t i = 0; i < r->n; i++) {
    const struct entry *e = &r->entries[i], *before = i ? e - 1 : NULL, *next = i + 1 < r->n ? e + 1 : NULL;
    bool fresh = !before || before->project != e->project, last = !next || next->project != e->project;
    if (fresh) rp__jw_pack(&w, "{scope:s days:[", e->s->scope);
    if (fresh || before->day != e->day) rp__jw_pack(&w, "{day:s sessions:[", rp__when_date(e->at, r->utc, day));
    write_entry(&w, e);
    if (last || next->day != e->day) rp__jw_pack(&w, "]}");
    if (last) rp__jw_pack(&w, "]}");
  }
  rp__jw_pack(&w, "] silent:i unreadable:i more:b}", r->silent, r->unreadable, r->more);
  return rp__out_buf(r->c, &out, err);
}

/* ---- the command ---- */

static int when_of(const struct recap *r, int opt, bool end, int64_t *ret, rp_error *err)
{
  const char *text = rp__opt_text(r->c, opt), *name = opts[opt].name;
  if (rp__when_parse(text, r->now, r->utc, end, ret)) return 0;
  int code = strlen(text) <= WHEN_SHOWN
                 ? rp__fail_field(err, RP_E_USAGE, name, "--%s: '%s' is not a time", name, rp__text_shown(text))
                 : rp__fail_field(err, RP_E_USAGE, name, "--%s: what was given is not a time", name);
  return rp__hinted(err, code, "write " WHEN);
}

static int window(struct recap *r, rp_error *err)
{
  struct rp__cli *c = r->c;
  int code = 0;
  r->now = rp__cli_now(c);
  r->utc = c->globals[RP_G_UTC].count > 0;
  r->since = rp__when_day(r->now, -DAYS_DEFAULT, r->utc);
  r->until = INT64_MAX;
  if (rp__opt_given(c, ON) && (rp__opt_given(c, SINCE) || rp__opt_given(c, UNTIL)))
    return rp__fail_field(err, RP_E_USAGE, "on", "--on stands alone, without --since and --until");
  if (rp__opt_given(c, ON)) {
    code = when_of(r, ON, false, &r->since, err);
    r->since = rp__when_day(r->since, 0, r->utc);
    r->until = rp__when_day(r->since, 1, r->utc);
    return code;
  }
  if (rp__opt_given(c, SINCE)) code = when_of(r, SINCE, false, &r->since, err);
  if (!code && rp__opt_given(c, UNTIL)) code = when_of(r, UNTIL, true, &r->until, err);
  if (!code && rp__opt_given(c, UNTIL) && !rp__opt_given(c, SINCE))
    r->since = RP_MIN(r->since, rp__when_day(r->until - 1, -DAYS_DEFAULT, r->utc));
  if (!code && r->since >= r->until) code = rp__fail_field(err, RP_E_USAGE, "until", "--until is not after --since");
  return code;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(recap_done) struct recap r = {.c = c};
  if (rp__opt_given(c, ALL) && rp__opt_given(c, SCOPE))
    return rp__fail_field(err, RP_E_USAGE, "all", "--all and --scope exclude each other");
  int code = window(&r, err);
  if (!code && !rp__opt_given(c, ALL)) code = rp__scope_default(c, rp__opt_text(c, SCOPE), &r.scope, err);
  if (!code) code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = collect(&r, err);
  if (code) return code;
  return rp__json_wanted(c) ? write_document(&r, err) : tell(&r, err);
}

const struct rp__cmd rp__cmd_recap = {
    .name = "recap",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "",
    .summary = "Tell what was worked on, by project and day",
    .detail = "Of each session and day: what its user asked last and how that ended, files changed, commits, commands\n"
              "that fail, open todos. Inside a project its own, with --all those of every scope; the last seven days\n"
              "unless --since, --until or --on say otherwise. WHEN is one of " WHEN ".\n"
              "Days are local ones, or with --utc those of UTC.",
    .example = "  $ reprise recap --on 'last tuesday'\n"
               "  shop-3fa1c2\n"
               "  Tuesday 27 January\n"
               "    16:40  0197a3c2-5b1e  Make the basket survive a reload\n"
               "           NOT FINISHED: no answer came\n"
               "           files: src/basket.ts; src/store.ts\n",
    RP_OPTS(opts),
    .run = run,
};
