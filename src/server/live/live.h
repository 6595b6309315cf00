/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher. Its thread learns which journals grew, whichever process wrote to them
 * (rp_changes). Events that have subscribers are read from the journal and handed out
 * in the loop's thread. Replay and live are the same reading, so a late subscriber
 * misses nothing and gets nothing twice. The journal is the buffer: a subscriber that
 * can't take an event now is offered the same event again later.
 *
 * All calls are made on the loop's thread. Callbacks may free their own subscription.
 */
#ifndef RP_SERVER_LIVE_H
#define RP_SERVER_LIVE_H

#include "json/json.h"
#include "net/conn.h"
#include "server/registry.h"

struct rp__live;
struct rp__sub;
struct rp__server;

/* An event on its way out. The forms are made once, for all subscribers. */
struct rp__live_event {
  const char *session_id;
  int64_t seq, at_ms;
  const char *kind;
  struct rp__json body;
  struct rp__str json;         /* {"seq","at","kind","body"} */
  struct rp__net_msg *form[4]; /* by enum rp__form; NULL: not made yet */
};
enum rp__form {
  RP_FORM_SSE,     /* "id: 7\nevent: …\ndata: …\n\n" */
  RP_FORM_SESSION, /* a Phoenix broadcast on session:<id>, framed */
  RP_FORM_AUDIO,   /* the same on audio:<id> */
};

struct rp__sub_handler {
  /* false: it can't be taken now; the same event comes again after rp__sub_more. */
  bool (*event)(void *ctx, struct rp__live_event *ev);
  /* All that is stored has been handed out (again after every pause). May be NULL. */
  void (*caught_up)(void *ctx, int64_t seq);
  /* `after` was beyond the journal's end, which is at `seq`: what follows begins there. May be NULL. */
  void (*reset)(void *ctx, int64_t seq);
  /* The session was deleted, or can't be read: nothing more will come. The subscription is still to be freed. */
  void (*gone)(void *ctx, const rp_error *err);
};

RP_MUST_USE int rp__live_new(struct rp__server *srv, struct rp__live **ret, rp_error *err);
RP_MUST_USE int rp__live_start(struct rp__live *l, rp_error *err);
/* Ends the thread; the loop still runs. Subscriptions may be freed after it. */
void rp__live_stop(struct rp__live *l);
void rp__live_free(struct rp__live *l);

/* Events with seq > after (< 0: only new ones). Takes a reference of its own on the entry. */
RP_MUST_USE int rp__sub_new(struct rp__live *l, struct rp__entry *entry, int64_t after, const struct rp__sub_handler *h,
                            void *ctx, struct rp__sub **ret, rp_error *err);
void rp__sub_more(struct rp__sub *s); /* it can take events again */
void rp__sub_free(struct rp__sub *s); /* NULL is fine */

/*
 * C-10: changes of the sessions of a scope (NULL: of all): their documents, first all that are open, then what changes,
 * an end too. Looked for at most four times a second. The first picture is of the newest 1,000 sessions of a scope;
 * older ones are told of from when their journals grow.
 */
struct rp__list_handler {
  /*
   * `what`: "session" (new or changed; `json` is its document, as GET gives it) or "removed" ({"session_id"}). false:
   * it can't be taken now; what is the newest then comes after rp__list_sub_more.
   */
  bool (*session)(void *ctx, const char *what, const char *session_id, struct rp__str json);
  /* Too much has gone by while it took nothing: what it knows counts no more, all that is open follows. May be NULL. */
  void (*reset)(void *ctx);
};
struct rp__list_sub;
/* RP_E_LIMIT: too many scopes are watched. */
RP_MUST_USE int rp__list_sub_new(struct rp__live *l, const char *scope, const struct rp__list_handler *h, void *ctx,
                                 struct rp__list_sub **ret, rp_error *err);
void rp__list_sub_more(struct rp__list_sub *s);
void rp__list_sub_free(struct rp__list_sub *s); /* NULL is fine */

/* For /metrics. */
struct rp__live_counts {
  int64_t subscriptions, list_subscriptions, events, deliveries, held_back, resets;
};
void rp__live_counts(const struct rp__live *l, struct rp__live_counts *ret);

#endif
