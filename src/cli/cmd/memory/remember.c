/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise remember`: store a fact as a memory of the scope. */
#include "cli/out.h"

enum { CONFIDENCE, CATEGORY };

static const struct rp__opt opts[] = {
    [CONFIDENCE] = {"confidence", 0, RP_OPT_REAL, "X", "how sure it is, 0 to 1 (default 1)", NULL, 0, 1},
    [CATEGORY] = {"category", 0, RP_OPT_TEXT, "A,B", "what it is about"},
};

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__jw w = RP_JW(&b);
  char id[RP_ID_MAX + 1];
  double confidence = rp__opt_real(c, CONFIDENCE, 1);
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code) code = rp_remember(c->session, c->args[1], confidence, rp__opt_text(c, CATEGORY), id, err);
  if (code) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "memory_id", id);
  rp__jw_kdouble(&w, "confidence", confidence);
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

const struct rp__cmd rp__cmd_remember = {
    .name = "remember",
    .theme = RP_THEME_MIND,
    .usage = "ID TEXT",
    .summary = "Learn a fact, for the whole scope",
    .example = "  $ reprise remember ham-radio 'the ft991a speaks CAT at 38400 baud' --confidence 0.9\n"
               "  {\"memory_id\":\"0197…\",\"confidence\":0.9}\n",
    .arg = RP_ARG_SESSION,
    .min_args = 2,
    .max_args = 2,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
