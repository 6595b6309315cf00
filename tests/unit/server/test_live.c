/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The publisher (L-10, C-10): whoever subscribes, whenever, gets every event once
 * and in order, whoever writes; one who can't take more is fed from the journal;
 * lists tell what comes, changes and goes.
 */
#include "unit/net/rig.h"

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "lib/dice.h"
#include "server/live/hub.h"
#include "server/live/sse.h"

#define WRITERS 4
#define EVENTS_EACH 300
#define OTHER_EVENTS 150 /* of another process */
#define JOINERS 50
#define CROWD 1000

extern char **environ;

/* ---- a server without sockets ---- */

struct rig {
  struct rp__server srv;
  struct news news;
  char dir[64], url[128];
};

static void remove_db(struct rig *x)
{
  static const char *const names[] = {"db", "db-wal", "db-shm", "db.runs"};
  char path[128];
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) {
    snprintf(path, sizeof path, "%s/%s", x->dir, names[i]);
    unlink(path);
  }
  rmdir(x->dir);
}

static int setup_asleep(void **state)
{
  struct rig *x = calloc(1, sizeof *x);
  struct rp__server *s = &x->srv;
  rp_options o = {.db = x->url};
  snprintf(x->dir, sizeof x->dir, "/tmp/rp-live-XXXXXX");
  x->news = NEWS;
  if (!mkdtemp(x->dir)) return -1;
  snprintf(x->url, sizeof x->url, "sqlite:%s/db", x->dir);
  s->clock = rp__system_clock;
  rp__slog_init(&s->log);
  s->log.level = RP_LOG_ERROR;
  if (rp_open(&o, &s->engine, NULL) || rp__registry_new(s->engine, &s->registry, NULL)) return -1;
  if (rp__loop_new(&s->loop, NULL) || rp__loop_start(s->loop, NULL)) return -1;
  if (rp__live_new(s, &s->live, NULL)) return -1;
  *state = x;
  return 0;
}

static int setup(void **state)
{
  int rc = setup_asleep(state);
  return rc ? rc : rp__live_start(((struct rig *)*state)->srv.live, NULL);
}

static int teardown(void **state)
{
  struct rig *x = *state;
  struct rp__live_counts counts;
  rp__live_counts(x->srv.live, &counts);
  rp__live_stop(x->srv.live);
  rp__loop_stop(x->srv.loop);
  rp__live_free(x->srv.live);
  rp__registry_free(x->srv.registry);
  rp__loop_free(x->srv.loop);
  rp_close(x->srv.engine);
  rp__slog_done(&x->srv.log);
  remove_db(x);
  free(x);
  return counts.subscriptions || counts.list_subscriptions ? -1 : 0; /* every test frees what it made */
}

static void start(struct rig *x, const char *id, const char *scope)
{
  rp_session *s;
  rp_start_options o = {.scope = scope, .id = id, .key = id, .owner = RP_OWNER_NONE};
  assert_int_equal(rp_start(x->srv.engine, &o, &s, NULL), 0);
  rp_session_detach(s);
}

static int append_to(rp_session *s, int64_t *ret_seq)
{
  rp_event ev = {.kind = "x-n", .body = "{\"n\":\n1}"};
  rp_append_options o = {0};
  rp_ack ack;
  o.durability = RP_OS;
  int rc = rp_append(s, &ev, &o, &ack, NULL);
  if (!rc && ret_seq) *ret_seq = ack.seq;
  return rc;
}

static int64_t append(struct rig *x, const char *id)
{
  struct rp__entry *e;
  int64_t seq = 0;
  assert_int_equal(rp__registry_get(x->srv.registry, id, &e, NULL), 0);
  assert_int_equal(append_to(e->s, &seq), 0);
  rp__registry_put(x->srv.registry, e);
  return seq;
}

/* ---- a subscriber ---- */

struct reader {
  struct rig *x;
  struct rp__sub *sub;
  const char *id;
  int64_t after; /* asked for */
  int64_t seq;   /* of the last event; touched in the loop */
  int refuse;    /* one event in so many is refused at first; 0: none */
  bool stuck;    /* all are */
  bool asked;    /* … after which it asks for more */
  struct rp__job more;
  struct dice dice;
  struct rp__net_msg *form;
  struct reader *frees;                                /* another one, in its callback */
  int wrong, events, ups, resets, gones, last, offers; /* under the news' lock */
};

static void on_more(struct rp__job *job)
{
  struct reader *r = (struct reader *)(void *)((char *)job - offsetof(struct reader, more));
  r->asked = false;
  if (r->sub) rp__sub_more(r->sub);
}

static bool refuses(struct reader *r)
{
  if (r->stuck) return true;
  if (!r->refuse || r->asked || dice_below(&r->dice, r->refuse)) return false;
  r->asked = rp__loop_post(r->x->srv.loop, &r->more);
  return r->asked;
}

static bool on_event(void *ctx, struct rp__live_event *ev)
{
  struct reader *r = ctx;
  news_add(&r->x->news, &r->offers, 1);
  if (refuses(r)) return false;
  bool wrong = r->seq >= 0 && ev->seq != r->seq + 1;
  wrong |= !rp__str_eq((struct rp__str){ev->body.p, ev->body.n}, "{\"n\": 1}") && strncmp(ev->kind, "x-", 2) == 0;
  wrong |= strcmp(ev->session_id, r->id) != 0 || memchr(ev->json.p, '\n', ev->json.n);
  r->form = rp__sse_form(ev);
  r->seq = ev->seq;
  if (r->frees) {
    rp__sub_free(RP_TAKE(r->frees->sub));
    r->frees = NULL;
  }
  news_add(&r->x->news, &r->wrong, wrong);
  news_add(&r->x->news, &r->events, 1);
  news_add(&r->x->news, &r->last, (int)ev->seq - news_read(&r->x->news, &r->last));
  return true;
}

static void on_caught_up(void *ctx, int64_t seq)
{
  struct reader *r = ctx;
  if (r->seq < 0) r->seq = seq; /* "only new ones" begins here */
  news_add(&r->x->news, &r->wrong, seq != r->seq);
  news_add(&r->x->news, &r->last, (int)seq - news_read(&r->x->news, &r->last));
  news_add(&r->x->news, &r->ups, 1);
}

static void on_reset(void *ctx, int64_t seq)
{
  struct reader *r = ctx;
  r->seq = seq;
  news_add(&r->x->news, &r->resets, 1);
}

static void on_gone(void *ctx, const rp_error *err)
{
  struct reader *r = ctx;
  news_add(&r->x->news, &r->wrong, err->code != RP_E_SESSION_NOT_FOUND);
  rp__sub_free(RP_TAKE(r->sub)); /* may free itself */
  news_add(&r->x->news, &r->gones, 1);
}

static const struct rp__sub_handler handler = {on_event, on_caught_up, on_reset, on_gone};

static void join_in_loop(void *arg)
{
  struct reader *r = arg;
  struct rp__entry *e = NULL;
  int rc = rp__registry_get(r->x->srv.registry, r->id, &e, NULL);
  if (!rc) rc = rp__sub_new(r->x->srv.live, e, r->after, &handler, r, &r->sub, NULL);
  rp__registry_put(r->x->srv.registry, e);
  news_add(&r->x->news, &r->wrong, rc != 0);
}

static void leave_in_loop(void *arg)
{
  struct reader *r = arg;
  rp__sub_free(RP_TAKE(r->sub));
}

static void join(struct rig *x, struct reader *r, const char *id, int64_t after)
{
  r->x = x;
  r->id = id;
  r->after = r->seq = after;
  r->more.fn = on_more;
  in_loop(x->srv.loop, join_in_loop, r);
  assert_int_equal(news_read(&x->news, &r->wrong), 0);
}

static void leave(struct reader *r)
{
  in_loop(r->x->srv.loop, leave_in_loop, r);
  assert_int_equal(news_read(&r->x->news, &r->wrong), 0);
}

static void more_in_loop(void *arg)
{
  struct reader *r = arg;
  r->stuck = false;
  rp__sub_more(r->sub);
}

/* ---- many writers, late joiners ---- */

struct writer {
  struct rig *x;
  struct rp__entry *entry;
  int *appended;
  int failed;
};

static void *write_many(void *arg)
{
  struct writer *w = arg;
  for (int i = 0; i < EVENTS_EACH; i++) {
    if (append_to(w->entry->s, NULL)) w->failed++;
    news_add(&w->x->news, w->appended, 1);
  }
  return NULL;
}

/* This program again, as another process with the same database. */
static int other_process(const char *url, const char *id)
{
  rp_engine *e;
  rp_session *s;
  rp_options o = {.db = url, .short_lived = true};
  if (rp_open(&o, &e, NULL) || rp_attach(e, id, &s, NULL)) return 1;
  int rc = 0;
  for (int i = 0; !rc && i < OTHER_EVENTS; i++) rc = append_to(s, NULL);
  rp_session_free(s);
  rp_close(e);
  return rc ? 1 : 0;
}

static pid_t spawn_other(const struct rig *x, const char *id)
{
  char self[] = "/proc/self/exe", word[] = "other", url[128], name[64];
  snprintf(url, sizeof url, "%s", x->url);
  snprintf(name, sizeof name, "%s", id);
  char *argv[] = {self, word, url, name, NULL};
  pid_t pid = -1;
  assert_int_equal(posix_spawn(&pid, self, NULL, NULL, argv, environ), 0);
  return pid;
}

static void begin_writers(struct rig *x, struct writer *w, pthread_t *threads, struct rp__entry *e, int *appended)
{
  for (int i = 0; i < WRITERS; i++) {
    w[i] = (struct writer){.x = x, .entry = e, .appended = appended};
    assert_int_equal(pthread_create(&threads[i], NULL, write_many, &w[i]), 0);
  }
}

static void nothing_missed_nothing_twice(void **state)
{
  struct rig *x = *state;
  struct reader *r = calloc(JOINERS, sizeof *r);
  struct writer w[WRITERS];
  pthread_t threads[WRITERS];
  struct rp__entry *e;
  struct dice dice = dice_new();
  int appended = 0, status = -1;
  start(x, "busy", "nova");
  assert_int_equal(rp__registry_get(x->srv.registry, "busy", &e, NULL), 0);
  pid_t other = spawn_other(x, "busy");
  begin_writers(x, w, threads, e, &appended);
  for (int i = 0; i < JOINERS; i++) {
    int so_far = i * WRITERS * EVENTS_EACH / JOINERS;
    news_await(&x->news, &appended, so_far);
    r[i].dice = (struct dice){dice_next(&dice)};
    r[i].refuse = i % 3 == 0 ? 20 : 0;
    join(x, &r[i], "busy", i % 5 == 0 ? -1 : i % 5 == 1 ? 0 : dice_below(&dice, so_far + 1));
  }
  for (int i = 0; i < WRITERS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(w[i].failed, 0);
  }
  assert_int_equal(waitpid(other, &status, 0), other);
  assert_int_equal(status, 0);
  int64_t last = append(x, "busy");
  assert_int_equal(last, WRITERS * EVENTS_EACH + OTHER_EVENTS + 1);
  for (int i = 0; i < JOINERS; i++) news_await(&x->news, &r[i].last, (int)last);
  for (int i = 0; i < JOINERS; i++) {
    leave(&r[i]);
    assert_int_equal(r[i].seq, last);
    if (r[i].after >= 0) assert_int_equal(r[i].events, last - r[i].after);
  }
  rp__registry_put(x->srv.registry, e);
  free(r);
}

/* ---- one subscriber ---- */

static void replay_then_live(void **state)
{
  struct rig *x = *state;
  struct reader all = {0}, new = {0}, middle = {0};
  start(x, "s", "nova");
  for (int i = 0; i < 2 * RP_LIVE_PAGE_EVENTS + 3; i++) append(x, "s"); /* several pages */
  int64_t last = append(x, "s");
  join(x, &all, "s", 0);
  join(x, &new, "s", -1);
  join(x, &middle, "s", 100);
  news_await(&x->news, &all.ups, 1);
  news_await(&x->news, &new.ups, 1);
  news_await(&x->news, &middle.ups, 1);
  assert_int_equal(news_read(&x->news, &all.events), last);
  assert_int_equal(news_read(&x->news, &middle.events), last - 100);
  assert_int_equal(news_read(&x->news, &new.events), 0);
  append(x, "s");
  news_await(&x->news, &new.events, 1);
  news_await(&x->news, &all.events, (int)last + 1);
  news_await(&x->news, &middle.events, (int)last - 99);
  leave(&all);
  leave(&new);
  leave(&middle);
}

/* The publisher may be late for the first subscriber: what was stored before it looked is looked for again. */
static void a_late_publisher_misses_nothing(void **state)
{
  struct rig *x = *state;
  struct reader r = {0};
  start(x, "s", "nova");
  join(x, &r, "s", -1);
  news_await(&x->news, &r.ups, 1);
  append(x, "s");
  assert_int_equal(rp__live_start(x->srv.live, NULL), 0);
  news_await(&x->news, &r.events, 1);
  leave(&r);
}

/* A client that is ahead of the journal is told so, and goes on from its end. */
static void beyond_the_end_is_reset(void **state)
{
  struct rig *x = *state;
  struct reader r = {0}, other = {0};
  start(x, "s", "nova");
  int64_t last = append(x, "s");
  join(x, &other, "s", 0); /* one that is live already is not reset with it */
  news_await(&x->news, &other.ups, 1);
  join(x, &r, "s", last + 40);
  news_await(&x->news, &r.resets, 1);
  news_await(&x->news, &r.ups, 1);
  append(x, "s");
  news_await(&x->news, &r.events, 1);
  news_await(&x->news, &other.events, 2);
  leave(&r);
  leave(&other);
  assert_int_equal(r.seq, last + 1);
  assert_int_equal(other.resets, 0);
}

/* One who takes nothing is offered nothing more, and gets all of it later; others don't wait for him. */
static void the_journal_is_the_buffer(void **state)
{
  struct rig *x = *state;
  struct reader slow = {.stuck = true}, quick = {0};
  struct rp__live_counts counts;
  start(x, "s", "nova");
  join(x, &slow, "s", -1);
  join(x, &quick, "s", -1);
  news_await(&x->news, &slow.ups, 1);
  news_await(&x->news, &quick.ups, 1);
  for (int i = 0; i < 600; i++) append(x, "s");
  news_await(&x->news, &quick.events, 600);
  assert_int_equal(news_read(&x->news, &slow.offers), 1);
  rp__live_counts(x->srv.live, &counts);
  assert_int_equal(counts.held_back, 1);
  assert_int_equal(counts.subscriptions, 2);
  in_loop(x->srv.loop, more_in_loop, &slow);
  news_await(&x->news, &slow.events, 600);
  news_await(&x->news, &slow.ups, 2);
  leave(&slow);
  leave(&quick);
}

static void one_form_serves_a_crowd(void **state)
{
  struct rig *x = *state;
  struct reader *r = calloc(CROWD, sizeof *r);
  struct rp__live_counts before, after;
  start(x, "s", "nova");
  for (int i = 0; i < CROWD; i++) join(x, &r[i], "s", -1);
  for (int i = 0; i < CROWD; i++) news_await(&x->news, &r[i].ups, 1);
  rp__live_counts(x->srv.live, &before);
  append(x, "s");
  for (int i = 0; i < CROWD; i++) news_await(&x->news, &r[i].events, 1);
  for (int i = 0; i < CROWD; i++) leave(&r[i]);
  for (int i = 1; i < CROWD; i++) assert_ptr_equal(r[i].form, r[0].form);
  rp__live_counts(x->srv.live, &after);
  assert_int_equal(after.events - before.events, 1); /* read once */
  assert_int_equal(after.deliveries - before.deliveries, CROWD);
  free(r);
}

/* Callbacks free their own subscription, and those of others in the same list: before, after and next to them. */
static void callbacks_may_free(void **state)
{
  struct rig *x = *state;
  struct reader r[5] = {0};
  start(x, "s", "nova");
  for (size_t i = 0; i < RP_ARRAY_SIZE(r); i++) {
    join(x, &r[i], "s", -1);
    news_await(&x->news, &r[i].ups, 1);
  }
  r[0].frees = &r[1];
  r[2].frees = &r[0];
  r[3].frees = &r[3];
  append(x, "s");
  news_await(&x->news, &r[4].events, 1);
  for (size_t i = 0; i < RP_ARRAY_SIZE(r); i++) leave(&r[i]);
  assert_int_equal(r[0].events, 1);
  assert_int_equal(r[1].events, 0);
  assert_int_equal(r[2].events, 1);
  assert_int_equal(r[3].events, 1);
}

static void deleted_sessions_are_gone(void **state)
{
  struct rig *x = *state;
  struct reader live = {0}, stuck = {.stuck = true}, other = {0};
  start(x, "s", "nova");
  start(x, "t", "nova");
  append(x, "s");
  join(x, &live, "s", -1);
  join(x, &stuck, "s", 0);
  join(x, &other, "t", -1);
  news_await(&x->news, &live.ups, 1);
  news_await(&x->news, &stuck.offers, 1);
  news_await(&x->news, &other.ups, 1);
  struct rp__entry *e;
  assert_int_equal(rp__registry_get(x->srv.registry, "s", &e, NULL), 0);
  assert_int_equal(rp_end(e->s, NULL, NULL), 0);
  rp__registry_put(x->srv.registry, e);
  assert_int_equal(rp_trash(x->srv.engine, "s", NULL, NULL), 0);
  news_await(&x->news, &live.gones, 1);
  news_await(&x->news, &stuck.gones, 1);
  append(x, "t");
  news_await(&x->news, &other.events, 1);
  leave(&other);
  assert_int_equal(other.gones, 0);
}

/* What nobody listens to costs nothing: not looked at without subscribers, not read for others'. */
static void others_events_are_not_read(void **state)
{
  struct rig *x = *state;
  struct reader r = {0};
  struct rp__live_counts counts;
  start(x, "heard", "nova");
  start(x, "unheard", "nova");
  for (int i = 0; i < 50; i++) append(x, "unheard");
  assert_int_equal(atomic_load(&x->srv.live->commits), 0);
  join(x, &r, "heard", -1);
  news_await(&x->news, &r.ups, 1);
  for (int i = 0; i < 50; i++) append(x, "unheard");
  append(x, "heard");
  news_await(&x->news, &r.events, 1);
  rp__live_counts(x->srv.live, &counts);
  assert_int_equal(counts.events, 1);
  leave(&r);
}

/* ---- lists (C-10) ---- */

struct list {
  struct rig *x;
  struct rp__list_sub *sub;
  const char *scope;
  bool stuck;
  const char *never;                                  /* an id that must not come */
  const char *watch;                                  /* an id */
  int wrong, sessions, closed, removed, seen, offers; /* `seen`: of that id */
};

static bool on_session(void *ctx, const char *what, const char *id, struct rp__str json)
{
  struct list *l = ctx;
  struct rp__json doc = {0};
  news_add(&l->x->news, &l->offers, 1);
  if (l->stuck) return false;
  bool fine = rp__json_parse(json.p, json.n, NULL, &doc, NULL) == 0 && rp__json_eq(rp__json_get(doc, "session_id"), id);
  bool gone = strcmp(what, "removed") == 0;
  bool watched = l->watch && strcmp(l->watch, id) == 0;
  news_add(&l->x->news, &l->wrong, !fine || (l->never && strcmp(l->never, id) == 0));
  if (watched && rp__json_eq(rp__json_get(doc, "status"), "closed")) news_add(&l->x->news, &l->closed, 1);
  if (watched && gone) news_add(&l->x->news, &l->removed, 1);
  if (watched) news_add(&l->x->news, &l->seen, 1);
  news_add(&l->x->news, &l->sessions, 1);
  return true;
}

static const struct rp__list_handler list_handler = {.session = on_session};

static void list_in_loop(void *arg)
{
  struct list *l = arg;
  l->wrong |= rp__list_sub_new(l->x->srv.live, l->scope, &list_handler, l, &l->sub, NULL) != 0;
}

static void unlist_in_loop(void *arg)
{
  struct list *l = arg;
  rp__list_sub_free(RP_TAKE(l->sub));
}

static void list_more_in_loop(void *arg)
{
  struct list *l = arg;
  l->stuck = false;
  rp__list_sub_more(l->sub);
}

static void end(struct rig *x, const char *id)
{
  struct rp__entry *e;
  assert_int_equal(rp__registry_get(x->srv.registry, id, &e, NULL), 0);
  assert_int_equal(rp_end(e->s, NULL, NULL), 0);
  rp__registry_put(x->srv.registry, e);
}

static void lists_tell_what_comes_changes_and_goes(void **state)
{
  struct rig *x = *state;
  struct list one = {.x = x, .scope = "nova", .watch = "c"}, all = {.x = x, .watch = "c"},
              late = {.x = x, .scope = "nova", .watch = "a", .never = "old"},
              other = {.x = x, .scope = "clawd", .watch = "b"};
  start(x, "a", "nova");
  start(x, "b", "clawd");
  start(x, "old", "nova");
  end(x, "old"); /* over when `late` comes: no part of its picture */
  in_loop(x->srv.loop, list_in_loop, &one);
  in_loop(x->srv.loop, list_in_loop, &all);
  in_loop(x->srv.loop, list_in_loop, &other);
  news_await(&x->news, &one.sessions, 1);
  news_await(&x->news, &all.sessions, 2);
  start(x, "c", "nova");
  news_await(&x->news, &one.seen, 1);
  end(x, "c");
  news_await(&x->news, &one.closed, 1);
  in_loop(x->srv.loop, list_in_loop, &late);
  news_await(&x->news, &late.seen, 1);
  assert_int_equal(rp_trash(x->srv.engine, "c", NULL, NULL), 0);
  news_await(&x->news, &one.removed, 1);
  news_await(&x->news, &all.removed, 1);
  in_loop(x->srv.loop, unlist_in_loop, &one);
  in_loop(x->srv.loop, unlist_in_loop, &all);
  in_loop(x->srv.loop, unlist_in_loop, &late);
  in_loop(x->srv.loop, unlist_in_loop, &other);
  assert_int_equal(one.wrong + all.wrong + late.wrong + other.wrong, 0);
  assert_int_equal(other.sessions, other.seen); /* nothing of other scopes */
}

/* A list that is not taken is not kept: only what is the newest then comes. */
static void lists_keep_the_newest(void **state)
{
  struct rig *x = *state;
  struct list slow = {.x = x, .stuck = true, .watch = "b"}, quick = {.x = x};
  start(x, "a", "nova");
  in_loop(x->srv.loop, list_in_loop, &slow);
  in_loop(x->srv.loop, list_in_loop, &quick);
  news_await(&x->news, &slow.offers, 1);
  news_await(&x->news, &quick.sessions, 1);
  append(x, "a");
  news_await(&x->news, &quick.sessions, 2);
  append(x, "a");
  news_await(&x->news, &quick.sessions, 3);
  assert_int_equal(news_read(&x->news, &slow.offers), 1);
  in_loop(x->srv.loop, list_more_in_loop, &slow);
  news_await(&x->news, &slow.sessions, 1);
  start(x, "b", "nova");
  news_await(&x->news, &slow.seen, 1);
  in_loop(x->srv.loop, unlist_in_loop, &slow);
  in_loop(x->srv.loop, unlist_in_loop, &quick);
  assert_int_equal(slow.wrong + quick.wrong, 0);
}

/* C-10: a session that is older than the list goes is told of when its journal grows, and followed from then on. */
static void old_sessions_that_wake_are_told(void **state)
{
  struct rig *x = *state;
  struct list all = {.x = x, .watch = "old"}, one = {.x = x, .scope = "nova", .watch = "old"},
              kept = {.x = x, .scope = "nova", .watch = "kept"}, other = {.x = x, .scope = "clawd", .never = "old"};
  char id[16];
  start(x, "old", "nova");
  end(x, "old");
  start(x, "kept", "nova");
  in_loop(x->srv.loop, list_in_loop, &kept);
  news_await(&x->news, &kept.seen, 1);
  for (int i = 0; i <= RP_LIVE_ROLL_SESSIONS; i++) {
    snprintf(id, sizeof id, "n%d", i);
    start(x, id, "nova");
  }
  in_loop(x->srv.loop, list_in_loop, &all);
  in_loop(x->srv.loop, list_in_loop, &one);
  in_loop(x->srv.loop, list_in_loop, &other);
  news_await(&x->news, &all.sessions, RP_LIVE_ROLL_SESSIONS);
  news_await(&x->news, &one.sessions, RP_LIVE_ROLL_SESSIONS);
  assert_int_equal(news_read(&x->news, &all.seen), 0);

  start(x, "old", "nova");
  news_await(&x->news, &all.seen, 1);
  news_await(&x->news, &one.seen, 1);
  assert_int_equal(news_read(&x->news, &all.closed), 0);
  end(x, "old");
  news_await(&x->news, &all.closed, 1);
  assert_int_equal(rp_trash(x->srv.engine, "old", NULL, NULL), 0);
  news_await(&x->news, &all.removed, 1);
  news_await(&x->news, &one.removed, 1);

  /* One that was in the list and is not any more is no less watched. */
  end(x, "kept");
  news_await(&x->news, &kept.closed, 1);
  assert_int_equal(rp_trash(x->srv.engine, "kept", NULL, NULL), 0);
  news_await(&x->news, &kept.removed, 1);
  in_loop(x->srv.loop, unlist_in_loop, &all);
  in_loop(x->srv.loop, unlist_in_loop, &one);
  in_loop(x->srv.loop, unlist_in_loop, &kept);
  in_loop(x->srv.loop, unlist_in_loop, &other);
  assert_int_equal(all.wrong + one.wrong + kept.wrong + other.wrong, 0);
  assert_int_equal(kept.removed, 1);
}

/* ---- the end ---- */

static void stop_in_mid_stream(void **state)
{
  struct rig *x = *state;
  struct reader r[8] = {0};
  struct list l = {.x = x};
  start(x, "s", "nova");
  for (int i = 0; i < 1000; i++) append(x, "s");
  for (size_t i = 0; i < RP_ARRAY_SIZE(r); i++) join(x, &r[i], "s", (int64_t)i);
  in_loop(x->srv.loop, list_in_loop, &l);
  rp__live_stop(x->srv.live);
  for (size_t i = 0; i < RP_ARRAY_SIZE(r); i++) leave(&r[i]);
  in_loop(x->srv.loop, unlist_in_loop, &l);
}

int main(int argc, char **argv)
{
  if (argc == 4 && strcmp(argv[1], "other") == 0) return other_process(argv[2], argv[3]);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(replay_then_live),
      TEST(nothing_missed_nothing_twice),
      cmocka_unit_test_setup_teardown(a_late_publisher_misses_nothing, setup_asleep, teardown),
      TEST(beyond_the_end_is_reset),
      TEST(the_journal_is_the_buffer),
      TEST(one_form_serves_a_crowd),
      TEST(callbacks_may_free),
      TEST(deleted_sessions_are_gone),
      TEST(others_events_are_not_read),
      TEST(lists_tell_what_comes_changes_and_goes),
      TEST(lists_keep_the_newest),
      TEST(old_sessions_that_wake_are_told),
      TEST(stop_in_mid_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
