/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention (B-09, X-15, L-09). First all sessions that are due are listed from rows that are read once. Then the rules
 * are applied in the order that reprise/admin.h gives. Each session is checked again before it is changed, so that a
 * hold or a run that came since then counts. A dry run takes the same steps without the change.
 */
#include <limits.h>

#include "base/options.h"
#include "engine/keep/abandon.h"
#include "engine/keep/archive.h"
#include "engine/keep/audit.h"
#include "engine/capture/capture.h"
#include "engine/keep/trash.h"
#include "engine/files.h"

#define DAY_MS (24LL * 3600 * 1000)
#define LISTED_MAX 2000000 /* of one list; the rest next time */

static const char *const action_names[] = {"abandon", "archive", "trash", "delete", "keep"};

const char *rp_gc_action_name(rp_gc_action action)
{
  return (unsigned)action < RP_ARRAY_SIZE(action_names) ? action_names[action] : NULL;
}

struct aged {
  char id[RP_NAME];
  int64_t ended_at; /* or the last activity of one that is open */
  bool gone, kept;
};

/* Lists of sessions, the oldest end first. */
enum {
  ABANDON, /* open and quiet, as far as their rows say */
  ARCHIVE, /* with a record that is due for its cold file */
  TRASH,   /* ended longer ago than is kept */
  DOOMED,  /* long enough in the trash, or due for one without a grace period */
  ENDED,   /* all that have ended, those in the trash included: only with a budget */
  LISTS
};

struct aged_list {
  struct aged *p;
  size_t n, cap;
};

struct gc {
  rp_engine *e;
  const rp_gc_options *o;
  rp_gc_fn *fn;
  void *ctx;
  rp_progress_fn *progress;
  void *pctx;
  rp_error *err;

  int64_t now, budget; /* budget 0: none */
  struct aged_list aged[LISTS];
  int64_t before; /* records that ended until then are due */
  int64_t done, total;
  int64_t abandoned, archived, trashed, deleted, kept, bytes;
};

/* ---- what is due ---- */

static int list_add(struct aged_list *l, const char *id, int64_t ended_at)
{
  if (l->n == LISTED_MAX) return 0;
  if (!RP__ROOM(l->p, l->n, l->cap)) return RP_E_NOMEM;
  struct aged *a = &l->p[l->n++];
  *a = (struct aged){.ended_at = ended_at};
  snprintf(a->id, sizeof a->id, "%s", id);
  return 0;
}

static int oldest_first(const void *a, const void *b)
{
  const struct aged *x = a, *y = b;
  if (x->ended_at != y->ended_at) return x->ended_at < y->ended_at ? -1 : 1;
  return strcmp(x->id, y->id);
}

/* The same session in another list, or NULL. */
static const struct aged *aged_find(const struct aged_list *l, const struct aged *a)
{
  return l->n ? bsearch(a, l->p, l->n, sizeof *a, oldest_first) : NULL;
}

static int on_session(void *ctx, const struct rp__session_row *row)
{
  struct gc *g = ctx;
  const struct rp__scope_config *c = rp__config_of(g->e->config, row->scope);
  if (!rp__status_ended(row->status)) {
    int64_t last = RP_MAX(row->last_activity_at, row->created_at);
    return rp__abandon_possible(g->e, row, g->now) ? list_add(&g->aged[ABANDON], row->id, last) : 0;
  }
  int64_t kept = g->o->older_than_ms > 0 ? g->o->older_than_ms : c->retain_ms;
  bool due = kept > 0 && g->now - row->ended_at >= kept;
  int rc = due ? list_add(&g->aged[TRASH], row->id, row->ended_at) : 0;
  if (!rc && due && c->trash_ms == 0) rc = list_add(&g->aged[DOOMED], row->id, row->ended_at);
  if (!rc && g->budget) rc = list_add(&g->aged[ENDED], row->id, row->ended_at);
  return rc;
}

static int on_trashed(void *ctx, const struct rp__session_row *row)
{
  struct gc *g = ctx;
  int64_t ended = row->ended_at ? row->ended_at : row->last_activity_at;
  bool due = g->now - row->trashed_at >= rp__config_of(g->e->config, row->scope)->trash_ms;
  int rc = due ? list_add(&g->aged[DOOMED], row->id, ended) : 0;
  if (!rc && g->budget) rc = list_add(&g->aged[ENDED], row->id, ended);
  return rc;
}

static int on_recall(void *ctx, const struct rp__recall *row)
{
  struct gc *g = ctx;
  bool due = !row->archived && row->ended_at <= g->before;
  return due ? list_add(&g->aged[ARCHIVE], row->session_id, row->ended_at) : 0;
}

static int list_all(struct gc *g)
{
  struct rp__store *store = g->e->store;
  struct rp__scope_names scopes RP_CLEANUP(rp__scope_names_done) = {0};
  struct rp__session_filter f = {.scope = g->o->scope, .limit = INT_MAX};
  int rc = store->ops->session_list(store, &f, on_session, g, g->err);
  f.trashed = true;
  if (!rc) rc = store->ops->session_list(store, &f, on_trashed, g, g->err);
  if (!rc && rp__archive_possible(g->e)) rc = rp__scope_names(g->e, g->o->scope, &scopes, g->err);
  for (size_t i = 0; !rc && i < scopes.n; i++) {
    struct rp__recall_filter of_scope = {.scope = scopes.p[i]};
    g->before = g->now - rp__config_of(g->e->config, scopes.p[i])->archive_ms;
    rc = store->ops->recall_list(store, &of_scope, on_recall, g, g->err);
  }
  for (int i = 0; i < LISTS; i++) {
    if (g->aged[i].n) qsort(g->aged[i].p, g->aged[i].n, sizeof *g->aged[i].p, oldest_first);
    if (i != ENDED) g->total += (int64_t)g->aged[i].n;
  }
  return rc == RP_E_NOMEM ? rp__fail_nomem(g->err) : rc;
}

/* ---- telling ---- */

static int tell(struct gc *g, rp_gc_action action, const struct rp__session_row *row, int64_t bytes, const char *reason)
{
  rp_gc_item item = {.action = action,
                     .session_id = row->id,
                     .scope = row->scope,
                     .reason = reason,
                     .bytes = bytes,
                     .ended_at = row->ended_at};
  g->kept += action == RP_GC_KEEP;
  return g->fn ? g->fn(g->ctx, &item) : 0;
}

static int step(struct gc *g)
{
  g->done++;
  if (!g->progress || !g->progress(g->pctx, g->done, RP_MAX(g->done, g->total))) return 0;
  return rp__fail(g->err, RP_E_CANCELLED, "the cleaning was interrupted; what was done is done");
}

/* "ended 31 days ago", "in the trash for 8 days" */
static void span(char *out, size_t size, const char *before, int64_t ms, const char *after)
{
  const int64_t hour = 3600 * 1000LL, unit = ms < 2 * hour ? 60000 : ms < 2 * DAY_MS ? hour : DAY_MS;
  const char *name = unit == DAY_MS ? "days" : unit == hour ? "hours" : "minutes";
  snprintf(out, size, "%s %lld %s%s", before, (long long)(ms / unit), name, after);
}

/* What concerns one session alone is told and gone past; what concerns the store ends the work. */
static bool alone(int rc)
{
  switch (rc) {
  case RP_E_ON_HOLD:
  case RP_E_HELD:
  case RP_E_FENCED:
  case RP_E_SEQ_CONFLICT:
  case RP_E_ENDED:
  case RP_E_TRANSITION:
  case RP_E_KEY_MISSING:
  case RP_E_KEY_WRONG:
  case RP_E_CORRUPT:
  case RP_E_REFUSED: return true;
  default: return false;
  }
}

static bool was_kept(const struct gc *g, const struct aged *c)
{
  const struct aged_list *lists[] = {&g->aged[ARCHIVE], &g->aged[TRASH], &g->aged[DOOMED]};
  for (size_t i = 0; i < RP_ARRAY_SIZE(lists); i++) {
    const struct aged *hit = aged_find(lists[i], c);
    if (hit && hit->kept) return true;
  }
  return false;
}

/* After a failure: `why` without a code means that it was a callback's, whose word is final. */
static int keep(struct gc *g, struct aged *c, const struct rp__session_row *row, int rc, const rp_error *why)
{
  if (!rc || !why->code) return rc;
  if (rc == RP_E_SESSION_NOT_FOUND) { /* somebody else was faster */
    c->gone = true;
    return 0;
  }
  if (!alone(rc)) {
    if (g->err) *g->err = *why;
    return rc;
  }
  if (was_kept(g, c)) return 0;
  c->kept = true;
  return tell(g, RP_GC_KEEP, row, row->bytes, rc == RP_E_ON_HOLD ? "on hold" : why->message);
}

/* ---- doing ---- */

/* How one session is dealt with: tells what it does, then does it unless this is a dry run. */
typedef int deal_fn(struct gc *g, struct aged *c, const struct rp__session_row *row, rp_error *why);

static int deal_abandon(struct gc *g, struct aged *c, const struct rp__session_row *row, rp_error *why)
{
  struct rp__quiet q;
  char reason[64];
  (void)c;
  int rc = rp__abandon_judge(g->e, row, &q, why);
  if (rc || !q.due) return rc;
  span(reason, sizeof reason, "no activity for", g->now - q.last_ms, "");
  rc = tell(g, RP_GC_ABANDON, row, row->bytes, reason);
  if (rc) return rc;
  if (!g->o->dry_run) rc = rp__abandon_mark(g->e, row, &q, why);
  if (!rc) g->abandoned++;
  return rc;
}

static int deal_archive(struct gc *g, struct aged *c, const struct rp__session_row *row, rp_error *why)
{
  struct rp__buf json RP_AUTOBUF = RP_BUF(RP_ARCHIVE_MAX);
  char reason[64];
  /* The record of a session that was taken up again stays here; one in the trash is about to go anyway. */
  if (!rp__status_ended(row->status) || row->trashed_at) return 0;
  int rc = rp__session_free_to_go(g->e, row, why);
  if (!rc) rc = rp__record_read(g->e, row, &json, why);
  if (rc == RP_E_RECORD_NOT_FOUND) return *why = (rp_error){0}, 0;
  if (rc) return rc;
  span(reason, sizeof reason, "ended", g->now - c->ended_at, " ago");
  rc = tell(g, RP_GC_ARCHIVE, row, (int64_t)json.n, reason);
  if (rc) return rc;
  if (!g->o->dry_run) rc = rp__archive_move(g->e, row, json.p, json.n, why);
  if (!rc) g->archived++;
  return rc;
}

static int deal_trash(struct gc *g, struct aged *c, const struct rp__session_row *row, rp_error *why)
{
  char reason[64];
  int64_t bytes;
  if (row->trashed_at || !rp__status_ended(row->status)) return 0;
  int rc = rp__session_free_to_go(g->e, row, why);
  if (!rc) rc = rp__session_weight(g->e, row, &bytes, why);
  if (rc) return rc;
  span(reason, sizeof reason, "ended", g->now - c->ended_at, " ago");
  rc = tell(g, RP_GC_TRASH, row, bytes, reason);
  if (rc) return rc;
  if (!g->o->dry_run) rc = rp__trash_put(g->e, row, reason, why);
  if (!rc) g->trashed++;
  return rc;
}

/* `ret_bytes`: what it gave back. */
static int delete_one(struct gc *g, struct aged *c, const struct rp__session_row *row, const char *reason,
                      int64_t *ret_bytes, rp_error *why)
{
  int64_t bytes;
  int rc = rp__session_free_to_go(g->e, row, why);
  if (!rc) rc = rp__session_weight(g->e, row, &bytes, why);
  if (!rc) rc = tell(g, RP_GC_DELETE, row, bytes, reason);
  if (!rc && !g->o->dry_run) rc = rp__session_delete(g->e, row, bytes, reason, why);
  if (rc) return rc;
  g->deleted++;
  g->bytes += bytes;
  c->gone = true;
  *ret_bytes = bytes;
  return 0;
}

static int deal_delete(struct gc *g, struct aged *c, const struct rp__session_row *row, rp_error *why)
{
  char reason[64] = "no grace period";
  int64_t bytes;
  /* Somebody took it back meanwhile. In a dry run one that was only said to go there counts as being there. */
  if (!row->trashed_at && (!g->o->dry_run || !aged_find(&g->aged[TRASH], c))) return 0;
  if (row->trashed_at) span(reason, sizeof reason, "in the trash for", g->now - row->trashed_at, "");
  return delete_one(g, c, row, reason, &bytes, why);
}

/* The session as it is now. Whether one that is damaged has ended is not known. */
static int find(struct gc *g, const char *id, struct rp__session_row *ret, rp_error *why)
{
  int rc = g->e->store->ops->session_find(g->e->store, RP_FIND_ID, NULL, id, ret, why);
  return rc || !ret->damaged ? rc : rp__fail(why, RP_E_CORRUPT, "its status is damaged");
}

static int deal_all(struct gc *g, struct aged_list *l, deal_fn *fn)
{
  int rc = 0;
  for (size_t i = 0; !rc && i < l->n; i++) {
    struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
    rp_error why = {0};
    rc = find(g, l->p[i].id, &row, &why);
    if (!rc) rc = fn(g, &l->p[i], &row, &why);
    rc = keep(g, &l->p[i], &row, rc, &why);
    if (!rc) rc = step(g);
  }
  return rc;
}

/* ---- the budget ---- */

static int size_now(struct gc *g, int64_t *ret)
{
  struct rp__store_stats st = {0};
  int rc = g->e->store->ops->stats(g->e->store, &st, g->err);
  if (!rc) *ret = rp__store_weight(&st);
  return rc;
}

/*
 * Estimates decide who goes, so that a dry run can say the same; what the file really gave back decides whether another
 * round is needed.
 */
static int keep_budget(struct gc *g)
{
  int64_t used = 0, bytes;
  size_t at = 0;
  if (!g->budget) return 0;
  int rc = size_now(g, &used);
  if (!rc && g->o->dry_run) used -= g->bytes;
  while (!rc && at < g->aged[ENDED].n && used > g->budget) {
    for (; !rc && at < g->aged[ENDED].n && used > g->budget; at++) {
      struct rp__session_row row RP_CLEANUP(rp__session_row_done) = {0};
      struct aged *c = &g->aged[ENDED].p[at];
      const struct aged *before = aged_find(&g->aged[DOOMED], c);
      rp_error why = {0};
      if (before && before->gone) continue;
      rc = find(g, c->id, &row, &why);
      if (!rc && (rp__status_ended(row.status) || row.trashed_at)) {
        rc = delete_one(g, c, &row, "the database is over its budget", &bytes, &why);
        if (!rc) used -= bytes;
      }
      rc = keep(g, c, &row, rc, &why);
      if (!rc) rc = step(g);
    }
    if (g->o->dry_run) break;
    rp__store_shrink(g->e);
    if (!rc) rc = size_now(g, &used);
  }
  return rc;
}

/* ---- the whole ---- */

static int gc_run(struct gc *g)
{
  int64_t budget = rp__config_of(g->e->config, g->o->scope)->disk_budget;
  g->budget = g->o->budget_bytes > 0 ? g->o->budget_bytes : budget;
  if (g->budget < 0)
    return rp__fail_field(g->err, RP_E_CONFIG, "disk_budget", "disk_budget: '%s' is no size; write it like 512M or 2G",
                          rp__config_text(g->e->config, g->o->scope, rp__config_option("disk_budget")));
  int rc = list_all(g);
  if (!rc) rc = deal_all(g, &g->aged[ABANDON], deal_abandon);
  if (!rc) rc = deal_all(g, &g->aged[ARCHIVE], deal_archive);
  if (!rc) rc = deal_all(g, &g->aged[TRASH], deal_trash);
  if (!rc) rc = deal_all(g, &g->aged[DOOMED], deal_delete);
  if (!g->o->dry_run && g->deleted) rp__store_shrink(g->e); /* also what an interruption left behind */
  return rc ? rc : keep_budget(g);
}

int rp_gc(rp_engine *e, const rp_gc_options *given, rp_gc_fn *fn, void *ctx, rp_progress_fn *progress, void *pctx,
          char **ret, rp_error *err)
{
  rp_gc_options o;
  int rc = rp__engine_check(e, err);
  if (!rc) rc = RP__OPTIONS(&o, given, budget_bytes, err);
  if (rc) return rc;
  struct gc g = {
      .e = e, .o = &o, .fn = fn, .ctx = ctx, .progress = progress, .pctx = pctx, .err = err, .now = rp__engine_now(e)};
  if (e->read_only && !g.o->dry_run) return rp__fail(err, RP_E_READONLY, "the store was opened to be read only");
  if (!g.o->dry_run) rp__files_sweep(e);
  rc = gc_run(&g);
  for (int i = 0; i < LISTS; i++) free(g.aged[i].p);
  if (rc || !ret) return rc;
  struct rp__buf out RP_AUTOBUF = RP_BUF(4096);
  struct rp__jw w = RP_JW(&out);
  rp__jw_pack(&w, "{abandoned:i archived:i trashed:i deleted:i kept:i bytes:i dry_run:b}", g.abandoned, g.archived,
              g.trashed, g.deleted, g.kept, g.bytes, o.dry_run);
  return rp__text_give(&out, ret, err);
}
