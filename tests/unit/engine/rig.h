/* SPDX-License-Identifier: Apache-2.0 */
/* An engine over a fresh folder, with a clock the test moves. */
#ifndef TEST_ENGINE_RIG_H
#define TEST_ENGINE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "json/json.h"
#include "lib/scratch.h"

struct rig {
  struct scratch scratch;
  char url[SCRATCH_PATH + 16];
  int64_t wall, boot; /* what the clock shows */
  rp_engine *e;
};

int rig_setup(void **state); /* a new folder, an engine on it */
int rig_teardown(void **state);
void rig_reopen(struct rig *r); /* closes and opens again, as a new process would */

/* Asserts success with the error's own words. */
#define OK(call, err)                                                                                                  \
  do {                                                                                                                 \
    int ok_rc_ = (call);                                                                                               \
    if (ok_rc_) fail_msg("%s: %d %s", #call, ok_rc_, (err).message);                                                   \
  } while (0)

/* Another engine on the same file, whose store calls are counted, told and failed as `plan` (store/store.h) says. */
struct rp__fault;
rp_engine *rig_counting(struct rig *r, struct rp__fault *plan);

rp_session *rig_start(struct rig *r, const char *scope, const char *key, rp_owner_kind owner);
void rig_put(rp_session *s, const char *kind, const char *body); /* appends it */
void rig_end(rp_session *s);                                     /* … and frees it */
/* Appends a user's message with that text. */
rp_ack rig_say(rp_session *s, const char *text);
char *rig_state(rp_session *s, int64_t at); /* freed by the caller */
/* A member of a JSON document by path "a.b.c", as raw JSON text in a static buffer ("" when absent). */
const char *rig_get(const char *json, const char *path);
const char *rig_start_get(const rp_session *s, const char *path); /* the same of its start document */

#endif
