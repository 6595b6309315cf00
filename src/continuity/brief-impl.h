/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that the two templates share. Each adds a section to the draft, unless the section would be empty. */
#ifndef RP_CONTINUITY_BRIEF_IMPL_H
#define RP_CONTINUITY_BRIEF_IMPL_H

#include "continuity/brief-draft.h"
#include "continuity/brief.h"

#define RP_LABEL_CHARS 200 /* of ids, labels, titles and names */
#define RP_TEXT_CHARS 500  /* of messages and facts */

void rp__brief_coder(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_robot(const struct rp__brief_input *in, struct rp__draft *d);

void rp__brief_tasks(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_pins(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_memories(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_stopped(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_tools(const struct rp__brief_input *in, struct rp__draft *d);
void rp__brief_waiting(const struct rp__brief_input *in, struct rp__draft *d); /* approvals and questions */
void rp__brief_evidence(const struct rp__brief_input *in, struct rp__draft *d);

size_t rp__brief_pin_count(const struct rp__brief_input *in); /* that the pins section would have */
bool rp__brief_unclean(enum rp__cause c);
/* " (2 hours ago)", or nothing of a time that is 0. */
void rp__brief_ago(const struct rp__brief_input *in, int64_t at_ms, struct rp__buf *out);

#endif
