/* SPDX-License-Identifier: Apache-2.0 */
/* The user's table of emotions (N-11): read from `emotions_file`, put into a session's journal as its settings. */
#ifndef RP_ENGINE_EMOTIONS_H
#define RP_ENGINE_EMOTIONS_H

#include "engine/engine.h"

/*
 * Writes the body of a `session` event that sets the table of the scope's file; nothing when no file is configured or
 * the session (NULL: a new one) has that table already. RP_E_CONFIG names section and key.
 */
RP_MUST_USE int rp__emotions_event(rp_engine *e, rp_session *session, const char *scope, struct rp__buf *out,
                                   rp_error *err);

#endif
