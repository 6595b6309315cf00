/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise help`: explain the commands, or one of them. */
#include "cli/cli.h"

static int run(struct rp__cli *c, rp_error *err)
{
  if (c->n_args == 0) {
    rp__help_overview(c, stdout);
    return 0;
  }
  const struct rp__cmd *cmd = rp__cmd_find(c->args[0]);
  if (cmd) return rp__help_explain(c, cmd, err);
  return rp__hinted(err, rp__fail(err, RP_E_USAGE, "there is no command '%s'", c->args[0]),
                    "'reprise help' lists them all");
}

const struct rp__cmd rp__cmd_help = {
    .name = "help",
    .theme = RP_THEME_MORE,
    .pages = true,
    .usage = "[COMMAND]",
    .summary = "Explain the commands, or one of them",
    .example = "  $ reprise help append\n",
    RP_ARGS(RP_ARG_COMMAND, 0, 1),
    .run = run,
};
