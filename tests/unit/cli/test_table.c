/* SPDX-License-Identifier: Apache-2.0 */
/* The table is what help, completion and parsing come from: it must be whole, and the manual must know all of it. */
#include "cli_test.h"

#include <ctype.h>

#include "base/config-options.h"
#include "base/file.h"

static void each_command_is_whole(void **state)
{
  (void)state;
  for (size_t i = 0; rp__cmds[i]; i++) {
    const struct rp__cmd *cmd = rp__cmds[i];
    assert_non_null(cmd->name);
    assert_non_null(cmd->usage);
    assert_non_null(cmd->summary);
    assert_non_null(cmd->example);
    assert_non_null(cmd->run);
    assert_non_null(strstr(cmd->example, "reprise"));
    assert_int_equal(cmd->example[strlen(cmd->example) - 1], '\n');
    assert_true(cmd->n_opts <= RP_CLI_OPTS_MAX);
    assert_true(cmd->max_args < 0 || cmd->min_args <= cmd->max_args);
    assert_true(strlen(cmd->name) <= 11);
    assert_true(strlen(cmd->summary) <= 66);
    for (size_t k = 0; k < i; k++) assert_string_not_equal(cmd->name, rp__cmds[k]->name);
  }
}

static void check_option(const struct rp__opt *o)
{
  assert_non_null(o->name);
  assert_non_null(o->help);
  assert_int_equal(o->type == RP_OPT_FLAG, o->arg == NULL);
  assert_int_equal(o->type == RP_OPT_CHOICE, o->choices != NULL);
  if (o->type == RP_OPT_NUMBER) assert_true(o->min < o->max);
}

static void options_do_not_clash(void **state)
{
  (void)state;
  for (size_t i = 0; rp__cmds[i]; i++) {
    const struct rp__cmd *cmd = rp__cmds[i];
    for (size_t a = 0; a < cmd->n_opts; a++) {
      const struct rp__opt *o = &cmd->opts[a];
      check_option(o);
      for (size_t b = 0; b < a; b++) assert_string_not_equal(o->name, cmd->opts[b].name);
      for (size_t b = 0; o->letter && b < a; b++) assert_int_not_equal(o->letter, cmd->opts[b].letter);
      for (size_t g = 0; g < RP_G_MAX; g++) {
        assert_string_not_equal(o->name, rp__global_opts[g].name);
        if (o->letter) assert_int_not_equal(o->letter, rp__global_opts[g].letter);
      }
    }
  }
  for (size_t g = 0; g < RP_G_MAX; g++) check_option(&rp__global_opts[g]);
}

/* In roff a dash that can be copied is written \-. */
static void assert_told(const char *manual, const char *option)
{
  char text[128];
  size_t n = 0;
  for (; *option && n + 3 < sizeof(text); option++) {
    if (*option == '-') text[n++] = '\\';
    text[n++] = *option;
  }
  text[n] = '\0';
  if (!strstr(manual, text)) fail_msg("the manual does not tell %s", text);
}

static void the_manual_tells_it_all(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf manual = RP_BUF(1 << 20);
  rp_error err;
  assert_int_equal(rp__file_read(getenv("MANUAL"), 1 << 20, &manual, &err), 0);
  for (size_t i = 0; rp__cmds[i]; i++) {
    char text[64];
    if (rp__cmds[i]->hidden) continue;
    snprintf(text, sizeof(text), "\n.B reprise %s", rp__cmds[i]->name);
    if (!strstr(manual.p, text)) fail_msg("the manual does not tell '%s'", rp__cmds[i]->name);
    for (size_t k = 0; k < rp__cmds[i]->n_opts; k++) {
      snprintf(text, sizeof(text), "--%s", rp__cmds[i]->opts[k].name);
      assert_told(manual.p, text);
    }
  }
  for (size_t g = 0; g < RP_G_MAX; g++) {
    char text[64];
    snprintf(text, sizeof(text), "--%s", rp__global_opts[g].name);
    assert_told(manual.p, text);
  }
}

/* every threshold can be set, so every key is told. */
static void the_manual_tells_the_keys(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf manual = RP_BUF(1 << 20);
  assert_int_equal(rp__file_read(getenv("MANUAL"), 1 << 20, &manual, NULL), 0);
  for (size_t i = 0; i < RP_CONFIG_N; i++) {
    char bold[64], roman[64];
    snprintf(bold, sizeof(bold), "\n.B %s\n", rp__config_options[i].name);
    snprintf(roman, sizeof(roman), "\n.BR %s ", rp__config_options[i].name);
    if (!strstr(manual.p, bold) && !strstr(manual.p, roman))
      fail_msg("the manual does not tell %s", rp__config_options[i].name);
  }
}

/* A sentence of roff: a capital first, dashes that can be copied. */
static void add_sentence(struct rp__buf *out, const char *text)
{
  rp__buf_char(out, (char)toupper((unsigned char)*text));
  while (*++text) rp__buf_printf(out, *text == '-' ? "\\-" : "%c", *text);
}

/* reprise.ini(5) lists the rows of the table, in their order: name, meaning, type and default. */
static void the_manual_of_the_file_is_the_table(void **state)
{
  (void)state;
  RP_AUTOBUF struct rp__buf manual = RP_BUF(1 << 20);
  assert_int_equal(rp__file_read(getenv("MANUAL_INI"), 1 << 20, &manual, NULL), 0);
  const char *at = strstr(manual.p, ".SH KEYS\n");
  assert_non_null(at);
  at += strlen(".SH KEYS\n");
  for (size_t i = 0; i < RP_CONFIG_N; i++) {
    const struct rp__option *o = &rp__config_options[i];
    RP_AUTOBUF struct rp__buf entry = RP_BUF(4096), expects = RP_BUF(256);
    if (o->type == RP_OPTION_BOOL || o->type == RP_OPTION_WORD || o->type == RP_OPTION_BYTES)
      rp__option_expects(o, &expects);
    else
      rp__buf_str(&expects, o->type == RP_OPTION_TEXT ? "text" : "a number");
    rp__buf_printf(&entry, ".TP\n.B %s\n", o->name);
    add_sentence(&entry, o->help);
    rp__buf_str(&entry, ".\n");
    add_sentence(&entry, expects.p);
    rp__buf_printf(&entry, "; default %s", o->value[0] ? o->value : "none");
    const char *end = strstr(at, "\n.TP\n");
    if (strncmp(at, entry.p, entry.n) != 0 || !strchr(".,", at[entry.n]))
      fail_msg("reprise.ini(5) has\n%.200s\nthe table\n%s", at, entry.p);
    at = end ? end + 1 : at + entry.n;
  }
  assert_null(strstr(at, ".TP\n"));
}

static void durabilities_are_in_order(void **state)
{
  (void)state;
  assert_string_equal(rp__durability_name(RP_MEMORY), "memory");
  assert_string_equal(rp__durability_name(RP_OS), "os");
  assert_string_equal(rp__durability_name(RP_DISK), "disk");
  assert_null(rp__durability_name(RP_DEFAULT));
  for (rp_durability d = RP_MEMORY; d <= RP_DISK; d++)
    assert_int_equal(rp__durability_parse(rp__durability_name(d)), d);
  assert_int_equal(rp__durability_parse("paper"), RP_DEFAULT);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_command_is_whole),
      cmocka_unit_test(options_do_not_clash),
      cmocka_unit_test(the_manual_tells_it_all),
      cmocka_unit_test(the_manual_tells_the_keys),
      cmocka_unit_test(the_manual_of_the_file_is_the_table),
      cmocka_unit_test(durabilities_are_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
