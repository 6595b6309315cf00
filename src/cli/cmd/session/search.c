/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise search`: find events by the words in them. */
#include "cli/out.h"
#include "cli/term.h"

#define LIMIT_DEFAULT 20

enum { SCOPE, LIMIT };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's"},
    [LIMIT] = {"limit", 'n', RP_OPT_NUMBER, "N", "at most so many (default 20)", NULL, 1, 10000},
};

/* The words found stand between brackets; on a terminal the brackets become a colour. */
static void snippet_add(struct rp__buf *line, const struct rp__cli *c, const char *snippet)
{
  if (!c->term.out_colour) {
    rp__term_cut(line, snippet, strlen(snippet), 0);
    return;
  }
  while (*snippet) {
    size_t n = strcspn(snippet, "[]");
    rp__term_cut(line, snippet, n, 0);
    snippet += n;
    if (*snippet) rp__buf_str(line, *snippet == '[' ? "\033[1;33m" : "\033[0m"), snippet++;
  }
  rp__buf_str(line, "\033[0m");
}

static int on_hit(void *ctx, const rp_hit *hit)
{
  struct rp__listing *l = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(65536);
  char age[32], id[RP_ID_MAX + 1];
  if (l->json) {
    rp__jw_pack(&l->w, "{session_id:s scope:s seq:i at:t kind:s snippet:s rank:d}", hit->session_id, hit->scope,
                hit->seq, hit->at_ms, hit->kind, hit->snippet, hit->rank);
    return l->doc.err;
  }
  rp__age_format(hit->at_ms, rp__cli_now(l->c), age, sizeof(age));
  rp__buf_printf(&line, "%-13s  %6lld  %-10s  %-9.9s ", rp__id_short(hit->session_id, id), (long long)hit->seq, age,
                 hit->kind);
  snippet_add(&line, l->c, hit->snippet);
  l->n++;
  return rp__out_line(&line, l->err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf words = RP_BUF(4096);
  struct rp__listing l;
  for (int i = 0; i < c->n_args; i++) rp__buf_printf(&words, "%s%s", i ? " " : "", c->args[i]);
  if (words.err) return rp__fail(err, words.err, "too many words");
  rp__listing_begin(&l, c, "{hits:[", err);
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code)
    code = rp_search(c->engine, words.p, rp__opt_text(c, SCOPE), (int)rp__opt_num(c, LIMIT, LIMIT_DEFAULT), on_hit, &l,
                     err);
  return rp__listing_end(&l, code, "nothing found");
}

const struct rp__cmd rp__cmd_search = {
    .name = "search",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "WORDS…",
    .summary = "Find events by the words said in them",
    .example = "  $ reprise search harbour light --scope nova\n"
               "  0197a3c2-5b1e       7  3 m ago     message   the [harbour] [light] has been dark since\n",
    RP_ARGS(RP_ARG_WORDS, 1, -1),
    RP_OPTS(opts),
    .run = run,
};
