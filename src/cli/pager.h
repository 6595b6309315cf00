/* SPDX-License-Identifier: Apache-2.0 */
/* Shows long output in a pager: $REPRISE_PAGER, $PAGER, or less where it is installed. */
#ifndef RP_CLI_PAGER_H
#define RP_CLI_PAGER_H

#include "cli/cli.h"

#define RP_PAGER_SAID_MAX 65536 /* bytes kept back for the time after it */

/*
 * What is printed from now on goes through the pager, where a person can be asked to turn pages: stdin and stdout are
 * terminals, the command pages, and neither --json, --no-pager nor --follow was given. Where none can be started there
 * is none.
 */
void rp__pager_start(struct rp__cli *c);
/* Waits until the person has read it all, then tells what was said meanwhile, and that there was no such pager. */
void rp__pager_finish(struct rp__cli *c);
/* On stderr: now, or, while a pager has the screen, behind it. From any thread. */
void rp__pager_say(struct rp__cli *c, const char *text);

#endif
