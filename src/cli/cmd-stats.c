/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  char *json = NULL;
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_stats_json(c->engine, &json, err);
  if (!code) code = rp__out_fields(c, json, err);
  rp_free(json);
  return code;
}

const struct rp__cmd rp__cmd_stats = {
    .name = "stats",
    .theme = RP_THEME_CARE,
    .usage = "",
    .summary = "Count what the store holds",
    .example = "  $ reprise stats --json | jq .events\n",
    .max_args = 0,
    .run = run,
};
