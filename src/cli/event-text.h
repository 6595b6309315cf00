/* SPDX-License-Identifier: Apache-2.0 */
/* One event on one line, for a person. */
#ifndef RP_CLI_EVENT_TEXT_H
#define RP_CLI_EVENT_TEXT_H

#include "cli/cli.h"

/* Appends what the event says in a few words: the fields that matter for its kind, or the whole body. */
void rp__event_text(struct rp__buf *out, const char *kind, struct rp__json body, int columns);
/* Appends a message's content: a string, or the texts of its blocks. */
void rp__event_content(struct rp__buf *out, struct rp__json content);
/* Appends {"seq","at","kind","body"} with the body's own bytes, on one line. */
void rp__event_json(struct rp__buf *out, const rp_event_info *ev);

#endif
