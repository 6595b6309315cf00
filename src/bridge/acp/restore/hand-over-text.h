/* SPDX-License-Identifier: Apache-2.0 */
/* The conversation as one text, for an agent that can't load the session. */
#ifndef RP_BRIDGE_ACP_HAND_OVER_TEXT_H
#define RP_BRIDGE_ACP_HAND_OVER_TEXT_H

#include <reprise/reprise.h>

#include "base/buf.h"

#define RP_HISTORY_MAX ((size_t)128 * 1024) /* bytes of the text for an agent */
#define RP_HISTORY_TOOL ((size_t)4 * 1024)  /* … of what a tool was given, and of what it gave */
#define RP_HISTORY_NEWEST 2                 /* … of the newest: the text's size divided by this */

/*
 * The history for a model: newest kept, at most `max` bytes (RP_E_LIMIT below 8 KiB), with what tools were given and
 * gave, each within its bound and the newest whole, tools with unknown outcome named. Where room is short, what older
 * tools gave goes first. Nothing is added when there is none.
 */
#define RP_HISTORY_HEAD "[The conversation so far, as Reprise recorded it."
RP_MUST_USE int rp__history_text(rp_session *s, size_t max, struct rp__buf *out, rp_error *err);

#endif
