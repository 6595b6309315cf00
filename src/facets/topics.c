/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the session is about: words and phrases of two, counted by where they stand. Inverse frequency enters
 * when the session is captured.
 *
 * The table has room for TERMS_MAX terms. What was only said, in messages, gives way when it is full: terms said
 * once go first, the oldest before the others, and if there are not enough of them everything said counts half.
 * What was named on purpose (pins, categories, projects, tools, activity) gives way last. A term keeps its place in
 * the order of first appearance, so ties and evictions come out the same on every replay.
 */
#include "facets/pins.h"
#include "facets/projects.h"
#include "facets/table.h"
#include "facets/words.h"

#define TERMS_MAX 512
#define TERMS_FIRST 64
#define TERMS_KEPT (TERMS_MAX * 3 / 4) /* what is left after making room */
#define TERM_MAX RP_WORD_MAX
#define TOPICS_SHOWN 20
#define TOOL_WEIGHT_MAX 5 /* an agent calls its shell all day; that makes it no topic */
#define BYTES_MAX ((size_t)TERMS_MAX * (TERM_MAX + 28) + 2)

_Static_assert(TERM_MAX % 8 == 0, "texts are read eight bytes at a time");

enum { WEIGHT_LABEL = 3, WEIGHT_CATEGORY = 2, WEIGHT_PROJECT = 2, WEIGHT_TEXT = 1 };

struct term {
  uint32_t hash;
  uint32_t said, named; /* weight from messages, and from all else */
  uint32_t n;
  char text[TERM_MAX]; /* zeroes behind it; two words with one space between are a phrase */
};

struct topics {
  struct term *terms;
  uint16_t *index; /* of twice as many slots as there is room for terms: place + 1, or 0 */
  size_t count, cap;
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

/* `text` has zeroes up to the next multiple of eight behind its end. */
static uint32_t hash_text(const char *text, size_t n)
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

/* The slot of the index where the text is, or the empty one where it would be. */
static size_t slot_of(const struct topics *t, const char *text, size_t n, uint32_t hash)
{
  size_t mask = 2 * t->cap - 1, at = hash & mask;
  for (; t->index[at]; at = (at + 1) & mask) {
    const struct term *term = &t->terms[t->index[at] - 1];
    if (term->hash == hash && term->n == n && same_text(term->text, text, n)) break;
  }
  return at;
}

static void reindex(struct topics *t)
{
  size_t mask = 2 * t->cap - 1;
  memset(t->index, 0, 2 * t->cap * sizeof t->index[0]);
  for (size_t i = 0; i < t->count; i++) {
    size_t at = t->terms[i].hash & mask;
    while (t->index[at]) at = (at + 1) & mask;
    t->index[at] = (uint16_t)(i + 1);
  }
}

static int grow(struct topics *t)
{
  size_t cap = t->cap ? 2 * t->cap : TERMS_FIRST;
  struct term *terms = realloc(t->terms, cap * sizeof *terms);
  if (!terms) return RP_E_NOMEM;
  t->terms = terms;
  uint16_t *index = realloc(t->index, 2 * cap * sizeof *index);
  if (!index) return RP_E_NOMEM;
  t->index = index;
  t->cap = cap;
  reindex(t);
  return 0;
}

/* Drops up to `many` of the terms that weigh that little, the oldest first; none of those named on purpose. */
static size_t drop_light(struct topics *t, uint32_t said, size_t many)
{
  size_t kept = 0, dropped = 0;
  for (size_t i = 0; i < t->count; i++) {
    bool light = t->terms[i].named == 0 && t->terms[i].said <= said && dropped < many;
    dropped += light;
    if (!light && kept++ != i) t->terms[kept - 1] = t->terms[i];
  }
  t->count = kept;
  return dropped;
}

static bool any_only_said(const struct topics *t)
{
  for (size_t i = 0; i < t->count; i++)
    if (t->terms[i].named == 0) return true;
  return false;
}

static void halve(struct topics *t, bool named)
{
  for (size_t i = 0; i < t->count; i++) {
    t->terms[i].said /= 2;
    if (named) t->terms[i].named /= 2;
  }
}

static void make_room(struct topics *t)
{
  drop_light(t, 1, t->count - TERMS_KEPT);
  while (t->count > TERMS_KEPT) {
    halve(t, !any_only_said(t));
    drop_light(t, 0, t->count);
  }
  reindex(t);
}

static void add_saturated(uint32_t *sum, uint32_t n)
{
  if (__builtin_add_overflow(*sum, n, sum)) *sum = UINT32_MAX;
}

/* Counts one term; `text` as hash_text wants it. */
static int count_term(struct topics *t, const char *text, size_t n, const struct count *how)
{
  uint32_t hash = hash_text(text, n);
  size_t at = t->cap ? slot_of(t, text, n, hash) : 0;
  struct term *term = t->cap && t->index[at] ? &t->terms[t->index[at] - 1] : NULL;
  if (!term) {
    if (t->count == TERMS_MAX) make_room(t);
    if (t->count == t->cap && grow(t)) return RP_E_NOMEM;
    term = &t->terms[t->count++];
    *term = (struct term){.hash = hash, .n = (uint32_t)n};
    memcpy(term->text, text, n);
    t->index[slot_of(t, text, n, hash)] = (uint16_t)t->count;
  }
  if (how->max && weight_of(term) >= how->max) return 0;
  add_saturated(how->said ? &term->said : &term->named, how->weight);
  return 0;
}

/* ---- texts ------------------------------------------------------------------------------ */

static int count_phrase(struct topics *t, const struct rp__word *a, const struct rp__word *b, const struct count *how)
{
  char text[TERM_MAX + 16] = {0};
  size_t n = a->n + 1 + b->n;
  if (n > TERM_MAX) return 0;
  memcpy(text, a->text, a->n);
  text[a->n] = ' ';
  memcpy(text + a->n + 1, b->text, b->n);
  return count_term(t, text, n, how);
}

static int count_text(struct topics *t, struct rp__str text, struct count how)
{
  struct rp__words in = rp__words(text);
  struct rp__word word[2];
  int rc = 0;
  for (unsigned i = 0; rc == 0 && rp__words_next(&in, &word[i & 1]); i++) {
    rc = count_term(t, word[i & 1].text, word[i & 1].n, &how);
    if (rc == 0 && word[i & 1].follows) rc = count_phrase(t, &word[~i & 1], &word[i & 1], &how);
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

static int apply_message(struct topics *t, const struct rp__event *ev)
{
  struct rp__texts texts;
  struct rp__str text;
  int rc = 0;
  rp__texts_begin(&texts, ev->body);
  while (rc == 0 && rp__texts_next(&texts, &text))
    rc = count_text(t, text, (struct count){.weight = WEIGHT_TEXT, .said = true});
  return rc;
}

static int apply_activity(struct topics *t, const struct rp__event *ev)
{
  int rc = count_string(t, rp__json_get(ev->body, "text"), (struct count){.weight = WEIGHT_TEXT});
  if (rc == 0)
    rc = count_string(t, rp__json_get(ev->body, "tool"), (struct count){WEIGHT_TEXT, TOOL_WEIGHT_MAX, false});
  if (rc == 0) rc = count_categories(t, rp__json_get(ev->body, "categories"));
  return rc ? rc : rp__project_each(ev, count_project, t);
}

static int apply_tool(struct topics *t, const struct rp__event *ev)
{
  int rc = count_string(t, rp__json_get(ev->body, "name"), (struct count){WEIGHT_TEXT, TOOL_WEIGHT_MAX, false});
  return rc ? rc : rp__project_each(ev, count_project, t);
}

static int apply_restored(struct topics *t, const struct rp__event *ev)
{
  struct rp__json pins = rp__json_get(ev->body, "pins"), item;
  struct rp__json_iter it = {0};
  int rc = 0;
  if (pins.type != RP_JSON_ARRAY) return 0;
  while (rc == 0 && rp__json_next(pins, &it, NULL, &item)) rc = count_pin(t, item);
  return rc;
}

static int topics_apply(void *state, const struct rp__event *ev)
{
  switch (ev->kind) {
  case RP_KIND_MESSAGE: return apply_message(state, ev);
  case RP_KIND_PIN: return count_pin(state, ev->body);
  case RP_KIND_ACTIVITY: return apply_activity(state, ev);
  case RP_KIND_TOOL: return apply_tool(state, ev);
  case RP_KIND_PROJECT: return rp__project_each(ev, count_project, state);
  case RP_KIND_LEARNING: return count_categories(state, rp__json_get(ev->body, "categories"));
  case RP_KIND_RESTORED: return apply_restored(state, ev);
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
    rp__jw_array(w);
    rp__jw_strn(w, t->terms[i].text, t->terms[i].n);
    rp__jw_i64(w, t->terms[i].said);
    rp__jw_i64(w, t->terms[i].named);
    rp__jw_end_array(w);
  }
  rp__jw_end_array(w);
}

/* A phrase that was met once may be an accident. */
static bool is_shown(const struct term *t)
{
  return weight_of(t) >= 2 || !memchr(t->text, ' ', t->n);
}

static void topics_show(const void *state, int64_t now_ms, struct rp__jw *w)
{
  const struct topics *t = state;
  const struct term *best[TOPICS_SHOWN + 1];
  size_t n = 0;
  (void)now_ms;
  for (size_t i = 0; i < t->count; i++) {
    const struct term *term = &t->terms[i];
    if (!is_shown(term)) continue;
    size_t at = n;
    for (; at > 0 && weight_of(best[at - 1]) < weight_of(term); at--) best[at] = best[at - 1];
    best[at] = term;
    if (n < TOPICS_SHOWN) n++;
  }
  rp__jw_array(w);
  for (size_t i = 0; i < n; i++) rp__jw_strn(w, best[i]->text, best[i]->n);
  rp__jw_end_array(w);
}

static int corrupt(rp_error *err)
{
  return rp__fail_field(err, RP_E_SNAPSHOT_CORRUPT, "topics", "a topic is not what a snapshot holds there");
}

static bool load_weight(struct rp__json v, uint32_t *ret)
{
  int64_t n;
  if (!rp__json_i64(v, &n) || n < 0 || n > UINT32_MAX) return false;
  *ret = (uint32_t)n;
  return true;
}

static int load_term(struct topics *t, struct rp__json v, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json part[4];
  unsigned n = 0;
  uint32_t said, named;
  char text[TERM_MAX + 16] = {0};
  if (v.type != RP_JSON_ARRAY) return corrupt(err);
  while (n < 4 && rp__json_next(v, &it, NULL, &part[n])) n++;
  if (n != 3 || part[0].type != RP_JSON_STRING || part[0].n < 3 || part[0].n - 2 > TERM_MAX) return corrupt(err);
  if (memchr(part[0].p, '\\', part[0].n)) return corrupt(err);
  if (!load_weight(part[1], &said) || !load_weight(part[2], &named) || said + (uint64_t)named == 0) return corrupt(err);
  memcpy(text, part[0].p + 1, part[0].n - 2);
  size_t before = t->count;
  if (before == TERMS_MAX) return corrupt(err);
  if (count_term(t, text, part[0].n - 2, &(struct count){.weight = said, .said = true})) return rp__fail_nomem(err);
  if (t->count == before) return corrupt(err); /* twice the same */
  t->terms[before].named = named;
  return 0;
}

static int topics_load(void *state, struct rp__json v, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json item;
  if (v.type != RP_JSON_ARRAY) return corrupt(err);
  while (rp__json_next(v, &it, NULL, &item)) {
    int rc = load_term(state, item, err);
    if (rc) return rc;
  }
  return 0;
}

static void topics_done(void *state)
{
  struct topics *t = state;
  free(t->terms);
  free(t->index);
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
