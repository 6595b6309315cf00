/* SPDX-License-Identifier: Apache-2.0 */
/* A taker that writes down what comes, and a giver that folds it and gives it back. */
#ifndef FORMAT_TEST_H
#define FORMAT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "facets/table.h"
#include "core/fold.h"
#include "format/format.h"

#define BOOK_EVENTS 2000
#define BOOK_SESSIONS 16

struct page {
  int64_t at;
  char kind[64];
  char *body;
};

/* What came: sessions, and the events of all of them one after the other. */
struct book {
  struct rp__foreign session[BOOK_SESSIONS];
  size_t first[BOOK_SESSIONS + 1]; /* of each session's events */
  size_t n_sessions, ended;
  struct page event[BOOK_EVENTS];
  size_t n;
  char notes[2000];
  char failed[500];
  char secrets[500];     /* a line each */
  bool skip;             /* has everything already */
  struct rp__fold *fold; /* of the session given last */
};

struct rp__taker book_taker(struct book *b);
void book_clear(struct book *b);
/* Imports bytes with the format (NULL: the one detected). */
int book_import(struct book *b, const char *format, const void *bytes, size_t n, rp_error *err);
/* The first event of that kind in the session, as JSON ("" when there is none). */
const char *book_find(const struct book *b, size_t session, const char *kind, size_t nth);
size_t book_count(const struct book *b, size_t session, const char *kind);

/* The session as an exporter sees it; `out` gets what it writes. */
int book_export(struct book *b, size_t session, const char *format, struct rp__buf *out, rp_error *err);
int book_giver(struct book *b, size_t session, struct rp__giver *ret, rp_error *err);

#define HAS(text, part)                                                                                                \
  do {                                                                                                                 \
    if (!strstr(text, part)) fail_msg("'%s' is not in:\n%.4000s", part, text);                                         \
  } while (0)
#define HAS_NOT(text, part)                                                                                            \
  do {                                                                                                                 \
    if (strstr(text, part)) fail_msg("'%s' is in:\n%.4000s", part, text);                                              \
  } while (0)

#endif
