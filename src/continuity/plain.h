/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored text made fit for one line of a brief: control characters and every kind of line end become spaces, runs of
 * them one, none at either end; what is no UTF-8 becomes U+FFFD; at most `max` characters, the last of them an
 * ellipsis when there was more. So no stored text can look like a line of ours.
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
