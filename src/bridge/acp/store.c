/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The proxy's journal. A line goes out when its events are stored: the engine tells so from its own threads, and the
 * inbox carries that to the proxy's. What can't be stored is delivered all the same and counted, and the first append
 * that works again says in the journal how much is missing.
 */
#include <pthread.h>

#include "base/clock.h"
#include "bridge/acp/impl.h"
#include "bridge/utf8.h"

#define EVENTS_MAX (RP_NOTES_MAX + 1) /* and the gap */

/* One append on its way. `prev` and `next` are the proxy's, `done` the inbox's. */
struct entry {
  struct entry *prev, *next, *done;
  struct rp__inbox *box;
  struct rp__acp_session *s;
  struct rp__flow *flow;
  struct rp__flow_item *item;
  int64_t gap; /* lost messages that this append tells of */
  rp_error err;
};

struct rp__inbox {
  pthread_mutex_t lock;
  struct rp__acp *a; /* NULL: nobody reads it any more */
  unsigned refs;
  struct entry *head, *tail; /* acknowledged */
  struct entry *away;        /* all that are not taken yet; the proxy's thread alone */
};

int rp__inbox_new(struct rp__acp *a, rp_error *err)
{
  struct rp__inbox *b = calloc(1, sizeof *b);
  if (!b) return rp__fail_nomem(err);
  pthread_mutex_init(&b->lock, NULL); /* default mutexes can't fail to initialise on Linux */
  b->a = a;
  b->refs = 1;
  a->inbox = b;
  return 0;
}

/* Called with the lock held, which it gives up. */
static void unref(struct rp__inbox *b)
{
  bool last = --b->refs == 0;
  pthread_mutex_unlock(&b->lock);
  if (!last) return;
  pthread_mutex_destroy(&b->lock);
  free(b);
}

/* From an engine thread, or, inside of an append, from ours. */
static void on_stored(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct entry *e = ctx;
  struct rp__inbox *b = e->box;
  (void)ack;
  if (err) e->err = *err;
  pthread_mutex_lock(&b->lock);
  if (b->a) {
    e->done = NULL;
    *(b->tail ? &b->tail->done : &b->head) = e;
    b->tail = e;
    b->a->w.poke(b->a->w.ctx);
  } else {
    free(e);
  }
  unref(b);
}

static void unlink_entry(struct rp__inbox *b, struct entry *e)
{
  *(e->prev ? &e->prev->next : &b->away) = e->next;
  if (e->next) e->next->prev = e->prev;
}

void rp__inbox_close(struct rp__acp *a)
{
  struct rp__inbox *b = a->inbox;
  if (!b) return;
  pthread_mutex_lock(&b->lock);
  b->a = NULL;
  while (b->head) {
    struct entry *e = b->head;
    b->head = e->done;
    free(e);
  }
  a->inbox = NULL;
  unref(b);
}

static struct entry *add_entry(struct rp__acp_session *s)
{
  struct rp__inbox *b = s->a->inbox;
  struct entry *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->box = b;
  e->s = s;
  e->next = b->away;
  if (e->next) e->next->prev = e;
  b->away = e;
  pthread_mutex_lock(&b->lock);
  b->refs++;
  pthread_mutex_unlock(&b->lock);
  return e;
}

/* One that never got to the engine. */
static void drop_entry(struct entry *e)
{
  struct rp__inbox *b = e->box;
  unlink_entry(b, e);
  free(e);
  pthread_mutex_lock(&b->lock);
  unref(b);
}

void rp__store_forget(struct rp__acp *a, const struct rp__acp_session *s)
{
  for (struct entry *e = a->inbox ? a->inbox->away : NULL; e; e = e->next)
    if (e->s == s) e->s = NULL;
}

void rp__store_forget_flow(struct rp__acp *a, const struct rp__flow *f)
{
  for (struct entry *e = a->inbox->away; e; e = e->next)
    if (e->flow == f) e->item = NULL;
}

/* ---- what was lost ---- */

static bool taken_away(int code)
{
  return code == RP_E_FENCED || code == RP_E_ENDED || code == RP_E_SESSION_NOT_FOUND;
}

static int on_fate(void *ctx, const rp_session_info *info)
{
  const struct rp__acp_session *s = ctx;
  if (strcmp(info->id, s->id) != 0 || info->trashed_at) return RP_E_SESSION_NOT_FOUND;
  if (info->epoch > rp_session_epoch(s->h)) return RP_E_FENCED;
  return info->ended_at ? RP_E_ENDED : 0;
}

int rp__store_fate(struct rp__acp_session *s)
{
  int rc = s->h ? rp_show(s->a->e, s->id, on_fate, s, NULL) : 0;
  return taken_away(rc) ? rc : 0; /* a store that does not answer has taken nothing away */
}

static void count_lost(struct rp__acp_session *s)
{
  if (!s->lost++) s->lost_from = rp__wall(&rp__system_clock);
}

static void lose_session(struct rp__acp_session *s, const rp_error *why)
{
  count_lost(s);
  if (s->state == RP_ACP_TAKEN || !rp__acp_move(s, RP_ACP_TAKEN)) return;
  s->gone = rp__store_fate(s);
  if (!s->gone) s->gone = why->code;
  rp__acp_log(s->a, "session %s: %s", s->id, why->message);
  const char *text = "Another process has taken this session over: nothing of what follows here is kept.";
  if (s->gone == RP_E_ENDED) text = "This session was ended elsewhere: nothing of what follows here is kept.";
  if (s->gone == RP_E_SESSION_NOT_FOUND) text = "This session was deleted: nothing of what follows here is kept.";
  rp__acp_tell(s, "The session is not recorded any more", text, false);
}

/* The message can't be stored, others can: recording goes on, and the journal tells of the gap. */
static bool is_its_own(int code)
{
  return code == RP_E_JSON || code == RP_E_INVALID || code == RP_E_TOO_LARGE;
}

static void lose(struct rp__acp_session *s, const rp_error *why)
{
  if (taken_away(why->code)) {
    lose_session(s, why);
    return;
  }
  count_lost(s);
  if (is_its_own(why->code)) rp__acp_log(s->a, "session %s: a message is not recorded: %s", s->id, why->message);
  if (s->told_lost || is_its_own(why->code)) return;
  s->told_lost = true;
  rp__acp_log(s->a, "session %s: not stored: %s", s->id, why->message);
  char text[600];
  snprintf(text, sizeof text, "The conversation goes on, but it is not being recorded: %s.", why->message);
  rp__acp_tell(s, "Not recorded", text, false);
}

void rp__store_lost(struct rp__acp_session *s, const rp_error *why)
{
  lose(s, why);
}

void rp__store_refused(struct rp__acp_session *s, const rp_error *why)
{
  if (taken_away(why->code)) lose(s, why);
}

static void found_again(struct rp__acp_session *s, int64_t gap)
{
  char text[200];
  s->lost -= RP_MIN(gap, s->lost);
  if (s->lost || !s->told_lost) return;
  s->told_lost = false;
  snprintf(text, sizeof text, "The conversation is recorded again; %lld messages are missing from the record.",
           (long long)gap);
  rp__acp_log(s->a, "session %s: stored again, %lld messages are missing", s->id, (long long)gap);
  rp__acp_tell(s, "Recorded again", text, false);
}

static int gap_body(const struct rp__acp_session *s, struct rp__buf *out)
{
  struct rp__jw w = RP_JW(out);
  rp__jw_object(&w);
  rp__jw_ki64(&w, "lost", s->lost);
  rp__jw_ktime(&w, "from", s->lost_from);
  rp__jw_ktime(&w, "to", rp__wall(&rp__system_clock));
  rp__jw_end_object(&w);
  return out->err;
}

/* ---- acknowledgements ---- */

/* The store works again: whoever has no journal need not wait. */
static void wake_others(struct rp__acp *a)
{
  for (struct rp__acp_session *s = a->sessions; s; s = s->next)
    if (!s->h) s->open_at = 0;
}

static void settle(struct entry *e)
{
  struct rp__acp_session *s = e->s;
  unlink_entry(e->box, e);
  if (e->item) rp__flow_ready(e->flow, e->item);
  if (s && e->gap) s->gap_pending = false;
  if (s && e->err.code)
    lose(s, &e->err);
  else if (s && e->gap)
    found_again(s, e->gap);
  if (s && !e->err.code) wake_others(s->a);
  free(e);
}

void rp__inbox_take(struct rp__acp *a)
{
  struct rp__inbox *b = a->inbox;
  pthread_mutex_lock(&b->lock);
  struct entry *e = b->head;
  b->head = b->tail = NULL;
  pthread_mutex_unlock(&b->lock);
  while (e) {
    struct entry *next = e->done;
    settle(e);
    e = next;
  }
}

void rp__store_settle(struct rp__acp *a)
{
  rp_error why = {0};
  if (rp_flush(a->e, &why)) rp__acp_log(a, "%s", why.message);
  rp__inbox_take(a);
}

/* ---- appending ---- */

struct batch {
  rp_event ev[EVENTS_MAX];
  size_t n;
  rp_append_options o;
  struct rp__buf gap;
};

static void batch_done(struct batch *b)
{
  rp__buf_done(&b->gap);
}

static void add_event(struct batch *b, const char *kind, const char *body, size_t n)
{
  b->ev[b->n++] = (rp_event){.kind = kind, .body = body, .body_len = n};
}

static void add_gap(struct batch *b, struct rp__acp_session *s, struct entry *e)
{
  if (!s->lost || s->gap_pending || gap_body(s, &b->gap)) return;
  add_event(b, "x-acp-gap", b->gap.p, b->gap.n);
  e->gap = s->lost;
  s->gap_pending = true;
}

static int submit(struct rp__acp_session *s, struct batch *b, struct entry *e, rp_error *err)
{
  int rc = rp_append_many_async(s->h, b->ev, b->n, &b->o, on_stored, e, err);
  if (rc != RP_E_LIMIT) return rc;
  /* Too much is queued: wait for it here, which also keeps the agent waiting. */
  rc = rp_flush(s->a->e, err);
  return rc ? rc : rp_append_many_async(s->h, b->ev, b->n, &b->o, on_stored, e, err);
}

/*
 * A journal that could not be opened may be there by now. Nothing overtakes the word of what is missing: whether that
 * was stored must be known first.
 */
static bool writable(struct rp__acp_session *s, rp_error *err)
{
  if (s->gap_pending) rp__store_settle(s->a);
  if (s->state == RP_ACP_TAKEN) return false;
  if (s->h) return true;
  int64_t now = rp__acp_now(s->a);
  if (now < s->open_at) {
    rp__fail(err, RP_E_UNREACHABLE, "the journal could not be opened");
    return false;
  }
  return rp__acp_session_begin_late(s, err) == 0;
}

/* Hands the events over; `e` is the engine's afterwards. False: it is not. */
static bool append(struct rp__acp_session *s, struct batch *b, struct entry *e)
{
  rp_error why = {0};
  int rc = submit(s, b, e, &why);
  if (!rc) return true;
  if (e->gap) s->gap_pending = false;
  drop_entry(e);
  lose(s, &why);
  return false;
}

static struct rp__flow_item *queue_line(struct rp__acp *a, struct rp__flow *to, struct rp__str line, unsigned waits)
{
  struct rp__flow_item *item = rp__flow_add(to, line.p, line.n, waits);
  if (item) return item;
  rp__store_settle(a); /* no memory for a copy: once nothing waits before it, it needs none */
  if (rp__flow_empty(to)) to->out(to->ctx, line.p, line.n);
  return NULL;
}

/* Fills the batch; spilling may store. */
static int fill(struct rp__acp_session *s, struct rp__notes *n, struct batch *b, rp_error *err)
{
  int rc = rp__notes_spill(s->h, s->body_max, n, err);
  if (rc) return rc;
  b->o = RP_APPEND_DEFAULTS;
  b->o.durability = n->durability == RP_OS && s->a->updates ? s->a->updates : n->durability;
  return 0;
}

void rp__store_put(struct rp__acp_session *s, struct rp__notes *n, struct rp__flow *to, struct rp__str line)
{
  struct batch b RP_CLEANUP(batch_done) = {.gap = RP_BUF(4096)};
  struct entry *e = NULL;
  rp_error why = {0};
  bool any = n && n->n;
  if (any && writable(s, &why) && !fill(s, n, &b, &why)) {
    e = add_entry(s);
    if (!e) rp__fail_nomem(&why);
  }
  if (!e) {
    if (line.p) queue_line(s->a, to, line, 0);
    if (any && s->state == RP_ACP_TAKEN) count_lost(s);
    if (any && why.code) lose(s, &why);
    return;
  }
  add_gap(&b, s, e);
  for (size_t i = 0; i < n->n; i++) add_event(&b, n->v[i].kind, n->bytes.p + n->v[i].at, n->v[i].n);
  struct rp__flow_item *item = line.p ? queue_line(s->a, to, line, 1) : NULL;
  e->flow = to;
  e->item = item;
  if (!append(s, &b, e) && item) rp__flow_ready(to, item);
}

void rp__store_event(struct rp__acp_session *s, const char *kind, struct rp__buf *json, rp_durability d)
{
  struct batch b RP_CLEANUP(batch_done) = {.gap = RP_BUF(4096), .o = RP_APPEND_DEFAULTS};
  struct entry *e = NULL;
  rp_error why = {0};
  rp__utf8_mend_buf(json);
  if (json->err)
    rp__fail(&why, json->err, "an event of the proxy's own could not be written");
  else if (writable(s, &why) && !(e = add_entry(s)))
    rp__fail_nomem(&why);
  if (!e) {
    if (why.code) lose(s, &why);
    return;
  }
  b.o.durability = d;
  add_gap(&b, s, e);
  add_event(&b, kind, json->p, json->n);
  append(s, &b, e);
}
