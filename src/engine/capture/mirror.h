/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for other programs: the record of an ended session as <id>.json, the live session file of a robot
 * (N-06), the live store of a fleet's sessions (C-11). These files are copies: the store is authoritative. A sealed
 * scope has none.
 */
#ifndef RP_ENGINE_MIRROR_H
#define RP_ENGINE_MIRROR_H

#include "engine/engine.h"

/* <mirror_dir>/<id>.json, atomically. Nothing for a store without a file, a sealed scope or mirror = false. */
RP_MUST_USE int rp__mirror_record(rp_engine *e, const struct rp__record_row *row, rp_error *err);
/* Takes that file away; none is fine. */
void rp__mirror_remove(rp_engine *e, const char *scope, const char *id);

/*
 * The scope's session_file from the session's state, where one is set. The version before is kept as <file>.bak, but
 * only if it can be read: a damaged file never replaces a good .bak. Takes s->lock.
 */
RP_MUST_USE int rp__mirror_live(rp_session *s, bool shutdown_clean, rp_error *err);
/* The same; a failure is logged. */
void rp__mirror_live_log(rp_session *s, bool shutdown_clean);
/*
 * Clawd's session store of every scope that has a store_file, when anything was stored since it was last written.
 * `now`: without the pauses in between. RP__MIRROR_NONE: there was nothing to do. One thread at a time.
 */
#define RP__MIRROR_NONE 1
RP_MUST_USE int rp__mirror_stores(rp_engine *e, bool now, rp_error *err);
bool rp__mirror_stores_wanted(const rp_engine *e); /* whether any scope has a store_file */
/* Only a new heartbeat in the file, if it is this session's; .bak stays as it is. A failure is logged. */
void rp__mirror_heartbeat(rp_session *s);

#endif
