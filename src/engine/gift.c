/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/foreign.h"

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
  if (t->n == t->cap) {
    size_t cap = t->cap ? t->cap * 2 : 16;
    struct turn *p = realloc(t->p, cap * sizeof *p);
    if (!p) return RP_E_NOMEM;
    t->p = p;
    t->cap = cap;
  }
  t->p[t->n++] = (struct turn){ev->seq, to};
  return 0;
}

/* Backwards from the end: each turn that was not itself taken back begins a stretch and says where the one before ends.
 * The stretches are left at the end of the array, in order. */
static void find_stretches(struct turns *t)
{
  int64_t end = t->last;
  size_t free_from = t->n;
  for (size_t i = t->n; i-- > 0;) {
    struct turn turn = t->p[i];
    if (turn.at > end) continue;
    t->p[--free_from] = (struct turn){turn.at, end};
    end = turn.to;
  }
  t->next = free_from;
  t->last = end; /* the first stretch is from the beginning to here */
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
  struct rp__gift *g = ctx;
  struct turns t = {.fn = fn, .ctx = fn_ctx};
  struct rp__lost lost; /* logged when it was read for the first time */
  int rc = rp__journal_read_past(g->s, 0, 0, on_turn, &t, NULL, err);
  if (rc == RP_E_NOMEM) rp__fail_nomem(err);
  if (!rc && t.n) find_stretches(&t);
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

static int on_run(void *ctx, const struct rp__run_row *run)
{
  *(int64_t *)ctx = run->started_at;
  return 0;
}

/* When the newest run began, and how many the scope has had. */
static int find_facts(struct rp__gift *g, const struct rp__session_row *row, rp_error *err)
{
  struct rp__store *store = g->s->e->store;
  struct rp__run_filter newest = {.session_ref = g->s->ref, .limit = 1};
  struct rp__scope_row scope = {0};
  g->giver.started_at = row->created_at;
  int rc = store->ops->run_list(store, &newest, on_run, &g->giver.started_at, err);
  if (!rc) rc = store->ops->scope_get(store, row->scope, &scope, err);
  /* A session that came from elsewhere knows how many there were. */
  struct rp__json meta = row->meta ? rp__json_trusted(row->meta, strlen(row->meta)) : (struct rp__json){0};
  int64_t there = 0;
  rp__json_i64(rp__json_get(rp__json_get(meta, "imported"), "total_sessions"), &there);
  g->giver.total_sessions = RP_MAX(scope.starts, there);
  return rc;
}

static int show(struct rp__gift *g, const struct rp__session_row *row, const char *const *facets, rp_error *err)
{
  struct rp__buf warnings RP_AUTOBUF = RP_BUF(65536);
  struct rp__fold *kept = NULL, *own RP_AUTOFOLD = NULL;
  struct rp__jw w = RP_JW(&g->state);
  pthread_mutex_lock(&g->s->lock);
  int rc = rp__last_words_state(g->s, &g->words, &kept, &own, &warnings, err);
  if (!rc) {
    const struct rp__fold *f = own ? own : kept;
    /* What has ended ages no more: its feelings are those of its last moment. */
    if (rp__status_ended(row->status) && rp__fold_seq(f) > 0)
      g->giver.now_ms = rp__fold_at_ms(f);
    else
      g->giver.now_ms = rp__engine_now(g->s->e);
    rp__state_show(f, row, NULL, facets, g->giver.now_ms, &w);
  }
  if (kept) rp__state_release(g->s, kept);
  pthread_mutex_unlock(&g->s->lock);
  if (!rc && g->state.err) rc = rp__fail_nomem(err);
  return rc;
}

int rp__gift_open(struct rp__gift *g, rp_session *s, const char *const *facets, rp_error *err)
{
  struct rp__session_row row = {0};
  *g = (struct rp__gift){.s = s, .state = RP_BUF(RP_STATE_MAX)};
  int rc = rp__session_row(s, &row, err);
  if (rc) return rc;
  g->last = row.last_seq;
  if (row.tails.n) rc = rp__last_words_make(s, &g->words, err);
  if (!rc) rc = show(g, &row, facets, err);
  if (!rc) rc = find_facts(g, &row, err);
  g->giver.clean = rp__status_ended(row.status) && !row.crash_recovered;
  rp__session_row_done(&row);
  if (rc) {
    rp__gift_done(g);
    return rc;
  }
  g->giver.state = rp__json_trusted(g->state.p, g->state.n);
  g->giver.random = &rp__system_random;
  g->giver.events = give_events;
  g->giver.ctx = g;
  return 0;
}

void rp__gift_done(struct rp__gift *g)
{
  rp__buf_done(&g->state);
  rp__last_words_done(&g->words);
}
