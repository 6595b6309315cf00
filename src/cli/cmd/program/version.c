/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise version`: print the version. */
#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  if (rp__json_wanted(c)) return RP_OUT_PACK(c, err, "{version:s}", rp_version());
  printf("reprise %s\n", rp_version());
  return 0;
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
