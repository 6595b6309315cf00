/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of a tool as a table. The JSON Schema for clients is written from the rows that also check the
 * arguments, so that the two can't differ.
 */
#ifndef RP_BRIDGE_ARGS_H
#define RP_BRIDGE_ARGS_H

#include <stdbool.h>

#include "json/json.h"

#define RP_TAKES_MAX 8 /* rows of one table */

enum rp__takes_type {
  RP_TAKES_TEXT,  /* a string of min to max characters */
  RP_TAKES_WORD,  /* one of `words` */
  RP_TAKES_INT,   /* min to max */
  RP_TAKES_REAL,  /* min to max */
  RP_TAKES_TEXTS, /* an array of at most `max` strings, none empty or over RP_TAKES_ITEM_MAX characters */
};
#define RP_TAKES_ITEM_MAX 64

struct rp__takes {
  const char *name, *about; /* a NULL name ends the table */
  enum rp__takes_type type;
  bool required;
  const char *const *words; /* ends with NULL */
  double min, max;
  const char *also; /* another name that is taken for it, and not told of: the seed's; or NULL */
};

/* The schema: an object, additionalProperties false, plain types. */
void rp__takes_schema(const struct rp__takes *rows, struct rp__jw *w);
/*
 * Checks an object (NONE is an empty one) and gives each row's value, NONE where it is absent, in the rows' order.
 * RP_E_INVALID naming the argument, with what is taken as the hint.
 */
RP_MUST_USE int rp__takes_check(const struct rp__takes *rows, struct rp__json args, struct rp__json ret[RP_TAKES_MAX],
                                rp_error *err);
/* A checked whole number, or what stands for one that was not given. */
int rp__takes_int(struct rp__json v, int otherwise);

#endif
