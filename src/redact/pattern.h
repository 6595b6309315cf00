/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The patterns of credentials, as a table. A row is tried where one of its literals occurs. Its expression is anchored
 * there (for rows about names: at the end of the whole name), sees at most `window` bytes, and finds the beginning of
 * the secret. `run` says which further bytes belong to the secret, and `judge` decides by the look of the value where
 * an expression can't.
 *
 * The work stays linear because a window is short, or the expression begins with a lookbehind that holds at only one
 * place of a run.
 */
#ifndef RP_REDACT_PATTERN_H
#define RP_REDACT_PATTERN_H

#include <stdbool.h>

#include "base/macros.h"

/* Bytes that go on with a secret once its beginning is known. */
enum rp__run {
  RP_RUN_NONE = 0, /* the expression saw all of it */
  RP_RUN_VALUE,    /* up to the closing quote, or up to white space and what separates values */
  RP_RUN_TOKEN,    /* letters, digits, - and _ */
  RP_RUN_ENV,      /* the same behind NAME=, where , ; & | and ) separate nothing unless white space follows */
  RP_RUN_KEY,      /* the lines of a PEM block */
  RP_RUN_WORD,     /* up to white space */
};

enum rp__judge {
  RP_JUDGE_NONE = 0, /* the expression is proof enough */
  RP_JUDGE_NAMED,    /* name = value: a literal, no code, no placeholder */
  RP_JUDGE_ELEMENT,  /* <name>value</name> */
  RP_JUDGE_TOLD,     /* "the password is …" */
  RP_JUDGE_FLAG,     /* --name value */
  RP_JUDGE_HEADER,   /* Authorization: [scheme] value */
  RP_JUDGE_RANDOM,   /* long enough, letters and digits */
  RP_JUDGE_FILLED,   /* anything but a placeholder */
  RP_JUDGE_PAIR,     /* "name", "value": the words of a command, the arguments of a call, a name and its value */
  RP_JUDGE_USER,     /* the user of a URL: a token, no name */
  RP_JUDGE_USERPASS, /* user:value of a command */
  RP_JUDGE_LOGIN,    /* the same behind -u of any command: it looks like a credential by itself */
};

struct rp__pattern {
  const char *name;
  const char *const *literals; /* lower case, any case in the text; NULL: those of the row before */
  const char *expression;
  size_t window;
  enum rp__run run;
  enum rp__judge judge;
  bool by_name; /* the literal is part of a name: tried behind the name if that is a credential's */
};

#define RP_PATTERNS_MAX 64
extern const struct rp__pattern rp__patterns[];
extern const size_t rp__patterns_n;

#endif
