/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise version`: print the version. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(256);
  struct rp__jw w = RP_JW(&b);
  if (!rp__json_wanted(c)) {
    printf("reprise %s\n", rp_version());
    return 0;
  }
  rp__jw_pack(&w, "{version:s}", rp_version());
  return rp__out_buf(c, &b, err);
}

const struct rp__cmd rp__cmd_version = {
    .name = "version",
    .theme = RP_THEME_MORE,
    .usage = "",
    .summary = "Print the version",
    .example = "  $ reprise version\n"
               "  reprise " RP_VERSION "\n",
    .run = run,
};
