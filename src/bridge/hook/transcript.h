/* SPDX-License-Identifier: Apache-2.0 */
/* The file in which an agent keeps its conversation. It is read when a hook's input lacks the last message. */
#ifndef RP_BRIDGE_HOOK_TRANSCRIPT_H
#define RP_BRIDGE_HOOK_TRANSCRIPT_H

#include "json/json.h"

#define RP_TRANSCRIPT_TAIL ((size_t)1024 * 1024) /* bytes read from its end */
#define RP_TRANSCRIPT_ID 64

/*
 * The text of the assistant's last message of the turn that has just ended, appended to `ret`, and that entry's id
 * (empty: none). False: there is none to be found, for whatever reason.
 */
bool rp__transcript_last(const char *path, struct rp__buf *ret, char ret_id[RP_TRANSCRIPT_ID + 1]);

#endif
