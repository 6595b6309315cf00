/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures that can't be recorded in the audit log, because the full disk that caused them holds the log too (O-07).
 * They are kept in the page of `<db>.runs` that all processes map and whose disk block exists already, until a process
 * can write them to the log.
 */
#ifndef RP_ENGINE_UNSAID_H
#define RP_ENGINE_UNSAID_H

#include "engine/engine.h"

/* Remembers that a snapshot failed. With no place left, or a store without such a page, it is only logged. */
void rp__unsaid_keep(rp_session *s, const char *reason, int code);
/* Writes down what is remembered, by whomever; what still can't be stays. */
void rp__unsaid_tell(rp_engine *e);

#endif
