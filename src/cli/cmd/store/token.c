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

static int print_created(struct rp__cli *c, const char *text, const rp_token_options *o, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__jw w = RP_JW(&b);
  const char *store = rp_store_path(c->engine);
  if (!rp__json_wanted(c)) {
    puts(text);
    rp__cli_say(c, "made in the store %s, and good for servers on that one alone", store ? store : "in memory");
    rp__cli_say(c, "keep it now, it is not shown again; clients send it as  Authorization: Bearer TOKEN");
    return 0;
  }
  rp__jw_object(&w);
  rp__jw_kstr(&w, "token", text);
  rp__jw_key(&w, "id");
  rp__jw_strn(&w, text + ID_AT, ID_CHARS);
  rp__jw_kstr(&w, "name", o->name);
  rp__jw_kstr(&w, "scope", o->scope);
  rp__jw_kbool(&w, "read_only", o->read_only);
  rp__jw_ktime(&w, "expires_at", o->expires_ms);
  rp__jw_kstr(&w, "store", store);
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

static int create(struct rp__cli *c, rp_error *err)
{
  rp_token_options o = {
      .name = rp__opt_text(c, NAME), .scope = rp__opt_text(c, SCOPE), .read_only = rp__opt_given(c, READ_ONLY)};
  char *text = NULL;
  if (rp__opt_given(c, EXPIRES)) {
    int64_t span = rp__opt_num(c, EXPIRES, 0);
    if (span <= 0 || __builtin_add_overflow(rp__cli_now(c), span, &o.expires_ms))
      return rp__fail_field(err, RP_E_USAGE, "expires", "--expires: a token can't be good for %s",
                            rp__opt_text(c, EXPIRES));
  }
  int code = rp__cli_open(c, RP_USE_WRITE, err);
  if (!code) code = rp_token_create(c->engine, &o, &text, err);
  if (!code) code = print_created(c, text, &o, err);
  rp_free(text);
  return code;
}

/* ---- ls ---- */

struct listing {
  const struct rp__cli *c;
  int64_t n;
  struct rp__jw w;
  rp_error *err;
};

static int token_json(void *ctx, const rp_token_info *t)
{
  struct listing *l = ctx;
  rp__jw_object(&l->w);
  rp__jw_kstr(&l->w, "id", t->id);
  rp__jw_kstr(&l->w, "name", t->name);
  rp__jw_kstr(&l->w, "scope", t->scope);
  rp__jw_kbool(&l->w, "read_only", t->read_only);
  rp__jw_ktime(&l->w, "created_at", t->created_at);
  rp__jw_ktime(&l->w, "expires_at", t->expires_at);
  rp__jw_ktime(&l->w, "last_used_at", t->last_used_at);
  rp__jw_kbool(&l->w, "expired", t->expires_at && t->expires_at <= rp__cli_now(l->c));
  rp__jw_end_object(&l->w);
  return l->w.out->err;
}

/* When something was or will be, or a word for never. */
static void age(const struct listing *l, int64_t at, const char *never, char out[32])
{
  if (at)
    rp__age_format(at, rp__cli_now(l->c), out, 32);
  else
    snprintf(out, 32, "%s", never);
}

static int token_line(void *ctx, const rp_token_info *t)
{
  struct listing *l = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  bool colour = l->c->term.out_colour;
  char created[32], used[32], expires[32];
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
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  struct listing l = {.c = c, .w = RP_JW(&doc), .err = err};
  bool json = rp__json_wanted(c);
  rp__jw_object(&l.w);
  rp__jw_key(&l.w, "tokens");
  rp__jw_array(&l.w);
  int code = rp__cli_open(c, RP_USE_LOOK, err);
  if (!code) code = rp_token_list(c->engine, json ? token_json : token_line, &l, err);
  if (code) return code;
  rp__jw_end_array(&l.w);
  rp__jw_end_object(&l.w);
  if (json) return rp__out_buf(c, &doc, err);
  if (l.n == 0 && c->term.err_tty) fputs("no tokens\n", stderr);
  return 0;
}

/* ---- rm ---- */

static int take_away(struct rp__cli *c, rp_error *err)
{
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  return code ? code : rp_token_revoke(c->engine, c->args[1], err);
}

static int usage(const char *what, rp_error *err)
{
  rp__fail(err, RP_E_USAGE, "%s", what);
  rp__hint(err, "see 'reprise token --help'");
  return RP_E_USAGE;
}

static int run(struct rp__cli *c, rp_error *err)
{
  const char *verb = c->args[0];
  bool creates = strcmp(verb, "create") == 0, removes = strcmp(verb, "rm") == 0;
  bool told =
      rp__opt_given(c, NAME) || rp__opt_given(c, SCOPE) || rp__opt_given(c, READ_ONLY) || rp__opt_given(c, EXPIRES);
  if (!creates && !removes && strcmp(verb, "ls") != 0) return usage("it can create, ls and rm", err);
  if (!creates && told) return usage("--name, --scope, --read-only and --expires belong to 'token create'", err);
  if (removes && c->n_args < 2) return usage("rm needs the ID of a token", err);
  if (!removes && c->n_args > 1) return usage("only rm takes a second word", err);
  return creates ? create(c, err) : removes ? take_away(c, err) : list(c, err);
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
    .min_args = 1,
    .max_args = 2,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
