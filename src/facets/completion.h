/* SPDX-License-Identifier: Apache-2.0 */
/* Words and phrases that say, in ten languages, whether a task is completed. */
#ifndef RP_FACETS_COMPLETION_H
#define RP_FACETS_COMPLETION_H

#include "facets/words.h"

enum rp__phrase_kind {
  RP_PHRASE_NONE,
  RP_PHRASE_DONE,      /* "finished": a task before it, or directly behind it, is completed */
  RP_PHRASE_STATE,     /* "complete": only a task before it; before a task the word is a request */
  RP_PHRASE_DENIES,    /* "not", "almost", "will", "needs": no completion in the same clause counts */
  RP_PHRASE_MODAL,     /* "will", "should": denies; at the beginning of a clause it asks */
  RP_PHRASE_PRECEDES,  /* "no", "after": a completion behind it in the same clause does not count */
  RP_PHRASE_CONDITION, /* "if", "once": no completion counts in this clause and in those that follow */
  RP_PHRASE_BREAK,     /* "but", "because": begins a clause */
  RP_PHRASE_AND,       /* "and": begins a clause, or goes on with a list of tasks */
  RP_PHRASE_SUBJECT,   /* "I": begins a clause with another subject where a task was named before */
  RP_PHRASE_SAME,      /* "it is": the clause speaks of the task named before */
  RP_PHRASE_ARTICLE,   /* "the": "the merged branch" completes nothing */
  RP_PHRASE_FILLER,    /* "both", "tasks", "with": may stand between a completion and its task */
  RP_PHRASE_ASKS,      /* "what": a question begins here */
};

struct rp__phrase {
  enum rp__phrase_kind kind;
  size_t n; /* its bytes in the text */
};

#define RP_PHRASES_MAX 1024

/* The phrases by their first byte, so that most words are compared with few of them. */
struct rp__phrases {
  int16_t first[256], n; /* -1: none */
  struct rp__listed {
    struct rp__str text;
    enum rp__phrase_kind kind;
    bool whole; /* it begins and ends where a word does */
    int16_t next;
  } v[RP_PHRASES_MAX];
};
void rp__phrases_init(struct rp__phrases *ret);

/* The longest phrase that stands at `at`, of two the earlier one; RP_PHRASE_NONE when there is none. */
struct rp__phrase rp__phrase_at(const struct rp__phrases *in, struct rp__str text, size_t at);

#endif
