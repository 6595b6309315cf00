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

struct found {
  const struct rp__cli *c;
  int64_t n;
  struct rp__jw w;
};

static int hit_json(void *ctx, const rp_hit *hit)
{
  struct found *f = ctx;
  rp__jw_object(&f->w);
  rp__jw_kstr(&f->w, "session_id", hit->session_id);
  rp__jw_kstr(&f->w, "scope", hit->scope);
  rp__jw_ki64(&f->w, "seq", hit->seq);
  rp__jw_ktime(&f->w, "at", hit->at_ms);
  rp__jw_kstr(&f->w, "kind", hit->kind);
  rp__jw_kstr(&f->w, "snippet", hit->snippet);
  rp__jw_kdouble(&f->w, "rank", hit->rank);
  rp__jw_end_object(&f->w);
  return f->w.out->err;
}

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

static int hit_line(void *ctx, const rp_hit *hit)
{
  struct found *f = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(65536);
  char age[32];
  rp__age_format(hit->at_ms, rp__cli_now(f->c), age, sizeof(age));
  rp__buf_printf(&line, "%.13s  %6lld  %-10s  %-9.9s ", hit->session_id, (long long)hit->seq, age, hit->kind);
  snippet_add(&line, f->c, hit->snippet);
  f->n++;
  return rp__out_line(&line, NULL);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf words = RP_BUF(4096);
  struct found f = {.c = c};
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  f.w = RP_JW(&doc);
  for (int i = 0; i < c->n_args; i++) rp__buf_printf(&words, "%s%s", i ? " " : "", c->args[i]);
  if (words.err) return rp__fail(err, words.err, "too many words");
  bool json = rp__json_wanted(c);
  rp__jw_object(&f.w);
  rp__jw_key(&f.w, "hits");
  rp__jw_array(&f.w);
  int code = rp__cli_open(c, RP_USE_CHANGE, err);
  if (!code)
    code = rp_search(c->engine, words.p, rp__opt_text(c, SCOPE), (int)rp__opt_num(c, LIMIT, LIMIT_DEFAULT),
                     json ? hit_json : hit_line, &f, err);
  rp__jw_end_array(&f.w);
  rp__jw_end_object(&f.w);
  if (!code && json) code = rp__out_buf(c, &doc, err);
  if (!code && !json && f.n == 0 && c->term.err_tty) fputs("nothing found\n", stderr);
  return code;
}

const struct rp__cmd rp__cmd_search = {
    .name = "search",
    .theme = RP_THEME_READ,
    .pages = true,
    .usage = "WORDS…",
    .summary = "Find events by the words said in them",
    .example = "  $ reprise search harbour light --scope nova\n"
               "  0197a3c2-5b1e       7  3 m ago     message   the [harbour] [light] has been dark since\n",
    .arg = RP_ARG_WORDS,
    .min_args = 1,
    .max_args = -1,
    .opts = opts,
    .n_opts = RP_ARRAY_SIZE(opts),
    .run = run,
};
