/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A holder streams while a guest in another process pins a thousand
 * times into the same session. Whatever way the state is built (by the holder as
 * it goes, from a snapshot and the tail, from the whole journal) it is the same.
 */
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/child.h"
#include "lib/dice.h"
#include "lib/rig.h"
#include "lib/scratch.h"

#define PINS 1000
#define AT_MAX 12
#define SNAPSHOTS_MAX 256

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

struct duo {
  char url[RIG_URL];
  atomic_bool held; /* the guest may come */
  atomic_bool guest_done;
};

/* Events that the facets of this version fold go in between, so that a lost or doubled one shows. */
static int guest_write(rp_session *s, int i)
{
  rp_error err;
  rp_ack ack;
  char body[160];
  rp_append_options o = {0};
  o.durability = i % 50 ? RP_OS : RP_DISK;
  snprintf(body, sizeof(body), "{\"label\":\"pin %d\",\"content\":\"the %d-th thing\"}", i % 10, i);
  rp_event pin = {.kind = "pin", .body = body};
  if (rp_append(s, &pin, &o, &ack, &err) != 0) goto failed;
  if (i % 5) return 0;
  rp_event usage = {.kind = "usage", .body = "{\"tokens_in\":1,\"requests\":1}"};
  if (rp_append(s, &usage, &o, &ack, &err) == 0) return 0;
failed:
  fprintf(stderr, "guest: %s\n", rig_why(&err));
  return 1;
}

static int guest(void *arg)
{
  struct duo *duo = arg;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  int rc = 0;
  while (!duo->held) sched_yield();
  if (rig_open(duo->url, false, &e, &err) != 0 || rp_attach(e, "duo", &s, &err) != 0) rc = 1;
  for (int i = 0; rc == 0 && i < PINS; i++) rc = guest_write(s, i);
  duo->guest_done = true;
  if (rc != 0) return rc;
  rp_session_free(s);
  rp_close(e);
  return 0;
}

static void holder_write(rp_session *s, int i)
{
  rp_error err;
  rp_ack ack;
  char body[200];
  rp_append_options o = {0};
  o.durability = i % 20 ? RP_OS : RP_DISK;
  snprintf(body, sizeof(body), "{\"role\":\"assistant\",\"content\":\"chunk %d\"}", i);
  rp_event message = {.kind = "message", .body = body};
  OK(rp_append(s, &message, &o, &ack, &err), err);
  snprintf(body, sizeof(body), "{\"call_id\":\"c%d\",\"name\":\"grep\",\"status\":\"%s\"}", i / 2,
           i % 2 ? "done" : "intended");
  rp_event tool = {.kind = "tool", .body = body};
  if (i % 3 == 0) OK(rp_append(s, &tool, &o, &ack, &err), err);
  if (i % 97 == 0) OK(rp_checkpoint(s, NULL, &err), err);
}

struct snapshots {
  int64_t n[SNAPSHOTS_MAX];
  size_t count;
};

static int note_snapshot(void *ctx, const rp_snapshot_info *info)
{
  struct snapshots *list = ctx;
  if (list->count < SNAPSHOTS_MAX) list->n[list->count++] = info->n;
  return 0;
}

static void delete_snapshots(rp_session *s, size_t *ret_count)
{
  struct snapshots list = {.count = 0};
  rp_error err;
  OK(rp_snapshots(s, note_snapshot, &list, &err), err);
  for (size_t i = 0; i < list.count; i++) OK(rp_snapshot_delete(s, list.n[i], &err), err);
  *ret_count = list.count;
}

static int count_pins(void *ctx, const rp_event_info *ev)
{
  if (strcmp(ev->kind, "pin") == 0) ++*(int *)ctx;
  return 0;
}

/* The state at several moments, from whatever the store has. */
static void states(const char *url, int64_t seq, char *ret[AT_MAX])
{
  rp_engine *e;
  rp_session *s;
  rp_error err;
  OK(rig_open(url, false, &e, &err), err);
  OK(rp_attach(e, "duo", &s, &err), err);
  for (int i = 0; i < AT_MAX; i++) OK(rp_state_json(s, i ? seq * i / AT_MAX : -1, &ret[i], &err), err);
  rp_session_free(s);
  rp_close(e);
}

/* What replay makes; before it stands the row, whose status tells whether somebody lives in it now. */
static const char *folded(const char *doc)
{
  const char *from = strstr(doc, "\"conversation\":");
  assert_non_null(from);
  return from;
}

static void compare_replays(const char *url, const char *live, int64_t seq)
{
  char *fast[AT_MAX], *slow[AT_MAX];
  rp_engine *e;
  rp_session *s;
  rp_error err;
  size_t snapshots;
  states(url, seq, fast);
  OK(rig_open(url, false, &e, &err), err);
  OK(rp_attach(e, "duo", &s, &err), err);
  delete_snapshots(s, &snapshots);
  rp_session_free(s);
  OK(rig_verify(e, &err), err);
  rp_close(e);
  states(url, seq, slow);
  assert_true(snapshots > 0);
  assert_string_equal(folded(live), folded(fast[0]));
  for (int i = 0; i < AT_MAX; i++) {
    assert_string_equal(fast[i], slow[i]);
    rp_free(fast[i]);
    rp_free(slow[i]);
  }
}

/* The holder's own document, and the last seq, once both are silent. */
static void test_holder_and_guest(void **state)
{
  struct duo *duo = *state;
  rp_engine *e;
  rp_session *s;
  rp_error err;
  char *live;
  int64_t mark, seq;
  int pins = 0, chunks = 0;
  pid_t pid = child_run(guest, duo); /* before there are threads: one of them may be inside malloc */
  OK(rig_open(duo->url, true, &e, &err), err);
  OK(rig_hold(e, "duo", false, &s, &err), err);
  duo->held = true;
  for (; !duo->guest_done; chunks++) holder_write(s, chunks);
  assert_int_equal(child_wait(pid), 0);
  for (int i = 0; i < 10; i++) holder_write(s, chunks++);
  OK(rp_sync(s, "nobody", &mark, &seq, &err), err);
  OK(rp_events(s, 0, 0, count_pins, &pins, &err), err);
  assert_int_equal(pins, PINS);
  OK(rp_flush(e, &err), err);
  OK(rp_state_json(s, -1, &live, &err), err);
  rp_session_detach(s);
  rp_close(e);
  compare_replays(duo->url, live, seq);
  rp_free(live);
  printf("guest: %d pins beside %d chunks of the holder, %" PRId64 " events, replay equals snapshot plus tail\n", pins,
         chunks, seq);
}

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_holder_and_guest)};
  struct scratch dir;
  char path[SCRATCH_PATH];
  struct duo *duo = child_shared(sizeof(*duo));
  if (scratch_make(&dir) != 0) return 1;
  rig_url(scratch_path(&dir, "g.db", path), duo->url);
  struct CMUnitTest with_state[1] = {tests[0]};
  with_state[0].initial_state = duo;
  int failed = cmocka_run_group_tests(with_state, NULL, NULL);
  scratch_remove(&dir);
  return failed;
}
