/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start, append, checkpoint, end: the cycle of which the nth call fails.
 *
 * Each step that fails must fail with a code of the table; then the cause goes
 * away and the same step must work. At the end nothing is held any more, the
 * store is sound and every acknowledged event is in it once.
 */
#ifndef FAULT_CYCLE_H
#define FAULT_CYCLE_H

#include <reprise/admin.h>
#include <reprise/continuity.h>
#include <reprise/host.h>
#include <reprise/reprise.h>

#include "plan.h"

struct cycle;
typedef int cycle_step_fn(struct cycle *c, rp_error *err);

struct cycle_step {
  const char *name;
  cycle_step_fn *run;
  int also; /* a code that a second try may give because the first had worked after all, or 0 */
};
extern const struct cycle_step cycle_core[];       /* start, appends of every sort, checkpoint, state, end */
extern const struct cycle_step cycle_create[];     /* as far as the first append, for new files */
extern const struct cycle_step cycle_travel[];     /* fork, restore, export, import, search, verify */
extern const struct cycle_step cycle_continuity[]; /* pins to record, successor, continue, audit, redact, gc */

struct cycle {
  char url[600];
  bool threads;
  /* Opens the engine; NULL: by the url. */
  cycle_step_fn *open;
  void *open_ctx;
  const struct cycle_step *steps;

  rp_engine *engine;
  rp_session *session;
  unsigned acked; /* bit n: event n was acknowledged */
  long failed;    /* steps that failed, of all the rounds */
  char trace[200];
};

/* Whether the fault is over and whether it ever struck. */
struct cycle_fault {
  void (*arm)(void *ctx, long nth);
  void (*disarm)(void *ctx);
  bool (*struck)(void *ctx);
  void *ctx;
  bool persistent;
};

/* One round with the nth call failing. False when the nth call never came. Fails the test when a promise is broken. */
bool cycle_round(struct cycle *c, const struct cycle_fault *f, long nth);

/*
 * Rounds for n = 1, 2, … until a round is untouched. `fresh` is called before each
 * (an empty database). Past `budget_ms` the steps grow, so that the end is reached
 * in bounded time; with REPRISE_SOAK=1 there is no budget.
 */
void cycle_enumerate(struct cycle *c, const struct cycle_fault *f, const char *title, void (*fresh)(struct cycle *),
                     long budget_ms);

#endif
