/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the redaction of a session's past. */
#ifndef RP_ENGINE_REDACTION_H
#define RP_ENGINE_REDACTION_H

#include "engine/engine.h"

/* After its events were replaced: snapshots, the record, the name, and what the audit log tells of what `r` finds. */
int rp__redaction_renew(rp_session *s, const struct rp__redactor *r, const struct rp__session_row *row, rp_error *err);

#endif
