/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled expressions: those of the table, each compiled when it is first needed, and those of the user. Several
 * threads may need the same expression at once: then each compiles it, and the first result is kept.
 */
#ifndef RP_REDACT_CODE_H
#define RP_REDACT_CODE_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdatomic.h>

#include "redact/find.h"

#define RP_OWN_MAX 64 /* expressions of a user at most */

struct rp__codes {
  pcre2_general_context *memory;
  pcre2_match_context *limits;
  _Atomic(pcre2_code *) rows[RP_PATTERNS_MAX];
  pcre2_code *own[RP_OWN_MAX];
  size_t n_own;
};

struct rp__redactor {
  struct rp__prefilter filter;
  struct rp__codes *codes; /* apart, because looking at text fills it in */
};

RP_MUST_USE int rp__codes_new(const char *own, struct rp__codes **ret, rp_error *err);
void rp__codes_free(struct rp__codes *c);
/* The row's code, or NULL without memory. */
const pcre2_code *rp__codes_row(struct rp__codes *c, size_t row);

/* What one try said. GAVE_UP: the limits were reached. */
enum rp__tried { RP_TRIED_NO, RP_TRIED_YES, RP_TRIED_OPEN, RP_TRIED_GAVE_UP, RP_TRIED_NOMEM };
struct rp__try {
  size_t start, end; /* of the group `secret`, or of all; for OPEN where the match would begin */
  size_t match_end;
};
/* One match of text[from, n). `data` has room for the code's groups. */
enum rp__tried rp__code_try(const struct rp__codes *c, const pcre2_code *code, pcre2_match_data *data, const char *text,
                            size_t n, size_t from, bool more, struct rp__try *ret);

/* Adds what the user's expressions find; lowers *open to where one of them may begin. */
int rp__own_find(const struct rp__codes *c, const char *text, size_t n, bool more, struct rp__spans *spans,
                 size_t *open);

#endif
