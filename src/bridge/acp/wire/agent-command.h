/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's command line in the form in which it is stored: without its secrets. */
#ifndef RP_BRIDGE_ACP_AGENT_COMMAND_H
#define RP_BRIDGE_ACP_AGENT_COMMAND_H

#include <reprise/admin.h>
#include <reprise/reprise.h>

char **rp__command_copy(rp_engine *e, const char *const *command); /* ends with NULL; NULL: no memory */
void rp__command_free(char **command);

#endif
