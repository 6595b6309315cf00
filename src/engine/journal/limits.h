/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of a session: no more than ten pins, and no new work once the budget is spent (L-12). Both checks
 * need the state, so it is loaded only for the kinds of events that are limited.
 */
#ifndef RP_ENGINE_GUARD_H
#define RP_ENGINE_GUARD_H

#include "engine/engine.h"

/* Whether the state has to be known before the event is taken. No question to the store. */
bool rp__limits_apply(const rp_session *s, const struct rp__event *ev);
/*
 * RP_E_PINS_FULL, RP_E_BUDGET. The append of a pin holds only if no other has changed the pins since the state was
 * read; what was spent is judged once, and may grow by what is under way. s->lock is held, as for the fold.
 */
RP_MUST_USE int rp__limits_check(rp_session *s, const struct rp__fold *f, const struct rp__event *ev, rp_error *err);
/* RP_E_BUDGET, saying so in words, when the session's budget is spent. s->lock is held, as for the fold. */
RP_MUST_USE int rp__limits_budget(rp_session *s, const struct rp__fold *f, rp_error *err);
/* Whether the scope has a budget, so that what is spent has to be looked at. No question to the store. */
bool rp__limits_watches(const rp_session *s);
/* After an append of usage: what is used of the budget, and a word in the log each time it comes close. */
void rp__limits_spent(rp_session *s);
/* Puts the share of the budget that is known into an acknowledgement. No question to the store. */
void rp__limits_ack(rp_session *s, rp_ack *ack);

#endif
