/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise mood`: show mood, emotions, boredom and wounds, as they are now. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  RP_AUTOTEXT char *state = NULL;
  int code = rp__cli_state(c, c->args[0], &state, err);
  if (code) return code;
  struct rp__json affect = rp__json_get(rp__json_trusted(state, strlen(state)), "affect");
  bool any = affect.type == RP_JSON_OBJECT;
  if (rp__json_wanted(c)) return any ? rp__out_doc(c, affect.p, affect.n, err) : rp__out_doc(c, "null", 4, err);
  if (any)
    rp__view_affect(c, &out, affect);
  else if (!c->globals[RP_G_QUIET].count)
    fputs("nothing was felt yet\n", stderr);
  return rp__out_text(&out, err);
}

const struct rp__cmd rp__cmd_mood = {
    .name = "mood",
    .theme = RP_THEME_MIND,
    .usage = "ID",
    .summary = "Show mood, emotions, boredom and wounds, as they are now",
    .example = "  $ reprise mood nova\n"
               "  mood       sad\n"
               "  joy        0.02\n"
               "  wound      violence: at least fear 0.25, sadness 0.20; open for 120 s more\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    .run = run,
};
