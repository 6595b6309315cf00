/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise continue`: inherit pins, tasks and memories from a session, however old. */
#include "cli/out.h"

#define LOOKED_AT 100 /* sessions of the scope among which the current one is looked for */
#define FOUND 1       /* what the callback returns to stop */

enum { INTO, BY };

static const struct rp__opt opts[] = {
    [INTO] = {"into", 0, RP_OPT_TEXT, "ID", "who inherits (default the newest open session of the same scope)"},
    [BY] = {"by", 0, RP_OPT_TEXT, "WHO", "who asked for it, for the audit (default $USER)"},
};

/* The session inherited from, and the one its scope lives in now. */
struct heirs {
  char from[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], into[RP_ID_MAX + 1];
};

static int take_from(void *ctx, const rp_session_info *info)
{
  struct heirs *h = ctx;
  snprintf(h->from, sizeof(h->from), "%s", info->id);
  snprintf(h->scope, sizeof(h->scope), "%s", info->scope ? info->scope : "");
  return 0;
}

static int take_into(void *ctx, const rp_session_info *info)
{
  struct heirs *h = ctx;
  if (info->ended_at || strcmp(info->id, h->from) == 0) return 0;
  snprintf(h->into, sizeof(h->into), "%s", info->id);
  return FOUND;
}

static int find_heir(struct rp__cli *c, struct heirs *h, rp_error *err)
{
  int code = rp_show(c->engine, c->args[0], take_from, h, err);
  if (code) return code;
  const rp_filter f = {.scope = h->scope, .limit = LOOKED_AT};
  code = rp_list(c->engine, &f, take_into, h, err);
  if (code == FOUND) return 0;
  if (code) return code;
  rp__fail(err, RP_E_SESSION_NOT_FOUND, "the scope '%s' has no open session to inherit it", h->scope);
  rp__hint(err, "begin one with 'reprise start --scope %s', or name one with --into", h->scope);
  return RP_E_SESSION_NOT_FOUND;
}

static const char *asked_by(const struct rp__cli *c)
{
  if (rp__opt_given(c, BY)) return rp__opt_text(c, BY);
  const char *user = getenv("USER");
  return user && *user ? user : "cli";
}

static int run(struct rp__cli *c, rp_error *err)
{
  struct heirs h = {0};
  char *json = NULL;
  const char *into = rp__opt_text(c, INTO);
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code && !into) code = find_heir(c, &h, err);
  if (!code) code = rp_attach(c->engine, into ? into : h.into, &c->session, err);
  if (!code) code = rp_continue(c->session, c->args[0], asked_by(c), &json, err);
  if (!code) code = rp__out_fields(c, json, err);
  rp_free(json);
  return code;
}

const struct rp__cmd rp__cmd_continue = {
    .name = "continue",
    .theme = RP_THEME_MIND,
    .usage = "FROM",
    .summary = "Inherit everything from a session, however old",
    .detail = "All its pins up to the ten there is room for, its tasks and its memories, whatever its age or\n"
              "score. Memories fade as usual and none is dropped. A second time adds nothing.",
    .example = "  $ reprise continue 0197a3c2 --into ham-radio --by alice\n"
               "  pins      3\n",
    .arg = RP_ARG_SESSION,
    .min_args = 1,
    .max_args = 1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
