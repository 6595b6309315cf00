/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables that a user gives as files: of emotions (N-11, `emotions_file`) and lists of cues (B-13, `cues_file`). They
 * are put into a session's journal as its settings, so that a replay needs no file.
 */
#ifndef RP_ENGINE_USER_TABLES_H
#define RP_ENGINE_USER_TABLES_H

#include "engine/engine.h"

/* Tells of an option whose file can't be used; the start goes on without it. */
typedef void rp__user_table_warn(void *ctx, const char *option, const rp_error *why);

/*
 * Writes the body of a `session` event that sets the tables of the scope's files; nothing when no file is configured or
 * the session (NULL: a new one) has these tables already. 0 or RP_E_NOMEM.
 */
RP_MUST_USE int rp__user_tables_event(rp_engine *e, rp_session *session, const char *scope, rp__user_table_warn *warn,
                                      void *ctx, struct rp__buf *out, rp_error *err);

#endif
