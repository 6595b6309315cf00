/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of the proxy's sessions, over the engine's outbox. A line is sent on when its events are stored. The
 * engine acknowledges events on its own threads, and the inbox carries the acknowledgements to the proxy's thread.
 * Events that can't be stored delay no line: they are counted, and before the next append the outbox records how many
 * are missing.
 */
#include "bridge/acp/session/session.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/utf8.h"

/* An append on its way. */
struct entry {
  LIST_ENTRY(entry) link;       /* the proxy's */
  STAILQ_ENTRY(entry) answered; /* the inbox's */
  struct rp__inbox *box;
  struct rp__acp_session *s; /* NULL: it is gone */
  struct rp__line_queue *queue;
  struct rp__queued_line *line; /* NULL: none waits for it */
  int64_t lost;                 /* messages of the session that were lost before */
  rp_error err;
};

struct rp__inbox {
  pthread_mutex_t lock;
  struct rp__acp *a; /* NULL: nobody reads it any more */
  unsigned refs;
  STAILQ_HEAD(answered, entry) answered;
  LIST_HEAD(, entry) entries; /* all that are not taken yet; the proxy's thread alone */
};

int rp__inbox_new(struct rp__acp *a, rp_error *err)
{
  const rp_outbox_policy policy = {.wait_when_full = true, .gap_kind = "x-acp-gap"};
  int rc = rp_outbox_configure(a->e, &policy, err);
  if (rc) return rc;
  struct rp__inbox *b = calloc(1, sizeof *b);
  if (!b) return rp__fail_nomem(err);
  pthread_mutex_init(&b->lock, NULL); /* default mutexes can't fail to initialise on Linux */
  b->a = a;
  b->refs = 1;
  STAILQ_INIT(&b->answered);
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
    STAILQ_INSERT_TAIL(&b->answered, e, answered);
    b->a->w.poke(b->a->w.ctx);
  } else {
    free(e);
  }
  unref(b);
}

void rp__inbox_close(struct rp__acp *a)
{
  struct rp__inbox *b = RP_TAKE(a->inbox);
  if (!b) return;
  pthread_mutex_lock(&b->lock);
  b->a = NULL;
  for (struct entry *e; (e = STAILQ_FIRST(&b->answered));) {
    STAILQ_REMOVE_HEAD(&b->answered, answered);
    free(e);
  }
  unref(b);
}

void rp__acp_journal_forget(struct rp__acp *a, const struct rp__acp_session *s)
{
  struct entry *e;
  if (!a->inbox) return;
  LIST_FOREACH(e, &a->inbox->entries, link)
  if (e->s == s) e->s = NULL;
}

void rp__acp_journal_forget_lines(struct rp__acp *a, const struct rp__line_queue *q)
{
  struct entry *e;
  LIST_FOREACH(e, &a->inbox->entries, link)
  if (e->queue == q) e->line = NULL;
}

/* ---- what was lost ---- */

static bool taken_away(int code)
{
  return code == RP_E_FENCED || code == RP_E_ENDED || code == RP_E_SESSION_NOT_FOUND;
}

static int on_outcome(void *ctx, const rp_session_info *info)
{
  const struct rp__acp_session *s = ctx;
  if (strcmp(info->id, s->id) != 0 || info->trashed_at) return RP_E_SESSION_NOT_FOUND;
  if (info->epoch > rp_session_epoch(s->h)) return RP_E_FENCED;
  return info->ended_at ? RP_E_ENDED : 0;
}

int rp__acp_journal_outcome(struct rp__acp_session *s)
{
  int rc = s->h ? rp_show(s->a->e, s->id, on_outcome, s, NULL) : 0;
  return taken_away(rc) ? rc : 0; /* a store that does not answer has taken nothing away */
}

/* `counted`: the engine has refused its append, and counts it too. */
static void count_lost(struct rp__acp_session *s, bool counted)
{
  if (s->lost++ == s->found) s->lost_from = rp__wall(&rp__system_clock);
  if (s->h && !counted) rp_outbox_lost(s->h, 1, 0);
}

void rp__acp_journal_lost(struct rp__acp_session *s, const rp_error *why, bool counted)
{
  /* The message can't be stored, others can: recording goes on. */
  bool its_own = why->code == RP_E_JSON || why->code == RP_E_INVALID || why->code == RP_E_TOO_LARGE;
  char text[600];
  count_lost(s, counted);
  if (taken_away(why->code)) {
    if (rp__acp_session_on(s, RP_ON_TAKEN) != RP_DO_TELL) return;
    s->gone = rp__acp_journal_outcome(s);
    if (!s->gone) s->gone = why->code;
    rp__acp_log(s->a, "session %s: %s", s->id, why->message);
    snprintf(text, sizeof text, "%s: nothing of what follows here is kept.",
             s->gone == RP_E_ENDED               ? "This session was ended elsewhere"
             : s->gone == RP_E_SESSION_NOT_FOUND ? "This session was deleted"
                                                 : "Another process has taken this session over");
    rp__acp_tell(s, "The session is not recorded any more", text, false);
    return;
  }
  if (its_own) rp__acp_log(s->a, "session %s: a message is not recorded: %s", s->id, why->message);
  if (s->told_lost || its_own) return;
  s->told_lost = true;
  rp__acp_log(s->a, "session %s: not stored: %s", s->id, why->message);
  snprintf(text, sizeof text, "The conversation goes on, but it is not being recorded: %s.", why->message);
  rp__acp_tell(s, "Not recorded", text, false);
}

void rp__acp_journal_refused(struct rp__acp_session *s, const rp_error *why)
{
  if (taken_away(why->code)) rp__acp_journal_lost(s, why, false);
}

/* ---- acknowledgements ---- */

static void settle(struct entry *e)
{
  struct rp__acp_session *s = e->s;
  char text[200];
  LIST_REMOVE(e, link);
  if (e->line) rp__line_queue_ready(e->queue, e->line);
  if (s && e->err.code) rp__acp_journal_lost(s, &e->err, true);
  if (s && !e->err.code && e->lost > s->found) { /* stored, and with it that so many before it are missing */
    long long missing = e->lost - s->found;
    s->found = e->lost;
    bool again = s->told_lost && s->lost <= s->found;
    if (again) s->told_lost = false;
    snprintf(text, sizeof text, "The conversation is recorded again; %lld messages are missing from the record.",
             missing);
    if (again) rp__acp_log(s->a, "session %s: stored again, %lld messages are missing", s->id, missing);
    if (again) rp__acp_tell(s, "Recorded again", text, false);
  }
  /* The store works: a session that has no journal need not wait. */
  for (struct rp__acp_session *o = s && !e->err.code ? s->a->sessions : NULL; o; o = o->next)
    if (!o->h) o->open_at = 0;
  free(e);
}

void rp__inbox_take(struct rp__acp *a)
{
  struct rp__inbox *b = a->inbox;
  struct answered answered = STAILQ_HEAD_INITIALIZER(answered);
  pthread_mutex_lock(&b->lock);
  STAILQ_CONCAT(&answered, &b->answered);
  pthread_mutex_unlock(&b->lock);
  for (struct entry *e; (e = STAILQ_FIRST(&answered));) {
    STAILQ_REMOVE_HEAD(&answered, answered);
    settle(e);
  }
}

void rp__acp_journal_settle(struct rp__acp *a)
{
  rp_error why = {0};
  if (rp_flush(a->e, &why)) rp__acp_log(a, "%s", why.message);
  rp__inbox_take(a);
}

/* ---- appending ---- */

/* Whether the session's events can be written; a journal that could not be opened may be there by now. */
static bool writable(struct rp__acp_session *s, rp_error *err)
{
  if (s->state == RP_ACP_TAKEN) return false;
  if (s->h) return true;
  if (rp__acp_now(s->a) >= s->open_at) return rp__acp_session_begin_late(s, err) == 0;
  rp__fail(err, RP_E_UNREACHABLE, "the journal could not be opened");
  return false;
}

/* Hands the events to the outbox; the line, if there is one, waits for them. RP_E_NOMEM: nothing was done. */
static int submit(struct rp__acp_session *s, const rp_event *ev, size_t n, rp_durability d, struct rp__line_queue *to,
                  struct rp__str line, rp_error *err)
{
  struct rp__inbox *b = s->a->inbox;
  rp_append_options o = {.durability = d};
  struct entry *e = calloc(1, sizeof *e);
  rp_error why = {0};
  if (!e) return rp__fail_nomem(err);
  *e = (struct entry){.box = b, .s = s, .queue = to, .lost = s->lost};
  LIST_INSERT_HEAD(&b->entries, e, link);
  pthread_mutex_lock(&b->lock);
  b->refs++;
  pthread_mutex_unlock(&b->lock);
  struct rp__queued_line *item = e->line = line.p ? rp__acp_queue(s->a, to, line, 1) : NULL;
  if (rp_append_many_async(s->h, ev, n, &o, on_stored, e, &why) == 0) return 0;
  LIST_REMOVE(e, link);
  free(e);
  pthread_mutex_lock(&b->lock);
  unref(b);
  if (item) rp__line_queue_ready(to, item);
  rp__acp_journal_lost(s, &why, true);
  return 0;
}

void rp__acp_journal_put(struct rp__acp_session *s, struct rp__acp_events *n, struct rp__line_queue *to,
                         struct rp__str line)
{
  rp_event ev[RP_ACP_EVENTS_MAX];
  rp_error why = {0};
  if (n->n && writable(s, &why) && !rp__acp_events_large_body(s->h, s->body_max, n, &why)) {
    rp__acp_events_list(n, ev);
    rp_durability d = n->durability == RP_OS && s->a->o.updates ? s->a->o.updates : n->durability;
    if (!submit(s, ev, n->n, d, to, line, &why)) return;
  }
  if (line.p) rp__acp_queue(s->a, to, line, 0);
  if (n->n && why.code)
    rp__acp_journal_lost(s, &why, false);
  else if (n->n)
    count_lost(s, false);
}

void rp__acp_journal_line(struct rp__acp_session *s, int rc, struct rp__acp_events *n, struct rp__line_queue *to,
                          struct rp__str line)
{
  if (rc)
    rp__acp_forward(s->a, to == &s->a->to_client ? RP_ACP_CLIENT : RP_ACP_AGENT, line);
  else
    rp__acp_journal_put(s, n, to, line);
}

void rp__acp_journal_event(struct rp__acp_session *s, const char *kind, struct rp__buf *json, rp_durability d)
{
  rp_error why = {0};
  rp__utf8_mend_buf(json);
  if (json->err)
    rp__fail(&why, json->err, "an event of the proxy's own could not be written");
  else if (writable(s, &why))
    submit(s, &(rp_event){.kind = kind, .body = json->p, .body_len = json->n}, 1, d, &s->a->to_client,
           (struct rp__str){0}, &why);
  if (why.code) rp__acp_journal_lost(s, &why, false);
}
