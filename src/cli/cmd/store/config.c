/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise config`: print every option, its value and the source of the value. */
#include "cli/out.h"
#include "cli/term.h"

#define VALUE_COLUMNS 16

enum { SCOPE };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "as it is in this scope"},
};

static void tell_options(struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  struct rp__json_iter it = {0};
  struct rp__json option;
  struct rp__json file = rp__json_get(doc, "file");
  if (c->term.err_tty && file.type == RP_JSON_STRING) rp__cli_say(c, "file: %.*s", (int)file.n - 2, file.p + 1);
  while (rp__json_next(rp__json_get(doc, "options"), &it, NULL, &option)) {
    bool set = !rp__json_eq(rp__json_get(option, "source"), "default") && c->term.out_colour;
    rp__buf_str(out, RP_SGR(c->term.out_colour, RP_CYAN));
    rp__view_cell(out, rp__json_get(option, "name"), 20);
    rp__buf_printf(out, "%s %s", RP_RESET(c->term.out_colour), RP_SGR(set, RP_BOLD));
    rp__view_cell(out, rp__json_get(option, "value"), VALUE_COLUMNS);
    rp__buf_printf(out, "%s ", RP_RESET(set));
    rp__view_text(out, rp__json_get(option, "source"), 0);
    rp__buf_char(out, '\n');
  }
}

/* A file to be edited, as it is, or as the one member of a document. */
static int print_ini(const struct rp__cli *c, const char *pattern, int (*write)(char **, rp_error *), rp_error *err)
{
  RP_AUTOTEXT char *ini = NULL;
  int code = write(&ini, err);
  if (code) return code;
  if (rp__json_wanted(c)) return RP_OUT_PACK(c, err, pattern, ini);
  fputs(ini, stdout);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  if (c->n_args && strcmp(c->args[0], "emotions") == 0) return print_ini(c, "{emotions:s}", rp_emotions_ini, err);
  if (c->n_args && strcmp(c->args[0], "sample") == 0) return print_ini(c, "{sample:s}", rp_config_ini, err);
  if (c->n_args && strcmp(c->args[0], "show") != 0) {
    rp__fail(err, RP_E_USAGE, "it can 'show' options, and print a 'sample' and 'emotions', not '%s'", c->args[0]);
    return rp__hinted(err, RP_E_USAGE, "options are set in the file or as REPRISE_<KEY>; see reprise.ini(5)");
  }
  /* The configuration is the same whatever the store, and need not wait for one. */
  int code = rp__cli_open_db(c, "memory:", RP_USE_WRITE, err);
  if (!code) code = rp_config_json(c->engine, rp__opt_text(c, SCOPE), &json, err);
  return code ? code : rp__out_told(c, json, tell_options, err);
}

const struct rp__cmd rp__cmd_config = {
    .name = "config",
    .theme = RP_THEME_CARE,
    .pages = true,
    .usage = "show | sample | emotions",
    .summary = "Print every option, its value and where it came from",
    .detail =
        "'config sample' prints a file of all options with their meaning and default, to be edited and kept as\n"
        "reprise.ini. 'config emotions' prints the table of emotions and their events, to be edited and named as\n"
        "emotions_file.",
    .example = "  $ REPRISE_IDLE_S=120 reprise config show | grep idle_s\n"
               "  idle_s               120              REPRISE_IDLE_S\n"
               "  $ reprise config sample >~/.local/share/reprise/reprise.ini\n",
    .words = "show sample emotions",
    RP_ARGS(RP_ARG_NONE, 0, 1),
    RP_OPTS(opts),
    .run = run,
};
