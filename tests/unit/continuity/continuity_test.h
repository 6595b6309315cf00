/* SPDX-License-Identifier: Apache-2.0 */
/* cmocka, and plans made from a table of earlier sessions. */
#ifndef CONTINUITY_TEST_H
#define CONTINUITY_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/clock.h"
#include "continuity/brief.h"
#include "continuity/record.h"

#include "state_of.h"

#define NOW INT64_C(1780000000000)
#define HOURS(h) ((int64_t)((h)*3600000.0))
#define NEAR 1e-6

#define assert_near(a, b)                                                                                              \
  do {                                                                                                                 \
    double a_ = (a), b_ = (b);                                                                                         \
    if (!(a_ > b_ - NEAR && a_ < b_ + NEAR)) fail_msg("%s is %.9f, not %.9f", #a, a_, b_);                             \
  } while (0)

/* An ended session as the recall table and its record have it; a NULL record can't be read. */
struct earlier {
  const char *id;
  double hours; /* since its end */
  int64_t tasks;
  bool critical;
  const char *topics; /* words, or NULL */
  const char *record;
};

static const struct rp__rules plain_rules = {.lookback_hours = 168,
                                             .threshold = .25,
                                             .pin_threshold = .4,
                                             .critical_hours = 168,
                                             .decay_rate = .4,
                                             .decay_floor = .3,
                                             .max_sessions = 3,
                                             .max_pins = 5};

static inline struct rp__json json(const char *text)
{
  struct rp__json v = {0};
  rp_error err;
  if (rp__json_parse(text, strlen(text), NULL, &v, &err)) fail_msg("%s: %s", err.message, text);
  return v;
}

/* The state that these members of a state document describe. */
static inline struct rp__fold *state_of(const char *text)
{
  struct rp__fold *f = NULL;
  rp_error err = {0};
  if (state_make(json(text), NOW, &f, &err)) fail_msg("%s: %s", err.message, text);
  return f;
}

/* The set of the words in `words`. */
static inline size_t topic_set(const char *words, uint64_t out[RP_TOPICS_MAX])
{
  size_t n = 0;
  for (const char *at = words; at && *at;) {
    size_t len = strcspn(at, " ");
    if (len && n < RP_TOPICS_MAX) out[n++] = rp__topic_hash(at, len, NULL);
    at += len + (at[len] == ' ');
  }
  return rp__topic_set(out, n);
}

static inline int offer(struct rp__plan *p, const struct earlier *e)
{
  uint64_t topics[RP_TOPICS_MAX];
  struct rp__recall row = {.session_id = e->id,
                           .ended_at = NOW - HOURS(e->hours),
                           .n_tasks = e->tasks,
                           .has_critical = e->critical,
                           .topics = topics,
                           .n_topics = topic_set(e->topics, topics)};
  return rp__plan_offer(p, &row);
}

static inline void answer(struct rp__plan *p, const struct earlier *e, size_t n)
{
  struct rp__candidate *c;
  while ((c = rp__plan_want(p))) {
    const char *record = NULL;
    for (size_t i = 0; i < n; i++)
      if (strcmp(e[i].id, c->session_id) == 0) record = e[i].record;
    if (record)
      rp__plan_opened(p, c, rp__json_trusted(record, strlen(record)));
    else
      rp__plan_damaged(p, c, "it is gone");
  }
}

static inline int plan_make(const struct rp__rules *rules, const char *topics, const struct earlier *e, size_t n,
                            const struct rp__plan_sources *s, struct rp__plan **ret)
{
  static const struct rp__plan_sources none = {0};
  uint64_t set[RP_TOPICS_MAX];
  struct rp__plan *p = NULL;
  size_t n_set = topic_set(topics, set);
  int rc = rp__plan_new(rules, NOW, set, n_set, &p);
  for (size_t i = 0; rc == 0 && i < n; i++) rc = offer(p, &e[i]);
  if (rc == 0) {
    answer(p, e, n);
    rc = rp__plan_finish(p, s ? s : &none);
  }
  if (rc)
    rp__plan_free(p);
  else
    *ret = p;
  return rc;
}

static inline struct rp__plan *plan_of(const struct rp__rules *rules, const char *topics, const struct earlier *e,
                                       size_t n, const struct rp__plan_sources *s)
{
  struct rp__plan *p = NULL;
  assert_int_equal(plan_make(rules, topics, e, n, s, &p), 0);
  return p;
}

static inline void plan_freep(struct rp__plan **p)
{
  rp__plan_free(*p);
}
#define AUTOPLAN RP_CLEANUP(plan_freep)

/* Plan and explanation of it as one JSON text. */
static inline void explained(const struct rp__plan *p, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__buf_reset(out);
  rp__jw_object(&w);
  rp__plan_explain(p, &w);
  rp__jw_end_object(&w);
  assert_int_equal(out->err, 0);
}

/* The candidate of the explanation with that id, or NONE. */
static inline struct rp__json told(const struct rp__buf *explanation, const char *list, const char *key, const char *id)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (rp__json_next(rp__json_get(json(explanation->p), list), &it, NULL, &v))
    if (rp__json_eq(rp__json_get(v, key), id)) return v;
  return (struct rp__json){0};
}

#endif
