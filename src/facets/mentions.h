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
  bool completed; /* its sentence says done, completed, finished, closed or merged, and does not deny it */
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

/* The row with that id, ASCII letters in any case; count when there is none. */
size_t rp__mention_row(const struct rp__rows *tasks, struct rp__str id);

#endif
