/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of options. */
#include "cli_test.h"

/* The places of these options in the table of `start` and `append`. */
static const struct rp__value *value(const struct cli_line *l, const char *name)
{
  for (size_t i = 0; i < l->c.cmd->n_opts; i++)
    if (strcmp(l->c.cmd->opts[i].name, name) == 0) return &l->c.opts[i];
  fail_msg("no option %s", name);
  return NULL;
}

static void globals_stand_anywhere(void **state)
{
  (void)state;
  static const char *const lines[] = {"--db sqlite:x --json ls", "ls --db sqlite:x --json", "--json ls --db=sqlite:x"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(lines); i++) {
    struct cli_line l;
    assert_int_equal(cli_parse(&l, lines[i]), 0);
    assert_ptr_equal(l.c.cmd, &rp__cmd_ls);
    assert_string_equal(l.c.globals[RP_G_DB].text, "sqlite:x");
    assert_true(rp__json_wanted(&l.c));
    assert_int_equal(l.c.n_args, 0);
  }
}

static void values_and_words(void **state)
{
  (void)state;
  struct cli_line l;
  assert_int_equal(cli_parse(&l, "start --scope nova -k=a --mode successor --owner 42"), 0);
  assert_string_equal(value(&l, "scope")->text, "nova");
  assert_string_equal(value(&l, "key")->text, "=a");
  assert_int_equal(value(&l, "mode")->num, RP_MODE_SUCCESSOR);
  assert_int_equal(value(&l, "owner")->num, 42);
  assert_int_equal(value(&l, "force")->count, 0);
  assert_int_equal(cli_parse(&l, "append last message - --expect 0 -vv"), 0);
  assert_int_equal(l.c.n_args, 3);
  assert_string_equal(l.c.args[0], "last");
  assert_string_equal(l.c.args[2], "-");
  assert_int_equal(value(&l, "expect")->num, 0);
  assert_int_equal(l.c.globals[RP_G_VERBOSE].count, 2);
}

static void two_dashes_end_options(void **state)
{
  (void)state;
  struct cli_line l;
  assert_int_equal(cli_parse(&l, "search -- --json -x"), 0);
  assert_int_equal(l.c.n_args, 2);
  assert_string_equal(l.c.args[0], "--json");
  assert_string_equal(l.c.args[1], "-x");
  assert_false(rp__json_wanted(&l.c));
}

/* Another program reads the words of a command that forwards: all but the global options arrive as they came. */
static void words_are_forwarded(void **state)
{
  (void)state;
  static const struct {
    const char *line, *words;
  } rows[] = {
      {"serve", ""},
      {"serve --listen 0.0.0.0:7377 --listen=unix:x --replace", "--listen 0.0.0.0:7377 --listen=unix:x --replace "},
      {"--json serve --db sqlite:x --threads many -q", "--threads many "},
      {"serve --nonsense -x -vx --=y - --listen", "--nonsense -x -vx --=y - --listen "},
      {"serve -vv --dbx y --config=c -- --listen", "--dbx y -- --listen "},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(rows); i++) {
    struct cli_line l;
    char words[200] = "";
    assert_int_equal(cli_parse(&l, rows[i].line), 0);
    assert_ptr_equal(l.c.cmd, &rp__cmd_serve);
    for (int k = 0; k < l.c.n_args; k++)
      snprintf(words + strlen(words), sizeof(words) - strlen(words), "%s ", l.c.args[k]);
    assert_string_equal(words, rows[i].words);
    assert_int_equal(value(&l, "listen")->count, 0);
    if (i == 2) assert_string_equal(l.c.globals[RP_G_DB].text, "sqlite:x");
    if (i == 2) assert_true(rp__json_wanted(&l.c) && l.c.globals[RP_G_QUIET].count == 1);
    if (i == 4) assert_true(l.c.globals[RP_G_VERBOSE].count == 2 && l.c.globals[RP_G_CONFIG].text != NULL);
  }
}

static void letters_take_values(void **state)
{
  (void)state;
  struct cli_line l;
  assert_int_equal(cli_parse(&l, "export last -ofile"), 0);
  assert_string_equal(value(&l, "output")->text, "file");
  assert_int_equal(cli_parse(&l, "export last -qo file"), 0);
  assert_string_equal(value(&l, "output")->text, "file");
  assert_int_equal(l.c.globals[RP_G_QUIET].count, 1);
}

static void times(void **state)
{
  (void)state;
  struct cli_line l;
  assert_int_equal(cli_parse(&l, "ls --since 2h"), 0);
  assert_int_equal(value(&l, "since")->num, 1700000000000 - 2 * 3600 * 1000);
  assert_int_equal(cli_parse(&l, "ls --since 2023-11-14T22:13:20Z"), 0);
  assert_int_equal(value(&l, "since")->num, 1700000000000);
  assert_int_equal(cli_parse(&l, "append last note - --at 2h"), RP_E_USAGE);
  assert_string_equal(l.err.field, "at");
}

static void decimals_and_durations(void **state)
{
  (void)state;
  struct cli_line l;
  assert_int_equal(cli_parse(&l, "remember last fact --confidence .5"), 0);
  assert_true(value(&l, "confidence")->real == 0.5);
  assert_true(rp__opt_real(&l.c, 1, 7) == 7);
  assert_int_equal(cli_parse(&l, "evidence last --video-at 312.5 --window 2m"), 0);
  assert_true(value(&l, "video-at")->real == 312.5);
  assert_int_equal(value(&l, "window")->num, 120000);
  assert_int_equal(cli_parse(&l, "evidence last --at 5m"), 0);
  assert_int_equal(value(&l, "at")->num, 1700000000000 - 5 * 60 * 1000);
}

static void reals_are_plain(void **state)
{
  (void)state;
  double v = 7;
  static const char *const bad[] = {"", " 1", "+1", "1 ", "0x1", "1e3", "nan", "inf", "-", ".", "1.2.3", "1,5", "2"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) assert_false(rp__real_parse(bad[i], -1, 1, &v));
  assert_true(v == 7);
  assert_true(rp__real_parse("-1", -1, 1, &v) && v == -1);
  assert_true(rp__real_parse("0.25", -1, 1, &v) && v == 0.25);
}

static void mistakes_are_named(void **state)
{
  (void)state;
  static const struct {
    const char *line, *message, *hint;
  } cases[] = {
      {"strat", "strat: unknown command", "did you mean 'start'?"},
      {"zzzzzz", "zzzzzz: unknown command", "'reprise help' lists them all"},
      {"start --scop x", "unknown option '--scop'", "did you mean --scope?"},
      {"start --scop=x", "unknown option '--scop'", "did you mean --scope?"},
      {"--scope x start", "unknown option '--scope'", "options of a command stand after it; see 'reprise --help'"},
      {"start -z", "unknown option '-z'", NULL},
      {"start --scope", "--scope needs a value", NULL},
      {"export last -o", "-o needs a value", NULL},
      {"ls --json=1", "--json takes no value", NULL},
      {"ls --limit 0", "--limit: '0' is not a number from 1 to 100000", NULL},
      {"ls --limit 5x", "--limit: '5x' is not a number from 1 to 100000", NULL},
      {"ls --limit 99999999999999999999", "--limit: '99999999999999999999' is not a number from 1 to 100000", NULL},
      {"ls --status open", "--status: 'open' is none of its values",
       "one of created, active, idle, checkpointed, closed, abandoned"},
      {"ls --since yesterday", "--since: 'yesterday' is not a time", NULL},
      {"feel a b --intensity much", "--intensity: 'much' is not a number from 0 to 10", NULL},
      {"remember a b --confidence 1.5", "--confidence: '1.5' is not a number from 0 to 1", NULL},
      {"evidence a --window long", "--window: 'long' is not a duration", "write it like 90, 30s, 15m, 2h or 7d"},
      {"pin a b c --importance huge", "--importance: 'huge' is none of its values", "one of normal, high, critical"},
      {"breif --scope x", "breif: unknown command", "did you mean 'brief'?"},
      {"show", "it needs ID", "see 'reprise show --help'"},
      {"show a b", "one word too many: 'b'", "see 'reprise show --help'"},
  };
  for (size_t i = 0; i < RP_ARRAY_SIZE(cases); i++) {
    struct cli_line l;
    assert_int_equal(cli_parse(&l, cases[i].line), RP_E_USAGE);
    assert_string_equal(l.err.message, cases[i].message);
    if (cases[i].hint) assert_string_equal(l.err.hint, cases[i].hint);
  }
}

static void help_demands_nothing(void **state)
{
  (void)state;
  struct cli_line l;
  assert_int_equal(cli_parse(&l, "show --help"), 0);
  assert_int_equal(l.c.globals[RP_G_HELP].count, 1);
  assert_int_equal(cli_parse(&l, ""), 0);
  assert_null(l.c.cmd);
}

static void numbers_are_whole(void **state)
{
  (void)state;
  int64_t v = 7;
  static const char *const bad[] = {"", " 1", "+1", "1 ", "0x1", "1.0", "1e3", "9223372036854775808", "\t1"};
  for (size_t i = 0; i < RP_ARRAY_SIZE(bad); i++) assert_false(rp__number_parse(bad[i], INT64_MIN, INT64_MAX, &v));
  assert_int_equal(v, 7);
  assert_true(rp__number_parse("9223372036854775807", 0, INT64_MAX, &v));
  assert_true(v == INT64_MAX);
  assert_true(rp__number_parse("-3", -3, 0, &v));
  assert_int_equal(v, -3);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(globals_stand_anywhere), cmocka_unit_test(values_and_words),
      cmocka_unit_test(two_dashes_end_options), cmocka_unit_test(words_are_forwarded),
      cmocka_unit_test(letters_take_values),    cmocka_unit_test(times),
      cmocka_unit_test(decimals_and_durations), cmocka_unit_test(reals_are_plain),
      cmocka_unit_test(mistakes_are_named),     cmocka_unit_test(help_demands_nothing),
      cmocka_unit_test(numbers_are_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
