/* SPDX-License-Identifier: Apache-2.0 */
/* Text in buffers of fixed size: cut between characters, never inside one. */
#ifndef RP_BASE_TEXT_H
#define RP_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>

#include "base/macros.h"

/* Classes of ASCII characters, whatever the locale. */
static inline bool rp__is_digit(char c)
{
  return c >= '0' && c <= '9';
}
static inline bool rp__is_upper(char c)
{
  return c >= 'A' && c <= 'Z';
}
static inline bool rp__is_lower(char c)
{
  return c >= 'a' && c <= 'z';
}
static inline bool rp__is_alnum(char c)
{
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
static inline char rp__ascii_lower(char c)
{
  return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}
/* Whether a set has the character; none has NUL. */
static inline bool rp__is_in(char c, const char *set)
{
  return c != '\0' && strchr(set, c) != NULL;
}

#define RP_TEXT_SHOWN 60 /* bytes of what was given that a message tells back */

/* How many of the first `n` bytes of `s` to keep so that the last character is whole; reads no further than n. */
size_t rp__text_clip(const char *s, size_t n);
/* Formats into `out` of `size` bytes on one line (control characters become spaces), cut at a character. */
void rp__text_vformat(char *out, size_t size, const char *fmt, va_list args) RP_PRINTF(3, 0);
/* How many bytes of the text to keep, `max` at most, so that the last word is whole: half a credential is no longer
 * known for one. None of a single word that does not fit. */
size_t rp__text_clip_word(const char *s, size_t n, size_t max);
/* The text as a message tells it back, where a name or a word was expected: all of it or nothing, for the same
 * reason. Nothing of what is no name and has a digit, an assignment or a URL in it: it may be a credential. */
const char *rp__text_shown(const char *s);
/* Copies, cut at a character. The two may not overlap. */
void rp__text_copy(char *out, size_t size, const char *s);

#endif
