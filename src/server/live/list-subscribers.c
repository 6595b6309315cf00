/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subscribers of lists of sessions (C-10). A subscriber has one number: all items of the list with a higher number are
 * new to it.
 */
#include "server/live/hub.h"

/* ---- handing out ---- */

static struct rp__session_list_item *after(const struct rp__session_list *r, int64_t stamp)
{
  struct rp__session_list_item *it = r->last, *found = NULL;
  for (; it && it->stamp > stamp; it = it->prev) found = it;
  return found;
}

static void feed(struct rp__list_sub *s)
{
  struct rp__session_list *r = s->roll;
  struct rp__live *l = r->l;
  l->list_current = s;
  bool lost = s->seen > 0 && s->seen < r->forgotten;
  if (lost || !s->fed) {
    s->fed = true;
    s->seen = 0;
    s->first = r->stamp;
  }
  if (lost && s->h->reset) s->h->reset(s->ctx);
  for (struct rp__session_list_item *it = l->list_current == s ? after(r, s->seen) : NULL; it; it = it->next) {
    bool wanted = it->stamp > s->first || (it->open && !it->removed);
    bool taken = !wanted ||
                 s->h->session(s->ctx, it->removed ? "removed" : "session", it->id, (struct rp__str){it->json, it->n});
    if (l->list_current != s) return;
    s->paused = !taken;
    if (!taken) break;
    s->seen = it->stamp;
  }
}

void rp__list_feed(struct rp__session_list *r)
{
  struct rp__live *l = r->l;
  struct rp__list_sub *s;
  l->list_next = r->scanned ? r->subs : NULL;
  while ((s = l->list_next)) {
    l->list_next = s->next;
    if (!s->paused) feed(s);
  }
  l->list_current = NULL;
}

static void on_feed(struct rp__job *job)
{
  struct rp__session_list *r =
      (struct rp__session_list *)(void *)((char *)job - offsetof(struct rp__session_list, feed));
  r->feed_posted = false;
  rp__list_feed(r);
  r->pins--;
  rp__session_list_release(r);
}

/* ---- subscriptions ---- */

/* Not before its owner knows of it. */
static void feed_soon(struct rp__session_list *r)
{
  if (!r->scanned && !r->scanning) rp__session_list_scan(r);
  if (!r->scanned || r->feed_posted) return;
  r->feed.fn = on_feed;
  r->feed_posted = rp__loop_post(r->l->srv->loop, &r->feed);
  if (r->feed_posted) r->pins++;
}

int rp__list_sub_new(struct rp__live *l, const char *scope, const struct rp__list_handler *h, void *ctx,
                     struct rp__list_sub **ret, rp_error *err)
{
  struct rp__session_list *r;
  if (l->stopped) return rp__fail(err, RP_E_CANCELLED, "the server stops");
  if (scope && strlen(scope) > RP_ID_MAX) return rp__fail_field(err, RP_E_USAGE, "scope", "that can't be a scope");
  struct rp__list_sub *s = calloc(1, sizeof *s);
  if (!s) return rp__fail_nomem(err);
  int rc = rp__session_list_get(l, scope ? scope : "", &r, err);
  if (rc) {
    free(s);
    return rc;
  }
  *s = (struct rp__list_sub){.roll = r, .next = r->subs, .h = h, .ctx = ctx};
  if (r->subs) r->subs->prev = s;
  r->subs = s;
  atomic_fetch_add(&l->n_list_subs, 1);
  feed_soon(r);
  *ret = s;
  return 0;
}

void rp__list_sub_more(struct rp__list_sub *s)
{
  if (!s->paused) return;
  s->paused = false;
  feed_soon(s->roll);
}

void rp__list_sub_free(struct rp__list_sub *s)
{
  if (!s) return;
  struct rp__session_list *r = s->roll;
  struct rp__live *l = r->l;
  if (l->list_current == s) l->list_current = NULL;
  if (l->list_next == s) l->list_next = s->next;
  *(s->prev ? &s->prev->next : &r->subs) = s->next;
  if (s->next) s->next->prev = s->prev;
  atomic_fetch_sub(&l->n_list_subs, 1);
  free(s);
  rp__session_list_release(r);
}
