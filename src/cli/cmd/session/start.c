/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise start`: begin a session or resume one, and print what is known about it. */
#include "bridge/workspace.h"
#include "cli/out.h"

enum { SCOPE, KEY, ID, CHANNEL, MODE, OWNER, TOPICS, PROVIDER, META, FORCE };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "whose session it is: an agent, a robot (default: this project)"},
    [KEY] = {"key", 'k', RP_OPT_TEXT, "K", "a name of your own; an open session of that key is resumed"},
    [ID] = {"id", 0, RP_OPT_TEXT, "ID", "the session's id: resumed when it exists, created when not"},
    [CHANNEL] = {"channel", 0, RP_OPT_TEXT, "C", "where the talk takes place (default cli)"},
    [MODE] = {"mode", 0, RP_OPT_CHOICE, "MODE", "what may happen", rp__mode_words},
    [OWNER] = {"owner", 0, RP_OPT_NUMBER, "PID", "the process whose life is the run's", NULL, 1, INT32_MAX},
    [TOPICS] = {"topics", 0, RP_OPT_TEXT, "A,B", "what it will be about"},
    [PROVIDER] = {"provider", 0, RP_OPT_TEXT, "P", "who runs the model"},
    [META] = {"meta", 0, RP_OPT_TEXT, "JSON", "an object to keep with the session"},
    [FORCE] = {"force", 0, RP_OPT_FLAG, NULL, "take over from a living owner, who is fenced"},
};

/* For a person: the brief as the model reads it, and the rest of the document without it. */
static int print_person(const struct rp__cli *c, struct rp__json doc, rp_error *err)
{
  RP_AUTOBUF struct rp__buf rest = RP_BUF(RP_CLI_DOC_MAX), brief = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&rest);
  struct rp__json_iter it = {0};
  struct rp__json key, value;
  rp__jw_object(&w);
  while (rp__json_next(doc, &it, &key, &value)) {
    RP_AUTOBUF struct rp__buf name = RP_BUF(1024);
    rp__buf_add(&name, key.p, key.n);
    if (name.err) return rp__fail_nomem(err);
    if (strcmp(name.p, "brief") == 0 && value.type == RP_JSON_STRING) continue;
    rp__jw_key(&w, name.p);
    rp__jw_value(&w, value);
  }
  rp__jw_end_object(&w);
  int code = rp__out_buf(c, &rest, err);
  if (code || rp__json_get(doc, "brief").type != RP_JSON_STRING) return code;
  rp__buf_char(&brief, '\n');
  rp__brief_view(c, &brief, doc);
  return rp__out_text(&brief, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  const char *scope;
  int code = rp__scope_required(c, rp__opt_text(c, SCOPE), &scope, err);
  if (code) return code;
  RP_AUTOBUF struct rp__buf topics = RP_BUF(RP_START_TOPICS_BYTES);
  const rp_start_options o = {
      .scope = scope,
      .key = rp__opt_text(c, KEY),
      .id = rp__opt_text(c, ID),
      .channel = rp__opt_given(c, CHANNEL) ? rp__opt_text(c, CHANNEL) : "cli",
      .provider = rp__opt_text(c, PROVIDER),
      .meta = rp__opt_text(c, META),
      .topics = rp__topics_here(rp__opt_text(c, SCOPE), rp__opt_text(c, TOPICS), &topics),
      .mode = (rp_mode)rp__opt_num(c, MODE, RP_MODE_AUTO),
      .owner = rp__opt_given(c, OWNER) ? RP_OWNER_PID : RP_OWNER_NONE,
      .owner_pid = rp__opt_num(c, OWNER, 0),
      .force = rp__opt_given(c, FORCE),
  };
  code = rp__cli_open(c, RP_USE_WRITE, err);
  if (!code) code = rp_start(c->engine, &o, &c->session, err);
  if (code) return code;
  const char *json = rp_start_json(c->session);
  if (c->term.out_tty && !rp__json_wanted(c))
    code = print_person(c, rp__json_trusted(json, strlen(json)), err);
  else
    code = rp__out_doc(c, json, strlen(json), err);
  /* The run outlives this command: its owner or its heartbeats keep it. */
  rp_session_detach(RP_TAKE(c->session));
  return code;
}

const struct rp__cmd rp__cmd_start = {
    .name = "start",
    .theme = RP_THEME_WRITE,
    .usage = "",
    .summary = "Begin a session or resume one, and print what is known about it",
    .detail = "Inside a project (a repository, or a folder with an agent's settings) the scope is the one that\n"
              "hooks and editors have for it; elsewhere --scope is required. In mode auto an open session with that id "
              "or key is resumed, otherwise a successor of the\n"
              "scope's last session begins. Without --owner the run lives by its heartbeats (30 s) and ends\n"
              "at once when the same key starts again. A living other owner is a conflict (exit 4).",
    .example =
        "  $ reprise start --scope nova --key kitchen-chat\n"
        "  "
        "{\"session_id\":\"0197…\",\"scope\":\"nova\",\"key\":\"kitchen-chat\",\"status\":\"created\",\"epoch\":1,…}\n",
    RP_OPTS(opts),
    .run = run,
};
