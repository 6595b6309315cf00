/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for secrets at the places that the prefilter found, shared by the functions on texts, tails and streams.
 */
#ifndef RP_REDACT_FIND_H
#define RP_REDACT_FIND_H

#include "redact/pattern.h"
#include "redact/prefilter.h"
#include "redact/redact.h"

struct rp__span {
  struct rp__secret secret;
  enum rp__run run; /* what would go on with it */
  char quote;       /* a value inside quotes: which; else 0 */
};

struct rp__spans {
  struct rp__span *p;
  size_t n, cap;
};
void rp__spans_done(struct rp__spans *s);
/* Sorts them; what overlaps becomes one. */
void rp__spans_merge(struct rp__spans *s);
int rp__spans_add(struct rp__spans *s, const struct rp__span *span);
#define RP_AUTOSPANS RP_CLEANUP(rp__spans_done)

/*
 * All secrets whose literal stands at `from` or behind it, in order, none overlapping. `more`: text may follow, so the
 * search ends at *ret_open, the first place whose meaning the next bytes could change (n: none); spans lie before it.
 */
int rp__find(const struct rp__redactor *r, const char *text, size_t n, size_t from, bool more, struct rp__spans *ret,
             size_t *ret_open);

/* Where the first name of a credential, or the first line of a key, begins; n when there is none. */
size_t rp__find_begin(const struct rp__redactor *r, const char *text, size_t n);
/* Whether a vendor's token begins there: the literal is part of the secret. */
bool rp__find_token(const struct rp__redactor *r, const char *text, size_t n, size_t at);

/* Where a secret that reaches `at` ends, going on from there. */
size_t rp__run_end(enum rp__run run, char quote, const char *text, size_t n, size_t at);

/* Where a mask at the end of a stored text stands for a secret that may go on behind it, and with which bytes; n when
 * there is none. */
size_t rp__mask_open(const char *text, size_t n, enum rp__run *ret_run, char *ret_quote);

/* Appends text[from, to) with the spans masked; counts them into *hits. */
void rp__spans_write(const struct rp__spans *s, const char *text, size_t from, size_t to, struct rp__buf *out,
                     size_t *hits);

#endif
