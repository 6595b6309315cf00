/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topics of the session: words and phrases of two words, with a weight by where they occur. The inverse
 * frequency is applied when the session is captured.
 *
 * The table has room for TERMS_MAX terms. When it is full, terms that only occur in messages are removed first: those
 * that occurred once, the oldest first. If there are not enough of them, the weight of everything from messages is
 * halved. Terms that were named on purpose (pins, categories, projects, tools, activity) are removed last. A term keeps
 * its place in the order of first appearance, so ties and removals come out the same on every replay.
 */
#include "facets/table.h"

#include "facets/pins.h"
#include "facets/words.h"

#define TERMS_MAX 512
#define TERMS_FIRST 64
#define TERMS_KEPT (TERMS_MAX * 3 / 4) /* what is left after making room */
#define TERM_MAX RP_WORD_MAX
#define TOOL_WEIGHT_MAX 5 /* an agent calls its shell all day; that makes it no topic */
#define BYTES_MAX ((size_t)TERMS_MAX * (TERM_MAX + 28) + 2)

_Static_assert(TERM_MAX % 8 == 0, "texts are read eight bytes at a time");

enum { WEIGHT_LABEL = 3, WEIGHT_CATEGORY = 2, WEIGHT_PROJECT = 2, WEIGHT_TEXT = 1 };

struct term {
  uint32_t hash;
  uint32_t said, named; /* weight from messages, and from all else */
  uint16_t n;
  uint16_t next;       /* of the same bucket: place + 1, or 0 */
  char text[TERM_MAX]; /* zeroes up to a multiple of eight behind it; two words with one space between are a phrase */
};

/* A term never moves, so that making room costs little more than looking for what gives way. */
struct topics {
  struct term *terms;
  uint16_t *order;   /* places of the terms, by first appearance, and behind these the free places */
  uint16_t *buckets; /* twice as many as there are places: the first term's place + 1, or 0 */
  size_t count, cap;
  size_t settled; /* none of so many first terms gives way before the weights are halved */
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

/* The hash of a word. `text` has zeroes up to the next multiple of eight behind its end. */
static uint32_t hash_word(const char *text, size_t n)
{
  uint64_t h = n;
  for (size_t i = 0; i < n; i += 8) {
    uint64_t x;
    memcpy(&x, text + i, sizeof x);
    h = (h ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
  }
  return (uint32_t)(h >> 16);
}

/* The hash of a phrase comes from those of its words, which are known when it is met. */
static uint32_t hash_phrase(uint32_t a, uint32_t b)
{
  return a * UINT32_C(0x9e3779b1) + b;
}

/* Both have zeroes behind their end, so that eight bytes can be compared at once; most terms need one or two steps. */
static bool same_text(const char *a, const char *b, size_t n)
{
  for (size_t i = 0; i < n; i += 8) {
    uint64_t x, y;
    memcpy(&x, a + i, sizeof x);
    memcpy(&y, b + i, sizeof y);
    if (x != y) return false;
  }
  return true;
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
  drop_light(t, 1, t->count - TERMS_KEPT);
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

/* Counts one term; `text` has zeroes behind its end as hash_word wants it, and TERM_MAX bytes that can be read. */
static int count_term(struct topics *t, const char *text, size_t n, uint32_t hash, const struct count *how)
{
  struct term *term = NULL;
  for (unsigned at = t->cap ? *bucket_of(t, hash) : 0; at; at = term->next, term = NULL) {
    term = &t->terms[at - 1];
    if (term->hash == hash && term->n == n && same_text(term->text, text, n)) break;
  }
  if (!term) {
    if (t->count == TERMS_MAX) make_room(t);
    if (t->count == t->cap && grow(t)) return RP_E_NOMEM;
    uint16_t place = t->order[t->count++], *bucket = bucket_of(t, hash);
    term = &t->terms[place];
    term->hash = hash;
    term->said = term->named = 0;
    term->n = (uint16_t)n;
    term->next = *bucket;
    memcpy(term->text, text, TERM_MAX); /* of one size, so that no call is made for it */
    *bucket = (uint16_t)(place + 1);
  }
  if (how->max && weight_of(term) >= how->max) return 0;
  uint32_t *sum = how->said ? &term->said : &term->named;
  if (__builtin_add_overflow(*sum, how->weight, sum)) *sum = UINT32_MAX;
  return 0;
}

/* ---- texts ------------------------------------------------------------------------------ */

static int count_text(struct topics *t, struct rp__str text, struct count how)
{
  struct rp__words in = rp__words(text);
  struct rp__word words[2];
  uint32_t hash = 0, before;
  int rc = 0;
  for (unsigned i = 0; rc == 0 && rp__words_next(&in, &words[i & 1]); i++) {
    const struct rp__word *a = &words[~i & 1], *b = &words[i & 1];
    before = hash;
    hash = hash_word(b->text, b->n);
    rc = count_term(t, b->text, b->n, hash, &how);
    if (rc || !b->follows || a->n + 1 + b->n > TERM_MAX) continue;
    char phrase[TERM_MAX + 1 + TERM_MAX + 16];
    memcpy(phrase, a->text, TERM_MAX); /* more than the word has: of one size, so that no call is made for it */
    phrase[a->n] = ' ';
    memcpy(phrase + a->n + 1, b->text, TERM_MAX + 16); /* with the zeroes behind it */
    rc = count_term(t, phrase, a->n + 1 + b->n, hash_phrase(before, hash), &how);
  }
  return rc;
}

static int count_string(struct topics *t, struct rp__json v, struct count how)
{
  char room[RP_TEXT_HEAD];
  return count_text(t, rp__text_head(v, room), how);
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

/* ---- events --------------------------------------------------------------------------------- */

static int topics_apply(void *state, const struct rp__event *ev)
{
  static const struct count plain = {.weight = WEIGHT_TEXT}, tool = {.weight = WEIGHT_TEXT, .max = TOOL_WEIGHT_MAX};
  struct topics *t = state;
  struct rp__json pins, item;
  struct rp__json_iter it = {0};
  struct rp__texts texts;
  struct rp__str text;
  int rc = 0;
  switch (ev->kind) {
  case RP_KIND_MESSAGE:
    rp__texts_begin(&texts, ev->body);
    while (rc == 0 && rp__texts_next(&texts, &text))
      rc = count_text(t, text, (struct count){.weight = WEIGHT_TEXT, .said = true});
    return rc;
  case RP_KIND_PIN: return count_pin(t, ev->body);
  case RP_KIND_ACTIVITY:
    rc = count_string(t, rp__json_get(ev->body, "text"), plain);
    if (rc == 0) rc = count_string(t, rp__json_get(ev->body, "tool"), tool);
    if (rc == 0) rc = count_categories(t, rp__json_get(ev->body, "categories"));
    return rc ? rc : rp__project_each(ev, count_project, t);
  case RP_KIND_TOOL:
    rc = count_string(t, rp__json_get(ev->body, "name"), tool);
    return rc ? rc : rp__project_each(ev, count_project, t);
  case RP_KIND_PROJECT: return rp__project_each(ev, count_project, t);
  case RP_KIND_LEARNING: return count_categories(t, rp__json_get(ev->body, "categories"));
  case RP_KIND_RESTORED:
    pins = rp__json_get(ev->body, "pins");
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

static void topics_save(const void *state, struct rp__jw *w)
{
  const struct topics *t = state;
  rp__jw_array(w);
  for (size_t i = 0; i < t->count; i++) {
    const struct term *term = &t->terms[t->order[i]];
    rp__jw_array(w);
    rp__jw_strn(w, term->text, term->n);
    rp__jw_i64(w, term->said);
    rp__jw_i64(w, term->named);
    rp__jw_end_array(w);
  }
  rp__jw_end_array(w);
}

/* A phrase that was met once may be an accident. */
static bool is_shown(const struct term *t)
{
  return weight_of(t) >= 2 || !memchr(t->text, ' ', t->n);
}

static size_t best_topics(const struct topics *t, struct rp__str ret[RP_TOPICS_SHOWN])
{
  const struct term *best[RP_TOPICS_SHOWN + 1];
  size_t n = 0;
  for (size_t i = 0; i < t->count; i++) {
    const struct term *term = &t->terms[t->order[i]];
    if (!is_shown(term)) continue;
    size_t at = n;
    for (; at > 0 && weight_of(best[at - 1]) < weight_of(term); at--) best[at] = best[at - 1];
    best[at] = term;
    if (n < RP_TOPICS_SHOWN) n++;
  }
  for (size_t i = 0; i < n; i++) ret[i] = (struct rp__str){best[i]->text, best[i]->n};
  return n;
}

static void topics_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  struct rp__str best[RP_TOPICS_SHOWN];
  size_t n = best_topics(state, best);
  (void)now_ms;
  rp__jw_array(w);
  for (size_t i = 0; i < n; i++) rp__jw_strn(w, best[i].p, best[i].n);
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
  if (!space) return hash_word(a, n);
  memcpy(b, space + 1, text.n - n - 1);
  return hash_phrase(hash_word(a, n), hash_word(b, text.n - n - 1));
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
    memcpy(padded, text.p, text.n);
    size_t before = t->count;
    if (before == TERMS_MAX) return corrupt(err);
    struct count how = {.weight = (uint32_t)said, .said = true};
    if (count_term(t, padded, text.n, hash_term(text), &how)) return rp__fail_nomem(err);
    if (t->count == before) return corrupt(err); /* twice the same */
    t->terms[t->order[before]].named = (uint32_t)named;
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

size_t rp__topics_best(const struct rp__fold *f, struct rp__str ret[RP_TOPICS_SHOWN])
{
  const struct topics *t = f ? rp__fold_facet(f, rp__facet_topics.name) : NULL;
  return t ? best_topics(t, ret) : 0;
}
