/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise audit`: print the log of what was restored, decided and deleted. */
#include "cli/out.h"
#include "cli/term.h"

#define LINE_BYTES (4 * RP_BODY_MAX)
#define STOP 1 /* what the callback returns when nobody reads any more */

enum { SCOPE, AFTER, LIMIT, VERIFY, EXPECT, HEAD };

static const struct rp__opt opts[] = {
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's"},
    [AFTER] = {"after", 0, RP_OPT_NUMBER, "N", "only records behind this one", NULL, 0, INT64_MAX},
    [LIMIT] = {"limit", 'n', RP_OPT_NUMBER, "N", "at most so many", NULL, 1, INT64_MAX},
    [VERIFY] = {"verify", 0, RP_OPT_FLAG, NULL, "check that no record was altered, removed or moved"},
    [EXPECT] = {"expect", 0, RP_OPT_TEXT, "N:HASH", "with --verify: a head noted earlier, which must still be there"},
    [HEAD] = {"head", 0, RP_OPT_FLAG, NULL, "print the newest record's number and hash, to be noted elsewhere"},
};

struct listing {
  const struct rp__cli *c;
  struct rp__buf line;
  rp_error *err;
};

static void record_line(const struct rp__cli *c, struct rp__buf *out, const rp_audit_info *a)
{
  char at[RP_MOMENT_TEXT];
  bool colour = c->term.out_colour;
  rp__buf_printf(out, "%s%6lld  %-*s%s  ", RP_SGR(colour, RP_DIM), (long long)a->n, RP_MOMENT_COLUMNS,
                 rp__moment_format(c, a->at_ms, at), RP_RESET(colour));
  rp__term_cell(out, a->scope ? a->scope : "-", 12);
  rp__buf_printf(out, " %s", RP_SGR(colour, RP_CYAN));
  rp__term_cell(out, a->event, 24);
  rp__buf_printf(out, "%s ", RP_RESET(colour));
  const char *fields = a->fields ? a->fields : "(erased)";
  rp__term_cut(out, fields, strlen(fields), c->term.out_tty ? RP_MAX(c->term.columns - 72, 20) : 0);
}

static int record(void *ctx, const rp_audit_info *a)
{
  struct listing *l = ctx;
  struct rp__jw w = RP_JW(&l->line);
  rp__buf_reset(&l->line);
  if (rp__json_wanted(l->c))
    rp__jw_pack(&w, "{n:i at:t scope:s event:s fields:r prev_hash:s hash:s}", a->n, a->at_ms, a->scope, a->event,
                a->fields, a->prev_hash, a->hash);
  else
    record_line(l->c, &l->line, a);
  int code = rp__out_line(&l->line, l->err);
  return code ? code : rp__out_gone() ? STOP : 0;
}

static int list(struct rp__cli *c, rp_error *err)
{
  struct listing l = {.c = c, .line = RP_BUF(LINE_BYTES), .err = err};
  int code =
      rp_audit(c->engine, rp__opt_text(c, SCOPE), rp__opt_num(c, AFTER, 0), rp__opt_num(c, LIMIT, 0), record, &l, err);
  rp__buf_done(&l.line);
  return code == STOP ? 0 : code;
}

/* ---- the chain ------------------------------------------------------------ */

static void tell_scopes(struct rp__cli *c, struct rp__buf *out, struct rp__json doc)
{
  bool colour = c->term.out_colour, verified = rp__opt_given(c, VERIFY);
  struct rp__json_iter it = {0};
  struct rp__json scope;
  while (rp__json_next(rp__json_get(doc, "scopes"), &it, NULL, &scope)) {
    if (verified) rp__buf_printf(out, "%sok%s  ", RP_SGR(colour, RP_GREEN), RP_RESET(colour));
    /* One scope's head is printed bare, as --expect takes it. */
    if (verified || !rp__opt_given(c, SCOPE)) {
      rp__view_text(out, rp__json_get(scope, "scope"), 0);
      rp__buf_str(out, verified ? ": " : " ");
    }
    if (verified) {
      rp__view_text(out, rp__json_get(scope, "records"), 0);
      rp__buf_str(out, " records, head ");
    }
    rp__view_text(out, rp__json_get(scope, "head"), 0);
    rp__buf_char(out, '\n');
  }
  if (out->n == 0 && !c->globals[RP_G_QUIET].count) fputs("no records\n", stderr);
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  rp_error ignored = {0};
  bool looks = rp__opt_given(c, VERIFY) || rp__opt_given(c, HEAD);
  if (rp__opt_given(c, EXPECT) && !rp__opt_given(c, VERIFY)) return RP_USAGE(c, err, "--expect belongs to --verify");
  if (looks && (rp__opt_given(c, AFTER) || rp__opt_given(c, LIMIT)))
    return RP_USAGE(c, err, "--after and --limit belong to the list of records");
  /* A failure that is still to be written down is written now, where that can be. */
  int code = looks || rp__cli_open(c, RP_USE_MEND, &ignored) ? rp__cli_open(c, RP_USE_LOOK, err) : 0;
  if (code) return code;
  if (!looks) return list(c, err);
  code = rp_audit_verify(c->engine, rp__opt_text(c, SCOPE), rp__opt_text(c, EXPECT), &json, err);
  return code ? code : rp__out_told(c, json, tell_scopes, err);
}

const struct rp__cmd rp__cmd_audit = {
    .name = "audit",
    .theme = RP_THEME_CARE,
    .pages = true,
    .usage = "",
    .summary = "Print the log of what was restored, decided and deleted",
    .detail = "Each record carries a hash over itself and the one before. --verify names the first that was\n"
              "altered, removed or moved (exit 5). A cut tail shows only against a head noted elsewhere.",
    .example = "  $ reprise audit --scope coder --json | jq -r .event\n"
               "  $ reprise audit --scope coder --head >head.txt\n"
               "  $ reprise audit --scope coder --verify --expect \"$(cat head.txt)\"\n",
    RP_OPTS(opts),
    .run = run,
};
