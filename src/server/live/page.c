/* SPDX-License-Identifier: Apache-2.0 */
/* A page of a journal, read and turned into documents by one of the reader threads. */
#include "server/live/hub.h"

#define FULL 1 /* stops the reading */
#define FIRST_EVENTS 4

static void event_write(struct rp__buf *out, const rp_event_info *info, struct rp__page_event *ret)
{
  struct rp__jw w = RP_JW(out);
  ret->json_at = out->n;
  rp__jw_object(&w);
  rp__jw_ki64(&w, "seq", info->seq);
  rp__jw_ktime(&w, "at", info->at_ms);
  rp__jw_kstr(&w, "kind", info->kind);
  rp__jw_key(&w, "body");
  ret->body_at = out->n;
  rp__jw_raw(&w, info->body, info->body_len);
  ret->ev.body.n = out->n - ret->body_at;
  rp__jw_end_object(&w);
  ret->ev.json.n = out->n - ret->json_at;
  ret->kind_at = out->n;
  rp__buf_add(out, info->kind, strlen(info->kind) + 1);
  if (out->err) return;
  /* A line break in JSON stands between values, never in one: a space says the same on one line. */
  for (char *p = out->p + ret->body_at, *end = p + ret->ev.body.n; p < end; p++)
    if (*p == '\n' || *p == '\r') *p = ' ';
}

static int on_event(void *ctx, const rp_event_info *info)
{
  struct rp__page *p = ctx;
  if (p->text.n >= RP_LIVE_PAGE_BYTES) return FULL;
  if (p->n == p->cap) {
    size_t cap = p->cap ? p->cap * 2 : FIRST_EVENTS;
    void *events = reallocarray(p->events, cap, sizeof *p->events);
    if (!events) return RP_E_NOMEM;
    p->events = events;
    p->cap = cap;
  }
  struct rp__page_event *e = &p->events[p->n];
  *e = (struct rp__page_event){.ev = {.seq = info->seq, .at_ms = info->at_ms}};
  event_write(&p->text, info, e);
  if (p->text.err) return p->text.err;
  p->n++;
  p->to = info->seq;
  return 0;
}

struct looked {
  int64_t seq, created;
  bool trashed;
};

static int on_shown(void *ctx, const rp_session_info *info)
{
  struct looked *x = ctx;
  *x = (struct looked){.seq = info->seq, .created = info->created_at, .trashed = info->trashed_at != 0};
  return 0;
}

int rp__page_look(rp_engine *e, const char *id, int64_t *created, int64_t *ret_seq, rp_error *err)
{
  struct looked x = {0};
  int rc = rp_show(e, id, on_shown, &x, err);
  if (rc) return rc;
  if (x.trashed) return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s is in the trash", id);
  if (*created && x.created != *created)
    return rp__fail(err, RP_E_SESSION_NOT_FOUND, "session %s was deleted and made anew", id);
  *created = x.created;
  *ret_seq = x.seq;
  return 0;
}

static void page_read(struct rp__task *t)
{
  struct rp__page *p = (struct rp__page *)(void *)((char *)t - offsetof(struct rp__page, task));
  const struct rp__entry *entry = p->hub->entry;
  int rc = p->from < 0 ? 0 : rp_events(entry->s, p->from, RP_LIVE_PAGE_EVENTS, on_event, p, &p->err);
  p->end = rc == 0 && p->n > 0 && p->n < RP_LIVE_PAGE_EVENTS;
  if (rc == FULL || p->n > 0) rc = 0; /* what could not be read fails again, at its own place */
  if (rc && !p->err.code) rp__fail(&p->err, rc, "events of session %s can't be read", entry->id);
  /* Nothing was read: because nothing is there yet, or no more, or never was. */
  if (!rc && !p->n) {
    int64_t last = 0;
    rc = rp__page_look(p->hub->l->srv->engine, entry->id, &p->created, &last, &p->err);
    p->end = !rc && (last <= p->from || p->from < 0);
    p->beyond = !rc && last < p->from;
    if (p->end) p->to = last;
  }
  p->rc = rc;
  /* The text moves no more. */
  for (size_t i = 0; !rc && i < p->n; i++) {
    struct rp__page_event *e = &p->events[i];
    e->ev.session_id = entry->id;
    e->ev.kind = p->text.p + e->kind_at;
    e->ev.json.p = p->text.p + e->json_at;
    e->ev.body = rp__json_trusted(p->text.p + e->body_at, e->ev.body.n);
  }
  /* Where the loop has ended the hub's pin stays: all hubs go with the publisher. */
  if (!rp__loop_post(p->hub->l->srv->loop, &p->job)) rp__page_free(p);
}

bool rp__page_ask(struct rp__hub *h, enum rp__hub_read kind, int64_t from, void (*done)(struct rp__job *job))
{
  struct rp__page *p = calloc(1, sizeof *p);
  if (!p) return false;
  *p = (struct rp__page){.task = {.fn = page_read},
                         .job = {.fn = done},
                         .hub = h,
                         .kind = kind,
                         .from = from,
                         .to = from,
                         .round = h->l->round++,
                         .told = h->told,
                         .created = h->created,
                         .text = RP_BUF(RP_LIVE_TEXT_MAX)};
  if (rp__pool_post(h->l->readers, &p->task)) return true;
  rp__page_free(p);
  return false;
}

void rp__page_free(struct rp__page *p)
{
  for (size_t i = 0; i < p->n; i++)
    for (size_t f = 0; f < RP_ARRAY_SIZE(p->events[i].ev.form); f++) rp__msg_unref(p->events[i].ev.form[f]);
  free(p->events);
  rp__buf_done(&p->text);
  free(p);
}
