/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: the bytes of <db>.runs whose locks show that this process lives. The kernel
 * does not tell a process about its own locks, so the engine remembers its slots, from
 * before the run becomes visible until the last handle of the run is freed.
 */
#ifndef RP_ENGINE_SLOT_H
#define RP_ENGINE_SLOT_H

#include "engine/engine.h"

/* A fresh slot; without a lock file it means something to this engine only. */
RP_MUST_USE int rp__slot_take(rp_engine *e, int64_t *ret, rp_error *err);
/* That very slot (an import's, made of its id). RP_E_BUSY: somebody has it. */
RP_MUST_USE int rp__slot_take_named(rp_engine *e, int64_t slot, rp_error *err);
/* One more handle has it. False: nobody has it any more. */
bool rp__slot_share(rp_engine *e, int64_t slot);
void rp__slot_drop(rp_engine *e, int64_t slot);
/* Forgets all of them; the locks go with the lock file. */
void rp__slots_free(rp_engine *e);
bool rp__slot_is_ours(rp_engine *e, int64_t slot);
/* Whether anybody lives who has it. */
bool rp__slot_is_held(rp_engine *e, int64_t slot);

#endif
