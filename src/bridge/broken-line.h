/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what can still be read in a line that is not JSON or is incomplete. */
#ifndef RP_BRIDGE_BROKEN_H
#define RP_BRIDGE_BROKEN_H

#include "json/json.h"

#define RP_BROKEN_ID_MAX 256 /* bytes of an id that is looked for */

/*
 * The value of the only "id" among the members of the outermost object, a number or a string, so that whoever waits
 * for an answer gets it. NONE when there is none to be sure of. Points into the line.
 */
struct rp__json rp__broken_line_id(const char *line, size_t n);

#endif
