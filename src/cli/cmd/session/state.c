/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise state`: print the session's state, now or at any event. */
#include "cli/out.h"

enum { AT };

static const struct rp__opt opts[] = {
    [AT] = {"at", 0, RP_OPT_NUMBER, "SEQ", "as it was after this event", NULL, 0, INT64_MAX},
};

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  int code = rp__cli_attach(c, c->args[0], RP_USE_LOOK, err);
  if (!code) code = rp_state_json(c->session, rp__opt_num(c, AT, -1), &json, err);
  return code ? code : rp__out_doc(c, json, strlen(json), err);
}

const struct rp__cmd rp__cmd_state = {
    .name = "state",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "ID",
    .summary = "Print the session's state, now or at any event",
    .example = "  $ reprise state kitchen-chat --at 5 | jq .conversation.messages\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
