/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures that the audit log has no room for, since the disk that is full is its own (O-07). They stand in the page
 * of `<db>.runs` that all processes map, whose block is there already, until somebody can write them down.
 */
#ifndef RP_ENGINE_UNSAID_H
#define RP_ENGINE_UNSAID_H

#include "engine/engine.h"

/* Remembers that a snapshot failed. With no place left, or a store without such a page, it is only logged. */
void rp__unsaid_keep(rp_session *s, const char *reason, int code);
/* Writes down what is remembered, by whomever; what still can't be stays. */
void rp__unsaid_tell(rp_engine *e);

#endif
