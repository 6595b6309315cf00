/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of restoration: how relevant an earlier session is. Pure. */
#ifndef RP_CONTINUITY_RELEVANCE_H
#define RP_CONTINUITY_RELEVANCE_H

#include <stddef.h>
#include <stdint.h>

/* max(0, 1 - h/lookback) */
double rp__recency(double hours, double lookback_hours);
/* |a ∩ b| / |a ∪ b| of sets of hashes, sorted ascending, without repeats; 0 when both are empty. */
double rp__overlap(const uint64_t *a, size_t n_a, const uint64_t *b, size_t n_b);
/* min(1, .25 n) */
double rp__tasks_term(int64_t n);
/* .4, .35, .25 */
double rp__relevance(double recency, double overlap, double tasks);

/*
 * Which memories come first: .5 relevance + .3 inherited confidence + .2 use, where use = n/(n + 1) for n uses. The
 * first of them matter most: a fact about the current topics, whatever its age, then a sure one, then one often asked
 * for.
 */
double rp__memory_rank(double relevance, double inherited, int64_t uses);

/* Whole days between two times. A minute short of a day is a day: no clock or speaker is finer. */
int64_t rp__days_since(int64_t now_ms, int64_t at_ms);

#endif
