/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a session's states and transitions. */
#include "bridge/acp/session/machine.h"

#include <assert.h>

#include "base/macros.h"

#define IN(state) (1u << RP_ACP_##state)
#define ALL ((1u << RP_ACP_STATES) - 1)
#define STAY RP_ACP_STATES

const struct rp__acp_row rp__acp_rows[] = {
    {RP_ON_NAMED, IN(COLD) | IN(QUEUED), RP_ACP_LIVE, RP_DO_NOTHING},
    {RP_ON_COPIED, IN(LIVE), RP_ACP_FORKED, RP_DO_NOTHING},
    {RP_ON_ANSWERED, IN(FORKED) | IN(LIVE), RP_ACP_LIVE, RP_DO_NOTHING},
    {RP_ON_LINE, IN(COLD) | IN(QUEUED), STAY, RP_DO_RESTORE},
    {RP_ON_LINE, IN(RESTORING) | IN(RELOADING), STAY, RP_DO_WAIT},
    {RP_ON_LINE, IN(FORKED) | IN(LIVE), STAY, RP_DO_PASS},
    {RP_ON_RESTORE, IN(COLD) | IN(QUEUED), RP_ACP_RESTORING, RP_DO_CLIMB},
    {RP_ON_RESTORE, IN(LIVE), RP_ACP_RELOADING, RP_DO_CLIMB},
    {RP_ON_WAIT, IN(COLD) | IN(QUEUED), RP_ACP_QUEUED, RP_DO_NOTHING},
    {RP_ON_RESTORED, IN(RESTORING) | IN(RELOADING), RP_ACP_LIVE, RP_DO_RELEASE},
    {RP_ON_FAILED, IN(COLD) | IN(QUEUED) | IN(RESTORING) | IN(RELOADING), RP_ACP_COLD, RP_DO_NOTHING},
    {RP_ON_AGENT_GONE, IN(COLD) | IN(TAKEN), STAY, RP_DO_NOTHING},
    {RP_ON_AGENT_GONE, IN(QUEUED) | IN(RESTORING) | IN(RELOADING) | IN(FORKED) | IN(LIVE), RP_ACP_QUEUED,
     RP_DO_NOTHING},
    {RP_ON_AGENT_GONE, IN(ENDING), STAY, RP_DO_CLOSE},
    {RP_ON_TURN_OVER, IN(ENDING), STAY, RP_DO_CLOSE},
    {RP_ON_TURN_OVER, ALL & ~IN(ENDING), STAY, RP_DO_NOTHING},
    {RP_ON_END, IN(COLD) | IN(QUEUED) | IN(LIVE) | IN(TAKEN), RP_ACP_ENDING, RP_DO_NOTHING},
    {RP_ON_END, IN(RESTORING) | IN(RELOADING) | IN(FORKED), STAY, RP_DO_WAIT},
    {RP_ON_TAKEN, ALL & ~IN(TAKEN), RP_ACP_TAKEN, RP_DO_TELL},
    {RP_ON_REOPENED, IN(COLD) | IN(QUEUED) | IN(LIVE) | IN(TAKEN), RP_ACP_COLD, RP_DO_NOTHING},
};
const unsigned rp__acp_n_rows = RP_ARRAY_SIZE(rp__acp_rows);

struct rp__acp_step rp__acp_machine(enum rp__acp_state state, enum rp__acp_on on)
{
  assert(state < RP_ACP_STATES && on < RP_ONS);
  for (const struct rp__acp_row *r = rp__acp_rows; r < rp__acp_rows + rp__acp_n_rows; r++)
    if (r->on == on && r->in & 1u << state) return (struct rp__acp_step){r->to == STAY ? state : r->to, r->action};
  return (struct rp__acp_step){state, RP_DO_REFUSE};
}
