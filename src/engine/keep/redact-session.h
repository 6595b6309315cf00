/* SPDX-License-Identifier: Apache-2.0 */
/* Redaction of stored sessions, and of names: types and functions that only the engine uses. */
#ifndef RP_ENGINE_REDACTION_H
#define RP_ENGINE_REDACTION_H

#include "engine/engine.h"

/* After its events were replaced: snapshots, the record, the name, and what the audit log tells of what `r` finds. */
RP_MUST_USE int rp__redaction_renew(rp_session *s, const struct rp__redactor *r, const struct rp__session_row *row,
                                    rp_error *err);

/*
 * Names (scopes, keys, ids, providers, clients, tokens' names) identify: they are stored and compared as they are, so
 * one that is a credential is refused when something is first called so, without telling it back. RP_E_USAGE.
 */
RP_MUST_USE int rp__redaction_check_name(rp_engine *e, const char *scope, const char *field, const char *name,
                                         rp_error *err);

/* What a message tells back of a name that was looked for: itself, unless it is a credential. */
const char *rp__redaction_shown(rp_engine *e, const char *scope, const char *name);

/* An idempotency key as it is stored: itself, or a hash when it is a credential; equal keys stay equal, others differ.
 */
#define RP_IDEMPOTENCY_HASHED 72
const char *rp__redaction_key(rp_engine *e, const char *scope, const char *key, char room[RP_IDEMPOTENCY_HASHED]);

#endif
