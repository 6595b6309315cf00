/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise show`: show one session: its run, what it has used, its emotions. */
#include "cli/out.h"

/* What is told about the session beside its row. A state that can't be read (a sealed one) has no usage. */
struct shown {
  struct rp__cli *c;
  char *run, *usage;
  rp_error *err;
};

static void shown_done(struct shown *s)
{
  rp_free(s->run);
  rp_free(s->usage);
}

/* For a program a part as it came, for a person the same in one line. */
static void add_part(const struct shown *s, struct rp__jw *w, const char *name, const char *json, rp__view_fn *view)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  struct rp__json doc = json ? rp__json_trusted(json, strlen(json)) : (struct rp__json){0};
  if (rp__json_wanted(s->c)) {
    rp__jw_key(w, name);
    rp__jw_value(w, doc);
    return;
  }
  view(&line, doc);
  if (line.err && !w->out->err) w->out->err = line.err;
  if (line.n) rp__jw_kstr(w, name, line.p);
}

static int show_session(void *ctx, const rp_session_info *info)
{
  struct shown *s = ctx;
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&out);
  RP_AUTOTEXT char *json = NULL, *digest = NULL;
  int code = rp_session_json(info, &json, s->err);
  if (!code) code = rp_session_status_json(s->c->engine, info->id, NULL, &s->run, s->err);
  if (!code && !rp_attach(s->c->engine, info->id, &s->c->session, NULL))
    RP_IGNORE(rp_usage_json(s->c->session, &s->usage, NULL)); /* then there is no line about it */
  if (code) return code;
  rp__jw_object(&w);
  rp__out_members(&w, rp__json_trusted(json, strlen(json)));
  if (!rp_digest_json(s->c->engine, info->id, &digest, NULL))
    rp__out_asked(&w, rp__json_trusted(digest, strlen(digest)));
  add_part(s, &w, "run", s->run, rp__view_run);
  add_part(s, &w, "usage", s->usage, rp__view_usage);
  rp__jw_end_object(&w);
  return out.err ? rp__fail_nomem(s->err) : rp__out_fields(s->c, out.p, s->err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(shown_done) struct shown s = {.c = c, .err = err};
  RP_AUTOBUF struct rp__buf out = RP_BUF(RP_CLI_DOC_MAX);
  RP_AUTOTEXT char *state = NULL;
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_show(c->engine, c->args[0], show_session, &s, err);
  if (code || rp__json_wanted(c)) return code;
  /* What it feels, for a person; a state that can't be read (a sealed one) is no reason to show nothing. */
  if (!c->session || rp_state_json(c->session, -1, &state, NULL)) return 0;
  struct rp__json affect = rp__json_get(rp__json_trusted(state, strlen(state)), "affect");
  if (affect.type == RP_JSON_OBJECT) {
    rp__buf_char(&out, '\n');
    rp__view_affect(c, &out, affect);
  }
  return rp__out_text(&out, err);
}

const struct rp__cmd rp__cmd_show = {
    .name = "show",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "ID",
    .summary = "Tell of one session: its run, what it has used, how it feels",
    .example = "  $ reprise show last\n"
               "  session_id        0197a3c2-5b1e-7c3d-9f00-3f2a8e1d4b5c\n"
               "  status            active\n"
               "  run               start 42, short break (away for 10 min), up for 3 h\n"
               "  usage             $1.75 of $5.00 (35 %), 1200 tokens in, 300 out\n",
    RP_ARGS(RP_ARG_SESSION, 1, 1),
    .run = run,
};
