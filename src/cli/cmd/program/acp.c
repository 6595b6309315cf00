/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise acp`: the proxy between an editor and its agent, both of which use ACP (O-05, X-17). */
#include "bridge/acp/acp.h"
#include "bridge/workspace.h"
#include "cli/term.h"

enum { SCOPE, CONTINUE, NAME, BRIEF, STRICT_LOAD, OUTLIVE, DURABILITY };

#define DB_PREFIX "sqlite:"
#define LINE_BYTES 4096
#define PATH_BYTES 4096

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S",
               "whose sessions these are (default $REPRISE_SCOPE, or each directory's)"},
    [CONTINUE] = {"continue", 0, RP_OPT_TEXT, "ID", "the editor's first new session goes on with this one"},
    [NAME] = {"name", 0, RP_OPT_TEXT, "N", "the name of the editor's first new session"},
    [BRIEF] = {"brief", 0, RP_OPT_FLAG, NULL, "the first prompt of a new session carries the brief"},
    [STRICT_LOAD] = {"strict-load", 0, RP_OPT_FLAG, NULL, "a session that the agent can't load is an error"},
    [OUTLIVE] = {"outlive", 0, RP_OPT_FLAG, NULL, "the agent may go on when this process has ended"},
    [DURABILITY] = {"durability", 0, RP_OPT_CHOICE, "D", "how safe streamed text is before it is shown (default os)",
                    rp__durability_words + RP_OS},
};

static void print(const struct rp__cli *c, rp_log_level level, const char *text)
{
  RP_AUTOBUF struct rp__buf line = RP_BUF(LINE_BYTES);
  if (c->level < level) return;
  rp__term_cut(&line, text, strlen(text), 0);
  fprintf(stderr, "reprise: acp: %s\n", line.p ? line.p : "");
}

static void tell(void *ctx, const char *text)
{
  print(ctx, RP_LOG_INFO, text);
}

static void warn(void *ctx, const char *text)
{
  print(ctx, RP_LOG_WARN, text);
}

/* What the agent runs within this session (hooks, MCP servers) must find the same store. */
static int set_environment(const struct rp__cli *c, rp_error *err)
{
  const char *db = c->globals[RP_G_DB].text, *config = c->globals[RP_G_CONFIG].text;
  RP_AUTOFREE char *absolute = NULL, *file = config ? realpath(config, NULL) : NULL;
  char here[PATH_BYTES];
  /* A path that means the same wherever the agent's own programs stand. */
  if (db && strncmp(db, DB_PREFIX, strlen(DB_PREFIX)) == 0 && db[strlen(DB_PREFIX)] != '/' &&
      getcwd(here, sizeof here)) {
    if (asprintf(&absolute, DB_PREFIX "%s/%s", here, db + strlen(DB_PREFIX)) < 0) {
      absolute = NULL;
      return rp__fail_nomem(err);
    }
    db = absolute;
  }
  if (db && setenv("REPRISE_DB", db, 1)) return rp__fail_nomem(err);
  if (file && setenv("REPRISE_CONFIG", file, 1)) return rp__fail_nomem(err);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  char scope[RP_SCOPE_MAX + 1] = "", from[RP_ID_MAX + 1] = "";
  int status = 0, code = rp__opt_given(c, SCOPE) ? rp__workspace_scope(rp__opt_text(c, SCOPE), NULL, scope, err) : 0;
  if (!code) code = rp__cli_open(c, RP_USE_LIVE, err);
  if (!code && rp__opt_given(c, CONTINUE)) code = rp_resolve(c->engine, rp__opt_text(c, CONTINUE), from, err);
  if (!code) code = set_environment(c, err);
  if (code) return code;
  RP_AUTOFREE const char **command = calloc((size_t)c->n_args + 1, sizeof *command);
  if (!command) return rp__fail_nomem(err);
  memcpy(command, c->args, (size_t)c->n_args * sizeof *command);
  const struct rp__acp_options o = {
      .scope = scope[0] ? scope : NULL,
      .continue_id = from[0] ? from : NULL,
      .name = rp__opt_text(c, NAME),
      .command = command,
      .brief = rp__opt_given(c, BRIEF),
      .strict_load = rp__opt_given(c, STRICT_LOAD),
      .outlive = rp__opt_given(c, OUTLIVE),
      .updates = (rp_durability)(RP_OS + rp__opt_num(c, DURABILITY, 0)),
      .log = tell,
      .warn = warn,
      .log_ctx = c,
  };
  code = rp__acp_run(c->engine, &o, &status, err);
  return !code && status ? rp__fail(err, RP_E_FAILED, "the proxy gave up") : code;
}

const struct rp__cmd rp__cmd_acp = {
    .name = "acp",
    .theme = RP_THEME_SERVE,
    .usage = "-- CMD…",
    .summary = "Run an ACP agent behind a memory: every session resumable",
    .detail = "What an editor is told to run instead of the agent. It speaks ACP on standard input and output,\n"
              "runs CMD, forwards what both say as it is, and writes it down: sessions can be listed, loaded and\n"
              "resumed whatever the agent can do, and an agent that dies is started again where it was.",
    .example =
        "  $ reprise acp -- claude-agent-acp\n"
        "  $ reprise acp --continue last -- gemini --acp\n"
        "  in Zed's settings:\n"
        "  \"agent_servers\": {\n"
        "    \"Claude, resumable\": {\"command\": \"reprise\", \"args\": [\"acp\", \"--\", \"claude-agent-acp\"]}\n"
        "  }\n",
    RP_ARGS(RP_ARG_NONE, 1, -1),
    RP_OPTS(opts),
    .run = run,
};
