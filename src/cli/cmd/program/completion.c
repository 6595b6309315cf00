/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise completion`: completion scripts for shells, made from the table of commands. */
#include "cli/cli.h"

#define SESSIONS_SHOWN 200

static void bash_choices(const struct rp__opt *o)
{
  printf(" COMPREPLY=($(compgen -W \"");
  for (size_t i = 0; o->choices[i]; i++) printf("%s%s", i ? " " : "", o->choices[i]);
  printf("\" -- \"$cur\")); return ;;\n");
}

/* What follows an option that takes a value, where that can be told. */
static void bash_value(const char *cmd, const struct rp__opt *o)
{
  bool file = o->arg && strcmp(o->arg, "FILE") == 0, id = o->arg && strcmp(o->arg, "ID") == 0;
  if (!o->choices && !file && !id) return;
  printf("    %s/--%s", cmd, o->name);
  if (o->letter) printf("|%s/-%c", cmd, o->letter);
  putchar(')');
  if (o->choices)
    bash_choices(o);
  else if (file)
    printf(" COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
  else
    printf(" COMPREPLY=($(compgen -W \"last $(reprise completion sessions 2>/dev/null)\" -- \"$cur\")); return ;;\n");
}

static void bash_values(void)
{
  printf("  case \"$cmd/$prev\" in\n");
  printf("    */--config) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n");
  for (size_t i = 0; rp__cmds[i]; i++)
    for (size_t k = 0; !rp__cmds[i]->hidden && k < rp__cmds[i]->n_opts; k++)
      bash_value(rp__cmds[i]->name, &rp__cmds[i]->opts[k]);
  printf("  esac\n");
}

static void bash_words(const struct rp__cmd *cmd)
{
  printf("    %s) words=\"%s", cmd->name, cmd->words ? cmd->words : "");
  for (size_t k = 0; k < cmd->n_opts; k++) printf(" --%s", cmd->opts[k].name);
  printf("\"; arg=%s ;;\n", cmd->arg == RP_ARG_SESSION   ? "session"
                            : cmd->arg == RP_ARG_FILE    ? "file"
                            : cmd->arg == RP_ARG_COMMAND ? "command"
                                                         : "none");
}

static void print_bash(void)
{
  printf("# bash completion for reprise; made by 'reprise completion bash'\n"
         "_reprise()\n{\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd= words= arg=none i\n"
         "  local commands=\"");
  for (size_t i = 0; rp__cmds[i]; i++)
    if (!rp__cmds[i]->hidden) printf("%s%s", i ? " " : "", rp__cmds[i]->name);
  printf("\" globals=\"");
  for (size_t i = 0; i < RP_G_MAX; i++) printf("%s--%s", i ? " " : "", rp__global_opts[i].name);
  printf("\"\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --db|--config) ((i++)) ;;\n"
         "      -*) ;;\n"
         "      *) cmd=${COMP_WORDS[i]}; break ;;\n"
         "    esac\n"
         "  done\n");
  bash_values();
  printf("  case $cmd in\n    '') words=$commands ;;\n");
  for (size_t i = 0; rp__cmds[i]; i++)
    if (!rp__cmds[i]->hidden) bash_words(rp__cmds[i]);
  printf("  esac\n"
         "  if [[ $cur != -* ]]; then\n"
         "    case $arg in\n"
         "      session) words+=\" last $(reprise completion sessions 2>/dev/null)\" ;;\n"
         "      file) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n"
         "      command) words=$commands ;;\n"
         "    esac\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words $globals\" -- \"$cur\"))\n"
         "}\n"
         "complete -F _reprise reprise\n");
}

/* In a zsh option description brackets and colons are syntax, and the whole stands in single quotes. */
static void zsh_text(const char *s)
{
  for (; *s; s++) {
    if (*s == '\'')
      fputs("'\\''", stdout);
    else if (strchr("[]:", *s))
      printf("\\%c", *s);
    else
      putchar(*s);
  }
}

static void zsh_option(const struct rp__opt *o)
{
  printf(" \\\n        '--%s%s[", o->name, o->arg ? "=" : "");
  zsh_text(o->help);
  putchar(']');
  if (o->arg) printf(":%s:", o->arg);
  if (o->choices) {
    putchar('(');
    for (size_t i = 0; o->choices[i]; i++) printf("%s%s", i ? " " : "", o->choices[i]);
    putchar(')');
  } else if (o->arg && strcmp(o->arg, "FILE") == 0) {
    printf("_files");
  } else if (o->arg && strcmp(o->arg, "ID") == 0) {
    printf("_reprise_sessions");
  }
  putchar('\'');
}

static void zsh_command(const struct rp__cmd *cmd)
{
  printf("      %s)\n        _arguments -s $globals", cmd->name);
  for (size_t k = 0; k < cmd->n_opts; k++) zsh_option(&cmd->opts[k]);
  if (cmd->words) printf(" \\\n        '1:word:(%s)'", cmd->words);
  if (cmd->arg == RP_ARG_SESSION) printf(" \\\n        '*:session:_reprise_sessions'");
  if (cmd->arg == RP_ARG_FILE) printf(" \\\n        '*:file:_files'");
  if (cmd->arg == RP_ARG_COMMAND) printf(" \\\n        '1:command:_reprise_commands'");
  printf(" ;;\n");
}

static void print_zsh(void)
{
  printf("#compdef reprise\n# zsh completion for reprise; made by 'reprise completion zsh'\n"
         "_reprise_sessions()\n{\n  local -a ids\n"
         "  ids=(last ${(f)\"$(reprise completion sessions 2>/dev/null)\"})\n  compadd -a ids\n}\n"
         "_reprise_commands()\n{\n  local -a commands\n  commands=(\n");
  for (size_t i = 0; rp__cmds[i]; i++) {
    if (rp__cmds[i]->hidden) continue;
    printf("    '%s:", rp__cmds[i]->name);
    zsh_text(rp__cmds[i]->summary);
    printf("'\n");
  }
  printf("  )\n  _describe command commands\n}\n_reprise()\n{\n  local -a globals\n  local context state line\n"
         "  globals=(");
  for (size_t i = 0; i < RP_G_MAX; i++) zsh_option(&rp__global_opts[i]);
  printf(")\n  _arguments -C $globals '1:command:_reprise_commands' '*::argument:->rest'\n"
         "  if [[ $state == rest ]]; then\n    case $line[1] in\n");
  for (size_t i = 0; rp__cmds[i]; i++)
    if (!rp__cmds[i]->hidden) zsh_command(rp__cmds[i]);
  printf("    esac\n  fi\n}\n_reprise \"$@\"\n");
}

/* ---- fish ---- */

/* In single quotes, where only the quote and the backslash mean anything. */
static void fish_text(const char *s)
{
  putchar('\'');
  for (; *s; s++) printf(*s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
  putchar('\'');
}

static void fish_option(const char *cmd, const struct rp__opt *o)
{
  printf("complete -c reprise");
  if (cmd) printf(" -n '__reprise_is %s'", cmd);
  printf(" -l %s", o->name);
  if (o->letter) printf(" -s %c", o->letter);
  if (o->choices) {
    printf(" -x -a '");
    for (size_t i = 0; o->choices[i]; i++) printf("%s%s", i ? " " : "", o->choices[i]);
    putchar('\'');
  } else if (o->arg && strcmp(o->arg, "FILE") == 0) {
    printf(" -r -F");
  } else if (o->arg) {
    printf(strcmp(o->arg, "ID") == 0 ? " -x -a '(__reprise_sessions)'" : " -x");
  }
  printf(" -d ");
  fish_text(o->help);
  putchar('\n');
}

static void fish_command(const struct rp__cmd *cmd)
{
  printf("complete -c reprise -n __reprise_bare -a %s -d ", cmd->name);
  fish_text(cmd->summary);
  putchar('\n');
  for (size_t k = 0; k < cmd->n_opts; k++) fish_option(cmd->name, &cmd->opts[k]);
  if (cmd->words) printf("complete -c reprise -n '__reprise_is %s' -a '%s'\n", cmd->name, cmd->words);
  if (cmd->arg == RP_ARG_SESSION)
    printf("complete -c reprise -n '__reprise_is %s' -a '(__reprise_sessions)'\n", cmd->name);
  if (cmd->arg == RP_ARG_FILE) printf("complete -c reprise -n '__reprise_is %s' -F\n", cmd->name);
  if (cmd->arg == RP_ARG_COMMAND) {
    printf("complete -c reprise -n '__reprise_is %s' -a '", cmd->name);
    for (size_t i = 0; rp__cmds[i]; i++)
      if (!rp__cmds[i]->hidden) printf("%s%s", i ? " " : "", rp__cmds[i]->name);
    printf("'\n");
  }
}

static void print_fish(void)
{
  printf("# fish completion for reprise; made by 'reprise completion fish'\n"
         "# The command on the line, if there is one yet.\n"
         "function __reprise_command\n"
         "  set -l words (commandline -opc)\n"
         "  set -e words[1]\n"
         "  while set -q words[1]\n"
         "    switch $words[1]\n"
         "      case --db --config\n        set -e words[1]\n"
         "      case '-*'\n"
         "      case '*'\n        echo $words[1]\n        return 0\n"
         "    end\n"
         "    set -e words[1]\n"
         "  end\n"
         "  return 1\n"
         "end\n"
         "function __reprise_bare\n  not __reprise_command >/dev/null\nend\n"
         "function __reprise_is\n  test (__reprise_command; or true) = $argv[1] 2>/dev/null\nend\n"
         "function __reprise_sessions\n  echo last\n  reprise completion sessions 2>/dev/null\nend\n"
         "complete -c reprise -f\n");
  for (size_t i = 0; i < RP_G_MAX; i++) fish_option(NULL, &rp__global_opts[i]);
  for (size_t i = 0; rp__cmds[i]; i++)
    if (!rp__cmds[i]->hidden) fish_command(rp__cmds[i]);
}

static int print_session(void *ctx, const rp_session_info *info)
{
  (void)ctx;
  printf("%s\n", info->id);
  if (info->key) printf("%s\n", info->key);
  return 0;
}

static int print_sessions(struct rp__cli *c, rp_error *err)
{
  const rp_filter f = {.limit = SESSIONS_SHOWN, .by_activity = true};
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  return code ? code : rp_list(c->engine, &f, print_session, NULL, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  const char *what = c->args[0];
  if (strcmp(what, "sessions") == 0) return print_sessions(c, err);
  if (strcmp(what, "bash") == 0)
    print_bash();
  else if (strcmp(what, "zsh") == 0)
    print_zsh();
  else if (strcmp(what, "fish") == 0)
    print_fish();
  else
    return rp__fail(err, RP_E_USAGE, "'%s' is none of bash, zsh and fish", what);
  return 0;
}

const struct rp__cmd rp__cmd_completion = {
    .name = "completion",
    .theme = RP_THEME_MORE,
    .hidden = true,
    .usage = "bash|zsh|fish",
    .summary = "Print a script that completes commands in a shell",
    .example = "  $ source <(reprise completion bash)\n"
               "  $ reprise completion fish >~/.config/fish/completions/reprise.fish\n",
    .words = "bash zsh fish",
    .min_args = 1,
    .max_args = 1,
    .run = run,
};
