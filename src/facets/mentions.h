/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tasks that a text mentions, and whether the text calls them completed. */
#ifndef RP_FACETS_MENTIONS_H
#define RP_FACETS_MENTIONS_H

#include "facets/rows.h"

#define RP_MENTIONS_MAX 16 /* told of one text */

enum rp__mention_kind {
  RP_MENTION_KNOWN, /* the id of a row */
  RP_MENTION_FORM,  /* task-<letters, digits, - and _> */
  RP_MENTION_TOKEN, /* some other word with a digit in it, which may be the id of a task to come */
};

struct rp__mention {
  struct rp__str id; /* as it stands in the text */
  enum rp__mention_kind kind;
  bool completed;        /* its clause says that it is done, and does not ask, deny or foretell that (completion.h) */
  struct rp__str clause; /* of a message: the clause it stands in, */
  struct rp__str line;   /* and the line */
};

struct rp__mentions {
  struct rp__mention v[RP_MENTIONS_MAX];
  size_t n;
};

/* What a message says: mentions of known ids, and of the form when it has a digit ("task-oriented" is no task). */
void rp__mentions_in_message(const struct rp__rows *tasks, struct rp__str text, struct rp__mentions *ret);
/* What a pin may name: all three kinds. `completed` is not told. Adds to *ret. */
void rp__mentions_in_pin(const struct rp__rows *tasks, struct rp__str text, struct rp__mentions *ret);
/* Whether a text says that something is incomplete: incomplete, todo, in progress, unfinished, pending, wip, [task]. */
bool rp__says_incomplete(struct rp__str text);

#define RP_MENTION_TITLE 80 /* characters */

/*
 * A title for a task that is known from a mention: the clause, without marks of lists and without an id that is set off
 * from it ("task-3: fix the login"), cut at a word. The id where the clause is nothing else, or is no prose but a line
 * of a log. *out is empty before. 0 or RP_E_NOMEM.
 */
int rp__mention_title(const struct rp__mention *m, struct rp__buf *out);

/* The row with that id, ASCII letters in any case; count when there is none. */
size_t rp__mention_row(const struct rp__rows *tasks, struct rp__str id);

#endif
