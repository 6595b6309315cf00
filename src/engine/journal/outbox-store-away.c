/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outbox while the store can't be written. Appends that may wait in memory wait in the queue of their session, and
 * only one of them is on its way at a time. Two at once could be stored in the wrong order, when the first fails for
 * lack of space and the second, smaller one does not. The helper acknowledges such an append only after it has asked
 * the store's own rules, because a sender that has got "memory" would never learn of a refusal.
 */
#include <assert.h>
#include <fcntl.h>

#include "base/text.h"
#include "base/ticks.h"
#include "engine/engine.h"
#include "json/json.h"
#include "store/rules.h"

#define WINDOW_KIND "x-degraded"
#define MARKER_BODY_MAX 512
#define BACK_MS 1000            /* without a failure, before a commit that worked is believed */
#define PROBE_MS 5000           /* without any commit, before a file is tried */
#define PROBE_BYTES (64 * 1024) /* more than a small commit needs */

void rp__outbox_notify(const struct rp__outbox *o, const rp_outbox_notice *n)
{
  if (o->policy.notice) o->policy.notice(o->policy.ctx, n);
}

/* ---- whether the store can be written ---- */

bool rp__outbox_away_code(int rc)
{
  return rc == RP_E_FULL || rc == RP_E_BUSY || rc == RP_E_IO || rc == RP_E_UNREACHABLE || rc == RP_E_READONLY;
}

/* The store is away from the first commit that fails for the store's own reasons; RP_E_BUSY: the second in a row. */
void rp__outbox_note(struct rp__outbox *o, int rc, const rp_error *err)
{
  bool away = atomic_load_explicit(&o->away, memory_order_relaxed);
  if (rc == 0 && atomic_load_explicit(&o->busy_once, memory_order_relaxed)) atomic_store(&o->busy_once, false);
  if (rc == RP_E_BUSY && !away && !atomic_exchange(&o->busy_once, true)) return;
  if (rc ? !rp__outbox_away_code(rc) : !away) return;
  pthread_mutex_lock(&o->lock);
  o->worked = rc == 0;
  bool begins = rc && !o->counts.away;
  if (rc) {
    o->failed_ms = rp__ticks_ms();
    o->counts.code = rc;
    rp__text_copy(o->counts.why, sizeof o->counts.why, err->message[0] ? err->message : rp_error_lookup(rc)->text);
  }
  if (begins) {
    atomic_store(&o->away, o->counts.away = true);
    o->counts.away_since_ms = rp__engine_now(o->e);
    o->counts.windows++;
  }
  pthread_mutex_unlock(&o->lock);
  if (begins) rp__outbox_notify(o, &(rp_outbox_notice){.what = RP_OUTBOX_STORE_AWAY, .error = err});
}

static bool folder_takes_a_file(const rp_engine *e)
{
  static const char zeroes[PROBE_BYTES];
  char path[4096];
  int n = e->path ? snprintf(path, sizeof path, "%.*s.probe", (int)rp__store_path_length(e->path), e->path) : -1;
  if (n < 0 || (size_t)n >= sizeof path) return true;
  int fd RP_AUTOCLOSE = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool works = write(fd, zeroes, sizeof zeroes) == (ssize_t)sizeof zeroes && fsync(fd) == 0;
  unlink(path);
  return works;
}

int rp__outbox_refuse(struct rp__outbox *o, const char *why, rp_error *err)
{
  if (!o->counts.away) return rp__fail(err, RP_E_BUSY, "%s", why);
  return rp__fail(err, o->counts.code, "%s: %s", why, o->counts.why);
}

/* ---- events of the outbox's own ---- */

static void count_waiting(struct rp__outbox *o, struct rp__outbox_item *a, bool kept)
{
  if (a->kept == kept) return;
  a->kept = kept;
  o->counts.waiting_events += kept ? (int64_t)a->n : -(int64_t)a->n;
  o->counts.waiting_bytes += kept ? (int64_t)a->bytes : -(int64_t)a->bytes;
}

static void add_marker(struct rp__outbox *o, struct rp__outbox_queue *q, rp_session *s, struct rp__buf *body,
                       const char *kind, int64_t gap)
{
  const rp_event ev = {.kind = kind, .body = body->p, .body_len = body->n};
  const rp_append_options options = {0};
  struct rp__outbox_item *a = body->err ? NULL : rp__outbox_item_new(s, &ev, 1, &options, !gap);
  if (!a) return;
  a->marker = a->told = true;
  a->ticket = q->ticket++;
  a->gap = gap;
  if (gap) q->gap_sent = gap;
  if (!gap) o->memory_bytes += a->bytes;
  if (!gap) count_waiting(o, a, true);
  rp__outbox_insert(q, a);
  rp__outbox_pending(o, &a->pending, true);
}

void rp__outbox_tell_gap(struct rp__outbox *o, struct rp__outbox_queue *q, rp_session *s)
{
  struct rp__buf body RP_AUTOBUF = RP_BUF(MARKER_BODY_MAX);
  struct rp__jw w = RP_JW(&body);
  if (!q->gap || q->gap_sent) return;
  rp__jw_pack(&w, "{lost:i from:t to:t}", q->gap, q->gap_from, rp__engine_now(o->e));
  add_marker(o, q, s, &body, o->gap_kind, q->gap);
}

/* ---- counting ---- */

static void count_kept(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a)
{
  count_waiting(o, a, true);
  o->counts.accepted += (int64_t)a->n;
  q->window.events += (int64_t)a->n;
  q->window.bytes += (int64_t)a->bytes;
}

void rp__outbox_count_end(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a,
                          const rp_ack *ack)
{
  int64_t n = (int64_t)a->n;
  if (a->memory) o->memory_bytes -= a->bytes;
  if (!a->marker && (a->kept || (!ack && a->told)))
    *(!ack ? &o->counts.lost : ack->repeated ? &o->counts.repeated : &o->counts.stored) += n;
  if (!a->marker && a->kept) *(!ack ? &q->window.lost : ack->repeated ? &q->window.repeated : &q->window.stored) += n;
  count_waiting(o, a, false);
  if (a->gap) {
    if (ack) q->gap -= a->gap;
    q->gap_sent = 0;
  } else if (!ack && o->gap_kind[0] && !q->gap++) {
    q->gap_from = rp__engine_now(o->e);
  }
  if (!q->has_window || q->away || !TAILQ_EMPTY(&q->items)) return;
  if (q->window.events) { /* all that was kept is stored: the journal gets to know */
    struct rp__buf body RP_AUTOBUF = RP_BUF(MARKER_BODY_MAX);
    struct rp__jw w = RP_JW(&body);
    rp__jw_pack(&w, "{since:t until:t events:i stored:i repeated:i lost:i bytes:i}", q->window.since_ms,
                rp__engine_now(o->e), q->window.events, q->window.stored, q->window.repeated, q->window.lost,
                q->window.bytes);
    add_marker(o, q, a->s, &body, WINDOW_KIND, 0);
    memset(&q->window, 0, sizeof q->window);
  }
  if (!TAILQ_EMPTY(&q->items)) return;
  LIST_REMOVE(q, next_window);
  q->has_window = false;
}

/* ---- the store goes, and comes back ---- */

void rp__outbox_keep(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, int rc,
                     const rp_error *err)
{
  struct rp__outbox_items strict = TAILQ_HEAD_INITIALIZER(strict);
  struct rp__outbox_item *b, *next;
  assert(a->memory && !a->attempt);
  pthread_mutex_lock(&o->lock);
  q->away = true;
  if (!q->window.since_ms) q->window.since_ms = rp__engine_now(o->e);
  if (!q->has_window) LIST_INSERT_HEAD(&o->windows, q, next_window);
  q->has_window = true;
  rp__outbox_insert(q, a);
  TAILQ_INIT(&q->unanswered);
  for (b = TAILQ_FIRST(&q->items); b; b = next) {
    next = TAILQ_NEXT(b, next);
    b->unanswered = false;
    rp__outbox_pending(o, &b->pending, !b->told); /* those who were told have all they wait for */
    if (!b->memory) {                             /* their senders want the disk or nothing */
      o->counts.refused += (int64_t)b->n;
      rp__outbox_remove(q, b);
      TAILQ_INSERT_TAIL(&strict, b, next);
    } else if (!b->told) {
      b->unanswered = true;
      TAILQ_INSERT_TAIL(&q->unanswered, b, next_unanswered);
    } else if (!b->kept) {
      count_kept(o, q, b);
    }
  }
  rp__outbox_pending(o, &q->retry, false);
  rp__outbox_poke(o, q);
  pthread_mutex_unlock(&o->lock);
  while ((b = TAILQ_FIRST(&strict))) {
    TAILQ_REMOVE(&strict, b, next);
    rp__outbox_finish(o, q, b, false, rc, err);
  }
}

void rp__outbox_resume(struct rp__outbox *o, struct rp__outbox_queue *q)
{
  struct rp__outbox_item *a;
  q->away = false;
  for (a = TAILQ_FIRST(&q->items); a; a = TAILQ_NEXT(a, next)) rp__outbox_pending(o, &a->pending, true);
  rp__outbox_pending(o, &q->retry, false);
}

/* ---- what the store would say ---- */

/* The client's last number among the session's appends before this one; 0: it has none. */
static int64_t mark_before(const struct rp__outbox_queue *q, const struct rp__outbox_item *a)
{
  const char *client = a->options.client_id;
  const struct rp__outbox_item *b = a;
  do {
    b = TAILQ_PREV(b, rp__outbox_items, next);
    const struct rp__outbox_item *c = b ? b : q->barrier; /* which is on its way, before all of them */
    if (c && c->options.client_id && strcmp(c->options.client_id, client) == 0)
      return c->options.client_seq + (int64_t)c->n - 1;
  } while (b);
  return 0;
}

/* A key that waits already, with other events: these would be dropped as a conflict when the store is back. */
static bool key_conflicts(const struct rp__outbox_queue *q, const struct rp__outbox_item *a)
{
  const char *key = a->own_key ? NULL : a->events[0].idempotency_key;
  const struct rp__outbox_item *b;
  for (b = key ? TAILQ_FIRST(&q->items) : NULL; b && b != a; b = TAILQ_NEXT(b, next)) {
    const char *other = b->events[0].idempotency_key;
    if (!other || strcmp(other, key) != 0) continue;
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
      same = strcmp(a->events[i].kind, b->events[i].kind) == 0 && a->events[i].body_len == b->events[i].body_len &&
             memcmp(a->events[i].body, b->events[i].body, a->events[i].body_len) == 0;
    if (!same) return true;
  }
  return false;
}

/*
 * What the store would say of an append behind those that wait: its refusal, or 0. *ret_repeat: it has these events
 * (RP_OS), or they wait (RP_MEMORY). Where nothing can be read either, memory is better than nothing, as the sender has
 * said. Without the lock.
 */
static int judge(struct rp__outbox *o, struct rp__outbox_queue *q, struct rp__outbox_item *a, rp_durability *ret_repeat,
                 rp_error *err)
{
  rp_session *s = a->s;
  struct rp__store *st = o->e->store;
  const rp_append_options *p = &a->options;
  struct rp__append_facts facts = {0};
  struct rp__session_row row = {0};
  int64_t stored = 0;
  pthread_mutex_lock(&o->lock); /* before the store is asked: what is stored meanwhile is found in one or the other */
  bool conflict = key_conflicts(q, a);
  int64_t waiting = p->client_id ? mark_before(q, a) : 0;
  pthread_mutex_unlock(&o->lock);
  if (conflict)
    return rp__fail_field(err, RP_E_KEY_REUSED, "idempotency_key",
                          "session %s: the key was given to other events before, which wait to be stored", s->id);
  int rc = rp__session_row(s, &row, err);
  if (!rc && p->client_id) rc = st->ops->client_get(st, s->ref, p->client_id, &stored, err);
  struct rp__new_event *events = rc ? NULL : calloc(a->n, sizeof *events);
  if (!rc && !events) rc = rp__fail_nomem(err);
  if (!rc && row.trashed_at) rc = rp__fail(err, RP_E_ENDED, "session %s is in the trash", s->id);
  if (!rc) {
    struct rp__op op = {
        .type = RP_OP_APPEND,
        RP__OP_OF(o->e, s),
        .epoch = p->epoch ? p->epoch : s->epoch,
        .u.append = {
            .events = events, .n = a->n, .expect = -1, .client_id = p->client_id, .client_seq = p->client_seq}};
    facts.client_mark = RP_MAX(stored, waiting);
    rc = rp__rule_append(&op, &row, &facts, err);
    if (!rc && op.ret.repeated) *ret_repeat = p->client_seq + (int64_t)a->n - 1 <= stored ? RP_OS : RP_MEMORY;
  }
  free(events);
  rp__session_row_done(&row);
  if (rp__outbox_away_code(rc)) return 0;
  /* A key may make it a repeat of what is stored, which nobody can ask the store for now. */
  if (!rc || !a->events[0].idempotency_key || a->own_key) return rc;
  pthread_mutex_lock(&o->lock);
  rc = rp__outbox_refuse(o, "whether it is a repeat can't be known", err);
  pthread_mutex_unlock(&o->lock);
  return rc;
}

void rp__outbox_answer(struct rp__outbox *o, struct rp__outbox_queue *q)
{
  struct rp__outbox_item *a;
  pthread_mutex_lock(&o->lock);
  while (q->away && (a = TAILQ_FIRST(&q->unanswered))) {
    rp_error err = {0};
    rp_durability repeat = 0;
    pthread_mutex_unlock(&o->lock);
    int rc = judge(o, q, a, &repeat, &err);
    pthread_mutex_lock(&o->lock);
    if (!q->away) break; /* it will be stored now, and answered then */
    TAILQ_REMOVE(&q->unanswered, a, next_unanswered);
    a->unanswered = false;
    rp_ack ack = {.durability = repeat && !a->sent ? repeat : RP_MEMORY, .repeated = repeat && !a->sent};
    bool through = rc || ack.repeated;
    if (through) {
      rp__outbox_remove(q, a);
      if (rc) o->counts.refused += (int64_t)a->n;
      if (TAILQ_EMPTY(&q->items) && !q->barrier) rp__outbox_resume(o, q);
    } else {
      a->told = true;
      count_kept(o, q, a);
    }
    pthread_mutex_unlock(&o->lock);
    if (!rc && a->done) a->done(a->ctx, &ack, NULL);
    if (rc) rp__outbox_finish(o, q, a, false, rc, &err);
    pthread_mutex_lock(&o->lock);
    if (rc) continue;
    rp__outbox_pending(o, &a->pending, false);
    if (!through) continue;
    rp__outbox_count_end(o, q, a, &ack);
    pthread_mutex_unlock(&o->lock);
    rp__outbox_item_free(a);
    pthread_mutex_lock(&o->lock);
  }
  pthread_mutex_unlock(&o->lock);
}

/* ---- the host's side ---- */

int rp_outbox_configure(rp_engine *e, const rp_outbox_policy *policy, rp_error *err)
{
  int rc = rp__engine_check(e, err);
  if (rc) return rc;
  const char *kind = policy->gap_kind ? policy->gap_kind : "";
  if (strlen(kind) > RP_ID_MAX || (*kind && strncmp(kind, "x-", 2) != 0))
    return rp__fail_field(err, RP_E_USAGE, "gap_kind", "'%s' can't be the kind of an event", rp__text_shown(kind));
  pthread_mutex_lock(&e->outbox.lock);
  e->outbox.policy = *policy;
  rp__text_copy(e->outbox.gap_kind, sizeof e->outbox.gap_kind, kind);
  pthread_mutex_unlock(&e->outbox.lock);
  return 0;
}

void rp_outbox_lost(rp_session *s, int64_t n, int64_t at_ms)
{
  struct rp__outbox *o = &s->e->outbox;
  pthread_mutex_lock(&o->lock);
  if (o->gap_kind[0]) {
    if (!s->outbox->gap) s->outbox->gap_from = at_ms ? at_ms : rp__engine_now(s->e);
    s->outbox->gap += n;
  }
  pthread_mutex_unlock(&o->lock);
}

/* The first queue with appends that were kept which is away, or, with `moves`, which is being stored; or NULL. */
static struct rp__outbox_queue *find_window(const struct rp__outbox *o, bool moves)
{
  struct rp__outbox_queue *q = LIST_FIRST(&o->windows);
  while (q && (moves ? q->away && !q->retry : !q->away)) q = LIST_NEXT(q, next_window);
  return q;
}

bool rp_outbox_drain(rp_engine *e, int64_t ms)
{
  struct rp__outbox *o = &e->outbox;
  struct timespec until = rp__ticks_after_us(ms * 1000);
  pthread_mutex_lock(&o->lock);
  struct rp__outbox_queue *q = find_window(o, false);
  if (q) { /* one goes ahead: while the store is away, the others need not try */
    q->refs++;
    rp__outbox_pending(o, &q->retry, true);
    rp__outbox_poke(o, q);
    while (q->retry && pthread_cond_timedwait(&o->changed, &o->lock, &until) == 0) continue;
    bool works = !q->away;
    rp__outbox_queue_unref(q);
    for (q = works ? LIST_FIRST(&o->windows) : NULL; q; q = LIST_NEXT(q, next_window)) {
      if (!q->away) continue;
      rp__outbox_pending(o, &q->retry, true);
      rp__outbox_poke(o, q);
    }
  }
  while (find_window(o, true) && pthread_cond_timedwait(&o->changed, &o->lock, &until) == 0) continue;
  /* The store is back when commits have worked for a second, or, where nobody writes, when its folder takes a file. */
  bool empty = LIST_EMPTY(&o->windows), away = o->counts.away, worked = o->worked;
  int64_t ago = rp__ticks_ms() - o->failed_ms, since = o->counts.away_since_ms;
  pthread_mutex_unlock(&o->lock);
  if (!empty || !away || (worked ? ago < BACK_MS : ago < PROBE_MS || !folder_takes_a_file(e))) return empty;
  pthread_mutex_lock(&o->lock);
  atomic_store(&o->away, o->counts.away = false);
  pthread_mutex_unlock(&o->lock);
  rp__outbox_notify(o, &(rp_outbox_notice){.what = RP_OUTBOX_STORE_BACK, .ms = rp__engine_now(e) - since});
  return true;
}

void rp_outbox_counts_get(rp_engine *e, rp_outbox_counts *ret)
{
  pthread_mutex_lock(&e->outbox.lock);
  *ret = e->outbox.counts;
  pthread_mutex_unlock(&e->outbox.lock);
}

void rp__outbox_lose_all(struct rp__outbox *o)
{
  struct rp__outbox_queue *q;
  rp_error err = {0};
  rp__fail(&err, RP_E_CANCELLED, "the engine was closed before the store took them");
  while ((q = LIST_FIRST(&o->windows))) {
    struct rp__outbox_item *a;
    int64_t n = 0;
    LIST_REMOVE(q, next_window);
    q->has_window = false;
    for (a = TAILQ_FIRST(&q->items); a; a = TAILQ_NEXT(a, next)) n += a->marker ? 0 : (int64_t)a->n;
    if (n) rp__outbox_notify(o, &(rp_outbox_notice){RP_OUTBOX_EVENTS_LOST, q->id, n, 0, &err});
    q->refs++;
    while ((a = TAILQ_FIRST(&q->items))) {
      rp__outbox_remove(q, a);
      rp__outbox_item_free(a);
    }
    rp__outbox_queue_unref(q);
  }
}
