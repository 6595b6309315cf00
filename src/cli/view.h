/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the engine's documents, shown to a person. Stored text is made safe to show. */
#ifndef RP_CLI_VIEW_H
#define RP_CLI_VIEW_H

#include "cli/cli.h"

/* Appends a value in at most `columns` (0: any number): a string decoded, a missing one as "-", others as they stand.
 */
void rp__view_text(struct rp__buf *out, struct rp__json v, int columns);
/* The same, filled up to exactly `columns`. */
void rp__view_cell(struct rp__buf *out, struct rp__json v, int columns);
/* Appends "2026-01-31 13:00:00 CET", from an ISO text; anything else as rp__view_text. */
void rp__view_time(const struct rp__cli *c, struct rp__buf *out, struct rp__json v);
double rp__view_number(struct rp__json v, double otherwise);
/* A session's id, shortened where it is a UUID. */
void rp__view_id(struct rp__buf *out, struct rp__json v);

/* Appends a text of several lines, each behind `prefix`; only on a terminal made safe, for elsewhere it is data. */
void rp__view_lines(const struct rp__cli *c, struct rp__buf *out, const char *text, size_t n, const char *prefix);
/* A bold heading of its own line. */
void rp__view_heading(const struct rp__cli *c, struct rp__buf *out, const char *title);

/* Appends a bar for 0..1 and a space behind it; away from a terminal nothing. */
void rp__view_bar(const struct rp__cli *c, struct rp__buf *out, double value, const char *colour);
/* The affect part of a state document: mood, levels, boredom, wounds, one line each. */
void rp__view_affect(const struct rp__cli *c, struct rp__buf *out, struct rp__json affect);

/* The text of a brief (the string "brief" of a document). False when there is none. */
bool rp__brief_text(struct rp__json doc, struct rp__buf *out);
/* Appends the brief as it would be read: behind a line on a terminal, its bare text elsewhere. */
void rp__brief_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc);
/* Appends all of an explanation: candidates, pins, memories, tasks, and why each line of the brief is there. */
void rp__explain_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc);

/* How one part of a document is told in a line; nothing where there is nothing to tell. */
typedef void rp__view_fn(struct rp__buf *out, struct rp__json doc);
/* "start 42, short break (away for 10 min), up for 3 h", of rp_session_status_json. */
rp__view_fn rp__view_run;
/* "$1.75 of $1.50 (117 %), 1200 tokens in, 300 out", of rp_usage_json. */
rp__view_fn rp__view_usage;

/* Prints what was collected, which ends with a line break of its own or is empty. */
RP_MUST_USE int rp__view_print(const struct rp__buf *b, rp_error *err);

#endif
