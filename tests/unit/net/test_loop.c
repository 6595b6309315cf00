/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop under the server (L-03, L-11): order, timers, stopping things from inside callbacks, its end. */
#include "rig.h"

#include <sys/epoll.h>

#include "net/heap.h"
#include "tests/lib/dice.h"

#define POSTS 20000
#define THREADS 4
#define TIMERS 200

/* ---- posting ---- */

struct log {
  struct news news;
  int n, out_of_order;
  int last[THREADS];
};

struct entry {
  struct rp__job job;
  struct log *log;
  int thread, number;
};

static void on_entry(struct rp__job *job)
{
  struct entry *e = (struct entry *)(void *)job;
  struct log *log = e->log;
  if (e->number != log->last[e->thread] + 1) log->out_of_order++;
  log->last[e->thread] = e->number;
  free(e);
  news_add(&log->news, &log->n, 1);
}

struct poster {
  pthread_t thread;
  struct rp__loop *l;
  struct log *log;
  int id, taken;
};

static void *post_many(void *arg)
{
  struct poster *p = arg;
  for (int i = 1; i <= POSTS; i++) {
    struct entry *e = malloc(sizeof(*e));
    if (!e) abort();
    *e = (struct entry){{.fn = on_entry}, p->log, p->id, i};
    if (rp__loop_post(p->l, &e->job))
      p->taken++;
    else
      free(e);
  }
  return NULL;
}

/* From four threads at once: each thread's jobs run in its order, none is lost, none runs twice. */
static void posts_of_many_threads_run_in_order(void **state)
{
  (void)state;
  struct log log = {.news = NEWS};
  struct rp__loop *l = loop_begin();
  struct poster p[THREADS];
  for (int i = 0; i < THREADS; i++) {
    p[i] = (struct poster){.l = l, .log = &log, .id = i};
    assert_int_equal(pthread_create(&p[i].thread, NULL, post_many, &p[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(p[i].thread, NULL);
  news_await(&log.news, &log.n, THREADS * POSTS);
  rp__loop_free(l);
  assert_int_equal(log.n, THREADS * POSTS);
  assert_int_equal(log.out_of_order, 0);
}

/* What was taken before the stop runs, what comes later is refused: nothing in between. */
static void a_stop_runs_what_was_taken(void **state)
{
  (void)state;
  struct log log = {.news = NEWS};
  struct rp__loop *l = loop_begin();
  struct poster p[THREADS];
  int taken = 0;
  for (int i = 0; i < THREADS; i++) {
    p[i] = (struct poster){.l = l, .log = &log, .id = i};
    assert_int_equal(pthread_create(&p[i].thread, NULL, post_many, &p[i]), 0);
  }
  news_await(&log.news, &log.n, 1);
  rp__loop_stop(l);
  int after_stop = log.n;
  for (int i = 0; i < THREADS; i++) {
    pthread_join(p[i].thread, NULL);
    taken += p[i].taken;
  }
  assert_int_equal(log.n, after_stop);
  assert_int_equal(log.n, taken);
  assert_int_equal(log.out_of_order, 0);
  struct rp__job late = {.fn = NULL};
  assert_false(rp__loop_post(l, &late));
  rp__loop_free(l);
}

struct whose {
  struct rp__loop *l;
  bool mine;
};

static void ask_whose(void *arg)
{
  struct whose *w = arg;
  w->mine = rp__loop_is_mine(w->l);
}

static void the_loop_knows_its_thread(void **state)
{
  (void)state;
  struct whose w = {.l = loop_begin()};
  in_loop(w.l, ask_whose, &w);
  assert_true(w.mine);
  assert_false(rp__loop_is_mine(w.l));
  rp__loop_free(w.l);
  rp__loop_free(NULL);
}

/* One that never ran still runs what was posted when it is freed. */
static void a_loop_that_was_never_started_ends_too(void **state)
{
  (void)state;
  struct log log = {.news = NEWS};
  struct rp__loop *l = NULL;
  assert_int_equal(rp__loop_new(&l, NULL), 0);
  struct entry *e = malloc(sizeof(*e));
  assert_non_null(e);
  *e = (struct entry){{.fn = on_entry}, &log, 0, 1};
  assert_true(rp__loop_post(l, &e->job));
  rp__loop_free(l);
  assert_int_equal(log.n, 1);
}

/* ---- timers ---- */

struct alarms {
  struct rp__loop *l;
  struct news news;
  struct alarm {
    struct rp__timer t;
    struct alarms *all;
    int64_t after;
    int fired;
  } v[TIMERS];
  int64_t last_due;
  int fired, early, out_of_order;
};

static void on_alarm(struct rp__timer *t)
{
  struct alarm *a = (struct alarm *)(void *)t;
  struct alarms *all = a->all;
  a->fired++;
  if (t->place) all->out_of_order++;
  if (t->due_ms > rp__loop_now(all->l)) all->early++;
  if (t->due_ms < all->last_due) all->out_of_order++;
  all->last_due = t->due_ms;
  news_add(&all->news, &all->fired, 1);
}

static void start_alarms(void *arg)
{
  struct alarms *all = arg;
  for (int i = 0; i < TIMERS; i++) {
    struct alarm *a = &all->v[i];
    a->t.fn = on_alarm;
    a->all = all;
    if (rp__timer_start(all->l, &a->t, a->after)) abort();
  }
  for (int i = 0; i < TIMERS; i += 4) rp__timer_stop(all->l, &all->v[i].t);
  for (int i = 1; i < TIMERS; i += 4)
    if (rp__timer_start(all->l, &all->v[i].t, all->v[i].after / 2)) abort();
  rp__timer_stop(all->l, &all->v[0].t);
}

/* In the order they are due, never early, once per start; a stopped one not at all. */
static void timers_fire_in_order(void **state)
{
  (void)state;
  struct alarms *all = calloc(1, sizeof(*all));
  struct dice d = dice_new();
  assert_non_null(all);
  all->l = loop_begin();
  all->news = NEWS;
  for (int i = 0; i < TIMERS; i++) all->v[i].after = dice_below(&d, 60);
  in_loop(all->l, start_alarms, all);
  news_await(&all->news, &all->fired, TIMERS * 3 / 4);
  rp__loop_free(all->l);
  assert_int_equal(all->fired, TIMERS * 3 / 4);
  assert_int_equal(all->early, 0);
  assert_int_equal(all->out_of_order, 0);
  for (int i = 0; i < TIMERS; i++) assert_int_equal(all->v[i].fired, i % 4 != 0);
  free(all);
}

/* The first to fire stops one that is due in the same turn, and starts itself anew. */
struct pairing {
  struct rp__timer a, b;
  struct rp__loop *l;
  struct news news;
  int rounds, others;
};

static void on_first(struct rp__timer *t)
{
  struct pairing *p = (struct pairing *)(void *)t;
  rp__timer_stop(p->l, &p->b);
  if (p->rounds < 3 && rp__timer_start(p->l, t, 0)) abort();
  news_add(&p->news, &p->rounds, 1);
}

static void on_second(struct rp__timer *t)
{
  struct pairing *p = (struct pairing *)(void *)((char *)t - offsetof(struct pairing, b));
  p->others++;
}

static void start_pairing(void *arg)
{
  struct pairing *p = arg;
  if (rp__timer_start(p->l, &p->a, 1) || rp__timer_start(p->l, &p->b, 2)) abort();
  int64_t due = p->a.due_ms;
  while (due + 5 > dice_now_us() / 1000) { /* both are due when the turn ends */
  }
}

static void a_timer_may_stop_another_and_start_itself(void **state)
{
  (void)state;
  struct pairing p = {.a = {.fn = on_first}, .b = {.fn = on_second}, .l = loop_begin(), .news = NEWS};
  in_loop(p.l, start_pairing, &p);
  news_await(&p.news, &p.rounds, 4);
  rp__loop_free(p.l);
  assert_int_equal(p.rounds, 4);
  assert_int_equal(p.others, 0);
}

/* ---- the heap, against a plain search ---- */

static void the_heap_has_the_earliest_on_top(void **state)
{
  (void)state;
  enum { N = 300 };
  static struct rp__timer t[N];
  struct rp__heap h = {0};
  struct dice d = dice_new();
  for (int64_t round = dice_rounds(20000, 500000); round > 0; round--) {
    struct rp__timer *one = &t[dice_below(&d, N)];
    if (dice_below(&d, 3)) {
      one->due_ms = dice_below(&d, 1000);
      assert_int_equal(rp__heap_put(&h, one), 0);
    } else {
      rp__heap_remove(&h, one);
    }
    int64_t earliest = INT64_MAX;
    size_t running = 0;
    for (int i = 0; i < N; i++) {
      if (!t[i].place) continue;
      running++;
      earliest = RP_MIN(earliest, t[i].due_ms);
      if (h.v[t[i].place - 1] != &t[i]) fail();
    }
    assert_int_equal(h.n, running);
    if (running) assert_int_equal(rp__heap_top(&h)->due_ms, earliest);
    if (!running) assert_null(rp__heap_top(&h));
  }
  rp__heap_done(&h);
}

/* ---- watches ---- */

struct watched {
  struct rp__watch w;
  struct peers *all;
};

struct peers {
  struct rp__loop *l;
  struct news news;
  struct watched *a, *b;
  int told;
};

/* Both are readable in the same turn; whoever is told first ends the other and frees it. */
static void on_readable(struct rp__watch *w, uint32_t events)
{
  struct watched *me = (struct watched *)(void *)w;
  struct peers *p = me->all;
  struct watched **other = me == p->a ? &p->b : &p->a;
  (void)events;
  rp__watch_stop(p->l, w);
  rp__watch_stop(p->l, &(*other)->w);
  rp__watch_stop(p->l, &(*other)->w);
  free(*other);
  *other = NULL;
  news_add(&p->news, &p->told, 1);
}

static void watch_both(void *arg)
{
  struct peers *p = arg;
  if (rp__watch_set(p->l, &p->a->w, EPOLLIN, NULL) || rp__watch_set(p->l, &p->b->w, EPOLLIN, NULL)) abort();
}

static void nothing(void *arg)
{
  (void)arg;
}

static void a_watch_may_end_another_of_the_same_turn(void **state)
{
  (void)state;
  int one[2], two[2];
  pair_make(one);
  pair_make(two);
  put(one[1], "x", 1);
  put(two[1], "x", 1);
  struct peers p = {.l = loop_begin(), .news = NEWS, .a = malloc(sizeof(*p.a)), .b = malloc(sizeof(*p.b))};
  assert_true(p.a && p.b);
  *p.a = (struct watched){{.fd = one[0], .fn = on_readable}, &p};
  *p.b = (struct watched){{.fd = two[0], .fn = on_readable}, &p};
  in_loop(p.l, watch_both, &p);
  news_await(&p.news, &p.told, 1);
  in_loop(p.l, nothing, NULL);
  rp__loop_free(p.l);
  assert_int_equal(p.told, 1);
  free(p.a);
  free(p.b);
  for (int i = 0; i < 2; i++) close(one[i]), close(two[i]);
}

/* ---- deferring ---- */

struct later {
  struct rp__loop *l;
  struct rp__job job, again;
  struct news news;
  bool inside, ran_inside;
  int ran;
};

static void on_again(struct rp__job *job)
{
  struct later *x = (struct later *)(void *)((char *)job - offsetof(struct later, again));
  news_add(&x->news, &x->ran, 1);
}

static void on_later(struct rp__job *job)
{
  struct later *x = (struct later *)(void *)((char *)job - offsetof(struct later, job));
  if (x->inside) x->ran_inside = true;
  rp__loop_defer(x->l, &x->again);
  news_add(&x->news, &x->ran, 1);
}

static void defer_one(void *arg)
{
  struct later *x = arg;
  x->inside = true;
  rp__loop_defer(x->l, &x->job);
  x->inside = false;
}

/* Also one that is deferred by a deferred one, though nothing else wakes the loop. */
static void deferred_work_runs_when_the_callbacks_are_done(void **state)
{
  (void)state;
  struct later x = {.l = loop_begin(), .job = {.fn = on_later}, .again = {.fn = on_again}, .news = NEWS};
  in_loop(x.l, defer_one, &x);
  news_await(&x.news, &x.ran, 2);
  rp__loop_free(x.l);
  assert_false(x.ran_inside);
  assert_int_equal(x.ran, 2);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(posts_of_many_threads_run_in_order),
      cmocka_unit_test(a_stop_runs_what_was_taken),
      cmocka_unit_test(the_loop_knows_its_thread),
      cmocka_unit_test(a_loop_that_was_never_started_ends_too),
      cmocka_unit_test(timers_fire_in_order),
      cmocka_unit_test(a_timer_may_stop_another_and_start_itself),
      cmocka_unit_test(the_heap_has_the_earliest_on_top),
      cmocka_unit_test(a_watch_may_end_another_of_the_same_turn),
      cmocka_unit_test(deferred_work_runs_when_the_callbacks_are_done),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
