/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a lane in the engine's hands: how it gets there, and what its sender and the lane hear of how it went. */
#include "server/server.h"
#include "server/spill-impl.h"

static void on_stored(void *ctx, const rp_ack *ack, const rp_error *err);

int rp__spill_submit(struct rp__spill *s, struct rp__kept *k, rp_session *session, rp_error *err)
{
  atomic_fetch_add(&s->flights, 1);
  int rc = rp_append_many_async(session, k->events, k->n, &k->options, on_stored, k, err);
  if (rc) atomic_fetch_sub(&s->flights, 1);
  return rc;
}

static void tell_memory(struct rp__kept *k)
{
  if (!k->told && k->done) k->done(k->ctx, &(rp_ack){.durability = RP_MEMORY}, NULL);
  k->told = true;
}

static void tell_failure(struct rp__kept *list, const rp_error *err)
{
  while (list) {
    struct rp__kept *k = list;
    list = k->next;
    if (k->done) k->done(k->ctx, NULL, err);
    rp__kept_free(k);
  }
}

void rp__spill_count(struct rp__spill *s, struct rp__lane *l, struct rp__kept *k)
{
  k->spilled = true;
  s->accepted += (int64_t)k->n;
  l->win.events += (int64_t)k->n;
  l->win.bytes += (int64_t)k->bytes;
}

/* ---- the store is away ---- */

/* What the store would say of one that waits and has not been answered. Lets go of the lock to read. */
static int vet_kept(struct rp__spill *s, struct rp__lane *l, const struct rp__kept *k, rp_error *err)
{
  struct rp__vetting v;
  enum rp__repeat repeat;
  rp_session *session = rp__entry_session(l->entry);
  pthread_mutex_unlock(&s->lock);
  int rc = rp__vetting_read(s, l->id, session, k->options.client_id, &v, err);
  pthread_mutex_lock(&s->lock);
  return rc ? rc : rp__vet(&v, l, k, l->id, &k->options, k->n, &repeat, err);
}

/* Those that the store will refuse are told now. The lane flies: others may only add to it meanwhile. */
static void vet_all(struct rp__spill *s, struct rp__lane *l)
{
  const struct rp__kept *last = l->tail;
  struct rp__kept *before = NULL, *k = l->head;
  for (bool more = k != NULL; more; k = before ? before->next : l->head) {
    rp_error err = {0};
    more = k != last;
    if (k->told || k->marker || !vet_kept(s, l, k, &err)) {
      before = k;
      continue;
    }
    rp__lane_take(l, before);
    s->bytes -= k->bytes;
    s->refused += (int64_t)k->n;
    pthread_mutex_unlock(&s->lock);
    if (k->done) k->done(k->ctx, NULL, &err);
    rp__kept_free(k);
    pthread_mutex_lock(&s->lock);
  }
}

/* All that was kept in the window is stored: the journal gets to know of it. */
static void close_window(struct rp__spill *s, struct rp__lane *l)
{
  struct rp__kept *k = NULL;
  /* Where nothing was kept but the word about the window before, that is enough. */
  if (l->win.events) k = rp__kept_marker(&l->win, rp__server_now(s->srv));
  l->win = (struct rp__window){0};
  if (!k) return;
  rp__lane_add(l, k);
  s->bytes += k->bytes;
  l->marking = true;
}

/* The store did not take the head. Who accepts memory is told that it is that; who does not, that it failed. */
static void keep_all(struct rp__spill *s, struct rp__lane *l, const rp_error *err)
{
  size_t before = l->bytes;
  l->away = true;
  if (!l->win.since_ms) l->win.since_ms = rp__server_now(s->srv);
  struct rp__kept *strict = rp__lane_take_strict(l);
  s->bytes -= before - l->bytes;
  for (struct rp__kept *k = strict; k; k = k->next) s->refused += (int64_t)k->n;
  vet_all(s, l);
  if (!l->head) {
    l->away = false;
    close_window(s, l);
  }
  struct rp__kept *last = l->tail;
  for (struct rp__kept *k = l->head; k; k = k->next)
    if (!k->spilled && !k->marker) rp__spill_count(s, l, k);
  pthread_mutex_unlock(&s->lock);
  for (struct rp__kept *k = l->head; k; k = k == last ? NULL : k->next) tell_memory(k);
  tell_failure(strict, err);
  pthread_mutex_lock(&s->lock);
}

/* ---- landing ---- */

void rp__spill_log_lost(struct rp__spill *s, const char *id, size_t n, const rp_error *err)
{
  rp__slog(&s->srv->log, RP_LOG_ERROR, "events_lost", RP_F("session", id), RP_FN("events", n),
           RP_F("code", rp_error_lookup(err->code)->name), RP_F("why", err->message));
}

/* What became of one that waited for the store. */
static void count_end(struct rp__spill *s, struct rp__lane *l, const struct rp__kept *k, const rp_ack *ack)
{
  bool window = k->spilled && l->win.since_ms;
  int64_t n = (int64_t)k->n, *total = !ack ? &s->lost : ack->repeated ? &s->repeated : &s->stored;
  int64_t *of_window = !ack ? &l->win.lost : ack->repeated ? &l->win.repeated : &l->win.stored;
  *total += n;
  if (window) *of_window += n;
}

/* The head is through, one way or the other. */
static void let_go(struct rp__spill *s, struct rp__lane *l, const rp_ack *ack, const rp_error *err)
{
  struct rp__kept *k = rp__lane_pop(l);
  bool lost = !ack && k->told && !k->marker;
  s->bytes -= k->bytes;
  if (k->marker) l->marking = false;
  if (lost || (ack && k->spilled)) count_end(s, l, k, ack);
  if (l->win.since_ms && !l->head) close_window(s, l);
  pthread_mutex_unlock(&s->lock);
  if (lost) rp__spill_log_lost(s, l->id, k->n, err);
  if (!k->told && k->done) k->done(k->ctx, ack, ack ? NULL : err);
  rp__kept_free(k);
  pthread_mutex_lock(&s->lock);
}

/* What the engine said of the head; the caller has it in hands. With the lock held. */
static void land(struct rp__spill *s, struct rp__lane *l, const rp_ack *ack, const rp_error *err)
{
  const struct rp__kept *k = l->head;
  bool again = !ack && k->memory && (rp__away_is(err->code) || (k->told && rp_error_lookup(err->code)->retryable));
  if (again) {
    keep_all(s, l, err);
  } else {
    l->away = false;
    let_go(s, l, ack, err);
  }
  l->flying = false;
  pthread_cond_broadcast(&s->landed);
}

void rp__spill_fly(struct rp__spill *s, struct rp__lane *l)
{
  while (l->head && !l->flying) {
    rp_error err = {0};
    rp_session *session = rp__entry_session(l->entry);
    l->flying = true;
    pthread_mutex_unlock(&s->lock);
    int rc = rp__spill_submit(s, l->head, session, &err);
    if (!rc) return;
    rp__spill_note(s, rc, &err);
    pthread_mutex_lock(&s->lock);
    land(s, l, NULL, &err);
    if (l->away) break;
  }
  pthread_mutex_unlock(&s->lock);
}

static void on_stored(void *ctx, const rp_ack *ack, const rp_error *err)
{
  struct rp__lane *l = ((struct rp__kept *)ctx)->lane;
  struct rp__spill *s = l->spill;
  rp__spill_note(s, ack ? 0 : err->code, err);
  pthread_mutex_lock(&s->lock);
  land(s, l, ack, err);
  if (l->away)
    pthread_mutex_unlock(&s->lock);
  else
    rp__spill_fly(s, l);
  atomic_fetch_sub(&s->flights, 1); /* the last touch */
}
