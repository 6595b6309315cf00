/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise checkpoint`: make a snapshot of the session's state now. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  int64_t n;
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_checkpoint(c->session, &n, err);
  if (code) return code;
  return RP_OUT_PACK(c, err, "{session_id:s snapshot:i}", rp_session_id(c->session), n);
}

const struct rp__cmd rp__cmd_checkpoint = {
    .name = "checkpoint",
    .theme = RP_THEME_WRITE,
    .usage = "ID",
    .summary = "Make a snapshot of the session's state now",
    .example = "  $ reprise checkpoint kitchen-chat\n"
               "  {\"session_id\":\"0197…\",\"snapshot\":3}\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    .run = run,
};
