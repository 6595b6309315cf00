/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise chain`: show the sessions that led to this one, the oldest first. */
#include "cli/out.h"
#include "cli/term.h"

#define DEPTH_DEFAULT 20
#define DEPTH_MAX 10000
#define INDENT_MAX 20 /* levels drawn further in; deeper ones stay below each other */
#define ASKED_MIN 20  /* columns of the last request */
#define ASKED_MAX 100 /* where there is no terminal */

enum { DEPTH };

static const struct rp__opt opts[] = {
    [DEPTH] = {"depth", 'n', RP_OPT_NUMBER, "N", "at most so many sessions (default 20)", NULL, 1, DEPTH_MAX},
};

/* The first of two members that is there. */
static struct rp__json either(struct rp__json v, const char *name, const char *other)
{
  struct rp__json a = rp__json_get(v, name);
  return a.type == RP_JSON_NONE ? rp__json_get(v, other) : a;
}

static void link_line(const struct rp__cli *c, struct rp__buf *out, struct rp__json v, int depth)
{
  bool colour = c->term.out_colour;
  struct rp__json end = either(v, "ended_at", "end_time"), status = rp__json_get(v, "status");
  for (int i = 1; i < RP_MIN(depth, INDENT_MAX); i++) rp__buf_str(out, "   ");
  if (depth) rp__buf_printf(out, "%s└─%s ", RP_SGR(colour, RP_DIM), RP_RESET(colour));
  rp__buf_str(out, RP_SGR(colour, RP_CYAN));
  rp__view_text(out, rp__json_get(v, "session_id"), 0);
  rp__buf_printf(out, "%s  ", RP_RESET(colour));
  rp__view_time(c, out, either(v, "created_at", "start_time"));
  rp__buf_str(out, " – ");
  if (end.type == RP_JSON_STRING)
    rp__view_time(c, out, end);
  else
    rp__buf_str(out, "open");
  if (status.type == RP_JSON_STRING) {
    rp__buf_str(out, "  ");
    rp__view_text(out, status, 0);
  }
  if (rp__json_get(v, "crash_recovered").type == RP_JSON_TRUE) rp__buf_str(out, ", recovered");
  rp__buf_char(out, '\n');
  struct rp__json asked = rp__json_get(v, "last_request");
  if (asked.type != RP_JSON_STRING) return;
  int indent = depth ? 3 * RP_MIN(depth, INDENT_MAX) : 0;
  rp__buf_printf(out, "%*s", indent, "");
  rp__view_text(out, asked, c->term.out_tty ? RP_MAX(c->term.columns - indent, ASKED_MIN) : ASKED_MAX);
  rp__buf_char(out, '\n');
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__json_iter it = {0};
  struct rp__json v;
  RP_AUTOTEXT char *json = NULL;
  /* A walk along the chain is audited, and so writes. */
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code) code = rp_chain_json(c->engine, c->args[0], (int)rp__opt_num(c, DEPTH, DEPTH_DEFAULT), &json, err);
  if (code) return code;
  struct rp__json chain = rp__json_trusted(json, strlen(json));
  if (rp__json_wanted(c)) return rp__out_list(c, "sessions", chain, err);
  for (int depth = 0; rp__json_next(chain, &it, NULL, &v); depth++) link_line(c, &out, v, depth);
  return rp__out_text(&out, err);
}

const struct rp__cmd rp__cmd_chain = {
    .name = "chain",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "ID",
    .summary = "Show the sessions that led to this one, the oldest first",
    .detail = "Below each the last request of its user.",
    .example = "  $ reprise chain last --depth 3\n"
               "  0197a3c2-5b1e-7c3d-9f00-3f2a8e1d4b5c  2026-01-29 13:00:00 CET – 2026-01-29 13:40:11 CET  closed\n"
               "  Build the login page\n"
               "  └─ 0197ad0e-5b1e-7c3d-9f00-3f2a8e1d4b5c  2026-01-31 13:00:00 CET – open  active\n"
               "     Now test it in Firefox\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    RP_OPTS(opts),
    .run = run,
};
