/* SPDX-License-Identifier: Apache-2.0 */
/* session/list. */
#ifndef RP_BRIDGE_ACP_LIST_H
#define RP_BRIDGE_ACP_LIST_H

#include "bridge/acp/wire/message.h"

struct rp__acp;

void rp__acp_on_list(struct rp__acp *a, const struct rp__msg *m);

#endif
