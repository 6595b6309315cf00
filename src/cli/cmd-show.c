/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/out.h"

struct shown {
  const struct rp__cli *c;
  rp_error *err;
};

static int show(void *ctx, const rp_session_info *info)
{
  struct shown *s = ctx;
  char *json = NULL;
  int code = rp_session_json(info, &json, s->err);
  if (!code) code = rp__out_fields(s->c, json, s->err);
  rp_free(json);
  return code;
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct shown s = {c, err};
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  return code ? code : rp_show(c->engine, c->args[0], show, &s, err);
}

const struct rp__cmd rp__cmd_show = {
    .name = "show",
    .theme = RP_THEME_READ,
    .usage = "ID",
    .summary = "Tell what is known about one session",
    .example = "  $ reprise show last\n"
               "  session_id        0197a3c2-5b1e-7c3d-9f00-3f2a8e1d4b5c\n"
               "  status            active\n",
    .arg = RP_ARG_SESSION,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
