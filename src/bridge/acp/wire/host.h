/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy's world on libuv: this process's stdin and stdout, the agent as a child, signals, one timer. */
#ifndef RP_BRIDGE_ACP_HOST_H
#define RP_BRIDGE_ACP_HOST_H

#include "bridge/acp/acp.h"

/* Runs until the editor goes. Returns 0 or an error; *ret_code: what the program shall exit with. */
RP_MUST_USE int rp__acp_run(rp_engine *e, const struct rp__acp_options *o, int *ret_code, rp_error *err);

#endif
