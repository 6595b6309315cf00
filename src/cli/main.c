/* SPDX-License-Identifier: Apache-2.0 */
/* The command line's main: options, the command, the exit code. */
#include <signal.h>

#include "cli/out.h"

static int run(struct rp__cli *c, rp_error *err)
{
  if (c->globals[RP_G_QUIET].count)
    c->level = RP_LOG_ERROR;
  else if (c->globals[RP_G_VERBOSE].count > 1)
    c->level = RP_LOG_DEBUG;
  else if (c->globals[RP_G_VERBOSE].count && c->level < RP_LOG_INFO)
    c->level = RP_LOG_INFO;
  if (c->globals[RP_G_VERSION].count && !c->cmd) return rp__cmd_version.run(c, err);
  if (!c->cmd && !c->globals[RP_G_HELP].count) {
    if (!rp__json_wanted(c)) rp__help_overview(c, stderr);
    return rp__fail(err, RP_E_USAGE, "no command given");
  }
  if (c->cmd) return c->globals[RP_G_HELP].count ? rp__help_explain(c, c->cmd, err) : c->cmd->run(c, err);
  rp__help_overview(c, stdout);
  return 0;
}

static int parse(struct rp__cli *c, int argc, char **argv, rp_error *err)
{
  const struct rp__value *db = &c->globals[RP_G_DB];
  int code = rp__opt_parse(c, argc, argv, err);
  /* An empty variable of a script must not lead to the default store. */
  if (!code && db->count && !db->text[0])
    code = rp__hinted(err, rp__fail_field(err, RP_E_USAGE, "db", "--db is empty"),
                      "name a store, as --db sqlite:PATH, or leave --db away");
  /* The reading stops at the first mistake, but how to report it may stand behind. */
  for (int i = 1; code && i < argc; i++)
    if (strcmp(argv[i], "--json") == 0) c->globals[RP_G_JSON].count = 1;
  return code;
}

int main(int argc, char **argv)
{
  struct rp__cli c = {0};
  rp_error err = {0};
  /* A reader that leaves shows as EPIPE: a batch still finishes what it took. */
  signal(SIGPIPE, SIG_IGN);
  int code = rp__cli_init(&c, &err);
  if (!code) code = parse(&c, argc, argv, &err);
  if (!code && !c.globals[RP_G_HELP].count) rp__pager_start(&c);
  if (!code) code = run(&c, &err);
  rp_error out_err = {0};
  int out_code = rp__out_finish(&out_err);
  rp__cli_done(&c);
  rp__pager_finish(&c);
  /* Some callers take a failure, or the talk about it, for a verdict of their own. */
  if ((code || out_code) && c.cmd && c.cmd->forgives && c.cmd->forgives(&c, argc, argv)) {
    if (c.globals[RP_G_VERBOSE].count) rp__cli_report(&c, code ? &err : &out_err);
    return 0;
  }
  if (code) {
    if (!err.code) err.code = code;
    return rp__cli_report(&c, &err);
  }
  return out_code ? rp__cli_report(&c, &out_err) : 0;
}
