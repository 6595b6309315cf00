/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_ENGINE_RECOVER_H
#define RP_ENGINE_RECOVER_H

#include "engine/engine.h"
#include "engine/slot.h"

/* Told of each run that was ended. */
/* `s` is what the run left, NULL when its session had ended; its state may be taken from it. */
typedef void rp__recovered_fn(void *ctx, const struct rp__run_row *run, const struct rp__verdict *verdict,
                              rp_session *s);

/*
 * Ends the scope's runs that have no living owner. Their sessions are marked
 * crash_recovered; those without a key are closed as of their last sign of life,
 * those with one stay open and are resumed by whoever asks for the key.
 */
int rp__recover(rp_engine *e, const char *scope, rp__recovered_fn *fn, void *ctx, rp_error *err);

#endif
