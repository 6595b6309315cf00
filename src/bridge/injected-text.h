/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of Reprise that goes in front of a model stands between two marks. Agents put this text into the user's prompt,
 * wrapped and escaped, and report that prompt to their hooks. The hook finds the marks and does not take the text
 * between them for the user's words. The marks have no character that any agent escapes.
 */
#ifndef RP_BRIDGE_MARK_H
#define RP_BRIDGE_MARK_H

#include "base/buf.h"
#include "json/json.h"

#define RP_MARK_BEGIN "[reprise: recalled]"
#define RP_MARK_END "[reprise: end]"

/* Appends the text between marks; nothing for nothing. Marks inside of it lose their bracket: they would end it early.
 */
void rp__mark(struct rp__buf *out, const char *text, size_t n);
/* Takes what is ours out of a text, with the agent's wrapper around it where nothing else is left in that. */
void rp__unmark(struct rp__buf *text);
/* Whether a JSON string begins with a mark. */
bool rp__marked(struct rp__json string);

#endif
