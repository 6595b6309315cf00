/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise hold`: keep a session although retention would delete it. */
#include <limits.h>

#include "cli/out.h"
#include "cli/term.h"

enum { OFF, LIST };

static const struct rp__opt opts[] = {
    [OFF] = {"off", 0, RP_OPT_FLAG, NULL, "take the hold off"},
    [LIST] = {"list", 0, RP_OPT_FLAG, NULL, "list the sessions on hold"},
};

static int held(void *ctx, const rp_session_info *info)
{
  struct rp__listing *l = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(1024);
  char age[32], id[RP_ID_MAX + 1];
  bool colour = l->c->term.out_colour;
  if (!info->held_at) return 0;
  if (l->json) {
    rp__jw_pack(&l->w, "{session_id:s scope:s key:s held_at:t trashed:b}", info->id, info->scope, info->key,
                info->held_at, info->trashed_at != 0);
    return l->doc.err;
  }
  rp__age_format(info->held_at, rp__cli_now(l->c), age, sizeof(age));
  if (l->n++ == 0)
    printf("%s%-13s  %-16s  %-20s  %s%s\n", RP_SGR(colour, RP_BOLD), "ID", "SCOPE", "KEY", "HELD SINCE",
           RP_RESET(colour));
  rp__term_cell(&line, rp__id_short(info->id, id), 13);
  rp__buf_str(&line, "  ");
  rp__term_cell(&line, info->scope, 16);
  rp__buf_str(&line, "  ");
  rp__term_cell(&line, info->key ? info->key : "-", 20);
  rp__buf_printf(&line, "  %s%s", age, info->trashed_at ? ", in the trash" : "");
  if (!line.err) puts(line.p);
  return 0;
}

static int list(struct rp__cli *c, rp_error *err)
{
  struct rp__listing l;
  rp_filter f = {.limit = INT_MAX};
  rp__listing_begin(&l, c, "{sessions:[", err);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_list(c->engine, &f, held, &l, err);
  f.trashed = true;
  if (!code) code = rp_list(c->engine, &f, held, &l, err);
  if (code && !err->code) rp__fail(err, code, "can't list the sessions");
  return rp__listing_end(&l, code, "nothing is on hold");
}

static int set(struct rp__cli *c, rp_error *err)
{
  struct rp__subject s = {0};
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code) code = rp__subject_find(c, c->args[0], false, &s, err);
  if (!code) code = rp_hold(c->engine, s.id, !rp__opt_given(c, OFF), err);
  if (!code) code = rp__subject_find(c, s.id, false, &s, err);
  if (code) return code;
  if (rp__json_wanted(c))
    return RP_OUT_PACK(c, err, "{session_id:s held:b held_at:t}", s.id, s.held_at != 0, s.held_at);
  printf(rp__opt_given(c, OFF) ? "%s is no longer on hold\n" : "%s is on hold\n", s.id);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool lists = rp__opt_given(c, LIST);
  if (lists == (c->n_args == 0) && !(lists && rp__opt_given(c, OFF))) return lists ? list(c, err) : set(c, err);
  return RP_USAGE(c, err, "it needs ID, or --list alone");
}

const struct rp__cmd rp__cmd_hold = {
    .name = "hold",
    .theme = RP_THEME_CARE,
    .usage = "ID | --list",
    .summary = "Keep a session whatever retention says",
    .detail = "No rm, no trash, no gc and no budget touches it until the hold is taken off.",
    .example = "  $ reprise hold kitchen-chat\n"
               "  $ reprise hold --list\n"
               "  $ reprise hold kitchen-chat --off\n",
    RP_ARGS(RP_ARG_SESSION, 0, 1),
    RP_OPTS(opts),
    .run = run,
};
