/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the publisher. A hub is a session that has subscribers. Its live
 * subscribers share one position, `seq`; every other subscriber, behind it or (for a
 * moment) ahead of it, has a position of its own. A page read from the journal goes to
 * all subscribers whose position lies in it, whichever of them it was read for. The
 * order of reads therefore does not matter: no subscriber gets an event twice, or one
 * beyond its next.
 *
 * Members that the lock protects say so; all others belong to the loop's thread.
 */
#ifndef RP_SERVER_LIVE_IMPL_H
#define RP_SERVER_LIVE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/live/live.h"
#include "server/pool.h"
#include "server/server.h"

#define RP_LIVE_PAGE_EVENTS 256
#define RP_LIVE_PAGE_BYTES (1024 * 1024)    /* one event may pass it */
#define RP_LIVE_TEXT_MAX (64 * 1024 * 1024) /* of a page with that one */
#define RP_LIVE_READERS 3                   /* threads: pages must not wait for slow requests */
#define RP_LIVE_PASS_US 1000                /* the publisher looks at most this often */
#define RP_LIVE_TICK_MS 250                 /* deleted sessions, lists, reads that failed */
#define RP_LIVE_SWEEP 64                    /* sessions looked at per tick, whether they still are there */
#define RP_LIVE_BUCKETS 16384
#define RP_LIVE_ROLL_BUCKETS 1024
#define RP_LIVE_ROLLS_MAX 64                          /* scopes whose lists are watched */
#define RP_LIVE_ROLL_SESSIONS 1000                    /* the newest of each, and as many older ones that woke */
#define RP_LIVE_ROLL_CHANGES 16384                    /* events looked at at a time for those that woke */
#define RP_LIVE_ROLL_WOKEN (4 * RP_LIVE_ROLL_CHANGES) /* numbers that one scan takes; the rest comes with the next */
#define RP_LIVE_ROLL_BYTES (8 * 1024 * 1024)          /* of their documents */
#define RP_LIVE_ROLL_REMOVED 4096                     /* removals remembered for those who are slow */
#define RP_LIVE_ROLL_LARGE_MS 1000                    /* between scans of a scope with more sessions than are watched */
#define RP_LIVE_ROLL_SHARE 20                         /* a scan's time is at most this part of the time between two */

/* Reads for live subscribers have places of their own: no replay delays them. */
enum rp__hub_read { RP_READ_LIVE, RP_READ_BEHIND, RP_READ_KINDS };
#define RP_LIVE_READS_MAX 3 /* in flight, of each kind */

struct rp__subs {
  struct rp__sub *first, *last;
};

struct rp__sub {
  struct rp__live *l;
  struct rp__hub *hub;   /* NULL once it is gone */
  struct rp__subs *list; /* of the hub's; NULL: none */
  struct rp__sub *prev, *next;
  const struct rp__sub_handler *h;
  void *ctx;
  int64_t at;    /* the last number handed out; -1: not known yet, where the journal ends */
  int64_t since; /* reads that began before this one was there don't tell it of the journal's end */
  bool ahead;    /* beyond the live ones, who are being read for */
};

struct rp__hub {
  struct rp__live *l;
  struct rp__hub *next; /* in its bucket; written under the lock */
  int64_t number;
  struct rp__entry *entry;
  struct rp__hub *grown_prev, *grown_next; /* under the lock */
  bool grown;
  int64_t news; /* what the publisher heard, under the lock */

  struct rp__hub *next_told;
  int64_t seq;     /* of the live ones; nothing when there are none */
  int64_t told;    /* the journal has grown to this */
  int64_t created; /* of the session, to know another one of the same id; 0: not looked at */
  bool look;       /* … or further: read to the end */
  bool failed;     /* a read did: again at the next tick */
  bool reading[RP_READ_KINDS], waiting[RP_READ_KINDS];
  struct rp__hub *next_waiting[RP_READ_KINDS];
  int pins; /* reads and waits; it stays for those */
  struct rp__subs live, behind, paused;
};

struct rp__page_event {
  struct rp__live_event ev;
  size_t json_at, body_at, kind_at; /* in the page's text, while that still moves */
};

struct rp__page {
  struct rp__job job; /* the first member, so that `done` finds the page */
  struct rp__task task;
  struct rp__hub *hub;
  enum rp__hub_read kind;
  int64_t from;  /* events after this one; -1: only where the journal ends */
  int64_t round; /* when it was asked for */
  int64_t told;  /* … and what the hub had heard by then */

  int rc;
  rp_error err;
  int64_t to;      /* the last event read, or `from`; for -1, and beyond the end: where the journal ends */
  bool end;        /* there was nothing after `to` */
  bool beyond;     /* `from` was beyond the end */
  int64_t created; /* 0: not looked at */
  struct rp__page_event *events;
  size_t n, cap;
  struct rp__buf text;
};

struct rp__session_list_item {
  struct rp__session_list_item *prev, *next; /* by stamp */
  struct rp__session_list_item *chain;       /* in its bucket */
  int64_t stamp;
  size_t rank; /* in the last scan; the newest session is 0 */
  int64_t number;
  bool open, removed, seen;
  bool older; /* than the list goes: kept because it is open or changed, and looked at by its number */
  bool asked; /* … by the scan that runs */
  char *json;
  size_t n;
  char id[RP_ID_MAX + 1];
};

struct rp__session_list {
  struct rp__live *l;
  struct rp__session_list *next;
  char scope[RP_ID_MAX + 1]; /* empty: of all */
  struct rp__session_list_item *first, *last;
  struct rp__session_list_item *bucket[RP_LIVE_ROLL_BUCKETS];
  int64_t stamp;     /* the newest */
  int64_t forgotten; /* the newest that was removed and is remembered no more */
  size_t n_removed;
  int64_t cursor; /* of rp_changes, for sessions that are older than the list goes; < 0: none yet */
  struct rp__list_sub *subs;
  int64_t commits; /* seen when the last scan began */
  int64_t due_ms;
  bool scanned, scanning;
  int pins;
  struct rp__job feed;
  bool feed_posted;
};

struct rp__list_sub {
  struct rp__session_list *roll;
  struct rp__list_sub *prev, *next;
  const struct rp__list_handler *h;
  void *ctx;
  int64_t seen;  /* the last change handed out */
  int64_t first; /* changes up to this one are the first picture: of those, what is open */
  bool fed, paused;
};

struct rp__live {
  struct rp__server *srv;
  struct rp__pool *readers;
  pthread_t thread;
  bool started;

  bool stopped; /* no more reads */
  int reads[RP_READ_KINDS];
  struct {
    struct rp__hub *first, *last;
  } waiting[RP_READ_KINDS];
  int64_t round;
  struct rp__sub *current;  /* being called; NULL when its callback freed it */
  struct rp__sub *next_sub; /* after it in the list that is walked */
  struct rp__timer tick;
  bool ticking, sweeping;
  int failures;    /* hubs whose reads failed since the last tick */
  size_t sweep_at; /* a bucket */
  int64_t swept_commits;
  struct rp__session_list *rolls;
  size_t n_rolls;
  struct rp__list_sub *list_current, *list_next;

  atomic_llong commits; /* seen by the publisher */
  atomic_llong n_subs, n_list_subs, events, deliveries, held_back, resets;

  pthread_mutex_t lock;
  pthread_cond_t wanted; /* somebody listens, or stop */
  struct rp__hub *bucket[RP_LIVE_BUCKETS];
  size_t n_hubs;
  size_t listeners; /* hubs and rolls */
  struct rp__hub *grown;
  struct rp__job news; /* hubs have grown, or */
  bool resync;         /* all must be looked at */
  bool posted, stop;
};

/* live.c */
void rp__live_listeners(struct rp__live *l, int change);
/* Something wants the tick. */
void rp__live_tick(struct rp__live *l);
/* Under the lock, or in the loop's thread. */
struct rp__hub *rp__hub_find(const struct rp__live *l, int64_t number);

/* hub.c */
void rp__hub_pump(struct rp__hub *h);
void rp__hub_gone(struct rp__hub *h, const rp_error *err);
void rp__hub_free(struct rp__hub *h); /* with nobody there any more */

/* page.c: reads in one of the readers' threads, and comes back to `done` in the loop. False: it can't. */
bool rp__page_ask(struct rp__hub *h, enum rp__hub_read kind, int64_t from, void (*done)(struct rp__job *job));
void rp__page_free(struct rp__page *p);
/* Whether the session is still the one that was made then (0: any). RP_E_SESSION_NOT_FOUND: deleted, in the trash. */
RP_MUST_USE int rp__page_look(rp_engine *e, const char *id, int64_t *created, int64_t *ret_seq, rp_error *err);

/* session-list.c */
void rp__session_lists_tick(struct rp__live *l);
void rp__session_lists_free(struct rp__live *l);
RP_MUST_USE int rp__session_list_get(struct rp__live *l, const char *scope, struct rp__session_list **ret,
                                     rp_error *err);
void rp__session_list_scan(struct rp__session_list *r);    /* soon, by a reader; those who follow it are fed then */
void rp__session_list_release(struct rp__session_list *r); /* frees it when nobody is there any more */

/* list-subscribers.c */
void rp__list_feed(struct rp__session_list *r); /* what is new, to all who take more */

#endif
