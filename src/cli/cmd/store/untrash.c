/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise untrash`: take a session out of the trash, as it was. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  struct rp__subject s = {0};
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code) code = rp__subject_find(c, c->args[0], true, &s, err);
  if (!code) code = rp_untrash(c->engine, s.id, err);
  if (code) return code;
  if (rp__json_wanted(c)) return RP_OUT_PACK(c, err, "{session_id:s}", s.id);
  printf("%s is back\n", s.id);
  return 0;
}

const struct rp__cmd rp__cmd_untrash = {
    .name = "untrash",
    .theme = RP_THEME_CARE,
    .usage = "ID",
    .summary = "Take a session out of the trash, as it was",
    .detail = "ID is the session's id, a beginning of it that is unique in the trash, or its key.",
    .example = "  $ reprise untrash kitchen-chat\n"
               "  0197a3c2-5b1e-7… is back\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    .run = run,
};
