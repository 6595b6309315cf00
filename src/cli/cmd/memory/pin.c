/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise pin`: pin a text, also for later sessions. */
#include "cli/cli.h"

enum { IMPORTANCE };

static const struct rp__opt opts[] = {
    [IMPORTANCE] = {"importance", 0, RP_OPT_CHOICE, "I", "how much it matters", rp__importance_words},
};

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&body);
  rp__jw_object(&w);
  rp__jw_kstr(&w, "label", c->args[1]);
  rp__jw_kstr(&w, "content", c->args[2]);
  if (rp__opt_given(c, IMPORTANCE)) rp__jw_kstr(&w, "importance", rp__opt_text(c, IMPORTANCE));
  rp__jw_end_object(&w);
  return rp__cli_append(c, c->args[0], "pin", &body, err);
}

const struct rp__cmd rp__cmd_pin = {
    .name = "pin",
    .theme = RP_THEME_MIND,
    .usage = "ID LABEL CONTENT",
    .summary = "Keep something in mind, also for the sessions to come",
    .detail = "The same label again replaces what it said. There is room for ten; the eleventh is refused\n"
              "(exit 8) with a word on what to unpin. A pin is critical by its importance, or when its label or\n"
              "content says CRITICAL; those are inherited first, and from any session of the week.",
    .example = "  $ reprise pin ham-radio '[TASK] task-7' 'CAT control of the ft991a, incomplete' --importance high\n"
               "  {\"seq\":12,\"durability\":\"disk\"}\n",
    .arg = RP_ARG_SESSION,
    .min_args = 3,
    .max_args = 3,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
