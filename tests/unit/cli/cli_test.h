/* SPDX-License-Identifier: Apache-2.0 */
/* What the command line's unit tests share. */
#ifndef CLI_TEST_H
#define CLI_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cli.h"

/* A command line split at spaces, parsed into `c` at a fixed time. Keeps its words in `store`. */
struct cli_line {
  char store[512];
  char *argv[32];
  struct rp__cli c;
  rp_error err;
};

static inline int64_t fixed_wall(void *ctx)
{
  (void)ctx;
  return 1700000000000;
}

static inline int cli_parse(struct cli_line *l, const char *text)
{
  int argc = 0;
  memset(l, 0, sizeof(*l));
  l->c.clock = (rp_clock){fixed_wall, fixed_wall, NULL};
  snprintf(l->store, sizeof(l->store), "reprise %s", text);
  for (char *p = l->store, *word; (word = strsep(&p, " ")) && argc < 31;)
    if (*word) l->argv[argc++] = word;
  return rp__opt_parse(&l->c, argc, l->argv, &l->err);
}

#endif
