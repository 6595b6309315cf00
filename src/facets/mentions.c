/* SPDX-License-Identifier: Apache-2.0 */
/* Finds tasks that pins and messages mention. */
#include "facets/mentions.h"

#include "facets/words.h"

#define TOKEN_MAX 64

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
  return !rp__is_word_byte(c);
}

static bool begins_at(struct rp__str text, size_t at)
{
  return at == 0 || !rp__is_word_byte(text.p[at - 1]);
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
    if (!begins_at(text, at) || !mention_at(tasks, text, at, &m)) continue;
    add(ret, &m);
    at += m.id.n - 1;
  }
}

/* ---- messages --------------------------------------------------------------------------- */

/* What was read of one sentence. */
struct sentence {
  struct rp__mention v[RP_MENTIONS_MAX];
  size_t n;
  bool done, denied;
};

static bool one_of(struct rp__str word, const char *const *words)
{
  for (; *words; words++)
    if (rp__text_same(word, rp__str(*words))) return true;
  return false;
}

static void sentence_end(struct sentence *s, struct rp__mentions *all)
{
  for (size_t i = 0; i < s->n; i++) {
    s->v[i].completed = s->done && !s->denied;
    add(all, &s->v[i]);
  }
  *s = (struct sentence){0};
}

/* A comma ends a part that has said all there is to say of a task: "task-1 done, task-2 next". */
static bool ends_sentence(const struct sentence *s, struct rp__str text, size_t at)
{
  char c = text.p[at];
  if (c == '\n' || c == ';' || c == '!' || c == '?') return true;
  if (c == ',') return s->n > 0 && s->done;
  return c == '.' && ends_at(text, at);
}

static bool mentions_task(const struct rp__rows *tasks, const struct starts *s, struct rp__str text, size_t at,
                          struct rp__mention *ret)
{
  if (!s->byte[(unsigned char)text.p[at]] || !begins_at(text, at)) return false;
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

void rp__mentions_in_message(const struct rp__rows *tasks, struct rp__str text, struct rp__mentions *ret)
{
  struct sentence s = {0};
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
  for (size_t at = 0; at < text.n;) {
    struct rp__mention m;
    if (mentions_task(tasks, &starts, text, at, &m)) {
      if (s.n < RP_MENTIONS_MAX) s.v[s.n++] = m;
      at += m.id.n;
    } else if (begins_at(text, at) && rp__is_alnum(text.p[at])) {
      /* Takes note of the word at `at`. */
      static const char *const done[] = {"done", "completed", "finished", "closed", "merged", NULL};
      static const char *const denied[] = {"not", "never", "almost", "nearly", "half", NULL};
      size_t n = 1;
      while (at + n < text.n && rp__is_alnum(text.p[at + n])) n++;
      struct rp__str word = {text.p + at, n};
      s.done = s.done || one_of(word, done);
      s.denied = s.denied || one_of(word, denied) || rp__text_begins(text, at + n - 1, RP_STR("n't")) ||
                 rp__text_begins(text, at + n - 1, RP_STR("n\xe2\x80\x99t"));
      at += n;
    } else {
      if (ends_sentence(&s, text, at)) sentence_end(&s, ret);
      at++;
    }
  }
  sentence_end(&s, ret);
}

/* ---- pins --------------------------------------------------------------------------------- */

bool rp__says_incomplete(struct rp__str text)
{
  static const struct rp__str words[] = {{"incomplete", 10}, {"todo", 4},    {"in-progress", 11}, {"in progress", 11},
                                         {"unfinished", 10}, {"pending", 7}, {"wip", 3}};
  for (size_t at = 0; at < text.n; at++) {
    if (text.p[at] == '[' && rp__text_begins(text, at, RP_STR("[task]"))) return true;
    if (!begins_at(text, at)) continue;
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
