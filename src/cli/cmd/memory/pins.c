/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise pins`: list what is pinned, and where it was inherited from. */
#include "cli/out.h"
#include "cli/term.h"

#define PLACES 10

static void pin_lines(const struct rp__cli *c, struct rp__buf *out, struct rp__json pin)
{
  bool colour = c->term.out_colour;
  struct rp__json from = rp__json_get(pin, "inherited_from"), importance = rp__json_get(pin, "importance");
  bool critical = rp__json_get(pin, "critical").type == RP_JSON_TRUE || rp__json_eq(importance, "critical");
  rp__buf_str(out, RP_SGR(colour, critical ? RP_RED : RP_CYAN));
  rp__view_text(out, rp__json_get(pin, "label"), 0);
  rp__buf_str(out, RP_RESET(colour));
  if (from.type == RP_JSON_STRING) {
    rp__buf_str(out, " [inherited from ");
    rp__view_text(out, from, 0);
    rp__buf_str(out, " @ ");
    rp__view_time(c, out, rp__json_get(pin, "inherited_end"));
    rp__buf_char(out, ']');
  }
  if (critical)
    rp__buf_str(out, "  critical");
  else if (rp__json_eq(importance, "high"))
    rp__buf_str(out, "  high");
  rp__buf_str(out, "\n    ");
  rp__view_text(out, rp__json_get(pin, "content"), c->term.out_tty ? RP_MAX(c->term.columns - 5, 20) : 0);
  rp__buf_char(out, '\n');
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__json_iter it = {0};
  RP_AUTOTEXT char *state = NULL;
  int code = rp__cli_state(c, c->args[0], &state, err);
  if (code) return code;
  struct rp__json pin, pins = rp__json_get(rp__json_trusted(state, strlen(state)), "pins");
  if (rp__json_wanted(c)) return rp__out_list(c, "pins", pins, err);
  while (rp__json_next(pins, &it, NULL, &pin)) pin_lines(c, &out, pin);
  if (c->term.err_tty) rp__cli_say(c, "%zu of %d places taken", rp__json_count(pins), PLACES);
  return rp__out_text(&out, err);
}

const struct rp__cmd rp__cmd_pins = {
    .name = "pins",
    .theme = RP_THEME_MIND,
    .pages = true,
    .usage = "ID",
    .summary = "List what is pinned, and where it was inherited from",
    .example = "  $ reprise pins ham-radio\n"
               "  [TASK] task-7 [inherited from 0197a3c2-5b1e-7c3d-9f00-3f2a8e1d4b5c @ 2026-01-29 13:40:11 CET]  high\n"
               "      CAT control of the ft991a, incomplete\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    .run = run,
};
