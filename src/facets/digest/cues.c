/* SPDX-License-Identifier: Apache-2.0 */
/* Compares texts with the lists of cues, and reads a user's own. */
#include "facets/digest/cues.h"

#include "base/text.h"
#include "base/utf8.h"
#include "json/scan.h"
#include "json/text.h"

#define SIGNS_MIN 20      /* bytes; a shorter line may well be signs alone */
#define STEPS_MAX 5000    /* of the comparison of a line with a pattern */
#define RUN_MAX 128       /* bytes that a sign of a pattern stands for */
#define NEXT_MAX 8        /* bytes behind such a sign that are looked for first */
#define LETTERS_OF_100 55 /* fewer letters among 100 characters: no prose */

struct cue {
  const char *text;
  uint8_t n, list;
  bool goes_on; /* the word may be longer */
};
#include "cues-table.h"

const char rp__cues_hash[] = CUES_HASH;

const char *const rp__cue_list_names[RP_CUE_LISTS] = {
    [RP_CUE_RULES] = "rules",
    [RP_CUE_RULE_BEGINNINGS] = "rule beginnings",
    [RP_CUE_LASTING] = "lasting rules",
    [RP_CUE_NO_RULES] = "no rules",
    [RP_CUE_POINTING] = "pointing words",
    [RP_CUE_GO_ON] = "go on",
    [RP_CUE_REFUSALS] = "refusals",
    [RP_CUE_ANNOUNCEMENTS] = "announcements",
    [RP_CUE_FILLERS] = "fillers",
    [RP_CUE_ERRORS] = "errors",
    [RP_CUE_NOISE] = "noise",
    [RP_CUE_QUIET] = "quiet commands",
    [RP_CUE_EDIT_TOOLS] = "edit tools",
    [RP_CUE_RUN_TOOLS] = "run tools",
    [RP_CUE_TODO_TOOLS] = "todo tools",
    [RP_CUE_ASK_TOOLS] = "ask tools",
    [RP_CUE_PLAN_TOOLS] = "plan tools",
    [RP_CUE_LOG_LINES] = "log lines",
};

/* ---- phrases ------------------------------------------------------------------------ */

void rp__cues_lower(struct rp__str text, struct rp__buf *out)
{
  char *from = text.n ? rp__buf_room(out, text.n) : NULL, *to = from; /* it does not grow */
  if (!from) return;
  for (const char *at = text.p, *end = text.p + text.n; at < end;) {
    if ((signed char)*at >= 0) {
      *to++ = rp__ascii_lower(*at++);
      continue;
    }
    unsigned n = rp__utf8_len(at, end);
    uint32_t c = n > 1 ? rp__utf8_value(at, n) : (uint8_t)*at, lower = n == 2 ? rp__utf8_lower(c) : c;
    n = RP_MAX(n, 1u);
    if (c == 0x2019) {
      *to++ = '\'';
    } else if (lower != c) {
      *to++ = (char)(0xc0 | lower >> 6);
      *to++ = (char)(0x80 | (lower & 0x3f));
    } else {
      memcpy(to, at, n);
      to += n;
    }
    at += n;
  }
  out->n += (size_t)(to - from);
  out->p[out->n] = '\0';
}

/* The character that begins at a byte. */
static inline uint32_t char_at(struct rp__str s, size_t at)
{
  if (at < s.n && (signed char)s.p[at] >= 0) return (uint8_t)s.p[at];
  unsigned n = at < s.n ? rp__utf8_len(s.p + at, s.p + s.n) : 0;
  return n ? rp__utf8_value(s.p + at, n) : 0;
}

static bool is_word_char(uint32_t c)
{
  if (c < 0x80) return c == '_' || rp__is_alnum((char)c);
  return (c >= 0xc0 && c < 0x2000 && c != 0xd7 && c != 0xf7) || rp__utf8_wide(c);
}

/* Whether the phrase stands at that byte: what follows it must be no part of the same word. */
static bool stands_at(struct rp__str s, size_t at, struct rp__str phrase, bool goes_on)
{
  if (s.n - at < phrase.n || memcmp(s.p + at, phrase.p, phrase.n) != 0) return false;
  if (goes_on || at + phrase.n == s.n) return true;
  size_t last = phrase.n - 1;
  while (last && rp__is_continuation(phrase.p[last])) last--;
  uint32_t end = char_at(phrase, last), next = char_at(s, at + phrase.n);
  return !is_word_char(end) || rp__utf8_wide(end) || !is_word_char(next) || rp__utf8_wide(next);
}

/* A user's phrases are in the order of their lists and first bytes. */
struct rp__cue_set {
  struct cue *v;
  size_t n;
  struct rp__buf text; /* of the phrases, each with a NUL behind it */
};

static int by_place(const void *a, const void *b)
{
  const struct cue *x = a, *y = b;
  if (x->list != y->list) return x->list < y->list ? -1 : 1;
  int order = memcmp(x->text, y->text, RP_MIN(x->n, y->n));
  return order ? order : (int)x->n - (int)y->n;
}

/* The first of a user's phrases that begin with that byte. */
static const struct cue *own_first(rp__cues more, enum rp__cue_list list, char byte)
{
  size_t from = 0, to = more ? more->n : 0;
  while (from < to) {
    size_t mid = from + (to - from) / 2;
    const struct cue *c = &more->v[mid];
    if (c->list < list || (c->list == list && (uint8_t)c->text[0] < (uint8_t)byte))
      from = mid + 1;
    else
      to = mid;
  }
  return more && from < more->n && more->v[from].list == list && more->v[from].text[0] == byte ? &more->v[from] : NULL;
}

static const struct cue *own_next(rp__cues more, const struct cue *c)
{
  const struct cue *next = c + 1;
  return next < more->v + more->n && next->list == c->list && next->text[0] == c->text[0] ? next : NULL;
}

/* The bucket of a list's phrases that begin with these two bytes; the second is 0 for phrases of one. */
static unsigned bucket_of(enum rp__cue_list list, char first, char second)
{
  return (list * 347u + (uint8_t)first * 31u + (uint8_t)second) % (RP_ARRAY_SIZE(cue_buckets) - 1);
}

/* Bytes of the longest phrase of the list that stands at that byte; 0: none. */
static size_t longest_at(rp__cues more, enum rp__cue_list list, struct rp__str s, size_t at)
{
  size_t best = 0;
  unsigned b = bucket_of(list, s.p[at], at + 1 < s.n ? s.p[at + 1] : '\0'), alone = bucket_of(list, s.p[at], '\0');
  for (unsigned pass = 0; pass < (alone == b ? 1 : 2); pass++) {
    unsigned of = pass ? alone : b;
    for (unsigned i = cue_buckets[of]; i < cue_buckets[of + 1]; i++) {
      const struct cue *c = &cues[i];
      if (c->list == list && c->n > best && stands_at(s, at, (struct rp__str){c->text, c->n}, c->goes_on)) best = c->n;
    }
  }
  for (const struct cue *c = own_first(more, list, s.p[at]); c; c = own_next(more, c))
    if (c->n > best && stands_at(s, at, (struct rp__str){c->text, c->n}, c->goes_on)) best = c->n;
  return best;
}

bool rp__cues_in(rp__cues more, enum rp__cue_list list, struct rp__str lower)
{
  uint32_t before = 0;
  for (size_t at = 0; at < lower.n;) {
    if (before < 0x80 &&
        rp__is_alnum((char)before)) /* the rest of a word: a phrase begins no sooner than the next one */
      while (at < lower.n && rp__is_alnum(lower.p[at])) before = (uint8_t)lower.p[at++];
    if (at == lower.n) break;
    unsigned n = RP_MAX(rp__utf8_len(lower.p + at, lower.p + lower.n), 1u);
    uint32_t c = char_at(lower, at);
    bool begins = rp__utf8_wide(c) || !is_word_char(before) || rp__utf8_wide(before);
    if (begins && c > ' ' && longest_at(more, list, lower, at)) return true;
    before = c;
    at += n;
  }
  return false;
}

size_t rp__cues_begin(rp__cues more, enum rp__cue_list list, struct rp__str lower)
{
  return lower.n ? longest_at(more, list, lower, 0) : 0;
}

unsigned rp__cues_lists(rp__cues more, struct rp__str text)
{
  char room[64];
  unsigned found = 0;
  if (text.n == 0 || text.n > sizeof room) return 0;
  for (size_t i = 0; i < text.n; i++) room[i] = rp__ascii_lower(text.p[i]);
  for (unsigned list = 0; list < RP_CUE_LISTS; list++) {
    unsigned b = bucket_of((enum rp__cue_list)list, room[0], text.n > 1 ? room[1] : '\0');
    for (unsigned i = cue_buckets[b]; i < cue_buckets[b + 1]; i++)
      if (cues[i].list == list && cues[i].n == text.n && memcmp(cues[i].text, room, text.n) == 0) found |= 1u << list;
  }
  for (unsigned list = 0; more && list < RP_CUE_LISTS; list++)
    if (longest_at(more, (enum rp__cue_list)list, (struct rp__str){room, text.n}, 0) == text.n) found |= 1u << list;
  return found;
}

/* ---- a user's lists --------------------------------------------------------------------- */

static bool is_entry(struct rp__str s, enum rp__cue_list list)
{
  bool says = false;
  for (size_t i = 0; i < s.n; i++) {
    if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f) return false;
    says = says || !rp__is_in(s.p[i], list == RP_CUE_LOG_LINES ? "#~? " : "* ");
  }
  return says && s.n <= RP_CUE_MAX;
}

int rp__cues_new(struct rp__json lists, struct rp__cue_set **ret)
{
  RP_AUTOBUF struct rp__buf entry = RP_BUF(RP_CUES_BYTES);
  struct rp__cue_set *set = NULL;
  struct rp__json v;
  size_t room = 0;
  *ret = NULL;
  if (lists.type != RP_JSON_OBJECT || lists.n > RP_CUES_BYTES) return 0;
  for (size_t i = 0; i < lists.n; i++) room += lists.p[i] == ',' || lists.p[i] == '[';
  set = calloc(1, sizeof *set);
  if (!set) return RP_E_NOMEM;
  set->text = RP_BUF(2 * RP_CUES_BYTES);
  set->v = calloc(room + 1, sizeof *set->v);
  /* Phrases are pointed to, so the text may not move. */
  int rc = set->v && rp__buf_room(&set->text, lists.n + room + 1) ? 0 : RP_E_NOMEM;
  for (size_t i = 0; i < RP_CUE_LISTS && rc == 0; i++) {
    struct rp__json_iter it = {0};
    struct rp__json own = rp__json_get(lists, rp__cue_list_names[i]);
    while (rc == 0 && own.type == RP_JSON_ARRAY && rp__json_next(own, &it, NULL, &v)) {
      rp__buf_reset(&entry);
      if (v.type != RP_JSON_STRING || (rc = rp__json_text(v, &entry))) continue;
      struct rp__str s = {entry.p ? entry.p : "", entry.n};
      if (!is_entry(s, (enum rp__cue_list)i)) continue;
      size_t at = set->text.n;
      rp__cues_lower(s, &set->text);
      bool goes_on = i != RP_CUE_LOG_LINES && s.p[s.n - 1] == '*';
      set->v[set->n++] = (struct cue){set->text.p + at, (uint8_t)(s.n - goes_on), (uint8_t)i, goes_on};
      set->text.n -= goes_on;
      rp__buf_char(&set->text, '\0');
    }
  }
  if (rc == 0) rc = set->text.err;
  if (rc == 0 && set->n) {
    qsort(set->v, set->n, sizeof *set->v, by_place);
    *ret = set;
    return 0;
  }
  rp__cues_free(set);
  return rc;
}

void rp__cues_free(struct rp__cue_set *set)
{
  if (!set) return;
  rp__buf_done(&set->text);
  free(set->v);
  free(set);
}

/* One entry of a file. */
static int read_entry(struct rp__str s, enum rp__cue_list list, unsigned line, struct rp__jw *w, rp_error *err)
{
  char room[RP_CUE_MAX + 1];
  struct rp__buf lower = RP_BUF_IN(room);
  while (s.n && list != RP_CUE_LOG_LINES && s.p[s.n - 1] == ' ') s.n--;
  while (s.n && list != RP_CUE_LOG_LINES && s.p[0] == ' ') s.p++, s.n--;
  if (s.n == 0) return 0;
  if (s.n > RP_CUE_MAX) return rp__fail(err, RP_E_CONFIG, "line %u: an entry has at most %d bytes", line, RP_CUE_MAX);
  if (!is_entry(s, list))
    return rp__fail(err, RP_E_CONFIG, "line %u: an entry needs letters or signs of its own", line);
  rp__cues_lower(s, &lower);
  rp__jw_strn(w, room, lower.n);
  return 0;
}

static int read_section(struct rp__str line, unsigned number, size_t *ret, rp_error *err)
{
  const char *end = memchr(line.p, ']', line.n);
  struct rp__str name = {line.p + 1, end ? (size_t)(end - line.p) - 1 : 0};
  for (size_t i = 0; i < RP_CUE_LISTS; i++) {
    if (strlen(rp__cue_list_names[i]) != name.n || memcmp(rp__cue_list_names[i], name.p, name.n) != 0) continue;
    *ret = i;
    return 0;
  }
  return rp__fail(err, RP_E_CONFIG, "line %u: there is no list of that name", number);
}

int rp__cues_read(struct rp__str ini, struct rp__buf *out, rp_error *err)
{
  struct rp__buf lists[RP_CUE_LISTS];
  struct rp__jw w[RP_CUE_LISTS], all = RP_JW(out);
  size_t list = RP_CUE_LISTS, from = out->n;
  bool key = false;
  int rc = rp__utf8_ok(ini.p, ini.n) ? 0 : rp__fail(err, RP_E_CONFIG, "the text is no UTF-8");
  for (size_t i = 0; i < RP_CUE_LISTS; i++) {
    lists[i] = RP_BUF(2 * RP_CUES_BYTES);
    w[i] = RP_JW(&lists[i]);
    rp__jw_array(&w[i]);
  }
  for (unsigned number = 1; rc == 0 && ini.n; number++) {
    const char *end = memchr(ini.p, '\n', ini.n);
    struct rp__str line = {ini.p, end ? (size_t)(end - ini.p) : ini.n};
    ini.p += line.n + (end != NULL);
    ini.n -= line.n + (end != NULL);
    while (line.n && rp__is_in(line.p[line.n - 1], "\r\t ")) line.n--;
    if (line.n == 0 || rp__is_in(line.p[0], ";#")) continue;
    if (line.p[0] == '[') {
      rc = read_section(line, number, &list, err);
      key = false;
      continue;
    }
    bool goes_on = line.p[0] == ' ' || line.p[0] == '\t';
    const char *equals = goes_on ? NULL : memchr(line.p, '=', line.n);
    if (list == RP_CUE_LISTS || (goes_on ? !key : !equals)) {
      rc = rp__fail(err, RP_E_CONFIG, "line %u is neither 'key = entry | entry' nor a list's name in brackets", number);
      continue;
    }
    key = true;
    size_t skip = equals ? (size_t)(equals - line.p) + 1 : 0;
    while (skip < line.n && rp__is_in(line.p[skip], " \t")) skip++;
    line.p += skip;
    line.n -= skip;
    while (rc == 0 && line.n) {
      const char *bar = memmem(line.p, line.n, " | ", 3);
      size_t n = bar ? (size_t)(bar - line.p) : line.n;
      rc = read_entry((struct rp__str){line.p, n}, (enum rp__cue_list)list, number, &w[list], err);
      line.p += n + (bar ? 3 : 0);
      line.n -= n + (bar ? 3 : 0);
    }
  }
  rp__jw_object(&all);
  for (size_t i = 0; i < RP_CUE_LISTS; i++) {
    rp__jw_end_array(&w[i]);
    if (rc == 0 && lists[i].err) rc = lists[i].err == RP_E_NOMEM ? rp__fail_nomem(err) : RP_E_TOO_LARGE;
    if (rc == 0 && lists[i].n > 2) {
      rp__jw_key(&all, rp__cue_list_names[i]);
      rp__jw_raw(&all, lists[i].p, lists[i].n);
    }
    rp__buf_done(&lists[i]);
  }
  rp__jw_end_object(&all);
  if (rc == 0 && out->err == RP_E_NOMEM) return rp__fail_nomem(err);
  if (rc == RP_E_TOO_LARGE || (rc == 0 && (out->err || out->n - from > RP_CUES_BYTES)))
    return rp__fail(err, RP_E_CONFIG, "the entries are longer than %zu bytes as JSON", RP_CUES_BYTES);
  return rc;
}

/* ---- log lines ------------------------------------------------------------------------ */

static bool is_sign(char c)
{
  return c == '#' || c == '?' || c == '~';
}

/*
 * Whether the text begins as the pattern says; a run takes as little as it can. A comparison ends after so many
 * `steps`, because a pattern with many runs would try each length of each of them.
 */
static bool pattern_fits(const char *pattern, struct rp__str s, size_t at, unsigned *steps)
{
  for (; *pattern; pattern++) {
    if (*steps == 0) return false;
    --*steps;
    bool number = *pattern == '#', word = *pattern == '?', any = *pattern == '~';
    if (!number && !word && !any) {
      if (at == s.n || rp__ascii_lower(s.p[at]) != *pattern) return false;
      at++;
      continue;
    }
    char next = pattern[1];
    bool literal = next && !is_sign(next);
    size_t run = at;
    while (run < s.n && run - at < RUN_MAX) {
      char c = s.p[run];
      if (number ? !rp__is_digit(c) : word ? !rp__is_alnum(c) && c != '_' : (unsigned char)c <= ' ') break;
      run++;
      if ((number || word) && run < s.n && run - at < RUN_MAX && (number ? rp__is_digit(s.p[run]) : false)) continue;
      if (literal && (run == s.n || rp__ascii_lower(s.p[run]) != next)) { /* as the comparison would find */
        *steps -= *steps > 0;
        continue;
      }
      if (pattern_fits(pattern + 1, s, run, steps)) return true;
    }
    return false;
  }
  return true;
}

static bool is_letter(uint32_t c)
{
  return c < 0x80 ? rp__is_upper((char)c) || rp__is_lower((char)c) : is_word_char(c);
}

/* The characters of a line's first word, and the one behind it, as a pattern would have them. */
struct first_word {
  uint64_t has[4];
};

static struct first_word first_word(struct rp__str line)
{
  struct first_word w = {{0}};
  for (size_t i = 0; i < line.n && i <= RUN_MAX + NEXT_MAX; i++) {
    uint8_t c = (uint8_t)rp__ascii_lower(line.p[i]);
    w.has[c / 64] |= UINT64_C(1) << c % 64;
    if (c <= ' ') break;
  }
  return w;
}

/* Whether a pattern that begins with that character fits. */
static bool fits_from(char first, const struct first_word *w, struct rp__str line)
{
  bool sign = first == '~' || first == '#' || first == '?';
  for (unsigned i = log_buckets[(uint8_t)first]; i < log_buckets[(uint8_t)first + 1]; i++) {
    const char *p = log_patterns[i];
    /* What follows a run of the first word is in it or directly behind it, so that most patterns need no search. */
    bool in_word = true;
    for (const char *next = p + 1; sign && in_word && *next && !is_sign(*next) && next - p <= NEXT_MAX; next++) {
      in_word = w->has[(uint8_t)*next / 64] >> (uint8_t)*next % 64 & 1;
      if (*next <= ' ') break;
    }
    if (in_word && pattern_fits(p, line, 0, &(unsigned){STEPS_MAX})) return true;
  }
  return false;
}

bool rp__cues_log_line(rp__cues more, struct rp__str line)
{
  while (line.n && (unsigned char)line.p[0] <= ' ') line.p++, line.n--;
  if (line.n == 0) return false;
  struct first_word word = first_word(line);
  char first = rp__ascii_lower(line.p[0]);
  if (fits_from(first, &word, line) || fits_from('~', &word, line)) return true;
  if (rp__is_digit(first) && fits_from('#', &word, line)) return true;
  if ((rp__is_alnum(first) || first == '_') && fits_from('?', &word, line)) return true;
  unsigned steps = STEPS_MAX; /* for all of a user's patterns, which may be many and slow */
  for (size_t i = 0; more && i < more->n; i++)
    if (more->v[i].list == RP_CUE_LOG_LINES && pattern_fits(more->v[i].text, line, 0, &steps)) return true;
  size_t chars = 0, letters = 0;
  for (size_t at = 0; at < line.n; chars++) {
    for (; line.n - at >= 8; at += 8) { /* eight of ASCII at once */
      uint64_t x = rp__load8(line.p + at), lower = x | RP_BYTES(0x20);
      if (x & RP_BYTES(0x80)) break;
      uint64_t other = ((lower + RP_BYTES(0x7f - 'z')) | ~(lower + RP_BYTES(0x80 - 'a'))) & RP_BYTES(0x80);
      letters += 8 - (size_t)((other >> 7) * RP_BYTES(1) >> 56); /* one for each of the bytes */
      chars += 8;
    }
    if (at == line.n) break;
    letters += is_letter(char_at(line, at));
    at += RP_MAX(rp__utf8_len(line.p + at, line.p + line.n), 1u);
  }
  return chars > SIGNS_MIN && letters * 100 < chars * LETTERS_OF_100;
}
