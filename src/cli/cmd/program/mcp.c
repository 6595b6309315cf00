/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise mcp`: MCP over standard input and output, for editors and agents that run it as a server (B-04, X-17). */
#include <signal.h>

#include "base/text.h"
#include "bridge/sibling-bridges.h"
#include "bridge/mcp/mcp.h"
#include "cli/cli.h"
#include "cli/signals.h"

enum { SCOPE, SESSION, CHANNEL };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "whose memory it is (default $REPRISE_SCOPE, or the project's)"},
    [SESSION] = {"session", 0, RP_OPT_TEXT, "REF",
                 "act on this session: its id, or its key to be (default: a new one)"},
    [CHANNEL] = {"channel", 0, RP_OPT_TEXT, "C", "where the talk takes place (default: mcp)"},
};

static int open_store(void *ctx, rp_engine **ret, rp_error *err)
{
  struct rp__cli *c = ctx;
  int code = rp__cli_open(c, RP_USE_LIVE, err);
  if (!code) *ret = c->engine;
  return code;
}

/* What was said wrongly is for people to mend; a store that is away may come back, and the client is told meanwhile. */
static int try_store(struct rp__cli *c, struct rp__tool_session *m, rp_error *err)
{
  rp_error why = {0};
  m->open = open_store;
  m->open_ctx = c;
  int code = rp__tool_session_open(m, &why);
  bool waits = code && strncmp(rp_error_lookup(code)->name, "store.", 6) == 0;
  if (waits && !c->globals[RP_G_QUIET].count) fprintf(stderr, "reprise: %s\n", why.message);
  if (!code || waits) return 0;
  *err = why;
  return code;
}

static int prepare(struct rp__cli *c, struct rp__mcp *m, rp_error *err)
{
  const char *ref = rp__opt_text(c, SESSION), *channel = rp__opt_text(c, CHANNEL);
  if (ref && strlen(ref) > RP_ID_MAX) return rp__fail_field(err, RP_E_USAGE, "session", "--session: too long");
  if (channel && strlen(channel) >= sizeof m->session.channel)
    return rp__fail_field(err, RP_E_USAGE, "channel", "--channel: too long");
  m->lazy = true;
  m->session.owner = RP_OWNER_SELF;
  m->session.agent_pid = rp__siblings_agent();
  rp__text_copy(m->session.ref, sizeof m->session.ref, ref ? ref : "");
  rp__text_copy(m->session.channel, sizeof m->session.channel, channel ? channel : "mcp");
  int code = rp__workspace_scope(rp__opt_text(c, SCOPE), rp__workspace_project(), m->session.scope, err);
  return code ? code : try_store(c, &m->session, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct rp__mcp m = {0};
  int stop = -1;
  /* A terminal that closes takes the client with it; the end of our input says so, and is no crash. */
  signal(SIGHUP, SIG_IGN);
  int code = rp__signals_open(&stop, err);
  if (!code) code = prepare(c, &m, err);
  if (code) return code;
  if (c->term.in_tty && !c->globals[RP_G_QUIET].count)
    fprintf(stderr, "reprise: speaks MCP on standard input and output, one message per line; Ctrl-D ends it\n");
  code = rp__mcp_stdio(&m, STDIN_FILENO, STDOUT_FILENO, stop, err);
  if (code == RP_MCP_STOPPED) rp__signals_read(stop); /* a second signal does not wait for the store */
  rp__tool_session_end(&m.session, code == RP_MCP_STOPPED ? "stopped" : "client closed");
  return code < 0 ? code : 0;
}

const struct rp__cmd rp__cmd_mcp = {
    .name = "mcp",
    .theme = RP_THEME_SERVE,
    .usage = "",
    .summary = "Serve memory to an MCP client on standard input and output",
    .detail = "What an editor or agent is told to run as an MCP server: tools, resources and prompts over the\n"
              "scope's sessions, and what came before in the server's instructions. The session ends when the\n"
              "client closes. Hooks and other servers of the same agent share it, and the last of them ends it.\n"
              "Within another bridge of Reprise it is a guest of that one's session.",
    .example = "  $ claude mcp add reprise -- reprise mcp\n"
               "  $ reprise mcp --scope coder --session nightly\n",
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
