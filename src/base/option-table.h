/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of options: a row says the name, type, bounds, default and meaning of an option, and at which member of a
 * struct its value is kept. A text is parsed once, into that member; readers load the member.
 */
#ifndef RP_BASE_OPTION_TABLE_H
#define RP_BASE_OPTION_TABLE_H

#include "base/buf.h"
#include "base/enum-words.h"

enum rp__option_type {
  RP_OPTION_BOOL,
  RP_OPTION_INT,
  RP_OPTION_SIZE,
  RP_OPTION_REAL,
  RP_OPTION_SECONDS,
  RP_OPTION_DAYS,
  RP_OPTION_BYTES, /* written like 512M; empty: 0; a text that is no size: -1, which the reader refuses */
  RP_OPTION_WORD,
  RP_OPTION_TEXT,
};
/* The member of an option of that type. Times are in milliseconds; a text is borrowed from whoever keeps it. */
#define RP_OPTION_MEMBER_BOOL bool
#define RP_OPTION_MEMBER_INT int
#define RP_OPTION_MEMBER_SIZE size_t
#define RP_OPTION_MEMBER_REAL double
#define RP_OPTION_MEMBER_SECONDS int64_t
#define RP_OPTION_MEMBER_DAYS int64_t
#define RP_OPTION_MEMBER_BYTES int64_t
#define RP_OPTION_MEMBER_WORD int
#define RP_OPTION_MEMBER_TEXT const char *

enum rp__option_flag {
  RP_OPTION_GLOBAL = 1, /* one value for all scopes */
  RP_OPTION_SERVER =
      2, /* the server refuses a number out of bounds when it starts; elsewhere such a value is ignored */
};

struct rp__option {
  const char *name, *value /* the default */, *help;
  enum rp__option_type type;
  unsigned flags;
  size_t offset;            /* of the member */
  double min, max;          /* of a number; max 0: as much as the member can hold */
  const char *const *words; /* of RP_OPTION_WORD, ended by NULL; min is the value of the first */
};

enum rp__option_fit {
  RP_OPTION_FITS,
  RP_OPTION_FRACTION, /* cut to a whole number, for a member that is one */
  RP_OPTION_BOUNDS,   /* out of bounds; the member is as it was */
  RP_OPTION_NO_VALUE, /* not of the option's type; the member is as it was */
};

/* Parses the text into the option's member of `values`. */
enum rp__option_fit rp__option_set(const struct rp__option *o, const char *text, void *values);
/* The number at the option's member, in the unit of the option's name; false for a type that is none. */
bool rp__option_number(const struct rp__option *o, const void *values, double *ret);
double rp__option_max(const struct rp__option *o);
/* The values that the option takes, for a person: "one of coder, robot". */
void rp__option_expects(const struct rp__option *o, struct rp__buf *out);

#endif
