/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topics of the session: words and phrases of two words, with a weight by where they occur. The inverse
 * frequency is applied when the session is captured.
 *
 * Of messages only what was said counts: neither log lines nor code. A phrase of theirs counts from the time on at
 * which both words are known, for most pairs of words meet once, and a table of them would cost most of the time of a
 * fold. Files that tools are given count by their names; the names of the tools do not.
 *
 * The table has room for TERMS_MAX terms. When it is full, terms that only occur in messages are removed first: those
 * that occurred once, the oldest first. If there are not enough of them, the weight of everything from messages is
 * halved. Terms that were named on purpose (pins, categories, projects, activity) are removed last. A term keeps
 * its place in the order of first appearance, so ties and removals come out the same on every replay.
 */
#include "facets/table.h"

#include "facets/digest/cues.h"
#include "facets/pins.h"
#include "facets/words.h"
#include "json/text.h"

#define TERMS_MAX 256
#define TERMS_FIRST 64
#define TERMS_KEPT (TERMS_MAX * 3 / 4) /* what is left after making room */
#define TERM_MAX RP_WORD_MAX
#define ANSWER_HEAD 768  /* bytes of an answer that are looked at: it tells at its beginning what it is about */
#define PROMPT_HEAD 2048 /* of a prompt; a longer one is a document that was pasted */
#define LOG_LINE_MIN 24  /* bytes of a line that is compared with those that programs print */
#define ONCE ((uint64_t)WEIGHT_USER) /* what weighs no more was met once */
#define PER_EVENT 3                  /* a message that says a word more often says it of that only */
#define FILE_WEIGHT_MAX 4            /* a file is edited all day */
#define FEW_TERMS 40                 /* a session of fewer terms may be told by words that were met once … */
#define MANY_TERMS 100               /* … and one of more only by words that were met twice at least */
#define ID_MIN 20                    /* bytes: a word as long that has digits and no joiners is an id */
#define FOUND_MAX 48                 /* the heaviest terms, of which those that others contain are none */
#define BYTES_MAX ((size_t)TERMS_MAX * (TERM_MAX + 28) + 2)

_Static_assert(TERM_MAX % 8 == 0, "texts are read eight bytes at a time");

enum { WEIGHT_LABEL = 3, WEIGHT_CATEGORY = 2, WEIGHT_PROJECT = 2, WEIGHT_USER = 2, WEIGHT_TEXT = 1 };

struct term {
  uint32_t hash;
  uint32_t said, named; /* weight from messages, and from all else */
  uint32_t event;       /* that counted it last, and … */
  uint16_t times;       /* … how often; neither is part of the state */
  uint16_t n;
  uint16_t next;       /* of the same bucket: place + 1, or 0 */
  uint64_t capitals;   /* a bit for each byte, of names like CollaborativeEditor */
  char text[TERM_MAX]; /* zeroes up to a multiple of eight behind it; two words with one space between are a phrase */
};

/* A term never moves, so that making room costs little more than looking for what gives way. */
struct topics {
  struct term *terms;
  uint16_t *order;   /* places of the terms, by first appearance, and behind these the free places */
  uint16_t *buckets; /* twice as many as there are places: the first term's place + 1, or 0 */
  size_t count, cap;
  size_t settled; /* none of so many first terms gives way before the weights are halved */
  uint32_t event; /* counts the events, so that a term knows whether it was met in this one */
};

/* How a text is counted. */
struct count {
  uint32_t weight;
  uint32_t max; /* a term of that much takes no more from here; 0: no bound */
  bool said;
};

static uint64_t weight_of(const struct term *t)
{
  return (uint64_t)t->said + t->named;
}

/* ---- the table ------------------------------------------------------------------------ */

/* The hash of a phrase comes from those of its words, which are known when it is met. */
static uint32_t hash_phrase(uint32_t a, uint32_t b)
{
  return a * UINT32_C(0x9e3779b1) + b;
}

static uint16_t *bucket_of(const struct topics *t, uint32_t hash)
{
  return &t->buckets[hash & (2 * t->cap - 1)];
}

static int grow(struct topics *t)
{
  size_t cap = t->cap ? 2 * t->cap : TERMS_FIRST;
  struct term *terms = realloc(t->terms, cap * sizeof *terms);
  if (terms) t->terms = terms;
  uint16_t *order = realloc(t->order, cap * sizeof *order);
  if (order) t->order = order;
  uint16_t *buckets = calloc(2 * cap, sizeof *buckets);
  if (!terms || !order || !buckets) {
    free(buckets);
    return RP_E_NOMEM;
  }
  free(t->buckets);
  t->buckets = buckets;
  for (size_t i = t->cap; i < cap; i++) order[i] = (uint16_t)i;
  t->cap = cap;
  for (size_t i = 0; i < t->count; i++) {
    struct term *term = &terms[order[i]];
    uint16_t *bucket = bucket_of(t, term->hash);
    term->next = *bucket;
    *bucket = (uint16_t)(order[i] + 1);
  }
  return 0;
}

/* Drops up to `many` of the terms that weigh that little, the oldest first; none of those named on purpose. */
static void drop_light(struct topics *t, uint32_t said, size_t many)
{
  uint16_t dropped[TERMS_MAX];
  size_t kept = said ? t->settled : 0, n = 0, i = kept;
  for (; i < t->count && n < many; i++) {
    uint16_t place = t->order[i];
    const struct term *term = &t->terms[place];
    if (term->named > 0 || term->said > said) {
      t->order[kept++] = place;
      continue;
    }
    uint16_t *link = bucket_of(t, term->hash);
    while (*link != place + 1) link = &t->terms[*link - 1].next;
    *link = term->next;
    dropped[n++] = place;
  }
  t->settled = said ? kept : 0;
  memmove(t->order + kept, t->order + i, (t->count - i) * sizeof t->order[0]);
  t->count -= n;
  memcpy(t->order + t->count, dropped, n * sizeof dropped[0]);
}

/* Room for new terms: what gives way is dropped. */
static void make_room(struct topics *t)
{
  drop_light(t, WEIGHT_USER, t->count - TERMS_KEPT);
  while (t->count > TERMS_KEPT) {
    bool only_said = false;
    for (size_t i = 0; i < t->count; i++) only_said = only_said || t->terms[t->order[i]].named == 0;
    for (size_t i = 0; i < t->count; i++) {
      struct term *term = &t->terms[t->order[i]];
      term->said /= 2;
      if (!only_said) term->named /= 2;
    }
    drop_light(t, 0, t->count);
  }
}

/* Capitals inside a word make it a name; one at its beginning may be that of a sentence. */
static uint64_t capitals_of(const char *raw, size_t n)
{
  uint64_t capitals = 0;
  bool inside = false;
  for (size_t i = 0; i < n; i++) {
    capitals |= (uint64_t)rp__is_upper(raw[i]) << i;
    inside = inside || (i && rp__is_upper(raw[i]) && rp__is_lower(raw[i - 1]));
  }
  return inside ? capitals : 0;
}

/*
 * Counts one term; `text` has zeroes behind its end as rp__word_hash wants it, and TERM_MAX bytes that can be read.
 * `raw`: the same in its own case, or NULL. *ret_known: whether it had been met.
 */
static int count_term(struct topics *t, const char *text, size_t n, uint32_t hash, const char *raw,
                      const struct count *how, bool *ret_known)
{
  struct term *term = NULL;
  for (unsigned at = t->cap ? *bucket_of(t, hash) : 0; at; at = term->next, term = NULL) {
    term = &t->terms[at - 1];
    if (term->hash == hash && term->n == n && rp__word_same(term->text, text, n)) break;
  }
  *ret_known = term != NULL;
  if (!term) {
    if (t->count == TERMS_MAX) make_room(t);
    if (t->count == t->cap && grow(t)) return RP_E_NOMEM;
    uint16_t place = t->order[t->count++], *bucket = bucket_of(t, hash);
    term = &t->terms[place];
    term->hash = hash;
    term->said = term->named = term->event = term->times = 0;
    term->n = (uint16_t)n;
    term->next = *bucket;
    term->capitals = raw ? capitals_of(raw, n) : 0;
    memcpy(term->text, text, TERM_MAX); /* of one size, so that no call is made for it */
    *bucket = (uint16_t)(place + 1);
  }
  term->times = term->event == t->event ? term->times + 1 : 1;
  term->event = t->event;
  if ((how->said && term->times > PER_EVENT) || (how->max && weight_of(term) >= how->max)) return 0;
  uint32_t *sum = how->said ? &term->said : &term->named;
  if (__builtin_add_overflow(*sum, how->weight, sum)) *sum = UINT32_MAX;
  return 0;
}

/* ---- texts ------------------------------------------------------------------------------ */

/* Whether a word of what was said is a topic by itself. */
static bool is_topic(const struct rp__word *w)
{
  if (w->listed || w->scrap || rp__is_digit(w->text[0])) return false;
  size_t stem = w->dotted ? strcspn(w->text, ".") : 0;
  if (stem && rp__is_digit(w->text[stem - 1]) && memchr(w->text, '-', stem))
    return false; /* one of a series, or a date */
  bool digits = false, joiner = false;
  for (size_t i = 0; w->n >= ID_MIN && i < w->n; i++) {
    digits = digits || rp__is_digit(w->text[i]);
    joiner = joiner || rp__is_in(w->text[i], "-_.");
  }
  return !digits || joiner;
}

static int count_text(struct topics *t, struct rp__str text, struct count how)
{
  struct rp__words in = rp__words(text);
  struct rp__word words[2];
  bool known[2] = {false, false}, met;
  int rc = 0;
  in.names = how.said;
  for (unsigned i = 0; rc == 0 && rp__words_next(&in, &words[i & 1]); i++) {
    const struct rp__word *a = &words[~i & 1], *b = &words[i & 1];
    bool topic = !how.said || is_topic(b);
    known[i & 1] = b->listed; /* what stands in every project need not be counted to be known */
    if (topic) rc = count_term(t, b->text, b->n, b->hash, b->raw, &how, &known[i & 1]);
    if (rc || !b->follows || a->n + 1 + b->n > TERM_MAX || a->dotted || b->dotted) continue;
    if (how.said && (!known[0] || !known[1] || !(topic || is_topic(a)))) continue;
    char phrase[TERM_MAX + 1 + TERM_MAX + 16];
    memcpy(phrase, a->text, TERM_MAX); /* more than the word has: of one size, so that no call is made for it */
    phrase[a->n] = ' ';
    memcpy(phrase + a->n + 1, b->text, TERM_MAX + 16); /* with the zeroes behind it */
    rc = count_term(t, phrase, a->n + 1 + b->n, hash_phrase(a->hash, b->hash), NULL, &how, &met);
  }
  return rc;
}

static int count_string(struct topics *t, struct rp__json v, struct count how)
{
  char room[RP_TEXT_HEAD];
  return count_text(t, rp__text_head(v, room), how);
}

/* Whether a line is code or markup without a fence around it: it ends as such does, or has an attribute or an arrow. */
static bool is_code(struct rp__str line)
{
  while (line.n && (unsigned char)line.p[line.n - 1] <= ' ') line.n--;
  if (line.n && rp__is_in(line.p[line.n - 1], ";{}>")) return true;
  const char *end = line.p + line.n, *at = line.p;
  while (at < end && (at = memchr(at, '=', (size_t)(end - at))) && ++at < end)
    if (*at == '"' || *at == '>') return true;
  return false;
}

/* What a person or an agent says: without code, rows of tables, and in a prompt without lines that a program printed.
 */
static int count_said(struct topics *t, struct rp__str text, bool user)
{
  const struct count how = {.weight = user ? WEIGHT_USER : WEIGHT_TEXT, .said = true};
  bool code = false;
  int rc = 0;
  while (rc == 0 && text.n) {
    const char *end = memchr(text.p, '\n', text.n);
    struct rp__str line = {text.p, end ? (size_t)(end - text.p) : text.n};
    text.p += line.n + (end != NULL);
    text.n -= line.n + (end != NULL);
    while (line.n && (unsigned char)line.p[0] <= ' ') line.p++, line.n--;
    if (line.n >= 3 && memcmp(line.p, "```", 3) == 0) {
      code = !code && !(line.n > 6 && memmem(line.p + 3, line.n - 3, "```", 3));
      continue;
    }
    if (code || line.n < 3 || line.p[0] == '|') continue;
    if (is_code(line)) continue;
    if (user && line.n >= LOG_LINE_MIN && rp__cues_log_line(NULL, line)) continue;
    rc = count_text(t, line, how);
  }
  return rc;
}

static int count_categories(struct topics *t, struct rp__json categories)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  int rc = 0;
  if (categories.type != RP_JSON_ARRAY) return 0;
  while (rc == 0 && rp__json_next(categories, &it, NULL, &item))
    rc = count_string(t, item, (struct count){.weight = WEIGHT_CATEGORY});
  return rc;
}

static int count_pin(struct topics *t, struct rp__json pin)
{
  char room[RP_TEXT_HEAD];
  struct rp__str label = rp__pin_bare(rp__text_head(rp__json_get(pin, "label"), room));
  int rc = count_text(t, label, (struct count){.weight = WEIGHT_LABEL});
  return rc ? rc : count_string(t, rp__json_get(pin, "content"), (struct count){.weight = WEIGHT_TEXT});
}

/* Its name, and the words in it when it has several: who works on lbf-ham-radio works on ham radio. */
static int count_project(void *ctx, struct rp__str name)
{
  struct topics *t = ctx;
  char words[RP_EVENT_ID_MAX];
  bool compound = false;
  int rc = count_text(t, name, (struct count){.weight = WEIGHT_PROJECT});
  if (rc || name.n > sizeof words) return rc;
  for (size_t i = 0; i < name.n; i++) {
    bool joiner = name.p[i] == '-' || name.p[i] == '_';
    words[i] = joiner ? ' ' : name.p[i];
    compound = compound || joiner;
  }
  return compound ? count_text(t, (struct rp__str){words, name.n}, (struct count){.weight = WEIGHT_TEXT}) : 0;
}

/* The file that a tool is given. */
static int count_file(struct topics *t, struct rp__json input)
{
  static const char *const names[] = {"file_path", "path", "filePath", "target_file", "absolute_path", "notebook_path"};
  struct rp__json v[RP_ARRAY_SIZE(names)];
  struct rp__word w;
  size_t i = 0;
  bool known;
  if (input.type != RP_JSON_OBJECT) return 0;
  rp__json_members(input, names, RP_ARRAY_SIZE(names), v);
  while (i < RP_ARRAY_SIZE(names) && v[i].type != RP_JSON_STRING) i++;
  if (i == RP_ARRAY_SIZE(names)) return 0;
  struct rp__str path = rp__json_raw(v[i]);
  const char *slash = memrchr(path.p, '/', path.n);
  struct rp__words in = rp__words(path);
  if (slash) in.at = slash + 1;
  in.names = true;
  if (!rp__words_next(&in, &w) || !w.dotted || in.at < in.end || !is_topic(&w)) return 0;
  const struct count how = {.weight = WEIGHT_TEXT, .max = FILE_WEIGHT_MAX, .said = true};
  return count_term(t, w.text, w.n, w.hash, w.raw, &how, &known);
}

/* ---- events --------------------------------------------------------------------------------- */

static int topics_apply(void *state, const struct rp__event *ev)
{
  static const struct count plain = {.weight = WEIGHT_TEXT};
  struct topics *t = state;
  struct rp__json pins, item;
  struct rp__json_iter it = {0};
  struct rp__texts texts;
  struct rp__str text;
  int rc = 0;
  t->event++;
  switch (ev->kind) {
  case RP_KIND_MESSAGE:
    rp__texts_begin(&texts, ev->body);
    texts.max = texts.user ? PROMPT_HEAD : ANSWER_HEAD;
    while (rc == 0 && rp__texts_next(&texts, &text)) rc = count_said(t, text, texts.user);
    return rc;
  case RP_KIND_PIN: return count_pin(t, ev->body);
  case RP_KIND_ACTIVITY:
    rc = count_string(t, rp__event_get(ev, "text"), plain);
    if (rc == 0) rc = count_categories(t, rp__event_get(ev, "categories"));
    return rc ? rc : rp__project_each(ev, count_project, t);
  case RP_KIND_TOOL:
    item = rp__event_get(ev, "input");
    rc = item.n ? count_file(t, item) : 0;
    return rc || !item.n ? rc : rp__project_each_in((struct rp__str){item.p, item.n}, count_project, t);
  case RP_KIND_PROJECT: return rp__project_each(ev, count_project, t);
  case RP_KIND_LEARNING: return count_categories(t, rp__event_get(ev, "categories"));
  case RP_KIND_RESTORED:
    pins = rp__event_get(ev, "pins");
    while (rc == 0 && pins.type == RP_JSON_ARRAY && rp__json_next(pins, &it, NULL, &item)) rc = count_pin(t, item);
    return rc;
  default: return 0;
  }
}

/* ---- the rest of a facet ---------------------------------------------------------------------- */

static bool topics_empty(const void *state)
{
  return ((const struct topics *)state)->count == 0;
}

/* The text in its own case, in `room` where it has capitals. */
static const char *cased(const struct term *t, char room[TERM_MAX])
{
  if (!t->capitals) return t->text;
  for (size_t i = 0; i < t->n; i++) room[i] = (char)(t->capitals >> i & 1 ? t->text[i] & ~0x20 : t->text[i]);
  return room;
}

static void topics_save(const void *state, struct rp__jw *w)
{
  const struct topics *t = state;
  rp__jw_array(w);
  for (size_t i = 0; i < t->count; i++) {
    const struct term *term = &t->terms[t->order[i]];
    rp__jw_array(w);
    char text[TERM_MAX];
    rp__jw_strn(w, cased(term, text), term->n);
    rp__jw_i64(w, term->said);
    rp__jw_i64(w, term->named);
    rp__jw_end_array(w);
  }
  rp__jw_end_array(w);
}

/* Where the second word of a phrase begins; 0: it is a word. */
static size_t second_word(const struct term *t)
{
  const char *space = memchr(t->text, ' ', t->n);
  return space ? (size_t)(space - t->text) + 1 : 0;
}

/*
 * How much a term tells. Identifiers and names of files count twice, and a phrase more than a word. What was met once
 * may be an accident: of a phrase always, of a word in a session that has many.
 */
static uint64_t score_of(const struct topics *t, const struct term *term)
{
  uint64_t weight = weight_of(term);
  bool phrase = second_word(term) > 0, file = memchr(term->text, '.', term->n);
  bool name = term->capitals || memchr(term->text, '_', term->n) || (term->named && memchr(term->text, '-', term->n));
  uint64_t least = term->named ? 0 : t->count > MANY_TERMS ? 2 * ONCE : t->count > FEW_TERMS ? ONCE + 1 : 0;
  if (phrase) return weight >= RP_MAX(least, ONCE) ? weight * 3 : 0;
  if (name) return weight >= RP_MIN(least, ONCE) ? weight * 3 : 0;
  if (file) return weight >= RP_MIN(least, ONCE) ? weight * 2 : 0;
  return weight >= least ? weight * 2 : 0;
}

/* Whether a term has a word in it, between its beginning, end and joiners: "ham radio" and ham-radio have "ham". */
static bool contains(const struct term *t, const char *word, size_t n)
{
  const char *at = t->text, *end = t->text + t->n;
  while (n < t->n && (at = memmem(at, (size_t)(end - at), word, n))) {
    bool begins = at == t->text || rp__is_in(at[-1], " -_."), ends = at + n == end || rp__is_in(at[n], " -_.");
    if (begins && ends) return true;
    at++;
  }
  return false;
}

/* Whether a term is the plural of another, as English, French, Spanish and Portuguese make most of theirs. */
static bool is_plural(const struct term *t, const struct term *of)
{
  size_t more = t->n - of->n;
  return t->n > of->n && more <= 2 && memcmp(t->text, of->text, of->n) == 0 &&
         memcmp(t->text + of->n, &"es"[2 - more], more) == 0;
}

/* Whether a term is part of one that tells the same and more. */
static bool is_part(const struct term *t, const struct term *of)
{
  if (t == of) return false;
  bool plural = is_plural(t, of), single = is_plural(of, t);
  if (plural || single) return weight_of(t) < weight_of(of) || (weight_of(t) == weight_of(of) && plural);
  return !second_word(t) && contains(of, t->text, t->n) && (second_word(of) || 2 * weight_of(of) + 2 >= weight_of(t));
}

static size_t best_topics(const struct topics *t, struct rp__topic_found ret[RP_TOPICS_FOUND])
{
  const struct term *best[FOUND_MAX + 1];
  uint64_t score[FOUND_MAX + 1];
  size_t n = 0;
  for (size_t i = 0; i < t->count; i++) {
    const struct term *term = &t->terms[t->order[i]];
    uint64_t s = score_of(t, term);
    if (s == 0) continue;
    size_t at = n;
    for (; at > 0 && score[at - 1] < s; at--) {
      best[at] = best[at - 1];
      score[at] = score[at - 1];
    }
    best[at] = term;
    score[at] = s;
    if (n < FOUND_MAX) n++;
  }
  /* A phrase takes the place of its words; one that is a small part of what is said of both is none. */
  bool out[FOUND_MAX] = {false};
  for (size_t i = 0; i < n; i++) {
    size_t second = second_word(best[i]);
    uint64_t first = i, least = UINT64_MAX;
    for (size_t k = 0; second && k < n; k++) {
      if (second_word(best[k]) || !contains(best[i], best[k]->text, best[k]->n)) continue;
      least = RP_MIN(least, weight_of(best[k]));
      first = RP_MIN(first, k);
    }
    if (!second || least == UINT64_MAX) continue;
    out[i] = 3 * weight_of(best[i]) < least;
    if (!out[i]) score[i] = RP_MAX(score[i], score[first]);
  }
  size_t found = 0;
  for (size_t k = 0; k < n && found < RP_TOPICS_FOUND; k++) {
    struct rp__topic_found *f = &ret[found];
    if (out[k]) continue;
    char room[TERM_MAX];
    f->n = best[k]->n;
    memcpy(f->text, cased(best[k], room), f->n);
    f->weight = score[k];
    f->part = false;
    for (size_t i = 0; i < n && !f->part; i++) f->part = !out[i] && is_part(best[k], best[i]);
    found++;
  }
  /* By insertion: it leaves ties in their order. */
  for (size_t i = 1; i < found; i++) {
    struct rp__topic_found f = ret[i];
    size_t k = i;
    for (; k > 0 && ret[k - 1].weight < f.weight; k--) ret[k] = ret[k - 1];
    ret[k] = f;
  }
  return found;
}

static void topics_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  struct rp__topic_found best[RP_TOPICS_FOUND];
  size_t n = best_topics(state, best), shown = 0;
  (void)now_ms;
  rp__jw_array(w);
  for (size_t i = 0; i < n && shown < RP_TOPICS_SHOWN; i++) {
    if (best[i].part) continue;
    rp__jw_strn(w, best[i].text, best[i].n);
    shown++;
  }
  rp__jw_end_array(w);
}

static int corrupt(rp_error *err)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "topics", "a topic is not what a snapshot holds there");
}

/* The hash of a text of which nobody has read the words. */
static uint32_t hash_term(struct rp__str text)
{
  char a[TERM_MAX + 8] = {0}, b[TERM_MAX + 8] = {0};
  const char *space = memchr(text.p, ' ', text.n);
  size_t n = space ? (size_t)(space - text.p) : text.n;
  memcpy(a, text.p, n);
  if (!space) return rp__word_hash(a, n);
  memcpy(b, space + 1, text.n - n - 1);
  return hash_phrase(rp__word_hash(a, n), rp__word_hash(b, text.n - n - 1));
}

static int topics_load(void *state, struct rp__json v, rp_error *err)
{
  struct topics *t = state;
  struct rp__json_iter terms = {0};
  struct rp__json item;
  if (v.type != RP_JSON_ARRAY) return corrupt(err);
  while (rp__json_next(v, &terms, NULL, &item)) {
    struct rp__json_iter it = {0};
    struct rp__json part[4];
    unsigned n = 0;
    int64_t said, named;
    char padded[TERM_MAX + 16] = {0};
    if (item.type != RP_JSON_ARRAY) return corrupt(err);
    while (n < 4 && rp__json_next(item, &it, NULL, &part[n])) n++;
    if (n != 3 || part[0].type != RP_JSON_STRING || part[0].n < 3 || part[0].n - 2 > TERM_MAX) return corrupt(err);
    if (memchr(part[0].p, '\\', part[0].n)) return corrupt(err);
    if (!rp__json_i64(part[1], &said) || said < 0 || said > UINT32_MAX) return corrupt(err);
    if (!rp__json_i64(part[2], &named) || named < 0 || named > UINT32_MAX || said + named == 0) return corrupt(err);
    struct rp__str text = {part[0].p + 1, part[0].n - 2};
    for (size_t i = 0; i < text.n; i++) padded[i] = rp__ascii_lower(text.p[i]);
    struct count how = {.weight = (uint32_t)said, .said = true};
    bool known;
    if (count_term(t, padded, text.n, hash_term((struct rp__str){padded, text.n}), text.p, &how, &known))
      return rp__fail_nomem(err);
    if (known) return corrupt(err); /* twice the same */
    t->terms[t->order[t->count - 1]].named = (uint32_t)named;
  }
  return 0;
}

static void topics_done(void *state)
{
  struct topics *t = state;
  free(t->terms);
  free(t->order);
  free(t->buckets);
  *t = (struct topics){0};
}

const struct rp__facet_ops rp__facet_topics = {
    .name = "topics",
    .state_size = sizeof(struct topics),
    .max_bytes = BYTES_MAX,
    .apply = topics_apply,
    .empty = topics_empty,
    .save = topics_save,
    .show = topics_show,
    .load = topics_load,
    .done = topics_done,
};

size_t rp__topics_best(const struct rp__fold *f, struct rp__topic_found ret[RP_TOPICS_FOUND])
{
  const struct topics *t = f ? rp__fold_facet(f, rp__facet_topics.name) : NULL;
  return t ? best_topics(t, ret) : 0;
}
