/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes stored text fit for one line of a brief, so that no stored text can look like a line of Reprise. A run of white
 * space, control characters and line ends of any kind becomes one space, and none stays at either end. Invalid UTF-8
 * becomes U+FFFD. The text has at most `max` characters; the last one is an ellipsis when text was cut.
 */
#ifndef RP_CONTINUITY_PLAIN_H
#define RP_CONTINUITY_PLAIN_H

#include "json/json.h"

struct rp__plain {
  struct rp__buf *out;
  size_t start, chars, max;
  size_t cut_at; /* where the last character that fits begins */
  char half[4];  /* bytes of a character that is not whole yet */
  unsigned n_half, want;
  bool gap, over;
};

struct rp__plain rp__plain_begin(struct rp__buf *out, size_t max);
void rp__plain_bytes(struct rp__plain *t, const char *s, size_t n);
/* Decoded; what is no string adds nothing. */
void rp__plain_json(struct rp__plain *t, struct rp__json string);
void rp__plain_gap(struct rp__plain *t);   /* a space, if something follows */
size_t rp__plain_end(struct rp__plain *t); /* returns how many characters were added */

/* The three in one go. */
size_t rp__plain_text(struct rp__buf *out, const char *s, size_t max);
size_t rp__plain_value(struct rp__buf *out, struct rp__json v, size_t max); /* numbers and booleans as they are */
/* The text of a message's content: a string, or the texts of content blocks. */
size_t rp__plain_content(struct rp__buf *out, struct rp__json content, size_t max);

#endif
