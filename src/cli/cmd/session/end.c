/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise end`: end a session: a last checkpoint, then closed. */
#include "cli/out.h"

enum { REASON };

static const struct rp__opt opts[] = {
    [REASON] = {"reason", 0, RP_OPT_TEXT, "R", "why; upgrade, killed and killed:SIGNAL are the next start's cause"},
};

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  struct rp__jw w = RP_JW(&b);
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_end(c->session, rp__opt_text(c, REASON), err);
  if (code || !rp__json_wanted(c)) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", rp_session_id(c->session));
  rp__jw_kstr(&w, "status", "closed");
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

const struct rp__cmd rp__cmd_end = {
    .name = "end",
    .theme = RP_THEME_WRITE,
    .usage = "ID",
    .summary = "End a session: a last checkpoint, then closed",
    .detail = "An ended session takes no events; only a start with its own id opens it again.",
    .example = "  $ reprise end kitchen-chat --reason 'good night'\n",
    .arg = RP_ARG_SESSION,
    .min_args = 1,
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
