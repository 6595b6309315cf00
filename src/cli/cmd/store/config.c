/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise config`: print every option, its value and the source of the value. */
#include "cli/out.h"
#include "cli/term.h"

#define VALUE_COLUMNS 16

enum { SCOPE };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "as it is in this scope"},
};

static void cell(struct rp__buf *line, struct rp__json v, int columns)
{
  RP_AUTOBUF struct rp__buf text = RP_BUF(4096);
  if (v.type == RP_JSON_STRING)
    rp__json_text(v, &text);
  else
    rp__buf_add(&text, v.p, v.n);
  if (text.n == 0) rp__buf_char(&text, '-');
  rp__term_cell(line, text.err ? "?" : text.p, columns ? columns : rp__term_columns(text.p, text.n));
}

static int print_options(struct rp__cli *c, struct rp__json doc, rp_error *err)
{
  struct rp__json_iter it = {0};
  struct rp__json option;
  struct rp__json file = rp__json_get(doc, "file");
  int code = 0;
  if (c->term.err_tty && file.type == RP_JSON_STRING) rp__cli_say(c, "file: %.*s", (int)file.n - 2, file.p + 1);
  while (!code && rp__json_next(rp__json_get(doc, "options"), &it, NULL, &option)) {
    RP_AUTOBUF struct rp__buf line = RP_BUF(65536);
    bool set = !rp__json_eq(rp__json_get(option, "source"), "default") && c->term.out_colour;
    rp__buf_str(&line, RP_SGR(c->term.out_colour, RP_CYAN));
    cell(&line, rp__json_get(option, "name"), 20);
    rp__buf_printf(&line, "%s %s", RP_RESET(c->term.out_colour), RP_SGR(set, RP_BOLD));
    cell(&line, rp__json_get(option, "value"), VALUE_COLUMNS);
    rp__buf_printf(&line, "%s ", RP_RESET(set));
    cell(&line, rp__json_get(option, "source"), 0);
    code = rp__out_line(&line, err);
  }
  return code;
}

/* A file to be edited, as it is, or as the one member of a document. */
static int print_ini(const struct rp__cli *c, const char *name, int (*write)(char **, rp_error *), rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&doc);
  char *ini = NULL;
  int code = write(&ini, err);
  if (code) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, name, ini);
  rp__jw_end_object(&w);
  if (!rp__json_wanted(c)) fputs(ini, stdout);
  rp_free(ini);
  return rp__json_wanted(c) ? rp__out_buf(c, &doc, err) : 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  char *json = NULL;
  if (c->n_args && strcmp(c->args[0], "emotions") == 0) return print_ini(c, "emotions", rp_emotions_ini, err);
  if (c->n_args && strcmp(c->args[0], "sample") == 0) return print_ini(c, "sample", rp_config_ini, err);
  if (c->n_args && strcmp(c->args[0], "show") != 0) {
    rp__fail(err, RP_E_USAGE, "it can 'show' options, and print a 'sample' and 'emotions', not '%s'", c->args[0]);
    rp__hint(err, "options are set in the file or as REPRISE_<KEY>; see reprise.ini(5)");
    return RP_E_USAGE;
  }
  /* The configuration is the same whatever the store, and need not wait for one. */
  int code = rp__cli_open_db(c, "memory:", RP_USE_WRITE, err);
  if (!code) code = rp_config_json(c->engine, rp__opt_text(c, SCOPE), &json, err);
  if (!code && rp__json_wanted(c))
    code = rp__out_doc(c, json, strlen(json), err);
  else if (!code)
    code = print_options(c, rp__json_trusted(json, strlen(json)), err);
  rp_free(json);
  return code;
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
    .arg = RP_ARG_NONE,
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
