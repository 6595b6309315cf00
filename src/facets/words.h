/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of events and their words, for facets that search them. Nothing here allocates. */
#ifndef RP_FACETS_WORDS_H
#define RP_FACETS_WORDS_H

#include "base/text.h"
#include "json/json.h"
#include "json/scan.h"

#define RP_TEXT_HEAD 8192 /* bytes of a text that are looked at */
#define RP_WORD_MAX 48    /* longer runs of letters are no words */

/* The first `max` bytes of a string, decoded and cut at a character: borrowed from it, or put into `room`. */
struct rp__str rp__text_begin(struct rp__json string, size_t max, char room[RP_TEXT_HEAD]);
static inline struct rp__str rp__text_head(struct rp__json string, char room[RP_TEXT_HEAD])
{
  return rp__text_begin(string, RP_TEXT_HEAD, room);
}

/*
 * The texts of a message by a user or an assistant: its content, or the text blocks of it, `max` bytes in all
 * (RP_TEXT_HEAD, unless the caller wants fewer). Tools and systems say nothing of their own, and what is only thought
 * is not said.
 */
struct rp__texts {
  struct rp__json content;
  struct rp__json_iter it;
  size_t seen, max;
  bool user; /* not the assistant */
  char room[RP_TEXT_HEAD];
};
void rp__texts_begin(struct rp__texts *t, struct rp__json body);
bool rp__texts_next(struct rp__texts *t, struct rp__str *ret);

/* Whether the byte may stand inside an identifier; all bytes of characters beyond ASCII may. */
static inline bool rp__is_word_byte(char c)
{
  return rp__is_alnum(c) || c == '_' || c == '-' || (signed char)c < 0;
}
/*
 * Whether the character that begins at `at` belongs to a word. Punctuation and symbols do not; nor do the characters of
 * scripts that put no spaces between words, for a name may stand directly beside them.
 */
static inline bool rp__text_in_word(struct rp__str text, size_t at)
{
  unsigned char c = (unsigned char)text.p[at];
  return c < 0x80 ? rp__is_word_byte((char)c) : c != 0xc2 && c < 0xe2; /* U+00C0 to U+1FFF */
}
/* Whether a word may begin at `at`, and whether one may begin or end there. */
bool rp__text_begins_word(struct rp__str text, size_t at);
bool rp__text_bound(struct rp__str text, size_t at);
/* Whether the text at `at` begins with `s` (lower case), whatever its case. */
bool rp__text_begins(struct rp__str text, size_t at, struct rp__str lower);
/* Whether the text has `name`, ASCII letters in any case, between words. */
bool rp__text_has(struct rp__str text, struct rp__str name);
bool rp__text_same(struct rp__str a, struct rp__str b); /* ASCII letters in any case */

/*
 * Words worth counting: in lower case, of letters, digits, - and _, at least three characters (two with a digit), none
 * of the stop words, no numbers and no hashes. Compound names (lbf-ham-radio) are one word. Of scripts without spaces,
 * a run of one script is one.
 */
enum rp__word_listed { RP_WORD_UNLISTED, RP_WORD_STOP, RP_WORD_GENERAL }; /* sections of words.ini */
struct rp__word {
  char text[RP_WORD_MAX + 16]; /* zeroes behind the text */
  size_t n;
  uint32_t hash;
  const char *raw; /* the same bytes in the text that was read, in their own case */
  enum rp__word_listed listed;
  bool follows; /* the word before it in the text was one too, with nothing but space between */
  bool dotted;  /* a name with a dot in it */
  bool joined;  /* of a script without spaces … */
  bool scrap;   /* … and nobody can tell whether it is a word */
};
struct rp__words {
  const char *at, *end, *from;
  bool joined; /* what was read last was a word */
  bool names;  /* names with dots (fly.toml) are one word; folders of paths, addresses and tags are none */
};
static inline struct rp__words rp__words(struct rp__str text)
{
  return (struct rp__words){.at = text.p, .end = text.p + text.n, .from = text.p};
}
bool rp__words_next(struct rp__words *w, struct rp__word *ret);

/* The hash of a word; tools/words.py has the same. `text` has zeroes up to the next multiple of eight behind its end.
 */
static inline uint32_t rp__word_hash(const char *text, size_t n)
{
  uint64_t h = n;
  for (size_t i = 0; i < n; i += 8) {
    h = (h ^ rp__load8(text + i)) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
  }
  return (uint32_t)(h >> 16);
}
/* Both have such zeroes, so that eight bytes can be compared at once; most words need one or two steps. */
static inline bool rp__word_same(const char *a, const char *b, size_t n)
{
  for (size_t i = 0; i < n; i += 8)
    if (rp__load8(a + i) != rp__load8(b + i)) return false;
  return true;
}

#endif
