/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise unpin`: remove a pin. */
#include "cli/cli.h"

#define PINS_MAX 16

/* Text between brackets behind a label tells where it was inherited from, and need not be typed. */
static bool label_known(struct rp__json pins, const char *label)
{
  struct rp__json_iter it = {0};
  struct rp__json pin;
  const char *suffix = strstr(label, " [inherited from ");
  RP_AUTOFREE char *bare = strndup(label, suffix ? (size_t)(suffix - label) : strlen(label));
  while (bare && rp__json_next(pins, &it, NULL, &pin))
    if (rp__json_eq(rp__json_get(pin, "label"), bare)) return true;
  return false;
}

static int unknown(struct rp__json pins, const char *label, rp_error *err)
{
  const char *names[PINS_MAX + 1] = {0};
  char *copies[PINS_MAX] = {0};
  size_t n = 0;
  struct rp__json_iter it = {0};
  struct rp__json pin;
  while (n < PINS_MAX && rp__json_next(pins, &it, NULL, &pin))
    if ((copies[n] = rp__json_dup(rp__json_get(pin, "label")))) names[n] = copies[n], n++;
  const char *near = rp__suggest(label, names);
  int code = rp__fail_field(err, RP_E_MEMORY_NOT_FOUND, "label", "no pin is labelled '%s'", label);
  if (near)
    rp__hint(err, "did you mean '%s'?", near);
  else
    rp__hint(err, "'reprise pins ID' lists them");
  for (size_t i = 0; i < n; i++) free(copies[i]);
  return code;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf body = RP_BUF(RP_CLI_DOC_MAX);
  struct rp__jw w = RP_JW(&body);
  char *state = NULL;
  int code = rp__cli_state(c, c->args[0], &state, err);
  if (code) return code;
  struct rp__json pins = rp__json_get(rp__json_trusted(state, strlen(state)), "pins");
  if (!label_known(pins, c->args[1])) code = unknown(pins, c->args[1], err);
  rp_free(state);
  rp__cli_done(c);
  if (code) return code;
  rp__jw_object(&w);
  rp__jw_kstr(&w, "label", c->args[1]);
  rp__jw_end_object(&w);
  return rp__cli_append(c, c->args[0], "unpin", &body, err);
}

const struct rp__cmd rp__cmd_unpin = {
    .name = "unpin",
    .theme = RP_THEME_MIND,
    .usage = "ID LABEL",
    .summary = "Take a pin off",
    .example = "  $ reprise unpin ham-radio '[TASK] task-7'\n"
               "  {\"seq\":13,\"durability\":\"disk\"}\n",
    .arg = RP_ARG_SESSION,
    .min_args = 2,
    .max_args = 2,
    .reopens = true,
    .run = run,
};
