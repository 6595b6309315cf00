/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The syntax of a search: words, "phrases in quotes", beginnings*. All of them must be
 * found. A word is a run of letters, digits and bytes beyond ASCII; case does not
 * matter.
 */
#ifndef RP_STORE_WORDS_H
#define RP_STORE_WORDS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/error.h"

#define RP_TERMS_MAX 32

struct rp__term {
  struct rp__str text; /* borrowed; may hold several words, which must follow each other */
  bool prefix;         /* the last one may go on */
};

struct rp__terms {
  struct rp__term term[RP_TERMS_MAX];
  size_t n;
};

/* RP_E_USAGE when there is nothing to look for or too much. `words` must outlive the terms. */
RP_MUST_USE int rp__terms_parse(const char *words, struct rp__terms *ret, rp_error *err);

/* The first place at or after `from` where the term is, as [*ret_start, *ret_end). */
bool rp__term_find(const struct rp__term *t, struct rp__str text, size_t from, size_t *ret_start, size_t *ret_end);

/* A line of the text around what was found first, with the words found between [ and ]. */
void rp__snippet(const struct rp__terms *t, struct rp__str text, struct rp__buf *out);

#endif
