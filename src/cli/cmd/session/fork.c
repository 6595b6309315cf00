/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise fork`: branch a new session off an old one, at any event. */
#include "base/given-values.h"
#include "cli/out.h"

enum { AT };

static const struct rp__opt opts[] = {
    [AT] = {"at", 0, RP_OPT_NUMBER, "SEQ", "branch off after this event (default the last)", NULL, 0, INT64_MAX},
};

static int run(struct rp__cli *c, rp_error *err)
{
  char id[RP_ID_MAX + 1];
  rp_fork_options o = {.at_seq = rp__given_seq(rp__opt_num(c, AT, -1))};
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_fork(c->session, &o, id, NULL, err);
  if (code) return code;
  return RP_OUT_PACK(c, err, "{session_id:s forked_from:s}", id, rp_session_id(c->session));
}

const struct rp__cmd rp__cmd_fork = {
    .name = "fork",
    .theme = RP_THEME_TRAVEL,
    .usage = "ID",
    .summary = "Branch a new session off an old one, at any event",
    .example = "  $ reprise fork kitchen-chat --at 120\n"
               "  {\"session_id\":\"0197…\",\"forked_from\":\"0197…\"}\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
