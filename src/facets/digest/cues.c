/* SPDX-License-Identifier: Apache-2.0 */
/* Compares texts with the lists of cues. */
#include "facets/digest/cues.h"

#include "base/text.h"
#include "base/utf8.h"
#include "json/text.h"

#define SIGNS_MIN 20      /* bytes; a shorter line may well be signs alone */
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
  for (const char *at = text.p, *end = text.p + text.n; at < end;) {
    unsigned n = rp__utf8_len(at, end);
    uint32_t c = n > 1 ? rp__utf8_value(at, n) : (uint8_t)*at;
    if (n <= 1)
      rp__buf_char(out, rp__ascii_lower(*at));
    else if (n == 2 && rp__utf8_lower(c) != c) {
      c = rp__utf8_lower(c);
      rp__buf_add(out, (char[]){(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f))}, 2);
    } else if (c == 0x2019)
      rp__buf_char(out, '\'');
    else
      rp__buf_add(out, at, n);
    at += RP_MAX(n, 1u);
  }
}

/* The character that begins at a byte. */
static uint32_t char_at(struct rp__str s, size_t at)
{
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

/* Bytes of the longest phrase of the list that stands at that byte; 0: none. */
static size_t longest_at(rp__cues more, enum rp__cue_list list, struct rp__str s, size_t at)
{
  size_t best = 0;
  unsigned b = ((uint8_t)s.p[at] * 31u + (at + 1 < s.n ? (uint8_t)s.p[at + 1] : 0)) % (RP_ARRAY_SIZE(cue_buckets) - 1);
  unsigned alone = (uint8_t)s.p[at] * 31u % (RP_ARRAY_SIZE(cue_buckets) - 1); /* phrases of one byte */
  for (unsigned pass = 0; pass < (alone == b ? 1 : 2); pass++) {
    unsigned of = pass ? alone : b;
    for (unsigned i = cue_buckets[of]; i < cue_buckets[of + 1]; i++) {
      const struct cue *c = &cues[i];
      if (c->list == list && c->n > best && stands_at(s, at, (struct rp__str){c->text, c->n}, c->goes_on)) best = c->n;
    }
  }
  if (more.n == 0) return best;
  struct rp__json_iter it = {0};
  struct rp__json own = rp__json_get(rp__json_trusted(more.p, more.n), rp__cue_list_names[list]), v;
  while (own.type == RP_JSON_ARRAY && rp__json_next(own, &it, NULL, &v)) {
    struct rp__str phrase = {v.p + 1, v.n - 2}; /* rp__cues_read writes no escapes */
    bool goes_on = phrase.n > 1 && phrase.p[phrase.n - 1] == '*';
    phrase.n -= goes_on;
    if (phrase.n > best && stands_at(s, at, phrase, goes_on)) best = phrase.n;
  }
  return best;
}

bool rp__cues_in(rp__cues more, enum rp__cue_list list, struct rp__str lower)
{
  uint32_t before = 0;
  for (size_t at = 0; at < lower.n;) {
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

bool rp__cues_is(rp__cues more, enum rp__cue_list list, struct rp__str text)
{
  char room[64];
  if (text.n == 0 || text.n > sizeof room) return false;
  for (size_t i = 0; i < text.n; i++) room[i] = rp__ascii_lower(text.p[i]);
  return longest_at(more, list, (struct rp__str){room, text.n}, 0) == text.n;
}

/* ---- log lines ------------------------------------------------------------------------ */

/* Whether the text begins as the pattern says; a run takes as little as it can. */
static bool pattern_fits(const char *pattern, struct rp__str s, size_t at)
{
  for (; *pattern; pattern++) {
    bool number = *pattern == '#', word = *pattern == '?', any = *pattern == '~';
    if (!number && !word && !any) {
      if (at == s.n || rp__ascii_lower(s.p[at]) != *pattern) return false;
      at++;
      continue;
    }
    size_t run = at;
    while (run < s.n && run - at < 128) {
      char c = s.p[run];
      if (number ? !rp__is_digit(c) : word ? !rp__is_alnum(c) && c != '_' : (unsigned char)c <= ' ') break;
      run++;
      if ((number || word) && run < s.n && run - at < 128 && (number ? rp__is_digit(s.p[run]) : false)) continue;
      if (pattern_fits(pattern + 1, s, run)) return true;
    }
    return false;
  }
  return true;
}

static bool is_letter(uint32_t c)
{
  return c < 0x80 ? rp__is_upper((char)c) || rp__is_lower((char)c) : is_word_char(c);
}

bool rp__cues_log_line(rp__cues more, struct rp__str line)
{
  while (line.n && (unsigned char)line.p[0] <= ' ') line.p++, line.n--;
  if (line.n == 0) return false;
  for (size_t i = 0; i < RP_ARRAY_SIZE(log_patterns); i++) {
    const char *p = log_patterns[i];
    if (p[0] != '#' && p[0] != '~' && p[0] != '?' && p[0] != rp__ascii_lower(line.p[0])) continue;
    if (pattern_fits(p, line, 0)) return true;
  }
  struct rp__json_iter it = {0};
  struct rp__json own = rp__json_get(rp__json_trusted(more.p, more.n), rp__cue_list_names[RP_CUE_LOG_LINES]), v;
  while (more.n && own.type == RP_JSON_ARRAY && rp__json_next(own, &it, NULL, &v)) {
    char pattern[128];
    if (v.n - 2 >= sizeof pattern) continue;
    memcpy(pattern, v.p + 1, v.n - 2);
    pattern[v.n - 2] = '\0';
    if (pattern_fits(pattern, line, 0)) return true;
  }
  size_t chars = 0, letters = 0;
  for (size_t at = 0; at < line.n; chars++) {
    letters += is_letter(char_at(line, at));
    at += RP_MAX(rp__utf8_len(line.p + at, line.p + line.n), 1u);
  }
  return chars > SIGNS_MIN && letters * 100 < chars * LETTERS_OF_100;
}
