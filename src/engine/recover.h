/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RP_ENGINE_RECOVER_H
#define RP_ENGINE_RECOVER_H

#include "engine/engine.h"

/* Told of each run that was ended. */
typedef void rp__recovered_fn(void *ctx, const struct rp__run_row *run, const struct rp__verdict *verdict);

/*
 * Ends the scope's runs that have no living owner. Their sessions are marked
 * crash_recovered; those without a key are closed as of their last sign of life,
 * those with one stay open and are resumed by whoever asks for the key.
 */
int rp__recover(rp_engine *e, const char *scope, rp__recovered_fn *fn, void *ctx, rp_error *err);

/* Whether a handle of this very engine holds that slot. */
bool rp__slot_is_ours(rp_engine *e, int64_t slot);
/* A slot that shows that this process lives; without a lock file it means something to this engine only. */
int rp__slot_take(rp_engine *e, int64_t *ret, rp_error *err);
/* Lets go of it, unless another handle of the same run has it too. */
void rp__slot_drop(rp_engine *e, int64_t slot);

#endif
