/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates over the words of texts. */
#include "facets/words.h"

#include <assert.h>

#include "base/utf8.h"
#include "json/scan.h"
#include "json/text.h"

/* ---- texts -------------------------------------------------------------------------- */

struct rp__str rp__text_begin(struct rp__json string, size_t max, char room[RP_TEXT_HEAD])
{
  assert(max <= RP_TEXT_HEAD);
  if (string.type != RP_JSON_STRING || string.n < 2) return RP_STR("");
  const char *at = string.p + 1;
  size_t n = string.n - 2;
  struct rp__str text = {at, RP_MIN(n, max)};
  if (memchr(at, '\\', text.n)) {
    /* Six bytes are the longest spelling of one. An escape is never torn. */
    const char *end = at + RP_MIN(n, 6 * max);
    text = (struct rp__str){room, 0};
    while (at < end && text.n + 4 <= max) {
      const char *stop = memchr(at, '\\', (size_t)(end - at));
      size_t plain = (size_t)((stop ? stop : end) - at);
      plain = RP_MIN(plain, max - text.n);
      memcpy(room + text.n, at, plain);
      text.n += plain;
      at += plain;
      if (at == stop && text.n + 4 <= max) text.n += rp__json_unescape(&at, end, room + text.n);
    }
  }
  if (text.n < n) text.n = rp__text_clip(text.p, text.n);
  return text;
}

void rp__texts_begin(struct rp__texts *t, struct rp__json body)
{
  static const char *const names[] = {"role", "thought", "content"};
  struct rp__json member[RP_ARRAY_SIZE(names)];
  rp__json_members(body, names, RP_ARRAY_SIZE(names), member);
  t->user = rp__json_eq(member[0], "user");
  bool speaks = t->user || rp__json_eq(member[0], "assistant");
  t->content = speaks && member[1].type != RP_JSON_TRUE ? member[2] : (struct rp__json){0};
  t->it = (struct rp__json_iter){0};
  t->seen = 0;
  t->max = RP_TEXT_HEAD;
}

bool rp__texts_next(struct rp__texts *t, struct rp__str *ret)
{
  struct rp__json string = {0}, block;
  if (t->seen >= t->max) return false;
  if (t->content.type == RP_JSON_STRING) {
    string = t->content;
    t->content = (struct rp__json){0};
  }
  while (string.type != RP_JSON_STRING) {
    if (t->content.type != RP_JSON_ARRAY || !rp__json_next(t->content, &t->it, NULL, &block)) return false;
    string = rp__json_get(block, "text");
  }
  *ret = rp__text_begin(string, t->max - t->seen, t->room);
  t->seen += ret->n + 1; /* so that empty blocks come to an end too */
  return true;
}

bool rp__text_same(struct rp__str a, struct rp__str b)
{
  if (a.n != b.n) return false;
  for (size_t i = 0; i < a.n; i++)
    if (rp__ascii_lower(a.p[i]) != rp__ascii_lower(b.p[i])) return false;
  return true;
}

/* ---- words that are no topics ----------------------------------------------------------- */

struct listed {
  uint16_t at; /* of the text, in steps of eight bytes */
  uint8_t n;   /* 0: nothing here */
  uint8_t as;  /* enum rp__word_listed */
};
#include "words-table.h"

/* `text` has zeroes up to the next multiple of eight behind its end, as the table's words have. */
static enum rp__word_listed listed_as(const char *text, size_t n, uint32_t hash)
{
  for (uint32_t place = hash % LISTED_PLACES; listed[place].n; place = (place + 1) % LISTED_PLACES)
    if (listed[place].n == n && rp__word_same(listed_text + listed[place].at * (size_t)8, text, n))
      return (enum rp__word_listed)listed[place].as;
  return RP_WORD_UNLISTED;
}

/* ---- words ------------------------------------------------------------------------------ */

/* What a byte says of the word it is in. */
#define EXTENSION_MAX 5     /* bytes behind the last dot of a file's name */
#define HAN_WORD_MAX 18     /* bytes: six characters; a longer run has several words */
#define KATAKANA_WORD_MIN 9 /* bytes: three characters */

enum { LETTER = 1, BEYOND_HEX = 2, DIGIT = 4, JOINER = 8, BEYOND_ASCII = 16, TOO_LONG = 32 };
static const uint8_t made_of[256] = {
    ['0' ... '9'] = DIGIT,  ['a' ... 'f'] = LETTER,
    ['A' ... 'F'] = LETTER, ['g' ... 'z'] = LETTER | BEYOND_HEX,
    ['_'] = JOINER,         ['G' ... 'Z'] = LETTER | BEYOND_HEX,
    ['-'] = JOINER,         [0x80 ... 0xff] = BEYOND_ASCII,
};

/* What is no letter beyond ASCII: punctuation, symbols, arrows, boxes, private and pictures. */
static bool is_symbol(uint32_t u)
{
  static const struct {
    uint32_t from, to;
  } ranges[] = {{0x80, 0xbf},     {0xd7, 0xd7},       {0xf7, 0xf7},       {0x2000, 0x2bff}, {0x3000, 0x3004},
                {0x3008, 0x3020}, {0xe000, 0xf8ff},   {0xfe00, 0xfe6f},   {0xff00, 0xff0f}, {0xff1a, 0xff20},
                {0xfff0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};
  for (size_t i = 0; i < RP_ARRAY_SIZE(ranges); i++)
    if (u >= ranges[i].from && u <= ranges[i].to) return true;
  return false;
}

/* The capitals of Latin-1, Greek and Cyrillic; their small letters are as long in UTF-8. */
static uint32_t lower_beyond(uint32_t u)
{
  if (u >= 0xc0 && u <= 0xde) return u + 0x20;
  if (u >= 0x391 && u <= 0x3a9) return u + 0x20;
  if (u >= 0x410 && u <= 0x42f) return u + 0x20;
  if (u >= 0x400 && u <= 0x40f) return u + 0x50;
  if (u >= 0x100 && u <= 0x137 && u != 0x130 && u != 0x131) return u | 1;
  return u;
}

bool rp__text_begins(struct rp__str text, size_t at, struct rp__str lower)
{
  if (at > text.n || text.n - at < lower.n) return false;
  const char *p = text.p + at;
  for (size_t i = 0; i < lower.n;) {
    bool beyond = i + 1 < lower.n && ((uint8_t)p[i] & 0xe0) == 0xc0 && ((uint8_t)lower.p[i] & 0xe0) == 0xc0;
    if (beyond ? lower_beyond(rp__utf8_value(p + i, 2)) != rp__utf8_value(lower.p + i, 2)
               : rp__ascii_lower(p[i]) != lower.p[i])
      return false;
    i += beyond ? 2 : 1;
  }
  return true;
}

bool rp__text_begins_word(struct rp__str text, size_t at)
{
  size_t before = at;
  while (before > 0 && rp__is_continuation(text.p[--before])) continue;
  return at == 0 || !rp__text_in_word(text, before);
}

bool rp__text_bound(struct rp__str text, size_t at)
{
  return at >= text.n || !rp__text_in_word(text, at) || rp__text_begins_word(text, at);
}

/* Scripts that put no spaces between words; a run has letters of one of them, or of all others. */
enum script { NO_SCRIPT, SPACED, HAN, KATAKANA, HIRAGANA };

static enum script script_of(uint32_t u)
{
  if (u < 0x2e80) return SPACED;
  if (u >= 0x3041 && u <= 0x309f) return HIRAGANA;
  if ((u >= 0x30a0 && u <= 0x30ff) || (u >= 0xff66 && u <= 0xff9f)) return KATAKANA;
  bool han = (u >= 0x3400 && u <= 0x9fff) || (u >= 0xf900 && u <= 0xfaff) || u >= 0x20000;
  return han || (u >= 0x2e80 && u <= 0x3007) ? HAN : SPACED;
}

/* Whether a letter of Hiragana or Katakana begins there. */
static bool is_kana(const char *at, const char *end)
{
  return end - at >= 3 && (uint8_t)at[0] == 0xe3 && (uint8_t)at[1] >= 0x81 && (uint8_t)at[1] <= 0x83;
}

bool rp__text_has(struct rp__str text, struct rp__str name)
{
  char lower[RP_WORD_MAX];
  if (name.n > sizeof lower) return false;
  for (size_t i = 0; i < name.n; i++) lower[i] = rp__ascii_lower(name.p[i]);
  struct rp__str small = {lower, name.n};
  for (size_t at = 0; at + name.n <= text.n; at++)
    if (rp__text_bound(text, at) && rp__text_begins(text, at, small) && rp__text_bound(text, at + name.n)) return true;
  return false;
}

/* A run of word bytes. */
struct run {
  size_t n, chars;
  unsigned made;
  enum script script;
};

/* A character beyond ASCII; false when it is no letter, and the run ends before it. */
static bool run_beyond(struct run *r, struct rp__words *in, struct rp__word *w)
{
  unsigned n = rp__utf8_len(in->at, in->end);
  if (n < 2) return false;
  uint32_t u = rp__utf8_value(in->at, n);
  if (is_symbol(u)) return false;
  enum script script = script_of(u);
  if (r->script && r->script != script) return false;
  r->script = script;
  if (r->n + n > RP_WORD_MAX) r->made |= TOO_LONG;
  r->made |= LETTER | BEYOND_HEX;
  r->chars += u >= 0x2e80 ? 2 : 1; /* two of these characters say as much as a word */
  if (!(r->made & TOO_LONG)) {
    uint32_t l = n == 2 ? lower_beyond(u) : u;
    memcpy(w->text + r->n, in->at, n);
    if (l != u) memcpy(w->text + r->n, (char[]){(char)(0xc0 | l >> 6), (char)(0x80 | (l & 0x3f))}, 2);
    r->n += n;
  }
  in->at += n;
  return true;
}

/* Skips what stands behind an apostrophe inside a word; false when that makes it a short form ("don't"). */
static bool skip_apostrophe(struct rp__words *in)
{
  const char *p = in->at;
  size_t n = 0;
  if (p < in->end && *p == '\'')
    p++;
  else if (in->end - p >= 3 && memcmp(p, "\xe2\x80\x99", 3) == 0)
    p += 3;
  else
    return true;
  while (p + n < in->end && (made_of[(unsigned char)p[n]] & LETTER)) n++;
  if (n == 0) return true;
  in->at = p + n;
  return n == 1 && (*p | 0x20) == 's';
}

/*
 * Whether the dot before the rest joins two parts of one name, as in fly.toml: behind it is what may end a file's name.
 * A sentence that begins directly behind a dot begins with a capital.
 */
static bool joins_name(const struct rp__words *in)
{
  const char *p = in->at + 1, *end = in->end;
  size_t n = 0, lower = 0;
  for (; p + n < end && n <= EXTENSION_MAX && rp__is_alnum(p[n]); n++) lower += rp__is_lower(p[n]) != 0;
  if (n == 0 || n > EXTENSION_MAX || rp__is_digit(*p) || !rp__is_alnum(in->at[-1])) return false;
  if (p + n < end && (made_of[(unsigned char)p[n]] & (JOINER | BEYOND_ASCII))) return false;
  return !(rp__is_upper(*p) && lower);
}

/* Reads any run of word bytes; whether it may be a word. Not inline, so that the usual path stays short. */
static __attribute__((noinline)) bool run_word(struct rp__words *in, struct rp__word *w)
{
  struct run r = {0};
  const char *from = in->at;
  for (; in->at < in->end; in->at++) {
    unsigned is = made_of[(unsigned char)*in->at];
    while (is == BEYOND_ASCII && run_beyond(&r, in, w)) is = in->at < in->end ? made_of[(unsigned char)*in->at] : 0;
    bool dot = *in->at == '.' && in->names && r.n && r.script <= SPACED && joins_name(in);
    if ((is == 0 && !dot) || is == BEYOND_ASCII || r.script > SPACED) break;
    r.script = SPACED;
    w->dotted = w->dotted || dot;
    if (r.n == RP_WORD_MAX) r.made |= TOO_LONG;
    r.made |= is;
    r.chars++;
    if (!(r.made & TOO_LONG)) w->text[r.n++] = (char)(*in->at | (is & LETTER) << 5);
  }
  if (!skip_apostrophe(in) || (r.made & (LETTER | TOO_LONG)) != LETTER) return false;
  /* Dashes and underscores around a run are not part of the word; zeroes end it. */
  size_t lead = 0, n = r.n;
  while (n > 0 && made_of[(unsigned char)w->text[n - 1]] == JOINER) n--;
  while (lead < n && made_of[(unsigned char)w->text[lead]] == JOINER) lead++;
  if (lead) memmove(w->text, w->text + lead, n - lead);
  r.chars -= r.n - (n - lead);
  w->n = r.n = n - lead;
  w->raw = from + lead;
  memset(w->text + w->n, 0, 16);
  if (r.script > SPACED) {
    /* Without a dictionary only Japanese shows where a word ends: Han and Katakana stand between Hiragana. */
    bool beside = is_kana(in->at, in->end) || (from - in->from >= 3 && is_kana(from - 3, from));
    w->scrap = r.script == HAN ? !beside || r.n > HAN_WORD_MAX : r.n < KATAKANA_WORD_MIN;
    w->joined = true;
    if (r.script == HIRAGANA) return false;
  }
  bool hash = (r.made & DIGIT) && !(r.made & BEYOND_HEX) && r.n >= 12;
  return !hash && r.chars >= (r.made & DIGIT ? 2 : 3);
}

/*
 * Reads a run of ASCII letters, eight at a time; false, with nothing read, when the run has something else in it, an
 * apostrophe behind it, or the end of the text near. Nearly all words of most languages are read here.
 */
static bool run_letters(struct rp__words *in, struct rp__word *w)
{
  const char *from = in->at, *end = in->end, *p = from;
  unsigned n = 8;
  for (; n == 8 && p - from < RP_WORD_MAX && end - p >= 8; p += n) {
    uint64_t x = rp__load8(p), lower = x | RP_BYTES(0x20), ascii = lower & RP_BYTES(0x7f);
    /* The high bit of each byte that is no letter: beyond ASCII, above z, or below a. */
    uint64_t other = (x | (ascii + RP_BYTES(0x7f - 'z')) | ~(ascii + RP_BYTES(0x80 - 'a'))) & RP_BYTES(0x80);
    n = other ? (unsigned)__builtin_ctzll(other) / 8 : 8;
    uint64_t letters = htole64(n == 8 ? lower : lower & ~(UINT64_MAX << 8 * n));
    memcpy(w->text + (p - from), &letters, sizeof letters);
  }
  if (p == end || made_of[(unsigned char)*p] != 0 || *p == '\'' || (*p == '.' && in->names)) return false;
  w->raw = from;
  w->n = (size_t)(p - from);
  memset(w->text + w->n, 0, 16);
  in->at = p;
  return true;
}

/* Moves to the next run; whether nothing but space was on the way. */
static bool skip_between(struct rp__words *in)
{
  const char *at = in->at, *end = in->end;
  while (at < end && (*at == ' ' || *at == '\t')) at++;
  const char *behind_space = at;
  while (at < end) {
    unsigned is = made_of[(unsigned char)*at], n = 1;
    if (is == BEYOND_ASCII) {
      n = rp__utf8_len(at, end);
      if (n >= 2 && !is_symbol(rp__utf8_value(at, n))) break;
    } else if (is != 0) {
      break;
    }
    at += RP_MAX(n, 1);
  }
  in->at = at;
  return at == behind_space;
}

/* Where names are read, addresses, the folders of a path and tags of markup are passed over. */
static bool is_passed(struct rp__words *in, const struct rp__word *w)
{
  char before = w->raw > in->from ? w->raw[-1] : ' ', behind = in->at < in->end ? *in->at : ' ';
  if (behind == ':' && in->end - in->at > 3 && memcmp(in->at, "://", 3) == 0) {
    while (in->at < in->end && (unsigned char)*in->at > ' ' && (signed char)*in->at > 0) in->at++;
    return true;
  }
  bool path = before == '/' || before == '\\' || before == '~';
  if (before == '/' && w->raw - in->from >= 2 && w->raw[-2] == '<') return true;
  return before == '<' || (path && (behind == '/' || behind == '\\'));
}

bool rp__words_next(struct rp__words *in, struct rp__word *ret)
{
  for (;;) {
    bool space = skip_between(in), joined = in->joined;
    if (in->at >= in->end) return false;
    ret->dotted = ret->scrap = ret->joined = false;
    bool word = run_letters(in, ret) ? ret->n >= 3 : run_word(in, ret);
    if (word && in->names && is_passed(in, ret)) word = false;
    in->joined = false;
    if (!word) continue;
    ret->hash = rp__word_hash(ret->text, ret->n);
    ret->listed = listed_as(ret->text, ret->n, ret->hash);
    if (ret->listed == RP_WORD_STOP) continue;
    if (ret->dotted && !ret->listed) {
      char stem[RP_WORD_MAX + 16] = {0};
      size_t n = strcspn(ret->text, ".");
      memcpy(stem, ret->text, n);
      ret->listed = listed_as(stem, n, rp__word_hash(stem, n)) ? RP_WORD_GENERAL : RP_WORD_UNLISTED;
    }
    in->joined = !ret->joined;
    ret->follows = joined && space && !ret->joined;
    return true;
  }
}
