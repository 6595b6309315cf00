/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise token`: make, list and revoke the tokens that give access to the server. */
#include "cli/out.h"
#include "cli/term.h"

#define ID_AT 4 /* of a token's text: rpt_ID_… */
#define ID_CHARS 8

enum { NAME, SCOPE, READ_ONLY, EXPIRES };

static const struct rp__opt opts[] = {
    [NAME] = {"name", 0, RP_OPT_TEXT, "N", "with create: what to call it in the list"},
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "with create: it opens this scope alone"},
    [READ_ONLY] = {"read-only", 0, RP_OPT_FLAG, NULL, "with create: nothing can be changed with it"},
    [EXPIRES] = {"expires", 0, RP_OPT_SPAN, "D", "with create: how long it is good, like 30d (default: for ever)"},
};

/* ---- create ---- */

static int create(struct rp__cli *c, rp_error *err)
{
  rp_token_options o = {
      .name = rp__opt_text(c, NAME), .scope = rp__opt_text(c, SCOPE), .read_only = rp__opt_given(c, READ_ONLY)};
  RP_AUTOTEXT char *text = NULL;
  if (rp__opt_given(c, EXPIRES)) {
    int64_t span = rp__opt_num(c, EXPIRES, 0);
    if (span <= 0 || __builtin_add_overflow(rp__cli_now(c), span, &o.expires_ms))
      return rp__fail_field(err, RP_E_USAGE, "expires", "--expires: a token can't be good for %s",
                            rp__opt_text(c, EXPIRES));
  }
  int code = rp__cli_open(c, RP_USE_WRITE, err);
  if (!code) code = rp_token_create(c->engine, &o, &text, err);
  if (code) return code;
  const char *store = rp_store_path(c->engine);
  if (rp__json_wanted(c))
    return RP_OUT_PACK(c, err, "{token:s id:n name:s scope:s read_only:b expires_at:t store:s}", text, text + ID_AT,
                       (size_t)ID_CHARS, o.name, o.scope, o.read_only, o.expires_ms, store);
  puts(text);
  rp__cli_say(c, "made in the store %s, and good for servers on that one alone", store ? store : "in memory");
  rp__cli_say(c, "keep it now, it is not shown again; clients send it as  Authorization: Bearer TOKEN");
  return 0;
}

/* ---- ls ---- */

/* When something was or will be, or a word for never. */
static void age(const struct rp__listing *l, int64_t at, const char *never, char out[32])
{
  if (at)
    rp__age_format(at, rp__cli_now(l->c), out, 32);
  else
    snprintf(out, 32, "%s", never);
}

static int on_token(void *ctx, const rp_token_info *t)
{
  struct rp__listing *l = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  bool colour = l->c->term.out_colour;
  char created[32], used[32], expires[32];
  if (l->json) {
    rp__jw_pack(&l->w, "{id:s name:s scope:s read_only:b created_at:t expires_at:t last_used_at:t expired:b}", t->id,
                t->name, t->scope, t->read_only, t->created_at, t->expires_at, t->last_used_at,
                t->expires_at && t->expires_at <= rp__cli_now(l->c));
    return l->doc.err;
  }
  age(l, t->created_at, "-", created);
  age(l, t->last_used_at, "never", used);
  age(l, t->expires_at, "never", expires);
  if (l->n++ == 0 && l->c->term.out_tty)
    puts("ID        NAME              SCOPE             MAY    CREATED     USED        EXPIRES");
  rp__buf_printf(&line, "%s%s%s  ", RP_SGR(colour, RP_CYAN), t->id, RP_RESET(colour));
  rp__term_cell(&line, t->name ? t->name : "-", 16);
  rp__buf_str(&line, "  ");
  rp__term_cell(&line, t->scope ? t->scope : "(all)", 16);
  rp__buf_printf(&line, "  %-5s  %-10s  %-10s  %s", t->read_only ? "read" : "write", created, used, expires);
  return rp__out_line(&line, l->err);
}

static int list(struct rp__cli *c, rp_error *err)
{
  struct rp__listing l;
  rp__listing_begin(&l, c, "{tokens:[", err);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_token_list(c->engine, on_token, &l, err);
  return rp__listing_end(&l, code, "no tokens");
}

static int run(struct rp__cli *c, rp_error *err)
{
  const char *verb = c->args[0];
  bool creates = strcmp(verb, "create") == 0, removes = strcmp(verb, "rm") == 0;
  bool told =
      rp__opt_given(c, NAME) || rp__opt_given(c, SCOPE) || rp__opt_given(c, READ_ONLY) || rp__opt_given(c, EXPIRES);
  if (!creates && !removes && strcmp(verb, "ls") != 0) return RP_USAGE(c, err, "it can create, ls and rm");
  if (!creates && told) return RP_USAGE(c, err, "--name, --scope, --read-only and --expires belong to 'token create'");
  if (removes && c->n_args < 2) return RP_USAGE(c, err, "rm needs the ID of a token");
  if (!removes && c->n_args > 1) return RP_USAGE(c, err, "only rm takes a second word");
  if (!removes) return creates ? create(c, err) : list(c, err);
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  return code ? code : rp_token_revoke(c->engine, c->args[1], err);
}

const struct rp__cmd rp__cmd_token = {
    .name = "token",
    .theme = RP_THEME_SERVE,
    .usage = "create | ls | rm ID",
    .summary = "Make, list and revoke the tokens that open the server",
    .detail =
        "A token is printed once, when it is made; the store keeps a hash of it. What is revoked opens\n"
        "nothing from then on. ID is its id, or its name if no other has that. The tokens are the store's: for the\n"
        "server of the package, which has a user and a store of its own, say 'reprise-as-server token create'.",
    .example = "  $ reprise token create --name laptop --scope nova --expires 30d\n"
               "  rpt_k3v7qm2x_…\n"
               "  $ reprise token ls\n"
               "  $ reprise token rm laptop\n",
    .words = "create ls rm",
    RP_ARGS(RP_ARG_NONE, 1, 2),
    RP_OPTS(opts),
    .run = run,
};
