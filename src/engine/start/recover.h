/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of runs that died: each of them is ended and gets its record. */
#ifndef RP_ENGINE_RECOVER_H
#define RP_ENGINE_RECOVER_H

#include "engine/session-view.h"
#include "engine/run/slot.h"

/* A run whose owner is gone. */
struct rp__dead_run {
  struct rp__run_row run;
  struct rp__session_row row; /* of its session */
  struct rp__evidence evidence;
  struct rp__verdict verdict;
};

/* The open runs of a scope, read with their sessions: what is dead among them. */
struct rp__open_runs {
  rp_engine *e;
  void (*on_run)(void *ctx, const struct rp__run_row *run); /* told of each that was read; or NULL */
  void *ctx;
  struct rp__dead_run *dead;
  size_t n, cap;
  struct rp__beats beats;
};
struct rp__read rp__open_runs_reading(struct rp__open_runs *l, const char *scope);
void rp__open_runs_done(struct rp__open_runs *l);

/* Told of each run that was ended. */
typedef void rp__recovered_fn(void *ctx, const struct rp__run_row *run, const struct rp__verdict *verdict);

/*
 * Ends those runs. Their sessions are marked crash_recovered; those without a key are closed as of their last sign of
 * life, those with one stay open and are resumed by whoever asks for the key. What was read of them is kept in `seen`.
 */
RP_MUST_USE int rp__recover(rp_engine *e, const char *scope, const struct rp__key *key, struct rp__open_runs *l,
                            struct rp__views *seen, rp__recovered_fn *fn, void *ctx, rp_error *err);

#endif
