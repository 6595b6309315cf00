/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise snapshots`: list a session's snapshots, look into one, delete one. */
#include "cli/out.h"
#include "cli/term.h"

static int on_snapshot(void *ctx, const rp_snapshot_info *s)
{
  struct rp__listing *l = ctx;
  char age[32], size[32], raw[32];
  bool colour = l->c->term.out_colour;
  if (l->json) {
    rp__jw_pack(&l->w, "{n:i seq:i at:t reason:s size:i raw_size:i sealed:b}", s->n, s->seq, s->at_ms, s->reason,
                s->size, s->raw_size, s->sealed);
    return l->doc.err;
  }
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
  struct rp__listing l;
  rp__listing_begin(&l, c, "{snapshots:[", err);
  int code = rp__cli_attach(c, c->args[0], RP_USE_LOOK, err);
  if (!code) code = rp_snapshots(c->session, on_snapshot, &l, err);
  return rp__listing_end(&l, code, "no snapshots");
}

static int delete (struct rp__cli *c, int64_t n, rp_error *err)
{
  int code = rp__cli_attach(c, c->args[1], RP_USE_CHANGE, err);
  if (!code) code = rp_snapshot_delete(c->session, n, err);
  if (code || !rp__json_wanted(c)) return code;
  return RP_OUT_PACK(c, err, "{deleted:i}", n);
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
  return RP_USAGE(c, err, "it needs ID, rm ID N, or show ID N");
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
