/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the help texts, which are made from the table of commands. */
#include "cli/cli.h"
#include "cli/term.h"

static bool colour_of(const struct rp__cli *c, const FILE *f)
{
  return f == stdout ? c->term.out_colour : c->term.err_colour;
}

static void theme_print(FILE *f, bool colour, enum rp__theme theme)
{
  fprintf(f, "\n%s%s%s\n", RP_SGR(colour, RP_BOLD), rp__theme_title(theme), RP_RESET(colour));
  for (size_t i = 0; rp__cmds[i]; i++) {
    const struct rp__cmd *cmd = rp__cmds[i];
    if (cmd->hidden || cmd->theme != theme) continue;
    fprintf(f, "  %s%-11s%s %s\n", RP_SGR(colour, RP_CYAN), cmd->name, RP_RESET(colour), cmd->summary);
  }
}

static void options_print(FILE *f, const struct rp__opt *opts, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    char left[64];
    const struct rp__opt *o = &opts[i];
    if (o->letter)
      snprintf(left, sizeof(left), "-%c, --%s %s", o->letter, o->name, o->arg ? o->arg : "");
    else
      snprintf(left, sizeof(left), "--%s %s", o->name, o->arg ? o->arg : "");
    fprintf(f, "  %-28s %s", left, o->help);
    for (size_t k = 0; o->choices && o->choices[k]; k++) fprintf(f, "%s%s", k ? ", " : ": ", o->choices[k]);
    fputc('\n', f);
  }
}

void rp__help_overview(const struct rp__cli *c, FILE *f)
{
  bool colour = colour_of(c, f);
  fprintf(f, "%sreprise%s keeps an AI agent's session alive through crashes, restarts and days away.\n\n",
          RP_SGR(colour, RP_BOLD), RP_RESET(colour));
  fprintf(f, "usage: reprise [--db URL] [--config FILE] [--json] [-v|-q] COMMAND [ARGUMENTS]\n");
  for (int t = 0; t < RP_THEME_MAX; t++) theme_print(f, colour, (enum rp__theme)t);
  fprintf(f, "\n%soptions of every command%s\n", RP_SGR(colour, RP_BOLD), RP_RESET(colour));
  options_print(f, rp__global_opts, RP_G_MAX);
  fprintf(f, "\nAn ID is a session's id, a unique beginning of it, its key, or 'last'.\n"
             "'reprise COMMAND --help' explains one command; 'reprise demo' shows what it is all about.\n");
}

void rp__help_command(const struct rp__cli *c, const struct rp__cmd *cmd, FILE *f)
{
  bool colour = colour_of(c, f);
  /* What stands behind "--" takes all that follows, so options come before it. */
  bool first = strncmp(cmd->usage, "-- ", 3) == 0;
  const char *options = cmd->n_opts ? " [OPTIONS]" : "";
  fprintf(f, "usage: reprise %s%s%s%s%s\n\n%s.\n", cmd->name, first ? options : "", *cmd->usage ? " " : "", cmd->usage,
          first ? "" : options, cmd->summary);
  if (cmd->detail) fprintf(f, "\n%s\n", cmd->detail);
  if (cmd->n_opts) {
    fprintf(f, "\n%soptions%s\n", RP_SGR(colour, RP_BOLD), RP_RESET(colour));
    options_print(f, cmd->opts, cmd->n_opts);
  }
  fprintf(f, "\n%soptions of every command%s\n", RP_SGR(colour, RP_BOLD), RP_RESET(colour));
  options_print(f, rp__global_opts, RP_G_MAX);
  fprintf(f, "\n%sexample%s\n%s", RP_SGR(colour, RP_BOLD), RP_RESET(colour), cmd->example);
}

int rp__help_explain(struct rp__cli *c, const struct rp__cmd *cmd, rp_error *err)
{
  if (cmd->explain) return cmd->explain(c, err);
  rp__help_command(c, cmd, stdout);
  return 0;
}
