/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates over the words of texts. */
#include "facets/words.h"

#include "base/utf8.h"
#include "json/scan.h"
#include "json/text.h"

/* ---- texts -------------------------------------------------------------------------- */

struct rp__str rp__text_head(struct rp__json string, char room[RP_TEXT_HEAD])
{
  if (string.type != RP_JSON_STRING || string.n < 2) return RP_STR("");
  const char *at = string.p + 1;
  size_t n = string.n - 2;
  struct rp__str text = {at, RP_MIN(n, (size_t)RP_TEXT_HEAD)};
  if (memchr(at, '\\', text.n)) {
    /* Six bytes are the longest spelling of one. An escape is never torn. */
    const char *end = at + RP_MIN(n, 6 * (size_t)RP_TEXT_HEAD);
    text = (struct rp__str){room, 0};
    while (at < end && text.n + 4 <= RP_TEXT_HEAD) {
      const char *stop = memchr(at, '\\', (size_t)(end - at));
      size_t plain = (size_t)((stop ? stop : end) - at);
      plain = RP_MIN(plain, RP_TEXT_HEAD - text.n);
      memcpy(room + text.n, at, plain);
      text.n += plain;
      at += plain;
      if (at == stop && text.n + 4 <= RP_TEXT_HEAD) text.n += rp__json_unescape(&at, end, room + text.n);
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
  bool speaks = rp__json_eq(member[0], "user") || rp__json_eq(member[0], "assistant");
  t->content = speaks && member[1].type != RP_JSON_TRUE ? member[2] : (struct rp__json){0};
  t->it = (struct rp__json_iter){0};
  t->seen = 0;
}

bool rp__texts_next(struct rp__texts *t, struct rp__str *ret)
{
  struct rp__json string = {0}, block;
  if (t->seen >= RP_TEXT_HEAD) return false;
  if (t->content.type == RP_JSON_STRING) {
    string = t->content;
    t->content = (struct rp__json){0};
  }
  while (string.type != RP_JSON_STRING) {
    if (t->content.type != RP_JSON_ARRAY || !rp__json_next(t->content, &t->it, NULL, &block)) return false;
    string = rp__json_get(block, "text");
  }
  *ret = rp__text_head(string, t->room);
  size_t left = RP_TEXT_HEAD - t->seen;
  if (ret->n > left) ret->n = rp__text_clip(ret->p, left);
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

/* ---- stop words ----------------------------------------------------------------------- */

#define STOP_MAX 9
#define AT(letter) [letter - 'a']

/* By their length and first letter, frequent ones first. */
static const char *const stops[STOP_MAX + 1][26] = {
    [3] = {AT('a') = "and are all any ago add ask",
           AT('b') = "but bit",
           AT('c') = "can",
           AT('d') = "did don due",
           AT('e') = "end etc",
           AT('f') = "for few",
           AT('g') = "get got",
           AT('h') = "has had how him his her",
           AT('i') = "its isn",
           AT('l') = "let lot",
           AT('m') = "may",
           AT('n') = "not now new nor non",
           AT('o') = "our out one off own old",
           AT('p') = "put per",
           AT('r') = "run",
           AT('s') = "she see say set",
           AT('t') = "the too two try",
           AT('u') = "use",
           AT('v') = "via",
           AT('w') = "was who why way www",
           AT('y') = "you yes yet"},
    [4] = {AT('a') = "also away able",
           AT('b') = "been both back best",
           AT('c') = "come call",
           AT('d') = "does done down dont didn",
           AT('e') = "each else even ever",
           AT('f') = "from fine feel full find",
           AT('g') = "good give gets goes gave",
           AT('h') = "have here hers help http home",
           AT('i') = "into",
           AT('j') = "just",
           AT('k') = "know keep kind",
           AT('l') = "like lets look last less left long",
           AT('m') = "more most much make made must many mean move",
           AT('n') = "need next note near name none",
           AT('o') = "over only once okay ours onto ones",
           AT('p') = "part",
           AT('s') = "some same such said sure says show soon step seem",
           AT('t') = "that this they then them than take time tell",
           AT('u') = "used upon uses",
           AT('v') = "very",
           AT('w') = "with will what when were want well work went",
           AT('y') = "your"},
    [5] = {AT('a') = "about after again above among",
           AT('b') = "being below begin",
           AT('c') = "could check comes clear",
           AT('d') = "doing doesn",
           AT('e') = "every",
           AT('f') = "first found",
           AT('g') = "going given great",
           AT('h') = "hello https",
           AT('k') = "known",
           AT('l') = "looks later least",
           AT('m') = "might means makes maybe",
           AT('n') = "never needs",
           AT('o') = "other often",
           AT('p') = "place point",
           AT('q') = "quite",
           AT('r') = "right ready",
           AT('s') = "still seems since small sorry start stuff",
           AT('t') = "there their these those thing think thank today",
           AT('u') = "using under until users",
           AT('w') = "would which where while works wants",
           AT('y') = "yours"},
    [6] = {AT('a') = "always around across", AT('b') = "before better behind beyond", AT('c') = "cannot called change",
           AT('d') = "during", AT('e') = "either enough", AT('h') = "having", AT('i') = "itself inside indeed",
           AT('l') = "little likely", AT('m') = "making myself", AT('o') = "others", AT('p') = "please",
           AT('r') = "really rather", AT('s') = "should", AT('t') = "things thanks", AT('u') = "unless",
           AT('w') = "within"},
    [7] = {AT('a') = "another already against", AT('b') = "because between", AT('c') = "current certain",
           AT('e') = "exactly example", AT('f') = "further", AT('h') = "himself herself however", AT('i') = "instead",
           AT('n') = "nothing", AT('p') = "perhaps", AT('q') = "quickly", AT('s') = "several", AT('t') = "through",
           AT('u') = "usually", AT('v') = "various", AT('w') = "without whether working"},
    [8] = {AT('a') = "actually", AT('p') = "possible projects probably", AT('r') = "redacted", AT('y') = "yourself"},
    [9] = {AT('d') = "different", AT('f') = "following", AT('i') = "important", AT('o') = "ourselves",
           AT('s') = "something", AT('y') = "yesterday"},
};
#undef AT

static bool is_stop(const struct rp__word *w)
{
  if (w->n > STOP_MAX || w->text[0] < 'a' || w->text[0] > 'z') return false;
  const char *at = stops[w->n][w->text[0] - 'a'];
  for (; at; at = at[w->n] ? at + w->n + 1 : NULL)
    if (at[1] == w->text[1] && at[2] == w->text[2] && memcmp(at, w->text, w->n) == 0) return true;
  return false;
}

/* ---- words ------------------------------------------------------------------------------ */

/* What a byte says of the word it is in. */
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

/* A run of word bytes. */
struct run {
  size_t n, chars;
  unsigned made;
};

/* A character beyond ASCII; false when it is no letter, and the run ends before it. */
static bool run_beyond(struct run *r, struct rp__words *in, struct rp__word *w)
{
  unsigned n = rp__utf8_len(in->at, in->end);
  if (n < 2) return false;
  uint32_t u = rp__utf8_value(in->at, n);
  if (is_symbol(u)) return false;
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

/* Reads any run of word bytes; whether it may be a word. Not inline, so that the usual path stays short. */
static __attribute__((noinline)) bool run_word(struct rp__words *in, struct rp__word *w)
{
  struct run r = {0};
  for (; in->at < in->end; in->at++) {
    unsigned is = made_of[(unsigned char)*in->at];
    while (is == BEYOND_ASCII && run_beyond(&r, in, w)) is = in->at < in->end ? made_of[(unsigned char)*in->at] : 0;
    if (is == 0 || is == BEYOND_ASCII) break;
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
  memset(w->text + w->n, 0, 16);
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
  if (p == end || made_of[(unsigned char)*p] != 0 || *p == '\'') return false;
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

bool rp__words_next(struct rp__words *in, struct rp__word *ret)
{
  for (;;) {
    bool space = skip_between(in), joined = in->joined;
    if (in->at >= in->end) return false;
    bool word = run_letters(in, ret) ? ret->n >= 3 : run_word(in, ret);
    in->joined = word && !is_stop(ret);
    ret->follows = joined && space;
    if (in->joined) return true;
  }
}
