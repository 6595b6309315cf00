/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise heartbeat`: record that the run is alive. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  struct rp__jw w = RP_JW(&b);
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_heartbeat(c->session, err);
  if (code || !rp__json_wanted(c)) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", rp_session_id(c->session));
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

const struct rp__cmd rp__cmd_heartbeat = {
    .name = "heartbeat",
    .theme = RP_THEME_WRITE,
    .usage = "ID",
    .summary = "Say that the run is alive",
    .detail = "A run without an owner lives by its heartbeats: one at least every 30 seconds.",
    .example = "  $ while sleep 10; do reprise heartbeat kitchen-chat; done\n",
    .arg = RP_ARG_SESSION,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
