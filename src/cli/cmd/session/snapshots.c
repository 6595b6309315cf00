/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise snapshots`: list a session's snapshots, look into one, delete one. */
#include "cli/out.h"
#include "cli/term.h"

struct listing {
  const struct rp__cli *c;
  int64_t n;
  struct rp__jw w;
};

static int snapshot_json(void *ctx, const rp_snapshot_info *s)
{
  struct listing *l = ctx;
  rp__jw_pack(&l->w, "{n:i seq:i at:t reason:s size:i raw_size:i sealed:b}", s->n, s->seq, s->at_ms, s->reason, s->size,
              s->raw_size, s->sealed);
  return l->w.out->err;
}

static int snapshot_line(void *ctx, const rp_snapshot_info *s)
{
  struct listing *l = ctx;
  char age[32], size[32], raw[32];
  bool colour = l->c->term.out_colour;
  rp__age_format(s->at_ms, rp__cli_now(l->c), age, sizeof(age));
  rp__size_format(s->size, size, sizeof(size));
  rp__size_format(s->raw_size, raw, sizeof(raw));
  if (l->n++ == 0)
    printf("%s%5s  %9s  %-10s  %-9s  %10s  %10s%s\n", RP_SGR(colour, RP_BOLD), "N", "SEQ", "MADE", "REASON", "SIZE",
           "UNPACKED", RP_RESET(colour));
  printf("%5lld  %9lld  %-10s  %-9s  %10s  %10s%s\n", (long long)s->n, (long long)s->seq, age,
         s->reason ? s->reason : "-", size, raw, s->sealed ? "  sealed" : "");
  return 0;
}

static int list(struct rp__cli *c, rp_error *err)
{
  struct listing l = {.c = c};
  bool json = rp__json_wanted(c);
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  l.w = RP_JW(&doc);
  rp__jw_pack(&l.w, "{snapshots:[");
  int code = rp__cli_attach(c, c->args[0], RP_USE_LOOK, err);
  if (!code) code = rp_snapshots(c->session, json ? snapshot_json : snapshot_line, &l, err);
  rp__jw_pack(&l.w, "]}");
  if (!code && json) code = rp__out_buf(c, &doc, err);
  if (!code && !json && l.n == 0 && c->term.err_tty) fputs("no snapshots\n", stderr);
  return code;
}

static int delete (struct rp__cli *c, int64_t n, rp_error *err)
{
  RP_AUTOBUF struct rp__buf b = RP_BUF(1024);
  struct rp__jw w = RP_JW(&b);
  int code = rp__cli_attach(c, c->args[1], RP_USE_CHANGE, err);
  if (!code) code = rp_snapshot_delete(c->session, n, err);
  if (code || !rp__json_wanted(c)) return code;
  rp__jw_pack(&w, "{deleted:i}", n);
  return rp__out_buf(c, &b, err);
}

static int show(struct rp__cli *c, int64_t n, rp_error *err)
{
  RP_AUTOTEXT char *json = NULL;
  int code = rp__cli_attach(c, c->args[1], RP_USE_LOOK, err);
  if (!code) code = rp_snapshot_json(c->session, n, &json, err);
  return code ? code : rp__out_doc(c, json, strlen(json), err);
}

static int run(struct rp__cli *c, rp_error *err)
{
  bool rm = strcmp(c->args[0], "rm") == 0, shows = strcmp(c->args[0], "show") == 0;
  int64_t n;
  if (!rm && !shows && c->n_args == 1) return list(c, err);
  if ((rm || shows) && c->n_args == 3 && rp__number_parse(c->args[2], 1, INT64_MAX, &n))
    return rm ? delete (c, n, err) : show(c, n, err);
  rp__fail(err, RP_E_USAGE, "it needs ID, rm ID N, or show ID N");
  rp__hint(err, "see 'reprise snapshots --help'");
  return RP_E_USAGE;
}

const struct rp__cmd rp__cmd_snapshots = {
    .name = "snapshots",
    .theme = RP_THEME_TRAVEL,
    .pages = true,
    .usage = "ID | rm ID N | show ID N",
    .summary = "List a session's snapshots, look into one, delete one",
    .detail = "A snapshot spares replaying; deleting one loses no event.",
    .example = "  $ reprise snapshots kitchen-chat\n"
               "  $ reprise snapshots rm kitchen-chat 3\n",
    .words = "rm show",
    RP_ARGS(RP_ARG_SESSION, 1, 3),
    .run = run,
};
