/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the command line, by the tables alone. Global options may come before or after the command. A value is the
 * next word or follows an equals sign. "--" ends the options, and a lone "-" is an argument. A command that forwards
 * its words gets every word as it came, except the global options.
 */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>

#include "base/text.h"

/* Where we are in argv. The arguments found are moved to its front, behind where we read. */
struct reader {
  struct rp__cli *c;
  char **argv;
  int argc, at, kept;
};

bool rp__number_parse(const char *s, int64_t min, int64_t max, int64_t *ret)
{
  if (*s == '\0' || *s == ' ' || *s == '+' || (*s >= '\t' && *s <= '\r')) return false;
  char *end;
  errno = 0;
  long long v = strtoll(s, &end, 10);
  if (errno || *end != '\0' || v < min || v > max) return false;
  *ret = v;
  return true;
}

bool rp__real_parse(const char *s, double min, double max, double *ret)
{
  if (*s == '\0' || strspn(s, "-.0123456789") != strlen(s)) return false;
  char *end;
  double v = strtod(s, &end);
  if (*end != '\0' || !isfinite(v) || v < min || v > max) return false;
  *ret = v;
  return true;
}

static int time_value(const struct rp__cli *c, const struct rp__opt *o, struct rp__value *v)
{
  int64_t ago;
  if (rp__time_parse(v->text, strlen(v->text), &v->num) == 0) return 0;
  if (o->type != RP_OPT_SINCE || rp__duration_parse(v->text, &ago)) return RP_E_USAGE;
  v->num = rp__cli_now(c) - ago;
  return 0;
}

static int choice_value(const struct rp__opt *o, struct rp__value *v, rp_error *err)
{
  for (v->num = 0; o->choices[v->num]; v->num++)
    if (strcmp(o->choices[v->num], v->text) == 0) return 0;
  RP_AUTOBUF struct rp__buf list = RP_BUF(256);
  for (size_t i = 0; o->choices[i]; i++) rp__buf_printf(&list, "%s%s", i ? ", " : "", o->choices[i]);
  int code =
      rp__fail_field(err, RP_E_USAGE, o->name, "--%s: '%s' is none of its values", o->name, rp__text_shown(v->text));
  rp__hint(err, "one of %s", list.err ? "those in --help" : list.p);
  return code;
}

/* Turns the text of a value into what its type means. */
static int value_check(const struct rp__cli *c, const struct rp__opt *o, struct rp__value *v, rp_error *err)
{
  switch (o->type) {
  case RP_OPT_FLAG:
  case RP_OPT_TEXT: return 0;
  case RP_OPT_CHOICE: return choice_value(o, v, err);
  case RP_OPT_NUMBER:
    if (rp__number_parse(v->text, o->min, o->max, &v->num)) return 0;
    return rp__fail_field(err, RP_E_USAGE, o->name, "--%s: '%s' is not a number from %lld to %lld", o->name, v->text,
                          (long long)o->min, (long long)o->max);
  case RP_OPT_REAL:
    if (rp__real_parse(v->text, (double)o->min, (double)o->max, &v->real)) return 0;
    return rp__fail_field(err, RP_E_USAGE, o->name, "--%s: '%s' is not a number from %lld to %lld", o->name, v->text,
                          (long long)o->min, (long long)o->max);
  case RP_OPT_SPAN:
    if (rp__duration_parse(v->text, &v->num) == 0) return 0;
    rp__fail_field(err, RP_E_USAGE, o->name, "--%s: '%s' is not a duration", o->name, v->text);
    rp__hint(err, "write it like 90, 30s, 15m, 2h or 7d");
    return RP_E_USAGE;
  case RP_OPT_TIME:
  case RP_OPT_SINCE:
    if (time_value(c, o, v) == 0) return 0;
    rp__fail_field(err, RP_E_USAGE, o->name, "--%s: '%s' is not a time", o->name, v->text);
    rp__hint(err, "write it like 2026-01-31T12:00:00Z%s",
             o->type == RP_OPT_SINCE ? ", or like 2h for two hours ago" : "");
    return RP_E_USAGE;
  }
  return 0;
}

/* The option of that name (or, without one, letter) and where its value goes. */
static const struct rp__opt *opt_find(struct rp__cli *c, const char *name, size_t n, char letter,
                                      struct rp__value **ret)
{
  const struct rp__opt *tables[] = {rp__global_opts, c->cmd ? c->cmd->opts : NULL};
  const size_t counts[] = {RP_G_MAX, c->cmd ? c->cmd->n_opts : 0};
  struct rp__value *values[] = {c->globals, c->opts};
  for (size_t t = 0; t < 2; t++)
    for (size_t i = 0; i < counts[t]; i++) {
      const struct rp__opt *o = &tables[t][i];
      if (name ? strncmp(o->name, name, n) == 0 && o->name[n] == '\0' : letter == o->letter) {
        *ret = &values[t][i];
        return o;
      }
    }
  return NULL;
}

static void suggest_option(const struct rp__cli *c, const char *name, rp_error *err)
{
  const char *names[RP_G_MAX + RP_CLI_OPTS_MAX + 1];
  size_t n = 0;
  for (size_t i = 0; c->cmd && i < c->cmd->n_opts; i++) names[n++] = c->cmd->opts[i].name;
  for (size_t i = 0; i < RP_G_MAX; i++) names[n++] = rp__global_opts[i].name;
  names[n] = NULL;
  const char *near = rp__suggest(name, names);
  if (near)
    rp__hint(err, "did you mean --%s?", near);
  else if (c->cmd)
    rp__hint(err, "see 'reprise %s --help'", c->cmd->name);
  else
    rp__hint(err, "options of a command stand after it; see 'reprise --help'");
}

static int long_option(struct reader *r, const char *word, rp_error *err)
{
  const char *eq = strchr(word, '=');
  size_t n = eq ? (size_t)(eq - word) : strlen(word);
  struct rp__value *v = NULL;
  const struct rp__opt *o = opt_find(r->c, word, n, 0, &v);
  if (!o) {
    char name[64];
    snprintf(name, sizeof(name), "%.*s", (int)RP_MIN(n, sizeof(name) - 1), word);
    rp__fail(err, RP_E_USAGE, "unknown option '--%s'", name);
    suggest_option(r->c, name, err);
    return RP_E_USAGE;
  }
  v->count++;
  if (o->type == RP_OPT_FLAG) return eq ? rp__fail_field(err, RP_E_USAGE, o->name, "--%s takes no value", o->name) : 0;
  if (!eq && r->at >= r->argc) return rp__fail_field(err, RP_E_USAGE, o->name, "--%s needs a value", o->name);
  v->text = eq ? eq + 1 : r->argv[r->at++];
  return value_check(r->c, o, v, err);
}

/* Letters may stand together; the first that takes a value takes the rest of the word, or the next one. */
static int short_options(struct reader *r, const char *letters, rp_error *err)
{
  for (; *letters; letters++) {
    struct rp__value *v = NULL;
    const struct rp__opt *o = opt_find(r->c, NULL, 0, *letters, &v);
    if (!o) {
      rp__fail(err, RP_E_USAGE, "unknown option '-%c'", *letters);
      rp__hint(err, "see 'reprise %s%s--help'; words that begin with a dash stand after --",
               r->c->cmd ? r->c->cmd->name : "", r->c->cmd ? " " : "");
      return RP_E_USAGE;
    }
    v->count++;
    if (o->type == RP_OPT_FLAG) continue;
    if (!letters[1] && r->at >= r->argc) return rp__fail_field(err, RP_E_USAGE, o->name, "-%c needs a value", *letters);
    v->text = letters[1] ? letters + 1 : r->argv[r->at++];
    return value_check(r->c, o, v, err);
  }
  return 0;
}

static int find_command(struct reader *r, const char *word, rp_error *err)
{
  const char *names[64];
  size_t n = 0;
  r->c->cmd = rp__cmd_find(word);
  if (r->c->cmd) return 0;
  for (size_t i = 0; rp__cmds[i] && n < RP_ARRAY_SIZE(names) - 1; i++)
    if (!rp__cmds[i]->hidden) names[n++] = rp__cmds[i]->name;
  names[n] = NULL;
  rp__fail(err, RP_E_USAGE, "%s: unknown command", word);
  const char *near = rp__suggest(word, names);
  if (near)
    rp__hint(err, "did you mean '%s'?", near);
  else
    rp__hint(err, "'reprise help' lists them all");
  return RP_E_USAGE;
}

static int take_word(struct reader *r, char *word, rp_error *err)
{
  if (!r->c->cmd) return find_command(r, word, err);
  r->argv[r->kept++] = word;
  return 0;
}

static int check_arguments(const struct rp__cli *c, rp_error *err)
{
  const struct rp__cmd *cmd = c->cmd;
  if (!cmd || c->globals[RP_G_HELP].count) return 0;
  if (c->n_args < cmd->min_args)
    rp__fail(err, RP_E_USAGE, "it needs %s", cmd->usage);
  else if (cmd->max_args >= 0 && c->n_args > cmd->max_args)
    rp__fail(err, RP_E_USAGE, "one word too many: '%s'", rp__text_shown(c->args[cmd->max_args]));
  else
    return 0;
  rp__hint(err, "see 'reprise %s --help'", cmd->name);
  return RP_E_USAGE;
}

static bool is_global(const char *name, size_t n, char letter)
{
  for (size_t i = 0; i < RP_G_MAX; i++) {
    const struct rp__opt *o = &rp__global_opts[i];
    if (name ? strncmp(o->name, name, n) == 0 && o->name[n] == '\0' : letter == o->letter) return true;
  }
  return false;
}

/* Whether a word that begins with a dash is for the program that the command runs. */
static bool is_forwarded(const struct rp__cli *c, const char *word)
{
  if (!c->cmd || !c->cmd->forwards) return false;
  if (word[1] == '-') return !is_global(word + 2, strcspn(word + 2, "="), 0);
  while (*++word)
    if (!is_global(NULL, 0, *word)) return true;
  return false;
}

int rp__opt_parse(struct rp__cli *c, int argc, char **argv, rp_error *err)
{
  struct reader r = {.c = c, .argv = argv, .argc = argc, .at = 1};
  bool words_only = false;
  while (r.at < argc) {
    char *word = argv[r.at++];
    int code;
    if (words_only || word[0] != '-' || word[1] == '\0' || is_forwarded(c, word))
      code = take_word(&r, word, err);
    else if (strcmp(word, "--") == 0)
      code = 0, words_only = true;
    else if (word[1] == '-')
      code = long_option(&r, word + 2, err);
    else
      code = short_options(&r, word + 1, err);
    if (code) return code;
  }
  c->args = argv;
  c->n_args = r.kept;
  return check_arguments(c, err);
}
