/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a value in the place of a secret is one. Code has more names with "password" in them than secrets, so
 * values that read like code (identifiers, calls, members, types), like prose or like placeholders are left alone.
 */
#ifndef RP_REDACT_VALUE_H
#define RP_REDACT_VALUE_H

#include <stdbool.h>

#include "redact/key.h"
#include "redact/pattern.h"

struct rp__claim {
  struct rp__str name;  /* the whole name, for rows about names */
  struct rp__str joint; /* what stands between the name (or the literal) and the value */
  struct rp__str value;
  int before[2]; /* the byte before the name and the one before that, or -1 */
  int next[2];   /* the bytes behind the value, or -1 */
  bool quoted;
};

/* Whether a string that is the value of a member whose name has that class is a credential. */
bool rp__value_is_secret(enum rp__key_class class, struct rp__str value);

bool rp__claim_holds(enum rp__judge judge, const struct rp__claim *c);
/* NAME=p@ss;word: whether the value looks like the beginning of a password that a , or ; does not end. */
bool rp__claim_goes_on(const struct rp__claim *c);
/* Letters and digits without white space. */
bool rp__value_is_mixed(const char *s, size_t n);
/* A name in capitals, directly followed by = and the value, as in a shell or an .env file: what follows is literal. */
bool rp__claim_is_env(const struct rp__claim *c);

#endif
