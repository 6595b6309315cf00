/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise gc`: clean up as the configuration says: archive, trash, delete. */
#include "base/size.h"
#include "cli/out.h"
#include "cli/term.h"

enum { DRY_RUN, OLDER_THAN, BUDGET, SCOPE };

static const struct rp__opt opts[] = {
    [DRY_RUN] = {"dry-run", 'n', RP_OPT_FLAG, NULL, "change nothing, only say what would be done"},
    [OLDER_THAN] = {"older-than", 0, RP_OPT_SPAN, "D",
                    "to the trash with what ended longer ago (30d; default retain_days)"},
    [BUDGET] = {"budget", 0, RP_OPT_TEXT, "SIZE", "size the database may have (512M, 2G; default disk_budget)"},
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's sessions"},
};

struct cleaning {
  const struct rp__cli *c;
  int64_t n;
  int signals;
  struct rp__progress progress;
  struct rp__jw w;
};

static int on_item(void *ctx, const rp_gc_item *item)
{
  struct cleaning *g = ctx;
  RP_AUTOBUF struct rp__buf line = RP_BUF(4096);
  bool colour = g->c->term.out_colour;
  const char *shade = item->action == RP_GC_DELETE ? RP_RED : item->action == RP_GC_KEEP ? RP_GREEN : RP_YELLOW;
  char age[32] = "open", size[32], id[RP_ID_MAX + 1];
  rp__progress_clear(&g->progress);
  g->n++;
  if (rp__json_wanted(g->c)) {
    rp__jw_pack(&g->w, "{action:s session_id:s scope:s ended_at:t bytes:i reason:s}", rp_gc_action_name(item->action),
                item->session_id, item->scope, item->ended_at, item->bytes, item->reason);
    return g->w.out->err;
  }
  if (item->ended_at) rp__age_format(item->ended_at, rp__cli_now(g->c), age, sizeof(age));
  rp__size_format(item->bytes, size, sizeof(size));
  if (g->n == 1)
    printf("%s%-7s  %-13s  %-10s  %10s  %s%s\n", RP_SGR(colour, RP_BOLD), "ACTION", "SESSION", "ENDED", "SIZE",
           "REASON", RP_RESET(colour));
  rp__buf_printf(&line, "%s%-7s%s  ", RP_SGR(colour, shade), rp_gc_action_name(item->action), RP_RESET(colour));
  rp__term_cell(&line, rp__id_short(item->session_id, id), 13);
  rp__buf_printf(&line, "  %-10s  %10s  ", age, size);
  rp__term_cut(&line, item->reason, strlen(item->reason), 0);
  if (!line.err) puts(line.p);
  return 0;
}

/* Between two sessions is where an interruption does no harm. */
static int step(void *ctx, int64_t done, int64_t total)
{
  struct cleaning *g = ctx;
  rp__progress_step(&g->progress, done, total);
  return rp__signals_read(g->signals);
}

static int finish(struct cleaning *g, const char *summary, rp_error *err)
{
  static const char *const names[] = {"abandoned", "archived", "trashed", "deleted", "kept", "bytes"};
  int64_t v[RP_ARRAY_SIZE(names)] = {0};
  char size[32];
  if (rp__json_wanted(g->c)) {
    rp__jw_pack(&g->w, "] summary:r}", summary);
    return rp__out_buf(g->c, g->w.out, err);
  }
  struct rp__json doc = rp__json_trusted(summary, strlen(summary));
  for (size_t i = 0; i < RP_ARRAY_SIZE(names); i++) rp__json_i64(rp__json_get(doc, names[i]), &v[i]);
  rp__size_format(v[5], size, sizeof(size));
  printf("%s%lld abandoned, %lld archived, %lld to the trash, %lld deleted (%s), %lld kept\n",
         rp__opt_given(g->c, DRY_RUN) ? "dry run: " : "", (long long)v[0], (long long)v[1], (long long)v[2],
         (long long)v[3], size, (long long)v[4]);
  return 0;
}

static int read_options(const struct rp__cli *c, rp_gc_options *ret, rp_error *err)
{
  const char *budget = rp__opt_text(c, BUDGET);
  *ret = (rp_gc_options){.scope = rp__opt_text(c, SCOPE),
                         .dry_run = rp__opt_given(c, DRY_RUN),
                         .older_than_ms = rp__opt_num(c, OLDER_THAN, 0)};
  /* 0 means "as configured" to the library, so the smallest spans and sizes are 1 here. */
  if (rp__opt_given(c, OLDER_THAN)) ret->older_than_ms = RP_MAX(ret->older_than_ms, 1);
  if (!budget) return 0;
  if (rp__size_parse(budget, &ret->budget_bytes))
    return rp__hinted(err, rp__fail_field(err, RP_E_USAGE, "budget", "--budget: '%s' is not a size", budget),
                      "write it like 512M or 2G");
  ret->budget_bytes = RP_MAX(ret->budget_bytes, 1);
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_AUTOBUF struct rp__buf doc = RP_BUF(RP_CLI_DOC_MAX);
  RP_AUTOCLOSE int signals = -1;
  struct cleaning g = {.c = c, .progress = RP_PROGRESS(c, "cleaning"), .w = RP_JW(&doc)};
  rp_gc_options o;
  RP_AUTOTEXT char *summary = NULL;
  rp__jw_pack(&g.w, "{items:[");
  int code = read_options(c, &o, err);
  if (!code) code = rp__signals_open(&signals, err);
  if (!code) code = rp__cli_open(c, o.dry_run ? RP_USE_LOOK : RP_USE_CHANGE, err);
  g.signals = signals;
  if (!code) code = rp_gc(c->engine, &o, on_item, &g, step, &g, &summary, err);
  rp__progress_clear(&g.progress);
  if (code && !err->code) rp__fail(err, code, "can't tell what was done");
  return code ? code : finish(&g, summary, err);
}

const struct rp__cmd rp__cmd_gc = {
    .name = "gc",
    .theme = RP_THEME_CARE,
    .usage = "",
    .summary = "Clean up as the configuration says: archive, trash, delete",
    .detail =
        "In this order: quiet sessions are marked abandoned (abandon, abandon_s), records of long ended ones move to\n"
        "cold files (archive_days), sessions older than allowed go to the trash (retain_days), what was there long\n"
        "enough is deleted (trash_days), and while the database is over its budget (disk_budget) the oldest ended\n"
        "sessions go for good. Sessions on hold and sessions in use are kept. --dry-run tells the same list and\n"
        "changes nothing.",
    .example = "  $ reprise gc --dry-run --older-than 90d\n"
               "  ACTION   SESSION        ENDED             SIZE  REASON\n"
               "  archive  0197a3c2-5b1e  31 d ago       3.1 KiB  ended 31 days ago\n"
               "  dry run: 0 abandoned, 1 archived, 0 to the trash, 0 deleted (0 B), 0 kept\n",
    RP_OPTS(opts),
    .run = run,
};
