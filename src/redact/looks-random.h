/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges a text by its characters alone: random, a placeholder, prose, a path. A name such as "token" is weak evidence,
 * so its value counts as a credential only when it looks like one by itself.
 */
#ifndef RP_REDACT_LOOK_H
#define RP_REDACT_LOOK_H

#include <stdbool.h>

#include "base/text.h"

struct rp__look {
  size_t lower, upper, digit, space, other; /* other: neither letter, digit, white space nor _ - */
  size_t joiner;                            /* _ and - */
  size_t wide;                              /* of lower: bytes beyond ASCII */
};
struct rp__look rp__look_at(struct rp__str s);

static inline bool rp__look_letter(const struct rp__look *l)
{
  return l->lower + l->upper > 0;
}

/* Letters and digits in an order that no name or word has ("kLm9pQ", hexadecimal, base64), in a part of the text. */
bool rp__look_random(struct rp__str s);
/* Empty, ***, %s, ${TOKEN}, <your-token>, "example", "string", RP_MASK. */
bool rp__look_placeholder(struct rp__str s, const struct rp__look *l);
/* A sentence or a label: function words, a full stop, letters beyond ASCII. */
bool rp__look_prose(struct rp__str s);
/* A URL or the name of a file. */
bool rp__look_path(struct rp__str s, const struct rp__look *l);
/* sha256, uint32_t, base64, v1beta1, arg1: a term or a variable with a number in it. */
bool rp__look_term(struct rp__str s);

/* For those that read values: byte classes and small sets of words. */
static inline bool rp__look_word(char c) /* a letter, a digit or _ */
{
  return rp__is_alnum(c) || (c & 0x80) || c == '_';
}
bool rp__look_one_of(struct rp__str s, const char *const *set); /* in any case of letters */
bool rp__look_has(struct rp__str s, const char *needle);
bool rp__look_mentions(struct rp__str s, const char *const *needles); /* in any case of letters */
#define RP_LOOK_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
