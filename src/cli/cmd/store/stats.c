/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise stats`: count what the store holds. */
#include "cli/out.h"

enum { METRICS };

static const struct rp__opt opts[] = {
    [METRICS] = {"metrics", 0, RP_OPT_FLAG, NULL, "counters and histograms in Prometheus' text format"},
};

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *text = NULL;
  bool metrics = rp__opt_given(c, METRICS);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = metrics ? rp_metrics_text(c->engine, &text, err) : rp_stats_json(c->engine, &text, err);
  if (code || !metrics) return code ? code : rp__out_fields(c, text, err);
  fputs(text, stdout);
  return 0;
}

const struct rp__cmd rp__cmd_stats = {
    .name = "stats",
    .theme = RP_THEME_CARE,
    .pages = true,
    .usage = "",
    .summary = "Count what the store holds",
    .example = "  $ reprise stats --json | jq .events\n",
    RP_OPTS(opts),
    .run = run,
};
