/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise hold`: keep a session although retention would delete it. */
#include <limits.h>

#include "cli/out.h"
#include "cli/retain.h"
#include "cli/term.h"

enum { OFF, LIST };

static const struct rp__opt opts[] = {
    [OFF] = {"off", 0, RP_OPT_FLAG, NULL, "take the hold off"},
    [LIST] = {"list", 0, RP_OPT_FLAG, NULL, "list the sessions on hold"},
};

struct listing {
  const struct rp__cli *c;
  int64_t n;
  struct rp__jw w;
};

static void held_line(struct listing *l, const rp_session_info *info)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(1024);
  char age[32], id[RP_ID_MAX + 1];
  bool colour = l->c->term.out_colour;
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
}

static int held(void *ctx, const rp_session_info *info)
{
  struct listing *l = ctx;
  if (!info->held_at) return 0;
  if (!rp__json_wanted(l->c)) {
    held_line(l, info);
    return 0;
  }
  rp__jw_object(&l->w);
  rp__jw_kstr(&l->w, "session_id", info->id);
  rp__jw_kstr(&l->w, "scope", info->scope);
  rp__jw_kstr(&l->w, "key", info->key);
  rp__jw_ktime(&l->w, "held_at", info->held_at);
  rp__jw_kbool(&l->w, "trashed", info->trashed_at != 0);
  rp__jw_end_object(&l->w);
  return l->w.out->err;
}

static int list(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  struct listing l = {.c = c, .w = RP_JW(&doc)};
  rp_filter f = {.limit = INT_MAX};
  rp__jw_object(&l.w);
  rp__jw_key(&l.w, "sessions");
  rp__jw_array(&l.w);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_list(c->engine, &f, held, &l, err);
  f.trashed = true;
  if (!code) code = rp_list(c->engine, &f, held, &l, err);
  if (code) return err->code ? code : rp__fail(err, code, "can't list the sessions");
  rp__jw_end_array(&l.w);
  rp__jw_end_object(&l.w);
  if (rp__json_wanted(c)) return rp__out_buf(c, &doc, err);
  if (l.n == 0 && c->term.err_tty) fputs("nothing is on hold\n", stderr);
  return 0;
}

static int set(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  struct rp__jw w = RP_JW(&b);
  struct rp__subject s = {0};
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code) code = rp__subject_find(c, c->args[0], false, &s, err);
  if (!code) code = rp_hold(c->engine, s.id, !rp__opt_given(c, OFF), err);
  if (!code) code = rp__subject_find(c, s.id, false, &s, err);
  if (code) return code;
  if (!rp__json_wanted(c)) {
    printf(rp__opt_given(c, OFF) ? "%s is no longer on hold\n" : "%s is on hold\n", s.id);
    return 0;
  }
  rp__jw_object(&w);
  rp__jw_kstr(&w, "session_id", s.id);
  rp__jw_kbool(&w, "held", s.held_at != 0);
  rp__jw_ktime(&w, "held_at", s.held_at);
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool lists = rp__opt_given(c, LIST);
  if (lists == (c->n_args == 0) && !(lists && rp__opt_given(c, OFF))) return lists ? list(c, err) : set(c, err);
  rp__fail(err, RP_E_USAGE, "it needs ID, or --list alone");
  rp__hint(err, "see 'reprise hold --help'");
  return RP_E_USAGE;
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
    .arg = RP_ARG_SESSION,
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
