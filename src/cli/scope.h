/* SPDX-License-Identifier: Apache-2.0 */
/* The scope that a command uses when the user named none. */
#ifndef RP_CLI_SCOPE_H
#define RP_CLI_SCOPE_H

#include "cli/cli.h"

/*
 * What was given, else $REPRISE_SCOPE, else, inside a project, the scope that bridges have for it (bridge/workspace.h).
 * With none of them *ret is NULL. The text is the caller's, or c's. RP_E_INVALID: $REPRISE_SCOPE is no name.
 */
RP_MUST_USE int rp__scope_default(struct rp__cli *c, const char *given, const char **ret, rp_error *err);
/* The same for a command that can't do without: RP_E_USAGE, which says how to name one. */
RP_MUST_USE int rp__scope_required(struct rp__cli *c, const char *given, const char **ret, rp_error *err);

#endif
