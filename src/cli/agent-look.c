/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the agents that run Reprise. Hooks are found by the commands that `hook install` writes, servers by the command
 * that they run. Only files that agents are known to read are examined; nothing is run.
 */
#include "cli/agent-look.h"

#include <errno.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/hook-install.h"

#define FILE_MAX ((size_t)16 * 1024 * 1024) /* Claude Code keeps much beside its servers */
#define TROUBLE_MAX 256
#define DEPTH 128
#define NAME_MAX_BYTES 128
#define COMMAND_MAX 8192

/* The files in which agents name their servers: at home (or in the folder that a variable names), and in a project. */
static const struct server_file {
  const char *agent, *home, *env, *env_file, *project;
  bool toml;
} server_files[] = {
    {"claude", ".claude.json", "CLAUDE_CONFIG_DIR", ".claude.json", ".mcp.json", false},
    {"gemini", ".gemini/settings.json", NULL, NULL, ".gemini/settings.json", false},
    {"qwen", ".qwen/settings.json", NULL, NULL, ".qwen/settings.json", false},
    {"copilot", ".copilot/mcp-config.json", "COPILOT_HOME", "mcp-config.json", NULL, false},
    {"codex", ".codex/config.toml", "CODEX_HOME", "config.toml", ".codex/config.toml", true},
};

struct look {
  rp__agent_use_fn *fn;
  void *ctx;
  const char *folder;
  char self[PATH_MAX];
  int rc;
};

/* ---- programs ---- */

int rp__agent_self(char ret[PATH_MAX], rp_error *err)
{
  ssize_t n = readlink("/proc/self/exe", ret, PATH_MAX - 1);
  if (n <= 0) return rp__fail_errno(err, errno, "can't find this program's own file");
  ret[n] = '\0';
  return 0;
}

bool rp__agent_on_path(const char *name, char ret[PATH_MAX])
{
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t n = strcspn(path, ":");
    int size = snprintf(ret, PATH_MAX, "%.*s/%s", (int)n, path, name);
    if (n && size < PATH_MAX && access(ret, X_OK) == 0) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

/* The first word of a command, as a shell reads it. */
static void first_word(const char *command, char ret[PATH_MAX])
{
  size_t n = 0;
  char quote = 0;
  for (; *command && (quote || *command != ' ') && n < PATH_MAX - 1; command++) {
    if (quote == *command) {
      quote = 0;
    } else if (!quote && (*command == '\'' || *command == '"')) {
      quote = *command;
    } else {
      if (quote != '\'' && *command == '\\' && command[1]) command++;
      ret[n++] = *command;
    }
  }
  ret[n] = '\0';
}

/* `program` is a name or a path, and becomes a path where there is one. */
static void judge(const struct look *l, struct rp__agent_use *use)
{
  char found[PATH_MAX], real[PATH_MAX];
  bool path = strchr(use->program, '/') != NULL;
  if (!path && rp__agent_on_path(use->program, found)) memcpy(use->program, found, sizeof found);
  use->exists = strchr(use->program, '/') && access(use->program, X_OK) == 0;
  use->own = use->exists && realpath(use->program, real) && strcmp(real, l->self) == 0;
}

static void tell(struct look *l, const struct rp__agent_use *use)
{
  if (!l->rc) l->rc = l->fn(l->ctx, use);
}

/* True: there is such a file, and it was read or its trouble was told. */
static bool read_file(struct look *l, struct rp__agent_use *use, struct rp__buf *text)
{
  rp_error why = {0};
  if (l->rc || access(use->file, F_OK) != 0) return false;
  if (rp__file_read(use->file, FILE_MAX, text, &why) == 0) return true;
  use->trouble = why.message;
  tell(l, use);
  use->trouble = NULL;
  return false;
}

/* ---- hooks ---- */

struct commands {
  const struct look *l;
  struct rp__agent_use *use;
  char worst[COMMAND_MAX]; /* one whose program is gone, else the first */
};

static int on_command(void *ctx, const char *event, const char *command)
{
  struct commands *x = ctx;
  struct rp__agent_use now = *x->use;
  (void)event;
  first_word(command, now.program);
  judge(x->l, &now);
  now.events = ++x->use->events;
  if (now.events > 1 && (now.exists || !x->use->exists)) return 0;
  *x->use = now;
  rp__text_copy(x->worst, sizeof x->worst, command);
  return 0;
}

static void look_hooks(struct look *l, const struct rp__hook_agent *agent, bool project, const char *file)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(FILE_MAX);
  struct rp__agent_use use = {.agent = agent, .project = project, .file = file};
  struct commands x = {.l = l, .use = &use};
  rp_error why = {0};
  if (!read_file(l, &use, &text)) return;
  for (const struct rp__hook_word *w = agent->words; w->name; w++) use.wanted += w->entry != RP_HOOK_UNASKED;
  struct rp__str all = {text.p ? text.p : "", text.n};
  if (rp__hook_settings_each(agent, all, on_command, &x, &why)) use.trouble = why.message;
  use.command = x.worst;
  if (use.events || use.trouble) tell(l, &use);
}

/* ---- servers ---- */

static bool is_ours(const char *name, const char *command)
{
  const char *slash = strrchr(command, '/');
  return strcmp(slash ? slash + 1 : command, "reprise") == 0 || (strcmp(name, "reprise") == 0 && *command);
}

static void on_server(struct look *l, struct rp__agent_use *use, const char *name, const char *command)
{
  if (!is_ours(name, command)) return;
  use->name = name;
  use->command = command;
  rp__text_copy(use->program, sizeof use->program, command);
  judge(l, use);
  tell(l, use);
}

static void look_servers(struct look *l, struct rp__agent_use *use, struct rp__json servers)
{
  struct rp__json_iter it = {0};
  struct rp__json key, entry;
  while (servers.type == RP_JSON_OBJECT && rp__json_next(servers, &it, &key, &entry)) {
    RP_AUTOFREE char *command = rp__json_dup(rp__json_get(entry, "command"));
    char name[NAME_MAX_BYTES];
    snprintf(name, sizeof name, "%.*s", (int)key.n, key.p);
    if (command) on_server(l, use, name, command);
  }
}

static void look_json(struct look *l, struct rp__agent_use *use, const struct rp__buf *text)
{
  struct rp__json_limits limits = {.max_bytes = FILE_MAX, .max_depth = DEPTH, .allow_duplicates = true};
  struct rp__json root;
  rp_error why = {0};
  if (rp__json_parse(text->p ? text->p : "", text->n, &limits, &root, &why)) {
    use->trouble = why.message;
    tell(l, use);
    return;
  }
  look_servers(l, use, rp__json_get(root, "mcpServers"));
  /* Claude Code's for one project stand in the user's file. */
  use->project = true;
  if (l->folder)
    look_servers(l, use, rp__json_get(rp__json_get(rp__json_get(root, "projects"), l->folder), "mcpServers"));
}

/* [mcp_servers.NAME], and below it command = "…": all that is needed of TOML. */
static void look_toml(struct look *l, struct rp__agent_use *use, struct rp__buf *text)
{
  static const char section[] = "[mcp_servers.";
  char name[NAME_MAX_BYTES] = "", *rest = text->p, *line;
  while (rest && (line = strsep(&rest, "\n"))) {
    line += strspn(line, " \t");
    if (*line == '[') {
      bool server = strncmp(line, section, sizeof section - 1) == 0;
      const char *from = line + sizeof section - 1 + (server && line[sizeof section - 1] == '"');
      snprintf(name, sizeof name, "%.*s", server ? (int)strcspn(from, "\"].") : 0, server ? from : "");
    }
    if (!name[0] || strncmp(line, "command", 7) != 0) continue;
    char *value = line + 7 + strspn(line + 7, " \t="), quote = *value;
    if ((quote != '"' && quote != '\'') || !strchr(value + 1, quote)) continue;
    *strchr(value + 1, quote) = '\0';
    on_server(l, use, name, value + 1);
  }
}

static void look_server_file(struct look *l, const struct rp__hook_agent *agent, bool project, bool toml,
                             const char *file)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(FILE_MAX);
  struct rp__agent_use use = {.agent = agent, .mcp = true, .project = project, .file = file};
  if (!read_file(l, &use, &text) || !text.n) return;
  if (toml)
    look_toml(l, &use, &text);
  else
    look_json(l, &use, &text);
}

static void look_server_files(struct look *l, const struct rp__hook_agent *agent, const struct server_file *f)
{
  char path[PATH_MAX], other[PATH_MAX] = "";
  const char *home = getenv("HOME"), *folder = f->env ? getenv(f->env) : NULL;
  if (folder && *folder)
    snprintf(path, sizeof path, "%s/%s", folder, f->env_file);
  else
    snprintf(path, sizeof path, "%s/%s", home ? home : "", f->home);
  look_server_file(l, agent, false, f->toml, path);
  if (l->folder && f->project) snprintf(other, sizeof other, "%s/%s", l->folder, f->project);
  if (other[0] && strcmp(other, path) != 0) look_server_file(l, agent, true, f->toml, other);
}

/* ---- all of them ---- */

static void look_agent(struct look *l, const struct rp__hook_agent *agent)
{
  char path[PATH_MAX] = "", other[PATH_MAX];
  if (rp__hook_file(agent, NULL, path, NULL) == 0) look_hooks(l, agent, false, path);
  if (l->folder && rp__hook_file(agent, l->folder, other, NULL) == 0 && strcmp(other, path) != 0)
    look_hooks(l, agent, true, other);
  for (size_t i = 0; i < RP_ARRAY_SIZE(server_files); i++)
    if (strcmp(server_files[i].agent, agent->name) == 0) look_server_files(l, agent, &server_files[i]);
}

int rp__agent_look(const struct rp__hook_agent *only, const char *folder, rp__agent_use_fn *fn, void *ctx,
                   rp_error *err)
{
  struct look l = {.fn = fn, .ctx = ctx, .folder = folder};
  int rc = rp__agent_self(l.self, err);
  if (rc) return rc;
  for (size_t i = 0; rp__hook_agents[i]; i++)
    if (rp__hook_agents[i]->folder && (!only || only == rp__hook_agents[i])) look_agent(&l, rp__hook_agents[i]);
  return l.rc;
}
