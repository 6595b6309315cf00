/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reprise hook`. Coding agents run it many times in a turn. An agent waits for its hooks, and takes the exit code 2
 * for a veto. Therefore a hook never fails and never takes long, and errors are printed only with -v.
 */
#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#include "bridge/sibling-bridges.h"
#include "cli/hook-install.h"
#include "cli/out.h"
#include "cli/signals.h"

#define CHUNK 65536
#define WITHIN_MS 2000
#define OWNER_MAX INT32_MAX

enum { AGENT, SCOPE, OWNER, WITHIN, STREAM, PROJECT, USER, DRY_RUN, YES };

static const char *const agents[] = {"claude", "gemini",   "qwen", "copilot",
                                     "codex",  "openclaw", NULL}; /* as in rp__hook_agents */

static const struct rp__opt opts[] = {
    [AGENT] = {"agent", 'a', RP_OPT_CHOICE, "NAME", "whose hooks these are (default: told from the input)", agents},
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "whose sessions they are (default: the project's own)"},
    [OWNER] = {"owner", 0, RP_OPT_NUMBER, "PID", "the agent's process (default: found among the parents)", NULL, 1,
               OWNER_MAX},
    [WITHIN] = {"within", 0, RP_OPT_SPAN, "D", "give up after this long (default 2s)", NULL, 1, 600000},
    [STREAM] = {"stream", 0, RP_OPT_FLAG, NULL, "inputs as JSON lines on stdin, answers as JSON lines on stdout"},
    [PROJECT] = {"project", 0, RP_OPT_TEXT, "DIR", "install for one project; status: look there (default: here)"},
    [USER] = {"user", 0, RP_OPT_FLAG, NULL, "install for every project (the default)"},
    [DRY_RUN] = {"dry-run", 'n', RP_OPT_FLAG, NULL, "show what would be written, and write nothing"},
    [YES] = {"yes", 'y', RP_OPT_FLAG, NULL, "do not ask"},
};

static bool is_install(const char *word)
{
  return strcmp(word, "install") == 0 || strcmp(word, "uninstall") == 0 || strcmp(word, "status") == 0;
}

/* People at a terminal want to know, whoever installs, and plugins. Asked also when the words could not be read. */
static bool forgives(const struct rp__cli *c, int argc, char **argv)
{
  for (int i = 1; i < argc; i++)
    if (is_install(argv[i]) || strcmp(argv[i], "--stream") == 0) return false;
  return !c->term.in_tty;
}

/* ---- one event ---- */

/* Nothing is lost that was stored, and a transaction that was cut off never was. */
static void on_alarm(int sig)
{
  (void)sig;
  _exit(0);
}

static void set_alarm(int64_t ms)
{
  const struct itimerval at = {.it_value = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)}};
  signal(SIGALRM, on_alarm);
  setitimer(ITIMER_REAL, &at, NULL);
}

static int read_input(struct rp__buf *ret, rp_error *err)
{
  for (;;) {
    char *room = rp__buf_room(ret, CHUNK);
    if (!room)
      return ret->err == RP_E_NOMEM ? rp__fail_nomem(err)
                                    : rp__fail(err, RP_E_TOO_LARGE, "the input is over %zu bytes", RP_HOOK_INPUT_MAX);
    ssize_t n = read(STDIN_FILENO, room, CHUNK);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return rp__fail_errno(err, errno, "can't read the input");
    if (n == 0) return 0;
    ret->n += (size_t)n;
  }
}

/* Like rp__cli_open, but the store's warnings are not for the agent. */
static int open_quietly(struct rp__cli *c, rp_error *err)
{
  const rp_options o = {
      .db = c->globals[RP_G_DB].text, .config = c->globals[RP_G_CONFIG].text, .clock = &c->clock, .short_lived = true};
  return c->globals[RP_G_VERBOSE].count ? rp__cli_open(c, RP_USE_WRITE, err) : rp_open(&o, &c->engine, err);
}

static int run_event(struct rp__cli *c, const struct rp__hook_call *call, rp_error *err)
{
  RP_AUTOBUF struct rp__buf in = RP_BUF(RP_HOOK_INPUT_MAX + CHUNK), out = RP_BUF(RP_HOOK_ANSWER_MAX);
  struct rp__json_limits limits = {.max_bytes = RP_HOOK_INPUT_MAX, .max_depth = RP_HOOK_DEPTH};
  struct rp__json input;
  set_alarm(rp__opt_num(c, WITHIN, WITHIN_MS));
  int rc = read_input(&in, err);
  if (!rc) rc = rp__json_parse(in.p ? in.p : "", in.n, &limits, &input, err);
  if (!rc && !rp__hook_wants(call, input)) return rp__hook_puzzles(call, input, err);
  if (!rc) rc = open_quietly(c, err);
  if (!rc) rc = rp__hook_handle(c->engine, call, input, &out, err);
  if (rc || !out.n) return rc;
  return rp__out_line(&out, err);
}

/* ---- a stream of them ---- */

static int run_stream(struct rp__cli *c, struct rp__hook_call *call, rp_error *err)
{
  RP_AUTOCLOSE int signals = -1;
  int rc = rp__signals_open(&signals, err);
  if (!rc) rc = rp__cli_open(c, RP_USE_LIVE, err);
  if (rc) return rc;
  call->stop = signals;
  call->owner_pid = rp__opt_given(c, OWNER) ? rp__opt_num(c, OWNER, 0) : rp__siblings_agent();
  return rp__hook_stream(c->engine, call, STDIN_FILENO, STDOUT_FILENO, err);
}

/* ---- install ---- */

static int run_install(struct rp__cli *c, const struct rp__hook_agent *agent, rp_error *err)
{
  const struct rp__hook_install o = {
      .agent = agent,
      .project = rp__opt_text(c, PROJECT),
      .scope = rp__opt_text(c, SCOPE),
      .remove = strcmp(c->args[0], "uninstall") == 0,
      .dry_run = rp__opt_given(c, DRY_RUN),
      .yes = rp__opt_given(c, YES),
  };
  if (strcmp(c->args[0], "status") == 0) return rp__hook_status_run(c, agent, o.project, err);
  if (!agent) {
    rp__fail_field(err, RP_E_USAGE, "agent", "--agent is missing");
    rp__hint(err, "say --agent claude, gemini, qwen, copilot or codex");
    return RP_E_USAGE;
  }
  if (!agent->folder) {
    rp__fail_field(err, RP_E_USAGE, "agent", "%s has no settings for hooks", agent->title);
    rp__hint(err, "install its plugin instead");
    return RP_E_USAGE;
  }
  char scope[RP_SCOPE_MAX + 1];
  if (o.scope && rp__workspace_scope(o.scope, NULL, scope, err)) return RP_E_INVALID;
  if (o.project && rp__opt_given(c, USER)) return rp__fail(err, RP_E_USAGE, "--project and --user exclude each other");
  return rp__hook_install_run(c, &o, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  const struct rp__hook_agent *agent = rp__opt_given(c, AGENT) ? rp__hook_agent_find(rp__opt_text(c, AGENT)) : NULL;
  if (c->n_args && is_install(c->args[0])) return run_install(c, agent, err);
  struct rp__hook_call call = {
      .agent = agent,
      .event = c->n_args ? c->args[0] : NULL,
      .scope = rp__opt_text(c, SCOPE),
  };
  if (rp__opt_given(c, STREAM)) return run_stream(c, &call, err);
  if (c->term.in_tty) {
    rp__fail(err, RP_E_USAGE, "agents run this, with the event as JSON on stdin");
    rp__hint(err, "'reprise hook install --agent claude' tells yours to");
    return RP_E_USAGE;
  }
  call.owner_pid = rp__opt_given(c, OWNER) ? rp__opt_num(c, OWNER, 0) : rp__siblings_agent();
  return run_event(c, &call, err);
}

const struct rp__cmd rp__cmd_hook = {
    .name = "hook",
    .theme = RP_THEME_SERVE,
    .usage = "[EVENT] | --stream | install | uninstall | status",
    .summary = "Give coding agents (Claude Code, Codex and others) a memory",
    .detail = "EVENT is the agent's own word, as SessionStart or AfterTool; its JSON comes on stdin. The start of a\n"
              "session answers with the brief, everything else is journalled in silence. Whatever fails, the agent\n"
              "never notices: the exit code is 0 and nothing is printed (-v says why). install shows what it changes\n"
              "in the agent's settings, asks, and keeps a backup; uninstall takes exactly that away again. status\n"
              "tells which agents' settings name this program, as hooks or as an MCP server, and whether it is there.",
    .example = "  $ reprise hook install --agent claude --dry-run\n"
               "  $ reprise hook install --agent claude\n"
               "  $ reprise hook status\n"
               "  $ reprise hook uninstall --agent claude\n",
    .words = "install uninstall status",
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
    .forgives = forgives,
};
