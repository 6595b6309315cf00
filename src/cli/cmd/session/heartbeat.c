/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise heartbeat`: record that the run is alive. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_heartbeat(c->session, err);
  if (code || !rp__json_wanted(c)) return code;
  return RP_OUT_PACK(c, err, "{session_id:s}", rp_session_id(c->session));
}

const struct rp__cmd rp__cmd_heartbeat = {
    .name = "heartbeat",
    .theme = RP_THEME_WRITE,
    .usage = "ID",
    .summary = "Say that the run is alive",
    .detail = "A run without an owner lives by its heartbeats: one at least every 30 seconds.",
    .example = "  $ while sleep 10; do reprise heartbeat kitchen-chat; done\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    .run = run,
};
