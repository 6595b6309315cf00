/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise restore`: go back to an earlier state; the journal keeps everything. */
#include "cli/out.h"

enum { SNAPSHOT, AT };

static const struct rp__opt opts[] = {
    [SNAPSHOT] = {"snapshot", 0, RP_OPT_NUMBER, "N", "to this snapshot (default the newest)", NULL, 1, INT64_MAX},
    [AT] = {"at", 0, RP_OPT_NUMBER, "SEQ", "to the state after this event", NULL, 0, INT64_MAX},
};

static int newest(void *ctx, const rp_snapshot_info *s)
{
  int64_t *n = ctx;
  *n = RP_MAX(*n, s->n);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  int64_t n = rp__opt_num(c, SNAPSHOT, 0);
  bool to_event = rp__opt_given(c, AT);
  rp_ack ack;
  if (rp__opt_given(c, SNAPSHOT) && to_event)
    return rp__fail(err, RP_E_USAGE, "--snapshot and --at exclude each other");
  int code = rp__cli_attach(c, c->args[0], RP_USE_CHANGE, err);
  if (!code && !to_event && n == 0) code = rp_snapshots(c->session, newest, &n, err);
  if (code) return code;
  if (!to_event && n == 0)
    return rp__hinted(err, rp__fail(err, RP_E_SNAPSHOT_NOT_FOUND, "the session has no snapshot yet"),
                      "go back to an event with --at SEQ");
  code = to_event ? rp_restore(c->session, rp__opt_num(c, AT, 0), &ack, err)
                  : rp_restore_snapshot(c->session, n, &ack, err);
  return code ? code : rp__out_ack(c, &ack, err);
}

const struct rp__cmd rp__cmd_restore = {
    .name = "restore",
    .theme = RP_THEME_TRAVEL,
    .usage = "ID",
    .summary = "Go back to an earlier state; the journal keeps everything",
    .detail = "Appends one event that says where the session went back to. Nothing is deleted, so a restore\n"
              "can itself be undone by another.",
    .example = "  $ reprise restore kitchen-chat --at 120\n"
               "  {\"seq\":188,\"durability\":\"disk\"}\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
