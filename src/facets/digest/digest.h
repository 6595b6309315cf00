/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest of a session (B-13): what the user asked for and how it ended, the files that were changed, the commands
 * that failed last, commits, the agent's own todo list, what the user declined, and the rules that the user stated. It
 * is kept as events come, without a model, in any language; cues.ini has the words that it goes by.
 *
 * A digest is a facet's state. The record of an ended session holds the same in its saved form, which loads into the
 * same struct.
 */
#ifndef RP_FACETS_DIGEST_H
#define RP_FACETS_DIGEST_H

#include "facets/rows.h"
#include "facets/table.h"

#define RP_DIGEST_BYTES ((size_t)64 * 1024) /* of the saved form, at most */
#define RP_DIGEST_WIDTH 400                 /* of an earlier request and of an answer; prose.h tells what a width is */
#define RP_DIGEST_WHOLE 1800                /* bytes of the last request */

/* How a request ended. */
enum rp__request_end {
  RP_END_OPEN,     /* no answer came */
  RP_END_ANSWERED, /* answer: its first sentence and a trailing question */
  RP_END_CUT_OFF,  /* answer: the step that was announced last */
  RP_END_TOOL,     /* a tool was running, or had been declined */
  RP_END_CANCELLED,
  RP_END_FAILED,
  RP_END_REFUSED,
  RP_END_LIMIT,
  RP_ENDS,
};
extern const char *const rp__request_end_words[RP_ENDS];

/* Columns and flags of the lists; all are oldest first. */
enum { RP_REQUEST_TEXT, RP_REQUEST_ANSWER, RP_REQUEST_END, RP_REQUEST_SEQ, RP_REQUEST_TOOLS, RP_REQUEST_EDITS };
enum { RP_REQUEST_GO_ON = 1 << 0 }; /* it only let the agent go on, or was small talk */
enum { RP_FILE_PATH, RP_FILE_COUNT };
enum { RP_COMMAND_LINE, RP_COMMAND_ERROR, RP_COMMAND_CALL };
enum { RP_COMMIT_TEXT };
enum { RP_TODO_TEXT, RP_TODO_STATUS, RP_TODO_ID };
enum { RP_DECLINED_WHAT, RP_DECLINED_COUNT, RP_DECLINED_SAID };
enum { RP_RULE_TEXT };
enum { RP_RULE_LASTING = 1 << 0, RP_RULE_CHOSEN = 1 << 1 }; /* chosen: an option of the step under way */
enum { RP_CALL_ID, RP_CALL_WHAT, RP_CALL_DOES, RP_CALL_SEQ };
enum { RP_CALL_DOUBT = 1 << 0 }; /* the run stopped before it ended */

struct rp__digest {
  struct rp__rows requests; /* the last one without what is below */
  struct rp__rows files, commands, commits, todos, declined, rules;
  struct rp__rows calls; /* that have no outcome yet */
  int64_t n_calls, n_todos;

  /* Of the last request. */
  int64_t tools, edits;
  enum rp__request_end turn; /* as a `turn` event said; RP_END_OPEN: none did */
  struct rp__buf head, tail; /* of what the agent said last: the beginning, and the end when there is more */
  int64_t said_seq;          /* 0: nothing yet */
  int64_t message;           /* of its stream's message: a hash of its id */
  bool streaming;            /* it goes on */

  struct rp__buf cues;     /* the user's own, as JSON … */
  struct rp__cue_set *own; /* … and made from it */
  struct rp__buf root;     /* of a record: the folder that paths are told relative to */

  struct rp__buf scratch; /* kept between events so that one costs no allocation; no part of the state */
};

/* The digest of a fold; NULL of a fold that is NULL. Lasts until the fold changes. */
const struct rp__digest *rp__digest_of(const struct rp__fold *f);
void rp__digest_init(struct rp__digest *d);
void rp__digest_done(struct rp__digest *d);
bool rp__digest_empty(const struct rp__digest *d);
/* The saved form; with a root, which a record has. Nothing but a request makes a digest worth keeping. */
void rp__digest_write(const struct rp__digest *d, const char *root, struct rp__jw *w);
/* Fills an initialised digest. RP_E_SNAPSHOT_CORRUPT. */
RP_MUST_USE int rp__digest_load(struct rp__digest *d, struct rp__json v, rp_error *err);

/* One request, newest = rp__digest_count - 1. The answer is written into `room`, which is emptied first. */
struct rp__digest_request {
  struct rp__json text;
  struct rp__str answer; /* empty: none */
  enum rp__request_end end;
  int64_t at_ms, seq, tools, edits;
  bool go_on;
};
size_t rp__digest_count(const struct rp__digest *d);
int rp__digest_request(const struct rp__digest *d, size_t i, struct rp__buf *room, struct rp__digest_request *ret);
/* All that is kept of what the agent said last, appended. */
int rp__digest_said(const struct rp__digest *d, struct rp__buf *out);
/* The last request that says something: go-ons count for the one before. count when there is none. */
size_t rp__digest_asked(const struct rp__digest *d);
/* A path as people tell it: relative to `root`, or with ~ for somebody's home. Borrowed from `path`. */
struct rp__str rp__digest_path(struct rp__str path, struct rp__str root, bool *ret_home);
/* What a call was about to do; NONE when that is not known. */
struct rp__json rp__digest_doing(const struct rp__digest *d, struct rp__json call_id);

#endif
