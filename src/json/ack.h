/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of an acknowledgement, the same on the command line, over HTTP, in channels and on the agents' socket. */
#ifndef RP_JSON_ACK_H
#define RP_JSON_ACK_H

#include <reprise/reprise.h>

#include "json/json.h"

/* {"seq","durability"[,"repeated"][,"budget_share"]}; seq is null where none was given yet. */
void rp__ack_write(struct rp__jw *w, const rp_ack *ack);
/* The members alone, for an object that has more; many: "first_seq" in front. */
void rp__ack_members(struct rp__jw *w, const rp_ack *ack, bool many);

#endif
