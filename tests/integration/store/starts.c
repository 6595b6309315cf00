/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that start one session at the same moment, some with an engine of their own, as processes have, some sharing
 * one, as a server's do. Each writes under the epoch it was given (B-05): an epoch is given to one start, and one that
 * is over never writes again. starts.py has the same for commands and for a server.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define STARTERS 12
#define SHARING 4 /* of them have one engine */
#define WRITES 3

struct starter {
  rp_engine *e;
  rp_owner_kind owner;
  pthread_barrier_t *gate;
  rp_session *s;
  int64_t epoch;
  bool repeated;
  int written, fenced, failed;
  rp_error err;
};

static int append(rp_session *s, int64_t epoch)
{
  char body[64];
  snprintf(body, sizeof body, "{\"epoch\":%" PRId64 "}", epoch);
  rp_event ev = {.kind = "x-said", .body = body};
  rp_append_options o = {0};
  o.durability = RP_OS;
  return rp_append(s, &ev, &o, NULL, NULL);
}

static void *start(void *arg)
{
  struct starter *x = arg;
  rp_start_options o = {.scope = "z", .key = "k", .owner = x->owner, .force = true};
  pthread_barrier_wait(x->gate);
  x->failed = rp_start(x->e, &o, &x->s, &x->err);
  if (x->failed) return NULL;
  x->epoch = rp_session_epoch(x->s);
  x->repeated = strstr(rp_start_json(x->s), "\"repeated\":true") != NULL;
  for (int i = 0; i < WRITES && !x->failed; i++) {
    int rc = append(x->s, x->epoch);
    if (rc == RP_E_FENCED)
      x->fenced++;
    else if (rc)
      x->failed = rc;
    else if (x->fenced) /* once fenced, always fenced */
      x->failed = RP_E_FAILED;
    else
      x->written++;
  }
  return NULL;
}

struct seen {
  int64_t last, went_down, events;
};

static int on_event(void *ctx, const rp_event_info *ev)
{
  struct seen *x = ctx;
  int64_t epoch;
  if (sscanf(ev->body, "{\"epoch\":%" SCNd64 "}", &epoch) != 1 || strcmp(ev->kind, "x-said") != 0) return 0;
  x->went_down += epoch < x->last;
  x->last = epoch;
  x->events++;
  return 0;
}

/* `over`: the session is ended, and the next ones start another. */
static void check(struct starter *x, rp_engine *e, bool over, struct seen *seen, int64_t *after)
{
  rp_session *s;
  rp_error err = {0};
  int64_t newest = 0, written = 0, before = seen->events;
  for (int i = 0; i < STARTERS; i++) {
    if (x[i].failed) fail_msg("starter %d: %d %s", i, x[i].failed, rig_why(&x[i].err));
    for (int j = 0; j < i; j++)
      if (!x[i].repeated && !x[j].repeated) assert_int_not_equal(x[i].epoch, x[j].epoch);
    newest = x[i].epoch > newest ? x[i].epoch : newest;
    written += x[i].written;
  }
  for (int i = 0; i < STARTERS; i++) assert_true(x[i].epoch < newest || x[i].fenced == 0);
  assert_int_equal(rp_attach(e, "k", &s, &err), 0);
  assert_int_equal(rp_events(s, *after, 0, on_event, seen, &err), 0);
  int64_t client;
  assert_int_equal(rp_sync(s, "nobody", &client, after, &err), 0);
  assert_int_equal(seen->went_down, 0);
  assert_int_equal(seen->events - before, written);
  if (over) {
    assert_int_equal(rp_end(s, NULL, &err), 0);
    *after = seen->last = 0;
  }
  rp_session_free(s);
}

static void threads_that_start_one_session_at_once(void **state)
{
  (void)state;
  struct scratch dir;
  char path[SCRATCH_PATH], url[RIG_URL];
  rp_engine *own[STARTERS], *shared;
  struct dice d = dice_new();
  rp_error err = {0};
  struct seen seen = {0};
  int64_t rounds = dice_rounds(40, 1000), after = 0, starts = 0, fenced = 0, repeated = 0;
  assert_int_equal(scratch_make(&dir), 0);
  rig_url(scratch_path(&dir, "s.db", path), url);
  assert_int_equal(rig_open(url, true, &shared, &err), 0);
  for (int i = SHARING; i < STARTERS; i++) assert_int_equal(rig_open(url, false, &own[i], &err), 0);
  for (int64_t round = 0; round < rounds; round++) {
    struct starter x[STARTERS] = {0};
    pthread_t t[STARTERS];
    pthread_barrier_t gate;
    assert_int_equal(pthread_barrier_init(&gate, NULL, STARTERS), 0);
    for (int i = 0; i < STARTERS; i++) {
      x[i].e = i < SHARING ? shared : own[i];
      x[i].owner = dice_below(&d, 2) ? RP_OWNER_SELF : RP_OWNER_NONE;
      x[i].gate = &gate;
      assert_int_equal(pthread_create(&t[i], NULL, start, &x[i]), 0);
    }
    for (int i = 0; i < STARTERS; i++) assert_int_equal(pthread_join(t[i], NULL), 0);
    check(x, shared, dice_below(&d, 10) == 0, &seen, &after);
    for (int i = 0; i < STARTERS; i++) {
      starts++;
      fenced += x[i].fenced;
      repeated += x[i].repeated;
      rp_session_free(x[i].s);
    }
    pthread_barrier_destroy(&gate);
  }
  for (int i = SHARING; i < STARTERS; i++) rp_close(own[i]);
  rp_close(shared);
  assert_int_equal(rig_verify_file(url, &err), 0);
  scratch_remove(&dir);
  printf("threads: %" PRId64 " starts, %" PRId64 " of them repeated, %" PRId64 " writes, %" PRId64 " refused\n", starts,
         repeated, seen.events, fenced);
  assert_true(fenced > 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_that_start_one_session_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
