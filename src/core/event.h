/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of events, the members that their bodies must have, and the check of every event, from one table (event.c).
 */
#ifndef RP_CORE_EVENT_H
#define RP_CORE_EVENT_H

#include "json/json.h"

enum rp__kind {
  RP_KIND_OTHER = 0, /* x-…: stored, folded by no facet */
  RP_KIND_MESSAGE,
  RP_KIND_NOTE,
  RP_KIND_FRAME,
  RP_KIND_TRANSCRIPT,
  RP_KIND_INTENT,
  RP_KIND_PIN,
  RP_KIND_UNPIN,
  RP_KIND_TASK,
  RP_KIND_PROJECT,
  RP_KIND_ACTIVITY,
  RP_KIND_LEARNING,
  RP_KIND_CONFIDENCE,
  RP_KIND_SOP,
  RP_KIND_TOOL,
  RP_KIND_EMOTION,
  RP_KIND_PERSON,
  RP_KIND_SLEEP,
  RP_KIND_APPROVAL,
  RP_KIND_QUESTION,
  RP_KIND_USAGE,
  RP_KIND_SESSION,
  RP_KIND_PROVIDER,
  RP_KIND_TODO,
  RP_KIND_TURN,
  RP_KIND_RUNTIME, /* from here on written by the engine itself */
  RP_KIND_STATUS,
  RP_KIND_SNAPSHOT,
  RP_KIND_RESTORED,
  RP_KIND_MAX,
};

/* Bytes of an id in a body (call_id, task_id, label …), decoded: facets keep them whole. */
#define RP_EVENT_ID_MAX 512

/* An event as facets see it. The body was checked when it came in. */
struct rp__event {
  int64_t seq, at_ms;
  enum rp__kind kind;
  const char *kind_name;
  struct rp__json body;
  struct rp__event_look *look; /* at the body, while the event is folded; NULL: each rp__event_get looks anew */
  bool lost;                   /* it can't be read: x-damaged, with the reason, stands in its place and is not stored */
};

/*
 * The members of a body, found in one walk by the first facet that asks for one: a dozen facets do, and an output may
 * be long.
 */
#define RP_EVENT_LOOK_MAX 16
struct rp__event_look {
  struct rp__json name[RP_EVENT_LOOK_MAX], value[RP_EVENT_LOOK_MAX];
  size_t n;
  bool made, part; /* part: there are more members, or one has an escape in its name */
};
struct rp__json rp__event_member(const struct rp__event *ev, const char *name, size_t n);
/* The member of an event's body, as rp__json_get finds it. */
static inline struct rp__json rp__event_get(const struct rp__event *ev, const char *name)
{
  return rp__event_member(ev, name, strlen(name));
}

#define RP_KIND_DAMAGED "x-damaged" /* in the place of an event that could not be read, told or stored by a repair */

const char *rp__kind_name(enum rp__kind k);
/* The kind of a stored event: RP_KIND_OTHER for x-… and for names this version does not know. */
enum rp__kind rp__kind_parse(const char *name);
/* Whether events of that kind are the engine's own: no activity, refused from outside. */
bool rp__kind_is_engine(enum rp__kind k);
/* Whether such an event is worth a checkpoint of its own (task, approval, provider …). */
bool rp__kind_is_significant(enum rp__kind k);

/*
 * Checks kind and body as they come from outside. RP_E_INVALID names the field ("kind", "body.role"), RP_E_JSON the
 * byte, RP_E_TOO_LARGE the limit. `runtime`: the sender runs the agent, and may write `runtime` events.
 */
RP_MUST_USE int rp__event_check(const char *kind, const char *body, size_t n, size_t max_body, bool runtime,
                                struct rp__event *ret, rp_error *err);

/* Appends what a person would search for: the decoded string values of the body, separated by spaces. */
void rp__event_search_text(struct rp__json body, struct rp__buf *out);

#endif
