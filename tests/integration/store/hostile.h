/* SPDX-License-Identifier: Apache-2.0 */
/* The database that the tests of damage and malice begin with. */
#ifndef TEST_HOSTILE_H
#define TEST_HOSTILE_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/rig.h"
#include "lib/scratch.h"

#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    if ((call) != 0) fail_msg("%s: %s", #call, rig_why(&(err)));                                                       \
  } while (0)

#define EVENTS 30

struct room {
  struct scratch dir;
  char path[SCRATCH_PATH], url[RIG_URL];
};

/* Two sessions; the first has a snapshot after each ten messages, the last one five messages before the end. */
static void fill_session(rp_engine *e, const char *key, int events, int every)
{
  rp_session *s;
  rp_error err;
  rp_ack ack;
  OK(rig_hold(e, key, false, &s, &err), err);
  for (int i = 1; i <= events; i++) {
    char body[120];
    snprintf(body, sizeof(body), "{\"role\":\"user\",\"content\":\"%s says %d\"}", key, i);
    rp_event ev = {.kind = "message", .body = body};
    OK(rp_append(s, &ev, NULL, &ack, &err), err);
    if (every && i % every == 0 && i < events) OK(rp_checkpoint(s, NULL, &err), err);
  }
  rp_session_detach(s);
}

static int enter(void **state)
{
  struct room *room = calloc(1, sizeof(*room));
  rp_engine *e;
  rp_error err;
  if (!room || scratch_make_fast(&room->dir) != 0) return -1;
  rig_url(scratch_path(&room->dir, "h.db", room->path), room->url);
  OK(rig_open(room->url, false, &e, &err), err);
  fill_session(e, "first", EVENTS, 8);
  fill_session(e, "second", 5, 0);
  rp_close(e);
  *state = room;
  return 0;
}

static int leave(void **state)
{
  struct room *room = *state;
  scratch_remove(&room->dir);
  free(room);
  return 0;
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, enter, leave)

#endif
