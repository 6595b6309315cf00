/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the digest share. */
#ifndef RP_FACETS_DIGEST_IMPL_H
#define RP_FACETS_DIGEST_IMPL_H

#include "facets/digest/digest.h"
#include "facets/digest/prose.h"

static inline rp__cues rp__digest_cues(const struct rp__digest *d)
{
  return d->own;
}

/* Work that events tell of (digest-work.c). 0 or RP_E_NOMEM. */
int rp__digest_tool(struct rp__digest *d, const struct rp__event *ev);
int rp__digest_approval(struct rp__digest *d, const struct rp__event *ev);
int rp__digest_todo(struct rp__digest *d, struct rp__json items, int64_t at_ms);
/* A prompt comes while calls have no outcome: the user declined or stopped them. `said`: the prompt, or empty. */
int rp__digest_decline(struct rp__digest *d, struct rp__str said, int64_t at_ms);
/* The run stopped: what was under way is in doubt. */
void rp__digest_doubt(struct rp__digest *d);

/* What the user lays down in a prompt (digest-rules.c). 0 or RP_E_NOMEM. */
int rp__digest_rules(struct rp__digest *d, struct rp__str prompt, int64_t at_ms);
int rp__digest_choice(struct rp__digest *d, struct rp__str prompt, int64_t at_ms); /* before the answer is forgotten */

/* Adds a row behind the others, in place of one with the same first cell. */
struct rp__digest_cell {
  unsigned column;
  struct rp__str text;
  int64_t number; /* when text.p is NULL */
};
int rp__digest_put(struct rp__rows *rows, const struct rp__digest_cell *cells, size_t n, unsigned flags, int64_t at_ms);
#define RP_DIGEST_PUT(rows, flags, at_ms, ...)                                                                         \
  rp__digest_put(rows, (const struct rp__digest_cell[]){__VA_ARGS__},                                                  \
                 sizeof((const struct rp__digest_cell[]){__VA_ARGS__}) / sizeof(struct rp__digest_cell), flags, at_ms)
int64_t rp__digest_number(const struct rp__row *row, unsigned column);

#endif
