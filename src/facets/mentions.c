/* SPDX-License-Identifier: Apache-2.0 */
/* Finds tasks that pins and messages mention. */
#include "facets/mentions.h"

#include "base/utf8.h"
#include "facets/completion.h"

#define TOKEN_MAX 64
#define CLAUSES_MAX 32 /* of one sentence; what follows belongs to the last of them */

static const struct rp__str form = {"task-", 5};

/* A table of the bytes with which something of interest can begin, so that most words cost one look. */
struct starts {
  bool formed; /* all known ids have the form */
  bool byte[256];
};

static struct rp__str row_id(const struct rp__row *row)
{
  return (struct rp__str){row->bytes + 1, row->n[0] - 2};
}

/* Whether a name that ends before `at` is over there; a dot before a digit ("1.2") goes on. */
static bool ends_at(struct rp__str text, size_t at)
{
  if (at >= text.n) return true;
  char c = text.p[at];
  if (c == '.' && at + 1 < text.n) return text.p[at + 1] < '0' || text.p[at + 1] > '9';
  return !rp__text_in_word(text, at);
}

static bool has_digit(struct rp__str s)
{
  for (size_t i = 0; i < s.n; i++)
    if (s.p[i] >= '0' && s.p[i] <= '9') return true;
  return false;
}

static bool has_letter(struct rp__str s)
{
  for (size_t i = 0; i < s.n; i++)
    if (rp__is_alnum(s.p[i]) && (s.p[i] < '0' || s.p[i] > '9')) return true;
  return false;
}

/* The name of ASCII letters, digits, - and _ at `at`, without joiners at its end; empty when it goes on otherwise. */
static struct rp__str token_at(struct rp__str text, size_t at)
{
  size_t n = 0;
  while (at + n < text.n && (signed char)text.p[at + n] >= 0 && rp__is_word_byte(text.p[at + n])) n++;
  if (!ends_at(text, at + n)) n = 0;
  while (n > 0 && !rp__is_alnum(text.p[at + n - 1])) n--;
  return (struct rp__str){text.p + at, n};
}

/* What stands at the beginning of a word. */
static bool mention_at(const struct rp__rows *tasks, struct rp__str text, size_t at, struct rp__mention *ret)
{
  /* The length of the longest known id that stands at `at`, or 0. */
  size_t n = 0;
  for (size_t i = 0; i < tasks->count; i++) {
    struct rp__str id = row_id(tasks->v[i]);
    if (id.n <= n || id.n > text.n - at || !ends_at(text, at + id.n)) continue;
    if (rp__text_same((struct rp__str){text.p + at, id.n}, id)) n = id.n;
  }
  if (n) {
    *ret = (struct rp__mention){.id = {text.p + at, n}, .kind = RP_MENTION_KNOWN};
    return true;
  }
  struct rp__str token = token_at(text, at);
  bool formed = token.n > form.n && rp__text_begins(token, 0, form);
  if (token.n > TOKEN_MAX || (!formed && !(has_digit(token) && has_letter(token)))) return false;
  *ret = (struct rp__mention){.id = token, .kind = formed ? RP_MENTION_FORM : RP_MENTION_TOKEN};
  return true;
}

static void add(struct rp__mentions *all, const struct rp__mention *m)
{
  for (size_t i = 0; i < all->n; i++) {
    if (!rp__text_same(all->v[i].id, m->id)) continue;
    all->v[i].completed = m->completed; /* the last word counts */
    return;
  }
  if (all->n < RP_MENTIONS_MAX) all->v[all->n++] = *m;
}

void rp__mentions_in_pin(const struct rp__rows *tasks, struct rp__str text, struct rp__mentions *ret)
{
  struct rp__mention m;
  for (size_t at = 0; at < text.n; at++) {
    if (!rp__text_begins_word(text, at) || !mention_at(tasks, text, at, &m)) continue;
    add(ret, &m);
    at += m.id.n - 1;
  }
}

/* ---- messages --------------------------------------------------------------------------- */

/*
 * A clause is what stands between commas and words like "and" and "but". What it says holds for the tasks it names: for
 * the first of them, and for those that follow it in a list.
 */
struct clause {
  struct rp__str text;
  size_t first, n;       /* its mentions */
  bool done, verb_first; /* "Finished task-1": then more of a list may follow */
  bool said;             /* a word of completion, wherever it stands */
  bool denied, condition, preceded, asked;
  bool broke;   /* it begins with "but" or the like */
  bool worded;  /* it has words of its own */
  bool waiting; /* a completion was said last, and no task was named yet */
  bool apart;   /* words were said since the last mention */
  enum rp__phrase_kind opening, last;
};

struct sentence {
  struct rp__mention v[RP_MENTIONS_MAX];
  bool aside[RP_MENTIONS_MAX]; /* named in the clause of another task */
  struct clause clause[CLAUSES_MAX];
  size_t n, n_clauses;
  bool question;
};

static struct clause *clause_begin(struct sentence *s, struct rp__str text, size_t at, bool broke)
{
  struct clause *c = &s->clause[s->n_clauses - 1];
  bool condition = c->condition;
  c->text.n = (size_t)(text.p + at - c->text.p);
  if (!c->n && !c->worded && !c->said) {
    broke = broke || c->broke;
  } else if (s->n_clauses < CLAUSES_MAX) {
    c = &s->clause[s->n_clauses++];
  } else {
    return c;
  }
  *c = (struct clause){.text = {text.p + at, 0}, .first = s->n, .condition = condition, .broke = broke};
  return c;
}

static struct rp__str line_around(struct rp__str text, const char *p)
{
  const char *from = p, *end = text.p + text.n;
  while (from > text.p && from[-1] != '\n') from--;
  const char *to = memchr(p, '\n', (size_t)(end - p));
  return (struct rp__str){from, (size_t)((to ? to : end) - from)};
}

static void take_mention(struct sentence *s, struct clause *c, const struct rp__mention *m)
{
  if (s->n == RP_MENTIONS_MAX) return;
  s->aside[s->n] = c->n > 0 && c->apart;
  s->v[s->n++] = *m;
  c->n++;
  if (c->waiting) c->done = c->verb_first = true;
  c->waiting = c->apart = false;
  c->last = RP_PHRASE_NONE;
}

static void take_phrase(struct clause *c, enum rp__phrase_kind kind)
{
  bool opens = !c->n && !c->worded && !c->said && !c->opening;
  if (opens && kind != RP_PHRASE_FILLER) c->opening = kind;
  switch (kind) {
  case RP_PHRASE_DONE:
  case RP_PHRASE_STATE:
    if (c->preceded || c->last == RP_PHRASE_ARTICLE) break;
    if (c->n) c->done = true;
    if (kind == RP_PHRASE_DONE) c->said = c->waiting = true;
    break;
  case RP_PHRASE_MODAL:
  case RP_PHRASE_DENIES: c->denied = c->worded = true; break;
  case RP_PHRASE_PRECEDES: c->preceded = c->worded = true; break;
  case RP_PHRASE_CONDITION: c->condition = c->worded = true; break;
  case RP_PHRASE_ARTICLE: c->worded = c->worded || opens; break;
  case RP_PHRASE_SAME:
  case RP_PHRASE_FILLER: break;
  default:
    c->worded = c->apart = true;
    c->waiting = false;
    break;
  }
  c->last = kind;
}

/* A question reaches back to the clause that begins to ask, or else over the whole sentence. */
static void mark_question(struct sentence *s)
{
  size_t from = 0;
  for (; from < s->n_clauses; from++) {
    enum rp__phrase_kind k = s->clause[from].opening;
    if (k == RP_PHRASE_ASKS || k == RP_PHRASE_SAME || k == RP_PHRASE_MODAL) break;
  }
  for (size_t i = from < s->n_clauses ? from : 0; i < s->n_clauses; i++) s->clause[i].asked = true;
}

/* What a clause that names no task says of the task named before. */
static void attach(struct clause *to, const struct clause *c)
{
  if (c->asked) return;
  to->condition = to->condition || c->condition;
  bool again = c->broke || c->opening == RP_PHRASE_SAME; /* "but …", "it is …": the later word counts */
  switch (c->opening) {
  case RP_PHRASE_SAME:
  case RP_PHRASE_DONE:
  case RP_PHRASE_STATE:
  case RP_PHRASE_DENIES:
  case RP_PHRASE_MODAL:
    if (c->denied)
      to->denied = to->denied || again || !to->done;
    else if (c->said && (again || !to->denied))
      to->done = true, to->denied = false;
    break;
  default: break;
  }
}

static bool completes(const struct clause *c)
{
  return c->done && !c->denied && !c->condition && !c->asked;
}

/* Whether the clause is but an item of a list: "Finished task-1, [task-2]" or "[task-1] and task-2 are done". */
static bool is_item(const struct clause *c)
{
  return c->n && !c->worded && !c->said && !c->done;
}

static void sentence_end(struct sentence *s, struct rp__str text, size_t at, struct rp__mentions *all)
{
  struct clause *c = s->clause, *end = c + s->n_clauses, *named = NULL;
  end[-1].text.n = (size_t)(text.p + at - end[-1].text.p);
  if (s->question) mark_question(s);
  for (; s->n && c < end; c++) {
    if (c->n)
      named = c;
    else if (named)
      attach(named, c);
  }
  for (c = s->clause + 1; s->n && c < end; c++)
    if (is_item(c) && !c->broke && c[-1].verb_first) c->verb_first = true, c->done = completes(c - 1);
  named = NULL;
  for (c = end - 1; s->n && c >= s->clause; c--) {
    if (is_item(c) && named && !named->broke && !named->verb_first) c->done = completes(named);
    if (c->n) named = c;
    for (size_t i = c->first; i < c->first + c->n; i++) {
      s->v[i].completed = completes(c) && !s->aside[i];
      s->v[i].clause = c->text;
      s->v[i].line = line_around(text, s->v[i].id.p);
    }
  }
  for (size_t i = 0; i < s->n; i++) add(all, &s->v[i]);
  s->n = 0;
  s->n_clauses = 1;
  s->clause[0] = (struct clause){.text = {text.p + at, 0}};
  s->question = false;
}

/* ---- characters ---- */

/* Whether a character of a script without spaces begins at `at`, which is a word by itself; punctuation is none. */
static bool is_ideograph(struct rp__str text, size_t at)
{
  unsigned char c = (unsigned char)text.p[at];
  return c >= 0xe3 && c <= 0xed && !rp__text_begins(text, at, RP_STR("\xe3\x80")); /* U+3040 to U+DFFF */
}

enum mark { NO_MARK, MARK_COMMA, MARK_END, MARK_QUESTION, MARK_ASKS };

static enum mark mark_at(struct rp__str text, size_t at, size_t *ret_n)
{
  static const struct {
    struct rp__str text;
    enum mark mark;
  } marks[] = {
      {{"\n", 1}, MARK_END},
      {{";", 1}, MARK_END},
      {{",", 1}, MARK_COMMA},
      {{".", 1}, MARK_END},
      {{"!", 1}, MARK_END},
      {{"?", 1}, MARK_QUESTION},
      {{"\xe3\x80\x82", 3}, MARK_END} /* 。 */,
      {{"\xef\xbc\x9b", 3}, MARK_END} /* ； */,
      {{"\xef\xbc\x81", 3}, MARK_END} /* ！ */,
      {{"\xef\xbc\x9f", 3}, MARK_QUESTION} /* ？ */,
      {{"\xd8\x9f", 2}, MARK_QUESTION} /* ؟ */,
      {{"\xef\xbc\x8c", 3}, MARK_COMMA} /* ， */,
      {{"\xe3\x80\x81", 3}, MARK_COMMA} /* 、 */,
      {{"\xc2\xbf", 2}, MARK_ASKS} /* ¿ */,
  };
  if (rp__is_alnum(text.p[at]) || text.p[at] == ' ') return NO_MARK; /* most bytes */
  for (size_t i = 0; i < RP_ARRAY_SIZE(marks); i++) {
    if (!rp__text_begins(text, at, marks[i].text)) continue;
    size_t behind = at + marks[i].text.n;
    bool inside = strchr(".!?", text.p[at]) && behind < text.n && rp__is_alnum(text.p[behind]); /* "parser.c" */
    *ret_n = marks[i].text.n;
    return inside ? NO_MARK : marks[i].mark;
  }
  return NO_MARK;
}

static bool mentions_task(const struct rp__rows *tasks, const struct starts *s, struct rp__str text, size_t at,
                          struct rp__mention *ret)
{
  if (!s->byte[(unsigned char)text.p[at]] || !rp__text_begins_word(text, at)) return false;
  if (!mention_at(tasks, text, at, ret) || ret->kind == RP_MENTION_TOKEN) return false;
  return ret->kind == RP_MENTION_KNOWN || has_digit(ret->id);
}

static bool mentions_any(const struct rp__rows *tasks, const struct starts *s, struct rp__str text)
{
  struct rp__mention m;
  /* Where all ids have the form, its dash is what to look for: texts without one are done in a few steps. */
  if (s->formed) {
    const char *end = text.p + text.n, *at = text.p;
    while ((at = memchr(at, '-', (size_t)(end - at)))) {
      at++;
      if (at - text.p >= (ptrdiff_t)form.n && rp__text_begins(text, (size_t)(at - text.p) - form.n, form)) return true;
    }
    return false;
  }
  for (size_t at = 0; at < text.n; at++)
    if (s->byte[(unsigned char)text.p[at]] && mentions_task(tasks, s, text, at, &m)) return true;
  return false;
}

static bool ends_in_nt(struct rp__str text, size_t end)
{
  return rp__text_begins(text, end - 1, RP_STR("n't")) || rp__text_begins(text, end - 1, RP_STR("n\xe2\x80\x99t"));
}

static void read_sentences(const struct rp__rows *tasks, const struct starts *starts, struct rp__str text,
                           struct rp__mentions *ret)
{
  struct rp__phrases phrases;
  struct sentence s = {.n_clauses = 1, .clause = {{.text = {text.p, 0}}}};
  rp__phrases_init(&phrases);
  for (size_t at = 0, n; at < text.n; at += n) {
    struct clause *c = &s.clause[s.n_clauses - 1];
    struct rp__mention m;
    for (n = 1; at + n < text.n && rp__is_continuation(text.p[at + n]);) n++;
    if (mentions_task(tasks, starts, text, at, &m)) {
      take_mention(&s, c, &m);
      n = m.id.n;
      continue;
    }
    enum mark mark = mark_at(text, at, &n);
    if (mark == MARK_END || mark == MARK_QUESTION) {
      s.question = s.question || mark == MARK_QUESTION;
      sentence_end(&s, text, at, ret);
    } else if (mark == MARK_COMMA) {
      clause_begin(&s, text, at + n, false);
    } else if (mark == MARK_ASKS) {
      c->opening = RP_PHRASE_ASKS;
      s.question = true;
    }
    bool beyond = (unsigned char)text.p[at] >= 0xe2; /* also where no space precedes it */
    if (mark != NO_MARK || !(beyond || text.p[at] == '[' || rp__text_begins_word(text, at))) continue;
    struct rp__phrase phrase = rp__phrase_at(&phrases, text, at);
    if (phrase.n) {
      n = phrase.n;
    } else if (rp__text_in_word(text, at)) {
      while (at + n < text.n && rp__text_in_word(text, at + n)) n++;
    } else if (!is_ideograph(text, at)) {
      continue;
    }
    if (!phrase.n && ends_in_nt(text, at + n)) phrase.kind = RP_PHRASE_DENIES;
    if (phrase.kind == RP_PHRASE_BREAK || phrase.kind == RP_PHRASE_AND)
      clause_begin(&s, text, at + n, phrase.kind == RP_PHRASE_BREAK);
    else if (phrase.kind == RP_PHRASE_SUBJECT && c->n)
      take_phrase(clause_begin(&s, text, at, false), phrase.kind);
    else
      take_phrase(c, phrase.kind);
  }
  sentence_end(&s, text, text.n, ret);
}

void rp__mentions_in_message(const struct rp__rows *tasks, struct rp__str text, struct rp__mentions *ret)
{
  struct starts starts;
  ret->n = 0;
  memset(&starts, 0, sizeof starts);
  starts.byte['t'] = starts.byte['T'] = starts.formed = true;
  for (size_t i = 0; i < tasks->count; i++) {
    struct rp__str id = row_id(tasks->v[i]);
    if (id.n == 0) continue;
    starts.formed = starts.formed && rp__text_begins(id, 0, form);
    unsigned char c = (unsigned char)rp__ascii_lower(id.p[0]);
    starts.byte[c] = true;
    if (c >= 'a' && c <= 'z') starts.byte[c - 'a' + 'A'] = true;
  }
  if (!mentions_any(tasks, &starts, text)) return;
  read_sentences(tasks, &starts, text, ret);
}

/* ---- pins --------------------------------------------------------------------------------- */

bool rp__says_incomplete(struct rp__str text)
{
  static const struct rp__str words[] = {{"incomplete", 10}, {"todo", 4},    {"in-progress", 11}, {"in progress", 11},
                                         {"unfinished", 10}, {"pending", 7}, {"wip", 3}};
  for (size_t at = 0; at < text.n; at++) {
    if (text.p[at] == '[' && rp__text_begins(text, at, RP_STR("[task]"))) return true;
    if (!rp__text_begins_word(text, at)) continue;
    for (size_t i = 0; i < RP_ARRAY_SIZE(words); i++)
      if (rp__text_begins(text, at, words[i]) && ends_at(text, at + words[i].n)) return true;
  }
  return false;
}

size_t rp__mention_row(const struct rp__rows *tasks, struct rp__str id)
{
  size_t i = 0;
  while (i < tasks->count && !rp__text_same(row_id(tasks->v[i]), id)) i++;
  return i;
}
