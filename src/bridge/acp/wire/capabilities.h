/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's name and capabilities, from its answer to `initialize`. */
#ifndef RP_BRIDGE_ACP_CAPABILITIES_H
#define RP_BRIDGE_ACP_CAPABILITIES_H

#include "bridge/acp/wire/pending-calls.h"

struct rp__acp;

#define RP_ACP_NAME 128 /* bytes of the agent's name */

struct rp__agent_caps {
  bool load, resume, list, close, remove, fork;
  char name[RP_ACP_NAME], version[64];
};

void rp__acp_on_initialize(struct rp__acp *a, const struct rp__msg *m);
void rp__acp_initialized(struct rp__acp *a, struct rp__call *c, const struct rp__msg *m);
void rp__acp_read_caps(struct rp__acp *a, struct rp__json result);

void rp__agent_name(const char *name, char ret[RP_ACP_NAME]);
void rp__agent_title(const struct rp__acp *a, char ret[RP_ACP_NAME + 16]); /* "agent NAME", or "agent" */

#endif
