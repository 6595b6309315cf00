/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a session that an export reads: its row, runs, events, the events that were not undone, and blobs. */
#include "engine/transfer/foreign.h"

#include "facets/settings.h"

/* ---- the journal without what was taken back ---- */

/* An event `restored {to_seq}`, and, once the way is known, a stretch of events that counts: after `at`, up to `to`. */
struct turn {
  int64_t at, to;
};

struct turns {
  struct turn *p;
  size_t n, cap, next;
  int64_t last;
  rp__given_fn *fn;
  void *ctx;
};

static int on_turn(void *ctx, const struct rp__event *ev)
{
  struct turns *t = ctx;
  int64_t to;
  t->last = ev->seq;
  if (ev->kind != RP_KIND_RESTORED || !rp__json_i64(rp__json_get(ev->body, "to_seq"), &to)) return 0;
  if (!RP__ROOM(t->p, t->n, t->cap)) return RP_E_NOMEM;
  t->p[t->n++] = (struct turn){ev->seq, to};
  return 0;
}

static int on_event(void *ctx, const struct rp__event *ev)
{
  struct turns *t = ctx;
  while (t->next < t->n && ev->seq > t->p[t->next].to) t->next++;
  bool counts = ev->seq <= t->last || (t->next < t->n && ev->seq > t->p[t->next].at);
  return counts ? t->fn(t->ctx, ev) : 0;
}

static int give_events(void *ctx, rp__given_fn *fn, void *fn_ctx, rp_error *err)
{
  struct rp__export_source *g = ctx;
  struct turns t = {.fn = fn, .ctx = fn_ctx};
  struct rp__lost lost; /* logged when it was read for the first time */
  int rc = rp__journal_read_past(g->s, 0, 0, on_turn, &t, NULL, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  /* Backwards from the end: each turn that was not itself taken back begins a stretch and says where the one before
   * ends. The stretches are left at the end of the array, in order. */
  if (!rc && t.n) {
    int64_t end = t.last;
    size_t free_from = t.n;
    for (size_t i = t.n; i-- > 0;) {
      struct turn turn = t.p[i];
      if (turn.at > end) continue;
      t.p[--free_from] = (struct turn){turn.at, end};
      end = turn.to;
    }
    t.next = free_from;
    t.last = end; /* the first stretch is from the beginning to here */
  }
  if (!rc && t.last) rc = rp__journal_read_past(g->s, 0, 0, t.n ? on_event : fn, t.n ? (void *)&t : fn_ctx, &lost, err);
  for (size_t i = 0; !rc && i < g->words.n; i++) {
    struct rp__event ev = {.seq = g->last + (int64_t)i + 1, .at_ms = g->words.at_ms, .kind = RP_KIND_MESSAGE};
    ev.kind_name = g->words.events[i].kind;
    ev.body = rp__json_trusted(g->words.plain[i].p, g->words.plain[i].n);
    rc = fn(fn_ctx, &ev);
  }
  free(t.p);
  return rc;
}

/* ---- the state ---- */

static int load_state(struct rp__export_source *g, rp_error *err)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  const struct rp__session_row *row = &g->row;
  int rc = g->words.n ? rp__last_words_state(g->s, &g->words, NULL, &g->own, &warnings, err)
                      : rp__state_take(g->s, &g->loan, &warnings, err);
  if (rc) return rc;
  const struct rp__fold *f = g->giver.state = g->own ? g->own : g->loan.fold;
  /* What has ended ages no more: its feelings are those of its last moment. */
  bool ended = rp__status_ended(row->status) && rp__fold_seq(f) > 0;
  g->giver.now_ms = ended ? rp__fold_at_ms(f) : rp__engine_now(g->s->e);
  g->giver.session = (struct rp__given_session){.id = row->id,
                                                .scope = row->scope,
                                                .channel = row->channel,
                                                .previous_id = row->previous_id,
                                                .continued_by = row->continued_by,
                                                .created_at = row->created_at,
                                                .last_activity_at = row->last_activity_at,
                                                .ended_at = row->ended_at,
                                                .crash_recovered = row->crash_recovered};
  if (row->meta && rp__fold_has(f, RP_SETTINGS)) g->giver.meta = rp__json_trusted(row->meta, strlen(row->meta));
  return 0;
}

int rp__export_source_open(struct rp__export_source *g, rp_session *s, rp_error *err)
{
  *g = (struct rp__export_source){.s = s};
  int rc = rp__session_row(s, &g->row, err);
  if (rc) return rc;
  g->last = g->row.last_seq;
  if (g->row.tails.n) rc = rp__last_words_make(s, &g->words, err);
  if (!rc) rc = load_state(g, err);
  /* When the newest run began, and how many the scope has had. */
  if (!rc) {
    struct rp__store *store = g->s->e->store;
    struct rp__run_row newest;
    struct rp__scope_row scope = {0};
    rc = rp__run_newest(g->s->e, g->s->ref, false, &newest, err);
    g->giver.started_at = newest.ref ? newest.started_at : g->row.created_at;
    if (!rc) rc = store->ops->scope_get(store, g->row.scope, &scope, err);
    /* A session that came from elsewhere knows how many there were. */
    struct rp__json meta = g->row.meta ? rp__json_trusted(g->row.meta, strlen(g->row.meta)) : (struct rp__json){0};
    int64_t there = 0;
    rp__json_i64(rp__json_get(rp__json_get(meta, "imported"), "total_sessions"), &there);
    g->giver.total_sessions = RP_MAX(scope.starts, there);
  }
  g->giver.clean = rp__status_ended(g->row.status) && !g->row.crash_recovered;
  if (rc) {
    rp__export_source_done(g);
    return rc;
  }
  g->giver.random = &rp__system_random;
  g->giver.events = give_events;
  g->giver.ctx = g;
  return 0;
}

void rp__export_source_done(struct rp__export_source *g)
{
  rp__session_row_done(&g->row);
  rp__state_put(&g->loan);
  rp__fold_free(RP_TAKE(g->own));
  rp__last_words_done(&g->words);
}
