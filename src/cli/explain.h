/* SPDX-License-Identifier: Apache-2.0 */
/* Briefs and the reasons behind them, shown to a person. */
#ifndef RP_CLI_EXPLAIN_H
#define RP_CLI_EXPLAIN_H

#include "cli/cli.h"

/* The text of a brief (the string "brief" of a document). False when there is none. */
bool rp__brief_text(struct rp__json doc, struct rp__buf *out);
/* Appends the brief as it would be read: behind a line on a terminal, its bare text elsewhere. */
void rp__brief_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc);
/* Appends all of an explanation: candidates, pins, memories, tasks, and why each line of the brief is there. */
void rp__explain_view(const struct rp__cli *c, struct rp__buf *out, struct rp__json doc);

#endif
