/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise end`: end a session: a last checkpoint, then closed. */
#include "cli/out.h"

enum { REASON };

static const struct rp__opt opts[] = {
    [REASON] = {"reason", 0, RP_OPT_TEXT, "R", "why; upgrade, killed and killed:SIGNAL are the next start's cause"},
};

static int run(struct rp__cli *c, rp_error *err)
{
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_end(c->session, rp__opt_text(c, REASON), err);
  if (code || !rp__json_wanted(c)) return code;
  return RP_OUT_PACK(c, err, "{session_id:s status:s}", rp_session_id(c->session), "closed");
}

const struct rp__cmd rp__cmd_end = {
    .name = "end",
    .theme = RP_THEME_WRITE,
    .usage = "ID",
    .summary = "End a session: a last checkpoint, then closed",
    .detail = "An ended session takes no events; only a start with its own id opens it again.",
    .example = "  $ reprise end kitchen-chat --reason 'good night'\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
