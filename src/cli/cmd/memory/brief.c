/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise brief`: print the brief that a start would give the model now, and the reasons for it. */
#include "bridge/workspace.h"
#include "cli/out.h"

enum { SCOPE, TOPICS, CHANNEL, EXPLAIN };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "what a start in this scope would tell (default: this project)"},
    [TOPICS] = {"topics", 0, RP_OPT_TEXT, "A,B", "what that start would be about"},
    [CHANNEL] = {"channel", 0, RP_OPT_TEXT, "C", "where it would take place"},
    [EXPLAIN] = {"explain", 'e', RP_OPT_FLAG, NULL, "each candidate's score, verdict and reason, and why each line"},
};

static void tell_brief(struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  bool explain = rp__opt_given(c, EXPLAIN);
  bool line_by_line = explain && rp__json_count(rp__json_get(doc, "lines"));
  if (explain) rp__explain_view(c, out, doc);
  if (explain && !line_by_line && rp__json_get(doc, "brief").type == RP_JSON_STRING)
    rp__view_heading(c, out, "the brief");
  size_t before = out->n;
  if (line_by_line) return;
  rp__brief_view(c, out, doc);
  if (out->n > before) return;
  RP_AUTOFREE char *warning = rp__json_dup(rp__json_get(doc, "warning"));
  rp__cli_say(c, "%s", warning ? warning : "nothing to tell");
}

static int brief_of_scope(struct rp__cli *c, char **ret, rp_error *err)
{
  const char *scope;
  int code = rp__scope_required(c, rp__opt_text(c, SCOPE), &scope, err);
  if (code) return code;
  RP_AUTOBUF struct rp__buf topics = RP_BUF(RP_START_TOPICS_BYTES);
  const rp_brief_options o = {
      .scope = scope,
      .topics = rp__topics_here(rp__opt_text(c, SCOPE), rp__opt_text(c, TOPICS), &topics),
      .channel = rp__opt_text(c, CHANNEL),
      .explain = rp__opt_given(c, EXPLAIN),
  };
  code = rp__cli_open(c, RP_USE_LOOK, err);
  return code ? code : rp_brief_scope(c->engine, &o, ret, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  if (c->n_args && (rp__opt_given(c, SCOPE) || rp__opt_given(c, TOPICS) || rp__opt_given(c, CHANNEL)))
    return RP_USAGE(c, err, "'%s' has its scope, topics and channel already", c->args[0]);
  int code = c->n_args ? rp__cli_attach(c, c->args[0], RP_USE_LOOK, err) : brief_of_scope(c, &json, err);
  if (!code && c->n_args) code = rp_brief(c->session, rp__opt_given(c, EXPLAIN), &json, err);
  return code ? code : rp__out_told(c, json, tell_brief, err);
}

const struct rp__cmd rp__cmd_brief = {
    .name = "brief",
    .theme = RP_THEME_MIND,
    .pages = true,
    .usage = "[ID]",
    .summary = "Print what a start would tell the model now, and why",
    .detail = "Changes nothing. With an ID: the brief of that session as it stands. On a cold start there is\n"
              "nothing to print. With --explain every earlier session is told with its score, verdict and\n"
              "reason, then every pin, task and memory, then the reason of each line of the brief.",
    .example = "  $ reprise brief --scope coder --topics ham-radio --explain\n",
    RP_ARGS(RP_ARG_SESSION, 0, 1),
    RP_OPTS(opts),
    .run = run,
};
