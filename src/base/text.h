/* SPDX-License-Identifier: Apache-2.0 */
/* Text in fixed places: cut between characters, never inside one. */
#ifndef RP_BASE_TEXT_H
#define RP_BASE_TEXT_H

#include <stdarg.h>

#include "base/macros.h"

#define RP_TEXT_SHOWN 60 /* bytes of what was given that a message tells back */

/* How many of the first `n` bytes of `s` to keep so that the last character is whole; reads no further than n. */
size_t rp__text_clip(const char *s, size_t n);
/* Formats into `out` of `size` bytes on one line (control characters become spaces), cut at a character. */
void rp__text_vformat(char *out, size_t size, const char *fmt, va_list args) RP_PRINTF(3, 0);
/* How many bytes of the text to keep, `max` at most, so that the last word is whole: half a credential is no longer
 * known for one. None of a single word that does not fit. */
size_t rp__text_clip_word(const char *s, size_t n, size_t max);
/* What a message tells back of a text that was given where a name or a word belongs: all of it or nothing, for the same
 * reason. Nothing of what is no name and has a digit, an assignment or a URL in it: it may be a credential. */
const char *rp__text_shown(const char *s);
/* Copies, cut at a character. The two may not overlap. */
void rp__text_copy(char *out, size_t size, const char *s);

#endif
