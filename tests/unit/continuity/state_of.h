/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's state from a few words: the members of a state document, told as the events that make them. Topics are
 * what is said, in that order, whatever else would have counted.
 */
#ifndef STATE_OF_H
#define STATE_OF_H

#include "base/clock.h"
#include "facets/rows.h"
#include "facets/table.h"

#define STATE_TEXT_MAX ((size_t)16 << 20)

struct telling {
  struct rp__fold *f;
  int64_t now;
  int rc;
};

static inline void tell_at(struct telling *t, enum rp__kind kind, struct rp__json body, int64_t at_ms)
{
  int64_t to;
  struct rp__event ev = {.seq = rp__fold_seq(t->f) + 1, .at_ms = at_ms, .kind = kind, .body = body};
  if (!t->rc) t->rc = rp__fold_apply(t->f, &ev, &to);
  if (t->rc == RP__FOLD_REWIND) t->rc = 0;
}

static inline void tell_each(struct telling *t, enum rp__kind kind, struct rp__json list)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (list.type == RP_JSON_ARRAY && rp__json_next(list, &it, NULL, &v)) tell_at(t, kind, v, t->now);
}

/* {NAME: value} as the body of an event, or {OUTER: {NAME: value}}. */
static inline void tell_member(struct telling *t, enum rp__kind kind, const char *outer, const char *name,
                               struct rp__json v, int64_t at_ms)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(STATE_TEXT_MAX);
  struct rp__jw w = RP_JW(&body);
  if (v.type == RP_JSON_NONE) return;
  rp__jw_object(&w);
  if (outer) rp__jw_key(&w, outer);
  if (outer) rp__jw_object(&w);
  rp__jw_key(&w, name);
  rp__jw_value(&w, v);
  if (outer) rp__jw_end_object(&w);
  rp__jw_end_object(&w);
  if (body.err && !t->rc) t->rc = body.err;
  if (!body.err) tell_at(t, kind, rp__json_trusted(body.p, body.n), at_ms);
}

/* Pins that were taken off again. */
static inline void tell_dropped(struct telling *t, struct rp__json list)
{
  struct rp__json_iter it = {0};
  struct rp__json v;
  while (list.type == RP_JSON_ARRAY && rp__json_next(list, &it, NULL, &v)) {
    RP_AUTOBUF struct rp__buf body = RP_BUF(STATE_TEXT_MAX);
    struct rp__jw w = RP_JW(&body);
    rp__jw_object(&w);
    rp__jw_key(&w, "label");
    rp__jw_value(&w, rp__json_get(v, "label"));
    rp__jw_kstr(&w, "content", "x");
    rp__jw_end_object(&w);
    if (body.err && !t->rc) t->rc = body.err;
    if (body.err) return;
    tell_at(t, RP_KIND_PIN, rp__json_trusted(body.p, body.n), rp__rows_time(v, "pinned_at", t->now));
    tell_at(t, RP_KIND_UNPIN, rp__json_trusted(body.p, body.n), t->now);
  }
}

static inline void tell_all(struct telling *t, struct rp__json doc)
{
  struct rp__json evidence = rp__json_get(doc, "evidence"), projects = rp__json_get(doc, "projects"), v;
  struct rp__json_iter it = {0};
  tell_dropped(t, rp__json_get(doc, "dropped_pins"));
  tell_member(t, RP_KIND_RESTORED, NULL, "pins", rp__json_get(doc, "pins"), t->now);
  tell_member(t, RP_KIND_RESTORED, NULL, "tasks", rp__json_get(doc, "tasks"), t->now);
  tell_member(t, RP_KIND_RESTORED, "carried", "affect", rp__json_get(doc, "affect"), t->now);
  tell_member(t, RP_KIND_RESTORED, "carried", "presence", rp__json_get(doc, "presence"), t->now);
  while (projects.type == RP_JSON_ARRAY && rp__json_next(projects, &it, NULL, &v))
    tell_member(t, RP_KIND_PROJECT, NULL, "name", v, t->now);
  tell_each(t, RP_KIND_MESSAGE, rp__json_get(rp__json_get(doc, "conversation"), "messages"));
  tell_each(t, RP_KIND_LEARNING, rp__json_get(doc, "learnings"));
  tell_each(t, RP_KIND_CONFIDENCE, rp__json_get(doc, "confidence_updates"));
  tell_each(t, RP_KIND_SOP, rp__json_get(doc, "sops"));
  tell_each(t, RP_KIND_TOOL, rp__json_get(doc, "tools"));
  tell_each(t, RP_KIND_APPROVAL, rp__json_get(doc, "approvals"));
  tell_each(t, RP_KIND_QUESTION, rp__json_get(doc, "questions"));
  tell_each(t, RP_KIND_NOTE, rp__json_get(evidence, "notes"));
  tell_each(t, RP_KIND_FRAME, rp__json_get(evidence, "frames"));
  tell_member(t, RP_KIND_TRANSCRIPT, NULL, "text", rp__json_get(evidence, "transcript"), t->now);
  if (rp__json_get(evidence, "memory").type == RP_JSON_OBJECT)
    tell_at(t, RP_KIND_INTENT, rp__json_get(evidence, "memory"), t->now);
}

/* The snapshot of a fold with these topics in place of its own. */
static inline void write_with_topics(const struct rp__fold *f, struct rp__json topics, struct rp__jw *w)
{
  int64_t weight = 1000;
  struct rp__json_iter it = {0};
  struct rp__json v;
  rp__jw_object(w);
  rp__jw_ki64(w, "version", RP_FOLD_VERSION);
  rp__jw_ki64(w, "seq", rp__fold_seq(f));
  rp__jw_ki64(w, "at_ms", rp__fold_at_ms(f));
  rp__jw_key(w, "facets");
  rp__jw_object(w);
  for (size_t i = 0; i < rp__facets.n; i++) {
    const char *name = rp__facets.ops[i]->name;
    if (strcmp(name, "topics") == 0 || !rp__fold_has(f, name)) continue;
    rp__jw_key(w, name);
    rp__fold_save_one(f, name, w);
  }
  rp__jw_key(w, "topics");
  rp__jw_array(w);
  while (topics.type == RP_JSON_ARRAY && rp__json_next(topics, &it, NULL, &v)) {
    rp__jw_array(w);
    rp__jw_value(w, v);
    rp__jw_i64(w, 0);
    rp__jw_i64(w, weight--);
    rp__jw_end_array(w);
  }
  rp__jw_end_array(w);
  rp__jw_end_object(w);
  rp__jw_end_object(w);
}

/* 0, RP_E_NOMEM, or what a snapshot is refused with. */
static inline int state_make(struct rp__json doc, int64_t now, struct rp__fold **ret, rp_error *err)
{
  RP_AUTOFOLD struct rp__fold *f = NULL, *made = NULL;
  RP_AUTOBUF struct rp__buf text = RP_BUF(STATE_TEXT_MAX);
  struct rp__jw w = RP_JW(&text);
  if (rp__fold_new(&rp__facets, &f) || rp__fold_new(&rp__facets, &made)) return RP_E_NOMEM;
  struct telling t = {.f = f, .now = now};
  tell_all(&t, doc);
  write_with_topics(f, rp__json_get(doc, "topics"), &w);
  int rc = t.rc ? t.rc : text.err ? text.err : rp__fold_load(made, rp__json_trusted(text.p, text.n), err);
  if (!rc) *ret = RP_TAKE(made);
  return rc;
}

#endif
