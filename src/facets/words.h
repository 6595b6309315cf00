/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of events and their words, for facets that search them. Nothing here allocates. */
#ifndef RP_FACETS_WORDS_H
#define RP_FACETS_WORDS_H

#include "base/text.h"
#include "json/json.h"

#define RP_TEXT_HEAD 8192 /* bytes of a text that are looked at */
#define RP_WORD_MAX 48    /* longer runs of letters are no words */

/* The first RP_TEXT_HEAD bytes of a string, decoded and cut at a character: borrowed from it, or put into `room`. */
struct rp__str rp__text_head(struct rp__json string, char room[RP_TEXT_HEAD]);

/*
 * The texts of a message by a user or an assistant: its content, or the text blocks of it, RP_TEXT_HEAD bytes in
 * all. Tools and systems say nothing of their own, and what is only thought is not said.
 */
struct rp__texts {
  struct rp__json content;
  struct rp__json_iter it;
  size_t seen;
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
bool rp__text_same(struct rp__str a, struct rp__str b); /* ASCII letters in any case */

/*
 * Words worth counting: in lower case, of letters, digits, - and _, at least three characters (two with a digit),
 * none of the stop words, no numbers and no hashes. Compound names (lbf-ham-radio) are one word.
 */
struct rp__word {
  char text[RP_WORD_MAX + 16]; /* zeroes behind the text */
  size_t n;
  bool follows; /* the word before it in the text was one too, with nothing but space between */
};
struct rp__words {
  const char *at, *end;
  bool joined; /* what was read last was a word */
};
static inline struct rp__words rp__words(struct rp__str text)
{
  return (struct rp__words){text.p, text.p + text.n, false};
}
bool rp__words_next(struct rp__words *w, struct rp__word *ret);

#endif
