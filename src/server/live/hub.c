/* SPDX-License-Identifier: Apache-2.0 */
/* Hubs and their subscribers: the position of each subscriber, what must be read, and who gets which event. */
#include "server/live/hub.h"

/* ---- lists ---- */

static void enlist(struct rp__subs *list, struct rp__sub *s)
{
  s->list = list;
  s->prev = list->last;
  s->next = NULL;
  *(list->last ? &list->last->next : &list->first) = s;
  list->last = s;
}

static void delist(struct rp__sub *s)
{
  struct rp__subs *list = s->list;
  if (!list) return;
  if (s->l->next_sub == s) s->l->next_sub = s->next;
  *(s->prev ? &s->prev->next : &list->first) = s->next;
  *(s->next ? &s->next->prev : &list->last) = s->prev;
  s->prev = s->next = NULL;
  s->list = NULL;
}

static void move(struct rp__sub *s, struct rp__subs *to)
{
  delist(s);
  enlist(to, s);
}

/* Walks a list whose members may be freed or moved by what is called. */
static void walk(struct rp__live *l, struct rp__subs *list)
{
  l->next_sub = list->first;
}

static struct rp__sub *step(struct rp__live *l)
{
  struct rp__sub *s = l->next_sub;
  l->current = s;
  if (s) l->next_sub = s->next;
  return s;
}

/* ---- a hub's life ---- */

/* 14 bits: RP_LIVE_BUCKETS. */
static size_t bucket_of(int64_t number)
{
  return (uint64_t)number * 0x9e3779b97f4a7c15u >> 50;
}

struct rp__hub *rp__hub_find(const struct rp__live *l, int64_t number)
{
  struct rp__hub *h = l->bucket[bucket_of(number)];
  while (h && h->number != number) h = h->next;
  return h;
}

static struct rp__hub *hub_get(struct rp__live *l, struct rp__entry *entry)
{
  int64_t number = rp_session_number(entry->s);
  struct rp__hub *h = rp__hub_find(l, number), **at = &l->bucket[bucket_of(number)];
  if (h) return h;
  h = calloc(1, sizeof *h);
  if (!h) return NULL;
  h->l = l;
  h->number = number;
  h->entry = rp__entry_ref(l->srv->registry, entry);
  pthread_mutex_lock(&l->lock);
  h->next = *at;
  *at = h;
  l->n_hubs++;
  pthread_mutex_unlock(&l->lock);
  rp__live_listeners(l, 1);
  rp__live_tick(l);
  return h;
}

struct parting {
  struct rp__task task;
  struct rp__registry *registry;
  struct rp__entry *entry;
};

static void part(struct rp__task *t)
{
  struct parting *p = (struct parting *)(void *)t;
  rp__registry_put(p->registry, p->entry);
  free(p);
}

void rp__hub_free(struct rp__hub *h)
{
  struct rp__live *l = h->l;
  struct rp__hub **at = &l->bucket[bucket_of(h->number)];
  pthread_mutex_lock(&l->lock);
  while (*at != h) at = &(*at)->next;
  *at = h->next;
  l->n_hubs--;
  if (h->grown) {
    *(h->grown_prev ? &h->grown_prev->grown_next : &l->grown) = h->grown_next;
    if (h->grown_next) h->grown_next->grown_prev = h->grown_prev;
  }
  pthread_mutex_unlock(&l->lock);
  rp__live_listeners(h->l, -1);
  /* The last one who lets go of a deleted session's handle may have to wait for the store: not here. */
  struct parting *p = l->stopped ? NULL : malloc(sizeof *p);
  if (p) *p = (struct parting){.task = {.fn = part}, .registry = l->srv->registry, .entry = h->entry};
  if (!p || !rp__pool_post(l->readers, &p->task)) {
    free(p);
    rp__registry_put(l->srv->registry, h->entry);
  }
  free(h);
}

static void hub_release(struct rp__hub *h)
{
  if (!h->pins && !h->live.first && !h->behind.first && !h->paused.first) rp__hub_free(h);
}

/* ---- what must be read ---- */

static void on_page(struct rp__job *job);

/* One that waits for a page of its own. Each gets its turn: a long replay must not keep others waiting. */
static struct rp__sub *next_behind(struct rp__hub *h)
{
  for (struct rp__sub *s = h->behind.first; s; s = s->next)
    if (!s->ahead || !h->live.first) return s;
  return NULL;
}

static bool needs(struct rp__hub *h, enum rp__hub_read kind)
{
  if (h->failed || h->reading[kind]) return false;
  if (kind == RP_READ_BEHIND) return next_behind(h) != NULL;
  return h->live.first && (h->look || h->told > h->seq);
}

static void read_later(struct rp__hub *h)
{
  h->failed = true;
  h->l->failures++;
}

static void read_start(struct rp__hub *h, enum rp__hub_read kind)
{
  struct rp__sub *s = kind == RP_READ_BEHIND ? next_behind(h) : NULL;
  if (!rp__page_ask(h, kind, s ? s->at : h->seq, on_page)) {
    read_later(h);
    return;
  }
  if (s) move(s, &h->behind);
  if (kind == RP_READ_LIVE) h->look = false;
  h->reading[kind] = true;
  h->pins++;
  h->l->reads[kind]++;
}

void rp__hub_pump(struct rp__hub *h)
{
  struct rp__live *l = h->l;
  if (l->stopped) return;
  for (enum rp__hub_read kind = 0; kind < RP_READ_KINDS; kind++) {
    if (!needs(h, kind)) continue;
    if (l->reads[kind] < RP_LIVE_READS_MAX) {
      read_start(h, kind);
    } else if (!h->waiting[kind]) {
      h->waiting[kind] = true;
      h->pins++;
      h->next_waiting[kind] = NULL;
      *(l->waiting[kind].last ? &l->waiting[kind].last->next_waiting[kind] : &l->waiting[kind].first) = h;
      l->waiting[kind].last = h;
    }
  }
}

/* ---- handing out ---- */

static void count(atomic_llong *n, int64_t by)
{
  atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

static void hand_events(struct rp__sub *s, struct rp__page *p)
{
  struct rp__live *l = s->l;
  int64_t n = 0;
  for (size_t i = 0; i < p->n; i++) {
    struct rp__live_event *ev = &p->events[i].ev;
    if (ev->seq <= s->at) continue;
    bool taken = s->h->event(s->ctx, ev);
    if (l->current != s) break; /* freed by its owner */
    if (!taken) {
      count(&l->held_back, 1);
      s->ahead = false;
      move(s, &s->hub->paused);
      break;
    }
    s->at = ev->seq;
    n++;
  }
  count(&l->deliveries, n);
}

static void hand_out(struct rp__subs *list, struct rp__page *p)
{
  struct rp__live *l = p->hub->l;
  struct rp__sub *s;
  walk(l, list);
  while ((s = step(l)))
    if (s->at >= p->from && s->at >= 0 && s->at < p->to) hand_events(s, p);
  l->current = NULL;
}

/* Where the journal ends, for those who did not know, or thought they were further. */
static void hand_end(struct rp__page *p)
{
  struct rp__live *l = p->hub->l;
  struct rp__sub *s;
  if (p->n || !p->end) return;
  walk(l, &p->hub->behind);
  while ((s = step(l))) {
    if (s->at != p->from || s->since > p->round) continue;
    s->at = p->to;
    if (!p->beyond) continue;
    count(&l->resets, 1);
    if (s->h->reset) s->h->reset(s->ctx, p->to);
  }
  l->current = NULL;
}

/* Those who have all there was become live, unless the live ones are behind them: then these are read for first. */
static void promote(struct rp__page *p)
{
  struct rp__hub *h = p->hub;
  struct rp__sub *s;
  if (!p->end) return;
  walk(h->l, &h->behind);
  while ((s = step(h->l))) {
    if (s->at != p->to) continue;
    if (!h->live.first) h->seq = s->at;
    if (s->at < h->seq) continue;
    s->ahead = s->at > h->seq;
    if (s->ahead) {
      h->told = RP_MAX(h->told, s->at);
      continue;
    }
    move(s, &h->live);
    if (s->h->caught_up) s->h->caught_up(s->ctx, s->at);
  }
  h->l->current = NULL;
}

static void deliver(struct rp__page *p)
{
  struct rp__hub *h = p->hub;
  if (p->n) count(&h->l->events, (int64_t)p->n);
  if (p->created) h->created = p->created;
  hand_end(p);
  if (p->n && h->live.first && h->seq >= p->from && h->seq < p->to) {
    hand_out(&h->live, p);
    h->seq = p->to;
    if (!p->end) h->look = true;
  }
  hand_out(&h->behind, p);
  promote(p);
  /* What was heard of and is not there any more is not waited for. */
  if (p->end && p->kind == RP_READ_LIVE && h->told <= p->told) h->told = RP_MIN(h->told, RP_MAX(p->to, h->seq));
}

/* `from`: of those who stand there only; -2: of all. */
static void tell_gone(struct rp__hub *h, struct rp__subs *list, int64_t from, const rp_error *err)
{
  struct rp__sub *s;
  walk(h->l, list);
  while ((s = step(h->l))) {
    if (from >= -1 && s->at != from) continue;
    delist(s);
    s->hub = NULL;
    if (s->h->gone) s->h->gone(s->ctx, err);
  }
  h->l->current = NULL;
}

void rp__hub_gone(struct rp__hub *h, const rp_error *err)
{
  h->pins++;
  tell_gone(h, &h->live, -2, err);
  tell_gone(h, &h->behind, -2, err);
  tell_gone(h, &h->paused, -2, err);
  h->pins--;
  hub_release(h);
}

static void on_page(struct rp__job *job)
{
  struct rp__page *p = (struct rp__page *)job;
  struct rp__hub *h = p->hub;
  struct rp__live *l = h->l;
  enum rp__hub_read kind = p->kind;
  h->reading[kind] = false;
  if (!p->rc) {
    deliver(p);
  } else if (rp_error_lookup(p->rc)->retryable) {
    read_later(h);
    h->look = true;
  } else if (p->rc == RP_E_SESSION_NOT_FOUND) {
    rp__hub_gone(h, &p->err);
  } else {
    if (h->live.first && h->seq == p->from) tell_gone(h, &h->live, -2, &p->err);
    tell_gone(h, &h->behind, p->from, &p->err);
  }
  rp__page_free(p);
  rp__hub_pump(h);
  /* Its place is free for those that wait. */
  l->reads[kind]--;
  while (!l->stopped && l->waiting[kind].first && l->reads[kind] < RP_LIVE_READS_MAX) {
    struct rp__hub *next = l->waiting[kind].first;
    l->waiting[kind].first = next->next_waiting[kind];
    if (!l->waiting[kind].first) l->waiting[kind].last = NULL;
    next->waiting[kind] = false;
    next->pins--;
    rp__hub_pump(next);
    hub_release(next);
  }
  h->pins--;
  hub_release(h);
}

/* ---- subscriptions ---- */

int rp__sub_new(struct rp__live *l, struct rp__entry *entry, int64_t after, const struct rp__sub_handler *handler,
                void *ctx, struct rp__sub **ret, rp_error *err)
{
  if (l->stopped) return rp__fail(err, RP_E_CANCELLED, "the server stops");
  struct rp__sub *s = calloc(1, sizeof *s);
  struct rp__hub *h = s ? hub_get(l, entry) : NULL;
  if (!h) {
    free(s);
    return rp__fail_nomem(err);
  }
  *s = (struct rp__sub){.l = l, .hub = h, .h = handler, .ctx = ctx, .at = after < 0 ? -1 : after, .since = l->round};
  enlist(&h->behind, s);
  count(&l->n_subs, 1);
  rp__hub_pump(h);
  *ret = s;
  return 0;
}

void rp__sub_more(struct rp__sub *s)
{
  if (!s->hub || s->list != &s->hub->paused) return;
  move(s, &s->hub->behind);
  rp__hub_pump(s->hub);
}

void rp__sub_free(struct rp__sub *s)
{
  if (!s) return;
  if (s->l->current == s) s->l->current = NULL;
  delist(s);
  count(&s->l->n_subs, -1);
  if (s->hub) {
    rp__hub_pump(s->hub); /* those ahead of it wait for it no more */
    hub_release(s->hub);
  }
  free(s);
}
