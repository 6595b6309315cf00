/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an event may not do to the session it goes into: take an eleventh place for a pin, begin work that the
 * budget has no room for (L-12). Both need the state, so only these kinds pay for it.
 */
#ifndef RP_ENGINE_GUARD_H
#define RP_ENGINE_GUARD_H

#include "engine/engine.h"

/*
 * RP_E_PINS_FULL, RP_E_BUDGET. *ret_seq: where the pins it was judged by stand, or -1 when none had to be looked at:
 * the append holds only if no other has changed them since. What was spent is judged once: it may grow by what is under
 * way.
 */
int rp__guard(rp_session *s, const struct rp__event *ev, int64_t *ret_seq, rp_error *err);
/* RP_E_BUDGET, saying so in words, when the session's budget is spent. s->lock is held, as for the fold. */
int rp__guard_budget(rp_session *s, const struct rp__fold *f, rp_error *err);
/* Whether what is spent has to be looked at: there is a budget. No question to the store. */
bool rp__guard_watches(rp_session *s);
/* After an append of usage: what is used of the budget, and a word in the log each time it comes close. */
void rp__guard_spent(rp_session *s);
/* What is known of the budget, for an acknowledgement. No question to the store. */
void rp__guard_ack(rp_session *s, rp_ack *ack);

#endif
