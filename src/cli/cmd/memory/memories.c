/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise memories`: search what a scope has learned; correct or forget it. */
#include "cli/out.h"
#include "cli/term.h"

#define LIMIT_DEFAULT 20

enum { SCOPE, LIMIT, FORGET, SET, CONFIDENCE, REASON, SESSION };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "whose memories (default: this project's)"},
    [LIMIT] = {"limit", 'n', RP_OPT_NUMBER, "N", "at most so many (default 20)", NULL, 1, 10000},
    [FORGET] = {"forget", 0, RP_OPT_TEXT, "MEMORY", "delete this one for good"},
    [SET] = {"set", 0, RP_OPT_TEXT, "MEMORY", "give this one another confidence"},
    [CONFIDENCE] = {"confidence", 0, RP_OPT_REAL, "X", "which, 0 to 1, with --set", NULL, 0, 1},
    [REASON] = {"reason", 0, RP_OPT_TEXT, "R", "why, with --set"},
    [SESSION] = {"session", 0, RP_OPT_TEXT, "ID", "the session that found it out, with --set"},
};

static int on_memory(void *ctx, const rp_memory_info *m)
{
  struct rp__listing *l = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(RP_CLI_DOC_MAX);
  char age[32];
  const struct rp__cli *c = l->c;
  if (l->json) {
    rp__jw_pack(&l->w, "{memory_id:s scope:s session_id:s content:s categories:r", m->id, m->scope, m->session_id,
                m->content, m->categories ? m->categories : "[]");
    rp__jw_pack(&l->w, "confidence:d rank:d created_at:t updated_at:t}", m->confidence, m->rank, m->created_at,
                m->updated_at);
    return l->doc.err;
  }
  rp__age_format(m->updated_at ? m->updated_at : m->created_at, rp__cli_now(c), age, sizeof(age));
  rp__buf_str(&line, RP_SGR(c->term.out_colour, RP_CYAN));
  /* Whole: it is what --set and --forget want. */
  rp__term_cell(&line, m->id, 36);
  rp__buf_printf(&line, "%s  %.2f  %-9s  ", RP_RESET(c->term.out_colour), m->confidence, age);
  const char *text = m->content ? m->content : "";
  rp__term_cut(&line, text, strlen(text), c->term.out_tty ? RP_MAX(c->term.columns - 56, 20) : 0);
  l->n++;
  return rp__out_line(&line, l->err);
}

static int list(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf words = RP_BUF(4096);
  struct rp__listing l;
  for (int i = 0; i < c->n_args; i++) rp__buf_printf(&words, "%s%s", i ? " " : "", c->args[i]);
  if (words.err) return rp__fail(err, words.err, "too many words");
  rp__listing_begin(&l, c, "{memories:[", err);
  const char *scope;
  int code = rp__scope_required(c, rp__opt_text(c, SCOPE), &scope, err);
  if (!code) code = rp__cli_open(c, c->n_args ? RP_USE_CHANGE : RP_USE_LOOK, err);
  if (!code)
    code = rp_memories(c->engine, scope, words.p, (int)rp__opt_num(c, LIMIT, LIMIT_DEFAULT), on_memory, &l, err);
  return rp__listing_end(&l, code, "no memories");
}

static int done(const struct rp__cli *c, const char *what, const char *id, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(4096);
  struct rp__jw w = RP_JW(&b);
  if (!rp__json_wanted(c)) return 0;
  rp__jw_object(&w);
  rp__jw_kstr(&w, what, id);
  if (rp__opt_given(c, CONFIDENCE)) rp__jw_kdouble(&w, "confidence", rp__opt_real(c, CONFIDENCE, 0));
  rp__jw_end_object(&w);
  return rp__out_buf(c, &b, err);
}

static int forget(struct rp__cli *c, rp_error *err)
{
  const char *id = rp__opt_text(c, FORGET), *scope;
  int code = rp__scope_required(c, rp__opt_text(c, SCOPE), &scope, err);
  if (!code) code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code) code = rp_memory_forget(c->engine, scope, id, err);
  return code ? code : done(c, "forgotten", id, err);
}

static int set(struct rp__cli *c, rp_error *err)
{
  const char *id = rp__opt_text(c, SET);
  int code = rp__cli_attach(c, rp__opt_text(c, SESSION), RP_USE_CHANGE, err);
  if (!code) code = rp_memory_confidence(c->session, id, rp__opt_real(c, CONFIDENCE, 0), rp__opt_text(c, REASON), err);
  return code ? code : done(c, "memory_id", id, err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool sets = rp__opt_given(c, SET), forgets = rp__opt_given(c, FORGET);
  if (sets && forgets) return RP_USAGE(c, err, "--set and --forget exclude each other");
  if ((sets || forgets) && c->n_args) return RP_USAGE(c, err, "one word too many: '%s'", c->args[0]);
  if (sets && (!rp__opt_given(c, CONFIDENCE) || !rp__opt_given(c, REASON) || !rp__opt_given(c, SESSION)))
    return RP_USAGE(c, err, "--set needs --confidence, --reason and --session");
  return sets ? set(c, err) : forgets ? forget(c, err) : list(c, err);
}

const struct rp__cmd rp__cmd_memories = {
    .name = "memories",
    .theme = RP_THEME_MIND,
    .pages = true,
    .usage = "[WORDS…]",
    .summary = "Search what a scope has learned; correct or forget it",
    .detail = "With words, the best match first, weighed with its confidence; without, the most confident\n"
              "first. What a later session inherits fades with time; the confidence shown here does not.",
    .example = "  $ reprise memories baud --scope coder\n"
               "  $ reprise memories --set 0197ad0e… --confidence 0.4 --reason 'was 4800' --session last\n"
               "  $ reprise memories --forget 0197ad0e… --scope coder\n",
    RP_ARGS(RP_ARG_WORDS, 0, -1),
    RP_OPTS(opts),
    .run = run,
};
