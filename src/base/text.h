/* SPDX-License-Identifier: Apache-2.0 */
/* Text in fixed places: cut between characters, never inside one. */
#ifndef RP_BASE_TEXT_H
#define RP_BASE_TEXT_H

#include <stdarg.h>

#include "base/macros.h"

/* How many of the first `n` bytes of `s` to keep so that the last character is whole; reads no further than n. */
size_t rp__text_clip(const char *s, size_t n);
/* Formats into `out` of `size` bytes on one line (control characters become spaces), cut at a character. */
void rp__text_vformat(char *out, size_t size, const char *fmt, va_list args) RP_PRINTF(3, 0);
/* Copies, cut at a character. The two may not overlap. */
void rp__text_copy(char *out, size_t size, const char *s);

#endif
