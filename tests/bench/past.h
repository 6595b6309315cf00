/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scope with a past: many sessions that ended within the lookback, with what a real
 * one leaves (a run, events, a record, the newest word on its tasks). They are written
 * through the store's contract, five hundred to a transaction: a hundred thousand real
 * starts and ends would take an hour and leave the same rows.
 */
#ifndef BENCH_PAST_H
#define BENCH_PAST_H

#include "ours.h"

#define PAST_SCOPE "past"
#define PAST_TOPICS                                                                                                    \
  "subject-3,subject-17,subject-44" /* what a start says it is about; subjects are numbered below 400 */

/* The database with `n` such sessions, made when it is first asked for. The name lives until the next call. */
const char *past_big(const struct bench *b, int64_t n);

/* What a start in that scope would inject: its time on the wall, or -1 when the engine gave up looking (PLAN_MS). */
double past_brief_ns(rp_engine *e);
/* A new session in the scope, not a resumed one. */
rp_session *past_start(rp_engine *e, const char *scope);

/* The store's scan and the planner's scoring and selecting without the rest, on a connection of their own. */
struct past_scan;
struct past_scan *past_scan_open(const struct bench *b, const char *name);
double past_scan_ns(struct past_scan *s, int64_t at_least); /* at_least: rows it must have seen */
void past_scan_close(struct past_scan *s);

/* Says in the session what fills its record to the limit: pins, tasks, learnings, confidences, SOPs. */
void past_fill(rp_session *s, int64_t i);

#endif
