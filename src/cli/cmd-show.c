/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/out.h"
#include "cli/view.h"

struct shown {
  const struct rp__cli *c;
  rp_error *err;
};

static int show(void *ctx, const rp_session_info *info)
{
  struct shown *s = ctx;
  char *json = NULL;
  int code = rp_session_json(info, &json, s->err);
  if (!code) code = rp__out_fields(s->c, json, s->err);
  rp_free(json);
  return code;
}

/* What it feels, for a person; a state that can't be read (a sealed one) is no reason to show nothing. */
static int show_affect(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  char *state = NULL;
  if (rp_attach(c->engine, c->args[0], &c->session, NULL) || rp_state_json(c->session, -1, &state, NULL)) return 0;
  struct rp__json affect = rp__json_get(rp__json_trusted(state, strlen(state)), "affect");
  if (affect.type == RP_JSON_OBJECT) {
    rp__buf_char(&out, '\n');
    rp__view_affect(c, &out, affect);
  }
  rp_free(state);
  return rp__view_print(&out, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct shown s = {c, err};
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_show(c->engine, c->args[0], show, &s, err);
  if (!code && !rp__json_wanted(c)) code = show_affect(c, err);
  return code;
}

const struct rp__cmd rp__cmd_show = {
    .name = "show",
    .theme = RP_THEME_READ,
    .usage = "ID",
    .summary = "Tell what is known about one session, and how it feels",
    .example = "  $ reprise show last\n"
               "  session_id        0197a3c2-5b1e-7c3d-9f00-3f2a8e1d4b5c\n"
               "  status            active\n",
    .arg = RP_ARG_SESSION,
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
