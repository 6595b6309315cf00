/* SPDX-License-Identifier: Apache-2.0 */
/* `reprise trash`: list what is in the trash and how long it stays, or empty it. */
#include <limits.h>

#include "cli/out.h"
#include "cli/term.h"

#define HOUR_MS (3600LL * 1000)
#define DAY_MS (24 * HOUR_MS)

enum { EMPTY, DRY_RUN, SCOPE };

static const struct rp__opt opts[] = {
    [EMPTY] = {"empty", 0, RP_OPT_FLAG, NULL, "delete everything in it for good, now"},
    [DRY_RUN] = {"dry-run", 'n', RP_OPT_FLAG, NULL, "with --empty: only say what would go"},
    [SCOPE] = {"scope", 's', RP_OPT_TEXT, "S", "only this scope's"},
};

struct entry {
  char id[RP_ID_MAX + 1], scope[RP_ID_MAX + 1], key[RP_ID_MAX + 1];
  int64_t trashed_at, held_at, bytes, events, until;
};

struct pile {
  struct rp__cli *c;
  struct entry *p;
  size_t n, cap;
};

static void pile_done(struct pile *t)
{
  free(t->p);
}

static int collect(void *ctx, const rp_session_info *info)
{
  struct pile *t = ctx;
  if (t->n == t->cap) {
    size_t cap = t->cap ? t->cap * 2 : 64;
    struct entry *p = reallocarray(t->p, cap, sizeof(*p));
    if (!p) return RP_E_NOMEM;
    t->p = p;
    t->cap = cap;
  }
  struct entry *e = &t->p[t->n++];
  *e = (struct entry){
      .trashed_at = info->trashed_at, .held_at = info->held_at, .bytes = info->bytes, .events = info->seq};
  snprintf(e->id, sizeof(e->id), "%s", info->id);
  snprintf(e->scope, sizeof(e->scope), "%s", info->scope);
  snprintf(e->key, sizeof(e->key), "%s", info->key ? info->key : "");
  return 0;
}

/* ---- listing ---- */

static void left_format(const struct pile *t, const struct entry *e, char *out, size_t n)
{
  int64_t left = e->until - rp__cli_now(t->c);
  if (e->held_at)
    snprintf(out, n, "on hold");
  else if (left <= 0)
    snprintf(out, n, "the next gc");
  else if (left < 2 * DAY_MS)
    snprintf(out, n, "%lld hours", (long long)((left + HOUR_MS / 2) / HOUR_MS));
  else
    snprintf(out, n, "%lld days", (long long)((left + DAY_MS / 2) / DAY_MS));
}

static int list(const struct pile *t, rp_error *err)
{
  struct rp__listing l;
  bool colour = t->c->term.out_colour;
  rp__listing_begin(&l, t->c, "{sessions:[", err);
  if (t->n && !l.json)
    printf("%s%-13s  %-16s  %-20s  %9s  %-10s  %s%s\n", RP_SGR(colour, RP_BOLD), "ID", "SCOPE", "KEY", "SIZE",
           "TRASHED", "LEFT", RP_RESET(colour));
  for (; l.n < (int64_t)t->n; l.n++) {
    const struct entry *e = &t->p[l.n];
    if (l.json) {
      rp__jw_pack(&l.w, "{session_id:s scope:s key:s events:i bytes:i trashed_at:t until:t held_at:t}", e->id, e->scope,
                  e->key[0] ? e->key : NULL, e->events, e->bytes, e->trashed_at, e->until, e->held_at);
      continue;
    }
    RP_AUTOBUF struct rp__buf line = RP_BUF(1024);
    char age[32], size[32], left[32], id[RP_ID_MAX + 1];
    rp__age_format(e->trashed_at, rp__cli_now(t->c), age, sizeof(age));
    rp__size_format(e->bytes, size, sizeof(size));
    left_format(t, e, left, sizeof(left));
    rp__term_cell(&line, rp__id_short(e->id, id), 13);
    rp__buf_str(&line, "  ");
    rp__term_cell(&line, e->scope, 16);
    rp__buf_str(&line, "  ");
    rp__term_cell(&line, e->key[0] ? e->key : "-", 20);
    rp__buf_printf(&line, "  %9s  %-10s  %s", size, age, left);
    if (!line.err) puts(line.p);
  }
  return rp__listing_end(&l, 0, "the trash is empty");
}

/* ---- emptying ---- */

static int empty(struct pile *t, rp_error *err)
{
  struct rp__progress progress = RP_PROGRESS(t->c, "emptying the trash");
  int64_t deleted = 0, stayed = 0, bytes = 0;
  bool dry = rp__opt_given(t->c, DRY_RUN);
  char size[32];
  int code = 0;
  for (size_t i = 0; !code && i < t->n; i++) {
    const struct entry *e = &t->p[i];
    rp_error why = {0};
    rp__progress_step(&progress, (int64_t)i, (int64_t)t->n);
    if (dry)
      code = e->held_at ? RP_E_ON_HOLD : 0;
    else
      code = rp_purge(t->c->engine, e->id, false, &why);
    bool kept = code == RP_E_ON_HOLD || code == RP_E_HELD;
    if (code == RP_E_SESSION_NOT_FOUND || kept) code = 0;
    if (code) *err = why;
    stayed += kept;
    deleted += !kept && !code;
    bytes += kept || code ? 0 : e->bytes;
  }
  rp__progress_clear(&progress);
  if (code) return code;
  if (rp__json_wanted(t->c))
    return RP_OUT_PACK(t->c, err, "{deleted:i kept:i bytes:i dry_run:b}", deleted, stayed, bytes, dry);
  rp__size_format(bytes, size, sizeof(size));
  printf("%s %lld of %zu sessions (%s)%s\n", dry ? "would delete" : "deleted", (long long)deleted, t->n, size,
         stayed ? "; those on hold or in use stay" : "");
  return 0;
}

static int run(struct rp__cli *c, rp_error *err)
{
  RP_CLEANUP(pile_done) struct pile t = {.c = c};
  bool empties = rp__opt_given(c, EMPTY), dry = rp__opt_given(c, DRY_RUN);
  if (dry && !empties) return rp__fail_field(err, RP_E_USAGE, "dry-run", "--dry-run goes with --empty");
  int code = rp__cli_open(c, empties && !dry ? RP_USE_CHANGE : RP_USE_LOOK, err);
  rp_filter f = {.scope = rp__opt_text(c, SCOPE), .limit = INT_MAX, .trashed = true};
  if (!code) code = rp_list(c->engine, &f, collect, &t, err);
  if (code) return err->code ? code : rp__fail(err, code, "can't list the trash");
  for (size_t i = 0; !code && i < t.n; i++)
    code = rp__trash_until(c, t.p[i].scope, t.p[i].trashed_at, &t.p[i].until, err);
  if (code) return code;
  return empties ? empty(&t, err) : list(&t, err);
}

const struct rp__cmd rp__cmd_trash = {
    .name = "trash",
    .theme = RP_THEME_CARE,
    .pages = true,
    .usage = "",
    .summary = "List what is in the trash and how long it stays, or empty it",
    .example = "  $ reprise trash\n"
               "  ID             SCOPE             KEY                        SIZE  TRASHED     LEFT\n"
               "  0197a3c2-5b1e  nova              kitchen-chat            3.1 KiB  2 d ago     5 days\n"
               "  $ reprise trash --empty --dry-run\n",
    RP_OPTS(opts),
    .run = run,
};
